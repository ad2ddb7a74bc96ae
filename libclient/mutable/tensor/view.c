/* Elements of a tensor at a time: mapped where one tile has all of them in C order, else copied. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/tensor.h"
#include "mutable/read.h"
#include "mutable/tensor/select.h"
#include "mutable/tensor/tile.h"

/* A view that is being made. */
struct look {
    granary_mutable *table;
    const struct selection *selection;
    int64_t time;
    char *values;
    int64_t strides[TENSOR_DIMS]; /* of values, in bytes */
};

/* ---- copies ---- */

/* Copy the part of a box that lies in a chunk to where it belongs among the values. */
static granary_err
copy_part(void *context, const struct select_part *part)
{
    const struct look *look = context;
    const struct tensor_shape *shape = look->selection->shape;
    int64_t from_strides[TENSOR_DIMS], to_strides[TENSOR_DIMS];
    const char *from;
    char *to = look->values;
    struct tile tile;
    granary_err err = tile_get(look->table, part->chunk, look->time, &tile);

    if (err != GRANARY_OK) {
        return err;
    }
    shape_strides(shape, part->extent, from_strides);
    from = tile.values != NULL ? tile.values : (const char *)shape->fill;
    for (int i = 0; i < shape->dims; i++) {
        const int out = look->selection->axis[i].out;

        from += tile.values != NULL ? part->first[i] * from_strides[i] : 0;
        from_strides[i] = tile.values != NULL ? from_strides[i] * part->step[i] : 0;
        to_strides[i] = out < 0 ? 0 : look->strides[out];
        to += out < 0 ? 0 : part->at[i] * look->strides[out];
    }
    copy_box(shape->dims, part->counts, from, from_strides, to, to_strides, shape->element);
    tile_release(look->table->client, &tile);
    return GRANARY_OK;
}

/* Copy elements one by one, chunk by chunk. */
static granary_err
copy_elements(const struct look *look)
{
    const struct selection *selection = look->selection;
    const struct tensor_shape *shape = selection->shape;
    granary_err err = GRANARY_OK;

    for (int64_t i = 0; err == GRANARY_OK && i < selection->elements;) {
        const uint64_t chunk = selection->element[i].chunk;
        struct tile tile;

        err = tile_get(look->table, chunk, look->time, &tile);
        if (err != GRANARY_OK) {
            break;
        }
        for (; i < selection->elements && selection->element[i].chunk == chunk; i++) {
            const struct select_element *element = &selection->element[i];

            memcpy(look->values + (size_t)element->at * shape->element,
                   tile.values != NULL ? (const char *)tile.values + element->offset * shape->element
                                       : (const char *)shape->fill,
                   shape->element);
        }
        tile_release(look->table->client, &tile);
    }
    return err;
}

static granary_err
view_copy(struct look *look, granary_mutable_part *part)
{
    const struct selection *selection = look->selection;
    const size_t size = (size_t)selection->elements * selection->shape->element;
    granary_err err;

    look->values = malloc(size + 1);
    if (look->values == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%zu bytes of elements: out of memory", size);
    }
    part->owned = look->values;
    part->tensor.values = look->values;
    if (selection->elements == 0) {
        return GRANARY_OK;
    }
    err = selection->is_expanded ? copy_elements(look) : select_parts(selection, copy_part, look);
    if (err != GRANARY_OK) {
        free(look->values);
    }
    return err;
}

/* ---- as they lie in a chunk ---- */

/* The only part of a box. */
struct only {
    struct select_part part;
    int parts;
};

static granary_err
take_only(void *context, const struct select_part *part)
{
    struct only *only = context;

    only->part = *part;
    return ++only->parts > 1 ? GRANARY_ESTATE : GRANARY_OK;
}

/* Whether the elements of a part follow one another in its chunk. */
static bool
is_dense(const struct tensor_shape *shape, const struct select_part *part)
{
    int i = shape->dims;

    while (i > 0 && part->counts[i - 1] == part->extent[i - 1] &&
           (part->step[i - 1] == 1 || part->counts[i - 1] == 1)) {
        i--;
    }
    if (i > 0 && (part->step[i - 1] == 1 || part->counts[i - 1] == 1)) { /* a part of one dimension */
        i--;
    }
    while (i > 0 && part->counts[i - 1] == 1) {
        i--;
    }
    return i == 0;
}

/* Take the elements as they lie in the only chunk that they are of, if they do; *ret_taken tells. */
static granary_err
view_tile(const struct look *look, granary_mutable_part *part, bool *ret_taken)
{
    const struct tensor_shape *shape = look->selection->shape;
    struct only only = {.parts = 0};
    int64_t strides[TENSOR_DIMS], at = 0;
    struct tile tile;
    granary_err err;

    *ret_taken = false;
    if (look->selection->is_expanded || look->selection->elements == 0 ||
        select_parts(look->selection, take_only, &only) != GRANARY_OK || !is_dense(shape, &only.part)) {
        return GRANARY_OK;
    }
    err = tile_get(look->table, only.part.chunk, look->time, &tile);
    if (err != GRANARY_OK || tile.values == NULL) {
        return err;
    }
    shape_strides(shape, only.part.extent, strides);
    for (int i = 0; i < shape->dims; i++) {
        at += only.part.first[i] * strides[i];
    }
    part->view = tile.view;
    part->owned = tile.owned;
    part->tensor.values = (const char *)tile.values + at;
    part->mapped = tile.owned == NULL;
    *ret_taken = true;
    return GRANARY_OK;
}

/* ---- the call ---- */

static granary_err
look_at(struct look *look, granary_mutable_part *part)
{
    const struct selection *selection = look->selection;
    int64_t stride = (int64_t)selection->shape->element;
    bool taken = false;
    granary_err err;

    part->tensor.dtype = selection->shape->dtype;
    part->tensor.dims = selection->dims;
    memcpy(part->tensor.shape, selection->out, sizeof part->tensor.shape);
    for (int i = selection->dims; i-- > 0;) {
        look->strides[i] = stride;
        stride *= selection->out[i];
    }
    err = view_tile(look, part, &taken);
    return err == GRANARY_OK && !taken ? view_copy(look, part) : err;
}

granary_err
granary_mutable_view(granary_mutable *table, int64_t time, const granary_index *indexes, size_t count,
                     granary_mutable_part *ret_part)
{
    struct selection selection = {.element = NULL};
    struct look look = {.table = table, .selection = &selection, .time = time};
    granary_mutable_part part = {.mapped = false};
    granary_err err = table_check_tensor(table);

    err = err == GRANARY_OK ? select_resolve(table->tensor, indexes, count, &selection) : err;
    if (err == GRANARY_OK) {
        do {
            look.time = time;
            (void)pthread_mutex_lock(&table->lock);
            err = table_cut(table, &look.time);
            err = err == GRANARY_OK ? look_at(&look, &part) : err;
            (void)pthread_mutex_unlock(&table->lock);
        } while (table_try_again(table, err));
    }
    select_free(&selection);
    if (err == GRANARY_OK) {
        *ret_part = part;
        return GRANARY_OK;
    }
    return table_told(table, err);
}

void
granary_mutable_release(granary_client *client, granary_mutable_part *part)
{
    if (part->mapped) {
        granary_object_release(client, &part->view);
    }
    free(part->owned);
    *part = (granary_mutable_part){.mapped = false};
}
