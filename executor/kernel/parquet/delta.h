/* DELTA_BINARY_PACKED: numbers as differences to the ones before, packed in blocks. */
#ifndef KERNEL_PARQUET_DELTA_H
#define KERNEL_PARQUET_DELTA_H

#include "kernel/parquet/bits.h"

struct delta {
    const uint8_t *at;
    const uint8_t *end;
    uint64_t per_mini; /* numbers of a miniblock */
    uint64_t minis;    /* of a block */
    uint64_t left;     /* numbers that are still to come */
    bool begun;        /* the first is out */
    uint64_t last;
    uint64_t least; /* difference of this block */
    const uint8_t *widths;
    uint64_t mini; /* the next one of this block */
    uint64_t mini_left;
    unsigned width;
    const uint8_t *run;
    uint64_t bit;
};

/* false: it is damaged. */
bool delta_open(struct delta *delta, const uint8_t *bytes, size_t size);
/* The next numbers, modulo 2^64. false: there are not so many, or it is damaged */
bool delta_take(struct delta *delta, int64_t *numbers, size_t count);
/* Where the bytes behind the last number begin, once all were taken. */
const uint8_t *delta_end(const struct delta *delta);

#endif
