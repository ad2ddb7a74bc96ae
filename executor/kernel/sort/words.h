/*
 * Radix sort of words: the low bits of each are a row number, or nothing; what stands above decides.
 *
 * Most significant digit first, through write-combining buffers, until a bucket fits the cache. There least
 * significant digit first, over as many bits as tell the words apart. Equal ones are then sorted by insertion. Bits
 * that all words of a bucket share cost nothing, so narrow ranges and skew are no harm. (McIlroy, Bostic, McIlroy
 * 1993, "Engineering radix sort"; Satish et al. 2010 for the write-combining.)
 */
#ifndef KERNEL_SORT_WORDS_H
#define KERNEL_SORT_WORDS_H

#include "contract/int128.h"

#include <stddef.h>
#include <stdint.h>

typedef gr_uint128 sort_word128;

/*
 * Ascending. Words that differ in their lowest low_bits bits only must stand in the order of those already: row numbers
 * of a stable sort do.
 *
 * spare  as many words, overwritten
 */
void sort_words64(uint64_t *words, uint64_t *spare, size_t count, unsigned low_bits);
void sort_words128(sort_word128 *words, sort_word128 *spare, size_t count, unsigned low_bits);

#endif
