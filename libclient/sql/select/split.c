/* See split.h. Strings, names and comments are PostgreSQL's: comments nest, and E'...' has backslashes. */
#include "sql/select/split.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "granary/sql.h"

bool
sql_is_word_byte(char byte)
{
    return isalnum((unsigned char)byte) != 0 || byte == '_' || ((unsigned char)byte & 0x80) != 0;
}

static void
take_string(struct sql_split *split, char byte)
{
    if (split->escaped) {
        split->escaped = false;
    } else if (byte == '\\' && split->escapes) {
        split->escaped = true;
    } else if (byte == '\'') {
        split->mode = SQL_SPLIT_STRING_END; /* or it is doubled */
    }
}

static void
take_dollar(struct sql_split *split, char byte)
{
    if (byte == split->tag[split->matched]) {
        split->matched++;
    } else {
        split->matched = byte == '$';
    }
    if (split->matched == split->tag_size) {
        split->mode = SQL_SPLIT_CODE;
    }
}

static void
take_comment(struct sql_split *split, char byte)
{
    if (split->before == '*' && byte == '/') {
        split->depth--;
        byte = ' ';
        split->mode = split->depth == 0 ? SQL_SPLIT_CODE : SQL_SPLIT_COMMENT;
    } else if (split->before == '/' && byte == '*') {
        split->depth++;
        byte = ' ';
    }
    split->before = byte;
}

static bool
take_code(struct sql_split *split, char byte)
{
    const bool is_word = sql_is_word_byte(byte) || (byte == '$' && split->in_word);
    const char before = split->before;

    if (split->pending && !(byte == before && byte == '-') && !(byte == '*' && before == '/')) {
        split->any = true;
    }
    split->pending = byte == '-' || byte == '/'; /* a comment may begin */
    split->any = split->any || (isspace((unsigned char)byte) == 0 && byte != ';' && !split->pending &&
                                !(byte == '*' && before == '/'));
    split->before = byte;
    if (byte == '\'') {
        split->mode = SQL_SPLIT_STRING;
        split->escapes = split->word_is_e;
    } else if (byte == '"') {
        split->mode = SQL_SPLIT_NAME;
    } else if (byte == '$' && !split->in_word) {
        split->mode = SQL_SPLIT_TAG;
        split->tag[0] = '$';
        split->tag_size = 1;
    } else if (byte == '-' && before == '-') {
        split->mode = SQL_SPLIT_LINE;
        split->pending = false;
    } else if (byte == '*' && before == '/') {
        split->mode = SQL_SPLIT_COMMENT;
        split->pending = false;
        split->depth = 1;
        split->before = ' ';
    } else if (byte == '(' || byte == '[') {
        split->brackets++;
    } else if (byte == ')' || byte == ']') {
        split->brackets -= split->brackets > 0;
    }
    split->word_is_e = (byte == 'e' || byte == 'E') && !split->in_word;
    split->in_word = is_word;
    return byte == ';' && split->brackets == 0;
}

bool
sql_split_take(struct sql_split *split, char byte)
{
    switch (split->mode) {
    case SQL_SPLIT_STRING:
        take_string(split, byte);
        return false;
    case SQL_SPLIT_NAME:
        split->mode = byte == '"' ? SQL_SPLIT_CODE : SQL_SPLIT_NAME; /* a doubled one begins another */
        return false;
    case SQL_SPLIT_DOLLAR:
        take_dollar(split, byte);
        return false;
    case SQL_SPLIT_LINE:
        split->mode = byte == '\n' ? SQL_SPLIT_CODE : SQL_SPLIT_LINE;
        split->before = ' ';
        return false;
    case SQL_SPLIT_COMMENT:
        take_comment(split, byte);
        return false;
    case SQL_SPLIT_STRING_END:
        split->mode = byte == '\'' ? SQL_SPLIT_STRING : SQL_SPLIT_CODE;
        if (byte == '\'') {
            return false;
        }
        break;
    case SQL_SPLIT_TAG:
        if ((sql_is_word_byte(byte) || byte == '$') && split->tag_size < SQL_SPLIT_TAG_MAX &&
            (split->tag_size > 1 || isdigit((unsigned char)byte) == 0)) {
            split->tag[split->tag_size++] = byte;
            split->mode = byte == '$' ? SQL_SPLIT_DOLLAR : SQL_SPLIT_TAG;
            split->matched = 0;
            return false;
        }
        split->mode = SQL_SPLIT_CODE; /* a parameter */
        split->in_word = true;
        break;
    case SQL_SPLIT_CODE:
        break;
    }
    return take_code(split, byte);
}

size_t
sql_split_feed(struct sql_split *split, const char *text, size_t size, bool *ret_ended)
{
    size_t at = 0;

    *ret_ended = false;
    while (at < size && !*ret_ended) {
        *ret_ended = sql_split_take(split, text[at++]);
    }
    return at;
}

/* Where a comment ends that begins there; it may not. */
static size_t
skip_comment(const char *text, size_t size, size_t at)
{
    struct sql_split split = {.mode = SQL_SPLIT_CODE};

    (void)sql_split_take(&split, text[at++]);
    do {
        (void)sql_split_take(&split, text[at++]);
    } while (at < size && split.mode != SQL_SPLIT_CODE);
    return at;
}

size_t
sql_skip_blank(const char *text, size_t size, size_t at)
{
    while (at < size) {
        if (at + 1 < size && ((text[at] == '-' && text[at + 1] == '-') || (text[at] == '/' && text[at + 1] == '*'))) {
            at = skip_comment(text, size, at);
        } else if (isspace((unsigned char)text[at]) != 0) {
            at++;
        } else {
            break;
        }
    }
    return at;
}

size_t
sql_word_end(const char *text, size_t size, size_t at)
{
    while (at < size && sql_is_word_byte(text[at])) {
        at++;
    }
    return at;
}

bool
sql_take_word(const char *text, size_t size, size_t *at, const char *word)
{
    const size_t begin = sql_skip_blank(text, size, *at);
    const size_t length = strlen(word);

    if (begin + length > size || strncasecmp(text + begin, word, length) != 0 ||
        (sql_is_word_byte(word[0]) && sql_word_end(text, size, begin) != begin + length)) {
        return false;
    }
    *at = begin + length;
    return true;
}

void
sql_add_quoted(const char *text, size_t size, char quote, struct gr_buf *out)
{
    gr_buf_add(out, &quote, 1);
    for (size_t i = 0; i < size; i++) {
        gr_buf_add(out, &quote, text[i] == quote);
        gr_buf_add(out, text + i, 1);
    }
    gr_buf_add(out, &quote, 1);
}

size_t
granary_sql_split(const char *sql, size_t length, size_t *ret_begin, size_t *ret_size)
{
    struct sql_split split = {.mode = SQL_SPLIT_CODE};
    bool ended = false;
    size_t from = 0;
    size_t at = 0;

    if (sql == NULL) {
        return 0;
    }
    while (at < length && !(ended && split.any)) { /* empty statements are none */
        if (ended) {
            split = (struct sql_split){.mode = SQL_SPLIT_CODE};
            from = at;
        }
        at += sql_split_feed(&split, sql + at, length - at, &ended);
    }
    if (!split.any && !split.pending) {
        return 0;
    }
    if (ret_begin != NULL) {
        *ret_begin = sql_skip_blank(sql, length, from);
    }
    if (ret_size != NULL) {
        *ret_size = at - ended - sql_skip_blank(sql, length, from);
    }
    return at;
}
