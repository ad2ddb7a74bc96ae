/*
 * Frames and columns in memory, in Arrow's layout. A frame read from an object borrows its bytes; a frame that was
 * built owns them.
 *
 * Values under a null are zero (strings: empty), so that equal frames are equal bytes.
 */
#ifndef DATA_FRAME_H
#define DATA_FRAME_H

#include <stdbool.h>

#include "base/buf.h"
#include "granary/frame.h"

struct gr_column {
    granary_column view; /* what readers use; name is owned by the frame */
    bool owned;          /* validity, values and offsets are ours (64-byte aligned heap) */
};

struct granary_frame {
    int64_t rows;
    size_t count;
    struct gr_column *columns;
};

/* Bits, least significant first, as Arrow has them. */
static inline bool
gr_bit(const uint8_t *bits, int64_t i)
{
    return (bits[i >> 3] >> (i & 7) & 1) != 0;
}
static inline void
gr_bit_set(uint8_t *bits, int64_t i)
{
    bits[i >> 3] = (uint8_t)(bits[i >> 3] | 1u << (i & 7));
}
static inline bool
gr_is_null(const granary_column *column, int64_t row)
{
    return column->validity != NULL && !gr_bit(column->validity, row);
}
static inline int64_t
gr_bitmap_bytes(int64_t rows)
{
    return (rows + 7) / 8;
}

/* Bytes of one value; 0 for strings, bools (bits) and the null type. */
size_t gr_dtype_size(granary_dtype dtype);
/* dtype of a name as granary_dtype_name() gives it; GRANARY_NULLTYPE when there is none. */
granary_dtype gr_dtype_parse(const char *name);

/* A frame of count columns, all zero, to be filled with gr_frame_set(). NULL: out of memory. */
granary_frame *gr_frame_create(size_t count, int64_t rows);
void gr_frame_destroy(granary_frame *frame); /* NULL is fine */
/* *takes* the column (owned buffers); copies name. Errors: ENOMEM (the column is destroyed) */
granary_err gr_frame_set(granary_frame *frame, size_t position, const char *name, struct gr_column *column);
/* Put a column of another frame in, borrowed: that frame must outlive this one. Errors: ENOMEM */
granary_err
gr_frame_set_borrowed(granary_frame *frame, size_t position, const char *name, const granary_column *column);
/* *Takes* a column out of another frame, of which its name alone is left there. Errors: ENOMEM */
granary_err gr_frame_move(granary_frame *frame, size_t position, granary_frame *from, size_t from_position);
/* Position of a column, or -1. */
int gr_frame_find(const granary_frame *frame, const char *name);

/* 64-byte aligned, zeroed up to the next 64 bytes, freed with free(). NULL: out of memory. */
void *gr_data_alloc(size_t size);

/* An owned column with room for rows values (strings: text_bytes of text), zeroed; with_validity: a bitmap of zeros. */
granary_err gr_column_alloc(granary_dtype dtype, int64_t rows, int64_t text_bytes, bool with_validity,
                            struct gr_column *ret_column);
void gr_column_free(struct gr_column *column);
/* Count nulls, drop a bitmap without zeros, zero the values under nulls. To be called when a built column is complete.
 */
void gr_column_finish(struct gr_column *column);

/* Rows indices[0..count) of a column as a new owned one; index -1 gives null. Errors: ENOMEM, EFULL over 2 GiB of text
 */
granary_err
gr_column_take(const granary_column *column, const int64_t *indices, int64_t count, struct gr_column *ret_column);
/* Rows [from, from + rows) of a column. */
struct gr_run {
    const granary_column *column;
    int64_t from;
    int64_t rows;
};
/* Runs of columns of one dtype (a NULLTYPE column fits any), one after the other, as a new owned column of that dtype.
 * Errors: ENOMEM, EFULL over 2 GiB of text */
granary_err
gr_column_concat(const struct gr_run *runs, size_t count, granary_dtype dtype, struct gr_column *ret_column);
/* gr_column_take() of all columns. */
granary_err gr_frame_take(const granary_frame *frame, const int64_t *indices, int64_t count, granary_frame **ret_frame);
/* Rows [from, from + count) as a new owned frame. Errors: EINVAL not within the frame · ENOMEM */
granary_err gr_frame_slice(const granary_frame *frame, int64_t from, int64_t count, granary_frame **ret_frame);
/*
 * One after the other, as a new owned frame. All must have the same names and dtypes (a NULLTYPE column fits any).
 * Errors: ETYPE names the column · EFULL over 2 GiB of text in a column · ENOMEM
 */
granary_err gr_frame_concat(const granary_frame *const *frames, size_t count, granary_frame **ret_frame);

/* One value as text (no quotes; a null gives nothing): int 12, float shortest form that reads back, true/false,
 * 2020-01-31, 2020-01-31T12:00:00[.ffffff], strings as they are. */
void gr_value_format(const granary_column *column, int64_t row, struct gr_buf *out);

#endif
