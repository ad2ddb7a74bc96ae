/* Indexes resolved: slices by granary_slice_resolve(), lists and masks to positions; then cut at the chunks. */
#include "mutable/tensor/select.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- indexes to axes ---- */

/* The positions of a dimension that a list or mask gives. */
struct list {
    int64_t *at; /* NULL: a slice */
    int64_t count;
};

struct resolve {
    struct selection *selection;
    struct list lists[TENSOR_DIMS];
    int64_t points; /* of all lists, which are as long as the longest */
    int first_list; /* dimension; -1: none */
    int last_list;
    int given[TENSOR_DIMS + 1]; /* dimensions of the tensor that an index takes */
};

static granary_err
list_take(struct resolve *resolve, int axis, const int64_t *positions, int64_t count)
{
    const int64_t length = resolve->selection->shape->shape[axis];
    struct list *list = &resolve->lists[axis];

    list->at = calloc((size_t)count + 1, sizeof *list->at);
    if (list->at == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    list->count = count;
    for (int64_t i = 0; i < count; i++) {
        list->at[i] = positions[i] < 0 ? positions[i] + length : positions[i];
        if (list->at[i] < 0 || list->at[i] >= length) {
            return gr_fail(GRANARY_EINVAL, "dimension %d: position %lld: there are %lld", axis, (long long)positions[i],
                           (long long)length);
        }
    }
    return GRANARY_OK;
}

/* A mask over dimensions [axis, axis + dims): the positions of its true elements along each of them. */
static granary_err
mask_take(struct resolve *resolve, int axis, const granary_index *index)
{
    const struct tensor_shape *shape = resolve->selection->shape;
    int64_t size = 1, count = 0;

    for (int i = axis; i < axis + index->mask_dims; i++) {
        size *= shape->shape[i];
    }
    if ((uint64_t)size != index->count) {
        return gr_fail(GRANARY_EINVAL, "dimension %d: a mask of %zu elements: there are %lld", axis, index->count,
                       (long long)size);
    }
    for (int64_t i = 0; i < size; i++) {
        count += index->mask[i];
    }
    for (int i = axis; i < axis + index->mask_dims; i++) {
        resolve->lists[i].at = calloc((size_t)count + 1, sizeof(int64_t));
        resolve->lists[i].count = count;
        if (resolve->lists[i].at == NULL) {
            return gr_fail(GRANARY_ENOMEM, "out of memory");
        }
    }
    count = 0;
    for (int64_t flat = 0; flat < size; flat++) {
        int64_t rest = flat;

        for (int i = axis + index->mask_dims; index->mask[flat] && i-- > axis; rest /= shape->shape[i]) {
            resolve->lists[i].at[count] = rest % shape->shape[i];
        }
        count += index->mask[flat];
    }
    return GRANARY_OK;
}

static granary_err
index_take(struct resolve *resolve, int axis, const granary_index *index)
{
    struct select_axis *slice = &resolve->selection->axis[axis];
    granary_err err;

    switch (index->kind) {
    case GRANARY_INDEX_SLICE:
        err = granary_slice_resolve(index->slice, resolve->selection->shape->shape[axis], &slice->first, &slice->step,
                                    &slice->count);
        slice->out = index->slice.step == 0 ? -1 : 0;
        return err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "dimension %d", axis);
    case GRANARY_INDEX_LIST:
        return list_take(resolve, axis, index->list, (int64_t)index->count);
    case GRANARY_INDEX_MASK:
        return mask_take(resolve, axis, index);
    default:
        return gr_fail(GRANARY_EINVAL, "an index of kind %d", (int)index->kind);
    }
}

/* How many dimensions an index takes; an ellipsis those that are left. */
static granary_err
count_dims(struct resolve *resolve, const granary_index *indexes, size_t count)
{
    const int dims = resolve->selection->shape->dims;
    int taken = 0, ellipsis = -1;

    for (size_t i = 0; i < count; i++) {
        if (indexes[i].kind == GRANARY_INDEX_ELLIPSIS) {
            if (ellipsis >= 0) {
                return gr_fail(GRANARY_EINVAL, "an index has one ellipsis at most");
            }
            ellipsis = (int)i;
            continue;
        }
        resolve->given[i] = indexes[i].kind == GRANARY_INDEX_MASK ? indexes[i].mask_dims : 1;
        if (resolve->given[i] < 1 || resolve->given[i] > dims - taken) {
            return gr_fail(GRANARY_EINVAL, "more indexes than the tensor has dimensions: %d", dims);
        }
        taken += resolve->given[i];
    }
    if (ellipsis >= 0) {
        resolve->given[ellipsis] = dims - taken;
    }
    return GRANARY_OK;
}

static granary_err
indexes_take(struct resolve *resolve, const granary_index *indexes, size_t count)
{
    const struct tensor_shape *shape = resolve->selection->shape;
    granary_err err = count > TENSOR_DIMS + 1
                          ? gr_fail(GRANARY_EINVAL, "more indexes than the tensor has dimensions: %d", shape->dims)
                          : count_dims(resolve, indexes, count);
    int axis = 0;

    for (int i = 0; i < shape->dims; i++) {
        resolve->selection->axis[i] = (struct select_axis){.step = 1, .count = shape->shape[i]};
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        if (indexes[i].kind != GRANARY_INDEX_ELLIPSIS) {
            err = index_take(resolve, axis, &indexes[i]);
        }
        axis += resolve->given[i];
    }
    return err;
}

/* Lists are as long as the longest, or have one position. */
static granary_err
lists_fit(struct resolve *resolve)
{
    resolve->first_list = -1;
    resolve->points = 1;
    for (int i = 0; i < resolve->selection->shape->dims; i++) {
        const struct list *list = &resolve->lists[i];

        if (list->at == NULL) {
            continue;
        }
        resolve->first_list = resolve->first_list < 0 ? i : resolve->first_list;
        resolve->last_list = i;
        if (list->count != 1 && resolve->points != 1 && list->count != resolve->points) {
            return gr_fail(GRANARY_EINVAL, "dimension %d: a list of %lld positions beside one of %lld", i,
                           (long long)list->count, (long long)resolve->points);
        }
        resolve->points = list->count != 1 ? list->count : resolve->points;
    }
    return GRANARY_OK;
}

/* ---- the result's dimensions ---- */

/* Lists that stand side by side give one dimension in their place, others the first one. Returns which. */
static int
lay_out(struct resolve *resolve)
{
    struct selection *selection = resolve->selection;
    const int dims = selection->shape->dims;
    bool together = resolve->first_list >= 0;
    int points = -1;

    for (int i = resolve->first_list; together && i <= resolve->last_list; i++) {
        together = resolve->lists[i].at != NULL;
    }
    if (resolve->first_list >= 0 && !together) {
        points = selection->dims;
        selection->out[selection->dims++] = resolve->points;
    }
    for (int i = 0; i < dims; i++) {
        if (together && i == resolve->first_list) {
            points = selection->dims;
            selection->out[selection->dims++] = resolve->points;
        }
        if (resolve->lists[i].at == NULL && selection->axis[i].out >= 0) {
            selection->axis[i].out = selection->dims;
            selection->out[selection->dims++] = selection->axis[i].count;
        }
    }
    return points;
}

static granary_err
count_elements(struct selection *selection)
{
    selection->elements = 1;
    for (int i = 0; i < selection->dims; i++) {
        if (selection->out[i] > 0 && selection->elements > INT64_MAX / 64 / selection->out[i]) {
            return gr_fail(GRANARY_EINVAL, "the selection has more elements than there can be");
        }
        selection->elements *= selection->out[i];
    }
    return GRANARY_OK;
}

/* ---- elements ---- */

static int
by_chunk(const void *left, const void *right)
{
    const struct select_element *a = left, *b = right;

    if (a->chunk != b->chunk) {
        return a->chunk < b->chunk ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

/* The element at an index of the result. */
static struct select_element
element_at(const struct resolve *resolve, const int64_t *index, int points, int64_t at)
{
    const struct selection *selection = resolve->selection;
    const struct tensor_shape *shape = selection->shape;
    struct select_element element = {.at = at};
    uint64_t offset = 0;

    for (int i = 0; i < shape->dims; i++) {
        const struct list *list = &resolve->lists[i];
        const struct select_axis *axis = &selection->axis[i];
        const int64_t position = list->at != NULL ? list->at[list->count == 1 ? 0 : index[points]]
                                                  : axis->first + (axis->out < 0 ? 0 : index[axis->out] * axis->step);
        const int64_t chunk = position / shape->chunk[i];
        const int64_t left = shape->shape[i] - chunk * shape->chunk[i];

        element.chunk = element.chunk * (uint64_t)shape->grid[i] + (uint64_t)chunk;
        offset = offset * (uint64_t)(left < shape->chunk[i] ? left : shape->chunk[i]) +
                 (uint64_t)(position - chunk * shape->chunk[i]);
    }
    element.offset = (uint32_t)offset;
    return element;
}

static granary_err
expand(struct resolve *resolve, int points)
{
    struct selection *selection = resolve->selection;
    int64_t index[TENSOR_DIMS] = {0};

    selection->is_expanded = true;
    selection->element = calloc((size_t)selection->elements + 1, sizeof *selection->element);
    if (selection->element == NULL) {
        return gr_fail(GRANARY_ENOMEM, "a selection of %lld elements: out of memory", (long long)selection->elements);
    }
    for (int64_t at = 0; at < selection->elements; at++) {
        selection->element[at] = element_at(resolve, index, points, at);
        for (int i = selection->dims; i-- > 0 && ++index[i] == selection->out[i];) {
            index[i] = 0;
        }
    }
    qsort(selection->element, (size_t)selection->elements, sizeof *selection->element, by_chunk);
    return GRANARY_OK;
}

granary_err
select_resolve(const struct tensor_shape *shape, const granary_index *indexes, size_t count,
               struct selection *ret_selection)
{
    struct selection selection = {.shape = shape};
    struct resolve resolve = {.selection = &selection};
    granary_err err = indexes_take(&resolve, indexes, count);

    err = err == GRANARY_OK ? lists_fit(&resolve) : err;
    if (err == GRANARY_OK) {
        const int points = lay_out(&resolve);

        err = count_elements(&selection);
        err = err == GRANARY_OK && resolve.first_list >= 0 ? expand(&resolve, points) : err;
    }
    for (int i = 0; i < TENSOR_DIMS; i++) {
        free(resolve.lists[i].at);
    }
    if (err != GRANARY_OK) {
        select_free(&selection);
        return err;
    }
    *ret_selection = selection;
    return GRANARY_OK;
}

void
select_free(struct selection *selection)
{
    free(selection->element);
    selection->element = NULL;
}

/* ---- parts ---- */

/* Which of an axis' positions, from k on, lie in the chunk of the k-th; returns the end of them. */
static int64_t
axis_part(const struct tensor_shape *shape, const struct select_axis *axis, int dimension, int64_t k,
          int64_t *ret_chunk)
{
    const int64_t chunk = (axis->first + k * axis->step) / shape->chunk[dimension];
    const int64_t from = chunk * shape->chunk[dimension];
    const int64_t to = from + shape->chunk[dimension] < shape->shape[dimension] ? from + shape->chunk[dimension]
                                                                                : shape->shape[dimension];
    const int64_t position = axis->first + k * axis->step;
    const int64_t left = axis->step > 0 ? (to - 1 - position) / axis->step : (position - from) / -axis->step;

    *ret_chunk = chunk;
    return k + left + 1 < axis->count ? k + left + 1 : axis->count;
}

/* Choose a part of the dimension, then of those behind it. */
static granary_err
parts_of(const struct selection *selection, int dimension, struct select_part *part, select_take *take, void *context)
{
    const struct tensor_shape *shape = selection->shape;
    const struct select_axis *axis = &selection->axis[dimension];
    const uint64_t before = part->chunk;
    const bool was_whole = part->is_whole;
    granary_err err = GRANARY_OK;

    if (dimension == shape->dims) {
        return take(context, part);
    }
    for (int64_t k = 0, end; err == GRANARY_OK && k < axis->count; k = end) {
        int64_t chunk, origin;

        end = axis_part(shape, axis, dimension, k, &chunk);
        origin = chunk * shape->chunk[dimension];
        part->chunk = before * (uint64_t)shape->grid[dimension] + (uint64_t)chunk;
        part->extent[dimension] = shape->shape[dimension] - origin < shape->chunk[dimension]
                                      ? shape->shape[dimension] - origin
                                      : shape->chunk[dimension];
        part->first[dimension] = axis->first + k * axis->step - origin;
        part->step[dimension] = axis->step;
        part->counts[dimension] = end - k;
        part->at[dimension] = k;
        part->is_whole = was_whole && end - k == part->extent[dimension];
        err = parts_of(selection, dimension + 1, part, take, context);
    }
    return err;
}

granary_err
select_parts(const struct selection *selection, select_take *take, void *context)
{
    struct select_part part = {.is_whole = true};

    return parts_of(selection, 0, &part, take, context);
}
