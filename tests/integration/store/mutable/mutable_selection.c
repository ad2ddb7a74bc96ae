/* Indexes drawn, dimension by dimension. */
#include "mutable_selection.h"

#include <string.h>

/* Positions of one dimension, naively. */
struct axis {
    int64_t at[LENGTH_MOST];
    int64_t count;
    bool goes;    /* one position by number */
    bool is_list; /* together with the other lists */
};

/* As Python counts them. */
static void
naive_slice(granary_slice slice, int64_t length, struct axis *axis)
{
    int64_t start = slice.start, stop = slice.stop;

    if (slice.step > 0) {
        start = start == GRANARY_OMITTED ? 0 : start < 0 ? (start + length < 0 ? 0 : start + length) : start;
        stop = stop == GRANARY_OMITTED ? length : stop < 0 ? stop + length : stop > length ? length : stop;
        for (int64_t at = start; at < stop; at += slice.step) {
            axis->at[axis->count++] = at;
        }
    } else {
        start = start == GRANARY_OMITTED ? length - 1 : start < 0 ? start + length : start;
        start = start >= length ? length - 1 : start;
        stop = stop == GRANARY_OMITTED ? -1 : stop < 0 ? (stop + length < 0 ? -1 : stop + length) : stop;
        for (int64_t at = start; at > stop && at >= 0; at += slice.step) {
            axis->at[axis->count++] = at;
        }
    }
}

static int64_t
draw_bound(struct course *course, int64_t length)
{
    return draw(course, 3) == 0 ? GRANARY_OMITTED : (int64_t)draw(course, (uint64_t)length * 2 + 3) - length - 1;
}

static void
draw_axis(struct course *course, struct picked *picked, int dimension, int64_t length, int64_t list_count,
          struct axis *axis)
{
    granary_index *index = &picked->indexes[picked->count++];

    *index = (granary_index){.kind = GRANARY_INDEX_SLICE};
    if (list_count >= 0 && length > 0) {
        axis->is_list = true;
        axis->count = list_count;
        index->kind = GRANARY_INDEX_LIST;
        index->list = picked->lists[dimension];
        index->count = (size_t)list_count;
        for (int64_t i = 0; i < list_count; i++) {
            axis->at[i] = (int64_t)draw(course, (uint64_t)length);
            picked->lists[dimension][i] = draw(course, 3) == 0 ? axis->at[i] - length : axis->at[i];
        }
        return;
    }
    if (draw(course, 4) == 0 && length > 0) {
        axis->at[0] = (int64_t)draw(course, (uint64_t)length);
        axis->count = 1;
        axis->goes = true;
        index->slice = (granary_slice){.start = draw(course, 2) == 0 ? axis->at[0] - length : axis->at[0], .step = 0};
        return;
    }
    index->slice =
        (granary_slice){draw_bound(course, length), draw_bound(course, length), (int64_t)draw(course, 7) - 3};
    if (index->slice.step == 0) {
        index->slice = (granary_slice)GRANARY_SLICE_ALL;
    }
    naive_slice(index->slice, length, axis);
}

/* What the axes mean together: lists go side by side. */
static void
pick(int dims, const int64_t *shape, struct picked *picked, const struct axis *axes)
{
    int64_t index[9] = {0};
    int first = -1, last = -1, points = -1, out_of[DIMS_MOST];
    bool together = true;

    for (int i = 0; i < dims; i++) {
        first = axes[i].is_list && first < 0 ? i : first;
        last = axes[i].is_list ? i : last;
    }
    for (int i = first; first >= 0 && i <= last; i++) {
        together = together && axes[i].is_list;
    }
    if (first >= 0 && !together) {
        points = picked->dims;
        picked->shape[picked->dims++] = axes[first].count;
    }
    for (int i = 0; i < dims; i++) {
        if (axes[i].is_list && points < 0) {
            points = picked->dims;
            picked->shape[picked->dims++] = axes[i].count;
        } else if (!axes[i].is_list && !axes[i].goes) {
            out_of[i] = picked->dims;
            picked->shape[picked->dims++] = axes[i].count;
        }
    }
    picked->total = 1;
    for (int i = 0; i < picked->dims; i++) {
        picked->total *= picked->shape[i];
    }
    for (int64_t at = 0; at < picked->total; at++) {
        int64_t flat = 0;

        for (int i = 0; i < dims; i++) {
            flat = flat * shape[i] + axes[i].at[axes[i].goes ? 0 : axes[i].is_list ? index[points] : index[out_of[i]]];
        }
        picked->elements[at] = flat;
        for (int i = picked->dims; i-- > 0 && ++index[i] == picked->shape[i];) {
            index[i] = 0;
        }
    }
}

/* A mask of all dimensions. */
static void
pick_mask(struct course *course, int dims, const int64_t *shape, struct picked *picked)
{
    int64_t elements = 1;

    for (int i = 0; i < dims; i++) {
        elements *= shape[i];
    }
    for (int64_t i = 0; i < elements; i++) {
        picked->mask[i] = draw(course, 4) == 0;
        if (picked->mask[i]) {
            picked->elements[picked->total++] = i;
        }
    }
    picked->dims = 1;
    picked->shape[0] = picked->total;
    picked->count = 1;
    picked->indexes[0] =
        (granary_index){.kind = GRANARY_INDEX_MASK, .mask = picked->mask, .count = (size_t)elements, .mask_dims = dims};
}

void
draw_selection(struct course *course, int dims, const int64_t *shape, struct picked *picked)
{
    struct axis axes[DIMS_MOST];
    const int64_t list_count = 1 + (int64_t)draw(course, LENGTH_MOST);
    const uint64_t kind = draw(course, 8);
    int ellipsis = -1;

    memset(picked, 0, sizeof *picked);
    memset(axes, 0, sizeof axes);
    if (kind == 0) {
        pick_mask(course, dims, shape, picked);
        return;
    }
    if (kind == 1) { /* all of the dimensions in the midst */
        ellipsis = (int)draw(course, (uint64_t)dims);
    }
    for (int i = 0; i < dims; i++) {
        if (i == ellipsis) {
            picked->indexes[picked->count++] = (granary_index){.kind = GRANARY_INDEX_ELLIPSIS};
        }
        if (i == ellipsis || kind == 7) {
            naive_slice((granary_slice)GRANARY_SLICE_ALL, shape[i], &axes[i]);
        } else {
            draw_axis(course, picked, i, shape[i], kind < 4 && draw(course, 2) == 0 ? list_count : -1, &axes[i]);
        }
    }
    pick(dims, shape, picked, axes);
}
