/* Fields as values: what a field's text can be, and its value. Every parser takes the whole text or refuses it. */
#ifndef KERNEL_CSV_CSV_VALUES_H
#define KERNEL_CSV_CSV_VALUES_H

#include "base/text/text.h"
#include "contract/int128.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was seen in a column: the bits of CsvTypes.kinds. */
enum csv_kind {
    CSV_NULL = 1,
    CSV_BOOL = 2,
    CSV_INT64 = 4,
    CSV_FLOAT64 = 8,
    CSV_DATE = 16,
    CSV_TIMESTAMP = 32,
    CSV_STRING = 64,
    CSV_WIDE = 128, /* an integer beyond int64, of at most 38 digits */
    CSV_TIME = 256,
    CSV_TIMESTAMPTZ = 512, /* with a Z or an offset from UTC */
};

/* Digits behind a zero are a code, such as a postal one: a number would lose the zero. */
static inline bool
csv_is_code(const char *text, size_t size)
{
    return size > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

/* The narrowest kind of a field that is not null. A code is no number, but every parser of numbers reads it. */
enum csv_kind csv_kind_of(const char *text, size_t size);

/* true, True, TRUE, false, False, FALSE */
bool csv_parse_bool(const char *text, size_t size, bool *ret_value);
/* Decimal digits with an optional sign, in the range of int64. */
bool csv_parse_int64(const char *text, size_t size, int64_t *ret_value);
bool csv_parse_uint64(const char *text, size_t size, uint64_t *ret_value);
/* Digits with optional sign and point, at most scale of them behind it (zeros beyond do no harm), below 10^38. */
bool csv_parse_decimal(const char *text, size_t size, int scale, gr_int128 *ret_scaled);
/* As csv_parse_float64(), rounded once to single precision. */
bool csv_parse_float32(const char *text, size_t size, float *ret_value);
/* Decimal, with optional sign, point and exponent; inf, Infinity, nan, NaN. Correctly rounded. */
bool csv_parse_float64(const char *text, size_t size, double *ret_value);

#endif
