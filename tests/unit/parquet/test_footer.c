/* Footers, written here byte by byte: columns and their names, and what a hostile one may claim. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/buf.h"
#include "parquet/parquet.h"

/* Thrift's compact form: a field's head is the step from the field before, and the type. */
enum { I32 = 5, I64 = 6, BINARY = 8, LIST = 9, STRUCT = 12 };

static void
put(struct gr_buf *out, unsigned byte)
{
    uint8_t one = (uint8_t)byte;

    gr_buf_add(out, &one, 1);
}

static void
put_varint(struct gr_buf *out, uint64_t value)
{
    while (value > 0x7f) {
        put(out, (unsigned)(value & 0x7f) | 0x80);
        value >>= 7;
    }
    put(out, (unsigned)value);
}

static void
put_int(struct gr_buf *out, unsigned step, unsigned type, int64_t value)
{
    put(out, step << 4 | type);
    put_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void
put_list(struct gr_buf *out, unsigned step, unsigned type, uint64_t count)
{
    put(out, step << 4 | LIST);
    put(out, 0xf0 | type);
    put_varint(out, count);
}

/* An element: physical -1 is a group with so many children. */
static void
put_element(struct gr_buf *out, const char *name, int physical, int repetition, int children, int converted)
{
    unsigned last = 0;

    if (physical >= 0) {
        put_int(out, 1, I32, physical);
        last = 1;
    }
    put_int(out, 3 - last, I32, repetition);
    put(out, 1 << 4 | BINARY);
    put_varint(out, strlen(name));
    gr_buf_add(out, name, strlen(name));
    if (physical < 0) {
        put_int(out, 1, I32, children);
    }
    if (converted >= 0) {
        put_int(out, physical < 0 ? 1 : 2, I32, converted);
    }
    put(out, 0);
}

static granary_err
parse(struct gr_buf *footer, struct gr_parquet **ret_file)
{
    size_t size = footer->size;

    assert_true(gr_buf_ok(footer));
    return gr_parquet_parse((uint8_t *)gr_buf_take(footer), size, 1000, ret_file);
}

/* struct a { b, list c }, list of lists d: a.b, a.c (a list), d (which cannot be read). */
static void
test_columns(void **state)
{
    struct gr_buf footer = {0};
    struct gr_parquet *file = NULL;
    const struct gr_parquet_column *columns;
    size_t count = 0;
    bool wanted[3] = {true, true, false};

    (void)state;
    put_list(&footer, 2, STRUCT, 11);
    put_element(&footer, "schema", -1, 0, 2, -1);
    put_element(&footer, "a", -1, 1, 2, -1);
    put_element(&footer, "b", 1, 1, 0, -1);
    put_element(&footer, "c", -1, 1, 1, 3);
    put_element(&footer, "list", -1, 2, 1, -1);
    put_element(&footer, "element", 6, 1, 0, 0);
    put_element(&footer, "d", -1, 0, 1, 3);
    put_element(&footer, "list", -1, 2, 1, -1);
    put_element(&footer, "element", -1, 1, 1, 3);
    put_element(&footer, "list", -1, 2, 1, -1);
    put_element(&footer, "element", 1, 1, 0, -1);
    put(&footer, 0);
    assert_int_equal(parse(&footer, &file), GRANARY_OK);
    columns = gr_parquet_columns(file, &count);
    assert_int_equal(count, 3);
    assert_string_equal(columns[0].name, "a.b");
    assert_string_equal(columns[1].name, "a.c");
    assert_string_equal(columns[2].name, "d");
    assert_true(columns[0].readable && columns[1].readable && !columns[2].readable);
    assert_string_equal(columns[2].what, "list of lists");
    assert_int_equal(gr_parquet_leaves(file, &count)[columns[0].leaf].levels, 2);
    assert_int_equal(gr_parquet_leaves(file, &count)[columns[1].leaf].levels, 4);
    assert_int_equal(gr_parquet_leaves(file, &count)[columns[1].leaf].items, 3);
    assert_int_equal(gr_parquet_dtype(&gr_parquet_leaves(file, &count)[columns[1].leaf]), GRANARY_LIST(GRANARY_STRING));
    assert_int_equal(count, 3);
    assert_int_equal(gr_parquet_check(file, wanted), GRANARY_OK);
    assert_int_equal(gr_parquet_check(file, NULL), GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "'d' (list of lists); select others: 'a.b', 'a.c'"));
    gr_parquet_close(file);
}

/* Lists as older files have them, and a map: which definition level an item has, and what the columns are called. */
static void
test_lists(void **state)
{
    static const struct {
        const char *name;
        uint16_t levels;
        uint16_t items;
    } want[] = {{"bare", 1, 1},    {"two", 2, 2},   {"array.x", 2, 2}, {"pairs.x", 2, 2},
                {"pairs.y", 3, 2}, {"m.key", 2, 2}, {"m.value", 3, 2}};
    struct gr_buf footer = {0};
    struct gr_parquet *file = NULL;
    const struct gr_parquet_column *columns;
    const struct gr_parquet_leaf *leaves;
    size_t count = 0;

    (void)state;
    put_list(&footer, 2, STRUCT, 16);
    put_element(&footer, "schema", -1, 0, 6, -1);
    put_element(&footer, "bare", 1, 2, 0, -1);
    put_element(&footer, "two", -1, 1, 1, 3);
    put_element(&footer, "element", 1, 2, 0, -1);
    put_element(&footer, "array", -1, 1, 1, 3);
    put_element(&footer, "array", -1, 2, 1, -1);
    put_element(&footer, "x", 1, 0, 0, -1);
    put_element(&footer, "pairs", -1, 1, 1, 3);
    put_element(&footer, "bag", -1, 2, 2, -1);
    put_element(&footer, "x", 1, 0, 0, -1);
    put_element(&footer, "y", 1, 1, 0, -1);
    put_element(&footer, "m", -1, 1, 1, 1);
    put_element(&footer, "key_value", -1, 2, 2, -1);
    put_element(&footer, "key", 6, 0, 0, 0);
    put_element(&footer, "value", 1, 1, 0, -1);
    put_element(&footer, "odd", -1, 1, 0, 3);
    put(&footer, 0);
    assert_int_equal(parse(&footer, &file), GRANARY_OK);
    columns = gr_parquet_columns(file, &count);
    leaves = gr_parquet_leaves(file, &count);
    assert_int_equal(count, 7);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(columns[i].name, want[i].name);
        assert_true(columns[i].readable);
        assert_int_equal(leaves[i].levels, want[i].levels);
        assert_int_equal(leaves[i].items, want[i].items);
        assert_int_equal(leaves[i].repeats, 1);
    }
    assert_string_equal(columns[7].name, "odd");
    assert_false(columns[7].readable);
    gr_parquet_close(file);
}

static void
refuse(struct gr_buf *footer, granary_err err, const char *message)
{
    struct gr_parquet *file = NULL;

    assert_int_equal(parse(footer, &file), err);
    assert_null(file);
    if (strstr(granary_error_message(), message) == NULL) {
        fail_msg("'%s' has not '%s'", granary_error_message(), message);
    }
}

/* Lists that claim what cannot be, and trees without an end. */
static void
test_claims(void **state)
{
    struct gr_buf footer = {0};

    (void)state;
    put_list(&footer, 2, STRUCT, UINT64_C(1) << 40);
    refuse(&footer, GRANARY_ECORRUPT, "more elements than there are bytes");

    put_list(&footer, 2, STRUCT, 2);
    put_element(&footer, "schema", -1, 0, 1000000, -1);
    put_element(&footer, "a", 1, 0, 0, -1);
    put(&footer, 0);
    refuse(&footer, GRANARY_ECORRUPT, "more children than there are");

    put_list(&footer, 2, STRUCT, 201);
    put_element(&footer, "schema", -1, 0, 1, -1);
    for (int i = 0; i < 199; i++) {
        put_element(&footer, "a", -1, 0, 1, -1);
    }
    put_element(&footer, "a", 1, 0, 0, -1);
    put(&footer, 0);
    refuse(&footer, GRANARY_EUNSUPPORTED, "nested more than");

    for (int i = 0; i < 100; i++) {
        put(&footer, 5 << 4 | STRUCT);
    }
    refuse(&footer, GRANARY_ECORRUPT, "nested too deeply");
}

/* Row groups whose chunks lead behind the end, or have another number of values than rows. */
static void
test_groups(void **state)
{
    static const struct {
        int64_t rows;
        int64_t values;
        int64_t size;
        const char *message;
    } cases[] = {{5, 5, 10, NULL},
                 {5, 5, 100000, "ends behind the end"},
                 {5, 6, 10, "6 values for 5 rows"},
                 {-1, -1, 10, "behind the end"},
                 {INT64_C(1) << 60, INT64_C(1) << 60, 10, "says nothing of its rows"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gr_buf footer = {0};
        struct gr_parquet *file = NULL;

        put_list(&footer, 2, STRUCT, 2);
        put_element(&footer, "schema", -1, 0, 1, -1);
        put_element(&footer, "a", 1, 0, 0, -1);
        put_int(&footer, 1, I64, cases[i].rows);
        put_list(&footer, 1, STRUCT, 1);
        put_list(&footer, 1, STRUCT, 1);
        put(&footer, 3 << 4 | STRUCT);
        put_int(&footer, 1, I32, 1);
        put_int(&footer, 3, I32, 0);
        put_int(&footer, 1, I64, cases[i].values);
        put_int(&footer, 1, I64, cases[i].size);
        put_int(&footer, 1, I64, cases[i].size);
        put_int(&footer, 2, I64, 4);
        put(&footer, 0);
        put(&footer, 0);
        put_int(&footer, 2, I64, cases[i].rows);
        put(&footer, 0);
        put(&footer, 0);
        if (cases[i].message == NULL) {
            assert_int_equal(parse(&footer, &file), GRANARY_OK);
            assert_int_equal(gr_parquet_rows(file), 5);
            gr_parquet_close(file);
        } else {
            refuse(&footer, GRANARY_ECORRUPT, cases[i].message);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_columns), cmocka_unit_test(test_lists),
                                       cmocka_unit_test(test_claims), cmocka_unit_test(test_groups)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
