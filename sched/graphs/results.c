/* Where results lie: of graphs that have ended, and of those that run, chunk by chunk. */
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "sched/execution/graph.h"
#include "sched/graphs/graphs.h"
#include "sched/graphs/wait.h"

Granary__Result *
target_known(struct task_graph *graph, struct target *target)
{
    if (target->result == NULL && graph->plan != NULL &&
        gr_plan_target_result(graph->plan, (size_t)(target - graph->results.targets), &target->result) != GRANARY_OK) {
        target->result = NULL;
    }
    return target->result;
}

/* Whether it is there, or an error in its place. */
static bool
chunk_fill(const struct task_graph *graph, Granary__Chunk *chunk)
{
    granary_id id = id_of(chunk->id);

    if (!gr_id_is_zero(id) && graph->execution != NULL) {
        chunk->there = execution_graph_object(graph->execution, id, &chunk->rows, &chunk->bytes);
        return chunk->there || execution_graph_object_failed(graph->execution, id);
    }
    return chunk->there;
}

void
result_fill(const struct task_graph *graph, Granary__Result *result, size_t first, size_t count)
{
    for (size_t i = first; i < result->n_chunks && i - first < count; i++) {
        (void)chunk_fill(graph, result->chunks[i]);
    }
}

struct target *
target_find(const struct task_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->results.count; i++) {
        if (strcmp(graph->results.targets[i].name, name) == 0) {
            return &graph->results.targets[i];
        }
    }
    return NULL;
}

Granary__Result *
target_unpack(const struct target *target)
{
    return target->packed == NULL ? NULL : granary__result__unpack(NULL, target->packed_size, target->packed);
}

/* One that has ended has it packed; to be freed then. */
static Granary__Result *
result_of(struct task_graph *graph, struct target *target, bool *ret_owned)
{
    *ret_owned = graph->state != GRANARY_GRAPH_RUNNING;
    if (!*ret_owned) {
        return target_known(graph, target);
    }
    return target_unpack(target);
}

/* There is no result of a graph that has ended: none was made, or it cannot be unpacked. */
static void
reply_nothing(struct manager *manager, uint64_t ticket, const struct task_graph *graph, const struct target *target)
{
    if (target->packed != NULL) {
        reply_no_memory(manager, ticket);
    } else {
        reply_failure(manager, ticket,
                      gr_fail(GRANARY_ENOENT, "graph '%s': target '%s' yields nothing", graph->key, target->name));
    }
}

static granary_err
no_results(const struct task_graph *graph)
{
    return gr_fail(GRANARY_ESTATE, "graph '%s': %s, so it has no results", graph->key,
                   graph->state == GRANARY_GRAPH_FAILED ? "it has failed" : "it was stopped");
}

static void
reply_chunks(struct manager *manager, uint64_t ticket, const struct task_graph *graph, Granary__Result *result,
             uint64_t cursor, uint64_t limit)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    Granary__Result part = *result;
    uint64_t first = cursor < result->n_chunks ? cursor : result->n_chunks;
    uint64_t left = result->n_chunks - first;

    part.chunks = result->chunks + first;
    part.n_chunks = left < limit ? left : limit;
    part.cursor = first;
    part.count = result->n_chunks;
    part.complete = graph->state != GRANARY_GRAPH_RUNNING;
    answer.result = &part;
    (void)reply_message(manager, ticket, &answer);
}

bool
chunks_reply(struct manager *manager, struct task_graph *graph, const struct waiter *waiter)
{
    struct target *target = &graph->results.targets[waiter->target];
    bool ended = graph->state != GRANARY_GRAPH_RUNNING;
    bool owned;
    Granary__Result *result = result_of(graph, target, &owned);
    bool there = result != NULL && waiter->cursor < result->n_chunks &&
                 (chunk_fill(graph, result->chunks[waiter->cursor]) || (ended && graph->failing.keep_going));
    bool answered = true;

    if (there) {
        reply_chunks(manager, waiter->ticket, graph, result, waiter->cursor, waiter->limit);
    } else if (result != NULL && waiter->cursor >= result->n_chunks) {
        reply_failure(manager, waiter->ticket,
                      gr_fail(GRANARY_ENOENT, "graph '%s': target '%s' has %zu chunks", graph->key, target->name,
                              result->n_chunks));
    } else if (graph->end.err != GRANARY_OK) {
        reply_error(manager, waiter->ticket, graph->end.err, graph->end.message != NULL ? graph->end.message : "");
    } else if (ended) {
        reply_nothing(manager, waiter->ticket, graph, target);
    } else {
        answered = false;
    }
    if (owned && result != NULL) {
        granary__result__free_unpacked(result, NULL);
    }
    return answered;
}

static void
reply_result(struct manager *manager, uint64_t ticket, struct task_graph *graph, struct target *target,
             const Granary__GraphRef *ref)
{
    bool owned;
    Granary__Result *result = result_of(graph, target, &owned);
    Granary__Result none = GRANARY__RESULT__INIT;

    if (result == NULL && owned) {
        reply_nothing(manager, ticket, graph, target);
        return;
    }
    if (!owned && result != NULL) {
        result_fill(graph, result, ref->cursor, ref->limit == 0 ? SIZE_MAX : ref->limit);
    }
    reply_chunks(manager, ticket, graph, result != NULL ? result : &none, ref->cursor,
                 ref->limit == 0 ? UINT64_MAX : ref->limit);
    if (owned) {
        granary__result__free_unpacked(result, NULL);
    }
}

void
request_result(struct manager *manager, uint64_t ticket, struct task_graph *graph, const Granary__GraphRef *ref,
               int64_t now_ns)
{
    struct target *target = target_find(graph, ref->target);
    struct waiter waiter = {.what = WAITS_CHUNK,
                            .ticket = ticket,
                            .serial = graph->serial,
                            .cursor = ref->cursor,
                            .limit = ref->limit == 0 ? UINT32_MAX : ref->limit,
                            .deadline_ns = wait_until_ns(ref->timeout_ms, now_ns)};
    bool failed = graph->state == GRANARY_GRAPH_FAILED && !graph->failing.keep_going;

    if (!ref->follow && (failed || graph->state == GRANARY_GRAPH_CANCELLED)) {
        reply_failure(manager, ticket, no_results(graph));
    } else if (target == NULL && graph->restored && graph->end.err != GRANARY_OK) {
        reply_failure(manager, ticket, no_results(graph));
    } else if (target == NULL) {
        reply_failure(manager, ticket,
                      gr_fail(GRANARY_ENOENT, "graph '%s': no target '%s': `granary meta %s` lists them", graph->key,
                              ref->target, graph->key));
    } else if (!ref->follow) {
        reply_result(manager, ticket, graph, target, ref);
    } else {
        waiter.target = (uint32_t)(target - graph->results.targets);
        if (!chunks_reply(manager, graph, &waiter)) {
            (void)waiter_add(manager, waiter);
        }
    }
}
