/* Rules about calls and lists behind a value: x.upper(), x IN list. */
#include <string.h>

#include "sql/parse/dialect/dialect.h"

/* ---- x.f(a) ---- */

/* Where a value begins that ends in a bracket; NULL: it is none that a call may follow. */
static struct dialect_token *
bracket_begin(struct dialect_token *bracket, bool *ret_goes_on)
{
    static const char *const refused[] = {"over", "filter", "within", "values", "exists", "set", NULL};
    static const char *const words[] = {"by",      "between", "like", "ilike", "similar",
                                        "qualify", "escape",  "is",   "to",    NULL};
    struct dialect_token *open = bracket->pair;
    struct dialect_token *before = open == NULL ? NULL : open->prev;

    *ret_goes_on = false;
    if (open == NULL || before->prev == NULL) {
        return NULL;
    }
    if (dialect_is(open, "[")) {
        *ret_goes_on = !dialect_is(before, "array");
        return before;
    }
    if (dialect_is_one(before, refused)) {
        return NULL;
    }
    if (dialect_is(before, "cast")) {
        return before;
    }
    *ret_goes_on = dialect_is_name(before) && !dialect_is_one(before, words);
    return *ret_goes_on ? before : open;
}

/* Where the value begins that ends with a token. NULL: none does that a call may follow. */
static struct dialect_token *
value_begin(struct dialect_token *token)
{
    bool goes_on = true;

    while (token != NULL && goes_on) {
        if (dialect_is(token, ")") || dialect_is(token, "]")) {
            token = bracket_begin(token, &goes_on);
            if (token != NULL && goes_on && dialect_is_name(token) && dialect_is(token->prev, ".")) {
                token = token->prev->prev;
            } else if (token != NULL && goes_on && dialect_is_name(token)) {
                goes_on = false;
            }
        } else if (token->is_value) {
            return token->text[0] == '\'' && !dialect_is_name(token->prev) ? token : NULL; /* not of DATE '...' */
        } else if (!dialect_is_name(token)) {
            return NULL;
        } else if (dialect_is(token->prev, ".")) {
            token = token->prev->prev;
        } else {
            goes_on = false;
        }
    }
    return token;
}

/* Whether names with a dot between them are those of a table or a schema there. */
static bool
is_qualified(const struct dialect_token *begin, const struct dialect_token *dot)
{
    static const char *const schemas[] = {"pg_catalog", "main", "information_schema", "public", NULL};
    static const char *const before[] = {"into", "table", "view", "exists", "update", "copy", "call",
                                         "join", "from",  "as",   "::",     "only",   NULL};

    return (begin->next == dot && dialect_is_one(begin, schemas)) ||
           (dialect_is_one(begin->prev, before) &&
            !(dialect_is(begin->prev, "from") && dialect_is(begin->prev->prev, "distinct")));
}

/* x.f(a) is f(x, a); x is a column, a text, a list, a call or what stands in brackets. */
void
dialect_dot(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *name = token->next;
    struct dialect_token *open = name->next;
    struct dialect_token *begin;

    if (!dialect_is_name(name) || !dialect_is(open, "(") || open->pair == NULL || token->prev->prev == NULL) {
        return;
    }
    begin = value_begin(token->prev);
    if (begin == NULL || begin->prev == NULL || is_qualified(begin, token)) {
        return;
    }
    dialect_move(d, name, open, begin);
    if (token->next == open->pair || dialect_is(token->next, "order")) {
        dialect_remove(d, token);
    } else {
        dialect_replace(d, token, ",");
    }
}

/* ---- l[a:b:c] ---- */

/* An end of a slice, between two tokens: nothing, and `-` alone, is none. */
static bool
has_end(struct dialect *d, const struct dialect_token *before, const struct dialect_token *behind)
{
    struct dialect_token *end = before->next;

    if (dialect_is(end, "-") && end->next == behind) {
        dialect_remove(d, end);
    }
    return before->next != behind;
}

/* l[a:b:c] is list_slice(l, a, b, c); without an end it is list_step_from(l, a, c), list_step_to(l, b, c) or
 * list_step_all(l, c). */
bool
dialect_step(struct dialect *d, struct dialect_token *open)
{
    static const char *const colons[] = {":", NULL};
    struct dialect_token *close = open->pair;
    struct dialect_token *first = close == NULL ? NULL : dialect_find(open->next, colons);
    struct dialect_token *second = first == NULL || first == close ? NULL : dialect_find(first->next, colons);
    struct dialect_token *begin = second == NULL || second == close ? NULL : value_begin(open->prev);
    struct dialect_token *bracket;
    bool from;
    bool to;

    if (begin == NULL || begin->prev == NULL || second->next == close) {
        return false;
    }
    from = has_end(d, open, first);
    to = has_end(d, first, second);
    (void)dialect_add(d, begin,
                      from && to ? "list_slice"
                      : from     ? "list_step_from"
                      : to       ? "list_step_to"
                                 : "list_step_all",
                      begin);
    bracket = dialect_add(d, begin, "(", begin);
    dialect_replace(d, open, ",");
    dialect_replace(d, first, ",");
    dialect_replace(d, second, ",");
    dialect_replace(d, close, ")");
    if (!from) {
        dialect_remove(d, first);
    }
    if (!to) {
        dialect_remove(d, second);
    }
    open->pair = NULL;
    close->pair = bracket;
    if (bracket != NULL) {
        bracket->pair = close;
    }
    return true;
}

/* ---- x IN list ---- */

/* Whether IN is that of position(x IN y), or of a list's FOR. */
static bool
is_other_in(const struct dialect_token *token)
{
    static const char *const ends[] = {"and", "or", "in", ",", "select", NULL}; /* position() has none of them */
    const struct dialect_token *before = token->prev;

    if (dialect_is_name(before) && dialect_is(before->prev, "for")) {
        return true;
    }
    while (before->prev != NULL && !dialect_is_one(before, ends)) {
        if (before->pair != NULL && dialect_is_end(before)) {
            before = before->pair->prev;
        } else if (before->pair != NULL) {
            return dialect_is(before->prev, "position");
        } else {
            before = before->prev;
        }
    }
    return false;
}

/* The last token of a list, a column or a call. NULL: it is neither. */
static struct dialect_token *
list_end(struct dialect_token *token)
{
    if (dialect_is(token, "[")) {
        token = token->pair;
    } else if (!dialect_is_name(token)) {
        return NULL;
    }
    while (token != NULL && token->next != NULL) {
        if (dialect_is(token->next, ".") && dialect_is_name(token->next->next)) {
            token = token->next->next;
        } else if (dialect_is(token->next, "(") || dialect_is(token->next, "[")) {
            token = token->next->pair;
        } else {
            break;
        }
    }
    return token;
}

/* x IN list is x IN (list), noted. */
void
dialect_in(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *first = token->next;
    struct dialect_token *end = first->next == NULL ? NULL : list_end(first);
    struct dialect_token *open;
    struct dialect_token *close;

    if (end == NULL || end->next == NULL || is_other_in(token)) {
        return;
    }
    open = dialect_add(d, first, "(", first);
    close = dialect_add(d, end->next, ")", first);
    if (open != NULL && close != NULL) {
        open->pair = close;
        close->pair = open;
        dialect_note(d, dialect_is(token->prev, "not") ? token->prev : token, NOTED_IN_LIST);
    }
}
