/*
 * rows: a chunk of a mutable frame that one writer fills. It is a frame object with room for more rows than it has: an
 * Arrow file whose rows are null until they are written, in place.
 */
#ifndef MUTABLE_ROWS_H
#define MUTABLE_ROWS_H

#include "data/frame.h"
#include "mutable/core/kept.h"

struct rows_column;

struct rows_writer {
    struct kept object;
    uint32_t number;   /* of the lane's chunks */
    uint32_t capacity; /* rows it has room for; 0: there is no chunk */
    uint32_t rows;     /* written */
    uint64_t first;    /* number of its first row */
    struct rows_column *columns;
    size_t count;
};

/*
 * The next chunk, with room for some rows.
 *
 * schema   the table's columns
 * columns  what is to be written, from row `from` on: the first of these rows fits, whatever its texts are
 * wanted   rows there should be room for; there may be room for fewer
 * Errors   as kept_create(), kept_seal() · ENOMEM
 */
granary_err
rows_begin(struct rows_writer *rows, granary_client *client, granary_id table, uint32_t lane, uint32_t number,
           const granary_frame *schema, const granary_column *columns, int64_t from, int64_t wanted, int timeout_ms);
void rows_end(struct rows_writer *rows);

/* Write rows [from, from + count) of the columns behind those that are there, as many as fit. Returns how many. */
uint32_t rows_write(struct rows_writer *rows, const granary_column *columns, int64_t from, int64_t count);

#endif
