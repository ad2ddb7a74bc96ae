#include "frame_tools.h"

#include <stdlib.h>
#include <string.h>

static void
call_join(struct kernel_test *test, const granary_frame *left, const granary_frame *right, const char *left_on,
          const char *right_on, const char *how)
{
    kernel_test_init(test, "join");
    if (strcmp(left_on, right_on) == 0) {
        kernel_test_strings(test, "on", left_on);
    } else {
        kernel_test_strings(test, "left_on", left_on);
        kernel_test_strings(test, "right_on", right_on);
    }
    kernel_test_attr(test, gr_attr_new_string("how", how));
    kernel_test_frame(test, left);
    kernel_test_frame(test, right);
}

static granary_frame *
joined(const granary_frame *left, const granary_frame *right, const char *left_on, const char *right_on,
       const char *how)
{
    struct kernel_test test;

    call_join(&test, left, right, left_on, right_on, how);
    return kernel_test_to_frame(&test, kernel_join);
}

/* The rows that pandas' merge gives for the same data, in the order of the left side, with nulls for its NaN. */
static void
goldens_as_in_pandas(void **state)
{
    granary_frame *left = frame_text("id:int64,v:string,w:int64", "3,a,1\n1,b,2\n2,c,3\n1,d,4\n9,e,5\n");
    granary_frame *right = frame_text("id:int64,v:string,z:float64", "1,p,10\n2,q,20\n1,r,30\n7,s,40\n");
    granary_frame *result = joined(left, right, "id", "id", "inner");

    (void)state;
    assert_frame(result, "id,v_x,w,v_y,z\n1,b,2,p,10.0\n1,b,2,r,30.0\n2,c,3,q,20.0\n1,d,4,p,10.0\n1,d,4,r,30.0\n");
    gr_frame_destroy(result);
    result = joined(left, right, "id", "id", "left");
    assert_frame(result, "id,v_x,w,v_y,z\n3,a,1,,\n1,b,2,p,10.0\n1,b,2,r,30.0\n2,c,3,q,20.0\n1,d,4,p,10.0\n"
                         "1,d,4,r,30.0\n9,e,5,,\n");
    gr_frame_destroy(result);
    result = joined(left, right, "w", "id", "inner");
    assert_frame(result, "id_x,v_x,w,id_y,v_y,z\n3,a,1,1,p,10.0\n3,a,1,1,r,30.0\n1,b,2,2,q,20.0\n");
    gr_frame_destroy(result);
    gr_frame_destroy(left);
    gr_frame_destroy(right);
}

static void
nulls_match_nothing_and_nan_matches_nan(void **state)
{
    granary_frame *left = frame_text("k:float64,a:int64", "nan,1\n,2\n-0,3\n");
    granary_frame *right = frame_text("k:float64,b:int64", ",7\n0,8\nnan,9\n");
    granary_frame *result = joined(left, right, "k", "k", "left");

    (void)state;
    assert_frame(result, "k,a,b\nnan,1,9\n,2,\n-0.0,3,8\n");
    gr_frame_destroy(result);
    result = joined(left, right, "k", "k", "inner");
    assert_frame(result, "k,a,b\nnan,1,9\n-0.0,3,8\n");
    gr_frame_destroy(result);
    gr_frame_destroy(left);
    gr_frame_destroy(right);
}

static void
suffixes_are_taken_from_the_call(void **state)
{
    granary_frame *left = frame_text("k:int64,v:int64", "1,2\n");
    granary_frame *right = frame_text("k:int64,v:int64", "1,3\n");
    struct kernel_test test;
    granary_frame *result;

    (void)state;
    call_join(&test, left, right, "k", "k", "inner");
    kernel_test_strings(&test, "suffixes", "_left,_right");
    result = kernel_test_to_frame(&test, kernel_join);
    assert_frame(result, "k,v_left,v_right\n1,2,3\n");
    gr_frame_destroy(result);
    gr_frame_destroy(left);
    gr_frame_destroy(right);
}

/* ---- against a plain reference ---- */

static bool
keys_equal(const granary_frame *left, const granary_frame *right, const char *keys, int64_t l, int64_t r)
{
    char *copy = strdup(keys);
    bool equal = true;

    for (char *name = strtok(copy, ","); name != NULL; name = strtok(NULL, ",")) {
        char *a = cell_text(left, name, l);
        char *b = cell_text(right, name, r);
        const char *x = strcmp(a, "-0.0") == 0 ? "0.0" : a;
        const char *y = strcmp(b, "-0.0") == 0 ? "0.0" : b;

        equal = equal && strcmp(x, "<null>") != 0 && strcmp(x, y) == 0;
        free(a);
        free(b);
    }
    free(copy);
    return equal;
}

static void
assert_row(const granary_frame *result, int64_t at, int64_t left_row, int64_t right_row)
{
    const granary_column *left = &result->columns[gr_frame_find(result, "row_x")].view;
    const granary_column *right = &result->columns[gr_frame_find(result, "row_y")].view;

    assert_true(at < result->rows);
    assert_int_equal(((const int64_t *)left->values)[at], left_row);
    assert_int_equal(gr_is_null(right, at), right_row < 0);
    if (right_row >= 0) {
        assert_int_equal(((const int64_t *)right->values)[at], right_row);
    }
}

static void
check_against_loop(const granary_frame *left, const granary_frame *right, const char *keys, const char *how)
{
    granary_frame *result = joined(left, right, keys, keys, how);
    int64_t at = 0;

    for (int64_t l = 0; l < left->rows; l++) {
        int64_t before = at;

        for (int64_t r = 0; r < right->rows; r++) {
            if (keys_equal(left, right, keys, l, r)) {
                assert_row(result, at++, l, r);
            }
        }
        if (at == before && strcmp(how, "left") == 0) {
            assert_row(result, at++, l, -1);
        }
    }
    assert_int_equal(result->rows, at);
    gr_frame_destroy(result);
}

static void
rows_are_what_two_loops_find(void **state)
{
    static const char *const keys[] = {"key", "text", "number", "day", "flag,key", "text,number", "key,text,flag"};
    static const int64_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {60, 30}, {30, 60}};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        granary_frame *left = frame_random(i + 1, sizes[i][0], true);
        granary_frame *right = frame_random(i + 50, sizes[i][1], true);

        for (size_t j = 0; j < sizeof keys / sizeof keys[0]; j++) {
            check_against_loop(left, right, keys[j], "inner");
            check_against_loop(left, right, keys[j], "left");
        }
        gr_frame_destroy(left);
        gr_frame_destroy(right);
    }
}

/* The left side in pieces gives the same rows, one after the other. */
static void
chunks_of_the_left_side_do_not_matter(void **state)
{
    granary_frame *left = frame_random(3, 500, true);
    granary_frame *right = frame_random(4, 40, true);
    granary_frame *whole = joined(left, right, "key,flag", "key,flag", "left");
    granary_frame *parts[5];
    granary_frame *result;

    (void)state;
    for (int i = 0; i < 5; i++) {
        granary_frame *chunk;

        assert_int_equal(gr_frame_slice(left, i * 100, 100, &chunk), GRANARY_OK);
        parts[i] = joined(chunk, right, "key,flag", "key,flag", "left");
        gr_frame_destroy(chunk);
    }
    assert_int_equal(gr_frame_concat((const granary_frame *const *)parts, 5, &result), GRANARY_OK);
    assert_same_bytes(result, whole);
    for (int i = 0; i < 5; i++) {
        gr_frame_destroy(parts[i]);
    }
    gr_frame_destroy(result);
    gr_frame_destroy(whole);
    gr_frame_destroy(left);
    gr_frame_destroy(right);
}

static void
a_key_without_values_matches_nothing(void **state)
{
    granary_frame *left = frame_text("k:null,a:int64", ",1\n,2\n");
    granary_frame *right = frame_text("k:int64,b:int64", "1,7\n");
    granary_frame *result = joined(left, right, "k", "k", "left");

    (void)state;
    assert_frame(result, "k,a,b\n,1,\n,2,\n");
    gr_frame_destroy(result);
    result = joined(right, left, "k", "k", "inner");
    assert_int_equal(result->rows, 0);
    gr_frame_destroy(result);
    gr_frame_destroy(left);
    gr_frame_destroy(right);
}

static void
wrong_calls_are_answered(void **state)
{
    granary_frame *left = frame_text("k:int64,a:int64", "1,2\n");
    granary_frame *right = frame_text("k:string,a:int64", "1,2\n");
    struct kernel_test test;

    (void)state;
    call_join(&test, left, right, "k", "k", "inner");
    kernel_test_fails(&test, kernel_join, GRANARY_ETYPE, "'k' is int64");
    call_join(&test, left, right, "x", "k", "inner");
    kernel_test_fails(&test, kernel_join, GRANARY_ENOENT, "'x'");
    call_join(&test, left, right, "k", "y", "inner");
    kernel_test_fails(&test, kernel_join, GRANARY_ENOENT, "'y'");
    call_join(&test, left, right, "a", "a", "outer");
    kernel_test_fails(&test, kernel_join, GRANARY_EINVAL, "outer");
    kernel_test_init(&test, "join");
    kernel_test_strings(&test, "on", "a");
    kernel_test_frame(&test, left);
    kernel_test_fails(&test, kernel_join, GRANARY_EINVAL, "input 1");
    gr_frame_destroy(left);
    gr_frame_destroy(right);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goldens_as_in_pandas),
        cmocka_unit_test(nulls_match_nothing_and_nan_matches_nan),
        cmocka_unit_test(suffixes_are_taken_from_the_call),
        cmocka_unit_test(rows_are_what_two_loops_find),
        cmocka_unit_test(chunks_of_the_left_side_do_not_matter),
        cmocka_unit_test(a_key_without_values_matches_nothing),
        cmocka_unit_test(wrong_calls_are_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
