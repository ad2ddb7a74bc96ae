/*
 * PIVOT and UNPIVOT, which the grammar does not know, as a subquery: what they say stands in a window of it, noted.
 *
 *     t PIVOT (sum(x) FOR k IN (1, 2) GROUP BY g)
 *     (SELECT sum(x) FROM t GROUP BY g WINDOW "#pivot" AS (PARTITION BY k IN (1, 2)))
 *     t UNPIVOT (v FOR n IN (a, b))
 *     (SELECT * FROM t WINDOW "#unpivot" AS (PARTITION BY v, n, a, b))
 *
 * The statements PIVOT t ON ... and UNPIVOT t ON ... are SELECT * of such a subquery. A name behind an item of a list is
 * the call "#as"(item, 'name').
 */
#include <string.h>

#include "sql/parse/dialect/dialect.h"

void
dialect_add_all(struct dialect *d, struct dialect_token *before, const char *const *texts,
                const struct dialect_token *at)
{
    for (; *texts != NULL; texts++) {
        (void)dialect_add(d, before, *texts, at);
    }
}

struct dialect_token *
dialect_add_brackets(struct dialect *d, struct dialect_token *from, struct dialect_token *behind,
                     const struct dialect_token *at)
{
    struct dialect_token *open = dialect_add(d, from, "(", at);
    struct dialect_token *close = dialect_add(d, behind, ")", at);

    if (open == NULL || close == NULL) {
        return NULL;
    }
    open->pair = close;
    close->pair = open;
    return open;
}

/* Tokens from..end, without the last one, go before another one. */
static void
move_part(struct dialect *d, struct dialect_token *from, struct dialect_token *end, struct dialect_token *before)
{
    if (from != end) {
        dialect_move(d, from, end->prev, before);
    }
}

/* Copies of from..end before another token. */
static void
copy_part(struct dialect *d, const struct dialect_token *from, const struct dialect_token *end,
          struct dialect_token *before)
{
    for (; from != end; from = from->next) {
        struct dialect_token *copy = dialect_add(d, before, "", from);

        if (copy != NULL) {
            copy->text = from->text;
            copy->size = from->size;
            d->made_bytes += (size_t)from->size;
        }
    }
}

/* The next token outside of brackets, also behind one that ends something (`;`), which the grammar will refuse. */
static struct dialect_token *
step(struct dialect_token *token)
{
    struct dialect_token *after = dialect_after(token);

    return after == token && token->next != NULL ? token->next : after;
}

/* ---- names in lists ---- */

/* A name as a text, as it is written. */
static const char *
name_text(struct dialect *d, const struct dialect_token *name)
{
    char *text = SQL_ARRAY(d->q, char, 2 * (size_t)name->size + 3);
    bool quoted = name->text[0] == '"';
    char *to = text;

    if (text == NULL) {
        return NULL;
    }
    if (name->is_value) {
        return sql_printf(d->q, "%.*s", name->size, name->text);
    }
    *to++ = '\'';
    for (int i = quoted; i < name->size - quoted; i++) {
        char c = name->text[i];

        *to++ = c;
        if (c == '\'') {
            *to++ = c;
        }
        i += quoted && c == '"'; /* doubled */
    }
    *to = '\'';
    return text;
}

/* An item first..end of a list, behind which a name may stand. */
static void
put_name(struct dialect *d, struct dialect_token *first, struct dialect_token *end)
{
    struct dialect_token *name = end->prev;
    struct dialect_token *before = name->prev;
    bool as = dialect_is(before, "as");
    const char *text;

    if (first == name || (as && before == first) || !(name->is_name || (as && name->is_value)) ||
        !(as || (!name->is_reserved && (before->is_value || dialect_is(before, ")") || dialect_is_name(before))))) {
        return;
    }
    text = name_text(d, name);
    if (text == NULL) {
        return;
    }
    (void)dialect_add(d, first, "\"#as\"", first);
    (void)dialect_add_brackets(d, first, end, first);
    if (as) {
        dialect_replace(d, before, ",");
    } else {
        (void)dialect_add(d, name, ",", name);
    }
    dialect_replace(d, name, text);
    name->is_value = true;
    name->is_name = false;
}

/* The items from..end of a list. A star by itself is COLUMNS(*). */
static void
put_names(struct dialect *d, struct dialect_token *from, struct dialect_token *end)
{
    struct dialect_token *first = from;

    while (first != end && d->q->err == GRANARY_OK) {
        struct dialect_token *behind = first;

        while (behind != end && behind->next != NULL && !dialect_is(behind, ",")) {
            behind = step(behind);
        }
        if (dialect_is(first, "*") && first->next == behind) {
            dialect_replace(d, first, "columns(*)");
        } else if (first != behind && !dialect_is(first, "*")) {
            put_name(d, first, behind);
        }
        first = behind == end || behind->next == NULL ? end : behind->next;
    }
}

/* ---- ON, FOR ---- */

/* Each k IN (list) of from..end; FOR k IN (1) m IN (2) gets its commas. */
static void
put_lists(struct dialect *d, struct dialect_token *from, struct dialect_token *end, bool separate)
{
    struct dialect_token *token = from;

    while (token != end && token->next != NULL && d->q->err == GRANARY_OK) {
        struct dialect_token *open = token->next;

        if (!dialect_is(token, "in")) {
            token = step(token);
            continue;
        }
        if (!dialect_is(open, "(") || open->pair == NULL) {
            (void)sql_fail(d->q, GRANARY_EUNSUPPORTED, open->at,
                           "the values of an ENUM are not known here: write them, IN ('a', 'b')");
            return;
        }
        put_names(d, open->next, open->pair);
        token = open->pair->next;
        if (separate && token != end && !dialect_is(token, ",")) {
            (void)dialect_add(d, token, ",", token);
        }
    }
}

static void
put_window(struct dialect *d, struct dialect_token *from, struct dialect_token *end, const char *name,
           enum parse_noted noted, const struct dialect_token *at)
{
    struct dialect_token *open = dialect_add_brackets(d, from, end, at);

    if (open != NULL) {
        dialect_note(d, open, noted);
        dialect_add_all(d, open->next, (const char *const[]){"partition", "by", NULL}, at);
        dialect_add_all(d, open, (const char *const[]){"window", name, "as", NULL}, at);
    }
}

/* ---- in FROM ---- */

struct dialect_token *
dialect_source_begin(struct dialect_token *token, bool joined)
{
    static const char *const all[] = {"from", ",", NULL};
    static const char *const last[] = {"from", ",", "join", "lateral", NULL};
    const char *const *begins = joined ? all : last;
    static const char *const ends[] = {"select", "where", "group", "having", "order", "limit", "union", NULL};
    struct dialect_token *first = token;

    while (first->prev->prev != NULL && !dialect_is_one(first->prev, begins)) {
        if (dialect_is_one(first->prev, ends)) {
            return NULL;
        }
        if (first->prev->pair != NULL && !dialect_is_end(first->prev)) { /* it opens what the token is in */
            return NULL;
        }
        first = first->prev->pair != NULL ? first->prev->pair : first->prev;
    }
    return first->prev->prev == NULL || first == token ? NULL : first;
}

/* The brackets around a source and what is said of it become a table, which has a name. */
static void
put_table(struct dialect *d, struct dialect_token *first, struct dialect_token *behind, const struct dialect_token *at)
{
    struct dialect_token *open = dialect_add_brackets(d, first, behind, at);

    if (open != NULL && !dialect_is_alias(open->pair->next)) {
        dialect_add_all(d, open->pair->next, (const char *const[]){"as", "\"" SQL_NAMELESS "\"", NULL}, at);
    }
}

/* t PIVOT (aggregates FOR k IN (...) GROUP BY g) */
static void
pivot_table(struct dialect *d, struct dialect_token *token, struct dialect_token *first)
{
    struct dialect_token *open = token->next;
    struct dialect_token *close = open->pair;
    struct dialect_token *list = dialect_find(open->next, (const char *const[]){"for", NULL});
    struct dialect_token *group = dialect_find(list, (const char *const[]){"group", NULL});
    struct dialect_token *select = dialect_add(d, first, "select", token);
    struct dialect_token *source = dialect_add(d, first, "from", token);

    if (select == NULL || source == NULL) {
        return;
    }
    move_part(d, open->next, list, source);
    move_part(d, group, close, token);
    put_lists(d, list->next, close, true);
    dialect_remove(d, list);
    put_window(d, open->next, close, "\"#pivot\"", NOTED_PIVOT, token);
    put_table(d, select, close->next, token);
    dialect_remove(d, open);
    dialect_remove(d, close);
    dialect_remove(d, token);
}

/* t UNPIVOT [INCLUDE NULLS] (v FOR n IN (...)) */
static void
unpivot_table(struct dialect *d, struct dialect_token *token, struct dialect_token *first, struct dialect_token *open)
{
    struct dialect_token *close = open->pair;
    struct dialect_token *list = dialect_find(open->next, (const char *const[]){"for", NULL});
    struct dialect_token *in = dialect_find(list, (const char *const[]){"in", NULL});
    const char *name = dialect_is(token->next, "include") ? "\"#unpivot nulls\"" : "\"#unpivot\"";
    struct dialect_token *select;

    if (!dialect_is(in->next, "(") || in->next->pair == NULL) {
        (void)sql_fail(d->q, GRANARY_EINVAL, in->at, "UNPIVOT needs its columns: UNPIVOT (v FOR n IN (a, b))");
        return;
    }
    put_names(d, in->next->next, in->next->pair);
    dialect_replace(d, list, ",");
    if (in->next->next == in->next->pair) {
        dialect_remove(d, in);
    } else {
        dialect_replace(d, in, ",");
    }
    dialect_remove(d, in->next->pair);
    dialect_remove(d, in->next);
    put_window(d, open->next, close, name, NOTED_UNPIVOT, token);
    select = dialect_add(d, first, "select * from", token);
    if (select == NULL) {
        return;
    }
    put_table(d, select, close->next, token);
    while (token->next != open) { /* INCLUDE NULLS */
        dialect_remove(d, token->next);
    }
    dialect_remove(d, open);
    dialect_remove(d, close);
    dialect_remove(d, token);
}

/* ---- statements ---- */

static const char *const parts[] = {"on", "using", "group", "into", NULL};

/* Where a part of the statement ends. */
static struct dialect_token *
part_end(struct dialect_token *token)
{
    while (!dialect_is_end(token) && !dialect_is_one(token, parts) && !dialect_is_clause(token)) {
        token = dialect_after(token);
    }
    return token;
}

/* SELECT * FROM ( ... ) AS "#subquery" around from..end. */
static void
put_statement(struct dialect *d, struct dialect_token *from, struct dialect_token *end, const struct dialect_token *at)
{
    struct dialect_token *open = dialect_add_brackets(d, from, end, at);

    if (open != NULL) {
        dialect_add_all(d, open, (const char *const[]){"select", "*", "from", NULL}, at);
        dialect_add_all(d, end, (const char *const[]){"as", "\"" SQL_NAMELESS "\"", NULL}, at);
    }
}

/* PIVOT t ON k [IN (...)], m USING sum(x) GROUP BY g */
static void
pivot_statement(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *on = part_end(token->next);
    bool pivots = dialect_is(on, "on");
    struct dialect_token *using = pivots ? part_end(on->next) : on;
    bool aggregates = dialect_is(using, "using");
    struct dialect_token *group = aggregates ? part_end(using->next) : using;
    bool groups = dialect_is(group, "group") && dialect_is(group->next, "by");
    struct dialect_token *end = groups ? part_end(group->next) : group;
    struct dialect_token *select = dialect_add(d, token, "select", token);

    if (select == NULL) {
        return;
    }
    dialect_replace(d, token, "from");
    if (!pivots && groups) { /* no column is found: groups alone */
        copy_part(d, group->next->next, end, token);
        (void)dialect_add(d, token, aggregates ? "," : "", token);
    }
    if (aggregates) {
        move_part(d, using->next, group, token);
        dialect_remove(d, using);
    } else if (pivots || !groups) {
        dialect_add_all(d, token, (const char *const[]){"count", "(", "*", ")", NULL}, token);
    }
    if (pivots) {
        struct dialect_token *behind = groups ? group : end;

        put_lists(d, on->next, behind, false);
        if (groups) {
            move_part(d, group, end, on);
        }
        put_window(d, on->next, end, "\"#pivot\"", NOTED_PIVOT, token);
        dialect_remove(d, on);
    }
    put_statement(d, select, end, token);
}

/* UNPIVOT t ON a, b INTO NAME n VALUE v */
static void
unpivot_statement(struct dialect *d, struct dialect_token *token)
{
    static const char *const values[] = {"value", "values", NULL};
    struct dialect_token *on = part_end(token->next);
    bool nulls = dialect_is(on->prev, "nulls") && dialect_is(on->prev->prev, "include");
    struct dialect_token *into = dialect_is(on, "on") ? part_end(on->next) : on;
    struct dialect_token *name = dialect_is(into, "into") && dialect_is(into->next, "name") ? into->next->next : NULL;
    struct dialect_token *value = name == NULL || name->next == NULL ? NULL : name->next;
    struct dialect_token *end = into;
    struct dialect_token *select;
    struct dialect_token *first;

    if (!dialect_is(on, "on") || (dialect_is(into, "into") && !(value != NULL && dialect_is_one(value, values)))) {
        (void)sql_fail(d->q, GRANARY_EINVAL, token->at, "UNPIVOT is written: UNPIVOT t ON a, b INTO NAME n VALUE v");
        return;
    }
    put_names(d, on->next, into);
    first = on->next;
    if (value != NULL) {
        end = part_end(value->next);
        dialect_remove(d, into->next);
        dialect_remove(d, into);
        (void)dialect_add(d, first, "row(", token);
        move_part(d, value->next, end, first);
        (void)dialect_add(d, first, "),", token);
        dialect_move(d, name, name, first);
        dialect_remove(d, value);
    } else {
        dialect_add_all(d, first, (const char *const[]){"value", ",", "name", NULL}, token);
    }
    (void)dialect_add(d, first, ",", token);
    if (nulls) {
        dialect_remove(d, on->prev);
        dialect_remove(d, on->prev);
    }
    select = dialect_add(d, token, "select *", token);
    dialect_replace(d, token, "from");
    put_window(d, on->next, end, nulls ? "\"#unpivot nulls\"" : "\"#unpivot\"", NOTED_UNPIVOT, token);
    dialect_remove(d, on);
    if (select != NULL) {
        put_statement(d, select, end, token);
    }
}

/* ---- rules ---- */

/* Whether a statement begins there: what follows is a table, and one of its words. */
static bool
begins_statement(struct dialect_token *token)
{
    const struct dialect_token *next = token->next;
    struct dialect_token *part;

    if (next->next == NULL || !dialect_begins_query(token) ||
        !(dialect_is_name(next) || dialect_is(next, "(") || next->is_value)) {
        return false;
    }
    part = part_end(token->next);
    return part != next && dialect_is_one(part, parts) && !dialect_is(part, "into");
}

/* The bracket with FOR in it that stands there; NULL: none does. */
static struct dialect_token *
for_bracket(struct dialect_token *open)
{
    static const char *const words[] = {"for", NULL};

    return dialect_is(open, "(") && open->pair != NULL && dialect_is(dialect_find(open->next, words), "for") ? open
                                                                                                             : NULL;
}

void
dialect_pivot(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *first = for_bracket(token->next) == NULL ? NULL : dialect_source_begin(token, true);

    if (first != NULL) {
        pivot_table(d, token, first);
    } else if (begins_statement(token)) {
        pivot_statement(d, token);
    }
}

void
dialect_unpivot(struct dialect *d, struct dialect_token *token)
{
    static const char *const kinds[] = {"include", "exclude", NULL};
    bool kind = dialect_is_one(token->next, kinds) && dialect_is(token->next->next, "nulls");
    struct dialect_token *open = for_bracket(kind ? token->next->next->next : token->next);
    struct dialect_token *first = open == NULL ? NULL : dialect_source_begin(token, true);

    if (first != NULL) {
        unpivot_table(d, token, first, open);
    } else if (begins_statement(token)) {
        unpivot_statement(d, token);
    }
}
