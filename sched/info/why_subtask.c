/* Why a subtask is where it is, state by state. */
#include <inttypes.h>

#include "base/id.h"
#include "sched/core/manager.h"
#include "sched/dispatch/choose.h"
#include "sched/dispatch/estimates.h"
#include "sched/dispatch/order.h"
#include "sched/dispatch/reservations.h"
#include "sched/dispatch/resources.h"
#include "sched/execution/describe.h"
#include "sched/executors/pool.h"
#include "sched/executors/verdict.h"
#include "sched/history/history.h"
#include "sched/info/why_private.h"

#define DEPTH_MAX 10 /* links of a chain that are told */

/* ---- executors ---- */

static bool
page_of(const struct why *why, const struct executor *executor, struct gr_executor_state *ret_page)
{
    const struct manager_host *host = &why->manager->options.host;
    struct host_process process = {.has_page = false};

    if (host->process == NULL || !host->process(host->context, executor->pid, &process) || !process.has_page) {
        return false;
    }
    *ret_page = process.page;
    return true;
}

/* What an executor is at, in a line. */
static void
tell_executor(struct why *why, const struct executor *executor)
{
    struct gr_executor_state page = {.pid = 0};
    bool known = page_of(why, executor, &page) && page.subtask != 0;
    uint64_t number = known ? page.subtask : reservations_first(why->manager->reservations, executor->number);
    struct task_graph *graph;
    const struct subtask *subtask = subtask_of_number(why->manager, number, &graph);
    uint32_t queued = reservations_queued(why->manager->reservations, executor->number);

    if (number == 0 || subtask == NULL) {
        why_line(why, "executor %" PRIu32 " (pid %" PRId64 ") is idle%s", executor->number, executor->pid,
                 executor->draining ? ", but is to leave"
                 : executor->pull   ? ", and has not asked for work"
                                    : "");
        return;
    }
    why_line(why, "executor %" PRIu32 " (pid %" PRId64 ") %s %s for %s, %s; %" PRIu32 " subtask%s behind it%s",
             executor->number, executor->pid, known ? "runs" : "has", why_name(graph, (uint32_t)number).text,
             why_since(why, known ? page.since_ns : subtask->sent_ns).text,
             known ? gr_executor_phase_name(page.phase) : "given then", queued > 0 ? queued - 1 : 0,
             why_plural(queued > 0 ? queued - 1 : 0), executor->draining ? "; it is to leave then" : "");
}

static void
tell_executors(struct why *why)
{
    struct manager *manager = why->manager;

    why->depth++;
    for (size_t i = 0; i < manager->executors.count && i < WHY_NAMED_MAX; i++) {
        tell_executor(why, &manager->executors.items[i]);
    }
    if (manager->executors.count > WHY_NAMED_MAX) {
        why_line(why, "and %zu more: `granary executors` lists them", manager->executors.count - WHY_NAMED_MAX);
    }
    why->depth--;
}

/* ---- memory ---- */

struct holders {
    struct why *why;
    size_t count;
    uint64_t rest;
};

static void
tell_holder(void *context, uint32_t executor, uint64_t bytes, uint64_t first, uint32_t left)
{
    struct holders *holders = context;
    struct task_graph *graph;
    const struct subtask *subtask = subtask_of_number(holders->why->manager, first, &graph);

    if (bytes == 0) {
        return;
    }
    if (holders->count++ >= WHY_NAMED_MAX) {
        holders->rest += bytes;
        return;
    }
    why_line(holders->why, "%s by %s%s at executor %" PRIu32 " for %s", why_size(bytes).text,
             why_name_of_wire(holders->why, first).text, left > 1 ? " and those with it" : "", executor,
             why_since(holders->why, subtask == NULL ? 0 : subtask->sent_ns).text);
}

/* Who has what of the store's memory reserved. */
static void
tell_memory(struct why *why)
{
    struct holders holders = {.why = why};

    why_line(why, "reserved are %s of %s:", why_size(reservations_bytes(why->manager->reservations)).text,
             why_size(why->manager->options.memory_bytes).text);
    why->depth++;
    reservations_visit(why->manager->reservations, tell_holder, &holders);
    if (holders.rest > 0) {
        why_line(why, "%s by others", why_size(holders.rest).text);
    }
    why->depth--;
}

/* ---- named resources ---- */

static void
tell_resource_holder(void *context, uint32_t executor, uint64_t bytes, uint64_t first, uint32_t left)
{
    struct holders *holders = context;
    struct manager *manager = holders->why->manager;
    struct task_graph *graph = graph_of_number(manager, first);
    char what[160] = "";

    (void)bytes;
    (void)left;
    if (graph != NULL && graph->execution != NULL) {
        resources_describe(manager->resources, ask_of(manager, graph, (uint32_t)first).need, what, sizeof what);
    }
    if (what[0] != '\0' && holders->count++ < WHY_NAMED_MAX) {
        why_line(holders->why, "%s by %s at executor %" PRIu32 " for %s", what,
                 why_name_of_wire(holders->why, first).text, executor,
                 why_since(holders->why, execution_graph_subtask(graph->execution, (uint32_t)first)->sent_ns).text);
    }
}

/* What a subtask needs of what the instance has so much of, and who has it. */
static void
tell_resources(struct why *why, uint32_t need)
{
    struct holders holders = {.why = why};
    char what[160];

    resources_describe(why->manager->resources, need, what, sizeof what);
    why_line(why, "it needs %s, and there is not so much left:", what);
    why->depth++;
    reservations_visit(why->manager->reservations, tell_resource_holder, &holders);
    why->depth--;
}

/* Somebody who has waited for long gets what comes free first. */
static void
tell_claim(struct why *why, const struct reservation_ask *ask, bool memory)
{
    uint64_t claimant = reservations_claimant(why->manager->reservations, memory);

    if (claimant != 0 && claimant != ask->number && !reservations_allow(why->manager->reservations, ask)) {
        why_line(why, "%s has waited longer for %s: nothing is given that takes from it",
                 why_name_of_wire(why, claimant).text, memory ? "memory" : "what it needs");
    }
}

/* ---- whose turn it is ---- */

static void
tell_turn(struct why *why, const struct task_graph *graph)
{
    const struct task_graph *other;
    struct manager *manager = why->manager;
    const struct session *session = graph->session;
    size_t above = 0;
    size_t beside = 0;
    size_t others = 0;

    FOREACH_GRAPH(other, manager)
    {

        if (other == graph || !other->order.is_runnable || other->order.lane == NULL || graph->order.lane == NULL ||
            execution_graph_counts(other->execution)->ready == 0) {
            continue;
        }
        above += other->order.lane->priority > graph->order.lane->priority;
        if (other->order.lane->priority == graph->order.lane->priority) {
            beside += other->session == session;
            others += other->session != session;
        }
    }
    if (above > 0) {
        why_line(why, "%zu graph%s of higher priority than its %" PRId32 " go%s first", above, why_plural(above),
                 graph->order.lane->priority, above == 1 ? "es" : "");
    }
    if (others > 0) {
        why_line(why,
                 "it shares with %zu graph%s of other sessions: session '%s' has weight %" PRIu32
                 " and has had %.3g s of executors",
                 others, why_plural(others), session->name, session->weight, (double)session->used_ns / 1e9);
    }
    if (beside > 0) {
        why_line(why, "it takes turns with %zu graph%s of its session", beside, why_plural(beside));
    }
}

/* ---- a subtask, state by state ---- */

static void
tell_waiting(struct why *why, struct task_graph *graph, const struct subtask *subtask)
{
    const struct execution_graph *execution = graph->execution;
    uint32_t next = SUBTASK_NONE;
    size_t missing = 0;
    char id[GRANARY_ID_TEXT + 1];

    for (uint32_t i = 0; i < subtask->input_count; i++) {
        const struct object *object = &execution->objects.items[execution->links.items[subtask->first_input + i]];

        if (object->state == OBJECT_PRESENT) {
            continue;
        }
        next = next == SUBTASK_NONE ? object->producer : next;
        if (missing++ < WHY_NAMED_MAX && object->producer < execution->subtasks.count) {
            granary_id_format(object->id, id);
            why_line(why, "it needs object %s, which %s makes: that is %s", id, why_name(graph, object->producer).text,
                     subtask_state_name((enum subtask_state)execution->subtasks.items[object->producer].state));
        } else if (missing <= WHY_NAMED_MAX) {
            granary_id_format(object->id, id);
            why_line(why, "it needs object %s, which nobody makes", id);
        }
    }
    for (uint32_t i = 0; i < subtask->before_count; i++) {
        uint32_t before = execution->links.items[subtask->first_before + i];

        if (execution->subtasks.items[before].passed) {
            continue;
        }
        next = next == SUBTASK_NONE ? before : next;
        if (missing++ < WHY_NAMED_MAX) {
            why_line(why, "it comes after %s: that is %s", why_name(graph, before).text,
                     subtask_state_name((enum subtask_state)execution->subtasks.items[before].state));
        }
    }
    if (missing > WHY_NAMED_MAX) {
        why_line(why, "and %zu more inputs", missing - WHY_NAMED_MAX);
    }
    if (next != SUBTASK_NONE && next < execution->subtasks.count) {
        why->depth++;
        why_tell_subtask(why, graph, next);
        why->depth--;
    }
}

static void
add_bytes(void *context, int32_t node, uint64_t bytes)
{
    (void)node;
    *(uint64_t *)context += bytes;
}

static void
tell_ready(struct why *why, struct task_graph *graph, uint32_t number, const struct subtask *subtask)
{
    struct manager *manager = why->manager;
    struct reservation_ask ask = ask_of(manager, graph, number);
    uint64_t in_bytes = 0;
    uint64_t out_bytes;
    size_t idle;

    execution_graph_inputs(graph->execution, number, add_bytes, &in_bytes);
    out_bytes = ask.bytes > in_bytes ? ask.bytes - in_bytes : 0;
    why_line(why, "everything it needs is there, for %s", why_since(why, ready_since(manager, graph, number)).text);
    if (manager->executors.count == 0) {
        why_line(why, "no executor is there: %" PRIu32 " slot%s of the pool; `granary executors add` starts some",
                 manager->pool->slots, why_plural(manager->pool->slots));
        return;
    }
    (void)reservations_candidates(manager->reservations, true, ask.user_code, &idle);
    if (!resources_fit(manager->resources, ask.need)) {
        tell_resources(why, ask.need);
    }
    tell_claim(why, &ask, false);
    if (subtask->is_root && roots_are_held(manager, graph, 0)) {
        why_line(why,
                 "it begins something new, and what has been made so far is to be read first: it takes half of memory");
    }
    if (!reservations_fit(manager->reservations, 0, ask.bytes)) {
        why_line(why, "it needs %s of memory (%s inputs, about %s outputs), and there is not so much left:",
                 why_size(ask.bytes).text, why_size(in_bytes).text, why_size(out_bytes).text);
        tell_memory(why);
    }
    tell_claim(why, &ask, true);
    if (idle == 0) {
        if (subtask->suspect) {
            why_line(why, "it was at executors that died, so it runs alone: it needs an idle one");
        } else if (estimates_find(manager->estimates, subtask->kind) == NULL) {
            why_line(why, "nothing of its kind has run yet, so it runs alone: it needs an idle executor");
        }
        if (!ask.user_code && reservations_cores_taken(manager->reservations)) {
            why_line(why, "operators of %" PRIu32 " executor%s run, one a core; it waits for one of them:",
                     manager->options.cores, why_plural(manager->options.cores));
        } else {
            why_line(why, "all %zu executor%s have work:", manager->executors.count,
                     why_plural(manager->executors.count));
        }
        tell_executors(why);
    }
    if (execution_graph_peek(graph->execution) != number && execution_graph_counts(graph->execution)->ready > 1) {
        why_line(why, "%" PRIu64 " subtasks of its graph are ready; %s is next",
                 execution_graph_counts(graph->execution)->ready,
                 why_name(graph, execution_graph_peek(graph->execution)).text);
    }
    tell_turn(why, graph);
}

/* User code waits for an object. */
static void
tell_wait(struct why *why, granary_id object, int64_t since_ns)
{
    struct task_graph *graph;
    struct manager *manager = why->manager;
    char id[GRANARY_ID_TEXT + 1];

    granary_id_format(object, id);
    why_line(why, "its code waits for object %s for %s, and keeps the executor meanwhile", id,
             why_since(why, since_ns).text);
    FOREACH_GRAPH(graph, manager)
    {
        uint32_t at = graph->execution == NULL ? NONE : object_find(graph->execution, object);

        if (at != NONE && graph->execution->objects.items[at].state != OBJECT_PRESENT) {
            uint32_t producer = graph->execution->objects.items[at].producer;

            why_line(why, "that is made by %s", why_name(graph, producer).text);
            if (producer < graph->execution->subtasks.count) {
                why->depth++;
                why_tell_subtask(why, graph, producer);
                why->depth--;
            }
            return;
        }
    }
    why_line(why, "no graph is to make that object: another process must put it");
}

static void
tell_running(struct why *why, const struct task_graph *graph, uint32_t number, const struct subtask *subtask)
{
    struct manager *manager = why->manager;
    const struct executor *executor =
        executor_find(manager, reservations_holder(manager->reservations, subtask->token));
    uint64_t wire_number = WIRE_NUMBER(graph->serial, number);
    struct gr_executor_state page = {.pid = 0};
    bool known;

    if (executor == NULL) {
        why_line(why, "its executor has just gone");
        return;
    }
    known = page_of(why, executor, &page) && page.subtask != 0;
    if (known && page.subtask == wire_number) {
        why_line(why, "executor %" PRIu32 " (pid %" PRId64 ", band %" PRId32 ") runs it for %s: %s%s", executor->number,
                 executor->pid, executor->node, why_since(why, page.since_ns).text,
                 page.phase == GR_PHASE_LEASE   ? "it is getting its inputs"
                 : page.phase == GR_PHASE_STORE ? "it is storing what it made"
                                                : "it is at work",
                 page.phase == GR_PHASE_LEASE || page.phase == GR_PHASE_STORE
                     ? "; if that takes long, the store waits for memory: `granary top`"
                     : "");
        if (page.progress > 0) {
            why_line(why, "its code says %.0f %% are done", page.progress * 100);
        }
        if (!gr_id_is_zero(page.waits_for)) {
            tell_wait(why, page.waits_for, page.waits_since_ns);
        }
    } else {
        why_line(why, "executor %" PRIu32 " (pid %" PRId64 ", band %" PRId32 ") has it for %s%s", executor->number,
                 executor->pid, executor->node, why_since(why, subtask->sent_ns).text,
                 known || reservations_first(manager->reservations, executor->number) != wire_number
                     ? ", behind another:"
                     : "");
        if (known || reservations_first(manager->reservations, executor->number) != wire_number) {
            why->depth++;
            tell_executor(why, executor);
            why->depth--;
        }
    }
    if (verdict_is_of(executor, wire_number, subtask->attempt)) {
        why_line(why, "it was asked to stop%s: %s", executor->verdict.killed ? ", and its executor killed" : "",
                 executor->verdict.message != NULL ? executor->verdict.message : "");
    }
}

static void
tell_ended(struct why *why, const struct task_graph *graph, uint32_t number)
{
    const struct record *record = record_of(why->manager, graph, number);

    if (record != NULL) {
        why_line(why, "executor %" PRIu32 " ran it, attempt %" PRIu32 ", until %s ago%s%s", record->executor,
                 record->attempt, why_since(why, record->ended_ns).text, record_message(record)[0] != '\0' ? ": " : "",
                 record_message(record));
    }
}

/* It has ended as a run, and goes on as a graph. */
static void
tell_away(struct why *why, const struct task_graph *graph, uint32_t number)
{
    struct task_graph *child;

    LIST_FOREACH(child, &graph->family.children, family.link)
    {
        if (child->family.continues && child->family.subtask == number) {
            why_line(why, "it goes on as a graph of its own, holds no executor, and ends with that:");
            why->depth++;
            why_tell_graph(why, child);
            why->depth--;
            return;
        }
    }
    why_line(why, "it went on as a graph that is gone");
}

void
why_tell_subtask(struct why *why, struct task_graph *graph, uint32_t number)
{
    struct execution_graph *execution = graph_execution(graph);
    const struct subtask *subtask = execution_graph_subtask(execution, number);
    enum subtask_state state = (enum subtask_state)subtask->state;

    if (why->depth >= DEPTH_MAX) {
        why_line(why, "... `granary why %s/%" PRIu32 "` tells more", graph->key, number);
        return;
    }
    why_line(why, "subtask %s is %s%s", why_name(graph, number).text, subtask_state_name(state),
             subtask->attempt > 1 || (subtask->attempt == 1 && state != SUBTASK_RUNNING && state != SUBTASK_SUCCEEDED)
                 ? ", not for the first time"
                 : "");
    if (execution != graph->execution) {
        tell_ended(why, graph, number);
        return;
    }
    switch (state) {
    case SUBTASK_WAITING:
        tell_waiting(why, graph, subtask);
        break;
    case SUBTASK_READY:
        tell_ready(why, graph, number, subtask);
        break;
    case SUBTASK_RUNNING:
        tell_running(why, graph, number, subtask);
        break;
    case SUBTASK_PARKED:
        why_line(why,
                 "the store had no room for what it makes (about %s), %" PRIu32 " time%s: it is tried again when "
                 "something else has ended",
                 why_size(subtask->out_bytes).text, subtask->rooms, why_plural(subtask->rooms));
        tell_memory(why);
        break;
    case SUBTASK_AWAY:
        tell_away(why, graph, number);
        break;
    default:
        tell_ended(why, graph, number);
        break;
    }
}
