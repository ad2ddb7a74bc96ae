#include "sched/why.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "sched/execution_private.h"
#include "sched/host.h"
#include "sched/info.h"
#include "sched/task_private.h"

#define DEPTH_MAX 10 /* links of a chain that are told */
#define NAMED_MAX 5  /* things of a kind that are named one by one */

struct why {
    struct manager *manager;
    struct gr_buf *out;
    int depth;
};

static void tell_subtask(struct why *why, struct task_graph *graph, uint32_t number);

/* ---- sentences ---- */

static void line(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
line(struct why *why, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gr_buf_addf(why->out, "%*s", why->depth * 2, "");
    gr_buf_add(why->out, text, strlen(text));
    gr_buf_add(why->out, "\n", 1);
}

struct words {
    char text[64];
};

/* How long since a moment; "?" when that is not known. */
static struct words
since(const struct why *why, int64_t ns)
{
    double seconds = (double)(why->manager->now_ns - ns) / 1e9;
    struct words words;

    if (ns == 0) {
        (void)snprintf(words.text, sizeof words.text, "an unknown time");
    } else if (seconds < 120) {
        (void)snprintf(words.text, sizeof words.text, "%.3g s", seconds < 0 ? 0 : seconds);
    } else {
        (void)snprintf(words.text, sizeof words.text, "%.0f min", seconds / 60);
    }
    return words;
}

static struct words
size_of(uint64_t bytes)
{
    struct words words;

    if (bytes < 1048576) {
        (void)snprintf(words.text, sizeof words.text, "%.1f KiB", (double)bytes / 1024);
    } else {
        (void)snprintf(words.text, sizeof words.text, "%.1f MiB", (double)bytes / 1048576);
    }
    return words;
}

static const char *
plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* "KEY/NUMBER (node 'NAME': ops)". */
struct name {
    char text[256];
};

static struct name
name_of(const struct task_graph *graph, uint32_t number)
{
    struct execution_graph *execution = graph->execution != NULL ? graph->execution : graph->past;
    const struct subtask *subtask = execution == NULL ? NULL : execution_graph_subtask(execution, number);
    struct gr_buf node = {0};
    struct gr_buf ops = {0};
    struct name name;

    if (subtask != NULL) {
        subtask_says(subtask, &node, &ops);
    }
    (void)snprintf(name.text, sizeof name.text, "%s/%" PRIu32 " (node '%.60s': %.80s)", graph->key, number,
                   node.size > 0 && gr_buf_ok(&node) ? node.bytes : "?",
                   ops.size > 0 && gr_buf_ok(&ops) ? ops.bytes : "?");
    gr_buf_free(&node);
    gr_buf_free(&ops);
    return name;
}

static struct name
name_of_wire(const struct why *why, uint64_t wire_number)
{
    const struct task_graph *graph = graph_of_number(why->manager, wire_number);
    struct name name = {"a subtask that is gone"};

    return graph == NULL ? name : name_of(graph, (uint32_t)wire_number);
}

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
    const struct task_graph *graph = graph_of_number(why->manager, number);
    const struct subtask *subtask =
        graph == NULL || graph->execution == NULL ? NULL : execution_graph_subtask(graph->execution, (uint32_t)number);
    uint32_t queued = reservations_queued(why->manager->reservations, executor->number);

    if (number == 0 || subtask == NULL) {
        line(why, "executor %" PRIu32 " (pid %" PRId64 ") is idle%s", executor->number, executor->pid,
             executor->draining ? ", but is to leave"
             : executor->pull   ? ", and has not asked for work"
                                : "");
        return;
    }
    line(why, "executor %" PRIu32 " (pid %" PRId64 ") %s %s for %s, %s; %" PRIu32 " subtask%s behind it%s",
         executor->number, executor->pid, known ? "runs" : "has", name_of(graph, (uint32_t)number).text,
         since(why, known ? page.since_ns : subtask->sent_ns).text,
         known ? gr_executor_phase_name(page.phase) : "given then", queued > 0 ? queued - 1 : 0,
         plural(queued > 0 ? queued - 1 : 0), executor->draining ? "; it is to leave then" : "");
}

static void
tell_executors(struct why *why)
{
    struct manager *manager = why->manager;

    why->depth++;
    for (size_t i = 0; i < manager->executor_count && i < NAMED_MAX; i++) {
        tell_executor(why, &manager->executors[i]);
    }
    if (manager->executor_count > NAMED_MAX) {
        line(why, "and %zu more: `granary executors` lists them", manager->executor_count - NAMED_MAX);
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
    const struct task_graph *graph = graph_of_number(holders->why->manager, first);
    const struct subtask *subtask =
        graph == NULL || graph->execution == NULL ? NULL : execution_graph_subtask(graph->execution, (uint32_t)first);

    if (bytes == 0) {
        return;
    }
    if (holders->count++ >= NAMED_MAX) {
        holders->rest += bytes;
        return;
    }
    line(holders->why, "%s by %s%s at executor %" PRIu32 " for %s", size_of(bytes).text,
         name_of_wire(holders->why, first).text, left > 1 ? " and those with it" : "", executor,
         since(holders->why, subtask == NULL ? 0 : subtask->sent_ns).text);
}

/* Who has what of the store's memory reserved. */
static void
tell_memory(struct why *why)
{
    struct holders holders = {.why = why};

    line(why, "reserved are %s of %s:", size_of(reservations_bytes(why->manager->reservations)).text,
         size_of(why->manager->options.memory_bytes).text);
    why->depth++;
    reservations_visit(why->manager->reservations, tell_holder, &holders);
    if (holders.rest > 0) {
        line(why, "%s by others", size_of(holders.rest).text);
    }
    why->depth--;
}

/* ---- whose turn it is ---- */

static void
tell_turn(struct why *why, const struct task_graph *graph)
{
    struct manager *manager = why->manager;
    const struct session *session = graph->session;
    size_t above = 0;
    size_t beside = 0;
    size_t others = 0;

    for (uint32_t serial = 1; serial < manager->serial_count; serial++) {
        const struct task_graph *other = manager->by_serial[serial];

        if (other == NULL || other == graph || !other->is_runnable || other->lane == NULL || graph->lane == NULL ||
            execution_graph_counts(other->execution)->ready == 0) {
            continue;
        }
        above += other->lane->priority > graph->lane->priority;
        if (other->lane->priority == graph->lane->priority) {
            beside += other->session == session;
            others += other->session != session;
        }
    }
    if (above > 0) {
        line(why, "%zu graph%s of higher priority than its %" PRId32 " go%s first", above, plural(above),
             graph->lane->priority, above == 1 ? "es" : "");
    }
    if (others > 0) {
        line(why,
             "it shares with %zu graph%s of other sessions: session '%s' has weight %" PRIu32
             " and has had %.3g s of executors",
             others, plural(others), session->name, session->weight, (double)session->used_ns / 1e9);
    }
    if (beside > 0) {
        line(why, "it takes turns with %zu graph%s of its session", beside, plural(beside));
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
        if (missing++ < NAMED_MAX && object->producer < execution->subtasks.count) {
            granary_id_format(object->id, id);
            line(why, "it needs object %s, which %s makes: that is %s", id, name_of(graph, object->producer).text,
                 subtask_state_name((enum subtask_state)execution->subtasks.items[object->producer].state));
        } else if (missing <= NAMED_MAX) {
            granary_id_format(object->id, id);
            line(why, "it needs object %s, which nobody makes", id);
        }
    }
    for (uint32_t i = 0; i < subtask->before_count; i++) {
        uint32_t before = execution->links.items[subtask->first_before + i];

        if (execution->subtasks.items[before].passed) {
            continue;
        }
        next = next == SUBTASK_NONE ? before : next;
        if (missing++ < NAMED_MAX) {
            line(why, "it comes after %s: that is %s", name_of(graph, before).text,
                 subtask_state_name((enum subtask_state)execution->subtasks.items[before].state));
        }
    }
    if (missing > NAMED_MAX) {
        line(why, "and %zu more inputs", missing - NAMED_MAX);
    }
    if (next != SUBTASK_NONE && next < execution->subtasks.count) {
        why->depth++;
        tell_subtask(why, graph, next);
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
    char what[160];
    size_t idle;

    execution_graph_inputs(graph->execution, number, add_bytes, &in_bytes);
    out_bytes = ask.bytes > in_bytes ? ask.bytes - in_bytes : 0;
    line(why, "everything it needs is there, for %s", since(why, ready_since(manager, graph, number)).text);
    if (manager->executor_count == 0) {
        line(why, "no executor is there: %" PRIu32 " slot%s of the pool; `granary executors add` starts some",
             manager->pool.slots, plural(manager->pool.slots));
        return;
    }
    (void)reservations_candidates(manager->reservations, true, &idle);
    if (!resources_fit(manager->resources, ask.need)) {
        resources_describe(manager->resources, ask.need, what, sizeof what);
        line(why, "it needs %s, and others have too much of that", what);
    }
    if (subtask->is_root && roots_are_held(manager, graph, 0)) {
        line(why,
             "it begins something new, and what has been made so far is to be read first: it takes half of memory");
    }
    if (!reservations_fit(manager->reservations, 0, ask.bytes)) {
        line(why, "it needs %s of memory (%s inputs, about %s outputs), and there is not so much left:",
             size_of(ask.bytes).text, size_of(in_bytes).text, size_of(out_bytes).text);
        tell_memory(why);
    }
    if (idle == 0) {
        if (subtask->suspect) {
            line(why, "it was at executors that died, so it runs alone: it needs an idle one");
        } else if (estimates_find(manager->estimates, subtask->kind) == NULL) {
            line(why, "nothing of its kind has run yet, so it runs alone: it needs an idle executor");
        }
        line(why, "all %zu executor%s have work:", manager->executor_count, plural(manager->executor_count));
        tell_executors(why);
    }
    if (execution_graph_peek(graph->execution) != number && execution_graph_counts(graph->execution)->ready > 1) {
        line(why, "%" PRIu64 " subtasks of its graph are ready; %s is next",
             execution_graph_counts(graph->execution)->ready,
             name_of(graph, execution_graph_peek(graph->execution)).text);
    }
    tell_turn(why, graph);
}

/* User code waits for an object. */
static void
tell_wait(struct why *why, granary_id object, int64_t since_ns)
{
    struct manager *manager = why->manager;
    char id[GRANARY_ID_TEXT + 1];

    granary_id_format(object, id);
    line(why, "its code waits for object %s for %s, and keeps the executor meanwhile", id, since(why, since_ns).text);
    for (uint32_t serial = 1; serial < manager->serial_count; serial++) {
        struct task_graph *graph = manager->by_serial[serial];
        uint32_t at = graph == NULL || graph->execution == NULL ? NONE : object_find(graph->execution, object);

        if (at != NONE && graph->execution->objects.items[at].state != OBJECT_PRESENT) {
            uint32_t producer = graph->execution->objects.items[at].producer;

            line(why, "that is made by %s", name_of(graph, producer).text);
            if (producer < graph->execution->subtasks.count) {
                why->depth++;
                tell_subtask(why, graph, producer);
                why->depth--;
            }
            return;
        }
    }
    line(why, "no graph is to make that object: another process must put it");
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
        line(why, "its executor has just gone");
        return;
    }
    known = page_of(why, executor, &page) && page.subtask != 0;
    if (known && page.subtask == wire_number) {
        line(why, "executor %" PRIu32 " (pid %" PRId64 ", band %" PRId32 ") runs it for %s: %s%s", executor->number,
             executor->pid, executor->node, since(why, page.since_ns).text,
             page.phase == GR_PHASE_LEASE   ? "it is getting its inputs"
             : page.phase == GR_PHASE_STORE ? "it is storing what it made"
                                            : "it is at work",
             page.phase == GR_PHASE_LEASE || page.phase == GR_PHASE_STORE
                 ? "; if that takes long, the store waits for memory: `granary top`"
                 : "");
        if (page.progress > 0) {
            line(why, "its code says %.0f %% are done", page.progress * 100);
        }
        if (!gr_id_is_zero(page.waits_for)) {
            tell_wait(why, page.waits_for, page.waits_since_ns);
        }
    } else {
        line(why, "executor %" PRIu32 " (pid %" PRId64 ", band %" PRId32 ") has it for %s%s", executor->number,
             executor->pid, executor->node, since(why, subtask->sent_ns).text,
             known || reservations_first(manager->reservations, executor->number) != wire_number ? ", behind another:"
                                                                                                 : "");
        if (known || reservations_first(manager->reservations, executor->number) != wire_number) {
            why->depth++;
            tell_executor(why, executor);
            why->depth--;
        }
    }
    if (verdict_is_of(executor, wire_number, subtask->attempt)) {
        line(why, "it was asked to stop%s: %s", executor->verdict.killed ? ", and its executor killed" : "",
             executor->verdict.message != NULL ? executor->verdict.message : "");
    }
}

static void
tell_ended(struct why *why, const struct task_graph *graph, uint32_t number)
{
    const struct record *record = record_of(why->manager, graph, number);

    if (record != NULL) {
        line(why, "executor %" PRIu32 " ran it, attempt %" PRIu32 ", until %s ago%s%s", record->executor,
             record->attempt, since(why, record->ended_ns).text, record_message(record)[0] != '\0' ? ": " : "",
             record_message(record));
    }
}

static void
tell_subtask(struct why *why, struct task_graph *graph, uint32_t number)
{
    struct execution_graph *execution = graph->execution != NULL ? graph->execution : graph->past;
    const struct subtask *subtask = execution_graph_subtask(execution, number);
    enum subtask_state state = (enum subtask_state)subtask->state;

    if (why->depth >= DEPTH_MAX) {
        line(why, "... `granary why %s/%" PRIu32 "` tells more", graph->key, number);
        return;
    }
    line(why, "subtask %s is %s%s", name_of(graph, number).text, subtask_state_name(state),
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
        line(why,
             "the store had no room for what it makes (about %s), %" PRIu32 " time%s: it is tried again when "
             "something else has ended",
             size_of(subtask->out_bytes).text, subtask->rooms, plural(subtask->rooms));
        tell_memory(why);
        break;
    default:
        tell_ended(why, graph, number);
        break;
    }
}

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

    for (uint32_t number = 0; number < execution->subtasks.count && told < NAMED_MAX; number++) {
        if (execution->subtasks.items[number].state == SUBTASK_RUNNING) {
            tell_subtask(why, graph, number);
            told++;
        }
    }
}

static void
tell_unfinished(struct why *why, struct task_graph *graph)
{
    const struct execution_graph_counts *counts = execution_graph_counts(graph->execution);
    uint32_t number;

    line(why,
         "%" PRIu64 " of %" PRIu64 " subtasks are done, %" PRIu64 " run, %" PRIu64 " are ready, %" PRIu64
         " are parked, %" PRIu64 " wait for others",
         counts->succeeded, counts->total, counts->running, counts->ready, counts->parked, graph->execution->waiting);
    if (graph->plan != NULL && !gr_plan_complete(graph->plan)) {
        line(why, "its plan is not complete: what these find out about its inputs decides how it goes on");
    }
    why->depth++;
    if (counts->running > 0) {
        tell_running_ones(why, graph);
    }
    number = counts->ready > 0 ? execution_graph_peek(graph->execution) : SUBTASK_NONE;
    if (number != SUBTASK_NONE) {
        tell_subtask(why, graph, number);
    }
    number = counts->parked > 0 ? first_in(graph->execution, SUBTASK_PARKED) : SUBTASK_NONE;
    if (number != SUBTASK_NONE) {
        tell_subtask(why, graph, number);
    }
    number = counts->running + counts->ready + counts->parked == 0 ? first_in(graph->execution, SUBTASK_WAITING)
                                                                   : SUBTASK_NONE;
    if (number != SUBTASK_NONE) {
        tell_subtask(why, graph, number);
    }
    why->depth--;
}

static void
tell_graph(struct why *why, struct task_graph *graph)
{
    static const char *const states[] = {"?", "running", "succeeded", "failed", "cancelled"};
    struct manager *manager = why->manager;

    line(why, "graph %s of session '%s' is %s", graph->key, graph->session->name,
         graph->deleting ? "being deleted" : states[graph->state]);
    if (graph->state != GRANARY_GRAPH_RUNNING && graph->ended_ms > 0) {
        line(why, "it ended %s ago%s%s", since(why, graph->ended_ms * 1000000 - manager->options.unix_offset_ns).text,
             graph->message != NULL ? ": " : "", graph->message != NULL ? graph->message : "");
    }
    if (graph->deadline_ms > 0 && graph->state == GRANARY_GRAPH_RUNNING) {
        line(why, "it fails unless it has ended in %.3g s",
             (double)(graph->deadline_ms - info_unix_ms(manager, manager->now_ns)) / 1e3);
    }
    if (graph->execution == NULL) {
        return;
    }
    if (graph->state == GRANARY_GRAPH_RUNNING) {
        tell_unfinished(why, graph);
    } else { /* nothing new starts, but something still runs */
        line(why, "what it had given to executors still runs:");
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

    for (size_t t = 0; t < graph->target_count && name == NULL; t++) {
        Granary__Result *result =
            graph->targets[t].packed == NULL
                ? NULL
                : granary__result__unpack(NULL, graph->targets[t].packed_size, graph->targets[t].packed);

        for (size_t i = 0; result != NULL && i < result->n_chunks; i++) {
            if (gr_id_equal(id_of(result->chunks[i]->id), id)) {
                name = graph->targets[t].name;
            }
        }
        if (result != NULL) {
            granary__result__free_unpacked(result, NULL);
        }
    }
    return name;
}

/* false: the graph does not know the object. */
static bool
tell_object_of(struct why *why, struct task_graph *graph, granary_id id)
{
    struct execution_graph *execution = graph->execution != NULL ? graph->execution : graph->past;
    uint32_t at = execution == NULL ? NONE : object_find(execution, id);
    const struct object *object = at == NONE ? NULL : &execution->objects.items[at];
    const char *target = object == NULL || object->keep ? target_of(graph, id) : NULL;

    if (object == NULL && target == NULL) {
        return false;
    }
    if (target != NULL) {
        line(why, "it is a chunk of target '%s' of graph %s, and stays until that is deleted", target, graph->key);
    }
    if (object == NULL || object->producer >= execution->subtasks.count) {
        return true;
    }
    line(why, "subtask %s makes it", name_of(graph, object->producer).text);
    if (object->state == OBJECT_PRESENT) {
        line(why, "it was made%s", object->keep ? "" : ", and goes when those that read it are done:");
        why->depth++;
        if (!object->keep && execution == graph->execution) {
            line(why, "%" PRIu32 " reader%s of graph %s left", object->consumers_left, plural(object->consumers_left),
                 graph->key);
        }
        why->depth--;
    } else if (object->state == OBJECT_FREED) {
        line(why, "it was deleted: everybody who needed it is done, or its graph has ended");
    } else {
        tell_subtask(why, graph, object->producer);
    }
    return true;
}

static bool
tell_object(struct why *why, granary_id id)
{
    bool known = false;

    for (uint32_t serial = why->manager->serial_count; serial-- > 1;) {
        struct task_graph *graph = why->manager->by_serial[serial];

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
        tell_graph(&why, graph);
        return GRANARY_OK;
    }
    if (graph != NULL) {
        number = subtask_number(graph, rest);
        if (number == SUBTASK_NONE) {
            return gr_fail(GRANARY_ENOENT, "graph '%.80s': no subtask '%.80s', or nothing is known of it any more",
                           graph->key, rest);
        }
        tell_subtask(&why, graph, number);
        return GRANARY_OK;
    }
    if (granary_id_parse(subject, strlen(subject), &id) == GRANARY_OK && tell_object(&why, id)) {
        return GRANARY_OK;
    }
    return gr_fail(GRANARY_ENOENT, "'%.80s': no graph of that key, and no object that a graph makes", subject);
}
