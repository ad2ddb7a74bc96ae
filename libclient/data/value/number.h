/* Numbers and bools as text. Each function reads the whole text, which has no blanks around it, as it is meant in every
 * locale. false: it is none, or out of range. */
#ifndef DATA_VALUE_NUMBER_H
#define DATA_VALUE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "contract/int128.h"

/* Units of 10^-scale of "[+-]digits[.digits][e[+-]digits]", rounded (halves away from 0). */
bool gr_decimal_parse(const char *text, size_t size, int scale, gr_int128 *ret_units);
/* The same without a point and an exponent. */
bool gr_integer_parse(const char *text, size_t size, gr_int128 *ret_value);
/* As strtod() reads it, inf and nan among them; hexadecimal digits are none, and 1e999 is out of range. */
bool gr_real_parse(const char *text, size_t size, double *ret_value);
/* true, false, t, f, 1, 0 in letters of any case. */
bool gr_bool_parse(const char *text, size_t size, bool *ret_value);

#endif
