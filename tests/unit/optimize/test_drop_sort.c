/* drop-sort: which orders cannot be seen, and which can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "steps_bench.h"

#define SORT(name, input, more) "\"" name "\": {\"op\": \"sort\", \"input\": \"" input "\", " more "}"
#define GROUP(name, input, more)                                                                                       \
    "\"" name "\": {\"op\": \"groupby\", \"input\": \"" input "\", \"keys\": [\"k\", \"a\"], \"aggregate\": {" more "}}"

static void
assert_drops(const char *nodes, const char *targets, const char *line, const char *steps)
{
    struct bench bench;

    bench_open(&bench, nodes, targets);
    assert_fired(&bench, line);
    assert_steps(&bench, steps);
    bench_close(&bench);
}

static void
assert_keeps(const char *nodes, const char *targets)
{
    struct bench bench;

    bench_open(&bench, nodes, targets);
    assert_not_fired(&bench, "drop-sort");
    bench_close(&bench);
}

static void
groups_are_in_order(void **state)
{
    (void)state;
    assert_drops(GROUP("g", "t", "\"n\": \"size\"") ", " SORT("s", "g", "\"by\": [\"k\"]"), "\"s\"",
                 "drop-sort: 's' finds its rows in order",
                 "  t = read_csv() path=t  -> 2 of 4 columns: k, a\n"
                 "  g = groupby(t) keys=[k, a] aggregate=[n: size]\n"
                 "  s * = select(g) columns=[k, a, n]\n");
    assert_keeps(GROUP("g", "t", "\"n\": \"size\"") ", " SORT("s", "g", "\"by\": [\"a\"]"), "\"s\"");
    assert_keeps(GROUP("g", "t", "\"n\": \"size\"") ", " SORT("s", "g", "\"by\": [\"k\"], \"descending\": true"),
                 "\"s\"");
    assert_keeps(GROUP("g", "t", "\"n\": \"size\"") ", " SORT("s", "g", "\"by\": [\"k\"], \"nulls\": \"first\""),
                 "\"s\"");
    assert_keeps(GROUP("g", "t", "\"n\": \"size\"") ", " SORT("s", "g", "\"by\": [\"k\", \"a\", \"n\"]"), "\"s\"");
    assert_keeps(
        "\"g\": {\"op\": \"groupby\", \"input\": \"t\", \"keys\": \"k\", \"sort\": false, \"aggregate\": {\"n\": "
        "\"size\"}}, " SORT("s", "g", "\"by\": \"k\""),
        "\"s\"");
    /* one of the keys is another column by then */
    assert_keeps(
        GROUP("g", "t", "\"n\": \"size\"") ", \"m\": {\"op\": \"assign\", \"input\": \"g\", \"columns\": {\"k\": "
                                           "\"-k\"}}, " SORT("s", "m", "\"by\": \"k\""),
        "\"s\"");
}

static void
the_first_rows_of_what_is_sorted_are_a_head(void **state)
{
    (void)state;
    assert_drops(
        GROUP("g", "t", "\"n\": \"size\"") ", \"x\": {\"op\": \"nsmallest\", \"input\": \"g\", \"columns\": \"k\", "
                                           "\"rows\": 3}",
        "\"x\"", "drop-sort: 'x' finds its rows in order",
        "  t = read_csv() path=t  -> 2 of 4 columns: k, a\n"
        "  g = groupby(t) keys=[k, a] aggregate=[n: size]\n"
        "  x * = head(g) rows=3\n");
}

static void
sorts_over_sorts(void **state)
{
    (void)state;
    assert_drops(SORT("s", "t", "\"by\": [\"a\", \"b\"]") ", \"f\": {\"op\": \"head\", \"input\": \"s\", "
                                                          "\"rows\": 9}, " SORT("u2", "f", "\"by\": [\"a\"]"),
                 "\"u2\"", "drop-sort: 'u2' finds its rows in order",
                 "  t = read_csv() path=t\n  s = sort(t) by=[a, b] limit=9\n"
                 "  u2 * = select(s) columns=[k, a, b, c]\n");
    assert_drops(SORT("s", "t", "\"by\": [\"a\"], \"descending\": true") ", " SORT("v", "s", "\"by\": [\"b\", \"a\"]"),
                 "\"v\"", "drop-sort: 'v' does not see the order 's' makes",
                 "  t = read_csv() path=t\n  v * = sort(t) by=[b, a]\n");
    /* of equal rows the lower one decides */
    assert_keeps(SORT("s", "t", "\"by\": [\"a\"]") ", " SORT("v", "s", "\"by\": [\"b\"]"), "\"v\"");
    assert_keeps(SORT("s", "t", "\"by\": [\"a\"], \"descending\": true") ", " SORT(
                     "v", "s", "\"by\": [\"a\"]") ", " SORT("w", "s", "\"by\": [\"c\"]"),
                 "\"s\", \"w\"");
}

static void
groups_do_not_see_orders(void **state)
{
    (void)state;
    assert_drops(
        SORT("s", "t", "\"by\": \"b\"") ", \"f\": {\"op\": \"filter\", \"input\": \"s\", \"where\": \"b > 1\"}, " GROUP(
            "g", "f", "\"n\": \"sum(b)\", \"m\": \"max(c)\""),
        "\"g\"", "drop-sort: 'g' does not see the order 's' makes",
        "  t = read_csv() path=t\n"
        "  g * = groupby(t) keys=[k, a] aggregate=[n: sum(b), m: max(c)] where=b > 1\n");
    assert_keeps(SORT("s", "t", "\"by\": \"b\"") ", " GROUP("g", "s", "\"n\": \"sum(b)\", \"m\": \"first(c)\""),
                 "\"g\"");
    assert_keeps(SORT("s", "t", "\"by\": \"b\"") ", " GROUP("g", "s", "\"n\": \"max(b / 2)\""), "\"g\"");
    /* which rows there are depends on the order */
    assert_keeps(SORT("s", "t", "\"by\": \"b\"") ", \"h\": {\"op\": \"head\", \"input\": \"s\", \"rows\": 5}, " GROUP(
                     "g", "h", "\"n\": \"size\""),
                 "\"g\"");
    assert_keeps("\"x\": {\"op\": \"nlargest\", \"input\": \"t\", \"columns\": \"b\", \"rows\": 3}, " GROUP(
                     "g", "x", "\"n\": \"size\""),
                 "\"g\"");
    /* what stands between is read by others */
    assert_keeps(
        SORT("s", "t", "\"by\": \"b\"") ", \"f\": {\"op\": \"filter\", \"input\": \"s\", \"where\": \"b > 1\"}, " GROUP(
            "g", "f", "\"n\": \"size\""),
        "\"g\", \"f\"");
}

static void
joins_do_not_see_the_order_of_what_they_look_for(void **state)
{
    (void)state;
    assert_drops(
        SORT("s", "u", "\"by\": \"b\"") ", \"j\": {\"op\": \"join\", \"inputs\": [\"t\", \"s\"], \"on\": \"k\", "
                                        "\"how\": \"semi\"}",
        "\"j\"", "drop-sort: 'j' does not see the order 's' makes",
        "  t = read_csv() path=t\n  u = read_csv() path=u  -> 1 of 4 columns: k\n"
        "  j * = join(t, u) on=[k] how=semi\n");
    assert_keeps(
        SORT("s", "t", "\"by\": \"b\"") ", \"j\": {\"op\": \"join\", \"inputs\": [\"s\", \"u\"], \"on\": \"k\", "
                                        "\"how\": \"semi\"}",
        "\"j\"");
    assert_keeps(
        SORT("s", "u", "\"by\": \"b\"") ", \"j\": {\"op\": \"join\", \"inputs\": [\"t\", \"s\"], \"on\": \"k\"}",
        "\"j\"");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_in_order),
        cmocka_unit_test(the_first_rows_of_what_is_sorted_are_a_head),
        cmocka_unit_test(sorts_over_sorts),
        cmocka_unit_test(groups_do_not_see_orders),
        cmocka_unit_test(joins_do_not_see_the_order_of_what_they_look_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
