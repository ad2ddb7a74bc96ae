/* Hashes of keys, a column at a time: the same in every chunk and process, whatever the width of a column is. */
#include <stdlib.h>
#include <string.h>

#include "contract/int128.h"
#include "data/texts.h"
#include "kernel/core/select.h"
#include "kernel/keys/hashes.h"
#include "kernel/keys/keys.h"

static uint64_t
text_hash_at(const granary_column *texts, int64_t at)
{
    size_t size;
    const char *text = gr_text_at(texts, at, &size);

    return gr_text_hash(text, size);
}

/* The hashes of a dictionary, each made once. NULL: there is none, or no memory. */
static uint64_t *
dictionary_hashes(const granary_column *column)
{
    const granary_column *texts = column->dictionary;
    uint64_t *hashes = texts == NULL || texts->rows > column->rows ? NULL : malloc(((size_t)texts->rows + 1) * 8);

    for (int64_t i = 0; hashes != NULL && i < texts->rows; i++) {
        hashes[i] = text_hash_at(texts, i);
    }
    return hashes;
}

/* A value of a key as a word: the same whatever the width of the column is. */
static uint64_t
key_word(const granary_column *column, int64_t i)
{
    if (group_is_real(column->dtype)) {
        double value = column->dtype == GRANARY_FLOAT32 ? (double)((const float *)column->values)[i]
                                                        : ((const double *)column->values)[i];
        uint64_t word;

        memcpy(&word, &value, sizeof word);
        return word;
    }
    gr_int128 value = select_int(column, i);

    return (uint64_t)value ^ word_mix(gr_dtype_size(column->dtype) == 16 ? (uint64_t)(value >> 64) : 0);
}

static uint64_t
value_of(const granary_column *column, const uint64_t *of_codes, int64_t i)
{
    if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, i)) {
        return NULL_HASH;
    }
    if (!gr_dtype_is_text(column->dtype)) {
        return key_word(column, i);
    }
    return of_codes != NULL ? of_codes[((const int32_t *)column->values)[i]] : text_hash_at(column, i);
}

/* The word of a column without nulls is one value, made without a question: key_word() of integers. */
#define HASH_VALUES(type, word)                                                                                        \
    for (int64_t i = 0; i < column->rows; i++) {                                                                       \
        type value_ = ((const type *)column->values)[i];                                                               \
                                                                                                                       \
        hashes[i] = key_hash(hashes[i], (word));                                                                       \
    }                                                                                                                  \
    return true

/* false: the column is of another kind. */
static bool
hash_directly(const granary_column *column, const uint64_t *of_codes, uint64_t *hashes)
{
    if (column->dtype == GRANARY_NULLTYPE || column->null_count != 0) {
        return false;
    }
    switch (column->dtype) {
    case GRANARY_STRING:
    case GRANARY_BINARY:
        if (of_codes == NULL) {
            return false;
        }
        HASH_VALUES(int32_t, of_codes[value_]);
    case GRANARY_INT32:
    case GRANARY_DATE:
        HASH_VALUES(int32_t, (uint64_t)(int64_t)value_);
    case GRANARY_INT64:
    case GRANARY_TIMESTAMP:
    case GRANARY_TIMESTAMPTZ:
    case GRANARY_TIME:
    case GRANARY_DURATION:
        HASH_VALUES(int64_t, (uint64_t)value_);
    default:
        return false;
    }
}

void
group_keys_hashes(const granary_frame *keys, uint64_t *ret_hashes)
{
    memset(ret_hashes, 0, (size_t)keys->rows * sizeof *ret_hashes);
    for (size_t k = 0; k < keys->count; k++) {
        const granary_column *column = &keys->columns[k].view;
        uint64_t *of_codes = dictionary_hashes(column);

        if (!hash_directly(column, of_codes, ret_hashes)) {
            for (int64_t i = 0; i < keys->rows; i++) {
                ret_hashes[i] = key_hash(ret_hashes[i], value_of(column, of_codes, i));
            }
        }
        free(of_codes);
    }
}
