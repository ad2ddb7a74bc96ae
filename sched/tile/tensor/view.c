/* Operators that move elements: every block of the result is copied together from what its boxes show of input blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "graph/view/view.h"
#include "tile/core/rules.h"

/* What makes up one block of the result: entries, each a box of it that one input block fills. */
struct entries {
    struct gr_piece *pieces;
    int64_t *to;     /* dims numbers an entry, in the block */
    int64_t *extent; /* the same */
    int64_t *stride; /* the same, in elements of the piece */
    int64_t *base;   /* one an entry: where in the piece it begins */
    size_t count;
    size_t room;
    int dims;
    bool whole; /* the last entry is its piece, as it is */
};

static void
entries_fini(struct entries *e)
{
    free(e->pieces);
    free(e->to);
    free(e->extent);
    free(e->stride);
    free(e->base);
}

/* Room for one more; those of the numbers are as large as any dimensions need. */
static granary_err
entries_room(struct entries *e)
{
    size_t rooms[5] = {e->room, e->room, e->room, e->room, e->room};
    size_t width = ((size_t)e->dims + 1) * sizeof(int64_t);

    if (!gr_grow(&e->pieces, &rooms[0], e->count, sizeof *e->pieces) || !gr_grow(&e->to, &rooms[1], e->count, width) ||
        !gr_grow(&e->extent, &rooms[2], e->count, width) || !gr_grow(&e->stride, &rooms[3], e->count, width) ||
        !gr_grow(&e->base, &rooms[4], e->count, sizeof *e->base)) {
        return gr_fail(GRANARY_ENOMEM, "a block of %zu pieces: out of memory", e->count + 1);
    }
    e->room = rooms[0];
    return GRANARY_OK;
}

/* Quotients rounded down and up; b is above 0. */
static int64_t
divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t
divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/* A box's elements of the result, [low, high) along each dimension, within a block of an input. */
static bool
narrow(const struct gr_view_box *box, int dims, int in_dims, const int64_t *begin, const int64_t *size, int64_t *low,
       int64_t *high)
{
    for (int a = 0; a < in_dims; a++) {
        int d = box->dim[a];
        int64_t from = box->from[a] - begin[a]; /* in the block */
        int64_t step = box->step[a];
        int64_t first, last;

        if (d < 0) {
            if (from < 0 || from >= size[a]) {
                return false;
            }
            continue;
        }
        first = step > 0 ? divide_up(-from, step) : divide_up(from - (size[a] - 1), -step);
        last = step > 0 ? divide_down(size[a] - 1 - from, step) : divide_down(from, -step);
        low[d] = box->to[d] + first > low[d] ? box->to[d] + first : low[d];
        high[d] = box->to[d] + last + 1 < high[d] ? box->to[d] + last + 1 : high[d];
    }
    for (int d = 0; d < dims; d++) {
        if (low[d] >= high[d]) {
            return false;
        }
    }
    return true;
}

/* Which blocks of the input a box's part [low, high) may lie in. */
static void
input_range(const struct gr_view_box *box, const struct gr_grid *in, const int64_t *low, const int64_t *high,
            int64_t *ret_first, int64_t *ret_last)
{
    for (int a = 0; a < in->dims; a++) {
        int d = box->dim[a];
        int64_t one = d < 0 ? box->from[a] : box->from[a] + box->step[a] * (low[d] - box->to[d]);
        int64_t other = d < 0 ? one : box->from[a] + box->step[a] * (high[d] - 1 - box->to[d]);

        ret_first[a] = (one < other ? one : other) / in->block[a];
        ret_last[a] = (one < other ? other : one) / in->block[a];
    }
}

static granary_err
add_entry(struct entries *e, const struct gr_view_box *box, const struct gr_tiled *input, size_t n,
          const int64_t *offset, const int64_t *size, const int64_t *low, const int64_t *high)
{
    const struct gr_grid *in = input->grid;
    int64_t begin[8], theirs[8], stride[8] = {0};
    int64_t element = 1;
    int64_t base = 0;
    size_t at = e->count * (size_t)e->dims;
    bool whole = in->dims == e->dims;
    granary_err err = entries_room(e);

    if (err != GRANARY_OK) {
        return err;
    }
    grid_block(in, n, begin, theirs);
    for (int a = in->dims - 1; a >= 0; a--) {
        int d = box->dim[a];
        int64_t from = box->from[a] - begin[a];

        if (d >= 0) {
            from += box->step[a] * (low[d] - box->to[d]);
            stride[d] += box->step[a] * element;
        }
        whole = whole && d == a && box->step[a] == 1 && theirs[a] == size[a] && from == 0;
        base += from * element;
        element *= theirs[a];
    }
    for (int d = 0; d < e->dims; d++) {
        e->to[at + (size_t)d] = low[d] - offset[d];
        e->extent[at + (size_t)d] = high[d] - low[d];
        e->stride[at + (size_t)d] = stride[d];
        whole = whole && high[d] - low[d] == size[d];
    }
    e->whole = whole;
    e->base[e->count] = base;
    e->pieces[e->count++] = input->pieces[n];
    return GRANARY_OK;
}

static granary_err
add_box(struct entries *e, const struct gr_view_box *box, const struct gr_tiled *input, const int64_t *offset,
        const int64_t *size)
{
    int64_t low[8], high[8], first[8], last[8], position[8];
    granary_err err = GRANARY_OK;

    for (int d = 0; d < e->dims; d++) {
        int64_t end = box->to[d] + box->extent[d];

        low[d] = box->to[d] > offset[d] ? box->to[d] : offset[d];
        high[d] = end < offset[d] + size[d] ? end : offset[d] + size[d];
        if (low[d] >= high[d]) {
            return GRANARY_OK;
        }
    }
    input_range(box, input->grid, low, high, first, last);
    memcpy(position, first, sizeof position);
    do {
        int64_t begin[8], theirs[8], from[8], to[8];
        size_t n = grid_number(input->grid, position);

        grid_block(input->grid, n, begin, theirs);
        memcpy(from, low, sizeof from);
        memcpy(to, high, sizeof to);
        if (narrow(box, e->dims, input->grid->dims, begin, theirs, from, to)) {
            err = add_entry(e, box, input, n, offset, size, from, to);
        }
    } while (err == GRANARY_OK && grid_next(input->grid->dims, first, last, position));
    return err;
}

/* ---- blocks ---- */

static void
choose_block(const struct tiling *t, const struct gr_step *step, const struct gr_view *view,
             const struct gr_tiled *const *inputs, int64_t *block)
{
    const Granary__Attr *chunk = gr_step_attr(step, "chunk");
    const struct gr_view_box *box = &view->boxes[0];
    const struct gr_grid *in = inputs[box->input]->grid;
    int64_t elements = tile_block_elements(t);
    int64_t theirs = tile_product(in->block, in->dims);
    int64_t inner = view->joined < 0 ? 1 : view->shape[view->joined + 1];

    if (chunk != NULL) {
        memcpy(block, chunk->ints, chunk->n_ints * sizeof *block);
        return;
    }
    for (int d = 0; d < view->dims; d++) {
        block[d] = view->shape[d];
    }
    for (int a = 0; a < in->dims; a++) {
        int64_t step_size = box->step[a] < 0 ? -box->step[a] : box->step[a];

        if (box->dim[a] >= 0 && in->splits[a] > 1) {
            block[box->dim[a]] = (in->block[a] - 1) / step_size + 1;
        }
    }
    for (int d = 0; d < view->dims; d++) {
        block[d] = block[d] < 1 ? 1 : block[d];
    }
    elements = theirs > elements ? theirs : elements;
    if (view->joined >= 0) {
        block[view->joined + 1] = 1;
    }
    tile_shrink(block, view->dims, inner < 1 ? elements : elements / inner);
    if (view->joined >= 0) {
        block[view->joined + 1] = inner < 1 ? 1 : inner;
    }
}

static struct gr_piece
add_copy(struct tiling *t, size_t i, const struct gr_view *view, const struct entries *e, const int64_t *size,
         uint64_t bytes)
{
    size_t width = (size_t)e->dims;
    struct gr_chunk_spec spec = {.op = GR_CHUNK_view,
                                 .step = (uint32_t)i,
                                 .own = gr_chunks_attrs(t->chunks),
                                 .inputs = e->pieces,
                                 .input_count = e->count,
                                 .outputs = 1,
                                 .bytes = bytes};

    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("shape", size, width));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("to", e->to, e->count * width));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("extent", e->extent, e->count * width));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("stride", e->stride, e->count * width));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("base", e->base, e->count));
    if (view->joined >= 0) {
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_int("joined", view->joined));
    }
    return gr_chunks_add(t->chunks, &spec);
}

/* Of no element: there is nothing to copy, but a piece has to be. */
static struct gr_piece
add_empty(struct tiling *t, size_t i, const struct gr_view *view, const struct gr_piece *any, const int64_t *size)
{
    const int64_t zero[9] = {0};
    struct entries e = {.pieces = (struct gr_piece *)(uintptr_t)any,
                        .to = (int64_t *)(uintptr_t)zero,
                        .extent = (int64_t *)(uintptr_t)zero,
                        .stride = (int64_t *)(uintptr_t)zero,
                        .base = (int64_t *)(uintptr_t)zero,
                        .count = 1,
                        .dims = view->dims};

    return add_copy(t, i, view, &e, size, 0);
}

static bool
is_object(const struct tiling *t, struct gr_piece piece)
{
    return t->chunks->chunks[piece.op].op == GR_CHUNK_object;
}

static granary_err
fill_block(struct tiling *t, size_t i, const struct gr_view *view, const struct gr_tiled *const *inputs, size_t n,
           struct gr_tiled *out)
{
    struct entries e = {.dims = view->dims};
    int64_t offset[8], size[8];
    granary_err err = GRANARY_OK;

    grid_block(out->grid, n, offset, size);
    for (size_t b = 0; b < view->count && err == GRANARY_OK; b++) {
        err = add_box(&e, &view->boxes[b], inputs[view->boxes[b].input], offset, size);
    }
    if (err == GRANARY_OK && e.count == 0) {
        out->pieces[n] = add_empty(t, i, view, &inputs[0]->pieces[0], size);
    } else if (err == GRANARY_OK && e.count == 1 && e.whole && view->joined < 0 && !is_object(t, e.pieces[0])) {
        out->pieces[n] = e.pieces[0];
    } else if (err == GRANARY_OK) {
        out->pieces[n] = add_copy(t, i, view, &e, size, out->bytes[n]);
    }
    entries_fini(&e);
    return err == GRANARY_OK ? gr_chunks_error(t->chunks) : err;
}

/* The input in the result's dtype. */
static granary_err
cast_input(struct tiling *t, size_t i, const struct gr_tiled *input, granary_dtype dtype, struct gr_tiled *ret_cast)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    char text[40] = "astype:";
    char *lines[1] = {text};
    granary_err err = tiled_init_grid(t, ret_cast, input->grid->dims, input->grid->shape, input->grid->block);

    strncat(text, granary_dtype_name(dtype), 20);
    strncat(text, " $0", 4);
    gr_attrs_add(t->chunks, attrs, gr_attr_new_strings("program", lines, 1));
    for (size_t n = 0; err == GRANARY_OK && n < input->count; n++) {
        ret_cast->bytes[n] = input->bytes[n];
        ret_cast->pieces[n] = tiling_add(t, i, GR_CHUNK_map, attrs, &input->pieces[n], 1, input->bytes[n]);
    }
    return err;
}

/* Dimensions that were told apart only to be filled become one. */
static void
join_dimensions(struct gr_grid *grid, int d)
{
    grid->shape[d] *= grid->shape[d + 1];
    grid->block[d] *= grid->block[d + 1];
    for (int k = d + 1; k + 1 < grid->dims; k++) {
        grid->shape[k] = grid->shape[k + 1];
        grid->block[k] = grid->block[k + 1];
        grid->splits[k] = grid->splits[k + 1];
    }
    grid->dims--;
}

static granary_err
tile_view(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_node_type **types = tiling_scratch(t, step->input_count, sizeof *types);
    const struct gr_tiled **inputs = tiling_scratch(t, step->input_count, sizeof *inputs);
    struct gr_tiled *casts = tiling_scratch(t, step->input_count, sizeof *casts);
    struct gr_tiled *out = &t->tiled[i];
    struct gr_view view = {.joined = -1};
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);
    int64_t block[8];
    granary_err err = GRANARY_OK;

    if (types == NULL || inputs == NULL || casts == NULL) {
        return tile_no_memory();
    }
    for (size_t k = 0; k < step->input_count && err == GRANARY_OK; k++) {
        types[k] = t->steps->steps[step->inputs[k]].type;
        inputs[k] = &t->tiled[step->inputs[k]];
        if (types[k]->dtype != step->type->dtype) {
            err = cast_input(t, i, inputs[k], step->type->dtype, &casts[k]);
            inputs[k] = &casts[k];
        }
    }
    if (err == GRANARY_OK) {
        err = gr_view_make(step->op, attrs, count, types, step->input_count, &view);
    }
    if (err == GRANARY_OK) {
        choose_block(t, step, &view, inputs, block);
        err = tiled_init_grid(t, out, view.dims, view.shape, block);
    }
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        err = fill_block(t, i, &view, inputs, n, out);
    }
    if (err == GRANARY_OK && view.joined >= 0) {
        join_dimensions(out->grid, view.joined);
    }
    gr_view_fini(&view);
    return err;
}

/* A chunk for each part along the axis, as `split` cuts it. */
granary_err
tile_shuffle_axis(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_params_shuffle_axis *params = GR_STEP_PARAMS(shuffle_axis, step);
    const struct gr_node_type *type = t->steps->steps[step->inputs[0]].type;
    const struct gr_tiled *in = &t->tiled[step->inputs[0]];
    Granary__Attr *attrs[] = {gr_attr_new_int("axis", params->axis), gr_attr_new_int("parts", params->parts),
                              gr_attr_new_int("align", params->align), gr_attr_new_int("part", 0)};
    const size_t count = sizeof attrs / sizeof attrs[0];
    granary_err err = tiled_init(t, &t->tiled[i], (size_t)params->parts, false);

    for (size_t k = 0; k < count && err == GRANARY_OK; k++) {
        err = attrs[k] == NULL ? tile_no_memory() : GRANARY_OK;
    }
    for (size_t p = 0; err == GRANARY_OK && p < t->tiled[i].count; p++) {
        struct gr_view view = {.joined = -1};
        struct gr_tiled part;

        attrs[count - 1]->ints[0] = (int64_t)p;
        err = gr_view_make(GR_TILE_split, attrs, count, &type, 1, &view);
        if (err == GRANARY_OK) {
            err = tiled_init_grid(t, &part, view.dims, view.shape, view.shape);
        }
        if (err == GRANARY_OK) {
            err = fill_block(t, i, &view, &in, 0, &part);
        }
        if (err == GRANARY_OK) {
            t->tiled[i].pieces[p] = part.pieces[0];
            t->tiled[i].bytes[p] = part.bytes[0];
        }
        gr_view_fini(&view);
    }
    for (size_t k = 0; k < count; k++) {
        if (attrs[k] != NULL) {
            granary__attr__free_unpacked(attrs[k], NULL);
        }
    }
    return err;
}

#define TENSOR_VIEW(name, min, max, summary) TILE_AS(name, tile_view(t, i))
#include "contract/ops/tensor_views.def"
#undef TENSOR_VIEW
