/* A value is written anew as most are, in a few bytes, and then read as they are. */
#include "kernel/csv/csv_style.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "data/value/calendar.h"
#include "graph/dtype_class.h"
#include "kernel/csv/csv_values.h"

enum { PLAIN_MAX = 128 };

/* ---- formats ---- */

static granary_err
check_format(const char *name, const char *format)
{
    for (const char *at = format == NULL ? "" : format; *at != '\0'; at++) {
        if (*at == '%' && (*++at == '\0' || strchr("YymdbBHIpMSf%", *at) == NULL)) {
            return gr_fail(GRANARY_EINVAL, "%s '%s': it may have %%Y %%y %%m %%d %%b %%B %%H %%I %%p %%M %%S %%f %%%%",
                           name, format);
        }
    }
    return GRANARY_OK;
}

granary_err
csv_style_init(const struct gr_csv_params *params, struct csv_style *ret_style)
{
    const char *decimal = params->decimal;
    const char *thousands = params->thousands;
    granary_err err = GRANARY_OK;

    if (strlen(decimal) != 1 || strchr("0123456789+-eE", decimal[0]) != NULL) {
        err = gr_fail(GRANARY_EINVAL, "decimal '%s': one byte, as a point or a comma", decimal);
    } else if (strlen(thousands) > 1 || (thousands[0] != '\0' && strchr("0123456789+-eE", thousands[0]) != NULL) ||
               thousands[0] == decimal[0]) {
        err = gr_fail(GRANARY_EINVAL, "thousands '%s': one byte other than `decimal`, or nothing", thousands);
    }
    err = err == GRANARY_OK ? check_format("date_format", params->date_format) : err;
    err = err == GRANARY_OK ? check_format("timestamp_format", params->timestamp_format) : err;
    *ret_style = (struct csv_style){.decimal = decimal[0],
                                    .thousands = thousands[0],
                                    .date_format = params->date_format,
                                    .timestamp_format = params->timestamp_format};
    ret_style->is_other =
        decimal[0] != '.' || thousands[0] != '\0' || params->date_format != NULL || params->timestamp_format != NULL;
    return err;
}

/* A moment in parts. */
struct moment {
    int year, month, day, hour, minute, second, micros;
    int half; /* 0: none was said; 1: before noon, 2: behind */
};

/* Up to `most` digits. Returns behind them, or NULL. */
static const char *
take_number(const char *at, const char *end, int most, int *ret_number)
{
    const char *from = at;

    *ret_number = 0;
    while (at < end && at - from < most && *at >= '0' && *at <= '9') {
        *ret_number = *ret_number * 10 + (*at++ - '0');
    }
    return at == from ? NULL : at;
}

static const char *
take_micros(const char *at, const char *end, int *ret_micros)
{
    const char *from = at;
    int unit = 100000;

    *ret_micros = 0;
    for (; at < end && at - from < 9 && *at >= '0' && *at <= '9'; at++, unit /= 10) {
        *ret_micros += unit * (*at - '0');
    }
    return at == from ? NULL : at;
}

static const char *
take_month(const char *at, const char *end, bool whole, int *ret_month)
{
    static const char *const months[] = {"january", "february", "march",     "april",   "may",      "june",
                                         "july",    "august",   "september", "october", "november", "december"};

    for (int m = 0; m < 12; m++) {
        size_t size = whole ? strlen(months[m]) : 3;

        if ((size_t)(end - at) >= size && strncasecmp(at, months[m], size) == 0) {
            *ret_month = m + 1;
            return at + size;
        }
    }
    return NULL;
}

static const char *
take_half(const char *at, const char *end, int *ret_half)
{
    if (end - at < 2 || strchr("mM", at[1]) == NULL || strchr("apAP", at[0]) == NULL) {
        return NULL;
    }
    *ret_half = at[0] == 'a' || at[0] == 'A' ? 1 : 2;
    return at + 2;
}

/* One part of a format. Returns behind what it stands for, or NULL. */
static const char *
take_part(char part, const char *at, const char *end, struct moment *moment)
{
    switch (part) {
    case 'Y':
        return take_number(at, end, 4, &moment->year);
    case 'y':
        at = take_number(at, end, 2, &moment->year);
        moment->year += moment->year < 69 ? 2000 : 1900;
        return at;
    case 'm':
        return take_number(at, end, 2, &moment->month);
    case 'd':
        return take_number(at, end, 2, &moment->day);
    case 'b':
    case 'B':
        return take_month(at, end, part == 'B', &moment->month);
    case 'H':
    case 'I':
        return take_number(at, end, 2, &moment->hour);
    case 'M':
        return take_number(at, end, 2, &moment->minute);
    case 'S':
        return take_number(at, end, 2, &moment->second);
    case 'f':
        return take_micros(at, end, &moment->micros);
    case 'p':
        return take_half(at, end, &moment->half);
    default:
        return at < end && *at == part ? at + 1 : NULL;
    }
}

/* All of a text by a format. */
static bool
read_moment(const char *format, const char *bytes, size_t size, struct moment *moment)
{
    const char *at = bytes;
    const char *end = bytes + size;

    *moment = (struct moment){.year = 1900, .month = 1, .day = 1};
    for (; at != NULL && *format != '\0'; format++) {
        if (*format == '%') {
            format++;
            at = take_part(*format, at, end, moment);
        } else {
            at = at < end && *at == *format ? at + 1 : NULL;
        }
    }
    if (at != end || (moment->half != 0 && (moment->hour < 1 || moment->hour > 12))) {
        return false;
    }
    if (moment->half != 0) {
        moment->hour = moment->hour % 12 + (moment->half == 2 ? 12 : 0);
    }
    return true;
}

/* A date or a timestamp as ISO 8601. Returns its size; 0: it is none. */
static size_t
plain_moment(const char *format, bool with_time, const char *bytes, size_t size, char to[PLAIN_MAX])
{
    struct moment moment;
    int made = 0;

    if (format == NULL || !read_moment(format, bytes, size, &moment)) {
        return 0;
    }
    made = with_time ? snprintf(to, PLAIN_MAX, "%04d-%02d-%02d %02d:%02d:%02d.%06d", moment.year, moment.month,
                                moment.day, moment.hour, moment.minute, moment.second, moment.micros)
                     : snprintf(to, PLAIN_MAX, "%04d-%02d-%02d", moment.year, moment.month, moment.day);
    return (size_t)made;
}

/* ---- numbers ---- */

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A number with a point and without groups. Returns its size; 0: it is none in this style. */
static size_t
plain_number(const struct csv_style *style, const char *bytes, size_t size, char to[PLAIN_MAX])
{
    size_t i = size > 0 && (bytes[0] == '-' || bytes[0] == '+') ? 1 : 0;
    size_t made = i;
    size_t run = 0; /* digits since the last group */
    size_t digits = 0;
    bool grouped = false;

    if (size == 0 || size >= PLAIN_MAX) {
        return 0;
    }
    to[0] = bytes[0];
    for (; i < size && (is_digit(bytes[i]) || (style->thousands != '\0' && bytes[i] == style->thousands)); i++) {
        if (is_digit(bytes[i])) {
            to[made++] = bytes[i];
            run++;
            digits++;
        } else if (run == 0 || (grouped ? run != 3 : run > 3)) {
            return 0;
        } else {
            grouped = true;
            run = 0;
        }
    }
    if (grouped && run != 3) {
        return 0;
    }
    if (i < size && bytes[i] == style->decimal) {
        to[made++] = '.';
        for (i++; i < size && is_digit(bytes[i]); i++, digits++) {
            to[made++] = bytes[i];
        }
    }
    if (digits == 0) {
        return 0;
    }
    if (i < size && (bytes[i] == 'e' || bytes[i] == 'E')) {
        while (i < size && (is_digit(bytes[i]) || strchr("eE+-", bytes[i]) != NULL) && bytes[i] != '\0') {
            to[made++] = bytes[i++];
        }
    }
    return i == size ? made : 0;
}

/* ---- fields ---- */

uint32_t
csv_style_kind(const struct csv_style *style, const char *bytes, size_t size)
{
    char plain[PLAIN_MAX];
    size_t made;
    uint32_t kind;

    made = plain_moment(style->date_format, false, bytes, size, plain);
    if (made > 0 && csv_kind_of(plain, made) == CSV_DATE) {
        return CSV_DATE;
    }
    made = plain_moment(style->timestamp_format, true, bytes, size, plain);
    if (made > 0 && csv_kind_of(plain, made) == CSV_TIMESTAMP) {
        return CSV_TIMESTAMP;
    }
    made = plain_number(style, bytes, size, plain);
    if (made > 0) {
        return (uint32_t)csv_kind_of(plain, made);
    }
    kind = (uint32_t)csv_kind_of(bytes, size);
    return ((kind & (CSV_INT64 | CSV_WIDE | CSV_FLOAT64)) != 0 && size > 0 && memchr(bytes, '.', size) != NULL) ||
                   (kind == CSV_DATE && style->date_format != NULL) ||
                   ((kind & (CSV_TIMESTAMP | CSV_TIMESTAMPTZ)) != 0 && style->timestamp_format != NULL)
               ? (uint32_t)CSV_STRING
               : kind;
}

bool
csv_style_put(const struct csv_style *style, const struct csv_builder *builder, int64_t row, const char *bytes,
              size_t size)
{
    char plain[PLAIN_MAX];
    size_t made = 0;
    bool is_date = builder->dtype == GRANARY_DATE;

    bytes = gr_trim_spaces(bytes, &size);
    if (is_date || builder->dtype == GRANARY_TIMESTAMP) {
        const char *format = is_date ? style->date_format : style->timestamp_format;

        made = plain_moment(format, !is_date, bytes, size, plain);
        if (made == 0 && !is_date) { /* a date among timestamps */
            made = plain_moment(style->date_format, false, bytes, size, plain);
        }
        return made > 0 ? csv_put_value(builder, row, plain, made)
                        : format == NULL && csv_put_value(builder, row, bytes, size);
    }
    if (builder->dtype == GRANARY_BOOL || gr_dtype_class(builder->dtype) == GR_CLASS_DURATION ||
        gr_dtype_class(builder->dtype) == GR_CLASS_MOMENT) {
        return csv_put_value(builder, row, bytes, size);
    }
    made = plain_number(style, bytes, size, plain);
    return made > 0 ? csv_put_value(builder, row, plain, made)
                    : size > 0 && memchr(bytes, '.', size) == NULL && csv_put_value(builder, row, bytes, size);
}
