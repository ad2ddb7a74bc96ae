/* Within the room: cells as tables of all kinds show them (print.c, print_box.c). */
#ifndef DATA_PRINT_CELL_H
#define DATA_PRINT_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "granary/frame.h"

/* Whether values stand to the right. */
bool print_is_number(granary_dtype dtype);
/* A value as it may be printed; a string that reads NULL is in quotes. */
void print_cell(const granary_column *column, int64_t row, const char *null, struct gr_buf *out);
/* Text, with what would command a terminal shown instead of sent. */
void print_visible(const char *text, size_t size, struct gr_buf *out);
/* Columns of a terminal that a text takes. */
int print_width(const char *text, size_t size);

#endif
