/*
 * Open addressing with linear probing in a table that is at most half full (Knuth, The Art of Computer Programming,
 * 6.4). The slot of a text follows from the lower half of its hash (XXH3), and keeps the upper one: bytes are looked at
 * where these agree, which is hardly ever for another text.
 */
#include "data/texts.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

enum { SLOTS_MIN = 64, ROOM_MIN = 32, BYTES_MIN = 1024, SLOTS_FAR = 4096 /* more are not in the nearest caches */ };

uint64_t
gr_text_hash(const char *text, size_t size)
{
    return XXH3_64bits(text, size);
}

void
gr_texts_free(struct gr_texts *texts)
{
    free(texts->offsets);
    free(texts->bytes);
    free(texts->slots);
    *texts = (struct gr_texts){0};
}

/* As memcmp() tells, without a call for the short ones, which most are: two words that may overlap cover them. */
static inline __attribute__((always_inline)) bool
bytes_same(const char *a, const char *b, size_t size)
{
    uint64_t words[4];
    uint32_t halves[4];

    if (size - 8 <= 8) {
        memcpy(&words[0], a, 8);
        memcpy(&words[1], b, 8);
        memcpy(&words[2], a + size - 8, 8);
        memcpy(&words[3], b + size - 8, 8);
        return ((words[0] ^ words[1]) | (words[2] ^ words[3])) == 0;
    }
    if (size - 4 < 4) {
        memcpy(&halves[0], a, 4);
        memcpy(&halves[1], b, 4);
        memcpy(&halves[2], a + size - 4, 4);
        memcpy(&halves[3], b + size - 4, 4);
        return ((halves[0] ^ halves[1]) | (halves[2] ^ halves[3])) == 0;
    }
    return size == 0 || memcmp(a, b, size) == 0;
}

/* Where a text is, or the free slot where it would go. There is a free one. */
static inline __attribute__((always_inline)) struct gr_text_slot *
texts_slot(const struct gr_texts *texts, const char *text, size_t size, uint64_t hash)
{
    uint64_t mask = texts->slot_count - 1;
    uint64_t at = hash & mask;

    for (;; at = (at + 1) & mask) {
        struct gr_text_slot slot = texts->slots[at];

        if (slot.number == 0) {
            break;
        }
        if (slot.tag == (uint32_t)(hash >> 32)) {
            size_t other_size;
            const char *other = gr_texts_at(texts, slot.number - 1, &other_size);

            if (other_size == size && bytes_same(other, text, size)) {
                break;
            }
        }
    }
    return &texts->slots[at];
}

static bool
slots_rehash(struct gr_texts *texts, uint64_t count)
{
    struct gr_text_slot *slots = calloc(count, sizeof *slots);

    if (slots == NULL) {
        return false;
    }
    for (uint64_t number = 0; number < texts->count; number++) {
        size_t size;
        const char *text = gr_texts_at(texts, number, &size);
        uint64_t hash = gr_text_hash(text, size);
        uint64_t at = hash & (count - 1);

        while (slots[at].number != 0) {
            at = (at + 1) & (count - 1);
        }
        slots[at] = (struct gr_text_slot){(uint32_t)(hash >> 32), (uint32_t)number + 1};
    }
    free(texts->slots);
    texts->slots = slots;
    texts->slot_count = count;
    return true;
}

/* Room for so many texts, bytes and slots in all. */
static granary_err
texts_grow(struct gr_texts *texts, uint64_t count, uint64_t bytes, uint64_t slots)
{
    uint64_t slot_count = texts->slot_count == 0 ? SLOTS_MIN : texts->slot_count;
    bool ok = true;

    if (count > texts->room || texts->offsets == NULL) {
        uint64_t *offsets = realloc(texts->offsets, (count + 1) * sizeof *offsets);

        ok = offsets != NULL;
        if (ok) {
            offsets[0] = 0;
            texts->offsets = offsets;
            texts->room = count;
        }
    }
    if (ok && (bytes > texts->bytes_room || texts->bytes == NULL)) {
        char *grown = realloc(texts->bytes, bytes + 1);

        ok = grown != NULL;
        texts->bytes = ok ? grown : texts->bytes;
        texts->bytes_room = ok ? bytes : texts->bytes_room;
    }
    while (slot_count < slots) {
        slot_count *= 2;
    }
    ok = ok && (slot_count == texts->slot_count || slots_rehash(texts, slot_count));
    return ok ? GRANARY_OK
              : gr_fail(GRANARY_ENOMEM, "out of memory for %llu different strings", (unsigned long long)count);
}

granary_err
gr_texts_reserve(struct gr_texts *texts, uint64_t count, uint64_t bytes)
{
    count += texts->count;
    return texts_grow(texts, count, gr_texts_bytes(texts) + bytes, 2 * count);
}

/* Room for one more: twice as much of what is used up. */
static granary_err
texts_make_room(struct gr_texts *texts, size_t size)
{
    uint64_t used = gr_texts_bytes(texts);
    uint64_t count = texts->count < texts->room ? texts->room : 2 * texts->count + ROOM_MIN;
    uint64_t bytes = size <= texts->bytes_room - used ? texts->bytes_room : 2 * (used + size) + BYTES_MIN;

    return texts->count >= GR_TEXTS_NONE - 1
               ? gr_fail(GRANARY_EFULL, "more than %u different strings", GR_TEXTS_NONE - 1)
               : texts_grow(texts, count, bytes, 2 * (texts->count + 1));
}

static inline granary_err
texts_put(struct gr_texts *texts, const char *text, size_t size, uint64_t hash, uint32_t *ret_number)
{
    struct gr_text_slot *slot;
    uint64_t used;
    granary_err err;

    if (2 * (texts->count + 1) > texts->slot_count && (err = texts_make_room(texts, size)) != GRANARY_OK) {
        return err;
    }
    slot = texts_slot(texts, text, size, hash);
    if (slot->number != 0) {
        *ret_number = slot->number - 1;
        return GRANARY_OK;
    }
    used = gr_texts_bytes(texts);
    if ((texts->count == texts->room || size > texts->bytes_room - used) &&
        (err = texts_make_room(texts, size)) != GRANARY_OK) {
        return err;
    }
    if (size > 0) {
        memcpy(texts->bytes + used, text, size);
    }
    texts->offsets[texts->count + 1] = used + size;
    *ret_number = (uint32_t)texts->count++;
    *slot = (struct gr_text_slot){(uint32_t)(hash >> 32), (uint32_t)texts->count};
    return GRANARY_OK;
}

granary_err
gr_texts_add(struct gr_texts *texts, const char *text, size_t size, uint32_t *ret_number)
{
    return texts_put(texts, text, size, gr_text_hash(text, size), ret_number);
}

/* Lines of memory on the way to each text, one step for all of them before the next. A call of a function that does
 * nothing else would be left out, so it must be inlined. */
static inline __attribute__((always_inline)) void
texts_fetch(const struct gr_texts *texts, const uint64_t *hashes, size_t count)
{
    uint64_t mask = texts->slot_count - 1;

    for (size_t i = 0; i < count; i++) {
        __builtin_prefetch(&texts->slots[hashes[i] & mask]);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t number = texts->slots[hashes[i] & mask].number;

        __builtin_prefetch(&texts->offsets[number > 0 ? number - 1 : 0]);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t number = texts->slots[hashes[i] & mask].number;

        __builtin_prefetch(texts->bytes + texts->offsets[number > 0 ? number - 1 : 0]);
    }
}

granary_err
gr_texts_add_block(struct gr_texts *texts, const struct gr_text *added, size_t count, uint32_t *ret_numbers)
{
    uint64_t hashes[GR_TEXTS_BLOCK];
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count; i++) {
        hashes[i] = gr_text_hash(added[i].bytes, added[i].size);
    }
    if (texts->slot_count > SLOTS_FAR) {
        texts_fetch(texts, hashes, count);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = texts_put(texts, added[i].bytes, added[i].size, hashes[i], &ret_numbers[i]);
    }
    return err;
}

uint32_t
gr_texts_find(const struct gr_texts *texts, const char *text, size_t size)
{
    return texts->slot_count == 0 ? GR_TEXTS_NONE : texts_slot(texts, text, size, gr_text_hash(text, size))->number - 1;
}

granary_err
gr_texts_add_column(struct gr_texts *texts, const granary_column *column, uint32_t **ret_numbers)
{
    uint32_t *numbers = malloc(((size_t)column->rows + 1) * sizeof *numbers);
    granary_err err = numbers != NULL ? GRANARY_OK
                                      : gr_fail(GRANARY_ENOMEM, "out of memory for the numbers of %lld strings",
                                                (long long)column->rows);

    for (int64_t i = 0; i < column->rows && err == GRANARY_OK; i += GR_TEXTS_BLOCK) {
        struct gr_text block[GR_TEXTS_BLOCK];
        int64_t count = column->rows - i < GR_TEXTS_BLOCK ? column->rows - i : GR_TEXTS_BLOCK;

        for (int64_t k = 0; k < count; k++) {
            block[k].bytes = gr_text_at(column, i + k, &block[k].size);
        }
        err = gr_texts_add_block(texts, block, (size_t)count, &numbers[i]);
    }
    if (err != GRANARY_OK) {
        free(numbers);
        return err;
    }
    *ret_numbers = numbers;
    return GRANARY_OK;
}

granary_err
gr_texts_column(const struct gr_texts *texts, granary_dtype dtype, struct gr_column *ret_column)
{
    uint64_t bytes = gr_texts_bytes(texts);
    struct gr_column column;
    granary_err err = gr_column_alloc_unset(dtype, (int64_t)texts->count, (int64_t)bytes, false, &column);

    if (err != GRANARY_OK) {
        return err;
    }
    ((int32_t *)(uintptr_t)column.view.offsets)[0] = 0;
    for (uint64_t i = 1; i <= texts->count; i++) {
        ((int32_t *)(uintptr_t)column.view.offsets)[i] = (int32_t)texts->offsets[i];
    }
    if (bytes > 0) {
        memcpy((char *)(uintptr_t)column.view.values, texts->bytes, bytes);
    }
    *ret_column = column;
    return GRANARY_OK;
}
