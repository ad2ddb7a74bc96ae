/* push-filter: how far conditions move, and what keeps them where they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "steps_bench.h"

#define FILTER(name, input, where)                                                                                     \
    "\"" name "\": {\"op\": \"filter\", \"input\": \"" input "\", \"where\": \"" where "\"}"
#define ASSIGN(name, input, columns)                                                                                   \
    "\"" name "\": {\"op\": \"assign\", \"input\": \"" input "\", \"columns\": {" columns "}}"
#define SORT(name, input) "\"" name "\": {\"op\": \"sort\", \"input\": \"" input "\", \"by\": \"a\"}"
#define JOIN(name, how)                                                                                                \
    "\"" name "\": {\"op\": \"join\", \"inputs\": [\"t\", \"u\"], \"on\": \"k\", \"how\": \"" how "\"}"
#define HEAD(name, input) "\"" name "\": {\"op\": \"head\", \"input\": \"" input "\", \"rows\": 3}"

static void
becomes(const char *nodes, const char *target, const char *steps)
{
    struct bench bench;

    bench_open(&bench, nodes, target);
    assert_steps(&bench, steps);
    bench_close(&bench);
}

static void
filters_become_their_readers_conditions(void **state)
{
    (void)state;
    becomes(FILTER("f", "t", "a > 1") ", " FILTER("g", "f", "b > 2") ", " SORT("s", "g"), "\"s\"",
            "  t = read_csv() path=t\n  s * = sort(t where a > 1 and b > 2) by=[a]\n");
    becomes(FILTER("f", "t", "a > 1") ", " SORT("s", "f") ", " FILTER("g", "s", "b > 2") ", " SORT("r", "g"), "\"r\"",
            "  t = read_csv() path=t\n  s = sort(t where a > 1 and b > 2) by=[a]\n  r * = select(s) columns=[k, a, "
            "b, c]\n");
}

static void
what_others_read_stays(void **state)
{
    (void)state;
    becomes(FILTER("f", "t", "a > 1") ", " SORT("s", "f"), "\"s\", \"f\"",
            "  t = read_csv() path=t\n  f * = filter(t) where=a > 1\n  s * = sort(f) by=[a]\n");
    becomes(SORT("s", "t") ", " FILTER("f", "s", "a > 1") ", " HEAD("h", "f"), "\"h\", \"s\"",
            "  t = read_csv() path=t\n  s * = sort(t) by=[a]\n  h * = head(s where a > 1) rows=3\n");
    /* the first rows are others when some are left out before */
    becomes(HEAD("h", "t") ", " FILTER("f", "h", "a > 1") ", " SORT("s", "f"), "\"s\"",
            "  t = read_csv() path=t\n  h = head(t) rows=3\n  s * = sort(h where a > 1) by=[a]\n");
}

static void
names_change_below_an_assign(void **state)
{
    (void)state;
    becomes(ASSIGN("x", "t", "\"n\": \"a\", \"m\": \"a + b\"") ", " FILTER(
                "f", "x", "n > 1 and m > 2 and c > 3") ", " SORT("s", "f"),
            "\"s\"",
            "  t = read_csv() path=t\n  x = assign(t where a > 1 and c > 3) columns=[n: a, m: a + b]\n"
            "  s * = sort(x where m > 2) by=[a]\n");
}

static void
groups_lose_rows_by_their_keys(void **state)
{
    (void)state;
    becomes(
        "\"g\": {\"op\": \"groupby\", \"input\": \"t\", \"keys\": \"k\", \"aggregate\": {\"a\": \"sum(b)\"}}, " FILTER(
            "f", "g", "k > 1 and a > 2") ", " SORT("s", "f"),
        "\"s\"",
        "  t = read_csv() path=t  -> 2 of 4 columns: k, b\n  g = groupby(t) keys=[k] aggregate=[a: "
        "sum(b)] where=k > 1\n"
        "  s * = sort(g where a > 2) by=[a]\n");
}

static void
joins_take_conditions_on_one_side(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(
        &bench,
        JOIN("j", "inner") ", " FILTER("f", "j", "a_x > 1 and b_y > 2 and a_x > b_y and k > 3") ", " HEAD("h", "f"),
        "\"h\"");
    assert_steps(&bench, "  t = read_csv() path=t\n  u = read_csv() path=u\n"
                         "  j = join(t where a > 1 and k > 3, u where b > 2 and k > 3) on=[k] how=inner\n"
                         "  h * = head(j where a_x > b_y) rows=3\n");
    bench_close(&bench);
    /* rows of the right side may be missing: what is said of them must be said afterwards */
    bench_open(&bench, JOIN("j", "left") ", " FILTER("f", "j", "a_x > 1 and b_y is null") ", " HEAD("h", "f"), "\"h\"");
    assert_steps(&bench, "  t = read_csv() path=t\n  u = read_csv() path=u\n"
                         "  j = join(t where a > 1, u) on=[k] how=left\n"
                         "  h * = head(j where b_y is null) rows=3\n");
    bench_close(&bench);
    bench_open(&bench, JOIN("j", "outer") ", " FILTER("f", "j", "a_x > 1") ", " HEAD("h", "f"), "\"h\"");
    assert_not_fired(&bench, "moves below");
    bench_close(&bench);
}

static void
cross_joins_ask_their_pairs(void **state)
{
#define CROSS(more) "\"j\": {\"op\": \"join\", \"inputs\": [\"t\", \"u\"], \"how\": \"cross\"" more "}, "

    (void)state;
    becomes(CROSS("") FILTER("f", "j", "a_x < b_y and a_x > 1 and c_x < c_y") ", " HEAD("h", "f"), "\"h\"",
            "  t = read_csv() path=t\n  u = read_csv() path=u\n"
            "  j = join(t where a > 1, u) how=cross where=a_x < b_y and c_x < c_y\n  h * = head(j) rows=3\n");
    becomes(CROSS(", \"where\": \"k_x < k_y\"")
                FILTER("f", "j", "cast(a_x + b_y as int8) > 1 and c_x < c_y") ", " HEAD("h", "f"),
            "\"h\"",
            "  t = read_csv() path=t\n  u = read_csv() path=u\n"
            "  j = join(t, u) how=cross where=k_x < k_y and cast(a_x + b_y as int8) > 1 and c_x < c_y\n"
            "  h * = head(j) rows=3\n");
#undef CROSS
}

static void
what_may_fail_stays_behind_what_may_leave_it_out(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench, JOIN("j", "inner") ", " FILTER("f", "j", "cast(a_x as int8) > 1") ", " HEAD("h", "f"), "\"h\"");
    assert_not_fired(&bench, "moves below");
    bench_close(&bench);
    /* every row of a sort has been one of its input's */
    bench_open(&bench, SORT("s", "t") ", " FILTER("f", "s", "cast(a as int8) > 1") ", " HEAD("h", "f"), "\"h\"");
    assert_fired(&bench, "moves below");
    bench_close(&bench);
}

static void
groupbys_compute_what_assigns_made(void **state)
{
    static const char groupby[] =
        "\"g\": {\"op\": \"groupby\", \"input\": \"f\", \"keys\": \"k\", \"aggregate\": {\"s\": \"sum(n)\"}}";
    char nodes[1024];
    struct bench bench;

    (void)state;
    (void)snprintf(nodes, sizeof nodes, "%s, %s, %s", FILTER("e", "t", "c > 1"),
                   ASSIGN("x", "e", "\"n\": \"a + b\"") ", " FILTER("f", "x", "n > 2 and b > 3"), groupby);
    becomes(nodes, "\"g\"",
            "  t = read_csv() path=t\n  g * = groupby(t) keys=[k] aggregate=[s: sum(n)] columns=[n: a + b] "
            "where=c > 1 and b > 3 and n > 2\n");
    /* b is another one above */
    (void)snprintf(nodes, sizeof nodes, "%s, %s", ASSIGN("f", "t", "\"b\": \"a\", \"n\": \"b + 1\""), groupby);
    bench_open(&bench, nodes, "\"g\"");
    assert_not_fired(&bench, "fold-into-groupby");
    bench_close(&bench);
    /* others read it */
    (void)snprintf(nodes, sizeof nodes, "%s, %s", ASSIGN("f", "t", "\"n\": \"b + 1\""), groupby);
    bench_open(&bench, nodes, "\"g\", \"f\"");
    assert_not_fired(&bench, "fold-into-groupby");
    bench_close(&bench);
}

/* A filter that no reader takes over, as of a target, or of several readers. */
static void
filters_that_stay_ask_for_those_below(void **state)
{
    (void)state;
    becomes(FILTER("f", "t", "a > 1") ", " FILTER("g", "f", "cast(b as int8) > 2"), "\"g\"",
            "  t = read_csv() path=t\n  g * = filter(t) where=a > 1 and cast(b as int8) > 2\n");
    becomes(FILTER("f", "t", "a > 1") ", " FILTER("g", "f", "b > 2") ", " SORT("s", "g") ", " HEAD("h", "g"),
            "\"s\", \"h\"",
            "  t = read_csv() path=t\n  g = filter(t) where=a > 1 and b > 2\n  s * = sort(g) by=[a]\n"
            "  h * = head(g) rows=3\n");
    /* a part of it moves on, or all of it */
    becomes(JOIN("j", "inner") ", " FILTER("f", "j", "a_x > 1 and a_x < b_y") ", " SORT("s", "t"), "\"f\"",
            "  t = read_csv() path=t\n  u = read_csv() path=u\n  j = join(t where a > 1, u) on=[k] how=inner\n"
            "  f * = filter(j) where=a_x < b_y\n");
    becomes(SORT("s", "t") ", " FILTER("f", "s", "a > 1") ", " HEAD("h", "f"), "\"f\", \"h\"",
            "  t = read_csv() path=t\n  s = sort(t where a > 1) by=[a]\n  f * = select(s) columns=[k, a, b, c]\n"
            "  h * = head(s) rows=3\n");
    /* what others read below keeps its rows */
    becomes(SORT("s", "t") ", " FILTER("f", "s", "a > 1"), "\"f\", \"s\"",
            "  t = read_csv() path=t\n  s * = sort(t) by=[a]\n  f * = filter(s) where=a > 1\n");
}

static void
long_conditions_move_as_short_ones(void **state)
{
    char where[10000] = "n = 0";
    char nodes[12000];
    struct bench bench;
    size_t used = strlen(where);

    (void)state;
    for (int i = 1; i < 1000; i++) { /* 3999 of the 4096 nodes that an expression may have */
        used += (size_t)snprintf(where + used, sizeof where - used, " or n=%d", i);
    }
    (void)snprintf(
        nodes, sizeof nodes,
        "%s, " FILTER("f", "x", "%s") ", " FILTER("g", "f", "n > 1 and n < 100 and n != 50") ", " SORT("s", "g"),
        ASSIGN("x", "t", "\"n\": \"a\""), where);
    bench_open(&bench, nodes, "\"s\"");
    assert_fired(&bench, "all of the condition on 'x' moves below it");
    bench_close(&bench);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_become_their_readers_conditions),
        cmocka_unit_test(what_others_read_stays),
        cmocka_unit_test(names_change_below_an_assign),
        cmocka_unit_test(groups_lose_rows_by_their_keys),
        cmocka_unit_test(joins_take_conditions_on_one_side),
        cmocka_unit_test(cross_joins_ask_their_pairs),
        cmocka_unit_test(groupbys_compute_what_assigns_made),
        cmocka_unit_test(what_may_fail_stays_behind_what_may_leave_it_out),
        cmocka_unit_test(filters_that_stay_ask_for_those_below),
        cmocka_unit_test(long_conditions_move_as_short_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
