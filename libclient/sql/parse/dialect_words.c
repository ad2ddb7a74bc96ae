/* Rules about single words and operators. */
#include <string.h>

#include "sql/parse/dialect.h"

/* ---- operators ---- */

void
dialect_quotient(struct dialect *d, struct dialect_token *token)
{
    dialect_note(d, token, NOTED_QUOTIENT);
    dialect_replace(d, token, "/");
}

void
dialect_power(struct dialect *d, struct dialect_token *token)
{
    dialect_replace(d, token, "^");
}

void
dialect_equal(struct dialect *d, struct dialect_token *token)
{
    dialect_replace(d, token, "=");
}

void
dialect_try(struct dialect *d, struct dialect_token *token)
{
    if (dialect_is(token->next, "(")) {
        dialect_note(d, token, NOTED_TRY);
        dialect_replace(d, token, "cast");
    }
}

/* ---- joins ---- */

/* Each JOIN is noted: the last one before a table tells how it is joined. */
void
dialect_join(struct dialect *d, struct dialect_token *token)
{
    if (token->note == 0) {
        dialect_note(d, token, NOTED_JOIN);
    }
}

/* Whether a word behind `token` is the name of something, however it reads. */
static bool
is_named(const struct dialect_token *token)
{
    static const char *const begins[] = {"from", "join", "as", ",", ".", "(", NULL};

    return dialect_is_one(token->prev, begins) || token->prev->prev == NULL;
}

/* SEMI JOIN and ANTI JOIN, which the grammar would take for an alias: LEFT JOIN, noted. */
void
dialect_semi(struct dialect *d, struct dialect_token *token)
{
    if (is_named(token) || !dialect_is(token->next, "join")) {
        return;
    }
    if (dialect_is(token->prev, "left")) { /* LEFT SEMI JOIN is the same */
        dialect_remove(d, token->prev);
    }
    dialect_note(d, token->next, dialect_is(token, "semi") ? NOTED_SEMI : NOTED_ANTI);
    dialect_replace(d, token, "left");
}

void
dialect_other_join(struct dialect *d, struct dialect_token *token)
{
    static const char *const joins[] = {"join", "left", "right", "inner", "full", NULL};

    if (!is_named(token) && dialect_is_one(token->next, joins)) {
        (void)sql_fail(d->q, GRANARY_EUNSUPPORTED, token->at, "%.*s JOIN is not supported", token->size, token->text);
    }
}

/* ---- lists ---- */

/* Whether a bracket there begins a list: behind a value it takes a part of that, or tells of a type. */
static bool
begins_list(const struct dialect_token *before)
{
    static const char *const values[] = {"array", "end", "true", "false", "null", ")", "]", NULL};

    return !dialect_is_one(before, values) && !before->is_value && (!before->is_name || before->is_reserved);
}

/* Lists as DuckDB writes them: [1, 2] becomes ARRAY[1, 2]. */
void
dialect_list(struct dialect *d, struct dialect_token *token)
{
    if (token->prev->prev != NULL && begins_list(token->prev)) {
        (void)dialect_add(d, token, "array", token);
    }
}
