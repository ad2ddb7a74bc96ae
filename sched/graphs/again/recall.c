/* See recall.h. */
#include "sched/graphs/again/recall.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/log.h"
#include "graph/copy.h"
#include "sched/core/pack.h"
#include "sched/graphs/graphs.h"
#include "sched/graphs/told.h"
#include "sched/recall/content.h"
#include "sched/recall/recalls.h"

/* ---- before ---- */

/* Of what was recalled, or may be, the entry: readers of all that have it read the same. Else the graph. */
static granary_id
origin(void *context, uint32_t serial)
{
    const struct manager *manager = context;
    const struct task_graph *graph = graph_of_number(manager, WIRE_NUMBER(serial, 0));
    const struct recalled *recalled =
        graph != NULL && graph->recall.from != NULL ? graph->recall.from : recalls_of(manager->recalls, serial);
    granary_id id = {{0}};

    if (recalled != NULL) {
        return recalled->stamp;
    }
    memcpy(id.bytes, &serial, sizeof serial);
    return id;
}

/* The entry that has all targets; NULL: some are not known, or another one's. */
static struct recalled *
find_all(const struct manager *manager, const struct task_graph *graph, const Granary__Graph *message)
{
    struct recalled *from = NULL;

    for (size_t i = 0; i < message->n_targets; i++) {
        granary_id key = content_of(graph->recall.content, message->targets[i]);
        const struct recalled_target *target;
        struct recalled *found =
            gr_id_is_zero(key) ? NULL : recalls_find(manager->recalls, graph->session->name, key, &target);

        if (found == NULL || (from != NULL && found != from)) {
            return NULL;
        }
        from = found;
    }
    return from;
}

void
recall_look(struct manager *manager, struct task_graph *graph, Granary__Submit *submit)
{
    const struct recalled *from;

    submit->recalled = 0;
    granary__recall_told__free_unpacked(submit->told, NULL); /* that is for the scheduler to say */
    submit->told = NULL;
    if (submit->recall == RECALL_OFF || manager->recalls->off || submit->continues) {
        return;
    }
    graph->recall.eager = submit->recall == RECALL_EAGER;
    graph->recall.content = content_create(submit, manager_unix_ms(manager, manager->now_ns), origin, manager);
    from = graph->recall.content == NULL || submit->recall == RECALL_AGAIN ? NULL
                                                                           : find_all(manager, graph, submit->graph);
    submit->recalled = from == NULL ? 0 : from->serial;
}

void
recall_look_again(struct manager *manager, struct task_graph *graph, const Granary__Submit *submit)
{
    graph->recall.eager = submit->recall == RECALL_EAGER;
    if (submit->recall != RECALL_OFF && submit->recall != RECALL_AGAIN && !manager->recalls->off &&
        !submit->continues && submit->graph != NULL) {
        graph->recall.content = content_create(submit, submit->submitted_ms, origin, manager);
    }
}

/* A target as the graph calls it, with what the entry has of that content. */
static bool
take_target(struct task_graph *graph, const struct recalled *from, const char *name, granary_id key)
{
    struct target *target = &graph->results.targets[graph->results.count];

    for (size_t i = 0; i < from->count; i++) {
        if (!gr_id_equal(from->targets[i].key, key)) {
            continue;
        }
        *target = (struct target){.name = strdup(name),
                                  .packed = malloc(from->targets[i].packed_size + 1),
                                  .packed_size = from->targets[i].packed_size};
        graph->results.count += target->name != NULL;
        if (target->name == NULL || target->packed == NULL) {
            return false;
        }
        memcpy(target->packed, from->targets[i].packed, target->packed_size);
        return true;
    }
    return false;
}

granary_err
recall_take(struct manager *manager, struct task_graph *graph, const Granary__Submit *submit)
{
    struct recalled *from = recalls_of(manager->recalls, submit->recalled);
    const Granary__Graph *message = submit->graph;
    bool good;

    graph->results.targets = calloc(message->n_targets, sizeof *graph->results.targets);
    graph->results.own_names = true;
    good = graph->results.targets != NULL;
    for (size_t i = 0; good && i < message->n_targets; i++) {
        good = take_target(graph, from, message->targets[i], content_of(graph->recall.content, message->targets[i]));
    }
    graph->submit = good ? gr_message_copy(&submit->base) : NULL;
    if (graph->submit == NULL) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    for (size_t i = 0; i < submit->n_tables; i++) { /* the client has left them to the graph, which reads nothing */
        if (submit->tables[i]->snapshot.len == GRANARY_ID_BYTES) {
            pack_end_snapshot(&graph->session->frees, id_of(submit->tables[i]->snapshot));
        }
    }
    content_destroy(graph->recall.content);
    graph->recall.content = NULL;
    graph->level = message->level;
    graph_take_wishes(graph, submit);
    graph->restored = true; /* it has ended, and there is no plan */
    graph->recall.from = from;
    recalled_take(manager, from);
    graph_end_at_once(manager, graph);
    return GRANARY_OK;
}

/* ---- behind ---- */

static uint64_t
bytes_of(const Granary__Result *result)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < result->n_chunks; i++) {
        bytes += result->chunks[i]->bytes;
    }
    return bytes;
}

static bool
note_target(struct task_graph *graph, struct recalled *recalled, const struct target *target)
{
    granary_id key = content_of(graph->recall.content, target->name);
    Granary__Result *result = gr_id_is_zero(key) ? NULL : target_unpack(target);

    if (result == NULL) {
        return false;
    }
    recalled->bytes += bytes_of(result);
    granary__result__free_unpacked(result, NULL);
    return recalled_add_target(recalled, key, target->name, target->packed, target->packed_size);
}

/* Others computed the same meanwhile: one of them is enough. */
static bool
is_known(const struct manager *manager, const struct task_graph *graph)
{
    bool known = true;

    for (size_t i = 0; known && i < graph->results.count; i++) {
        granary_id key = content_of(graph->recall.content, graph->results.targets[i].name);
        const struct recalled_target *target;

        known = !gr_id_is_zero(key) && recalls_find(manager->recalls, graph->session->name, key, &target) != NULL;
    }
    return known;
}

void
recall_note(struct manager *manager, struct task_graph *graph)
{
    struct content *content = graph->recall.content;
    struct recalled *recalled = NULL;
    bool good = graph->state == GRANARY_GRAPH_SUCCEEDED && graph->results.count > 0 && !manager->recalls->off;

    if (content == NULL) {
        return;
    }
    good = good && content_holds(content);
    recall_note_parts(manager, graph, good);
    if (good && !is_known(manager, graph)) {
        recalled = recalls_add(manager->recalls, graph->serial, 0, graph->session->name, graph->id_key);
    }
    for (size_t i = 0; recalled != NULL && good && i < graph->results.count; i++) {
        good = note_target(graph, recalled, &graph->results.targets[i]);
    }
    if (recalled != NULL && !good) { /* a target without a key: who wants the others computes them */
        recalls_remove(manager->recalls, recalled);
    } else if (recalled != NULL) {
        recalled->cost_ns = graph->order.used_ns;
        recalled->used_ns = manager->now_ns;
        info_changed(manager, INFO_BIT(recalls));
        recalls_shrink(manager);
    }
    content_destroy(content);
    graph->recall.content = NULL;
}

void
recall_keep(struct manager *manager, struct task_graph *graph)
{
    struct recalled *recalled = recalls_of(manager->recalls, graph->serial);

    if (recalled == NULL) {
        return;
    }
    if (recalled->refs == 0 &&
        (recalled->broken || (!recalled->saved && !recalls_have_room(manager, recalled->bytes)))) {
        recalled_give_up(manager, recalled);
        return;
    }
    recalled_own(manager, recalled, graph->results.kept, graph->results.kept_count);
    graph->results.kept = NULL;
    graph->results.kept_count = 0;
    recalls_shrink(manager);
}

void
recall_leave(struct manager *manager, struct task_graph *graph)
{
    struct recalled *from = graph->recall.from;

    content_destroy(graph->recall.content);
    recall_release_parts(manager, graph);
    if (graph->recall.index != NULL) {
        gr_schema_free(&graph->recall.index->schema_again);
    }
    free(graph->recall.index);
    graph->recall = (struct graph_recall){.content = NULL};
    if (from != NULL && manager != NULL) {
        recalled_release(manager, from);
        recalls_shrink(manager); /* it may have been kept for this one alone */
    }
}

void
recall_forget(struct manager *manager, struct task_graph *graph)
{
    struct recalled *from = graph->recall.from;

    if (from != NULL) {
        gr_log_info("RECALL-GONE", "graph=%.80s what graph %" PRIu32 " yielded is not there any more", graph->key,
                    from->serial);
        recalled_give_up(manager, from);
    }
}

void
recall_ids(const struct task_graph *graph, struct gr_buf *out)
{
    for (size_t t = 0; graph->recall.from != NULL && t < graph->results.count; t++) {
        Granary__Result *result = target_unpack(&graph->results.targets[t]);

        for (size_t i = 0; result != NULL && i < result->n_chunks; i++) {
            gr_buf_add(out, result->chunks[i]->id.data, result->chunks[i]->id.len);
        }
        granary__result__free_unpacked(result, NULL);
    }
}

void
recall_explain(const struct task_graph *graph, struct gr_buf *out)
{
    if (graph->recall.from != NULL) {
        gr_buf_addf(out, "recalled: graph '%s' has yielded the same, so nothing of this runs\n",
                    graph->recall.from->id_key);
    }
}

/* ---- from outside ---- */

void
recall_restore_start(struct manager *manager)
{
    struct recalled *recalled = TAILQ_FIRST(&manager->recalls->list);
    struct task_graph *graph;

    FOREACH_GRAPH(graph, manager)
    {
        if (graph->submit != NULL && graph->submit->recalled != 0) {
            graph->recall.from = recalls_of(manager->recalls, graph->submit->recalled);
        }
        if (graph->recall.from != NULL) {
            graph->recall.from->refs++;
        }
    }
    while (recalled != NULL) { /* the graph of one that is not its own is there, unless the state was cut short */
        struct recalled *next = TAILQ_NEXT(recalled, link);

        if (!recalled->owned && graph_of_number(manager, WIRE_NUMBER(recalled->serial, 0)) == NULL) {
            recalled_give_up(manager, recalled);
        }
        recalled = next;
    }
}

void
request_recall(struct manager *manager, uint64_t ticket, const Granary__RecallOrder *order)
{
    struct gr_buf text = {0};
    size_t count;

    if (order->set > 2 || order->save > 2 || (order->save > 0 && order->session[0] == '\0') ||
        (order->session[0] != '\0' && session_check(order->session) != GRANARY_OK)) {
        reply_failure(manager, ticket, gr_fail(GRANARY_EINVAL, "recall: an order that is none"));
        return;
    }
    if (order->clear) {
        count = recalls_clear(manager, order->session[0] != '\0' ? order->session : NULL);
        gr_buf_addf(&text, "%zu", count);
    }
    if (order->save == 1) {
        recalls_tell(manager->recalls, order->session, &text);
    } else if (order->save == 2) {
        gr_buf_addf(&text, "%zu", recalls_save(manager, order->session, order->numbers, order->n_numbers, ticket));
    }
    if (order->set != 0) {
        recalls_switch(manager, order->set == 2);
    }
    info_changed(manager, INFO_BIT(recalls));
    reply_text(manager, ticket, GRANARY_OK, &text);
    gr_buf_free(&text);
}
