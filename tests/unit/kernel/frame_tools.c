#include "frame_tools.h"
#include "contract/int128.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/arrow/arrow.h"
#include "data/print/print.h"
#include "granary/types.h"

uint64_t
random_next(struct random *random)
{
    uint64_t x = random->state != 0 ? random->state : 88172645463325252u;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    random->state = x;
    return x * 2685821657736338717u;
}

int64_t
random_below(struct random *random, int64_t below)
{
    return (int64_t)((random_next(random) >> 11) % (uint64_t)below);
}

/* ---- columns, value by value ---- */

struct column_builder {
    struct gr_column column;
    int64_t at;
    int32_t text_at;
};

static void
builder_init(struct column_builder *builder, granary_dtype dtype, int64_t rows, int64_t text_bytes)
{
    *builder = (struct column_builder){0};
    assert_int_equal(gr_column_alloc(dtype, rows, text_bytes, true, &builder->column), GRANARY_OK);
}

/* text NULL: a null; else the value as text. */
static void
builder_add(struct column_builder *builder, const char *text)
{
    granary_column *view = &builder->column.view;
    void *values = (void *)(uintptr_t)view->values;
    int64_t at = builder->at++;

    if (view->dtype == GRANARY_STRING) {
        size_t size = text != NULL ? strlen(text) : 0;

        memcpy((char *)values + builder->text_at, text != NULL ? text : "", size);
        builder->text_at += (int32_t)size;
        ((int32_t *)(uintptr_t)view->offsets)[at + 1] = builder->text_at;
    }
    if (text == NULL || view->dtype == GRANARY_NULLTYPE) {
        return;
    }
    gr_bit_set((uint8_t *)(uintptr_t)view->validity, at);
    switch (gr_dtype_kind(view->dtype)) {
    case GRANARY_INT64:
    case GRANARY_TIMESTAMP:
    case GRANARY_DURATION:
        ((int64_t *)values)[at] = strtoll(text, NULL, 10);
        break;
    case GRANARY_INT8:
    case GRANARY_UINT8:
        ((uint8_t *)values)[at] = (uint8_t)strtol(text, NULL, 10);
        break;
    case GRANARY_INT16:
    case GRANARY_UINT16:
        ((uint16_t *)values)[at] = (uint16_t)strtol(text, NULL, 10);
        break;
    case GRANARY_UINT32:
        ((uint32_t *)values)[at] = (uint32_t)strtoul(text, NULL, 10);
        break;
    case GRANARY_UINT64:
        ((uint64_t *)values)[at] = strtoull(text, NULL, 10);
        break;
    case GRANARY_DECIMAL: /* whole numbers only */
        ((gr_int128 *)values)[at] = strtoll(text, NULL, 10);
        for (int i = 0; i < gr_dtype_scale(view->dtype); i++) {
            ((gr_int128 *)values)[at] *= 10;
        }
        break;
    case GRANARY_INT32:
    case GRANARY_DATE:
        ((int32_t *)values)[at] = (int32_t)strtol(text, NULL, 10);
        break;
    case GRANARY_FLOAT64:
        ((double *)values)[at] = strtod(text, NULL);
        break;
    case GRANARY_FLOAT32:
        ((float *)values)[at] = strtof(text, NULL);
        break;
    case GRANARY_BOOL:
        if (strcmp(text, "true") == 0) {
            gr_bit_set(values, at);
        }
        break;
    default:
        break;
    }
}

static void
builder_set(struct column_builder *builder, granary_frame *frame, size_t position, const char *name)
{
    gr_column_finish(&builder->column);
    assert_int_equal(gr_frame_set(frame, position, name, &builder->column), GRANARY_OK);
}

enum { COLUMNS_MOST = 32 };

granary_frame *
frame_text(const char *columns, const char *rows)
{
    struct column_builder builders[COLUMNS_MOST];
    char names[COLUMNS_MOST][64];
    size_t count = 0;
    int64_t row_count = 0;
    const char *at = columns;
    granary_frame *frame;

    for (const char *c = rows; *c != '\0'; c++) {
        row_count += *c == '\n';
    }
    while (*at != '\0') {
        size_t name = strcspn(at, ":");
        size_t dtype = strcspn(at + name + 1, ",");
        char dtype_name[32];

        assert_true(count < COLUMNS_MOST);
        snprintf(names[count], sizeof names[0], "%.*s", (int)name, at);
        snprintf(dtype_name, sizeof dtype_name, "%.*s", (int)dtype, at + name + 1);
        builder_init(&builders[count++], gr_dtype_parse(dtype_name), row_count, (int64_t)strlen(rows));
        at += name + 1 + dtype;
        at += *at == ',';
    }
    for (at = rows; *at != '\0';) {
        for (size_t i = 0; i < count; i++) {
            size_t size = strcspn(at, ",\n");
            char cell[256];

            snprintf(cell, sizeof cell, "%.*s", (int)size, at);
            assert_int_equal(at[size], i + 1 < count ? ',' : '\n');
            builder_add(&builders[i], size == 0 ? NULL : strcmp(cell, "\"\"") == 0 ? "" : cell);
            at += size + 1;
        }
    }
    frame = gr_frame_create(count, row_count);
    assert_non_null(frame);
    for (size_t i = 0; i < count; i++) {
        builder_set(&builders[i], frame, i, names[i]);
    }
    return frame;
}

static const char *
random_cell(struct random *random, size_t column, int64_t row, bool wild, char cell[64])
{
    static const char *const texts[] = {"",
                                        "a",
                                        "A",
                                        "ab",
                                        "ab\xc3\xa9",
                                        "\xc3\xa9t\xc3\xa9",
                                        "\xf0\x9f\x90\xa6",
                                        "longer than seven",
                                        "longer than seven!",
                                        "longer"};
    static const char *const numbers[] = {"1.5", "-2.25", "0", "-0", "1e10", "nan", "inf", "-inf"};
    double size;

    if (column != 8 && random_below(random, 8) == 0) {
        return NULL;
    }
    switch (column) {
    case 0:
        snprintf(cell, 64, "%lld", (long long)random_below(random, 7) - 3);
        break;
    case 1:
        return texts[random_below(random, 10)];
    case 2:
        return numbers[random_below(random, wild ? 8 : 5)];
    case 3:
        snprintf(cell, 64, "%lld", (long long)(random_next(random) >> random_below(random, 40)) >> 4);
        break;
    case 4:
        size = ldexp((double)random_below(random, 1 << 20) - 5e5, (int)random_below(random, 60) - 30);
        snprintf(cell, 64, "%.17g", size);
        break;
    case 5:
        return random_below(random, 2) != 0 ? "true" : "false";
    case 6:
        snprintf(cell, 64, "%lld", (long long)random_below(random, 40000) - 10000);
        break;
    case 7:
        snprintf(cell, 64, "%lld", (long long)(random_next(random) >> 14) - (1ll << 48));
        break;
    default:
        snprintf(cell, 64, "%lld", (long long)row);
        break;
    }
    return cell;
}

granary_frame *
frame_random(uint64_t seed, int64_t rows, bool wild)
{
    static const struct {
        const char *name;
        granary_dtype dtype;
    } columns[] = {
        {"key", GRANARY_INT64},  {"text", GRANARY_STRING},      {"number", GRANARY_FLOAT64},
        {"wide", GRANARY_INT64}, {"real", GRANARY_FLOAT64},     {"flag", GRANARY_BOOL},
        {"day", GRANARY_DATE},   {"moment", GRANARY_TIMESTAMP}, {"row", GRANARY_INT64},
    };
    size_t count = sizeof columns / sizeof columns[0];
    struct random random = {seed * 7919 + 1};
    granary_frame *frame = gr_frame_create(count, rows);

    assert_non_null(frame);
    for (size_t i = 0; i < count; i++) {
        struct column_builder builder;

        builder_init(&builder, columns[i].dtype, rows, rows * 20);
        for (int64_t row = 0; row < rows; row++) {
            char cell[64];

            builder_add(&builder, random_cell(&random, i, row, wild, cell));
        }
        builder_set(&builder, frame, i, columns[i].name);
    }
    return frame;
}

/* ---- looking at frames ---- */

void
assert_frame(const granary_frame *frame, const char *csv)
{
    struct gr_buf out = {0};

    gr_print_csv(frame, &out);
    assert_true(gr_buf_ok(&out));
    assert_string_equal(out.bytes, csv);
    gr_buf_free(&out);
}

static void *
arrow_bytes(const granary_frame *frame, uint64_t *ret_size)
{
    uint64_t meta_size;
    void *data;
    void *meta;

    assert_int_equal(gr_arrow_measure(frame, ret_size, &meta_size), GRANARY_OK);
    data = gr_data_alloc(*ret_size);
    meta = gr_data_alloc(meta_size);
    assert_non_null(data);
    assert_non_null(meta);
    gr_arrow_write(frame, data, meta);
    free(meta);
    return data;
}

void
assert_same_bytes(const granary_frame *a, const granary_frame *b)
{
    uint64_t size_a;
    uint64_t size_b;
    void *bytes_a = arrow_bytes(a, &size_a);
    void *bytes_b = arrow_bytes(b, &size_b);

    assert_int_equal(size_a, size_b);
    assert_memory_equal(bytes_a, bytes_b, size_a);
    free(bytes_a);
    free(bytes_b);
}

char *
cell_text(const granary_frame *frame, const char *column, int64_t row)
{
    struct gr_buf out = {0};
    int position = gr_frame_find(frame, column);

    assert_true(position >= 0);
    if (frame->columns[position].view.dtype == GRANARY_NULLTYPE || gr_is_null(&frame->columns[position].view, row)) {
        gr_buf_add(&out, "<null>", 6);
    } else {
        gr_buf_add(&out, "", 0);
        gr_value_format(&frame->columns[position].view, row, &out);
    }
    return gr_buf_take(&out);
}

/* ---- calls ---- */

void
kernel_test_init(struct kernel_test *test, const char *op)
{
    memset(test, 0, sizeof *test);
    granary__chunk_op__init(&test->op);
    test->op.op = (char *)(uintptr_t)op;
    test->op.attrs = test->attrs;
    test->output_count = 1;
}

void
kernel_test_attr(struct kernel_test *test, Granary__Attr *attr)
{
    assert_non_null(attr);
    assert_true(test->op.n_attrs < sizeof test->attrs / sizeof test->attrs[0]);
    test->attrs[test->op.n_attrs++] = attr;
}

/* Cut text at a separator, in place. */
static size_t
cut(char *text, char separator, char **parts, size_t room)
{
    size_t count = 0;

    while (text != NULL && *text != '\0') {
        char *end = strchr(text, separator);

        assert_true(count < room);
        parts[count++] = text;
        if (end != NULL) {
            *end++ = '\0';
        }
        text = end;
    }
    return count;
}

void
kernel_test_strings(struct kernel_test *test, const char *name, const char *list)
{
    char *copy = strdup(list);
    char *parts[16];
    size_t count = cut(copy, ',', parts, 16);

    kernel_test_attr(test, gr_attr_new_strings(name, parts, count));
    free(copy);
}

void
kernel_test_map(struct kernel_test *test, const char *name, const char *entries)
{
    char *copy = strdup(entries);
    char *keys[32];
    char *values[32];
    size_t count = cut(copy, ';', keys, 32);

    for (size_t i = 0; i < count; i++) {
        values[i] = strchr(keys[i], '=');
        assert_non_null(values[i]);
        *values[i]++ = '\0';
    }
    kernel_test_attr(test, gr_attr_new_map(name, keys, values, count));
    free(copy);
}

void
kernel_test_bools(struct kernel_test *test, const char *name, const char *digits)
{
    bool values[16];
    size_t count = strlen(digits);

    for (size_t i = 0; i < count; i++) {
        values[i] = digits[i] == '1';
    }
    kernel_test_attr(test, gr_attr_new_bools(name, values, count));
}

void
kernel_test_frame(struct kernel_test *test, const granary_frame *frame)
{
    assert_true(test->input_count < sizeof test->inputs / sizeof test->inputs[0]);
    test->inputs[test->input_count++] =
        (struct gr_value){.kind = GR_VALUE_FRAME, .frame = (granary_frame *)(uintptr_t)frame};
}

void
kernel_test_bytes(struct kernel_test *test, const struct gr_value *value)
{
    assert_true(test->input_count < sizeof test->inputs / sizeof test->inputs[0]);
    test->inputs[test->input_count++] =
        (struct gr_value){.kind = GR_VALUE_BYTES, .bytes = value->bytes, .bytes_size = value->bytes_size};
}

granary_err
kernel_test_run(struct kernel_test *test, gr_kernel *kernel)
{
    struct gr_kernel_call call = {
        .op = &test->op,
        .inputs = test->inputs,
        .input_count = test->input_count,
        .outputs = test->outputs,
        .output_count = test->output_count,
        .find = gr_kernel_find,
        .stopped = test->stopped,
        .stopping = test->stopping,
    };

    return kernel(&call);
}

void
kernel_test_fini(struct kernel_test *test)
{
    for (size_t i = 0; i < test->op.n_attrs; i++) {
        granary__attr__free_unpacked(test->attrs[i], NULL);
    }
    for (size_t i = 0; i < test->output_count; i++) {
        gr_value_free(&test->outputs[i]);
    }
    memset(test, 0, sizeof *test);
}

granary_frame *
kernel_test_to_frame(struct kernel_test *test, gr_kernel *kernel)
{
    granary_err err = kernel_test_run(test, kernel);
    granary_frame *frame;

    if (err != GRANARY_OK) {
        fail_msg("%s: %s: %s", test->op.op, granary_error_name(err), granary_error_message());
    }
    assert_int_equal(test->outputs[0].kind, GR_VALUE_FRAME);
    frame = test->outputs[0].frame;
    test->outputs[0] = (struct gr_value){0};
    kernel_test_fini(test);
    return frame;
}

void
kernel_test_fails(struct kernel_test *test, gr_kernel *kernel, granary_err err, const char *text)
{
    assert_int_equal(kernel_test_run(test, kernel), err);
    if (strstr(granary_error_message(), text) == NULL) {
        fail_msg("'%s' is not in the message '%s'", text, granary_error_message());
    }
    for (size_t i = 0; i < test->output_count; i++) {
        assert_int_equal(test->outputs[i].kind, GR_VALUE_NONE);
    }
    kernel_test_fini(test);
}
