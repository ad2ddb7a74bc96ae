/* The calendar knows microseconds; digits behind them are added here. */
#include "cli/mutable/moment.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/value/calendar.h"

/* A whole number. */
static bool
number_parse(const char *text, int64_t *ret_number)
{
    char *end;

    errno = 0;
    *ret_number = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && !isspace((unsigned char)*text);
}

/* What the digits of a fraction behind the sixth are worth. */
static int64_t
nanoseconds_below(const char *text)
{
    static const int64_t worth[] = {100, 10, 1};
    const char *point = strchr(text, '.');
    size_t digits = point == NULL ? 0 : strspn(point + 1, "0123456789");
    int64_t sum = 0;

    for (size_t i = 6; i < digits && i < 9; i++) {
        sum += (point[1 + i] - '0') * worth[i - 6];
    }
    return sum;
}

granary_err
moment_parse(const char *text, int64_t *ret_time)
{
    int64_t microseconds;

    if (number_parse(text, ret_time)) {
        return GRANARY_OK;
    }
    if (!gr_timestamp_parse(text, strlen(text), &microseconds) ||
        __builtin_mul_overflow(microseconds, INT64_C(1000), ret_time) ||
        __builtin_add_overflow(*ret_time, nanoseconds_below(text), ret_time)) {
        return gr_fail(GRANARY_EINVAL,
                       "'%s' is no time: nanoseconds since 1970, or a timestamp in UTC as 2026-01-31T12:00:00", text);
    }
    return GRANARY_OK;
}

granary_err
moment_take(void *time, char *text)
{
    return moment_parse(text, time);
}
