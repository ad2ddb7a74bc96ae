/* Fused operators become messages. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/memory/grow.h"
#include "base/memory/region.h"
#include "plan/state.h"

/* Subtasks of one batch: as messages, before they are packed, they take half a kilobyte each. */
#define SLICE 8192

/* One emission at work. */
struct emission {
    struct gr_plan *plan;
    const struct gr_chunks *chunks;
    uint32_t from;
    uint64_t first;      /* number of the first subtask */
    uint32_t done;       /* subtasks handed out */
    granary_id *settled; /* for the last batch */
    size_t settled_count;
    struct gr_fused fused;
    uint64_t *first_output;   /* by operator, counted from `from`: where its outputs begin in exported */
    bool *exported;           /* by output: it becomes an object */
    uint64_t *spare;          /* by output: it is for others alone, and has no more bytes; 0: it is not */
    uint32_t *local;          /* by operator: its place in its subtask */
    struct gr_region *memory; /* of the batch at work */
};

static granary_err
no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "handing out subtasks: out of memory");
}

/* Only of operators that were not handed out before. */
static bool *
exported(const struct emission *e, struct gr_piece piece)
{
    uint32_t output = gr_chunk_is_packed(&e->chunks->chunks[piece.op]) ? 0 : piece.output;

    return &e->exported[e->first_output[piece.op - e->from] + output];
}

static bool
has_output(const struct emission *e, struct gr_piece piece)
{
    return piece.output < e->chunks->chunks[piece.op].outputs;
}

/* ---- which outputs become objects ---- */

static granary_err
emission_init(struct emission *e)
{
    uint64_t outputs = 0;
    size_t count = (size_t)(e->chunks->count - e->from) + 1;

    e->first_output = gr_region_alloc(e->fused.memory, count * sizeof *e->first_output);
    e->local = gr_region_alloc(e->fused.memory, count * sizeof *e->local);
    if (e->first_output == NULL || e->local == NULL) {
        return no_memory();
    }
    for (uint32_t op = e->from; op < e->chunks->count; op++) {
        e->first_output[op - e->from] = outputs;
        outputs += e->chunks->chunks[op].outputs;
    }
    e->exported = gr_region_zalloc(e->fused.memory, outputs, sizeof *e->exported);
    e->spare = gr_region_zalloc(e->fused.memory, outputs, sizeof *e->spare);
    return e->exported == NULL || e->spare == NULL ? no_memory() : GRANARY_OK;
}

void
plan_emission_destroy(struct emission *e)
{
    if (e != NULL) {
        free(e->settled);
        gr_fused_free(&e->fused);
        free(e);
    }
}

static void
mark_exported(struct emission *e)
{
    for (uint32_t s = 0; s < e->fused.count; s++) {
        for (uint32_t at = e->fused.first[s]; at < e->fused.first[s + 1]; at++) {
            uint32_t op = e->fused.ops[at];
            const struct gr_chunk *chunk = &e->chunks->chunks[op];
            const struct gr_piece *inputs = gr_chunk_inputs(e->chunks, chunk);

            e->local[op - e->from] = at - e->fused.first[s];
            for (uint32_t k = 0; k < chunk->input_count && chunk->op != GR_CHUNK_null; k++) {
                if (inputs[k].op >= e->from && e->fused.of[inputs[k].op] != s) {
                    *exported(e, inputs[k]) = true;
                }
            }
        }
    }
}

/* Roots that stay, or for a while. What was handed out before was exported then. */
static granary_err
export_roots(struct emission *e, const struct gr_piece *roots, size_t count, struct id_set *set)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if (has_output(e, roots[i])) {
            if (roots[i].op >= e->from) {
                *exported(e, roots[i]) = true;
            }
            err = id_set_add(set, plan_object(e->plan, roots[i]));
        }
    }
    return err;
}

/* How many pieces of one step follow one another. */
static size_t
run_of_step(const struct emission *e, const struct gr_piece *pieces, size_t count)
{
    size_t run = 1;

    while (run < count && e->chunks->chunks[pieces[run].op].step == e->chunks->chunks[pieces[0].op].step) {
        run++;
    }
    return run;
}

/* What is made anyway, and others may want. What somebody reads is there whatever its size: that is only estimated. */
static granary_err
export_spare(struct emission *e, const struct gr_piece *pieces, size_t count, uint64_t most)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        const struct gr_chunk *chunk = &e->chunks->chunks[pieces[i].op];
        bool *is_exported = exported(e, pieces[i]);

        if (e->fused.of[pieces[i].op] == GR_FUSE_NONE || (*is_exported && chunk->bytes > most) || chunk->outputs != 1) {
            continue;
        }
        e->spare[is_exported - e->exported] = *is_exported ? 0 : most;
        *is_exported = true;
        err = id_set_add(&e->plan->emitted.spare, plan_object(e->plan, pieces[i]));
    }
    return err;
}

static granary_err
export_all_spare(struct emission *e, const struct gr_wants *wants)
{
    granary_err err = GRANARY_OK;
    size_t run;

    for (size_t i = 0; i < wants->spare_count && err == GRANARY_OK; i += run) {
        uint64_t most;

        run = run_of_step(e, wants->spare + i, wants->spare_count - i);
        most = e->plan->recall->spare_bytes / run;
        err = most == 0 ? GRANARY_OK : export_spare(e, wants->spare + i, run, most);
    }
    return err;
}

static granary_err
list_settled(struct emission *e, const struct gr_wants *wants)
{
    e->settled = malloc((wants->settled_count + 1) * sizeof *e->settled);
    if (e->settled == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < wants->settled_count; i++) {
        if (has_output(e, wants->settled[i])) {
            e->settled[e->settled_count++] = plan_object(e->plan, wants->settled[i]);
        }
    }
    return GRANARY_OK;
}

/* ---- messages ---- */

static bool
set_id(const struct emission *e, struct gr_piece piece, ProtobufCBinaryData *ret_bytes)
{
    granary_id id = plan_object(e->plan, piece);

    ret_bytes->data = gr_region_alloc(e->memory, sizeof id.bytes);
    if (ret_bytes->data != NULL) {
        memcpy(ret_bytes->data, id.bytes, sizeof id.bytes);
        ret_bytes->len = sizeof id.bytes;
    }
    return ret_bytes->data != NULL;
}

/* How many frames a packed object has: its operator's attribute. */
static uint32_t
packed_parts(const struct emission *e, const struct gr_chunk *chunk)
{
    int64_t parts = 1;

    for (int s = 0; s < 2; s++) {
        const struct gr_attr_set *set = &e->chunks->sets[chunk->attrs[s]];

        if (chunk->attrs[s] != 0) {
            parts = gr_attr_int(set->attrs, set->count, "parts", parts);
        }
    }
    return (uint32_t)parts;
}

static bool
set_inputs(const struct emission *e, uint32_t subtask, const struct gr_chunk *chunk, Granary__ChunkOp *op)
{
    const struct gr_piece *inputs = gr_chunk_inputs(e->chunks, chunk);

    if (chunk->op == GR_CHUNK_null || chunk->input_count == 0) {
        return true;
    }
    op->inputs = gr_region_zalloc(e->memory, chunk->input_count, sizeof *op->inputs);
    for (uint32_t k = 0; op->inputs != NULL && k < chunk->input_count; k++) {
        Granary__Operand *operand = gr_region_alloc(e->memory, sizeof *operand);

        if (operand == NULL) {
            return false;
        }
        granary__operand__init(operand);
        op->inputs[op->n_inputs++] = operand;
        if (gr_chunk_is_packed(&e->chunks->chunks[inputs[k].op])) {
            operand->part = inputs[k].output + 1;
            operand->parts = packed_parts(e, &e->chunks->chunks[inputs[k].op]);
        }
        if (e->fused.of[inputs[k].op] == subtask) {
            operand->op = e->local[inputs[k].op - e->from];
            operand->output = inputs[k].output;
        } else if (!set_id(e, inputs[k], &operand->object)) {
            return false;
        }
        /* A table's objects are looked at when it is measured. */
        operand->foreign = e->plan->chunk_graph != NULL && e->chunks->chunks[inputs[k].op].op == GR_CHUNK_object;
    }
    return op->inputs != NULL;
}

static bool
set_outputs(const struct emission *e, uint32_t number, const struct gr_chunk *chunk, Granary__ChunkOp *op)
{
    if (chunk->outputs == 0) {
        return true;
    }
    op->outputs = gr_region_zalloc(e->memory, chunk->outputs, sizeof *op->outputs);
    op->n_outputs = op->outputs == NULL ? 0 : chunk->outputs;
    for (uint32_t o = 0; o < op->n_outputs; o++) {
        struct gr_piece piece = {.op = number, .output = o};

        if (*exported(e, piece) && !set_id(e, piece, &op->outputs[o])) {
            return false;
        }
        op->spare_bytes = e->spare[exported(e, piece) - e->exported];
        if (op->spare_bytes > 0) {
            op->wished = e->plan->steps->steps[chunk->step].wished;
        }
    }
    return op->outputs != NULL;
}

bool
plan_emit_attrs(const struct gr_chunks *chunks, const struct gr_chunk *chunk, struct gr_region *memory,
                Granary__ChunkOp *op)
{
    size_t count = 0;

    for (int s = 0; s < 2; s++) {
        count += chunk->attrs[s] == 0 ? 0 : chunks->sets[chunk->attrs[s]].count;
    }
    if (count == 0) {
        return true;
    }
    op->attrs = gr_region_zalloc(memory, count, sizeof *op->attrs);
    for (int s = 0; op->attrs != NULL && s < 2; s++) {
        const struct gr_attr_set *set = &chunks->sets[chunk->attrs[s]];

        for (size_t i = 0; chunk->attrs[s] != 0 && i < set->count; i++) {
            op->attrs[op->n_attrs++] = set->attrs[i];
        }
    }
    return op->attrs != NULL;
}

granary_id
plan_object(const struct gr_plan *plan, struct gr_piece piece)
{
    const struct gr_chunk *chunk = &plan->chunks.chunks[piece.op];
    uint64_t number = piece.op < plan->early_ops ? plan->early_number : plan->number;

    return chunk->op == GR_CHUNK_object
               ? gr_chunk_object(&plan->chunks, piece)
               : gr_id_of_chunk(number, piece.op, gr_chunk_is_packed(chunk) ? 0 : piece.output);
}

/* Those added for files before there are steps carry the node's position, too. */
const Granary__Node *
plan_node(const struct gr_plan *plan, uint32_t step)
{
    return plan->steps != NULL ? plan->steps->steps[step].origin : plan_graph_node(plan, step);
}

static Granary__ChunkOp *
make_op(const struct emission *e, uint32_t subtask, uint32_t number)
{
    const struct gr_chunk *chunk = &e->chunks->chunks[number];
    Granary__ChunkOp *op = gr_region_alloc(e->memory, sizeof *op);

    if (op == NULL) {
        return NULL;
    }
    granary__chunk_op__init(op);
    op->op = (char *)(uintptr_t)gr_chunk_op_name((enum gr_chunk_op)chunk->op);
    op->node = plan_node(e->plan, chunk->step)->name;
    if (gr_chunk_op_has_body((enum gr_chunk_op)chunk->op) &&
        !plan_emit_body(e->plan, gr_chunk_body(e->chunks, chunk), e->memory, op)) {
        return NULL;
    }
    return set_inputs(e, subtask, chunk, op) && set_outputs(e, number, chunk, op) &&
                   plan_emit_attrs(e->chunks, chunk, e->memory, op)
               ? op
               : NULL;
}

static int
compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* A null waits for the subtasks its inputs come from, each once. */
static granary_err
set_after(const struct emission *e, const struct gr_chunk *chunk, struct gr_plan_subtask *to)
{
    const struct gr_piece *inputs = gr_chunk_inputs(e->chunks, chunk);
    size_t count = 0;
    size_t kept = 0;

    if (chunk->input_count == 0) {
        return GRANARY_OK;
    }
    to->after = gr_region_alloc(e->memory, chunk->input_count * sizeof *to->after);
    if (to->after == NULL) {
        return no_memory();
    }
    for (uint32_t k = 0; k < chunk->input_count; k++) {
        if (e->fused.of[inputs[k].op] != GR_FUSE_NONE) {
            to->after[count++] = e->first + e->fused.of[inputs[k].op];
        } else if (e->chunks->chunks[inputs[k].op].op != GR_CHUNK_object) { /* that is there already */
            to->after[count++] = e->plan->emitted.numbers_of[inputs[k].op];
        }
    }
    if (count > 1) {
        qsort(to->after, count, sizeof *to->after, compare_numbers);
    }
    for (size_t k = 0; k < count; k++) {
        if (k == 0 || to->after[k] != to->after[kept - 1]) {
            to->after[kept++] = to->after[k];
        }
    }
    to->after_count = kept;
    return GRANARY_OK;
}

/* Its share of the operator's bytes for every output that becomes an object; never more than the store could grant. */
static uint64_t
estimate_bytes(const struct emission *e, uint32_t subtask)
{
    uint64_t memory = e->plan->tile_options.memory_bytes;
    uint64_t bytes = 0;

    for (uint32_t at = e->fused.first[subtask]; at < e->fused.first[subtask + 1]; at++) {
        uint32_t op = e->fused.ops[at];
        const struct gr_chunk *chunk = &e->chunks->chunks[op];

        for (uint32_t o = 0; o < chunk->outputs; o++) {
            const bool *is_exported = exported(e, (struct gr_piece){.op = op, .output = o});

            /* What is spare waits for no room. */
            bytes += *is_exported && e->spare[is_exported - e->exported] == 0 ? chunk->bytes / chunk->outputs : 0;
        }
    }
    return memory > 0 && bytes > memory / 4 ? memory / 4 : bytes;
}

/* Whether a subtask reads objects that were there before. */
static bool
reads_external(const struct emission *e, uint32_t subtask)
{
    for (uint32_t at = e->fused.first[subtask]; at < e->fused.first[subtask + 1]; at++) {
        const struct gr_chunk *chunk = &e->chunks->chunks[e->fused.ops[at]];
        const struct gr_piece *inputs = gr_chunk_inputs(e->chunks, chunk);

        for (uint32_t k = 0; k < chunk->input_count && chunk->op != GR_CHUNK_null; k++) {
            if (e->chunks->chunks[inputs[k].op].op == GR_CHUNK_object) {
                return true;
            }
        }
    }
    return false;
}

/* An operator that answers, in a subtask. */
static granary_err
note_question(struct gr_plan *plan, uint64_t number, uint32_t op)
{
    size_t count = plan->questions.count;
    const struct question *last;

    if (!gr_grow(&plan->questions.items, &plan->questions.room, count, sizeof *plan->questions.items)) {
        return no_memory();
    }
    last = count > 0 ? &plan->questions.items[count - 1] : NULL;
    plan->questions.items[plan->questions.count++] = (struct question){
        .number = number, .op = op, .place = last != NULL && last->number == number ? last->place + 1 : 0};
    return GRANARY_OK;
}

static granary_err
note_questions(const struct emission *e, uint32_t s, struct gr_plan_subtask *to)
{
    granary_err err = GRANARY_OK;

    for (uint32_t at = e->fused.first[s]; at < e->fused.first[s + 1] && err == GRANARY_OK; at++) {
        if (gr_chunk_op_answers((enum gr_chunk_op)e->chunks->chunks[e->fused.ops[at]].op)) {
            to->feeds = true;
            err = note_question(e->plan, e->first + s, e->fused.ops[at]);
        }
    }
    return err;
}

/* Of its objects, those that are held. */
static granary_err
list_held(const struct emission *e, uint32_t s, struct gr_plan_batch *batch)
{
    for (uint32_t at = e->fused.first[s]; at < e->fused.first[s + 1] && e->plan->emitted.held.count > 0; at++) {
        uint32_t op = e->fused.ops[at];

        for (uint32_t o = 0; o < e->chunks->chunks[op].outputs; o++) {
            struct gr_piece piece = {.op = op, .output = o};
            granary_id id = plan_object(e->plan, piece);

            if (!*exported(e, piece) || !id_set_has(&e->plan->emitted.held, id)) {
                continue;
            }
            if (!gr_grow(&batch->held, &batch->held_room, batch->held_count, sizeof *batch->held)) {
                return no_memory();
            }
            batch->held[batch->held_count++] = id;
        }
    }
    return GRANARY_OK;
}

static granary_err
make_subtask(const struct emission *e, uint32_t s, struct gr_plan_subtask *to)
{
    uint32_t first = e->fused.first[s];
    uint32_t count = e->fused.first[s + 1] - first;
    const struct gr_chunk *chunk = &e->chunks->chunks[e->fused.ops[first]];
    Granary__Subtask *subtask = gr_region_alloc(e->memory, sizeof *subtask);

    if (subtask == NULL) {
        return no_memory();
    }
    granary__subtask__init(subtask);
    to->subtask = subtask;
    subtask->number = e->first + s;
    subtask->session = e->plan->session;
    subtask->ops = gr_region_zalloc(e->memory, count, sizeof *subtask->ops);
    if (subtask->ops == NULL) {
        return no_memory();
    }
    for (uint32_t i = 0; i < count; i++) {
        subtask->ops[i] = make_op(e, s, e->fused.ops[first + i]);
        if (subtask->ops[i] == NULL) {
            return no_memory();
        }
        subtask->n_ops++;
    }
    if (gr_chunk_op_is_user((enum gr_chunk_op)chunk->op) && !plan_emit_user(e->plan, chunk, e->memory, subtask)) {
        return no_memory();
    }
    to->external = reads_external(e, s);
    to->priority = UINT32_MAX - (uint32_t)subtask->number; /* numbers are depth-first: what comes first goes first */
    to->out_bytes = estimate_bytes(e, s);
    return chunk->op == GR_CHUNK_null ? set_after(e, chunk, to) : GRANARY_OK;
}

/* What subtask each operator is in: operators of a later emission may come after it. */
static granary_err
note_numbers(struct emission *e)
{
    struct gr_plan *plan = e->plan;
    uint64_t *numbers;

    if (plan->complete) {
        return GRANARY_OK;
    }
    numbers = realloc(plan->emitted.numbers_of, ((size_t)e->chunks->count + 1) * sizeof *numbers);
    if (numbers == NULL) {
        return no_memory();
    }
    plan->emitted.numbers_of = numbers;
    for (uint32_t op = e->from; op < e->chunks->count; op++) {
        numbers[op] = e->fused.of[op] == GR_FUSE_NONE ? 0 : e->first + e->fused.of[op];
    }
    return GRANARY_OK;
}

granary_err
plan_emit_more(struct gr_plan *plan, struct gr_plan_batch *batch)
{
    struct emission *e = plan->emitted.emission;
    uint32_t left = e->fused.count - e->done;
    uint32_t last = e->done + (left < SLICE ? left : SLICE);
    /* As many as there are: for the few of a small graph, room for a slice would be mapped and unmapped each time. */
    struct gr_plan_subtask *all =
        realloc(batch->subtasks, (batch->count + (last - e->done) + 1) * sizeof *batch->subtasks);
    granary_err err = GRANARY_OK;

    if (all == NULL) {
        return no_memory();
    }
    batch->subtasks = all;
    if (batch->memory == NULL && (batch->memory = gr_region_create()) == NULL) {
        return no_memory();
    }
    e->memory = batch->memory;
    for (; e->done < last && err == GRANARY_OK; e->done++) {
        struct gr_plan_subtask *to = &all[batch->count++];

        *to = (struct gr_plan_subtask){0};
        err = make_subtask(e, e->done, to);
        if (err == GRANARY_OK) {
            err = note_questions(e, e->done, to);
        }
        if (err == GRANARY_OK) {
            err = plan_account_subtask(plan, e->first + e->done, e->fused.ops + e->fused.first[e->done],
                                       e->fused.first[e->done + 1] - e->fused.first[e->done]);
        }
        if (err == GRANARY_OK) {
            err = list_held(e, e->done, batch);
        }
        if (err == GRANARY_OK) {
            plan_explain_subtask(plan, to);
        }
    }
    plan->emitted.subtasks = e->first + last;
    batch->more = e->done < e->fused.count;
    if (err == GRANARY_OK && !batch->more) {
        free(batch->settled);
        batch->settled = e->settled;
        batch->settled_count = e->settled_count;
        e->settled = NULL;
    }
    if (err != GRANARY_OK || !batch->more) {
        plan_emission_destroy(e);
        plan->emitted.emission = NULL;
    }
    return err;
}

/* Those that are to be made by this emission. */
static size_t
new_roots(const struct gr_plan *plan, const struct gr_wants *wants, struct gr_piece *ret_roots)
{
    size_t count = 0;

    for (size_t i = 0; i < wants->count; i++) {
        if (wants->roots[i].op >= plan->emitted.ops) {
            ret_roots[count++] = wants->roots[i];
        }
    }
    return count;
}

granary_err
plan_emit(struct gr_plan *plan, const struct gr_wants *wants, struct gr_plan_batch *batch)
{
    struct emission *e = calloc(1, sizeof *e);
    struct gr_piece *roots = malloc((wants->count + 1) * sizeof *roots);
    granary_err err = e == NULL || roots == NULL ? no_memory() : GRANARY_OK;

    if (err == GRANARY_OK) {
        *e = (struct emission){
            .plan = plan, .chunks = &plan->chunks, .from = plan->emitted.ops, .first = plan->emitted.subtasks};
        err = gr_fuse(&plan->chunks, plan->emitted.ops, roots, new_roots(plan, wants, roots), &e->fused);
    }
    free(roots);
    if (err == GRANARY_OK) {
        err = emission_init(e);
    }
    if (err == GRANARY_OK) {
        mark_exported(e);
        err = export_roots(e, wants->roots, wants->kept, &plan->emitted.kept);
    }
    if (err == GRANARY_OK) {
        err = export_roots(e, wants->roots + wants->kept, wants->held, &plan->emitted.held);
    }
    if (err == GRANARY_OK) {
        err = export_all_spare(e, wants);
    }
    if (err == GRANARY_OK) {
        err = list_settled(e, wants);
    }
    if (err == GRANARY_OK) {
        err = note_numbers(e);
    }
    if (err != GRANARY_OK) {
        plan_emission_destroy(e);
        return err;
    }
    plan->emitted.ops = plan->chunks.count;
    plan->emitted.emission = e;
    return plan_emit_more(plan, batch);
}

void
gr_plan_batch_free(struct gr_plan_batch *batch)
{
    gr_region_destroy(batch->memory);
    free(batch->subtasks);
    free(batch->held);
    free(batch->settled);
    *batch = (struct gr_plan_batch){0};
}
