/*
 * Records of a CSV text in blocks. Plain ones are found together, so that they can be worked on column by column.
 * They have as many fields as all, no quotes, no carriage returns, and are no empty lines. All others are odd: the
 * caller reads such a one field by field (csv_text.h) and goes on.
 */
#ifndef KERNEL_CSV_CSV_BLOCKS_H
#define KERNEL_CSV_CSV_BLOCKS_H

#include "kernel/csv/csv_text.h"

enum csv_next { CSV_NEXT_END, CSV_NEXT_BLOCK, CSV_NEXT_ODD };

enum { CSV_BLOCK_ROWS = 1024 };

struct csv_block {
    const char *base;
    const uint32_t *stops; /* stops[-1]: of the byte before the first field */
    size_t fields;
    int64_t rows;
};

struct csv_blocks {
    struct csv_text *text;
    size_t fields;
    uint32_t *stops; /* of the window, behind one for the byte before it */
    const char *base;
    const char *window_end;
    size_t next;
    size_t count;
};

/* fields: of every record, at least 1. Errors: ENOMEM */
granary_err csv_blocks_init(struct csv_blocks *blocks, struct csv_text *text, size_t fields);
void csv_blocks_fini(struct csv_blocks *blocks);

/* What comes next at text->at, which moves behind a block, and stays before an odd record. */
enum csv_next csv_blocks_next(struct csv_blocks *blocks, struct csv_block *ret_block);

/* A field of a block. */
static inline const char *
csv_block_field(const struct csv_block *block, int64_t row, size_t position, size_t *ret_size)
{
    const uint32_t *stop = block->stops + (size_t)row * block->fields + position;
    uint32_t before = stop[-1];

    *ret_size = stop[0] - before - 1;
    return block->base + before + 1;
}

#endif
