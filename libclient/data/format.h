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
/*
 * The fewest digits that read back as a finite number's size, ended by NUL: how many. Digit n stands for
 * 10^(*ret_exponent - n).
 */
#define FORMAT_DIGITS_MAX 17
int format_digits_of(double value, char ret_digits[FORMAT_DIGITS_MAX + 1], int *ret_exponent);
/* Replace the locale's decimal point in a printed number by '.'. */
void format_point(char *text);

#endif
