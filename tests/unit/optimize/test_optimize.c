/* What each rule does, and what it leaves alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "steps_bench.h"

#define SELECT(name, input, columns)                                                                                   \
    "\"" name "\": {\"op\": \"select\", \"input\": \"" input "\", \"columns\": [" columns "]}"
#define HEAD(name, input, rows) "\"" name "\": {\"op\": \"head\", \"input\": \"" input "\", \"rows\": " rows "}"
#define SORT(name, input, by)   "\"" name "\": {\"op\": \"sort\", \"input\": \"" input "\", \"by\": \"" by "\"}"

static void
what_no_target_needs_dies(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench, SORT("s", "t", "a") ", " HEAD("h", "u", "3"), "\"h\"");
    assert_fired(&bench, "dead-node: 't' (read_csv)");
    assert_fired(&bench, "dead-node: 's' (sort)");
    assert_steps(&bench, "  u = read_csv() path=u\n  h * = head(u) rows=3\n");
    bench_close(&bench);
}

static void
selects_merge(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(
        &bench,
        SELECT("x", "t", "\"c\", \"b\", \"a\"") ", " SELECT("y", "x", "\"a\", \"b\"") ", " SELECT("z", "y", "\"b\""),
        "\"z\"");
    assert_fired(&bench, "merge-selects: 'z' reads 't' past 'y'");
    assert_steps(&bench, "  t = read_csv() path=t  -> 1 of 4 columns: b\n  z * = select(t) columns=[b]\n");
    bench_close(&bench);
}

static void
heads_go_below_maps_into_sorts(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(
        &bench,
        SORT("s", "t", "a") ", \"m\": {\"op\": \"assign\", \"input\": \"s\", \"columns\": {\"d\": \"a + b\"}}," SELECT(
            "x", "m", "\"d\", \"k\"") ", " HEAD("h", "x", "5") ", " HEAD("i", "h", "7"),
        "\"i\"");
    assert_fired(&bench, "head-below-map: 'h' cuts the rows before 'm' (assign)");
    assert_fired(&bench, "head-into-sort: 's' keeps only the first 5 rows, for 'h'");
    assert_steps(&bench, "  t = read_csv() path=t  -> 3 of 4 columns: k, a, b\n"
                         "  s = sort(t) by=[a] limit=5  -> 3 of 4 columns: k, a, b\n"
                         "  m = assign(s) columns=[d: a + b]  -> 4 of 5 columns: k, a, b, d\n"
                         "  i * (x) = select(m) columns=[d, k]\n");
    bench_close(&bench);
    bench_open(&bench,
               "\"f\": {\"op\": \"filter\", \"input\": \"t\", \"where\": \"a > 1\"}, " HEAD("h", "f", "5") ", " HEAD(
                   "i", "h", "7"),
               "\"h\", \"i\"");
    assert_fired(&bench, "merge-heads: 'i' and 'h' keep 5 rows");
    bench_close(&bench);
}

/* What others read, or a target names, stays what it is. */
static void
shared_steps_are_not_changed(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench, SORT("s", "t", "a") ", " HEAD("h", "s", "5"), "\"h\", \"s\"");
    assert_not_fired(&bench, "head-into-sort");
    bench_close(&bench);
    bench_open(&bench, SELECT("x", "t", "\"a\"") ", " HEAD("h", "x", "5") ", " SORT("s", "x", "a"), "\"h\", \"s\"");
    assert_not_fired(&bench, "head-below-map");
    bench_close(&bench);
    /* two heads over one sort */
    bench_open(&bench, SORT("s", "t", "a") ", " HEAD("h", "s", "5") ", " HEAD("i", "s", "6"), "\"h\", \"i\"");
    assert_not_fired(&bench, "head-into-sort");
    bench_close(&bench);
    /* a filter lets rows go: no head may pass it */
    bench_open(&bench, "\"f\": {\"op\": \"filter\", \"input\": \"t\", \"where\": \"a > 1\"}, " HEAD("h", "f", "5"),
               "\"h\"");
    assert_not_fired(&bench, "head-");
    bench_close(&bench);
    /* more rows than one chunk should hold */
    bench_open(&bench, SORT("s", "t", "a") ", " HEAD("h", "s", "5000000"), "\"h\"");
    assert_not_fired(&bench, "head-into-sort");
    bench_close(&bench);
}

static void
sources_read_what_targets_need(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench,
               "\"f\": {\"op\": \"filter\", \"input\": \"t\", \"where\": \"a > 1\"},"
               "\"g\": {\"op\": \"groupby\", \"input\": \"f\", \"keys\": \"k\","
               "  \"aggregate\": {\"n\": \"size\", \"x\": \"sum(b)\", \"y\": \"max(c)\"}}," SELECT("s", "g", "\"x\""),
               "\"s\"");
    assert_fired(&bench, "prune-columns: 't' reads 3 of 4 columns");
    assert_steps(&bench, "  t = read_csv() path=t  -> 3 of 4 columns: k, a, b\n"
                         "  g = groupby(t) keys=[k] aggregate=[x: sum(b)] where=a > 1  -> 2 of 4 columns: k, x\n"
                         "  s * = select(g) columns=[x]\n");
    bench_close(&bench);
}

static void
targets_need_all_their_columns(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench, SELECT("s", "t", "\"a\"") ", " SORT("o", "t", "b"), "\"s\", \"o\"");
    assert_not_fired(&bench, "reads");
    bench_close(&bench);
}

static void
assigns_lose_what_nobody_reads(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench,
               "\"m\": {\"op\": \"assign\", \"input\": \"t\", \"columns\": {\"d\": \"a + 1\", \"e\": \"b + c\","
               " \"a\": \"k\"}}," SELECT("s", "m", "\"d\", \"a\""),
               "\"s\"");
    assert_steps(&bench, "  t = read_csv() path=t  -> 2 of 4 columns: k, a\n"
                         "  m = assign(t) columns=[d: a + 1, a: k]  -> 3 of 6 columns: k, a, d\n"
                         "  s * = select(m) columns=[d, a]\n");
    bench_close(&bench);
    bench_open(
        &bench,
        "\"m\": {\"op\": \"assign\", \"input\": \"t\", \"columns\": {\"d\": \"a + 1\"}}," SELECT("s", "m", "\"b\""),
        "\"s\"");
    assert_steps(&bench, "  t = read_csv() path=t  -> 1 of 4 columns: b\n"
                         "  m = select(t) columns=[b]  -> 1 of 5 columns: b\n"
                         "  s * = select(m) columns=[b]\n");
    bench_close(&bench);
}

/* Though no expression reads it, a replaced column has a place to keep; one that is not needed has none. */
static void
a_replaced_column_keeps_its_place(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench, "\"m\": {\"op\": \"assign\", \"input\": \"t\", \"columns\": {\"d\": \"1\", \"k\": \"b\"}}",
               "\"m\"");
    assert_not_fired(&bench, "reads");
    bench_close(&bench);
    bench_open(&bench,
               "\"m\": {\"op\": \"assign\", \"input\": \"t\", \"columns\": {\"a\": \"1\", \"k\": \"2\"}}," SELECT(
                   "s", "m", "\"a\""),
               "\"s\"");
    assert_steps(&bench, "  t = read_csv() path=t  -> 1 of 4 columns: a\n"
                         "  m = assign(t) columns=[a: 1]  -> 1 of 4 columns: a\n"
                         "  s * = select(m) columns=[a]\n");
    bench_close(&bench);
}

/* What a suffix comes from need not be read: names are settled beforehand. */
static void
joins_read_keys_and_what_is_needed(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench,
               "\"j\": {\"op\": \"join\", \"inputs\": [\"t\", \"u\"], \"left_on\": \"k\", \"right_on\": \"a\"}," SELECT(
                   "s", "j", "\"b_x\""),
               "\"s\"");
    /* left: b, and k the key; right: the key a */
    assert_fired(&bench, "prune-columns: 't' reads 2 of 4 columns");
    assert_fired(&bench, "prune-columns: 'u' reads 1 of 4 columns");
    bench_close(&bench);
}

static void
copying_steps_take_only_what_they_need(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench, SORT("o", "t", "b") ", " SELECT("s", "o", "\"a\"") ", " HEAD("h", "t", "5"), "\"s\", \"h\"");
    assert_fired(&bench, "prune-columns: 'o' (sort) takes only what it needs of 't'");
    bench_close(&bench);
}

/* A null needs no column, yet the rows must be made. */
static void
one_column_is_always_left(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench,
               "\"f\": {\"op\": \"filter\", \"input\": \"t\", \"where\": \"b > 1\"},"
               "\"n\": {\"op\": \"null\", \"input\": \"f\"}",
               "\"n\"");
    assert_steps(&bench, "  t = read_csv() path=t  -> 2 of 4 columns: k, b\n"
                         "  f = filter(t) where=b > 1  -> 2 of 4 columns: k, b\n  n * = null(f)\n");
    bench_close(&bench);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_target_needs_dies),          cmocka_unit_test(selects_merge),
        cmocka_unit_test(heads_go_below_maps_into_sorts),     cmocka_unit_test(shared_steps_are_not_changed),
        cmocka_unit_test(sources_read_what_targets_need),     cmocka_unit_test(targets_need_all_their_columns),
        cmocka_unit_test(assigns_lose_what_nobody_reads),     cmocka_unit_test(a_replaced_column_keeps_its_place),
        cmocka_unit_test(joins_read_keys_and_what_is_needed), cmocka_unit_test(copying_steps_take_only_what_they_need),
        cmocka_unit_test(one_column_is_always_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
