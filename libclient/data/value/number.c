/* Numbers from text without a locale: integers and decimals exactly, reals by strtod in the C locale. */
#include "data/value/number.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* An exponent beyond this moves every digit out of reach; it is read no further. */
#define EXPONENT_MOST 1000000

static pthread_once_t plain_once = PTHREAD_ONCE_INIT;
static locale_t plain_locale;

/* Kept for the life of the process: a decimal point is a point. */
static void
plain_load(void)
{
    plain_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "[e[+-]digits]" at the end of a number. */
static bool
exponent_parse(const char *text, size_t size, long *ret_exponent)
{
    size_t at = size > 1 && (text[1] == '-' || text[1] == '+') ? 2 : 1;
    long exponent = 0;

    *ret_exponent = 0;
    if (size == 0) {
        return true;
    }
    if ((text[0] != 'e' && text[0] != 'E') || at == size) {
        return false;
    }
    for (; at < size; at++) {
        if (!is_digit(text[at])) {
            return false;
        }
        exponent = exponent < EXPONENT_MOST ? exponent * 10 + (text[at] - '0') : exponent;
    }
    *ret_exponent = text[1] == '-' ? -exponent : exponent;
    return true;
}

/* The first `kept` digits as a number, zeros behind them when there are fewer, rounded by the one that follows. */
static bool
digits_units(const char *text, size_t size, long kept, gr_int128 *ret_units)
{
    gr_int128 units = 0;
    long seen = 0;
    bool up = false;

    for (size_t at = 0; at < size; at++) {
        if (text[at] == '.') {
            continue;
        }
        if (seen < kept && (__builtin_mul_overflow(units, (gr_int128)10, &units) ||
                            __builtin_add_overflow(units, (gr_int128)(text[at] - '0'), &units))) {
            return false;
        }
        up = seen == kept ? text[at] >= '5' : up;
        seen++;
    }
    for (; seen < kept && units != 0; seen++) {
        if (__builtin_mul_overflow(units, (gr_int128)10, &units)) {
            return false;
        }
    }
    *ret_units = units + up;
    return true;
}

bool
gr_decimal_parse(const char *text, size_t size, int scale, gr_int128 *ret_units)
{
    size_t begin = size > 0 && (text[0] == '-' || text[0] == '+');
    size_t end = begin;
    size_t point = size;
    long exponent;

    for (; end < size && (is_digit(text[end]) || (text[end] == '.' && point == size)); end++) {
        point = text[end] == '.' ? end : point;
    }
    if (end - begin == (point < end) || !exponent_parse(text + end, size - end, &exponent)) {
        return false; /* no digit, or something behind them */
    }
    point = point < end ? point : end;
    if (!digits_units(text + begin, end - begin, (long)(point - begin) + exponent + scale, ret_units)) {
        return false;
    }
    *ret_units = text[0] == '-' ? -*ret_units : *ret_units;
    return true;
}

bool
gr_integer_parse(const char *text, size_t size, gr_int128 *ret_value)
{
    for (size_t at = 0; at < size; at++) {
        if (!is_digit(text[at]) && at > 0) {
            return false;
        }
    }
    return (size == 0 || text[0] != '.') && gr_decimal_parse(text, size, 0, ret_value);
}

bool
gr_real_parse(const char *text, size_t size, double *ret_value)
{
    char copy[400];
    char *end;

    (void)pthread_once(&plain_once, plain_load);
    if (size == 0 || size >= sizeof copy || plain_locale == (locale_t)0) {
        return false;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    *ret_value = strtod_l(copy, &end, plain_locale);
    return end == copy + size && strpbrk(copy, "xX(") == NULL &&
           (!isinf(*ret_value) || strpbrk(copy, "0123456789") == NULL); /* 1e999 is beyond; inf is not */
}

bool
gr_bool_parse(const char *text, size_t size, bool *ret_value)
{
    static const struct {
        const char *text;
        bool value;
    } words[] = {{"true", true}, {"false", false}, {"t", true}, {"f", false}, {"1", true}, {"0", false}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].text) == size && strncasecmp(text, words[i].text, size) == 0) {
            *ret_value = words[i].value;
            return true;
        }
    }
    return false;
}
