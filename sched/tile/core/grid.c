/* How tensors are cut: grids of blocks, and from one grid to another. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tile/core/rules.h"

#define CHUNK_BYTES     ((int64_t)8 << 20) /* automatic; at most a part of the store's memory */
#define CHUNK_BYTES_MIN 4096
#define SHORT_SIDE      128 /* elements */
#define MEMORY_PARTS    16

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
        return tile_no_memory();
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
        if (block[largest] > SHORT_SIDE) { /* whole lines of the cache: rows of a chunk begin where one does */
            block[largest] = (block[largest] + 7) / 8 * 8;
        }
    }
}

bool
grid_next(int dims, const int64_t *first, const int64_t *last, int64_t *position)
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
    return a->pieces == NULL || a->to == NULL || a->from == NULL || a->extent == NULL ? tile_no_memory() : GRANARY_OK;
}

static void
assembly_fini(struct assembly *a)
{
    free(a->pieces);
    free(a->to);
    free(a->from);
    free(a->extent);
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
    } while (grid_next(dims, first, last, position));
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
grid_rechunk(struct tiling *t, size_t i, const struct gr_tiled *tensor, const int64_t *block,
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
