#include "sched/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sched/core/manager.h"

#define MEMORY_BYTES ((uint64_t)1 << 20)
#define TURNS_MAX    10000
#define HONEST_KEY   "honest"

static void
violated(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", what, granary_error_message());
    abort();
}

static void
manager_begin(struct play *play)
{
    static const struct resource_amount devices[] = {{"device", 2}};

    play->manager = manager_create(&(struct manager_options){.memory_bytes = MEMORY_BYTES,
                                                             .unix_offset_ns = (int64_t)1000000 * 1000000,
                                                             .resources = devices,
                                                             .resource_count = 1});
    if (play->manager == NULL) {
        abort();
    }
}

void
play_begin(struct play *play)
{
    *play = (struct play){.now_ns = 1};
    manager_begin(play);
    if (keeper_open(&play->keeper, &state_memory, "") != GRANARY_OK) {
        abort();
    }
}

static void
forget_given(struct play *play, uint32_t executor)
{
    size_t left = 0;

    for (size_t i = 0; i < play->given_count; i++) {
        if (executor == 0 || play->given[i].executor == executor) {
            granary__subtask__free_unpacked(play->given[i].subtask, NULL);
        } else {
            play->given[left++] = play->given[i];
        }
    }
    play->given_count = left;
}

void
play_end(struct play *play)
{
    forget_given(play, 0);
    manager_destroy(play->manager);
    keeper_close(&play->keeper);
}

/* ---- what the scheduler says ---- */

static void
learn_number(struct play *play, uint64_t number)
{
    play->numbers[play->number_count++ % (sizeof play->numbers / sizeof play->numbers[0])] = number;
}

static void
learn_id(struct play *play, ProtobufCBinaryData id)
{
    if (id.len == 16) {
        memcpy(play->ids[play->id_count++ % (sizeof play->ids / sizeof play->ids[0])], id.data, 16);
    }
}

static void
take_subtask(struct play *play, uint32_t executor, Granary__Subtask *subtask)
{
    if (play->given_count == PLAY_GIVEN) { /* more than credit allows */
        violated("too much is given");
    }
    learn_number(play, subtask->number);
    for (size_t i = 0; i < subtask->n_ops; i++) {
        for (size_t o = 0; o < subtask->ops[i]->n_outputs; o++) {
            learn_id(play, subtask->ops[i]->outputs[o]);
        }
    }
    play->given[play->given_count++] = (struct play_given){.executor = executor, .subtask = subtask};
}

static bool
is_there(const struct play *play, uint32_t executor)
{
    bool there = false;

    for (uint32_t i = 0; i < PLAY_EXECUTORS; i++) {
        there = there || play->executors[i] == executor;
    }
    return executor != 0 && there;
}

static void
cancel_given(struct play *play, uint32_t executor, uint64_t number)
{
    for (size_t i = 0; i < play->given_count; i++) {
        if (play->given[i].executor == executor && play->given[i].subtask->number == number) {
            play_answers(play, i, GRANARY_ECANCELLED);
            return;
        }
    }
}

static void
gone(struct play *play, uint32_t executor)
{
    for (uint32_t i = 0; i < PLAY_EXECUTORS; i++) {
        if (play->executors[i] == executor) {
            play_dies(play, i);
        }
    }
}

static void
take_order(struct play *play, const struct action *action)
{
    Granary__ToExecutor *order =
        granary__to_executor__unpack(NULL, action->bytes.size, (const uint8_t *)action->bytes.bytes);

    if (order == NULL) {
        violated("an order cannot be read");
    }
    if (action->executor == EXECUTOR_POOL || !is_there(play, action->executor)) {
        granary__to_executor__free_unpacked(order, NULL);
        return;
    }
    for (size_t i = 0; i < order->n_run; i++) {
        take_subtask(play, action->executor, order->run[i]);
        order->run[i] = NULL;
    }
    for (size_t i = 0; i < order->n_cancel; i++) {
        cancel_given(play, action->executor, order->cancel[i]);
    }
    if (order->free_order > 0) {
        learn_number(play, order->free_order);
        manager_freed(play->manager, action->executor, order->free_order);
    }
    if (order->die) {
        gone(play, action->executor);
    }
    granary__to_executor__free_unpacked(order, NULL);
}

static void
take_reply(struct play *play, const struct action *action)
{
    Granary__Reply *reply = granary__reply__unpack(NULL, action->bytes.size, (const uint8_t *)action->bytes.bytes);

    if (reply == NULL) {
        violated("a reply cannot be read");
    }
    if (reply->err != GRANARY_OK && reply->message[0] == '\0') {
        violated("an error says nothing");
    }
    if (action->ticket == play->honest_ticket && action->ticket != 0) {
        play->honest_ended = true;
        play->honest_err = (granary_err)reply->err;
        (void)gr_fail((granary_err)reply->err, "%s", reply->message);
    }
    for (size_t i = 0; reply->result != NULL && i < reply->result->n_chunks; i++) {
        learn_id(play, reply->result->chunks[i]->id);
    }
    granary__reply__free_unpacked(reply, NULL);
}

static bool
perform(struct play *play)
{
    uint64_t number;
    size_t count;
    struct action *actions = manager_actions(play->manager, &count);

    for (size_t i = 0; i < count; i++) {
        struct action action = actions[i];

        if (action.kind == ACTION_SEND) {
            take_order(play, &action);
        } else if (action.kind == ACTION_REPLY) {
            take_reply(play, &action);
        } else if (action.kind == ACTION_KILL && is_there(play, action.executor)) {
            gone(play, action.executor);
        }
        actions = manager_actions(play->manager, &(size_t){0});
    }
    if (keeper_keep(&play->keeper, actions, count, &number) != GRANARY_OK) {
        violated("what is to be kept cannot be kept");
    }
    keeper_expire(&play->keeper, INT64_MAX);
    if (!keeper_idle(&play->keeper)) {
        violated("what is to be kept cannot be kept later");
    }
    manager_actions_done(play->manager, count);
    return count > 0;
}

static void
check(const struct play *play)
{
    const struct manager *manager = play->manager;

    for (size_t i = 0; i < resources_count(manager->resources); i++) {
        uint64_t amount;
        uint64_t taken;

        (void)resources_at(manager->resources, i, &amount, &taken);
        if (taken > amount) {
            violated("more of a resource is granted than there is");
        }
    }
}

void
play_turn(struct play *play)
{
    int turns = 0;

    do {
        manager_expire(play->manager, play->now_ns);
        manager_dispatch(play->manager, play->now_ns);
        check(play);
        if (++turns > TURNS_MAX) {
            violated("a turn does not end");
        }
    } while (perform(play));
}

/* ---- the honest ---- */

static const char *const graphs[] = {
    "{\"nodes\": {\"a\": {\"op\": \"arange\", \"stop\": 40, \"chunk\": 10}, \"b\": {\"op\": \"sum\", \"input\": "
    "\"a\"}}}",
    "{\"nodes\": {\"a\": {\"op\": \"null\", \"count\": 9}, \"b\": {\"op\": \"null\", \"input\": \"a\"}}}",
    "{\"nodes\": {\"e\": {\"op\": \"exec\", \"command\": \"true\", \"count\": 5, \"resources\": {\"device\": \"1\"},"
    " \"retries\": 2}, \"f\": {\"op\": \"exec\", \"command\": \"cat\", \"input\": \"e\", \"timeout_ms\": 50}}}",
    "{\"nodes\": {\"r\": {\"op\": \"random\", \"shape\": [8, 8], \"chunk\": [4, 4]},"
    "\"m\": {\"op\": \"matmul\", \"inputs\": [\"r\", \"r\"]}, \"q\": {\"op\": \"qr\", \"input\": \"m\", \"part\": "
    "\"q\"}}}",
    "{\"nodes\": {\"t\": {\"op\": \"arange\", \"stop\": 12, \"chunk\": 3}, \"f\": {\"op\": \"from_tensor\", \"input\": "
    "\"t\", \"columns\": [\"n\"]}, \"s\": {\"op\": \"sort\", \"input\": \"f\", \"by\": \"n\"}}}",
    "{\"nodes\": {\"t\": {\"op\": \"table\", \"name\": \"k0\"}, \"h\": {\"op\": \"head\", \"input\": \"t\", \"rows\": "
    "2}}}",
    "{\"level\": \"chunk\", \"nodes\": {\"a\": {\"op\": \"null\"}, \"b\": {\"op\": \"null\", \"input\": \"a\"}}}",
};

void
play_requests(struct play *play, Granary__Request *request)
{
    request->version = GRANARY__VERSION__PROTOCOL;
    manager_request(play->manager, ++play->ticket, request, play->now_ns);
}

void
play_submits(struct play *play, const char *key, uint32_t which)
{
    Granary__Request *request = malloc(sizeof *request); /* as one that came: the manager takes it apart */
    Granary__Submit *submit = malloc(sizeof *submit);

    if (request == NULL || submit == NULL) {
        abort();
    }
    granary__request__init(request);
    granary__submit__init(submit);
    submit->key = strdup(key);
    submit->session = strdup(which % 2 == 0 ? "s0" : "s1");
    submit->json = strdup(graphs[which % (sizeof graphs / sizeof graphs[0])]);
    submit->directory = strdup("/");
    request->body_case = GRANARY__REQUEST__BODY_SUBMIT;
    request->submit = submit;
    play_requests(play, request);
    granary__request__free_unpacked(request, NULL);
}

void
play_joins(struct play *play, uint32_t slot)
{
    if (play->executors[slot] == 0) {
        play->executors[slot] = ++play->last_number;
        manager_executor_joined(play->manager, play->last_number, (int32_t)(slot % 2), 1000 + slot);
    }
}

void
play_dies(struct play *play, uint32_t slot)
{
    uint32_t number = play->executors[slot];

    if (number != 0) {
        play->executors[slot] = 0;
        forget_given(play, number);
        manager_executor_died(play->manager, number);
    }
}

static void
add_outputs(const Granary__Subtask *subtask, Granary__Done *done)
{
    size_t count = 0;

    for (size_t i = 0; i < subtask->n_ops; i++) {
        count += subtask->ops[i]->n_outputs;
    }
    done->outputs = calloc(count + 1, sizeof *done->outputs);
    for (size_t i = 0; i < subtask->n_ops; i++) {
        for (size_t o = 0; o < subtask->ops[i]->n_outputs; o++) {
            if (subtask->ops[i]->outputs[o].len > 0) {
                Granary__Output *output = malloc(sizeof *output);

                granary__output__init(output);
                output->id = subtask->ops[i]->outputs[o];
                output->bytes = 100;
                output->rows = -1;
                done->outputs[done->n_outputs++] = output;
            }
        }
    }
}

void
play_answers(struct play *play, size_t given, granary_err err)
{
    struct play_given taken = play->given[given];
    Granary__Done done = GRANARY__DONE__INIT;

    memmove(play->given + given, play->given + given + 1, (--play->given_count - given) * sizeof *play->given);
    done.number = taken.subtask->number;
    done.attempt = taken.subtask->attempt;
    done.err = err;
    done.nanoseconds = 1000;
    done.user_failed = err == GRANARY_EFAILED;
    done.message = (char *)(uintptr_t)(err == GRANARY_OK ? "" : "played");
    if (err == GRANARY_OK) {
        add_outputs(taken.subtask, &done);
    }
    manager_done(play->manager, taken.executor, &done);
    for (size_t i = 0; i < done.n_outputs; i++) {
        free(done.outputs[i]);
    }
    free(done.outputs);
    granary__subtask__free_unpacked(taken.subtask, NULL);
}

static void
claim(struct play *play, uint32_t slot)
{
    Granary__Register message = GRANARY__REGISTER__INIT;
    uint32_t before = play->executors[slot];
    uint64_t queued[PLAY_GIVEN];
    uint32_t attempts[PLAY_GIVEN];

    play->executors[slot] = 0;
    play_joins(play, slot);
    for (size_t i = 0; i < play->given_count; i++) {
        if (play->given[i].executor == before) {
            play->given[i].executor = play->executors[slot];
            queued[message.n_queued] = play->given[i].subtask->number;
            attempts[message.n_queued++] = play->given[i].subtask->attempt;
        }
    }
    message.queued = queued;
    message.attempts = attempts;
    message.n_attempts = message.n_queued;
    manager_executor_claims(play->manager, play->executors[slot], &message);
}

void
play_restarts(struct play *play)
{
    manager_destroy(play->manager);
    manager_begin(play);
    play->honest_ticket = 0;
    if (restore_all(&play->keeper, play->manager, NULL) != GRANARY_OK) {
        violated("what was kept cannot be restored");
    }
    for (uint32_t i = 0; i < PLAY_EXECUTORS; i++) {
        if (play->executors[i] != 0) {
            claim(play, i);
        }
    }
    manager_claims_end(play->manager);
}

static void
wait_honestly(struct play *play)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__GraphWait wait = GRANARY__GRAPH_WAIT__INIT;

    wait.key = (char *)(uintptr_t)HONEST_KEY;
    wait.timeout_ms = -1;
    request.body_case = GRANARY__REQUEST__BODY_WAIT;
    request.wait = &wait;
    play_requests(play, &request);
    play->honest_ticket = play->ticket;
}

/* Executors that pull may have gone on asking: new ones take all places. */
static void
replace_all(struct play *play)
{
    for (uint32_t i = 0; i < PLAY_EXECUTORS; i++) {
        play_dies(play, i);
        play_turn(play);
        play_joins(play, i);
    }
}

void
play_honestly(struct play *play)
{
    int turns = 0;

    replace_all(play);
    play_submits(play, HONEST_KEY, 0);
    wait_honestly(play);
    do {
        play_turn(play);
        for (uint32_t i = 0; i < PLAY_EXECUTORS; i++) { /* one that was told to leave */
            play_joins(play, i);
        }
        while (play->given_count > 0) {
            play_answers(play, 0, GRANARY_OK);
        }
        play->now_ns += 1000000000;
    } while (!play->honest_ended && ++turns < TURNS_MAX);
    if (!play->honest_ended) {
        violated("an honest graph does not end");
    }
    if (play->honest_err != GRANARY_OK) {
        violated("an honest graph fails");
    }
}

/* ---- the others ---- */

struct message_words
play_words(const struct play *play)
{
    static char long_name[3000];
    static const char *const texts[] = {"k0",     "k1",     "k2",   "k0/a", "k1/0",    "s0",      "s1",     "s0",
                                        "device", "k0/b",   "e",    "f",    "m",       "t",       "b",      "a",
                                        "shape",  "stderr", "k0/0", "k2/1", long_name, "default", "\x1b[2J"};

    if (long_name[0] == '\0') {
        memset(long_name, 'x', sizeof long_name - 1);
    }
    return (struct message_words){
        .texts = texts,
        .text_count = sizeof texts / sizeof texts[0],
        .numbers = play->numbers,
        .number_count = play->number_count < 16 ? play->number_count : 16,
        .ids = (const uint8_t(*)[16])play->ids,
        .id_count = play->id_count < 16 ? play->id_count : 16,
    };
}

uint32_t
play_executor(const struct play *play, struct choices *choices)
{
    return play->executors[choose(choices, PLAY_EXECUTORS)];
}
