/* Arrow files as they are written: what tells of a frame, what is where, and the pieces that writers share. */
#ifndef DATA_ARROW_LAYOUT_H
#define DATA_ARROW_LAYOUT_H

#include "data/arrow/format.h"
#include "data/layout/directory.h"
#include "data/layout/flat.h"

#define ARROW_PREFIX 8 /* of a message: continuation, length */

static inline uint64_t
arrow_aligned(uint64_t size)
{
    return (size + 63) / 64 * 64;
}

/* What is where in the file. */
struct arrow_plan {
    uint64_t schema;       /* message: continuation, length, Flatbuffers, padding */
    uint64_t dictionaries; /* one after another: message, body */
    uint64_t batch;
    uint64_t body; /* multiple of 64 */
    uint64_t body_size;
    uint64_t end; /* end-of-stream mark */
    uint64_t footer;
    uint64_t footer_size;
    uint64_t size;
};
struct arrow_plan arrow_plan_file(const granary_frame *frame);

/* Where a column's buffers lie, from *at (a multiple of 64), which moves behind them. */
struct gr_directory_column arrow_place_column(const granary_column *column, uint64_t *at);
/* Where the buffers of the items lie, as of a column by itself. */
struct gr_directory_column arrow_items_place(const struct gr_directory_column *place);
/* Where the buffers of a column's dictionary lie, from at on (a multiple of 64); returns what is behind them. */
uint64_t arrow_place_entries(const granary_column *entries, uint64_t at, struct gr_directory_column *place);

/* column: whose dictionary it is, for a message of that kind. places: where the columns of a batch lie in its body;
 * NULL: one after the other. */
void arrow_put_message(struct flat_out *out, const granary_frame *frame, enum arrow_header kind, size_t column,
                       uint64_t body_length, const struct gr_directory_column *places);
void arrow_put_footer(struct flat_out *out, const granary_frame *frame, const struct arrow_plan *plan,
                      const struct arrow_block *batches, size_t batch_count);

/* The message of a column's dictionary that begins at `at`, and what it takes. */
struct arrow_block arrow_dictionary_block(const granary_frame *frame, size_t column, uint64_t at);
uint64_t arrow_block_end(const struct arrow_block *block);
struct arrow_block arrow_batch_block(const struct arrow_plan *plan);

/* A message that begins at from, with what follows it at to. */
void arrow_write_message(const granary_frame *frame, enum arrow_header kind, size_t column, uint64_t body_length,
                         const struct gr_directory_column *places, uint8_t *from, const uint8_t *to);
/* The message of the batch; the offsets of places count from the begin of the file. */
void arrow_write_batch(const granary_frame *frame, const struct arrow_plan *plan, struct gr_directory_column *places,
                       uint8_t *bytes);
/* The buffers of a column. place gets the zone when it is made at once. */
void arrow_write_column(uint8_t *data, const granary_column *column, struct gr_directory_column *place, bool with_zone);
/* The dictionary message of a column; what is where in it goes to place's entries, counted from the begin of the file.
 */
void arrow_write_entries(uint8_t *bytes, const granary_frame *frame, size_t column, uint64_t *at,
                         struct gr_directory_column *place);
/* From the end of the batch on. */
void arrow_write_end(const granary_frame *frame, const struct arrow_plan *plan, uint8_t *bytes);

#endif
