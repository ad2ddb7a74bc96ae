/* What happens to running subtasks, and what follows from it. */
#include <assert.h>

#include "base/error.h"
#include "sched/execution_private.h"

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

static void
object_appears(struct execution_graph *graph, struct object *object, int32_t node)
{
    if (object->state != OBJECT_PRESENT) {
        object_enter(graph, object, OBJECT_PRESENT);
        object->node = node;
        for (uint32_t edge = object->consumers; edge != NONE; edge = graph->edges.items[edge].next) {
            subtask_released(graph, graph->edges.items[edge].subtask);
        }
    }
    if (graph->cancelled || (object->consumers_left == 0 && !object->keep)) {
        object_free(graph, object);
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
    for (uint32_t i = 0; i < subtask->input_count; i++) {
        struct object *object = &graph->objects.items[graph->links.items[subtask->first_input + i]];

        assert(object->consumers_left > 0);
        if (--object->consumers_left == 0 && !object->keep && object->state == OBJECT_PRESENT) {
            object_free(graph, object);
        }
    }
}

/* It may have sealed outputs before it failed, or before its executor died. */
static void
outputs_free(struct execution_graph *graph, uint32_t number)
{
    const struct subtask *subtask = &graph->subtasks.items[number];

    for (uint32_t i = 0; i < subtask->output_count; i++) {
        struct object *object = &graph->objects.items[graph->links.items[subtask->first_output + i]];

        if (object->state != OBJECT_FREED) {
            object_free(graph, object);
        }
    }
}

/* A running subtask of a cancelled graph ended without success. */
static void
subtask_cancelled(struct execution_graph *graph, uint32_t number)
{
    subtask_enter(graph, number, SUBTASK_CANCELLED);
    outputs_free(graph, number);
}

void
execution_graph_fail(struct execution_graph *graph, uint32_t number)
{
    subtask_enter(graph, number, SUBTASK_FAILED);
    outputs_free(graph, number);
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

        if (graph->objects.items[position].state == OBJECT_PRESENT) {
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

void
execution_graph_cancel(struct execution_graph *graph)
{
    graph->cancelled = true;
    for (uint32_t i = 0; i < graph->subtasks.count; i++) {
        const struct subtask *subtask = &graph->subtasks.items[i];
        enum subtask_state state = (enum subtask_state)subtask->state;

        if (state == SUBTASK_WAITING || state == SUBTASK_READY || state == SUBTASK_PARKED) {
            subtask_enter(graph, i, SUBTASK_CANCELLED);
        }
        /* What runs frees its outputs when it ends. What never ran has none. */
        if (state != SUBTASK_RUNNING && subtask->attempt > 0) {
            outputs_free(graph, i);
        }
    }
}
