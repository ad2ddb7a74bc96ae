/* Bloom filters: of each value eight bits are set in one block of 32 bytes. */
#include <string.h>

#include "parquet/private.h"

#include "base/error.h"

#define BYTES_MOST ((int64_t)128 << 20)

/* A union of which one member is there: its number; 0: none. */
static int
read_union(struct thrift_in *in, const struct thrift_field *of)
{
    struct thrift_field field = {.id = 0};
    int member = 0;

    if (!thrift_struct(in, of)) {
        return 0;
    }
    while (thrift_next(in, &field)) {
        member = field.id;
        thrift_skip(in, &field);
    }
    return member;
}

granary_err
gr_parquet_bloom_head(const uint8_t *bytes, size_t size, size_t *ret_head, uint64_t *ret_bytes)
{
    struct thrift_in in = {.bytes = bytes, .size = size};
    struct thrift_field field = {.id = 0};
    int members[3] = {0, 0, 0}; /* algorithm, hash, compression: the first of each is the only one there is */
    int64_t of_bits = 0;

    while (thrift_next(&in, &field)) {
        if (field.id == 1) {
            of_bits = thrift_int(&in, &field);
        } else if (field.id >= 2 && field.id <= 4) {
            members[field.id - 2] = read_union(&in, &field);
        } else {
            thrift_skip(&in, &field);
        }
    }
    if (in.bad || of_bits < GR_PARQUET_BLOOM_BLOCK || of_bits > BYTES_MOST || of_bits % GR_PARQUET_BLOOM_BLOCK != 0) {
        return parquet_corrupt(&in, "a Bloom filter");
    }
    if (members[0] != 1 || members[1] != 1 || members[2] != 1) {
        return gr_fail(GRANARY_EUNSUPPORTED, "a Bloom filter of another kind");
    }
    *ret_head = in.at;
    *ret_bytes = (uint64_t)of_bits;
    return GRANARY_OK;
}

uint64_t
gr_parquet_bloom_block(uint64_t bytes, uint64_t hash)
{
    return ((hash >> 32) * (bytes / GR_PARQUET_BLOOM_BLOCK)) >> 32;
}

static const uint32_t salt[8] = {0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
                                 0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U};

void
gr_parquet_bloom_set(uint8_t block[GR_PARQUET_BLOOM_BLOCK], uint64_t hash)
{
    for (int i = 0; i < 8; i++) {
        uint32_t word;

        memcpy(&word, block + 4 * i, sizeof word);
        word |= (uint32_t)1 << (((uint32_t)hash * salt[i]) >> 27);
        memcpy(block + 4 * i, &word, sizeof word);
    }
}

bool
gr_parquet_bloom_has(const uint8_t block[GR_PARQUET_BLOOM_BLOCK], uint64_t hash)
{
    bool has = true;

    for (int i = 0; i < 8; i++) {
        uint32_t word;

        memcpy(&word, block + 4 * i, sizeof word);
        has = has && (word >> (((uint32_t)hash * salt[i]) >> 27) & 1) != 0;
    }
    return has;
}
