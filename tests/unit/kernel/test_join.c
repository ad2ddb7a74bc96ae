#include "join_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/join.h"
#include "kernel/rows/rows.h"

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
    assert_joined(left, right, (struct way){.left_on = "id", .right_on = "id", .how = "left"},
                  "id,v_x,w,v_y,z\n3,a,1,,\n1,b,2,p,10.0\n1,b,2,r,30.0\n2,c,3,q,20.0\n1,d,4,p,10.0\n"
                  "1,d,4,r,30.0\n9,e,5,,\n");
    assert_joined(left, right, (struct way){.left_on = "w", .right_on = "id", .how = "inner"},
                  "id_x,v_x,w,id_y,v_y,z\n3,a,1,1,p,10.0\n3,a,1,1,r,30.0\n1,b,2,2,q,20.0\n");
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
    assert_joined(left, right, (struct way){.left_on = "k", .right_on = "k", .how = "inner"},
                  "k,a,b\nnan,1,9\n-0.0,3,8\n");
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
check_against_loop(const granary_frame *left, const granary_frame *right, struct way way)
{
    granary_frame *result = joined_in_a_way(left, right, way);
    bool is_left = strcmp(way.how, "left") == 0;
    bool is_semi = strcmp(way.how, "semi") == 0;
    bool is_anti = strcmp(way.how, "anti") == 0;
    int64_t at = 0;

    for (int64_t l = 0; l < left->rows; l++) {
        bool found = false;

        for (int64_t r = 0; r < right->rows; r++) {
            if (keys_equal(left, right, way.left_on, l, r)) {
                if (!is_semi && !is_anti) {
                    assert_row(result, at++, l, r);
                }
                found = true;
            }
        }
        if (!found && is_left) {
            assert_row(result, at++, l, -1);
        } else if ((is_semi || is_anti) && found == is_semi) {
            assert_true(at < result->rows);
            assert_int_equal(((const int64_t *)result->columns[gr_frame_find(result, "row")].view.values)[at++], l);
        }
    }
    assert_int_equal(result->rows, at);
    gr_frame_destroy(result);
}

static void
rows_are_what_two_loops_find(void **state)
{
    static const char *const keys[] = {"key",  "text",     "number",      "day",           "wide",
                                       "real", "flag,key", "text,number", "key,text,flag", "wide,real"};
    static const char *const kinds[] = {"inner", "left", "semi", "anti"};
    static const int64_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {60, 30}, {30, 60}};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        granary_frame *left = frame_random(i + 1, sizes[i][0], true);
        granary_frame *right = frame_random(i + 50, sizes[i][1], true);

        for (size_t j = 0; j < sizeof keys / sizeof keys[0]; j++) {
            for (size_t k = 0; k < 4; k++) {
                struct way way = {.left_on = keys[j], .right_on = keys[j], .how = kinds[k]};

                check_against_loop(left, right, way);
                way.parts = (i + k) % 3 == 0 ? 4 : 2;
                way.pieces = (int)(j % 4) + 2;
                check_against_loop(left, right, way);
            }
        }
        gr_frame_destroy(left);
        gr_frame_destroy(right);
    }
}

/* Keys k, of 4000 different ones `apart` from one to the next, and row: 0, 1, ... */
static granary_frame *
sparse_frame(struct random *random, int64_t rows, int64_t apart)
{
    granary_frame *frame = gr_frame_create(2, rows);
    struct gr_column columns[2];

    for (int c = 0; c < 2; c++) {
        int64_t *values;

        assert_int_equal(gr_column_alloc(GRANARY_INT64, rows, 0, false, &columns[c]), GRANARY_OK);
        values = (int64_t *)(uintptr_t)columns[c].view.values;
        for (int64_t i = 0; i < rows; i++) {
            values[i] = c == 1 ? i : (random_below(random, 4000) - 2000) * apart;
        }
        assert_int_equal(gr_frame_set(frame, (size_t)c, c == 0 ? "k" : "row", &columns[c]), GRANARY_OK);
    }
    return frame;
}

static void
check_sparse_keys(int64_t apart)
{
    enum { ROWS = 2000 };
    struct random random = {77};
    granary_frame *left = sparse_frame(&random, ROWS, apart);
    granary_frame *right = sparse_frame(&random, ROWS, apart);

    for (int parts = 1; parts <= 4; parts *= 2) {
        granary_frame *semi = joined_in_a_way(
            left, right, (struct way){.left_on = "k", .right_on = "k", .how = "semi", .parts = parts, .pieces = 3});
        granary_frame *anti =
            joined_in_a_way(left, right, (struct way){.left_on = "k", .right_on = "k", .how = "anti", .parts = parts});
        granary_frame *inner = joined_in_a_way(
            left, right, (struct way){.left_on = "k", .right_on = "k", .how = "inner", .parts = parts, .pieces = 2});
        const int64_t *l = left->columns[0].view.values;
        const int64_t *r = right->columns[0].view.values;
        int64_t at = 0;

        /* Both together are the left side, and each row of it is in one. */
        assert_int_equal(semi->rows + anti->rows, ROWS);
        assert_in_range(semi->rows, 1, ROWS - 1);
        for (int64_t i = 0; i < ROWS; i++) {
            for (int64_t k = 0; k < ROWS; k++) {
                if (l[i] == r[k]) {
                    assert_row(inner, at++, i, k);
                }
            }
        }
        assert_int_equal(at, inner->rows);
        gr_frame_destroy(semi);
        gr_frame_destroy(anti);
        gr_frame_destroy(inner);
    }
    gr_frame_destroy(left);
    gr_frame_destroy(right);
}

/* Wide ranges are hashed, narrower ones have bits, too: with and without matches, with keys that repeat, in parts. */
static void
sparse_keys_are_hashed(void **state)
{
    (void)state;
    check_sparse_keys(INT64_C(1000000007));
    check_sparse_keys(997);
}

/* A filter gives what a frame of the rows that it leaves gives. */
static void
rows_of_a_filter_take_part(void **state)
{
    static const char *const filters[] = {"row % 3 = 1",         "row < 0", "row >= 0", "row > 1500 and row < 2600",
                                          "row in (1023, 2047)", "k < 0"};
    static const char *const kinds[] = {"inner", "left", "semi", "anti"};
    static const int64_t aparts[] = {1, 997, INT64_C(1000000007)};
    static const char *const names[] = {"k", "row"};

    (void)state;
    for (size_t i = 0; i < 6 * 4 * 3; i++) {
        struct random random = {i + 1};
        granary_frame *left = sparse_frame(&random, 3000, aparts[i % 3]);
        granary_frame *right = sparse_frame(&random, i % 2 == 0 ? 700 : 1500, aparts[i % 3]);
        struct way way = {.left_on = "k", .right_on = "k", .how = kinds[i / 3 % 4], .pieces = 2};
        struct rows_spec spec = {.where = filters[i / 12], .wanted = names, .wanted_count = 2};
        granary_frame *some;
        granary_frame *expected;
        granary_frame *result;

        assert_int_equal(rows_frame(left, &spec, names, &some), GRANARY_OK);
        expected = joined_in_a_way(some, right, way);
        way.filter = filters[i / 12];
        result = joined_in_a_way(left, right, way);
        assert_same_bytes(expected, result);
        gr_frame_destroy(expected);
        gr_frame_destroy(result);
        gr_frame_destroy(some);
        gr_frame_destroy(left);
        gr_frame_destroy(right);
    }
}

static void
numbers_match_across_dtypes(void **state)
{
    static const char *const dtypes[] = {"int8",   "int16",  "int32",   "int64",   "uint8",      "uint16",
                                         "uint32", "uint64", "float32", "float64", "decimal(0)", "decimal(3)"};
    enum { COUNT = sizeof dtypes / sizeof dtypes[0] };

    (void)state;
    for (size_t a = 0; a < COUNT; a++) {
        for (size_t b = 0; b < COUNT; b++) {
            char columns[64];
            granary_frame *left;
            granary_frame *right;
            granary_frame *result;

            (void)snprintf(columns, sizeof columns, "k:%s,a:int64", dtypes[a]);
            left = frame_text(columns, "7,1\n0,2\n,3\n100,4\n9,5\n");
            (void)snprintf(columns, sizeof columns, "j:%s,b:int64", dtypes[b]);
            right = frame_text(columns, "100,10\n,20\n7,30\n7,40\n3,50\n");
            result = joined(left, right, "k", "j", "inner");
            assert_int_equal(result->rows, 3);
            for (int i = 0; i < 3; i++) {
                char *x = cell_text(result, "a", i);
                char *y = cell_text(result, "b", i);

                assert_string_equal(x, i < 2 ? "1" : "4");
                assert_string_equal(y, i == 0 ? "30" : i == 1 ? "40" : "10");
                free(x);
                free(y);
            }
            gr_frame_destroy(result);
            gr_frame_destroy(left);
            gr_frame_destroy(right);
        }
    }
}

static void
a_float_that_is_no_integer_equals_none(void **state)
{
    granary_frame *left = frame_text("k:int64,a:int64", "1,1\n2,2\n-9223372036854775808,3\n");
    granary_frame *right = frame_text("k:float64,b:int64", "1.5,1\n2,2\nnan,3\n9.3e18,4\n-9223372036854775808,5\n");
    granary_frame *result = joined(left, right, "k", "k", "left");

    (void)state;
    assert_frame(result, "k,a,b\n1,1,\n2,2,2\n-9223372036854775808,3,5\n");
    gr_frame_destroy(result);
    result = joined(right, left, "k", "k", "anti");
    assert_int_equal(result->rows, 3);
    gr_frame_destroy(result);
    gr_frame_destroy(left);
    gr_frame_destroy(right);
}

static void
conditions_decide_what_a_match_is(void **state)
{
    granary_frame *left = frame_text("k:int64,a:int64", "1,5\n1,9\n2,5\n3,1\n");
    granary_frame *right = frame_text("k:int64,b:int64", "1,5\n1,6\n2,5\n");
    struct way way = {.left_on = "k", .right_on = "k", .where = "a <> b"};
    static const char *const want[][2] = {{"inner", "k,a,b\n1,5,6\n1,9,5\n1,9,6\n"},
                                          {"left", "k,a,b\n1,5,6\n1,9,5\n1,9,6\n2,5,\n3,1,\n"},
                                          {"semi", "k,a\n1,5\n1,9\n"},
                                          {"anti", "k,a\n2,5\n3,1\n"}};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        way.how = want[i][0];
        assert_joined(left, right, way, want[i][1]);
    }
    gr_frame_destroy(left);
    gr_frame_destroy(right);
}

static void
not_in_knows_nulls(void **state)
{
    granary_frame *left = frame_text("k:int64", "1\n\n3\n");
    granary_frame *with = frame_text("k:int64", "1\n\n");
    granary_frame *without = frame_text("k:int64", "1\n2\n");
    granary_frame *empty = frame_text("k:int64", "");
    const struct way way = {.left_on = "k", .right_on = "k", .how = "anti", .null_aware = true};
    granary_frame *result;

    (void)state;
    assert_joined(left, with, way, "k\n");
    assert_joined(left, without, way, "k\n3\n");
    result = joined_in_a_way(left, empty, way);
    assert_int_equal(result->rows, 3);
    gr_frame_destroy(result);
    gr_frame_destroy(left);
    gr_frame_destroy(with);
    gr_frame_destroy(without);
    gr_frame_destroy(empty);
}

static void
crosses_and_indicators(void **state)
{
    granary_frame *left = frame_text("a:int64", "1\n2\n");
    granary_frame *right = frame_text("b:string", "x\ny\nz\n");
    struct way way = {.left_on = "", .right_on = "", .how = "cross", .pieces = 2};
    granary_frame *result = joined_in_a_way(left, right, way);

    (void)state;
    assert_frame(result, "a,b\n1,x\n1,y\n1,z\n2,x\n2,y\n2,z\n");
    gr_frame_destroy(result);
    way.where = "a = 2 and b > 'x'";
    assert_joined(left, right, way, "a,b\n2,y\n2,z\n");
    gr_frame_destroy(right);
    right = frame_text("a:int64", "2\n");
    result =
        joined_in_a_way(left, right, (struct way){.left_on = "a", .right_on = "a", .how = "left", .indicator = "from"});
    assert_frame(result, "a,from\n1,left_only\n2,both\n");
    gr_frame_destroy(result);
    gr_frame_destroy(left);
    gr_frame_destroy(right);
}

/* The frame with its column `text` encoded, with a dictionary of its own. */
static granary_frame *
encoded(const granary_frame *frame)
{
    granary_frame *result = gr_frame_create(frame->count, frame->rows);

    for (size_t i = 0; i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        struct gr_column codes;
        bool pays = false;

        if (strcmp(column->name, "text") == 0) {
            assert_int_equal(gr_column_encode(column, &pays, &codes), GRANARY_OK);
            assert_true(pays);
            assert_int_equal(gr_frame_set(result, i, column->name, &codes), GRANARY_OK);
        } else {
            assert_int_equal(gr_frame_set_borrowed(result, i, column->name, column), GRANARY_OK);
        }
    }
    return result;
}

/* Pieces with dictionaries of their own give the rows that plain ones give, and one dictionary. */
static void
dictionaries_of_pieces_become_one(void **state)
{
    granary_frame *left = frame_random(21, 400, true);
    granary_frame *right = frame_random(22, 300, true);
    granary_frame *plain[2];
    granary_frame *codes[2];
    static const char *const keys[] = {"key", "text"};

    (void)state;
    frame_cut(right, 2, plain);
    codes[0] = encoded(plain[0]);
    codes[1] = encoded(plain[1]);
    for (size_t k = 0; k < 2; k++) {
        struct way way = {.left_on = keys[k], .right_on = keys[k], .how = "left"};
        granary_frame *results[2];
        struct kernel_test build;
        struct kernel_test probe;
        const granary_frame *decoded;
        int text;

        for (int which = 0; which < 2; which++) {
            join_start_build(&build, left, which == 0 ? plain : codes, 2, right, &way, 0);
            assert_int_equal(kernel_test_run(&build, run_join_build), GRANARY_OK);
            join_start_probe(&probe, left, which == 0 ? plain : codes, 2, right, &way, &build);
            results[which] = kernel_test_to_frame(&probe, run_join_probe);
            kernel_test_fini(&build);
        }
        text = gr_frame_find(results[1], "text_y");
        assert_true(k == 1 || (text >= 0 && results[1]->columns[text].view.dictionary != NULL));
        assert_int_equal(gr_frame_plain(results[1], &decoded), GRANARY_OK);
        assert_same_bytes(decoded, results[0]);
        gr_frame_destroy(results[0]);
        gr_frame_destroy(results[1]);
    }
    for (int i = 0; i < 2; i++) {
        gr_frame_destroy(codes[i]);
        gr_frame_destroy(plain[i]);
    }
    gr_frame_destroy(left);
    gr_frame_destroy(right);
}

/* ---- faults ---- */

static void
repeated_keys_are_named(void **state)
{
    granary_frame *dense = frame_text("k:int64,b:string", "1,a\n2,b\n1,c\n");
    granary_frame *sparse = frame_text("k:float64,b:string", "1e300,a\n2,b\n1e300,c\n");
    granary_frame *good = frame_text("k:int64,b:string", "1,a\n,b\n,c\n2,d\n");
    struct way way = {.left_on = "k", .right_on = "k", .how = "inner", .unique = true};
    struct kernel_test test;

    (void)state;
    join_start_build(&test, dense, &dense, 1, dense, &way, 0);
    kernel_test_fails(&test, run_join_build, GRANARY_EINVAL, "the key k = 1 is there more than once on the right");
    join_start_build(&test, sparse, &sparse, 1, sparse, &way, 0);
    kernel_test_fails(&test, run_join_build, GRANARY_EINVAL, "k = 1e+300");
    join_start_build(&test, good, &good, 1, good, &way, 0);
    assert_int_equal(kernel_test_run(&test, run_join_build), GRANARY_OK);
    kernel_test_fini(&test);
    gr_frame_destroy(dense);
    gr_frame_destroy(sparse);
    gr_frame_destroy(good);
}

/* Every byte of a built side spoiled in turn: a probe answers, with some result or ECORRUPT, and touches nothing else.
 */
static void
spoiled_builds_are_refused(void **state)
{
    static const char *const keys[] = {"key", "text", "real", "key,text", "wide,real"};
    granary_frame *left = frame_random(9, 40, true);
    granary_frame *right = frame_random(10, 12, true);

    (void)state;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        struct way way = {.left_on = keys[k], .right_on = keys[k], .how = "inner"};
        struct kernel_test build;
        uint64_t size;
        int refused = 0;

        join_start_build(&build, left, &right, 1, right, &way, 0);
        assert_int_equal(kernel_test_run(&build, run_join_build), GRANARY_OK);
        size = build.outputs[0].bytes_size;
        for (uint64_t at = 0; at < size; at += at < 1024 ? 1 : 61) {
            char *spoiled = aligned_alloc(64, (size + 63) / 64 * 64);
            struct kernel_test other = build;
            struct kernel_test probe;
            granary_err err;

            memcpy(spoiled, build.outputs[0].bytes, size);
            spoiled[at] = (char)(spoiled[at] ^ (at % 3 == 0 ? 0xff : 0x10));
            other.outputs[0].bytes = spoiled;
            join_start_probe(&probe, left, &right, 1, right, &way, &other);
            err = kernel_test_run(&probe, run_join_probe);
            assert_true(err == GRANARY_OK || err == GRANARY_ECORRUPT || err == GRANARY_EINVAL || err == GRANARY_EFULL ||
                        err == GRANARY_EVERSION);
            refused += err == GRANARY_ECORRUPT;
            kernel_test_fini(&probe);
            free(spoiled);
        }
        assert_true(refused > 20);
        /* cut short, by more than what fills up the last section */
        for (uint64_t left_over = 0; left_over + 64 < size; left_over += 1 + left_over / 8) {
            struct kernel_test other = build;
            struct kernel_test probe;

            other.outputs[0].bytes_size = left_over;
            join_start_probe(&probe, left, &right, 1, right, &way, &other);
            kernel_test_fails(&probe, run_join_probe, GRANARY_ECORRUPT, "built side");
        }
        kernel_test_fini(&build);
    }
    gr_frame_destroy(left);
    gr_frame_destroy(right);
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
    struct way way = {.left_on = "k", .right_on = "x", .how = "inner"};
    struct kernel_test build;
    struct kernel_test test;

    (void)state;
    join_start_build(&test, left, &left, 1, left, &way, 0);
    kernel_test_fails(&test, run_join_build, GRANARY_ENOENT, "'x'");
    way.right_on = "k";
    way.parts = 3;
    join_start_build(&test, left, &left, 1, left, &way, 0);
    kernel_test_fails(&test, run_join_build, GRANARY_EINVAL, "power of two");
    way.parts = 0;
    join_start_build(&build, left, &left, 1, left, &way, 0);
    assert_int_equal(kernel_test_run(&build, run_join_build), GRANARY_OK);
    join_start_probe(&test, left, &left, 1, left, &way, NULL);
    kernel_test_fails(&test, run_join_probe, GRANARY_EINVAL, "input 2 is missing");
    way.left_on = "k,a";
    join_start_probe(&test, left, &left, 1, left, &way, &build);
    kernel_test_fails(&test, run_join_probe, GRANARY_EINVAL, "2 keys");
    way.left_on = "k";
    way.how = "some";
    join_start_probe(&test, left, &left, 1, left, &way, &build);
    kernel_test_fails(&test, run_join_probe, GRANARY_EINVAL, "'some'");
    kernel_test_fini(&build);
    gr_frame_destroy(left);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goldens_as_in_pandas),
        cmocka_unit_test(nulls_match_nothing_and_nan_matches_nan),
        cmocka_unit_test(rows_are_what_two_loops_find),
        cmocka_unit_test(sparse_keys_are_hashed),
        cmocka_unit_test(rows_of_a_filter_take_part),
        cmocka_unit_test(numbers_match_across_dtypes),
        cmocka_unit_test(a_float_that_is_no_integer_equals_none),
        cmocka_unit_test(conditions_decide_what_a_match_is),
        cmocka_unit_test(not_in_knows_nulls),
        cmocka_unit_test(crosses_and_indicators),
        cmocka_unit_test(dictionaries_of_pieces_become_one),
        cmocka_unit_test(repeated_keys_are_named),
        cmocka_unit_test(spoiled_builds_are_refused),
        cmocka_unit_test(chunks_of_the_left_side_do_not_matter),
        cmocka_unit_test(a_key_without_values_matches_nothing),
        cmocka_unit_test(wrong_calls_are_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
