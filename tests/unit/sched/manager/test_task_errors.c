/* Graphs that keep going, errors as data, receipts, and results while a graph runs. */
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

static granary_err
submit_going(struct rig *rig, const char *key, const char *const *lines, size_t count)
{
    Granary__Submit body = GRANARY__SUBMIT__INIT;

    body.key = (char *)(uintptr_t)key;
    body.session = (char *)(uintptr_t) "s";
    body.keep_going = true;
    return submit_body(rig, &body, lines, count);
}

/* The error stored for object number of the key; "" when there is none. */
static const char *
stored(const struct rig *rig, const char *key, uint64_t number)
{
    static char found[256];
    char text[GRANARY_ID_TEXT + 1];
    const char *at;

    granary_id_format(fake_plan_object(key, number), text);
    at = strstr(rig->errors, text);
    found[0] = '\0';
    if (at != NULL) {
        (void)snprintf(found, sizeof found, "%.*s", (int)strcspn(at + GRANARY_ID_TEXT + 1, "\n"),
                       at + GRANARY_ID_TEXT + 1);
    }
    return found;
}

static void
follow(struct rig *rig, const char *key, const char *target, uint64_t cursor, int64_t timeout_ms)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__GraphRef body = GRANARY__GRAPH_REF__INIT;

    body.key = (char *)(uintptr_t)key;
    body.target = (char *)(uintptr_t)target;
    body.follow = true;
    body.cursor = cursor;
    body.limit = 1;
    body.timeout_ms = timeout_ms;
    message.body_case = GRANARY__REQUEST__BODY_RESULT;
    message.result = &body;
    (void)request(rig, &message, 0);
}

static void
stop(struct rig *rig, const char *key, int64_t kill_after_ms)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__GraphRef body = GRANARY__GRAPH_REF__INIT;

    body.key = (char *)(uintptr_t)key;
    body.wait = true;
    body.kill_after_ms = kill_after_ms;
    message.body_case = GRANARY__REQUEST__BODY_STOP;
    message.stop = &body;
    (void)request(rig, &message, 0);
}

/* The executor says that everything it was told to free is gone. */
static void
acknowledge_frees(struct rig *rig, uint32_t executor)
{
    for (uint64_t order = 1; order < 20; order++) {
        manager_freed(rig->manager, executor, order);
    }
    manager_expire(rig->manager, 0);
    turn(rig);
}

/* What does not need the failed one runs to the end, and what does has its error, once the graph has ended or before.
 */
static void
the_rest_runs_on(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit_going(rig, "k",
                                  LINES("a make priority=9", "!b make a priority=8", "!c make b", "d make b",
                                        "!e make d", "!f make a", "!g null e", "!h make")),
                     GRANARY_OK);
    succeed(rig, "a");
    report(rig, "b", GRANARY_ETYPE, "no number", NULL);
    for (const char *const *node = (const char *const[]){"c", "d", "e", NULL}; *node != NULL; node++) {
        if (given_to(rig, *node) != NULL) { /* it was sent behind b */
            report(rig, *node, GRANARY_ENOENT, "no input", "b");
        }
    }
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_RUNNING);
    assert_string_equal(stored(rig, "k", 1), "ETYPE node 'b': no number");
    assert_string_equal(stored(rig, "k", 2), "ETYPE node 'b': no number");
    assert_string_equal(stored(rig, "k", 4), "ETYPE node 'b': no number");
    assert_string_equal(stored(rig, "k", 3), ""); /* nobody knows its id */
    assert_string_equal(stored(rig, "k", 5), "");
    assert_false(freed(rig, "k", 0));
    succeed_all(rig);
    assert_true(freed(rig, "k", 0));
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_ETYPE);
    assert_string_equal(rig->last->message, "5 of 8 subtasks failed: node 'b': no number");
    assert_int_equal(rig->last->status->state, GRANARY_GRAPH_FAILED);
    assert_int_equal(rig->last->status->subtasks_failed, 5);
    assert_int_equal(rig->last->status->subtasks_done, 3);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "k", "f"), GRANARY_OK);
    assert_true(rig->last->result->complete);
    assert_true(rig->last->result->chunks[0]->there);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "k", "c"), GRANARY_OK);
    assert_false(rig->last->result->chunks[0]->there);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "k", ""), GRANARY_OK);
    assert_true(freed(rig, "k", 1)); /* errors go with the graph, as results do */
    assert_true(freed(rig, "k", 5));
    rig_destroy(rig);
}

/* A follower that was sent behind the one that fails comes back and fails, too. */
static void
what_ran_behind_it_fails_when_it_comes_back(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit_going(rig, "k", LINES("x make", "a make x", "b make a", "!c make b")), GRANARY_OK);
    succeed(rig, "x");
    assert_non_null(given_to(rig, "a"));
    assert_non_null(given_to(rig, "b")); /* a chain in one message */
    report(rig, "a", GRANARY_ETYPE, "no", NULL);
    report(rig, "b", GRANARY_ENOENT, "no input", "b");
    while (rig->count > 0) {
        report(rig, rig->given[0].node, GRANARY_ENOENT, "no input", "b");
    }
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_ETYPE);
    assert_string_equal(rig->last->message, "3 of 4 subtasks failed: node 'a': no");
    assert_string_equal(stored(rig, "k", 3), "ETYPE node 'a': no");
    rig_destroy(rig);
}

/* Without keep_going, what its targets lack gets the graph's error when nothing of it runs any more. */
static void
a_failed_graph_leaves_errors(void **state)
{
    struct rig *rig = rig_create(2);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make", "!b make", "!c make a b", "!d make")), GRANARY_OK);
    succeed(rig, "a");
    report(rig, "b", GRANARY_EINVAL, "bad", NULL);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_FAILED);
    assert_string_equal(rig->errors, ""); /* d still runs */
    succeed_all(rig);
    assert_string_equal(stored(rig, "k", 1), "EINVAL node 'b': bad");
    assert_string_equal(stored(rig, "k", 2), "EINVAL node 'b': bad");
    assert_string_equal(stored(rig, "k", 0), "");
    assert_string_equal(stored(rig, "k", 3), "");
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "k", ""), GRANARY_OK);
    for (uint64_t i = 0; i < 4; i++) {
        assert_true(freed(rig, "k", i));
    }
    rig_destroy(rig);
}

static void
stopped_graphs_leave_nothing(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make", "!b make a", "!c user b function=f")), GRANARY_OK);
    succeed(rig, "a");
    stop(rig, "k", -1);
    assert_string_equal(rig->replied, "1=OK "); /* b still runs */
    assert_true(manager_watching(rig->manager));
    report(rig, "b", GRANARY_ECANCELLED, "", NULL);
    assert_true(freed(rig, "k", 0));
    assert_true(freed(rig, "k", 1));
    assert_string_equal(rig->errors, "");
    assert_string_equal(rig->replied, "1=OK "); /* it is not known that a is gone */
    acknowledge_frees(rig, 1);
    assert_non_null(strstr(rig->replied, "2=OK "));
    assert_int_equal(rig->last->receipt->dropped, 1);
    assert_int_equal(rig->last->receipt->stopped, 1);
    assert_int_equal(rig->last->receipt->killed, 0);
    assert_int_equal(rig->last->receipt->freed_objects, 1);
    assert_int_equal(rig->last->receipt->freed_bytes, 100);
    assert_false(manager_watching(rig->manager));
    rig_destroy(rig);
}

static void
who_does_not_stop_is_killed(void **state)
{
    struct rig *rig = rig_create(1);
    struct manager_seen seen = {.running_ns = 1};

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a user function=f")), GRANARY_OK);
    seen.subtask = given_to(rig, "a")->number;
    seen.attempt = 1;
    stop(rig, "k", 3);
    manager_watch(rig->manager, 1, &seen, 2999999);
    turn(rig);
    assert_string_equal(rig->asked, "cancel 1:0 ");
    manager_watch(rig->manager, 1, &seen, 3000000);
    turn(rig);
    assert_string_equal(rig->asked, "cancel 1:0 kill 1 ");
    rig->count = 0;
    manager_executor_died(rig->manager, 1);
    manager_executor_joined(rig->manager, 2, 0, 2);
    turn(rig);
    acknowledge_frees(rig, 2);
    assert_non_null(rig->last->receipt);
    assert_int_equal(rig->last->receipt->killed, 1);
    assert_int_equal(rig->last->receipt->stopped, 0);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_CANCELLED);
    /* Of one that has ended there is nothing to do. */
    stop(rig, "k", 0);
    assert_non_null(rig->last->receipt);
    rig_destroy(rig);
}

static void
chunks_come_as_they_are_made(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make", "!b make a", "!c null b")), GRANARY_OK);
    follow(rig, "k", "a", 0, -1);
    follow(rig, "k", "b", 0, 5);
    follow(rig, "k", "b", 7, -1); /* it has one chunk */
    follow(rig, "k", "x", 0, -1);
    assert_string_equal(rig->replied, "1=OK 4=ENOENT 5=ENOENT ");
    succeed(rig, "a");
    assert_string_equal(rig->replied, "1=OK 4=ENOENT 5=ENOENT 2=OK ");
    assert_int_equal(rig->last->result->n_chunks, 1);
    assert_true(rig->last->result->chunks[0]->there);
    assert_int_equal(rig->last->result->count, 1);
    assert_false(rig->last->result->complete);
    manager_expire(rig->manager, 5000000);
    turn(rig);
    assert_non_null(strstr(rig->replied, "3=ETIMEDOUT "));
    follow(rig, "k", "b", 0, -1);
    report(rig, "b", GRANARY_ETYPE, "no", NULL);
    assert_non_null(strstr(rig->replied, "6=ETYPE "));
    follow(rig, "k", "a", 0, -1); /* what was made is still told */
    assert_non_null(strstr(rig->replied, "7=OK "));
    rig_destroy(rig);
}

/* A graph whose client tells of a table's snapshot. */
static granary_err
submit_told(struct rig *rig, const char *key, Granary__StoredTable *told)
{
    Granary__Submit body = GRANARY__SUBMIT__INIT;

    body.key = (char *)(uintptr_t)key;
    body.session = (char *)(uintptr_t) "s";
    body.tables = &told;
    body.n_tables = 1;
    return submit_body(rig, &body, LINES("!a make"));
}

/* It ends with the graph. A client tells nothing else of tables, and no snapshot that is none. */
static void
snapshots_of_clients_end_with_the_graph(void **state)
{
    struct rig *rig = rig_create(1);
    uint8_t id[17] = {0xab};
    ProtobufCBinaryData ids[] = {{.len = 16, .data = id}};
    Granary__StoredTable told = GRANARY__STORED_TABLE__INIT;

    (void)state;
    told.node = (char *)(uintptr_t) "a";
    for (told.snapshot = (ProtobufCBinaryData){.len = 0, .data = id}; told.snapshot.len <= 17; told.snapshot.len++) {
        if (told.snapshot.len != 16) {
            assert_int_equal(submit_told(rig, "k", &told), GRANARY_EPROTO);
        }
    }
    told.snapshot.len = 16;
    told.graph = (char *)(uintptr_t) "k";
    assert_int_equal(submit_told(rig, "k", &told), GRANARY_EPROTO);
    told.graph = (char *)(uintptr_t) "";
    told.made_by = 1;
    assert_int_equal(submit_told(rig, "k", &told), GRANARY_EPROTO);
    told.made_by = 0;
    told.infos = ids[0];
    assert_int_equal(submit_told(rig, "k", &told), GRANARY_EPROTO);
    told.infos.len = 0;
    told.ids = ids;
    told.n_ids = 1;
    assert_int_equal(submit_told(rig, "k", &told), GRANARY_EPROTO);
    told.n_ids = 0;
    assert_int_equal(submit_told(rig, "k", &told), GRANARY_OK);
    assert_string_equal(rig->ended, "");
    succeed(rig, "a");
    assert_string_equal(rig->ended, "ab000000000000000000000000000000 ");
    rig_destroy(rig);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rest_runs_on),
        cmocka_unit_test(what_ran_behind_it_fails_when_it_comes_back),
        cmocka_unit_test(a_failed_graph_leaves_errors),
        cmocka_unit_test(stopped_graphs_leave_nothing),
        cmocka_unit_test(who_does_not_stop_is_killed),
        cmocka_unit_test(chunks_come_as_they_are_made),
        cmocka_unit_test(snapshots_of_clients_end_with_the_graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
