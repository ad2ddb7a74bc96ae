/* Single values as text. */
#include "data/format.h"
#include "contract/dtypes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/value/bytes.h"
#include "data/value/calendar.h"

#define DAY_US INT64_C(86400000000)

/* Digits of a number, the last one before end; at least `least` of them. Returns where they begin. */
static char *
put_digits(uint64_t value, int least, char *end)
{
    for (; value > 0 || least > 0; least--) {
        *--end = (char)('0' + (int)(value % 10));
        value /= 10;
    }
    return end;
}

static void
format_digits(uint64_t size, bool negative, struct gr_buf *out)
{
    char text[24];
    char *end = text + sizeof text;
    char *at = put_digits(size, 1, end);

    if (negative) {
        *--at = '-';
    }
    gr_buf_add(out, at, (size_t)(end - at));
}

/*
 * Prices and measures are doubles of at most 15 digits, a few of them behind the point. m / 10^k is rounded once, so
 * text of those digits is read back as the same number, and fewer digits would not do. false: it is another number.
 */
static bool
format_short_real(double value, struct gr_buf *out)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    static const uint64_t whole_powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    double size = fabs(value);
    char text[32];
    char *end = text + sizeof text;
    char *at;

    if (!(size >= 1e-4 && size < 1e9) && value != 0) {
        return false;
    }
    for (int k = 0; k <= 6; k++) {
        uint64_t m = (uint64_t)(size * powers[k] + 0.5);

        if ((double)m / powers[k] == size) {
            at = k == 0 ? put_digits(0, 1, end) : put_digits(m % whole_powers[k], k, end);
            *--at = '.';
            at = put_digits(m / whole_powers[k], 1, at);
            if (signbit(value)) {
                *--at = '-';
            }
            gr_buf_add(out, at, (size_t)(end - at));
            return true;
        }
    }
    return false;
}

void
format_real(double value, bool single, struct gr_buf *out)
{
    char text[FORMAT_REAL_MAX];

    if (!single && format_short_real(value, out)) {
        return;
    }
    if (isnan(value)) {
        gr_buf_add(out, "nan", 3);
        return;
    }
    if (isinf(value)) {
        gr_buf_addf(out, "%sinf", value < 0 ? "-" : "");
        return;
    }
    for (int digits = single ? 6 : 15; digits <= (single ? 9 : 17); digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) {
            break;
        }
    }
    format_point(text);
    if (strpbrk(text, ".e") == NULL) {
        (void)strcat(text, ".0");
    }
    gr_buf_add(out, text, strlen(text));
}

/* One digit behind the point stays. */
static void
trim_zeros(char *text)
{
    size_t end = strlen(text);

    while (end > 2 && text[end - 1] == '0' && text[end - 2] >= '0' && text[end - 2] <= '9') {
        end--;
    }
    text[end] = '\0';
}

void
format_real_short(double value, struct gr_buf *out)
{
    char text[FORMAT_REAL_MAX];
    double size = fabs(value);

    if (isnan(value) || isinf(value)) {
        format_real(value, false, out);
        return;
    }
    if (size < 1e15 && value == trunc(value)) {
        (void)snprintf(text, sizeof text, "%.1f", value);
    } else if (size >= 1e-4 && size < 1e15) {
        (void)snprintf(text, sizeof text, "%.6f", value);
        trim_zeros(text);
    } else {
        (void)snprintf(text, sizeof text, "%.6g", value);
    }
    format_point(text);
    gr_buf_add(out, text, strlen(text));
}

int
format_digits_of(double value, char ret_digits[FORMAT_DIGITS_MAX + 1], int *ret_exponent)
{
    double size = fabs(value);
    char text[FORMAT_REAL_MAX];
    const char *mark;
    int count = 0;

    /* Up to 15 digits are those that were written, with zeros behind them; numbers near 0 have fewer. */
    for (int behind = size < 1e-300 ? 0 : 14; behind < FORMAT_DIGITS_MAX; behind++) {
        (void)snprintf(text, sizeof text, "%.*e", behind, size);
        if (strtod(text, NULL) == size) {
            break;
        }
    }
    mark = strchr(text, 'e');
    for (const char *at = text; at < mark; at++) { /* the point is a locale's */
        if (*at >= '0' && *at <= '9') {
            ret_digits[count++] = *at;
        }
    }
    while (count > 1 && ret_digits[count - 1] == '0') {
        count--;
    }
    ret_digits[count] = '\0';
    *ret_exponent = atoi(mark + 1);
    return count;
}

void
format_point(char *text)
{
    size_t head = strspn(text, "+-0123456789");
    size_t odd = strcspn(text + head, "0123456789eE"); /* the locale's decimal point, one byte or several */

    if (odd > 0) {
        text[head] = '.';
        memmove(text + head + 1, text + head + odd, strlen(text + head + odd) + 1);
    }
}

/* hh:mm:ss[.ffffff] */
static void
format_clock(int64_t us, struct gr_buf *out)
{
    int64_t seconds = us / 1000000;

    gr_buf_addf(out, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
    if (us % 1000000 != 0) {
        gr_buf_addf(out, ".%06d", (int)(us % 1000000));
    }
}

static void
format_timestamp(int64_t us, struct gr_buf *out)
{
    int64_t days = us / DAY_US - (us % DAY_US < 0);

    gr_date_format(days, out);
    gr_buf_add(out, "T", 1);
    format_clock(us % DAY_US + (us % DAY_US < 0 ? DAY_US : 0), out);
}

static void
format_duration(int64_t us, struct gr_buf *out)
{
    uint64_t size = us < 0 ? -(uint64_t)us : (uint64_t)us;
    uint64_t days = size / DAY_US;

    gr_buf_addf(out, "%s", us < 0 ? "-" : "");
    if (days > 0) {
        gr_buf_addf(out, "%llud ", (unsigned long long)days);
    }
    format_clock((int64_t)(size % DAY_US), out);
}

/* value * 10^-scale, with scale digits behind the point: 12.30 */
static void
format_decimal(gr_int128 value, int scale, struct gr_buf *out)
{
    gr_uint128 size = value < 0 ? -(gr_uint128)value : (gr_uint128)value;
    char text[48];
    size_t at = sizeof text;

    for (int digit = 0; size > 0 || digit <= scale; digit++) {
        if (digit == scale && scale > 0) {
            text[--at] = '.';
        }
        text[--at] = (char)('0' + (int)(size % 10));
        size /= 10;
    }
    if (value < 0) {
        text[--at] = '-';
    }
    gr_buf_add(out, text + at, sizeof text - at);
}

static bool
is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A string within a list: in quotes when it could be taken for something else, with a backslash before a quote or one. */
static void
format_item_text(const char *text, size_t length, struct gr_buf *out)
{
    bool quoted = length == 0 || is_blank(text[0]) || is_blank(text[length - 1]) ||
                  (length == 4 && strncasecmp(text, "null", 4) == 0);

    for (size_t i = 0; i < length && !quoted; i++) {
        quoted = strchr(",[]{}()=:'\"", text[i]) != NULL && text[i] != '\0';
    }
    gr_buf_add(out, "'", quoted);
    for (size_t i = 0; i < length; i++) {
        gr_buf_add(out, "\\", quoted && (text[i] == '\'' || text[i] == '\\'));
        gr_buf_add(out, text + i, 1);
    }
    gr_buf_add(out, "'", quoted);
}

static void
format_list(const granary_column *column, int64_t row, struct gr_buf *out)
{
    const granary_column *items = gr_list_items(column);

    gr_buf_add(out, "[", 1);
    for (int64_t i = column->offsets[row]; i < column->offsets[row + 1]; i++) {
        gr_buf_add(out, ", ", i > column->offsets[row] ? 2 : 0);
        if (gr_is_null(items, i)) {
            gr_buf_add(out, "NULL", 4);
        } else if (items->dtype == GRANARY_STRING) {
            size_t length;
            const char *text = gr_text_at(items, i, &length);

            format_item_text(text, length, out);
        } else {
            gr_value_format(items, i, out);
        }
    }
    gr_buf_add(out, "]", 1);
}

void
gr_value_format(const granary_column *column, int64_t row, struct gr_buf *out)
{
    const char *text;
    size_t length;
    gr_int128 wide;

    if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row)) {
        return;
    }
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_NULLTYPE:
        return;
    case GRANARY_BOOL:
        gr_buf_add(out, gr_bit(column->values, row) ? "true" : "false", gr_bit(column->values, row) ? 4 : 5);
        return;
#define DIGITS(name, type, ...)                                                                                        \
    case GRANARY_##name: {                                                                                             \
        gr_int128 value = ((const type *)column->values)[row];                                                         \
                                                                                                                       \
        format_digits((uint64_t)(value < 0 ? -value : value), value < 0, out);                                         \
        return;                                                                                                        \
    }
        GR_INTEGER_DTYPES(DIGITS)
#undef DIGITS
    case GRANARY_FLOAT64:
        format_real(((const double *)column->values)[row], false, out);
        return;
    case GRANARY_FLOAT32:
        format_real((double)((const float *)column->values)[row], true, out);
        return;
    case GRANARY_STRING:
        text = gr_text_at(column, row, &length);
        gr_buf_add(out, text, length);
        return;
    case GRANARY_BINARY:
        text = gr_text_at(column, row, &length);
        gr_bytes_format(text, length, out);
        return;
    case GRANARY_DATE:
        gr_date_format(((const int32_t *)column->values)[row], out);
        return;
    case GRANARY_TIMESTAMP:
        format_timestamp(((const int64_t *)column->values)[row], out);
        return;
    case GRANARY_TIMESTAMPTZ:
        format_timestamp(((const int64_t *)column->values)[row], out);
        gr_buf_add(out, "Z", 1);
        return;
    case GRANARY_TIME:
        format_clock(((const int64_t *)column->values)[row], out);
        return;
    case GRANARY_DURATION:
        format_duration(((const int64_t *)column->values)[row], out);
        return;
    case GRANARY_DECIMAL:
        memcpy(&wide, (const char *)column->values + (size_t)row * sizeof wide,
               sizeof wide); /* may lie at 8 modulo 16 */
        format_decimal(wide, gr_dtype_scale(column->dtype), out);
        return;
    case GRANARY_COMPLEX64:
    case GRANARY_COMPLEX128:
        return; /* no column has them */
    case GRANARY_LIST:
        format_list(column, row, out);
        return;
    }
}
