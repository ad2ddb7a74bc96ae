/*
 * Key columns in the form in which a join compares them. Numbers and instants are one 64-bit word each, strings and
 * decimals are bytes. Both are brought to the dtype that the two sides have in common (graph/join.h). Equal values
 * have equal words or bytes; NaN equals NaN and -0.0 equals 0.0. A value that the common dtype does not have (1.5 as
 * an integer) equals none of the other side, like a null.
 */
#ifndef KERNEL_JOIN_WORDS_H
#define KERNEL_JOIN_WORDS_H

#include "contract/int128.h"
#include "data/frame.h"

#define JOIN_BLOCK 1024 /* rows */

/* Whether keys of that common dtype are compared as bytes. */
static inline bool
key_is_bytes(granary_dtype dtype)
{
    return gr_dtype_is_text(gr_dtype_kind(dtype)) || gr_dtype_kind(dtype) == GRANARY_DECIMAL;
}

/*
 * Words of rows [from, from + n), n <= JOIN_BLOCK, of a column that is no key_is_bytes().
 * present  a byte a row; 0 is put where there is no value to be equal to, others stay as they are
 */
void
key_words(const granary_column *column, granary_dtype dtype, int64_t from, int64_t n, int64_t *words, uint8_t *present);

/* Bytes of a row of a column that is key_is_bytes(). scratch: where they lie when the column does not have them.
 * NULL: there is no value to be equal to. */
const char *
key_bytes(const granary_column *column, granary_dtype dtype, int64_t row, gr_int128 *scratch, size_t *ret_size);

/* The finalizer of MurmurHash3 (Austin Appleby, public domain): all bits of a word depend on all. */
static inline uint64_t
key_hash(int64_t word)
{
    uint64_t x = (uint64_t)word;

    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

#endif
