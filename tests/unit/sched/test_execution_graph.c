#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/id.h"
#include "build.h"
#include "sched/execution/graph.h"

#define LINES(...) ((const char *const[]){__VA_ARGS__}), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

/* Of vectors that grow; when none is left there is no memory. */
static size_t growths_left = SIZE_MAX;

void *
reallocarray(void *items, size_t count, size_t size)
{
    if (growths_left == 0) {
        errno = ENOMEM;
        return NULL;
    }
    growths_left--;
    return realloc(items, count * size);
}

struct wanted {
    struct execution_graph *graph;
    uint32_t kind;
};

static bool
of_kind(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;

    return execution_graph_subtask(wanted->graph, number)->kind == wanted->kind;
}

/* Objects whose name begins with a capital letter are targets'. */
static bool
keeps(const void *context, granary_id id)
{
    (void)context;
    return id.bytes[0] >= 'A' && id.bytes[0] <= 'Z';
}

static void
add(struct execution_graph *graph, uint64_t first, const char *const *lines, size_t count, granary_err want)
{
    struct gr_plan_batch batch = build_batch(first, lines, count);

    assert_int_equal(execution_graph_add(graph, batch.subtasks, batch.count, keeps, NULL), want);
    build_batch_free(&batch);
}

static struct execution_graph *
create(const char *const *lines, size_t count)
{
    struct execution_graph *graph = execution_graph_create();

    add(graph, 0, lines, count, GRANARY_OK);
    return graph;
}

static uint32_t
take(struct execution_graph *graph)
{
    uint32_t number = execution_graph_peek(graph);

    if (number != SUBTASK_NONE) {
        execution_graph_take(graph, number);
    }
    return number;
}

static void
succeed(struct execution_graph *graph, uint32_t number)
{
    Granary__Done done = GRANARY__DONE__INIT;

    execution_graph_succeed(graph, number, &done, 0);
}

static void
run(struct execution_graph *graph, uint32_t number)
{
    assert_int_equal(take(graph), number);
    succeed(graph, number);
}

static enum subtask_state
state_of(struct execution_graph *graph, uint32_t number)
{
    return (enum subtask_state)execution_graph_subtask(graph, number)->state;
}

/* Names of the objects freed since the last look, in order. */
static void
assert_freed(struct execution_graph *graph, const char *want)
{
    const granary_id *ids;
    size_t count = execution_graph_freed(graph, &ids);
    char text[256] = "";

    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(text);

        (void)snprintf(text + length, sizeof text - length, "%s%s", i > 0 ? " " : "", (const char *)ids[i].bytes);
    }
    assert_string_equal(text, want);
}

static granary_err
lose(struct execution_graph *graph, uint32_t number, const char *name)
{
    granary_id id = build_id(name);
    ProtobufCBinaryData lost = {.len = sizeof id.bytes, .data = id.bytes};

    return execution_graph_lose(graph, number, &lost, 1);
}

static void
inputs_come_before_consumers(void **state)
{
    struct execution_graph *graph = create(LINES("C < a b", "a", "b < a", "D < C C"));

    (void)state;
    assert_int_equal(state_of(graph, 0), SUBTASK_WAITING);
    run(graph, 1);
    assert_int_equal(take(graph), 2);
    assert_int_equal(take(graph), SUBTASK_NONE);
    succeed(graph, 2);
    assert_freed(graph, ""); /* C still reads a and b */
    run(graph, 0);
    assert_freed(graph, "a b");
    run(graph, 3);
    assert_freed(graph, ""); /* targets stay */
    assert_true(execution_graph_idle(graph));
    assert_int_equal(execution_graph_counts(graph)->succeeded, 4);
    execution_graph_destroy(graph);
}

/* Whoever adds is told. Of an event nobody asks how it went: what it could not note is not forgotten in silence. */
static void
memory_that_runs_out_is_told(void **state)
{
    struct execution_graph *graph = create(LINES("a", "B < a"));
    struct gr_plan_batch batch = build_batch(0, LINES("a", "B < a"));
    bool exhausted = false;

    (void)state;
    execution_graph_tell_exhausted(graph, &exhausted);
    assert_int_equal(take(graph), 0);
    growths_left = 0;
    succeed(graph, 0); /* B is ready, and there is no room to say so */
    growths_left = SIZE_MAX;
    assert_true(exhausted);
    execution_graph_destroy(graph);

    exhausted = false;
    graph = execution_graph_create();
    execution_graph_tell_exhausted(graph, &exhausted);
    growths_left = 0;
    assert_int_equal(execution_graph_add(graph, batch.subtasks, batch.count, keeps, NULL), GRANARY_ENOMEM);
    growths_left = SIZE_MAX;
    assert_false(exhausted);
    execution_graph_destroy(graph);
    build_batch_free(&batch);
}

static void
an_object_nobody_reads_is_freed_at_once(void **state)
{
    struct execution_graph *graph = create(LINES("a unused", "B < a"));
    int64_t rows;
    uint64_t bytes;

    (void)state;
    run(graph, 0);
    assert_freed(graph, "unused");
    assert_true(execution_graph_object(graph, build_id("a"), &rows, &bytes));
    assert_false(execution_graph_object(graph, build_id("unused"), &rows, &bytes));
    run(graph, 1);
    assert_freed(graph, "a");
    execution_graph_destroy(graph);
}

static void
reports_tell_rows_and_bytes(void **state)
{
    struct execution_graph *graph = create(LINES("A", "B"));
    Granary__Done done = GRANARY__DONE__INIT;
    Granary__Output outputs[2] = {GRANARY__OUTPUT__INIT, GRANARY__OUTPUT__INIT};
    granary_id own = build_id("A");
    granary_id other = build_id("B");
    int64_t rows = 7;
    uint64_t bytes = 7;

    (void)state;
    outputs[0].id = (ProtobufCBinaryData){.len = 16, .data = own.bytes};
    outputs[0].rows = 12;
    outputs[0].bytes = 34;
    outputs[1].id = (ProtobufCBinaryData){.len = 16, .data = other.bytes}; /* of another subtask: not believed */
    outputs[1].rows = 99;
    done.n_outputs = 2;
    done.outputs = (Granary__Output *[]){&outputs[0], &outputs[1]};
    assert_int_equal(take(graph), 0);
    execution_graph_succeed(graph, 0, &done, 0);
    assert_true(execution_graph_object(graph, own, &rows, &bytes));
    assert_int_equal(rows, 12);
    assert_int_equal(bytes, 34);
    assert_false(execution_graph_object(graph, other, &rows, &bytes));
    run(graph, 1);
    assert_true(execution_graph_object(graph, other, &rows, &bytes));
    assert_int_equal(rows, -1);
    execution_graph_destroy(graph);
}

static void
priority_then_number(void **state)
{
    struct gr_plan_batch batch = build_batch(0, LINES("A", "B", "C", "D", "E", "F"));
    struct execution_graph *graph = execution_graph_create();
    const uint32_t priorities[] = {1, 5, 0, 5, UINT32_MAX, 1};
    const uint32_t order[] = {4, 1, 3, 0, 5, 2};

    (void)state;
    for (int i = 0; i < 6; i++) {
        batch.subtasks[i].priority = priorities[i];
    }
    assert_int_equal(execution_graph_add(graph, batch.subtasks, batch.count, keeps, NULL), GRANARY_OK);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(take(graph), order[i]);
    }
    build_batch_free(&batch);
    execution_graph_destroy(graph);
}

static void
null_subtasks_wait_for_those_before(void **state)
{
    struct execution_graph *graph = create(LINES("; 2", "; 0 2", ""));

    (void)state;
    run(graph, 2);
    run(graph, 0);
    run(graph, 1);
    assert_true(execution_graph_idle(graph));
    execution_graph_destroy(graph);
}

/* Batches that come later read what the ones before made; if that was freed, it is made again. */
static void
later_batches(void **state)
{
    struct execution_graph *graph = create(LINES("A", "b < A"));

    (void)state;
    run(graph, 0);
    run(graph, 1);
    assert_freed(graph, "b");
    add(graph, 2, LINES("C < A"), GRANARY_OK);
    assert_int_equal(state_of(graph, 2), SUBTASK_READY);
    add(graph, 3, LINES("D < b"), GRANARY_OK);
    assert_int_equal(state_of(graph, 3), SUBTASK_WAITING);
    run(graph, 1);
    run(graph, 2);
    run(graph, 3);
    assert_freed(graph, "b");
    execution_graph_destroy(graph);
}

static void
a_plan_that_contradicts_itself_is_refused(void **state)
{
    struct execution_graph *graph;

    (void)state;
    graph = execution_graph_create();
    add(graph, 0, LINES("a < nobody"), GRANARY_EFAILED);
    execution_graph_destroy(graph);
    graph = execution_graph_create();
    add(graph, 0, LINES("a", "a"), GRANARY_EFAILED);
    execution_graph_destroy(graph);
    graph = execution_graph_create();
    add(graph, 1, LINES("a"), GRANARY_EFAILED);
    execution_graph_destroy(graph);
    graph = execution_graph_create();
    add(graph, 0, LINES("; 1"), GRANARY_EFAILED);
    execution_graph_destroy(graph);
    execution_graph_destroy(NULL);
}

/* An object that was there before the graph is not waited for, never freed, and not made again when it is lost. */
static void
objects_from_before_are_there(void **state)
{
    struct execution_graph *graph = execution_graph_create();
    struct gr_plan_batch batch = build_batch(0, LINES("A < x", "B < x A"));

    (void)state;
    batch.subtasks[0].external = batch.subtasks[1].external = true;
    assert_int_equal(execution_graph_add(graph, batch.subtasks, batch.count, keeps, NULL), GRANARY_OK);
    build_batch_free(&batch);
    run(graph, 0);
    assert_freed(graph, "");
    assert_int_equal(take(graph), 1);
    assert_int_equal(lose(graph, 1, "x"), GRANARY_ENOENT);
    assert_non_null(strstr(granary_error_message(), "is not there (any more), and this graph does not make it"));
    execution_graph_cancel(graph, false);
    execution_graph_fail(graph, 1);
    assert_freed(graph, "A B");
    execution_graph_destroy(graph);
}

/* A chain a -> b -> c -> D; b, and with it a, is gone when c wants to read it: both are made again, and freed again. */
static void
lineage_goes_back_as_far_as_needed(void **state)
{
    struct execution_graph *graph = create(LINES("a", "b < a", "c < b", "D < c"));

    (void)state;
    run(graph, 0);
    run(graph, 1);
    assert_freed(graph, "a");
    assert_int_equal(take(graph), 2);
    assert_int_equal(lose(graph, 2, "b"), GRANARY_OK);
    assert_int_equal(state_of(graph, 2), SUBTASK_WAITING);
    assert_int_equal(state_of(graph, 1), SUBTASK_WAITING);
    run(graph, 0);
    run(graph, 1);
    assert_freed(graph, "a");
    run(graph, 2);
    assert_freed(graph, "b");
    run(graph, 3);
    assert_freed(graph, "c");
    assert_true(execution_graph_idle(graph));
    assert_int_equal(execution_graph_counts(graph)->retries, 1);
    assert_int_equal(execution_graph_subtask(graph, 0)->attempt, 2);
    execution_graph_destroy(graph);
}

/* Two find it gone; the second says so when it was made again: it is not made a third time, and is there. */
static void
a_loss_is_mended_once(void **state)
{
    struct execution_graph *graph = create(LINES("a", "B < a", "C < a"));

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        execution_graph_subtask(graph, i)->token = i; /* each in a message of its own */
    }
    run(graph, 0);
    assert_int_equal(take(graph), 1);
    assert_int_equal(take(graph), 2);
    assert_int_equal(lose(graph, 1, "a"), GRANARY_OK);
    run(graph, 0);
    assert_int_equal(lose(graph, 2, "a"), GRANARY_OK);
    assert_int_equal(state_of(graph, 0), SUBTASK_SUCCEEDED);
    assert_int_equal(state_of(graph, 2), SUBTASK_READY);
    /* Gone once more after that is news. */
    assert_int_equal(take(graph), 1);
    assert_int_equal(lose(graph, 1, "a"), GRANARY_OK);
    assert_int_equal(state_of(graph, 0), SUBTASK_READY);
    execution_graph_destroy(graph);
}

/* Two readers of a lost object: one reports it, the other, ready, waits with it; one that is running reports on its
 * own. */
static void
all_readers_of_a_lost_object_wait(void **state)
{
    struct execution_graph *graph = create(LINES("a", "B < a", "C < a", "D < a"));

    (void)state;
    run(graph, 0);
    assert_int_equal(take(graph), 1);
    assert_int_equal(take(graph), 2);
    assert_int_equal(lose(graph, 1, "a"), GRANARY_OK);
    assert_int_equal(state_of(graph, 3), SUBTASK_WAITING);
    assert_int_equal(take(graph), 0);
    assert_int_equal(lose(graph, 2, "a"), GRANARY_OK); /* the same loss */
    assert_int_equal(state_of(graph, 2), SUBTASK_WAITING);
    succeed(graph, 0);
    run(graph, 1);
    run(graph, 2);
    assert_freed(graph, "");
    run(graph, 3);
    assert_freed(graph, "a");
    assert_true(execution_graph_idle(graph));
    execution_graph_destroy(graph);
}

static void
losses_have_an_end(void **state)
{
    struct execution_graph *graph = create(LINES("a", "B < a"));
    granary_err err = GRANARY_OK;
    int times = 0;

    (void)state;
    run(graph, 0);
    while (err == GRANARY_OK && times < 100) {
        assert_int_equal(take(graph), 1);
        err = lose(graph, 1, "a");
        times++;
        if (err == GRANARY_OK) {
            run(graph, 0);
        }
    }
    assert_int_equal(err, GRANARY_ELOST);
    assert_int_equal(times, 11);
    execution_graph_cancel(graph, false);
    assert_true(execution_graph_idle(graph));
    execution_graph_destroy(graph);
}

static void
unknown_losses_are_refused(void **state)
{
    struct execution_graph *graph = create(LINES("A"));

    (void)state;
    assert_int_equal(take(graph), 0);
    assert_int_equal(lose(graph, 0, "other"), GRANARY_ENOENT);
    assert_int_equal(state_of(graph, 0), SUBTASK_RUNNING);
    execution_graph_fail(graph, 0);
    assert_true(execution_graph_idle(graph));
    execution_graph_destroy(graph);
}

/* A follower runs behind its leader; when the leader does not succeed, it waits as if it had not been sent. */
static void
followers(void **state)
{
    struct execution_graph *graph = create(LINES("a", "b < a", "C < b", "D < a b"));
    uint32_t kind = execution_graph_subtask(graph, 0)->kind;

    (void)state;
    assert_int_equal(take(graph), 0);
    assert_int_equal(execution_graph_take_follower(graph, 0, of_kind, &(struct wanted){graph, kind + 1}), SUBTASK_NONE);
    assert_int_equal(execution_graph_take_follower(graph, 0, of_kind, &(struct wanted){graph, kind}), 1);
    assert_int_equal(execution_graph_take_follower(graph, 1, of_kind, &(struct wanted){graph, kind}), 2);
    assert_int_equal(execution_graph_take_follower(graph, 2, of_kind, &(struct wanted){graph, kind}), SUBTASK_NONE);
    execution_graph_requeue(graph, 0);
    assert_int_equal(lose(graph, 1, "a"), GRANARY_OK);
    execution_graph_requeue(graph, 2);
    assert_int_equal(state_of(graph, 0), SUBTASK_READY);
    assert_int_equal(state_of(graph, 1), SUBTASK_WAITING);
    assert_int_equal(state_of(graph, 2), SUBTASK_WAITING);
    assert_int_equal(execution_graph_subtask(graph, 1)->losses, 0);
    run(graph, 0);
    run(graph, 1);
    run(graph, 2);
    run(graph, 3);
    assert_freed(graph, "a b");
    assert_true(execution_graph_idle(graph));
    execution_graph_destroy(graph);
}

static void
parked_ones_come_back(void **state)
{
    struct execution_graph *graph = create(LINES("A", "B"));

    (void)state;
    assert_int_equal(take(graph), 0);
    execution_graph_park(graph, 0);
    assert_int_equal(execution_graph_counts(graph)->parked, 1);
    run(graph, 1);
    assert_int_equal(take(graph), SUBTASK_NONE);
    assert_false(execution_graph_idle(graph));
    execution_graph_unpark_all(graph);
    run(graph, 0);
    assert_true(execution_graph_idle(graph));
    execution_graph_destroy(graph);
}

/* What was cancelled leaves nothing: objects there are freed, and those of subtasks still running when they end. */
static void
cancel_frees_everything(void **state)
{
    struct execution_graph *graph = create(LINES("a", "B", "C < a", "d < C", "E"));

    (void)state;
    run(graph, 0);
    run(graph, 1);
    assert_int_equal(take(graph), 2);
    assert_int_equal(take(graph), 4);
    execution_graph_cancel(graph, false);
    assert_freed(graph, "a B");
    assert_int_equal(take(graph), SUBTASK_NONE);
    assert_false(execution_graph_idle(graph));
    succeed(graph, 2);
    assert_freed(graph, "C");
    execution_graph_requeue(graph, 4); /* its executor died, who knows after what */
    assert_freed(graph, "E");
    assert_int_equal(state_of(graph, 4), SUBTASK_CANCELLED);
    assert_int_equal(state_of(graph, 3), SUBTASK_CANCELLED);
    assert_true(execution_graph_idle(graph));
    execution_graph_destroy(graph);
}

/* Outputs may have been sealed by runs that did not end well: they are freed, too, and never twice. */
static void
cancel_frees_what_failed_runs_left(void **state)
{
    struct execution_graph *graph = create(LINES("a", "B C", "D", "e < a"));

    (void)state;
    run(graph, 0);
    assert_int_equal(take(graph), 1);
    execution_graph_requeue(graph, 1);
    assert_int_equal(take(graph), 1);
    execution_graph_fail(graph, 1);
    assert_freed(graph, ""); /* kept ones until it is known that they are not wanted */
    assert_int_equal(take(graph), 2);
    execution_graph_requeue(graph, 2);
    execution_graph_cancel(graph, false);
    assert_freed(graph, "a B C D");
    assert_true(execution_graph_idle(graph));
    execution_graph_destroy(graph);
}

/* Whatever order events come in, every subtask succeeds in the end and exactly the targets are left. */
static void
random_histories_end_well(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++) {
        char text[60][64];
        const char *lines[60];
        uint32_t running[60];
        uint32_t running_count = 0;
        struct execution_graph *graph;
        int lost = 0;

        srandom(seed);
        for (int i = 0; i < 60; i++) {
            int length = snprintf(text[i], sizeof text[i], "%c%d", i % 10 == 9 ? 'T' : 'o', i);

            for (int k = 0; i > 0 && k < random() % 3; k++) {
                int from = (int)(random() % i);

                length += snprintf(text[i] + length, sizeof text[i] - (size_t)length, "%s %c%d", k == 0 ? " <" : "",
                                   from % 10 == 9 ? 'T' : 'o', from);
            }
            lines[i] = text[i];
        }
        graph = create(lines, 60);
        while (!execution_graph_idle(graph)) {
            uint32_t number = random() % 2 == 0 ? take(graph) : SUBTASK_NONE;
            uint32_t at;

            if (number != SUBTASK_NONE) {
                running[running_count++] = number;
                if ((number = execution_graph_take_follower(
                         graph, number, of_kind, &(struct wanted){graph, execution_graph_subtask(graph, 0)->kind})) !=
                        SUBTASK_NONE &&
                    random() % 2 == 0) {
                    running[running_count++] = number;
                } else if (number != SUBTASK_NONE) {
                    execution_graph_requeue(graph, number);
                }
                continue;
            }
            if (running_count == 0) {
                execution_graph_unpark_all(graph);
                continue;
            }
            at = (uint32_t)random() % running_count;
            number = running[at];
            running[at] = running[--running_count];
            switch (random() % 8) {
            case 0:
                execution_graph_requeue(graph, number);
                break;
            case 1:
                execution_graph_park(graph, number);
                break;
            case 2:
                if (strchr(lines[number], '<') != NULL && lost++ < 20) {
                    char name[16];

                    (void)sscanf(strchr(lines[number], '<') + 1, "%15s", name);
                    assert_int_equal(lose(graph, number, name), GRANARY_OK);
                    break;
                }
                /* fall through */
            default:
                succeed(graph, number);
                break;
            }
        }
        assert_int_equal(execution_graph_counts(graph)->succeeded, 60);
        for (int i = 0; i < 60; i++) {
            char name[16];
            int64_t rows;
            uint64_t bytes;

            (void)sscanf(lines[i], "%15s", name);
            assert_int_equal(execution_graph_object(graph, build_id(name), &rows, &bytes), name[0] == 'T');
        }
        execution_graph_destroy(graph);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_come_before_consumers),
        cmocka_unit_test(memory_that_runs_out_is_told),
        cmocka_unit_test(an_object_nobody_reads_is_freed_at_once),
        cmocka_unit_test(reports_tell_rows_and_bytes),
        cmocka_unit_test(priority_then_number),
        cmocka_unit_test(null_subtasks_wait_for_those_before),
        cmocka_unit_test(later_batches),
        cmocka_unit_test(a_plan_that_contradicts_itself_is_refused),
        cmocka_unit_test(objects_from_before_are_there),
        cmocka_unit_test(lineage_goes_back_as_far_as_needed),
        cmocka_unit_test(a_loss_is_mended_once),
        cmocka_unit_test(all_readers_of_a_lost_object_wait),
        cmocka_unit_test(losses_have_an_end),
        cmocka_unit_test(unknown_losses_are_refused),
        cmocka_unit_test(followers),
        cmocka_unit_test(parked_ones_come_back),
        cmocka_unit_test(cancel_frees_everything),
        cmocka_unit_test(cancel_frees_what_failed_runs_left),
        cmocka_unit_test(random_histories_end_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
