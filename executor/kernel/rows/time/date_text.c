/* Dates and timestamps as text of a given form, and read from it: strftime() and strptime(), in English. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/value/calendar.h"
#include "kernel/rows/text/text.h"

static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                     "July",    "August",   "September", "October", "November", "December"};
static const char *const days[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

/* A day and the time in it. */
struct moment {
    int64_t days; /* since 1970-01-01 */
    int64_t year;
    int month, day, hour, minute, second, microsecond;
    const char *zone; /* as text: "UTC" of a timestamptz, else "" */
};

/* ---- as text ---- */

static struct moment
moment_of(granary_dtype dtype, int64_t value)
{
    int64_t days_since = dtype == GRANARY_DATE ? value : value / DAY_US - (value % DAY_US < 0);
    int64_t clock = dtype == GRANARY_DATE ? 0 : value % DAY_US + (value % DAY_US < 0 ? DAY_US : 0);
    struct gr_civil civil = gr_date_civil(days_since);
    int seconds = (int)(clock / 1000000);

    return (struct moment){.days = days_since,
                           .year = civil.year,
                           .month = civil.month,
                           .day = civil.day,
                           .hour = seconds / 3600,
                           .minute = seconds / 60 % 60,
                           .second = seconds % 60,
                           .microsecond = (int)(clock % 1000000),
                           .zone = dtype == GRANARY_TIMESTAMPTZ ? "UTC" : ""};
}

/* From 1. */
static int
day_of_year(const struct moment *m)
{
    return (int)(m->days - gr_date_days(m->year, 1, 1)) + 1;
}

static bool
give_part(struct gr_buf *out, const struct moment *m, char letter)
{
    int weekday = (int)(((m->days + 3) % 7 + 7) % 7);
    int64_t thursday = m->days - weekday + 3; /* its year is that of the ISO week */

    switch (letter) {
    case 'Y':
        gr_buf_addf(out, "%04lld", (long long)m->year);
        return true;
    case 'y': /* before year 0 its last digits, too */
        gr_buf_addf(out, "%02d", abs((int)(m->year % 100)));
        return true;
    case 'm':
        gr_buf_addf(out, "%02d", m->month);
        return true;
    case 'd':
        gr_buf_addf(out, "%02d", m->day);
        return true;
    case 'H':
        gr_buf_addf(out, "%02d", m->hour);
        return true;
    case 'I':
        gr_buf_addf(out, "%02d", (m->hour + 11) % 12 + 1);
        return true;
    case 'M':
        gr_buf_addf(out, "%02d", m->minute);
        return true;
    case 'S':
        gr_buf_addf(out, "%02d", m->second);
        return true;
    case 'f':
        gr_buf_addf(out, "%06d", m->microsecond);
        return true;
    case 'g':
        gr_buf_addf(out, "%03d", m->microsecond / 1000);
        return true;
    case 'n':
        gr_buf_addf(out, "%06d000", m->microsecond);
        return true;
    case 'z':
        gr_buf_addf(out, "+00");
        return true;
    case 'Z':
        gr_buf_addf(out, "%s", m->zone);
        return true;
    case 'U':
        gr_buf_addf(out, "%02d", (day_of_year(m) + 6 - (weekday + 1) % 7) / 7);
        return true;
    case 'W':
        gr_buf_addf(out, "%02d", (day_of_year(m) + 6 - weekday) / 7);
        return true;
    case 'V':
        gr_buf_addf(out, "%02d", (int)((thursday - gr_date_days(gr_date_civil(thursday).year, 1, 1)) / 7 + 1));
        return true;
    case 'G':
        gr_buf_addf(out, "%04lld", (long long)gr_date_civil(thursday).year);
        return true;
    case 'j':
        gr_buf_addf(out, "%03d", day_of_year(m));
        return true;
    case 'p':
        gr_buf_addf(out, m->hour < 12 ? "AM" : "PM");
        return true;
    case 'B':
        gr_buf_addf(out, "%s", months[m->month - 1]);
        return true;
    case 'b':
    case 'h':
        gr_buf_addf(out, "%.3s", months[m->month - 1]);
        return true;
    case 'A':
        gr_buf_addf(out, "%s", days[weekday]);
        return true;
    case 'a':
        gr_buf_addf(out, "%.3s", days[weekday]);
        return true;
    case 'u':
        gr_buf_addf(out, "%d", weekday + 1);
        return true;
    case 'w':
        gr_buf_addf(out, "%d", (weekday + 1) % 7);
        return true;
    case '%':
        gr_buf_addf(out, "%%");
        return true;
    default:
        return false;
    }
}

/* "%-d": a number without zeros before it */
static bool
give_unpadded(struct gr_buf *out, const struct moment *m, char letter)
{
    size_t from = out->size;
    size_t zeros = 0;

    if (strchr("dmyHIMSjUW", letter) == NULL || !give_part(out, m, letter) || !gr_buf_ok(out)) {
        return false;
    }
    while (from + zeros + 1 < out->size && out->bytes[from + zeros] == '0') {
        zeros++;
    }
    memmove(out->bytes + from, out->bytes + from + zeros, out->size - from - zeros);
    out->size -= zeros;
    return true;
}

/* dayname(), monthname() */
bool
text_date_name(struct text_call *call)
{
    struct moment moment = moment_of(call->node->operands[0]->dtype, call->ints[0]);

    return give_part(call->out, &moment, call->node->op == GR_OP_DAYNAME ? 'A' : 'B');
}

/* Parts that stand for several; NULL: it stands for itself. */
static const char *
long_form(char letter)
{
    return letter == 'F' || letter == 'x' ? "%Y-%m-%d"
           : letter == 'X'                ? "%H:%M:%S"
           : letter == 'c'                ? "%Y-%m-%d %H:%M:%S"
           : letter == 'T'                ? "%H:%M:%S"
           : letter == 'D'                ? "%m/%d/%y"
                                          : NULL;
}

bool
text_strftime(struct text_call *call)
{
    const struct rows_text *format = &call->texts[1];
    struct moment moment = moment_of(call->node->operands[0]->dtype, call->ints[0]);

    for (size_t i = 0; i < format->size; i++) {
        const char *parts;

        if (format->bytes[i] != '%') {
            text_give(call, text_between(format, i, i + 1));
            continue;
        }
        if (++i == format->size) {
            return false;
        }
        parts = long_form(format->bytes[i]);
        for (size_t k = 0; parts != NULL && parts[k] != '\0'; k++) {
            if (parts[k] != '%') {
                gr_buf_add(call->out, &parts[k], 1);
            } else {
                (void)give_part(call->out, &moment, parts[++k]);
            }
        }
        if (format->bytes[i] == '-' && i + 1 < format->size) {
            if (!give_unpadded(call->out, &moment, format->bytes[++i])) {
                return false;
            }
        } else if (parts == NULL && !give_part(call->out, &moment, format->bytes[i])) {
            return false;
        }
    }
    return true;
}

/* ---- from text ---- */

struct reading {
    const char *at;
    const char *end;
    struct moment moment;
    int64_t offset_us; /* of %z */
    /* What tells the day: D month and day, j that of the year, U W V weeks from Sundays, from Mondays and of ISO, G a year
     * of such; 0: the year alone. Only one can, and D goes before the others. */
    char told_by;
    bool has_year;
    int64_t count; /* of the week or day */
    int weekday;   /* from Monday, 0 (%u %w); -1: not told */
    bool unknown_zone;
    bool afternoon;
    bool half_days; /* hours are those of %I, or %p says which half they are of */
};

static bool
read_number(struct reading *r, int most, int64_t *ret_number, int *ret_digits)
{
    int64_t number = 0;
    int digits = 0;

    for (; r->at < r->end && digits < most && *r->at >= '0' && *r->at <= '9'; r->at++, digits++) {
        number = number * 10 + (*r->at - '0');
    }
    *ret_number = number;
    *ret_digits = digits;
    return digits > 0;
}

static bool
read_small(struct reading *r, int least, int most, int *ret_number)
{
    int64_t number;
    int digits;

    if (!read_number(r, 2, &number, &digits) || number < least || number > most) {
        return false;
    }
    *ret_number = (int)number;
    return true;
}

/* One of the names, whole or its first three letters. Longer ones come first, so that "March" is not "Mar" and "ch". */
static bool
read_name(struct reading *r, const char *const *names, int count, bool is_short, int *ret_number)
{
    for (int i = 0; i < count; i++) {
        size_t size = is_short ? 3 : strlen(names[i]);

        if ((size_t)(r->end - r->at) >= size && strncasecmp(r->at, names[i], size) == 0) {
            r->at += size;
            *ret_number = i;
            return true;
        }
    }
    return false;
}

/* Two digits, no fewer. */
static bool
read_two(struct reading *r, int most, int *ret_number)
{
    const char *from = r->at;

    return read_small(r, 0, most, ret_number) && r->at - from == 2;
}

/* +02, -0430, +05:30: of UTC */
static bool
read_offset(struct reading *r)
{
    bool west = r->at < r->end && *r->at == '-';
    int hours = 0;
    int minutes = 0;

    if (r->at == r->end || (*r->at != '+' && *r->at != '-')) {
        return false;
    }
    r->at++;
    if (!read_two(r, 23, &hours)) {
        return false;
    }
    if (r->end - r->at >= 3 && *r->at == ':') {
        r->at++;
    }
    if (r->at < r->end && r->at[0] >= '0' && r->at[0] <= '9' && !read_two(r, 59, &minutes)) {
        return false;
    }
    r->offset_us = (hours * 60 + minutes) * (west ? -1 : 1) * INT64_C(60000000);
    return true;
}

/* Another part that tells the day. false: two contradict */
static bool
tell_by(struct reading *r, char letter)
{
    if (letter == 'D' || r->told_by == 0) {
        r->told_by = letter;
        return letter != 'V' || !r->has_year;
    }
    if (r->told_by == 'D') {
        return true;
    }
    if (letter == 'V' && r->told_by == 'G') {
        r->told_by = 'V';
        return true;
    }
    return letter == 'G' && r->told_by == 'V';
}

/* %Y, %y: an ISO year and its week before it do not count. */
static void
tell_year(struct reading *r, int64_t year)
{
    r->moment.year = year;
    r->has_year = true;
    r->told_by = r->told_by == 'V' || r->told_by == 'G' ? 0 : r->told_by;
}

/* %G %U %W %V %j %u %w */
static bool
read_calendar(struct reading *r, char letter)
{
    int64_t number;
    int digits;

    if (!read_number(r,
                     letter == 'G'                    ? 4
                     : letter == 'j'                  ? 3
                     : letter == 'u' || letter == 'w' ? 1
                                                      : 2,
                     &number, &digits)) {
        return false;
    }
    switch (letter) {
    case 'G':
        if (r->has_year) { /* which goes before */
            return digits == 4 && number > 0;
        }
        r->moment.year = r->told_by == 'D' ? r->moment.year : number;
        return digits == 4 && number > 0 && tell_by(r, 'G');
    case 'u':
        r->weekday = (int)number - 1;
        return number >= 1 && number <= 7;
    case 'w':
        r->weekday = (int)(number + 6) % 7;
        return number <= 6;
    default:
        r->count = r->told_by == 'D' ? r->count : number;
        return number >= (letter == 'V' || letter == 'j') && number <= (letter == 'j' ? 366 : 53) && tell_by(r, letter);
    }
}

/* %Z: only names of UTC are known. */
static bool
read_zone(struct reading *r)
{
    static const char *const names[] = {"UTC", "GMT", "Z"};
    const char *from = r->at;

    while (r->at < r->end &&
           ((*r->at >= 'A' && *r->at <= 'Z') || (*r->at >= 'a' && *r->at <= 'z') || *r->at == '/' || *r->at == '_')) {
        r->at++;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i]) == (size_t)(r->at - from) && strncasecmp(names[i], from, strlen(names[i])) == 0) {
            return true;
        }
    }
    r->unknown_zone = r->at > from;
    return false;
}

static bool
read_part(struct reading *r, char letter)
{
    struct moment *m = &r->moment;
    int64_t number;
    int digits, place;

    switch (letter) {
    case 'Y':
        if (!read_number(r, 4, &number, &digits) || digits != 4 || number == 0) {
            return false;
        }
        tell_year(r, number);
        return true;
    case 'y':
        if (!read_number(r, 2, &number, &digits) || digits != 2) {
            return false;
        }
        tell_year(r, number + (number < 69 ? 2000 : 1900));
        return true;
    case 'm':
        return read_small(r, 1, 12, &m->month) && tell_by(r, 'D');
    case 'd':
        return read_small(r, 1, 31, &m->day) && tell_by(r, 'D');
    case 'H':
        return read_small(r, 0, 23, &m->hour);
    case 'I':
        r->half_days = true;
        return read_small(r, 1, 12, &m->hour);
    case 'M':
        return read_small(r, 0, 59, &m->minute);
    case 'S':
        return read_small(r, 0, 59, &m->second);
    case 'f':
        if (!read_number(r, 6, &number, &digits)) {
            return false;
        }
        for (; digits < 6; digits++) {
            number *= 10;
        }
        m->microsecond = (int)number;
        return true;
    case 'g':
        if (!read_number(r, 3, &number, &digits)) {
            return false;
        }
        m->microsecond = (int)(digits == 3 ? number * 1000 : digits == 2 ? number * 10000 : number * 100000);
        return true;
    case 'p':
        r->half_days = true;
        r->afternoon = r->at < r->end && (*r->at == 'P' || *r->at == 'p');
        r->at += 2;
        return r->at <= r->end && (r->at[-1] == 'M' || r->at[-1] == 'm') && strchr("APap", r->at[-2]) != NULL;
    case 'B':
    case 'b':
    case 'h':
        if (!read_name(r, months, 12, letter != 'B', &place)) {
            return false;
        }
        m->month = place + 1;
        return tell_by(r, 'D');
    case 'A':
    case 'a':
        return read_name(r, days, 7, letter == 'a', &place);
    case 'j':
    case 'G':
    case 'U':
    case 'W':
    case 'V':
    case 'u':
    case 'w':
        return read_calendar(r, letter);
    case 'z':
        return read_offset(r);
    case 'Z':
        return read_zone(r);
    case '%':
        return r->at < r->end && *r->at++ == '%';
    default:
        return false;
    }
}

static bool
read_format(struct reading *r, const char *format, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char *parts = format[i] == '%' && i + 1 < size ? long_form(format[i + 1]) : NULL;

        if (format[i] == ' ') { /* any number of blanks */
            if (r->at == r->end || *r->at != ' ') {
                return false;
            }
            while (r->at < r->end && *r->at == ' ') {
                r->at++;
            }
            while (i + 1 < size && format[i + 1] == ' ') {
                i++;
            }
            continue;
        }
        if (format[i] != '%') {
            if (r->at == r->end || *r->at++ != format[i]) {
                return false;
            }
            continue;
        }
        i += 1 + (i + 1 < size && format[i + 1] == '-'); /* %-d: digits are read without zeros, too */
        if (i >= size || (parts != NULL ? !read_format(r, parts, strlen(parts)) : !read_part(r, format[i]))) {
            return false;
        }
    }
    return true;
}

/* The day that month and day, a week, or the day of the year say. false: there is none such */
static bool
find_day(const struct reading *r, int64_t *ret_days)
{
    const struct moment *m = &r->moment;
    int64_t first = gr_date_days(m->year, 1, 1);
    int weekday = r->weekday < 0 ? 0 : r->weekday; /* from Monday */
    int sunday = r->weekday < 0 ? 0 : (r->weekday + 1) % 7;
    int begins = (int)(((first + 3) % 7 + 7) % 7); /* the weekday of the first of January */

    switch (r->told_by) {
    case 'j':
        *ret_days = first + r->count - 1;
        return gr_date_civil(*ret_days).year == m->year;
    case 'U':
        *ret_days = first + (6 - begins) % 7 + (r->count - 1) * 7 + sunday;
        return true;
    case 'W':
        *ret_days = first + (7 - begins) % 7 + (r->count - 1) * 7 + weekday;
        return true;
    case 'V': /* week 1 has the 4th of January */
        first += 3 - (begins + 3) % 7;
        *ret_days = first + (r->count - 1) * 7 + weekday;
        return gr_date_civil(first + (r->count - 1) * 7 + 3).year == m->year;
    default:
        *ret_days = gr_date_days(m->year, m->month, m->day);
        return gr_date_civil(*ret_days).day == m->day; /* there is no 30th of February */
    }
}

static bool
read_moment(struct reading *r, const struct rows_text *format, int64_t *ret_value)
{
    struct moment *m = &r->moment;

    if (!read_format(r, format->size > 0 ? format->bytes : "", format->size) || r->at != r->end ||
        (r->half_days && m->hour > 12) || !find_day(r, &m->days)) {
        return false;
    }
    m->hour = r->half_days ? m->hour % 12 + (r->afternoon ? 12 : 0) : m->hour;
    *ret_value = m->days * DAY_US + ((m->hour * 60 + m->minute) * INT64_C(60) + m->second) * 1000000 + m->microsecond -
                 r->offset_us;
    return true;
}

/* Whether read_part() knows all letters of a format. */
static bool
is_readable(const struct rows_text *format)
{
    for (size_t i = 0; i < format->size; i++) {
        if (format->bytes[i] == '%') {
            i += 1 + (i + 1 < format->size && format->bytes[i + 1] == '-');
            if (i >= format->size || (long_form(format->bytes[i]) == NULL &&
                                      strchr("YymdHIMSfgpBbhAajzZGUWVuw%", format->bytes[i]) == NULL)) {
                return false;
            }
        }
    }
    return true;
}

bool
text_strptime(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    const char *bytes = text->size > 0 ? text->bytes : "";
    struct reading reading = {
        .at = bytes, .end = bytes + text->size, .moment = {.year = 1900, .month = 1, .day = 1}, .weekday = -1};
    bool there = read_moment(&reading, &call->texts[1], &call->value);

    call->null =
        !there && !reading.unknown_zone && call->node->op == GR_OP_TRY_STRPTIME && is_readable(&call->texts[1]);
    return there || call->null;
}
