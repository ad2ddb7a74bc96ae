/* Paths into JSON: what their steps are, and the one value that they lead to. */
#include <string.h>

#include "kernel/rows/json/path.h"
#include "kernel/rows/json/read.h"

/* Digits as a place. false: there are none, or too many */
static bool
read_index(const char **at, const char *end, int64_t *ret_index)
{
    const char *to = json_behind_digits(*at, end);
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

/* [3], [-1], [#-1], [#], [*]: the bracket is passed. */
static enum json_step_found
read_bracket(const char **at, const char *end, struct json_step *step)
{
    bool hash = *at < end && **at == '#';

    *at += hash;
    step->has_index = true;
    if (hash && *at < end && **at == ']') {
        step->index = -1;
    } else if (!hash && *at < end && **at == '*') {
        step->any = true;
        (*at)++;
    } else {
        step->from_end = *at < end && **at == '-';
        *at += step->from_end;
        if ((hash && !step->from_end) || !read_index(at, end, &step->index)) {
            return JSON_NO_PATH;
        }
        step->from_end = step->from_end && step->index > 0; /* -0 is 0 */
    }
    if (*at == end || **at != ']') {
        return JSON_NO_PATH;
    }
    (*at)++;
    return JSON_STEP;
}

/* The name behind a point. */
static enum json_step_found
read_name(const char **at, const char *end, struct json_step *step)
{
    const char *from = *at;

    step->has_key = true;
    if (from < end && *from == '"') {
        from++;
        for (*at = from; *at < end && **at != '"'; (*at)++) {
            *at += **at == '\\' && end - *at > 1;
        }
        step->key = (struct rows_text){from, (size_t)(*at - from)};
        step->quoting = JSON_QUOTED;
        if (*at == end) {
            return JSON_NO_PATH;
        }
        (*at)++;
    } else {
        while (*at < end && **at != '.' && **at != '[') {
            (*at)++;
        }
        step->key = (struct rows_text){from, (size_t)(*at - from)};
    }
    if (step->quoting == JSON_PLAIN && step->key.size == 1 && *from == '*') {
        step->any = true;
        return JSON_STEP;
    }
    return step->key.size == 0 || *step->key.bytes == '*' ? JSON_NO_PATH : JSON_STEP;
}

/* Between slashes: a member's name, and an item's number where it is one. */
static enum json_step_found
read_slashed(const char **at, const char *end, struct json_step *step)
{
    const char *from = ++*at;
    const char *to = memchr(from, '/', (size_t)(end - from));

    to = to == NULL ? end : to;
    step->key = (struct rows_text){from, (size_t)(to - from)};
    step->quoting = JSON_SLASHED;
    step->has_key = true;
    step->has_index = true;
    if (!read_index(at, to, &step->index) || *at != to || (*from == '0' && to - from > 1)) {
        step->index = -1;
    }
    *at = to;
    return JSON_STEP;
}

enum json_step_found
json_path_step(const struct json_path *path, const char **at, struct json_step *ret_step)
{
    const char *begin = path->text.size > 0 ? path->text.bytes : "";
    const char *end = begin + path->text.size;
    bool first = *at == NULL;
    enum json_step_found found;

    *ret_step = (struct json_step){.quoting = JSON_PLAIN};
    if (path->is_index) {
        ret_step->has_index = true;
        ret_step->from_end = path->index < 0;
        ret_step->index = path->index == INT64_MIN ? INT64_MAX : path->index < 0 ? -path->index : path->index;
        *at = end;
        return first ? JSON_STEP : JSON_NO_MORE;
    }
    if (first) {
        *at = path->text.size > 0 && *begin == '$' ? begin + 1 : begin;
    }
    if (*at == end) {
        return JSON_NO_MORE;
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
                   ? JSON_NO_PATH
                   : JSON_STEP;
    }
    if (end - *at > 2 && (*at)[0] == '.' && ((*at)[1] == '.' || ((*at)[1] == '*' && (*at)[2] == '*'))) {
        ret_step->deep = true; /* .. and .**, which is ..* */
        (*at)++;
        *at += (*at)[1] == '[';
    }
    (*at)++;
    found = (*at)[-1] == '['                     ? read_bracket(at, end, ret_step)
            : (*at)[-1] == '.' || ret_step->deep ? read_name(at, end, ret_step)
                                                 : JSON_NO_PATH;
    ret_step->has_index = ret_step->has_index || (ret_step->deep && ret_step->any);
    return found;
}

bool
json_path_check(const struct json_path *path)
{
    const char *at = NULL;
    struct json_step step;
    enum json_step_found found;

    while ((found = json_path_step(path, &at, &step)) == JSON_STEP && !step.any && !step.deep) {
    }
    return found == JSON_NO_MORE;
}

/* The next byte of a step's key. */
static char
next_of_key(const struct json_step *step, const char **at, const char *end)
{
    char c = *(*at)++;

    if (*at < end && ((step->quoting == JSON_QUOTED && c == '\\' && (**at == '"' || **at == '\\')) ||
                      (step->quoting == JSON_SLASHED && c == '~' && (**at == '0' || **at == '1')))) {
        c = *(*at)++;
        return step->quoting == JSON_QUOTED ? c : c == '0' ? '~' : '/';
    }
    return c;
}

/* A ~ without 0 or 1 behind it names nothing. */
static bool
names_something(const struct json_step *step)
{
    const char *at = step->key.bytes;
    const char *end = at + step->key.size;

    while (step->quoting == JSON_SLASHED && at < end && (at = memchr(at, '~', (size_t)(end - at))) != NULL) {
        if (++at == end || (*at != '0' && *at != '1')) {
            return false;
        }
    }
    return true;
}

bool
json_is_named(const struct rows_text *name, const struct json_step *step)
{
    const char *at = name->bytes + 1;
    const char *end = name->bytes + name->size - 1;
    const char *key = step->key.bytes;
    const char *key_end = key + step->key.size;
    char said[4];

    while (at < end) {
        size_t size = json_next_said(&at, end, said);

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
go(const struct json_step *step, struct rows_text *value)
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
        if (is_array ? i == index : json_is_named(&key, step)) {
            return true;
        }
    }
    return false;
}

const char *
json_find(const struct rows_text *text, const struct json_path *path, size_t *ret_size)
{
    const char *end = text->bytes + text->size;
    const char *from = json_behind_blanks(text->bytes, end);
    struct rows_text value = {from, (size_t)(json_behind_value(from, end) - from)};
    const char *at = NULL;
    struct json_step step;

    while (json_path_step(path, &at, &step) == JSON_STEP) {
        if (!go(&step, &value)) {
            return NULL;
        }
    }
    *ret_size = value.size;
    return value.bytes;
}
