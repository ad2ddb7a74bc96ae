/*
 * Dictionaries of column chunks. A column that is one stays one, without the entries that nobody uses. Others are
 * looked at value by value, until there are too many different ones. Values are equal when their bytes are: 0.0 is
 * not -0.0. Hashes are no secret, so a search that takes long ends the attempt instead.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "parquet/write/private.h"

#define ENTRIES_MOST ((uint32_t)1 << 16)
#define SLOTS        (ENTRIES_MOST * 2)
#define BYTES_MOST   ((size_t)8 << 20) /* of the dictionary's page */
#define STEPS_MOST   64                /* of a search */
#define LOOK_EVERY   ((int64_t)4096)
#define ENTRIES_FREE 1024 /* and a quarter of the values so far */

#define MIX UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t
mix(uint64_t a, uint64_t b)
{
    gr_uint128 product = (gr_uint128)(a ^ MIX) * (b ^ UINT64_C(0xd6e8feb86659fd93));

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t
hash_text(struct put_text text)
{
    uint64_t hash = text.size * MIX;
    uint64_t word = 0;
    size_t at = 0;

    for (; at + 8 <= text.size; at += 8) {
        memcpy(&word, text.bytes + at, 8);
        hash = mix(hash, word);
    }
    word = 0;
    if (at < text.size) {
        memcpy(&word, text.bytes + at, text.size - at);
    }
    return mix(hash, word);
}

struct value {
    uint64_t words[2];
    struct put_text text;
};

/* width is constant where this is called: 0 is text. */
static inline __attribute__((always_inline)) struct value
value_at(const struct put_dense *dense, size_t width, int64_t i)
{
    struct value value = {.words = {0, 0}};

    if (width == 0) {
        value.text = put_dense_text(dense, i);
    } else {
        memcpy(value.words, (const uint8_t *)dense->values + (size_t)i * width, width);
    }
    return value;
}

static inline __attribute__((always_inline)) bool
same_value(const struct value *a, const struct value *b, size_t width)
{
    if (width == 0) {
        return a->text.size == b->text.size &&
               (a->text.size == 0 || memcmp(a->text.bytes, b->text.bytes, a->text.size) == 0);
    }
    return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}

struct search {
    uint32_t *slots; /* entry + 1; 0: free */
    uint32_t count;
    size_t bytes;
};

/* All values, or until it does not pay. Returns whether it does. */
static inline __attribute__((always_inline)) bool
search_all(const struct put_dense *dense, size_t width, struct search *search, struct put_dictionary *dictionary)
{
    for (int64_t i = 0; i < dense->count; i++) {
        struct value value = value_at(dense, width, i);
        uint64_t hash = width == 0 ? hash_text(value.text) : mix(value.words[0], width == 16 ? value.words[1] : 0);
        uint32_t slot = (uint32_t)hash & (SLOTS - 1);
        int steps = 0;

        while (search->slots[slot] != 0) {
            struct value entry = value_at(dense, width, dictionary->firsts[search->slots[slot] - 1]);

            if (same_value(&entry, &value, width)) {
                break;
            }
            slot = (slot + 1) & (SLOTS - 1);
            if (++steps > STEPS_MOST) {
                return false;
            }
        }
        if (search->slots[slot] == 0) {
            search->bytes += width == 0 ? value.text.size + sizeof(uint32_t) : width;
            if (search->count == ENTRIES_MOST || search->bytes > BYTES_MOST) {
                return false;
            }
            dictionary->firsts[search->count] = (uint32_t)i;
            search->slots[slot] = ++search->count;
        }
        dictionary->codes[i] = search->slots[slot] - 1;
        if (i % LOOK_EVERY == LOOK_EVERY - 1 && search->count > ENTRIES_FREE + i / 4) {
            return false;
        }
    }
    return true;
}

static granary_err
search_values(const struct put_dense *dense, struct put_dictionary *dictionary, struct search *search, bool *ret_found)
{
    search->slots = calloc(SLOTS, sizeof *search->slots);
    dictionary->firsts = malloc(ENTRIES_MOST * sizeof *dictionary->firsts);
    if (search->slots == NULL || dictionary->firsts == NULL) {
        free(search->slots);
        return put_no_memory();
    }
    switch (put_width(dense->kind)) {
    case 4:
        *ret_found = search_all(dense, 4, search, dictionary);
        break;
    case 8:
        *ret_found = search_all(dense, 8, search, dictionary);
        break;
    case 16:
        *ret_found = search_all(dense, 16, search, dictionary);
        break;
    default:
        *ret_found = search_all(dense, 0, search, dictionary);
    }
    free(search->slots);
    return GRANARY_OK;
}

/* Codes that are there: entries in the order in which they are used. */
static granary_err
take_codes(const struct put_dense *dense, struct put_dictionary *dictionary, struct search *search)
{
    uint32_t *map = calloc((size_t)dense->text->rows + 1, sizeof *map);
    int64_t most = dense->text->rows < dense->count ? dense->text->rows : dense->count;

    dictionary->firsts = malloc((size_t)(most + 1) * sizeof *dictionary->firsts);
    if (map == NULL || dictionary->firsts == NULL) {
        free(map);
        return put_no_memory();
    }
    for (int64_t i = 0; i < dense->count; i++) {
        uint32_t *code = &map[dense->codes[i]];

        if (*code == 0) {
            dictionary->firsts[search->count] = (uint32_t)i;
            search->bytes += put_dense_text(dense, i).size + sizeof(uint32_t);
            *code = ++search->count;
        }
        dictionary->codes[i] = *code - 1;
    }
    free(map);
    return GRANARY_OK;
}

/* Bytes of the values without a dictionary. */
static size_t
plain_bytes(const struct put_dense *dense)
{
    size_t bytes = (size_t)dense->count * put_width(dense->kind);

    for (int64_t i = 0; put_is_text(dense->kind) && i < dense->count; i++) {
        bytes += put_dense_text(dense, i).size + sizeof(uint32_t);
    }
    return bytes;
}

granary_err
put_dictionary_make(const struct put_dense *dense, struct put_dictionary *ret_dictionary)
{
    struct search search = {.count = 0};
    bool found = true;
    granary_err err;

    *ret_dictionary = (struct put_dictionary){.count = 0};
    if (dense->kind == PUT_NULLS || dense->kind == PUT_BOOL || dense->count < 2) {
        return GRANARY_OK;
    }
    ret_dictionary->codes = malloc((size_t)dense->count * sizeof *ret_dictionary->codes);
    err = ret_dictionary->codes == NULL ? put_no_memory()
          : dense->encoded              ? take_codes(dense, ret_dictionary, &search)
                                        : search_values(dense, ret_dictionary, &search, &found);
    if (err == GRANARY_OK && found && search.count > 0 && search.bytes <= BYTES_MOST) {
        size_t bytes = search.bytes + (size_t)dense->count * put_bits_for(search.count - 1) / 8;

        ret_dictionary->count = bytes < plain_bytes(dense) / 5 * 4 ? search.count : 0;
    }
    if (err != GRANARY_OK || ret_dictionary->count == 0) {
        put_dictionary_free(ret_dictionary);
    }
    return err;
}

void
put_dictionary_free(struct put_dictionary *dictionary)
{
    free(dictionary->firsts);
    free(dictionary->codes);
    free(dictionary->ranks);
    *dictionary = (struct put_dictionary){.count = 0};
}

/* ---- the order of entries ---- */

struct ranked {
    struct put_text text;
    uint32_t entry;
};

static int
compare_ranked(const void *a, const void *b)
{
    const struct put_text *left = &((const struct ranked *)a)->text;
    const struct put_text *right = &((const struct ranked *)b)->text;
    size_t size = left->size < right->size ? left->size : right->size;
    int order = size == 0 ? 0 : memcmp(left->bytes, right->bytes, size);

    return order != 0 ? order : (left->size > right->size) - (left->size < right->size);
}

granary_err
put_dictionary_rank(const struct put_dense *dense, struct put_dictionary *dictionary)
{
    struct ranked *entries = malloc(dictionary->count * sizeof *entries);

    dictionary->ranks = malloc(2 * dictionary->count * sizeof *dictionary->ranks);
    if (entries == NULL || dictionary->ranks == NULL) {
        free(entries);
        return put_no_memory();
    }
    dictionary->ranked = dictionary->ranks + dictionary->count;
    for (uint32_t i = 0; i < dictionary->count; i++) {
        entries[i] = (struct ranked){.text = put_dense_text(dense, dictionary->firsts[i]), .entry = i};
    }
    qsort(entries, dictionary->count, sizeof *entries, compare_ranked);
    for (uint32_t i = 0; i < dictionary->count; i++) {
        dictionary->ranks[entries[i].entry] = i;
        dictionary->ranked[i] = entries[i].entry;
    }
    free(entries);
    return GRANARY_OK;
}
