/*
 * Values as people write them in a cast or literal: what the strict readers of calendar.h and number.h take, and more.
 * Files are read by the strict ones: which dtype a column has must not depend on so much.
 *
 * Each reads the whole text, blanks around it aside. false: it is none, or out of range.
 */
#ifndef DATA_VALUE_WRITTEN_H
#define DATA_VALUE_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/int128.h"

/* Numbers may have an underscore between two digits. Integers also read "12.5", "1e5" (rounded, halves away from 0), "0x1F" and
 * "0b101". */
bool gr_integer_written(const char *text, size_t size, gr_int128 *ret_value);
/* As gr_decimal_parse(). */
bool gr_decimal_written(const char *text, size_t size, int scale, gr_int128 *ret_units);
/* A number beyond a float64 is infinite. */
bool gr_real_written(const char *text, size_t size, double *ret_value);
/* Also yes, no, y and n. */
bool gr_bool_written(const char *text, size_t size, bool *ret_value);
/* Months and days of one digit, years of fewer than four and " (BC)", "/", "\" or a blank for "-"; a time of day behind it is
 * left out. */
bool gr_date_written(const char *text, size_t size, int32_t *ret_days);
/* The same with a time of day, whose hours may have one digit, and whose fraction any number; 24:00 is the next day. An
 * offset from UTC is left out of a timestamp, and counted in of an instant. */
bool gr_timestamp_written(const char *text, size_t size, int64_t *ret_microseconds);
bool gr_instant_written(const char *text, size_t size, int64_t *ret_microseconds);
/* Of a date with a time of day the time. */
bool gr_time_written(const char *text, size_t size, int64_t *ret_microseconds);
/* "2 days 03:00:00", "-1 day -00:30:00" */
bool gr_span_written(const char *text, size_t size, int64_t *ret_microseconds);

#endif
