/* Where an answer begins: a graph, a subtask or an object. */

#include "sched/info/why.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "sched/core/manager.h"
#include "sched/graphs/graphs.h"
#include "sched/info/info.h"
#include "sched/info/why_private.h"

/* ---- a graph ---- */

/* The first subtask in that state; SUBTASK_NONE: none. */
static uint32_t
first_in(const struct execution_graph *execution, enum subtask_state state)
{
    uint32_t number = 0;

    while (number < execution->subtasks.count && execution->subtasks.items[number].state != (uint8_t)state) {
        number++;
    }
    return number < execution->subtasks.count ? number : SUBTASK_NONE;
}

static void
tell_running_ones(struct why *why, struct task_graph *graph)
{
    const struct execution_graph *execution = graph->execution;
    size_t told = 0;

    for (uint32_t number = 0; number < execution->subtasks.count && told < WHY_NAMED_MAX; number++) {
        if (execution->subtasks.items[number].state == SUBTASK_RUNNING) {
            why_tell_subtask(why, graph, number);
            told++;
        }
    }
}

static void
tell_unfinished(struct why *why, struct task_graph *graph)
{
    const struct execution_graph_counts *counts = execution_graph_counts(graph->execution);
    uint32_t number;
    bool away = false;

    why_line(why,
             "%" PRIu64 " of %" PRIu64 " subtasks are done, %" PRIu64 " run, %" PRIu64 " are ready, %" PRIu64
             " are parked, %" PRIu64 " wait for others",
             counts->succeeded, counts->total, counts->running, counts->ready, counts->parked,
             graph->execution->waiting);
    if (graph->plan != NULL && !gr_plan_complete(graph->plan)) {
        why_line(why, "its plan is not complete: what these find out about its inputs decides how it goes on");
    }
    why->depth++;
    if (counts->running > 0) {
        tell_running_ones(why, graph);
    }
    number = counts->ready > 0 ? execution_graph_peek(graph->execution) : SUBTASK_NONE;
    if (number != SUBTASK_NONE) {
        why_tell_subtask(why, graph, number);
    }
    number = counts->parked > 0 ? first_in(graph->execution, SUBTASK_PARKED) : SUBTASK_NONE;
    if (number != SUBTASK_NONE) {
        why_tell_subtask(why, graph, number);
    }
    number = first_in(graph->execution, SUBTASK_AWAY);
    if (number != SUBTASK_NONE) {
        away = true;
        why_tell_subtask(why, graph, number);
    }
    number = !away && counts->running + counts->ready + counts->parked == 0
                 ? first_in(graph->execution, SUBTASK_WAITING)
                 : SUBTASK_NONE;
    if (number != SUBTASK_NONE) {
        why_tell_subtask(why, graph, number);
    }
    why->depth--;
}

void
why_tell_graph(struct why *why, struct task_graph *graph)
{
    static const char *const states[] = {"?", "running", "succeeded", "failed", "cancelled"};
    struct manager *manager = why->manager;

    why_line(why, "graph %s of session '%s' is %s", graph->key, graph->session->name,
             graph->deleting ? "being deleted" : states[graph->state]);
    if (graph->state != GRANARY_GRAPH_RUNNING && graph->end.ms > 0) {
        why_line(why, "it ended %s ago%s%s",
                 why_since(why, graph->end.ms * 1000000 - manager->options.unix_offset_ns).text,
                 graph->end.message != NULL ? ": " : "", graph->end.message != NULL ? graph->end.message : "");
    }
    if (graph->deadline.ms > 0 && graph->state == GRANARY_GRAPH_RUNNING) {
        why_line(why, "it fails unless it has ended in %.3g s",
                 (double)(graph->deadline.ms - manager_unix_ms(manager, manager->now_ns)) / 1e3);
    }
    if (graph->execution == NULL) {
        return;
    }
    if (graph->state == GRANARY_GRAPH_RUNNING) {
        tell_unfinished(why, graph);
    } else { /* nothing new starts, but something still runs */
        why_line(why, "what it had given to executors still runs:");
        why->depth++;
        tell_running_ones(why, graph);
        why->depth--;
    }
}

/* ---- an object ---- */

/* The target an object is a chunk of; NULL: none. */
static const char *
target_of(const struct task_graph *graph, granary_id id)
{
    const char *name = NULL;

    for (size_t t = 0; t < graph->results.count && name == NULL; t++) {
        Granary__Result *result = target_unpack(&graph->results.targets[t]);

        for (size_t i = 0; result != NULL && i < result->n_chunks; i++) {
            if (gr_id_equal(id_of(result->chunks[i]->id), id)) {
                name = graph->results.targets[t].name;
            }
        }
        granary__result__free_unpacked(result, NULL);
    }
    return name;
}

/* false: the graph does not know the object. */
static bool
tell_object_of(struct why *why, struct task_graph *graph, granary_id id)
{
    struct execution_graph *execution = graph_execution(graph);
    uint32_t at = execution == NULL ? NONE : object_find(execution, id);
    const struct object *object = at == NONE ? NULL : &execution->objects.items[at];
    const char *target = object == NULL || object->keep ? target_of(graph, id) : NULL;

    if (object == NULL && target == NULL) {
        return false;
    }
    if (target != NULL) {
        why_line(why, "it is a chunk of target '%s' of graph %s, and stays until that is deleted", target, graph->key);
    }
    if (object == NULL || object->producer >= execution->subtasks.count) {
        return true;
    }
    why_line(why, "subtask %s makes it", why_name(graph, object->producer).text);
    if (object->state == OBJECT_PRESENT) {
        why_line(why, "it was made%s", object->keep ? "" : ", and goes when those that read it are done:");
        why->depth++;
        if (!object->keep && execution == graph->execution) {
            why_line(why, "%" PRIu32 " reader%s of graph %s left", object->consumers_left,
                     why_plural(object->consumers_left), graph->key);
        }
        why->depth--;
    } else if (object->state == OBJECT_FREED) {
        why_line(why, "it was deleted: everybody who needed it is done, or its graph has ended");
    } else {
        why_tell_subtask(why, graph, object->producer);
    }
    return true;
}

static bool
tell_object(struct why *why, granary_id id)
{
    bool known = false;

    for (uint32_t serial = why->manager->registry.serial_count; serial-- > 1;) {
        struct task_graph *graph = graph_of_number(why->manager, WIRE_NUMBER(serial, 0));

        known = (graph != NULL && tell_object_of(why, graph, id)) || known;
    }
    return known;
}

/* ---- */

granary_err
why_tell(struct manager *manager, const char *subject, struct gr_buf *out)
{
    struct why why = {.manager = manager, .out = out};
    const char *rest;
    struct task_graph *graph = info_graph(manager, subject, &rest);
    uint32_t number;
    granary_id id;

    if (graph != NULL && rest[0] == '\0') {
        why_tell_graph(&why, graph);
        return GRANARY_OK;
    }
    if (graph != NULL) {
        number = subtask_number(graph, rest);
        if (number == SUBTASK_NONE) {
            return gr_fail(GRANARY_ENOENT, "graph '%.80s': no subtask '%.80s', or nothing is known of it any more",
                           graph->key, rest);
        }
        why_tell_subtask(&why, graph, number);
        return GRANARY_OK;
    }
    if (granary_id_parse(subject, strlen(subject), &id) == GRANARY_OK && tell_object(&why, id)) {
        return GRANARY_OK;
    }
    return gr_fail(GRANARY_ENOENT, "'%.80s': no graph of that key, and no object that a graph makes", subject);
}
