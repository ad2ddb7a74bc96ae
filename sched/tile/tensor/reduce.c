/*
 * Reductions of tensors: a partial result of every block, merged along the reduced axes. Those over the same axes of
 * the same tensors go through it together.
 */
#include <string.h>

#include "base/error.h"
#include "tile/tensor/tensor.h"

#define PARTIAL_PER_RESULT  16 /* bytes of a partial result for every element of the result */
#define TILE_PASS_FUNCTIONS 8

/* A reduction at work. Dimensions are the input's. */
struct reduction {
    enum gr_reduction reduction;
    granary_dtype dtype; /* of what is reduced */
    const struct tile_aligned *in;
    const struct tile_partials *partials;
    bool reduced[8];
    bool keep;          /* the reduced dimensions stay, of one element */
    int64_t per_result; /* elements of the input that become one of the result */
};

/* What reductions of one pass share: by block (as of `grid`), a partial result of each function. */
struct tile_partials {
    struct tile_partials *next;
    size_t step; /* that was tiled first; the others read the same inputs over the same axes */
    size_t count;
    enum gr_reduction functions[TILE_PASS_FUNCTIONS];
    size_t blocks;
    struct gr_piece *pieces; /* of the first function; those of the others are the operator's next outputs */
};

void
tile_read_axes(const struct gr_step *step, int dims, bool *ret_reduced)
{
    const Granary__Attr *axes = gr_step_attr(step, "axes");

    for (int d = 0; d < dims; d++) {
        ret_reduced[d] = axes == NULL;
    }
    for (size_t k = 0; axes != NULL && k < axes->n_ints; k++) {
        int64_t axis = axes->ints[k] < 0 ? axes->ints[k] + dims : axes->ints[k];

        if (axis >= 0 && axis < dims) {
            ret_reduced[axis] = true;
        }
    }
}

static void
reduction_init(const struct tiling *t, size_t i, const struct tile_aligned *in, struct reduction *r)
{
    const struct gr_step *step = &t->steps->steps[i];
    int dims = in->grid.dims;
    Granary__Attr *program;

    *r = (struct reduction){.reduction = gr_op_reduction(step->op), .in = in, .per_result = 1};
    /* A program may make another dtype of it: then as if it were none of float, where less follows. */
    program = gr_step_program(t->steps, step);
    r->dtype = program != NULL && program->n_strings == 0 ? t->steps->steps[step->inputs[0]].type->dtype : GRANARY_BOOL;
    granary__attr__free_unpacked(program, NULL);
    tile_read_axes(step, dims, r->reduced);
    r->keep = GR_STEP_PARAMS(sum, step)->keepdims;
    for (int d = 0; d < dims; d++) {
        r->per_result *= r->reduced[d] ? in->grid.shape[d] : 1;
    }
}

static gr_attrs
function_attrs(struct tiling *t, enum gr_reduction function)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("function", gr_reduction_name(function)));
    return attrs;
}

/* The reduced axes, as an attribute. */
static Granary__Attr *
axes_attr(const struct reduction *r)
{
    int64_t axes[8];
    size_t count = 0;

    for (int d = 0; d < r->in->grid.dims; d++) {
        if (r->reduced[d]) {
            axes[count++] = d;
        }
    }
    return gr_attr_new_ints("axes", axes, count);
}

/* ---- one pass ---- */

/* Whether two reductions see the same elements together. */
static bool
goes_along(const struct tiling *t, size_t i, size_t other, int dims)
{
    const struct gr_step *a = &t->steps->steps[i];
    const struct gr_step *b = &t->steps->steps[other];
    bool ours[8], theirs[8];
    Granary__Attr *programs[2];
    bool same;

    if (b->dead || gr_op_reduction(b->op) == GR_REDUCE_COUNT || a->input_count != b->input_count ||
        memcmp(a->inputs, b->inputs, a->input_count * sizeof *a->inputs) != 0) {
        return false;
    }
    tile_read_axes(a, dims, ours);
    tile_read_axes(b, dims, theirs);
    programs[0] = gr_step_program(t->steps, a);
    programs[1] = gr_step_program(t->steps, b);
    same = programs[0] != NULL && programs[1] != NULL && programs[0]->n_strings == programs[1]->n_strings &&
           memcmp(ours, theirs, (size_t)dims * sizeof *ours) == 0;
    for (size_t k = 0; same && k < programs[0]->n_strings; k++) {
        same = strcmp(programs[0]->strings[k], programs[1]->strings[k]) == 0;
    }
    granary__attr__free_unpacked(programs[0], NULL);
    granary__attr__free_unpacked(programs[1], NULL);
    return same;
}

/* Add a function, unless it follows from one that is there; it may take the place of one that follows from it. */
static void
partials_want(struct tile_partials *p, enum gr_reduction function, granary_dtype dtype)
{
    for (size_t k = 0; k < p->count; k++) {
        if (gr_reduction_follows(function, (int)p->functions[k], dtype)) {
            return;
        }
        if (gr_reduction_follows(p->functions[k], (int)function, dtype)) {
            p->functions[k] = function;
            return;
        }
    }
    if (p->count < TILE_PASS_FUNCTIONS) {
        p->functions[p->count++] = function;
    }
}

/* Where positions are told, the chunk's own is needed: such a reduction goes alone. */
static void
choose_functions(const struct tiling *t, size_t i, const struct reduction *r, struct tile_partials *p)
{
    partials_want(p, r->reduction, r->dtype);
    for (size_t other = i + 1; other < t->steps->count && gr_reduction_how(r->reduction) != GR_REDUCE_BY_ARG; other++) {
        enum gr_reduction theirs = gr_op_reduction(t->steps->steps[other].op);

        if (theirs != GR_REDUCE_COUNT && gr_reduction_how(theirs) != GR_REDUCE_BY_ARG &&
            goes_along(t, i, other, r->in->grid.dims)) {
            partials_want(p, theirs, r->dtype);
        }
    }
}

static gr_attrs
map_attrs(struct tiling *t, size_t i, const struct reduction *r, const struct tile_partials *p)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);

    if (p->count == 1) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_string("function", gr_reduction_name(p->functions[0])));
    } else {
        const char *names[TILE_PASS_FUNCTIONS];

        for (size_t k = 0; k < p->count; k++) {
            names[k] = gr_reduction_name(p->functions[k]);
        }
        gr_attrs_add(t->chunks, attrs, gr_attr_new_strings("functions", (char *const *)(uintptr_t)names, p->count));
    }
    gr_attrs_add(t->chunks, attrs, axes_attr(r));
    gr_attrs_add(t->chunks, attrs, gr_step_program(t->steps, &t->steps->steps[i]));
    if (gr_reduction_how(r->reduction) == GR_REDUCE_BY_ARG) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_ints("shape", r->in->grid.shape, (size_t)r->in->grid.dims));
    }
    return attrs;
}

/* The partial results of one block. */
static struct gr_piece
add_map(struct tiling *t, size_t i, const struct reduction *r, gr_attrs shared, size_t functions, size_t block)
{
    struct gr_piece inputs[GR_PROGRAM_INPUTS];
    int64_t position[8], offset[8], size[8];
    uint64_t results = 1;
    struct gr_chunk_spec spec = {.op = GR_CHUNK_reduce_map,
                                 .step = (uint32_t)i,
                                 .shared = shared,
                                 .inputs = inputs,
                                 .input_count = r->in->count,
                                 .outputs = (uint32_t)functions};

    grid_position(&r->in->grid, block, position);
    grid_block(&r->in->grid, block, offset, size);
    for (int d = 0; d < r->in->grid.dims; d++) {
        results *= r->reduced[d] ? 1 : (uint64_t)size[d];
    }
    spec.bytes = functions * (results * PARTIAL_PER_RESULT + 64);
    tile_aligned_at(r->in, position, inputs);
    if (gr_reduction_how(r->reduction) == GR_REDUCE_BY_ARG) {
        spec.own = gr_chunks_attrs(t->chunks);
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("offset", offset, (size_t)r->in->grid.dims));
    }
    return gr_chunks_add(t->chunks, &spec);
}

/* The partial results of step i: those of a pass that is there, or a new one for all that go along. NULL: no memory */
static const struct tile_partials *
find_partials(struct tiling *t, size_t i, const struct reduction *r)
{
    struct tile_partials *p;
    gr_attrs attrs;

    for (p = t->partials; p != NULL; p = p->next) {
        /* Operators that were handed out may be done, and what they gave gone. */
        for (size_t k = 0; k < p->count && p->pieces[0].op >= t->handed_out; k++) {
            if (gr_reduction_follows(r->reduction, (int)p->functions[k], r->dtype) &&
                goes_along(t, p->step, i, r->in->grid.dims)) {
                return p;
            }
        }
    }
    p = gr_region_alloc(t->memory, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    *p = (struct tile_partials){
        .next = t->partials, .step = i, .blocks = (size_t)tile_product(r->in->grid.splits, r->in->grid.dims)};
    p->pieces = gr_region_alloc(t->memory, p->blocks * sizeof *p->pieces);
    if (p->pieces == NULL) {
        return NULL;
    }
    t->partials = p;
    choose_functions(t, i, r, p);
    attrs = map_attrs(t, i, r, p);
    for (size_t n = 0; n < p->blocks; n++) {
        p->pieces[n] = add_map(t, i, r, attrs, p->count, n);
    }
    return p;
}

/* That of a reduction, of one block. */
static struct gr_piece
partial_of(const struct reduction *r, size_t block)
{
    struct gr_piece piece = r->partials->pieces[block];

    while (!gr_reduction_follows(r->reduction, (int)r->partials->functions[piece.output], r->dtype)) {
        piece.output++;
    }
    return piece;
}

/* ---- the result ---- */

/* Attributes of the two steps behind a pass. */
struct reduction_attrs {
    gr_attrs merge;
    gr_attrs final;
};

/* One block of the result: partial results of all input blocks above it, merged level by level. */
static granary_err
reduce_block(struct tiling *t, size_t i, const struct reduction *r, const struct reduction_attrs *attrs, size_t n)
{
    const struct gr_grid *grid = &r->in->grid;
    struct gr_tiled *out = &t->tiled[i];
    uint64_t partial = out->bytes[n] / ELEMENT_BYTES * PARTIAL_PER_RESULT + 64;
    int64_t where[8], first[8], last[8], many[8], position[8];
    int own = 0;
    struct gr_tiled parts;
    size_t count = 0;
    granary_err err;

    grid_position(out->grid, n, where);
    for (int d = 0; d < grid->dims; d++) {
        first[d] = r->reduced[d] ? 0 : where[own];
        last[d] = r->reduced[d] ? grid->splits[d] - 1 : where[own];
        own += !r->reduced[d] || r->keep;
        position[d] = first[d];
        many[d] = last[d] - first[d] + 1;
    }
    err = tiled_init(t, &parts, (size_t)tile_product(many, grid->dims), false);
    if (err != GRANARY_OK) {
        return err;
    }
    do {
        parts.bytes[count] = partial;
        parts.pieces[count++] = partial_of(r, grid_number(grid, position));
    } while (grid_next(grid->dims, first, last, position));
    count =
        tiling_tree(t, i, GR_CHUNK_reduce_merge, attrs->merge, parts.pieces, parts.bytes, count, TILE_FAN_IN, TILE_MAX);
    out->pieces[n] = tiling_add(t, i, GR_CHUNK_reduce_final, attrs->final, parts.pieces, count, out->bytes[n]);
    return GRANARY_OK;
}

static granary_err
tile_reduce(struct tiling *t, size_t i)
{
    struct gr_tiled *out = &t->tiled[i];
    struct tile_aligned in;
    struct reduction r;
    struct reduction_attrs attrs;
    int64_t shape[8], block[8];
    int dims = 0;
    granary_err err = tile_align(t, i, &in);

    if (err != GRANARY_OK) {
        return err;
    }
    reduction_init(t, i, &in, &r);
    if (r.per_result == 0 && gr_reduction_needs_elements(r.reduction) &&
        gr_type_is_unsized(t->steps->steps[t->steps->steps[i].inputs[0]].type)) {
        return gr_fail(GRANARY_EINVAL, "there is no %s of no elements", gr_reduction_name(r.reduction));
    }
    for (int d = 0; d < in.grid.dims; d++) {
        if (!r.reduced[d] || r.keep) {
            shape[dims] = r.reduced[d] ? 1 : in.grid.shape[d];
            block[dims++] = r.reduced[d] ? 1 : in.grid.block[d];
        }
    }
    attrs = (struct reduction_attrs){.merge = function_attrs(t, r.reduction),
                                     .final = tiling_attrs(t, i, NAMES("ddof", "keepdims"))};
    gr_attrs_add(t->chunks, attrs.final, gr_attr_new_string("function", gr_reduction_name(r.reduction)));
    gr_attrs_add(t->chunks, attrs.final, gr_attr_new_int("count", r.per_result));
    if (r.keep) {
        gr_attrs_add(t->chunks, attrs.final, axes_attr(&r));
    }
    r.partials = find_partials(t, i, &r);
    err = r.partials == NULL ? tile_no_memory() : tiled_init_grid(t, out, dims, shape, block);
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        err = reduce_block(t, i, &r, &attrs, n);
    }
    return err;
}

/* ---- by number ---- */

granary_err
tile_bincount(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_tiled *out = &t->tiled[i];
    gr_attrs map = tiling_attrs(t, i, NAMES("length"));
    gr_attrs sum = function_attrs(t, GR_REDUCE_sum);
    gr_attrs final = function_attrs(t, GR_REDUCE_sum);
    struct tile_aligned in;
    struct gr_tiled parts;
    size_t count;
    granary_err err = tile_align(t, i, &in);

    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, out, 1, step->type->shape, step->type->shape);
    }
    if (err == GRANARY_OK) {
        err = tiled_init(t, &parts, in.operands[0].count, false);
    }
    gr_attrs_add(t->chunks, final, gr_attr_new_int("count", 0));
    for (size_t n = 0; err == GRANARY_OK && n < parts.count; n++) {
        struct gr_piece inputs[2] = {in.operands[0].pieces[n], in.operands[in.count - 1].pieces[n]};

        parts.bytes[n] = (uint64_t)step->type->shape[0] * PARTIAL_PER_RESULT + 64;
        parts.pieces[n] = tiling_add(t, i, GR_CHUNK_bin_map, map, inputs, in.count, parts.bytes[n]);
    }
    if (err == GRANARY_OK) {
        count = tiling_tree(t, i, GR_CHUNK_reduce_merge, sum, parts.pieces, parts.bytes, parts.count, TILE_FAN_IN,
                            TILE_MAX);
        out->pieces[0] = tiling_add(t, i, GR_CHUNK_reduce_final, final, parts.pieces, count, out->bytes[0]);
    }
    return err;
}

#define TENSOR_REDUCTION(name, how, gives, summary) TILE_AS(name, tile_reduce(t, i))
#include "contract/ops/tensor_reductions.def"
#undef TENSOR_REDUCTION
