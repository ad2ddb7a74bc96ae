#include "rows_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/simd/simd.h"

static void
numbers(void **state)
{
    static const struct expectation want[] = {
        {"a + b", "int64", "9 -4 - -"},
        {"a - b", "int64", "5 -10 - -"},
        {"a * b", "int64", "14 -21 - -"},
        {"a / b", "float64", "3.5 -2.3333333333333335 - -"},
        {"a % b", "int64", "1 2 - -"},
        {"-a", "int64", "-7 7 - 0"},
        {"abs(a)", "int64", "7 7 - 0"},
        {"a % 0", "int64", "- - - -"},
        {"-7 % 3", "int64", "2 2 2 2"},
        {"7 % -3", "int64", "-2 -2 -2 -2"},
        {"a / 0", "float64", "inf -inf - nan"},
        {"a + 0.5", "float64", "7.5 -6.5 - 0.5"},
        {"f * 2", "float64", "3.0 -1.0 nan -"},
        {"f % 1", "float64", "0.5 0.5 nan -"},
        {"-f", "float64", "-1.5 0.5 nan -"},
        {"abs(f)", "float64", "1.5 0.5 nan -"},
        {"sqrt(a)", "float64", "2.6457513110645907 nan - 0.0"},
        {"sqrt(f + 0.75)", "float64", "1.5 0.5 nan -"},
        {"a", "int64", "7 -7 - 0"},
        {"f", "float64", "1.5 -0.5 nan -"},
        {"1", "int64", "1 1 1 1"},
        {"a + null", "int64", "- - - -"},
        {"(a + b) * (a - b) + 1", "int64", "46 41 - -"},
    };
    granary_frame *frame = frame_text("a:int64,b:int64,f:float64", "7,2,1.5\n-7,3,-0.5\n,4,nan\n0,,\n");

    (void)state;
    ASSERT_ALL(frame, want);
    gr_frame_destroy(frame);
}

static void
comparisons(void **state)
{
    static const struct expectation want[] = {
        {"a = 1", "bool", "true false -"},          {"a == b", "bool", "true false -"},
        {"a != b", "bool", "false true -"},         {"a <> 1", "bool", "false true -"},
        {"a < b", "bool", "false true -"},          {"a <= b", "bool", "true true -"},
        {"a > b", "bool", "false false -"},         {"a >= b", "bool", "true false -"},
        {"f = f", "bool", "true false true"},       {"f != f", "bool", "false true false"},
        {"f < 2", "bool", "true false false"},      {"a > 0.5", "bool", "true true -"},
        {"a = 1.0", "bool", "true false -"},        {"s = 'x'", "bool", "true false -"},
        {"s != 'x'", "bool", "false true -"},       {"s < 'y'", "bool", "true true -"},
        {"s >= ''", "bool", "true true -"},         {"'xa' > s", "bool", "true true -"},
        {"t = true", "bool", "true false -"},       {"t != false", "bool", "true false -"},
        {"a is null", "bool", "false false true"},  {"a is not null", "bool", "true true false"},
        {"isnull(s)", "bool", "false false true"},  {"notnull(f)", "bool", "true true true"},
        {"null is null", "bool", "true true true"}, {"a = null", "bool", "- - -"},
    };
    granary_frame *frame =
        frame_text("a:int64,b:int64,f:float64,s:string,t:bool", "1,1,1.5,x,true\n2,3,nan,\"\",false\n,5,2,,\n");

    (void)state;
    ASSERT_ALL(frame, want);
    gr_frame_destroy(frame);
}

static void
logic_has_three_values(void **state)
{
    /* Nine rows: all pairs of true, false, null. */
    static const struct expectation want[] = {
        {"p and q", "bool", "true false - false false false - false -"},
        {"p or q", "bool", "true true true true false - true - -"},
        {"not p", "bool", "false false false true true true - - -"},
        {"p is null or q", "bool", "true false - true false - true true true"},
        {"p and null", "bool", "- - - false false false - - -"},
        {"null or p", "bool", "true true true - - - - - -"},
        {"p & ~q | false", "bool", "false true - false false false false - -"},
        {"true and false", "bool", "false false false false false false false false false"},
    };
    granary_frame *frame = frame_text("p:bool,q:bool", "true,true\ntrue,false\ntrue,\nfalse,true\nfalse,false\nfalse,\n"
                                                       ",true\n,false\n,\n");

    (void)state;
    ASSERT_ALL(frame, want);
    gr_frame_destroy(frame);
}

static void
texts(void **state)
{
    static const struct expectation want[] = {
        {"lower(s)", "string", "abc \xc3\xa9t\xc3\xa9  - \xc3\x9f\xe2\xb1\xa5\xff"},
        {"length(s)", "int64", "3 3 0 - 3"},
        {"s", "string", "aBC \xc3\x89T\xc3\x89  - \xc3\x9f\xc8\xba\xff"},
        {"lower(s) = 'abc'", "bool", "true false false - false"},
        {"lower(lower(s)) = lower(s)", "bool", "true true true - true"},
        {"'K'", "string", "K K K K K"},
    };
    granary_frame *frame = frame_text("s:string", "aBC\n\xc3\x89T\xc3\x89\n\"\"\n\n\xc3\x9f\xc8\xba\xff\n");

    (void)state;
    ASSERT_ALL(frame, want);
    gr_frame_destroy(frame);
}

static void
dates(void **state)
{
    static const struct expectation want[] = {
        {"year(d)", "int64", "1970 2000 1969 - 1600"},
        {"month(d)", "int64", "1 2 12 - 2"},
        {"day(d)", "int64", "1 29 31 - 29"},
        {"year(t)", "int64", "1970 1969 - 2000 9999"},
        {"month(t)", "int64", "1 12 - 2 12"},
        {"day(t)", "int64", "1 31 - 29 31"},
        {"d < date '1970-01-01'", "bool", "false false true - true"},
        {"d = '2000-02-29'", "bool", "false true false - false"},
        {"t >= d", "bool", "true false - - true"},
        {"d", "date", "1970-01-01 2000-02-29 1969-12-31 - 1600-02-29"},
        {"t = timestamp '2000-02-29 12:00:00'", "bool", "false false - true false"},
    };
    /* 2000-02-29 is day 11016; 1600-02-29 is day -135081. */
    granary_frame *frame = frame_text("d:date,t:timestamp", "0,0\n11016,-1\n-1,\n,951825600000000\n"
                                                            "-135081,253402300799999999\n");

    (void)state;
    ASSERT_ALL(frame, want);
    gr_frame_destroy(frame);
}

static void
overflow_names_the_values(void **state)
{
    granary_frame *frame = frame_text("a:int64,b:int64", "1,1\n9223372036854775807,\n-9223372036854775808,1\n"
                                                         "9223372036854775807,1\n");

    (void)state;
    assert_error(
        frame, "a + b", GRANARY_EFAILED,
        "expression `a + b`: integer overflow (cast one to decimal(38, 0) or float64) of 9223372036854775807 and 1");
    assert_error(frame, "a - b", GRANARY_EFAILED, "of -9223372036854775808 and 1");
    assert_error(frame, "a * 2", GRANARY_EFAILED, "of 9223372036854775807 and 2");
    assert_error(frame, "-a", GRANARY_EFAILED, "of -9223372036854775808");
    assert_error(frame, "abs(a)", GRANARY_EFAILED, "of -9223372036854775808");
    /* What is null anyway cannot overflow; neither can a remainder. */
    assert_cells(frame, "(a + b * 0) % -1", "int64", "0 - 0 0");
    assert_cells(frame, "a * 1.0", "float64", "1.0 9.223372036854776e+18 -9.223372036854776e+18 9.223372036854776e+18");
    gr_frame_destroy(frame);
}

/* Small numbers are divided as doubles, others as int64, and what int64 does not hold in 128 bits: a block each, with
 * every instruction set. */
static void
divisions_at_the_edges(void **state)
{
    static const char *const small = "7,2\n-7,2\n7,-2\n-7,-2\n5,0\n,3\n6,\n6,-3\n-6,3\n0,-5\n";
    static const struct expectation small_want[] = {
        {"a // b", "int64", "3 -4 -4 3 - - - -2 -2 0"},         {"a % b", "int64", "1 1 -1 -1 - - - 0 0 0"},
        {"quotient(a, b)", "int64", "3 -3 -3 3 - - - -2 -2 0"}, {"remainder(a, b)", "int64", "1 -1 1 -1 - - - 0 0 0"},
        {"sign(a)", "int64", "1 -1 1 -1 1 - 1 1 -1 0"},         {"-b", "int64", "-2 -2 2 2 0 -3 - 3 -3 5"},
    };
    static const char *const large =
        "-9223372036854775808,2\n9223372036854775807,-1\n4503599627370497,-4503599627370496\n"
        "-9223372036854775807,9223372036854775807\n1,9223372036854775807\n"
        "9223372036854775807,0\n,-9223372036854775808\n";
    static const struct expectation large_want[] = {
        {"a // b", "int64", "-4611686018427387904 -9223372036854775807 -2 -1 0 - -"},
        {"a % b", "int64", "0 0 -4503599627370495 0 1 - -"},
        {"quotient(a, b)", "int64", "-4611686018427387904 -9223372036854775807 -1 -1 0 - -"},
        {"remainder(a, b)", "int64", "0 0 1 0 1 - -"},
        {"sign(a)", "int64", "-1 1 1 -1 1 1 -"},
    };
    static const char *const least = "-9223372036854775808,-1\n-7,-2\n3,0\n";
    static const struct expectation least_want[] = {
        {"a % b", "int64", "0 -1 -"},
        {"remainder(a, b)", "int64", "0 -1 -"},
        {"case when b < -1 then a // b end", "int64", "- 3 -"},
        {"case when b < -1 then abs(a) end", "int64", "- 7 -"},
    };
    granary_frame *frames[] = {frame_text("a:int64,b:int64", small), frame_text("a:int64,b:int64", large),
                               frame_text("a:int64,b:int64", least)};

    (void)state;
    for (int level = GR_SIMD_BASE; level <= GR_SIMD_AVX512; level++) {
        gr_simd_limit((enum gr_simd)level);
        ASSERT_ALL(frames[0], small_want);
        ASSERT_ALL(frames[1], large_want);
        ASSERT_ALL(frames[2], least_want);
        assert_error(frames[2], "a // b", GRANARY_EFAILED, "of -9223372036854775808 and -1");
        assert_error(frames[2], "quotient(a, b)", GRANARY_EFAILED, "of -9223372036854775808 and -1");
        assert_error(frames[2], "-a", GRANARY_EFAILED, "of -9223372036854775808");
    }
    gr_simd_limit(GR_SIMD_AVX512);
    for (size_t i = 0; i < 3; i++) {
        gr_frame_destroy(frames[i]);
    }
}

static void
overflow_is_found_behind_the_first_block(void **state)
{
    granary_frame *frame = frame_random(1, 5000, false);

    (void)state;
    assert_error(frame, "row + (9223372036854775807 - 4321)", GRANARY_EFAILED, "of 4322 and 9223372036854771486");
    gr_frame_destroy(frame);
}

static void
other_dtypes_of_files_are_read(void **state)
{
    static const struct expectation want[] = {
        {"i", "int32", "5 - -7"}, {"f", "float32", "0.5 1.5 -"}, {"n is null", "bool", "true true true"},
        {"n", "null", "- - -"},   {"null", "string", "- - -"},
    };
    granary_frame *frame = frame_text("i:int32,f:float32,n:null", "5,0.5,\n,1.5,\n-7,,\n");

    (void)state;
    ASSERT_ALL(frame, want);
    gr_frame_destroy(frame);
}

/* Blocks and their remainders: the same values as row by row. */
static void
blocks_join_without_a_seam(void **state)
{
    static const int64_t sizes[] = {0, 1, ROWS_BLOCK - 1, ROWS_BLOCK, ROWS_BLOCK + 1, 3 * ROWS_BLOCK + 7};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        granary_frame *frame = frame_random(i + 1, sizes[i], false);
        const granary_column *key = &frame->columns[gr_frame_find(frame, "key")].view;
        const granary_column *real = &frame->columns[gr_frame_find(frame, "real")].view;
        granary_frame *sums = NULL;
        granary_frame *lowers = NULL;
        struct gr_column sum;
        struct gr_column lower;

        assert_int_equal(computed("key * 3 + real", frame, &sums), GRANARY_OK);
        assert_int_equal(computed("lower(text)", frame, &lowers), GRANARY_OK);
        sum = sums->columns[0];
        lower = lowers->columns[0];
        for (int64_t row = 0; row < sizes[i]; row++) {
            bool null = gr_is_null(key, row) || gr_is_null(real, row);
            char *text = cell_text(frame, "text", row);

            assert_int_equal(gr_is_null(&sum.view, row), null);
            assert_true(
                ((const double *)sum.view.values)[row] ==
                (null ? 0.0 : (double)(((const int64_t *)key->values)[row] * 3) + ((const double *)real->values)[row]));
            if (strcmp(text, "<null>") != 0) {
                size_t size = (size_t)(lower.view.offsets[row + 1] - lower.view.offsets[row]);

                assert_int_equal(size, strlen(text));
                assert_int_not_equal(size > 0 && ((const char *)lower.view.values)[lower.view.offsets[row]] == 'A', 1);
            }
            free(text);
        }
        gr_frame_destroy(sums);
        gr_frame_destroy(lowers);
        gr_frame_destroy(frame);
    }
}

/* The first condition that is true decides, also over later ones that cannot be told, of few branches and of many. */
static void
the_first_true_condition_decides(void **state)
{
    static const struct expectation want[] = {
        {"case when a < 1 then 10 when a < 2 then null when a < 3 then 30 when a < 4 then 40 when a < 5 then a else -a "
         "end",
         "int64", "10 - 30 40 4 -5 -"},
        {"case when a < 1 then 0.5 when a < 2 then f when a < 3 then f when a < 4 then a / 2 end", "float64",
         "0.5 - nan 1.5 - - -"},
        {"case when a < 1 then 'x' when a < 2 then null when a < 3 then s when a < 4 then s || s else '' end", "string",
         "x - c dd   "},
        {"case when a < 1 then u when a < 2 then null when a < 3 then 1 when a < 4 then 2 else 3 end", "uint64",
         "18446744073709551615 - 1 2 3 3 3"},
        {"case when a < 1 then true when a < 2 then null when a < 3 then false when a < 4 then true end", "bool",
         "true - false true - - -"},
        {"case when a < 4 then 1 when cast(t as int64) = 7 then 2 else 3 end", "int64", "1 1 1 1 2 3 3"},
    };
    granary_frame *frame = frame_text("a:int64,f:float64,s:string,u:uint64,t:string",
                                      "0,1,a,18446744073709551615,x\n1,,b,1,x\n2,nan,c,2,x\n3,4,d,3,x\n4,5,e,4,7\n"
                                      "5,6,f,5,8\n,7,g,6,9\n");

    (void)state;
    ASSERT_ALL(frame, want);
    assert_error(frame, "case when a < 3 then 1 when cast(t as int64) = 7 then 2 else 3 end", GRANARY_EFAILED, "'x'");
    gr_frame_destroy(frame);
}

/* The column of an expression, called z. */
static granary_frame *
computed_z(const granary_frame *frame, const char *text)
{
    static const char *const names[] = {"z"};
    const char *const texts[] = {text};
    const struct rows_spec spec = {.wanted = texts, .wanted_count = 1};
    granary_frame *made = NULL;

    if (rows_frame(frame, &spec, names, &made) != GRANARY_OK) {
        fail_msg("%s: %s", text, granary_error_message());
    }
    return made;
}

/* A list is what its literals are one by one, however many there are, in every block. */
static void
lists_are_comparisons_joined_by_or(void **state)
{
    static const char *const columns[] = {"a", "u", "x", "r", "s", "m", "d"};
    static const size_t counts[] = {1, 2, 3, 4, 5, 64, 65, 150};
    static const char *const odd[] = {
        "9223372036854775807",  "18446744073709551615", "cast('nan' as float64)", "-0.0", "cast(0.1 as float32)", "''",
        "92233720368547758.07", "date '1970-01-01'"};
    struct gr_buf cells = {0};
    granary_frame *frame;

    (void)state;
    for (int row = 0; row < 2 * ROWS_BLOCK + 5; row++) {
        int k = row * 7 % 331;

        if (row % 11 == 0) {
            gr_buf_addf(&cells, ",,,,,,\n");
        } else if (row % 301 == 1) {
            gr_buf_addf(&cells, "9223372036854775807,18446744073709551615,%s,0.1,\"\",92233720368547758.07,0\n",
                        row % 2 ? "nan" : "-0.0");
        } else {
            gr_buf_addf(&cells, "%d,%d,%d,%d,t%d,%d,%d\n", k, k, k, k, k, k, k);
        }
    }
    assert_true(gr_buf_ok(&cells));
    frame = frame_text("a:int64,u:uint64,x:float64,r:float32,s:string,m:decimal(2),d:date", cells.bytes);
    for (size_t test = 0; test < 7 * 8 * 3; test++) {
        size_t c = test % 7;
        size_t count = counts[test / 7 % 8];
        int more = (int)(test / 56); /* 0: nothing, 1: a null, 2: what is odd of that column */
        struct gr_buf list = {0};
        struct gr_buf chain = {0};
        granary_frame *of_list;
        granary_frame *of_chain;

        gr_buf_addf(&list, "%s in (", columns[c]);
        for (size_t k = 0; k < count + (more > 0); k++) {
            char literal[64];

            if (k == count) {
                size_t at = c < 2 ? c : c == 2 ? 2 + count % 2 : c + 1;

                (void)snprintf(literal, sizeof literal, "%s", more == 1 ? "null" : odd[at]);
            } else {
                (void)snprintf(literal, sizeof literal,
                               c == 4   ? "'t%zu'"
                               : c == 6 ? "date '1970-01-01' + %zu"
                                        : "%zu",
                               k * 5 % 331);
            }
            gr_buf_addf(&list, "%s%s", k > 0 ? ", " : "", literal);
            gr_buf_addf(&chain, "%s%s = %s", k > 0 ? " or " : "", columns[c], literal);
        }
        gr_buf_addf(&list, ")");
        assert_true(gr_buf_ok(&list) && gr_buf_ok(&chain));
        gr_simd_limit((enum gr_simd)(test % 3));
        of_list = computed_z(frame, list.bytes);
        of_chain = computed_z(frame, chain.bytes);
        assert_same_bytes(of_list, of_chain);
        gr_frame_destroy(of_list);
        gr_frame_destroy(of_chain);
        gr_buf_free(&list);
        gr_buf_free(&chain);
    }
    gr_simd_limit(GR_SIMD_AVX512);
    gr_frame_destroy(frame);
    gr_buf_free(&cells);
}

static void
wrong_expressions_are_answered(void **state)
{
    granary_frame *frame = frame_text("a:int64,s:string", "1,x\n");

    (void)state;
    assert_error(frame, "a + s", GRANARY_ETYPE, "a + s");
    assert_error(frame, "nope + 1", GRANARY_ENOENT, "nope");
    assert_error(frame, "(a", GRANARY_EINVAL, "(a");
    assert_error(frame, "", GRANARY_EINVAL, "");
    gr_frame_destroy(frame);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(logic_has_three_values),
        cmocka_unit_test(texts),
        cmocka_unit_test(dates),
        cmocka_unit_test(overflow_names_the_values),
        cmocka_unit_test(divisions_at_the_edges),
        cmocka_unit_test(overflow_is_found_behind_the_first_block),
        cmocka_unit_test(other_dtypes_of_files_are_read),
        cmocka_unit_test(blocks_join_without_a_seam),
        cmocka_unit_test(the_first_true_condition_decides),
        cmocka_unit_test(lists_are_comparisons_joined_by_or),
        cmocka_unit_test(wrong_expressions_are_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
