/* Chunk graphs: their nodes are chunk operators already. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/state.h"

/* What an operator makes whose size nothing tells. */
#define OUTPUT_BYTES 65536

granary_err
plan_settle_chunks(struct gr_plan *plan)
{
    struct gr_chunk_graph *graph = plan->chunk_graph;

    for (size_t i = 0; i < graph->count; i++) {
        struct gr_chunk_node *node = &graph->nodes[i];
        granary_err err = GRANARY_OK;

        if (node->op == GR_CHUNK_call) {
            node->outputs = plan->functions[i]->outputs;
            err = gr_function_check_inputs(plan->functions[i], node->input_count);
        }
        if (err != GRANARY_OK) {
            return gr_fail_in(err, "node '%.100s' (%.40s)", node->node->name, node->node->op);
        }
    }
    return gr_chunk_graph_settle(graph);
}

/* ---- attributes ---- */

/* Those a subtask carries, or that are told otherwise. */
static bool
is_for_planner(const struct gr_chunk_node *node, const char *name)
{
    static const char *const names[] = {"function", "outputs", "retries", "timeout_ms", "memory", "resources"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (gr_chunk_op_is_user(node->op) && strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Files are meant from where the submitter was. */
static Granary__Attr *
absolute_path(const struct gr_plan *plan, const Granary__Attr *attr)
{
    struct gr_buf path = {0};
    Granary__Attr *absolute = NULL;

    gr_buf_addf(&path, "%s/%s", plan->directory, attr->strings[0]);
    if (gr_buf_ok(&path)) {
        absolute = gr_attr_new_string(attr->name, path.bytes);
    }
    gr_buf_free(&path);
    return absolute;
}

static gr_attrs
node_attrs(struct gr_plan *plan, size_t i)
{
    const struct gr_chunk_node *node = &plan->chunk_graph->nodes[i];
    const struct gr_function *function = plan->functions[i];
    gr_attrs attrs = gr_chunks_attrs(&plan->chunks);

    for (size_t k = 0; k < node->node->n_attrs; k++) {
        const Granary__Attr *attr = node->node->attrs[k];
        bool is_file = strcmp(attr->name, "path") == 0 && attr->kind == GRANARY__ATTR__KIND__STRING &&
                       attr->strings[0][0] != '/' && !gr_chunk_op_is_user((enum gr_chunk_op)node->op);

        if (!is_for_planner(node, attr->name)) {
            gr_attrs_add(&plan->chunks, attrs, is_file ? absolute_path(plan, attr) : gr_attr_copy(attr));
        }
    }
    if (function != NULL) {
        gr_attrs_add(&plan->chunks, attrs, gr_attr_new_string("library", function->name.library));
        gr_attrs_add(&plan->chunks, attrs, gr_attr_new_string("version", function->name.version));
        gr_attrs_add(&plan->chunks, attrs, gr_attr_new_string("function", function->name.name));
    }
    return attrs;
}

/* ---- operators ---- */

/* The objects among a node's inputs, as an operator that is there already; how many they are. */
static size_t
add_objects(struct gr_plan *plan, size_t i, struct gr_piece *ret_first)
{
    const struct gr_chunk_node *node = &plan->chunk_graph->nodes[i];
    struct gr_chunk_spec spec = {.op = GR_CHUNK_object, .step = (uint32_t)i};
    char(*texts)[GRANARY_ID_TEXT + 1] = calloc(node->input_count + 1, sizeof *texts);
    char **pointers = calloc(node->input_count + 1, sizeof *pointers);

    for (size_t k = 0; texts != NULL && pointers != NULL && k < node->input_count; k++) {
        if (node->inputs[k].node == GR_CHUNK_INPUT_OBJECT) {
            granary_id_format(node->inputs[k].object, texts[spec.outputs]);
            pointers[spec.outputs] = texts[spec.outputs];
            spec.outputs++;
        }
    }
    if (texts == NULL || pointers == NULL) {
        plan->chunks.failed = GRANARY_ENOMEM;
    } else if (spec.outputs > 0) {
        spec.shared = gr_chunks_attrs(&plan->chunks);
        gr_attrs_add(&plan->chunks, spec.shared, gr_attr_new_strings("ids", pointers, spec.outputs));
        *ret_first = gr_chunks_add(&plan->chunks, &spec);
    }
    free(texts);
    free(pointers);
    return spec.outputs;
}

static granary_err
add_node(struct gr_plan *plan, size_t i)
{
    const struct gr_chunk_node *node = &plan->chunk_graph->nodes[i];
    struct gr_piece *inputs = malloc((node->input_count + 1) * sizeof *inputs);
    struct gr_tiled *out = &plan->tiled[i];
    struct gr_piece object = {0};
    struct gr_chunk_spec spec = {.op = node->op,
                                 .step = (uint32_t)i,
                                 .inputs = inputs,
                                 .input_count = node->input_count,
                                 .outputs = node->outputs,
                                 .bytes = (uint64_t)OUTPUT_BYTES * node->outputs};
    size_t pieces = node->outputs > 0 ? node->outputs : 1;
    struct gr_piece first;

    if (inputs == NULL) {
        return plan_no_memory();
    }
    if (gr_chunk_is_packed(&(struct gr_chunk){.op = (uint8_t)node->op})) {
        spec.outputs = 1; /* what the graph calls its outputs are frames of one object */
    }
    (void)add_objects(plan, i, &object);
    for (size_t k = 0; k < node->input_count; k++) {
        const struct gr_chunk_input *input = &node->inputs[k];

        if (input->node == GR_CHUNK_INPUT_OBJECT) {
            inputs[k] = object;
            object.output++;
        } else {
            inputs[k] = (struct gr_piece){.op = plan->tiled[input->node].pieces[0].op, .output = input->output};
        }
    }
    spec.shared = node_attrs(plan, i);
    first = gr_chunks_add(&plan->chunks, &spec);
    free(inputs);
    out->pieces = calloc(pieces, sizeof *out->pieces);
    if (out->pieces == NULL) {
        return plan_no_memory();
    }
    for (; out->count < pieces; out->count++) {
        out->pieces[out->count] = (struct gr_piece){.op = first.op, .output = (uint32_t)out->count};
    }
    return gr_chunks_error(&plan->chunks);
}

granary_err
plan_chunks(struct gr_plan *plan)
{
    granary_err err = GRANARY_OK;

    plan->tiled = calloc(plan->node_count + 1, sizeof *plan->tiled);
    if (plan->tiled == NULL) {
        return plan_no_memory();
    }
    for (size_t i = 0; i < plan->node_count && err == GRANARY_OK; i++) {
        err = add_node(plan, i);
    }
    return err;
}
