/* Columns of lists: an object's and back, rows that move, and every kind of damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/arrow/arrow.h"
#include "data/caller.h"
#include "data/layout/directory.h"
#include "data/print/print.h"
#include "frames.h"

/* [1, NULL, 3], [], NULL, [4, 5] of what items there are; takes them. */
static struct gr_column
lists(struct gr_column items)
{
    static const int32_t offsets[] = {0, 3, 3, 3, 5};
    struct gr_column column;

    assert_int_equal(gr_list_create(&items, 4, true, &column), GRANARY_OK);
    memcpy((void *)(uintptr_t)column.view.offsets, offsets, sizeof offsets);
    *(uint8_t *)(uintptr_t)column.view.validity = 0x0b;
    gr_column_finish(&column);
    return column;
}

static granary_frame *
frame_of_lists(void)
{
    static const char *const names[] = {"int", "text", "bool", "day", "narrow"};
    static const int64_t integers[] = {1, 0, 3, 4, 5};
    static const char *const words[] = {"a, b", "", "", "it's", "d\xc3\xa9"};
    struct gr_column columns[] = {
        lists(ints(integers, "10111", 5)),
        lists(texts(words, "10111", 5)),
        lists(bools("10101", "10111", 5)),
        lists(others(GRANARY_DATE, integers, NULL, 5)),
        lists(others(GRANARY_INT32, integers, "10111", 5)),
    };

    return frame_of(sizeof columns / sizeof columns[0], names, columns);
}

static void
assert_text(const granary_frame *frame, const char *name, int64_t row, const char *text)
{
    assert_string_equal(text_at(frame, name, row), text);
}

static void
lists_are_written_and_read(void **state)
{
    granary_frame *frame = frame_of_lists(), *back;
    struct object object = object_of(frame);

    (void)state;
    for (int with_directory = 0; with_directory < 2; with_directory++) {
        assert_int_equal(gr_arrow_read(object.data, object.data_size, with_directory ? object.meta : NULL,
                                       with_directory ? object.meta_size : 0, &back),
                         GRANARY_OK);
        assert_int_equal(gr_frame_check(back), GRANARY_OK);
        assert_int_equal(granary_frame_column(back, 0)->dtype, GRANARY_LIST(GRANARY_INT64));
        assert_text(back, "int", 0, "[1, NULL, 3]");
        assert_text(back, "int", 1, "[]");
        assert_true(gr_is_null(granary_frame_column(back, 0), 2));
        assert_text(back, "text", 0, "['a, b', NULL, '']");
        assert_text(back, "bool", 3, "[false, true]");
        assert_text(back, "day", 3, "[1970-01-05, 1970-01-06]");
        assert_text(back, "narrow", 3, "[4, 5]");
        gr_frame_destroy(back);
    }
    object_free(&object);
    gr_frame_destroy(frame);
}

static void
rows_of_lists_move(void **state)
{
    static const int64_t indices[] = {3, -1, 0, 0, 2, 1};
    granary_frame *frame = frame_of_lists(), *taken, *slice, *joined;

    (void)state;
    assert_int_equal(gr_frame_take(frame, indices, 6, &taken), GRANARY_OK);
    assert_int_equal(gr_frame_check(taken), GRANARY_OK);
    assert_text(taken, "int", 0, "[4, 5]");
    assert_true(gr_is_null(granary_frame_column(taken, 0), 1));
    assert_text(taken, "text", 3, "['a, b', NULL, '']");
    assert_int_equal(gr_frame_slice(taken, 2, 3, &slice), GRANARY_OK);
    assert_int_equal(gr_frame_check(slice), GRANARY_OK);
    assert_text(slice, "bool", 1, "[true, NULL, true]");
    assert_int_equal(gr_list_items(granary_frame_column(slice, 0))->rows, 6);
    assert_int_equal(gr_frame_concat((const granary_frame *[]){slice, frame, slice}, 3, &joined), GRANARY_OK);
    assert_int_equal(gr_frame_check(joined), GRANARY_OK);
    assert_int_equal(joined->rows, 10);
    assert_text(joined, "day", 6, "[1970-01-05, 1970-01-06]");
    assert_text(joined, "int", 8, "[1, NULL, 3]");
    gr_frame_destroy(joined);
    gr_frame_destroy(slice);
    gr_frame_destroy(taken);
    gr_frame_destroy(frame);
}

/* A caller's columns, whose offsets begin anywhere, with items that no row has and lists under nulls. */
static void
items_of_no_row_are_left_out(void **state)
{
    static const int64_t values[] = {7, 8, 9, 10, 11, 12};
    static const int32_t offsets[] = {1, 3, 4, 5};
    static const uint8_t validity = 0x05;
    granary_column items = {.name = "", .dtype = GRANARY_INT64, .rows = 6, .values = values};
    granary_column column = {.name = "l",
                             .dtype = GRANARY_LIST(GRANARY_INT64),
                             .rows = 3,
                             .validity = &validity,
                             .values = &items,
                             .offsets = offsets};
    struct gr_column compact;
    struct gr_buf text = {0};

    (void)state;
    assert_int_equal(gr_caller_check_values(&column, 3), GRANARY_OK);
    assert_int_equal(gr_list_compact(&column, &compact), GRANARY_OK);
    assert_int_equal(gr_list_items(&compact.view)->rows, 3);
    assert_int_equal(compact.view.offsets[0], 0);
    gr_value_format(&compact.view, 2, &text);
    assert_string_equal(text.bytes, "[11]");
    gr_buf_free(&text);
    gr_column_free(&compact);
}

static void
hostile_offsets_are_refused(void **state)
{
    static const int32_t lies[][5] = {
        {0, 3, 3, 3, 6}, {0, 3, 2, 3, 5}, {-1, 3, 3, 3, 5}, {0, INT32_MAX, 3, 3, 5}, {0, 3, 3, INT32_MIN, 5},
    };
    granary_frame *frame = frame_of_lists();
    struct object object = object_of(frame);
    struct gr_directory_reader reader;
    struct gr_directory_column entry;
    const char *name;

    (void)state;
    assert_int_equal(gr_directory_open(object.meta, object.meta_size, object.data_size, &reader), GRANARY_OK);
    assert_int_equal(gr_directory_next(&reader, &name, &entry), GRANARY_OK);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        granary_frame *back;
        granary_err err;

        memcpy((char *)object.data + entry.offsets_offset, lies[i], sizeof lies[i]);
        assert_int_equal(gr_arrow_read(object.data, object.data_size, NULL, 0, &back), GRANARY_ECORRUPT);
        err = gr_arrow_read(object.data, object.data_size, object.meta, object.meta_size, &back);
        if (err == GRANARY_OK) { /* of a directory only the ends are looked at */
            assert_int_equal(gr_frame_check(back), GRANARY_ECORRUPT);
            gr_frame_destroy(back);
        } else {
            assert_int_equal(err, GRANARY_ECORRUPT);
        }
    }
    object_free(&object);
    gr_frame_destroy(frame);
}

/* A frame whose every value may be looked at once it is checked, or an error. */
static void
read_damaged(const void *data, uint64_t size, const void *meta, uint64_t meta_size)
{
    granary_frame *back;
    struct gr_buf text = {0};

    if (gr_arrow_read(data, size, meta, meta_size, &back) != GRANARY_OK) {
        return;
    }
    if (gr_frame_check(back) == GRANARY_OK && back->rows < 1000) {
        gr_print_csv(back, &text);
    }
    gr_buf_free(&text);
    gr_frame_destroy(back);
}

static void
damage_anywhere_is_survived(void **state)
{
    static const unsigned char flips[] = {0x01, 0x80, 0xff, 0x7f};
    granary_frame *frame = frame_of_lists();
    struct object object = object_of(frame);

    (void)state;
    for (int part = 0; part < 2; part++) {
        unsigned char *bytes = part == 0 ? object.data : object.meta;

        for (size_t i = 0; i < (part == 0 ? object.data_size : object.meta_size); i++) {
            for (size_t f = 0; f < sizeof flips; f++) {
                bytes[i] ^= flips[f];
                read_damaged(object.data, object.data_size, NULL, 0);
                read_damaged(object.data, object.data_size, object.meta, object.meta_size);
                bytes[i] ^= flips[f];
            }
        }
    }
    object_free(&object);
    gr_frame_destroy(frame);
}

static void
a_list_of_ten_million_is_one_row(void **state)
{
    enum { MANY = 10 * 1000 * 1000 };
    struct gr_column items, column;
    const char *const names[] = {"l"};
    granary_frame *frame, *back, *twice;
    struct object object;

    (void)state;
    assert_int_equal(gr_column_alloc(GRANARY_INT32, MANY, 0, false, &items), GRANARY_OK);
    for (int32_t i = 0; i < MANY; i++) {
        ((int32_t *)(uintptr_t)items.view.values)[i] = i;
    }
    assert_int_equal(gr_list_create(&items, 1, false, &column), GRANARY_OK);
    ((int32_t *)(uintptr_t)column.view.offsets)[1] = MANY;
    gr_column_finish(&column);
    frame = frame_of(1, names, &column);
    object = object_of(frame);
    assert_int_equal(gr_arrow_read(object.data, object.data_size, object.meta, object.meta_size, &back), GRANARY_OK);
    assert_int_equal(gr_frame_concat((const granary_frame *[]){back, back}, 2, &twice), GRANARY_OK);
    assert_int_equal(((const int32_t *)gr_list_items(granary_frame_column(twice, 0))->values)[2 * MANY - 1], MANY - 1);
    gr_frame_destroy(twice);
    gr_frame_destroy(back);
    object_free(&object);
    gr_frame_destroy(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_written_and_read),   cmocka_unit_test(rows_of_lists_move),
        cmocka_unit_test(items_of_no_row_are_left_out), cmocka_unit_test(hostile_offsets_are_refused),
        cmocka_unit_test(damage_anywhere_is_survived),  cmocka_unit_test(a_list_of_ten_million_is_one_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
