/* Whose turn it is: priorities, shares of sessions, deadlines; and which of the ready subtasks fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "granary/graph.h"
#include "sched/manager/manager.h"
#include "unit/sched/build.h"

#define LINES(...) ((const char *const[]){__VA_ARGS__}), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

/* A subtask an executor was given and has not answered. */
struct given {
    uint32_t executor;
    uint64_t number;
    uint32_t attempt;
    char session[16];
    char node[16];
    Granary__Output output;
    uint8_t id[16];
};

struct rig {
    struct manager *manager;
    struct given given[2048];
    size_t count;
    char order[4096]; /* "session:node " of everything given */
    granary_err err;  /* of the last reply */
    char message[512];
    struct gr_buf kept; /* the last entry of space sessions */
    bool forgot;
    int64_t now_ns;
};

static void
take(struct rig *rig, const struct action *action)
{
    Granary__ToExecutor *order =
        granary__to_executor__unpack(NULL, action->bytes.size, (const uint8_t *)action->bytes.bytes);

    for (size_t i = 0; i < order->n_run; i++) {
        const Granary__Subtask *run = order->run[i];
        struct given *given = &rig->given[rig->count++];
        size_t length = strlen(rig->order);

        assert_true(rig->count < sizeof rig->given / sizeof rig->given[0]);
        *given = (struct given){.executor = action->executor, .number = run->number, .attempt = run->attempt};
        (void)snprintf(given->session, sizeof given->session, "%s", run->session);
        (void)snprintf(given->node, sizeof given->node, "%s", run->ops[0]->node);
        (void)snprintf(rig->order + length, sizeof rig->order - length, "%s:%s ", run->session, run->ops[0]->node);
        granary__output__init(&given->output);
        if (run->ops[0]->n_outputs > 0) {
            memcpy(given->id, run->ops[0]->outputs[0].data, sizeof given->id);
            given->output.bytes = 100;
        }
    }
    granary__to_executor__free_unpacked(order, NULL);
}

static void
turn(struct rig *rig)
{
    struct action *actions;
    size_t count;

    manager_dispatch(rig->manager, rig->now_ns);
    actions = manager_actions(rig->manager, &count);
    for (size_t i = 0; i < count; i++) {
        const struct action *action = &actions[i];

        if (action->kind == ACTION_SEND) {
            take(rig, action);
        } else if (action->kind == ACTION_REPLY) {
            Granary__Reply *reply =
                granary__reply__unpack(NULL, action->bytes.size, (const uint8_t *)action->bytes.bytes);

            rig->err = (granary_err)reply->err;
            (void)snprintf(rig->message, sizeof rig->message, "%s", reply->message);
            granary__reply__free_unpacked(reply, NULL);
        } else if (strcmp(action->space, MANAGER_SESSIONS) == 0) {
            rig->forgot = action->kind == ACTION_FORGET;
            rig->kept.size = 0;
            gr_buf_add(&rig->kept, action->bytes.bytes, action->bytes.size);
        }
    }
    manager_actions_done(rig->manager, count);
}

static struct rig *
rig_create(uint32_t executors)
{
    static const struct resource_amount resources[] = {{"gpu", 2}, {"license", 1}};
    struct rig *rig = calloc(1, sizeof *rig);

    rig->manager = manager_create(&(struct manager_options){
        .memory_bytes = 1000, .resources = resources, .resource_count = sizeof resources / sizeof resources[0]});
    for (uint32_t i = 1; i <= executors; i++) {
        manager_executor_joined(rig->manager, i, 0, 1000 + i);
    }
    return rig;
}

static void
rig_destroy(struct rig *rig)
{
    manager_destroy(rig->manager);
    gr_buf_free(&rig->kept);
    free(rig);
}

struct wish {
    const char *session;
    int32_t priority;
    int64_t deadline_ms;
};

static granary_err
submit(struct rig *rig, const char *key, struct wish wish, const char *const *lines, size_t count)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__Submit body = GRANARY__SUBMIT__INIT;

    body.key = (char *)(uintptr_t)key;
    body.session = (char *)(uintptr_t)wish.session;
    body.priority = wish.priority;
    body.recall = 1; /* the same again is computed again */
    body.deadline_ms = wish.deadline_ms;
    body.graph = build_graph(lines, count);
    message.body_case = GRANARY__REQUEST__BODY_SUBMIT;
    message.submit = &body;
    manager_request(rig->manager, 1, &message, 0);
    turn(rig);
    return rig->err;
}

/* count subtasks "n0", "n1" ... that wait for nothing */
static void
submit_many(struct rig *rig, const char *key, struct wish wish, size_t count)
{
    char(*texts)[24] = calloc(count, sizeof *texts);
    const char **lines = calloc(count, sizeof *lines);

    for (size_t i = 0; i < count; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "!n%zu make", i);
        lines[i] = texts[i];
    }
    assert_int_equal(submit(rig, key, wish, lines, count), GRANARY_OK);
    free(texts);
    free(lines);
}

static granary_err
ask(struct rig *rig, Granary__Request__BodyCase which, void *body)
{
    Granary__Request message = GRANARY__REQUEST__INIT;

    message.body_case = which;
    message.wait = body;
    rig->err = 1;
    manager_request(rig->manager, 1, &message, 0);
    turn(rig);
    return rig->err;
}

static granary_err
wait_once(struct rig *rig, const char *key)
{
    Granary__GraphWait body = GRANARY__GRAPH_WAIT__INIT;

    body.key = (char *)(uintptr_t)key;
    return ask(rig, GRANARY__REQUEST__BODY_WAIT, &body);
}

static granary_err
set_weight(struct rig *rig, const char *session, uint32_t weight)
{
    Granary__SessionSet body = GRANARY__SESSION_SET__INIT;

    body.session = (char *)(uintptr_t)session;
    body.weight = weight;
    return ask(rig, GRANARY__REQUEST__BODY_SESSION, &body);
}

/* The oldest subtask given succeeds after so long. */
static void
succeed(struct rig *rig, uint64_t nanoseconds)
{
    struct given given = rig->given[0];
    Granary__Done done = GRANARY__DONE__INIT;
    Granary__Output *outputs[] = {&given.output};

    assert_true(rig->count > 0);
    memmove(rig->given, rig->given + 1, --rig->count * sizeof rig->given[0]);
    given.output.id = (ProtobufCBinaryData){.len = sizeof given.id, .data = given.id};
    done.number = given.number;
    done.attempt = given.attempt;
    done.nanoseconds = nanoseconds;
    done.n_outputs = 1;
    done.outputs = outputs;
    manager_done(rig->manager, given.executor, &done);
    turn(rig);
}

/* The subtask of that node succeeds. */
static void
succeed_node(struct rig *rig, const char *node, uint64_t nanoseconds, uint64_t out_bytes)
{
    for (size_t i = 0; i < rig->count; i++) {
        if (strcmp(rig->given[i].node, node) == 0) {
            struct given first = rig->given[0];

            rig->given[0] = rig->given[i];
            rig->given[i] = first;
            rig->given[0].output.bytes = out_bytes;
            succeed(rig, nanoseconds);
            return;
        }
    }
    fail_msg("%s was not given", node);
}

static void
pass(struct rig *rig, int64_t now_ns)
{
    rig->now_ns = now_ns;
    manager_expire(rig->manager, now_ns);
    turn(rig);
}

/* ---- */

static void
priority_goes_first(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    submit_many(rig, "low", (struct wish){"a", -1, 0}, 2);
    submit_many(rig, "usual", (struct wish){"a", 0, 0}, 2);
    submit_many(rig, "high", (struct wish){"b", 7, 0}, 2);
    for (int i = 0; i < 6; i++) {
        succeed(rig, 20000000);
    }
    assert_string_equal(rig->order, "a:n0 b:n0 b:n1 a:n0 a:n1 a:n1 ");
    assert_int_equal(wait_once(rig, "low"), GRANARY_OK);
    rig_destroy(rig);
}

/* Give `count` subtasks, and tell how many of them were of session a. */
static size_t
of_a(struct rig *rig, size_t count, uint64_t a_ns, uint64_t b_ns)
{
    size_t mine = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_a = strcmp(rig->given[0].session, "a") == 0;

        mine += is_a;
        succeed(rig, is_a ? a_ns : b_ns);
    }
    return mine;
}

static void
sessions_share_time_not_turns(void **state)
{
    struct rig *rig = rig_create(1);
    size_t mine;

    (void)state;
    submit_many(rig, "ka", (struct wish){"a", 0, 0}, 400);
    submit_many(rig, "kb", (struct wish){"b", 0, 0}, 400);
    /* b's take three times as long, so that a gets three of four. */
    mine = of_a(rig, 100, 20000000, 60000000);
    assert_in_range(mine, 73, 77);
    rig_destroy(rig);
}

static void
weights_are_shares(void **state)
{
    struct rig *rig = rig_create(1);
    size_t mine;

    (void)state;
    assert_int_equal(set_weight(rig, "a", 0), GRANARY_EINVAL);
    assert_int_equal(set_weight(rig, "a", 1001), GRANARY_EINVAL);
    assert_int_equal(set_weight(rig, "a", 300), GRANARY_OK);
    assert_true(rig->kept.size > 0);
    submit_many(rig, "ka", (struct wish){"a", 0, 0}, 400);
    submit_many(rig, "kb", (struct wish){"b", 0, 0}, 400);
    mine = of_a(rig, 100, 20000000, 20000000);
    assert_in_range(mine, 73, 77);
    rig_destroy(rig);
}

static void
weights_are_kept(void **state)
{
    struct rig *rig = rig_create(1);
    struct rig *next = rig_create(1);
    size_t mine;

    (void)state;
    assert_int_equal(set_weight(rig, "a", 300), GRANARY_OK);
    manager_restore_session(next->manager, "a", rig->kept.bytes, rig->kept.size);
    manager_restore_session(next->manager, "b", "\xff", 1);
    submit_many(next, "ka", (struct wish){"a", 0, 0}, 400);
    submit_many(next, "kb", (struct wish){"b", 0, 0}, 400);
    mine = of_a(next, 100, 20000000, 20000000);
    assert_in_range(mine, 73, 77);
    assert_int_equal(set_weight(next, "a", 100), GRANARY_OK);
    assert_true(next->forgot);
    rig_destroy(rig);
    rig_destroy(next);
}

static void
idle_time_is_not_saved(void **state)
{
    struct rig *rig = rig_create(1);
    size_t mine;

    (void)state;
    submit_many(rig, "first", (struct wish){"a", 0, 0}, 1);
    submit_many(rig, "kb", (struct wish){"b", 0, 0}, 400);
    (void)of_a(rig, 101, 20000000, 20000000); /* a has used 1, b 100 */
    submit_many(rig, "ka", (struct wish){"a", 0, 0}, 400);
    mine = of_a(rig, 100, 20000000, 20000000);
    assert_in_range(mine, 48, 52);
    rig_destroy(rig);
}

static void
a_tiny_graph_waits_for_a_message_or_two(void **state)
{
    struct rig *rig = rig_create(1);
    size_t before;

    (void)state;
    submit_many(rig, "big", (struct wish){"a", 0, 0}, 1000);
    for (int i = 0; i < 100; i++) {
        succeed(rig, 100000);
    }
    rig->order[0] = '\0';
    before = rig->count;
    submit_many(rig, "tiny", (struct wish){"b", 0, 0}, 1);
    for (size_t i = 0; i < before + 10 && strstr(rig->order, "b:") == NULL; i++) {
        succeed(rig, 100000);
    }
    assert_memory_equal(rig->order, "b:n0 ", 5); /* the next message after those on their way */
    rig_destroy(rig);
}

static void
graphs_past_their_deadline_fail(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    submit_many(rig, "late", (struct wish){"a", 0, 5000}, 3);
    submit_many(rig, "soon", (struct wish){"a", 0, 2000}, 1);
    submit_many(rig, "free", (struct wish){"a", 0, 0}, 1);
    pass(rig, 1999000000);
    assert_int_equal(manager_deadline(rig->manager), 2000000000);
    succeed(rig, 20000000);
    pass(rig, 2000000000);
    assert_int_equal(wait_once(rig, "soon"), GRANARY_ETIMEDOUT);
    assert_non_null(strstr(rig->message, "graph 'soon'"));
    /* The wall clock is set a year ahead: nobody has had less time for that. */
    manager_set_unix_offset(rig->manager, 31536000000000000);
    pass(rig, 4999999999);
    assert_int_equal(wait_once(rig, "late"), GRANARY_ETIMEDOUT); /* the wait, not the graph */
    assert_null(strstr(rig->message, "deadline"));
    pass(rig, 5000000000);
    assert_int_equal(wait_once(rig, "late"), GRANARY_ETIMEDOUT);
    assert_non_null(strstr(rig->message, "1 of 3 subtasks had succeeded"));
    assert_int_equal(manager_deadline(rig->manager), INT64_MAX);
    while (rig->count > 0) {
        succeed(rig, 1000);
    }
    assert_int_equal(wait_once(rig, "free"), GRANARY_OK);
    rig_destroy(rig);
}

/* A large graph is at work when small ones come: they go before its rest, and it still gets every fourth turn. */
static void
small_graphs_overtake_large_ones(void **state)
{
    struct rig *rig = rig_create(1);
    char seen[64] = "";

    (void)state;
    submit_many(rig, "large", (struct wish){"a", 0, 0}, 40);
    for (int i = 0; i < 3; i++) {
        succeed(rig, 20000000);
    }
    for (int i = 0; i < 9; i++) {
        char key[16];
        char line[16];

        (void)snprintf(key, sizeof key, "small%d", i);
        (void)snprintf(line, sizeof line, "!x%d make", i);
        assert_int_equal(submit(rig, key, (struct wish){"a", 0, 0}, (const char *[]){line}, 1), GRANARY_OK);
    }
    succeed(rig, 20000000); /* what was at work as they came */
    for (int i = 0; i < 14; i++) {
        seen[i] = rig->given[0].node[0];
        succeed(rig, 20000000);
    }
    assert_non_null(strstr("xxxnxxxnxxxnnnnn xxnxxxnxxxnxnnnn xnxxxnxxxnxxnnnn nxxxnxxxnxxxnnnn", seen));
    rig_destroy(rig);
}

/* ---- what fits ---- */

static void
needs_are_granted_whole_and_given_back(void **state)
{
    struct rig *rig = rig_create(3);

    (void)state;
    assert_int_equal(
        submit(rig, "k", (struct wish){"a", 0, 0},
               LINES("a make need_gpu=2 need_license=1", "b make need_gpu=1", "c make need_license=1", "d make")),
        GRANARY_OK);
    /* a has all there is: b and c wait, and d is not hidden behind them. */
    assert_string_equal(rig->order, "a:a a:d ");
    succeed_node(rig, "a", 20000000, 1);
    assert_string_equal(rig->order, "a:a a:d a:b a:c ");
    rig_destroy(rig);
}

static void
more_than_there_is_is_refused(void **state)
{
    struct rig *rig = rig_create(2);

    (void)state;
    assert_int_equal(submit(rig, "k", (struct wish){"a", 0, 0}, LINES("a make need_gpu=3")), GRANARY_EINVAL);
    assert_non_null(strstr(rig->message, "node 'a': resources: 3 of 'gpu'"));
    assert_non_null(strstr(rig->message, "2 slots, 1000 bytes of memory, 2 gpu, 1 license"));
    assert_int_equal(submit(rig, "k", (struct wish){"a", 0, 0}, LINES("a make need_fpga=1")), GRANARY_EINVAL);
    assert_int_equal(submit(rig, "k", (struct wish){"a", 0, 0}, LINES("a make need_slots=3")), GRANARY_EINVAL);
    assert_int_equal(submit(rig, "k", (struct wish){"a", 0, 0}, LINES("a make need_memory=1001")), GRANARY_EINVAL);
    assert_int_equal(
        submit(rig, "k", (struct wish){"a", 0, 0}, LINES("a make need_memory=1000 need_slots=2 need_gpu=2")),
        GRANARY_OK);
    rig_destroy(rig);
}

static void
several_slots_wait_for_idle_executors(void **state)
{
    struct rig *rig = rig_create(2);

    (void)state;
    submit_many(rig, "small", (struct wish){"a", 0, 0}, 100);
    assert_int_equal(submit(rig, "wide", (struct wish){"b", 0, 0}, LINES("w make need_slots=2")), GRANARY_OK);
    for (int i = 0; i < 60 && strstr(rig->order, "b:w") == NULL; i++) {
        succeed(rig, 20000000);
    }
    /* It was not starved, and has both. */
    assert_non_null(strstr(rig->order, "b:w "));
    assert_int_equal(rig->count, 1);
    succeed(rig, 20000000);
    assert_int_equal(rig->count, 2);
    rig_destroy(rig);
}

static void
much_is_not_starved_by_little(void **state)
{
    struct rig *rig = rig_create(2);

    (void)state;
    submit_many(rig, "small", (struct wish){"a", 0, 0}, 1);
    succeed(rig, 20000000);
    rig->order[0] = '\0';
    assert_int_equal(submit(rig, "s", (struct wish){"a", 0, 0},
                            LINES("a make out_bytes=300 need_gpu=1", "b make out_bytes=300 need_gpu=1",
                                  "c make out_bytes=300 need_gpu=1", "d make out_bytes=300 need_gpu=1",
                                  "e make out_bytes=300 need_gpu=1", "f make out_bytes=300 need_gpu=1",
                                  "g make out_bytes=300 need_gpu=1", "h make out_bytes=300 need_gpu=1",
                                  "i make out_bytes=300 need_gpu=1", "j make out_bytes=300 need_gpu=1",
                                  "k make out_bytes=300 need_gpu=1", "l make out_bytes=300 need_gpu=1",
                                  "m make out_bytes=300 need_gpu=1", "n make out_bytes=300 need_gpu=1",
                                  "o make out_bytes=300 need_gpu=1", "p make out_bytes=300 need_gpu=1",
                                  "q make out_bytes=300 need_gpu=1", "r make out_bytes=300 need_gpu=1",
                                  "s make out_bytes=300 need_gpu=1", "t make out_bytes=300 need_gpu=1",
                                  "u make out_bytes=300 need_gpu=1")),
                     GRANARY_OK);
    assert_int_equal(submit(rig, "gpus", (struct wish){"b", 0, 0}, LINES("G make need_gpu=2")), GRANARY_OK);
    assert_int_equal(submit(rig, "large", (struct wish){"c", 0, 0}, LINES("L make need_memory=900")), GRANARY_OK);
    for (int i = 0; i < 20 && (strstr(rig->order, "b:G") == NULL || strstr(rig->order, "c:L") == NULL); i++) {
        succeed(rig, 20000000);
    }
    assert_non_null(strstr(rig->order, "b:G "));
    assert_non_null(strstr(rig->order, "c:L "));
    rig_destroy(rig);
}

static void
roots_are_not_given_out_ahead(void **state)
{
    struct rig *rig = rig_create(3);

    (void)state;
    /* Leaves first in the order of the graph: left alone, all would be made before the first is read. */
    assert_int_equal(submit(rig, "k", (struct wish){"a", 0, 0},
                            LINES("a make", "b make", "c make", "d make", "e make", "f make", "x make a b",
                                  "y make c d", "z make e f", "!s make x y z")),
                     GRANARY_OK);
    assert_string_equal(rig->order, "a:a a:b a:c ");
    succeed_node(rig, "a", 20000000, 150);
    succeed_node(rig, "b", 20000000, 150);
    assert_string_equal(rig->order, "a:a a:b a:c a:d a:x "); /* x before e, though e was first */
    succeed_node(rig, "c", 20000000, 150);
    succeed_node(rig, "d", 20000000, 150);
    succeed_node(rig, "e", 20000000, 150);
    /* An executor is free, but while x and y run 750 bytes not read yet are more than half of the memory. */
    assert_string_equal(rig->order, "a:a a:b a:c a:d a:x a:e a:y ");
    assert_int_equal(rig->count, 2);
    succeed_node(rig, "x", 20000000, 10);
    assert_non_null(strstr(rig->order, "a:f"));
    rig_destroy(rig);
}

static void
estimates_outlive_their_graph(void **state)
{
    struct rig *rig = rig_create(1);

    (void)state;
    /* The planner expects 100 bytes, they are 400: after that two do not fit together. */
    assert_int_equal(submit(rig, "k", (struct wish){"a", 0, 0}, LINES("a make out_bytes=100")), GRANARY_OK);
    succeed_node(rig, "a", 1000, 400);
    assert_int_equal(submit(rig, "l", (struct wish){"a", 0, 0},
                            LINES("b make out_bytes=100", "c make out_bytes=100", "d make out_bytes=100")),
                     GRANARY_OK);
    assert_int_equal(rig->count, 2);
    rig_destroy(rig);
}

static void
one_larger_than_memory_runs_alone(void **state)
{
    struct rig *rig = rig_create(3);

    (void)state;
    submit_many(rig, "small", (struct wish){"a", 0, 0}, 1);
    succeed(rig, 20000000);
    assert_int_equal(submit(rig, "k", (struct wish){"a", 0, 0},
                            LINES("a make out_bytes=300", "b make out_bytes=5000", "c make out_bytes=300")),
                     GRANARY_OK);
    assert_int_equal(rig->count, 1);
    succeed(rig, 20000000);
    assert_int_equal(rig->count, 1);
    assert_string_equal(rig->given[0].node, "b");
    succeed(rig, 20000000);
    assert_string_equal(rig->given[0].node, "c");
    rig_destroy(rig);
}

/* Twenty-one outputs, each a twentieth of memory: twenty at a time. */
static void
many_outputs_fill_memory_and_no_more(void **state)
{
    struct rig *rig = rig_create(30);
    char texts[21][32];
    const char *lines[21];

    (void)state;
    for (int i = 0; i < 21; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "n%d make out_bytes=50", i);
        lines[i] = texts[i];
    }
    assert_int_equal(submit(rig, "k", (struct wish){"a", 0, 0}, lines, 21), GRANARY_OK);
    assert_int_equal(rig->count, 20);
    succeed_node(rig, "n0", 20000000, 40);
    assert_int_equal(rig->count, 20);
    assert_string_equal(rig->given[19].node, "n20");
    rig_destroy(rig);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priority_goes_first),
        cmocka_unit_test(sessions_share_time_not_turns),
        cmocka_unit_test(weights_are_shares),
        cmocka_unit_test(weights_are_kept),
        cmocka_unit_test(idle_time_is_not_saved),
        cmocka_unit_test(a_tiny_graph_waits_for_a_message_or_two),
        cmocka_unit_test(small_graphs_overtake_large_ones),
        cmocka_unit_test(graphs_past_their_deadline_fail),
        cmocka_unit_test(needs_are_granted_whole_and_given_back),
        cmocka_unit_test(more_than_there_is_is_refused),
        cmocka_unit_test(several_slots_wait_for_idle_executors),
        cmocka_unit_test(much_is_not_starved_by_little),
        cmocka_unit_test(roots_are_not_given_out_ahead),
        cmocka_unit_test(estimates_outlive_their_graph),
        cmocka_unit_test(one_larger_than_memory_runs_alone),
        cmocka_unit_test(many_outputs_fill_memory_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
