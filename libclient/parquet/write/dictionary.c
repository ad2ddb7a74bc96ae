/*
 * Dictionaries of column chunks. A column that is one stays one, without the entries that nobody uses. Others are
 * looked at value by value, until there are too many different ones. Values are equal when their bytes are: 0.0 is
 * not -0.0. Hashes are no secret, so a search that takes long ends the attempt instead.
 *
 * Whoever groups by a text, or joins by it, works on its codes. So a text has a dictionary of up to a million entries.
 * Numbers are worked on as they are, and a large dictionary of them takes longer to read than it saves.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "parquet/write/private.h"

#define SLOTS_FIRST  ((uint32_t)1 << 12)
#define NUMBERS_MOST ((uint32_t)1 << 16) /* entries */
#define TEXTS_MOST   ((uint32_t)1 << 20)
#define BYTES_MOST   ((size_t)16 << 20) /* of the dictionary's page */
#define STEPS_MOST   64                 /* of a search */
#define LOOK_EVERY   ((int64_t)8192)

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
    uint32_t *slots; /* entry + 1; 0: free. Twice as many as there is room for entries */
    uint32_t slot_count;
    uint32_t room;
    uint32_t most;
    uint32_t count;
    size_t bytes;
};

static inline __attribute__((always_inline)) uint64_t
hash_value(const struct value *value, size_t width)
{
    return width == 0 ? hash_text(value->text) : mix(value->words[0], width == 16 ? value->words[1] : 0);
}

/* Room for twice as many entries. */
static granary_err
search_grow(const struct put_dense *dense, size_t width, struct search *search, struct put_dictionary *dictionary)
{
    uint32_t slot_count = search->slot_count == 0 ? SLOTS_FIRST : search->slot_count * 2;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    uint32_t *firsts = realloc(dictionary->firsts, slot_count / 2 * sizeof *firsts);

    dictionary->firsts = firsts != NULL ? firsts : dictionary->firsts;
    if (slots == NULL || firsts == NULL) {
        free(slots);
        return put_no_memory();
    }
    for (uint32_t i = 0; i < search->count; i++) {
        struct value value = value_at(dense, width, firsts[i]);
        uint32_t slot = (uint32_t)hash_value(&value, width) & (slot_count - 1);

        while (slots[slot] != 0) {
            slot = (slot + 1) & (slot_count - 1);
        }
        slots[slot] = i + 1;
    }
    free(search->slots);
    search->slots = slots;
    search->slot_count = slot_count;
    search->room = slot_count / 2;
    return GRANARY_OK;
}

/*
 * Whether the values so far promise a dictionary of few entries. Of n values drawn from D, n * n / 2 D were there
 * before (the birthday problem), as long as that is few; what repeats more is fine without a guess.
 */
static bool
promises(const struct search *search, int64_t seen, int64_t all)
{
    int64_t again = seen - (int64_t)search->count;
    double different;

    if (again > seen / 4) {
        return true;
    }
    different = again < 16 ? (double)seen * (double)seen : (double)seen * (double)seen / 2 / (double)again;
    return search->most > NUMBERS_MOST && different < (double)search->most && different < (double)all / 3;
}

/* All values, or until it does not pay. Returns whether it does. */
static inline __attribute__((always_inline)) granary_err
search_all(const struct put_dense *dense, size_t width, struct search *search, struct put_dictionary *dictionary,
           bool *ret_found)
{
    *ret_found = false;
    for (int64_t i = 0; i < dense->count; i++) {
        struct value value = value_at(dense, width, i);
        uint64_t hash = hash_value(&value, width);
        uint32_t slot = (uint32_t)hash & (search->slot_count - 1);
        int steps = 0;

        while (search->slots[slot] != 0) {
            struct value entry = value_at(dense, width, dictionary->firsts[search->slots[slot] - 1]);

            if (same_value(&entry, &value, width)) {
                break;
            }
            slot = (slot + 1) & (search->slot_count - 1);
            if (++steps > STEPS_MOST) {
                return GRANARY_OK;
            }
        }
        if (search->slots[slot] == 0) {
            search->bytes += width == 0 ? value.text.size + sizeof(uint32_t) : width;
            if (search->count == search->most || search->bytes > BYTES_MOST) {
                return GRANARY_OK;
            }
            dictionary->firsts[search->count] = (uint32_t)i;
            search->slots[slot] = ++search->count;
            dictionary->codes[i] = search->count - 1;
            if (search->count == search->room) {
                granary_err err = search_grow(dense, width, search, dictionary);

                if (err != GRANARY_OK) {
                    return err;
                }
            }
        } else {
            dictionary->codes[i] = search->slots[slot] - 1;
        }
        if (i % LOOK_EVERY == LOOK_EVERY - 1 && !promises(search, i + 1, dense->count)) {
            return GRANARY_OK;
        }
    }
    *ret_found = true;
    return GRANARY_OK;
}

static granary_err
search_values(const struct put_dense *dense, struct put_dictionary *dictionary, struct search *search, bool *ret_found)
{
    granary_err err = search_grow(dense, 0, search, dictionary);

    search->most = put_is_text(dense->kind) ? TEXTS_MOST : NUMBERS_MOST;
    if (err != GRANARY_OK) {
        return err;
    }
    switch (put_width(dense->kind)) {
    case 4:
        err = search_all(dense, 4, search, dictionary, ret_found);
        break;
    case 8:
        err = search_all(dense, 8, search, dictionary, ret_found);
        break;
    case 16:
        err = search_all(dense, 16, search, dictionary, ret_found);
        break;
    default:
        err = search_all(dense, 0, search, dictionary, ret_found);
    }
    free(search->slots);
    return err;
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
