/* Parameters are found where the text is code (split.h), and become the literals that were given. */
#include "sql/params.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "base/text/text.h"
#include "granary/sql.h"
#include "graph/operators/nearest.h"
#include "sql/select/split.h"

/* ---- literals ---- */

static const char *
skip_digits(const char *text)
{
    while (isdigit((unsigned char)*text) != 0) {
        text++;
    }
    return text;
}

static bool
is_number(const char *text)
{
    const char *begin = text + (*text == '-' || *text == '+');
    const char *at = skip_digits(begin);
    size_t digits = (size_t)(at - begin);

    if (*at == '.') {
        begin = at + 1;
        at = skip_digits(begin);
        digits += (size_t)(at - begin);
    }
    if (digits > 0 && (*at == 'e' || *at == 'E')) {
        begin = at + 1 + (at[1] == '-' || at[1] == '+');
        at = skip_digits(begin);
        digits = (size_t)(at - begin);
    }
    return digits > 0 && *at == '\0';
}

static bool
is_string(const char *text)
{
    size_t size = strlen(text);

    if (size < 2 || text[0] != '\'' || text[size - 1] != '\'') {
        return false;
    }
    for (size_t i = 1; i + 1 < size; i++) {
        if (text[i] == '\'' && (text[++i] != '\'' || i + 1 == size)) {
            return false;
        }
    }
    return true;
}

bool
sql_is_literal(const char *text)
{
    static const char *const words[] = {"true", "false", "null"};
    static const char *const types[] = {"date ", "time ", "timestamp ", "timestamptz ", "interval "};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strncasecmp(text, types[i], strlen(types[i])) == 0) {
            return is_string(text + strlen(types[i]));
        }
    }
    return is_number(text) || is_string(text);
}

granary_err
granary_sql_literal(const char *text, size_t length, char **ret_literal)
{
    struct gr_buf out = {0};
    granary_err err = GRANARY_OK;

    if (text == NULL || memchr(text, '\0', length) != NULL || !gr_is_utf8(text, length)) {
        return gr_fail(GRANARY_EINVAL, "the value is no UTF-8 text");
    }
    sql_add_quoted(text, length, '\'', &out);
    if ((*ret_literal = gr_buf_take(&out)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    gr_buf_free(&out);
    return err;
}

/* ---- parameters ---- */

struct binding {
    const char *const *names;
    const char *const *values;
    size_t count;
    bool all_used; /* a value without a parameter is an error */
    bool *used;
    size_t asked; /* question marks so far */
    struct gr_buf out;
};

/* The value of a name that has size bytes. */
static granary_err
put_value(struct binding *b, const char *name, size_t size)
{
    char number[24];

    for (size_t i = 0; i < b->count; i++) {
        const char *of = b->names != NULL ? b->names[i] : number;

        (void)snprintf(number, sizeof number, "%zu", i + 1);
        if (strlen(of) == size && memcmp(of, name, size) == 0) {
            const bool is_signed = b->values[i][0] == '-' || b->values[i][0] == '+';

            gr_buf_addf(&b->out, is_signed ? "(%s)" : " %s ", b->values[i]);
            b->used[i] = true;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EINVAL, "parameter $%.*s has no value: give one with --param %.*s=VALUE, or in params",
                   (int)(size < 60 ? size : 60), name, (int)(size < 60 ? size : 60), name);
}

/* Bytes of the parameter that begins there; 0: none does. $name$ begins a text. */
static size_t
parameter_size(const char *sql, size_t length, size_t at)
{
    size_t end = sql_word_end(sql, length, at + 1);

    if (sql[at] == '?') {
        return 1;
    }
    return sql[at] != '$' || end == at + 1 || (end < length && sql[end] == '$') ? 0 : end - at;
}

static granary_err
put_parameter(struct binding *b, const char *parameter, size_t size)
{
    char number[24];

    if (parameter[0] == '$') {
        return put_value(b, parameter + 1, size - 1);
    }
    (void)snprintf(number, sizeof number, "%zu", ++b->asked);
    return put_value(b, number, strlen(number));
}

static granary_err
bind(struct binding *b, const char *sql, size_t length)
{
    struct sql_split split = {.mode = SQL_SPLIT_CODE};
    granary_err err = GRANARY_OK;
    size_t at = 0;

    while (at < length && err == GRANARY_OK) {
        const bool is_code = split.mode == SQL_SPLIT_CODE || split.mode == SQL_SPLIT_STRING_END;
        const size_t size = is_code && !split.in_word ? parameter_size(sql, length, at) : 0;

        if (size > 0) {
            err = put_parameter(b, sql + at, size);
            (void)sql_split_take(&split, ' ');
            at += size;
        } else {
            (void)sql_split_take(&split, sql[at]);
            gr_buf_add(&b->out, sql + at++, 1);
        }
    }
    for (size_t i = 0; i < b->count && err == GRANARY_OK && b->all_used; i++) {
        if (!b->used[i]) {
            err = b->names != NULL
                      ? gr_fail(GRANARY_EINVAL, "a value is given for $%.60s, which the statement does not have",
                                b->names[i])
                      : gr_fail(GRANARY_EINVAL, "%zu values are given, and the statement has no $%zu", b->count, i + 1);
        }
    }
    return err;
}

granary_err
gr_sql_bind(const char *sql, size_t length, const char *const *names, const char *const *values, size_t count,
            bool all_used, char **ret_sql)
{
    struct binding b = {.names = names, .values = values, .count = count, .all_used = all_used};
    granary_err err = GRANARY_OK;

    if (sql == NULL || ret_sql == NULL || (count > 0 && values == NULL)) {
        return gr_fail(GRANARY_EINVAL, "the statement or the values are NULL");
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if (values[i] == NULL || (names != NULL && names[i] == NULL)) {
            err = gr_fail(GRANARY_EINVAL, "value %zu, or its name, is NULL: null is the literal", i + 1);
        } else if (!sql_is_literal(values[i])) {
            err = gr_fail(GRANARY_EINVAL, "'%.60s' is no literal: a text stands in single quotes", values[i]);
        }
    }
    b.used = calloc(count + 1, sizeof *b.used);
    if (b.used == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = err == GRANARY_OK ? bind(&b, sql, length) : err;
    if (err == GRANARY_OK && (*ret_sql = gr_buf_take(&b.out)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    gr_buf_free(&b.out);
    free(b.used);
    return err;
}

granary_err
granary_sql_bind(const char *sql, size_t length, const char *const *names, const char *const *values, size_t count,
                 char **ret_sql)
{
    return gr_sql_bind(sql, length, names, values, count, true, ret_sql);
}
