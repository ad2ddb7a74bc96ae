/* The stages of a plan: look at sources, tile, fuse, emit; and again when reports told more. */
#include "plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "optimize/optimize.h"
#include "plan/state.h"

#define NODES_SHOWN 200

/* ---- creation ---- */

/*
 * A digest of the graph's key and what decides how the work is cut. The same submission planned again gives the same
 * ids; planned differently (another chunk size, a file that changed), other ids: an object never stands for another
 * piece of work.
 */
static granary_err
make_number(struct gr_plan *plan, const struct gr_plan_options *options)
{
    struct gr_buf facts = {0};
    granary_err err = GRANARY_OK;

    gr_buf_addf(&facts, "%s@%s %" PRId64 " %" PRIu64, options->key == NULL ? "" : options->key, GRANARY_VERSION,
                options->chunk_bytes, options->memory_bytes);
    for (size_t i = 0; plan->sources.files != NULL && i < plan->node_count; i++) {
        const struct gr_file *file = plan->sources.files[i];

        if (file != NULL) {
            gr_buf_addf(&facts, " %zu %" PRId64 " %" PRId64 " %" PRId64, i, file->file_bytes, file->modified_ns,
                        file->known && !file->believed ? (int64_t)file->part_count : file->block_bytes);
        }
        for (size_t k = 0; plan->sources.tables[i] != NULL && k < plan->sources.tables[i]->count; k++) {
            gr_buf_addf(&facts, " %s", plan->sources.tables[i]->ids[k]);
        }
    }
    if (gr_buf_ok(&facts)) {
        plan->number = gr_hash64(facts.bytes, facts.size);
    } else {
        err = plan_no_memory();
    }
    gr_buf_free(&facts);
    return err;
}

/* Where they are is known now: a million of names that the nodes have, too. */
static void
drop_target_names(Granary__Graph *graph)
{
    for (size_t i = 0; i < graph->n_targets; i++) {
        free(graph->targets[i]);
    }
    free(graph->targets);
    graph->targets = NULL;
    graph->n_targets = 0;
}

/* Check the graph, of either level; takes it on success. */
static granary_err
take_graph(struct gr_plan *plan, Granary__Graph *graph)
{
    granary_err err;

    if (graph->level == GRANARY__GRAPH__LEVEL__CHUNK) {
        err = gr_chunk_graph_create(graph, &plan->chunk_graph);
        if (err == GRANARY_OK) {
            plan->node_count = plan->chunk_graph->count;
            plan->target_count = plan->chunk_graph->target_count;
            plan->targets = plan->chunk_graph->targets;
        }
        return err;
    }
    err = gr_graph_create(graph, &plan->graph);
    if (err == GRANARY_OK) {
        drop_target_names(graph);
        plan->node_count = plan->graph->count;
        plan->target_count = plan->graph->target_count;
        plan->targets = plan->graph->targets;
    }
    return err;
}

const Granary__Node *
plan_graph_node(const struct gr_plan *plan, size_t i)
{
    return plan->chunk_graph != NULL ? plan->chunk_graph->nodes[i].node : plan->graph->nodes[i]->node;
}

/* What there is for each node of a graph, moved to where the nodes are now. The array grows; NULL stays. */
static bool
follow_nodes(const struct gr_plan *plan, struct gr_node *const *before, void *array, size_t size)
{
    const unsigned char *from;
    unsigned char *to;

    memcpy(&from, array, sizeof from);
    if (from == NULL) {
        return true;
    }
    to = calloc(plan->graph->count + 1, size);
    if (to == NULL) {
        return false;
    }
    for (size_t i = 0; i < plan->node_count; i++) {
        memcpy(to + before[i]->position * size, from + i * size, size);
    }
    memcpy(array, &to, sizeof to);
    free((void *)(uintptr_t)from);
    return true;
}

/* Nodes that are written as others move those behind them; what was found of them follows. */
static granary_err
infer_and_follow(struct gr_plan *plan)
{
    struct plan_sources *sources = &plan->sources;
    struct gr_node **before = malloc((plan->node_count + 1) * sizeof(struct gr_node *));
    granary_err err;
    bool followed;

    if (before == NULL) {
        return plan_no_memory();
    }
    memcpy(before, plan->graph->nodes, plan->node_count * sizeof(struct gr_node *));
    err = gr_graph_infer(plan->graph);
    followed = follow_nodes(plan, before, &sources->tables, sizeof(struct gr_table *)) &&
               follow_nodes(plan, before, &sources->files, sizeof(struct gr_file *)) &&
               follow_nodes(plan, before, &sources->asked, sizeof *sources->asked) &&
               follow_nodes(plan, before, &plan->functions, sizeof(struct gr_function *)) &&
               follow_nodes(plan, before, &plan->account.of, sizeof *plan->account.of);
    for (uint64_t op = 0; op < plan->account.op_count; op++) {
        plan->account.steps[op] = (uint32_t)before[plan->account.steps[op]]->position;
    }
    for (size_t c = 0; c < plan->chunks.count; c++) {
        plan->chunks.chunks[c].step = (uint32_t)before[plan->chunks.chunks[c].step]->position;
    }
    sources->known = (struct gr_sources){
        .tables = sources->tables, .files = sources->files, .functions = plan->functions, .distinct = gr_file_distinct};
    plan->node_count = followed ? plan->graph->count : plan->node_count;
    free(before);
    return followed ? err : plan_no_memory();
}

granary_err
gr_plan_create(Granary__Graph *graph, const struct gr_plan_options *options, struct gr_plan **ret_plan)
{
    struct gr_plan *plan = calloc(1, sizeof *plan);
    granary_err err = plan == NULL ? plan_no_memory() : take_graph(plan, graph);

    if (err != GRANARY_OK) {
        granary__graph__free_unpacked(graph, NULL);
        free(plan);
        return err;
    }
    plan->tile_options =
        (struct gr_tile_options){.chunk_bytes = options->chunk_bytes, .memory_bytes = options->memory_bytes};
    plan->without_rules = options->without_rules;
    plan->recall = options->recall;
    plan->session = strdup(options->session == NULL ? "" : options->session);
    plan->key = strdup(options->graph != NULL ? options->graph : options->key != NULL ? options->key : "");
    plan->directory = strdup(options->directory == NULL ? "" : options->directory);
    if (plan->session == NULL || plan->key == NULL || plan->directory == NULL) {
        err = plan_no_memory();
    }
    if (err == GRANARY_OK) {
        err = plan_bind_functions(plan, options);
    }
    if (err == GRANARY_OK) {
        err = plan->graph == NULL ? plan_settle_chunks(plan) : infer_and_follow(plan);
    }
    if (err == GRANARY_OK && plan->graph != NULL) {
        err = plan_open_sources(plan, options);
    }
    if (err == GRANARY_OK) {
        err = make_number(plan, options);
    }
    if (err != GRANARY_OK) {
        gr_plan_destroy(plan);
        return err;
    }
    *ret_plan = plan;
    return GRANARY_OK;
}

void
gr_plan_destroy(struct gr_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (size_t i = 0; plan->tiled != NULL && i < plan->node_count; i++) {
        free(plan->tiled[i].pieces);
    }
    free(plan->tiled);
    plan_emission_destroy(plan->emitted.emission);
    gr_tiling_destroy(plan->tiling);
    gr_steps_destroy(plan->steps);
    gr_chunks_free(&plan->chunks);
    plan_close_sources(plan);
    plan_free_functions(plan);
    free(plan->questions.items);
    free(plan->emitted.numbers_of);
    plan_account_free(plan);
    id_set_free(&plan->emitted.kept);
    id_set_free(&plan->emitted.held);
    id_set_free(&plan->emitted.spare);
    gr_buf_free(&plan->text.before);
    gr_buf_free(&plan->text.fired);
    gr_buf_free(&plan->text.subtasks);
    gr_graph_destroy(plan->graph);
    gr_chunk_graph_destroy(plan->chunk_graph);
    free(plan->session);
    free(plan->key);
    free(plan->directory);
    free(plan);
}

/* ---- answers ---- */

/* The questions of a subtask: the first, and behind the last. */
static const struct question *
questions_of(const struct gr_plan *plan, uint64_t number, const struct question **ret_end)
{
    size_t low = 0;
    size_t high = plan->questions.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (plan->questions.items[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (high < plan->questions.count && plan->questions.items[high].number == number) {
        high++;
    }
    *ret_end = plan->questions.items + high;
    return plan->questions.items + low;
}

/* An answer to tiling, or of a source: those are asked before there are steps. */
static granary_err
feed_answer(struct gr_plan *plan, uint32_t op, const ProtobufCBinaryData *answer)
{
    const struct gr_chunk *chunk = &plan->chunks.chunks[op];

    if (chunk->op == GR_CHUNK_info && plan->tiling != NULL) {
        return gr_tiling_answer(plan->tiling, op, answer);
    }
    return plan_feed_source(plan, op, answer);
}

granary_err
gr_plan_feed(struct gr_plan *plan, uint64_t number, const Granary__Done *done)
{
    const ProtobufCBinaryData nothing = {0}; /* a message all of whose fields are zero takes no bytes */
    const struct question *end;
    const struct question *question = questions_of(plan, number, &end);
    granary_err err = GRANARY_OK;

    if (question == end) {
        return gr_fail(GRANARY_EINVAL, "subtask %" PRIu64 " has no answer to give", number);
    }
    if (done->err != GRANARY_OK) {
        return gr_fail((granary_err)done->err, "%s", done->message);
    }
    if (done->n_inlines > (size_t)(end - question)) {
        return gr_fail(GRANARY_EPROTO, "node '%s': %zu answers instead of %zu",
                       plan_node(plan, plan->chunks.chunks[question->op].step)->name, done->n_inlines,
                       (size_t)(end - question));
    }
    for (; question < end && err == GRANARY_OK; question++) {
        err = feed_answer(plan, question->op,
                          question->place < done->n_inlines ? &done->inlines[question->place] : &nothing);
    }
    return err;
}

/* ---- stages ---- */

/* What the columns of a file were taken for is what they are. */
static granary_err
check_belief(const struct gr_plan *plan, size_t i)
{
    const struct gr_schema *before = &plan->graph->nodes[i]->type.schema;
    const struct gr_file *file = plan->sources.files[i];
    bool same = file->type.schema.count == before->count;

    for (size_t c = 0; c < before->count && same; c++) {
        same = strcmp(before->fields[c].name, file->type.schema.fields[c].name) == 0 &&
               before->fields[c].dtype == file->type.schema.fields[c].dtype;
    }
    return same ? GRANARY_OK
                : gr_fail(GRANARY_ESTATE, "node '%s': %s has changed since the graph was submitted: submit it again",
                          plan->graph->nodes[i]->node->name, file->path);
}

static granary_err
infer_types(struct gr_plan *plan)
{
    granary_err err;

    for (size_t i = 0; i < plan->graph->count; i++) {
        struct gr_node_type *type = &plan->graph->nodes[i]->type;
        const struct gr_schema *schema = plan->sources.tables[i] != NULL ? &plan->sources.tables[i]->schema : NULL;

        if (plan->sources.files[i] != NULL && plan->sources.files[i]->type.known && !type->known) {
            *type = plan->sources.files[i]->type;
            type->schema = (struct gr_schema){0};
            schema = &plan->sources.files[i]->type.schema;
            type->known = false;
        }
        if (plan->sources.files[i] != NULL && plan->sources.files[i]->type.known && type->known && !type->is_tensor) {
            err = check_belief(plan, i);
            if (err != GRANARY_OK) {
                return err;
            }
        }
        if (schema != NULL && !type->known) {
            err = gr_schema_copy(schema, &type->schema);

            if (err != GRANARY_OK) {
                return err;
            }
            type->known = true;
        }
    }
    err = infer_and_follow(plan);
    return err == GRANARY_ETYPE ? plan_blame_file(plan, err) : err;
}

/* The pieces of all targets of a chunk graph. */
static granary_err
collect_roots(const struct gr_plan *plan, struct gr_wants *ret_wants)
{
    size_t count = 0;
    struct gr_piece *roots;

    for (size_t t = 0; t < plan->target_count; t++) {
        count += plan->tiled[plan->targets[t]].count;
    }
    roots = malloc((count + 1) * sizeof *roots);
    if (roots == NULL) {
        return plan_no_memory();
    }
    *ret_wants = (struct gr_wants){.roots = roots, .count = count, .kept = count};
    for (size_t t = 0; t < plan->target_count; t++) {
        const struct gr_tiled *tiled = &plan->tiled[plan->targets[t]];

        memcpy(roots, tiled->pieces, tiled->count * sizeof *roots);
        roots += tiled->count;
    }
    return GRANARY_OK;
}

/* From what is known of the sources to steps that can be tiled. */
static granary_err
make_steps(struct gr_plan *plan)
{
    granary_err err = infer_types(plan);

    if (err == GRANARY_OK) {
        err = gr_steps_create(plan->graph, &plan->text.fired, &plan->steps);
    }
    if (err == GRANARY_OK) {
        for (size_t i = 0; i < plan->steps->count; i++) {
            const struct gr_file *file = plan->sources.files[i];

            plan->steps->steps[i].subset = file != NULL ? file->subset : 0;
        }
        plan->steps->recall = plan->recall;
        gr_steps_print(plan->steps, NODES_SHOWN, &plan->text.before);
        err = gr_optimize(plan->steps, plan->without_rules);
    }
    /* An error may need to tell more of a file than what was learnt of it. */
    if (err != GRANARY_OK && plan_doubt_all(plan)) {
        return GRANARY_OK;
    }
    return err == GRANARY_OK ? plan_recall(plan) : err;
}

/* Some more of everything, and what is wanted of it. */
static granary_err
cut_more(struct gr_plan *plan, struct gr_wants *ret_wants, bool *ret_more)
{
    granary_err err = plan->steps == NULL ? make_steps(plan) : GRANARY_OK; /* which may find that it is too early */

    if (err == GRANARY_OK && plan->sources.unready > 0) { /* what is recalled, or doubted, is looked at first */
        *ret_more = true;
        return GRANARY_OK;
    }
    if (err == GRANARY_OK && plan->tiling == NULL) {
        err = plan_recall_settle(plan);
        if (err == GRANARY_OK && plan->steps == NULL) { /* something was not there: once more */
            *ret_more = true;
            return GRANARY_OK;
        }
        err = err == GRANARY_OK ? gr_tiling_create(plan->steps, &plan->sources.known, &plan->tile_options,
                                                   &plan->chunks, &plan->tiling)
                                : err;
    }
    if (err == GRANARY_OK) {
        err = gr_tiling_go(plan->tiling, ret_more);
    }
    if (err == GRANARY_OK) {
        plan->complete = !gr_tiling_waits(plan->tiling);
        err = gr_tiling_wants(plan->tiling, ret_wants);
    }
    return err;
}

static granary_err
cut_chunk_graph(struct gr_plan *plan, struct gr_wants *ret_wants)
{
    granary_err err = plan_chunks(plan);

    plan->complete = err == GRANARY_OK;
    return err == GRANARY_OK ? collect_roots(plan, ret_wants) : err;
}

static granary_err
plan_on(struct gr_plan *plan, struct gr_plan_batch *batch)
{
    struct gr_wants wants = {0};
    bool more = false;
    granary_err err = plan->failed ? gr_fail(GRANARY_ESTATE, "the plan has failed before") : GRANARY_OK;

    if (err == GRANARY_OK) {
        err = plan->chunk_graph != NULL ? cut_chunk_graph(plan, &wants) : cut_more(plan, &wants, &more);
    }
    if (err == GRANARY_OK && (wants.count > 0 || wants.settled_count > 0)) {
        err = plan_emit(plan, &wants, batch);
    }
    batch->more = batch->more || more;
    gr_wants_free(&wants);
    plan->failed = plan->failed || err != GRANARY_OK;
    plan->complete = plan->complete && err == GRANARY_OK;
    return err;
}

const struct gr_tiled *
plan_tiled(const struct gr_plan *plan, size_t i)
{
    if (plan->chunk_graph != NULL) {
        return plan->tiled == NULL ? NULL : &plan->tiled[i];
    }
    return plan->tiling == NULL ? NULL : gr_tiling_step(plan->tiling, i);
}

granary_err
gr_plan_advance(struct gr_plan *plan, struct gr_plan_batch *ret_batch)
{
    struct gr_plan_batch batch = {0};
    granary_err err = GRANARY_OK;

    if (plan->emitted.emission != NULL) {
        err = plan_emit_more(plan, &batch);
    } else if (plan->sources.unready > 0) {
        err = plan_ask_sources(plan, &batch);
    } else if (!plan->complete) {
        err = plan_on(plan, &batch);
    }
    if (err != GRANARY_OK) {
        gr_plan_batch_free(&batch);
        return err;
    }
    *ret_batch = batch;
    return GRANARY_OK;
}

uint64_t
gr_plan_number(const struct gr_plan *plan)
{
    return plan->number;
}

bool
gr_plan_complete(const struct gr_plan *plan)
{
    return plan->complete && plan->emitted.emission == NULL;
}
