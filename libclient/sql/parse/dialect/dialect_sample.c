/*
 * TABLESAMPLE of any table of FROM, and USING SAMPLE of all of FROM: a window, noted, whose partition tells how.
 *
 *     t AS x TABLESAMPLE 10% (bernoulli, 7)
 *     (SELECT * FROM t AS x WINDOW "#sample" AS (PARTITION BY 'bernoulli', 10, 'percent', 7)) AS x
 */
#include <string.h>

#include "sql/parse/dialect/dialect.h"

/* How much is drawn: the tokens from its beginning to `end`. Of method, unit and seed each may be NULL. */
struct drawn {
    const struct dialect_token *method;
    const struct dialect_token *size;
    const struct dialect_token *unit;
    const struct dialect_token *seed;
    struct dialect_token *end;
};

/* 10, 10%, 10 PERCENT, 10 ROWS: what follows. NULL: it is none. */
static struct dialect_token *
take_size(struct dialect_token *token, struct drawn *drawn)
{
    static const char *const units[] = {"%", "percent", "rows", "row", NULL};

    if (!token->is_value || token->text[0] == '\'') {
        return NULL;
    }
    drawn->size = token;
    token = token->next;
    if (dialect_is_one(token, units)) {
        drawn->unit = token;
        token = token->next;
    }
    return token;
}

/* (method), (method, seed) behind a size: what follows. */
static struct dialect_token *
take_method(struct dialect_token *open, struct drawn *drawn)
{
    if (!dialect_is(open, "(") || open->pair == NULL || !open->next->is_name) {
        return open;
    }
    drawn->method = open->next;
    if (dialect_is(open->next->next, ",") && open->next->next->next->is_value) {
        drawn->seed = open->next->next->next;
    }
    return open->pair->next;
}

/* What stands behind TABLESAMPLE or SAMPLE. false: it is something else. */
static bool
take_drawn(struct dialect_token *token, struct drawn *drawn)
{
    struct dialect_token *close = NULL;
    struct dialect_token *next;

    *drawn = (struct drawn){.method = NULL};
    if (token->next == NULL) {
        return false;
    }
    if (token->is_name && dialect_is(token->next, "(")) {
        drawn->method = token;
        token = token->next;
    }
    if (dialect_is(token, "(") && token->pair != NULL) {
        close = token->pair;
        token = token->next;
    }
    next = take_size(token, drawn);
    if (next == NULL || (close != NULL && next != close)) {
        return false;
    }
    drawn->end = close != NULL ? close->next : take_method(next, drawn);
    next = drawn->end->next;
    if (dialect_is(drawn->end, "repeatable") && dialect_is(next, "(") && next->pair != NULL && next->next->is_value) {
        drawn->seed = next->next;
        drawn->end = next->pair->next;
    }
    return true;
}

/* A word of it as a text, or what stands for none. */
static const char *
quoted(struct dialect *d, const struct dialect_token *token, const char *none)
{
    return token == NULL ? none : sql_printf(d->q, "'%.*s'", token->size, token->text);
}

/* The window before a token. word: "window", or "," behind another one. */
static void
put_drawn(struct dialect *d, const struct drawn *drawn, struct dialect_token *before, const char *word,
          const struct dialect_token *at)
{
    bool percent = drawn->unit != NULL && !dialect_is(drawn->unit, "rows") && !dialect_is(drawn->unit, "row");
    const char *seed = drawn->seed == NULL ? "0" : sql_printf(d->q, "%.*s", drawn->seed->size, drawn->seed->text);
    const char *size = sql_printf(d->q, "%.*s", drawn->size->size, drawn->size->text);
    const char *unit = percent ? "'percent'" : drawn->unit != NULL ? "'rows'" : "''";
    struct dialect_token *open;

    dialect_add_all(d, before, (const char *const[]){word, "\"#sample\"", "as", NULL}, at);
    open = dialect_add(d, before, "(", at);
    if (open != NULL && seed != NULL && size != NULL) {
        dialect_note(d, open, NOTED_SAMPLE);
        dialect_add_all(d, before,
                        (const char *const[]){"partition", "by", quoted(d, drawn->method, "''"), ",", size, ",", unit,
                                              ",", seed, ")", NULL},
                        at);
    }
}

static void
remove_all(struct dialect *d, struct dialect_token *from, const struct dialect_token *end)
{
    for (; from != end; from = from->next) {
        dialect_remove(d, from);
    }
}

static bool
refuse(struct dialect *d, const struct dialect_token *token)
{
    return sql_fail(d->q, GRANARY_EINVAL, token->at,
                    "how much is drawn is a number as written: 10%%, 50 ROWS, reservoir(50 ROWS) REPEATABLE (7)");
}

/* The name that a table first..end has in its query. NULL: none. */
static const struct dialect_token *
name_of(const struct dialect_token *first, const struct dialect_token *end)
{
    const struct dialect_token *last = end->prev;

    if (dialect_is(last, ")") && last->pair != NULL && last->pair != first) {
        last = last->pair->prev;
    }
    return last->is_name || (last->text[0] == '"' && last->size > 0) ? last : NULL;
}

void
dialect_tablesample(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *first = dialect_source_begin(token, false);
    const struct dialect_token *name;
    struct dialect_token *select;
    struct dialect_token *open;
    struct drawn drawn;

    if (first == NULL) {
        return;
    }
    if (!take_drawn(token->next, &drawn)) {
        (void)refuse(d, token);
        return;
    }
    name = name_of(first, token);
    select = dialect_add(d, first, "select * from", token);
    if (select == NULL) {
        return;
    }
    put_drawn(d, &drawn, token, "window", token);
    open = dialect_add_brackets(d, select, token, token);
    if (open != NULL && !dialect_is_alias(drawn.end)) {
        const char *alias = name == NULL ? "\"" SQL_NAMELESS "\"" : sql_printf(d->q, "%.*s", name->size, name->text);

        if (alias != NULL) {
            dialect_add_all(d, token, (const char *const[]){"as", alias, NULL}, token);
        }
    }
    remove_all(d, token, drawn.end);
}

/* USING SAMPLE stands behind the windows, and QUALIFY has become one. */
void
dialect_using_sample(struct dialect *d, struct dialect_token *token)
{
    static const char *const words[] = {"window", "select", NULL};
    const struct dialect_token *clause;
    struct drawn drawn;

    if (!dialect_is(token->next, "sample") || token->next->next == NULL) {
        return;
    }
    clause = dialect_find_before(token, words);
    if (clause == NULL || !take_drawn(token->next->next, &drawn)) {
        (void)refuse(d, token);
        return;
    }
    put_drawn(d, &drawn, token, dialect_is(clause, "window") ? "," : "window", token);
    remove_all(d, token, drawn.end);
}
