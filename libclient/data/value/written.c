/* Lenient forms of values are made strict ones, which the strict readers read. */
#include "data/value/written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/value/calendar.h"
#include "data/value/number.h"

#define DAY_US INT64_C(86400000000)

static void
trim(const char **text, size_t *size)
{
    for (; *size > 0 && strchr(" \t\n\r", (*text)[0]) != NULL; (*size)--) {
        (*text)++;
    }
    while (*size > 0 && strchr(" \t\n\r", (*text)[*size - 1]) != NULL) {
        (*size)--;
    }
}

/* ---- numbers ---- */

/* Digits of a base that is a power of two, behind "0x" or "0b". */
static bool
based_parse(const char *text, size_t size, int bits, gr_int128 *ret_value)
{
    static const char digits[] = "0123456789abcdef";
    gr_int128 value = 0;

    for (size_t i = 0; i < size; i++) {
        const char *found =
            memchr(digits, text[i] >= 'A' && text[i] <= 'F' ? text[i] + 32 : text[i], (size_t)1 << bits);

        if (found == NULL || value >> 100 != 0) {
            return false;
        }
        value = value << bits | (found - digits);
    }
    *ret_value = value;
    return size > 0;
}

enum { DIGITS_MOST = 400 };

static bool
is_digit_of(char c, bool hex)
{
    return (c >= '0' && c <= '9') || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

/* A text without the underscores that stand between two of its digits. false: one stands elsewhere */
static bool
without_marks(const char **text, size_t *size, bool hex, char copy[DIGITS_MOST])
{
    size_t kept = 0;

    if (*size == 0 || memchr(*text, '_', *size) == NULL) {
        return true;
    }
    if (*size > DIGITS_MOST) {
        return false;
    }
    for (size_t i = 0; i < *size; i++) {
        if ((*text)[i] != '_') {
            copy[kept++] = (*text)[i];
        } else if (i == 0 || i + 1 == *size || !is_digit_of((*text)[i - 1], hex) || !is_digit_of((*text)[i + 1], hex)) {
            return false;
        }
    }
    *text = copy;
    *size = kept;
    return true;
}

bool
gr_integer_written(const char *text, size_t size, gr_int128 *ret_value)
{
    char copy[DIGITS_MOST];
    bool based;

    trim(&text, &size);
    based = size > 2 && text[0] == '0' && strchr("xXbB", text[1]) != NULL;
    if (!without_marks(&text, &size, based, copy)) {
        return false;
    }
    if (based) {
        return based_parse(text + 2, size - 2, text[1] == 'x' || text[1] == 'X' ? 4 : 1, ret_value);
    }
    return gr_decimal_parse(text, size, 0, ret_value);
}

bool
gr_decimal_written(const char *text, size_t size, int scale, gr_int128 *ret_units)
{
    char copy[DIGITS_MOST];

    trim(&text, &size);
    return without_marks(&text, &size, false, copy) && gr_decimal_parse(text, size, scale, ret_units);
}

/* Nothing but digits, signs, a point and an exponent, and one digit at least. */
static bool
is_number(const char *text, size_t size)
{
    bool any = false;

    for (size_t i = 0; i < size; i++) {
        bool digit = is_digit_of(text[i], false);

        if (!digit && (text[i] == '\0' || strchr("+-.eE", text[i]) == NULL)) {
            return false;
        }
        any = any || digit;
    }
    return any;
}

bool
gr_real_written(const char *text, size_t size, double *ret_value)
{
    char copy[DIGITS_MOST];

    trim(&text, &size);
    if (!without_marks(&text, &size, false, copy)) {
        return false;
    }
    if (gr_real_parse(text, size, ret_value)) {
        return true;
    }
    return isinf(*ret_value) && is_number(text, size);
}

bool
gr_bool_written(const char *text, size_t size, bool *ret_value)
{
    static const struct {
        const char *text;
        bool value;
    } words[] = {{"yes", true}, {"no", false}, {"y", true}, {"n", false}};

    trim(&text, &size);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].text) == size && strncasecmp(text, words[i].text, size) == 0) {
            *ret_value = words[i].value;
            return true;
        }
    }
    return gr_bool_parse(text, size, ret_value);
}

/* ---- moments ---- */

/* A text that grows: as long as any that the strict readers take. */
struct strict {
    char text[80];
    size_t size;
};

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
add(struct strict *to, const char *text, size_t size)
{
    if (size > sizeof to->text - to->size) {
        return false;
    }
    memcpy(to->text + to->size, text, size);
    to->size += size;
    return true;
}

/* So many digits at most, with zeros before them up to `width`. */
static bool
add_digits(struct strict *to, const char **at, const char *end, size_t width, size_t most)
{
    size_t count = 0;

    while (*at + count < end && is_digit((*at)[count])) {
        count++;
    }
    if (count == 0 || count > most || (count < width && !add(to, "000", width - count)) || !add(to, *at, count)) {
        return false;
    }
    *at += count;
    return true;
}

/* Bytes of an era behind a date, as it is written there; 0: it is another one, or none. */
static size_t
era_size(const char *at, const char *end, const char *era)
{
    size_t size = strlen(era);

    return (size_t)(end - at) >= size && strncasecmp(at, era, size) == 0 && (at + size == end || at[size] == ' ') ? size
                                                                                                                  : 0;
}

/* " (BC)" or " BC" behind a date that is all of the text so far: its year is the one before by how the strict readers
 * count. " AD" says nothing. */
static bool
add_era(struct strict *to, const char **at, const char *end)
{
    enum { DAY = sizeof "-MM-DD" - 1 };
    char year[8] = "";
    char day[DAY + 1] = "";
    size_t size = era_size(*at, end, " (BC)") + era_size(*at, end, " BC");

    *at += size + era_size(*at, end, " AD");
    if (size == 0) {
        return true;
    }
    memcpy(year, to->text, to->size - DAY);
    memcpy(day, to->text + to->size - DAY, DAY);
    to->size = (size_t)snprintf(to->text, sizeof to->text, "-%04ld%s", strtol(year, NULL, 10) - 1, day);
    return strtol(year, NULL, 10) > 0; /* not of a year with a sign */
}

static bool
add_date(struct strict *to, const char **at, const char *end)
{
    char between;

    if (*at < end && **at == '-') {
        (void)add(to, (*at)++, 1);
    }
    if (!add_digits(to, at, end, 4, 7) || *at == end || **at == '\0' || strchr("-/ \\", **at) == NULL) {
        return false;
    }
    between = *(*at)++;
    if (!add(to, "-", 1) || !add_digits(to, at, end, 2, 2) || *at == end || *(*at)++ != between) {
        return false;
    }
    return add(to, "-", 1) && add_digits(to, at, end, 2, 2) && add_era(to, at, end);
}

/* "h:mm[:ss[.f]]"; with a colon at the end what is missing is 0. */
static bool
add_clock(struct strict *to, const char **at, const char *end)
{
    size_t digits = 0;

    if (!add_digits(to, at, end, 2, 2)) {
        return false;
    }
    for (int part = 0; part < 2 && *at < end && **at == ':'; part++) {
        if (*at + 1 == end) {
            ++*at;
            return add(to, ":00", 3);
        }
        if (!add(to, (*at)++, 1) || !add_digits(to, at, end, 2, 2)) {
            return false;
        }
    }
    if (*at < end && **at == '.') {
        (*at)++;
        while (*at + digits < end && is_digit((*at)[digits])) {
            digits++;
        }
        if (digits > 0 && (!add(to, ".", 1) || !add(to, *at, digits > 9 ? 9 : digits))) {
            return false;
        }
        *at += digits;
    }
    return true;
}

/* Whether a time of day is 24:00, which then becomes 00:00. */
static bool
take_midnight(char *clock, size_t size)
{
    if (size < 2 || memcmp(clock, "24", 2) != 0) {
        return false;
    }
    for (size_t i = 2; i < size; i++) {
        if (clock[i] == '\0' || strchr("0:.", clock[i]) == NULL) {
            return false;
        }
    }
    memcpy(clock, "00", 2);
    return true;
}

/* What stands behind a time of day: an offset, or the name of UTC in any case. */
static bool
add_zone(struct strict *to, const char *at, size_t size)
{
    size_t blank = size > 0 && at[0] == ' ' ? 1 : 0;

    return size == blank + 3 && strncasecmp(at + blank, "UTC", 3) == 0 ? add(to, "UTC", 3) : add(to, at, size);
}

/* A date, and perhaps a time of day and an offset behind it, which may have to be one without counting. */
static bool
moment_written(const char *text, size_t size, bool counts, int64_t *ret_microseconds)
{
    struct strict strict = {.size = 0};
    const char *at;
    const char *end;
    size_t date, clock = 0;
    bool midnight = false;
    bool told;

    trim(&text, &size);
    at = text;
    end = text + size;
    if (!add_date(&strict, &at, end)) {
        return false;
    }
    if (at < end && (*at == 'T' || *at == 't' || *at == ' ')) {
        while (++at < end && *at == ' ') {
        }
        date = strict.size + 1;
        if (!add(&strict, " ", 1) || !add_clock(&strict, &at, end)) {
            return false;
        }
        clock = strict.size;
        midnight = take_midnight(strict.text + date, clock - date);
        if (!add_zone(&strict, at, (size_t)(end - at))) {
            return false;
        }
        at = end;
    }
    return at == end && gr_instant_parse(strict.text, strict.size, ret_microseconds, &told) &&
           (counts || !told || gr_timestamp_parse(strict.text, clock, ret_microseconds)) &&
           !__builtin_add_overflow(*ret_microseconds, midnight ? DAY_US : 0, ret_microseconds);
}

/* Whether a time of day stands there, and perhaps an offset. */
static bool
is_clock(const char *text, size_t size)
{
    struct strict near = {.size = 0}; /* of a day whose timestamps are all in range */
    int64_t microseconds;

    return add(&near, "1970-01-02", 10) && add(&near, text, size) &&
           moment_written(near.text, near.size, false, &microseconds);
}

bool
gr_date_written(const char *text, size_t size, int32_t *ret_days)
{
    struct strict strict = {.size = 0};
    const char *at;

    trim(&text, &size);
    at = text;
    if (!add_date(&strict, &at, text + size)) {
        return false;
    }
    return (at == text + size || is_clock(at, (size_t)(text + size - at))) &&
           gr_date_parse(strict.text, strict.size, ret_days);
}

bool
gr_timestamp_written(const char *text, size_t size, int64_t *ret_microseconds)
{
    return moment_written(text, size, false, ret_microseconds);
}

bool
gr_instant_written(const char *text, size_t size, int64_t *ret_microseconds)
{
    return moment_written(text, size, true, ret_microseconds);
}

bool
gr_time_written(const char *text, size_t size, int64_t *ret_microseconds)
{
    struct strict strict = {.size = 0};
    const char *at;
    bool seconds;

    trim(&text, &size);
    at = text;
    if (add_clock(&strict, &at, text + size) && at == text + size) {
        return gr_time_parse(strict.text, strict.size, ret_microseconds, &seconds);
    }
    if (!moment_written(text, size, false, ret_microseconds)) {
        return false;
    }
    *ret_microseconds %= DAY_US;
    *ret_microseconds += *ret_microseconds < 0 ? DAY_US : 0;
    return true;
}

/* ---- spans ---- */

/* "[-]N day[s]" and a blank, when it begins so. */
static int64_t
take_whole_days(const char **at, const char *end)
{
    const char *from = *at;
    bool minus = from < end && *from == '-';
    int64_t days = 0;

    for (from += minus; from < end && is_digit(*from) && days < 1000000000; from++) {
        days = days * 10 + (*from - '0');
    }
    if (end - from < 4 || memcmp(from, " day", 4) != 0) {
        return 0;
    }
    from += 4;
    from += from < end && *from == 's';
    while (from < end && *from == ' ') {
        from++;
    }
    *at = from;
    return minus ? -days : days;
}

bool
gr_span_written(const char *text, size_t size, int64_t *ret_microseconds)
{
    const char *at;
    int64_t days;
    int64_t rest = 0;

    trim(&text, &size);
    if (gr_span_parse(text, size, ret_microseconds)) {
        return true;
    }
    at = text;
    days = take_whole_days(&at, text + size);
    return at > text && (at == text + size || gr_span_parse(at, (size_t)(text + size - at), &rest)) &&
           !__builtin_mul_overflow(days, DAY_US, ret_microseconds) &&
           !__builtin_add_overflow(*ret_microseconds, rest, ret_microseconds);
}
