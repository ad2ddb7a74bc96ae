/* A plan as text. */
#include <inttypes.h>
#include <stdlib.h>

#include "plan/state.h"

#define NODES_SHOWN    200
#define SUBTASKS_SHOWN 200
#define IDS_SHOWN      8
#define OPS_SHOWN      24

static void
print_id(const ProtobufCBinaryData *bytes, struct gr_buf *out)
{
    for (size_t i = 0; i < bytes->len && i < 4; i++) {
        gr_buf_addf(out, "%02x", bytes->data[i]);
    }
}

static void
print_inputs(const Granary__ChunkOp *op, struct gr_buf *out)
{
    for (size_t k = 0; k < op->n_inputs && k < IDS_SHOWN; k++) {
        const Granary__Operand *operand = op->inputs[k];

        gr_buf_addf(out, "%s", k > 0 ? ", " : "");
        if (operand->outer > 0) {
            gr_buf_addf(out, operand->outer == 1 ? "round" : "input %u", operand->outer - 1);
        } else if (operand->object.len > 0) {
            print_id(&operand->object, out);
        } else {
            gr_buf_addf(out, "#%u", operand->op);
            if (operand->output > 0) {
                gr_buf_addf(out, ".%u", operand->output);
            }
        }
    }
    if (op->n_inputs > IDS_SHOWN) {
        gr_buf_addf(out, ", ... %zu in all", op->n_inputs);
    }
}

static void
print_outputs(const Granary__ChunkOp *op, struct gr_buf *out)
{
    size_t shown = 0;
    size_t all = 0;

    for (size_t o = 0; o < op->n_outputs; o++) {
        if (op->outputs[o].len == 0) {
            continue;
        }
        all++;
        if (shown < IDS_SHOWN) {
            gr_buf_addf(out, "%s", shown++ > 0 ? ", " : " -> ");
            print_id(&op->outputs[o], out);
        }
    }
    if (all > shown) {
        gr_buf_addf(out, ", ... %zu in all", all);
    }
}

/* What a recursion runs each round, in braces. */
static void
print_body(const Granary__ChunkOp *op, struct gr_buf *out)
{
    gr_buf_addf(out, "%s", op->n_body > 0 ? " {" : "");
    for (size_t i = 0; i < op->n_body && i < OPS_SHOWN; i++) {
        gr_buf_addf(out, "%s%s(", i == 0 ? "" : "; ", op->body[i]->op);
        print_inputs(op->body[i], out);
        gr_buf_addf(out, ")");
        print_body(op->body[i], out);
    }
    if (op->n_body > OPS_SHOWN) {
        gr_buf_addf(out, "; ... %zu in all", op->n_body);
    }
    gr_buf_addf(out, "%s", op->n_body > 0 ? "}" : "");
}

void
plan_explain_subtask(struct gr_plan *plan, const struct gr_plan_subtask *subtask)
{
    struct gr_buf *out = &plan->text.subtasks;
    const Granary__Subtask *message = subtask->subtask;

    if (plan->text.explained >= SUBTASKS_SHOWN) {
        return;
    }
    plan->text.explained++;
    gr_buf_addf(out, "  %" PRIu64 ":", message->number);
    for (size_t i = 0; i < subtask->after_count && i < IDS_SHOWN; i++) {
        gr_buf_addf(out, "%s%" PRIu64, i == 0 ? " after " : ", ", subtask->after[i]);
    }
    if (subtask->after_count > IDS_SHOWN) {
        gr_buf_addf(out, ", ... %zu in all", subtask->after_count);
    }
    for (size_t i = 0; i < message->n_ops; i++) {
        if (message->n_ops > OPS_SHOWN && i == OPS_SHOWN / 2) { /* of many alike, as files that are read together */
            gr_buf_addf(out, "; ... %zu in all", message->n_ops);
            i = message->n_ops - OPS_SHOWN / 4;
        }
        gr_buf_addf(out, "%s%s(", i == 0 ? " " : "; ", message->ops[i]->op);
        print_inputs(message->ops[i], out);
        gr_buf_addf(out, ")");
        print_body(message->ops[i], out);
        print_outputs(message->ops[i], out);
    }
    gr_buf_addf(out, "\n");
}

static void
print_chunk_graph(const struct gr_chunk_graph *graph, struct gr_buf *out)
{
    bool *is_target = calloc(graph->count + 1, sizeof *is_target);

    for (size_t t = 0; is_target != NULL && t < graph->target_count; t++) {
        is_target[graph->targets[t]] = true;
    }
    for (size_t i = 0; is_target != NULL && i < graph->count && i < NODES_SHOWN; i++) {
        const Granary__Node *node = graph->nodes[i].node;

        gr_buf_addf(out, "  %s%s = %s(", node->name, is_target[i] ? " *" : "", node->op);
        for (size_t k = 0; k < node->n_inputs && k < IDS_SHOWN; k++) {
            gr_buf_addf(out, "%s%s", k > 0 ? ", " : "", node->inputs[k]);
        }
        gr_buf_addf(out, "%s)\n", node->n_inputs > IDS_SHOWN ? ", ..." : "");
    }
    if (graph->count > NODES_SHOWN) {
        gr_buf_addf(out, "  ... and %zu more\n", graph->count - NODES_SHOWN);
    }
    free(is_target);
}

static void
print_graph(const struct gr_plan *plan, struct gr_buf *out)
{
    struct gr_steps *steps;

    if (plan->chunk_graph != NULL) {
        print_chunk_graph(plan->chunk_graph, out);
    } else if (plan->steps != NULL) {
        gr_buf_add(out, plan->text.before.bytes, plan->text.before.size);
    } else if (gr_steps_create(plan->graph, NULL, &steps) == GRANARY_OK) {
        gr_steps_print(steps, NODES_SHOWN, out);
        gr_steps_destroy(steps);
    }
}

static bool
is_cut_in_stages(const struct gr_file *file)
{
    return file != NULL && file->stage != NULL;
}

static bool
has_files(const struct gr_plan *plan)
{
    size_t i = 0;

    while (plan->sources.files != NULL && i < plan->node_count && !is_cut_in_stages(plan->sources.files[i])) {
        i++;
    }
    return plan->sources.files != NULL && i < plan->node_count;
}

static void
print_files(const struct gr_plan *plan, struct gr_buf *out)
{
    for (size_t i = 0; i < plan->node_count; i++) {
        const struct gr_file *file = plan->sources.files[i];

        if (is_cut_in_stages(file)) {
            gr_buf_addf(out, "  %s: %s, %" PRId64 " bytes in blocks of %" PRId64 ": %s\n", file->node->name, file->path,
                        file->file_bytes, file->block_bytes, file->stage);
        }
    }
}

static void
print_chunks(const struct gr_plan *plan, struct gr_buf *out)
{
    size_t shown = 0;

    for (size_t i = 0; i < plan->steps->count && shown < NODES_SHOWN; i++) {
        const struct gr_step *step = &plan->steps->steps[i];
        const struct gr_tiled *tiled = plan_tiled(plan, i);

        if (step->dead) {
            continue;
        }
        shown++;
        gr_buf_addf(out, "  %s (%s): ", step->is_target ? step->name : step->origin->name, gr_op_info(step->op)->name);
        if (tiled == NULL) {
            gr_buf_addf(out, "not known before what it reads is\n");
            continue;
        }
        gr_buf_addf(out, "%zu", tiled->count);
        for (int d = 0; tiled->grid != NULL && d < tiled->grid->dims; d++) {
            gr_buf_addf(out, "%s%" PRId64, d == 0 ? " = " : " x ", tiled->grid->splits[d]);
        }
        gr_buf_addf(out, "\n");
    }
}

void
gr_plan_explain(const struct gr_plan *plan, struct gr_buf *out)
{
    gr_buf_addf(out, "graph (* is a target)\n");
    print_graph(plan, out);
    if (has_files(plan)) {
        gr_buf_addf(out, "files\n");
        print_files(plan, out);
    }
    if (plan->tiling != NULL) {
        gr_buf_addf(out, "rules that fired\n");
        gr_buf_add(out, plan->text.fired.size > 0 ? plan->text.fired.bytes : "  none\n",
                   plan->text.fired.size > 0 ? plan->text.fired.size : 7);
        gr_buf_addf(out, "after optimisation\n");
        gr_steps_print(plan->steps, NODES_SHOWN, out);
        gr_buf_addf(out, "chunks\n");
        print_chunks(plan, out);
    }
    gr_buf_addf(out, "subtasks: %" PRIu64 "%s (#n: operator n of the same subtask; else an object)\n",
                plan->emitted.subtasks, plan->complete ? "" : " so far");
    gr_buf_add(out, plan->text.subtasks.bytes, plan->text.subtasks.size);
    if (plan->emitted.subtasks > plan->text.explained) {
        gr_buf_addf(out, "  ... and %" PRIu64 " more\n", plan->emitted.subtasks - plan->text.explained);
    }
}
