/*
 * Rows by keys. The lanes of all keys are packed into words of 64 or 128 bits with the row number below, each reduced
 * to the range its values have. The words are sorted. Where 128 bits are not enough, rows that are equal so far are
 * sorted again by what is left.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/core/scratch.h"
#include "kernel/core/select.h"
#include "kernel/sort/keys.h"
#include "kernel/sort/words.h"

enum {
    LANES_MAX = 128,  /* each has a bit or more */
    TIES_MERGED = 24, /* equal rows that are compared instead of packed again */
    DEPTH_MAX = 32,   /* how often rows are packed again: what strings still share then is compared */
    LIMIT_SLACK = 8192,
};

/* ---- comparing rows ---- */

static int
compare_doubles(double a, double b, bool descending, bool nan_first)
{
    bool nan_a = isnan(a);
    bool nan_b = isnan(b);

    if (nan_a || nan_b) {
        return nan_first ? (int)nan_b - (int)nan_a : (int)nan_a - (int)nan_b;
    }
    return descending ? (a < b) - (a > b) : (a > b) - (a < b);
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
        return a->nulls_first ? (int)null_b - (int)null_a : (int)null_a - (int)null_b;
    }
    switch (a->column->dtype) {
    case GRANARY_FLOAT64:
    case GRANARY_FLOAT32:
        return compare_doubles(select_real(a->column, row_a, 1.0), select_real(b->column, row_b, 1.0), a->descending,
                               sort_nans_first(a));
    case GRANARY_STRING:
    case GRANARY_BINARY:
        order = select_texts(a->column, row_a, b->column, row_b);
        break;
    default: {
        gr_int128 x = select_int(a->column, row_a);
        gr_int128 y = select_int(b->column, row_b);

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

/* ---- which bits of a word a lane has ---- */

struct slot {
    struct sort_lane lane;
    uint64_t least; /* codes of the values are from least to most */
    uint64_t most;
    sort_word128 first; /* what the least value in the key's direction becomes */
    sort_word128 nan;
    sort_word128 null;
    unsigned bits;
    unsigned dropped; /* low bits that are left out */
};

struct layout {
    struct slot slots[LANES_MAX];
    size_t count;
    unsigned bits;
    bool exact; /* rows of equal words are equal; else: by the rest, from here on */
    size_t next_key;
    unsigned next_part;
};

struct sorter {
    const struct sort_key *keys;
    uint32_t **ranks; /* by key */
    size_t count;
};

static unsigned
length_of(sort_word128 x)
{
    uint64_t high = (uint64_t)(x >> 64);
    uint64_t low = (uint64_t)x;

    return high != 0 ? 128 - (unsigned)__builtin_clzll(high) : low != 0 ? 64 - (unsigned)__builtin_clzll(low) : 0;
}

/* The range of a lane over some rows. Returns the kinds there are. */
static unsigned
slot_measure(struct slot *slot, const int64_t *rows, size_t n)
{
    uint64_t codes[SORT_BLOCK];
    uint8_t kinds[SORT_BLOCK];
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    unsigned all = 0;

    for (size_t from = 0; from < n; from += SORT_BLOCK) {
        size_t count = n - from < SORT_BLOCK ? n - from : SORT_BLOCK;
        unsigned found =
            sort_encode(&slot->lane, rows == NULL ? NULL : rows + from, (int64_t)from, count, codes, kinds);

        if ((found & (SORT_KIND_NULL | SORT_KIND_NAN)) == 0) {
            for (size_t i = 0; i < count; i++) {
                least = codes[i] < least ? codes[i] : least;
                most = codes[i] > most ? codes[i] : most;
            }
        } else {
            for (size_t i = 0; i < count; i++) {
                bool counts = kinds[i] == SORT_KIND_VALUE;

                least = counts && codes[i] < least ? codes[i] : least;
                most = counts && codes[i] > most ? codes[i] : most;
            }
        }
        all |= found;
    }
    slot->least = least <= most ? least : 0;
    slot->most = least <= most ? most : 0;
    return all;
}

/* Numbers for values, NaN and null. */
static void
slot_assign(struct slot *slot, unsigned found)
{
    sort_word128 span = (sort_word128)(slot->most - slot->least) + 1;
    unsigned nan = (found & SORT_KIND_NAN) != 0;
    unsigned null = (found & SORT_KIND_NULL) != 0;

    unsigned before = slot->lane.key->nulls_first ? null : 0;
    unsigned nan_before = sort_nans_first(slot->lane.key) ? nan : 0;

    slot->first = before + nan_before;
    slot->nan = nan_before > 0 ? before : slot->first + span;
    slot->null = before > 0 ? 0 : slot->first + span + nan - nan_before;
    slot->bits = length_of(span + nan + null - 1);
}

/* Lanes until all keys have theirs or `room` bits are taken. */
static void
layout_plan(const struct sorter *sorter, const int64_t *rows, size_t n, size_t key, unsigned part, unsigned room,
            struct layout *layout)
{
    layout->count = 0;
    layout->bits = 0;
    layout->exact = true;
    while (key < sorter->count) {
        struct slot *slot = &layout->slots[layout->count];
        unsigned found;
        bool goes_on;

        *slot = (struct slot){
            .lane = {.key = &sorter->keys[key], .ranks = sorter->ranks[key], .part = part},
        };
        found = slot_measure(slot, rows, n);
        slot_assign(slot, found);
        layout->next_key = key;
        layout->next_part = part;
        if (slot->bits > room - layout->bits) {
            layout->exact = false;
            slot->dropped = slot->bits - (room - layout->bits);
            slot->bits -= slot->dropped;
        }
        layout->count += slot->bits > 0;
        layout->bits += slot->bits;
        if (!layout->exact) {
            return;
        }
        goes_on = (found & SORT_KIND_MORE) != 0 ||
                  (gr_dtype_kind(sorter->keys[key].column->dtype) == GRANARY_DECIMAL && part == 0);
        key += goes_on ? 0 : 1;
        part = goes_on ? part + 1 : 0;
        if (layout->bits == room && key < sorter->count) {
            layout->exact = false;
            layout->next_key = key;
            layout->next_part = part;
            return;
        }
    }
}

/* ---- words ---- */

/* What a lane adds to the words of a block. */
static void
slot_numbers(const struct slot *slot, const int64_t *rows, int64_t from, size_t count, sort_word128 *numbers)
{
    uint64_t codes[SORT_BLOCK];
    uint8_t kinds[SORT_BLOCK];
    bool descending = slot->lane.key->descending;
    unsigned found = sort_encode(&slot->lane, rows, from, count, codes, kinds);

    for (size_t i = 0; i < count; i++) {
        numbers[i] = slot->first + (descending ? slot->most - codes[i] : codes[i] - slot->least);
    }
    for (size_t i = 0; (found & (SORT_KIND_NULL | SORT_KIND_NAN)) != 0 && i < count; i++) {
        if (kinds[i] != SORT_KIND_VALUE) {
            numbers[i] = kinds[i] == SORT_KIND_NULL ? slot->null : slot->nan;
        }
    }
}

/* The same where all numbers of a lane, and the word, have 64 bits at most. */
static void
slot_numbers64(const struct slot *slot, const int64_t *rows, int64_t from, size_t count, uint64_t *numbers)
{
    uint8_t kinds[SORT_BLOCK];
    uint64_t first = (uint64_t)slot->first;
    unsigned found = sort_encode(&slot->lane, rows, from, count, numbers, kinds);

    if (slot->lane.key->descending) {
        uint64_t top = slot->most + first;

        for (size_t i = 0; i < count; i++) {
            numbers[i] = top - numbers[i];
        }
    } else {
        uint64_t base = slot->least - first;

        for (size_t i = 0; i < count; i++) {
            numbers[i] -= base;
        }
    }
    for (size_t i = 0; (found & (SORT_KIND_NULL | SORT_KIND_NAN)) != 0 && i < count; i++) {
        if (kinds[i] != SORT_KIND_VALUE) {
            numbers[i] = (uint64_t)(kinds[i] == SORT_KIND_NULL ? slot->null : slot->nan);
        }
    }
}

#define WORD         uint64_t
#define WORDS(x)     x##64
#define SLOT_NUMBERS slot_numbers64
#include "kernel/sort/rows_body.h"
#undef WORD
#undef WORDS
#undef SLOT_NUMBERS

#define WORD         sort_word128
#define WORDS(x)     x##128
#define SLOT_NUMBERS slot_numbers
#include "kernel/sort/rows_body.h"
#undef WORD
#undef WORDS
#undef SLOT_NUMBERS

static granary_err
out_of_memory(size_t n)
{
    return gr_fail(GRANARY_ENOMEM, "sort: out of memory for %zu rows", n);
}

/* By comparing, which needs no layout: rows[0..n) with room for n / 2 in spare. */
static void
merge_ties(const struct sorter *sorter, size_t key, int64_t *rows, int64_t *spare, size_t n)
{
    const struct sort_key *keys = sorter->keys + key;
    size_t count = sorter->count - key;
    size_t half = n / 2;
    size_t left = 0;
    size_t right = half;

    if (n < 2) {
        return;
    }
    merge_ties(sorter, key, rows, spare, half);
    merge_ties(sorter, key, rows + half, spare, n - half);
    if (sort_compare(keys, rows[half - 1], keys, rows[half], count) <= 0) {
        return;
    }
    memcpy(spare, rows, half * sizeof *rows);
    for (size_t at = 0; left < half; at++) {
        if (right < n && sort_compare(keys, spare[left], keys, rows[right], count) > 0) {
            rows[at] = rows[right++];
        } else {
            rows[at] = spare[left++];
        }
    }
}

static granary_err
sort_ties(const struct sorter *sorter, size_t key, int64_t *rows, size_t n)
{
    int64_t few[TIES_MERGED];
    int64_t *spare = n <= TIES_MERGED ? few : scratch_alloc(n * sizeof *spare);

    if (spare == NULL) {
        return out_of_memory(n);
    }
    merge_ties(sorter, key, rows, spare, n);
    if (spare != few) {
        scratch_free(spare);
    }
    return GRANARY_OK;
}

/*
 * Rows by the keys from `key` on (a string: from part `part` on), of which they share what comes before.
 *
 * rows      to be sorted; whole: they are 0, 1, ..., and need not be written before
 * Errors    ENOMEM
 */
static granary_err
sort_range(const struct sorter *sorter, int64_t *rows, size_t n, bool whole, size_t key, unsigned part, int depth)
{
    unsigned row_bits = length_of(n - 1);
    struct layout *layout;
    void *words = NULL;
    uint8_t *ties = NULL; /* row i is equal to the one before */
    granary_err err = GRANARY_OK;

    if (!whole && (n <= TIES_MERGED || depth > DEPTH_MAX)) {
        return sort_ties(sorter, key, rows, n);
    }
    layout = malloc(sizeof *layout);
    if (layout == NULL) {
        return out_of_memory(n);
    }
    layout_plan(sorter, whole ? NULL : rows, n, key, part, 128 - row_bits, layout);
    if (!layout->exact) {
        ties = scratch_alloc(n);
    }
    words = scratch_alloc(2 * n * (layout->bits + row_bits <= 64 ? sizeof(uint64_t) : sizeof(sort_word128)));
    if (words == NULL || (!layout->exact && ties == NULL)) {
        err = out_of_memory(n);
    } else if (layout->bits + row_bits <= 64) {
        err = sort_packed64(layout, words, rows, n, whole, row_bits, ties);
    } else {
        err = sort_packed128(layout, words, rows, n, whole, row_bits, ties);
    }
    scratch_free(words);
    for (size_t from = 0, to; ties != NULL && err == GRANARY_OK && from < n; from = to) {
        for (to = from + 1; to < n && ties[to]; to++) {
        }
        if (to - from > 1) {
            err = sort_range(sorter, rows + from, to - from, false, layout->next_key, layout->next_part, depth + 1);
        }
    }
    scratch_free(ties);
    free(layout);
    return err;
}

/* ---- the first rows ---- */

/* Rows that may be among the first `limit` are collected, and cut back whenever the room is full. */
static granary_err
sort_first(const struct sorter *sorter, int64_t *rows, size_t room, int64_t count, size_t limit, size_t *ret_count)
{
    struct sort_lane lane = {.key = &sorter->keys[0], .ranks = sorter->ranks[0]};
    uint64_t ordinals[SORT_BLOCK];
    uint64_t worst = UINT64_MAX;
    size_t n = 0;
    granary_err err = GRANARY_OK;

    for (int64_t from = 0; from < count && err == GRANARY_OK; from += SORT_BLOCK) {
        size_t many = count - from < SORT_BLOCK ? (size_t)(count - from) : SORT_BLOCK;

        sort_ordinals(&lane, from, many, ordinals);
        for (size_t i = 0; i < many; i++) {
            rows[n] = from + (int64_t)i; /* overwritten by the next one unless it counts */
            n += ordinals[i] <= worst;
        }
        if (n + SORT_BLOCK > room) {
            err = sort_range(sorter, rows, n, false, 0, 0, 0);
            n = limit;
            if (err == GRANARY_OK && n > 0) {
                int64_t last = rows[n - 1];

                sort_ordinals(&lane, last, 1, &worst);
            } else {
                worst = 0;
            }
        }
    }
    if (err == GRANARY_OK) {
        err = sort_range(sorter, rows, n, false, 0, 0, 0);
    }
    *ret_count = n < limit ? n : limit;
    return err;
}

static void
sorter_fini(struct sorter *sorter)
{
    for (size_t i = 0; sorter->ranks != NULL && i < sorter->count; i++) {
        free(sorter->ranks[i]);
    }
    free(sorter->ranks);
}

static granary_err
sorter_init(const struct sort_key *keys, size_t count, int64_t rows, struct sorter *sorter)
{
    granary_err err = GRANARY_OK;

    *sorter = (struct sorter){.keys = keys, .count = count, .ranks = calloc(count + 1, sizeof *sorter->ranks)};
    if (sorter->ranks == NULL) {
        return out_of_memory((size_t)rows);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = sort_ranks(keys[i].column, rows, &sorter->ranks[i]);
    }
    if (err != GRANARY_OK) {
        sorter_fini(sorter);
    }
    return err;
}

granary_err
sort_rows(const struct sort_key *keys, size_t count, int64_t rows, int64_t limit, int64_t **ret_indices,
          int64_t *ret_count)
{
    bool cut = count > 0 && limit >= 0 && limit < rows / 4 && rows > LIMIT_SLACK;
    size_t room = cut ? (size_t)(2 * limit) + LIMIT_SLACK : (size_t)rows;
    size_t n = (size_t)rows;
    int64_t *indices = malloc((room + 1) * sizeof *indices);
    struct sorter sorter;
    granary_err err;

    if (indices == NULL) {
        return out_of_memory((size_t)rows);
    }
    err = sorter_init(keys, count, rows, &sorter);
    if (err != GRANARY_OK) {
        free(indices);
        return err;
    }
    if (cut) {
        err = sort_first(&sorter, indices, room, rows, (size_t)limit, &n);
    } else {
        if (count > 0 && n > 1) {
            err = sort_range(&sorter, indices, n, true, 0, 0, 0);
        } else {
            for (size_t i = 0; i < n; i++) {
                indices[i] = (int64_t)i;
            }
        }
        n = limit >= 0 && limit < rows ? (size_t)limit : n;
    }
    sorter_fini(&sorter);
    if (err != GRANARY_OK) {
        free(indices);
        return err;
    }
    *ret_indices = indices;
    *ret_count = (int64_t)n;
    return GRANARY_OK;
}

granary_err
sort_rows_of(const struct sort_key *keys, size_t count, int64_t *indices, int64_t rows)
{
    struct sorter sorter;
    granary_err err;

    if (rows < 2 || count == 0) {
        return GRANARY_OK;
    }
    err = sorter_init(keys, count, rows, &sorter);
    if (err == GRANARY_OK) {
        err = sort_range(&sorter, indices, (size_t)rows, false, 0, 0, 0);
        sorter_fini(&sorter);
    }
    return err;
}
