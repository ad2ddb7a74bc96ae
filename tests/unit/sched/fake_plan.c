#include "fake_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "graph/graph.h"

int fake_plan_feeds;
granary_err fake_plan_feed_err;
uint64_t fake_plan_facts;
bool fake_plan_broken;

struct gr_plan {
    Granary__Graph *graph;
    uint64_t number;
    char *session;
    size_t handed; /* nodes */
    size_t bound;  /* nodes that may be handed out by now */
    struct gr_function function;
};

static uint64_t
number_of(const char *key)
{
    return gr_hash64_seeded(key, strlen(key), fake_plan_facts);
}

granary_id
fake_plan_object(const char *key, uint64_t number)
{
    return gr_id_of_chunk(number_of(key), (uint32_t)number, 0);
}

static granary_id
object_of(const struct gr_plan *plan, uint64_t number)
{
    return gr_id_of_chunk(plan->number, (uint32_t)number, 0);
}

static size_t
position_of(const struct gr_plan *plan, const char *name)
{
    size_t i = 0;

    while (i < plan->graph->n_nodes && strcmp(plan->graph->nodes[i]->name, name) != 0) {
        i++;
    }
    return i;
}

static size_t
next_bound(const struct gr_plan *plan, size_t from)
{
    while (from < plan->graph->n_nodes && strcmp(plan->graph->nodes[from]->op, "feeds") != 0) {
        from++;
    }
    return from < plan->graph->n_nodes ? from + 1 : from;
}

granary_err
gr_plan_create(Granary__Graph *graph, const struct gr_plan_options *options, struct gr_plan **ret_plan)
{
    struct gr_plan *plan = calloc(1, sizeof *plan);

    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (fake_plan_broken || strcmp(graph->nodes[i]->op, "bad") == 0) {
            granary_err err = gr_fail(GRANARY_EINVAL, "node '%s' (bad): cannot be planned", graph->nodes[i]->name);

            granary__graph__free_unpacked(graph, NULL);
            free(plan);
            return err;
        }
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const char *function = gr_attr_string(graph->nodes[i]->attrs, graph->nodes[i]->n_attrs, "function", NULL);
        granary_err err = GRANARY_OK;

        if (function != NULL && strcmp(graph->nodes[i]->op, "call") == 0) {
            err = options->find_function(options->functions, function, &plan->function);
        }
        if (err != GRANARY_OK) {
            granary__graph__free_unpacked(graph, NULL);
            free(plan);
            return err;
        }
    }
    plan->graph = graph;
    plan->number = number_of(options->key);
    plan->session = strdup(options->session);
    plan->bound = next_bound(plan, 0);
    *ret_plan = plan;
    return GRANARY_OK;
}

uint64_t
gr_plan_exports(const struct gr_plan *plan)
{
    return plan->function.sequence;
}

bool
gr_plan_uses(const struct gr_plan *plan, const char *library, const char *version)
{
    return strcmp(plan->function.name.library, library) == 0 && strcmp(plan->function.name.version, version) == 0;
}

uint64_t
gr_plan_number(const struct gr_plan *plan)
{
    return plan->number;
}

void
gr_plan_destroy(struct gr_plan *plan)
{
    if (plan != NULL) {
        granary__graph__free_unpacked(plan->graph, NULL);
        free(plan->session);
        free(plan);
    }
}

static ProtobufCBinaryData
data_of(granary_id id)
{
    ProtobufCBinaryData data = {.len = sizeof id.bytes, .data = malloc(sizeof id.bytes)};

    memcpy(data.data, id.bytes, sizeof id.bytes);
    return data;
}

static void
fill_resources(const Granary__Node *node, Granary__Subtask *subtask)
{
    subtask->resources = calloc(node->n_attrs + 1, sizeof *subtask->resources);
    for (size_t i = 0; i < node->n_attrs; i++) {
        const Granary__Attr *attr = node->attrs[i];
        Granary__Resource *resource;

        if (strncmp(attr->name, "need_", 5) != 0) {
            continue;
        }
        resource = malloc(sizeof *resource);
        granary__resource__init(resource);
        resource->name = strdup(attr->name + 5);
        resource->amount = (uint64_t)attr->ints[0];
        subtask->resources[subtask->n_resources++] = resource;
    }
}

static void
fill(const struct gr_plan *plan, size_t position, struct gr_plan_subtask *subtask)
{
    const Granary__Node *node = plan->graph->nodes[position];
    Granary__ChunkOp *op = malloc(sizeof *op);

    granary__chunk_op__init(op);
    subtask->subtask = malloc(sizeof *subtask->subtask);
    granary__subtask__init(subtask->subtask);
    subtask->subtask->number = position;
    subtask->subtask->session = strdup(plan->session);
    subtask->subtask->n_ops = 1;
    subtask->subtask->ops = malloc(sizeof op);
    subtask->subtask->ops[0] = op;
    fill_resources(node, subtask->subtask);
    op->op = strdup(strcmp(node->op, "user") == 0 ? "call" : node->op);
    op->node = strdup(node->name);
    subtask->priority = (uint32_t)gr_attr_int(node->attrs, node->n_attrs, "priority", 0);
    subtask->subtask->timeout_ms = gr_attr_int(node->attrs, node->n_attrs, "timeout_ms", 0);
    subtask->subtask->memory_bytes = (uint64_t)gr_attr_int(node->attrs, node->n_attrs, "memory", 0);
    subtask->subtask->retries = (uint32_t)gr_attr_int(node->attrs, node->n_attrs, "retries", 0);
    op->attrs = calloc(node->n_attrs + 1, sizeof *op->attrs);
    for (size_t i = 0; i < node->n_attrs; i++) {
        op->attrs[op->n_attrs++] = gr_attr_copy(node->attrs[i]);
    }
    subtask->out_bytes = (uint64_t)gr_attr_int(node->attrs, node->n_attrs, "out_bytes", 0);
    if (strcmp(node->op, "null") == 0) {
        subtask->after = calloc(node->n_inputs + 1, sizeof *subtask->after);
        for (size_t i = 0; i < node->n_inputs; i++) {
            subtask->after[subtask->after_count++] = position_of(plan, node->inputs[i]);
        }
        return;
    }
    op->inputs = calloc(node->n_inputs + 1, sizeof *op->inputs);
    for (size_t i = 0; i < node->n_inputs; i++) {
        Granary__Operand *operand = malloc(sizeof *operand);

        granary__operand__init(operand);
        operand->object = data_of(object_of(plan, position_of(plan, node->inputs[i])));
        op->inputs[op->n_inputs++] = operand;
    }
    op->outputs = calloc(1, sizeof *op->outputs);
    op->n_outputs = 1;
    op->outputs[0] = data_of(object_of(plan, position));
    subtask->feeds = strcmp(node->op, "feeds") == 0;
}

granary_err
gr_plan_advance(struct gr_plan *plan, struct gr_plan_batch *ret_batch)
{
    ret_batch->count = plan->bound - plan->handed;
    ret_batch->subtasks = calloc(ret_batch->count + 1, sizeof *ret_batch->subtasks);
    for (size_t i = 0; i < ret_batch->count; i++) {
        fill(plan, plan->handed + i, &ret_batch->subtasks[i]);
    }
    plan->handed = plan->bound;
    return GRANARY_OK;
}

void
gr_plan_batch_free(struct gr_plan_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->subtasks[i].subtask != NULL) {
            granary__subtask__free_unpacked(batch->subtasks[i].subtask, NULL);
        }
        free(batch->subtasks[i].after);
    }
    free(batch->subtasks);
    *batch = (struct gr_plan_batch){0};
}

granary_err
gr_plan_feed(struct gr_plan *plan, uint64_t number, const Granary__Done *done)
{
    granary_err err = fake_plan_feed_err;

    (void)done;
    fake_plan_feeds++;
    if (err != GRANARY_OK) {
        fake_plan_feed_err = GRANARY_OK;
        return gr_fail(err, "node '%s': fed badly", plan->graph->nodes[number]->name);
    }
    plan->bound = next_bound(plan, plan->bound);
    return GRANARY_OK;
}

bool
gr_plan_complete(const struct gr_plan *plan)
{
    return plan->handed == plan->graph->n_nodes;
}

bool
gr_plan_keeps(const struct gr_plan *plan, granary_id id)
{
    for (size_t i = 0; i < plan->graph->n_targets; i++) {
        if (gr_id_equal(object_of(plan, position_of(plan, plan->graph->targets[i])), id)) {
            return true;
        }
    }
    return false;
}

size_t
gr_plan_target_count(const struct gr_plan *plan)
{
    return plan->graph->n_targets;
}

const char *
gr_plan_target_name(const struct gr_plan *plan, size_t target)
{
    return plan->graph->targets[target];
}

void
gr_plan_target_dtypes(const struct gr_plan *plan, size_t target, struct gr_buf *out)
{
    (void)plan;
    (void)target;
    gr_buf_addf(out, "a:INT64");
}

granary_err
gr_plan_target_result(const struct gr_plan *plan, size_t target, Granary__Result **ret_result)
{
    size_t position = position_of(plan, plan->graph->targets[target]);
    Granary__Result *result = malloc(sizeof *result);

    granary__result__init(result);
    if (strcmp(plan->graph->nodes[position]->op, "null") != 0) {
        result->chunks = malloc(sizeof *result->chunks);
        result->chunks[0] = malloc(sizeof **result->chunks);
        result->n_chunks = 1;
        granary__chunk__init(result->chunks[0]);
        result->chunks[0]->id = data_of(object_of(plan, position));
    }
    *ret_result = result;
    return GRANARY_OK;
}

void
gr_plan_notes(const struct gr_plan *plan, struct gr_buf *out)
{
    (void)plan;
    (void)out;
}

void
gr_plan_explain(const struct gr_plan *plan, struct gr_buf *out)
{
    gr_buf_addf(out, "%zu nodes\n", plan->graph->n_nodes);
}

bool
gr_plan_snapshot(const struct gr_plan *plan, size_t *node, granary_id *ret_snapshot)
{
    (void)plan;
    (void)node;
    (void)ret_snapshot;
    return false;
}

granary_err
gr_plan_table_infos(const struct gr_plan *plan, const char *node, struct gr_buf *out)
{
    (void)plan;
    (void)out;
    return gr_fail(GRANARY_ENOENT, "node '%s' reads no table", node);
}

void
gr_plan_account(struct gr_plan *plan, uint64_t number, const Granary__Done *done)
{
    (void)plan;
    (void)number;
    (void)done;
}

void
gr_plan_analyze(const struct gr_plan *plan, struct gr_buf *out)
{
    (void)plan;
    (void)out;
}

granary_err
gr_plan_spare(const struct gr_plan *plan, size_t *step, struct gr_plan_spare *ret_spare)
{
    (void)plan;
    (void)step;
    *ret_spare = (struct gr_plan_spare){0};
    return GRANARY_OK;
}

void
gr_plan_spare_free(struct gr_plan_spare *spare)
{
    (void)spare;
}
