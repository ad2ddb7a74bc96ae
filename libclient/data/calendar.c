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
days_of_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/* Years from March, so that the leap day is the last; eras of 400 years are all alike. */
int64_t
gr_date_days(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month <= 2 ? month + 9 : month - 3) + 2) / 5 + day - 1;

    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

struct gr_civil
gr_date_civil(int64_t days)
{
    int64_t shifted = days + 719468; /* since 0000-03-01 */
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    int month = (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);

    return (struct gr_civil){year_of_era + era * 400 + (month <= 2), month,
                             (int)(day_of_year - (153 * month_from_march + 2) / 5 + 1)};
}

int64_t
gr_date_add_months(int64_t days, int64_t months)
{
    struct gr_civil civil = gr_date_civil(days);
    int64_t total = civil.year * 12 + civil.month - 1 + months;
    int64_t year = (total >= 0 ? total : total - 11) / 12;
    int month = (int)(total - year * 12) + 1;
    int last = days_of_month(year, month);

    return gr_date_days(year, month, civil.day < last ? civil.day : last);
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
    *ret_days = (int32_t)gr_date_days(year, month, day);
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
