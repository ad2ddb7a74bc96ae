/* What happens to running subtasks, and what follows from it. */
#include <assert.h>

#include "base/error.h"
#include "sched/execution/graph_private.h"

#define LOSSES_MAX 10 /* times a subtask may run into a lost input */

/* Something it waited for is there. */
static void
subtask_released(struct execution_graph *graph, uint32_t number)
{
    struct subtask *subtask = &graph->subtasks.items[number];

    /* A running follower does not count: what it misses is counted anew when it has to run again. */
    if (subtask->state == SUBTASK_WAITING) {
        assert(subtask->missing > 0);
        if (--subtask->missing == 0) {
            subtask_enter(graph, number, SUBTASK_READY);
        }
    }
}

/* Nobody will read it any more. */
static bool
is_unwanted(const struct execution_graph *graph, const struct object *object)
{
    return graph->cancelled ? !(graph->keeps && object->keep)
                            : object->consumers_left == 0 && !object->keep && !object->held;
}

static void
object_appears(struct execution_graph *graph, struct object *object, int32_t node)
{
    if (object->state != OBJECT_PRESENT) {
        object_enter(graph, object, OBJECT_PRESENT);
        object->made = ++graph->moment;
        object->node = node;
        for (uint32_t edge = object->consumers; edge != NONE; edge = graph->edges.items[edge].next) {
            subtask_released(graph, graph->edges.items[edge].subtask);
        }
    }
    if (is_unwanted(graph, object)) {
        object_free(graph, object);
    }
}

void
execution_graph_hold(struct execution_graph *graph, const granary_id *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t position = object_find(graph, ids[i]);

        if (position != NONE) {
            graph->objects.items[position].held = true;
        }
    }
}

void
execution_graph_settle(struct execution_graph *graph, const granary_id *ids, size_t count, execution_graph_keeps *keeps,
                       const void *context)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t position = object_find(graph, ids[i]);
        struct object *object = position == NONE ? NULL : &graph->objects.items[position];

        if (object == NULL || !object->held) {
            continue;
        }
        object->held = false;
        if (keeps(context, ids[i]) && !object->keep) {
            graph->counts.live_bytes -= object->state == OBJECT_PRESENT ? object->bytes : 0;
            object->keep = true;
        }
        if (object->state == OBJECT_PRESENT && is_unwanted(graph, object)) {
            object_free(graph, object);
        }
    }
}

/* A subtask needs its inputs no more. */
static void
inputs_read(struct execution_graph *graph, const struct subtask *subtask)
{
    for (uint32_t i = 0; i < subtask->input_count; i++) {
        struct object *object = &graph->objects.items[graph->links.items[subtask->first_input + i]];

        assert(object->consumers_left > 0);
        if (--object->consumers_left == 0 && !object->keep && !object->held && object->state == OBJECT_PRESENT) {
            object_free(graph, object);
        }
    }
}

void
execution_graph_succeed(struct execution_graph *graph, uint32_t number, const Granary__Done *done, int32_t node)
{
    for (size_t i = 0; i < done->n_outputs; i++) {
        uint32_t position = object_find(graph, id_of(done->outputs[i]->id));

        if (position != NONE && graph->objects.items[position].producer == number &&
            graph->objects.items[position].state != OBJECT_PRESENT) {
            graph->objects.items[position].rows = done->outputs[i]->rows;
            graph->objects.items[position].bytes = done->outputs[i]->bytes;
        }
    }
    execution_graph_succeeded(graph, number, node);
}

void
execution_graph_succeeded(struct execution_graph *graph, uint32_t number, int32_t node)
{
    struct subtask *subtask = &graph->subtasks.items[number];

    subtask_enter(graph, number, SUBTASK_SUCCEEDED);
    for (uint32_t i = 0; i < subtask->output_count; i++) {
        object_appears(graph, &graph->objects.items[graph->links.items[subtask->first_output + i]], node);
    }
    if (!subtask->passed) {
        subtask->passed = true;
        for (uint32_t edge = subtask->dependents; edge != NONE; edge = graph->edges.items[edge].next) {
            subtask_released(graph, graph->edges.items[edge].subtask);
        }
    }
    inputs_read(graph, subtask);
}

void
execution_graph_given_earlier(struct execution_graph *graph)
{
    graph->given_earlier = true;
}

/* Somebody may have made some of its outputs. */
static bool
may_have_run(const struct execution_graph *graph, const struct subtask *subtask)
{
    return subtask->attempt > 0 || graph->given_earlier;
}

/* It may have sealed outputs before it failed, or before its executor died. keep: not those that are kept */
static void
outputs_free(struct execution_graph *graph, uint32_t number, bool keep)
{
    const struct subtask *subtask = &graph->subtasks.items[number];

    for (uint32_t i = 0; i < subtask->output_count; i++) {
        struct object *object = &graph->objects.items[graph->links.items[subtask->first_output + i]];

        if (object->state != OBJECT_FREED && !(keep && object->keep)) {
            object_free(graph, object);
        }
    }
}

/* A running subtask of a cancelled graph ended without success. */
static void
subtask_cancelled(struct execution_graph *graph, uint32_t number)
{
    subtask_enter(graph, number, SUBTASK_CANCELLED);
    outputs_free(graph, number, graph->keeps);
}

void
execution_graph_fail(struct execution_graph *graph, uint32_t number)
{
    subtask_enter(graph, number, SUBTASK_FAILED);
    outputs_free(graph, number, !graph->cancelled || graph->keeps);
}

void
execution_graph_requeue(struct execution_graph *graph, uint32_t number)
{
    graph->counts.retries++;
    if (graph->cancelled) {
        subtask_cancelled(graph, number);
    } else {
        subtask_settle(graph, number);
    }
}

void
execution_graph_park(struct execution_graph *graph, uint32_t number)
{
    graph->counts.retries++;
    if (graph->cancelled) {
        subtask_cancelled(graph, number);
    } else {
        subtask_enter(graph, number, SUBTASK_PARKED);
    }
}

void
execution_graph_unpark_all(struct execution_graph *graph)
{
    for (uint32_t i = 0; graph->counts.parked > 0 && i < graph->subtasks.count; i++) {
        if (graph->subtasks.items[i].state == SUBTASK_PARKED) {
            subtask_settle(graph, i);
        }
    }
}

static void
object_vanishes(struct execution_graph *graph, uint32_t position)
{
    struct object *object = &graph->objects.items[position];

    object_enter(graph, object, OBJECT_MISSING);
    for (uint32_t edge = object->consumers; edge != NONE; edge = graph->edges.items[edge].next) {
        uint32_t number = graph->edges.items[edge].subtask;
        struct subtask *subtask = &graph->subtasks.items[number];

        if (subtask->state == SUBTASK_READY || subtask->state == SUBTASK_WAITING) {
            subtask->missing++;
            if (subtask->state == SUBTASK_READY) {
                subtask_enter(graph, number, SUBTASK_WAITING);
            }
        }
    }
    resurrect(graph, position);
}

bool
execution_graph_vanish(struct execution_graph *graph, uint32_t position)
{
    if (position >= graph->objects.count) {
        return false;
    }
    if (graph->objects.items[position].state == OBJECT_PRESENT) {
        object_vanishes(graph, position);
    }
    return true;
}

/*
 * The object was made (again) since the subtask was sent: that it was lost is old news, which others have told before.
 * Not so when it was made by the same message: then the subtask has begun after that.
 */
static bool
made_since(const struct execution_graph *graph, const struct object *object, const struct subtask *subtask)
{
    const struct subtask *producer = &graph->subtasks.items[object->producer];

    return (int32_t)(object->made - subtask->taken) > 0 &&
           !(subtask->taken != 0 && producer->token == subtask->token && producer->taken == subtask->taken);
}

granary_err
execution_graph_lose(struct execution_graph *graph, uint32_t number, const ProtobufCBinaryData *lost, size_t lost_count)
{
    struct subtask *subtask = &graph->subtasks.items[number];
    bool news = false;

    for (size_t i = 0; i < lost_count && !graph->cancelled; i++) {
        uint32_t position = object_find(graph, id_of(lost[i]));

        if (position == NONE || graph->objects.items[position].producer == NONE) {
            char text[GRANARY_ID_TEXT + 1];

            granary_id_format(id_of(lost[i]), text);
            return gr_fail(GRANARY_ENOENT, "input %s is not there (any more), and this graph does not make it", text);
        }
    }
    graph->counts.retries++;
    if (graph->cancelled) {
        subtask_cancelled(graph, number);
        return GRANARY_OK;
    }
    for (size_t i = 0; i < lost_count; i++) {
        uint32_t position = object_find(graph, id_of(lost[i]));

        if (graph->objects.items[position].state == OBJECT_PRESENT &&
            !made_since(graph, &graph->objects.items[position], subtask)) {
            object_vanishes(graph, position);
            news = true;
        }
    }
    /* A follower whose leader did not succeed has lost nothing; it waits as it should have. */
    subtask_settle(graph, number);
    subtask->losses += news || subtask->state == SUBTASK_READY;
    return subtask->losses <= LOSSES_MAX ? GRANARY_OK
                                         : gr_fail(GRANARY_ELOST, "its inputs were lost %u times", subtask->losses);
}

/* ---- failing for good ---- */

void
subtask_doom(struct execution_graph *graph, uint32_t number)
{
    if (GROW(doomed, 1)) {
        graph->doomed.items[graph->doomed.count++] = number;
    }
}

static bool
is_doomed(const struct execution_graph *graph, const struct subtask *subtask)
{
    bool doomed = false;

    for (uint32_t i = 0; i < subtask->input_count && !doomed; i++) {
        doomed = graph->objects.items[graph->links.items[subtask->first_input + i]].state == OBJECT_FAILED;
    }
    for (uint32_t i = 0; i < subtask->before_count && !doomed; i++) {
        const struct subtask *before = &graph->subtasks.items[graph->links.items[subtask->first_before + i]];

        doomed = before->state == SUBTASK_FAILED && !before->passed;
    }
    return doomed;
}

static void
object_fails(struct execution_graph *graph, struct object *object)
{
    object_enter(graph, object, OBJECT_FAILED);
    if (graph->failed_taken) {
        graph->failed.count = 0;
        graph->failed_taken = false;
    }
    if (object->keep && GROW(failed, 1)) {
        graph->failed.items[graph->failed.count++] = object->id;
    }
    for (uint32_t edge = object->consumers; edge != NONE; edge = graph->edges.items[edge].next) {
        subtask_doom(graph, graph->edges.items[edge].subtask);
    }
}

static void
subtask_fails(struct execution_graph *graph, uint32_t number)
{
    const struct subtask *subtask = &graph->subtasks.items[number];

    subtask_enter(graph, number, SUBTASK_FAILED);
    inputs_read(graph, subtask);
    for (uint32_t i = 0; i < subtask->output_count; i++) {
        struct object *object = &graph->objects.items[graph->links.items[subtask->first_output + i]];

        if (object->state == OBJECT_MISSING) {
            if (!object->keep && may_have_run(graph, subtask)) {
                object_free(graph, object); /* it may have been sealed before the rest failed */
            }
            object_fails(graph, object);
        }
    }
    for (uint32_t edge = subtask->dependents; !subtask->passed && edge != NONE; edge = graph->edges.items[edge].next) {
        subtask_doom(graph, graph->edges.items[edge].subtask);
    }
}

bool
execution_graph_give_up(struct execution_graph *graph, uint32_t number)
{
    uint64_t before = graph->counts.failed;

    if (number != SUBTASK_NONE) {
        subtask_fails(graph, number);
    }
    while (graph->doomed.count > 0) {
        uint32_t next = graph->doomed.items[--graph->doomed.count];
        const struct subtask *subtask = &graph->subtasks.items[next];

        /* What runs fails by itself, and is looked at then. */
        if (subtask->state == SUBTASK_WAITING && is_doomed(graph, subtask)) {
            subtask_fails(graph, next);
        }
    }
    return graph->counts.failed > before;
}

size_t
execution_graph_failed(struct execution_graph *graph, const granary_id **ret_ids)
{
    size_t count = graph->failed_taken ? 0 : graph->failed.count;

    *ret_ids = graph->failed.items;
    graph->failed_taken = true;
    return count;
}

void
execution_graph_cancel(struct execution_graph *graph, bool keep)
{
    graph->cancelled = true;
    graph->keeps = keep;
    for (uint32_t i = 0; i < graph->subtasks.count; i++) {
        const struct subtask *subtask = &graph->subtasks.items[i];
        enum subtask_state state = (enum subtask_state)subtask->state;

        if (state == SUBTASK_WAITING || state == SUBTASK_READY || state == SUBTASK_PARKED || state == SUBTASK_AWAY) {
            subtask_enter(graph, i, SUBTASK_CANCELLED);
        }
        /* What runs frees its outputs when it ends. What never ran has none. */
        if (state != SUBTASK_RUNNING && may_have_run(graph, subtask)) {
            outputs_free(graph, i, keep);
        }
    }
}
