/* Numbers as text, whatever the locale of the process. */
#ifndef DATA_FORMAT_H
#define DATA_FORMAT_H

#include <stdbool.h>

#include "data/frame.h"

#define FORMAT_REAL_MAX 64

/* The shortest form that reads back as the same number; with ".0" when it would look like an integer; nan, inf, -inf.
 * single: value is a float. */
void format_real(double value, bool single, struct gr_buf *out);
/* For tables, at most 6 digits behind the point: 3.0, 4.7, 143.894737, 1.5e-07. */
void format_real_short(double value, struct gr_buf *out);
/* Replace the locale's decimal point in a printed number by '.'. */
void format_point(char *text);

#endif
