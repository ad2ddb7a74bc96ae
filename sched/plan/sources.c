/* Files and tables that a plan reads: what is not known of them yet, executors are asked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/state.h"

#define NOTES_MAX   8
#define MESSAGE_MAX 1024
#define QUOTED_MAX  512

/* ---- creation ---- */

static granary_err
open_table(struct gr_plan *plan, size_t node, const struct gr_plan_options *options)
{
    const Granary__StoredTable *bound = NULL;
    granary_err err;

    for (size_t t = 0; t < options->table_count && bound == NULL; t++) {
        bound = strcmp(options->tables[t]->node, plan->graph->nodes[node]->node->name) == 0 ? options->tables[t] : NULL;
    }
    err = gr_table_create(plan->graph->nodes[node]->node, bound, &plan->sources.tables[node]);
    if (err == GRANARY_OK && !gr_table_is_known(plan->sources.tables[node])) {
        plan->sources.unready++;
        plan->sources.unasked++;
    }
    return err;
}

/* Its columns may have been learnt before: what it has in them may be recalled. */
static granary_err
believe_file(struct gr_plan *plan, size_t node)
{
    const struct gr_recall *recall = plan->recall;
    struct gr_file *file = plan->sources.files[node];
    const struct gr_schema *schema =
        recall != NULL && file->asks && file->subset == 0 ? recall->schema(recall->context, file->node->name) : NULL;

    return schema != NULL ? gr_file_believe(file, schema) : GRANARY_OK;
}

granary_err
plan_open_sources(struct gr_plan *plan, const struct gr_plan_options *options)
{
    const struct gr_graph *graph = plan->graph;
    struct gr_file_options file_options = {.graph = graph,
                                           .directory = options->directory,
                                           .chunk_bytes = options->chunk_bytes,
                                           .slots = options->slots,
                                           .again = options->again,
                                           .memory_bytes = options->memory_bytes};
    bool *needed = gr_graph_needed(graph);
    granary_err err = GRANARY_OK;

    plan->sources.tables = calloc(graph->count + 1, sizeof *plan->sources.tables);
    plan->sources.files = calloc(graph->count + 1, sizeof *plan->sources.files);
    plan->sources.asked = calloc(graph->count + 1, sizeof *plan->sources.asked);
    plan->sources.known = (struct gr_sources){.tables = plan->sources.tables,
                                              .files = plan->sources.files,
                                              .functions = plan->functions,
                                              .distinct = gr_file_distinct};
    if (needed == NULL || plan->sources.tables == NULL || plan->sources.files == NULL || plan->sources.asked == NULL) {
        err = plan_no_memory();
    }
    for (size_t i = 0; i < graph->count && err == GRANARY_OK; i++) {
        if (graph->nodes[i]->op == GR_TILE_table && needed[i]) {
            err = open_table(plan, i, options);
        } else if (gr_file_is(graph->nodes[i]->op) && needed[i]) {
            err = gr_file_create(graph->nodes[i], &file_options, &plan->sources.files[i]);
            err = err == GRANARY_OK ? believe_file(plan, i) : err;
            plan->sources.unready += err == GRANARY_OK && plan->sources.files[i]->asks;
            plan->sources.unasked += err == GRANARY_OK && plan->sources.files[i]->asks;
        }
    }
    free(needed);
    return err;
}

void
plan_close_sources(struct gr_plan *plan)
{
    for (size_t i = 0; plan->sources.tables != NULL && i < plan->node_count; i++) {
        gr_table_destroy(plan->sources.tables[i]);
    }
    for (size_t i = 0; plan->sources.files != NULL && i < plan->node_count; i++) {
        gr_file_destroy(plan->sources.files[i]);
    }
    free(plan->sources.files);
    free(plan->sources.tables);
    free(plan->sources.asked);
}

/* ---- questions ---- */

/* Add the operators that tell more of a file or a table; they follow one another. */
static uint32_t
start_source(struct gr_plan *plan, size_t node, size_t *ret_count)
{
    struct gr_file *file = plan->sources.files[node];

    if (plan->sources.tables[node] == NULL) { /* else what the file has is recalled */
        gr_file_start(file, (uint32_t)node, &plan->chunks);
        *ret_count = file->jobs;
        return file->first_op;
    }
    gr_table_start(plan->sources.tables[node], (uint32_t)node, plan->number, &plan->chunks);
    *ret_count = plan->sources.tables[node]->jobs;
    return plan->sources.tables[node]->first_op;
}

/* What a stage of a file makes: pieces, and answers. */
struct stage {
    uint32_t first;
    size_t jobs;
    struct gr_wants *wants; /* NULL: they are only counted */
    size_t pieces;
};

/* The pieces an operator makes, which later stages read, and those who read its rows. */
static void
want_pieces(void *context, uint32_t op, uint32_t count)
{
    struct stage *stage = context;

    for (uint32_t i = 0; op >= stage->first && stage->wants != NULL && i < count; i++) {
        stage->wants->roots[stage->wants->count++] = (struct gr_piece){.op = op, .output = i};
    }
    stage->pieces += op >= stage->first ? count : 0;
}

/* All that is wanted of a stage: pieces first, which stay; then answers of those that make none. */
static granary_err
want_stage(const struct gr_plan *plan, size_t node, struct stage *stage, struct gr_wants *wants)
{
    const struct gr_file *file = plan->sources.tables[node] == NULL ? plan->sources.files[node] : NULL;
    size_t piece = 0;

    if (file != NULL) {
        gr_file_makers(file, want_pieces, stage);
    }
    wants->roots = calloc(stage->jobs + stage->pieces + 1, sizeof *wants->roots);
    if (wants->roots == NULL) {
        return plan_no_memory();
    }
    stage->wants = wants;
    if (stage->pieces > 0) {
        gr_file_makers(file, want_pieces, stage);
    }
    wants->held = wants->count;
    for (size_t job = 0; job < stage->jobs; job++) {
        const uint32_t op = stage->first + (uint32_t)job;

        while (piece < wants->held && wants->roots[piece].op < op) { /* operators are told in their order */
            piece++;
        }
        if (piece == wants->held || wants->roots[piece].op != op) {
            wants->roots[wants->count++].op = op;
        }
    }
    return GRANARY_OK;
}

/* Hand them out, a subtask each. */
static granary_err
ask_source(struct gr_plan *plan, size_t node, struct gr_plan_batch *batch)
{
    struct gr_wants wants = {0};
    struct stage stage = {.jobs = 0};
    granary_err err;

    stage.first = start_source(plan, node, &stage.jobs);
    err = gr_chunks_error(&plan->chunks);
    err = err == GRANARY_OK ? want_stage(plan, node, &stage, &wants) : err;
    if (err == GRANARY_OK) {
        err = plan_emit(plan, &wants, batch);
        while (err == GRANARY_OK && plan->emitted.emission != NULL) {
            err = plan_emit_more(plan, batch);
        }
        plan->sources.asked[node] = true;
        plan->sources.unasked--;
    }
    gr_wants_free(&wants);
    return err;
}

static bool
is_unknown(const struct gr_plan *plan, size_t node)
{
    return (plan->sources.files[node] != NULL && !plan->sources.files[node]->known) ||
           (plan->sources.tables[node] != NULL && !gr_table_is_known(plan->sources.tables[node]));
}

granary_err
plan_ask_sources(struct gr_plan *plan, struct gr_plan_batch *batch)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < plan->graph->count && plan->sources.unasked > 0 && err == GRANARY_OK; i++) {
        if (is_unknown(plan, i) && !plan->sources.asked[i]) {
            err = ask_source(plan, i, batch);
        }
    }
    return err;
}

/* ---- answers ---- */

static granary_err
feed_file(struct gr_plan *plan, size_t node, uint32_t op, const ProtobufCBinaryData *answer)
{
    struct gr_file *file = plan->sources.files[node];
    granary_err err;

    if (file->known || file->asks || op < file->first_op) {
        return GRANARY_OK; /* its subtask ran twice, and the first answer was enough */
    }
    err = gr_file_feed(file, op - file->first_op, answer);
    plan->sources.asked[node] = !file->asks;
    plan->sources.unasked += file->asks;
    plan->sources.unready -= file->known;
    if (file->known && plan->recall != NULL && !file->type.is_tensor && file->subset == 0) {
        plan->recall->learn(plan->recall->context, file->node->name, &file->type.schema);
    }
    return err;
}

static granary_err
feed_table(struct gr_plan *plan, size_t node, uint32_t op, const ProtobufCBinaryData *answer)
{
    struct gr_table *table = plan->sources.tables[node];
    const bool was_told = table->count > 0;
    granary_err err;

    if (gr_table_is_known(table) || !plan->sources.asked[node] || op < table->first_op) {
        return GRANARY_OK; /* its subtask ran twice, and the first answer was enough */
    }
    err = gr_table_feed(table, op - table->first_op, answer);
    if (err == GRANARY_OK && !was_told) { /* what its objects are is the next question */
        plan->sources.asked[node] = false;
        plan->sources.unasked++;
    }
    plan->sources.unready -= gr_table_is_known(table);
    return err;
}

granary_err
plan_feed_source(struct gr_plan *plan, uint32_t op, const ProtobufCBinaryData *answer)
{
    const struct gr_chunk *chunk = &plan->chunks.chunks[op];

    return chunk->op == GR_CHUNK_info || chunk->op == GR_CHUNK_snapshot ? feed_table(plan, chunk->step, op, answer)
                                                                        : feed_file(plan, chunk->step, op, answer);
}

/* ---- what is known ---- */

bool
gr_plan_snapshot(const struct gr_plan *plan, size_t *node, granary_id *ret_snapshot)
{
    while (plan->sources.tables != NULL && *node < plan->node_count) {
        const struct gr_table *table = plan->sources.tables[(*node)++];

        if (table != NULL && table->makes_snapshot) {
            *ret_snapshot = table->snapshot;
            return true;
        }
    }
    return false;
}

granary_err
gr_plan_table_infos(const struct gr_plan *plan, const char *node, struct gr_buf *out)
{
    for (size_t i = 0; plan->sources.tables != NULL && i < plan->node_count; i++) {
        if (plan->sources.tables[i] != NULL && strcmp(plan->sources.tables[i]->node->name, node) == 0) {
            return gr_table_is_known(plan->sources.tables[i])
                       ? gr_table_pack(plan->sources.tables[i], out)
                       : gr_fail(GRANARY_ESTATE, "node '%s': not known yet", node);
        }
    }
    return gr_fail(GRANARY_ENOENT, "node '%s' reads no table", node);
}

bool
gr_plan_asks_files(const char *op)
{
    return gr_file_asks(gr_op_find(op));
}

/* ---- files that are at fault ---- */

/* Whether a message names the column, in one of the two ways messages have. */
static bool
names_column(const char *message, const char *column)
{
    char quoted[QUOTED_MAX];

    (void)snprintf(quoted, sizeof quoted, "'%s'", column);
    if (strstr(message, quoted) != NULL) {
        return true;
    }
    (void)snprintf(quoted, sizeof quoted, "`%s`", column);
    return strstr(message, quoted) != NULL;
}

/* Append a note for each column that is a string because of an odd value; message: and that it names, or NULL. */
static void
add_notes(const struct gr_plan *plan, const char *message, struct gr_buf *out)
{
    size_t notes = 0;

    for (size_t i = 0; plan->sources.files != NULL && i < plan->node_count; i++) {
        const struct gr_file *file = plan->sources.files[i];
        size_t columns = file == NULL || !file->known || file->believed ? 0 : file->type.schema.count;

        for (size_t c = 0; c < columns && notes < NOTES_MAX; c++) {
            size_t before = out->size;

            if (message != NULL && !names_column(message, file->type.schema.fields[c].name)) {
                continue;
            }
            if (notes > 0) {
                gr_buf_addf(out, "\n");
            }
            if (gr_file_tell_odd(file, c, out)) {
                notes++;
            } else {
                out->size = before;
            }
        }
    }
}

void
gr_plan_notes(const struct gr_plan *plan, struct gr_buf *out)
{
    add_notes(plan, NULL, out);
}

granary_err
plan_blame_file(const struct gr_plan *plan, granary_err err)
{
    struct gr_buf notes = {0};
    char message[MESSAGE_MAX];

    (void)snprintf(message, sizeof message, "%s", granary_error_message());
    add_notes(plan, message, &notes);
    if (notes.size > 0 && gr_buf_ok(&notes)) {
        (void)gr_fail(err, "%s: %.*s", message, (int)notes.size, notes.bytes);
    } else {
        (void)gr_fail(err, "%s", message);
    }
    gr_buf_free(&notes);
    return err;
}
