/*
 * The scheduler's core dies after any turn, with what it had committed by then: a new one, given that and what
 * executors have at hand, ends every graph, runs nothing again that has finished, and leaves no object behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/id.h"
#include "base/text/buf.h"
#include "build.h"
#include "fake_plan.h"
#include "granary/graph.h"
#include "sched/graphs/leftovers.h"
#include "sched/manager/manager.h"

#define EXECUTORS 3
#define NODES     45
#define QUEUE     256

/* An entry that is kept. Those of `events` and `frees` have binary keys. */
struct entry {
    const char *space;
    struct gr_buf key, value;
};

/* What an executor has: subtasks that it will run in order, and reports that it may have to tell again. */
struct work {
    uint64_t number;
    uint32_t attempt;
    char node[16];
    granary_id output, inputs[4];
    size_t input_count;
    bool cancelled; /* it is answered so */
};
struct executor {
    struct work queue[QUEUE];
    size_t queued;
    Granary__Done *reports[QUEUE]; /* not kept by any scheduler yet, as far as it knows */
    size_t reported;
};

struct world {
    struct manager *manager;
    uint32_t first_number; /* of the executors, for this manager */
    struct executor executors[EXECUTORS];
    struct entry *kept;
    size_t kept_count;
    struct action *open; /* changes not committed yet */
    size_t open_count;
    granary_id objects[4 * NODES];
    size_t object_count;
    unsigned successes[NODES]; /* by node */
    granary_err last;          /* reply */
    uint64_t seed;
};

static uint64_t
draw(struct world *world, uint64_t limit)
{
    world->seed ^= world->seed << 13;
    world->seed ^= world->seed >> 7;
    world->seed ^= world->seed << 17;
    return world->seed % limit;
}

/* ---- the store ---- */

static size_t
object_at(const struct world *world, granary_id id)
{
    size_t i = 0;

    while (i < world->object_count && !gr_id_equal(world->objects[i], id)) {
        i++;
    }
    return i;
}

static void
object_delete(struct world *world, granary_id id)
{
    size_t at = object_at(world, id);

    if (at < world->object_count) {
        world->objects[at] = world->objects[--world->object_count];
    }
}

/* All of a plan. */
static void
objects_delete(struct world *world, uint64_t plan)
{
    for (size_t i = world->object_count; i > 0; i--) {
        if (memcmp(world->objects[i - 1].bytes, &plan, sizeof plan) == 0) {
            world->objects[i - 1] = world->objects[--world->object_count];
        }
    }
}

/* ---- the state ---- */

static bool
matches(const struct entry *entry, const struct action *change, bool prefix)
{
    size_t size = change->entry_key.size;

    return strcmp(entry->space, change->space) == 0 && (prefix ? entry->key.size >= size : entry->key.size == size) &&
           memcmp(entry->key.bytes, change->entry_key.bytes, size) == 0;
}

static int
by_key(const void *a, const void *b)
{
    const struct entry *one = a;
    const struct entry *other = b;
    size_t size = one->key.size < other->key.size ? one->key.size : other->key.size;
    int order = memcmp(one->key.bytes, other->key.bytes, size);

    return order != 0 ? order : (one->key.size > other->key.size) - (one->key.size < other->key.size);
}

static void
entry_drop(struct world *world, size_t at)
{
    gr_buf_free(&world->kept[at].key);
    gr_buf_free(&world->kept[at].value);
    world->kept[at] = world->kept[--world->kept_count];
}

static void
commit(struct world *world)
{
    for (size_t i = 0; i < world->open_count; i++) {
        struct action *change = &world->open[i];

        for (size_t k = world->kept_count; k > 0; k--) {
            if (matches(&world->kept[k - 1], change, change->kind == ACTION_FORGET_ALL)) {
                entry_drop(world, k - 1);
            }
        }
        if (change->kind == ACTION_KEEP) {
            world->kept = realloc(world->kept, (world->kept_count + 1) * sizeof *world->kept);
            world->kept[world->kept_count++] =
                (struct entry){.space = change->space, .key = change->entry_key, .value = change->bytes};
        } else {
            gr_buf_free(&change->entry_key);
        }
    }
    world->open_count = 0;
    for (size_t i = 0; i < EXECUTORS; i++) { /* acknowledged */
        for (size_t k = 0; k < world->executors[i].reported; k++) {
            granary__done__free_unpacked(world->executors[i].reports[k], NULL);
        }
        world->executors[i].reported = 0;
    }
}

static size_t
count_in(const struct world *world, const char *space)
{
    size_t count = 0;

    for (size_t i = 0; i < world->kept_count; i++) {
        count += strcmp(world->kept[i].space, space) == 0;
    }
    return count;
}

/* ---- a turn ---- */

static void
take_order(struct world *world, const struct action *action)
{
    struct executor *executor = &world->executors[action->executor - world->first_number];
    Granary__ToExecutor *order =
        granary__to_executor__unpack(NULL, action->bytes.size, (const uint8_t *)action->bytes.bytes);

    assert_non_null(order);
    for (size_t i = 0; i < order->n_cancel; i++) {
        size_t k = 0;

        while (k < executor->queued &&
               (executor->queue[k].number != order->cancel[i] || executor->queue[k].cancelled)) {
            k++;
        }
        if (k < executor->queued) {
            executor->queue[k].cancelled = true;
        }
    }
    for (size_t i = 0; i < order->n_run; i++) {
        const Granary__ChunkOp *op = order->run[i]->ops[0];
        struct work *work = &executor->queue[executor->queued++];

        assert_true(executor->queued <= QUEUE);
        *work = (struct work){.number = order->run[i]->number, .attempt = order->run[i]->attempt};
        (void)snprintf(work->node, sizeof work->node, "%s", op->node);
        if (op->n_outputs > 0) {
            memcpy(work->output.bytes, op->outputs[0].data, 16);
        }
        for (size_t k = 0; k < op->n_inputs; k++) {
            memcpy(work->inputs[work->input_count++].bytes, op->inputs[k]->object.data, 16);
        }
    }
    for (size_t i = 0; i < order->n_free; i++) {
        granary_id id;

        memcpy(id.bytes, order->free[i].data, 16);
        object_delete(world, id);
    }
    for (size_t i = 0; i < order->n_free_plans; i++) {
        objects_delete(world, order->free_plans[i]);
    }
    if (order->free_order != 0) {
        manager_freed(world->manager, action->executor, order->free_order);
    }
    granary__to_executor__free_unpacked(order, NULL);
}

static granary_err
error_of(const struct action *reply)
{
    Granary__Reply *message = granary__reply__unpack(NULL, reply->bytes.size, (const uint8_t *)reply->bytes.bytes);
    granary_err err = (granary_err)message->err;

    granary__reply__free_unpacked(message, NULL);
    return err;
}

static void
turn(struct world *world)
{
    struct action *actions;
    size_t count;
    bool awaited = false;
    bool first = false;

    manager_dispatch(world->manager, 0);
    actions = manager_actions(world->manager, &count);
    for (size_t i = 0; i < count; i++) {
        first = first || actions[i].before_sends;
        switch (actions[i].kind) {
        case ACTION_KEEP:
        case ACTION_FORGET:
        case ACTION_FORGET_ALL:
            world->open = realloc(world->open, (world->open_count + 1) * sizeof *world->open);
            world->open[world->open_count++] = actions[i];
            actions[i].entry_key = actions[i].bytes = (struct gr_buf){0};
            break;
        case ACTION_REPLY:
            world->last = error_of(&actions[i]);
            awaited = awaited || actions[i].when_durable;
            break;
        default:
            break;
        }
    }
    if (first) {
        commit(world);
    }
    for (size_t i = 0; i < count; i++) {
        struct action send = manager_actions(world->manager, &(size_t){0})[i]; /* it moves when something is freed */

        if (send.kind == ACTION_SEND) {
            take_order(world, &send);
        }
    }
    manager_actions_done(world->manager, count);
    if (awaited || draw(world, 3) == 0) {
        commit(world);
    }
}

/* ---- work ---- */

static Granary__Done *
run(struct world *world, const struct work *work, bool losses)
{
    Granary__Done *done = malloc(sizeof *done);
    size_t lost = 0;

    granary__done__init(done);
    done->number = work->number;
    done->attempt = work->attempt;
    done->nanoseconds = 1000;
    if (work->cancelled) {
        done->err = GRANARY_ECANCELLED;
        return done;
    }
    if (losses && work->input_count > 0 && draw(world, 20) == 0) {
        object_delete(world, work->inputs[draw(world, work->input_count)]);
    }
    done->lost = calloc(work->input_count + 1, sizeof *done->lost);
    for (size_t i = 0; i < work->input_count; i++) {
        if (object_at(world, work->inputs[i]) == world->object_count) {
            done->lost[lost].data = malloc(16);
            memcpy(done->lost[lost].data, work->inputs[i].bytes, 16);
            done->lost[lost++].len = 16;
        }
    }
    done->n_lost = lost;
    if (lost > 0) {
        assert_true(losses); /* else nobody may have freed them */
        done->err = GRANARY_ENOENT;
        return done;
    }
    world->successes[atoi(work->node + 1)]++;
    if (!gr_id_is_zero(work->output)) {
        done->outputs = malloc(sizeof *done->outputs);
        done->outputs[0] = malloc(sizeof(Granary__Output));
        granary__output__init(done->outputs[0]);
        done->outputs[0]->id.data = malloc(16);
        done->outputs[0]->id.len = 16;
        memcpy(done->outputs[0]->id.data, work->output.bytes, 16);
        done->outputs[0]->bytes = 100;
        done->outputs[0]->rows = 10;
        done->n_outputs = 1;
        if (object_at(world, work->output) == world->object_count) {
            assert_true(world->object_count < sizeof world->objects / sizeof world->objects[0]);
            world->objects[world->object_count++] = work->output;
        }
    }
    return done;
}

/* An executor does one thing. false: none has anything to do */
static bool
step(struct world *world, bool losses)
{
    size_t first = draw(world, EXECUTORS);

    for (size_t i = 0; i < EXECUTORS; i++) {
        size_t which = (first + i) % EXECUTORS;
        struct executor *executor = &world->executors[which];

        if (executor->queued > 0) {
            Granary__Done *done = run(world, &executor->queue[0], losses);

            executor->queued--;
            memmove(executor->queue, executor->queue + 1, executor->queued * sizeof(struct work));
            assert_true(executor->reported < QUEUE);
            executor->reports[executor->reported++] = done;
            manager_done(world->manager, world->first_number + (uint32_t)which, done);
            return true;
        }
    }
    return false;
}

/* ---- lives ---- */

static void
begin(struct world *world)
{
    world->manager = manager_create(&(struct manager_options){.memory_bytes = 100000});
    world->first_number += 100; /* a scheduler's numbers are its own */
    for (uint32_t i = 0; i < EXECUTORS; i++) {
        manager_executor_joined(world->manager, world->first_number + i, 0, 1000 + i);
    }
}

/* It is gone with what it has not committed; the next one takes over. */
static void
die(struct world *world)
{
    manager_destroy(world->manager);
    for (size_t i = 0; i < world->open_count; i++) {
        gr_buf_free(&world->open[i].entry_key);
        gr_buf_free(&world->open[i].bytes);
    }
    world->open_count = 0;
    world->manager = manager_create(&(struct manager_options){.memory_bytes = 100000});
    world->first_number += 100;
    if (world->kept_count > 0) {
        qsort(world->kept, world->kept_count, sizeof *world->kept, by_key);
    }
    for (int pass = 0; pass < 7; pass++) {
        static const char *const spaces[] = {MANAGER_METAS,  MANAGER_GRAPHS, MANAGER_ENDS, MANAGER_RESULTS,
                                             MANAGER_EVENTS, MANAGER_LEFT,   MANAGER_FREES};

        for (size_t i = 0; i < world->kept_count; i++) {
            const struct entry *entry = &world->kept[i];
            char key[80] = "";

            if (strcmp(entry->space, spaces[pass]) != 0) {
                continue;
            }
            memcpy(key, entry->key.bytes, entry->key.size);
            switch (pass) {
            case 0:
                manager_restore_meta(world->manager, key, entry->value.bytes, entry->value.size);
                break;
            case 1:
                manager_restore_graph(world->manager, key, entry->value.bytes, entry->value.size);
                break;
            case 2:
                manager_restore_end(world->manager, key, entry->value.bytes, entry->value.size);
                break;
            case 3:
                manager_restore_result(world->manager, key, key + strlen(key) + 1, entry->value.bytes,
                                       entry->value.size);
                break;
            case 4:
                manager_restore_events(world->manager, entry->key.bytes, entry->key.size, entry->value.bytes,
                                       entry->value.size);
                break;
            case 5:
                manager_restore_left(world->manager, entry->key.bytes, entry->key.size, entry->value.bytes,
                                     entry->value.size);
                break;
            default:
                manager_restore_frees(world->manager, entry->key.bytes, entry->key.size, entry->value.bytes,
                                      entry->value.size);
                break;
            }
        }
    }
    (void)manager_restore_start(world->manager);
    for (uint32_t i = 0; i < EXECUTORS; i++) {
        struct executor *executor = &world->executors[i];
        Granary__Register registration = GRANARY__REGISTER__INIT;
        uint64_t queued[QUEUE];
        uint32_t attempts[QUEUE];

        for (size_t k = 0; k < executor->queued; k++) {
            queued[k] = executor->queue[k].number;
            attempts[k] = executor->queue[k].attempt;
        }
        registration.queued = queued;
        registration.attempts = attempts;
        registration.n_queued = registration.n_attempts = executor->queued;
        manager_executor_joined(world->manager, world->first_number + i, 0, 1000 + i);
        manager_executor_claims(world->manager, world->first_number + i, &registration);
        for (size_t k = 0; k < executor->reported; k++) {
            manager_done(world->manager, world->first_number + i, executor->reports[k]);
        }
    }
    manager_claims_end(world->manager);
    turn(world);
}

static void
end(struct world *world)
{
    commit(world);
    manager_destroy(world->manager);
    while (world->kept_count > 0) {
        entry_drop(world, 0);
    }
    free(world->kept);
    free(world->open);
}

/* ---- the tests ---- */

/* A random graph; its nodes are n0, n1, ... */
static void
submit(struct world *world)
{
    char text[NODES][80];
    const char *lines[NODES];
    int batch = 0;
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__Submit body = GRANARY__SUBMIT__INIT;

    for (int i = 0; i < NODES; i++) {
        static const char *const ops[] = {"make", "make", "make", "null", "feeds"};
        bool target = i == NODES - 1 || i % 9 == 8;
        const char *op = target ? "make" : ops[draw(world, 5)];
        int length = snprintf(text[i], sizeof text[i], "%sn%d %s", target ? "!" : "", i, op);

        for (uint64_t k = draw(world, 3); i > batch && k > 0; k--) {
            int input = batch + (int)draw(world, (uint64_t)(i - batch)); /* none from before the planner was fed */

            if (strstr(text[input], " null") == NULL || strcmp(op, "null") == 0) {
                length += snprintf(text[i] + length, sizeof text[i] - (size_t)length, " n%d", input);
            }
        }
        lines[i] = text[i];
        batch = strcmp(op, "feeds") == 0 ? i + 1 : batch;
    }
    body.key = (char *)(uintptr_t) "k";
    body.session = (char *)(uintptr_t) "s";
    body.graph = build_graph(lines, NODES);
    body.recall = 1; /* the same again is computed again */
    message.body_case = GRANARY__REQUEST__BODY_SUBMIT;
    message.submit = &body;
    manager_request(world->manager, 1, &message, 0);
    if (body.graph != NULL) {
        granary__graph__free_unpacked(body.graph, NULL);
    }
    turn(world);
    commit(world); /* it was accepted */
}

static granary_err
refer(struct world *world, Granary__Request__BodyCase which)
{
    Granary__Request message = GRANARY__REQUEST__INIT;
    Granary__GraphRef body = GRANARY__GRAPH_REF__INIT;

    body.key = (char *)(uintptr_t) "k";
    message.body_case = which;
    message.delete_ = &body;
    world->last = GRANARY_EFAILED;
    manager_request(world->manager, 2, &message, 0);
    turn(world);
    return world->last;
}

/* Executors and what they have at hand are gone, too. */
static void
die_all(struct world *world)
{
    for (size_t i = 0; i < EXECUTORS; i++) {
        struct executor *executor = &world->executors[i];

        executor->queued = 0;
        while (executor->reported > 0) {
            granary__done__free_unpacked(executor->reports[--executor->reported], NULL);
        }
    }
    die(world);
}

/* An executor makes an object, and dies before it says so. */
static void
make_and_die(struct world *world)
{
    for (size_t i = 0; i < EXECUTORS; i++) {
        struct executor *executor = &world->executors[i];

        if (executor->queued > 0) {
            granary__done__free_unpacked(run(world, &executor->queue[0], false), NULL);
        }
    }
    die_all(world);
}

/* What is at hand is done, and all that follows from it. */
static void
settle(struct world *world)
{
    do {
        turn(world);
        commit(world);
    } while (step(world, false) || world->open_count > 0);
    turn(world);
    commit(world);
}

static void
begin_graph(struct world *world, uint64_t seed)
{
    world->seed = seed * 0x9e3779b97f4a7c15ull | 1;
    fake_plan_feeds = 0;
    fake_plan_feed_err = GRANARY_OK;
    fake_plan_facts = 0;
    begin(world);
    submit(world);
}

static void
nothing_is_left_of_a_deleted_graph(struct world *world)
{
    (void)refer(world, GRANARY__REQUEST__BODY_DELETE);
    die(world); /* perhaps before anybody was told to free anything */
    turn(world);
    commit(world);
    turn(world);
    commit(world);
    assert_int_equal(world->object_count, 0);
    assert_int_equal(count_in(world, MANAGER_GRAPHS) + count_in(world, MANAGER_FREES) +
                         count_in(world, MANAGER_EVENTS) + count_in(world, MANAGER_LEFT),
                     0);
    end(world);
}

/* Runs a graph to its end, with a death after each turn that `dies` tells. Returns how many turns there were. */
static size_t
live(uint64_t seed, size_t dies, size_t period, bool losses)
{
    struct world *world = calloc(1, sizeof *world);
    size_t turns = 0;

    begin_graph(world, seed);
    while (step(world, losses)) {
        turn(world);
        if (turns == dies || (period > 0 && turns % period == 0)) {
            die(world);
        }
        assert_true(++turns < 20000);
    }
    commit(world);
    assert_int_equal(count_in(world, MANAGER_ENDS), 1); /* it has ended, and its log is gone */
    assert_true(count_in(world, MANAGER_EVENTS) <= 1);  /* what the planner was told stays, to explain it */
    assert_true(world->object_count > 0);
    for (int i = 0; i < NODES; i++) {
        assert_true(world->successes[i] > 0);
        if (!losses && world->successes[i] != 1) {
            print_error("seed %llu, death %zu every %zu: node n%d ran %u times\n", (unsigned long long)seed, dies,
                        period, i, world->successes[i]);
        }
        assert_true(losses || world->successes[i] == 1);
    }
    if (turns % 2 == 0) {
        die(world);
    }
    assert_int_equal(refer(world, GRANARY__REQUEST__BODY_EXPLAIN), GRANARY_OK);
    nothing_is_left_of_a_deleted_graph(world);
    free(world);
    return turns;
}

/*
 * As live(), but for each death the plan is another one afterwards: the graph begins again. What plans before have made
 * is freed when it has ended; executors that live on have some of their subtasks at hand.
 */
static void
live_with_changes(uint64_t seed, size_t period, bool executors_die)
{
    struct world *world = calloc(1, sizeof *world);
    size_t deaths = 0;
    size_t turns = 0;

    begin_graph(world, seed);
    while (step(world, false)) {
        turn(world);
        if (++turns % period == 0 && deaths < 5 && count_in(world, MANAGER_ENDS) == 0) {
            memset(world->successes, 0, sizeof world->successes);
            fake_plan_facts++;
            (executors_die ? die_all : die)(world);
            deaths++;
        }
        assert_true(turns < 20000);
    }
    commit(world);
    assert_int_equal(count_in(world, MANAGER_ENDS), 1);
    assert_true(deaths > 0);
    for (int i = 0; i < NODES; i++) {
        assert_true(world->successes[i] > 0);
        assert_true(!executors_die || world->successes[i] == 1);
    }
    assert_int_equal(refer(world, GRANARY__REQUEST__BODY_EXPLAIN), GRANARY_OK);
    nothing_is_left_of_a_deleted_graph(world);
    free(world);
}

static void
nothing_finished_runs_again(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        size_t turns = live(seed, SIZE_MAX, 0, false);

        for (size_t dies = 0; dies < turns; dies++) {
            (void)live(seed, dies, 0, false);
        }
    }
}

static void
schedulers_may_die_at_every_turn(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        (void)live(seed, SIZE_MAX, 1 + seed % 7, false);
    }
}

static void
lost_objects_are_made_again_by_the_next_one(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        (void)live(seed, SIZE_MAX, 3 + seed % 7, true);
    }
}

static void
a_plan_that_was_dropped_leaves_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        live_with_changes(seed, 3 + seed % 17, true);
        live_with_changes(seed, 3 + seed % 17, false);
    }
}

/* Its file is gone, say. */
static void
a_graph_that_cannot_be_planned_again_leaves_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct world *world = calloc(1, sizeof *world);

        begin_graph(world, seed);
        for (uint64_t turns = 0; turns < seed && step(world, false); turns++) {
            turn(world);
        }
        assert_int_equal(count_in(world, MANAGER_ENDS), 0);
        fake_plan_broken = true;
        (seed % 2 == 0 ? die_all : die)(world);
        while (step(world, false)) {
            turn(world);
        }
        fake_plan_broken = false;
        commit(world);
        assert_int_equal(count_in(world, MANAGER_ENDS), 1);
        nothing_is_left_of_a_deleted_graph(world);
        free(world);
    }
}

/* All die when objects were made that nobody was told of; and before or behind that, the graph is deleted. */
static void
what_nobody_was_told_of_goes_with_its_graph(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct world *world = calloc(1, sizeof *world);

        begin_graph(world, seed);
        for (uint64_t turns = 0; turns < 1 + seed % 30 && step(world, false); turns++) {
            turn(world);
        }
        if (seed % 2 == 0) {
            (void)refer(world, GRANARY__REQUEST__BODY_DELETE); /* answered when it is gone */
            commit(world);
        }
        make_and_die(world);
        if (seed % 2 != 0) {
            (void)refer(world, GRANARY__REQUEST__BODY_DELETE); /* answered when it is gone */
        }
        settle(world);
        assert_int_equal(world->object_count, 0);
        assert_int_equal(count_in(world, MANAGER_GRAPHS) + count_in(world, MANAGER_FREES) +
                             count_in(world, MANAGER_EVENTS) + count_in(world, MANAGER_LEFT),
                         0);
        end(world);
        free(world);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_finished_runs_again),
        cmocka_unit_test(schedulers_may_die_at_every_turn),
        cmocka_unit_test(lost_objects_are_made_again_by_the_next_one),
        cmocka_unit_test(a_plan_that_was_dropped_leaves_nothing),
        cmocka_unit_test(a_graph_that_cannot_be_planned_again_leaves_nothing),
        cmocka_unit_test(what_nobody_was_told_of_goes_with_its_graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
