/* Rows as a new frame. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "contract/dtypes.h"
#include "data/place.h"
#include "data/value/bits.h"
#include "kernel/core/scratch.h"
#include "kernel/rows/lists/lists.h"
#include "kernel/rows/node.h"
#include "kernel/rows/store.h"

#define STORE(stored, computed)                                                                                        \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        ((stored *)out)[i] = (stored)((const computed *)values)[i];                                                    \
    }                                                                                                                  \
    break

void
store_values(granary_dtype dtype, enum rows_class class, const void *values, int64_t n, void *out, int64_t at)
{
    bool wide = class == ROWS_WIDE;

    if (class == ROWS_CODE) {
        memcpy(out, values, (size_t)n * sizeof(int32_t));
        return;
    }
    switch (gr_dtype_kind(dtype)) {
    case GRANARY_BOOL:
        bits_pack(values, n, out, at);
        break;
#define WORD(name, type, ...)                                                                                          \
    case GRANARY_##name:                                                                                               \
        if (wide && GRANARY_##name == GRANARY_UINT64) {                                                                \
            STORE(type, gr_int128);                                                                                    \
        }                                                                                                              \
        STORE(type, int64_t);
#define REAL(name, type, ...)                                                                                          \
    case GRANARY_##name:                                                                                               \
        STORE(type, double);
        GR_WORD_DTYPES(WORD)
        GR_REAL_DTYPES(REAL)
#undef WORD
#undef REAL
    case GRANARY_DECIMAL:
        if (wide) {
            memcpy(out, values, (size_t)n * sizeof(gr_int128));
            break;
        }
        STORE(gr_int128, int64_t);
    case GRANARY_NULLTYPE:
    case GRANARY_STRING:
    case GRANARY_BINARY:
    case GRANARY_COMPLEX64:
    case GRANARY_COMPLEX128:
    case GRANARY_LIST:
        break;
    }
}

/* A column of the new frame: rows taken from one of the old frame, or computed. */
struct output {
    const granary_column *column; /* NULL: computed, as vector */
    size_t vector;
    struct gr_column made; /* when all rows stay, values are written where they remain */
    char *room;            /* values as they are stored, of up to all rows; kept memory unless they are made's */
    int64_t *ends;         /* of strings, kept memory */
    uint8_t *valid;        /* a byte a row, kept memory; of use when has_nulls */
    bool has_nulls;        /* a block had a null, or could have one */
    struct gr_buf text;
    struct gr_column *lists; /* a column a block */
    size_t list_count;
    size_t list_room;
};

struct collection {
    const struct rows_spec *spec;
    struct output *outputs;
    struct rows *rows;
    int64_t *indices; /* of rows taken; NULL when no column needs them */
    int64_t count;
    bool all; /* no row was left out so far */
};

/* The names of computed columns, sorted: there may be thousands. */
struct names {
    const char **list;
    size_t count;
};

static int
compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static granary_err
sort_names(const struct rows_spec *spec, struct names *ret_names)
{
    const size_t count = spec->columns == NULL ? 0 : spec->columns->n_keys;
    const char **list = calloc(count + 1, sizeof(const char *));

    if (list == NULL) {
        return node_no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        list[i] = spec->columns->keys[i];
    }
    qsort(list, count, sizeof(const char *), compare_names);
    *ret_names = (struct names){list, count};
    return GRANARY_OK;
}

static bool
is_computed(const struct names *names, const char *name)
{
    return bsearch(&name, names->list, names->count, sizeof(const char *), compare_names) != NULL;
}

/* The column of the frame that a text names, in backquotes or not; NULL: it is computed. */
static const granary_column *
column_of(const granary_frame *frame, const struct names *names, const char *text)
{
    struct gr_expr *expr = NULL;
    int at = is_computed(names, text) ? -1 : gr_frame_find(frame, text);

    if (at < 0 && text[0] == '`' && !is_computed(names, text) && gr_expr_parse(text, &expr) == GRANARY_OK) {
        at =
            expr->kind == GR_EXPR_COLUMN && !is_computed(names, expr->column) ? gr_frame_find(frame, expr->column) : -1;
    }
    gr_expr_destroy(expr);
    return at >= 0 ? &frame->columns[at].view : NULL;
}

static size_t
value_size(const struct rows_vector *vector)
{
    return vector->class == ROWS_CODE ? sizeof(int32_t) : gr_dtype_size(vector->dtype);
}

static granary_err
add_texts(struct output *output, const struct rows_vector *vector, int64_t n, int64_t before)
{
    for (int64_t i = 0; i < n; i++) {
        if (vector->valid == NULL || vector->valid[i] != 0) {
            struct rows_text text = rows_text_at(vector, i);

            gr_buf_add(&output->text, text.size > 0 ? text.bytes : "", text.size);
        }
        output->ends[before + i] = (int64_t)output->text.size;
    }
    return gr_buf_ok(&output->text) ? GRANARY_OK : node_no_memory();
}

static granary_err
add_lists(struct output *output, const struct rows_vector *vector, int64_t n)
{
    granary_err err =
        gr_grow(&output->lists, &output->list_room, output->list_count, sizeof *output->lists)
            ? lists_column(vector->dtype, vector->values, vector->valid, n, &output->lists[output->list_count])
            : node_no_memory();

    output->list_count += err == GRANARY_OK;
    return err;
}

static granary_err
add_block(struct output *output, const struct rows_vector *vector, int64_t n, int64_t before)
{
    bool whole = vector->valid == NULL && vector->class != ROWS_NULL;

    if (vector->class == ROWS_LIST) {
        return add_lists(output, vector, n);
    }
    if (!whole && !output->has_nulls) {
        memset(output->valid, 1, (size_t)before);
        output->has_nulls = true;
    }
    if (vector->valid != NULL) {
        memcpy(output->valid + before, vector->valid, (size_t)n);
    } else if (output->has_nulls) {
        memset(output->valid + before, vector->class != ROWS_NULL, (size_t)n);
    }
    if (vector->class == ROWS_TEXT) {
        return add_texts(output, vector, n, before);
    }
    if (vector->dtype == GRANARY_BOOL) {
        store_values(GRANARY_BOOL, vector->class, vector->values, n, output->room, before);
    } else if (value_size(vector) > 0) {
        store_values(vector->dtype, vector->class, vector->values, n,
                     output->room + (size_t)before * value_size(vector), 0);
    }
    return GRANARY_OK;
}

/* A column for the values of a vector, to be written by the caller: bits are zero, others are not set. */
static granary_err
stored_alloc(const struct rows_vector *vector, int64_t rows, struct gr_column *ret_column)
{
    granary_dtype dtype = vector->class == ROWS_CODE ? GRANARY_INT32 : vector->dtype;

    return dtype == GRANARY_BOOL ? gr_column_alloc(dtype, rows, 0, false, ret_column)
                                 : gr_column_alloc_unset(dtype, rows, 0, false, ret_column);
}

/* Room for the values of up to all rows; when all stay, in the column itself. */
static granary_err
prepare(struct output *output, const struct rows_vector *vector, int64_t rows, bool stay)
{
    size_t bytes = vector->dtype == GRANARY_BOOL ? (size_t)gr_bitmap_bytes(rows) : (size_t)rows * value_size(vector);
    granary_err err = GRANARY_OK;

    if (vector->class == ROWS_LIST) {
        return GRANARY_OK;
    }
    output->valid = scratch_alloc((size_t)rows + 1);
    if (output->valid == NULL) {
        return node_no_memory();
    }
    if (vector->class == ROWS_TEXT) {
        output->ends = scratch_alloc((size_t)(rows + 1) * sizeof *output->ends);
        return output->ends == NULL ? node_no_memory() : GRANARY_OK;
    }
    if (stay) {
        err = stored_alloc(vector, rows, &output->made);
        output->room = (char *)(uintptr_t)output->made.view.values;
        return err;
    }
    output->room = scratch_alloc(bytes + 1);
    if (output->room != NULL && vector->dtype == GRANARY_BOOL) {
        memset(output->room, 0, bytes);
    }
    return output->room == NULL ? node_no_memory() : GRANARY_OK;
}

static void
output_free(struct output *output, bool stay)
{
    scratch_free(output->valid);
    scratch_free(output->ends);
    if (!stay) {
        scratch_free(output->room);
    }
    gr_column_free(&output->made);
    gr_buf_free(&output->text);
    for (size_t i = 0; i < output->list_count; i++) {
        gr_column_free(&output->lists[i]);
    }
    free(output->lists);
}

static granary_err
collect_blocks(struct collection *all)
{
    struct rows_block block;
    granary_err err;

    while ((err = rows_next(all->rows, &block)) == GRANARY_OK && block.count > 0) {
        all->all = all->all && block.selected == NULL && block.from == all->count;
        for (int64_t i = 0; i < block.count && all->indices != NULL; i++) {
            all->indices[all->count + i] = block.from + (block.selected != NULL ? block.selected[i] : i);
        }
        for (size_t i = 0; i < all->spec->wanted_count && err == GRANARY_OK; i++) {
            struct output *output = &all->outputs[i];

            if (output->column == NULL) {
                err = add_block(output, rows_vector(all->rows, output->vector), block.count, all->count);
            }
        }
        if (err != GRANARY_OK) {
            return err;
        }
        all->count += block.count;
    }
    return err;
}

static granary_err
set_validity(const struct output *output, int64_t rows, struct gr_column *column)
{
    uint8_t *bits;

    if (!output->has_nulls || column->view.dtype == GRANARY_NULLTYPE) {
        return GRANARY_OK;
    }
    bits = gr_data_alloc((size_t)gr_bitmap_bytes(rows));
    if (bits == NULL) {
        return node_no_memory();
    }
    bits_pack(output->valid, rows, bits, 0);
    column->view.validity = bits;
    return GRANARY_OK;
}

static granary_err
make_texts(const struct output *output, granary_dtype dtype, int64_t rows, struct gr_column *column)
{
    granary_err err = gr_column_alloc(dtype, rows, (int64_t)output->text.size, false, column);
    int32_t *offsets;

    if (err != GRANARY_OK) {
        return err;
    }
    offsets = (int32_t *)(uintptr_t)column->view.offsets;
    for (int64_t i = 0; i < rows; i++) {
        offsets[i + 1] = (int32_t)output->ends[i];
    }
    if (output->text.size > 0) {
        memcpy((void *)(uintptr_t)column->view.values, output->text.bytes, output->text.size);
    }
    return GRANARY_OK;
}

/* Codes of a dictionary that was made here become an encoded column with entries of its own. */
static granary_err
encode(const struct rows_vector *vector, struct gr_column *column)
{
    struct gr_dictionary *dictionary = NULL;
    struct gr_run run = {vector->dictionary, 0, vector->dictionary->rows};
    struct gr_column entries;
    granary_err err = gr_column_concat(&run, 1, vector->dtype, &entries);

    if (err == GRANARY_OK) {
        err = gr_dictionary_create(&entries, &dictionary);
    }
    if (err == GRANARY_OK) {
        gr_column_set_dictionary(column, dictionary);
    }
    return err;
}

/* The lists of all blocks, one after the other. */
static granary_err
make_lists(const struct output *output, granary_dtype dtype, struct gr_column *column)
{
    struct gr_run *runs = calloc(output->list_count + 1, sizeof *runs);
    granary_err err;

    if (runs == NULL) {
        return node_no_memory();
    }
    for (size_t i = 0; i < output->list_count; i++) {
        runs[i] = (struct gr_run){&output->lists[i].view, 0, output->lists[i].view.rows};
    }
    err = gr_column_concat(runs, output->list_count, dtype, column);
    free(runs);
    return err;
}

static granary_err
make_computed(struct output *output, const struct rows_vector *vector, int64_t rows, struct gr_column *column)
{
    size_t bytes = vector->dtype == GRANARY_BOOL ? (size_t)gr_bitmap_bytes(rows) : (size_t)rows * value_size(vector);
    granary_err err = GRANARY_OK;

    if (vector->class == ROWS_LIST) {
        return make_lists(output, vector->dtype, column);
    }
    if (vector->class == ROWS_TEXT) {
        err = make_texts(output, vector->dtype, rows, column);
    } else if (output->made.owned) {
        *column = output->made;
        output->made = (struct gr_column){0};
    } else {
        err = stored_alloc(vector, rows, column);
        if (err == GRANARY_OK && bytes > 0 && column->view.values != NULL) {
            memcpy((void *)(uintptr_t)column->view.values, output->room, bytes);
        }
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = set_validity(output, rows, column);
    if (err != GRANARY_OK) {
        gr_column_free(column);
        return err;
    }
    gr_column_finish(column);
    if (vector->class == ROWS_CODE && (err = encode(vector, column)) != GRANARY_OK) {
        gr_column_free(column);
    }
    return err;
}

/* The frame is about to be made, of so many rows. */
static void
expect_frame(const struct collection *all, int64_t rows)
{
    uint64_t bytes = 0;

    for (size_t i = 0; all->spec->stays && i < all->spec->wanted_count; i++) {
        const struct output *output = &all->outputs[i];
        const struct rows_vector *vector = output->column != NULL ? NULL : rows_vector(all->rows, output->vector);

        if (output->column != NULL) {
            bytes += gr_place_need(output->column, rows);
        } else {
            bytes += (uint64_t)rows * value_size(vector) + (uint64_t)gr_bitmap_bytes(rows) + output->text.size + 128;
            bytes += vector->class == ROWS_CODE && vector->dictionary != NULL
                         ? gr_place_need(vector->dictionary, vector->dictionary->rows)
                         : 0;
        }
    }
    if (all->spec->stays) {
        gr_place_expect(all->spec->wanted_count, bytes);
    }
}

static granary_err
make_frame(const struct collection *all, const char *const *names, granary_frame **ret_frame)
{
    granary_frame *made = gr_frame_create(all->spec->wanted_count, all->count);
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < all->spec->wanted_count && err == GRANARY_OK; i++) {
        struct output *output = &all->outputs[i];
        struct gr_column column;

        if (output->column != NULL && all->all && output->column->rows == all->count) {
            err = gr_frame_set_borrowed(made, i, names[i], output->column);
            continue;
        }
        if (output->column != NULL) {
            err = gr_column_take(output->column, all->indices, all->count, &column);
        } else {
            err = make_computed(output, rows_vector(all->rows, output->vector), all->count, &column);
        }
        if (err == GRANARY_OK) {
            err = gr_frame_set(made, i, names[i], &column);
        }
    }
    return gr_frame_give(made, err, ret_frame);
}

granary_err
rows_frame(const granary_frame *frame, const struct rows_spec *spec, const char *const *names,
           granary_frame **ret_frame)
{
    struct collection all = {.spec = spec, .all = true};
    bool stay = spec->where == NULL;
    const char **computed = calloc(spec->wanted_count + 1, sizeof(const char *));
    struct rows_spec inner = *spec;
    struct names sorted = {.list = NULL};
    granary_err err = sort_names(spec, &sorted);

    all.outputs = calloc(spec->wanted_count + 1, sizeof *all.outputs);
    if (computed == NULL || all.outputs == NULL) {
        err = node_no_memory();
    }
    inner.wanted_count = 0;
    for (size_t i = 0; i < spec->wanted_count && err == GRANARY_OK; i++) {
        all.outputs[i].column = column_of(frame, &sorted, spec->wanted[i]);
        if (all.outputs[i].column != NULL) {
            continue;
        }
        all.outputs[i].vector = inner.wanted_count;
        computed[inner.wanted_count++] = spec->wanted[i];
    }
    inner.wanted = computed;
    if (err == GRANARY_OK && spec->where != NULL &&
        (all.indices = scratch_alloc((size_t)(frame->rows + 1) * sizeof *all.indices)) == NULL) {
        err = node_no_memory();
    }
    if (err == GRANARY_OK) {
        err = rows_open(frame, &inner, &all.rows);
    }
    if (err == GRANARY_OK && stay) {
        expect_frame(&all, frame->rows);
    }
    for (size_t i = 0; i < spec->wanted_count && err == GRANARY_OK; i++) {
        struct output *output = &all.outputs[i];

        if (output->column == NULL) {
            err = prepare(output, rows_vector(all.rows, output->vector), frame->rows, stay);
        }
    }
    if (err == GRANARY_OK && (err = collect_blocks(&all)) != GRANARY_OK && rows_failed(all.rows) >= 0) {
        for (size_t i = 0; i < spec->wanted_count; i++) {
            if (all.outputs[i].column == NULL && all.outputs[i].vector == (size_t)rows_failed(all.rows)) {
                err = gr_fail_in(err, "column '%s'", names[i]);
            }
        }
    }
    if (err == GRANARY_OK) {
        expect_frame(&all, all.count);
        err = make_frame(&all, names, ret_frame);
    }
    rows_close(all.rows);
    scratch_free(all.indices);
    for (size_t i = 0; i < spec->wanted_count && all.outputs != NULL; i++) {
        output_free(&all.outputs[i], stay);
    }
    free(all.outputs);
    free((void *)(uintptr_t)computed);
    free((void *)(uintptr_t)sorted.list);
    return err;
}
