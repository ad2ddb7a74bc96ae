/*
 * Bloom filters, written: split blocks and XXH64, as parquet/bloom.c reads them. A filter is made for as many values as
 * there are. Equal ones make it larger than it needs to be, so it is folded: as often as few values that are not there
 * would still be found in it. Its size is a power of 2, as other readers want it.
 */
#define XXH_INLINE_ALL /* the header alone, no library */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "parquet/write/private.h"
#include "parquet/write/thrift_out.h"

#define WORDS       8                   /* of a block */
#define FALSE_FOUND 0.01                /* of the values that are not there */
#define VALUE_BITS  9.68                /* of a value, so that no more are: 8 / -ln(1 - FALSE_FOUND^(1/8)) */
#define CODED_MOST  ((size_t)128 << 10) /* bytes of a filter that nobody asked for */
#define ASKED_MOST  ((size_t)1 << 20)

struct filter {
    uint32_t *words;
    size_t blocks;
};

/* ---- hashes ---- */

/* The bytes of a value as the file has them. */
static inline __attribute__((always_inline)) uint64_t
hash_of(const struct put_dense *dense, size_t width, int64_t i)
{
    struct put_text text;
    uint64_t halves[2];

    if (width == 0) {
        text = put_dense_text(dense, i);
        return XXH64(text.bytes, text.size, 0);
    }
    if (width == 16) { /* big-endian */
        memcpy(halves, (const uint8_t *)dense->values + (size_t)i * 16, 16);
        halves[0] = __builtin_bswap64(halves[0]);
        halves[1] = __builtin_bswap64(halves[1]);
        return XXH64((const uint64_t[]){halves[1], halves[0]}, 16, 0);
    }
    return XXH64((const uint8_t *)dense->values + (size_t)i * width, width, 0);
}

static inline void
add_hash(struct filter *filter, uint64_t hash)
{
    uint64_t block = gr_parquet_bloom_block(filter->blocks * GR_PARQUET_BLOOM_BLOCK, hash);

    gr_parquet_bloom_set((uint8_t *)(filter->words + WORDS * block), hash);
}

static inline __attribute__((always_inline)) void
add_values(struct filter *filter, const struct put_dense *dense, const struct put_dictionary *dictionary, size_t width)
{
    int64_t count = dictionary->count > 0 ? (int64_t)dictionary->count : dense->count;

    for (int64_t i = 0; i < count; i++) {
        add_hash(filter, hash_of(dense, width, dictionary->count > 0 ? (int64_t)dictionary->firsts[i] : i));
    }
}

static void
add_all(struct filter *filter, const struct put_dense *dense, const struct put_dictionary *dictionary)
{
    switch (put_width(dense->kind)) {
    case 4:
        add_values(filter, dense, dictionary, 4);
        break;
    case 8:
        add_values(filter, dense, dictionary, 8);
        break;
    case 16:
        add_values(filter, dense, dictionary, 16);
        break;
    default:
        add_values(filter, dense, dictionary, 0);
    }
}

/* Zeros of both signs are equal, and readers ask for the one that they have. */
static void
add_zeros(struct filter *filter, const struct put_dense *dense)
{
    static const uint64_t zeros[2] = {0, UINT64_C(1) << 63};
    size_t width = put_width(dense->kind);
    bool has = false;

    for (int64_t i = 0; i < dense->count && dense->kind == PUT_F32 && !has; i++) {
        has = ((const float *)dense->values)[i] == 0;
    }
    for (int64_t i = 0; i < dense->count && dense->kind == PUT_F64 && !has; i++) {
        has = ((const double *)dense->values)[i] == 0;
    }
    for (size_t i = 0; i < 2 && has; i++) {
        add_hash(filter, XXH64((const uint8_t *)&zeros[i] + (i == 0 ? 0 : 8 - width), width, 0));
    }
}

/* ---- the size ---- */

/* How many values that are not there would be found if blocks were put together, two by two. */
static double
found_when_folded(const struct filter *filter)
{
    double found = 0;

    for (size_t b = 0; b < filter->blocks; b += 2) {
        const uint32_t *words = filter->words + b * WORDS;
        double all = 1;

        for (size_t w = 0; w < WORDS; w++) {
            all *= __builtin_popcount(words[w] | words[w + WORDS]) / 32.0;
        }
        found += all;
    }
    return found / ((double)filter->blocks / 2);
}

static void
fold(struct filter *filter)
{
    while (filter->blocks > 1 && found_when_folded(filter) <= FALSE_FOUND) {
        filter->blocks /= 2;
        for (size_t b = 0; b < filter->blocks; b++) {
            for (size_t w = 0; w < WORDS; w++) {
                filter->words[b * WORDS + w] =
                    filter->words[2 * b * WORDS + w] | filter->words[(2 * b + 1) * WORDS + w];
            }
        }
    }
}

static size_t
blocks_for(int64_t values, size_t most)
{
    size_t blocks = 1;

    while (blocks * GR_PARQUET_BLOOM_BLOCK < most &&
           (double)values * VALUE_BITS > (double)(blocks * GR_PARQUET_BLOOM_BLOCK * 8)) {
        blocks *= 2;
    }
    return blocks;
}

/* ---- the filter ---- */

static void
put_head(size_t bytes, struct gr_buf *out)
{
    struct thrift_out head = {.buf = out};

    thrift_put_int(&head, 1, THRIFT_I32, (int64_t)bytes);
    for (int16_t field = 2; field <= 4; field++) { /* split blocks, XXH64, not compressed */
        thrift_put_struct(&head, field);
        thrift_put_struct(&head, 1);
        thrift_end(&head);
        thrift_end(&head);
    }
    gr_buf_add(out, "", 1);
}

granary_err
put_bloom(const struct put_dense *dense, const struct put_dictionary *dictionary, enum put_bloom_wish wish,
          struct gr_buf *out)
{
    bool coded = dictionary->count > 0;
    int64_t values = coded ? (int64_t)dictionary->count : dense->count;
    size_t most = wish == PUT_BLOOM_ASKED ? ASKED_MOST : CODED_MOST;
    struct filter filter = {.blocks = blocks_for(values, most)};

    if (wish == PUT_BLOOM_NONE || dense->kind == PUT_NULLS || dense->kind == PUT_BOOL || values == 0 ||
        (wish == PUT_BLOOM_CODED &&
         (!coded || (double)values * VALUE_BITS > (double)(filter.blocks * GR_PARQUET_BLOOM_BLOCK * 8)))) {
        return GRANARY_OK;
    }
    filter.words = calloc(filter.blocks, GR_PARQUET_BLOOM_BLOCK);
    if (filter.words == NULL) {
        return put_no_memory();
    }
    add_all(&filter, dense, dictionary);
    add_zeros(&filter, dense);
    if (!coded) {
        fold(&filter);
    }
    put_head(filter.blocks * GR_PARQUET_BLOOM_BLOCK, out);
    gr_buf_add(out, filter.words, filter.blocks * GR_PARQUET_BLOOM_BLOCK);
    free(filter.words);
    return gr_buf_ok(out) ? GRANARY_OK : put_no_memory();
}
