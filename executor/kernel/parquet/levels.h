/* Definition levels: which rows of a page have a value. */
#ifndef KERNEL_PARQUET_LEVELS_H
#define KERNEL_PARQUET_LEVELS_H

#include "kernel/parquet/bits.h"

struct levels {
    struct hybrid hybrid;
    uint32_t full; /* of a value that is there; 0: all are, and nothing is stored */
};

void levels_open(struct levels *levels, const uint8_t *bytes, size_t size, uint32_t full);
/* Set the bits of the next rows that have a value, from at on; validity: NULL, they are passed over. Returns how many
 * have one; -1: there are not so many rows. */
int64_t levels_take(struct levels *levels, int64_t rows, uint8_t *validity, int64_t at);

#endif
