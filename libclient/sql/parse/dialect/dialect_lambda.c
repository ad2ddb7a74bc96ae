/*
 * Rules about lambdas and list comprehensions. The grammar has an operator `->`, which binds tighter than comparisons. So
 * what is behind it gets brackets: list_filter(l, x -> x > 1) is list_filter(l, x -> (x > 1)).
 */
#include "sql/parse/dialect/dialect.h"

/* Brackets around the tokens from..to. */
static void
enclose(struct dialect *d, struct dialect_token *from, struct dialect_token *to)
{
    struct dialect_token *open = dialect_add(d, from, "(", from);
    struct dialect_token *close = dialect_add(d, to->next, ")", to);

    if (open != NULL && close != NULL) {
        open->pair = close;
        close->pair = open;
    }
}

/* lambda x, i: value: up to the colon it is (x, i) ->. Returns the arrow, or NULL where it is none. */
static struct dialect_token *
lambda_word(struct dialect *d, struct dialect_token *word)
{
    struct dialect_token *first = word->next;
    struct dialect_token *last = first;

    while (dialect_is_name(last) && dialect_is(last->next, ",")) {
        last = last->next->next;
    }
    if (!dialect_is_name(last) || !dialect_is(last->next, ":")) {
        return NULL;
    }
    if (last != first) {
        enclose(d, first, last);
    }
    dialect_remove(d, word);
    last = dialect_is(last->next, ")") ? last->next : last;
    dialect_replace(d, last->next, "->");
    return last->next;
}

/* The arrow of a lambda that begins with a token; NULL: it is none. */
static struct dialect_token *
find_arrow(struct dialect *d, struct dialect_token *token)
{
    if (dialect_is(token, "lambda") && dialect_is_name(token->next)) {
        return lambda_word(d, token);
    }
    if (dialect_is_name(token) && dialect_is(token->next, "->")) {
        return token->next;
    }
    return dialect_is(token, "(") && token->pair != NULL && dialect_is(token->pair->next, "->") ? token->pair->next
                                                                                                : NULL;
}

/* Asked of each name in front of a bracket. */
void
dialect_lambda(struct dialect *d, struct dialect_token *token)
{
    static const char *const commas[] = {",", NULL};
    struct dialect_token *open = token->next;
    struct dialect_token *argument;

    if (!dialect_is(open, "(") || open->pair == NULL || !sql_parse_takes_lambda(token->text, (size_t)token->size)) {
        return;
    }
    for (argument = open->next; argument != open->pair && argument->next != NULL;) {
        struct dialect_token *arrow = find_arrow(d, argument);
        struct dialect_token *end = dialect_find(arrow == NULL ? argument : arrow->next, commas);

        if (arrow != NULL && arrow->next != end) {
            enclose(d, arrow->next, end->prev);
        }
        argument = dialect_is(end, ",") ? end->next : open->pair;
    }
}

/* A token with the text of another one. */
static void
repeat(struct dialect *d, struct dialect_token *before, const struct dialect_token *token)
{
    struct dialect_token *made = dialect_add(d, before, token->text, token);

    if (made != NULL) {
        made->size = token->size; /* the text goes on behind it */
    }
}

/* The tokens from..to behind a comma and names, as a lambda and the last argument of a call. second: or NULL */
static void
give_lambda(struct dialect *d, const struct dialect_token *name, const struct dialect_token *second,
            struct dialect_token *from, struct dialect_token *to)
{
    (void)dialect_add(d, from, second == NULL ? "," : ", (", from);
    repeat(d, from, name);
    if (second != NULL) {
        (void)dialect_add(d, from, ",", second);
        repeat(d, from, second);
    }
    (void)dialect_add(d, from, second == NULL ? "->" : ") ->", from);
    enclose(d, from, to);
}

static void
remove_up_to(struct dialect *d, struct dialect_token *from, const struct dialect_token *end)
{
    while (from != end) {
        struct dialect_token *next = from->next;

        dialect_remove(d, from);
        from = next;
    }
}

/* [value FOR x, i IN list IF condition] is list_where(list_transform(list, (x, i) -> value), list_transform(list, (x, i) ->
 * condition)), so that i counts all items. */
static void
put_flags(struct dialect *d, struct dialect_token *open, struct dialect_token *list, struct dialect_token *condition,
          struct dialect_token *const names[2])
{
    static const char *const begin[] = {"list_transform", "(", NULL};
    static const char *const between[] = {")", ",", "list_transform", "(", NULL};
    static const char *const behind[] = {")", "::", "boolean", ",", "false", ")", NULL};
    struct dialect_token *close = open->pair;
    struct dialect_token *value = open->next;
    struct dialect_token *value_end = condition->prev->prev; /* the list stands between */
    struct dialect_token *first;

    (void)dialect_add(d, open, "list_where", open);
    dialect_replace(d, open, "(");
    dialect_replace(d, close, ")");
    dialect_move(d, list, list, value);
    dialect_add_all(d, list, begin, list);
    give_lambda(d, names[0], names[1], value, value_end);
    dialect_add_all(d, condition, between, condition);
    repeat(d, condition, list);
    first = dialect_add(d, condition, "coalesce", condition);
    (void)dialect_add(d, condition, "(", condition);
    (void)dialect_add(d, condition, "(", condition);
    dialect_remove(d, condition);
    dialect_add_all(d, close, behind, close);
    if (first != NULL) {
        give_lambda(d, names[0], names[1], first, close->prev);
    }
    (void)dialect_add(d, close, ")", close);
}

/* [value FOR x IN list IF condition] is list_transform(list_filter(list, x -> (condition)), x -> (value)). false: it is
 * none. */
bool
dialect_comprehension(struct dialect *d, struct dialect_token *open)
{
    static const char *const words[] = {"for", NULL};
    static const char *const conditions[] = {"if", NULL};
    struct dialect_token *close = open->pair;
    struct dialect_token *begins = close == NULL || close == open->next ? NULL : dialect_find(open->next, words);
    struct dialect_token *name;
    struct dialect_token *second = NULL;
    struct dialect_token *in;
    struct dialect_token *condition;
    struct dialect_token *list;
    struct dialect_token *list_end;
    struct dialect_token *value = open->next;
    struct dialect_token *value_end;

    if (begins == NULL || !dialect_is(begins, "for") || begins == open->next || !dialect_is_name(begins->next)) {
        return false;
    }
    name = begins->next;
    if (dialect_is(name->next, ",") && dialect_is_name(name->next->next)) {
        second = name->next->next;
    }
    in = (second == NULL ? name : second)->next;
    if (!dialect_is(in, "in") || dialect_is_end(in->next)) {
        return false;
    }
    condition = dialect_find(in->next, conditions);
    if (condition != close && (!dialect_is(condition, "if") || condition == in->next || condition->next == close)) {
        return false;
    }
    list = in->next;
    list_end = condition->prev;
    value_end = begins->prev;
    if (second != NULL && condition != close && list != list_end) {
        (void)sql_fail(
            d->q, GRANARY_EUNSUPPORTED, condition->at,
            "IF in a list comprehension with places, such as `x, i`, needs a list with a name: give it one in a "
            "subquery");
        return true;
    }
    if (second != NULL && condition != close) {
        remove_up_to(d, begins, list);
        put_flags(d, open, list, condition, (struct dialect_token *const[]){name, second});
        return true;
    }
    (void)dialect_add(d, open, "list_transform", open);
    dialect_replace(d, open, "(");
    dialect_replace(d, close, ")");
    dialect_remove(d, begins);
    dialect_remove(d, name);
    if (second != NULL) {
        dialect_remove(d, second->prev);
        dialect_remove(d, second);
    }
    dialect_remove(d, in);
    if (condition != close) { /* list , x -> ( condition ) */
        struct dialect_token *last = close->prev;
        struct dialect_token *call = dialect_add(d, list, "list_filter", list);
        struct dialect_token *opened = dialect_add(d, list, "(", list);
        struct dialect_token *closed;
        struct dialect_token *from = condition->next;

        dialect_remove(d, condition);
        give_lambda(d, name, second, from, last);
        closed = dialect_add(d, close, ")", close);
        if (call == NULL || opened == NULL || closed == NULL) {
            return true;
        }
        opened->pair = closed;
        closed->pair = opened;
        list = call;
        list_end = closed;
    }
    dialect_move(d, list, list_end, value);
    give_lambda(d, name, second, value, value_end);
    return true;
}

/* ---- COLUMNS(lambda x: ...), COLUMNS([x FOR x IN (*) IF ...]) ---- */

/* A text without wildcards of LIKE. */
static bool
is_plain_text(const struct dialect_token *token)
{
    bool plain = token->is_value && token->text[0] == '\'';

    for (int i = 1; i + 1 < token->size && plain; i++) {
        plain = token->text[i] != '%' && token->text[i] != '_';
    }
    return plain;
}

/* What is asked of a name, from..end, as COLUMNS has it: * LIKE 'a%', or a list of names. false: it cannot say that. */
static bool
ask_of_name(struct dialect *d, struct dialect_token *from, const struct dialect_token *end)
{
    static const char *const matches[] = {"like", "ilike", "similar", "not", NULL};
    struct dialect_token *operator= from->next;
    struct dialect_token *text = operator->next;

    if (dialect_is(operator, "in") && dialect_is(text, "(") && text->pair != NULL && text->pair->next == end) {
        dialect_replace(d, text, "[");
        dialect_replace(d, text->pair, "]");
        dialect_replace(d, from, "array");
        dialect_remove(d, operator);
        return true;
    }
    if (dialect_is_one(operator,(const char *const[]){"=", "==", NULL}) && text->next == end) {
        dialect_replace(d, from, "array[");
        dialect_remove(d, operator);
        return dialect_add(d, text->next, "]", text) != NULL;
    }
    if (dialect_is_one(operator,(const char *const[]){"<>", "!=", NULL}) && text->next == end && is_plain_text(text)) {
        dialect_replace(d, from, "*");
        dialect_replace(d, operator, "not");
        return dialect_add(d, text, "like", text) != NULL;
    }
    if (!dialect_is_one(operator, matches)) {
        return false;
    }
    while (operator!= end &&(operator->is_name || operator->is_value)) {
        operator= operator->next;
    }
    if (operator== end) {
        dialect_replace(d, from, "*");
    }
    return operator== end;
}

/* COLUMNS(lambda x: x LIKE 'a%') is COLUMNS(* LIKE 'a%'), and so is COLUMNS([x FOR x IN (*) IF x LIKE 'a%']). */
void
dialect_columns(struct dialect *d, struct dialect_token *token)
{
    struct dialect_token *open = token->next;
    struct dialect_token *list = open->next == NULL ? NULL : open->next;
    struct dialect_token *name = list == NULL ? NULL : list->next;
    struct dialect_token *star;
    struct dialect_token *behind;

    if (name == NULL || name->next == NULL || !dialect_is(open, "(") || open->pair == NULL) {
        return;
    }
    if (dialect_is_name(list) && dialect_is(name, "->") && dialect_is_name(name->next)) {
        if (ask_of_name(d, name->next, open->pair)) {
            remove_up_to(d, list, name->next);
        }
        return;
    }
    if (!dialect_is_name(name)) {
        return;
    }
    if (dialect_is(list, "lambda") && dialect_is(name->next, ":") && name->next->next->size == name->size) {
        struct dialect_token *rest = name->next->next;

        if (rest->size > 0 && rest->is_name && ask_of_name(d, rest, open->pair)) {
            remove_up_to(d, list, rest);
        }
        return;
    }
    if (!dialect_is(list, "[") || list->pair == NULL || list->pair->next != open->pair ||
        !dialect_is(name->next, "for") || !dialect_is_name(name->next->next) ||
        !dialect_is(name->next->next->next, "in")) {
        return;
    }
    star = name->next->next->next->next;
    behind = dialect_is(star, "(") && star->pair != NULL ? star->pair->next : star->next;
    if (!(dialect_is(star, "*") || (dialect_is(star, "(") && dialect_is(star->next, "*"))) || behind == NULL) {
        return;
    }
    if (behind == list->pair) { /* all of them */
        if (dialect_is(star, "(")) {
            dialect_remove(d, star->pair);
            behind = star->next;
        }
        remove_up_to(d, list, dialect_is(star, "(") ? star->next : star);
        dialect_remove(d, open->pair->prev);
    } else if (dialect_is(behind, "if") && dialect_is_name(behind->next) &&
               (dialect_is(star, "*") || star->next->next == star->pair) && ask_of_name(d, behind->next, list->pair)) {
        remove_up_to(d, list, behind->next);
        dialect_remove(d, open->pair->prev);
    }
}
