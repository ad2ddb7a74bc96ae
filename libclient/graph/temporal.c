/* Dates and timestamps as text. */
#include "graph/expr.h"

static bool
read_digits(const char *text, size_t count, int *ret_value)
{
    int value = 0;

    for (size_t i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (text[i] - '0');
    }
    *ret_value = value;
    return true;
}

static int
days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/* Days since 1970-01-01 in the Gregorian calendar, years from March so that the leap day is the last. */
static int32_t
days_of(int year, int month, int day)
{
    int y = month <= 2 ? year - 1 : year;
    int m = month <= 2 ? month + 9 : month - 3;

    return (int32_t)(365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468);
}

bool
gr_date_parse(const char *text, size_t size, int32_t *ret_days)
{
    int year;
    int month;
    int day;

    if (size != 10 || text[4] != '-' || text[7] != '-' || !read_digits(text, 4, &year) ||
        !read_digits(text + 5, 2, &month) || !read_digits(text + 8, 2, &day)) {
        return false;
    }
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month)) {
        return false;
    }
    *ret_days = days_of(year, month, day);
    return true;
}

/* Microseconds of "hh:mm[:ss[.ffffff]]" */
static bool
parse_clock(const char *text, size_t size, int64_t *ret_microseconds)
{
    int hours;
    int minutes;
    int seconds = 0;
    int fraction = 0;

    if (size < 5 || text[2] != ':' || !read_digits(text, 2, &hours) || !read_digits(text + 3, 2, &minutes)) {
        return false;
    }
    if (size > 5 && (size < 8 || text[5] != ':' || !read_digits(text + 6, 2, &seconds))) {
        return false;
    }
    if (size > 8) {
        if (size == 9 || size > 15 || text[8] != '.' || !read_digits(text + 9, size - 9, &fraction)) {
            return false;
        }
        for (size_t digits = size - 9; digits < 6; digits++) {
            fraction *= 10;
        }
    }
    if (hours > 23 || minutes > 59 || seconds > 59) {
        return false;
    }
    *ret_microseconds = (((int64_t)hours * 60 + minutes) * 60 + seconds) * 1000000 + fraction;
    return true;
}

bool
gr_timestamp_parse(const char *text, size_t size, int64_t *ret_microseconds)
{
    int32_t days;
    int64_t clock = 0;

    if (size < 10 || !gr_date_parse(text, 10, &days)) {
        return false;
    }
    if (size > 10 && ((text[10] != 'T' && text[10] != ' ') || !parse_clock(text + 11, size - 11, &clock))) {
        return false;
    }
    *ret_microseconds = (int64_t)days * 86400000000 + clock;
    return true;
}
