/* Reductions of tensors: a partial result of every block, merged along the reduced axes. */
#include "base/error.h"
#include "tile/rules.h"

#define PARTIAL_PER_RESULT 16 /* bytes of a partial result for every element of the result */

/* A reduction at work. Dimensions are the input's. */
struct reduction {
    const char *function;
    const struct gr_tiled *in;
    bool reduced[8];
    int64_t per_result; /* elements of the input that become one of the result */
};

static void
reduction_init(const struct gr_step *step, const struct gr_tiled *in, const char *function, struct reduction *r)
{
    const Granary__Attr *axes = gr_step_attr(step, "axes");
    int dims = in->grid->dims;

    *r = (struct reduction){.function = function, .in = in, .per_result = 1};
    for (int d = 0; d < dims; d++) {
        r->reduced[d] = axes == NULL;
    }
    for (size_t k = 0; axes != NULL && k < axes->n_ints; k++) {
        int64_t axis = axes->ints[k] < 0 ? axes->ints[k] + dims : axes->ints[k];

        if (axis >= 0 && axis < dims) {
            r->reduced[axis] = true;
        }
    }
    for (int d = 0; d < dims; d++) {
        r->per_result *= r->reduced[d] ? in->grid->shape[d] : 1;
    }
}

static gr_attrs
function_attrs(struct tiling *t, const struct reduction *r)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("function", r->function));
    return attrs;
}

static gr_attrs
map_attrs(struct tiling *t, const struct reduction *r)
{
    gr_attrs attrs = function_attrs(t, r);
    int64_t axes[8];
    size_t count = 0;

    for (int d = 0; d < r->in->grid->dims; d++) {
        if (r->reduced[d]) {
            axes[count++] = d;
        }
    }
    gr_attrs_add(t->chunks, attrs, gr_attr_new_ints("axes", axes, count));
    return attrs;
}

/* Attributes of the three steps of a reduction. */
struct reduction_attrs {
    gr_attrs map;
    gr_attrs merge;
    gr_attrs final;
};

/* One block of the result: partial results of all input blocks above it, merged level by level. */
static granary_err
reduce_block(struct tiling *t, size_t i, const struct reduction *r, const struct reduction_attrs *attrs, size_t n)
{
    const struct gr_grid *grid = r->in->grid;
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
        own += !r->reduced[d];
        position[d] = first[d];
        many[d] = last[d] - first[d] + 1;
    }
    err = tiled_init(&parts, (size_t)tile_product(many, grid->dims), false);
    if (err != GRANARY_OK) {
        return err;
    }
    do {
        parts.bytes[count] = partial;
        parts.pieces[count++] =
            tiling_add(t, i, GR_CHUNK_reduce_map, attrs->map, &r->in->pieces[grid_number(grid, position)], 1, partial);
    } while (grid_next(grid->dims, first, last, position));
    count =
        tiling_tree(t, i, GR_CHUNK_reduce_merge, attrs->merge, parts.pieces, parts.bytes, count, TILE_FAN_IN, TILE_MAX);
    out->pieces[n] = tiling_add(t, i, GR_CHUNK_reduce_final, attrs->final, parts.pieces, count, out->bytes[n]);
    tiled_fini(&parts);
    return GRANARY_OK;
}

static granary_err
tile_reduce(struct tiling *t, size_t i, const char *function)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_tiled *out = &t->tiled[i];
    struct reduction r;
    struct reduction_attrs attrs;
    int64_t shape[8];
    int64_t block[8];
    int dims = 0;
    granary_err err;

    reduction_init(step, &t->tiled[step->inputs[0]], function, &r);
    for (int d = 0; d < r.in->grid->dims; d++) {
        if (!r.reduced[d]) {
            shape[dims] = r.in->grid->shape[d];
            block[dims++] = r.in->grid->block[d];
        }
    }
    attrs.map = map_attrs(t, &r);
    attrs.merge = function_attrs(t, &r);
    attrs.final = function_attrs(t, &r);
    gr_attrs_add(t->chunks, attrs.final, gr_attr_new_int("count", r.per_result));
    err = tiled_init_grid(out, dims, shape, block);
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        int64_t offset[8];
        int64_t size[8];

        grid_block(out->grid, n, offset, size);
        out->bytes[n] = (uint64_t)tile_product(size, dims) * ELEMENT_BYTES;
        err = reduce_block(t, i, &r, &attrs, n);
    }
    return err;
}

granary_err
tile_sum(struct tiling *t, size_t i)
{
    return tile_reduce(t, i, "sum");
}

granary_err
tile_mean(struct tiling *t, size_t i)
{
    return tile_reduce(t, i, "mean");
}
