/*
 * Expressions over the rows of a frame, computed in blocks that stay in the cache.
 *
 * Null in, null out, but for and, or and the null tests. int64 arithmetic that overflows is an error that names the
 * row. "%" has the sign of its right side, as in pandas; int % 0 is null, float % 0 is nan. year, month and day count
 * in the proleptic Gregorian calendar. lower knows the letters of Unicode one by one; length counts characters.
 * Comparisons with NaN are false, "!=" is true; NaN is a value, not a null.
 */
#ifndef KERNEL_EVAL_H
#define KERNEL_EVAL_H

#include "data/frame.h"

#define EVAL_BLOCK 1024

struct eval;

/* Parse and check an expression against the columns of a frame, which must outlive it.
 * Errors: as gr_expr_parse() and gr_expr_check() · ENOMEM */
granary_err eval_create(const char *text, const granary_frame *frame, struct eval **ret_eval);
void eval_destroy(struct eval *eval);
/* dtype of the value. */
granary_dtype eval_dtype(const struct eval *eval);

/*
 * A condition (dtype bool or null) for rows [from, from + n), n <= EVAL_BLOCK.
 * ret_truth  n bytes: 1 when it is true, 0 when it is false or null; valid until the next call
 * Errors     EFAILED integer overflow · ENOMEM · EUNSUPPORTED lower() without the C.UTF-8 locale
 */
granary_err eval_truth(struct eval *eval, int64_t from, int64_t n, const uint8_t **ret_truth);

/* The whole column, owned. Errors: as eval_create() and eval_truth() · EFULL over 2 GiB of text */
granary_err eval_column(const char *text, const granary_frame *frame, struct gr_column *ret_column);

#endif
