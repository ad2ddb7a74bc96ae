/*
 * Sorting in parallel: samples of all chunks go into the choice of pivots, every chunk is dealt out at the pivots, and
 * part i of all chunks is sorted. Samples carry where they come from (chunk, row), which decides between equal keys as
 * a stable sort does: parts are even however often a key repeats.
 *
 * A dealt chunk is one frame, its rows part by part, and the positions where parts begin.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/scratch.h"
#include "kernel/sort/keys.h"
#include "kernel/sort/order.h"

/* Columns of samples and pivots behind the keys; no name that a user can choose begins so. */
#define CHUNK_COLUMN "\1chunk"
#define ROW_COLUMN   "\1row"
#define POSITIONS    2
#define PARTS_MAX    UINT16_MAX

static granary_err
out_of_memory(const struct gr_kernel_call *call)
{
    return gr_fail(GRANARY_ENOMEM, "%s: out of memory", call->op->op);
}

static int64_t
call_int(const struct gr_kernel_call *call, const char *name, int64_t fallback)
{
    return gr_attr_int(call->op->attrs, call->op->n_attrs, name, fallback);
}

/* ---- samples ---- */

/* splitmix64: where in its stretch of rows a sample lies, so that no pattern in the data meets one in the samples. */
static uint64_t
mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* One row of each of count stretches; *ret_indices is to be freed. */
static granary_err
rows_sampled(int64_t rows, int64_t count, int64_t chunk, int64_t **ret_indices)
{
    int64_t *indices = malloc((size_t)(count > 0 ? count : 1) * sizeof *indices);

    if (indices == NULL) {
        return gr_fail(GRANARY_ENOMEM, "sort_sample: out of memory for %lld samples", (long long)count);
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t from = (int64_t)((__int128)i * rows / count);
        int64_t to = (int64_t)((__int128)(i + 1) * rows / count);

        indices[i] = from + (int64_t)(mixed((uint64_t)chunk << 32 ^ (uint64_t)i) % (uint64_t)(to - from));
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
        err = gr_fail(GRANARY_ENOMEM, "sort_sample: out of memory for %lld samples", (long long)count);
    }
    for (size_t i = 0; i < order->count && err == GRANARY_OK; i++) {
        err = gr_frame_move(sample, i, keys, i);
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

granary_err
kernel_sort_sample(struct gr_kernel_call *call)
{
    int64_t samples = call_int(call, "samples", 0);
    int64_t chunk = call_int(call, "chunk", 0);
    const granary_frame *frame;
    granary_frame *sample = NULL;
    struct order order = {0};
    int64_t *rows = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = order_init(call, &order);
    }
    if (err == GRANARY_OK && samples < 1) {
        err = gr_fail(GRANARY_EINVAL, "sort_sample: 'samples' must be at least 1");
    }
    if (err == GRANARY_OK) {
        samples = samples < frame->rows ? samples : frame->rows;
        err = rows_sampled(frame->rows, samples, chunk, &rows);
    }
    if (err == GRANARY_OK) {
        err = keys_sampled(frame, &order, chunk, rows, samples, &sample);
    }
    free(rows);
    order_fini(&order);
    return err == GRANARY_OK ? call_yield(call, 0, sample) : err;
}

/* ---- pivots ---- */

/* How many parts. */
static granary_err
call_parts(const struct gr_kernel_call *call, int64_t *ret_parts)
{
    int64_t parts = call_int(call, "parts", 0);

    if (parts < 1 || parts > PARTS_MAX) {
        return gr_fail(GRANARY_EINVAL, "%s: 'parts' must be from 1 to %d", call->op->op, PARTS_MAX);
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
    int64_t *rows = malloc((size_t)parts * sizeof *rows);
    granary_err err = rows == NULL ? gr_fail(GRANARY_ENOMEM, "sort_pivots: out of memory")
                                   : order_frame(order, samples, SORT_NO_LIMIT, &sorted);

    for (int64_t i = 0; i < count && err == GRANARY_OK; i++) {
        rows[i] = (int64_t)((__int128)(i + 1) * samples->rows / parts);
        rows[i] = rows[i] < samples->rows ? rows[i] : samples->rows - 1;
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
    granary_err err = call_frames_encoded(call, &samples);

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
        order_add(&order, CHUNK_COLUMN);
        order_add(&order, ROW_COLUMN);
        err = pivots_choose(all, &order, parts, &pivots);
    }
    order_fini(&order);
    gr_frame_destroy(all);
    free(samples);
    return err == GRANARY_OK ? call_yield(call, 0, pivots) : err;
}

/* ---- dealing a chunk out ---- */

/* A chunk and the pivots. */
struct deal {
    const struct sort_key *keys;
    const struct sort_key *pivots;
    size_t count; /* of keys */
    int64_t chunk;
    size_t pivot_count;
    const int64_t *pivot_chunks;
    const int64_t *pivot_rows;
    uint64_t *ordinals;     /* of the pivots, by the first key */
    uint16_t (*entries)[2]; /* by dictionary entry: pivots before it, and those not after it; or NULL */
};

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

/* Whether a row comes after a pivot in the order of the whole. */
static bool
is_after(const struct deal *deal, int64_t row, size_t pivot)
{
    int order = sort_compare(deal->keys, row, deal->pivots, (int64_t)pivot, deal->count);

    if (order != 0) {
        return order > 0;
    }
    return deal->chunk != deal->pivot_chunks[pivot] ? deal->chunk > deal->pivot_chunks[pivot]
                                                    : row > deal->pivot_rows[pivot];
}

/* How many pivots a row comes after, which is its part; they are at least low and at most high. */
static size_t
part_between(const struct deal *deal, int64_t row, size_t low, size_t high)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (is_after(deal, row, middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* How many of n ascending numbers are below x; without a branch that could be guessed wrong. */
static inline size_t
count_below(const uint64_t *numbers, size_t n, uint64_t x)
{
    const uint64_t *base = numbers;

    while (n > 1) {
        size_t half = n / 2;

        base = base[half - 1] < x ? base + half : base;
        n -= half;
    }
    return (size_t)(base - numbers) + (n == 1 && *base < x);
}

/* The parts of the rows; counts: of each part. */
static void
parts_of_rows(const struct deal *deal, int64_t rows, uint16_t *parts, int64_t *counts)
{
    struct sort_lane lane = {.key = &deal->keys[0]};
    const int32_t *codes = deal->keys[0].column->values;
    uint64_t ordinals[SORT_BLOCK];

    for (int64_t from = 0; from < rows; from += SORT_BLOCK) {
        size_t many = rows - from < SORT_BLOCK ? (size_t)(rows - from) : SORT_BLOCK;

        if (deal->entries == NULL) {
            sort_ordinals(&lane, from, many, ordinals);
        }
        for (size_t i = 0; i < many; i++) {
            int64_t row = from + (int64_t)i;
            size_t low;
            size_t high;

            if (deal->entries == NULL) {
                low = count_below(deal->ordinals, deal->pivot_count, ordinals[i]);
                for (high = low; high < deal->pivot_count && deal->ordinals[high] == ordinals[i]; high++) {
                }
            } else if (gr_is_null(deal->keys[0].column, row)) {
                low = 0;
                high = deal->pivot_count;
            } else {
                low = deal->entries[codes[row]][0];
                high = deal->entries[codes[row]][1];
            }
            low = low < high ? part_between(deal, row, low, high) : low;
            parts[row] = (uint16_t)low;
            counts[low]++;
        }
    }
}

/* Where each entry of the first key's dictionary stands among the pivots. */
static granary_err
deal_entries(struct deal *deal, int64_t rows)
{
    const granary_column *entries = deal->keys[0].column->dictionary;
    struct sort_key key = deal->keys[0];

    if (entries == NULL || entries->rows > rows) {
        return GRANARY_OK;
    }
    key.column = entries;
    deal->entries = malloc((size_t)(entries->rows + 1) * sizeof *deal->entries);
    if (deal->entries == NULL) {
        return gr_fail(GRANARY_ENOMEM, "sort_split: out of memory for %lld distinct strings", (long long)entries->rows);
    }
    for (int64_t e = 0; e < entries->rows; e++) {
        for (int side = 0; side < 2; side++) {
            size_t low = 0;
            size_t high = deal->pivot_count;

            while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (sort_compare(&key, e, deal->pivots, (int64_t)middle, 1) > -side) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            deal->entries[e][side] = (uint16_t)low;
        }
    }
    return GRANARY_OK;
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
deal_init(const struct order *order, const granary_frame *frame, const granary_frame *pivots, int64_t chunk,
          struct deal *deal)
{
    struct sort_key *keys = NULL;
    struct sort_key *pivot_keys = NULL;
    granary_err err = order_keys(order, frame, &keys);

    *deal = (struct deal){.keys = keys, .count = order->count, .chunk = chunk, .pivot_count = (size_t)pivots->rows};
    if (err == GRANARY_OK) {
        err = order_keys(order, pivots, &pivot_keys);
        deal->pivots = pivot_keys;
    }
    if (err == GRANARY_OK) {
        err = keys_match(keys, pivot_keys, order->count);
    }
    if (err == GRANARY_OK) {
        err = pivot_positions(pivots, CHUNK_COLUMN, &deal->pivot_chunks);
    }
    if (err == GRANARY_OK) {
        err = pivot_positions(pivots, ROW_COLUMN, &deal->pivot_rows);
    }
    if (err == GRANARY_OK && (deal->ordinals = malloc((deal->pivot_count + 1) * sizeof *deal->ordinals)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "sort_split: out of memory for %zu pivots", deal->pivot_count);
    }
    for (size_t from = 0; from < deal->pivot_count && err == GRANARY_OK; from += SORT_BLOCK) {
        size_t many = deal->pivot_count - from < SORT_BLOCK ? deal->pivot_count - from : SORT_BLOCK;

        sort_ordinals(&(struct sort_lane){.key = &pivot_keys[0]}, (int64_t)from, many, deal->ordinals + from);
    }
    return err == GRANARY_OK ? deal_entries(deal, frame->rows) : err;
}

static void
deal_fini(struct deal *deal)
{
    free((void *)(uintptr_t)deal->keys);
    free((void *)(uintptr_t)deal->pivots);
    free(deal->ordinals);
    free(deal->entries);
}

/* Rows part by part; ends[p]: where part p ends. */
static granary_err
rows_dealt(const struct deal *deal, int64_t rows, int64_t parts, int64_t *ends, int64_t **ret_indices)
{
    uint16_t *part_of = scratch_alloc((size_t)(rows + 1) * sizeof *part_of);
    int64_t *indices = scratch_alloc((size_t)(rows + 1) * sizeof *indices);
    int64_t at = 0;

    if (part_of == NULL || indices == NULL) {
        scratch_free(part_of);
        scratch_free(indices);
        return gr_fail(GRANARY_ENOMEM, "sort_split: out of memory for %lld rows", (long long)rows);
    }
    parts_of_rows(deal, rows, part_of, ends);
    for (int64_t p = 0; p < parts; p++) {
        int64_t many = ends[p];

        ends[p] = at; /* the beginning, until rows were put there */
        at += many;
    }
    for (int64_t row = 0; row < rows; row++) {
        indices[ends[part_of[row]]++] = row;
    }
    scratch_free(part_of);
    *ret_indices = indices;
    return GRANARY_OK;
}

granary_err
kernel_sort_split(struct gr_kernel_call *call)
{
    const granary_frame *frame;
    const granary_frame *pivots;
    granary_frame *dealt = NULL;
    struct order order = {0};
    struct deal deal = {0};
    int64_t *ends = NULL; /* [0] is 0: part p is rows [ends[p], ends[p + 1]) */
    int64_t *indices = NULL;
    int64_t parts = 0;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = call_frame_encoded(call, 1, &pivots);
    }
    if (err == GRANARY_OK) {
        err = call_parts(call, &parts);
    }
    if (err == GRANARY_OK) {
        err = order_init(call, &order);
    }
    if (err == GRANARY_OK && (pivots->rows >= parts || call->output_count != 2)) {
        err = gr_fail(GRANARY_EINVAL, "sort_split: %lld pivots for %lld parts, and %zu outputs instead of 2",
                      (long long)pivots->rows, (long long)parts, call->output_count);
    }
    if (err == GRANARY_OK) {
        err = deal_init(&order, frame, pivots, call_int(call, "chunk", 0), &deal);
    }
    if (err == GRANARY_OK && (ends = gr_data_alloc((size_t)(parts + 1) * sizeof *ends)) == NULL) {
        err = out_of_memory(call);
    }
    if (err == GRANARY_OK) {
        err = rows_dealt(&deal, frame->rows, parts, ends + 1, &indices);
    }
    if (err == GRANARY_OK) {
        err = gr_frame_take(frame, indices, frame->rows, &dealt);
    }
    if (err == GRANARY_OK) {
        err = call_yield(call, 0, dealt);
    }
    if (err == GRANARY_OK) {
        call->outputs[1] = (struct gr_value){.kind = GR_VALUE_BYTES,
                                             .bytes = ends,
                                             .bytes_size = (size_t)(parts + 1) * sizeof *ends,
                                             .owned_bytes = ends};
        ends = NULL;
    }
    scratch_free(indices);
    free(ends);
    deal_fini(&deal);
    order_fini(&order);
    return err;
}

/* ---- a part of all chunks ---- */

/* Part `part` of input pair i: from which row to which. */
static granary_err
part_bounds(const struct gr_kernel_call *call, size_t i, int64_t part, int64_t rows, int64_t *ret_from, int64_t *ret_to)
{
    const struct gr_value *value = &call->inputs[2 * i + 1];
    const int64_t *ends = value->bytes;

    if (value->kind != GR_VALUE_BYTES) {
        return gr_fail(GRANARY_ETYPE, "sort_part: input %zu is no list of positions", 2 * i + 1);
    }
    if (part < 0 || (uint64_t)part >= value->bytes_size / sizeof *ends ||
        (uint64_t)part + 1 >= value->bytes_size / sizeof *ends || ends[part] < 0 || ends[part] > ends[part + 1] ||
        ends[part + 1] > rows) {
        return gr_fail(GRANARY_EINVAL, "sort_part: part %lld of input %zu lies outside", (long long)part, 2 * i);
    }
    *ret_from = ends[part];
    *ret_to = ends[part + 1];
    return GRANARY_OK;
}

/* Column c of all pieces; runs has room for them. */
static granary_err
column_joined(const granary_frame **frames, size_t count, size_t c, struct gr_run *runs, struct gr_column *ret_column)
{
    granary_dtype dtype = frames[0]->columns[c].view.dtype;

    for (size_t i = 0; i < count; i++) {
        const granary_column *column = c < frames[i]->count ? &frames[i]->columns[c].view : NULL;

        if (column == NULL || strcmp(column->name, frames[0]->columns[c].view.name) != 0 ||
            (column->dtype != dtype && column->dtype != GRANARY_NULLTYPE && dtype != GRANARY_NULLTYPE)) {
            return gr_fail(GRANARY_ETYPE, "sort_part: the pieces have other columns than one another");
        }
        dtype = dtype == GRANARY_NULLTYPE ? column->dtype : dtype;
        runs[i].column = column;
    }
    return gr_column_concat(runs, count, dtype, ret_column);
}

static granary_err
part_joined(const struct gr_kernel_call *call, int64_t part, granary_frame **ret_frame)
{
    size_t count = call->input_count / 2;
    const granary_frame **frames = calloc(count + 1, sizeof *frames);
    struct gr_run *runs = calloc(count + 1, sizeof *runs);
    granary_frame *joined = NULL;
    int64_t rows = 0;
    granary_err err = frames == NULL || runs == NULL ? out_of_memory(call) : GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        int64_t from;
        int64_t to;

        err = call_frame_encoded(call, 2 * i, &frames[i]);
        if (err == GRANARY_OK) {
            err = part_bounds(call, i, part, frames[i]->rows, &from, &to);
        }
        if (err == GRANARY_OK) {
            runs[i] = (struct gr_run){.from = from, .rows = to - from};
            rows += to - from;
        }
    }
    if (err == GRANARY_OK && (joined = gr_frame_create(frames[0]->count, rows)) == NULL) {
        err = out_of_memory(call);
    }
    for (size_t c = 0; err == GRANARY_OK && c < joined->count; c++) {
        struct gr_column column;

        err = column_joined(frames, count, c, runs, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(joined, c, frames[0]->columns[c].view.name, &column);
        }
    }
    free(frames);
    free(runs);
    if (err != GRANARY_OK) {
        gr_frame_destroy(joined);
        return err;
    }
    *ret_frame = joined;
    return GRANARY_OK;
}

granary_err
kernel_sort_part(struct gr_kernel_call *call)
{
    granary_frame *joined = NULL;
    granary_frame *sorted = NULL;
    struct order order = {0};
    bool done = false;
    granary_err err = order_init(call, &order);

    if (err == GRANARY_OK && (call->input_count == 0 || call->input_count % 2 != 0)) {
        err = gr_fail(GRANARY_EINVAL, "sort_part: it takes pairs of inputs, a frame and its parts' positions");
    }
    if (err == GRANARY_OK) {
        err = part_joined(call, call_int(call, "part", -1), &joined);
    }
    if (err == GRANARY_OK) {
        err = order_numbers(&order, joined, &done);
    }
    if (err == GRANARY_OK && done) {
        sorted = joined;
        joined = NULL;
    } else if (err == GRANARY_OK) {
        err = order_frame(&order, joined, SORT_NO_LIMIT, &sorted);
    }
    gr_frame_destroy(joined);
    order_fini(&order);
    return err == GRANARY_OK ? call_yield(call, 0, sorted) : err;
}
