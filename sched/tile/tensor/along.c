/* Operators along one axis, which is brought into one piece, and tensors of another shape. */
#include <string.h>

#include "base/error.h"
#include "tile/tensor/tensor.h"

#define LINE_PARTS 4 /* a line, or what is taken as one, is at most this part of the store's memory */

granary_err
tile_check_line(const struct tiling *t, int64_t elements)
{
    uint64_t most = t->options->memory_bytes > 0 ? t->options->memory_bytes / LINE_PARTS : (uint64_t)4 << 30;

    return (uint64_t)elements < most / (uint64_t)tile_element_bytes(t)
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL,
                         "it works on whole lines, and one of %lld elements is more than the %llu MB one may have",
                         (long long)elements, (unsigned long long)(most >> 20));
}

/* ---- along an axis ---- */

static gr_attrs
along_attrs(struct tiling *t, size_t i, const char *function)
{
    const struct gr_step *step = &t->steps->steps[i];
    const Granary__Attr *q = gr_step_attr(step, "q");
    gr_attrs shared = tiling_attrs(t, i, NAMES("descending", "method", "k"));

    gr_attrs_add(t->chunks, shared, gr_attr_new_string("function", function));
    if (step->op == GR_TILE_diff) {
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("times", GR_STEP_PARAMS(diff, step)->n));
    }
    if (q != NULL) {
        bool of_hundred = step->op == GR_TILE_percentile || step->op == GR_TILE_nanpercentile;

        gr_attrs_add(t->chunks, shared, gr_attr_new_double("q", gr_attr_number(q) / (of_hundred ? 100 : 1)));
    }
    return shared;
}

/* All elements together. */
static granary_err
along_all(struct tiling *t, size_t i, gr_attrs attrs)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = &t->tiled[step->inputs[0]];
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = tile_check_line(t, tile_product(in->grid->shape, in->grid->dims));

    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, out, 0, step->type->shape, step->type->shape);
    }
    if (err == GRANARY_OK) {
        out->pieces[0] = tiling_add(t, i, GR_CHUNK_along, attrs, in->pieces, in->count, ELEMENT_BYTES);
    }
    return err;
}

static granary_err
tile_along(struct tiling *t, size_t i, const char *function, bool drops)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = &t->tiled[step->inputs[0]];
    struct gr_tiled *out = &t->tiled[i];
    struct gr_tiled lines;
    gr_attrs attrs = along_attrs(t, i, function);
    int dims = in->grid->dims;
    int64_t axis = GR_STEP_PARAMS(tensor_sort, step)->axis; /* all these operators have it */
    int64_t block[8], out_block[8];
    int64_t n;
    int own = 0;
    granary_err err;

    if (drops && gr_step_attr(step, "axis") == NULL) {
        return along_all(t, i, attrs);
    }
    axis = axis < 0 ? axis + dims : axis;
    n = in->grid->shape[axis];
    err = tile_check_line(t, n);
    memcpy(block, in->grid->block, sizeof block);
    block[axis] = 1;
    tile_shrink(block, dims, tile_block_elements(t) / (n > 0 ? n : 1));
    block[axis] = n;
    for (int d = 0; d < dims; d++) {
        if (d != axis || !drops) {
            out_block[own] = d == axis ? step->type->shape[own] : block[d];
            own++;
        }
    }
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("axis", axis));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_bool("drop", drops));
    if (err == GRANARY_OK && (err = grid_rechunk(t, i, in, block, &lines)) == GRANARY_OK) {
        err = tiled_init_grid(t, out, step->type->dims, step->type->shape, out_block);
    }
    for (size_t p = 0; err == GRANARY_OK && p < out->count; p++) {
        out->pieces[p] = tiling_add(t, i, GR_CHUNK_along, attrs, &lines.pieces[p], 1, out->bytes[p]);
    }
    return err;
}

#define ALONG(name, function, drops) TILE_AS(name, tile_along(t, i, function, drops))
ALONG(tensor_sort, "sort", false)
ALONG(argsort, "argsort", false)
ALONG(topk, "topk", false)
ALONG(argtopk, "argtopk", false)
ALONG(median, "quantile", true)
ALONG(tensor_quantile, "quantile", true)
ALONG(percentile, "quantile", true)
ALONG(nanmedian, "nanquantile", true)
ALONG(nanquantile, "nanquantile", true)
ALONG(nanpercentile, "nanquantile", true)
ALONG(cumsum, "cumsum", false)
ALONG(cumprod, "cumprod", false)
ALONG(cummax, "cummax", false)
ALONG(cummin, "cummin", false)
ALONG(diff, "diff", false)
#undef ALONG

/* ---- another shape ---- */

/* A block that is one run of the tensor, row-major: before the dimension that is cut all are of one element, behind it
 * whole. */
static void
flat_block(const struct tiling *t, int dims, const int64_t *shape, int64_t *block)
{
    int64_t elements = tile_block_elements(t);

    for (int d = dims - 1; d >= 0; d--) {
        int64_t n = shape[d] > 0 ? shape[d] : 1;

        block[d] = n < elements ? n : elements;
        elements = block[d] < n ? 1 : elements / block[d];
        elements = elements < 1 ? 1 : elements;
    }
}

/* The block in which an element lies, by its place in row-major order. */
static int64_t
flat_number(const struct gr_grid *grid, int64_t element)
{
    int64_t position[8];

    for (int d = grid->dims - 1; d >= 0; d--) {
        int64_t n = grid->shape[d] > 0 ? grid->shape[d] : 1;

        position[d] = element % n / grid->block[d];
        element /= n;
    }
    return (int64_t)grid_number(grid, position);
}

static granary_err
reshape_block(struct tiling *t, size_t i, const struct gr_tiled *in, size_t n, struct gr_tiled *out)
{
    int64_t offset[8], size[8];
    int64_t begin = 0, count, first;
    size_t pieces;
    int64_t *to;
    struct gr_chunk_spec spec = {
        .op = GR_CHUNK_view, .step = (uint32_t)i, .own = gr_chunks_attrs(t->chunks), .outputs = 1};

    grid_block(out->grid, n, offset, size);
    count = tile_product(size, out->grid->dims);
    for (int d = 0; d < out->grid->dims; d++) {
        begin = begin * out->grid->shape[d] + offset[d];
    }
    first = flat_number(in->grid, begin);
    pieces = count == 0 ? 1 : (size_t)(flat_number(in->grid, begin + count - 1) - first + 1);
    to = tiling_scratch(t, 4 * pieces, sizeof *to);
    if (to == NULL) {
        return tile_no_memory();
    }
    for (size_t p = 0; p < pieces && count > 0; p++) {
        int64_t theirs[8], extent[8];
        int64_t at = 0, end;

        grid_block(in->grid, (size_t)first + p, theirs, extent);
        for (int d = 0; d < in->grid->dims; d++) {
            at = at * in->grid->shape[d] + theirs[d];
        }
        end = at + tile_product(extent, in->grid->dims);
        end = end < begin + count ? end : begin + count;
        to[p] = at > begin ? at - begin : 0;
        to[pieces + p] = end - (at > begin ? at : begin);
        to[2 * pieces + p] = 1;
        to[3 * pieces + p] = at > begin ? 0 : begin - at;
    }
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("shape", &count, 1));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("to", to, pieces));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("extent", to + pieces, pieces));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("stride", to + 2 * pieces, pieces));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("base", to + 3 * pieces, pieces));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("as", size, (size_t)out->grid->dims));
    spec.inputs = &in->pieces[count == 0 ? 0 : (size_t)first];
    spec.input_count = pieces;
    spec.bytes = out->bytes[n];
    out->pieces[n] = gr_chunks_add(t->chunks, &spec);
    return gr_chunks_error(t->chunks);
}

granary_err
tile_reshape(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = &t->tiled[step->inputs[0]];
    struct gr_tiled *out = &t->tiled[i];
    struct gr_tiled flat;
    int64_t block[8];
    granary_err err;

    flat_block(t, in->grid->dims, in->grid->shape, block);
    err = grid_rechunk(t, i, in, block, &flat);
    if (err == GRANARY_OK) {
        flat_block(t, step->type->dims, step->type->shape, block);
        err = tiled_init_grid(t, out, step->type->dims, step->type->shape, block);
    }
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        err = reshape_block(t, i, &flat, n, out);
    }
    return err;
}

TILE_AS(ravel, tile_reshape(t, i))
