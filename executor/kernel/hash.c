#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "kernel/frame_call.h"
#include "kernel/hash.h"

enum { BLOCK = 1024, SLOTS_MIN = 64 };

/* Linear probing; at most half full. */
struct group_slot {
    uint32_t tag;   /* upper half of the hash */
    uint32_t group; /* GROUP_NONE: free */
};

/* What a lookup compares: known at compile time, so that the common cases have no inner loop. */
enum key_shape { ONE_WORD, ONE_TEXT, SEVERAL };

static uint64_t
word_of_double(double x)
{
    uint64_t word;

    if (isnan(x)) {
        return UINT64_C(0x7ff8000000000000);
    }
    x += 0.0; /* -0.0 becomes 0.0 */
    memcpy(&word, &x, sizeof word);
    return word;
}

static void
words_fill(const granary_column *column, uint64_t *words)
{
    for (int64_t i = 0; i < column->rows; i++) {
        switch (column->dtype) {
        case GRANARY_FLOAT64:
            words[i] = word_of_double(((const double *)column->values)[i]);
            break;
        case GRANARY_FLOAT32:
            words[i] = word_of_double((double)((const float *)column->values)[i]);
            break;
        case GRANARY_DATE:
        case GRANARY_INT32:
            words[i] = (uint64_t)(int64_t)((const int32_t *)column->values)[i];
            break;
        case GRANARY_BOOL:
            words[i] = gr_bit(column->values, i);
            break;
        default:
            words[i] = 0; /* a column of nulls */
            break;
        }
    }
}

granary_err
key_set_init(const granary_column *const *columns, size_t count, int64_t rows, struct key_set *ret_keys)
{
    struct key_set keys = {.rows = rows, .count = count};

    if (count == 0) {
        return gr_fail(GRANARY_EINVAL, "no key column is given");
    }
    if (rows >= (int64_t)GROUP_NONE) {
        return gr_fail(GRANARY_EFULL, "%lld rows are more than one chunk can hold: use smaller chunks",
                       (long long)rows);
    }
    for (size_t i = 0; i < count; i++) {
        granary_err err = column_is_known(columns[i], "a key");

        if (err != GRANARY_OK) {
            return err;
        }
    }
    keys.columns = calloc(count, sizeof *keys.columns);
    if (keys.columns == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory for %zu key columns", count);
    }
    for (size_t i = 0; i < count; i++) {
        struct key_column *key = &keys.columns[i];

        key->column = columns[i];
        if (columns[i]->dtype == GRANARY_STRING) {
            continue;
        }
        if (columns[i]->dtype == GRANARY_INT64 || columns[i]->dtype == GRANARY_TIMESTAMP) {
            key->words = columns[i]->values;
            continue;
        }
        key->owned_words = malloc((size_t)(rows > 0 ? rows : 1) * sizeof *key->owned_words);
        if (key->owned_words == NULL) {
            key_set_fini(&keys);
            return gr_fail(GRANARY_ENOMEM, "out of memory for the keys of %lld rows", (long long)rows);
        }
        words_fill(columns[i], key->owned_words);
        key->words = key->owned_words;
    }
    *ret_keys = keys;
    return GRANARY_OK;
}

void
key_set_fini(struct key_set *keys)
{
    for (size_t i = 0; keys->columns != NULL && i < keys->count; i++) {
        free(keys->columns[i].owned_words);
    }
    free(keys->columns);
    *keys = (struct key_set){0};
}

static inline const char *
key_text(const struct key_column *key, int64_t row, size_t *ret_size)
{
    const int32_t *offsets = key->column->offsets;

    *ret_size = (size_t)(offsets[row + 1] - offsets[row]);
    return (const char *)key->column->values + offsets[row];
}

static inline uint64_t
word_hash(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* Hashes of rows [from, from + n); present[i]: no key is null. */
static void
block_hash(const struct key_set *keys, int64_t from, int64_t n, uint64_t *hashes, bool *present)
{
    memset(hashes, 0, (size_t)n * sizeof *hashes);
    memset(present, true, (size_t)n * sizeof *present);
    for (size_t k = 0; k < keys->count; k++) {
        const struct key_column *key = &keys->columns[k];

        if (key->column->dtype == GRANARY_NULLTYPE) {
            memset(present, false, (size_t)n * sizeof *present);
        } else if (key->column->validity != NULL) {
            for (int64_t i = 0; i < n; i++) {
                present[i] &= gr_bit(key->column->validity, from + i);
            }
        }
        if (key->words != NULL) {
            for (int64_t i = 0; i < n; i++) {
                hashes[i] = word_hash(hashes[i] * 31 + key->words[from + i]);
            }
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            size_t size;
            const char *text = key_text(key, from + i, &size);

            hashes[i] = hashes[i] * 31 + XXH3_64bits(text, size);
        }
    }
}

static inline bool
key_equal(const struct key_column *a, int64_t row_a, const struct key_column *b, int64_t row_b)
{
    size_t size_a;
    size_t size_b;

    if (a->words != NULL) {
        return a->words[row_a] == b->words[row_b];
    }

    const char *text_a = key_text(a, row_a, &size_a);
    const char *text_b = key_text(b, row_b, &size_b);

    return size_a == size_b && (size_a == 0 || memcmp(text_a, text_b, size_a) == 0);
}

static inline __attribute__((always_inline)) bool
rows_equal(enum key_shape shape, const struct key_set *a, int64_t row_a, const struct key_set *b, int64_t row_b)
{
    if (shape == ONE_WORD) {
        return a->columns[0].words[row_a] == b->columns[0].words[row_b];
    }
    if (shape == ONE_TEXT) {
        return key_equal(&a->columns[0], row_a, &b->columns[0], row_b);
    }
    for (size_t k = 0; k < a->count; k++) {
        if (!key_equal(&a->columns[k], row_a, &b->columns[k], row_b)) {
            return false;
        }
    }
    return true;
}

static enum key_shape
shape_of(const struct key_set *keys)
{
    return keys->count > 1 ? SEVERAL : keys->columns[0].words != NULL ? ONE_WORD : ONE_TEXT;
}

/* The slot of a row's group, or the free one where it belongs. */
static inline __attribute__((always_inline)) struct group_slot *
slot_find(enum key_shape shape, const struct grouping *grouping, const struct key_set *keys, int64_t row, uint64_t hash)
{
    size_t mask = grouping->slot_count - 1;
    uint32_t tag = (uint32_t)(hash >> 32);

    for (size_t at = (size_t)hash & mask;; at = (at + 1) & mask) {
        struct group_slot *slot = &grouping->slots[at];

        if (slot->group == GROUP_NONE ||
            (slot->tag == tag && rows_equal(shape, grouping->keys, grouping->first_rows[slot->group], keys, row))) {
            return slot;
        }
    }
}

static bool
slots_resize(struct grouping *grouping, size_t count)
{
    struct group_slot *slots = malloc(count * sizeof *slots);

    if (slots == NULL) {
        return false;
    }
    memset(slots, 0xff, count * sizeof *slots);
    for (size_t group = 0; group < grouping->groups; group++) {
        size_t at = (size_t)grouping->hashes[group] & (count - 1);

        while (slots[at].group != GROUP_NONE) {
            at = (at + 1) & (count - 1);
        }
        slots[at] = (struct group_slot){(uint32_t)(grouping->hashes[group] >> 32), (uint32_t)group};
    }
    free(grouping->slots);
    grouping->slots = slots;
    grouping->slot_count = count;
    return true;
}

/* Room for `more` new groups without a check in between. */
static bool
groups_reserve(struct grouping *grouping, size_t more)
{
    size_t need = grouping->groups + more;
    size_t slot_count = grouping->slot_count;

    if (need > grouping->room) {
        size_t room = need > 2 * grouping->room ? need : 2 * grouping->room;
        int64_t *first_rows = realloc(grouping->first_rows, room * sizeof *first_rows);

        if (first_rows == NULL) {
            return false;
        }
        grouping->first_rows = first_rows;

        uint64_t *hashes = realloc(grouping->hashes, room * sizeof *hashes);

        if (hashes == NULL) {
            return false;
        }
        grouping->hashes = hashes;
        grouping->room = room;
    }
    while (slot_count < 2 * need) {
        slot_count = slot_count == 0 ? SLOTS_MIN : 2 * slot_count;
    }
    return slot_count == grouping->slot_count || slots_resize(grouping, slot_count);
}

static inline __attribute__((always_inline)) void
block_insert(enum key_shape shape, struct grouping *grouping, int64_t from, int64_t n, const uint64_t *hashes,
             const bool *present)
{
    for (int64_t i = 0; i < n; i++) {
        struct group_slot *slot;

        if (!present[i]) {
            grouping->ids[from + i] = GROUP_NONE;
            continue;
        }
        slot = slot_find(shape, grouping, grouping->keys, from + i, hashes[i]);
        if (slot->group == GROUP_NONE) {
            grouping->first_rows[grouping->groups] = from + i;
            grouping->hashes[grouping->groups] = hashes[i];
            *slot = (struct group_slot){(uint32_t)(hashes[i] >> 32), (uint32_t)grouping->groups++};
        }
        grouping->ids[from + i] = slot->group;
    }
}

granary_err
grouping_build(const struct key_set *keys, struct grouping *ret_grouping)
{
    struct grouping grouping = {.keys = keys};
    enum key_shape shape = shape_of(keys);
    uint64_t hashes[BLOCK];
    bool present[BLOCK];

    grouping.ids = malloc((size_t)(keys->rows > 0 ? keys->rows : 1) * sizeof *grouping.ids);
    if (grouping.ids == NULL || !groups_reserve(&grouping, 1)) {
        goto fail;
    }
    for (int64_t from = 0; from < keys->rows; from += BLOCK) {
        int64_t n = keys->rows - from < BLOCK ? keys->rows - from : BLOCK;

        if (!groups_reserve(&grouping, (size_t)n)) {
            goto fail;
        }
        block_hash(keys, from, n, hashes, present);
        if (shape == ONE_WORD) {
            block_insert(ONE_WORD, &grouping, from, n, hashes, present);
        } else if (shape == ONE_TEXT) {
            block_insert(ONE_TEXT, &grouping, from, n, hashes, present);
        } else {
            block_insert(SEVERAL, &grouping, from, n, hashes, present);
        }
    }
    *ret_grouping = grouping;
    return GRANARY_OK;

fail:
    grouping_fini(&grouping);
    return gr_fail(GRANARY_ENOMEM, "out of memory for the keys of %lld rows", (long long)keys->rows);
}

void
grouping_fini(struct grouping *grouping)
{
    free(grouping->ids);
    free(grouping->first_rows);
    free(grouping->hashes);
    free(grouping->slots);
    *grouping = (struct grouping){0};
}

static inline __attribute__((always_inline)) void
block_probe(enum key_shape shape, const struct grouping *grouping, const struct key_set *others, int64_t from,
            int64_t n, const uint64_t *hashes, const bool *present, uint32_t *ret_ids)
{
    for (int64_t i = 0; i < n; i++) {
        ret_ids[from + i] = present[i] ? slot_find(shape, grouping, others, from + i, hashes[i])->group : GROUP_NONE;
    }
}

void
grouping_probe(const struct grouping *grouping, const struct key_set *others, uint32_t *ret_ids)
{
    enum key_shape shape = shape_of(others);
    uint64_t hashes[BLOCK];
    bool present[BLOCK];

    for (int64_t from = 0; from < others->rows; from += BLOCK) {
        int64_t n = others->rows - from < BLOCK ? others->rows - from : BLOCK;

        block_hash(others, from, n, hashes, present);
        if (shape == ONE_WORD) {
            block_probe(ONE_WORD, grouping, others, from, n, hashes, present, ret_ids);
        } else if (shape == ONE_TEXT) {
            block_probe(ONE_TEXT, grouping, others, from, n, hashes, present, ret_ids);
        } else {
            block_probe(SEVERAL, grouping, others, from, n, hashes, present, ret_ids);
        }
    }
}
