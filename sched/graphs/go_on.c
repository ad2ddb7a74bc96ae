/*
 * Graphs that subtasks started: those a subtask goes on as, whose targets' chunks become its outputs, and those a
 * function submitted. Both are stopped with their parent; the first kind is deleted with it, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "graph/copy.h"
#include "sched/core/pack.h"
#include "sched/dispatch/order.h"
#include "sched/execution/graph.h"
#include "sched/graphs/graphs.h"

#define DEPTH_MAX 500 /* graphs that go on as graphs, one in the other */

/* ---- parents and children ---- */

void
family_join(struct manager *manager, struct task_graph *graph, const Granary__Submit *submit)
{
    struct task_graph *parent = submit->parent[0] == '\0' ? NULL
                                : submit->parent_serial == 0
                                    ? graph_find(manager, submit->parent)
                                    : graph_of_number(manager, WIRE_NUMBER(submit->parent_serial, 0));

    graph->family.continues = submit->continues;
    if (parent != NULL && parent != graph && graph->family.parent == NULL) {
        graph->family.parent = parent;
        LIST_INSERT_HEAD(&parent->family.children, graph, family.link);
    }
}

void
family_leave(struct task_graph *graph)
{
    struct task_graph *child;

    if (graph->family.parent != NULL) {
        LIST_REMOVE(graph, family.link);
        graph->family.parent = NULL;
    }
    while ((child = LIST_FIRST(&graph->family.children)) != NULL) {
        LIST_REMOVE(child, family.link);
        child->family.parent = NULL;
    }
}

void
family_stop(struct manager *manager, struct task_graph *graph)
{
    struct task_graph *child = LIST_FIRST(&graph->family.children);

    while (child != NULL) {
        struct task_graph *next = LIST_NEXT(child, family.link);

        /* Nobody reads what a failed graph goes on as; what its functions submitted has its own owners. */
        if (child->family.continues || graph->state == GRANARY_GRAPH_CANCELLED) {
            child->end.kill_ns = graph->end.kill_ns < child->end.kill_ns ? graph->end.kill_ns : child->end.kill_ns;
            graph_stop(manager, child, "stopped, as the graph was of which it was a part");
        }
        child = next;
    }
}

void
family_delete(struct manager *manager, struct task_graph *graph)
{
    struct task_graph *child = LIST_FIRST(&graph->family.children);

    while (child != NULL) {
        struct task_graph *next = LIST_NEXT(child, family.link);

        if (child->family.continues && !child->deleting) {
            graph_stop(manager, child, "deleted, as the graph was of which it was a part");
            graph_delete(manager, child);
        }
        child = next;
    }
}

bool
family_is_stopped(const struct task_graph *graph)
{
    const struct task_graph *child;

    LIST_FOREACH(child, &graph->family.children, family.link)
    {
        if ((child->family.continues || graph->state == GRANARY_GRAPH_CANCELLED) &&
            (child->state == GRANARY_GRAPH_RUNNING || child->execution != NULL)) {
            return false;
        }
    }
    return true;
}

/* ---- going on ---- */

static unsigned
depth_of(const struct task_graph *graph)
{
    unsigned depth = 0;

    for (; graph != NULL && graph->family.continues; graph = graph->family.parent) {
        depth++;
    }
    return depth;
}

/* The same run of the same subtask goes on as the same graph, whoever schedules it. */
static void
key_of_child(const struct task_graph *graph, uint32_t number, uint32_t attempt, char key[static GRANARY_KEY_MAX])
{
    char text[GRANARY_KEY_MAX + 64];
    char hash[33];
    int length = snprintf(text, sizeof text, "%s+%u.%u", graph->key, number, attempt);

    gr_hash128_format(text, (size_t)length, hash);
    (void)snprintf(key, GRANARY_KEY_MAX, "%s", length < GRANARY_KEY_MAX ? text : hash);
}

static granary_err
child_submit(struct manager *manager, struct task_graph *graph, const char *key, const Granary__Graph *body,
             struct task_graph **ret_child)
{
    Granary__Submit submit = GRANARY__SUBMIT__INIT;
    char directory[] = "/";
    granary_err err;

    submit.key = (char *)(uintptr_t)key;
    submit.session = graph->session->name;
    submit.directory = directory;
    submit.parent = graph->key;
    submit.continues = true;
    submit.priority = graph->order.lane != NULL ? graph->order.lane->priority : 0;
    submit.deadline_ms = graph->deadline.ms;
    submit.graph = gr_message_copy(&body->base);
    err = submit.graph == NULL ? gr_fail(GRANARY_ENOMEM, "scheduler: out of memory")
                               : graph_accept(manager, key, &submit, ret_child);
    granary__graph__free_unpacked(submit.graph, NULL);
    return err;
}

void
subtask_goes_on(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done)
{
    const struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    char key[GRANARY_KEY_MAX];
    char text[512];
    struct task_graph *child;
    granary_err err = GRANARY_OK;

    key_of_child(graph, number, subtask->attempt, key);
    child = graph_find(manager, key);
    if (depth_of(graph) >= DEPTH_MAX) {
        err = gr_fail(GRANARY_EINVAL, "%d graphs go on as graphs, one in the other: does it ever end?", DEPTH_MAX);
    } else if (child != NULL && (child->family.parent != graph || !child->family.continues || child->deleting)) {
        err = gr_fail(GRANARY_EEXIST, "graph '%s' is another one", key);
    } else if (child == NULL) {
        err = child_submit(manager, graph, key, done->go_on, &child);
    }
    if (err != GRANARY_OK) {
        (void)snprintf(text, sizeof text, "it cannot go on as a graph: %s", granary_error_message());
        failed_by_itself(manager, graph, number, done->node, err, text);
        return;
    }
    child->family.subtask = number;
    execution_graph_away(graph->execution, number);
    if (child->state == GRANARY_GRAPH_RUNNING) {
        graph_check_end(manager, child);
    } else {
        child_ended(manager, child); /* it did so before this scheduler heard of it */
    }
}

/* ---- coming back ---- */

static granary_err
chunk_of(struct task_graph *child, size_t position, ProtobufCBinaryData *ret_id)
{
    const struct target *target = position < child->results.count ? &child->results.targets[position] : NULL;
    Granary__Result *result = target == NULL ? NULL : target_unpack(target);
    size_t count = result == NULL ? 0 : result->n_chunks;

    if (count == 1) {
        *ret_id = result->chunks[0]->id; /* moved */
        result->chunks[0]->id = (ProtobufCBinaryData){.data = NULL};
    }
    granary__result__free_unpacked(result, NULL);
    return count == 1
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL,
                         "it goes on as graph '%s', whose target '%s' has %zu chunks: one is needed for an output",
                         child->key, target != NULL ? target->name : "", count);
}

/* Replace the message's operator by one that takes over the child's results. */
static granary_err
take_over(struct task_graph *child, Granary__Subtask *message)
{
    Granary__ChunkOp *op = message->n_ops == 1 ? message->ops[0] : NULL;
    Granary__Operand **inputs;
    granary_err err = GRANARY_OK;

    if (op == NULL || op->n_outputs != child->results.count) {
        return gr_fail(GRANARY_EINVAL,
                       "it goes on as graph '%s' with %zu targets, but is not one call with as many outputs",
                       child->key, child->results.count);
    }
    inputs = calloc(op->n_outputs + 1, sizeof(Granary__Operand *));
    for (size_t i = 0; inputs != NULL && i < op->n_inputs; i++) {
        granary__operand__free_unpacked(op->inputs[i], NULL);
    }
    if (inputs == NULL) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    free(op->inputs);
    op->inputs = inputs;
    op->n_inputs = 0;
    for (size_t i = 0; err == GRANARY_OK && i < op->n_outputs; i++) {
        Granary__Operand *operand = malloc(sizeof *operand);

        if (operand == NULL) {
            return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
        }
        granary__operand__init(operand);
        op->inputs[op->n_inputs++] = operand;
        err = chunk_of(child, i, &operand->object);
    }
    for (size_t i = 0; i < op->n_attrs; i++) {
        granary__attr__free_unpacked(op->attrs[i], NULL);
    }
    op->n_attrs = 0;
    free(op->op);
    op->op = strdup("alias");
    return err != GRANARY_OK || op->op != NULL ? err : gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
}

static granary_err
come_back(struct task_graph *graph, struct task_graph *child, uint32_t number)
{
    const struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    Granary__Subtask *message = granary__subtask__unpack(NULL, subtask->packed_size, subtask->packed);
    granary_err err;

    if (message == NULL) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    err = take_over(child, message);
    if (err == GRANARY_OK) {
        err = execution_graph_come_back(graph->execution, number, message);
    }
    granary__subtask__free_unpacked(message, NULL);
    return err;
}

void
child_ended(struct manager *manager, struct task_graph *child)
{
    struct task_graph *graph = child->family.parent;
    uint32_t number = child->family.subtask;
    const struct subtask *subtask = !child->family.continues || graph == NULL || graph->execution == NULL
                                        ? NULL
                                        : execution_graph_subtask(graph->execution, number);
    char key[GRANARY_KEY_MAX];
    char text[1024];
    granary_err err;

    if (subtask == NULL || subtask->state != SUBTASK_AWAY || graph->state != GRANARY_GRAPH_RUNNING) {
        return;
    }
    key_of_child(graph, number, subtask->attempt, key);
    if (strcmp(key, child->key) != 0) {
        return; /* of an earlier run of the subtask */
    }
    err = child->state == GRANARY_GRAPH_SUCCEEDED ? come_back(graph, child, number) : child->end.err;
    if (err == GRANARY_OK) {
        graph_wake(manager, graph);
        return;
    }
    (void)snprintf(text, sizeof text, "%s",
                   child->state == GRANARY_GRAPH_SUCCEEDED || child->end.message == NULL ? granary_error_message()
                                                                                         : child->end.message);
    failed_by_itself(manager, graph, number, "", err, text);
}

void
family_spend(struct manager *manager, struct task_graph *graph, uint32_t number)
{
    uint32_t position = 0;
    uint32_t spent;

    while ((spent = execution_graph_spent(graph->execution, number, &position)) != SUBTASK_NONE) {
        struct task_graph *child;

        LIST_FOREACH(child, &graph->family.children, family.link)
        {
            if (child->family.continues && child->family.subtask == spent && !child->deleting &&
                child->state != GRANARY_GRAPH_RUNNING) {
                graph_delete(manager, child);
                break;
            }
        }
    }
}
