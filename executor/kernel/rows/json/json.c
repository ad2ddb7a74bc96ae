/*
 * JSON in texts (RFC 8259), read where it lies: a check of the whole text, and its values one by one. Neither makes a tree
 * nor calls itself, and nothing is allocated: a bit a level tells arrays from objects.
 */
#include "kernel/rows/json/json.h"

#include <string.h>
#include <strings.h>

#include "base/text/text.h"
#include "data/value/bytes.h"
#include "kernel/rows/json/read.h"

/* ---- the check ---- */

/* What the digits of \uXXXX say, those of a pair together; *at is behind them. -1: there is no such character. */
static int32_t
read_unicode(const char **at, const char *end)
{
    int32_t units[2] = {0, 0};

    for (int u = 0; u < 2; u++) {
        if (u == 1) {
            if (end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u') {
                return -1;
            }
            *at += 2;
        }
        for (int i = 0; i < 4; i++, (*at)++) {
            int digit = *at < end ? gr_hex_digit(**at) : -1;

            if (digit < 0) {
                return -1;
            }
            units[u] = units[u] * 16 + digit;
        }
        if (u == 0 && (units[0] < 0xd800 || units[0] > 0xdfff)) {
            return units[0];
        }
    }
    return units[0] <= 0xdbff && units[1] >= 0xdc00 && units[1] <= 0xdfff
               ? 0x10000 + ((units[0] - 0xd800) << 10) + (units[1] - 0xdc00)
               : -1;
}

/* Behind a string, which begins there; NULL: it is none. */
static const char *
check_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"';) {
        if ((unsigned char)*at < 0x20) {
            return NULL;
        }
        if (*at++ != '\\') {
            continue;
        }
        if (at < end && *at == 'u') {
            at++;
            if (read_unicode(&at, end) < 0) {
                return NULL;
            }
        } else if (at == end || memchr("\"\\/bfnrt", *at, 8) == NULL) {
            return NULL;
        } else {
            at++;
        }
    }
    return at < end ? at + 1 : NULL;
}

static const char *
behind_word(const char *at, const char *end, const char *word, bool any_case)
{
    size_t size = strlen(word);

    return (size_t)(end - at) >= size && (any_case ? strncasecmp(at, word, size) : memcmp(at, word, size)) == 0
               ? at + size
               : NULL;
}

static const char *
check_number(const char *at, const char *end)
{
    const char *to;

    at += at < end && *at == '-';
    if ((to = behind_word(at, end, "infinity", true)) != NULL || (to = behind_word(at, end, "inf", true)) != NULL ||
        (to = behind_word(at, end, "nan", true)) != NULL) {
        return to;
    }
    to = at < end && *at == '0' ? at + 1 : json_behind_digits(at, end);
    if (to != NULL && to < end && *to == '.') {
        to = json_behind_digits(to + 1, end);
    }
    if (to != NULL && to < end && (*to == 'e' || *to == 'E')) {
        to++;
        to += to < end && (*to == '+' || *to == '-');
        to = json_behind_digits(to, end);
    }
    return to;
}

/* Behind a value that has no others in it; NULL: there is none. */
static const char *
check_scalar(const char *at, const char *end)
{
    const char *to;

    if (at == end || *at == '"') {
        return at == end ? NULL : check_string(at, end);
    }
    if ((to = behind_word(at, end, "true", false)) != NULL || (to = behind_word(at, end, "false", false)) != NULL ||
        (to = behind_word(at, end, "null", false)) != NULL) {
        return to;
    }
    return check_number(at, end);
}

/* Behind a member's name and its colon; NULL: there is none. */
static const char *
check_key(const char *at, const char *end)
{
    at = at < end && *at == '"' ? check_string(at, end) : NULL;
    at = at == NULL ? NULL : json_behind_blanks(at, end);
    return at != NULL && at < end && *at == ':' ? json_behind_blanks(at + 1, end) : NULL;
}

struct levels {
    uint8_t objects[JSON_DEPTH_MOST / 8];
    size_t depth;
};

static bool
in_object(const struct levels *levels)
{
    return levels->depth > 0 && ((levels->objects[(levels->depth - 1) / 8] >> ((levels->depth - 1) % 8)) & 1) != 0;
}

/* Behind a bracket that opens, and what else comes before the first value. NULL: nothing that can be. *ret_empty: it is
 * closed at once. */
static const char *
open_level(struct levels *levels, const char *at, const char *end, bool *ret_empty)
{
    bool object = *at == '{';
    uint8_t bit = (uint8_t)(1u << (levels->depth % 8));
    uint8_t *byte = &levels->objects[levels->depth / 8];

    *byte = object ? (uint8_t)(*byte | bit) : (uint8_t)(*byte & ~bit);
    levels->depth++;
    at = json_behind_blanks(at + 1, end);
    *ret_empty = at < end && *at == (object ? '}' : ']');
    return *ret_empty || !object ? at : check_key(at, end);
}

/* Behind a value: brackets that close, and a comma. Where the next value begins, or `end` when all levels are closed.
 * NULL: nothing that can be. */
static const char *
close_levels(struct levels *levels, const char *at, const char *end)
{
    for (;;) {
        bool object = in_object(levels);

        at = json_behind_blanks(at, end);
        if (levels->depth == 0 || at == end) {
            return levels->depth == 0 && at == end ? end : NULL;
        }
        if (*at == ',') {
            at = json_behind_blanks(at + 1, end);
            if (at < end && *at != (object ? '}' : ']')) {
                return object ? check_key(at, end) : at;
            }
        }
        if (at == end || *at != (object ? '}' : ']')) {
            return NULL;
        }
        levels->depth--;
        at++;
    }
}

enum json_checked
json_check(const struct rows_text *text)
{
    const char *at = text->size > 0 ? text->bytes : "";
    const char *end = at + text->size;
    struct levels levels;

    levels.depth = 0;
    at = json_behind_blanks(at, end);
    while (at != NULL) {
        bool empty = false;

        if (at < end && (*at == '{' || *at == '[')) {
            if (levels.depth == JSON_DEPTH_MOST) {
                return JSON_DEEP;
            }
            at = open_level(&levels, at, end, &empty);
            if (!empty) {
                continue;
            }
        } else {
            at = check_scalar(at, end);
        }
        at = at == NULL ? NULL : close_levels(&levels, at, end);
        if (at != NULL && levels.depth == 0) {
            return JSON_GOOD;
        }
    }
    return JSON_BROKEN;
}

/* ---- values one by one ---- */

const char *
json_behind_string(const char *at)
{
    for (at++; *at != '"'; at++) {
        at += *at == '\\';
    }
    return at + 1;
}

const char *
json_behind_value(const char *at, const char *end)
{
    size_t depth = 0;

    if (at < end && *at != '{' && *at != '[' && *at != '"') {
        while (at < end && !json_is_blank(*at) && memchr(",]}", *at, 3) == NULL) {
            at++;
        }
        return at;
    }
    while (at < end) {
        if (*at == '"') {
            at = json_behind_string(at);
        } else {
            depth += *at == '{' || *at == '[';
            depth -= *at == '}' || *at == ']';
            at++;
        }
        if (depth == 0) {
            break;
        }
    }
    return at;
}

struct json_walk
json_walk_begin(const char *value, size_t size)
{
    bool several = size > 0 && (*value == '{' || *value == '[');

    return (struct json_walk){several ? value + 1 : value, several ? value + size - 1 : value,
                              several && *value == '{'};
}

bool
json_walk_next(struct json_walk *walk, struct rows_text *ret_key, struct rows_text *ret_value)
{
    const char *at = json_behind_blanks(walk->at, walk->end);
    const char *from = at;

    if (at == walk->end) {
        return false;
    }
    *ret_key = (struct rows_text){NULL, 0};
    if (walk->is_object) {
        at = json_behind_string(at);
        *ret_key = (struct rows_text){from, (size_t)(at - from)};
        at = json_behind_blanks(json_behind_blanks(at, walk->end) + 1, walk->end);
        from = at;
    }
    at = json_behind_value(at, walk->end);
    *ret_value = (struct rows_text){from, (size_t)(at - from)};
    at = json_behind_blanks(at, walk->end);
    walk->at = at < walk->end ? at + 1 : at; /* the comma */
    return true;
}

size_t
json_next_said(const char **at, const char *end, char ret_bytes[4])
{
    static const char names[] = "bfnrt";
    static const char bytes[] = "\b\f\n\r\t";
    const char *name;

    if (**at != '\\') {
        ret_bytes[0] = *(*at)++;
        return 1;
    }
    *at += 2;
    if ((*at)[-1] == 'u') {
        return gr_utf8_encode((uint32_t)read_unicode(at, end), ret_bytes);
    }
    name = memchr(names, (*at)[-1], 5);
    ret_bytes[0] = name == NULL ? (*at)[-1] : bytes[name - names];
    return 1;
}

void
json_add_said(const char *string, size_t size, struct gr_buf *out)
{
    const char *at = string + 1;
    const char *end = string + size - 1;
    char said[4];

    while (at < end) {
        const char *mark = memchr(at, '\\', (size_t)(end - at));
        const char *plain = mark == NULL ? end : mark;

        gr_buf_add(out, at, (size_t)(plain - at));
        at = plain;
        if (at < end) {
            gr_buf_add(out, said, json_next_said(&at, end, said));
        }
    }
}
