/*
 * Doubles of up to 19 digits and small powers of ten are one multiplication or division (Clinger, How to Read
 * Floating Point Numbers Accurately, 1990), in 80-bit floats where the machine has them and the result cannot be in
 * doubt; all others are strtod()'s.
 */
#include "kernel/csv/csv_values.h"
#include "contract/int128.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/value/calendar.h"

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
equals(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && memcmp(text, word, size) == 0;
}

bool
csv_parse_bool(const char *text, size_t size, bool *ret_value)
{
    if (equals(text, size, "true") || equals(text, size, "True") || equals(text, size, "TRUE")) {
        *ret_value = true;
        return true;
    }
    if (equals(text, size, "false") || equals(text, size, "False") || equals(text, size, "FALSE")) {
        *ret_value = false;
        return true;
    }
    return false;
}

bool
csv_parse_int64(const char *text, size_t size, int64_t *ret_value)
{
    bool negative = size > 0 && text[0] == '-';
    size_t i = size > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t value = 0;

    if (i == size) {
        return false;
    }
    for (; i < size; i++) {
        uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';

        if (digit > 9 || value > (limit - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *ret_value = (int64_t)(negative ? 0 - value : value);
    return true;
}

bool
csv_parse_uint64(const char *text, size_t size, uint64_t *ret_value)
{
    size_t i = size > 0 && text[0] == '+' ? 1 : 0;
    uint64_t value = 0;

    if (i == size) {
        return false;
    }
    for (; i < size; i++) {
        uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';

        if (digit > 9 || value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *ret_value = value;
    return true;
}

bool
csv_parse_decimal(const char *text, size_t size, int scale, gr_int128 *ret_scaled)
{
    const gr_int128 most = (gr_int128)INT64_C(10000000000000000) * INT64_C(1000000000000000) * 1000000; /* 10^37 */
    bool negative = size > 0 && text[0] == '-';
    size_t i = size > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    gr_int128 value = 0;
    int behind = -1; /* digits behind the point; -1: it did not come yet */
    bool any = false;

    for (; i < size; i++) {
        int digit = text[i] - '0';

        if (text[i] == '.' && behind < 0) {
            behind = 0;
            continue;
        }
        if (digit < 0 || digit > 9) {
            return false;
        }
        any = true;
        if (behind == scale) {
            if (digit != 0) {
                return false;
            }
            continue;
        }
        if (value >= most) {
            return false;
        }
        value = value * 10 + digit;
        behind += behind >= 0;
    }
    for (behind = behind < 0 ? 0 : behind; behind < scale; behind++) {
        if (value >= most) {
            return false;
        }
        value *= 10;
    }
    *ret_scaled = negative ? -value : value;
    return any;
}

bool
csv_parse_float32(const char *text, size_t size, float *ret_value)
{
    char copy[128];
    double wide;

    if (!csv_parse_float64(text, size, &wide)) {
        return false;
    }
    if (size >= sizeof copy) {
        *ret_value = (float)wide;
        return true;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    *ret_value = strtof(copy, NULL);
    return true;
}

/* The slow and always right way; strtod() needs a NUL. Daemons run in the C locale. */
static bool
float64_by_library(const char *text, size_t size, double *ret_value)
{
    char small[128];
    char *copy = size < sizeof small ? small : malloc(size + 1);

    if (copy == NULL) {
        return false;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    *ret_value = strtod(copy, NULL);
    if (copy != small) {
        free(copy);
    }
    return true;
}

static bool
float64_word(const char *text, size_t size, double *ret_value)
{
    bool negative = size > 0 && text[0] == '-';
    size_t sign = size > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;

    text += sign;
    size -= sign;
    if (equals(text, size, "inf") || equals(text, size, "Infinity")) {
        *ret_value = negative ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    if (sign == 0 && (equals(text, size, "nan") || equals(text, size, "NaN"))) {
        *ret_value = (double)NAN;
        return true;
    }
    return false;
}

/* The exponent behind an 'e' at text[*at]; false when there are no digits. Huge ones stop growing: 0 or inf anyway. */
static bool
parse_exponent(const char *text, size_t size, size_t *at, int *ret_exponent)
{
    size_t i = *at + 1;
    bool negative = i < size && text[i] == '-';
    int exponent = 0;

    if (i < size && (text[i] == '-' || text[i] == '+')) {
        i++;
    }
    if (i == size || !is_digit(text[i])) {
        return false;
    }
    for (; i < size && is_digit(text[i]); i++) {
        exponent = exponent > 100000 ? exponent : exponent * 10 + (text[i] - '0');
    }
    *at = i;
    *ret_exponent = negative ? -exponent : exponent;
    return true;
}

/*
 * mantissa * 10^exponent for -27 <= exponent <= 27. Where long doubles have 64 bits or more, both are exact in them,
 * and the product is off by less than a unit of its last place. false: that may decide how it is rounded to a double.
 */
static bool
float64_extended(uint64_t mantissa, int exponent, double *ret_value)
{
#if LDBL_MANT_DIG == 64
    static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                         1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                         1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    long double value =
        exponent < 0 ? (long double)mantissa / powers[-exponent] : (long double)mantissa * powers[exponent];
    uint64_t bits;
    uint64_t cut;

    memcpy(&bits, &value, sizeof bits); /* the significand; its low 11 bits are cut off */
    cut = bits & 0x7ff;
    if (cut >= 0x3ff && cut <= 0x401) {
        return false;
    }
    *ret_value = (double)value;
    return true;
#else
    (void)mantissa;
    (void)exponent;
    (void)ret_value;
    return false;
#endif
}

bool
csv_parse_float64(const char *text, size_t size, double *ret_value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    bool negative = size > 0 && text[0] == '-';
    size_t i = size > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    uint64_t mantissa = 0;
    size_t digits = 0;
    int exponent = 0;
    int written = 0;
    double value;

    for (; i < size && is_digit(text[i]); i++, digits++) {
        mantissa = mantissa * 10 + (uint64_t)(text[i] - '0');
    }
    if (i < size && text[i] == '.') {
        for (i++; i < size && is_digit(text[i]); i++, digits++, exponent--) {
            mantissa = mantissa * 10 + (uint64_t)(text[i] - '0');
        }
    }
    if (digits == 0) {
        return float64_word(text, size, ret_value);
    }
    if (i < size && (text[i] == 'e' || text[i] == 'E') && !parse_exponent(text, size, &i, &written)) {
        return false;
    }
    if (i != size) {
        return false;
    }
    exponent += written;
    /* More than 19 digits may have overflowed the mantissa. */
    if (digits > 19 || exponent < -27 || exponent > 27) {
        return float64_by_library(text, size, ret_value);
    }
    if (mantissa > (uint64_t)1 << 53 || exponent < -22 || exponent > 22) {
        if (!float64_extended(mantissa, exponent, &value)) {
            return float64_by_library(text, size, ret_value);
        }
        *ret_value = negative ? -value : value;
        return true;
    }
    /* Both numbers are exact, so one operation rounds once. */
    value = exponent < 0 ? (double)mantissa / powers[-exponent] : (double)mantissa * powers[exponent];
    *ret_value = negative ? -value : value;
    return true;
}

enum csv_kind
csv_kind_of(const char *text, size_t size)
{
    int64_t integer;
    gr_int128 wide;
    double number;
    bool truth;
    int32_t days;
    int64_t microseconds;
    bool told;
    char first = size == 0 ? '\0' : text[0];
    bool is_code = csv_is_code(text, size);

    if (size == 10 && text[4] == '-' && text[7] == '-' && gr_date_parse(text, size, &days)) {
        return CSV_DATE; /* no number has two signs there */
    }
    if (is_digit(first) || strchr("+-.inIN", first) != NULL) {
        if (csv_parse_int64(text, size, &integer)) {
            return is_code ? CSV_STRING : CSV_INT64;
        }
        if (memchr(text, '.', size) == NULL && csv_parse_decimal(text, size, 0, &wide)) {
            return is_code ? CSV_STRING : CSV_WIDE;
        }
        if (csv_parse_float64(text, size, &number)) {
            return is_code ? CSV_STRING : CSV_FLOAT64;
        }
        if (gr_date_parse(text, size, &days)) {
            return CSV_DATE;
        }
        if (gr_instant_parse(text, size, &microseconds, &told)) {
            return told ? CSV_TIMESTAMPTZ : CSV_TIMESTAMP;
        }
        return gr_time_parse(text, size, &microseconds, &told) && told ? CSV_TIME : CSV_STRING;
    }
    return csv_parse_bool(text, size, &truth) ? CSV_BOOL : CSV_STRING;
}
