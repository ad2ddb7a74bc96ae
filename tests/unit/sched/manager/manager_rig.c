#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "manager_rig.h"

#include "base/id.h"
#include "graph/graph.h"
#include "unit/sched/build.h"

static void
note_ids(char *text, size_t room, const ProtobufCBinaryData *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(text);
        char hex[GRANARY_ID_TEXT + 1];
        granary_id id;

        memcpy(id.bytes, ids[i].data, sizeof id.bytes);
        granary_id_format(id, hex);
        (void)snprintf(text + length, room - length, "%s ", hex);
    }
}

static void
take_order(struct rig *rig, const struct action *action)
{
    Granary__ToExecutor *order =
        granary__to_executor__unpack(NULL, action->bytes.size, (const uint8_t *)action->bytes.bytes);
    size_t length;

    assert_non_null(order);
    assert_int_equal(order->version, GRANARY__VERSION__PROTOCOL);
    rig->messages += order->n_run > 0;
    if (order->die) {
        length = strlen(rig->dismissed);
        (void)snprintf(rig->dismissed + length, sizeof rig->dismissed - length, "%u%s ", action->executor,
                       order->replace ? "+" : "");
    }
    if (order->pool != NULL) {
        assert_int_equal(action->executor, EXECUTOR_POOL);
        assert_int_equal(order->pool->verb, GRANARY__POOL_ORDER__VERB__ADD);
        rig->added += order->pool->count;
    }
    for (size_t i = 0; i < order->n_exports; i++) {
        length = strlen(rig->exported);
        (void)snprintf(rig->exported + length, sizeof rig->exported - length, "%u:%s.%u ", action->executor,
                       order->exports[i]->name, (unsigned)order->exports[i]->sequence);
    }
    for (size_t i = 0; i < order->n_run; i++) {
        struct given *given = &rig->given[rig->count++];

        assert_true(rig->count <= sizeof rig->given / sizeof rig->given[0]);
        assert_string_equal(order->run[i]->session, "s");
        *given = (struct given){
            .executor = action->executor, .number = order->run[i]->number, .attempt = order->run[i]->attempt};
        (void)snprintf(given->node, sizeof given->node, "%s", order->run[i]->ops[0]->node);
        (void)snprintf(given->op, sizeof given->op, "%s", order->run[i]->ops[0]->op);
        if (order->run[i]->ops[0]->n_inputs > 0) {
            memcpy(given->input.bytes, order->run[i]->ops[0]->inputs[0]->object.data, 16);
        }
        if (order->run[i]->ops[0]->n_outputs > 0) {
            memcpy(given->output.bytes, order->run[i]->ops[0]->outputs[0].data, 16);
        }
    }
    for (size_t i = 0; i < order->n_errors; i++) {
        granary_id id;
        char text[GRANARY_ID_TEXT + 1];

        assert_string_equal(order->free_session, "s");
        memcpy(id.bytes, order->errors[i]->id.data, 16);
        granary_id_format(id, text);
        length = strlen(rig->errors);
        (void)snprintf(rig->errors + length, sizeof rig->errors - length, "%s %s %s\n", text,
                       granary_error_name((granary_err)order->errors[i]->err), order->errors[i]->message);
    }
    note_ids(rig->freed, sizeof rig->freed, order->free, order->n_free);
    note_ids(rig->ended, sizeof rig->ended, order->end_snapshot, order->n_end_snapshot);
    assert_true(order->n_free + order->n_end_snapshot == 0 || strcmp(order->free_session, "s") == 0);
    if (order->n_cancel > 0) {
        length = strlen(rig->cancelled);
        (void)snprintf(rig->cancelled + length, sizeof rig->cancelled - length, "%u:%zu ", action->executor,
                       order->n_cancel);
    }
    granary__to_executor__free_unpacked(order, NULL);
}

/* What is kept for a scheduler's death is looked at by test_resume; the others look at what users asked to be kept. */
static bool
tells(const char *space)
{
    return strcmp(space, MANAGER_GRAPHS) == 0 || strcmp(space, MANAGER_ENDS) == 0 ||
           strcmp(space, MANAGER_RESULTS) == 0 || strcmp(space, MANAGER_SESSIONS) == 0 ||
           strcmp(space, MANAGER_FUNCTIONS) == 0 || strcmp(space, MANAGER_RECALLS) == 0;
}

void
turn(struct rig *rig)
{
    struct action *actions;
    size_t count;

    manager_dispatch(rig->manager, 0);
    actions = manager_actions(rig->manager, &count);
    rig->kept_first = false;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(rig->kept);

        rig->kept_first = rig->kept_first || actions[i].before_sends;
        switch (actions[i].kind) {
        case ACTION_SEND:
            take_order(rig, &actions[i]);
            break;
        case ACTION_CANCEL:
            length = strlen(rig->asked);
            (void)snprintf(rig->asked + length, sizeof rig->asked - length, "cancel %u:%u ", actions[i].executor,
                           (unsigned)actions[i].subtask);
            break;
        case ACTION_UNLOG:
        case ACTION_RELOG:
        case ACTION_SAVE:
            break;
        case ACTION_MOVE:
            (void)snprintf(rig->kept + length, sizeof rig->kept - length, "%s/%.*s>%.*s ", actions[i].space,
                           (int)actions[i].entry_key.size, actions[i].entry_key.bytes, (int)actions[i].bytes.size,
                           actions[i].bytes.bytes);
            break;
        case ACTION_KILL:
            length = strlen(rig->asked);
            (void)snprintf(rig->asked + length, sizeof rig->asked - length, "kill %u ", actions[i].executor);
            break;
        case ACTION_KEEP:
        case ACTION_FORGET:
            if (!tells(actions[i].space)) {
                break;
            }
            (void)snprintf(rig->kept + length, sizeof rig->kept - length, "%c%s/%.*s ",
                           actions[i].kind == ACTION_KEEP ? '+' : '-', actions[i].space, (int)actions[i].entry_key.size,
                           actions[i].entry_key.bytes);
            break;
        case ACTION_FORGET_ALL:
        case ACTION_ACCEPT:
            break;
        case ACTION_REPLY:
            if (rig->last != NULL) {
                granary__reply__free_unpacked(rig->last, NULL);
            }
            rig->last = granary__reply__unpack(NULL, actions[i].bytes.size, (const uint8_t *)actions[i].bytes.bytes);
            length = strlen(rig->replied);
            (void)snprintf(rig->replied + length, sizeof rig->replied - length, "%d=%s%s ", (int)actions[i].ticket,
                           granary_error_name((granary_err)rig->last->err), actions[i].unsynced ? "~" : "");
            break;
        }
    }
    manager_actions_done(rig->manager, count);
}

static struct rig *
create(uint32_t executors, bool store_is_shared)
{
    struct rig *rig = calloc(1, sizeof *rig);

    rig->manager = manager_create(&(struct manager_options){.memory_bytes = 1000, .store_is_shared = store_is_shared});
    for (uint32_t i = 1; i <= executors; i++) {
        manager_executor_joined(rig->manager, i, 0, 1000 + i);
    }
    rig->nanoseconds = 1000;
    fake_plan_feeds = 0;
    fake_plan_feed_err = GRANARY_OK;
    return rig;
}

struct rig *
rig_create(uint32_t executors)
{
    return create(executors, false);
}

struct rig *
rig_create_member(uint32_t executors)
{
    return create(executors, true);
}

void
rig_destroy(struct rig *rig)
{
    if (rig->last != NULL) {
        granary__reply__free_unpacked(rig->last, NULL);
    }
    manager_destroy(rig->manager);
    free(rig);
}

granary_err
request(struct rig *rig, Granary__Request *message, int64_t now_ns)
{
    manager_request(rig->manager, ++rig->ticket, message, now_ns);
    turn(rig);
    return rig->last == NULL ? GRANARY_OK : (granary_err)rig->last->err;
}

granary_err
submit(struct rig *rig, const char *key, const char *const *lines, size_t count)
{
    return run(rig, key, lines, count, 0);
}

granary_err
run(struct rig *rig, const char *key, const char *const *lines, size_t count, int64_t wait_ms)
{
    return run_in(rig, "s", key, lines, count, wait_ms);
}

granary_err
submit_body(struct rig *rig, Granary__Submit *body, const char *const *lines, size_t count)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    granary_err err;

    body->graph = build_graph(lines, count);
    body->recall = body->recall == 0 && !rig->recalls ? 1 : body->recall;
    message.body_case = GRANARY__REQUEST__BODY_SUBMIT;
    message.submit = body;
    err = request(rig, &message, 0);
    if (body->graph != NULL) {
        granary__graph__free_unpacked(body->graph, NULL);
    }
    return err;
}

granary_err
run_in(struct rig *rig, const char *session, const char *key, const char *const *lines, size_t count, int64_t wait_ms)
{
    Granary__Submit body = GRANARY__SUBMIT__INIT;

    body.key = (char *)(uintptr_t)key;
    body.session = (char *)(uintptr_t)session;
    body.wait_ms = wait_ms;
    return submit_body(rig, &body, lines, count);
}

granary_err
wait_for(struct rig *rig, const char *key, int64_t timeout_ms, int64_t now_ns)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__GraphWait body = GRANARY__GRAPH_WAIT__INIT;

    body.key = (char *)(uintptr_t)key;
    body.timeout_ms = timeout_ms;
    message.body_case = GRANARY__REQUEST__BODY_WAIT;
    message.wait = &body;
    return request(rig, &message, now_ns);
}

granary_err
refer(struct rig *rig, Granary__Request__BodyCase which, const char *key, const char *target)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__GraphRef body = GRANARY__GRAPH_REF__INIT;

    body.key = (char *)(uintptr_t)key;
    body.target = (char *)(uintptr_t)target;
    message.body_case = which;
    message.stop = &body;
    return request(rig, &message, 0);
}

struct given *
given_to(struct rig *rig, const char *node)
{
    for (size_t i = 0; i < rig->count; i++) {
        if (strcmp(rig->given[i].node, node) == 0) {
            return &rig->given[i];
        }
    }
    return NULL;
}

void
report(struct rig *rig, const char *node, granary_err err, const char *message, const char *lost_of)
{
    struct given *at = given_to(rig, node);
    struct given given;
    Granary__Done done = GRANARY__DONE__INIT;
    Granary__Output output = GRANARY__OUTPUT__INIT;
    Granary__Output *outputs[] = {&output};
    granary_id lost;
    ProtobufCBinaryData lost_data = {.len = 16, .data = lost.bytes};

    assert_non_null(at);
    given = *at;
    memmove(at, at + 1, (size_t)(rig->given + --rig->count - at) * sizeof *at);
    done.number = given.number;
    done.attempt = given.attempt;
    done.err = err;
    done.message = (char *)(uintptr_t)message;
    done.nanoseconds = rig->nanoseconds;
    done.go_on = rig->go_on;
    done.user_failed = rig->user_failed;
    rig->user_failed = false;
    if (err == GRANARY_OK && !gr_id_is_zero(given.output)) {
        output.id = (ProtobufCBinaryData){.len = 16, .data = given.output.bytes};
        output.rows = 10;
        output.bytes = 100;
        done.n_outputs = 1;
        done.outputs = outputs;
    }
    if (lost_of != NULL) {
        lost = fake_plan_object("k", (uint64_t)(lost_of[0] - 'a'));
        done.n_lost = 1;
        done.lost = &lost_data;
    }
    manager_done(rig->manager, given.executor, &done);
    if (rig->go_on != NULL) {
        granary__graph__free_unpacked(rig->go_on, NULL);
        rig->go_on = NULL;
    }
    turn(rig);
}

void
succeed(struct rig *rig, const char *node)
{
    report(rig, node, GRANARY_OK, "", NULL);
}

void
succeed_all(struct rig *rig)
{
    while (rig->count > 0) {
        succeed(rig, rig->given[0].node);
    }
}

void
restore(struct rig *rig, const char *key, const char *id_key, uint32_t serial, const char *const *lines, size_t count)
{
    Granary__Submit body = GRANARY__SUBMIT__INIT;
    uint8_t bytes[512];

    body.key = (char *)(uintptr_t)id_key;
    body.serial = serial;
    body.session = (char *)(uintptr_t) "s";
    body.graph = build_graph(lines, count);
    assert_true(granary__submit__get_packed_size(&body) <= sizeof bytes);
    manager_restore_graph(rig->manager, key, bytes, granary__submit__pack(&body, bytes));
    granary__graph__free_unpacked(body.graph, NULL);
}

bool
freed(const struct rig *rig, const char *key, uint64_t number)
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(fake_plan_object(key, number), text);
    return strstr(rig->freed, text) != NULL;
}

granary_graph_state
state_of(struct rig *rig, const char *key)
{
    (void)wait_for(rig, key, 0, 0);
    return rig->last->status == NULL ? 0 : (granary_graph_state)rig->last->status->state;
}
