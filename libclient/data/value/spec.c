/* Formats of values, read. */
#include "data/value/spec.h"

#include <string.h>

static char
take_one(const char **at, const char *end, const char *of)
{
    return *at < end && **at != '\0' && strchr(of, **at) != NULL ? *(*at)++ : '\0';
}

/* What stands between thousands: itself, or behind a t. */
static char
take_group(const char **at, const char *end)
{
    if (end - *at >= 2 && **at == 't' && (*at)[1] >= ' ' && (*at)[1] <= '~') {
        *at += 2;
        return (*at)[-1];
    }
    return take_one(at, end, ",_'");
}

/* -1: it is too large */
static int
take_number(const char **at, const char *end, int most)
{
    int number = 0;

    while (*at < end && **at >= '0' && **at <= '9' && number >= 0) {
        number = 10 * number + (*(*at)++ - '0');
        number = number > most ? -1 : number;
    }
    return number;
}

bool
gr_spec_parse(const char *text, size_t size, struct gr_spec *ret_spec)
{
    const char *at = text;
    const char *end = text + size;
    struct gr_spec spec = {.precision = -1};
    bool fits = true;

    spec.align = take_one(&at, end, "<>^");
    spec.sign = take_one(&at, end, "+ ");
    spec.zeros = take_one(&at, end, "0") != '\0';
    spec.width = take_number(&at, end, GR_SPEC_WIDTH_MOST);
    spec.group = spec.width == 0 && !spec.zeros ? take_group(&at, end) : '\0';
    if (take_one(&at, end, ".") != '\0') {
        bool there = at < end && *at >= '0' && *at <= '9';
        int precision = there ? take_number(&at, end, GR_SPEC_PRECISION_MOST) : -1;

        fits = precision >= 0;
        spec.precision = precision;
    }
    spec.type = take_one(&at, end, "sdxXobfFeEgGhH");
    *ret_spec = spec;
    return fits && at == end && spec.width >= 0 && (spec.group == '\0' || (spec.align == '\0' && spec.sign == '\0'));
}
