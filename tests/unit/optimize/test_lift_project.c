/* lift-project: which projects go out of a join's way, and which stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "steps_bench.h"

#define FILTER(name, input, where)                                                                                     \
    "\"" name "\": {\"op\": \"filter\", \"input\": \"" input "\", \"where\": \"" where "\"}, "
#define PROJECT(name, input, columns)                                                                                  \
    "\"" name "\": {\"op\": \"project\", \"input\": \"" input "\", \"columns\": {" columns "}}, "
#define SELECT(name, input, columns)                                                                                   \
    "\"" name "\": {\"op\": \"select\", \"input\": \"" input "\", \"columns\": [" columns "]}, "
#define JOIN(left, right, more) "\"j\": {\"op\": \"join\", \"inputs\": [\"" left "\", \"" right "\"], " more "}, "
#define GROUP(input)                                                                                                   \
    "\"g\": {\"op\": \"groupby\", \"input\": \"" input "\", \"keys\": \"k\", \"aggregate\": {\"n\": \"size\"}}"

static void
becomes(const char *nodes, const char *targets, const char *steps)
{
    struct bench bench;

    bench_open(&bench, nodes, targets);
    assert_fired(&bench, "lift-project");
    assert_steps(&bench, steps);
    bench_close(&bench);
}

static void
stays(const char *nodes, const char *targets)
{
    struct bench bench;

    bench_open(&bench, nodes, targets);
    assert_not_fired(&bench, "lift-project");
    bench_close(&bench);
}

static void
what_changes_nothing_is_read_past(void **state)
{
    (void)state;
    becomes(PROJECT("p", "t", "\"k\": \"k\", \"a\": \"`a`\", \"b\": \"b\", \"c\": \"c\"")
                SELECT("s", "p", "\"k\", \"a\", \"b\", \"c\"") "\"h\": {\"op\": \"nlargest\", \"input\": \"s\", "
                                                               "\"columns\": \"a\", \"rows\": 3}",
            "\"h\", \"s\"",
            "  t = read_csv() path=t\n  s * = select(t) columns=[k, a, b, c]\n  h * = sort(t) by=[a] descending=[true] "
            "limit=3\n");
    /* in another order they are another frame */
    stays(SELECT("s", "t", "\"a\", \"k\", \"b\", \"c\"") "\"h\": {\"op\": \"head\", \"input\": \"s\", \"rows\": 3}",
          "\"h\", \"s\"");
}

static void
semi_joins_read_past_the_right_side(void **state)
{
    (void)state;
    becomes(FILTER("f", "u", "a > 1") PROJECT("p", "f", "\"m\": \"k\"")
                JOIN("t", "p", "\"left_on\": \"k\", \"right_on\": \"m\", \"how\": \"semi\"") GROUP("j"),
            "\"g\"",
            "  t = read_csv() path=t  -> 1 of 4 columns: k\n  u = read_csv() path=u  -> 2 of 4 columns: k, a\n"
            "  j = join(t, u where a > 1) left_on=[k] right_on=[k] how=semi  -> 1 of 4 columns: k\n"
            "  g * = groupby(j) keys=[k] aggregate=[n: size]\n");
    /* the condition on pairs means the same columns, whose names both sides have now */
    becomes(FILTER("f", "u", "a > 1") PROJECT("p", "f", "\"m\": \"k\", \"n\": \"b\"")
                JOIN("t", "p", "\"left_on\": \"k\", \"right_on\": \"m\", \"how\": \"anti\", \"where\": \"b != n\"")
                    GROUP("j"),
            "\"g\"",
            "  t = read_csv() path=t  -> 2 of 4 columns: k, b\n  u = read_csv() path=u  -> 3 of 4 columns: k, a, b\n"
            "  j = join(t, u where a > 1) left_on=[k] right_on=[k] how=anti where=b_x != b_y  -> 1 of 4 columns: k\n"
            "  g * = groupby(j) keys=[k] aggregate=[n: size]\n");
}

static void
projects_change_places_with_joins(void **state)
{
    (void)state;
    becomes(FILTER("f", "u", "a > 1") PROJECT("p", "f", "\"k\": \"b\", \"d\": \"a\"")
                JOIN("p", "t", "\"left_on\": \"k\", \"right_on\": \"c\", \"how\": \"semi\"") GROUP("j"),
            "\"g\"",
            "  t = read_csv() path=t  -> 1 of 4 columns: c\n  u = read_csv() path=u  -> 2 of 4 columns: a, b\n"
            "  j = join(u where a > 1, t) left_on=[b] right_on=[c] how=semi  -> 1 of 4 columns: b\n"
            "  p = project(j) columns=[k: b]  -> 1 of 2 columns: k\n"
            "  g * = groupby(p) keys=[k] aggregate=[n: size]\n");
    /* of both sides; the columns of the target stay what they are */
    becomes(FILTER("f", "t", "a > 1") SELECT("s", "f", "\"k\", \"b\"") FILTER("e", "u", "c > 2")
                PROJECT("p", "e", "\"l\": \"k\", \"d\": \"b\"")
                    JOIN("s", "p", "\"left_on\": \"k\", \"right_on\": \"d\", \"how\": \"left\"") "\"h\": {\"op\": "
                                                                                                 "\"head\", \"input\": "
                                                                                                 "\"j\", \"rows\": 3}",
            "\"h\", \"j\"",
            "  t = read_csv() path=t  -> 3 of 4 columns: k, a, b\n  u = read_csv() path=u  -> 3 of 4 columns: k, b, c\n"
            "  j = join(t where a > 1, u where c > 2) left_on=[k] right_on=[b] how=left  -> 4 of 8 columns: k_x, b_x, "
            "k_y, b_y\n"
            "  j * (p) = project(j) columns=[k: k_x, b: b_x, l: k_y, d: b_y]\n  h * = head(p) rows=3\n");
}

/* Both keys under one name would be one column: only one of the projects goes. */
static void
one_of_two_projects_may_stay(void **state)
{
    (void)state;
    becomes(FILTER("f", "t", "a > 1") PROJECT("s", "f", "\"l\": \"k\"") FILTER("e", "u", "c > 2")
                PROJECT("p", "e", "\"m\": \"k\", \"d\": \"b\"")
                    JOIN("s", "p", "\"left_on\": \"l\", \"right_on\": \"m\", \"how\": \"left\"")
                        PROJECT("q", "j", "\"k\": \"d\"") GROUP("q"),
            "\"g\"",
            "  t = read_csv() path=t  -> 2 of 4 columns: k, a\n  u = read_csv() path=u  -> 3 of 4 columns: k, b, c\n"
            "  s = project(t where a > 1) columns=[l: k]\n"
            "  j = join(s, u where c > 2) left_on=[l] right_on=[k] how=left  -> 1 of 5 columns: b\n"
            "  p = project(j) columns=[d: b]  -> 1 of 3 columns: d\n"
            "  g * = groupby(p) keys=[k] aggregate=[n: size] columns=[k: d]\n");
}

static void
what_would_be_another_join_stays(void **state)
{
    (void)state;
    /* keys of one name come once */
    stays(FILTER("f", "u", "a > 1") PROJECT("p", "f", "\"m\": \"k\"")
              JOIN("t", "p", "\"left_on\": \"k\", \"right_on\": \"m\", \"how\": \"outer\"") GROUP("j"),
          "\"g\"");
    /* 'on' names the key of both sides */
    stays(FILTER("f", "u", "a > 1") PROJECT("p", "f", "\"k\": \"b\"") JOIN("t", "p", "\"on\": \"k\", \"how\": \"semi\"")
              GROUP("j"),
          "\"g\"");
    /* it computes */
    stays(FILTER("f", "u", "a > 1") PROJECT("p", "f", "\"m\": \"k + 1\"")
              JOIN("t", "p", "\"left_on\": \"k\", \"right_on\": \"m\", \"how\": \"semi\"") GROUP("j"),
          "\"g\"");
    /* others read it, or what it reads */
    stays(FILTER("f", "u", "a > 1") PROJECT("p", "f", "\"m\": \"k\"")
              JOIN("t", "p", "\"left_on\": \"k\", \"right_on\": \"m\", \"how\": \"semi\"") GROUP("j"),
          "\"g\", \"p\"");
    stays(FILTER("f", "u", "a > 1") PROJECT("p", "f", "\"m\": \"k\"")
              JOIN("t", "p", "\"left_on\": \"k\", \"right_on\": \"m\", \"how\": \"semi\"") GROUP("j"),
          "\"g\", \"f\"");
    /* nothing is taken over: no filter stands below */
    stays(PROJECT("p", "u", "\"m\": \"a\"")
              JOIN("t", "p", "\"left_on\": \"k\", \"right_on\": \"m\", \"how\": \"inner\"") GROUP("j"),
          "\"g\"");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_changes_nothing_is_read_past), cmocka_unit_test(semi_joins_read_past_the_right_side),
        cmocka_unit_test(projects_change_places_with_joins), cmocka_unit_test(one_of_two_projects_may_stay),
        cmocka_unit_test(what_would_be_another_join_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
