/* Subtasks that go on as graphs, and graphs that are stopped with their parents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/id.h"
#include "manager_rig.h"
#include "unit/sched/build.h"

/* The subtask of that node goes on as the graph of these lines. */
static void
go_on(struct rig *rig, const char *node, const char *const *lines, size_t count)
{
    rig->go_on = build_graph(lines, count);
    report(rig, node, GRANARY_OK, "", NULL);
}

/* Its outputs become what the graph's target gives; both go when the graph is deleted. */
static void
its_results_become_the_outputs(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a user function=f", "!b make a")), GRANARY_OK);
    go_on(rig, "a", LINES("x make", "!y make x"));
    assert_non_null(strstr(rig->kept, "+graphs/k+0.1 "));
    assert_int_equal(rig->count, 1); /* its slot is the child's */
    assert_false(manager_watching(rig->manager));
    succeed(rig, "x");
    assert_null(given_to(rig, "a"));
    succeed(rig, "y");
    assert_non_null(given_to(rig, "a"));
    assert_string_equal(given_to(rig, "a")->op, "alias");
    assert_true(gr_id_equal(given_to(rig, "a")->input, fake_plan_object("k+0.1", 1)));
    assert_true(gr_id_equal(given_to(rig, "a")->output, fake_plan_object("k", 0)));
    succeed(rig, "a");
    succeed(rig, "b");
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(state_of(rig, "k+0.1"), GRANARY_GRAPH_SUCCEEDED);
    assert_false(freed(rig, "k+0.1", 1));
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "k", ""), GRANARY_OK);
    assert_true(freed(rig, "k+0.1", 1));
    assert_int_equal(wait_for(rig, "k+0.1", 0, 0), GRANARY_ENOENT);
    rig_destroy(rig);
}

/* When nobody needs them any more, the graph that made them goes, too. */
static void
what_is_spent_goes(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("a user function=f", "!b make a", "!c make b")), GRANARY_OK);
    go_on(rig, "a", LINES("!y make"));
    succeed(rig, "y");
    succeed(rig, "a");
    assert_false(freed(rig, "k+0.1", 0));
    succeed(rig, "b");
    assert_true(freed(rig, "k", 0));
    assert_true(freed(rig, "k+0.1", 0));
    assert_int_equal(wait_for(rig, "k+0.1", 0, 0), GRANARY_ENOENT);
    succeed_all(rig);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    rig_destroy(rig);
}

static void
its_failure_is_the_subtask_s(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a user function=f retries=1")), GRANARY_OK);
    for (int attempt = 1; attempt <= 2; attempt++) { /* another run goes on as another graph */
        go_on(rig, "a", LINES("!y make"));
        assert_int_equal(state_of(rig, attempt == 1 ? "k+0.1" : "k+0.2"), GRANARY_GRAPH_RUNNING);
        report(rig, "y", GRANARY_ETYPE, "no", NULL);
    }
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_ETYPE);
    assert_string_equal(rig->last->message, "node 'y': no");
    rig_destroy(rig);
}

/* A graph that cannot be planned, one of no single chunk, and graphs in graphs without end. */
static void
what_it_cannot_go_on_as(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a user function=f")), GRANARY_OK);
    go_on(rig, "a", LINES("!y bad"));
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_EINVAL);
    assert_string_equal(rig->last->message, "node 'a': it cannot go on as a graph: node 'y' (bad): cannot be planned");

    assert_int_equal(submit(rig, "l", LINES("!a user function=f")), GRANARY_OK);
    go_on(rig, "a", LINES("!y null"));
    succeed(rig, "y");
    assert_int_equal(wait_for(rig, "l", -1, 0), GRANARY_EINVAL);
    assert_non_null(strstr(rig->last->message, "whose target 'y' has 0 chunks: one is needed for an output"));

    assert_int_equal(submit(rig, "m", LINES("!a user function=f")), GRANARY_OK);
    for (int i = 0; i < 2000 && state_of(rig, "m") == GRANARY_GRAPH_RUNNING; i++) {
        go_on(rig, "a", LINES("!a user function=f"));
    }
    assert_int_equal(wait_for(rig, "m", -1, 0), GRANARY_EINVAL);
    assert_non_null(strstr(rig->last->message, "500 graphs go on as graphs"));
    rig_destroy(rig);
}

static void
it_is_stopped_with_its_parent(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a user function=f")), GRANARY_OK);
    go_on(rig, "a", LINES("!y make"));
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_STOP, "k", ""), GRANARY_OK);
    assert_int_equal(state_of(rig, "k+0.1"), GRANARY_GRAPH_CANCELLED);
    assert_string_equal(rig->cancelled, "1:1 ");
    report(rig, "y", GRANARY_ECANCELLED, "", NULL);
    assert_true(freed(rig, "k+0.1", 0));
    assert_int_equal(rig->count, 0);
    rig_destroy(rig);
}

/* One that would go on when its graph has failed does not, and its result is an error. */
static void
a_failed_graph_does_not_go_on(void **state)
{
    struct rig *rig = rig_create(2);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a user function=f", "!b make")), GRANARY_OK);
    report(rig, "b", GRANARY_ETYPE, "no", NULL);
    go_on(rig, "a", LINES("!y make"));
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_FAILED);
    assert_int_equal(wait_for(rig, "k+0.1", 0, 0), GRANARY_ENOENT);
    assert_int_equal(rig->count, 0);
    turn(rig);
    for (const char *line = rig->errors; line[0] != '\0'; line = strchr(line, '\n') + 1) {
        assert_non_null(strstr(line, "ETYPE node 'b': no"));
    }
    assert_int_equal(strlen(rig->errors), 2 * strlen(strchr(rig->errors, '\n') + 1));
    rig_destroy(rig);
}

/* What it took over is gone: the function runs again. */
static void
lost_results_are_made_again(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a user function=f")), GRANARY_OK);
    go_on(rig, "a", LINES("!y make"));
    succeed(rig, "y");
    assert_string_equal(given_to(rig, "a")->op, "alias");
    report(rig, "a", GRANARY_ENOENT, "gone", "a");
    assert_string_equal(given_to(rig, "a")->op, "call");
    succeed(rig, "a");
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    rig_destroy(rig);
}

/* After a restart the same run goes on as the same graph: it is found, not made. */
static void
check_restart(const char *parent_key, uint32_t parent_serial)
{
    struct rig *rig = rig_create(1);
    Granary__Submit parent = GRANARY__SUBMIT__INIT;
    Granary__Submit child = GRANARY__SUBMIT__INIT;
    uint8_t bytes[512];

    parent.key = (char *)(uintptr_t) "k";
    child.key = (char *)(uintptr_t) "k+0.1";
    parent.session = child.session = (char *)(uintptr_t) "s";
    child.parent = (char *)(uintptr_t)parent_key;
    child.parent_serial = parent_serial;
    child.continues = true;
    parent.serial = 1;
    child.serial = 2;
    parent.graph = build_graph(LINES("!a user function=f"));
    child.graph = build_graph(LINES("!y make"));
    manager_restore_graph(rig->manager, "k", bytes, granary__submit__pack(&parent, bytes));
    manager_restore_graph(rig->manager, "k+0.1", bytes, granary__submit__pack(&child, bytes));
    assert_int_equal(manager_restore_start(rig->manager), 2);
    turn(rig);
    manager_claims_end(rig->manager);
    turn(rig);
    if (given_to(rig, "y") != NULL) {
        succeed(rig, "y");
    }
    go_on(rig, "a", LINES("!y make"));
    if (given_to(rig, "y") != NULL) {
        succeed(rig, "y");
    }
    assert_string_equal(given_to(rig, "a")->op, "alias");
    succeed(rig, "a");
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "k", ""), GRANARY_OK);
    assert_true(freed(rig, "k+0.1", 0));
    granary__graph__free_unpacked(parent.graph, NULL);
    granary__graph__free_unpacked(child.graph, NULL);
    rig_destroy(rig);
}

static void
a_restart_finds_it(void **state)
{
    (void)state;
    check_restart("k", 0);
    check_restart("what k was called before", 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_results_become_the_outputs),
        cmocka_unit_test(its_failure_is_the_subtask_s),
        cmocka_unit_test(what_is_spent_goes),
        cmocka_unit_test(what_it_cannot_go_on_as),
        cmocka_unit_test(it_is_stopped_with_its_parent),
        cmocka_unit_test(a_failed_graph_does_not_go_on),
        cmocka_unit_test(lost_results_are_made_again),
        cmocka_unit_test(a_restart_finds_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
