/*
 * Each dimension is cut where chunks end. Each combination of such parts is read from its chunk and put into its
 * place.
 */
#include "cli/objects/read_elements.h"

#include <stdlib.h>

#include "base/error.h"
#include "cli/objects/read_whole.h"
#include "cli/print/output.h"

#define DIMS 8

/* What is selected of one dimension, a part for each chunk it lies in. */
struct axis {
    struct slice_part *parts;
    size_t count;
    int64_t length; /* of all parts */
    bool stays;     /* a position takes its dimension away */
};

struct selected {
    granary_client *client;
    const granary_result *result;
    const granary_read_options *options;
    struct axis axes[DIMS];
    struct gr_tensor whole;
};

/* The number of the chunk next to another one in a dimension, less that one's. */
static uint64_t
stride_of(const granary_result *result, int dim)
{
    uint64_t stride = 1;

    for (int d = dim + 1; d < result->dims; d++) {
        stride *= (uint64_t)result->splits[d];
    }
    return stride;
}

static granary_err
read_chunk(const struct selected *selected, uint64_t number, const granary_selection *select, granary_chunk *ret_chunk)
{
    const granary_chunk_request request = {.id = selected->result->chunks[number], .select = *select};

    return granary_chunk_read_many(selected->client, &request, 1, selected->options, ret_chunk);
}

/* How long the chunks are along a dimension: asked of those at its edge, without an element. */
static granary_err
find_extents(const struct selected *selected, int dim, int64_t *ret_extents)
{
    const granary_result *result = selected->result;
    granary_selection select = {.kind = GRANARY_SELECT_ELEMENTS, .dim_count = result->dims};
    granary_err err = GRANARY_OK;

    for (int d = 0; d < result->dims; d++) {
        select.dims[d] =
            d == dim ? (granary_slice)GRANARY_SLICE_ALL : (granary_slice){.start = 0, .stop = 0, .step = 1};
    }
    ret_extents[0] = result->shape[dim];
    for (int64_t i = 0; i < result->splits[dim] && result->splits[dim] > 1 && err == GRANARY_OK; i++) {
        granary_chunk chunk;

        err = read_chunk(selected, (uint64_t)i * stride_of(result, dim), &select, &chunk);
        ret_extents[i] = err == GRANARY_OK ? chunk.tensor.shape[dim] : 0;
        granary_chunk_release(selected->client, &chunk, 1);
    }
    return err;
}

/* A dimension of which nothing is selected has one part without elements: somebody has to tell the dtype. */
static granary_err
cut_axis(struct axis *axis, const int64_t *extents, int64_t at, int64_t step, int64_t count)
{
    do {
        struct slice_part *grown = reallocarray(axis->parts, axis->count + 1, sizeof *grown);

        if (grown == NULL) {
            return gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        axis->parts = grown;
        grown[axis->count] = count > 0 ? slice_first_part(extents, at, step, count)
                                       : (struct slice_part){.slice = {.start = 0, .stop = 0, .step = 1}};
        at += grown[axis->count].count * step;
        count -= grown[axis->count].count;
        axis->length += grown[axis->count].count;
        axis->count++;
    } while (count > 0);
    return GRANARY_OK;
}

static granary_err
select_axis(struct selected *selected, int dim, granary_slice slice)
{
    struct axis *axis = &selected->axes[dim];
    int64_t *extents = calloc((size_t)selected->result->splits[dim], sizeof *extents);
    int64_t at, step, count;
    granary_err err = extents == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory")
                                      : granary_slice_resolve(slice, selected->result->shape[dim], &at, &step, &count);

    axis->stays = slice.step != 0;
    if (err == GRANARY_EINVAL) {
        err = gr_fail_in(err, "dimension %d", dim);
    }
    if (err == GRANARY_OK) {
        err = find_extents(selected, dim, extents);
    }
    if (err == GRANARY_OK) {
        err = cut_axis(axis, extents, at, step, count);
    }
    free(extents);
    return err;
}

/* Read the chunk where these parts of the dimensions meet, and put it where it belongs. */
static granary_err
add_chunk(struct selected *selected, const size_t parts[DIMS], const int64_t offset[DIMS])
{
    const granary_result *result = selected->result;
    granary_selection select = {.kind = GRANARY_SELECT_ELEMENTS, .dim_count = result->dims};
    int64_t shape[DIMS];
    uint64_t number = 0;
    granary_chunk chunk;
    granary_err err;

    for (int d = 0; d < result->dims; d++) {
        const struct slice_part *part = &selected->axes[d].parts[parts[d]];

        select.dims[d] = part->slice;
        shape[d] = selected->axes[d].length;
        number += part->chunk * stride_of(result, d);
    }
    err = read_chunk(selected, number, &select, &chunk);
    if (err == GRANARY_OK && selected->whole.owned == NULL) {
        err = gr_tensor_alloc(chunk.tensor.dtype, result->dims, shape, &selected->whole);
    }
    if (err == GRANARY_OK) {
        output_place(&chunk.tensor, &selected->whole, offset);
    }
    granary_chunk_release(selected->client, &chunk, 1);
    return err;
}

static granary_err
add_chunks(struct selected *selected)
{
    size_t parts[DIMS] = {0};
    int64_t offset[DIMS] = {0};
    granary_err err = GRANARY_OK;
    int d = 0;

    while (d >= 0 && err == GRANARY_OK) {
        err = add_chunk(selected, parts, offset);
        for (d = selected->result->dims - 1; d >= 0; d--) {
            const struct axis *axis = &selected->axes[d];

            offset[d] += axis->parts[parts[d]].count;
            if (++parts[d] < axis->count) {
                break;
            }
            parts[d] = 0;
            offset[d] = 0;
        }
    }
    return err;
}

static void
drop_positions(struct selected *selected)
{
    granary_tensor *view = &selected->whole.view;
    int dims = 0;

    for (int d = 0; d < view->dims; d++) {
        if (selected->axes[d].stays) {
            view->shape[dims++] = view->shape[d];
        }
    }
    view->dims = dims;
}

granary_err
elements_read(granary_client *client, const granary_result *result, const granary_selection *select,
              const granary_read_options *options, struct gr_tensor *ret_tensor)
{
    struct selected selected = {.client = client, .result = result, .options = options};
    granary_err err =
        select->dim_count <= result->dims
            ? GRANARY_OK
            : gr_fail(GRANARY_EINVAL, "slices of %d dimensions: the tensor has %d", select->dim_count, result->dims);

    for (int d = 0; d < result->dims && err == GRANARY_OK; d++) {
        err = select_axis(&selected, d, d < select->dim_count ? select->dims[d] : (granary_slice)GRANARY_SLICE_ALL);
    }
    if (err == GRANARY_OK) {
        err = add_chunks(&selected);
    }
    for (int d = 0; d < result->dims; d++) {
        free(selected.axes[d].parts);
    }
    if (err == GRANARY_OK) {
        drop_positions(&selected);
        *ret_tensor = selected.whole;
    } else {
        gr_tensor_free(&selected.whole);
    }
    return err;
}
