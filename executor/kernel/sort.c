/*
 * Each key value has a 64-bit prefix whose order is the order of values; rows are sorted as (prefix, row) pairs, then
 * runs of equal prefixes by what follows: the next 7 bytes of a string, the next key.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/sort.h"

enum {
    RADIX_MIN = 1024, /* rows for which a pass over 256 counters pays */
    INSERTION_MAX = 16,
    TEXT_STEP = 7, /* bytes of a string in one prefix; the eighth byte tells how many are left */
    TEXT_DEPTH_MAX = 8,
    LIMIT_SLACK = 4096,
};

#define PREFIX_NULL UINT64_MAX
#define PREFIX_NAN  (UINT64_MAX - 1)
#define SIGN_BIT    ((uint64_t)1 << 63)

struct pair {
    uint64_t prefix;
    int64_t row;
};

struct sorter {
    const struct sort_key *keys;
    size_t count;
    struct pair *spare; /* as many as there are pairs */
};

/* ---- comparing rows ---- */

static int
compare_doubles(double a, double b, bool descending)
{
    bool nan_a = isnan(a);
    bool nan_b = isnan(b);

    if (nan_a || nan_b) {
        return (int)nan_a - (int)nan_b;
    }
    return descending ? (a < b) - (a > b) : (a > b) - (a < b);
}

static int
compare_texts(const granary_column *a, int64_t row_a, const granary_column *b, int64_t row_b)
{
    size_t size_a = (size_t)(a->offsets[row_a + 1] - a->offsets[row_a]);
    size_t size_b = (size_t)(b->offsets[row_b + 1] - b->offsets[row_b]);
    size_t size = size_a < size_b ? size_a : size_b;
    int order = size == 0 ? 0
                          : memcmp((const char *)a->values + a->offsets[row_a],
                                   (const char *)b->values + b->offsets[row_b], size);

    return order != 0 ? order : (size_a > size_b) - (size_a < size_b);
}

static int64_t
integer_at(const granary_column *column, int64_t row)
{
    switch (column->dtype) {
    case GRANARY_BOOL:
        return gr_bit(column->values, row);
    case GRANARY_DATE:
    case GRANARY_INT32:
        return ((const int32_t *)column->values)[row];
    default:
        return ((const int64_t *)column->values)[row];
    }
}

static double
double_at(const granary_column *column, int64_t row)
{
    return column->dtype == GRANARY_FLOAT32 ? (double)((const float *)column->values)[row]
                                            : ((const double *)column->values)[row];
}

static inline bool
null_at(const granary_column *column, int64_t row)
{
    return column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row);
}

static int
compare_values(const struct sort_key *a, int64_t row_a, const struct sort_key *b, int64_t row_b)
{
    bool null_a = null_at(a->column, row_a);
    bool null_b = null_at(b->column, row_b);
    int order;

    if (null_a || null_b) {
        return (int)null_a - (int)null_b;
    }
    switch (a->column->dtype) {
    case GRANARY_FLOAT64:
    case GRANARY_FLOAT32:
        return compare_doubles(double_at(a->column, row_a), double_at(b->column, row_b), a->descending);
    case GRANARY_STRING:
        order = compare_texts(a->column, row_a, b->column, row_b);
        break;
    default: {
        int64_t x = integer_at(a->column, row_a);
        int64_t y = integer_at(b->column, row_b);

        order = (x > y) - (x < y);
        break;
    }
    }
    return a->descending ? (order < 0) - (order > 0) : order;
}

int
sort_compare(const struct sort_key *a, int64_t row_a, const struct sort_key *b, int64_t row_b, size_t count)
{
    int order = 0;

    for (size_t i = 0; i < count && order == 0; i++) {
        order = compare_values(&a[i], row_a, &b[i], row_b);
    }
    return order;
}

/* ---- prefixes ---- */

static uint64_t
prefix_of_double(double x, bool descending)
{
    uint64_t bits;

    if (isnan(x)) {
        return PREFIX_NAN;
    }
    x += 0.0; /* -0.0 equals 0.0 */
    memcpy(&bits, &x, sizeof bits);
    bits = (bits & SIGN_BIT) != 0 ? ~bits : bits | SIGN_BIT;
    return descending ? ~bits : bits;
}

/* Seven bytes from 7 * depth on, then 1 + the number of bytes that are left from there (8 stands for more than 7). */
static uint64_t
prefix_of_text(const granary_column *column, int64_t row, int depth, bool descending)
{
    const unsigned char *text = (const unsigned char *)column->values + column->offsets[row];
    size_t size = (size_t)(column->offsets[row + 1] - column->offsets[row]);
    size_t skip = (size_t)depth * TEXT_STEP;
    size_t left = size > skip ? size - skip : 0;
    uint64_t prefix = 0;

    for (size_t i = 0; i < TEXT_STEP; i++) {
        prefix = prefix << 8 | (i < left ? text[skip + i] : 0);
    }
    prefix = prefix << 8 | (1 + (left > TEXT_STEP ? TEXT_STEP + 1 : left));
    return descending ? ~prefix : prefix;
}

static inline uint64_t
prefix_of(const struct sort_key *key, int64_t row, int depth)
{
    uint64_t prefix;

    if (null_at(key->column, row)) {
        return PREFIX_NULL;
    }
    switch (key->column->dtype) {
    case GRANARY_FLOAT64:
    case GRANARY_FLOAT32:
        return prefix_of_double(double_at(key->column, row), key->descending);
    case GRANARY_STRING:
        return prefix_of_text(key->column, row, depth, key->descending);
    default:
        prefix = (uint64_t)integer_at(key->column, row) ^ SIGN_BIT;
        return key->descending ? ~prefix : prefix;
    }
}

/* ---- sorting pairs ---- */

/* Pairs by prefix, or (keys != NULL) by the columns. */
static inline bool
pair_after(const struct pair *a, const struct pair *b, const struct sort_key *keys, size_t count)
{
    if (keys == NULL) {
        return a->prefix > b->prefix;
    }
    return sort_compare(keys, a->row, keys, b->row, count) > 0;
}

static void
insertion_sort(struct pair *pairs, size_t n, const struct sort_key *keys, size_t count)
{
    for (size_t i = 1; i < n; i++) {
        struct pair moving = pairs[i];
        size_t at = i;

        for (; at > 0 && pair_after(&pairs[at - 1], &moving, keys, count); at--) {
            pairs[at] = pairs[at - 1];
        }
        pairs[at] = moving;
    }
}

static void
merge_sort(struct pair *pairs, struct pair *spare, size_t n, const struct sort_key *keys, size_t count)
{
    size_t half = n / 2;
    size_t left = 0;
    size_t right = half;

    if (n <= INSERTION_MAX) {
        insertion_sort(pairs, n, keys, count);
        return;
    }
    merge_sort(pairs, spare, half, keys, count);
    merge_sort(pairs + half, spare, n - half, keys, count);
    if (!pair_after(&pairs[half - 1], &pairs[half], keys, count)) {
        return; /* in order already */
    }
    memcpy(spare, pairs, half * sizeof *pairs);
    for (size_t at = 0; left < half; at++) {
        if (right < n && pair_after(&spare[left], &pairs[right], keys, count)) {
            pairs[at] = pairs[right++];
        } else {
            pairs[at] = spare[left++];
        }
    }
}

/* By prefix, least significant byte first; a byte that is the same everywhere costs nothing. */
static void
radix_sort(struct pair *pairs, struct pair *spare, size_t n)
{
    size_t counts[8][256] = {{0}};
    struct pair *from = pairs;
    struct pair *to = spare;

    for (size_t i = 0; i < n; i++) {
        for (int byte = 0; byte < 8; byte++) {
            counts[byte][pairs[i].prefix >> (8 * byte) & 0xff]++;
        }
    }
    for (int byte = 0; byte < 8; byte++) {
        size_t *count = counts[byte];
        size_t start = 0;
        struct pair *swap = from;

        if (count[from[0].prefix >> (8 * byte) & 0xff] == n) {
            continue;
        }
        for (int value = 0; value < 256; value++) {
            size_t many = count[value];

            count[value] = start;
            start += many;
        }
        for (size_t i = 0; i < n; i++) {
            to[count[from[i].prefix >> (8 * byte) & 0xff]++] = from[i];
        }
        from = to;
        to = swap;
    }
    if (from != pairs) {
        memcpy(pairs, from, n * sizeof *pairs);
    }
}

static void
prefix_sort(struct pair *pairs, struct pair *spare, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (pairs[i - 1].prefix > pairs[i].prefix) {
            if (n < RADIX_MIN) {
                merge_sort(pairs, spare, n, NULL, 0);
            } else {
                radix_sort(pairs, spare, n);
            }
            return;
        }
    }
}

static void sort_pairs(const struct sorter *sorter, struct pair *pairs, size_t n, size_t key, int depth);

/* Rows whose prefixes of one key are equal: by the rest of that key and the keys after it. */
static void
sort_ties(const struct sorter *sorter, struct pair *pairs, size_t n, size_t key, int depth)
{
    const struct sort_key *by = &sorter->keys[key];
    granary_dtype dtype = by->column->dtype;
    uint64_t prefix = pairs[0].prefix;

    if (dtype == GRANARY_STRING && prefix != PREFIX_NULL) {
        unsigned left = (unsigned)((by->descending ? ~prefix : prefix) & 0xff) - 1;

        if (left > TEXT_STEP && depth < TEXT_DEPTH_MAX) {
            sort_pairs(sorter, pairs, n, key, depth + 1);
            return;
        }
        if (left > TEXT_STEP) {
            merge_sort(pairs, sorter->spare, n, by, sorter->count - key);
            return;
        }
    } else if (prefix == PREFIX_NULL && (dtype == GRANARY_INT64 || dtype == GRANARY_TIMESTAMP)) {
        /* The largest integer shares its prefix with null. */
        merge_sort(pairs, sorter->spare, n, by, sorter->count - key);
        return;
    }
    if (key + 1 < sorter->count) {
        sort_pairs(sorter, pairs, n, key + 1, 0);
    }
}

/* Sort pairs, which are in input order, by the keys from key on (a string: from 7 * depth bytes on). */
static void
sort_pairs(const struct sorter *sorter, struct pair *pairs, size_t n, size_t key, int depth)
{
    for (size_t i = 0; i < n; i++) {
        pairs[i].prefix = prefix_of(&sorter->keys[key], pairs[i].row, depth);
    }
    prefix_sort(pairs, sorter->spare, n);
    for (size_t from = 0, to; from < n; from = to) {
        uint64_t prefix = pairs[from].prefix;

        for (to = from + 1; to < n && pairs[to].prefix == prefix; to++) {
        }
        if (to - from > 1) {
            sort_ties(sorter, pairs + from, to - from, key, depth);
        }
    }
}

/* The first `limit` rows in order, with room for `room` pairs: collected, and cut back whenever the room is full. */
static size_t
sort_first(const struct sorter *sorter, struct pair *pairs, size_t room, int64_t rows, size_t limit)
{
    uint64_t worst = UINT64_MAX;
    size_t n = 0;

    for (int64_t row = 0; row < rows; row++) {
        if (prefix_of(&sorter->keys[0], row, 0) > worst) {
            continue;
        }
        pairs[n++].row = row;
        if (n == room) {
            sort_pairs(sorter, pairs, n, 0, 0);
            n = limit;
            worst = n > 0 ? prefix_of(&sorter->keys[0], pairs[n - 1].row, 0) : 0;
        }
    }
    sort_pairs(sorter, pairs, n, 0, 0);
    return n < limit ? n : limit;
}

static granary_err
indices_of(const struct pair *pairs, size_t n, int64_t **ret_indices, int64_t *ret_count)
{
    int64_t *indices = malloc((n > 0 ? n : 1) * sizeof *indices);

    if (indices == NULL) {
        return gr_fail(GRANARY_ENOMEM, "sort: out of memory for %zu rows", n);
    }
    for (size_t i = 0; i < n; i++) {
        indices[i] = pairs[i].row;
    }
    *ret_indices = indices;
    *ret_count = (int64_t)n;
    return GRANARY_OK;
}

granary_err
sort_rows(const struct sort_key *keys, size_t count, int64_t rows, int64_t limit, int64_t **ret_indices,
          int64_t *ret_count)
{
    bool cut = limit >= 0 && limit < rows / 4 && rows > LIMIT_SLACK;
    size_t room = cut ? (size_t)(2 * limit) + LIMIT_SLACK : (size_t)rows;
    size_t n = (size_t)rows;
    struct pair *pairs = malloc((2 * room + 1) * sizeof *pairs);
    struct sorter sorter = {.keys = keys, .count = count};
    granary_err err;

    if (pairs == NULL) {
        return gr_fail(GRANARY_ENOMEM, "sort: out of memory for %lld rows", (long long)rows);
    }
    sorter.spare = pairs + room;
    if (cut) {
        n = sort_first(&sorter, pairs, room, rows, (size_t)limit);
    } else {
        for (int64_t i = 0; i < rows; i++) {
            pairs[i].row = i;
        }
        if (count > 0) {
            sort_pairs(&sorter, pairs, n, 0, 0);
        }
        n = limit >= 0 && limit < rows ? (size_t)limit : n;
    }
    err = indices_of(pairs, n, ret_indices, ret_count);
    free(pairs);
    return err;
}

/* ---- merging runs ---- */

static bool
merge_after(const struct sorter *sorter, const struct pair *a, const struct pair *b)
{
    if (a->prefix != b->prefix) {
        return a->prefix > b->prefix;
    }
    return sort_compare(sorter->keys, a->row, sorter->keys, b->row, sorter->count) > 0;
}

/* [from, middle) and [middle, to) of one array into another. */
static void
merge_two(const struct sorter *sorter, const struct pair *source, struct pair *target, int64_t from, int64_t middle,
          int64_t to)
{
    int64_t left = from;
    int64_t right = middle;

    for (int64_t at = from; at < to; at++) {
        if (left < middle && (right >= to || !merge_after(sorter, &source[left], &source[right]))) {
            target[at] = source[left++];
        } else {
            target[at] = source[right++];
        }
    }
}

granary_err
sort_merge_runs(const struct sort_key *keys, size_t count, const int64_t *ends, size_t runs, int64_t limit,
                int64_t **ret_indices, int64_t *ret_count)
{
    int64_t rows = runs > 0 ? ends[runs - 1] : 0;
    size_t n = (size_t)rows;
    struct sorter sorter = {.keys = keys, .count = count};
    struct pair *pairs = malloc((2 * n + 1) * sizeof *pairs);
    int64_t *bounds = malloc((runs + 1) * sizeof *bounds);
    granary_err err = GRANARY_ENOMEM;

    if (pairs == NULL || bounds == NULL) {
        gr_fail(GRANARY_ENOMEM, "sort: out of memory for %lld rows", (long long)rows);
        goto out;
    }

    struct pair *source = pairs;
    struct pair *target = pairs + n;

    for (int64_t i = 0; i < rows; i++) {
        pairs[i] = (struct pair){count > 0 ? prefix_of(&keys[0], i, 0) : 0, i};
    }
    memcpy(bounds, ends, runs * sizeof *bounds);
    while (runs > 1) {
        struct pair *swap = source;
        size_t kept = 0;

        /* Neighbours in pairs; a last one without a partner is carried over. */
        for (size_t run = 0; run < runs; run += 2) {
            int64_t from = run == 0 ? 0 : bounds[kept - 1];
            int64_t middle = bounds[run];
            int64_t to = run + 1 < runs ? bounds[run + 1] : middle;

            merge_two(&sorter, source, target, from, middle, to);
            bounds[kept++] = to;
        }
        runs = kept;
        source = target;
        target = swap;
    }
    err = indices_of(source, limit >= 0 && (size_t)limit < n ? (size_t)limit : n, ret_indices, ret_count);

out:
    free(pairs);
    free(bounds);
    return err;
}
