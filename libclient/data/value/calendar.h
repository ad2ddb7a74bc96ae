/* The calendar: days, and dates, times, timestamps and durations as text. Proleptic Gregorian; year 0 is the one before
 * year 1. */
#ifndef DATA_VALUE_CALENDAR_H
#define DATA_VALUE_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/buf.h"

/* Days since 1970-01-01 of a day; month 1 to 12, day from 1. */
int64_t gr_date_days(int64_t year, int month, int day);
struct gr_civil {
    int64_t year;
    int month;
    int day;
};
struct gr_civil gr_date_civil(int64_t days);
/* The day that many months later; the 31st becomes the last day of a shorter month. */
int64_t gr_date_add_months(int64_t days, int64_t months);

/* "2020-01-31", "12020-01-31", "-0044-03-15" */
void gr_date_format(int64_t days, struct gr_buf *out);

/* What is written so as values; each reads the whole text. false: it is none, or out of range. */

/* Days since 1970-01-01 of "YYYY-MM-DD"; years beyond 9999 have up to seven digits, those before 0 a sign. */
bool gr_date_parse(const char *text, size_t size, int32_t *ret_days);
/* Microseconds since 1970-01-01T00:00:00 of a date, or "YYYY-MM-DDThh:mm[:ss[.f]][Z]" with "T" or a space and 1 to 9
 * digits f, of which those behind the sixth are cut off. */
bool gr_timestamp_parse(const char *text, size_t size, int64_t *ret_microseconds);
/* The same in UTC of "Z", "UTC" or an offset "+hh", "+hhmm", "+hh:mm[:ss]" behind it, which a space may precede. Without
 * one it is UTC already; *ret_told is whether there was one. */
bool gr_instant_parse(const char *text, size_t size, int64_t *ret_microseconds, bool *ret_told);
/* Microseconds since midnight of "hh:mm[:ss[.f]]"; *ret_seconds is whether seconds were written. */
bool gr_time_parse(const char *text, size_t size, int64_t *ret_microseconds, bool *ret_seconds);
/* Microseconds of "[-][N d ]hh:mm[:ss[.f]]" or "[-]N d", with 'd', 'day' or 'days' and a space before it or not. */
bool gr_span_parse(const char *text, size_t size, int64_t *ret_microseconds);

#endif
