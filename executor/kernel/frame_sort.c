/*
 * sort, and sorting in parallel: chunks are sorted, a sample of each goes into the choice of pivots, every chunk is cut
 * at the pivots, and part i of all chunks is merged. Samples carry where they come from (chunk, row), which decides
 * between equal keys as a stable sort does: parts are even however often a key repeats.
 */
#include <stdlib.h>

#include "base/error.h"
#include "kernel/frame_call.h"
#include "kernel/sort.h"

/* Columns of samples and pivots behind the keys; no name that a user can choose begins so. */
#define CHUNK_COLUMN "\1chunk"
#define ROW_COLUMN   "\1row"
#define POSITIONS    2

struct order {
    char **names; /* the array is owned, the names are not */
    bool *descending;
    size_t count;
};

static void
order_fini(struct order *order)
{
    free(order->names);
    free(order->descending);
}

static granary_err
order_init(const struct gr_kernel_call *call, struct order *ret_order)
{
    struct order order = {0};
    const Granary__Attr *descending = gr_attr_find(call->op->attrs, call->op->n_attrs, "descending");
    const Granary__Attr *by;
    granary_err err = call_attr(call, "by", GRANARY__ATTR__KIND__STRINGS, &by);

    if (err != GRANARY_OK) {
        return err;
    }
    if (by->n_strings == 0) {
        return gr_fail(GRANARY_EINVAL, "%s: 'by' names no column", call->op->op);
    }
    if (descending != NULL && descending->n_ints != 1 && descending->n_ints != by->n_strings) {
        return gr_fail(GRANARY_EINVAL, "%s: 'descending' has %zu values for %zu columns", call->op->op,
                       descending->n_ints, by->n_strings);
    }
    order.count = by->n_strings;
    order.names = calloc(order.count + POSITIONS, sizeof *order.names);
    order.descending = calloc(order.count + POSITIONS, sizeof *order.descending);
    if (order.names == NULL || order.descending == NULL) {
        order_fini(&order);
        return gr_fail(GRANARY_ENOMEM, "%s: out of memory", call->op->op);
    }
    for (size_t i = 0; i < order.count; i++) {
        order.names[i] = by->strings[i];
        order.descending[i] = descending != NULL && descending->ints[descending->n_ints == 1 ? 0 : i] != 0;
    }
    *ret_order = order;
    return GRANARY_OK;
}

/* Equal keys in the order of where they come from. */
static void
order_add_positions(struct order *order)
{
    order->names[order->count++] = (char *)(uintptr_t)CHUNK_COLUMN;
    order->names[order->count++] = (char *)(uintptr_t)ROW_COLUMN;
}

/* The keys of one frame; *ret_keys is to be freed. */
static granary_err
order_keys(const struct order *order, const granary_frame *frame, struct sort_key **ret_keys)
{
    size_t count = order->count;
    const granary_column **columns;
    struct sort_key *keys;
    granary_err err = frame_columns(frame, order->names, count, &columns);

    if (err != GRANARY_OK) {
        return err;
    }
    keys = calloc(count, sizeof *keys);
    if (keys == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "sort: out of memory");
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = column_is_known(columns[i], "a key of a sort");
        keys[i] = (struct sort_key){columns[i], order->descending[i]};
    }
    free(columns);
    if (err == GRANARY_OK) {
        *ret_keys = keys;
    } else {
        free(keys);
    }
    return err;
}

static int64_t
call_limit(const struct gr_kernel_call *call)
{
    int64_t limit = gr_attr_int(call->op->attrs, call->op->n_attrs, "limit", SORT_NO_LIMIT);

    return limit < 0 ? SORT_NO_LIMIT : limit;
}

static granary_err
frame_sorted(const granary_frame *frame, const struct order *order, int64_t limit, granary_frame **ret_frame)
{
    struct sort_key *keys;
    int64_t *indices = NULL;
    int64_t count = 0;
    granary_err err = order_keys(order, frame, &keys);

    if (err != GRANARY_OK) {
        return err;
    }
    err = sort_rows(keys, order->count, frame->rows, limit, &indices, &count);
    free(keys);
    if (err == GRANARY_OK) {
        err = gr_frame_take(frame, indices, count, ret_frame);
        free(indices);
    }
    return err;
}

granary_err
kernel_sort(struct gr_kernel_call *call)
{
    const granary_frame *frame;
    granary_frame *sorted = NULL;
    struct order order;
    granary_err err = call_frame(call, 0, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    err = order_init(call, &order);
    if (err != GRANARY_OK) {
        return err;
    }
    err = frame_sorted(frame, &order, call_limit(call), &sorted);
    order_fini(&order);
    return err == GRANARY_OK ? call_yield(call, 0, sorted) : err;
}

/* count rows of `rows` at even distances, away from both ends; *ret_indices is to be freed. */
static granary_err
rows_spread(int64_t rows, int64_t count, int64_t **ret_indices)
{
    int64_t *indices = malloc((size_t)(count > 0 ? count : 1) * sizeof *indices);

    if (indices == NULL) {
        return gr_fail(GRANARY_ENOMEM, "sort: out of memory for %lld samples", (long long)count);
    }
    for (int64_t i = 0; i < count; i++) {
        __int128 at = (__int128)(i + 1) * rows / (count + 1);

        indices[i] = (int64_t)at < rows ? (int64_t)at : rows - 1;
    }
    *ret_indices = indices;
    return GRANARY_OK;
}

/* The keys of rows[0..count) of a chunk, and where they come from. */
static granary_err
keys_sampled(const granary_frame *frame, const struct order *order, int64_t chunk, const int64_t *rows, int64_t count,
             granary_frame **ret_sample)
{
    granary_frame *keys = NULL;
    granary_frame *sample = NULL;
    struct gr_column position;
    granary_err err = frame_take_columns(frame, order->names, order->count, rows, count, &keys);

    if (err == GRANARY_OK && (sample = gr_frame_create(order->count + POSITIONS, count)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "sort: out of memory for %lld samples", (long long)count);
    }
    for (size_t i = 0; i < order->count && err == GRANARY_OK; i++) {
        struct gr_column column = keys->columns[i];

        keys->columns[i].owned = false;
        column.view.name = NULL;
        err = gr_frame_set(sample, i, order->names[i], &column);
    }
    for (size_t p = 0; p < POSITIONS && err == GRANARY_OK; p++) {
        err = gr_column_alloc(GRANARY_INT64, count, 0, false, &position);
        for (int64_t i = 0; i < count && err == GRANARY_OK; i++) {
            ((int64_t *)(uintptr_t)position.view.values)[i] = p == 0 ? chunk : rows[i];
        }
        if (err == GRANARY_OK) {
            err = gr_frame_set(sample, order->count + p, p == 0 ? CHUNK_COLUMN : ROW_COLUMN, &position);
        }
    }
    gr_frame_destroy(keys);
    if (err != GRANARY_OK) {
        gr_frame_destroy(sample);
        return err;
    }
    *ret_sample = sample;
    return GRANARY_OK;
}

static int64_t
call_chunk(const struct gr_kernel_call *call)
{
    return gr_attr_int(call->op->attrs, call->op->n_attrs, "chunk", 0);
}

granary_err
kernel_sort_sample(struct gr_kernel_call *call)
{
    int64_t samples = gr_attr_int(call->op->attrs, call->op->n_attrs, "samples", 0);
    const granary_frame *frame;
    granary_frame *sample = NULL;
    struct order order = {0};
    int64_t *rows = NULL;
    granary_err err = call_frame(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = order_init(call, &order);
    }
    if (err == GRANARY_OK && samples < 1) {
        err = gr_fail(GRANARY_EINVAL, "sort_sample: 'samples' must be at least 1");
    }
    if (err == GRANARY_OK) {
        samples = samples < frame->rows ? samples : frame->rows;
        err = rows_spread(frame->rows, samples, &rows);
    }
    if (err == GRANARY_OK) {
        err = keys_sampled(frame, &order, call_chunk(call), rows, samples, &sample);
    }
    free(rows);
    order_fini(&order);
    return err == GRANARY_OK ? call_yield(call, 0, sample) : err;
}

/* How many parts; the number of outputs of sort_split must agree. */
static granary_err
call_parts(const struct gr_kernel_call *call, int64_t *ret_parts)
{
    int64_t parts = gr_attr_int(call->op->attrs, call->op->n_attrs, "parts", 0);

    if (parts < 1 || parts > INT32_MAX) {
        return gr_fail(GRANARY_EINVAL, "%s: 'parts' must be at least 1", call->op->op);
    }
    *ret_parts = parts;
    return GRANARY_OK;
}

/* `parts` - 1 rows of the sorted samples, spread evenly. Without a sample there are none. */
static granary_err
pivots_choose(const granary_frame *samples, const struct order *order, int64_t parts, granary_frame **ret_pivots)
{
    int64_t count = samples->rows > 0 ? parts - 1 : 0;
    granary_frame *sorted = NULL;
    int64_t *rows = NULL;
    granary_err err = frame_sorted(samples, order, SORT_NO_LIMIT, &sorted);

    if (err == GRANARY_OK) {
        err = rows_spread(samples->rows, count, &rows);
    }
    if (err == GRANARY_OK) {
        err = gr_frame_take(sorted, rows, count, ret_pivots);
    }
    free(rows);
    gr_frame_destroy(sorted);
    return err;
}

/* Without a sample there are no pivots, and everything is in the first part. */
granary_err
kernel_sort_pivots(struct gr_kernel_call *call)
{
    const granary_frame **samples;
    granary_frame *all = NULL;
    granary_frame *pivots = NULL;
    struct order order = {0};
    int64_t parts = 0;
    granary_err err = call_frames(call, &samples);

    if (err != GRANARY_OK) {
        return err;
    }
    err = call_parts(call, &parts);
    if (err == GRANARY_OK) {
        err = order_init(call, &order);
    }
    if (err == GRANARY_OK) {
        err = gr_frame_concat(samples, call->input_count, &all);
    }
    if (err == GRANARY_OK) {
        order_add_positions(&order);
        err = pivots_choose(all, &order, parts, &pivots);
    }
    order_fini(&order);
    gr_frame_destroy(all);
    free(samples);
    return err == GRANARY_OK ? call_yield(call, 0, pivots) : err;
}

/* Keys of two frames must be of the same dtypes (a column of nulls only goes with any). */
static granary_err
keys_match(const struct sort_key *a, const struct sort_key *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        granary_dtype x = a[i].column->dtype;
        granary_dtype y = b[i].column->dtype;

        if (x != y && x != GRANARY_NULLTYPE && y != GRANARY_NULLTYPE) {
            return gr_fail(GRANARY_ETYPE, "sort: column '%s' is %s in one chunk and %s in another", a[i].column->name,
                           granary_dtype_name(x), granary_dtype_name(y));
        }
    }
    return GRANARY_OK;
}

/* A sorted chunk that is cut at pivots. */
struct cut {
    const struct sort_key *keys;
    int64_t rows;
    int64_t chunk;
    const struct sort_key *pivots;
    size_t count; /* of keys */
    const int64_t *pivot_chunks;
    const int64_t *pivot_rows;
};

/* Whether a row comes after a pivot in the order of the whole. */
static bool
is_after(const struct cut *cut, int64_t row, int64_t pivot)
{
    int order = sort_compare(cut->keys, row, cut->pivots, pivot, cut->count);

    if (order != 0) {
        return order > 0;
    }
    return cut->chunk != cut->pivot_chunks[pivot] ? cut->chunk > cut->pivot_chunks[pivot]
                                                  : row > cut->pivot_rows[pivot];
}

/* How many of the sorted rows are not after a pivot. */
static int64_t
rows_until(const struct cut *cut, int64_t pivot)
{
    int64_t low = 0;
    int64_t high = cut->rows;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (is_after(cut, middle, pivot)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Where the pivots come from, as sort_sample wrote it. */
static granary_err
pivot_positions(const granary_frame *pivots, const char *name, const int64_t **ret_values)
{
    int position = gr_frame_find(pivots, name);

    if (position < 0 || pivots->columns[position].view.dtype != GRANARY_INT64) {
        return gr_fail(GRANARY_ETYPE, "sort: the pivots do not say where they come from");
    }
    *ret_values = pivots->columns[position].view.values;
    return GRANARY_OK;
}

static granary_err
split_at(struct gr_kernel_call *call, const struct order *order, const granary_frame *frame,
         const granary_frame *pivots, int64_t parts)
{
    struct cut cut = {.rows = frame->rows, .chunk = call_chunk(call), .count = order->count};
    struct sort_key *keys = NULL;
    struct sort_key *pivot_keys = NULL;
    int64_t from = 0;
    granary_err err = order_keys(order, frame, &keys);

    if (err == GRANARY_OK) {
        err = order_keys(order, pivots, &pivot_keys);
    }
    if (err == GRANARY_OK) {
        err = keys_match(keys, pivot_keys, cut.count);
    }
    if (err == GRANARY_OK) {
        err = pivot_positions(pivots, CHUNK_COLUMN, &cut.pivot_chunks);
    }
    if (err == GRANARY_OK) {
        err = pivot_positions(pivots, ROW_COLUMN, &cut.pivot_rows);
    }
    cut.keys = keys;
    cut.pivots = pivot_keys;
    for (int64_t part = 0; part < parts && err == GRANARY_OK; part++) {
        int64_t to = frame->rows;
        granary_frame *slice;

        if (part < parts - 1 && part < pivots->rows) {
            to = rows_until(&cut, part);
        }
        to = to < from ? from : to; /* pivots out of order are not ours */
        err = gr_frame_slice(frame, from, to - from, &slice);
        if (err == GRANARY_OK) {
            err = call_yield(call, (size_t)part, slice);
        }
        from = to;
    }
    free(keys);
    free(pivot_keys);
    return err;
}

granary_err
kernel_sort_split(struct gr_kernel_call *call)
{
    const granary_frame *frame;
    const granary_frame *pivots;
    struct order order;
    int64_t parts = 0;
    granary_err err = call_frame(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = call_frame(call, 1, &pivots);
    }
    if (err == GRANARY_OK) {
        err = call_parts(call, &parts);
    }
    if (err == GRANARY_OK) {
        err = order_init(call, &order);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = split_at(call, &order, frame, pivots, parts);
    order_fini(&order);
    return err;
}

/* Rows of the inputs, one after the other, each cut to the limit; ends[i]: rows of inputs 0 to i. */
static granary_err
runs_concat(const granary_frame *const *frames, size_t count, int64_t limit, granary_frame **ret_frame, int64_t *ends)
{
    granary_frame **cuts = calloc(count, sizeof *cuts);
    const granary_frame **parts = calloc(count, sizeof *parts);
    int64_t end = 0;
    granary_err err = GRANARY_OK;

    if (cuts == NULL || parts == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "sort_merge: out of memory for %zu frames", count);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        parts[i] = frames[i];
        if (limit >= 0 && frames[i]->rows > limit) {
            err = gr_frame_slice(frames[i], 0, limit, &cuts[i]);
            parts[i] = cuts[i];
        }
        if (err == GRANARY_OK) {
            end += parts[i]->rows;
            ends[i] = end;
        }
    }
    if (err == GRANARY_OK) {
        err = gr_frame_concat(parts, count, ret_frame);
    }
    for (size_t i = 0; cuts != NULL && i < count; i++) {
        gr_frame_destroy(cuts[i]);
    }
    free(cuts);
    free(parts);
    return err;
}

static granary_err
frames_merged(const granary_frame *const *frames, size_t count, const struct order *order, int64_t limit,
              granary_frame **ret_frame)
{
    int64_t *ends = calloc(count, sizeof *ends);
    granary_frame *all = NULL;
    struct sort_key *keys = NULL;
    int64_t *indices = NULL;
    int64_t rows;
    granary_err err;

    if (ends == NULL) {
        return gr_fail(GRANARY_ENOMEM, "sort_merge: out of memory for %zu frames", count);
    }
    err = runs_concat(frames, count, limit, &all, ends);
    if (err == GRANARY_OK) {
        err = order_keys(order, all, &keys);
    }
    if (err == GRANARY_OK) {
        err = sort_merge_runs(keys, order->count, ends, count, limit, &indices, &rows);
    }
    if (err == GRANARY_OK) {
        err = gr_frame_take(all, indices, rows, ret_frame);
        free(indices);
    }
    free(keys);
    gr_frame_destroy(all);
    free(ends);
    return err;
}

granary_err
kernel_sort_merge(struct gr_kernel_call *call)
{
    const granary_frame **frames;
    granary_frame *merged = NULL;
    struct order order;
    granary_err err = call_frames(call, &frames);

    if (err != GRANARY_OK) {
        return err;
    }
    err = order_init(call, &order);
    if (err == GRANARY_OK) {
        err = frames_merged(frames, call->input_count, &order, call_limit(call), &merged);
        order_fini(&order);
    }
    free(frames);
    return err == GRANARY_OK ? call_yield(call, 0, merged) : err;
}
