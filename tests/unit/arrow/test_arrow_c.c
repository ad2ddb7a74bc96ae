/* Arrow's C data interface without a store: what is given out comes back, and what others give is taken or refused. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../data/frames.h"
#include "data/caller.h"
#include "producer.h"

static void
assert_message(const char *part)
{
    if (strstr(granary_error_message(), part) == NULL) {
        print_error("'%s' is not in '%s'\n", part, granary_error_message());
        fail();
    }
}

/* ---- out, and in again ---- */

static granary_frame *
frame_of_columns(const granary_columns *columns)
{
    granary_frame *frame;

    assert_int_equal(gr_caller_frame(columns->columns, columns->count, columns->rows, &frame), GRANARY_OK);
    return frame;
}

static void
what_is_given_comes_back(void **state)
{
    granary_frame *frame = frame_of_everything();
    granary_frame *same = frame_of_everything();
    granary_frame *back;
    granary_columns columns;
    struct ArrowSchema schema;
    struct ArrowArray array;

    (void)state;
    assert_int_equal(granary_frame_export_owned(frame, &schema, &array), GRANARY_OK);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(array.n_children, same->count);
    assert_int_equal(granary_columns_import(&schema, &array, &columns), GRANARY_OK);
    assert_null(array.release);
    schema.release(&schema);
    back = frame_of_columns(&columns);
    assert_frames_equal(back, same);
    gr_frame_destroy(back);
    granary_columns_free(&columns);
    assert_null(columns.owned);
    granary_columns_free(&columns);
    gr_frame_destroy(same);
}

static void *
release_array(void *array)
{
    ((struct ArrowArray *)array)->release(array);
    return NULL;
}

/* A consumer may move children out, release the parent, and the children later, on other threads. */
static void
a_child_outlives_its_parent(void **state)
{
    const char *const names[] = {"n", "s"};
    struct gr_column all[] = {ints((int64_t[]){1, 2, 3}, "101", 3), texts((const char *[]){"a", "bc", ""}, "110", 3)};
    granary_frame *frame = frame_of(2, names, all);
    struct ArrowSchema schema, schema_child;
    struct ArrowArray array, number, text;
    pthread_t thread;

    (void)state;
    assert_int_equal(granary_frame_export_owned(frame, &schema, &array), GRANARY_OK);
    number = *array.children[0];
    array.children[0]->release = NULL;
    text = *array.children[1];
    array.children[1]->release = NULL;
    schema_child = *schema.children[1];
    schema.children[1]->release = NULL;
    array.release(&array);
    schema.release(&schema);
    assert_string_equal(schema_child.format, "u");
    assert_string_equal(schema_child.name, "s");
    schema_child.release(&schema_child);
    assert_int_equal(number.null_count, 1);
    assert_int_equal(((const int64_t *)number.buffers[1])[2], 3);
    assert_int_equal(pthread_create(&thread, NULL, release_array, &number), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_null(number.release);
    assert_memory_equal(text.buffers[2], "abc", 3);
    text.release(&text);
}

static void
formats_are_those_of_the_types(void **state)
{
    static const struct {
        granary_dtype dtype;
        const char *format;
    } rows[] = {{GRANARY_NULLTYPE, "n"},
                {GRANARY_BOOL, "b"},
                {GRANARY_INT8, "c"},
                {GRANARY_UINT16, "S"},
                {GRANARY_UINT64, "L"},
                {GRANARY_FLOAT32, "f"},
                {GRANARY_FLOAT64, "g"},
                {GRANARY_DATE, "tdD"},
                {GRANARY_TIMESTAMP, "tsu:"},
                {GRANARY_DURATION, "tDu"},
                {GRANARY_DECIMAL(12), "d:38,12"}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        granary_frame *frame = gr_frame_create(1, 0);
        struct gr_column column;
        struct ArrowSchema schema;
        struct ArrowArray array;

        assert_int_equal(gr_column_alloc(rows[i].dtype, 0, 0, false, &column), GRANARY_OK);
        assert_int_equal(gr_frame_set(frame, 0, "c", &column), GRANARY_OK);
        assert_int_equal(granary_frame_export_owned(frame, &schema, &array), GRANARY_OK);
        assert_string_equal(schema.children[0]->format, rows[i].format);
        schema.release(&schema);
        array.release(&array);
    }
}

static void
strings_keep_their_dictionary(void **state)
{
    const char *const names[] = {"s"};
    struct gr_column plain = texts((const char *[]){"x", "y", "x", "x", "x", "x", "x", "y", "x"}, "111011111", 9);
    struct gr_column coded;
    granary_frame *frame;
    granary_frame *back;
    granary_columns columns;
    struct ArrowSchema schema;
    struct ArrowArray array;
    bool pays;

    (void)state;
    assert_int_equal(gr_column_encode(&plain.view, &pays, &coded), GRANARY_OK);
    assert_true(pays);
    gr_column_free(&plain);
    frame = frame_of(1, names, &coded);
    assert_int_equal(granary_frame_export_owned(frame, &schema, &array), GRANARY_OK);
    assert_string_equal(schema.children[0]->format, "i");
    assert_string_equal(schema.children[0]->dictionary->format, "u");
    assert_int_equal(array.children[0]->dictionary->length, 2);
    assert_int_equal(array.children[0]->null_count, 1);
    assert_int_equal(granary_columns_import(&schema, &array, &columns), GRANARY_OK);
    schema.release(&schema);
    assert_non_null(columns.columns[0].dictionary);
    back = frame_of_columns(&columns);
    assert_string_equal(text_at(back, "s", 1), "y");
    assert_true(gr_is_null(&back->columns[0].view, 3));
    gr_frame_destroy(back);
    granary_columns_free(&columns);
}

/* ---- in: every type, at odd offsets, sliced by parent and child, with nulls ---- */

#define ROWS 9 /* that the batch takes out of AT + CHILD + ROWS that are there */
enum { AT = 2, CHILD = 3, ALL = AT + CHILD + ROWS + 1 };

struct taken {
    struct ArrowSchema schema;
    struct ArrowArray array;
    granary_columns columns;
    granary_frame *frame;
};

/* A batch of one column with these values, width bytes each, of which row 4 is null. */
static void
fixed(struct taken *taken, const char *format, const void *values, size_t width)
{
    struct ArrowArray *child;

    produce_batch(&taken->schema, &taken->array, format, "c", ROWS);
    taken->array.offset = AT;
    child = taken->array.children[0];
    produce_array(child, ALL - CHILD, CHILD, -1, 2, 0);
    produce_bits(child, 0, "111111111011111");
    produce_buffer(child, 1, values, ALL * width);
}

static void
take(struct taken *taken)
{
    granary_err err = granary_columns_import(&taken->schema, &taken->array, &taken->columns);

    if (err != GRANARY_OK) {
        print_error("%s\n", granary_error_message());
    }
    assert_int_equal(err, GRANARY_OK);
    assert_int_equal(taken->columns.rows, ROWS);
    taken->frame = frame_of_columns(&taken->columns);
}

static void
done(struct taken *taken)
{
    gr_frame_destroy(taken->frame);
    granary_columns_free(&taken->columns);
    taken->schema.release(&taken->schema);
    assert_int_equal(produced_alive(), 0);
}

static void
assert_texts(const struct taken *taken, const char *const *expected)
{
    for (int i = 0; i < ROWS; i++) {
        if (i == 4) {
            assert_true(gr_is_null(&taken->frame->columns[0].view, i));
        } else {
            assert_string_equal(text_at(taken->frame, "c", i), expected[i]);
        }
    }
}

#define INTEGERS(type)                                                                                                 \
    (type[ALL])                                                                                                        \
    {                                                                                                                  \
        99, 99, 99, 99, 99, 0, 1, 2, 3, 99, 5, 6, 7, 8, 99                                                             \
    }

static void
integers_are_taken(void **state)
{
    static const char *const expected[] = {"0", "1", "2", "3", "", "5", "6", "7", "8"};
    const struct {
        const char *format;
        const void *values;
        size_t width;
    } rows[] = {{"c", INTEGERS(int8_t), 1},   {"C", INTEGERS(uint8_t), 1}, {"s", INTEGERS(int16_t), 2},
                {"S", INTEGERS(uint16_t), 2}, {"i", INTEGERS(int32_t), 4}, {"I", INTEGERS(uint32_t), 4},
                {"l", INTEGERS(int64_t), 8},  {"L", INTEGERS(uint64_t), 8}};
    struct taken taken;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixed(&taken, rows[i].format, rows[i].values, rows[i].width);
        take(&taken);
        assert_texts(&taken, expected);
        done(&taken);
    }
}

static void
values_lie_where_they_were(void **state)
{
    struct taken taken;
    const int64_t *values;

    (void)state;
    fixed(&taken, "l", INTEGERS(int64_t), 8);
    values = taken.array.children[0]->buffers[1];
    take(&taken);
    assert_ptr_equal(taken.columns.columns[0].values, values + AT + CHILD);
    assert_int_equal(taken.columns.columns[0].null_count, 1);
    done(&taken);
}

static void
moments_are_taken(void **state)
{
    static const struct {
        const char *format;
        int64_t step;
        const char *last;
    } rows[] = {
        {"tdm", 86400000, "1970-01-09"},
        {"tss:", 1, "1970-01-01T00:00:08"},
        {"tsm:UTC", 1000, "1970-01-01T00:00:08Z"},
        {"tsu:Europe/Berlin", 1000000, "1970-01-01T00:00:08Z"},
        {"tsn:+00:00", 1000, "1970-01-01T00:00:00.000008Z"},
        {"ttu", 1000000, "00:00:08"},
        {"ttn", 1000, "00:00:00.000008"},
        {"tDs", 1, "00:00:08"},
        {"tDm", 1, "00:00:00.008"},
        {"tDu", 1, "00:00:00.000008"},
        {"tDn", 1000, "00:00:00.000008"},
    };
    struct taken taken;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t values[ALL];

        for (int row = 0; row < ALL; row++) {
            values[row] = row == 9 ? 7 : (row - AT - CHILD) * rows[i].step; /* what is null need not fit */
        }
        fixed(&taken, rows[i].format, values, 8);
        take(&taken);
        assert_non_null(strstr(text_at(taken.frame, "c", 8), rows[i].last));
        assert_true(gr_is_null(&taken.frame->columns[0].view, 4));
        done(&taken);
    }
    fixed(&taken, "tdD", INTEGERS(int32_t), 4);
    take(&taken);
    assert_string_equal(text_at(taken.frame, "c", 8), "1970-01-09");
    done(&taken);
    for (int milli = 0; milli < 2; milli++) {
        int32_t clocks[ALL] = {0};

        clocks[AT + CHILD + 8] = 86399;
        fixed(&taken, milli ? "ttm" : "tts", clocks, 4);
        take(&taken);
        assert_string_equal(text_at(taken.frame, "c", 8), milli ? "00:01:26.399000" : "23:59:59");
        done(&taken);
    }
}

static void
reals_are_taken(void **state)
{
    /* 0, 1, -2, 65504, the least, infinity, NaN, the least normal one */
    static const uint16_t halves[ALL] = {9, 9, 9, 9, 9, 0, 0x3c00, 0xc000, 0x7bff, 9, 1, 0x7c00, 0x7e00, 0x0400, 9};
    static const double doubles[ALL] = {9, 9, 9, 9, 9, 0, 1, 2.5, 3, 9, 5, 6, 7, 8, 9};
    static const float floats[ALL] = {9, 9, 9, 9, 9, 0, 1, 2.5, 3, 9, 5, 6, 7, 8, 9};
    struct taken taken;
    const float *values;

    (void)state;
    fixed(&taken, "e", halves, 2);
    take(&taken);
    values = taken.frame->columns[0].view.values;
    assert_true(values[0] == 0 && values[1] == 1 && values[2] == -2 && values[3] == 65504 && values[5] == 0x1p-24f);
    assert_true(values[6] > 65504 && values[7] != values[7] && values[8] == 0x1p-14f);
    done(&taken);
    fixed(&taken, "g", doubles, 8);
    take(&taken);
    assert_string_equal(text_at(taken.frame, "c", 2), "2.5");
    done(&taken);
    fixed(&taken, "f", floats, 4);
    take(&taken);
    assert_string_equal(text_at(taken.frame, "c", 2), "2.5");
    done(&taken);
}

static void
decimals_are_taken(void **state)
{
    static const struct {
        const char *format;
        size_t words; /* of 32 bits */
    } rows[] = {{"d:9,2,32", 1}, {"d:18,2,64", 2}, {"d:38,2", 4}, {"d:38,2,128", 4}, {"d:50,2,256", 8}};
    static const char *const expected[] = {"-4.00", "-3.00", "-2.00", "-1.00", "", "1.00", "2.00", "3.00", "4.00"};
    struct taken taken;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int32_t values[ALL][8];
        int32_t packed[ALL * 8];

        for (int row = 0; row < ALL; row++) {
            memset(values[row], row < 9 ? 0xff : 0, sizeof values[row]);
            values[row][0] = (row - AT - CHILD - 4) * 100;
            memcpy(packed + (size_t)row * rows[i].words, values[row], rows[i].words * 4);
        }
        fixed(&taken, rows[i].format, packed, rows[i].words * 4);
        take(&taken);
        assert_texts(&taken, expected);
        done(&taken);
    }
}

static void
bools_are_taken(void **state)
{
    struct taken taken;

    (void)state;
    fixed(&taken, "b", "", 0);
    free((void *)(uintptr_t)taken.array.children[0]->buffers[1]);
    produce_bits(taken.array.children[0], 1, "000001011010011");
    take(&taken);
    assert_texts(&taken, (const char *const[]){"true", "false", "true", "true", "", "true", "false", "false", "true"});
    done(&taken);
}

/* ---- text ---- */

static const char letters[] = "zzzzza\xc3\xa4"
                              "cdxefghi";
static const int32_t ends[ALL + 1] = {0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 15};
static const char *const letter[] = {"a", "\xc3\xa4", "c", "d", "", "e", "f", "g", "h"};

static void
text_child(struct ArrowArray *child, bool large)
{
    int64_t wide[ALL + 1];

    for (int i = 0; i <= ALL; i++) {
        wide[i] = ends[i];
    }
    produce_array(child, ALL - CHILD, CHILD, 1, 3, 0);
    produce_bits(child, 0, "111111111011111");
    produce_buffer(child, 1, large ? (const void *)wide : ends, (ALL + 1) * (large ? 8u : 4u));
    produce_buffer(child, 2, letters, sizeof letters - 1);
}

static void
text_is_taken(void **state)
{
    struct taken taken;

    (void)state;
    for (int large = 0; large < 2; large++) {
        produce_batch(&taken.schema, &taken.array, large ? "U" : "u", "c", ROWS);
        taken.array.offset = AT;
        text_child(taken.array.children[0], large != 0);
        take(&taken);
        assert_texts(&taken, letter);
        done(&taken);
    }
}

static void
views_are_taken(void **state)
{
    static const char far[] = "..a string of more than twelve bytes";
    struct taken taken;
    struct ArrowArray *child;
    int32_t views[ALL][4];
    int64_t size = sizeof far - 1;

    (void)state;
    memset(views, 0, sizeof views);
    for (int i = 0; i < ALL; i++) {
        views[i][0] = 1;
        memcpy(&views[i][1], "x", 1);
    }
    views[5][0] = (int32_t)size - 2;
    memcpy(&views[5][1], far + 2, 4);
    views[5][2] = 0;
    views[5][3] = 2;
    views[9][0] = -5; /* null */
    produce_batch(&taken.schema, &taken.array, "vu", "c", ROWS);
    taken.array.offset = AT;
    child = taken.array.children[0];
    produce_array(child, ALL - CHILD, CHILD, -1, 4, 0);
    produce_bits(child, 0, "111111111011111");
    produce_buffer(child, 1, views, sizeof views);
    produce_buffer(child, 2, far, (size_t)size);
    produce_buffer(child, 3, &size, sizeof size);
    take(&taken);
    assert_string_equal(text_at(taken.frame, "c", 0), far + 2);
    assert_string_equal(text_at(taken.frame, "c", 1), "x");
    assert_true(gr_is_null(&taken.frame->columns[0].view, 4));
    done(&taken);
}

/* ---- dictionaries ---- */

/* Codes of any width with the values "a", second, "a" or "c", ... */
static void
coded(struct taken *taken, const char *format, const void *codes, size_t width, const char *values, const char *third)
{
    const int32_t offsets[] = {0, 1, 2, 3};
    const int64_t wide[] = {0, 1, 2, 3};
    struct ArrowArray *child;
    char text[4] = "ab";

    produce_schema(&taken->schema, "+s", "", 1);
    produce_coded_schema(taken->schema.children[0], format, "c", values);
    produce_array(&taken->array, ROWS, AT, 0, 1, 1);
    child = taken->array.children[0];
    produce_array(child, ALL - CHILD, CHILD, -1, 2, 0);
    produce_bits(child, 0, "111111111011111");
    produce_buffer(child, 1, codes, ALL * width);
    produce_dictionary(child);
    text[2] = third[0];
    produce_array(child->dictionary, 3, 0, 0, 3, 0);
    produce_buffer(child->dictionary, 1, values[0] == 'U' ? (const void *)wide : offsets, values[0] == 'U' ? 32 : 16);
    produce_buffer(child->dictionary, 2, text, 3);
}

#define CODES(type)                                                                                                    \
    (type[ALL])                                                                                                        \
    {                                                                                                                  \
        99, 99, 99, 99, 99, 0, 1, 2, 0, 99, 1, 2, 0, 1, 99                                                             \
    }

static void
codes_of_any_width_are_taken(void **state)
{
    static const char *const expected[] = {"a", "b", "c", "a", "", "b", "c", "a", "b"};
    const struct {
        const char *format;
        const void *codes;
        size_t width;
    } rows[] = {{"c", CODES(int8_t), 1},   {"C", CODES(uint8_t), 1}, {"s", CODES(int16_t), 2},
                {"S", CODES(uint16_t), 2}, {"i", CODES(int32_t), 4}, {"I", CODES(uint32_t), 4},
                {"l", CODES(int64_t), 8},  {"L", CODES(uint64_t), 8}};
    struct taken taken;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        coded(&taken, rows[i].format, rows[i].codes, rows[i].width, i % 2 == 0 ? "u" : "U", "c");
        take(&taken);
        assert_non_null(taken.columns.columns[0].dictionary);
        assert_texts(&taken, expected);
        done(&taken);
    }
}

static void
other_dictionaries_are_decoded(void **state)
{
    static const double reals[] = {0.5, 1.5, 2.5};
    struct ArrowArray *child;
    struct taken taken;

    (void)state;
    coded(&taken, "i", CODES(int32_t), 4, "u", "a"); /* a value twice */
    take(&taken);
    assert_null(taken.columns.columns[0].dictionary);
    assert_texts(&taken, (const char *const[]){"a", "b", "a", "a", "", "b", "a", "a", "b"});
    done(&taken);

    coded(&taken, "i", CODES(int32_t), 4, "u", "c"); /* a null */
    child = taken.array.children[0]->dictionary;
    produce_bits(child, 0, "101");
    child->null_count = 1;
    take(&taken);
    assert_true(gr_is_null(&taken.frame->columns[0].view, 1));
    assert_string_equal(text_at(taken.frame, "c", 2), "c");
    done(&taken);

    produce_schema(&taken.schema, "+s", "", 1);
    produce_coded_schema(taken.schema.children[0], "i", "c", "g");
    produce_array(&taken.array, ROWS, AT, 0, 1, 1);
    child = taken.array.children[0];
    produce_array(child, ALL - CHILD, CHILD, -1, 2, 0);
    produce_bits(child, 0, "111111111011111");
    produce_buffer(child, 1, CODES(int32_t), ALL * 4);
    produce_dictionary(child);
    produce_array(child->dictionary, 3, 0, 0, 2, 0);
    produce_buffer(child->dictionary, 1, reals, sizeof reals);
    take(&taken);
    assert_texts(&taken, (const char *const[]){"0.5", "1.5", "2.5", "0.5", "", "1.5", "2.5", "0.5", "1.5"});
    done(&taken);
}

/* ---- mistakes ---- */

static void
refused(struct taken *taken, granary_err err, const char *part)
{
    granary_columns columns = {.count = 77};

    assert_int_equal(granary_columns_import(&taken->schema, &taken->array, &columns), err);
    assert_message(part);
    assert_int_equal(columns.count, 77);
    assert_null(taken->array.release);
    if (taken->schema.release != NULL) {
        taken->schema.release(&taken->schema);
    }
    assert_int_equal(produced_alive(), 0);
}

static void
codes_like_ours_stay_where_they_are(void **state)
{
    struct taken taken;
    struct ArrowArray *child;
    const int32_t *codes;

    (void)state;
    coded(&taken, "i", CODES(int32_t), 4, "u", "c");
    child = taken.array.children[0];
    child->null_count = 0; /* the code of row 4 is then 99 */
    refused(&taken, GRANARY_EINVAL, "row 4 is not in its dictionary");

    coded(&taken, "i", CODES(int32_t), 4, "u", "c");
    child = taken.array.children[0];
    child->null_count = 0;
    codes = child->buffers[1];
    ((int32_t *)(uintptr_t)codes)[AT + CHILD + 4] = 1;
    assert_int_equal(granary_columns_import(&taken.schema, &taken.array, &taken.columns), GRANARY_OK);
    taken.frame = frame_of_columns(&taken.columns);
    assert_ptr_equal(taken.columns.columns[0].values, codes + AT + CHILD);
    assert_string_equal(text_at(taken.frame, "c", 2), "c");
    done(&taken);
}

static void
types_that_are_not_there_are_named(void **state)
{
    static const struct {
        const char *format;
        granary_err err;
        const char *part;
    } rows[] = {
        {"+s", GRANARY_EUNSUPPORTED, "column 'c' is a struct ('+s')"},
        {"+l", GRANARY_EINVAL, "not one field that tells of their items"},
        {"+w:", GRANARY_EINVAL, "no list"},
        {"+w:-3", GRANARY_EINVAL, "no list"},
        {"+m", GRANARY_EUNSUPPORTED, "a map"},
        {"+ud:0,1", GRANARY_EUNSUPPORTED, "a union"},
        {"+r", GRANARY_EUNSUPPORTED, "run-end encoded"},
        {"w:", GRANARY_EINVAL, "no binary of a fixed size"},
        {"w:-1", GRANARY_EINVAL, "no binary of a fixed size"},
        {"w:3x", GRANARY_EINVAL, "no binary of a fixed size"},
        {"w:3000000000", GRANARY_EINVAL, "no binary of a fixed size"},
        {"tiM", GRANARY_EUNSUPPORTED, "an interval"},
        {"d:38,-2", GRANARY_EUNSUPPORTED, "scale -2"},
        {"d:60,39,256", GRANARY_EUNSUPPORTED, "scale 39"},
        {"d:", GRANARY_EINVAL, "no decimal"},
        {"d:5", GRANARY_EINVAL, "no decimal"},
        {"d:5,2,", GRANARY_EINVAL, "no decimal"},
        {"d:5,2,17", GRANARY_EINVAL, "no decimal"},
        {"d:99999999999999999999,2", GRANARY_EINVAL, "no decimal"},
        {"ts", GRANARY_EINVAL, "none of Arrow's"},
        {"tsx:", GRANARY_EINVAL, "no timestamp"},
        {"tsu", GRANARY_EINVAL, "no timestamp"},
        {"", GRANARY_EINVAL, "none of Arrow's"},
        {"\xff\x01long, long, long, long, long, long, long, long, long, long", GRANARY_EINVAL, "??long"},
    };
    struct taken taken;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        produce_batch(&taken.schema, &taken.array, rows[i].format, "c", 0);
        produce_array(taken.array.children[0], 0, 0, 0, 0, 0);
        refused(&taken, rows[i].err, rows[i].part);
    }
}

/* Each changes one thing of a good batch of int64. */
static void
batch(struct taken *taken)
{
    fixed(taken, "l", INTEGERS(int64_t), 8);
}

static void
batches_that_make_no_sense_are_refused(void **state)
{
    struct taken t;
    struct ArrowArray *child;

#define REFUSED(change, part)                                                                                          \
    do {                                                                                                               \
        batch(&t);                                                                                                     \
        child = t.array.children[0];                                                                                   \
        change;                                                                                                        \
        refused(&t, GRANARY_EINVAL, part);                                                                             \
    } while (0)
    (void)state;
    (void)child;
    REFUSED(t.array.length = -1, "rows");
    REFUSED(t.array.offset = -1, "from row -1");
    REFUSED(t.array.length = INT64_MAX, "rows");
    REFUSED(t.array.length = ROWS + 3, "the record batch ends at");
    REFUSED(child->offset = INT64_MIN, "from row");
    REFUSED(child->length = -1, "'c': its array has -1 rows");
    REFUSED(child->null_count = -2, "-2 nulls");
    REFUSED(child->null_count = 99, "99 nulls");
    REFUSED(child->n_buffers = 1, "1 buffers, 2 are needed");
    REFUSED(child->n_buffers = -1, "-1 buffers");
    REFUSED((free((void *)(uintptr_t)child->buffers[1]), child->buffers[1] = NULL), "its values are missing");
    REFUSED(
        {
            free((void *)(uintptr_t)child->buffers[0]);
            child->buffers[0] = NULL;
            child->null_count = 1;
        },
        "no bitmap");
    REFUSED(t.array.n_children = 0, "its schema has 1");
    REFUSED(child->release(child), "released already");
    REFUSED(t.schema.children[0]->release(t.schema.children[0]), "released already");
    REFUSED(t.schema.release(&t.schema), "released already");
    REFUSED(t.schema.n_children = -1; t.schema.children[0]->release(t.schema.children[0]);
            free(t.schema.children[0]), "-1 columns");
#undef REFUSED
    assert_int_equal(granary_columns_import(NULL, NULL, &t.columns), GRANARY_EINVAL);
    produce_batch(&t.schema, &t.array, "l", "\xff", 0);
    produce_array(t.array.children[0], 0, 0, 0, 2, 0);
    refused(&t, GRANARY_EINVAL, "not UTF-8");
    produce_schema(&t.schema, "l", "n", 0);
    produce_array(&t.array, 0, 0, 0, 2, 0);
    refused(&t, GRANARY_EINVAL, "a record batch is needed");
    batch(&t);
    t.array.null_count = -1;
    produce_bits(&t.array, 0, "11111011111");
    refused(&t, GRANARY_EUNSUPPORTED, "null as a whole");
}

static void
values_that_do_not_fit_name_their_row(void **state)
{
    static const struct {
        const char *format;
        int64_t value;
        const char *part;
    } rows[] = {
        {"tsn:", 1001, "the timestamp in row 2 is no whole microsecond"},
        {"tDn", -1, "the duration in row 2 is no whole microsecond"},
        {"ttn", 999, "the time in row 2 is no whole microsecond"},
        {"ttu", -1, "the time in row 2 is out of range: a day has 24 hours"},
        {"ttu", 86400000000, "the time in row 2 is out of range: a day has 24 hours"},
        {"tss:", INT64_MAX / 1000, "out of range"},
        {"tdm", 5, "the date in row 2 is no whole day"},
        {"tdm", 86400000ll * INT32_MAX + 86400000ll, "out of range"},
    };
    struct taken taken;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t values[ALL] = {0};

        values[AT + CHILD + 2] = rows[i].value;
        fixed(&taken, rows[i].format, values, 8);
        refused(&taken, GRANARY_EINVAL, rows[i].part);
    }
    for (size_t width = 16; width <= 32; width += 16) {
        char values[ALL * 32] = {0};

        values[(AT + CHILD + 2) * width + width - 1] = 0x7f;
        fixed(&taken, width == 16 ? "d:38,0" : "d:76,0,256", values, width);
        refused(&taken, GRANARY_EINVAL, "row 2 has more than 38 digits");
    }
    coded(&taken, "c", (int8_t[ALL]){0, 0, 0, 0, 0, 0, 0, 3}, 1, "u", "c");
    refused(&taken, GRANARY_EINVAL, "row 2 is not in its dictionary of 3 values");
    coded(&taken, "c", (int8_t[ALL]){0, 0, 0, 0, 0, 0, 0, -1}, 1, "u", "c");
    refused(&taken, GRANARY_EINVAL, "row 2 is not in its dictionary of 3 values");
    coded(&taken, "c", CODES(int8_t), 1, "u", "\xff");
    refused(&taken, GRANARY_EINVAL, "not UTF-8");
}

static void
text_that_leads_nowhere_is_refused(void **state)
{
    struct taken taken;

    (void)state;
    for (int large = 0; large < 2; large++) {
        struct ArrowArray *child;

        produce_batch(&taken.schema, &taken.array, large ? "U" : "u", "c", ROWS);
        taken.array.offset = AT;
        child = taken.array.children[0];
        text_child(child, large != 0);
        memset((char *)(uintptr_t)child->buffers[1] + 7 * (large ? 8 : 4), 0xff, 4 * (size_t)(1 + large));
        refused(&taken, GRANARY_EINVAL, "backwards");
    }
}

/* ---- edges ---- */

static void
nothing_needs_no_buffers(void **state)
{
    static const char *const formats[] = {"n", "b", "l", "u", "U", "vu", "d:5,2", "tsu:", "e", "tdm"};

    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct taken taken;

        produce_batch(&taken.schema, &taken.array, formats[i], NULL, 0);
        produce_array(taken.array.children[0], 0, 0, 0, 0, 0);
        assert_int_equal(granary_columns_import(&taken.schema, &taken.array, &taken.columns), GRANARY_OK);
        taken.frame = frame_of_columns(&taken.columns);
        assert_string_equal(taken.columns.columns[0].name, "");
        done(&taken);
    }
}

static void
nulls_alone_are_taken(void **state)
{
    struct taken taken;

    (void)state;
    produce_batch(&taken.schema, &taken.array, "n", "c", ROWS);
    produce_array(taken.array.children[0], ROWS, 0, ROWS, 0, 0);
    take(&taken);
    assert_int_equal(taken.frame->columns[0].view.null_count, ROWS);
    done(&taken);
}

static void
values_at_odd_addresses_are_copied(void **state)
{
    struct taken taken;
    struct ArrowArray *child;
    const char *values;

    (void)state;
    fixed(&taken, "l", INTEGERS(int64_t), 8);
    child = taken.array.children[0];
    values = child->buffers[1];
    child->buffers[1] = memmove(realloc((void *)(uintptr_t)values, ALL * 8 + 1), values, 0);
    memmove((char *)(uintptr_t)child->buffers[1] + 1, child->buffers[1], ALL * 8);
    child->buffers[1] = (const char *)child->buffers[1] + 1;
    assert_int_equal(granary_columns_import(&taken.schema, &taken.array, &taken.columns), GRANARY_OK);
    assert_int_equal((uintptr_t)taken.columns.columns[0].values % 8, 0);
    assert_int_equal(((const int64_t *)taken.columns.columns[0].values)[8], 8);
    /* So that its producer can free it. */
    taken.frame = frame_of_columns(&taken.columns);
    child->buffers[1] = (const char *)child->buffers[1] - 1;
    done(&taken);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_comes_back),
        cmocka_unit_test(a_child_outlives_its_parent),
        cmocka_unit_test(formats_are_those_of_the_types),
        cmocka_unit_test(strings_keep_their_dictionary),
        cmocka_unit_test(integers_are_taken),
        cmocka_unit_test(values_lie_where_they_were),
        cmocka_unit_test(moments_are_taken),
        cmocka_unit_test(reals_are_taken),
        cmocka_unit_test(decimals_are_taken),
        cmocka_unit_test(bools_are_taken),
        cmocka_unit_test(text_is_taken),
        cmocka_unit_test(views_are_taken),
        cmocka_unit_test(codes_of_any_width_are_taken),
        cmocka_unit_test(codes_like_ours_stay_where_they_are),
        cmocka_unit_test(other_dictionaries_are_decoded),
        cmocka_unit_test(types_that_are_not_there_are_named),
        cmocka_unit_test(batches_that_make_no_sense_are_refused),
        cmocka_unit_test(values_that_do_not_fit_name_their_row),
        cmocka_unit_test(text_that_leads_nowhere_is_refused),
        cmocka_unit_test(nothing_needs_no_buffers),
        cmocka_unit_test(nulls_alone_are_taken),
        cmocka_unit_test(values_at_odd_addresses_are_copied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
