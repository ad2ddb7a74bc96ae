/* Dictionary-encoded columns and the dtypes of one, two and sixteen bytes: made, gathered, joined, written, read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/int128.h"
#include "data/arrow/arrow.h"
#include "data/layout/directory.h"
#include "frames.h"

static const char *const birds[] = {"owl", "elk", "owl", "", "größe", "owl", "elk", "", "owl", "elk", "owl", "owl"};
static const char there[] = "111011111111";
enum { BIRDS = 12 };

/* The birds, encoded: 4 entries for 12 rows do not pay, so three times over. */
static struct gr_column
encoded_birds(void)
{
    struct gr_column plain = texts(birds, there, BIRDS);
    const struct gr_run runs[] = {{&plain.view, 0, BIRDS}, {&plain.view, 0, BIRDS}, {&plain.view, 0, BIRDS}};
    struct gr_column thrice, encoded;
    bool pays;

    assert_int_equal(gr_column_concat(runs, 3, GRANARY_STRING, &thrice), GRANARY_OK);
    assert_int_equal(gr_column_encode(&plain.view, &pays, &encoded), GRANARY_OK);
    assert_false(pays);
    assert_int_equal(gr_column_encode(&thrice.view, &pays, &encoded), GRANARY_OK);
    assert_true(pays);
    gr_column_free(&plain);
    gr_column_free(&thrice);
    return encoded;
}

static void
assert_birds(const granary_column *column, int64_t from, int64_t rows)
{
    assert_int_equal(column->rows, rows);
    for (int64_t i = 0; i < rows; i++) {
        int64_t bird = (from + i) % BIRDS;
        size_t length;

        assert_int_equal(gr_is_null(column, i), there[bird] == '0');
        if (there[bird] == '1') {
            const char *text = gr_text_at(column, i, &length);

            assert_int_equal(length, strlen(birds[bird]));
            assert_memory_equal(text, birds[bird], length);
        }
    }
}

static void
encoding_keeps_values(void **state)
{
    struct gr_column encoded = encoded_birds();
    struct gr_column decoded;

    (void)state;
    assert_non_null(encoded.view.dictionary);
    assert_int_equal(encoded.view.dictionary->rows, 4);
    assert_int_equal(encoded.view.null_count, 3);
    assert_birds(&encoded.view, 0, 3 * BIRDS);
    assert_int_equal(gr_column_decode(&encoded.view, &decoded), GRANARY_OK);
    assert_null(decoded.view.dictionary);
    assert_birds(&decoded.view, 0, 3 * BIRDS);
    gr_column_free(&decoded);
    gr_column_free(&encoded);
}

static void
taken_rows_share_the_dictionary(void **state)
{
    static const int64_t indices[] = {5, -1, 3, 4};
    struct gr_column encoded = encoded_birds();
    const granary_column *entries = encoded.view.dictionary;
    struct gr_column taken;

    (void)state;
    assert_int_equal(gr_column_take(&encoded.view, indices, 4, &taken), GRANARY_OK);
    gr_column_free(&encoded);
    assert_ptr_equal(taken.view.dictionary, entries); /* which the taken column keeps alive */
    assert_int_equal(taken.view.null_count, 2);
    assert_int_equal(((const int32_t *)taken.view.values)[1], 0);
    assert_memory_equal(granary_column_text(&taken.view, 3, (size_t[]){0}), "größe", 7);
    gr_column_free(&taken);
}

/* A large dictionary for a few rows is left behind. */
static void
few_rows_of_many_values_become_plain(void **state)
{
    enum { VALUES = 1000 };
    char text[VALUES][8];
    const char *values[4 * VALUES];
    struct gr_column plain, encoded, taken;
    bool pays;

    (void)state;
    for (int i = 0; i < 4 * VALUES; i++) {
        (void)snprintf(text[i % VALUES], sizeof text[0], "v%d", i % VALUES);
        values[i] = text[i % VALUES];
    }
    plain = texts(values, NULL, 4 * VALUES);
    assert_int_equal(gr_column_encode(&plain.view, &pays, &encoded), GRANARY_OK);
    assert_true(pays);
    assert_int_equal(gr_column_take(&encoded.view, (const int64_t[]){7, -1, 3999}, 3, &taken), GRANARY_OK);
    assert_null(taken.view.dictionary);
    assert_int_equal(taken.view.offsets[3], 6);
    assert_memory_equal(taken.view.values, "v7v999", 6);
    gr_column_free(&taken);
    gr_column_free(&encoded);
    gr_column_free(&plain);
}

static void
joined_dictionaries_become_one(void **state)
{
    static const char *const others_[] = {"yak", "owl", "yak", "owl", "yak", "owl", "yak", "owl"};
    struct gr_column a = encoded_birds();
    struct gr_column plain = texts(others_, NULL, 8);
    struct gr_column nulls, b, joined;
    const struct gr_run same[] = {{&a.view, 1, 20}, {&a.view, 21, 7}};
    struct gr_run runs[3];
    bool pays;

    (void)state;
    assert_int_equal(gr_column_alloc(GRANARY_NULLTYPE, 2, 0, false, &nulls), GRANARY_OK);
    assert_int_equal(gr_column_encode(&plain.view, &pays, &b), GRANARY_OK);
    assert_true(pays);
    assert_int_equal(gr_column_concat(same, 2, GRANARY_STRING, &joined), GRANARY_OK);
    assert_ptr_equal(joined.view.dictionary, a.view.dictionary);
    assert_birds(&joined.view, 1, 27);
    gr_column_free(&joined);

    runs[0] = (struct gr_run){&a.view, 0, 30};
    runs[1] = (struct gr_run){&nulls.view, 0, 2};
    runs[2] = (struct gr_run){&b.view, 0, 8};
    assert_int_equal(gr_column_concat(runs, 3, GRANARY_STRING, &joined), GRANARY_OK);
    assert_non_null(joined.view.dictionary);
    assert_int_equal(joined.view.dictionary->rows, 5);
    assert_true(gr_column_is_distinct(joined.view.dictionary));
    assert_int_equal(joined.view.rows, 40);
    assert_int_equal(joined.view.null_count, 5);
    assert_true(gr_is_null(&joined.view, 30));
    assert_memory_equal(granary_column_text(&joined.view, 32, (size_t[]){0}), "yak", 3);
    assert_memory_equal(granary_column_text(&joined.view, 39, (size_t[]){0}), "owl", 3);
    gr_column_free(&joined);

    /* With a plain run all is plain. */
    runs[1] = (struct gr_run){&plain.view, 0, 8};
    assert_int_equal(gr_column_concat(runs, 3, GRANARY_STRING, &joined), GRANARY_OK);
    assert_null(joined.view.dictionary);
    assert_int_equal(joined.view.rows, 46);
    gr_column_free(&joined);
    gr_column_free(&nulls);
    gr_column_free(&plain);
    gr_column_free(&b);
    gr_column_free(&a);
}

/* Encoded birds and a column of every small or wide dtype. */
static granary_frame *
frame_of_new_dtypes(void)
{
    static const granary_dtype dtypes[] = {GRANARY_INT8,   GRANARY_INT16,  GRANARY_UINT8,    GRANARY_UINT16,
                                           GRANARY_UINT32, GRANARY_UINT64, GRANARY_DURATION, GRANARY_DECIMAL(2)};
    granary_frame *frame = gr_frame_create(9, 3 * BIRDS);
    struct gr_column column = encoded_birds();

    assert_non_null(frame);
    assert_int_equal(gr_frame_set(frame, 0, "bird", &column), GRANARY_OK);
    for (size_t d = 0; d < 8; d++) {
        size_t size = gr_dtype_size(dtypes[d]);

        assert_int_equal(gr_column_alloc(dtypes[d], frame->rows, 0, true, &column), GRANARY_OK);
        for (int64_t i = 0; i < frame->rows; i++) {
            const gr_int128 value = i % 5 == 0 ? -i : i * 3;

            memcpy((char *)(uintptr_t)column.view.values + (size_t)i * size, &value, size);
            if (i % 7 != 0) {
                gr_bit_set((uint8_t *)(uintptr_t)column.view.validity, i);
            }
        }
        gr_column_finish(&column);
        assert_int_equal(gr_frame_set(frame, 1 + d, granary_dtype_name(dtypes[d]), &column), GRANARY_OK);
    }
    return frame;
}

static void
objects_have_them_in_place(void **state)
{
    granary_frame *frame = frame_of_new_dtypes();
    struct object object = object_of(frame);
    struct object again;
    granary_frame *back, *parsed;

    (void)state;
    assert_int_equal(gr_arrow_read(object.data, object.data_size, object.meta, object.meta_size, &back), GRANARY_OK);
    assert_frames_equal(frame, back);
    for (size_t c = 0; c < back->count; c++) {
        const granary_column *column = &back->columns[c].view;
        const struct gr_column_stats *stats = gr_frame_stats(back, c);

        assert_true((const char *)column->values > (const char *)object.data &&
                    (const char *)column->values < (const char *)object.data + object.data_size);
        assert_int_equal((uintptr_t)column->values % 64, 0);
        assert_non_null(stats);
        assert_int_equal(stats->nulls, column->null_count);
        assert_true(stats->distinct > 0 && stats->distinct <= column->rows);
    }
    assert_non_null(back->columns[0].view.dictionary);
    assert_int_equal((uintptr_t)back->columns[0].view.dictionary->values % 64, 0);
    assert_int_equal(gr_frame_stats(back, 0)->distinct, 4);
    assert_int_equal(gr_frame_stats(back, 1)->min.integer, -30);
    assert_int_equal(gr_frame_stats(back, 1)->max.integer, 102);
    assert_false(gr_frame_stats(back, 6)->has_zone); /* beyond int64 */
    assert_true(gr_frame_stats(back, 8)->min.real <= -30.0);
    assert_null(gr_frame_stats(back, back->count));
    /* What was read is written as the same bytes; and any Arrow reader finds the same. */
    again = object_of(back);
    assert_int_equal(again.data_size, object.data_size);
    assert_memory_equal(again.data, object.data, object.data_size);
    assert_memory_equal(again.meta, object.meta, object.meta_size);
    assert_int_equal(gr_arrow_read(object.data, object.data_size, NULL, 0, &parsed), GRANARY_OK);
    assert_frames_equal(frame, parsed);
    assert_non_null(parsed->columns[0].view.dictionary);
    gr_frame_destroy(parsed);
    gr_frame_destroy(back);
    object_free(&again);
    object_free(&object);
    gr_frame_destroy(frame);
}

static void
a_frame_can_be_made_plain(void **state)
{
    granary_frame *frame = frame_of_new_dtypes();
    const granary_frame *plain, *again;

    (void)state;
    assert_int_equal(gr_frame_plain(frame, &plain), GRANARY_OK);
    assert_null(plain->columns[0].view.dictionary);
    assert_ptr_equal(plain->columns[1].view.values, frame->columns[1].view.values);
    assert_frames_equal(frame, plain);
    assert_int_equal(gr_frame_plain(frame, &again), GRANARY_OK);
    assert_ptr_equal(again, plain);
    assert_int_equal(gr_frame_plain(plain, &again), GRANARY_OK);
    assert_ptr_equal(again, plain);
    gr_frame_destroy(frame);
}

static void
values_as_text(void **state)
{
    static const gr_int128 money[] = {0, 5, -5, 123456789, -100};
    static const int64_t waits[] = {0, -1, 86400000000, 3723000001, INT64_MIN};
    static const char *const want_money[] = {"0.00", "0.05", "-0.05", "1234567.89", "-1.00"};
    static const char *const want_waits[] = {"00:00:00", "-00:00:00.000001", "1d 00:00:00", "01:02:03.000001",
                                             "-106751991d 04:00:54.775808"};
    const granary_column decimal = {.dtype = GRANARY_DECIMAL(2), .rows = 5, .values = money};
    const granary_column duration = {.dtype = GRANARY_DURATION, .rows = 5, .values = waits};

    (void)state;
    for (int64_t i = 0; i < 5; i++) {
        struct gr_buf text = {0};

        gr_value_format(&decimal, i, &text);
        assert_string_equal(text.bytes, want_money[i]);
        text.size = 0;
        gr_value_format(&duration, i, &text);
        assert_string_equal(text.bytes, want_waits[i]);
        gr_buf_free(&text);
    }
    assert_int_equal(gr_dtype_parse("decimal(38)"), GRANARY_DECIMAL(38));
    assert_int_equal(gr_dtype_parse("decimal(39)"), GRANARY_NULLTYPE);
    assert_int_equal(gr_dtype_scale(GRANARY_DECIMAL(7)), 7);
    assert_string_equal(granary_dtype_name(GRANARY_DECIMAL(7)), "decimal(7)");
    assert_string_equal(granary_dtype_name(GRANARY_DECIMAL(39)), "?");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoding_keeps_values),
        cmocka_unit_test(taken_rows_share_the_dictionary),
        cmocka_unit_test(few_rows_of_many_values_become_plain),
        cmocka_unit_test(joined_dictionaries_become_one),
        cmocka_unit_test(objects_have_them_in_place),
        cmocka_unit_test(a_frame_can_be_made_plain),
        cmocka_unit_test(values_as_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
