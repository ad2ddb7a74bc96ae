/* Days from and to civil dates by eras of 400 years that begin in March, and the text of dates and times. */
#include "data/value/calendar.h"
#include "contract/int128.h"

#include <stdlib.h>

#define DAY_US INT64_C(86400000000)

/* ---- days ---- */

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

/* ---- text ---- */

static void
put_digits(char *to, int count, int value)
{
    for (; count > 0; count--, value /= 10) {
        to[count - 1] = (char)('0' + value % 10);
    }
}

void
gr_date_format(int64_t days, struct gr_buf *out)
{
    struct gr_civil civil = gr_date_civil(days);
    char text[10] = "YYYY-MM-DD";

    if (civil.year < 0 || civil.year > 9999) {
        gr_buf_addf(out, "%s%04lld-%02d-%02d", civil.year < 0 ? "-" : "", llabs((long long)civil.year), civil.month,
                    civil.day);
        return;
    }
    put_digits(text, 4, (int)civil.year);
    put_digits(text + 5, 2, civil.month);
    put_digits(text + 8, 2, civil.day);
    gr_buf_add(out, text, sizeof text);
}

/* What is left to read. */
struct rest {
    const char *at;
    size_t size;
};

static bool
take_char(struct rest *rest, char c)
{
    if (rest->size == 0 || rest->at[0] != c) {
        return false;
    }
    rest->at++;
    rest->size--;
    return true;
}

/* least to most digits, as many as there are. false: there are fewer, or more. */
static bool
take_digits(struct rest *rest, size_t least, size_t most, int64_t *ret_value)
{
    int64_t value = 0;
    size_t count = 0;

    for (; count < rest->size && rest->at[count] >= '0' && rest->at[count] <= '9'; count++) {
        if (count == most) {
            return false;
        }
        value = value * 10 + (rest->at[count] - '0');
    }
    if (count < least) {
        return false;
    }
    rest->at += count;
    rest->size -= count;
    *ret_value = value;
    return true;
}

/* "YYYY-MM-DD", or with a sign and up to seven digits of the year. */
static bool
take_date(struct rest *rest, int64_t *ret_days)
{
    bool before = take_char(rest, '-');
    int64_t year, month, day;

    if (!take_digits(rest, 4, 7, &year) || !take_char(rest, '-') || !take_digits(rest, 2, 2, &month) ||
        !take_char(rest, '-') || !take_digits(rest, 2, 2, &day)) {
        return false;
    }
    year = before ? -year : year;
    if (month < 1 || month > 12 || day < 1 || day > days_of_month(year, (int)month)) {
        return false;
    }
    *ret_days = gr_date_days(year, (int)month, (int)day);
    return true;
}

/* "[.f]" with 1 to 9 digits; those behind the sixth are cut off. */
static bool
take_fraction(struct rest *rest, int64_t *ret_microseconds)
{
    static const int64_t nanoseconds[] = {0, 100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
    const char *begin = rest->at + 1;

    *ret_microseconds = 0;
    if (!take_char(rest, '.')) {
        return true;
    }
    if (!take_digits(rest, 1, 9, ret_microseconds)) {
        return false;
    }
    *ret_microseconds = *ret_microseconds * nanoseconds[rest->at - begin] / 1000;
    return true;
}

/* ":mm[:ss[.f]]" */
static bool
take_minutes(struct rest *rest, int64_t *ret_microseconds)
{
    int64_t minutes, seconds = 0, fraction = 0;

    if (!take_char(rest, ':') || !take_digits(rest, 2, 2, &minutes) || minutes > 59) {
        return false;
    }
    if (take_char(rest, ':') &&
        (!take_digits(rest, 2, 2, &seconds) || seconds > 59 || !take_fraction(rest, &fraction))) {
        return false;
    }
    *ret_microseconds = (minutes * 60 + seconds) * 1000000 + fraction;
    return true;
}

bool
gr_date_parse(const char *text, size_t size, int32_t *ret_days)
{
    struct rest rest = {text, size};
    int64_t days;

    if (!take_date(&rest, &days) || rest.size > 0 || days < INT32_MIN || days > INT32_MAX) {
        return false;
    }
    *ret_days = (int32_t)days;
    return true;
}

/* "hh:mm[:ss[.f]]" */
static bool
take_clock(struct rest *rest, int64_t *ret_microseconds)
{
    int64_t hours, below;

    if (!take_digits(rest, 2, 2, &hours) || hours > 23 || !take_minutes(rest, &below)) {
        return false;
    }
    *ret_microseconds = hours * 3600000000 + below;
    return true;
}

/* "YYYY-MM-DD[Thh:mm[:ss[.f]]]"; *ret_clock is whether there was a time of day. */
static bool
take_moment(struct rest *rest, gr_int128 *ret_moment, bool *ret_clock)
{
    int64_t days, clock = 0;

    if (!take_date(rest, &days)) {
        return false;
    }
    *ret_clock = take_char(rest, 'T') || take_char(rest, ' ');
    if (*ret_clock && !take_clock(rest, &clock)) {
        return false;
    }
    *ret_moment = (gr_int128)days * DAY_US + clock;
    return true;
}

/* Nothing is left, and it fits. */
static bool
end_moment(const struct rest *rest, gr_int128 moment, int64_t *ret_microseconds)
{
    if (rest->size > 0 || moment < INT64_MIN || moment > INT64_MAX) {
        return false;
    }
    *ret_microseconds = (int64_t)moment;
    return true;
}

bool
gr_timestamp_parse(const char *text, size_t size, int64_t *ret_microseconds)
{
    struct rest rest = {text, size};
    gr_int128 moment;
    bool clock;

    if (!take_moment(&rest, &moment, &clock)) {
        return false;
    }
    if (clock) {
        (void)take_char(&rest, 'Z');
    }
    return end_moment(&rest, moment, ret_microseconds);
}

/* "+hh", "+hhmm" or "+hh:mm[:ss]", below a day, as in ISO 8601 and PostgreSQL. */
static bool
take_offset(struct rest *rest, int64_t *ret_microseconds)
{
    int64_t sign = take_char(rest, '+') ? 1 : take_char(rest, '-') ? -1 : 0;
    int64_t hours, minutes = 0, seconds = 0;
    bool colon;

    if (sign == 0 || rest->size < 2) {
        return false;
    }
    if (rest->size == 4 && rest->at[2] != ':') { /* hhmm */
        if (!take_digits(rest, 4, 4, &hours)) {
            return false;
        }
        minutes = hours % 100;
        hours /= 100;
    } else {
        if (!take_digits(rest, 2, 2, &hours)) {
            return false;
        }
        colon = take_char(rest, ':');
        if ((colon && !take_digits(rest, 2, 2, &minutes)) ||
            (colon && take_char(rest, ':') && !take_digits(rest, 2, 2, &seconds))) {
            return false;
        }
    }
    *ret_microseconds = sign * ((hours * 60 + minutes) * 60 + seconds) * 1000000;
    return hours < 24 && minutes < 60 && seconds < 60;
}

bool
gr_instant_parse(const char *text, size_t size, int64_t *ret_microseconds, bool *ret_told)
{
    struct rest rest = {text, size};
    gr_int128 moment;
    int64_t offset = 0;
    bool clock;

    if (!take_moment(&rest, &moment, &clock)) {
        return false;
    }
    *ret_told = clock && rest.size > 0;
    if (*ret_told) {
        (void)take_char(&rest, ' ');
        if (rest.size == 3 && rest.at[0] == 'U' && rest.at[1] == 'T' && rest.at[2] == 'C') {
            rest.size = 0;
        } else if (!take_char(&rest, 'Z') && !take_offset(&rest, &offset)) {
            return false;
        }
    }
    return end_moment(&rest, moment - offset, ret_microseconds);
}

bool
gr_time_parse(const char *text, size_t size, int64_t *ret_microseconds, bool *ret_seconds)
{
    struct rest rest = {text, size};
    int64_t clock;

    if (!take_clock(&rest, &clock) || rest.size > 0) {
        return false;
    }
    *ret_seconds = size > 5;
    *ret_microseconds = clock;
    return true;
}

/* "[N d ]": 'd', 'day' or 'days' behind a number. */
static bool
take_days(struct rest *rest, int64_t *ret_days)
{
    struct rest behind = *rest;
    int64_t days;

    if (!take_digits(&behind, 1, 9, &days)) {
        return false;
    }
    (void)take_char(&behind, ' ');
    if (!take_char(&behind, 'd')) {
        return false;
    }
    if (take_char(&behind, 'a') && !take_char(&behind, 'y')) {
        return false;
    }
    (void)take_char(&behind, 's');
    *rest = behind;
    *ret_days = days;
    return true;
}

bool
gr_span_parse(const char *text, size_t size, int64_t *ret_microseconds)
{
    struct rest rest = {text, size};
    bool negative = take_char(&rest, '-');
    int64_t days = 0, hours = 0, below = 0;
    bool has_days = take_days(&rest, &days);
    gr_int128 span;

    if (!has_days || rest.size > 0) {
        if ((has_days && !take_char(&rest, ' ')) || !take_digits(&rest, 2, 10, &hours) ||
            !take_minutes(&rest, &below) || rest.size > 0) {
            return false;
        }
    }
    span = (gr_int128)days * DAY_US + (gr_int128)hours * 3600000000 + below;
    span = negative ? -span : span;
    if (span < INT64_MIN || span > INT64_MAX) {
        return false;
    }
    *ret_microseconds = (int64_t)span;
    return true;
}
