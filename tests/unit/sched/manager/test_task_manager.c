/* The scheduler's core as a state machine: requests, reports and deaths in, messages out; no socket, no clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/id.h"
#include "graph/graph.h"
#include "manager_rig.h"
#include "unit/sched/build.h"

static void
a_graph_from_submission_to_deletion(void **state)
{
    struct rig *rig = rig_create(2);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("a make", "b make a", "!c make a b")), GRANARY_OK);
    assert_string_equal(rig->last->key, "k");
    assert_string_equal(rig->kept, "+graphs/k ");
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_OK); /* of the submission: the wait is not answered yet */
    assert_string_equal(rig->replied, "1=OK ");
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "k", "c"), GRANARY_OK);
    assert_false(rig->last->result->complete);
    assert_false(rig->last->result->chunks[0]->there);
    assert_int_equal(rig->count, 1);
    succeed(rig, "a");
    succeed(rig, "b");
    assert_string_equal(rig->freed, "");
    succeed(rig, "c");
    assert_string_equal(rig->replied, "1=OK 3=OK 2=OK ");
    assert_int_equal(rig->last->status->state, GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(rig->last->status->subtasks_total, 3);
    assert_int_equal(rig->last->status->subtasks_done, 3);
    assert_true(freed(rig, "k", 0));
    assert_true(freed(rig, "k", 1));
    assert_false(freed(rig, "k", 2));
    assert_non_null(strstr(rig->kept, "+ends/k +results/k"));

    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "k", "c"), GRANARY_OK);
    assert_int_equal(rig->last->result->n_chunks, 1);
    assert_int_equal(rig->last->result->chunks[0]->rows, 10);
    assert_int_equal(rig->last->result->chunks[0]->bytes, 100);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "k", "a"), GRANARY_ENOENT);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_EXPLAIN, "k", ""), GRANARY_OK);
    assert_string_equal(rig->last->text, "3 nodes\n");

    rig->kept[0] = '\0';
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "k", ""), GRANARY_OK);
    assert_true(freed(rig, "k", 2));
    assert_string_equal(rig->kept, "-graphs/k -ends/k -results/k ");
    assert_int_equal(wait_for(rig, "k", -1, 0), GRANARY_ENOENT);
    rig_destroy(rig);
}

/* One answer, at the end; sent again, it is still one graph. */
static void
a_submission_may_wait_for_its_end(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    (void)run(rig, "k", LINES("!a make"), -1);
    assert_string_equal(rig->kept, "+graphs/k ");
    (void)run(rig, "k", LINES("!a make"), 5);
    assert_string_equal(rig->replied, "");
    manager_expire(rig->manager, 6000000);
    turn(rig);
    assert_string_equal(rig->replied, "2=ETIMEDOUT ");
    succeed(rig, "a");
    assert_string_equal(rig->replied, "2=ETIMEDOUT 1=OK ");
    assert_int_equal(rig->last->status->state, GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(run(rig, "k", LINES("!a make"), -1), GRANARY_OK);
    assert_int_equal(rig->count, 0);

    /* What cannot be kept is not run to its end. */
    (void)run(rig, "l", LINES("!b make"), -1);
    manager_reject(rig->manager, "l", GRANARY_EFULL, "the disk is full");
    turn(rig);
    assert_non_null(strstr(rig->replied, "4=EFULL "));
    rig_destroy(rig);
}

static void
the_same_key_is_the_same_graph(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    assert_int_equal(rig->count, 1);
    succeed(rig, "a");
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    assert_int_equal(rig->count, 0);
    /* But not another session's, nor another graph's. */
    assert_int_equal(submit(rig, "k", LINES("!b make")), GRANARY_EEXIST);
    assert_int_equal(run_in(rig, "other", "k", LINES("!a make"), 0), GRANARY_EEXIST);
    assert_int_equal(rig->count, 0);
    /* Deleted and submitted again: other objects, for those of the first may still be on their way out. */
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "k", ""), GRANARY_OK);
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    assert_int_equal(rig->count, 1);
    assert_false(gr_id_equal(rig->given[0].output, fake_plan_object("k", 0)));
    /* Without a key one is made up. */
    assert_int_equal(submit(rig, "", LINES("!a make")), GRANARY_OK);
    assert_int_equal(strlen(rig->last->key), 32);
    rig_destroy(rig);
}

static granary_err
rename_to(struct rig *rig, const char *key, const char *new_key, bool replace)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__Rename body = GRANARY__RENAME__INIT;

    body.key = (char *)(uintptr_t)key;
    body.new_key = (char *)(uintptr_t)new_key;
    body.replace = replace;
    message.body_case = GRANARY__REQUEST__BODY_RENAME;
    message.rename = &body;
    return request(rig, &message, 0);
}

/* One turn: the key is the old graph's before it, the new one's after it, and nobody's never. */
static void
a_key_passes_to_another_graph(void **state)
{
    struct rig *rig = rig_create(2);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    succeed(rig, "a");
    assert_int_equal(submit(rig, "n", LINES("!b make")), GRANARY_OK);
    assert_int_equal(rename_to(rig, "n", "k", true), GRANARY_ESTATE); /* it runs */
    succeed(rig, "b");
    assert_int_equal(rename_to(rig, "n", "k", false), GRANARY_EEXIST);
    assert_int_equal(rename_to(rig, "m", "k", true), GRANARY_ENOENT);
    assert_int_equal(rename_to(rig, "n", "", true), GRANARY_EINVAL);
    rig->kept[0] = '\0';
    assert_int_equal(rename_to(rig, "n", "k", true), GRANARY_OK);
    assert_string_equal(rig->kept, "-graphs/k -ends/k -results/k graphs/n>k ends/n>k results/n>k ");
    assert_true(freed(rig, "k", 0));
    assert_false(freed(rig, "n", 0));
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "k", "b"), GRANARY_OK);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "n", "b"), GRANARY_ENOENT);
    assert_int_equal(rename_to(rig, "n", "k", true), GRANARY_OK); /* asked again: it is done */
    assert_int_equal(rename_to(rig, "k", "l", false), GRANARY_OK);
    assert_int_equal(state_of(rig, "l"), GRANARY_GRAPH_SUCCEEDED);

    /* A graph that runs is stopped. What is gone of it is told to those who wait for it, and its key is the other's. */
    assert_int_equal(submit(rig, "r", LINES("!c make")), GRANARY_OK);
    assert_int_equal(rename_to(rig, "l", "r", true), GRANARY_OK);
    assert_int_equal(state_of(rig, "r"), GRANARY_GRAPH_SUCCEEDED);
    report(rig, "c", GRANARY_ECANCELLED, "", NULL);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "r", "b"), GRANARY_OK);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "r", ""), GRANARY_OK);
    assert_true(freed(rig, "n", 0));
    rig_destroy(rig);
}

static void
bad_submissions_leave_nothing(void **state)
{
    struct rig *rig = rig_create(1);
    char session[2000] = "";
    char key[80];

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("a make", "x bad")), GRANARY_EINVAL);
    assert_string_equal(rig->last->message, "node 'x' (bad): cannot be planned");
    assert_string_equal(rig->kept, "+graphs/k -graphs/k ");
    assert_int_equal(wait_for(rig, "k", 0, 0), GRANARY_ENOENT);
    memset(key, 'k', sizeof key);
    key[64] = '\0';
    assert_int_equal(submit(rig, key, LINES("a make")), GRANARY_EINVAL);
    key[63] = '\0';
    assert_int_equal(submit(rig, key, LINES("a make")), GRANARY_OK);
    assert_int_equal(submit(rig, "a\nb", LINES("a make")), GRANARY_EINVAL);
    assert_int_equal(submit(rig, "a\302\2332J", LINES("a make")), GRANARY_EINVAL);
    assert_int_equal(submit(rig, "a\2332J", LINES("a make")), GRANARY_EINVAL);
    assert_int_equal(run_in(rig, "s\302\2332J", "n", LINES("!a make"), 0), GRANARY_EINVAL);
    memset(session, 's', sizeof session - 1);
    assert_int_equal(run_in(rig, session, "n", LINES("!a make"), 0), GRANARY_EINVAL);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY__NOT_SET, "k", ""), GRANARY_EPROTO);
    rig_destroy(rig);
}

static void
waits_time_out(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    assert_int_equal(manager_deadline(rig->manager), INT64_MAX);
    assert_int_equal(wait_for(rig, "k", 0, 0), GRANARY_ETIMEDOUT);
    assert_int_equal(rig->last->status->state, GRANARY_GRAPH_RUNNING);
    (void)wait_for(rig, "k", 5, 1000);
    (void)wait_for(rig, "k", 3, 1000);
    assert_int_equal(manager_deadline(rig->manager), 3001000);
    manager_expire(rig->manager, 3000999);
    turn(rig);
    assert_string_equal(rig->replied, "1=OK 2=ETIMEDOUT ");
    manager_expire(rig->manager, 3001000);
    turn(rig);
    assert_string_equal(rig->replied, "1=OK 2=ETIMEDOUT 4=ETIMEDOUT ");
    succeed(rig, "a");
    assert_string_equal(rig->replied, "1=OK 2=ETIMEDOUT 4=ETIMEDOUT 3=OK ");
    assert_int_equal(manager_deadline(rig->manager), INT64_MAX);
    rig_destroy(rig);
}

static void
stop_and_delete_while_running(void **state)
{
    struct rig *rig = rig_create(2);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make", "!b make", "c make a b")), GRANARY_OK);
    (void)wait_for(rig, "k", -1, 0);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_STOP, "k", ""), GRANARY_OK);
    assert_string_equal(rig->replied, "1=OK 2=ECANCELLED 3=OK ");
    assert_string_equal(rig->cancelled, "1:1 2:1 ");
    /* A delete is answered when nothing of the graph runs any more. */
    (void)refer(rig, GRANARY__REQUEST__BODY_DELETE, "k", "");
    assert_string_equal(rig->replied, "1=OK 2=ECANCELLED 3=OK ");
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_EBUSY);
    succeed(rig, "a");
    assert_true(freed(rig, "k", 0));
    report(rig, "b", GRANARY_ECANCELLED, "", NULL);
    assert_string_equal(rig->replied, "1=OK 2=ECANCELLED 3=OK 5=EBUSY 4=OK ");
    assert_int_equal(wait_for(rig, "k", 0, 0), GRANARY_ENOENT);
    rig_destroy(rig);
}

static void
the_planner_is_fed_once(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("a feeds", "b make a", "!c make b")), GRANARY_OK);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_RUNNING);
    assert_int_equal(rig->last->status->subtasks_total, 1);
    succeed(rig, "a");
    assert_int_equal(fake_plan_feeds, 1);
    succeed_all(rig);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    /* What the planner finds in an answer fails the graph. */
    assert_int_equal(submit(rig, "l", LINES("a feeds", "!b make")), GRANARY_OK);
    fake_plan_feed_err = GRANARY_EINVAL;
    succeed(rig, "a");
    assert_int_equal(wait_for(rig, "l", -1, 0), GRANARY_EINVAL);
    assert_string_equal(rig->last->message, "node 'a': fed badly");
    rig_destroy(rig);
}

/* Graphs share an executor message by message, whoever came first. */
static void
graphs_take_turns(void **state)
{
    struct rig *rig = rig_create(1);
    char order[64] = "";

    (void)state;
    rig->nanoseconds = 20000000; /* long ones: each alone in its message */
    assert_int_equal(submit(rig, "k", LINES("k1 make", "k2 make", "k3 make", "k4 make")), GRANARY_OK);
    assert_int_equal(submit(rig, "l", LINES("l1 make", "l2 make", "l3 make", "l4 make")), GRANARY_OK);
    while (rig->count > 0) {
        size_t length = strlen(order);

        assert_int_equal(rig->count, 1); /* none behind a long one */
        (void)snprintf(order + length, sizeof order - length, "%s ", rig->given[0].node);
        succeed(rig, rig->given[0].node);
    }
    assert_string_equal(order, "k1 k2 l1 k3 l2 k4 l3 l4 ");
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(state_of(rig, "l"), GRANARY_GRAPH_SUCCEEDED);
    rig_destroy(rig);
}

/* Short ones come many to a message, shared evenly; all are done and each ran once. */
static void
short_subtasks_come_in_batches(void **state)
{
    struct rig *rig = rig_create(2);
    static char text[1000][16];
    static const char *lines[1000];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(text[i], sizeof text[i], "n%d null", i);
        lines[i] = text[i];
    }
    assert_int_equal(submit(rig, "k", lines, 1000), GRANARY_OK);
    assert_int_equal(rig->count, 2);
    succeed_all(rig);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(rig->last->status->subtasks_done, 1000);
    assert_true(rig->messages < 60);
    rig_destroy(rig);
}

/* What could not be made durable is forgotten, with everything it had begun. */
static void
rejected_submissions_are_undone(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    manager_reject(rig->manager, "k", GRANARY_EFULL, "the disk is full");
    manager_reject(rig->manager, "unknown", GRANARY_EFULL, "the disk is full");
    turn(rig);
    assert_string_equal(rig->cancelled, "1:1 ");
    succeed(rig, "a");
    assert_true(freed(rig, "k", 0));
    assert_int_equal(wait_for(rig, "k", 0, 0), GRANARY_ENOENT);
    rig_destroy(rig);
}

/* What nobody misses after a power cut is answered without waiting for the disk, from its submission to its end. */
static void
passing_graphs_wait_for_no_disk(void **state)
{
    struct rig *rig = rig_create(1);
    Granary__Submit body = GRANARY__SUBMIT__INIT;

    (void)state;
    body.key = (char *)(uintptr_t) "k";
    body.session = (char *)(uintptr_t) "s";
    body.passing = true;
    assert_int_equal(submit_body(rig, &body, LINES("!a make")), GRANARY_OK);
    succeed(rig, "a");
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "k", ""), GRANARY_OK);
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    succeed(rig, "a");
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "k", ""), GRANARY_OK);
    assert_string_equal(rig->replied, "1=OK~ 2=OK~ 3=OK 4=OK ");
    rig_destroy(rig);
}

/* What an earlier scheduler kept: an ended graph is known with its results, another one runs again under the same ids.
 */
static granary_err
submit_owned(struct rig *rig, const char *key, int64_t pid, uint64_t start_time, const char *const *lines, size_t count)
{
    Granary__Submit body = GRANARY__SUBMIT__INIT;

    body.key = (char *)(uintptr_t)key;
    body.session = (char *)(uintptr_t) "s";
    body.owned = true;
    body.owner_pid = pid;
    body.owner_start = start_time;
    return submit_body(rig, &body, lines, count);
}

static void
count_owner(void *context, int64_t pid, uint64_t start_time)
{
    assert_true(pid == 5 && start_time == 6);
    ++*(int *)context;
}

/* What a process owns goes with it: not what is another's, nobody's, or has got a name. */
static void
owned_graphs_go_with_their_process(void **state)
{
    struct rig *rig = rig_create(2);
    int told = 0;

    (void)state;
    assert_int_equal(submit_owned(rig, "done", 5, 6, LINES("!a make")), GRANARY_OK);
    succeed(rig, "a");
    assert_int_equal(submit_owned(rig, "named", 5, 6, LINES("!b make")), GRANARY_OK);
    succeed(rig, "b");
    assert_int_equal(rename_to(rig, "named", "table", false), GRANARY_OK);
    assert_int_equal(submit(rig, "nobody's", LINES("!c make")), GRANARY_OK);
    succeed(rig, "c");
    assert_int_equal(submit_owned(rig, "runs", 5, 6, LINES("!d make")), GRANARY_OK);
    manager_owners(rig->manager, count_owner, &told);
    assert_int_equal(told, 2);
    assert_int_equal(submit_owned(rig, "later's", 5, 7, LINES("!e make")), GRANARY_OK);

    rig->kept[0] = '\0';
    manager_owner_ended(rig->manager, 5, 6, 0);
    turn(rig);
    assert_non_null(strstr(rig->kept, "-graphs/done -ends/done -results/done "));
    assert_true(freed(rig, "done", 0));
    report(rig, "d", GRANARY_ECANCELLED, "", NULL);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "done", "a"), GRANARY_ENOENT);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "runs", "d"), GRANARY_ENOENT);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "table", "b"), GRANARY_OK);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "nobody's", "c"), GRANARY_OK);
    assert_int_equal(state_of(rig, "later's"), GRANARY_GRAPH_RUNNING);
    rig_destroy(rig);
}

/* Two schedulers make objects in one store: those of one key differ. A graph still goes with its process, unless it got a name. */
static void
ids_in_a_shared_store_are_ones_own(void **state)
{
    struct rig *rig = rig_create_member(1);
    struct rig *other = rig_create_member(1);
    granary_id id;

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    assert_int_equal(submit(other, "k", LINES("!a make")), GRANARY_OK);
    id = given_to(rig, "a")->output;
    assert_memory_not_equal(&id, &given_to(other, "a")->output, sizeof id);
    assert_int_equal(submit(rig, "k", LINES("!a make")), GRANARY_OK);
    assert_int_equal(rig->count, 1);

    succeed(other, "a");
    assert_int_equal(submit_owned(other, "owned", 5, 6, LINES("!b make")), GRANARY_OK);
    succeed(other, "b");
    assert_int_equal(submit_owned(other, "named", 5, 6, LINES("!c make")), GRANARY_OK);
    succeed(other, "c");
    assert_int_equal(rename_to(other, "named", "table", false), GRANARY_OK);
    manager_owner_ended(other->manager, 5, 6, 0);
    turn(other);
    assert_int_equal(refer(other, GRANARY__REQUEST__BODY_RESULT, "owned", "b"), GRANARY_ENOENT);
    assert_int_equal(refer(other, GRANARY__REQUEST__BODY_RESULT, "table", "c"), GRANARY_OK);
    rig_destroy(rig);
    rig_destroy(other);
}

/* The next scheduler knows the owners; a graph that has got a name since has none. */
static void
owners_are_kept(void **state)
{
    struct rig *rig = rig_create(1);
    Granary__Submit body = GRANARY__SUBMIT__INIT;
    uint8_t bytes[256];
    size_t size;
    int told = 0;

    (void)state;
    body.key = (char *)(uintptr_t) "k";
    body.session = (char *)(uintptr_t) "s";
    body.json = (char *)(uintptr_t) "{}";
    body.owned = true;
    body.owner_pid = 5;
    body.owner_start = 6;
    body.serial = 3;
    size = granary__submit__pack(&body, bytes);
    manager_restore_graph(rig->manager, "k", bytes, size);
    body.serial = 4;
    size = granary__submit__pack(&body, bytes);
    manager_restore_graph(rig->manager, "table", bytes, size);
    manager_owners(rig->manager, count_owner, &told);
    assert_int_equal(told, 1);
    manager_owner_ended(rig->manager, 5, 6, 0);
    turn(rig);
    told = 0;
    manager_owners(rig->manager, count_owner, &told);
    assert_int_equal(told, 0);
    rig_destroy(rig);
}

static void
kept_graphs_come_back(void **state)
{
    struct rig *rig = rig_create(1);
    Granary__GraphStatus status = GRANARY__GRAPH_STATUS__INIT;
    Granary__Result result = GRANARY__RESULT__INIT;
    Granary__Chunk chunk = GRANARY__CHUNK__INIT;
    granary_id id = fake_plan_object("k", 0);
    uint8_t bytes[512];

    (void)state;
    restore(rig, "l", "l~7", 7, LINES("!a make"));
    restore(rig, "k", "k", 3, LINES("!a make"));
    manager_restore_graph(rig->manager, "damaged", "\xff\xff", 2);
    status.state = GRANARY_GRAPH_SUCCEEDED;
    status.subtasks_total = 5;
    manager_restore_end(rig->manager, "k", bytes, granary__graph_status__pack(&status, bytes));
    manager_restore_end(rig->manager, "nobody", bytes, granary__graph_status__pack(&status, bytes));
    status.state = 77;
    manager_restore_end(rig->manager, "l", bytes, granary__graph_status__pack(&status, bytes));
    chunk.id = (ProtobufCBinaryData){.len = 16, .data = id.bytes};
    chunk.rows = 3;
    result.n_chunks = 1;
    result.chunks = (Granary__Chunk *[]){&chunk};
    manager_restore_result(rig->manager, "k", "a", bytes, granary__result__pack(&result, bytes));
    assert_int_equal(manager_restore_start(rig->manager), 1);
    turn(rig);
    assert_int_equal(rig->count, 0); /* an executor may have it at hand */
    manager_claims_end(rig->manager);
    turn(rig);

    assert_int_equal(rig->count, 1);
    assert_true(gr_id_equal(rig->given[0].output, fake_plan_object("l~7", 0)));
    succeed(rig, "a");
    assert_int_equal(state_of(rig, "l"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(state_of(rig, "k"), GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(rig->last->status->subtasks_total, 5);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_RESULT, "k", "a"), GRANARY_OK);
    assert_int_equal(rig->last->result->chunks[0]->rows, 3);
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_EXPLAIN, "k", ""), GRANARY_OK); /* planned once more */
    assert_int_equal(refer(rig, GRANARY__REQUEST__BODY_DELETE, "k", ""), GRANARY_OK);
    assert_true(freed(rig, "k", 0));
    rig_destroy(rig);
}

static void
the_cluster_is_described(void **state)
{
    struct rig *rig = rig_create(2);
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__ClusterInfo info = GRANARY__CLUSTER_INFO__INIT;

    (void)state;
    assert_int_equal(submit(rig, "k", LINES("!a make", "b make a")), GRANARY_OK);
    message.body_case = GRANARY__REQUEST__BODY_CLUSTER;
    message.cluster = &info;
    assert_int_equal(request(rig, &message, 0), GRANARY_OK);
    assert_int_equal(rig->last->cluster->n_executors, 2);
    assert_int_equal(rig->last->cluster->executors[0]->pid, 1001);
    assert_int_equal(rig->last->cluster->executors[0]->busy + rig->last->cluster->executors[1]->busy, 1);
    assert_int_equal(rig->last->cluster->graphs_running, 1);
    assert_int_equal(rig->last->cluster->subtasks_running, 1);
    rig_destroy(rig);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_from_submission_to_deletion),
        cmocka_unit_test(a_submission_may_wait_for_its_end),
        cmocka_unit_test(the_same_key_is_the_same_graph),
        cmocka_unit_test(a_key_passes_to_another_graph),
        cmocka_unit_test(owned_graphs_go_with_their_process),
        cmocka_unit_test(ids_in_a_shared_store_are_ones_own),
        cmocka_unit_test(owners_are_kept),
        cmocka_unit_test(bad_submissions_leave_nothing),
        cmocka_unit_test(waits_time_out),
        cmocka_unit_test(stop_and_delete_while_running),
        cmocka_unit_test(the_planner_is_fed_once),
        cmocka_unit_test(graphs_take_turns),
        cmocka_unit_test(short_subtasks_come_in_batches),
        cmocka_unit_test(rejected_submissions_are_undone),
        cmocka_unit_test(passing_graphs_wait_for_no_disk),
        cmocka_unit_test(kept_graphs_come_back),
        cmocka_unit_test(the_cluster_is_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
