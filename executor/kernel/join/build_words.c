/*
 * The keys of a build as words, a block of rows at a time: numbers by themselves, strings by the order in which they
 * come. Where the ranges of several keys allow it, their words are digits of one number; else tuples are numbered.
 */
#include <stdlib.h>
#include <string.h>

#include "contract/int128.h"
#include "kernel/join/building.h"

#define PACKED_MAX (UINT64_C(1) << 62)

bool
build_next(const struct build *b, struct build_block *block)
{
    block->from += block->n;
    block->row += block->n;
    while (block->piece < b->piece_count && block->from == b->pieces[block->piece]->rows) {
        block->piece++;
        block->from = 0;
    }
    if (block->piece == b->piece_count) {
        return false;
    }
    block->n = b->pieces[block->piece]->rows - block->from;
    block->n = block->n < JOIN_BLOCK ? block->n : JOIN_BLOCK;
    return true;
}

/* The words of one key in a block. */
static void
key_block(const struct build *b, const struct build_block *block, size_t k, int64_t *words, uint8_t *present)
{
    const struct build_key *key = &b->keys[k];

    if (!key->is_bytes) {
        key_words(build_column(b, block->piece, k), key->dtype, block->from, block->n, words, present);
        return;
    }
    for (int64_t i = 0; i < block->n; i++) {
        uint32_t id = key->ids[block->row + i];

        words[i] = id;
        present[i] = (uint8_t)(present[i] & (id != GR_TEXTS_NONE));
    }
}

void
build_words(const struct build *b, const struct build_block *block, int64_t *words, uint8_t *present)
{
    int64_t one[JOIN_BLOCK];

    memset(present, 1, (size_t)block->n);
    if (b->is_tuple) {
        for (int64_t i = 0; i < block->n; i++) {
            words[i] = b->tuple_ids[block->row + i];
            present[i] = b->tuple_ids[block->row + i] != GR_TEXTS_NONE;
        }
        return;
    }
    key_block(b, block, 0, words, present);
    if (b->key_count == 1) {
        return;
    }
    for (int64_t i = 0; i < block->n; i++) {
        words[i] = (int64_t)(((uint64_t)words[i] - (uint64_t)b->keys[0].min) * b->keys[0].stride);
    }
    for (size_t k = 1; k < b->key_count; k++) {
        key_block(b, block, k, one, present);
        for (int64_t i = 0; i < block->n; i++) {
            words[i] =
                (int64_t)((uint64_t)words[i] + ((uint64_t)one[i] - (uint64_t)b->keys[k].min) * b->keys[k].stride);
        }
    }
}

/* ---- what the keys are like ---- */

static void
note_range(struct build_key *key, const int64_t *words, const uint8_t *present, int64_t n)
{
    int64_t min = key->any ? key->min : INT64_MAX;
    int64_t max = key->any ? key->max : INT64_MIN;
    bool any = false;

    for (int64_t i = 0; i < n; i++) {
        int64_t low = present[i] ? words[i] : INT64_MAX;
        int64_t high = present[i] ? words[i] : INT64_MIN;

        min = low < min ? low : min;
        max = high > max ? high : max;
        any |= present[i] != 0;
    }
    if (any) {
        key->any = true;
        key->min = min;
        key->max = max;
    }
}

/* Strings of a dictionary are looked up once each. */
static granary_err
intern_encoded(struct build_key *key, const granary_column *column, int64_t rows, uint32_t *ids)
{
    const granary_column *entries = column->dictionary;
    uint32_t *numbers = malloc((size_t)(entries->rows + 1) * sizeof *numbers);
    granary_err err = numbers == NULL ? gr_fail(GRANARY_ENOMEM, "join: out of memory for a dictionary") : GRANARY_OK;

    for (int64_t code = 0; numbers != NULL && code <= entries->rows; code++) {
        numbers[code] = GR_TEXTS_NONE;
    }
    for (int64_t i = 0; i < rows && err == GRANARY_OK; i++) {
        int32_t code = ((const int32_t *)column->values)[i];

        if (gr_is_null(column, i)) {
            ids[i] = GR_TEXTS_NONE;
            continue;
        }
        if (numbers[code] == GR_TEXTS_NONE) {
            size_t size;
            const char *text = gr_text_at(column, i, &size);

            err = gr_texts_add(&key->strings, text, size, &numbers[code]);
        }
        ids[i] = numbers[code];
    }
    free(numbers);
    return err;
}

static granary_err
intern_column(struct build_key *key, const granary_column *column, int64_t rows, uint32_t *ids)
{
    granary_err err = GRANARY_OK;

    if (gr_dtype_is_text(key->dtype) && column->dictionary != NULL) {
        return intern_encoded(key, column, rows, ids);
    }
    for (int64_t i = 0; i < rows && err == GRANARY_OK; i++) {
        gr_int128 scratch;
        size_t size;
        const char *bytes = key_bytes(column, key->dtype, i, &scratch, &size);

        ids[i] = GR_TEXTS_NONE;
        if (bytes != NULL) {
            err = gr_texts_add(&key->strings, bytes, size, &ids[i]);
        }
    }
    return err;
}

static granary_err
measure_strings(struct build *b, size_t k)
{
    struct build_key *key = &b->keys[k];
    int64_t row = 0;
    granary_err err = GRANARY_OK;

    key->ids = malloc((size_t)(b->rows + 1) * sizeof *key->ids);
    if (key->ids == NULL) {
        return build_no_memory(b);
    }
    for (size_t p = 0; p < b->piece_count && err == GRANARY_OK; p++) {
        err = intern_column(key, build_column(b, p, k), b->pieces[p]->rows, key->ids + row);
        row += b->pieces[p]->rows;
    }
    key->any = key->strings.count > 0;
    key->max = (int64_t)key->strings.count - 1;
    return err;
}

static granary_err
measure_keys(struct build *b)
{
    int64_t words[JOIN_BLOCK];
    uint8_t present[JOIN_BLOCK];
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < b->key_count && err == GRANARY_OK; k++) {
        struct build_key *key = &b->keys[k];

        if (key->is_bytes) {
            err = measure_strings(b, k);
        } else {
            for (struct build_block block = {0}; build_next(b, &block);) {
                memset(present, 1, (size_t)block.n);
                key_block(b, &block, k, words, present);
                note_range(key, words, present, block.n);
            }
        }
        /* 0: as many as there are words */
        key->range = key->any ? (uint64_t)key->max - (uint64_t)key->min + 1 : 0;
    }
    for (size_t p = 0; p < b->piece_count; p++) {
        b->nulls += (uint64_t)build_column(b, p, 0)->null_count;
    }
    return err;
}

/* Give the keys strides when all together fit a word. */
static bool
pack_keys(struct build *b)
{
    uint64_t stride = 1;

    for (size_t k = b->key_count; k-- > 0;) {
        b->keys[k].stride = stride;
        if (!b->keys[k].any) {
            b->keys[k].range = 1; /* nothing matches anyway */
        }
        if (b->keys[k].range == 0 || b->keys[k].range > PACKED_MAX / stride) {
            return false;
        }
        stride *= b->keys[k].range;
    }
    return true;
}

static granary_err
intern_tuples(struct build *b)
{
    int64_t *words = malloc(b->key_count * JOIN_BLOCK * sizeof *words);
    int64_t *tuple = malloc(b->key_count * sizeof *tuple);
    uint8_t present[JOIN_BLOCK];
    granary_err err = GRANARY_OK;

    b->tuple_ids = malloc((size_t)(b->rows + 1) * sizeof *b->tuple_ids);
    if (words == NULL || tuple == NULL || b->tuple_ids == NULL) {
        err = build_no_memory(b);
    }
    for (struct build_block block = {0}; err == GRANARY_OK && build_next(b, &block);) {
        memset(present, 1, (size_t)block.n);
        for (size_t k = 0; k < b->key_count; k++) {
            key_block(b, &block, k, words + k * JOIN_BLOCK, present);
        }
        for (int64_t i = 0; i < block.n && err == GRANARY_OK; i++) {
            b->tuple_ids[block.row + i] = GR_TEXTS_NONE;
            if (!present[i]) {
                continue;
            }
            for (size_t k = 0; k < b->key_count; k++) {
                tuple[k] = words[k * JOIN_BLOCK + (size_t)i];
            }
            err = gr_texts_add(&b->tuples, (const char *)tuple, b->key_count * sizeof *tuple,
                               &b->tuple_ids[block.row + i]);
        }
    }
    b->is_tuple = true;
    free(words);
    free(tuple);
    return err;
}

granary_err
build_measure(struct build *b)
{
    granary_err err = measure_keys(b);

    return err == GRANARY_OK && b->key_count > 1 && !pack_keys(b) ? intern_tuples(b) : err;
}
