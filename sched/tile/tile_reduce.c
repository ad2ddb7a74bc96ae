/* Reductions of tensors: a partial result of every block, merged along the reduced axes. */
#include "base/error.h"
#include "tile/rules.h"

#define PARTIAL_PER_RESULT 16 /* bytes of a partial result for every element of the result */

/* A reduction at work. Dimensions are the input's. */
struct reduction {
    const char *function;
    enum gr_reduction reduction;
    const struct tile_aligned *in;
    bool reduced[8];
    bool keep;          /* the reduced dimensions stay, of one element */
    int64_t per_result; /* elements of the input that become one of the result */
};

static void
reduction_init(const struct gr_step *step, const struct tile_aligned *in, struct reduction *r)
{
    const Granary__Attr *axes = gr_step_attr(step, "axes");
    size_t attr_count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &attr_count);
    int dims = in->grid.dims;

    *r = (struct reduction){
        .function = gr_op_info(step->op)->name, .reduction = gr_op_reduction(step->op), .in = in, .per_result = 1};
    for (int d = 0; d < dims; d++) {
        r->reduced[d] = axes == NULL;
    }
    for (size_t k = 0; axes != NULL && k < axes->n_ints; k++) {
        int64_t axis = axes->ints[k] < 0 ? axes->ints[k] + dims : axes->ints[k];

        if (axis >= 0 && axis < dims) {
            r->reduced[axis] = true;
        }
    }
    r->keep = gr_attr_bool(attrs, attr_count, "keepdims", false);
    for (int d = 0; d < dims; d++) {
        r->per_result *= r->reduced[d] ? in->grid.shape[d] : 1;
    }
}

static gr_attrs
function_attrs(struct tiling *t, const struct reduction *r)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("function", r->function));
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

static gr_attrs
map_attrs(struct tiling *t, size_t i, const struct reduction *r)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("function", r->function));
    gr_attrs_add(t->chunks, attrs, axes_attr(r));
    gr_attrs_add(t->chunks, attrs, tile_program(t, i));
    if (gr_reduction_how(r->reduction) == GR_REDUCE_BY_ARG) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_ints("shape", r->in->grid.shape, (size_t)r->in->grid.dims));
    }
    return attrs;
}

/* Attributes of the three steps of a reduction. */
struct reduction_attrs {
    gr_attrs map;
    gr_attrs merge;
    gr_attrs final;
};

/* The partial result of one block. */
static struct gr_piece
add_map(struct tiling *t, size_t i, const struct reduction *r, gr_attrs shared, const int64_t *position, uint64_t bytes)
{
    struct gr_piece inputs[GR_PROGRAM_INPUTS];
    struct gr_chunk_spec spec = {.op = GR_CHUNK_reduce_map,
                                 .step = (uint32_t)i,
                                 .shared = shared,
                                 .inputs = inputs,
                                 .input_count = r->in->count,
                                 .outputs = 1,
                                 .bytes = bytes};

    tile_aligned_at(r->in, position, inputs);
    if (gr_reduction_how(r->reduction) == GR_REDUCE_BY_ARG) {
        int64_t offset[8];

        for (int d = 0; d < r->in->grid.dims; d++) {
            offset[d] = position[d] * r->in->grid.block[d];
        }
        spec.own = gr_chunks_attrs(t->chunks);
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("offset", offset, (size_t)r->in->grid.dims));
    }
    return gr_chunks_add(t->chunks, &spec);
}

/* One block of the result: partial results of all input blocks above it, merged level by level. */
static granary_err
reduce_block(struct tiling *t, size_t i, const struct reduction *r, const struct reduction_attrs *attrs, size_t n)
{
    const struct gr_grid *grid = &r->in->grid;
    struct gr_tiled *out = &t->tiled[i];
    uint64_t partial = out->bytes[n] / ELEMENT_BYTES * PARTIAL_PER_RESULT + 64;
    int64_t where[8];
    int64_t first[8];
    int64_t last[8];
    int64_t many[8];
    int64_t position[8];
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
    err = tiled_init(&parts, (size_t)tile_product(many, grid->dims), false);
    if (err != GRANARY_OK) {
        return err;
    }
    do {
        parts.bytes[count] = partial;
        parts.pieces[count++] = add_map(t, i, r, attrs->map, position, partial);
    } while (grid_next(grid->dims, first, last, position));
    count =
        tiling_tree(t, i, GR_CHUNK_reduce_merge, attrs->merge, parts.pieces, parts.bytes, count, TILE_FAN_IN, TILE_MAX);
    out->pieces[n] = tiling_add(t, i, GR_CHUNK_reduce_final, attrs->final, parts.pieces, count, out->bytes[n]);
    tiled_fini(&parts);
    return GRANARY_OK;
}

static granary_err
tile_reduce(struct tiling *t, size_t i)
{
    static const char *const final[] = {"ddof", "keepdims"};
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_tiled *out = &t->tiled[i];
    struct tile_aligned in;
    struct reduction r;
    struct reduction_attrs attrs;
    int64_t shape[8];
    int64_t block[8];
    int dims = 0;
    granary_err err = tile_align(t, i, &in);

    if (err != GRANARY_OK) {
        return err;
    }
    reduction_init(step, &in, &r);
    for (int d = 0; d < in.grid.dims; d++) {
        if (!r.reduced[d] || r.keep) {
            shape[dims] = r.reduced[d] ? 1 : in.grid.shape[d];
            block[dims++] = r.reduced[d] ? 1 : in.grid.block[d];
        }
    }
    attrs.map = map_attrs(t, i, &r);
    attrs.merge = function_attrs(t, &r);
    attrs.final = tiling_attrs(t, i, final, 2);
    gr_attrs_add(t->chunks, attrs.final, gr_attr_new_string("function", r.function));
    gr_attrs_add(t->chunks, attrs.final, gr_attr_new_int("count", r.per_result));
    if (r.keep) {
        gr_attrs_add(t->chunks, attrs.final, axes_attr(&r));
    }
    err = tiled_init_grid(out, dims, shape, block);
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        int64_t offset[8];
        int64_t size[8];

        grid_block(out->grid, n, offset, size);
        out->bytes[n] = (uint64_t)tile_product(size, dims) * ELEMENT_BYTES;
        err = reduce_block(t, i, &r, &attrs, n);
    }
    tile_aligned_fini(&in);
    return err;
}

#define TENSOR_REDUCTION(name, how, gives, summary)                                                                    \
    granary_err tile_##name(struct tiling *t, size_t i)                                                                \
    {                                                                                                                  \
        return tile_reduce(t, i);                                                                                      \
    }
#include "contract/tensor_reductions.def"
#undef TENSOR_REDUCTION
