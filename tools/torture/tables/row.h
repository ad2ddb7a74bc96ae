/* Rows of 64 bytes that tell who wrote them, and whether they are whole. */
#ifndef TORTURE_ROW_H
#define TORTURE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/frame.h"

#define ROW_COLUMNS 8u
#define ROWS_MOST   5000u /* of one append */

/* All that decides the values of an append's rows, and nothing else does. */
struct origin {
    uint32_t table;
    uint32_t life;   /* of the writer's process */
    uint64_t number; /* of the append, among all of its writer */
    int64_t asked;   /* for which time; GRANARY_NOW: to be taken */
    uint32_t rows;
};

/* The last value of a row, and where most others come from. */
uint64_t row_check(const struct origin *origin, uint32_t index);
/* All checks of an append together. */
uint64_t row_sum(const struct origin *origin);

/* Names and dtypes, without values. */
extern const granary_column row_schema[ROW_COLUMNS];

/* Values for up to ROWS_MOST rows. */
struct rows;

struct rows *rows_create(void); /* NULL: out of memory */
void rows_destroy(struct rows *rows);
/* The rows of an append; valid until the next one. */
const granary_column *rows_fill(struct rows *rows, const struct origin *origin);

/* The columns of a frame, for row_read(). False: it does not have those of rows. */
bool row_columns(const granary_frame *frame, const granary_column *ret_columns[static ROW_COLUMNS]);
/* The row at a place. False: its values do not belong together, so it is nobody's. */
bool row_read(const granary_column *const columns[static ROW_COLUMNS], uint32_t table, int64_t at,
              struct origin *ret_origin, uint32_t *ret_index);

#endif
