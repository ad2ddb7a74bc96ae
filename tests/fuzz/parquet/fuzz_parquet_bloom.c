/* Any bytes as a Bloom filter of a Parquet file: its head is read, and each block that a hash leads to is within it. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "parquet/parquet.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    size_t head = 0;
    uint64_t of_bits = 0;
    uint64_t hash = 0;

    if (gr_parquet_bloom_head(bytes, size, &head, &of_bits) != GRANARY_OK) {
        return 0;
    }
    if (head > size || of_bits == 0) {
        abort();
    }
    for (size_t at = head; at + sizeof hash <= size; at++) {
        uint64_t block;

        memcpy(&hash, bytes + at, sizeof hash);
        block = gr_parquet_bloom_block(of_bits, hash);
        if (block >= of_bits / GR_PARQUET_BLOOM_BLOCK) {
            abort();
        }
        if (size - at >= GR_PARQUET_BLOOM_BLOCK) {
            (void)gr_parquet_bloom_has(bytes + at, hash);
        }
    }
    return 0;
}
