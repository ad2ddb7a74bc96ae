/* A recursive descent over the grammar of RFC 8259, at most DEPTH_MAX deep. */
#include "data/file/json_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "base/text/text.h"
#include "data/file/guess.h"
#include "data/value/bytes.h"
#include "data/value/utf8.h"

enum { DEPTH_MAX = 100, PADDING = 16 };

struct parse {
    struct gr_json_records *records;
    const char *begin;
    const char *at;
    const char *end;
    gr_json_take *take;
    void *to;
};

static granary_err parse_value(struct parse *parse, int depth, uint32_t name);

void
gr_json_records_free(struct gr_json_records *records)
{
    gr_texts_free(&records->names);
    free(records->seen);
    gr_buf_free(&records->path);
    gr_buf_free(&records->scratch);
}

static granary_err
fail_here(const struct parse *parse, const char *what)
{
    return gr_fail(GRANARY_EINVAL, "byte %zu: %s", (size_t)(parse->at - parse->begin) + 1, what);
}

static granary_err
fail_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "no memory for a JSON record");
}

/* The next byte that is no white space; '\0': none, or a NUL. */
static char
peek_byte(struct parse *parse)
{
    while (parse->at < parse->end &&
           (*parse->at == ' ' || *parse->at == '\t' || *parse->at == '\r' || *parse->at == '\n')) {
        parse->at++;
    }
    return parse->at < parse->end ? *parse->at : '\0';
}

static bool
take_byte(struct parse *parse, char byte)
{
    bool is = parse->at < parse->end && *parse->at == byte;

    parse->at += is;
    return is;
}

/* ---- strings ---- */

static bool
read_hex(struct parse *parse, uint32_t *ret_number)
{
    *ret_number = 0;
    for (int i = 0; i < 4; i++, parse->at++) {
        int value = parse->at < parse->end ? gr_hex_digit(*parse->at) : -1;

        if (value < 0) {
            return false;
        }
        *ret_number = *ret_number << 4 | (uint32_t)value;
    }
    return true;
}

/* Behind "\u": one number, or two that are halves of a character. */
static granary_err
read_unicode(struct parse *parse, struct gr_buf *out)
{
    uint32_t number;
    uint32_t low = 0;
    char bytes[4];

    if (!read_hex(parse, &number)) {
        return fail_here(parse, "four hexadecimal digits are missing behind \\u");
    }
    if (number >= 0xd800 && number < 0xdc00) {
        if (!take_byte(parse, '\\') || !take_byte(parse, 'u') || !read_hex(parse, &low) || low < 0xdc00 ||
            low >= 0xe000) {
            return fail_here(parse, "half a character: the other \\u of the pair is missing");
        }
        number = 0x10000 + ((number - 0xd800) << 10 | (low - 0xdc00));
    } else if (number >= 0xdc00 && number < 0xe000) {
        return fail_here(parse, "half a character: the first \\u of the pair is missing");
    }
    gr_buf_add(out, bytes, gr_utf8_encode(number, bytes));
    return GRANARY_OK;
}

static granary_err
read_escape(struct parse *parse, struct gr_buf *out)
{
    static const char escapes[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    const char *found;

    if (take_byte(parse, 'u')) {
        return read_unicode(parse, out);
    }
    found = parse->at < parse->end && *parse->at != '\0' ? strchr(escapes, *parse->at) : NULL;
    if (found == NULL) {
        return fail_here(parse, "no escape of JSON");
    }
    parse->at++;
    gr_buf_add(out, &meant[found - escapes], 1);
    return GRANARY_OK;
}

/* Behind its first quote. *ret_bytes leads into the line, or into scratch when it has escapes. */
static granary_err
read_string(struct parse *parse, const char **ret_bytes, size_t *ret_size)
{
    static const char zeros[PADDING] = "";
    struct gr_buf *scratch = &parse->records->scratch;
    const char *begin = parse->at;
    granary_err err = GRANARY_OK;
    bool escaped = false;

    scratch->size = 0;
    gr_buf_add(scratch, zeros, sizeof zeros);
    while (err == GRANARY_OK && !take_byte(parse, '"')) {
        if (parse->at == parse->end) {
            parse->at = begin;
            return fail_here(parse, "the string that begins here does not end");
        }
        if ((unsigned char)*parse->at < ' ') {
            return fail_here(parse, "a control character in a string, which must be escaped");
        }
        if (take_byte(parse, '\\')) {
            gr_buf_add(scratch, begin, (size_t)(parse->at - 1 - begin));
            err = read_escape(parse, scratch);
            begin = parse->at;
            escaped = true;
        } else {
            parse->at++;
        }
    }
    *ret_bytes = begin;
    *ret_size = (size_t)(parse->at - 1 - begin);
    if (err == GRANARY_OK && escaped) {
        gr_buf_add(scratch, begin, *ret_size);
        *ret_size = scratch->size - PADDING;
        gr_buf_add(scratch, zeros, sizeof zeros);
        *ret_bytes = scratch->bytes + PADDING;
    }
    return err == GRANARY_OK && !gr_buf_ok(scratch) ? fail_memory() : err;
}

/* ---- numbers and words ---- */

static bool
take_digits(struct parse *parse)
{
    const char *begin = parse->at;

    while (parse->at < parse->end && *parse->at >= '0' && *parse->at <= '9') {
        parse->at++;
    }
    return parse->at > begin;
}

static granary_err
read_number(struct parse *parse)
{
    bool good;

    (void)take_byte(parse, '-');
    good = take_byte(parse, '0') || take_digits(parse);
    if (good && take_byte(parse, '.')) {
        good = take_digits(parse);
    }
    if (good && (take_byte(parse, 'e') || take_byte(parse, 'E'))) {
        (void)(take_byte(parse, '-') || take_byte(parse, '+'));
        good = take_digits(parse);
    }
    return good ? GRANARY_OK : fail_here(parse, "no value of JSON");
}

static bool
take_word(struct parse *parse, const char *word)
{
    size_t size = strlen(word);
    bool is = (size_t)(parse->end - parse->at) >= size && memcmp(parse->at, word, size) == 0;

    parse->at += is ? size : 0;
    return is;
}

/* ---- objects and lists ---- */

/* The number of the name in path, which the record has not had yet. */
static granary_err
enter_name(struct parse *parse, uint32_t *ret_name)
{
    struct gr_json_records *records = parse->records;
    const struct gr_buf *path = &records->path;
    uint64_t before = records->names.count;
    granary_err err =
        gr_buf_ok(path) ? gr_texts_add(&records->names, path->bytes, path->size, ret_name) : fail_memory();

    if (err != GRANARY_OK) {
        return err;
    }
    if (records->names.count > GR_JSON_NAMES_MAX) {
        return gr_fail(GRANARY_EINVAL, "more than %d different names", GR_JSON_NAMES_MAX);
    }
    if (records->names.count > before) {
        if (!gr_grow(&records->seen, &records->seen_room, before, sizeof *records->seen)) {
            return fail_memory();
        }
        records->seen[before] = 0;
    }
    if (records->seen[*ret_name] == records->count) {
        return gr_fail(GRANARY_EINVAL, "byte %zu: '%.*s' is there twice", (size_t)(parse->at - parse->begin) + 1,
                       path->size < 60 ? (int)path->size : 60, path->bytes);
    }
    records->seen[*ret_name] = records->count;
    return GRANARY_OK;
}

/* A name and its value. depth 1: of the record itself; told: not within a list */
static granary_err
parse_member(struct parse *parse, int depth, bool told)
{
    struct gr_buf *path = &parse->records->path;
    size_t before = path->size;
    const char *key;
    size_t size;
    uint32_t name = GR_TEXTS_NONE;
    granary_err err;

    if (peek_byte(parse) != '"') {
        return fail_here(parse, "a name in quotes is expected");
    }
    parse->at++;
    err = read_string(parse, &key, &size);
    if (err == GRANARY_OK && told) {
        gr_buf_add(path, ".", depth > 1);
        gr_buf_add(path, key, size);
        err = memchr(key, '\0', size) != NULL ? fail_here(parse, "a name has a zero byte") : enter_name(parse, &name);
    }
    if (err == GRANARY_OK && peek_byte(parse) != ':') {
        err = fail_here(parse, "':' is expected behind a name");
    }
    if (err == GRANARY_OK) {
        parse->at++;
        err = parse_value(parse, depth, name);
    }
    path->size = before;
    return err;
}

/* What stands between the brackets at parse->at: members of an object, or values that nobody is told of. */
static granary_err
parse_items(struct parse *parse, int depth, char last, bool told)
{
    granary_err err = GRANARY_OK;

    if (depth > DEPTH_MAX) {
        return fail_here(parse, "nested too deep");
    }
    parse->at++;
    if (peek_byte(parse) == last) {
        parse->at++;
        return GRANARY_OK;
    }
    do {
        err = last == '}' ? parse_member(parse, depth, told) : parse_value(parse, depth, GR_TEXTS_NONE);
    } while (err == GRANARY_OK && peek_byte(parse) == ',' && take_byte(parse, ','));
    if (err == GRANARY_OK && !take_byte(parse, last)) {
        err = fail_here(parse, last == '}' ? "',' or '}' is expected" : "',' or ']' is expected");
    }
    return err;
}

/* A value that is no object, but for one in a list: what it is. */
static granary_err
parse_one(struct parse *parse, int depth, struct gr_json_value *value)
{
    char first = peek_byte(parse);
    const char *begin = parse->at;
    granary_err err = GRANARY_OK;

    value->kind = GR_JSON_BOOL;
    if (first == '"') {
        parse->at++;
        value->kind = GR_JSON_STRING;
        err = read_string(parse, &value->bytes, &value->size);
    } else if (first == '[' || first == '{') {
        value->kind = GR_JSON_LIST;
        err = parse_items(parse, depth + 1, first == '[' ? ']' : '}', false);
    } else if (take_word(parse, "null")) {
        value->kind = GR_JSON_NULL;
    } else if (!take_word(parse, "true") && !take_word(parse, "false")) {
        value->kind = GR_JSON_NUMBER;
        err = read_number(parse);
    }
    if (value->kind != GR_JSON_STRING) {
        value->bytes = begin;
        value->size = (size_t)(parse->at - begin);
    }
    return err;
}

/* name: GR_TEXTS_NONE within a list, where nobody is told */
static granary_err
parse_value(struct parse *parse, int depth, uint32_t name)
{
    struct gr_json_value value = {.name = name};
    granary_err err;

    if (peek_byte(parse) == '{') {
        return parse_items(parse, depth + 1, '}', name != GR_TEXTS_NONE);
    }
    err = parse_one(parse, depth, &value);
    return err == GRANARY_OK && name != GR_TEXTS_NONE ? parse->take(parse->to, &value) : err;
}

granary_err
gr_json_items(struct gr_json_records *records, const char *bytes, size_t size, gr_json_take *take, void *to)
{
    struct parse parse = {records, bytes, bytes, bytes + size, take, to};
    granary_err err = GRANARY_OK;

    if (!take_byte(&parse, '[')) {
        return fail_here(&parse, "'[' is expected");
    }
    if (peek_byte(&parse) == ']') {
        return GRANARY_OK;
    }
    do {
        struct gr_json_value value = {.name = GR_TEXTS_NONE};

        err = parse_one(&parse, 1, &value);
        err = err == GRANARY_OK ? take(to, &value) : err;
    } while (err == GRANARY_OK && peek_byte(&parse) == ',' && take_byte(&parse, ','));
    return err;
}

granary_err
gr_json_record(struct gr_json_records *records, const char *line, size_t size, gr_json_take *take, void *to,
               bool *ret_is_record)
{
    struct parse parse = {records, line, line, line + size, take, to};
    const char *bad = utf8_first_invalid(line, size);
    granary_err err;

    *ret_is_record = peek_byte(&parse) != '\0' || parse.at < parse.end;
    if (bad != NULL) {
        return gr_fail(GRANARY_EINVAL, "byte %zu: %s", (size_t)(bad - line) + 1, GR_DATA_NOT_UTF8);
    }
    if (!*ret_is_record) {
        return GRANARY_OK;
    }
    if (*parse.at != '{') {
        return fail_here(&parse, "a record is an object: '{' is expected");
    }
    records->count++;
    records->path.size = 0;
    err = parse_items(&parse, 1, '}', true);
    if (err == GRANARY_OK && (peek_byte(&parse) != '\0' || parse.at < parse.end)) {
        err = fail_here(&parse, "more text behind the record");
    }
    return err;
}

void
gr_json_mark_objects(const struct gr_texts *names, bool *ret_flags)
{
    for (uint64_t i = 0; i < names->count; i++) {
        size_t size;
        const char *name = gr_texts_at(names, i, &size);
        const char *dot = memchr(name, '.', size);

        while (dot != NULL) {
            uint32_t outer = gr_texts_find(names, name, (size_t)(dot - name));

            if (outer != GR_TEXTS_NONE) {
                ret_flags[outer] = true;
            }
            dot = memchr(dot + 1, '.', size - (size_t)(dot + 1 - name));
        }
    }
}
