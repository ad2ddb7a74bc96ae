/* The keys of groups, as columns and as hashes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/keys/hashes.h"
#include "kernel/keys/keys_parts.h"

/* The bits of key k of a number; false: it is null. */
static bool
key_bits(const struct group_keys *keys, size_t k, uint32_t id, uint64_t *ret_low, uint64_t *ret_high)
{
    const struct key_part *part = &keys->parts[k];
    const uint64_t *value = keys->values + (size_t)id * keys->words;
    bool null;

    *ret_high = 0;
    if (keys->direct) {
        *ret_low = (id - 1) / part->stride % part->size;
    } else {
        *ret_low = value[part->word] >> part->shift;
        *ret_low &= part->bits < 64 ? (UINT64_C(1) << part->bits) - 1 : UINT64_MAX;
        *ret_high = part->form == PART_WIDE ? value[part->word + 1] : 0;
    }
    if (part->form == PART_CODES) {
        null = part->has_null && *ret_low == part->size - 1;
        *ret_low += (uint64_t)part->least;
    } else {
        null = part->has_null && (value[part->null_word] >> part->null_shift & 1) != 0;
    }
    return !null;
}

static const char *
text_of(const struct key_part *part, uint64_t code, size_t *ret_size)
{
    if (part->dictionary != NULL) {
        int32_t begin = part->dictionary->offsets[code];

        *ret_size = (size_t)(part->dictionary->offsets[code + 1] - begin);
        return (const char *)part->dictionary->values + begin;
    }
    return gr_texts_at(&part->texts, (uint32_t)code, ret_size);
}

/* All texts of a key, for a dictionary. */
static granary_err
text_entries(const struct key_part *part, struct gr_dictionary **ret_dictionary)
{
    struct gr_column entries;
    granary_err err;

    if (part->dictionary != NULL) {
        return gr_dictionary_keep(part->dictionary, ret_dictionary);
    }
    err = gr_texts_column(&part->texts, part->dtype, &entries);
    return err == GRANARY_OK ? gr_dictionary_create(&entries, ret_dictionary) : err;
}

/* Strings as codes, where there are many groups for each text. */
static granary_err
code_column(const struct group_keys *keys, size_t k, const uint32_t *ids, int64_t count, struct gr_column *ret_column)
{
    struct gr_dictionary *dictionary = NULL;
    struct gr_column column;
    granary_err err = gr_column_alloc(GRANARY_INT32, count, 0, true, &column);

    if (err == GRANARY_OK) {
        err = text_entries(&keys->parts[k], &dictionary);
        if (err != GRANARY_OK) {
            gr_column_free(&column);
        }
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t low;
        uint64_t high;

        if (key_bits(keys, k, ids[i], &low, &high)) {
            ((int32_t *)(uintptr_t)column.view.values)[i] = (int32_t)low;
            gr_bit_set((uint8_t *)(uintptr_t)column.view.validity, i);
        }
    }
    gr_column_finish(&column);
    gr_column_set_dictionary(&column, dictionary);
    *ret_column = column;
    return GRANARY_OK;
}

static granary_err
text_column(const struct group_keys *keys, size_t k, const uint32_t *ids, int64_t count, struct gr_column *ret_column)
{
    const struct key_part *part = &keys->parts[k];
    struct gr_column column;
    uint64_t total = 0;
    uint64_t low;
    uint64_t high;
    size_t size;
    granary_err err;

    for (int64_t i = 0; i < count; i++) {
        if (key_bits(keys, k, ids[i], &low, &high)) {
            (void)text_of(part, low, &size);
            total += size;
        }
    }
    if (total > INT32_MAX) {
        return gr_fail(GRANARY_EFULL, "the keys have more than 2 GiB of text: use smaller chunks");
    }
    err = gr_column_alloc(part->dtype, count, (int64_t)total, true, &column);
    if (err != GRANARY_OK) {
        return err;
    }
    total = 0;
    for (int64_t i = 0; i < count; i++) {
        if (key_bits(keys, k, ids[i], &low, &high)) {
            const char *text = text_of(part, low, &size);

            if (size > 0) {
                memcpy((char *)(uintptr_t)column.view.values + total, text, size);
            }
            total += size;
            gr_bit_set((uint8_t *)(uintptr_t)column.view.validity, i);
        }
        ((int32_t *)(uintptr_t)column.view.offsets)[i + 1] = (int32_t)total;
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

granary_err
group_keys_column(const struct group_keys *keys, size_t k, const uint32_t *ids, int64_t count, bool coded,
                  struct gr_column *ret_column)
{
    const struct key_part *part = &keys->parts[k];
    size_t size = gr_dtype_size(part->dtype);
    struct gr_column column;
    granary_err err;

    if (gr_dtype_is_text(part->dtype)) {
        int64_t entries = part->dictionary != NULL ? part->dictionary->rows : (int64_t)part->texts.count;

        return (coded && part->dictionary != NULL) || gr_dictionary_pays(entries, count)
                   ? code_column(keys, k, ids, count, ret_column)
                   : text_column(keys, k, ids, count, ret_column);
    }
    err = gr_column_alloc(part->dtype, count, 0, true, &column);
    if (err != GRANARY_OK || part->dtype == GRANARY_NULLTYPE) {
        *ret_column = column;
        return err;
    }
    for (int64_t i = 0; i < count; i++) {
        char *at = (char *)(uintptr_t)column.view.values + (size_t)i * size;
        uint64_t bits[2];

        if (!key_bits(keys, k, ids[i], &bits[0], &bits[1])) {
            continue;
        }
        gr_bit_set((uint8_t *)(uintptr_t)column.view.validity, i);
        if (part->dtype == GRANARY_BOOL && bits[0] != 0) {
            gr_bit_set((uint8_t *)(uintptr_t)column.view.values, i);
        } else if (part->dtype == GRANARY_FLOAT32) {
            double real;
            float value;

            memcpy(&real, &bits[0], sizeof real);
            value = isnan(real) ? NAN : (float)real;
            memcpy(at, &value, sizeof value);
        } else {
            memcpy(at, bits, size);
        }
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

granary_err
group_keys_hash(const struct group_keys *keys, const uint32_t *ids, int64_t count, uint64_t *ret_hashes)
{
    memset(ret_hashes, 0, (size_t)count * sizeof *ret_hashes);
    for (size_t k = 0; k < keys->count; k++) {
        const struct key_part *part = &keys->parts[k];
        uint64_t codes = part->dictionary != NULL ? (uint64_t)part->dictionary->rows : part->texts.count;
        uint64_t *of_codes = NULL;

        if (gr_dtype_is_text(part->dtype)) { /* each text once, however many groups have it */
            of_codes = malloc((size_t)(codes + 1) * sizeof *of_codes);
            if (of_codes == NULL) {
                return gr_no_memory("keys");
            }
            for (uint64_t c = 0; c < codes; c++) {
                size_t size;
                const char *bytes = text_of(part, c, &size);

                of_codes[c] = gr_text_hash(bytes, size);
            }
        }
        for (int64_t i = 0; i < count; i++) {
            uint64_t low;
            uint64_t high;
            uint64_t value = NULL_HASH;

            if (key_bits(keys, k, ids[i], &low, &high)) {
                value = of_codes != NULL ? of_codes[low] : low ^ word_mix(high);
            }
            ret_hashes[i] = key_hash(ret_hashes[i], value);
        }
        free(of_codes);
    }
    return GRANARY_OK;
}
