/* Inside json: the parts that texts are read by. What they read has passed json_check(). */
#ifndef KERNEL_ROWS_JSON_READ_H
#define KERNEL_ROWS_JSON_READ_H

#include "kernel/rows/json/json.h"

static inline bool
json_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline bool
json_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline const char *
json_behind_blanks(const char *at, const char *end)
{
    while (at < end && json_is_blank(*at)) {
        at++;
    }
    return at;
}

/* NULL: there are none */
static inline const char *
json_behind_digits(const char *at, const char *end)
{
    const char *from = at;

    while (at < end && json_is_digit(*at)) {
        at++;
    }
    return at > from ? at : NULL;
}

/* Behind a string, which begins there. */
const char *json_behind_string(const char *at);
/* Behind a value. */
const char *json_behind_value(const char *at, const char *end);
/* What the next bytes of a string say: a character of an escape, or one byte as it stands. */
size_t json_next_said(const char **at, const char *end, char ret_bytes[4]);

#endif
