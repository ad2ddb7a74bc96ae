/*
 * JSON in texts (RFC 8259), read where it lies: a check of the whole text, and paths into it. Neither makes a tree nor
 * calls itself, and nothing is allocated: a bit a level tells arrays from objects.
 */
#include "kernel/rows/json/json.h"

#include <string.h>
#include <strings.h>

#include "base/text/text.h"
#include "data/value/bytes.h"

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *
behind_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at)) {
        at++;
    }
    return at;
}

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
behind_digits(const char *at, const char *end)
{
    const char *from = at;

    while (at < end && is_digit(*at)) {
        at++;
    }
    return at > from ? at : NULL;
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
    to = at < end && *at == '0' ? at + 1 : behind_digits(at, end);
    if (to != NULL && to < end && *to == '.') {
        to = behind_digits(to + 1, end);
    }
    if (to != NULL && to < end && (*to == 'e' || *to == 'E')) {
        to++;
        to += to < end && (*to == '+' || *to == '-');
        to = behind_digits(to, end);
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
    at = at == NULL ? NULL : behind_blanks(at, end);
    return at != NULL && at < end && *at == ':' ? behind_blanks(at + 1, end) : NULL;
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
    at = behind_blanks(at + 1, end);
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

        at = behind_blanks(at, end);
        if (levels->depth == 0 || at == end) {
            return levels->depth == 0 && at == end ? end : NULL;
        }
        if (*at == ',') {
            at = behind_blanks(at + 1, end);
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
    at = behind_blanks(at, end);
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

static const char *
skip_string(const char *at)
{
    for (at++; *at != '"'; at++) {
        at += *at == '\\';
    }
    return at + 1;
}

/* Behind a value. */
static const char *
skip_value(const char *at, const char *end)
{
    size_t depth = 0;

    if (at < end && *at != '{' && *at != '[' && *at != '"') {
        while (at < end && !is_blank(*at) && memchr(",]}", *at, 3) == NULL) {
            at++;
        }
        return at;
    }
    while (at < end) {
        if (*at == '"') {
            at = skip_string(at);
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
    const char *at = behind_blanks(walk->at, walk->end);
    const char *from = at;

    if (at == walk->end) {
        return false;
    }
    *ret_key = (struct rows_text){NULL, 0};
    if (walk->is_object) {
        at = skip_string(at);
        *ret_key = (struct rows_text){from, (size_t)(at - from)};
        at = behind_blanks(behind_blanks(at, walk->end) + 1, walk->end);
        from = at;
    }
    at = skip_value(at, walk->end);
    *ret_value = (struct rows_text){from, (size_t)(at - from)};
    at = behind_blanks(at, walk->end);
    walk->at = at < walk->end ? at + 1 : at; /* the comma */
    return true;
}

/* ---- paths ---- */

enum quoting {
    PLAIN,
    QUOTED, /* \" and \\ */
    SLASHED /* ~0 and ~1 */
};

struct step {
    struct rows_text key;
    enum quoting quoting;
    bool has_key;
    bool has_index;
    bool from_end;
    int64_t index; /* -1: no item has it */
};

enum found { STEP, NO_MORE, NO_PATH };

/* Digits as a place. false: there are none, or too many */
static bool
read_index(const char **at, const char *end, int64_t *ret_index)
{
    const char *to = behind_digits(*at, end);
    int64_t index = 0;

    if (to == NULL || to - *at > 18) {
        return false;
    }
    for (; *at < to; (*at)++) {
        index = index * 10 + (**at - '0');
    }
    *ret_index = index;
    return true;
}

/* [3], [-1], [#-1], [#]: the bracket is passed. */
static enum found
read_bracket(const char **at, const char *end, struct step *step)
{
    bool hash = *at < end && **at == '#';

    *at += hash;
    step->has_index = true;
    if (hash && *at < end && **at == ']') {
        step->index = -1;
    } else {
        step->from_end = *at < end && **at == '-';
        *at += step->from_end;
        if ((hash && !step->from_end) || !read_index(at, end, &step->index)) {
            return NO_PATH;
        }
        step->from_end = step->from_end && step->index > 0; /* -0 is 0 */
    }
    if (*at == end || **at != ']') {
        return NO_PATH;
    }
    (*at)++;
    return STEP;
}

/* The name behind a point. */
static enum found
read_name(const char **at, const char *end, struct step *step)
{
    const char *from = *at;

    step->has_key = true;
    if (from < end && *from == '"') {
        from++;
        for (*at = from; *at < end && **at != '"'; (*at)++) {
            *at += **at == '\\' && end - *at > 1;
        }
        step->key = (struct rows_text){from, (size_t)(*at - from)};
        step->quoting = QUOTED;
        if (*at == end) {
            return NO_PATH;
        }
        (*at)++;
    } else {
        while (*at < end && **at != '.' && **at != '[') {
            (*at)++;
        }
        step->key = (struct rows_text){from, (size_t)(*at - from)};
    }
    return step->key.size == 0 || *step->key.bytes == '*' ? NO_PATH : STEP;
}

/* Between slashes: a member's name, and an item's number where it is one. */
static enum found
read_slashed(const char **at, const char *end, struct step *step)
{
    const char *from = ++*at;
    const char *to = memchr(from, '/', (size_t)(end - from));

    to = to == NULL ? end : to;
    step->key = (struct rows_text){from, (size_t)(to - from)};
    step->quoting = SLASHED;
    step->has_key = true;
    step->has_index = true;
    if (!read_index(at, to, &step->index) || *at != to || (*from == '0' && to - from > 1)) {
        step->index = -1;
    }
    *at = to;
    return STEP;
}

/* The next step of a path; *at begins as NULL. */
static enum found
next_step(const struct json_path *path, const char **at, struct step *ret_step)
{
    const char *begin = path->text.size > 0 ? path->text.bytes : "";
    const char *end = begin + path->text.size;
    bool first = *at == NULL;

    *ret_step = (struct step){.quoting = PLAIN};
    if (path->is_index) {
        ret_step->has_index = true;
        ret_step->from_end = path->index < 0;
        ret_step->index = path->index == INT64_MIN ? INT64_MAX : path->index < 0 ? -path->index : path->index;
        *at = end;
        return first ? STEP : NO_MORE;
    }
    if (first) {
        *at = path->text.size > 0 && *begin == '$' ? begin + 1 : begin;
    }
    if (*at == end) {
        return NO_MORE;
    }
    if (*begin == '/') {
        return read_slashed(at, end, ret_step);
    }
    if (*begin != '$') {
        ret_step->key = path->text;
        ret_step->has_key = true;
        *at = end;
        return memchr(begin, '"', path->text.size) != NULL || memchr(begin, '\\', path->text.size) != NULL ||
                       *begin == '*'
                   ? NO_PATH
                   : STEP;
    }
    (*at)++;
    return (*at)[-1] == '.'   ? read_name(at, end, ret_step)
           : (*at)[-1] == '[' ? read_bracket(at, end, ret_step)
                              : NO_PATH;
}

bool
json_path_check(const struct json_path *path)
{
    const char *at = NULL;
    struct step step;
    enum found found;

    while ((found = next_step(path, &at, &step)) == STEP) {
    }
    return found == NO_MORE;
}

/* What the next bytes of a string say: a character of an escape, or one byte as it stands. */
static size_t
next_said(const char **at, const char *end, char ret_bytes[4])
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

/* The next byte of a step's key. */
static char
next_of_key(const struct step *step, const char **at, const char *end)
{
    char c = *(*at)++;

    if (*at < end && ((step->quoting == QUOTED && c == '\\' && (**at == '"' || **at == '\\')) ||
                      (step->quoting == SLASHED && c == '~' && (**at == '0' || **at == '1')))) {
        c = *(*at)++;
        return step->quoting == QUOTED ? c : c == '0' ? '~' : '/';
    }
    return c;
}

/* A ~ without 0 or 1 behind it names nothing. */
static bool
names_something(const struct step *step)
{
    const char *at = step->key.bytes;
    const char *end = at + step->key.size;

    while (step->quoting == SLASHED && at < end && (at = memchr(at, '~', (size_t)(end - at))) != NULL) {
        if (++at == end || (*at != '0' && *at != '1')) {
            return false;
        }
    }
    return true;
}

static bool
is_named(const struct rows_text *name, const struct step *step)
{
    const char *at = name->bytes + 1;
    const char *end = name->bytes + name->size - 1;
    const char *key = step->key.bytes;
    const char *key_end = key + step->key.size;
    char said[4];

    while (at < end) {
        size_t size = next_said(&at, end, said);

        for (size_t i = 0; i < size; i++) {
            if (key == key_end || next_of_key(step, &key, key_end) != said[i]) {
                return false;
            }
        }
    }
    return key == key_end;
}

/* The value that a step leads to. false: there is none */
static bool
go(const struct step *step, struct rows_text *value)
{
    struct json_walk walk = json_walk_begin(value->bytes, value->size);
    bool is_array = value->size > 0 && *value->bytes == '[';
    struct rows_text key;
    int64_t index = step->index;

    if (is_array ? !step->has_index || index < 0 : !walk.is_object || !step->has_key || !names_something(step)) {
        return false;
    }
    if (is_array && step->from_end) {
        struct json_walk count = walk;
        struct rows_text item;
        int64_t items = 0;

        while (json_walk_next(&count, &key, &item)) {
            items++;
        }
        index = items - index;
    }
    for (int64_t i = 0; (!is_array || index >= 0) && json_walk_next(&walk, &key, value); i++) {
        if (is_array ? i == index : is_named(&key, step)) {
            return true;
        }
    }
    return false;
}

const char *
json_find(const struct rows_text *text, const struct json_path *path, size_t *ret_size)
{
    const char *end = text->bytes + text->size;
    const char *from = behind_blanks(text->bytes, end);
    struct rows_text value = {from, (size_t)(skip_value(from, end) - from)};
    const char *at = NULL;
    struct step step;

    while (next_step(path, &at, &step) == STEP) {
        if (!go(&step, &value)) {
            return NULL;
        }
    }
    *ret_size = value.size;
    return value.bytes;
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
            gr_buf_add(out, said, next_said(&at, end, said));
        }
    }
}
