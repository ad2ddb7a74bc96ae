/* common-steps: what is computed once, and what is not; constant-filter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "steps_bench.h"

#define GROUP(name, input, function)                                                                                   \
    "\"" name "\": {\"op\": \"groupby\", \"input\": \"" input                                                          \
    "\", \"keys\": \"k\", \"aggregate\": {\"x\": \"" function "\"}}"
#define FILTER(name, input, where)                                                                                     \
    "\"" name "\": {\"op\": \"filter\", \"input\": \"" input "\", \"where\": \"" where "\"}"

/* Twice the same, down to the file, though written in another order. */
static void
equal_steps_are_computed_once(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(
        &bench,
        "\"t2\": {\"op\": \"read_csv\", \"path\": \"t\"}," FILTER("f", "t", "a > 1") ", " FILTER(
            "f2", "t2",
            "a > 1") ", " GROUP("g", "f",
                                "sum(b)") ", "
                                          "\"g2\": {\"aggregate\": {\"x\": \"sum(b)\"}, \"keys\": \"k\", \"op\": "
                                          "\"groupby\", \"input\": \"f2\"}, "
                                          "\"j\": {\"op\": \"join\", \"inputs\": [\"g\", \"g2\"], \"on\": \"k\"}",
        "\"j\"");
    assert_fired(&bench, "common-steps: 't2' (read_csv) is the same as 't'");
    assert_fired(&bench, "common-steps: 'g2' (groupby) is the same as 'g'");
    assert_steps(&bench, "  t = read_csv() path=t  -> 3 of 4 columns: k, a, b\n"
                         "  g = groupby(t) keys=[k] aggregate=[x: sum(b)] where=a > 1\n"
                         "  j * = join(g, g) on=[k]\n");
    bench_close(&bench);
}

static void
what_differs_stays(void **state)
{
    static const char *const nodes[] = {
        GROUP("g", "t", "sum(b)") ", " GROUP("h", "t", "sum(a)"), /* a parameter */
        GROUP("g", "t", "sum(b)") ", " GROUP("h", "u", "sum(b)"), /* the input */
        FILTER("f", "t", "a > 1") ", " GROUP("g", "f", "sum(b)") ", " GROUP("h", "t", "sum(b)"),
        FILTER("f", "t", "a > 1") ", " FILTER("e", "t",
                                              "a > 2") ", \"g\": {\"op\": \"sort\", \"input\": \"f\", \"by\": "
                                                       "\"a\"}, \"h\": {\"op\": \"sort\", \"input\": \"e\", "
                                                       "\"by\": \"a\"}",
        ("\"g\": {\"op\": \"nlargest\", \"input\": \"t\", \"columns\": \"a\", \"rows\": 3}, "
         "\"h\": {\"op\": \"nlargest\", \"input\": \"t\", \"columns\": \"a\", \"rows\": 4}"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        struct bench bench;
        char all[2000];

        (void)snprintf(all, sizeof all, "%s, \"c\": {\"op\": \"concat\", \"inputs\": [\"g\", \"h\"]}", nodes[i]);
        bench_open(&bench, all, "\"c\"");
        assert_not_fired(&bench, "common-steps");
        bench_close(&bench);
    }
}

/* A target is not another one; its readers may read the first. Writers write, each of them. */
static void
targets_and_writers_stay(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench,
               GROUP("g", "t", "sum(b)") ", " GROUP("h", "t", "sum(b)") ", \"s\": {\"op\": \"sort\", \"input\": \"h\", "
                                                                        "\"by\": \"x\"}",
               "\"g\", \"h\", \"s\"");
    assert_not_fired(&bench, "common-steps");
    assert_steps(&bench, "  t = read_csv() path=t  -> 2 of 4 columns: k, b\n"
                         "  g * = groupby(t) keys=[k] aggregate=[x: sum(b)]\n"
                         "  h * = groupby(t) keys=[k] aggregate=[x: sum(b)]\n"
                         "  s * = sort(g) by=[x]\n");
    bench_close(&bench);
    bench_open(&bench,
               "\"w\": {\"op\": \"write_csv\", \"input\": \"t\", \"path\": \"o\"},"
               "\"v\": {\"op\": \"write_csv\", \"input\": \"t\", \"path\": \"o\"},"
               "\"c\": {\"op\": \"concat\", \"inputs\": [\"w\", \"v\"]}",
               "\"c\"");
    assert_not_fired(&bench, "common-steps");
    bench_close(&bench);
}

/* Rows passed through are cheaper made again, in each reader, than kept. */
static void
cheap_steps_stay_with_their_readers(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench,
               FILTER("f", "t", "a > 1") ", " FILTER("e", "t", "a > 1") ", " GROUP("g", "f", "sum(b)") ", " GROUP(
                   "h", "e", "sum(a)"),
               "\"g\", \"h\"");
    assert_not_fired(&bench, "common-steps");
    assert_steps(&bench, "  t = read_csv() path=t  -> 3 of 4 columns: k, a, b\n"
                         "  g * = groupby(t) keys=[k] aggregate=[x: sum(b)] where=a > 1\n"
                         "  h * = groupby(t) keys=[k] aggregate=[x: sum(a)] where=a > 1\n");
    bench_close(&bench);
}

static void
constant_conditions_are_not_asked(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench, FILTER("f", "t", "1 < 2") ", " GROUP("g", "f", "sum(b)"), "\"g\"");
    assert_fired(&bench, "constant-filter: 'f' lets all rows through");
    assert_steps(&bench, "  t = read_csv() path=t  -> 2 of 4 columns: k, b\n"
                         "  g * = groupby(t) keys=[k] aggregate=[x: sum(b)]\n");
    bench_close(&bench);
    bench_open(&bench, FILTER("f", "t", "true") ", " FILTER("e", "f", "2 < 1"), "\"e\", \"f\"");
    assert_fired(&bench, "constant-filter: 'e' leaves no row");
    assert_steps(&bench, "  t = read_csv() path=t\n"
                         "  f * = select(t) columns=[k, a, b, c]\n"
                         "  e * = head(t) rows=0\n");
    bench_close(&bench);
    bench_open(&bench, FILTER("f", "t", "a > 1 or true") ", " FILTER("e", "f", "a = a"), "\"e\"");
    assert_not_fired(&bench, "constant-filter: 'e'"); /* a null is not equal to itself */
    bench_close(&bench);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_steps_are_computed_once),     cmocka_unit_test(what_differs_stays),
        cmocka_unit_test(targets_and_writers_stay),          cmocka_unit_test(cheap_steps_stay_with_their_readers),
        cmocka_unit_test(constant_conditions_are_not_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
