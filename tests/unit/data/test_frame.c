#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frames.h"

static void
dtypes_have_names_and_sizes(void **state)
{
    (void)state;
    for (int dtype = GRANARY_NULLTYPE; dtype <= GRANARY_FLOAT32; dtype++) {
        assert_int_equal(gr_dtype_parse(granary_dtype_name((granary_dtype)dtype)), dtype);
    }
    assert_string_equal(granary_dtype_name(GRANARY_INT64), "int64");
    assert_string_equal(granary_dtype_name((granary_dtype)99), "?");
    assert_string_equal(granary_dtype_name((granary_dtype)-1), "?");
    assert_int_equal(gr_dtype_parse("int63"), GRANARY_NULLTYPE);
    assert_int_equal(gr_dtype_parse(""), GRANARY_NULLTYPE);
    assert_int_equal(gr_dtype_size(GRANARY_DATE), 4);
    assert_int_equal(gr_dtype_size(GRANARY_TIMESTAMP), 8);
    assert_int_equal(gr_dtype_size(GRANARY_STRING), 0);
    assert_int_equal(gr_dtype_size((granary_dtype)99), 0);
}

static void
columns_are_found_by_name_and_position(void **state)
{
    granary_frame *frame = frame_of_everything();

    (void)state;
    assert_int_equal(granary_frame_rows(frame), 5);
    assert_int_equal(granary_frame_columns(frame), 11);
    assert_int_equal(gr_frame_find(frame, "Größe €"), 4);
    assert_int_equal(gr_frame_find(frame, ""), 9);
    assert_int_equal(gr_frame_find(frame, "nobody"), -1);
    assert_ptr_equal(granary_frame_column_named(frame, "real"), granary_frame_column(frame, 3));
    assert_null(granary_frame_column(frame, 11));
    assert_null(granary_frame_column_named(frame, "nobody"));
    granary_frame_close(frame);
    granary_frame_close(NULL);
}

/* Values under nulls are zero, text under nulls is gone, a bitmap without zeros is dropped. */
static void
finish_makes_columns_canonical(void **state)
{
    static const int64_t numbers[] = {1, 2, 3};
    static const char *const words[] = {"ab", "cde", "f"};
    struct gr_column all = ints(numbers, "111", 3);
    struct gr_column some = ints(numbers, "101", 3);
    struct gr_column text = texts(words, "101", 3);
    struct gr_column flags = bools("111", "101", 3);

    (void)state;
    assert_null(all.view.validity);
    assert_int_equal(all.view.null_count, 0);
    assert_int_equal(some.view.null_count, 1);
    assert_int_equal(((const int64_t *)some.view.values)[1], 0);
    assert_int_equal(text.view.offsets[2], 2);
    assert_int_equal(text.view.offsets[3], 3);
    assert_memory_equal(text.view.values, "abf\0\0\0", 6);
    assert_int_equal(*(const uint8_t *)flags.view.values, 5);
    gr_column_free(&all);
    gr_column_free(&some);
    gr_column_free(&text);
    gr_column_free(&flags);
    gr_column_free(&flags); /* twice is fine */
}

static void
setting_a_column_twice_keeps_the_last(void **state)
{
    static const int64_t numbers[] = {1, 2};
    granary_frame *frame = gr_frame_create(1, 2);
    struct gr_column first = ints(numbers, NULL, 2);
    struct gr_column second = ints(numbers, "01", 2);

    (void)state;
    assert_int_equal(gr_frame_set(frame, 0, "a", &first), GRANARY_OK);
    assert_false(first.owned);
    assert_int_equal(gr_frame_set(frame, 0, "b", &second), GRANARY_OK);
    assert_int_equal(gr_frame_find(frame, "a"), -1);
    assert_int_equal(granary_frame_column(frame, 0)->null_count, 1);
    gr_frame_destroy(frame);
}

static void
take_follows_the_indices(void **state)
{
    static const int64_t indices[] = {4, -1, 0, 2, 4, 1};
    granary_frame *frame = frame_of_everything();
    granary_frame *taken;

    (void)state;
    assert_int_equal(gr_frame_take(frame, indices, 6, &taken), GRANARY_OK);
    assert_int_equal(taken->rows, 6);
    for (size_t c = 0; c < frame->count; c++) {
        const granary_column *column = granary_frame_column(taken, c);
        const char *name = column->name;

        for (int64_t i = 0; i < 6 && column->dtype != GRANARY_NULLTYPE; i++) {
            bool null = indices[i] < 0 || gr_is_null(granary_frame_column(frame, c), indices[i]);

            assert_int_equal(gr_is_null(column, i), null);
            if (!null) {
                char want[256];

                strcpy(want, text_at(frame, name, indices[i]));
                assert_string_equal(text_at(taken, name, i), want);
            }
        }
    }
    assert_int_equal(granary_frame_column_named(taken, "int")->null_count, 2);
    assert_int_equal(((const int64_t *)granary_frame_column_named(taken, "full")->values)[1], 0);
    gr_frame_destroy(taken);

    assert_int_equal(gr_frame_take(frame, NULL, 0, &taken), GRANARY_OK);
    assert_int_equal(taken->rows, 0);
    assert_int_equal(taken->count, frame->count);
    gr_frame_destroy(taken);
    gr_frame_destroy(frame);
}

/* Cut anywhere and joined again, a frame is what it was. */
static void
slices_join_to_the_whole(void **state)
{
    granary_frame *frame = frame_of_everything();

    (void)state;
    for (int64_t a = 0; a <= 5; a++) {
        for (int64_t b = a; b <= 5; b++) {
            granary_frame *parts[3];
            granary_frame *whole;

            assert_int_equal(gr_frame_slice(frame, 0, a, &parts[0]), GRANARY_OK);
            assert_int_equal(gr_frame_slice(frame, a, b - a, &parts[1]), GRANARY_OK);
            assert_int_equal(gr_frame_slice(frame, b, 5 - b, &parts[2]), GRANARY_OK);
            assert_int_equal(gr_frame_concat((const granary_frame *const *)parts, 3, &whole), GRANARY_OK);
            assert_frames_equal(frame, whole);
            gr_frame_destroy(whole);
            for (int i = 0; i < 3; i++) {
                gr_frame_destroy(parts[i]);
            }
        }
    }
    gr_frame_destroy(frame);
}

static void
a_slice_outside_is_refused(void **state)
{
    granary_frame *frame = frame_of_everything();
    granary_frame *slice = frame;

    (void)state;
    assert_int_equal(gr_frame_slice(frame, -1, 2, &slice), GRANARY_EINVAL);
    assert_int_equal(gr_frame_slice(frame, 4, 2, &slice), GRANARY_EINVAL);
    assert_int_equal(gr_frame_slice(frame, 0, -1, &slice), GRANARY_EINVAL);
    assert_int_equal(gr_frame_slice(frame, INT64_MAX, INT64_MAX, &slice), GRANARY_EINVAL);
    assert_ptr_equal(slice, frame);
    gr_frame_destroy(frame);
}

/* A chunk that saw no value of a column has the null type there, and fits all the same. */
static void
null_columns_fit_any_dtype(void **state)
{
    static const int64_t numbers[] = {7, 8};
    static const char *const words[] = {"x", "yz"};
    static const char *const names[] = {"i", "s"};
    struct gr_column typed[] = {ints(numbers, NULL, 2), texts(words, NULL, 2)};
    struct gr_column untyped[] = {others(GRANARY_NULLTYPE, NULL, NULL, 3), others(GRANARY_NULLTYPE, NULL, NULL, 3)};
    granary_frame *parts[] = {frame_of(2, names, untyped), frame_of(2, names, typed), NULL};
    granary_frame *whole;

    (void)state;
    assert_int_equal(gr_frame_concat((const granary_frame *const *)parts, 2, &whole), GRANARY_OK);
    assert_int_equal(whole->rows, 5);
    assert_int_equal(granary_frame_column(whole, 0)->dtype, GRANARY_INT64);
    assert_int_equal(granary_frame_column(whole, 0)->null_count, 3);
    assert_int_equal(int_at(whole, "i", 4), 8);
    assert_true(gr_is_null(granary_frame_column(whole, 1), 2));
    assert_string_equal(text_at(whole, "s", 4), "yz");
    gr_frame_destroy(whole);

    assert_int_equal(gr_frame_concat((const granary_frame *const *)parts, 1, &whole), GRANARY_OK);
    assert_int_equal(granary_frame_column(whole, 0)->dtype, GRANARY_NULLTYPE);
    assert_int_equal(granary_frame_column(whole, 0)->null_count, 3);
    gr_frame_destroy(whole);
    gr_frame_destroy(parts[0]);
    gr_frame_destroy(parts[1]);
}

static void
frames_that_differ_do_not_join(void **state)
{
    static const int64_t numbers[] = {7};
    static const double fractions[] = {7.5};
    static const char *const a[] = {"a"};
    static const char *const b[] = {"b"};
    struct gr_column columns[] = {ints(numbers, NULL, 1), reals(fractions, NULL, 1), ints(numbers, NULL, 1)};
    granary_frame *ints_a = frame_of(1, a, &columns[0]);
    granary_frame *reals_a = frame_of(1, a, &columns[1]);
    granary_frame *ints_b = frame_of(1, b, &columns[2]);
    granary_frame *none = frame_of(0, NULL, NULL);
    granary_frame *whole = NULL;

    (void)state;
    assert_int_equal(gr_frame_concat((const granary_frame *const[]){ints_a, reals_a}, 2, &whole), GRANARY_ETYPE);
    assert_non_null(strstr(granary_error_message(), "'a'"));
    assert_int_equal(gr_frame_concat((const granary_frame *const[]){ints_a, ints_b}, 2, &whole), GRANARY_ETYPE);
    assert_int_equal(gr_frame_concat((const granary_frame *const[]){ints_a, none}, 2, &whole), GRANARY_ETYPE);
    assert_null(whole);
    assert_int_equal(gr_frame_concat(NULL, 0, &whole), GRANARY_OK);
    assert_int_equal(whole->rows, 0);
    gr_frame_destroy(whole);
    gr_frame_destroy(ints_a);
    gr_frame_destroy(reals_a);
    gr_frame_destroy(ints_b);
    gr_frame_destroy(none);
}

/* Text is addressed by 32 bits: more is an error before anything is copied. */
static void
too_much_text_is_an_error(void **state)
{
    static const int32_t offsets[] = {0, 1 << 30};
    const granary_column huge = {
        .name = "t", .dtype = GRANARY_STRING, .rows = 1, .values = "never read", .offsets = offsets};
    static const int64_t indices[] = {0, 0, 0};
    const struct gr_run runs[] = {{&huge, 0, 1}, {&huge, 0, 1}};
    struct gr_column out = {.owned = false};

    (void)state;
    assert_int_equal(gr_column_take(&huge, indices, 2, &out), GRANARY_EFULL);
    assert_int_equal(gr_column_concat(runs, 2, GRANARY_STRING, &out), GRANARY_EFULL);
    assert_false(out.owned);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtypes_have_names_and_sizes),    cmocka_unit_test(columns_are_found_by_name_and_position),
        cmocka_unit_test(finish_makes_columns_canonical), cmocka_unit_test(setting_a_column_twice_keeps_the_last),
        cmocka_unit_test(take_follows_the_indices),       cmocka_unit_test(slices_join_to_the_whole),
        cmocka_unit_test(a_slice_outside_is_refused),     cmocka_unit_test(null_columns_fit_any_dtype),
        cmocka_unit_test(frames_that_differ_do_not_join), cmocka_unit_test(too_much_text_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
