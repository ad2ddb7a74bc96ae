/* What a recursion runs each round, as messages: operators that only take values of one another and of its inputs. */
#include <string.h>

#include "plan/state.h"

struct emitting {
    const struct gr_plan *plan;
    const struct gr_chunks *chunks;
    uint32_t outer;
    struct gr_region *memory;
    uint32_t *local; /* by operator: its place in the body, + 1; 0: nobody needs it */
};

/* The operators that the end needs. They stand behind what they read. */
static uint32_t
number_operators(struct emitting *e, uint32_t end)
{
    uint32_t count = 0;

    e->local[end] = 1;
    for (uint32_t op = end + 1; op-- > e->outer;) {
        const struct gr_chunk *chunk = &e->chunks->chunks[op];
        const struct gr_piece *inputs = gr_chunk_inputs(e->chunks, chunk);

        for (uint32_t k = 0; e->local[op] != 0 && k < chunk->input_count; k++) {
            e->local[inputs[k].op] = 1;
        }
    }
    for (uint32_t op = e->outer; op <= end; op++) {
        e->local[op] = e->local[op] != 0 ? ++count : 0;
    }
    return count;
}

static bool
set_inputs(const struct emitting *e, const struct gr_chunk *chunk, Granary__ChunkOp *op)
{
    const struct gr_piece *inputs = gr_chunk_inputs(e->chunks, chunk);

    op->inputs = gr_region_zalloc(e->memory, chunk->input_count + 1, sizeof *op->inputs);
    for (uint32_t k = 0; op->inputs != NULL && k < chunk->input_count; k++) {
        Granary__Operand *operand = gr_region_alloc(e->memory, sizeof *operand);

        if (operand == NULL) {
            return false;
        }
        granary__operand__init(operand);
        op->inputs[op->n_inputs++] = operand;
        if (inputs[k].op < e->outer) {
            operand->outer = inputs[k].op + 1;
        } else {
            operand->op = e->local[inputs[k].op] - 1;
            operand->output = inputs[k].output;
        }
    }
    return op->inputs != NULL;
}

/* No output of it is an object. */
static bool
set_outputs(const struct emitting *e, const struct gr_chunk *chunk, Granary__ChunkOp *op)
{
    op->outputs = gr_region_zalloc(e->memory, chunk->outputs + 1, sizeof *op->outputs);
    op->n_outputs = op->outputs == NULL ? 0 : chunk->outputs;
    return op->outputs != NULL;
}

bool
plan_emit_body(const struct gr_plan *plan, const struct gr_chunks_body *body, struct gr_region *memory,
               Granary__ChunkOp *op)
{
    struct emitting e = {.plan = plan, .chunks = &body->chunks, .outer = body->outer, .memory = memory};

    e.local = gr_region_zalloc(memory, body->chunks.count + 1, sizeof *e.local);
    op->body =
        e.local == NULL ? NULL : gr_region_zalloc(memory, number_operators(&e, body->end.op) + 1, sizeof *op->body);
    if (op->body == NULL) {
        return false;
    }
    for (uint32_t i = body->outer; i <= body->end.op; i++) {
        const struct gr_chunk *chunk = &body->chunks.chunks[i];
        Granary__ChunkOp *inner = e.local[i] == 0 ? NULL : gr_region_alloc(memory, sizeof *inner);

        if (e.local[i] == 0) {
            continue;
        }
        if (inner == NULL) {
            return false;
        }
        granary__chunk_op__init(inner);
        op->body[op->n_body++] = inner;
        inner->op = (char *)(uintptr_t)gr_chunk_op_name((enum gr_chunk_op)chunk->op);
        inner->node = plan_node(plan, chunk->step)->name;
        if (gr_chunk_op_has_body((enum gr_chunk_op)chunk->op) &&
            !plan_emit_body(plan, gr_chunk_body(&body->chunks, chunk), memory, inner)) {
            return false;
        }
        if (!set_inputs(&e, chunk, inner) || !plan_emit_attrs(e.chunks, chunk, memory, inner) ||
            !set_outputs(&e, chunk, inner)) {
            return false;
        }
    }
    return true;
}
