/* What the tests of expressions on frames share. */
#ifndef TESTS_KERNEL_ROWS_TOOLS_H
#define TESTS_KERNEL_ROWS_TOOLS_H

#include "frame_tools.h"
#include "kernel/rows/rows.h"

/* An expression's column over a frame, column 0 of *ret_frame. */
granary_err computed(const char *text, const granary_frame *frame, granary_frame **ret_frame);
/* That column as text: cells between spaces, nulls as "-". */
void assert_cells(const granary_frame *frame, const char *text, const char *dtype, const char *cells);
void assert_error(const granary_frame *frame, const char *text, granary_err want, const char *message);

struct expectation {
    const char *text;
    const char *dtype;
    const char *cells;
};
void assert_all(const granary_frame *frame, const struct expectation *want, size_t count);
#define ASSERT_ALL(frame, want) assert_all(frame, want, sizeof(want) / sizeof((want)[0]))

/* The same frame with its string columns dictionary-encoded, whether that pays or not. */
granary_frame *encoded(const granary_frame *frame);

#endif
