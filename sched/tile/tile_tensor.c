/* Tensors, except matmul: sources, element-wise operators, reductions. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tile/rules.h"

#define ELEMENT_BYTES      8
#define CHUNK_BYTES        ((int64_t)8 << 20) /* automatic; at most a part of the store's memory */
#define CHUNK_BYTES_MIN    4096
#define MEMORY_PARTS       16
#define PARTIAL_PER_RESULT 16 /* bytes of a partial result for every element of the result */

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

/* ---- grids ---- */

int64_t
tile_product(const int64_t *values, int count)
{
    int64_t product = 1;

    for (int d = 0; d < count; d++) {
        if (__builtin_mul_overflow(product, values[d], &product)) {
            return INT64_MAX;
        }
    }
    return product;
}

granary_err
tiled_init_grid(struct gr_tiled *tiled, int dims, const int64_t *shape, const int64_t *block)
{
    struct gr_grid *grid = calloc(1, sizeof *grid);
    int64_t count;
    granary_err err;

    if (grid == NULL) {
        return out_of_memory();
    }
    grid->dims = dims;
    for (int d = 0; d < dims; d++) {
        grid->shape[d] = shape[d];
        grid->block[d] = block[d] < 1 ? 1 : block[d] > shape[d] && shape[d] > 0 ? shape[d] : block[d];
        grid->splits[d] = shape[d] == 0 ? 1 : (shape[d] - 1) / grid->block[d] + 1;
    }
    count = tile_product(grid->splits, dims);
    err = count > GR_CHUNKS_MAX ? gr_fail(GRANARY_EINVAL, "%lld chunks are more than %u: give larger chunks",
                                          (long long)count, (unsigned)GR_CHUNKS_MAX)
                                : tiled_init(tiled, (size_t)count, false);
    if (err != GRANARY_OK) {
        free(grid);
        return err;
    }
    tiled->grid = grid;
    return GRANARY_OK;
}

void
grid_position(const struct gr_grid *grid, size_t n, int64_t *ret_position)
{
    for (int d = grid->dims; d-- > 0;) {
        ret_position[d] = (int64_t)(n % (size_t)grid->splits[d]);
        n /= (size_t)grid->splits[d];
    }
}

size_t
grid_number(const struct gr_grid *grid, const int64_t *position)
{
    size_t n = 0;

    for (int d = 0; d < grid->dims; d++) {
        n = n * (size_t)grid->splits[d] + (size_t)position[d];
    }
    return n;
}

void
grid_block(const struct gr_grid *grid, size_t n, int64_t *ret_offset, int64_t *ret_size)
{
    int64_t position[8];

    grid_position(grid, n, position);
    for (int d = 0; d < grid->dims; d++) {
        int64_t left = grid->shape[d] - position[d] * grid->block[d];

        ret_offset[d] = position[d] * grid->block[d];
        ret_size[d] = left < grid->block[d] ? left : grid->block[d];
    }
}

int64_t
tile_block_elements(const struct tiling *t)
{
    int64_t bytes = t->options->chunk_bytes;

    if (bytes <= 0) {
        uint64_t share = t->options->memory_bytes / MEMORY_PARTS;

        bytes = CHUNK_BYTES;
        if (share > 0 && share < (uint64_t)bytes) {
            bytes = share < CHUNK_BYTES_MIN ? CHUNK_BYTES_MIN : (int64_t)share;
        }
    }
    return bytes < ELEMENT_BYTES ? 1 : bytes / ELEMENT_BYTES;
}

void
tile_shrink(int64_t *block, int dims, int64_t elements)
{
    while (tile_product(block, dims) > elements) {
        int largest = 0;

        for (int d = 1; d < dims; d++) {
            largest = block[d] > block[largest] ? d : largest;
        }
        if (block[largest] <= 1) {
            return;
        }
        block[largest] = (block[largest] + 1) / 2;
    }
}

/* ---- sources ---- */

static granary_err
source_grid(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_node_type *type = step->type;
    const Granary__Attr *chunk = gr_step_attr(step, "chunk");
    int64_t block[8];

    if (chunk != NULL && chunk->n_ints != (size_t)type->dims) {
        return gr_fail(GRANARY_EINVAL, "parameter 'chunk' has %zu numbers for %d dimensions", chunk->n_ints,
                       type->dims);
    }
    for (int d = 0; d < type->dims; d++) {
        block[d] = chunk != NULL ? chunk->ints[d] : type->shape[d] > 0 ? type->shape[d] : 1;
        if (block[d] < 1) {
            return gr_fail(GRANARY_EINVAL, "parameter 'chunk' has %lld, which is less than 1", (long long)block[d]);
        }
    }
    if (chunk == NULL) {
        tile_shrink(block, type->dims, tile_block_elements(t));
    }
    return tiled_init_grid(&t->tiled[i], type->dims, type->shape, block);
}

/* One operator a block, which knows where it lies in the whole. */
static granary_err
tile_source(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs shared)
{
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = source_grid(t, i);

    if (err != GRANARY_OK) {
        return err;
    }
    gr_attrs_add(t->chunks, shared, gr_attr_new_ints("shape", out->grid->shape, (size_t)out->grid->dims));
    for (size_t n = 0; n < out->count; n++) {
        int64_t offset[8];
        int64_t size[8];
        struct gr_chunk_spec spec = {.op = op, .step = (uint32_t)i, .shared = shared, .outputs = 1};

        grid_block(out->grid, n, offset, size);
        spec.own = gr_chunks_attrs(t->chunks);
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("offset", offset, (size_t)out->grid->dims));
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("size", size, (size_t)out->grid->dims));
        spec.bytes = out->bytes[n] = (uint64_t)tile_product(size, out->grid->dims) * ELEMENT_BYTES;
        out->pieces[n] = gr_chunks_add(t->chunks, &spec);
        if (t->chunks->failed != GRANARY_OK) {
            break; /* the caller tells */
        }
    }
    return GRANARY_OK;
}

granary_err
tile_random(struct tiling *t, size_t i)
{
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(&t->steps->steps[i], &count);
    gr_attrs shared = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, shared, gr_attr_new_int("seed", gr_attr_int(attrs, count, "seed", 0)));
    gr_attrs_add(t->chunks, shared,
                 gr_attr_new_string("distribution", gr_attr_string(attrs, count, "distribution", "uniform")));
    return tile_source(t, i, GR_CHUNK_random, shared);
}

granary_err
tile_arange(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);
    gr_attrs shared = gr_chunks_attrs(t->chunks);

    if (step->type->dtype == GRANARY_INT64) {
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("start", gr_attr_int(attrs, count, "start", 0)));
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("step", gr_attr_int(attrs, count, "step", 1)));
    } else {
        gr_attrs_add(t->chunks, shared, gr_attr_new_double("start", gr_attr_double(attrs, count, "start", 0)));
        gr_attrs_add(t->chunks, shared, gr_attr_new_double("step", gr_attr_double(attrs, count, "step", 1)));
    }
    return tile_source(t, i, GR_CHUNK_arange, shared);
}

/* ---- rechunking ---- */

/* An input block that overlaps an output block; all in elements, per dimension. */
struct overlap {
    int64_t to[8];   /* in the output block */
    int64_t from[8]; /* in the input block */
    int64_t extent[8];
};

static void
overlap_of(const struct gr_grid *in, const int64_t *position, const int64_t *offset, const int64_t *size,
           struct overlap *ret_overlap)
{
    for (int d = 0; d < in->dims; d++) {
        int64_t begin = position[d] * in->block[d];
        int64_t end = begin + in->block[d] < in->shape[d] ? begin + in->block[d] : in->shape[d];
        int64_t low = begin > offset[d] ? begin : offset[d];
        int64_t high = end < offset[d] + size[d] ? end : offset[d] + size[d];

        ret_overlap->to[d] = low - offset[d];
        ret_overlap->from[d] = low - begin;
        ret_overlap->extent[d] = high - low;
    }
}

/* The pieces that make up one block of another grid: all input blocks between first and last. */
struct assembly {
    struct gr_piece *pieces;
    int64_t *to;
    int64_t *from;
    int64_t *extent;
    size_t count;
};

static granary_err
assembly_init(struct assembly *a, size_t count, int dims)
{
    size_t entries = count * (size_t)dims + 1;

    *a = (struct assembly){.pieces = malloc(count * sizeof *a->pieces),
                           .to = malloc(entries * sizeof *a->to),
                           .from = malloc(entries * sizeof *a->from),
                           .extent = malloc(entries * sizeof *a->extent)};
    return a->pieces == NULL || a->to == NULL || a->from == NULL || a->extent == NULL ? out_of_memory() : GRANARY_OK;
}

static void
assembly_fini(struct assembly *a)
{
    free(a->pieces);
    free(a->to);
    free(a->from);
    free(a->extent);
}

/* The next position between first and last, row-major; false behind the last. */
static bool
next_position(int dims, const int64_t *first, const int64_t *last, int64_t *position)
{
    for (int d = dims; d-- > 0;) {
        if (position[d] < last[d]) {
            position[d]++;
            return true;
        }
        position[d] = first[d];
    }
    return false;
}

/* One block of the new grid. */
static granary_err
assemble(struct tiling *t, size_t i, const struct gr_tiled *in, const int64_t *offset, const int64_t *size,
         uint64_t bytes, struct gr_piece *ret_piece)
{
    const struct gr_grid *grid = in->grid;
    int dims = grid->dims;
    size_t width = (size_t)dims;
    int64_t first[8];
    int64_t last[8];
    int64_t many[8];
    int64_t position[8];
    struct assembly a;
    struct gr_chunk_spec spec = {.op = GR_CHUNK_assemble, .step = (uint32_t)i, .outputs = 1, .bytes = bytes};
    granary_err err;

    for (int d = 0; d < dims; d++) {
        first[d] = position[d] = offset[d] / grid->block[d];
        last[d] = size[d] == 0 ? first[d] : (offset[d] + size[d] - 1) / grid->block[d];
        many[d] = last[d] - first[d] + 1;
    }
    err = assembly_init(&a, (size_t)tile_product(many, dims), dims);
    if (err != GRANARY_OK) {
        assembly_fini(&a);
        return err;
    }
    do {
        struct overlap overlap;

        overlap_of(grid, position, offset, size, &overlap);
        a.pieces[a.count] = in->pieces[grid_number(grid, position)];
        memcpy(a.to + a.count * width, overlap.to, width * sizeof *a.to);
        memcpy(a.from + a.count * width, overlap.from, width * sizeof *a.from);
        memcpy(a.extent + a.count * width, overlap.extent, width * sizeof *a.extent);
        a.count++;
    } while (next_position(dims, first, last, position));
    spec.own = gr_chunks_attrs(t->chunks);
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("shape", size, width));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("to", a.to, a.count * width));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("from", a.from, a.count * width));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("extent", a.extent, a.count * width));
    spec.inputs = a.pieces;
    spec.input_count = a.count;
    *ret_piece = gr_chunks_add(t->chunks, &spec);
    assembly_fini(&a);
    return GRANARY_OK;
}

granary_err
tile_rechunk(struct tiling *t, size_t i, const struct gr_tiled *tensor, const int64_t *block,
             struct gr_tiled *ret_tiled)
{
    const struct gr_grid *old = tensor->grid;
    struct gr_tiled out;
    granary_err err = tiled_init_grid(&out, old->dims, old->shape, block);

    if (err != GRANARY_OK) {
        return err;
    }
    if (memcmp(out.grid->splits, old->splits, sizeof old->splits) == 0 &&
        memcmp(out.grid->block, old->block, sizeof old->block) == 0) {
        memcpy(out.pieces, tensor->pieces, out.count * sizeof *out.pieces);
        memcpy(out.bytes, tensor->bytes, out.count * sizeof *out.bytes);
        *ret_tiled = out;
        return GRANARY_OK;
    }
    for (size_t n = 0; n < out.count && err == GRANARY_OK; n++) {
        int64_t offset[8];
        int64_t size[8];

        grid_block(out.grid, n, offset, size);
        out.bytes[n] = (uint64_t)tile_product(size, out.grid->dims) * ELEMENT_BYTES;
        err = assemble(t, i, tensor, offset, size, out.bytes[n], &out.pieces[n]);
    }
    if (err != GRANARY_OK) {
        tiled_fini(&out);
        return err;
    }
    *ret_tiled = out;
    return GRANARY_OK;
}

/* ---- element-wise ---- */

/* The block of the result: each dimension is cut as the first operand that has its full length is. */
static void
map_block(const struct tiling *t, size_t i, int64_t *ret_block)
{
    const struct gr_step *step = &t->steps->steps[i];
    int dims = step->type->dims;
    int64_t elements = tile_block_elements(t);

    for (int d = 0; d < dims; d++) {
        ret_block[d] = 1;
        for (size_t k = step->input_count; k-- > 0;) {
            const struct gr_grid *grid = t->tiled[step->inputs[k]].grid;
            int own = d - (dims - grid->dims);

            if (own >= 0 && grid->shape[own] == step->type->shape[d]) {
                ret_block[d] = grid->block[own];
            }
        }
    }
    /* Broadcasting a row against a column may make a block far larger than either. */
    for (size_t k = 0; k < step->input_count; k++) {
        const struct gr_grid *grid = t->tiled[step->inputs[k]].grid;
        int64_t theirs = tile_product(grid->block, grid->dims);

        elements = theirs > elements ? theirs : elements;
    }
    tile_shrink(ret_block, dims, elements);
}

/* An operand cut as the result is; a dimension of length 1 is in one piece. */
static granary_err
map_operand(struct tiling *t, size_t i, size_t k, const int64_t *block, struct gr_tiled *ret_operand)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *input = &t->tiled[step->inputs[k]];
    int shift = step->type->dims - input->grid->dims;
    int64_t theirs[8];

    for (int d = 0; d < input->grid->dims; d++) {
        theirs[d] = input->grid->shape[d] == 1 ? 1 : block[d + shift];
    }
    return tile_rechunk(t, i, input, theirs, ret_operand);
}

/* The operand's piece under a block of the result. */
static struct gr_piece
piece_under(const struct gr_tiled *operand, const struct gr_grid *result, const int64_t *position)
{
    int shift = result->dims - operand->grid->dims;
    int64_t theirs[8];

    for (int d = 0; d < operand->grid->dims; d++) {
        theirs[d] = operand->grid->splits[d] == 1 ? 0 : position[d + shift];
    }
    return operand->pieces[grid_number(operand->grid, theirs)];
}

static granary_err
tile_map(struct tiling *t, size_t i, const char *function)
{
    const struct gr_step *step = &t->steps->steps[i];
    static const char *const value[] = {"value"};
    gr_attrs attrs = tiling_attrs(t, i, value, 1);
    struct gr_tiled operands[2] = {{0}};
    struct gr_tiled *out = &t->tiled[i];
    int64_t block[8];
    granary_err err = GRANARY_OK;

    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("function", function));
    map_block(t, i, block);
    for (size_t k = 0; k < step->input_count && err == GRANARY_OK; k++) {
        err = map_operand(t, i, k, block, &operands[k]);
    }
    if (err == GRANARY_OK) {
        err = tiled_init_grid(out, step->type->dims, step->type->shape, block);
    }
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        struct gr_piece inputs[2];
        int64_t position[8];
        int64_t size[8];
        int64_t offset[8];

        grid_block(out->grid, n, offset, size);
        grid_position(out->grid, n, position);
        for (size_t k = 0; k < step->input_count; k++) {
            inputs[k] = piece_under(&operands[k], out->grid, position);
        }
        out->bytes[n] = (uint64_t)tile_product(size, out->grid->dims) * ELEMENT_BYTES;
        out->pieces[n] = tiling_add(t, i, GR_CHUNK_map, attrs, inputs, step->input_count, out->bytes[n]);
    }
    tiled_fini(&operands[0]);
    tiled_fini(&operands[1]);
    return err;
}

#define MAP(name)                                                                                                      \
    granary_err tile_##name(struct tiling *t, size_t i)                                                                \
    {                                                                                                                  \
        return tile_map(t, i, #name);                                                                                  \
    }
MAP(add)
MAP(subtract)
MAP(multiply)
MAP(divide)
MAP(negative)
MAP(sqrt)
MAP(exp)
MAP(log)
#undef MAP

/* ---- reductions ---- */

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
    } while (next_position(grid->dims, first, last, position));
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
