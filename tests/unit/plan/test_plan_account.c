/* What operators take is added up by step, also when nodes move: derived operators become others once a file is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "runner.h"

/* The sum of "N.NNN ms" in a text, in microseconds. */
static long
microseconds(const char *text)
{
    long all = 0;

    for (const char *at = strstr(text, " ms, "); at != NULL; at = strstr(at + 1, " ms, ")) {
        const char *begin = at;

        while (begin[-1] != ' ') {
            begin--;
        }
        all += (long)(strtod(begin, NULL) * 1000 + 0.5);
    }
    return all;
}

static void
every_operator_is_of_a_step(void **state)
{
    struct world *world = *state;
    struct gr_buf text = {0};

    world_file(world, "left.csv", "id,k,t\n1,a,10\n2,a,20\n3,b,15\n");
    world_file(world, "right.csv", "v,k,t\n100,a,5\n101,a,18\n102,b,30\n");
    assert_int_equal(
        world_plan(
            world,
            "{\"nodes\": {\"left\": {\"op\": \"read_csv\", \"path\": \"left.csv\"},"
            " \"right\": {\"op\": \"read_csv\", \"path\": \"right.csv\"},"
            " \"near\": {\"op\": \"merge_asof\", \"inputs\": [\"left\", \"right\"], \"on\": \"t\", \"by\": [\"k\"]},"
            " \"next\": {\"op\": \"merge_asof\", \"inputs\": [\"right\", \"left\"], \"on\": \"t\", \"by\": [\"k\"]},"
            " \"both\": {\"op\": \"merge_asof\", \"inputs\": [\"near\", \"next\"], \"on\": \"t\", \"by\": [\"k\"]}},"
            " \"targets\": [\"both\"]}"),
        GRANARY_OK);
    assert_int_equal(world_run(world), GRANARY_OK);
    gr_plan_analyze(world->plan, &text);
    assert_non_null(strstr(text.bytes, "left (read_csv)"));
    assert_non_null(strstr(text.bytes, "right (read_csv)"));
    assert_int_equal(microseconds(text.bytes), world->ops);
    gr_buf_free(&text);
}

static int
setup(void **state)
{
    world_setup(state);
    runner_init(*state);
    return 0;
}

static int
teardown(void **state)
{
    runner_fini(*state);
    return world_teardown(state);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_operator_is_of_a_step, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
