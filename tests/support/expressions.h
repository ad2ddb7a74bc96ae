/*
 * Random expressions, as text by the grammar: of any type, and most do not fit. Their columns are a int64, i int32,
 * x float64, r float32, s string, d date, b bool, t timestamp, l duration, m decimal(2), u uint64 and `end` int8.
 */
#ifndef SUPPORT_EXPRESSIONS_H
#define SUPPORT_EXPRESSIONS_H

#include <stdint.h>

#include "base/text/buf.h"

/* Append one of at most this depth; 0 is a leaf. state: not 0, and the next one's afterwards. */
void expression_write(uint64_t *state, int depth, struct gr_buf *out);

#endif
