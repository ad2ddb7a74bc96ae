/*
 * Parts of graphs that are recalled. A plan asks what there is of its steps (plan/recall.c), and reads it; when the graph
 * has succeeded, what executors kept of its own steps is there for others.
 *
 * A part's objects are its entry's from then on, not the graph's. Whoever reads them has the entry until nothing of it
 * runs any more.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/memory/grow.h"
#include "graph/copy.h"
#include "sched/core/pack.h"
#include "sched/execution/graph.h"
#include "sched/graphs/again/recall.h"
#include "sched/graphs/graphs.h"
#include "sched/graphs/told.h"
#include "sched/recall/content.h"
#include "sched/recall/recalls.h"

/* What takes executors less is computed again: to look for it takes about as long. */
#define COST_LEAST_NS 1000000

/* ---- what there is ---- */

static bool
find_source(void *context, const char *node, granary_id *ret_key)
{
    const struct task_graph *graph = context;

    return content_of_node(graph->recall.content, node, ret_key);
}

static const struct gr_recalled *
find_part(void *context, granary_id key)
{
    struct task_graph *graph = context;
    const struct recalled *part;

    if (graph->recall.tells_again) {
        return told_find(graph, key);
    }
    part = recalls_find_part(graph->recall.manager->recalls, graph->session->name, key);
    return part == NULL || part->view == NULL || !told_note_found(graph, key, part->view) ? NULL : part->view;
}

static bool
miss_part(void *context, granary_id key)
{
    struct task_graph *graph = context;

    if (graph->recall.tells_again) {
        return told_missed(graph, key);
    }
    return (recalls_missed(graph->recall.manager->recalls, key) || graph->recall.eager) && told_note_missed(graph, key);
}

static const struct gr_schema *
find_schema(void *context, const char *node)
{
    struct task_graph *graph = context;
    const struct gr_schema *schema;
    granary_id key;

    if (graph->recall.tells_again) {
        return told_schema(graph, node);
    }
    schema =
        content_of_node(graph->recall.content, node, &key) ? recalls_schema(graph->recall.manager->recalls, key) : NULL;
    return schema == NULL || !told_note_schema(graph, node, schema) ? NULL : schema;
}

/* A file that changes afterwards has another key. */
static void
learn_schema(void *context, const char *node, const struct gr_schema *schema)
{
    const struct task_graph *graph = context;
    granary_id key;

    if (content_of_node(graph->recall.content, node, &key)) {
        recalls_learn(graph->recall.manager->recalls, key, schema);
    }
}

static bool
take_part(void *context, granary_id key)
{
    struct task_graph *graph = context;
    struct graph_recall *recall = &graph->recall;
    struct recalled *part = recalls_find_part(recall->manager->recalls, graph->session->name, key);

    if (part == NULL && recall->tells_again) {
        return true; /* it is not there any more, as executors will see */
    }
    if (part == NULL || !gr_grow(&recall->parts, &recall->part_room, recall->part_count, sizeof(struct recalled *))) {
        return false;
    }
    recall->parts[recall->part_count++] = part;
    recalled_take(recall->manager, part);
    return true;
}

static void
lose_part(void *context, granary_id key)
{
    struct task_graph *graph = context;
    struct manager *manager = graph->recall.manager;
    struct recalled *part = recalls_find_part(manager->recalls, graph->session->name, key);

    if (part != NULL) {
        gr_log_info("RECALL-GONE", "graph=%.80s some of what graph %" PRIu32 " has left is not there any more",
                    graph->key, part->serial);
        recalled_give_up(manager, part);
    }
    told_forget(graph, key);
}

const struct gr_recall *
recall_parts(struct manager *manager, struct task_graph *graph, const Granary__Submit *submit)
{
    struct graph_recall *recall = &graph->recall;

    if (recall->content == NULL || manager->recalls->off) {
        return NULL;
    }
    recall->manager = manager;
    recall->tells_again = graph->resumed || submit->told != NULL;
    recall->submit = recall->submit == NULL ? gr_message_copy(&submit->base) : recall->submit;
    recall->index = recall->index == NULL ? calloc(1, sizeof *recall->index) : recall->index;
    if (recall->index == NULL || recall->submit == NULL) {
        return NULL;
    }
    recall->index->calls = (struct gr_recall){.context = graph,
                                              .spare_bytes = recalls_room(manager),
                                              .source = find_source,
                                              .find = find_part,
                                              .missed = miss_part,
                                              .schema = find_schema,
                                              .learn = learn_schema,
                                              .take = take_part,
                                              .lost = lose_part};
    return &recall->index->calls;
}

void
recall_release_parts(struct manager *manager, struct task_graph *graph)
{
    struct graph_recall *recall = &graph->recall;

    for (size_t i = 0; i < recall->part_count && manager != NULL; i++) {
        recalled_release(manager, recall->parts[i]);
    }
    if (recall->part_count > 0 && manager != NULL) {
        recalls_shrink(manager);
    }
    granary__submit__free_unpacked(recall->submit, NULL);
    recall->submit = NULL;
    free(recall->parts);
    recall->parts = NULL;
    recall->part_count = recall->part_room = 0;
}

void
recall_forget_parts(struct manager *manager, struct task_graph *graph)
{
    for (size_t i = 0; i < graph->recall.part_count; i++) {
        recalled_give_up(manager, graph->recall.parts[i]);
    }
}

/* ---- what is kept ---- */

/* Where it lies, as a packed result: what executors left out is missing. */
static bool
describe_part(const struct task_graph *graph, const struct gr_plan_spare *spare, Granary__Result *result,
              Granary__Chunk *chunks, bool *ret_whole)
{
    result->chunks = calloc(spare->id_count, sizeof *result->chunks);
    *ret_whole = true;
    for (size_t i = 0; result->chunks != NULL && i < spare->id_count; i++) {
        Granary__Chunk *chunk = &chunks[i];

        granary__chunk__init(chunk);
        chunk->id = (ProtobufCBinaryData){GRANARY_ID_BYTES, spare->ids[i].bytes};
        chunk->there = execution_graph_object(graph->execution, spare->ids[i], &chunk->rows, &chunk->bytes) &&
                       chunk->bytes > 0; /* a frame has some, even without rows */
        *ret_whole = *ret_whole && chunk->there;
        result->chunks[result->n_chunks++] = chunk;
    }
    return result->chunks != NULL;
}

/* *takes* spare->ids on success. */
static bool
add_part(struct manager *manager, const struct task_graph *graph, uint32_t part, struct gr_plan_spare *spare,
         const Granary__Result *result)
{
    struct recalled *before = recalls_find_part(manager->recalls, graph->session->name, spare->key);
    struct recalled *recalled = recalls_add(manager->recalls, graph->serial, part, graph->session->name, graph->id_key);
    size_t size = granary__result__get_packed_size(result);
    uint8_t *packed = malloc(size + 1);
    bool good = recalled != NULL && packed != NULL;

    if (good) {
        (void)granary__result__pack(result, packed);
        good = recalled_add_target(recalled, spare->key, spare->name, packed, size) &&
               recalled_set_columns(recalled, spare->columns, spare->column_count);
    }
    free(packed);
    if (!good) {
        if (recalled != NULL) {
            recalls_remove(manager->recalls, recalled);
        }
        return false;
    }
    for (size_t i = 0; i < result->n_chunks; i++) {
        recalled->bytes += result->chunks[i]->bytes;
    }
    recalled->cost_ns = spare->cost_ns;
    recalled->used_ns = manager->now_ns;
    if (before != NULL) { /* this one has all its columns, and more */
        recalled_give_up(manager, before);
    }
    recalled_own(manager, recalled, spare->ids, spare->id_count);
    spare->ids = NULL;
    return true;
}

/* Whether others can do with it: no part of it is missing, and there is room. */
static bool
note_part(struct manager *manager, struct task_graph *graph, uint32_t part, struct gr_plan_spare *spare, bool wanted)
{
    Granary__Chunk *chunks = calloc(spare->id_count, sizeof *chunks);
    Granary__Result result = GRANARY__RESULT__INIT;
    bool whole = false;
    bool good = chunks != NULL && describe_part(graph, spare, &result, chunks, &whole);
    uint64_t bytes = 0;

    for (size_t i = 0; good && i < result.n_chunks; i++) {
        bytes += result.chunks[i]->bytes;
    }
    if (!good) {
        whole = false;
    } else if (!wanted || !whole || !recalls_have_room(manager, bytes) ||
               !add_part(manager, graph, part, spare, &result)) {
        for (size_t i = 0; i < result.n_chunks; i++) {
            if (result.chunks[i]->there) {
                pack_free(&graph->session->frees, spare->ids[i]);
            }
        }
        whole = false;
    }
    free(result.chunks);
    free(chunks);
    return whole;
}

/* What has failed may still be at work: its spare objects go with the graph. */
static void
leave_to_graph(struct task_graph *graph, const struct gr_plan_spare *spare)
{
    granary_id *grown =
        reallocarray(graph->results.kept, graph->results.kept_count + spare->id_count + 1, sizeof *grown);

    if (grown != NULL) {
        graph->results.kept = grown;
        memcpy(grown + graph->results.kept_count, spare->ids, spare->id_count * sizeof *grown);
        graph->results.kept_count += spare->id_count;
    }
}

void
recall_note_parts(struct manager *manager, struct task_graph *graph, bool wanted)
{
    struct gr_plan_spare spare;
    size_t step = 0;
    bool noted = false;

    if (graph->plan == NULL || graph->execution == NULL || graph->state == GRANARY_GRAPH_CANCELLED) {
        return;
    }
    while (gr_plan_spare(graph->plan, &step, &spare) == GRANARY_OK && spare.id_count > 0) {
        const bool is_much = spare.cost_ns >= COST_LEAST_NS || graph->recall.eager;

        if (graph->state != GRANARY_GRAPH_SUCCEEDED) {
            leave_to_graph(graph, &spare);
        } else if (note_part(manager, graph, (uint32_t)step, &spare, wanted && is_much)) {
            noted = true;
        }
        gr_plan_spare_free(&spare);
    }
    if (noted) {
        info_changed(manager, INFO_BIT(recalls));
        recalls_shrink(manager);
    }
}
