/* Results as tables: the targets of graphs, and their chunks. */
#include <inttypes.h>
#include <string.h>

#include "base/id.h"
#include "sched/core/manager.h"
#include "sched/graphs/graphs.h"
#include "sched/info/info.h"

/* Chunks have positions TARGET << CHUNK_SHIFT | chunk above that of their graph's. */
#define CHUNK_SHIFT 20

/* Where a target lies, as far as it is known. To be freed; NULL: nothing is known yet. */
static Granary__Result *
result_of(const struct task_graph *graph, size_t position)
{
    const struct target *target = &graph->results.targets[position];
    Granary__Result *result = NULL;

    if (target->packed != NULL) {
        result = target_unpack(target);
        for (size_t i = 0; result != NULL && i < result->n_chunks; i++) {
            result->chunks[i]->there = true;
        }
        return result;
    }
    if (graph->plan == NULL || gr_plan_target_result(graph->plan, position, &result) != GRANARY_OK) {
        return NULL;
    }
    for (size_t i = 0; i < result->n_chunks && graph->execution != NULL; i++) {
        Granary__Chunk *chunk = result->chunks[i];

        chunk->there = execution_graph_object(graph->execution, id_of(chunk->id), &chunk->rows, &chunk->bytes);
    }
    return result;
}

/* "" of none. */
static void
tell_id(struct table *table, enum info_field field, granary_id id)
{
    char text[GRANARY_ID_TEXT + 1] = "";

    if (!gr_id_is_zero(id)) {
        granary_id_format(id, text);
    }
    table_text(table, field, text);
}

/* ---- chunks ---- */

static void
chunk_row(struct table *table, const struct task_graph *graph, const char *target, const Granary__Result *result,
          size_t index, uint64_t position)
{
    const Granary__Chunk *chunk = result->chunks[index];
    struct execution_graph *execution = graph_execution(graph);
    size_t places[16] = {0};
    struct gr_buf at = {0};
    granary_id id = id_of(chunk->id);
    int32_t node = -1;

    if (!table_begin(table, position)) {
        return;
    }
    tell_id(table, FIELD_chunks_id, id);
    table_text(table, FIELD_chunks_graph, graph->key);
    table_text(table, FIELD_chunks_target, target);
    if (result->n_splits > 0 && result->n_splits <= sizeof places / sizeof places[0]) {
        size_t rest = index;

        for (size_t d = result->n_splits; d-- > 0;) {
            size_t split = result->splits[d] > 0 ? (size_t)result->splits[d] : 1;

            places[d] = rest % split;
            rest /= split;
        }
        for (size_t d = 0; d < result->n_splits; d++) {
            gr_buf_addf(&at, "%s%zu", d > 0 ? "," : "", places[d]);
        }
    } else {
        gr_buf_addf(&at, "%zu", index);
    }
    table_take(table, FIELD_chunks_index, &at);
    table_int(table, FIELD_chunks_rows, result->is_tensor ? -1 : chunk->rows);
    table_int(table, FIELD_chunks_bytes, (int64_t)chunk->bytes);
    table_int(table, FIELD_chunks_there, chunk->there);
    if (execution != NULL) {
        node = execution_graph_object_node(execution, id);
    }
    table_int(table, FIELD_chunks_band, node);
    table_end(table);
}

/* ---- walks over targets ---- */

/* What is told of a target, whose first row has the position behind base. */
typedef void target_visit(struct table *table, const struct task_graph *graph, size_t target, uint64_t base);

/* KEY or KEY/TARGET. */
static bool
targets_named(struct manager *manager, struct table *table, const char *key, uint64_t base, target_visit *visit)
{
    const char *target;
    const struct task_graph *graph = info_graph(manager, key, &target);
    bool found = graph != NULL && target[0] == '\0';

    for (size_t i = 0; graph != NULL && i < graph->results.count; i++) {
        if (target[0] == '\0' || strcmp(graph->results.targets[i].name, target) == 0) {
            visit(table, graph, i, base);
            found = true;
        }
    }
    return found;
}

static void
all_targets(struct manager *manager, struct table *table, target_visit *visit)
{
    const struct task_graph *graph;

    FOREACH_GRAPH_FROM(graph, manager, table_start(table, 0) >> 32)
    {
        for (size_t i = 0; i < graph->results.count && !table_full(table); i++) {
            visit(table, graph, i, (uint64_t)graph->serial << 32);
        }
    }
}

static void
chunks_of_target(struct table *table, const struct task_graph *graph, size_t target, uint64_t base)
{
    Granary__Result *result = table_full(table) ? NULL : result_of(graph, target);

    base += (uint64_t)target << CHUNK_SHIFT;
    for (size_t i = table_start(table, base); result != NULL && i < result->n_chunks && !table_full(table); i++) {
        chunk_row(table, graph, graph->results.targets[target].name, result, i, base + i + 1);
    }
    granary__result__free_unpacked(result, NULL);
}

static bool
chunks_named(struct manager *manager, struct table *table, const char *key, uint64_t base)
{
    return targets_named(manager, table, key, base, chunks_of_target);
}

static void
all_chunks(struct manager *manager, struct table *table)
{
    all_targets(manager, table, chunks_of_target);
}

const struct info_walk info_walk_chunks = {all_chunks, chunks_named};

/* ---- tileables ---- */

static void
tell_shape(struct table *table, const Granary__Result *result)
{
    struct gr_buf shape = {0};
    struct gr_buf splits = {0};
    uint64_t bytes = 0;
    int64_t rows = 0;
    bool complete = true;

    for (size_t i = 0; i < result->n_chunks; i++) {
        const Granary__Chunk *chunk = result->chunks[i];

        complete = complete && chunk->there;
        bytes += chunk->bytes;
        rows += chunk->there ? chunk->rows : 0;
        if (result->is_objects) {
            continue;
        }
        if (!result->is_tensor && chunk->there) {
            gr_buf_addf(&splits, "%s%" PRId64, i > 0 ? "," : "", chunk->rows);
        } else if (!result->is_tensor) {
            gr_buf_addf(&splits, "%s?", i > 0 ? "," : "");
        }
    }
    for (size_t d = 0; d < result->n_shape; d++) {
        gr_buf_addf(&shape, "%s%" PRId64, d > 0 ? "," : "", result->shape[d]);
    }
    for (size_t d = 0; result->is_tensor && d < result->n_splits; d++) {
        gr_buf_addf(&splits, "%s%" PRId64, d > 0 ? "," : "", result->splits[d]);
    }
    if (result->is_objects) {
        gr_buf_addf(&shape, "%zu", result->n_chunks);
    } else if (!result->is_tensor && complete) {
        gr_buf_addf(&shape, "%" PRId64, rows);
    } else if (!result->is_tensor) {
        gr_buf_addf(&shape, "?");
    }
    table_take(table, FIELD_tileables_shape, &shape);
    table_take(table, FIELD_tileables_nsplits, &splits);
    table_int(table, FIELD_tileables_chunks, (int64_t)result->n_chunks);
    table_int(table, FIELD_tileables_bytes, (int64_t)bytes);
    table_int(table, FIELD_tileables_complete, complete);
    if (result->n_chunks > 0) {
        tell_id(table, FIELD_tileables_first, id_of(result->chunks[0]->id));
    }
}

static void
tileable_row(struct table *table, const struct task_graph *graph, size_t target, uint64_t base)
{
    struct gr_buf dtypes = {0};
    Granary__Result *result;

    if (!table_begin(table, base + target + 1)) {
        return;
    }
    result = result_of(graph, target);
    table_textf(table, FIELD_tileables_key, "%s/%s", graph->key, graph->results.targets[target].name);
    table_text(table, FIELD_tileables_kind,
               result == NULL       ? ""
               : result->is_objects ? "objects"
               : result->is_tensor  ? "tensor"
                                    : "frame");
    table_text(table, FIELD_tileables_state, info_graph_state(graph));
    if (graph->plan != NULL) {
        gr_plan_target_dtypes(graph->plan, target, &dtypes);
        table_take(table, FIELD_tileables_dtypes, &dtypes);
    }
    if (result != NULL) {
        tell_shape(table, result);
        granary__result__free_unpacked(result, NULL);
    } else {
        table_text(table, FIELD_tileables_shape, "?");
    }
    table_end(table);
}

static bool
tileables_named(struct manager *manager, struct table *table, const char *key, uint64_t base)
{
    return targets_named(manager, table, key, base, tileable_row);
}

static void
all_tileables(struct manager *manager, struct table *table)
{
    all_targets(manager, table, tileable_row);
}

const struct info_walk info_walk_tileables = {all_tileables, tileables_named};
