/* Rules about the clauses of a query: what stands in another order, or is left out. */
#include <string.h>

#include "sql/parse/dialect/dialect.h"

/* The last word of what USING KEY becomes. */
#define KEY_PATH "\"#path\""

/* What a query in brackets begins with. */
static const char *const query_begins[] = {"select",      "values",  "with",         "table",    "from", "pivot",
                                           "pivot_wider", "unpivot", "pivot_longer", "describe", "desc", "show",
                                           "summarize",   NULL};

const struct dialect_token *
dialect_find_before(const struct dialect_token *token, const char *const *words)
{
    for (token = token->prev; token->prev != NULL && !dialect_is_one(token, words); token = token->prev) {
        if (token->pair != NULL && dialect_is_end(token)) {
            token = token->pair;
        } else if (token->pair != NULL) { /* it opens what the token is in */
            return NULL;
        }
    }
    return token->prev == NULL ? NULL : token;
}

/* ---- FROM first ---- */

bool
dialect_begins_query(const struct dialect_token *token)
{
    static const char *const sets[] = {"union", "intersect", "except", NULL};
    static const char *const after_set[] = {"all", "distinct", NULL};
    static const char *const of_with[] = {"as", "materialized", NULL};
    const struct dialect_token *before = token->prev;

    if (before->prev == NULL || dialect_is(before, ";") || dialect_is_one(before, sets) || dialect_is(before, "as")) {
        return true;
    }
    if (dialect_is(before, "(")) {
        return !dialect_is(before->prev, "trim");
    }
    if (dialect_is(before, KEY_PATH)) {
        return true; /* behind USING KEY */
    }
    if (dialect_is(before, ")") && before->pair != NULL && dialect_is_one(before->pair->prev, of_with)) {
        return true; /* behind WITH x AS (...) */
    }
    if (dialect_is_name(before) && dialect_is(before->prev, "into")) {
        return dialect_is(before->prev->prev, "insert");
    }
    return dialect_is_one(before, after_set) && dialect_is_one(before->prev, sets);
}

/* FROM t SELECT x WHERE ... is SELECT x FROM t WHERE ...; without SELECT it is SELECT *. */
void
dialect_from(struct dialect *d, struct dialect_token *token)
{
    static const char *const ends[] = {"select", "where",  "group", "having", "window",    "qualify", "order",
                                       "limit",  "offset", "fetch", "union",  "intersect", "except",  NULL};
    struct dialect_token *select;

    if (!dialect_begins_query(token)) {
        return;
    }
    select = dialect_find(token->next, ends);
    if (dialect_is(select, "select")) {
        dialect_move(d, select, dialect_clause_end(select->next)->prev, token);
    } else {
        (void)dialect_add(d, token, "select", token);
        (void)dialect_add(d, token, "*", token);
    }
}

/* ---- sets ---- */

/* Each is noted: the last one before a query tells how that is added. */
void
dialect_set(struct dialect *d, struct dialect_token *token)
{
    static const char *const kinds[] = {"all", "distinct", NULL};
    struct dialect_token *by = dialect_is_one(token->next, kinds) ? token->next->next : token->next;
    bool named = dialect_is(token, "union") && dialect_is(by, "by") && dialect_is(by->next, "name");

    dialect_note(d, token, named ? NOTED_BY_NAME : NOTED_SET);
    if (named) {
        dialect_remove(d, by->next);
        dialect_remove(d, by);
    }
}

/* ---- lists ---- */

/* A comma behind the last item of a list. */
void
dialect_comma(struct dialect *d, struct dialect_token *token)
{
    static const char *const empty[] = {"(", "[", ",", "select", NULL};

    if ((dialect_is_end(token->next) || dialect_is_clause(token->next)) && !dialect_is_one(token->prev, empty)) {
        dialect_remove(d, token);
    }
}

/* GROUP BY ALL, ORDER BY ALL: a column whose place is noted. */
void
dialect_all(struct dialect *d, struct dialect_token *token)
{
    static const char *const lists[] = {"group", "order", NULL};
    static const char *const orders[] = {"asc", "desc", "nulls", NULL};

    if (dialect_is(token->prev, "by") && dialect_is_one(token->prev->prev, lists) &&
        (dialect_is_end(token->next) || dialect_is_clause(token->next) || dialect_is_one(token->next, orders))) {
        dialect_replace(d, token, "\"all\"");
        dialect_note(d, token, NOTED_ALL);
    }
}

/* QUALIFY condition becomes a window that is partitioned by it, whose place is noted. */
void
dialect_qualify(struct dialect *d, struct dialect_token *token)
{
    static const char *const names[] = {"as", ".", ",", "(", "select", "from", "join", NULL};
    static const char *const words[] = {"window", "select", NULL};
    const struct dialect_token *clause = dialect_find_before(token, words);
    struct dialect_token *end = dialect_clause_end(token->next);
    struct dialect_token *open;

    if (clause == NULL || end == token->next || dialect_is_one(token->prev, names)) {
        return;
    }
    (void)dialect_add(d, token->next, "\"#qualify\"", token);
    end = dialect_add(d, end, ")", token);
    dialect_replace(d, token, dialect_is(clause, "window") ? "," : "window");
    (void)dialect_add(d, token->next->next, "as", token);
    open = dialect_add(d, token->next->next->next, "(", token);
    if (open == NULL || end == NULL) {
        return;
    }
    dialect_note(d, open, NOTED_QUALIFY);
    open->pair = end;
    end->pair = open;
    (void)dialect_add(d, open->next, "partition", token);
    (void)dialect_add(d, open->next->next, "by", token);
}

/* x: expression in a list of SELECT, or of FROM, is `expression AS x`. */
void
dialect_colon(struct dialect *d, struct dialect_token *token)
{
    static const char *const begins[] = {"select", "distinct", "all", ",", ")", "from", "join", NULL};
    static const char *const lists[] = {"select", "from", "[", "{", NULL};
    static const char *const joins[] = {",",    "join",       "left", "right", "full", "inner", "cross", "natural",
                                        "asof", "positional", "semi", "anti",  "on",   "using", NULL};
    struct dialect_token *name = token->prev;
    const struct dialect_token *list;
    struct dialect_token *end = token->next;
    struct dialect_token *as;

    if (!dialect_is_name(name) || !dialect_is_one(name->prev, begins)) {
        return;
    }
    list = dialect_find_before(name, lists);
    if (list == NULL || dialect_is(list, "[") || dialect_is(list, "{")) {
        return;
    }
    while (!dialect_is_end(end) && !dialect_is_clause(end) && !dialect_is(end, ",") &&
           (dialect_is(list, "select") || !dialect_is_one(end, joins))) {
        end = dialect_after(end);
    }
    as = dialect_add(d, end, "as", name);
    if (as != NULL) {
        dialect_remove(d, token);
        dialect_move(d, name, name, end);
    }
}

/* VALUES as a table of FROM stands in brackets. */
void
dialect_values(struct dialect *d, struct dialect_token *token)
{
    static const char *const tables[] = {"from", "join", ",", NULL};
    struct dialect_token *end = token->next;
    struct dialect_token *open;
    struct dialect_token *close;

    if (!dialect_is_one(token->prev, tables) || !dialect_is(end, "(") || end->pair == NULL) {
        return;
    }
    end = end->pair->next;
    while (dialect_is(end, ",") && dialect_is(end->next, "(") && end->next->pair != NULL) {
        end = end->next->pair->next;
    }
    open = dialect_add(d, token, "(", token);
    close = dialect_add(d, end, ")", token);
    if (open != NULL && close != NULL) {
        open->pair = close;
        close->pair = open;
    }
}

/* ---- tables without a name ---- */

/* Whether a table of FROM may stand where a token is. */
static bool
is_in_from(const struct dialect_token *token)
{
    static const char *const words[] = {"select", "from",  "where",  "group", "having", "order",
                                        "limit",  "fetch", "values", "set",   NULL};
    static const char *const begins[] = {"from", "join", "lateral", NULL};
    const struct dialect_token *clause;

    while (dialect_is(token->prev, "(")) {
        token = token->prev;
    }
    if (!dialect_is(token->prev, ",")) {
        return dialect_is_one(token->prev, begins);
    }
    clause = dialect_find_before(token, words);
    return clause != NULL && dialect_is(clause, "from");
}

bool
dialect_is_alias(const struct dialect_token *token)
{
    static const char *const joins[] = {"asof", "positional", "semi", "anti", NULL};
    static const char *const words[] = {"qualify",     "pivot", "pivot_wider", "unpivot", "pivot_longer",
                                        "tablesample", "join",  "left",        "right",   "full",
                                        "inner",       "cross", "natural",     NULL};

    return dialect_is(token, "as") || (dialect_is_name(token) && !dialect_is_one(token, words) &&
                                       !(dialect_is_one(token, joins) && dialect_is_one(token->next, words)));
}

/* A subquery of FROM, whose name may be left out. */
void
dialect_subquery(struct dialect *d, struct dialect_token *token)
{
    static const char *const behind[] = {"union", "intersect", "except", "order",
                                         "limit", "offset",    "fetch",  NULL}; /* a query in brackets */
    const struct dialect_token *first = token->next;
    struct dialect_token *close = token->pair;
    bool begins_so = false;

    while (dialect_is(first, "(") && !begins_so) { /* brackets in brackets are one subquery when they close together */
        begins_so = first->pair != NULL && dialect_is_one(first->pair->next, behind);
        if (first->pair == NULL || (!begins_so && first->pair->next != first->prev->pair)) {
            return;
        }
        first = first->next;
    }
    if (close != NULL && (begins_so || dialect_is_one(first, query_begins)) && !dialect_is_alias(close->next) &&
        is_in_from(token) &&
        !(dialect_is(token->prev, "(") && (token->prev->pair == close->next || dialect_is_one(close->next, behind)))) {
        (void)dialect_add(d, close->next, "as", token);
        (void)dialect_add(d, close->next->next, "\"" SQL_NAMELESS "\"", token);
    }
}

/* (DESCRIBE query) is (SELECT * FROM (query) AS "#described"), and (DESCRIBE t) that of (SELECT * FROM t). */
void
dialect_about(struct dialect *d, struct dialect_token *token)
{
    const char *name = dialect_is(token, "summarize") ? "\"" SQL_SUMMARIZED "\"" : "\"" SQL_DESCRIBED "\"";
    const char *const before[] = {"select", "*", "from", NULL};
    struct dialect_token *bracket = token->prev;
    struct dialect_token *first = token->next;

    if (!dialect_is(bracket, "(") || bracket->pair == NULL || first == bracket->pair || !is_in_from(bracket) ||
        dialect_is_one(first, (const char *const[]){",", ".", "(", NULL}) != dialect_is(first, "(")) {
        return;
    }
    if (dialect_is(first, "table")) {
        dialect_remove(d, first);
        first = token->next;
    }
    dialect_add_all(d, token, before, token);
    bracket = dialect_add_brackets(d, token, bracket->pair, token);
    if (bracket == NULL) {
        return;
    }
    dialect_remove(d, token);
    if (!dialect_is(first, "(") && !dialect_is_one(first, query_begins)) {
        dialect_add_all(d, first, before, token);
    }
    (void)dialect_add(d, bracket->pair->next, "as", token);
    (void)dialect_add(d, bracket->pair->next->next, name, token);
}

/* t(k, v) USING KEY (k) AS (query) is t(k, v) AS (query) CYCLE k SET "#key" USING "#path", which has no other use here. */
static void
using_key(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *open = token->next->next;
    struct dialect_token *as = open->pair->next;
    struct dialect_token *query = dialect_is(as, "as") ? as->next : as;
    struct dialect_token *behind;

    for (const struct dialect_token *key = open->next; key != open->pair; key = key->next) {
        if (!dialect_is_name(key) && !dialect_is(key, ",")) {
            (void)sql_fail(d->q, GRANARY_EUNSUPPORTED, key->at,
                           "USING KEY takes names of columns; aggregates in it are not supported");
            return;
        }
    }
    while (dialect_is_name(query) && query->next != NULL) { /* MATERIALIZED */
        query = query->next;
    }
    if (query == as || !dialect_is(query, "(") || query->pair == NULL || open->next == open->pair) {
        return;
    }
    behind = query->pair->next;
    dialect_remove(d, token->next);
    dialect_remove(d, token);
    dialect_move(d, open, open->pair, behind);
    dialect_replace(d, open, "cycle");
    dialect_replace(d, open->pair, "set");
    dialect_add_all(d, behind, (const char *const[]){"\"" SQL_KEY_MARK "\"", "using", KEY_PATH, NULL}, token);
    open->pair->pair = NULL;
    open->pair = NULL;
}

void
dialect_using(struct dialect *d, struct dialect_token *token)
{
    if (dialect_is(token->next, "key") && dialect_is(token->next->next, "(") && token->next->next->pair != NULL) {
        using_key(d, token);
    } else {
        dialect_using_sample(d, token);
    }
}
