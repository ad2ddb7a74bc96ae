/*
 * Sorting in parallel. Samples of all chunks go into the choice of pivots. Every chunk is dealt out at the pivots,
 * and part i of all chunks is sorted (`sort` of several frames). Samples carry where they come from (chunk, row),
 * which decides between equal keys as a stable sort does: parts are even however often a key repeats. Where rows lie on
 * several machines, samples carry how many rows each stands for instead, and equal rows stay together.
 *
 * A dealt chunk is an object of packed frames.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "contract/int128.h"
#include "kernel/core/dealt.h"
#include "kernel/core/scratch.h"
#include "kernel/sort/keys.h"
#include "kernel/sort/order.h"

/* Columns of samples and pivots behind the keys; no name that a user can choose begins so. */
#define CHUNK_COLUMN "\1chunk"
#define ROW_COLUMN   "\1row"
#define POSITIONS    2

/* Stretches of equal width that the span of the pivots is divided into: in most of them there is no pivot. */
#define GUESSES 4096

/* ---- samples ---- */

/* splitmix64: where in its stretch of rows a sample lies, so that no pattern in the data meets one in the samples. */
static uint64_t
number_mixed(uint64_t x)
{
    return gr_mix64(x + 0x9e3779b97f4a7c15u);
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
        int64_t from = (int64_t)((gr_int128)i * rows / count);
        int64_t to = (int64_t)((gr_int128)(i + 1) * rows / count);

        indices[i] = from + (int64_t)(number_mixed((uint64_t)chunk << 32 ^ (uint64_t)i) % (uint64_t)(to - from));
    }
    *ret_indices = indices;
    return GRANARY_OK;
}

/* How many rows are in the stretch of a sample. */
static int64_t
stretch_rows(int64_t rows, int64_t count, int64_t sample)
{
    return (int64_t)((gr_int128)(sample + 1) * rows / count) - (int64_t)((gr_int128)sample * rows / count);
}

/* The keys of rows[0..count) of a chunk, and where they come from; or, as `weight`, how many they stand for. */
static granary_err
keys_sampled(const granary_frame *frame, const struct order *order, const struct gr_chunk_sort_sample *params,
             const int64_t *rows, int64_t count, granary_frame **ret_sample)
{
    const char *const names[POSITIONS] = {params->weight != NULL ? params->weight : CHUNK_COLUMN, ROW_COLUMN};
    size_t more = params->weight != NULL ? 1 : POSITIONS;
    granary_frame *keys = NULL;
    granary_frame *sample = NULL;
    struct gr_column position;
    granary_err err = frame_take_columns(frame, order->names, order->count, rows, count, &keys);

    if (err == GRANARY_OK) {
        sample = gr_frame_create(order->count + more, count);
    }
    for (size_t i = 0; i < order->count && err == GRANARY_OK; i++) {
        err = gr_frame_move(sample, i, keys, i);
    }
    for (size_t p = 0; p < more && err == GRANARY_OK; p++) {
        err = gr_column_alloc(GRANARY_INT64, count, 0, false, &position);
        for (int64_t i = 0; i < count && err == GRANARY_OK; i++) {
            ((int64_t *)(uintptr_t)position.view.values)[i] = params->weight != NULL
                                                                  ? stretch_rows(frame->rows, count, i)
                                                              : p == 0 ? params->chunk
                                                                       : rows[i];
        }
        if (err == GRANARY_OK) {
            err = gr_frame_set(sample, order->count + p, names[p], &position);
        }
    }
    gr_frame_destroy(keys);
    return gr_frame_give(sample, err, ret_sample);
}

granary_err
kernel_sort_sample(struct gr_kernel_call *call, const struct gr_chunk_sort_sample *params)
{
    int64_t samples = params->samples;
    int64_t chunk = params->chunk;
    const granary_frame *frame;
    granary_frame *sample = NULL;
    struct order order = {0};
    int64_t *rows = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = order_init(&params->order, &order);
    }
    if (err == GRANARY_OK && samples < 1) {
        err = gr_fail(GRANARY_EINVAL, "sort_sample: 'samples' must be at least 1");
    }
    if (err == GRANARY_OK) {
        samples = samples < frame->rows ? samples : frame->rows;
        err = rows_sampled(frame->rows, samples, chunk, &rows);
    }
    if (err == GRANARY_OK) {
        err = keys_sampled(frame, &order, params, rows, samples, &sample);
    }
    free(rows);
    order_fini(&order);
    return call_yield(call, 0, sample, err);
}

/* ---- pivots ---- */

/* The column of weights. Errors: ETYPE */
static granary_err
find_weights(const granary_frame *samples, const char *name, const int64_t **ret_weights)
{
    int at = gr_frame_find(samples, name);
    const granary_column *column = at < 0 ? NULL : &samples->columns[at].view;
    const int64_t *weights = column == NULL ? NULL : column->values;
    bool good = column != NULL && column->dtype == GRANARY_INT64 && column->null_count == 0;

    for (int64_t i = 0; good && i < samples->rows; i++) {
        good = weights[i] >= 0;
    }
    *ret_weights = weights;
    return good ? GRANARY_OK
                : gr_fail(GRANARY_ETYPE, "sort_pivots: column '%s' does not say how many rows each sample stands for",
                          name);
}

/* Rows of the sorted samples that cut what they stand for into `parts` stretches of about as many rows. */
static granary_err
rows_weighed(const granary_frame *sorted, const char *name, int64_t parts, int64_t *rows)
{
    const int64_t *weights;
    gr_int128 total = 0;
    gr_int128 before = 0; /* rows up to and with `at` */
    int64_t at = -1;
    granary_err err = find_weights(sorted, name, &weights);

    for (int64_t i = 0; i < sorted->rows && err == GRANARY_OK; i++) {
        total += weights[i];
    }
    for (int64_t i = 0; i + 1 < parts && err == GRANARY_OK; i++) {
        while (at < 0 || (at + 1 < sorted->rows && before * parts < total * (i + 1))) {
            before += weights[++at];
        }
        rows[i] = at;
    }
    return err;
}

/* `parts` - 1 rows of the sorted samples, spread evenly. Without a sample there are none. weight: or NULL */
static granary_err
pivots_choose(const granary_frame *samples, const struct order *order, int64_t parts, const char *weight,
              granary_frame **ret_pivots)
{
    int64_t count = samples->rows > 0 ? parts - 1 : 0;
    granary_frame *sorted = NULL;
    int64_t *rows = malloc((size_t)parts * sizeof *rows);
    granary_err err = rows == NULL ? gr_no_memory("sort_pivots") : order_frame(order, samples, SORT_NO_LIMIT, &sorted);

    if (err == GRANARY_OK && count > 0 && weight != NULL) {
        err = rows_weighed(sorted, weight, parts, rows);
    }
    for (int64_t i = 0; i < count && err == GRANARY_OK && weight == NULL; i++) {
        rows[i] = (int64_t)((gr_int128)(i + 1) * samples->rows / parts);
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
kernel_sort_pivots(struct gr_kernel_call *call, const struct gr_chunk_sort_pivots *params)
{
    const granary_frame **samples;
    granary_frame *all = NULL;
    granary_frame *pivots = NULL;
    struct order order = {0};
    int64_t parts = params->parts;
    granary_err err = call_frames_encoded(call, &samples);

    if (err != GRANARY_OK) {
        return err;
    }
    err = dealt_parts(parts);
    if (err == GRANARY_OK) {
        err = order_init(&params->order, &order);
    }
    if (err == GRANARY_OK) {
        err = gr_frame_concat(samples, call->input_count, &all);
    }
    if (err == GRANARY_OK && params->weight == NULL) {
        order_add(&order, CHUNK_COLUMN);
        order_add(&order, ROW_COLUMN);
    }
    if (err == GRANARY_OK) {
        err = pivots_choose(all, &order, parts, params->weight, &pivots);
    }
    order_fini(&order);
    gr_frame_destroy(all);
    free(samples);
    return call_yield(call, 0, pivots, err);
}

/* ---- dealing a chunk out ---- */

/* A chunk and the pivots. */
struct deal {
    const struct sort_key *keys;
    const struct sort_key *pivots;
    size_t count; /* of keys */
    int64_t chunk;
    size_t pivot_count;
    const int64_t *pivot_chunks; /* NULL: equal rows are on one side of a pivot */
    const int64_t *pivot_rows;
    uint64_t *ordinals;     /* of the pivots, by the first key */
    unsigned guess_shift;   /* a stretch is 2^guess_shift wide */
    uint16_t *guesses;      /* GUESSES + 1: how many pivots are in the stretches before each */
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

    if (order != 0 || deal->pivot_chunks == NULL) {
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

/* Which pivots can be near numbers: the span from the first to the last one, divided into stretches. */
static granary_err
deal_guesses(struct deal *deal)
{
    uint64_t span = deal->pivot_count > 0 ? deal->ordinals[deal->pivot_count - 1] - deal->ordinals[0] : 0;
    size_t at = 0;

    while (span >> deal->guess_shift >= GUESSES) {
        deal->guess_shift++;
    }
    deal->guesses = malloc((GUESSES + 1) * sizeof *deal->guesses);
    if (deal->guesses == NULL) {
        return gr_fail(GRANARY_ENOMEM, "sort_split: out of memory for %zu pivots", deal->pivot_count);
    }
    for (size_t g = 0; g <= GUESSES; g++) {
        while (at < deal->pivot_count && (deal->ordinals[at] - deal->ordinals[0]) >> deal->guess_shift < g) {
            at++;
        }
        deal->guesses[g] = (uint16_t)at;
    }
    return GRANARY_OK;
}

/* The part of a row by its number alone; where pivots have the same number, more tells. */
static inline uint16_t
part_of_number(const struct deal *deal, int64_t row, uint64_t number)
{
    uint64_t first = deal->ordinals[0];
    uint64_t guess = number < first ? 0 : (number - first) >> deal->guess_shift;
    size_t low;
    size_t high;

    if (number < first || guess >= GUESSES) {
        return number < first ? 0 : (uint16_t)deal->pivot_count;
    }
    low = deal->guesses[guess];
    high = deal->guesses[guess + 1];
    if (low == high) {
        return (uint16_t)low;
    }
    low += count_below(deal->ordinals + low, high - low, number);
    for (high = low; high < deal->pivot_count && deal->ordinals[high] == number; high++) {
    }
    return (uint16_t)part_between(deal, row, low, high);
}

/* By the numbers of the first key. */
static void
parts_of_numbers(const struct deal *deal, int64_t rows, uint16_t *parts)
{
    struct sort_lane lane = {.key = &deal->keys[0]};
    uint64_t ordinals[SORT_BLOCK];

    for (int64_t from = 0; from < rows; from += SORT_BLOCK) {
        size_t many = rows - from < SORT_BLOCK ? (size_t)(rows - from) : SORT_BLOCK;

        sort_ordinals(&lane, from, many, ordinals);
        for (size_t i = 0; i < many; i++) {
            parts[from + (int64_t)i] = part_of_number(deal, from + (int64_t)i, ordinals[i]);
        }
    }
}

/* By the entries of the first key's dictionary. */
static void
parts_of_entries(const struct deal *deal, int64_t rows, uint16_t *parts)
{
    const granary_column *column = deal->keys[0].column;
    const int32_t *codes = column->values;

    for (int64_t row = 0; row < rows; row++) {
        bool null = gr_is_null(column, row);
        size_t low = null ? 0 : deal->entries[codes[row]][0];
        size_t high = null ? deal->pivot_count : deal->entries[codes[row]][1];

        parts[row] = (uint16_t)part_between(deal, row, low, high);
    }
}

/* The parts of the rows. */
static void
parts_of_rows(const struct deal *deal, int64_t rows, uint16_t *parts)
{
    if (deal->pivot_count == 0) {
        memset(parts, 0, (size_t)rows * sizeof *parts);
    } else if (deal->entries != NULL) {
        parts_of_entries(deal, rows, parts);
    } else {
        parts_of_numbers(deal, rows, parts);
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
deal_init(const struct order *order, const granary_frame *frame, const granary_frame *pivots,
          const struct gr_chunk_sort_split *params, struct deal *deal)
{
    struct sort_key *keys = NULL;
    struct sort_key *pivot_keys = NULL;
    granary_err err = order_keys(order, frame, &keys);

    *deal =
        (struct deal){.keys = keys, .count = order->count, .chunk = params->chunk, .pivot_count = (size_t)pivots->rows};
    if (err == GRANARY_OK) {
        err = order_keys(order, pivots, &pivot_keys);
        deal->pivots = pivot_keys;
    }
    if (err == GRANARY_OK) {
        err = keys_match(keys, pivot_keys, order->count);
    }
    if (err == GRANARY_OK && !params->together) {
        err = pivot_positions(pivots, CHUNK_COLUMN, &deal->pivot_chunks);
    }
    if (err == GRANARY_OK && !params->together) {
        err = pivot_positions(pivots, ROW_COLUMN, &deal->pivot_rows);
    }
    if (err == GRANARY_OK && (deal->ordinals = malloc((deal->pivot_count + 1) * sizeof *deal->ordinals)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "sort_split: out of memory for %zu pivots", deal->pivot_count);
    }
    for (size_t from = 0; from < deal->pivot_count && err == GRANARY_OK; from += SORT_BLOCK) {
        size_t many = deal->pivot_count - from < SORT_BLOCK ? deal->pivot_count - from : SORT_BLOCK;

        sort_ordinals(&(struct sort_lane){.key = &pivot_keys[0]}, (int64_t)from, many, deal->ordinals + from);
    }
    if (err == GRANARY_OK) {
        err = deal_guesses(deal);
    }
    return err == GRANARY_OK ? deal_entries(deal, frame->rows) : err;
}

static void
deal_fini(struct deal *deal)
{
    free((void *)(uintptr_t)deal->keys);
    free((void *)(uintptr_t)deal->pivots);
    free(deal->ordinals);
    free(deal->guesses);
    free(deal->entries);
}

granary_err
kernel_sort_split(struct gr_kernel_call *call, const struct gr_chunk_sort_split *params)
{
    const granary_frame *frame;
    const granary_frame *pivots;
    struct order order = {0};
    struct deal deal = {0};
    uint16_t *part_of = NULL;
    int64_t parts = params->parts;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = call_frame_encoded(call, 1, &pivots);
    }
    if (err == GRANARY_OK) {
        err = dealt_parts(parts);
    }
    if (err == GRANARY_OK) {
        err = order_init(&params->order, &order);
    }
    if (err == GRANARY_OK && pivots->rows >= parts) {
        err = gr_fail(GRANARY_EINVAL, "sort_split: %lld pivots for %lld parts", (long long)pivots->rows,
                      (long long)parts);
    }
    if (err == GRANARY_OK) {
        err = deal_init(&order, frame, pivots, params, &deal);
    }
    if (err == GRANARY_OK && (part_of = scratch_alloc((size_t)(frame->rows + 1) * sizeof *part_of)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "sort_split: out of memory for %lld rows", (long long)frame->rows);
    }
    if (err == GRANARY_OK) {
        parts_of_rows(&deal, frame->rows, part_of);
        err = dealt_yield(call, frame, part_of, parts);
    }
    scratch_free(part_of);
    deal_fini(&deal);
    order_fini(&order);
    return err;
}
