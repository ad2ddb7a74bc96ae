/* How tensors are cut: grids of blocks, and from one grid to another. */
#include <string.h>

#include "base/error.h"
#include "graph/tensor/tall.h"
#include "tile/core/rules.h"

#define CHUNK_BYTES     ((int64_t)8 << 20) /* automatic; at most a part of the store's memory */
#define CHUNK_BYTES_MIN 4096
#define SHORT_SIDE      128                    /* elements */
#define LONG_SIDE       (8 * GR_PRODUCT_STRIP) /* rows of a whole tensor */
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
tiled_init_grid(struct tiling *t, struct gr_tiled *tiled, int dims, const int64_t *shape, const int64_t *block)
{
    struct gr_grid *grid = gr_region_zalloc(t->memory, 1, sizeof *grid);
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
                                : tiled_init(t, tiled, (size_t)count, false);
    for (size_t n = 0; err == GRANARY_OK && n < tiled->count; n++) {
        int64_t offset[8], size[8];

        grid_block(grid, n, offset, size);
        tiled->bytes[n] = (uint64_t)tile_product(size, dims) * (uint64_t)tile_element_bytes(t);
    }
    tiled->grid = err == GRANARY_OK ? grid : NULL;
    return err;
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
    return bytes < tile_element_bytes(t) ? 1 : bytes / tile_element_bytes(t);
}

void
tile_shrink(int64_t *block, int dims, int64_t elements)
{
    bool is_long = dims > 0 && block[0] > LONG_SIDE;

    while (tile_product(block, dims) > elements) {
        int largest = 0;

        for (int d = 1; d < dims; d++) {
            largest = block[d] > block[largest] ? d : largest;
        }
        if (block[largest] <= 1) {
            return;
        }
        block[largest] -= block[largest] / 2;
        if (largest == 0 && is_long && block[0] > GR_PRODUCT_STRIP / 2) { /* a product takes whole strips as they are */
            block[largest] = (block[largest] + GR_PRODUCT_STRIP - 1) / GR_PRODUCT_STRIP * GR_PRODUCT_STRIP;
        } else if (block[largest] > SHORT_SIDE) { /* whole lines of the cache: rows of a chunk begin where one does */
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

/* Where an input block overlaps an output block, in elements along each dimension: in the one, in the other, how far. */
static void
find_overlap(const struct gr_grid *in, const int64_t *position, const int64_t *offset, const int64_t *size,
             int64_t *ret_to, int64_t *ret_from, int64_t *ret_extent)
{
    for (int d = 0; d < in->dims; d++) {
        int64_t begin = position[d] * in->block[d];
        int64_t end = begin + in->block[d] < in->shape[d] ? begin + in->block[d] : in->shape[d];
        int64_t low = begin > offset[d] ? begin : offset[d];
        int64_t high = end < offset[d] + size[d] ? end : offset[d] + size[d];

        ret_to[d] = low - offset[d];
        ret_from[d] = low - begin;
        ret_extent[d] = high - low;
    }
}

/* One block of the new grid: all input blocks between first and last have a part of it. */
static granary_err
assemble(struct tiling *t, size_t i, const struct gr_tiled *in, const int64_t *offset, const int64_t *size,
         uint64_t bytes, struct gr_piece *ret_piece)
{
    const struct gr_grid *grid = in->grid;
    int dims = grid->dims;
    size_t width = (size_t)dims;
    int64_t first[8], last[8], many[8], position[8];
    struct gr_chunk_spec spec = {.op = GR_CHUNK_assemble, .step = (uint32_t)i, .outputs = 1, .bytes = bytes};
    struct gr_piece *pieces;
    int64_t *numbers[3]; /* to, from, extent */
    size_t count;

    for (int d = 0; d < dims; d++) {
        first[d] = position[d] = offset[d] / grid->block[d];
        last[d] = size[d] == 0 ? first[d] : (offset[d] + size[d] - 1) / grid->block[d];
        many[d] = last[d] - first[d] + 1;
    }
    count = (size_t)tile_product(many, dims);
    pieces = tiling_scratch(t, count, sizeof *pieces);
    numbers[0] = tiling_scratch(t, 3 * count * width, sizeof *numbers[0]);
    if (pieces == NULL || numbers[0] == NULL) {
        return tile_no_memory();
    }
    numbers[1] = numbers[0] + count * width;
    numbers[2] = numbers[1] + count * width;
    do {
        size_t at = spec.input_count * width;

        find_overlap(grid, position, offset, size, numbers[0] + at, numbers[1] + at, numbers[2] + at);
        pieces[spec.input_count++] = in->pieces[grid_number(grid, position)];
    } while (grid_next(dims, first, last, position));
    spec.own = gr_chunks_attrs(t->chunks);
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("shape", size, width));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("to", numbers[0], count * width));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("from", numbers[1], count * width));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("extent", numbers[2], count * width));
    spec.inputs = pieces;
    *ret_piece = gr_chunks_add(t->chunks, &spec);
    return GRANARY_OK;
}

granary_err
grid_rechunk(struct tiling *t, size_t i, const struct gr_tiled *tensor, const int64_t *block,
             struct gr_tiled *ret_tiled)
{
    const struct gr_grid *old = tensor->grid;
    granary_err err = tiled_init_grid(t, ret_tiled, old->dims, old->shape, block);

    if (err == GRANARY_OK && memcmp(ret_tiled->grid->splits, old->splits, sizeof old->splits) == 0 &&
        memcmp(ret_tiled->grid->block, old->block, sizeof old->block) == 0) {
        *ret_tiled = *tensor;
        return GRANARY_OK;
    }
    for (size_t n = 0; err == GRANARY_OK && n < ret_tiled->count; n++) {
        int64_t offset[8], size[8];

        grid_block(ret_tiled->grid, n, offset, size);
        err = assemble(t, i, tensor, offset, size, ret_tiled->bytes[n], &ret_tiled->pieces[n]);
    }
    return err;
}
