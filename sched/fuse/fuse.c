/* Operators are coloured in order; colours become subtasks, numbered depth first from the roots. */
#include "fuse/fuse.h"

#include <string.h>

#include "base/error.h"

#define OPS_MAX     64                    /* of a subtask */
#define BYTES_MAX   ((uint64_t)256 << 20) /* its values together: they all stay until it ends */
#define READERS_MAX 8                     /* above, an output is read from outside */

/* Fusing at work. Arrays by operator, or by colour where it says so. */
struct fusing {
    struct gr_region *memory;
    const struct gr_chunks *chunks;
    uint32_t from;
    bool *live;
    uint32_t *readers;
    uint32_t *reader; /* one of them */
    bool *wanted;     /* it is a root */
    uint32_t *colour;
    uint32_t colours;
    uint32_t *colour_ops;   /* by colour: how many operators */
    uint64_t *colour_bytes; /* by colour */
    uint32_t *outside;      /* by colour: reads of its outputs by operators that do not have it (yet) */
    uint32_t *first;        /* by colour, colours + 1: into ops */
    uint32_t *ops;
    uint32_t *number; /* by colour: its place in depth-first order */
};

static const struct gr_chunk *
chunk_of(const struct fusing *f, uint32_t op)
{
    return &f->chunks->chunks[op];
}

/* Mark what the roots need; operators stand in topological order, so once backwards is enough. */
static void
mark_live(struct fusing *f, const struct gr_piece *roots, size_t root_count)
{
    for (size_t i = 0; i < root_count; i++) {
        f->live[roots[i].op] = true;
        f->wanted[roots[i].op] = true;
    }
    for (uint32_t op = f->chunks->count; op-- > f->from;) {
        const struct gr_chunk *chunk = chunk_of(f, op);
        const struct gr_piece *inputs = gr_chunk_inputs(f->chunks, chunk);

        for (uint32_t k = 0; k < chunk->input_count && f->live[op]; k++) {
            f->live[inputs[k].op] = true;
            f->readers[inputs[k].op] += chunk->op != GR_CHUNK_info;
            f->reader[inputs[k].op] = chunk->op != GR_CHUNK_info ? op : f->reader[inputs[k].op];
        }
    }
}

/* Columns of an object that is there, for one reader alone: coloured when that is. */
static bool
is_view(const struct fusing *f, uint32_t op)
{
    const struct gr_chunk *chunk = chunk_of(f, op);
    uint32_t from = chunk->input_count == 1 ? gr_chunk_inputs(f->chunks, chunk)[0].op : 0;
    enum gr_chunk_op reader;

    if (chunk->op != GR_CHUNK_select || op < f->from || f->readers[op] != 1 || f->wanted[op] ||
        chunk_of(f, from)->op != GR_CHUNK_object) {
        return false;
    }
    reader = (enum gr_chunk_op)chunk_of(f, f->reader[op])->op;
    return reader != GR_CHUNK_null && !gr_chunk_op_is_alone(reader);
}

/* The one colour of all inputs, or GR_FUSE_NONE. */
static uint32_t
colour_of_inputs(const struct fusing *f, const struct gr_chunk *chunk)
{
    const struct gr_piece *inputs = gr_chunk_inputs(f->chunks, chunk);
    uint32_t colour = GR_FUSE_NONE;

    for (uint32_t k = 0; k < chunk->input_count; k++) {
        uint32_t theirs = f->colour[inputs[k].op];

        if (is_view(f, inputs[k].op)) {
            continue;
        }
        if (theirs == GR_FUSE_NONE || (colour != GR_FUSE_NONE && theirs != colour) ||
            f->readers[inputs[k].op] > READERS_MAX || gr_chunk_is_packed(chunk_of(f, inputs[k].op)) ||
            gr_chunk_op_is_alone((enum gr_chunk_op)chunk_of(f, inputs[k].op)->op)) {
            return GR_FUSE_NONE;
        }
        colour = theirs;
    }
    return colour;
}

/* The colour of the rows that come by a probe, when the probe alone reads what has it. */
static uint32_t
colour_of_stream(const struct fusing *f, const struct gr_chunk *chunk)
{
    const struct gr_piece *inputs = gr_chunk_inputs(f->chunks, chunk);
    uint32_t stream = inputs[0].op;
    uint32_t colour = f->colour[stream];
    uint32_t reads = 0;

    if (chunk->op != GR_CHUNK_join_probe || colour == GR_FUSE_NONE || gr_chunk_is_packed(chunk_of(f, stream)) ||
        gr_chunk_op_is_alone((enum gr_chunk_op)chunk_of(f, stream)->op)) {
        return GR_FUSE_NONE;
    }
    for (uint32_t k = 0; k < chunk->input_count; k++) {
        reads += f->colour[inputs[k].op] == colour;
    }
    return reads == f->outside[colour] ? colour : GR_FUSE_NONE;
}

/* A question is asked where its piece is made: it is small, and nobody reads it. */
static uint32_t
colour_of_makers(const struct fusing *f, const struct gr_chunk *chunk)
{
    const struct gr_piece *inputs = gr_chunk_inputs(f->chunks, chunk);
    uint32_t colour = f->colour[inputs[0].op];

    for (uint32_t k = 0; k < chunk->input_count; k++) {
        if (f->colour[inputs[k].op] != colour ||
            gr_chunk_op_is_alone((enum gr_chunk_op)chunk_of(f, inputs[k].op)->op)) {
            return GR_FUSE_NONE;
        }
    }
    return colour;
}

static void
take_colour(struct fusing *f, uint32_t op, uint32_t colour)
{
    const struct gr_chunk *chunk = chunk_of(f, op);
    const struct gr_piece *inputs = gr_chunk_inputs(f->chunks, chunk);

    f->colour[op] = colour;
    f->colour_ops[colour]++;
    f->colour_bytes[colour] += chunk->bytes;
    f->outside[colour] += f->readers[op];
    for (uint32_t k = 0; k < chunk->input_count && chunk->op != GR_CHUNK_info; k++) {
        f->outside[colour] -= f->colour[inputs[k].op] == colour;
    }
}

/* What was left for this reader to colour. */
static void
colour_views(struct fusing *f, uint32_t op, uint32_t colour)
{
    const struct gr_chunk *chunk = chunk_of(f, op);
    const struct gr_piece *inputs = gr_chunk_inputs(f->chunks, chunk);

    for (uint32_t k = 0; k < chunk->input_count && chunk->op != GR_CHUNK_info; k++) {
        if (f->colour[inputs[k].op] == GR_FUSE_NONE && is_view(f, inputs[k].op)) {
            take_colour(f, inputs[k].op, colour);
        }
    }
}

static void
colour_ops(struct fusing *f)
{
    for (uint32_t op = f->from; op < f->chunks->count; op++) {
        const struct gr_chunk *chunk = chunk_of(f, op);
        uint32_t colour = GR_FUSE_NONE;

        if (!f->live[op] || chunk->op == GR_CHUNK_object || is_view(f, op)) {
            continue;
        }
        if (chunk->joins && op > f->from && f->live[op - 1]) { /* it reads what that reads: no cycle */
            take_colour(f, op, f->colour[op - 1]);
            continue;
        }
        if (chunk->op == GR_CHUNK_info && (colour = colour_of_makers(f, chunk)) != GR_FUSE_NONE) {
            take_colour(f, op, colour);
            continue;
        }
        if (chunk->op != GR_CHUNK_null && chunk->op != GR_CHUNK_info &&
            !gr_chunk_op_is_alone((enum gr_chunk_op)chunk->op)) {
            colour = colour_of_inputs(f, chunk);
            colour = colour == GR_FUSE_NONE && chunk->input_count > 0 ? colour_of_stream(f, chunk) : colour;
        }
        if (colour == GR_FUSE_NONE || f->colour_ops[colour] >= OPS_MAX ||
            f->colour_bytes[colour] + chunk->bytes > BYTES_MAX) {
            colour = f->colours++;
        }
        colour_views(f, op, colour);
        take_colour(f, op, colour);
    }
}

/* Sort the operators by colour; within one they keep their order. */
static void
list_ops(struct fusing *f)
{
    uint32_t at = 0;

    for (uint32_t c = 0; c < f->colours; c++) {
        f->first[c] = at;
        at += f->colour_ops[c];
    }
    f->first[f->colours] = at;
    for (uint32_t op = f->from; op < f->chunks->count; op++) {
        if (f->colour[op] != GR_FUSE_NONE) {
            f->ops[f->first[f->colour[op]]++] = op;
        }
    }
    for (uint32_t c = f->colours; c > 0; c--) {
        f->first[c] = f->first[c - 1];
    }
    f->first[0] = 0;
}

/* A colour whose inputs are being visited. */
struct visit {
    uint32_t colour;
    uint32_t at;    /* in ops */
    uint32_t input; /* of that operator */
};

/* The next colour that must come before the visited one; GR_FUSE_NONE when there is none left. */
static uint32_t
next_input(const struct fusing *f, struct visit *visit)
{
    for (; visit->at < f->first[visit->colour + 1]; visit->at++, visit->input = 0) {
        const struct gr_chunk *chunk = chunk_of(f, f->ops[visit->at]);
        const struct gr_piece *inputs = gr_chunk_inputs(f->chunks, chunk);

        while (visit->input < chunk->input_count) {
            uint32_t colour = f->colour[inputs[visit->input++].op];

            if (colour != GR_FUSE_NONE && colour != visit->colour && f->number[colour] == GR_FUSE_NONE) {
                return colour;
            }
        }
    }
    return GR_FUSE_NONE;
}

/* Depth-first with a stack of our own: a chain may be as long as the graph. */
static void
number_from(struct fusing *f, uint32_t root, struct visit *stack, uint32_t *count)
{
    size_t depth = 0;

    if (root == GR_FUSE_NONE || f->number[root] != GR_FUSE_NONE) { /* an object that is there, or done */
        return;
    }
    stack[depth++] = (struct visit){.colour = root, .at = f->first[root]};
    while (depth > 0) {
        uint32_t before = next_input(f, &stack[depth - 1]);

        if (before != GR_FUSE_NONE) {
            stack[depth++] = (struct visit){.colour = before, .at = f->first[before]};
        } else {
            f->number[stack[--depth].colour] = (*count)++;
        }
    }
}

static granary_err
no_memory(const struct fusing *f)
{
    return gr_fail(GRANARY_ENOMEM, "fusing %u chunk operators: out of memory", f->chunks->count);
}

static granary_err
fusing_init(struct fusing *f)
{
    size_t count = (size_t)f->chunks->count + 1;

    if ((f->memory = gr_region_create()) == NULL) {
        return no_memory(f);
    }
    f->live = gr_region_zalloc(f->memory, count, sizeof *f->live);
    f->readers = gr_region_zalloc(f->memory, count, sizeof *f->readers);
    f->reader = gr_region_zalloc(f->memory, count, sizeof *f->reader);
    f->wanted = gr_region_zalloc(f->memory, count, sizeof *f->wanted);
    f->colour = gr_region_alloc(f->memory, count * sizeof *f->colour);
    f->colour_ops = gr_region_zalloc(f->memory, count, sizeof *f->colour_ops);
    f->colour_bytes = gr_region_zalloc(f->memory, count, sizeof *f->colour_bytes);
    f->outside = gr_region_zalloc(f->memory, count, sizeof *f->outside);
    f->first = gr_region_zalloc(f->memory, count + 1, sizeof *f->first);
    f->ops = gr_region_alloc(f->memory, count * sizeof *f->ops);
    f->number = gr_region_alloc(f->memory, count * sizeof *f->number);
    if (f->live == NULL || f->readers == NULL || f->reader == NULL || f->wanted == NULL || f->colour == NULL ||
        f->colour_ops == NULL || f->colour_bytes == NULL || f->outside == NULL || f->first == NULL || f->ops == NULL ||
        f->number == NULL) {
        return no_memory(f);
    }
    memset(f->colour, 0xff, count * sizeof *f->colour);
    memset(f->number, 0xff, count * sizeof *f->number);
    return GRANARY_OK;
}

/* From colours to subtasks in their order. */
static granary_err
hand_out(const struct fusing *f, struct gr_fused *ret_fused)
{
    struct gr_fused fused = {.count = f->colours, .memory = gr_region_create()};

    if (fused.memory != NULL) {
        fused.of = gr_region_alloc(fused.memory, f->chunks->count * sizeof *fused.of);
        fused.first = gr_region_zalloc(fused.memory, (size_t)f->colours + 1, sizeof *fused.first);
        fused.ops = gr_region_alloc(fused.memory, f->first[f->colours] * sizeof *fused.ops);
    }
    if (fused.of == NULL || fused.first == NULL || fused.ops == NULL) {
        gr_fused_free(&fused);
        return no_memory(f);
    }
    for (uint32_t op = 0; op < f->chunks->count; op++) {
        fused.of[op] = f->colour[op] == GR_FUSE_NONE ? GR_FUSE_NONE : f->number[f->colour[op]];
    }
    for (uint32_t c = 0; c < f->colours; c++) {
        fused.first[f->number[c] + 1] = f->colour_ops[c];
    }
    for (uint32_t s = 0; s < f->colours; s++) {
        fused.first[s + 1] += fused.first[s];
    }
    for (uint32_t c = 0; c < f->colours; c++) {
        memcpy(fused.ops + fused.first[f->number[c]], f->ops + f->first[c], f->colour_ops[c] * sizeof *fused.ops);
    }
    *ret_fused = fused;
    return GRANARY_OK;
}

granary_err
gr_fuse(const struct gr_chunks *chunks, uint32_t from, const struct gr_piece *roots, size_t root_count,
        struct gr_fused *ret_fused)
{
    struct fusing f = {.chunks = chunks, .from = from};
    struct visit *stack = NULL;
    uint32_t count = 0;
    granary_err err = fusing_init(&f);

    if (err == GRANARY_OK) {
        mark_live(&f, roots, root_count);
        colour_ops(&f);
        list_ops(&f);
        stack = gr_region_alloc(f.memory, ((size_t)f.colours + 1) * sizeof *stack);
        err = stack == NULL ? no_memory(&f) : GRANARY_OK;
    }
    for (size_t i = 0; i < root_count && err == GRANARY_OK; i++) {
        number_from(&f, f.colour[roots[i].op], stack, &count);
    }
    if (err == GRANARY_OK) {
        err = hand_out(&f, ret_fused);
    }
    gr_region_destroy(f.memory);
    return err;
}

void
gr_fused_free(struct gr_fused *fused)
{
    gr_region_destroy(fused->memory);
    *fused = (struct gr_fused){0};
}
