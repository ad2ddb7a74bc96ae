/* Bytes of CSV text, 64 at a time. */
#ifndef KERNEL_SIMD_CSV_H
#define KERNEL_SIMD_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/simd/simd.h"

enum {
    CSV_PADDING = 64, /* bytes behind the text that may be read */
};

/*
 * Where delimiters, line feeds, carriage returns and quotes are.
 *
 * size     CSV_PADDING bytes more may be read
 * first    the position of the first byte; those of all are below 2^32
 * ret_at   room for size + 8
 * Returns  how many there are
 */
SIMD_DECLARE(size_t, csv_stops, (const char *bytes, size_t size, char delimiter, uint32_t first, uint32_t *ret_at));

/* How often a byte is there. Reads no byte behind them. */
SIMD_DECLARE(uint64_t, csv_count, (const char *bytes, size_t size, char byte));

/* How many runs of line ends (LF, CR) begin among the bytes. in_run: the byte before them is one. The same. */
SIMD_DECLARE(uint64_t, csv_line_ends, (const char *bytes, size_t size, bool in_run));

/* What is to be known of a text at first. */
struct csv_looks {
    uint64_t lines;     /* line feeds */
    uint64_t line_ends; /* runs of them and of carriage returns */
    bool quotes;        /* there are some */
    bool wide;          /* bytes beyond ASCII */
    bool in_run;        /* the last byte is a line end */
};

/* Look at the next bytes of a text, of which nothing (zeros) or the ones before were seen. The same. */
SIMD_DECLARE(void, csv_look, (const char *bytes, size_t size, struct csv_looks *looks));

#endif
