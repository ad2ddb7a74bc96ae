/* What rules leave, written as a graph again: which nodes there are, and what they are called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "optimize/graph.h"
#include "steps_bench.h"
#include "support/allocations.h"

/* The nodes of what is made of a graph, a line each. */
static void
assert_written(const char *nodes, const char *targets, const char *text)
{
    struct bench bench;
    struct gr_graph *written = NULL;
    struct gr_steps *steps = NULL;
    struct gr_buf out = {0};

    bench_open(&bench, nodes, targets);
    if (gr_graph_optimize(bench.graph, &written) != GRANARY_OK ||
        gr_steps_create(written, NULL, &steps) != GRANARY_OK) {
        fail_msg("%s", granary_error_message());
    }
    gr_steps_print(steps, 100, &out);
    assert_string_equal(out.bytes, text);
    gr_buf_free(&out);
    gr_steps_destroy(steps);
    gr_graph_destroy(written);
    bench_close(&bench);
}

static void
conditions_columns_and_limits_are_nodes(void **state)
{
    (void)state;
    assert_written("\"f\": {\"op\": \"filter\", \"input\": \"t\", \"where\": \"b > 3\"},"
                   "\"s\": {\"op\": \"sort\", \"input\": \"f\", \"by\": \"a\"},"
                   "\"p\": {\"op\": \"select\", \"input\": \"s\", \"columns\": \"a\"},"
                   "\"h\": {\"op\": \"head\", \"input\": \"p\", \"rows\": 2}",
                   "\"h\"",
                   "  t = read_csv() path=t\n"
                   "  t (columns) = select(t) columns=[a, b]\n"
                   "  s (rows) = filter(t (columns)) where=b > 3\n"
                   "  s (reads) = select(s (rows)) columns=[a]\n"
                   "  s = sort(s (reads)) by=[a]\n"
                   "  s (first) = head(s) rows=2\n"
                   "  h * = select(s (first)) columns=[a]\n");
}

/* The target's name is the last node's; what stands below it, the user has called otherwise. */
static void
a_target_keeps_its_name(void **state)
{
    (void)state;
    assert_written("\"s\": {\"op\": \"sort\", \"input\": \"t\", \"by\": \"a\"},"
                   "\"h\": {\"op\": \"head\", \"input\": \"s\", \"rows\": 2}",
                   "\"h\"",
                   "  t = read_csv() path=t\n"
                   "  h (sort) = sort(t) by=[a]\n"
                   "  h * = head(h (sort)) rows=2\n");
    assert_written("\"n\": {\"op\": \"nlargest\", \"input\": \"t\", \"columns\": \"a\", \"rows\": 2}", "\"n\"",
                   "  t = read_csv() path=t\n"
                   "  n (sort) = sort(t) by=[a] descending=[true]\n"
                   "  n * = head(n (sort)) rows=2\n");
}

static void
names_that_are_taken_get_numbers(void **state)
{
    (void)state;
    assert_written(
        "\"t (columns)\": {\"op\": \"select\", \"input\": \"t\", \"columns\": [\"k\", \"a\"]},"
        "\"g\": {\"op\": \"groupby\", \"input\": \"t\", \"keys\": \"k\", \"aggregate\": {\"n\": \"sum(a)\"}}",
        "\"g\", \"t (columns)\"",
        "  t = read_csv() path=t\n"
        "  t (columns 2) = select(t) columns=[k, a]\n"
        "  t (columns) * = select(t (columns 2)) columns=[k, a]\n"
        "  g * = groupby(t (columns 2)) keys=[k] aggregate=[n: sum(a)]\n");
}

/* Both sides have k, a, b and c. What only one side has left has no suffix: above the join it gets its own again. */
static void
columns_of_a_join_keep_their_names(void **state)
{
    (void)state;
    assert_written(
        "\"j\": {\"op\": \"join\", \"inputs\": [\"t\", \"u\"], \"on\": \"k\"},"
        "\"p\": {\"op\": \"groupby\", \"input\": \"j\", \"keys\": \"a_x\", \"aggregate\": {\"n\": \"sum(b_y)\"}}",
        "\"p\"",
        "  t = read_csv() path=t\n"
        "  t (columns) = select(t) columns=[k, a]\n"
        "  u = read_csv() path=u\n"
        "  u (columns) = select(u) columns=[k, b]\n"
        "  j = join(t (columns), u (columns)) on=[k]\n"
        "  j (columns) = project(j) columns=[a_x: a, b_y: b]\n"
        "  p * = groupby(j (columns)) keys=[a_x] aggregate=[n: sum(b_y)]\n");
    assert_written("\"j\": {\"op\": \"join\", \"inputs\": [\"t\", \"u\"], \"on\": \"k\", \"where\": \"a_x < b_y\"},"
                   "\"p\": {\"op\": \"select\", \"input\": \"j\", \"columns\": [\"a_x\"]}",
                   "\"p\"",
                   "  t = read_csv() path=t\n"
                   "  t (columns) = select(t) columns=[k, a]\n"
                   "  u = read_csv() path=u\n"
                   "  u (columns) = select(u) columns=[k, b]\n"
                   "  j = join(t (columns), u (columns)) on=[k] where=a < b\n"
                   "  j (columns) = project(j) columns=[a_x: a]\n"
                   "  p * = select(j (columns)) columns=[a_x]\n");
    /* c_y of the left side would lose its suffix, and the right side's c is c_y. */
    assert_written(
        "\"l\": {\"op\": \"project\", \"input\": \"t\", \"columns\": {\"k\": \"k\", \"c\": \"a\", \"c_y\": \"b\"}},"
        "\"r\": {\"op\": \"project\", \"input\": \"u\", \"columns\": {\"k\": \"k\", \"c\": \"a\", \"c_y\": \"b\"}},"
        "\"j\": {\"op\": \"join\", \"inputs\": [\"l\", \"r\"], \"on\": \"k\"},"
        "\"p\": {\"op\": \"groupby\", \"input\": \"j\", \"keys\": [\"c_x\", \"c_y_x\"], \"aggregate\": {\"n\": "
        "\"sum(c_y)\"}}",
        "\"p\"",
        "  t = read_csv() path=t\n"
        "  t (columns) = select(t) columns=[k, a, b]\n"
        "  u = read_csv() path=u\n"
        "  u (columns) = select(u) columns=[k, a]\n"
        "  l = project(t (columns)) columns=[k: k, c: a, c_y: b]\n"
        "  r = project(u (columns)) columns=[k: k, c: a]\n"
        "  j = join(l, r) on=[k] suffixes=[#1l, #1r]\n"
        "  j (columns) = project(j) columns=[c_x: `c#1l`, c_y_x: c_y, c_y: `c#1r`]\n"
        "  p * = groupby(j (columns)) keys=[c_x, c_y_x] aggregate=[n: sum(c_y)]\n");
}

static void
a_recursion_is_written_as_it_was(void **state)
{
    (void)state;
    assert_written("\"r\": {\"op\": \"round_rows\", \"input\": \"t\", \"recursion\": \"one\"},"
                   "\"f\": {\"op\": \"filter\", \"input\": \"r\", \"where\": \"a < 9\"},"
                   "\"n\": {\"op\": \"assign\", \"input\": \"f\", \"columns\": {\"a\": \"a + 1\"}},"
                   "\"all\": {\"op\": \"recurse\", \"inputs\": [\"r\", \"n\"]},"
                   "\"h\": {\"op\": \"head\", \"input\": \"all\", \"rows\": 5}",
                   "\"h\"",
                   "  t = read_csv() path=t\n"
                   "  r = round_rows(t) recursion=one\n"
                   "  n (rows) = filter(r) where=a < 9\n"
                   "  n = assign(n (rows)) columns=[a: a + 1]\n"
                   "  all = recurse(r, n)\n"
                   "  h * = head(all) rows=5\n");
}

static void
sources_must_be_known(void **state)
{
    struct bench bench;
    struct gr_graph *written = NULL;

    (void)state;
    bench_open(&bench, "\"f\": {\"op\": \"filter\", \"input\": \"t\", \"where\": \"b > 3\"}", "\"f\"");
    bench.graph->nodes[0]->type.known = bench.graph->nodes[1]->type.known = false;
    assert_int_equal(gr_graph_optimize(bench.graph, &written), GRANARY_ESTATE);
    assert_non_null(strstr(granary_error_message(), "node 't': what it yields is not known"));
    assert_null(written);
    bench_close(&bench);
}

/* Every allocation fails once: nothing is kept then. (Leaks are seen by the address sanitizer.) */
static void
without_memory_there_is_no_graph(void **state)
{
    struct bench bench;
    long least = 0;
    bool failed = true;

    (void)state;
    bench_open(&bench,
               "\"f\": {\"op\": \"filter\", \"input\": \"t\", \"where\": \"b > 3\"},"
               "\"j\": {\"op\": \"join\", \"inputs\": [\"f\", \"u\"], \"on\": \"k\", \"where\": \"a_x < b_y\"},"
               "\"c\": {\"op\": \"concat\", \"inputs\": [\"t\", \"u\"]},"
               "\"s\": {\"op\": \"sort\", \"input\": \"c\", \"by\": \"a\"},"
               "\"h\": {\"op\": \"head\", \"input\": \"s\", \"rows\": 2},"
               "\"p\": {\"op\": \"select\", \"input\": \"j\", \"columns\": [\"a_x\"]}",
               "\"p\", \"h\"");
    while (failed) {
        struct gr_graph *written = NULL;
        granary_err err;

        allocations_left = least++;
        err = gr_graph_optimize(bench.graph, &written);
        failed = allocations_left < 0;
        allocations_left = -1;
        assert_true(err == GRANARY_OK ? written != NULL : failed && err == GRANARY_ENOMEM && written == NULL);
        gr_graph_destroy(written);
    }
    assert_true(least > 100);
    bench_close(&bench);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_columns_and_limits_are_nodes), cmocka_unit_test(a_target_keeps_its_name),
        cmocka_unit_test(names_that_are_taken_get_numbers),        cmocka_unit_test(columns_of_a_join_keep_their_names),
        cmocka_unit_test(a_recursion_is_written_as_it_was),        cmocka_unit_test(sources_must_be_known),
        cmocka_unit_test(without_memory_there_is_no_graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
