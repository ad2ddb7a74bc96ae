/* Format strings: which of Arrow's types are taken, and as what. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/in/in.h"
#include "base/error.h"

static const struct {
    const char *format;
    struct in_type type;
} whole[] = {
    {"n", {IN_NULL, GRANARY_NULLTYPE, 0, 0, 1, 1}},
    {"b", {IN_BOOL, GRANARY_BOOL, 0, 2, 1, 1}},
    {"c", {IN_FIXED, GRANARY_INT8, 1, 2, 1, 1}},
    {"C", {IN_FIXED, GRANARY_UINT8, 1, 2, 1, 1}},
    {"s", {IN_FIXED, GRANARY_INT16, 2, 2, 1, 1}},
    {"S", {IN_FIXED, GRANARY_UINT16, 2, 2, 1, 1}},
    {"i", {IN_FIXED, GRANARY_INT32, 4, 2, 1, 1}},
    {"I", {IN_FIXED, GRANARY_UINT32, 4, 2, 1, 1}},
    {"l", {IN_FIXED, GRANARY_INT64, 8, 2, 1, 1}},
    {"L", {IN_FIXED, GRANARY_UINT64, 8, 2, 1, 1}},
    {"e", {IN_HALF, GRANARY_FLOAT32, 2, 2, 1, 1}},
    {"f", {IN_FIXED, GRANARY_FLOAT32, 4, 2, 1, 1}},
    {"g", {IN_FIXED, GRANARY_FLOAT64, 8, 2, 1, 1}},
    {"u", {IN_TEXT, GRANARY_STRING, 0, 3, 1, 1}},
    {"U", {IN_LARGE_TEXT, GRANARY_STRING, 0, 3, 1, 1}},
    {"vu", {IN_VIEWS, GRANARY_STRING, 0, 3, 1, 1}},
    {"z", {IN_TEXT, GRANARY_BINARY, 0, 3, 1, 1}},
    {"Z", {IN_LARGE_TEXT, GRANARY_BINARY, 0, 3, 1, 1}},
    {"vz", {IN_VIEWS, GRANARY_BINARY, 0, 3, 1, 1}},
    {"tdD", {IN_FIXED, GRANARY_DATE, 4, 2, 1, 1}},
    {"tdm", {IN_DATE_MS, GRANARY_DATE, 8, 2, 1, 86400000}},
    {"tts", {IN_TIME, GRANARY_TIME, 4, 2, 1000000, 1}},
    {"ttm", {IN_TIME, GRANARY_TIME, 4, 2, 1000, 1}},
    {"ttu", {IN_TIME, GRANARY_TIME, 8, 2, 1, 1}}, /* by value: they are within a day */
    {"ttn", {IN_TIME, GRANARY_TIME, 8, 2, 1, 1000}},
    {"tDs", {IN_TIME, GRANARY_DURATION, 8, 2, 1000000, 1}},
    {"tDm", {IN_TIME, GRANARY_DURATION, 8, 2, 1000, 1}},
    {"tDu", {IN_FIXED, GRANARY_DURATION, 8, 2, 1, 1}},
    {"tDn", {IN_TIME, GRANARY_DURATION, 8, 2, 1, 1000}},
    {"+l", {IN_LIST, GRANARY_LIST, 0, 2, 1, 1}},
    {"+L", {IN_LARGE_LIST, GRANARY_LIST, 0, 2, 1, 1}},
    {"+vl", {IN_LIST_VIEW, GRANARY_LIST, 0, 3, 1, 1}},
    {"+vL", {IN_LARGE_LIST_VIEW, GRANARY_LIST, 0, 3, 1, 1}},
};

/* Types that are not taken: how their formats begin. */
static const struct {
    const char *begin;
    const char *name;
} others[] = {
    {"ti", "an interval"}, {"+s", "a struct"}, {"+m", "a map"}, {"+u", "a union"}, {"+r", "run-end encoded"},
};

const char *
in_type_shown(const char *format, char ret_text[48])
{
    size_t length = strnlen(format, 47);

    for (size_t i = 0; i < length; i++) {
        ret_text[i] = format[i] >= ' ' && format[i] < 0x7f ? format[i] : '?';
    }
    memcpy(ret_text + length - (length == 47 ? 3 : 0), length == 47 ? "..." : "", length == 47 ? 4 : 1);
    return ret_text;
}

bool
in_type_integer(const char *format, size_t *ret_width, bool *ret_signed)
{
    static const char signs[] = "csil";
    static const char others_of[] = "CSIL";
    const char *at = format[0] == '\0' || format[1] != '\0' ? NULL : strchr(signs, format[0]);

    *ret_signed = at != NULL;
    if (at != NULL) {
        *ret_width = (size_t)1 << (at - signs);
        return true;
    }
    at = format[0] == '\0' || format[1] != '\0' ? NULL : strchr(others_of, format[0]);
    *ret_width = at == NULL ? 0 : (size_t)1 << (at - others_of);
    return at != NULL;
}

/* A number up to `end`, of few digits; false: it is none. */
static bool
number(const char **at, char end, long *ret_number)
{
    char *behind;

    if ((**at < '0' || **at > '9') && **at != '-') {
        return false;
    }
    *ret_number = strtol(*at, &behind, 10);
    if (*behind != end || *ret_number < -1000 || *ret_number > 1000) {
        return false;
    }
    *at = behind + (end != '\0');
    return true;
}

/* "d:precision,scale" and perhaps ",bits". */
static granary_err
decimal_type(const char *name, const char *format, struct in_type *ret_type)
{
    const char *at = format + 2;
    long precision, scale;
    long bits = 128;
    char text[48];
    bool good = number(&at, ',', &precision);

    good = good &&
           (strchr(at, ',') == NULL ? number(&at, '\0', &scale) : number(&at, ',', &scale) && number(&at, '\0', &bits));
    if (!good || precision < 1 || (bits != 32 && bits != 64 && bits != 128 && bits != 256)) {
        return gr_fail(GRANARY_EINVAL, "column '%s': the format '%s' is no decimal", name, in_type_shown(format, text));
    }
    if (scale < 0 || scale > GRANARY_DECIMAL_SCALE_MOST) {
        return gr_fail(GRANARY_EUNSUPPORTED,
                       "column '%s': a decimal of scale %ld: granary has scales from 0 to %d; cast it to one of them",
                       name, scale, GRANARY_DECIMAL_SCALE_MOST);
    }
    *ret_type =
        (struct in_type){bits == 128 ? IN_FIXED : IN_DECIMAL, GRANARY_DECIMAL(scale), (size_t)bits / 8, 2, 1, 1};
    return GRANARY_OK;
}

/* "w:bytes". */
static granary_err
fixed_binary_type(const char *name, const char *format, struct in_type *ret_type)
{
    char *end;
    long width = format[2] >= '0' && format[2] <= '9' ? strtol(format + 2, &end, 10) : -1;
    char text[48];

    if (width < 0 || width > INT32_MAX || *end != '\0') {
        return gr_fail(GRANARY_EINVAL, "column '%s': the format '%s' is no binary of a fixed size", name,
                       in_type_shown(format, text));
    }
    *ret_type = (struct in_type){IN_FIXED_TEXT, GRANARY_BINARY, (size_t)width, 2, 1, 1};
    return GRANARY_OK;
}

/* "tsu:" and perhaps a zone: whichever it is, the values are in UTC. */
static granary_err
timestamp_type(const char *name, const char *format, struct in_type *ret_type)
{
    static const struct {
        char unit;
        int64_t times;
        int64_t per;
    } units[] = {{'s', 1000000, 1}, {'m', 1000, 1}, {'u', 1, 1}, {'n', 1, 1000}};
    const char *zone = format + 4;
    char text[48];
    size_t unit = 0;

    while (unit < 4 && units[unit].unit != format[2]) {
        unit++;
    }
    if (unit == 4 || format[3] != ':') {
        return gr_fail(GRANARY_EINVAL, "column '%s': the format '%s' is no timestamp", name,
                       in_type_shown(format, text));
    }
    *ret_type = (struct in_type){units[unit].times == 1 && units[unit].per == 1 ? IN_FIXED : IN_TIME,
                                 zone[0] == '\0' ? GRANARY_TIMESTAMP : GRANARY_TIMESTAMPTZ,
                                 8,
                                 2,
                                 units[unit].times,
                                 units[unit].per};
    return GRANARY_OK;
}

/* "+w:items" */
static granary_err
fixed_list_type(const char *name, const char *format, struct in_type *ret_type)
{
    char *end = NULL;
    long items = format[3] >= '0' && format[3] <= '9' ? strtol(format + 3, &end, 10) : -1;
    char text[48];

    if (items < 0 || items > INT32_MAX || *end != '\0') {
        return gr_fail(GRANARY_EINVAL, "column '%s': the format '%s' is no list", name, in_type_shown(format, text));
    }
    *ret_type = (struct in_type){IN_FIXED_LIST, GRANARY_LIST, 0, 1, items, 1};
    return GRANARY_OK;
}

granary_err
in_type_parse(const char *name, const char *format, struct in_type *ret_type)
{
    char text[48];

    if (format == NULL) {
        return gr_fail(GRANARY_EINVAL, "column '%s': its schema has no format", name);
    }
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        if (strcmp(format, whole[i].format) == 0) {
            *ret_type = whole[i].type;
            return GRANARY_OK;
        }
    }
    if (strncmp(format, "d:", 2) == 0) {
        return decimal_type(name, format, ret_type);
    }
    if (strncmp(format, "w:", 2) == 0) {
        return fixed_binary_type(name, format, ret_type);
    }
    if (strncmp(format, "+w:", 3) == 0) {
        return fixed_list_type(name, format, ret_type);
    }
    if (strncmp(format, "ts", 2) == 0 && format[2] != '\0') {
        return timestamp_type(name, format, ret_type);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strncmp(format, others[i].begin, strlen(others[i].begin)) == 0) {
            return gr_fail(GRANARY_EUNSUPPORTED,
                           "column '%s' is %s ('%s'): granary has no such type; leave it out, or cast it", name,
                           others[i].name, in_type_shown(format, text));
        }
    }
    return gr_fail(GRANARY_EINVAL, "column '%s': the format '%s' is none of Arrow's", name,
                   in_type_shown(format, text));
}
