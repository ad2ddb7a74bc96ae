/*
 * Rows are numbered by their keys: rows with equal keys get the same number, from 1 on. 0 is for rows with a null
 * key. When nulls are kept, a null is a value of its own instead. -0.0 equals 0.0, a NaN equals every NaN.
 *
 * Keys with few possible values together (dictionary codes, bools, integers in a small range) are numbered directly, so
 * that not every number occurs. Else they are packed into as few words as they need, and looked up.
 */
#ifndef KERNEL_KEYS_KEYS_H
#define KERNEL_KEYS_KEYS_H

#include "kernel/rows/rows.h"

#define GROUP_NONE_ID 0

struct group_keys;

/*
 * Begin to number the rows of some sources.
 *
 * sources  what is numbered: vectors [0, key_count) of each are the keys; they stay open as long as the keys are used
 * rows     of all sources, at most
 * Errors   ETYPE a key has different dtypes in the sources · EFULL · ENOMEM
 */
granary_err group_keys_create(struct rows *const *sources, size_t source_count, size_t key_count, int64_t rows,
                              bool keep_nulls, struct group_keys **ret_keys);
void group_keys_destroy(struct group_keys *keys); /* NULL is fine */

/* The numbers of the rows of the source's current block. Errors: EFULL · ENOMEM */
granary_err group_keys_find(struct group_keys *keys, size_t source, int64_t count, uint32_t *ret_ids);

/* All numbers given so far, and in a direct numbering all that can be given, are below. */
uint32_t group_keys_room(const struct group_keys *keys);
/* Whether numbers are direct. */
bool group_keys_direct(const struct group_keys *keys);

/* Key k of some numbers, as a new column: one zero, one NaN. coded: strings keep the one dictionary that all sources
 * have, even if it has as many entries as there are strings. Errors: EFULL over 2 GiB of text · ENOMEM */
granary_err group_keys_column(const struct group_keys *keys, size_t k, const uint32_t *ids, int64_t count, bool coded,
                              struct gr_column *ret_column);

/* A hash of the keys' values: that of group_keys_hashes() of the columns. Errors: ENOMEM */
granary_err group_keys_hash(const struct group_keys *keys, const uint32_t *ids, int64_t count, uint64_t *ret_hashes);

/* A hash of each row of keys: of their values, so that it is the same in every chunk and process (hashes.c). */
void group_keys_hashes(const granary_frame *keys, uint64_t *ret_hashes);

/* Give a column of keys the form that a result has: dictionary-encoded or plain, whatever it was. Errors: ENOMEM ·
 * EFULL
 */
granary_err group_key_encode(struct gr_column *column);

/* Whether values are doubles in aggregates. */
static inline bool
group_is_real(granary_dtype dtype)
{
    return dtype == GRANARY_FLOAT64 || dtype == GRANARY_FLOAT32;
}

#endif
