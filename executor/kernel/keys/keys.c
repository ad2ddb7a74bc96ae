/*
 * Direct numbers are sums of codes times strides. Packed keys are looked up in a table with linear probing, at most
 * half full, whose lines are fetched for the whole block before they are read; a slot has half of the hash, so that
 * keys are compared where they are most likely equal.
 */
#include "kernel/keys/keys.h"
#include "contract/int128.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/words.h"
#include "kernel/keys/keys_parts.h"
#include "kernel/simd/group_loops.h"

static granary_err
text_codes(struct key_part *part, const struct rows_vector *vector, int64_t n, uint64_t *codes)
{
    const struct rows_text *texts = vector->values;
    granary_err err = GRANARY_OK;

    for (int64_t i = 0; i < n && err == GRANARY_OK;) {
        struct gr_text block[GR_TEXTS_BLOCK];
        uint32_t numbers[GR_TEXTS_BLOCK];
        int64_t rows[GR_TEXTS_BLOCK];
        size_t count = 0;

        for (; i < n && count < GR_TEXTS_BLOCK; i++) {
            codes[i] = 0;
            rows[count] = i;
            block[count] = (struct gr_text){texts[i].bytes, texts[i].size};
            count += vector->valid == NULL || vector->valid[i];
        }
        err = gr_texts_add_block(&part->texts, block, count, numbers);
        for (size_t k = 0; k < count && err == GRANARY_OK; k++) {
            codes[rows[k]] = numbers[k];
        }
    }
    return err;
}

/* What stands for the values of a key: keys->codes, and keys->high for the
 * upper halves of wide ones. Under nulls: anything that fits. */
static granary_err
block_codes(struct group_keys *keys, size_t source, size_t k, int64_t n)
{
    struct key_part *part = &keys->parts[k];
    const struct rows_vector *vector = key_vector(keys, source, k);
    uint64_t *codes = keys->codes;

    switch (vector->class) {
    case ROWS_NULL:
    case ROWS_LIST: /* no graph has such keys */
        memset(codes, 0, (size_t)n * sizeof *codes);
        break;
    case ROWS_BOOL:
        for (int64_t i = 0; i < n; i++) {
            codes[i] = ((const uint8_t *)vector->values)[i];
        }
        break;
    case ROWS_INT:
        for (int64_t i = 0; i < n; i++) {
            codes[i] = (uint64_t)((const int64_t *)vector->values)[i] - (uint64_t)part->least;
        }
        for (int64_t i = 0; part->form == PART_WIDE && i < n; i++) {
            keys->high[i] = (uint64_t)(((const int64_t *)vector->values)[i] >> 63);
        }
        break;
    case ROWS_WIDE:
        for (int64_t i = 0; i < n; i++) {
            codes[i] = (uint64_t)((const gr_int128 *)vector->values)[i];
            keys->high[i] = (uint64_t)(((const gr_int128 *)vector->values)[i] >> 64);
        }
        break;
    case ROWS_DOUBLE:
        for (int64_t i = 0; i < n; i++) {
            codes[i] = word_of_double(((const double *)vector->values)[i]);
        }
        break;
    case ROWS_CODE:
        if (part->maps != NULL) {
            const uint32_t *map = part->maps[source];

            for (int64_t i = 0; i < n; i++) {
                codes[i] = map[((const int32_t *)vector->values)[i]];
            }
        } else {
            for (int64_t i = 0; i < n; i++) {
                codes[i] = (uint32_t)((const int32_t *)vector->values)[i];
            }
        }
        break;
    case ROWS_TEXT:
        return text_codes(part, vector, n, codes);
    }
    return GRANARY_OK;
}

/* Rows with a null: dropped, or given the code of null. Wide forms get zero,
 * and their bit elsewhere. */
static void
block_nulls(struct group_keys *keys, size_t source, size_t k, int64_t n)
{
    const struct key_part *part = &keys->parts[k];
    const struct rows_vector *vector = key_vector(keys, source, k);
    uint64_t null_code = part->form == PART_CODES && part->has_null ? part->size - 1 : 0;

    if (vector->class == ROWS_NULL) {
        for (int64_t i = 0; i < n; i++) {
            keys->codes[i] = null_code;
            keys->drop[i] |= !part->has_null;
        }
    } else if (vector->valid != NULL) {
        for (int64_t i = 0; i < n; i++) {
            bool there = vector->valid[i] != 0;

            keys->codes[i] = there ? keys->codes[i] : null_code;
            keys->high[i] = there ? keys->high[i] : 0;
            keys->drop[i] |= !there & !part->has_null;
        }
    }
}

/* Numbers of codes and integers as they lie. false: key k is of another kind,
 * or has nulls in this block. */
static bool
add_numbers(const struct group_keys *keys, size_t source, size_t k, int64_t n, uint32_t *ids)
{
    const struct key_part *part = &keys->parts[k];
    const struct rows_vector *vector = key_vector(keys, source, k);

    if (vector->valid != NULL) {
        return false;
    }
    if (vector->class == ROWS_CODE && part->maps == NULL) {
        SIMD_CALL(group_add_codes)(vector->values, part->stride, ids, n);
        return true;
    }
    if (vector->class == ROWS_INT) {
        SIMD_CALL(group_add_ints)
        (vector->values, part->least, part->stride, ids, n);
        return true;
    }
    return false;
}

static granary_err
find_direct(struct group_keys *keys, size_t source, int64_t n, uint32_t *ids)
{
    bool dropped = false;

    for (int64_t i = 0; i < n; i++) {
        ids[i] = 1;
    }
    for (size_t k = 0; k < keys->count; k++) {
        uint32_t stride = keys->parts[k].stride;
        granary_err err;

        if (add_numbers(keys, source, k, n, ids)) {
            continue;
        }
        err = block_codes(keys, source, k, n);
        if (err != GRANARY_OK) {
            return err;
        }
        block_nulls(keys, source, k, n);
        dropped = true;
        for (int64_t i = 0; i < n; i++) {
            ids[i] += (uint32_t)keys->codes[i] * stride;
        }
    }
    for (int64_t i = 0; dropped && i < n; i++) {
        ids[i] = keys->drop[i] ? GROUP_NONE_ID : ids[i];
    }
    return GRANARY_OK;
}

static granary_err
keys_pack(struct group_keys *keys, size_t source, int64_t n)
{
    memset(keys->packed, 0, keys->words * ROWS_BLOCK * sizeof *keys->packed);
    for (size_t k = 0; k < keys->count; k++) {
        const struct key_part *part = &keys->parts[k];
        uint64_t *words = keys->packed + (size_t)part->word * ROWS_BLOCK;
        granary_err err = block_codes(keys, source, k, n);

        if (err != GRANARY_OK) {
            return err;
        }
        block_nulls(keys, source, k, n);
        for (int64_t i = 0; i < n; i++) {
            words[i] |= keys->codes[i] << part->shift;
        }
        if (part->form == PART_WIDE) {
            memcpy(words + ROWS_BLOCK, keys->high, (size_t)n * sizeof *words);
        }
        if (part->form != PART_CODES && part->has_null) {
            const struct rows_vector *vector = key_vector(keys, source, k);

            words = keys->packed + (size_t)part->null_word * ROWS_BLOCK;
            for (int64_t i = 0; i < n && (vector->class == ROWS_NULL || vector->valid != NULL); i++) {
                uint64_t null = vector->class == ROWS_NULL || !vector->valid[i];

                words[i] |= null << part->null_shift;
            }
        }
    }
    return GRANARY_OK;
}

static granary_err
slots_grow(struct group_keys *keys)
{
    uint32_t count = keys->slot_count * 4;
    struct key_slot *slots = count == 0 ? NULL : calloc(count, sizeof *slots);

    if (slots == NULL) {
        return gr_no_memory("keys");
    }
    for (uint32_t id = 1; id < keys->room; id++) {
        uint64_t hash = 0;
        uint32_t at;

        for (unsigned w = 0; w < keys->words; w++) {
            hash = word_mix(hash ^ keys->values[(size_t)id * keys->words + w]);
        }
        for (at = (uint32_t)hash & (count - 1); slots[at].id != 0;) {
            at = (at + 1) & (count - 1);
        }
        slots[at] = (struct key_slot){.tag = (uint32_t)(hash >> 32), .id = id};
    }
    free(keys->slots);
    keys->slots = slots;
    keys->slot_count = count;
    return GRANARY_OK;
}

/* Room for a whole block of new keys. */
static granary_err
keys_grow(struct group_keys *keys)
{
    if (keys->room > UINT32_MAX / 4) {
        return gr_fail(GRANARY_EFULL, "%u groups are more than one chunk can hold: use smaller chunks", keys->room);
    }
    if (keys->values_room < keys->room + ROWS_BLOCK) {
        uint32_t room = keys->values_room * 2 + ROWS_BLOCK;
        uint64_t *values = realloc(keys->values, (size_t)room * keys->words * sizeof *values);

        if (values == NULL) {
            return gr_no_memory("keys");
        }
        keys->values = values;
        keys->values_room = room;
    }
    while (!keys->in_order && keys->slot_count / 2 < keys->room + ROWS_BLOCK) {
        granary_err err = slots_grow(keys);

        if (err != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

static inline bool
key_equal(const uint64_t *value, const uint64_t *packed, unsigned words)
{
    for (unsigned w = 0; w < words; w++) {
        if (value[w] != packed[(size_t)w * ROWS_BLOCK]) {
            return false;
        }
    }
    return true;
}

/* words: known at compile time where it is one. */
static inline __attribute__((always_inline)) void
look_up(struct group_keys *keys, int64_t n, unsigned words, uint32_t *ids)
{
    struct key_slot *slots = keys->slots;
    uint32_t mask = keys->slot_count - 1;
    uint32_t room = keys->room;

    for (int64_t i = 0; i < n; i++) {
        uint64_t hash = 0;

        for (unsigned w = 0; w < words; w++) {
            hash = word_mix(hash ^ keys->packed[(size_t)w * ROWS_BLOCK + (size_t)i]);
        }
        keys->hashes[i] = hash;
        __builtin_prefetch(&slots[hash & mask], 1);
    }
    for (int64_t i = 0; i < n; i++) {
        uint32_t id = slots[keys->hashes[i] & mask].id;

        __builtin_prefetch(&keys->values[(size_t)id * words]);
    }
    for (int64_t i = 0; i < n; i++) {
        const uint64_t *packed = keys->packed + i;
        uint32_t tag = (uint32_t)(keys->hashes[i] >> 32);
        uint32_t at = (uint32_t)keys->hashes[i] & mask;

        if (keys->drop[i]) {
            ids[i] = GROUP_NONE_ID;
            continue;
        }
        while (slots[at].id != 0 &&
               (slots[at].tag != tag || !key_equal(&keys->values[(size_t)slots[at].id * words], packed, words))) {
            at = (at + 1) & mask;
        }
        if (slots[at].id == 0) {
            for (unsigned w = 0; w < words; w++) {
                keys->values[(size_t)room * words + w] = packed[(size_t)w * ROWS_BLOCK];
            }
            slots[at] = (struct key_slot){.tag = tag, .id = room++};
        }
        ids[i] = slots[at].id;
    }
    keys->room = room;
}

/* Texts are numbered as they come, and so are groups. Behind the null, if it is one, there is one more. */
static void
find_in_order(struct group_keys *keys, int64_t n, uint32_t *ids)
{
    const struct key_part *part = &keys->parts[0];
    uint32_t room = keys->room;

    for (int64_t i = 0; i < n; i++) {
        uint64_t code = keys->packed[i];

        if (keys->drop[i]) {
            ids[i] = GROUP_NONE_ID;
            continue;
        }
        if (part->has_null && code == part->size - 1) {
            keys->null_id = keys->null_id == 0 ? room : keys->null_id;
            ids[i] = keys->null_id;
        } else {
            ids[i] = (uint32_t)code + 1;
            ids[i] += keys->null_id != 0 && ids[i] >= keys->null_id;
        }
        if (ids[i] == room) {
            keys->values[room++] = code;
        }
    }
    keys->room = room;
}

granary_err
group_keys_find(struct group_keys *keys, size_t source, int64_t count, uint32_t *ret_ids)
{
    granary_err err;

    memset(keys->drop, 0, (size_t)count);
    if (keys->direct) {
        return find_direct(keys, source, count, ret_ids);
    }
    err = keys_pack(keys, source, count);
    if (err == GRANARY_OK) {
        err = keys_grow(keys);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (keys->in_order) {
        find_in_order(keys, count, ret_ids);
    } else if (keys->words == 1) {
        look_up(keys, count, 1, ret_ids);
    } else {
        look_up(keys, count, keys->words, ret_ids);
    }
    return GRANARY_OK;
}
