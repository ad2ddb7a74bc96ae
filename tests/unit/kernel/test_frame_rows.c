#include "frame_tools.h"

#include <stdlib.h>
#include <string.h>

static granary_frame *
selected(const granary_frame *frame, const char *columns)
{
    struct kernel_test test;

    kernel_test_init(&test, "select");
    kernel_test_strings(&test, "columns", columns);
    kernel_test_frame(&test, frame);
    return kernel_test_to_frame(&test, run_select);
}

static granary_frame *
filtered(const granary_frame *frame, const char *where)
{
    struct kernel_test test;

    kernel_test_init(&test, "filter");
    kernel_test_attr(&test, gr_attr_new_string("where", where));
    kernel_test_frame(&test, frame);
    return kernel_test_to_frame(&test, run_filter);
}

static granary_frame *
assigned(const granary_frame *frame, const char *columns)
{
    struct kernel_test test;

    kernel_test_init(&test, "assign");
    kernel_test_map(&test, "columns", columns);
    kernel_test_frame(&test, frame);
    return kernel_test_to_frame(&test, run_assign);
}

static granary_frame *
concatenated(granary_frame *const *frames, size_t count, int64_t limit)
{
    struct kernel_test test;

    kernel_test_init(&test, "concat");
    if (limit >= 0) {
        kernel_test_attr(&test, gr_attr_new_int("limit", limit));
    }
    for (size_t i = 0; i < count; i++) {
        kernel_test_frame(&test, frames[i]);
    }
    return kernel_test_to_frame(&test, run_concat);
}

static void
select_orders_columns_and_copies_nothing(void **state)
{
    granary_frame *frame = frame_text("a:int64,b:string,c:float64", "1,x,1.5\n,,\n");
    granary_frame *result = selected(frame, "c,a");
    struct kernel_test test;

    (void)state;
    assert_frame(result, "c,a\n1.5,1\n,\n");
    assert_ptr_equal(result->columns[1].view.values, frame->columns[0].view.values);
    gr_frame_destroy(result);
    kernel_test_init(&test, "select");
    kernel_test_strings(&test, "columns", "a,z");
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_select, GRANARY_ENOENT, "'z'");
    gr_frame_destroy(frame);
}

static void
filter_keeps_what_is_true(void **state)
{
    granary_frame *frame = frame_text("a:int64,b:string", "1,x\n2,\n,y\n4,x\n");
    granary_frame *result = filtered(frame, "b = 'x'");

    (void)state;
    assert_frame(result, "a,b\n1,x\n4,x\n");
    gr_frame_destroy(result);
    result = filtered(frame, "a > 1"); /* null is not true */
    assert_frame(result, "a,b\n2,\n4,x\n");
    gr_frame_destroy(result);
    result = filtered(frame, "not (a > 1)");
    assert_frame(result, "a,b\n1,x\n");
    gr_frame_destroy(result);
    result = filtered(frame, "a > 1 or b is not null");
    assert_frame(result, "a,b\n1,x\n2,\n,y\n4,x\n");
    gr_frame_destroy(result);
    result = filtered(frame, "a < 0");
    assert_frame(result, "a,b\n");
    gr_frame_destroy(result);
    gr_frame_destroy(frame);
}

static void
filter_of_every_row_borrows(void **state)
{
    granary_frame *frame = frame_text("a:int64", "1\n2\n");
    granary_frame *empty = frame_text("a:int64", "");
    granary_frame *result = filtered(frame, "a > 0");

    (void)state;
    assert_frame(result, "a\n1\n2\n");
    assert_ptr_equal(result->columns[0].view.values, frame->columns[0].view.values);
    gr_frame_destroy(result);
    result = filtered(empty, "a > 0");
    assert_frame(result, "a\n");
    assert_int_equal(result->columns[0].view.dtype, GRANARY_INT64);
    gr_frame_destroy(result);
    gr_frame_destroy(empty);
    gr_frame_destroy(frame);
}

/* Over several blocks, and with the same rows whatever the chunks. */
static void
filter_agrees_with_a_plain_loop(void **state)
{
    granary_frame *frame = frame_random(11, 5000, true);
    granary_frame *result = filtered(frame, "key > 0 and (number < 1.5 or text = 'ab') and flag");
    int64_t at = 0;

    (void)state;
    for (int64_t row = 0; row < frame->rows; row++) {
        const granary_column *key = &frame->columns[gr_frame_find(frame, "key")].view;
        const granary_column *number = &frame->columns[gr_frame_find(frame, "number")].view;
        const granary_column *flag = &frame->columns[gr_frame_find(frame, "flag")].view;
        char *text = cell_text(frame, "text", row);
        bool small = !gr_is_null(number, row) && ((const double *)number->values)[row] < 1.5;
        bool keep = !gr_is_null(key, row) && ((const int64_t *)key->values)[row] > 0 &&
                    (small || strcmp(text, "ab") == 0) && !gr_is_null(flag, row) && gr_bit(flag->values, row);

        if (keep) {
            const granary_column *rows = &result->columns[gr_frame_find(result, "row")].view;

            assert_true(at < result->rows);
            assert_int_equal(((const int64_t *)rows->values)[at++], row);
        }
        free(text);
    }
    assert_int_equal(at, result->rows);
    assert_true(at > 100);
    gr_frame_destroy(result);
    gr_frame_destroy(frame);
}

static void
filter_refuses_what_is_no_condition(void **state)
{
    granary_frame *frame = frame_text("a:int64", "1\n");
    struct kernel_test test;

    (void)state;
    kernel_test_init(&test, "filter");
    kernel_test_attr(&test, gr_attr_new_string("where", "a + 1"));
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_filter, GRANARY_ETYPE, "must be bool");
    kernel_test_init(&test, "filter");
    kernel_test_attr(&test, gr_attr_new_string("where", "b > 1"));
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_filter, GRANARY_ENOENT, "b");
    kernel_test_init(&test, "filter");
    kernel_test_attr(&test, gr_attr_new_string("where", "a >"));
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_filter, GRANARY_EINVAL, "a >");
    kernel_test_init(&test, "filter");
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_filter, GRANARY_EINVAL, "'where'");
    gr_frame_destroy(frame);
}

/* Expressions see the columns that came in, not those that are being made. */
static void
assign_replaces_in_place_and_appends(void **state)
{
    granary_frame *frame = frame_text("a:int64,b:int64", "1,10\n2,\n");
    granary_frame *result = assigned(frame, "c=a + b;a=a * 2;d=a - 1;c=a");
    struct kernel_test test;

    (void)state;
    assert_frame(result, "a,b,c,d\n2,10,1,0\n4,,2,1\n");
    assert_ptr_equal(result->columns[1].view.values, frame->columns[1].view.values);
    gr_frame_destroy(result);
    kernel_test_init(&test, "assign");
    kernel_test_map(&test, "columns", "c=9223372036854775807 + a");
    kernel_test_frame(&test, frame);
    kernel_test_fails(&test, run_assign, GRANARY_EFAILED, "column 'c': expression `9223372036854775807 + a`");
    gr_frame_destroy(frame);
}

static void
concat_follows_the_inputs(void **state)
{
    granary_frame *frames[3] = {frame_text("a:int64,s:string", "1,x\n2,\n"), frame_text("a:int64,s:string", ""),
                                frame_text("a:int64,s:string", "3,z\n,y\n5,v\n")};
    static const char *const rows[] = {"1,x\n", "2,\n", "3,z\n", ",y\n", "5,v\n"};
    struct kernel_test test;
    granary_frame *result = concatenated(frames, 3, -1);

    (void)state;
    assert_frame(result, "a,s\n1,x\n2,\n3,z\n,y\n5,v\n");
    gr_frame_destroy(result);
    for (int64_t limit = 0; limit <= 7; limit++) {
        char want[64] = "a,s\n";

        for (int64_t i = 0; i < limit && i < 5; i++) {
            strcat(want, rows[i]);
        }
        result = concatenated(frames, 3, limit);
        assert_frame(result, want);
        gr_frame_destroy(result);
    }
    result = concatenated(frames, 1, 2);
    assert_ptr_equal(result->columns[0].view.values, frames[0]->columns[0].view.values);
    gr_frame_destroy(result);
    kernel_test_init(&test, "concat");
    kernel_test_fails(&test, run_concat, GRANARY_EINVAL, "input 0");
    for (int i = 0; i < 3; i++) {
        gr_frame_destroy(frames[i]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(select_orders_columns_and_copies_nothing),
        cmocka_unit_test(filter_keeps_what_is_true),
        cmocka_unit_test(filter_of_every_row_borrows),
        cmocka_unit_test(filter_agrees_with_a_plain_loop),
        cmocka_unit_test(filter_refuses_what_is_no_condition),
        cmocka_unit_test(assign_replaces_in_place_and_appends),
        cmocka_unit_test(concat_follows_the_inputs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
