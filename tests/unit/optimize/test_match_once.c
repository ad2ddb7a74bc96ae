/* match-once: which tables are read once, and which lookups stay what they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "steps_bench.h"

#define FILTER(name, input, where)                                                                                     \
    "\"" name "\": {\"op\": \"filter\", \"input\": \"" input "\", \"where\": \"" where "\"}, "
#define JOIN(name, left, right, left_on, right_on, how)                                                                \
    "\"" name "\": {\"op\": \"join\", \"inputs\": [\"" left "\", \"" right "\"], \"left_on\": " left_on                \
    ", \"right_on\": " right_on ", \"how\": \"" how "\"}, "
#define GROUP(input)                                                                                                   \
    "\"g\": {\"op\": \"groupby\", \"input\": \"" input "\", \"keys\": \"k\", \"aggregate\": {\"n\": \"sum(c)\"}}, "
/* The groups of s, beside the rows of x. */
#define END(x, key) GROUP("s") JOIN("j", x, "g", key, "\"k\"", "left")
#define DONE        "\"h\": {\"op\": \"head\", \"input\": \"j\", \"rows\": 3}"

static void
becomes(const char *nodes, const char *steps)
{
    struct bench bench;

    bench_open(&bench, nodes, "\"h\"");
    assert_fired(&bench, "match-once");
    assert_steps(&bench, steps);
    bench_close(&bench);
}

static void
stays(const char *nodes, const char *targets)
{
    struct bench bench;

    bench_open(&bench, nodes, targets);
    assert_not_fired(&bench, "match-once");
    bench_close(&bench);
}

static void
lookups_are_what_matches(void **state)
{
    struct bench bench;

    (void)state;
    /* by the part's key, and by the table's own */
    becomes(FILTER("f", "u", "a > 1") JOIN("x", "t", "f", "\"k\"", "\"b\"", "inner")
                JOIN("s", "t", "x", "\"k\"", "\"b_y\"", "semi") END("x", "\"k_x\"") DONE,
            "  t = read_csv() path=t\n  u = read_csv() path=u\n"
            "  s = join(t, u where a > 1) how=semi left_on=[k] right_on=[b]\n"
            "  x = join(s, u where a > 1) left_on=[k] right_on=[b] how=inner\n"
            "  g = groupby(s) keys=[k] aggregate=[n: sum(c)]\n  j = join(x, g) left_on=[k_x] right_on=[k] how=left\n"
            "  h * = head(j) rows=3\n");
    becomes(FILTER("f", "u", "a > 1") JOIN("x", "f", "t", "\"b\"", "\"k\"", "inner")
                JOIN("s", "t", "x", "\"k\"", "\"k_y\"", "semi") END("x", "\"k_y\"") DONE,
            "  t = read_csv() path=t\n  u = read_csv() path=u\n"
            "  s = join(t, u where a > 1) how=semi left_on=[k] right_on=[b]\n"
            "  x = join(u where a > 1, s) left_on=[b] right_on=[k] how=inner\n"
            "  g = groupby(s) keys=[k] aggregate=[n: sum(c)]\n  j = join(x, g) left_on=[k_y] right_on=[k] how=left\n"
            "  h * = head(j) rows=3\n");
    bench_open(&bench,
               FILTER("f", "u", "a > 1") JOIN("x", "t", "f", "\"k\"", "\"b\"", "inner")
                   JOIN("s", "t", "x", "\"k\"", "\"b_y\"", "semi") END("x", "\"k_x\"") DONE,
               "\"h\"");
    assert_fired(&bench, "match-once: 'x' and 's' read of 't' only what has a match in 'u'");
    bench_close(&bench);
}

/* Where two filters have left places, the part is filtered once. */
static void
parts_are_filtered_once(void **state)
{
    (void)state;
    becomes(FILTER("e", "u", "a > 1") FILTER("f", "e", "c > 2") JOIN("x", "t", "f", "\"k\"", "\"b\"", "inner")
                JOIN("s", "t", "x", "\"k\"", "\"b_y\"", "semi") END("x", "\"k_x\"") DONE,
            "  t = read_csv() path=t\n  u = read_csv() path=u\n  e = filter(u) where=a > 1 and c > 2\n"
            "  s = join(t, e) how=semi left_on=[k] right_on=[b]\n"
            "  x = join(s, e) left_on=[k] right_on=[b] how=inner\n"
            "  g = groupby(s) keys=[k] aggregate=[n: sum(c)]\n  j = join(x, g) left_on=[k_x] right_on=[k] how=left\n"
            "  h * = head(j) rows=3\n");
}

/* Rows may be lost, and columns renamed, between the two: the lookup stays, and reads less. */
static void
lookups_in_what_is_made_of_a_join_read_matches(void **state)
{
    (void)state;
    becomes(
        FILTER("f", "u", "a > 1")
            JOIN("x", "t", "f", "\"k\"", "\"b\"",
                 "inner") "\"y\": {\"op\": \"sort\", \"input\": \"x\", \"by\": \"c_x\"}, "
                          "\"z\": {\"op\": \"head\", \"input\": \"y\", \"rows\": 9}, "
                          "\"p\": {\"op\": \"project\", \"input\": \"z\", \"columns\": {\"m\": \"b_y\", \"n\": "
                          "\"c_y + 1\"}}, " JOIN("s", "t", "p", "\"k\"", "\"m\"", "semi") END("p", "\"m\"") DONE,
        "  t = read_csv() path=t  -> 2 of 4 columns: k, c\n  u = read_csv() path=u  -> 3 of 4 columns: a, b, c\n"
        "  s (matches) = join(t, u where a > 1) how=semi left_on=[k] right_on=[b]  -> 2 of 4 columns: k, c\n"
        "  x = join(s (matches), u where a > 1) left_on=[k] right_on=[b] how=inner  -> 3 of 8 columns: c_x, b_y, c_y\n"
        "  y = sort(x) by=[c_x] limit=9  -> 3 of 8 columns: c_x, b_y, c_y\n"
        "  p = project(y) columns=[m: b_y, n: c_y + 1]\n"
        "  s = join(s (matches), p) left_on=[k] right_on=[m] how=semi  -> 2 of 4 columns: k, c\n"
        "  g = groupby(s) keys=[k] aggregate=[n: sum(c)]\n  j = join(p, g) left_on=[m] right_on=[k] how=left\n"
        "  h * = head(j) rows=3\n");
}

static void
what_may_be_another_lookup_stays(void **state)
{
    (void)state;
    /* by another key */
    stays(FILTER("f", "u", "a > 1") JOIN("x", "t", "f", "\"k\"", "\"b\"", "inner")
              JOIN("s", "t", "x", "\"k\"", "\"c_y\"", "semi") END("x", "\"k_x\"") DONE,
          "\"h\"");
    stays(FILTER("f", "u", "a > 1") JOIN("x", "t", "f", "\"k\"", "\"b\"", "inner")
              JOIN("s", "t", "x", "\"a\"", "\"b_y\"", "semi") END("x", "\"k_x\"") DONE,
          "\"h\"");
    /* by one of two */
    stays(FILTER("f", "u", "a > 1") JOIN("x", "t", "f", "[\"k\", \"a\"]", "[\"b\", \"c\"]", "inner")
              JOIN("s", "t", "x", "\"k\"", "\"b_y\"", "semi") END("x", "\"k_x\"") DONE,
          "\"h\"");
    /* by keys of two rows of the join */
    stays(FILTER("f", "u", "a > 1") JOIN("x", "t", "f", "[\"k\", \"a\"]", "[\"b\", \"c\"]", "inner")
              JOIN("y", "x", "x", "\"b_x\"", "\"b_x\"", "inner")
                  JOIN("s", "t", "y", "[\"k\", \"a\"]", "[\"k_x_x\", \"a_x_y\"]", "semi") END("x", "\"k_x\"") DONE,
          "\"h\"");
    /* rows without a match, and rows of another column */
    stays(FILTER("f", "u", "a > 1") JOIN("x", "t", "f", "\"k\"", "\"b\"", "left")
              JOIN("s", "t", "x", "\"k\"", "\"k_x\"", "semi") END("x", "\"k_x\"") DONE,
          "\"h\"");
    stays(FILTER("f", "u", "a > 1") JOIN("x", "t", "f", "\"k\"", "\"b\"", "inner")
              JOIN("s", "t", "x", "\"k\"", "\"k_x\"", "anti") END("x", "\"k_x\"") DONE,
          "\"h\"");
}

static void
what_would_cost_more_stays(void **state)
{
    (void)state;
    /* all of u: no row of t can be expected to go */
    stays(JOIN("x", "t", "u", "\"k\"", "\"b\"", "inner") JOIN("s", "t", "x", "\"k\"", "\"b_y\"", "semi")
              END("x", "\"k_x\"") DONE,
          "\"h\"");
    /* few rows of t are joined, or looked up */
    stays(FILTER("f", "u", "a > 1") FILTER("e", "t", "c > 1") JOIN("x", "e", "f", "\"k\"", "\"b\"", "inner")
              JOIN("s", "t", "x", "\"k\"", "\"b_y\"", "semi") END("x", "\"k_x\"") DONE,
          "\"h\"");
    stays(FILTER("f", "u", "a > 1") FILTER("e", "t", "c > 1") JOIN("x", "t", "f", "\"k\"", "\"b\"", "inner")
              JOIN("s", "e", "x", "\"k\"", "\"b_y\"", "semi") END("x", "\"k_x\"") DONE,
          "\"h\"");
    /* others read all of t */
    stays(FILTER("f", "u", "a > 1") JOIN("x", "t", "f", "\"k\"", "\"b\"", "inner")
              JOIN("s", "t", "x", "\"k\"", "\"b_y\"", "semi") END("x", "\"k_x\"") DONE,
          "\"h\", \"t\"");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookups_are_what_matches),
        cmocka_unit_test(parts_are_filtered_once),
        cmocka_unit_test(lookups_in_what_is_made_of_a_join_read_matches),
        cmocka_unit_test(what_may_be_another_lookup_stays),
        cmocka_unit_test(what_would_cost_more_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
