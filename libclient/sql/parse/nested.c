/*
 * Lists of lists as they are written: [[1, 2], [3]]. Columns have none. So functions that take one are written as others
 * before anything is checked: of the lists one behind another, or of their keys, which are equal and in order as lists are.
 */
#include <stdlib.h>
#include <string.h>

#include "sql/parse/functions/composed.h"

/* ---- what is one ---- */

static bool
is_call(const struct sql_expr *expr, const char *name)
{
    return expr->kind == SQL_FUNCTION && strcmp(expr->text, name) == 0;
}

static bool
is_null(const struct sql_expr *expr)
{
    return expr->kind == SQL_LITERAL && strcmp(expr->text, "null") == 0;
}

static bool
all_null(const struct sql_expr *list)
{
    bool null = true;

    for (size_t i = 0; i < list->count; i++) {
        null = null && is_null(list->args[i]);
    }
    return null;
}

/* [] as parse_array() has it. */
static bool
is_empty(const struct sql_expr *expr)
{
    return is_call(expr, "list_distinct") && is_call(expr->args[0], "list_value") && all_null(expr->args[0]);
}

static bool
is_written(const struct sql_expr *expr)
{
    return is_call(expr, "list_value") || is_empty(expr) ||
           (expr->kind == SQL_CAST && strncmp(expr->text, "list(", 5) == 0);
}

bool
nested_is(const struct sql_expr *expr)
{
    bool lists = is_call(expr, "list_value") && !all_null(expr);

    for (size_t i = 0; lists && i < expr->count; i++) {
        lists = is_written(expr->args[i]) || is_null(expr->args[i]);
    }
    return lists;
}

/* Whether a tree may become one, so that its parts are parsed once. */
static bool
may_be(const PgQuery__Node *from)
{
    PgQuery__Node *const *items = NULL;
    size_t count = 0;

    switch (from->node_case) {
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
        items = from->a_array_expr->elements;
        count = from->a_array_expr->n_elements;
        break;
    case PG_QUERY__NODE__NODE_FUNC_CALL:
        items = from->func_call->args;
        count = from->func_call->n_args;
        if (from->func_call->n_funcname == 1 && strcmp(from->func_call->funcname[0]->string->sval, "flatten") == 0) {
            return true;
        }
        break;
    case PG_QUERY__NODE__NODE_TYPE_CAST:
        return from->type_cast->type_name->n_array_bounds > 1;
    default:
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (items[i]->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR ||
            items[i]->node_case == PG_QUERY__NODE__NODE_FUNC_CALL ||
            (items[i]->node_case == PG_QUERY__NODE__NODE_TYPE_CAST &&
             items[i]->type_cast->type_name->n_array_bounds > 0)) {
            return true;
        }
    }
    return false;
}

/* ---- keys ---- */

/* What the innermost values are: by a cast, whole numbers or texts. "": of several kinds, or unknown; NULL: there are none. */
static const char *
leaves(const struct sql_expr *expr)
{
    const char *found = NULL;

    if (expr->kind == SQL_CAST) {
        return expr->text;
    }
    if (expr->kind == SQL_LITERAL) {
        return is_null(expr)                                             ? NULL
               : expr->text[0] == '\''                                   ? "'"
               : expr->text[strspn(expr->text, "(-0123456789)")] == '\0' ? "1"
                                                                         : "";
    }
    if (!is_written(expr)) {
        return "";
    }
    for (size_t i = 0; i < expr->count; i++) {
        const char *one = leaves(expr->args[i]);

        found = found == NULL ? one : one == NULL || strcmp(found, one) == 0 ? found : "";
    }
    return found;
}

/* Keys tell lists apart that have one type. */
static bool
check_leaves(const struct call *c, const struct sql_expr *a, const struct sql_expr *b)
{
    const char *first = leaves(a);
    const char *second = b == NULL ? NULL : leaves(b);
    bool known = (first == NULL || first[0] != '\0') && (second == NULL || second[0] != '\0');

    return (known && (first == NULL || second == NULL || strcmp(first, second) == 0)) ||
           sql_fail(c->p->q, GRANARY_EUNSUPPORTED, a->position,
                    "lists of lists are constants of one type here: whole numbers, texts, or lists that are cast");
}

static struct sql_expr *
key_of(const struct call *c, struct sql_expr *expr)
{
    struct sql_expr *keys;

    if (is_null(expr)) {
        return expr;
    }
    keys = nested_is(expr) ? composed_call(c, SQL_FUNCTION, "list_value", expr->args, expr->count) : expr;
    for (size_t i = 0; keys != NULL && keys != expr && i < expr->count; i++) {
        keys->args[i] = key_of(c, expr->args[i]);
        keys = keys->args[i] == NULL ? NULL : keys;
    }
    return CALL(c, SQL_FUNCTION, "list_key", keys);
}

/* The list of the items' keys. */
static struct sql_expr *
keys_of(const struct call *c, struct sql_expr *nested)
{
    struct sql_expr *key = key_of(c, nested);

    return key == NULL ? NULL : key->args[0];
}

/* The list that a key of an item stands for. */
static struct sql_expr *
item_of(const struct call *c, const struct sql_expr *nested, struct sql_expr *key)
{
    struct sql_expr *like = NULL;

    for (size_t i = 0; i < nested->count; i++) {
        struct sql_expr *item = nested->args[i];

        if (nested_is(item)) {
            return sql_parse_refuse(c->p, nested->position, "a list of lists as a value is");
        }
        like = is_null(item) || (like != NULL && (is_empty(item) || all_null(item))) ? like : item;
    }
    return CALL(c, SQL_FUNCTION, "list_from_key", key, like);
}

/* ---- functions ---- */

static struct sql_expr *
empty_list(const struct call *c)
{
    return CALL(c, SQL_FUNCTION, "list_distinct", CALL(c, SQL_FUNCTION, "list_value", composed_literal(c, "null")));
}

/* The lists one behind another: of lists as they are written their items, else list_concat(). */
static struct sql_expr *
flatten(const struct call *c, const struct sql_expr *nested)
{
    struct sql_expr *made;
    size_t count = 0;
    bool plain = true;

    for (size_t i = 0; i < nested->count; i++) {
        const struct sql_expr *list = nested->args[i];

        plain = plain && list->kind != SQL_CAST;
        count += is_call(list, "list_value") ? list->count : 0;
    }
    if (plain && count == 0) {
        return empty_list(c);
    }
    made = sql_parse_new_expr(c->p, SQL_FUNCTION, c->position, plain ? "list_value" : "list_concat",
                              plain ? count : nested->count);
    if (made == NULL) {
        return NULL;
    }
    made->count = 0;
    for (size_t i = 0; i < nested->count; i++) {
        struct sql_expr *list = nested->args[i];

        for (size_t k = 0; plain && is_call(list, "list_value") && k < list->count; k++) {
            made->args[made->count++] = list->args[k];
        }
        if (!plain && !is_null(list)) {
            made->args[made->count++] = list;
        }
    }
    return made;
}

static struct sql_expr *
parse_flatten(const struct call *c)
{
    struct sql_expr *list = c->count == 1 ? c->args[0] : NULL;

    if (list != NULL && is_null(list)) {
        return list;
    }
    if (list != NULL && (nested_is(list) || (is_call(list, "list_value") && all_null(list)))) {
        return flatten(c, list);
    }
    (void)sql_fail(c->p->q, GRANARY_EUNSUPPORTED, c->position,
                   "'flatten' takes lists of lists as they are written: [[1, 2], [3]]");
    return NULL;
}

/* unnest(l, recursive := true), unnest(l, max_depth := 2): how many levels; -1: the statement has failed. */
static int
levels_of(struct parse *p, const PgQuery__FuncCall *call, PgQuery__Node *const *args)
{
    int levels = 1;
    bool all = false;

    for (size_t i = 1; i < call->n_args; i++) {
        const PgQuery__NamedArgExpr *named =
            args[i]->node_case == PG_QUERY__NODE__NODE_NAMED_ARG_EXPR ? args[i]->named_arg_expr : NULL;
        const char *name = named == NULL ? "" : TAKE(p, named, name);
        const struct sql_expr *value = named == NULL ? NULL : parse_expr(p, TAKE(p, named, arg));
        bool number = value != NULL && value->kind == SQL_LITERAL &&
                      strspn(value->text, "0123456789") == strlen(value->text) && strlen(value->text) < 9;

        if (named != NULL) {
            parse_take(p, &named->argnumber);
        }
        if (strcmp(name, "recursive") == 0 && value != NULL &&
            (strcmp(value->text, "true") == 0 || strcmp(value->text, "false") == 0)) {
            all = value->text[0] == 't';
        } else if (strcmp(name, "max_depth") == 0 && number && strtol(value->text, NULL, 10) > 0) {
            levels = (int)strtol(value->text, NULL, 10);
        } else {
            (void)sql_fail(p->q, GRANARY_EINVAL, call->location,
                           "unnest() takes a list, and recursive := true or max_depth := 2 behind it");
            return -1;
        }
    }
    return all ? SQL_NESTING : levels;
}

/* The items are lists, unless so many levels are taken apart that they are none. */
static struct sql_expr *
parse_unnest(const struct call *c, int levels)
{
    struct sql_expr *list = c->args[0];
    struct sql_expr *expr;
    bool deep = false;

    for (int i = 1; i < levels && list != NULL && nested_is(list); i++) {
        list = flatten(c, list);
        deep = true;
    }
    if (list == NULL || !nested_is(list)) {
        list = list == NULL ? NULL : sql_parse_null_list(c->p, list);
        expr = CALL(c, SQL_FUNCTION, SQL_UNNEST, list);
    } else {
        expr = check_leaves(c, list, NULL) ? CALL(c, SQL_FUNCTION, SQL_UNNEST, keys_of(c, list)) : NULL;
    }
    if (expr == NULL) {
        return NULL;
    }
    expr->negated = deep; /* it stands alone */
    expr->written = SQL_UNNEST;
    return !nested_is(list) ? expr : item_of(c, list, expr);
}

static struct sql_expr *
parse_find(const struct call *c, const char *becomes)
{
    struct sql_expr *list = c->args[0];
    struct sql_expr *item = c->args[1];

    if (nested_is(list) || nested_is(item)) {
        if (!check_leaves(c, list, item)) {
            return NULL;
        }
        list = keys_of(c, list);
        item = key_of(c, item);
    }
    return list == NULL || item == NULL            ? NULL
           : strcmp(becomes, "list_contains") == 0 ? CALL(c, SQL_FUNCTION, becomes, list, item)
                                                   : sql_parse_form_of_two(c->p, becomes, c->position, list, item);
}

/* How many items there are; of the second level those of the first one. */
static struct sql_expr *
parse_length(const struct call *c)
{
    struct sql_expr *list = c->args[0];
    const char *level = c->count == 2 && c->args[1]->kind == SQL_LITERAL ? c->args[1]->text : c->count == 1 ? "1" : "";

    if (!nested_is(list)) {
        return c->count == 1 ? CALL(c, SQL_FUNCTION, "list_length", list)
                             : sql_parse_form_of_two(c->p, "array_length", c->position, list, c->args[1]);
    }
    if (strcmp(level, "1") == 0) {
        return composed_literal(c, sql_printf(c->p->q, "%zu", list->count));
    }
    if (strcmp(level, "2") == 0) {
        return nested_is(list->args[0]) ? composed_literal(c, sql_printf(c->p->q, "%zu", list->args[0]->count))
                                        : CALL(c, SQL_FUNCTION, "list_length", list->args[0]);
    }
    return sql_parse_refuse(c->p, c->position, "a level other than 1 and 2 of a list of lists is");
}

static const char *const finding[] = {"list_contains", "list_has", "array_contains", "array_has", NULL};
static const char *const placing[] = {"list_position", "array_position", "list_indexof", "array_indexof", NULL};
static const char *const counting[] = {"len", "array_length", "list_length", "cardinality", NULL};

bool
sql_parse_nested(struct parse *p, const PgQuery__FuncCall *from, const char *name, struct sql_expr **ret_expr)
{
    bool finds = sql_parse_is_one_of(name, finding) && from->n_args == 2;
    bool places = sql_parse_is_one_of(name, placing) && from->n_args == 2;
    bool counts = sql_parse_is_one_of(name, counting) && (from->n_args == 1 || from->n_args == 2);
    bool flattens = strcmp(name, "flatten") == 0;
    bool unnests = strcmp(name, SQL_UNNEST) == 0 && from->n_args > 0;
    struct call call = {.p = p, .from = from, .position = from->location, .count = from->n_args};
    PgQuery__Node *const *args;
    int levels;

    if (from->over != NULL || (!flattens && !unnests && !((finds || places || counts) && may_be(from->args[0])))) {
        return false;
    }
    *ret_expr = NULL;
    args = TAKE(p, from, args);
    levels = unnests ? levels_of(p, from, args) : 1;
    call.args = levels < 0 ? NULL : parse_exprs(p, args, unnests ? 1 : from->n_args);
    if (call.args != NULL) {
        *ret_expr = flattens  ? parse_flatten(&call)
                    : unnests ? parse_unnest(&call, levels)
                    : counts  ? parse_length(&call)
                              : parse_find(&call, finds ? "list_contains" : "list_position");
    }
    if (*ret_expr != NULL && (*ret_expr)->written == NULL) {
        (*ret_expr)->written = parse_copy(p, name); /* what SELECT calls it */
    }
    return true;
}

/* ---- casts, and items ---- */

/* A list of lists as it is printed. */
static struct sql_expr *
text_of(const struct call *c, struct sql_expr *list)
{
    struct sql_expr *texts;

    if (!nested_is(list)) {
        return CALL(c, SQL_CAST, "string", list);
    }
    texts = composed_call(c, SQL_FUNCTION, "list_value", list->args, list->count);
    for (size_t i = 0; texts != NULL && i < list->count; i++) {
        texts->args[i] = is_null(list->args[i]) ? composed_literal(c, "'NULL'") : text_of(c, list->args[i]);
        texts = texts->args[i] == NULL ? NULL : texts;
    }
    return CALL(c, SQL_FUNCTION, "concat", composed_literal(c, "'['"),
                CALL(c, SQL_FUNCTION, "list_join", texts, composed_literal(c, "', '")), composed_literal(c, "']'"));
}

struct sql_expr *
nested_cast(struct parse *p, struct sql_expr *list, const char *item, size_t levels, int position)
{
    struct call c = {.p = p, .position = position};
    struct sql_expr *made;

    if (levels == 0 && strcmp(item, "string") == 0) {
        return text_of(&c, list);
    }
    if (levels == 0 || (levels == 1 && strcmp(item, "string") != 0)) {
        (void)sql_fail(p->q, GRANARY_ETYPE, position,
                       "a list of lists is cast to text, to a list of texts or to one of its depth");
        return NULL;
    }
    made = composed_call(&c, SQL_FUNCTION, "list_value", list->args, list->count);
    for (size_t i = 0; made != NULL && i < list->count; i++) {
        struct sql_expr *one = list->args[i];

        made->args[i] = is_null(one)     ? one
                        : nested_is(one) ? nested_cast(p, one, item, levels - 1, position)
                        : levels == 1    ? text_of(&c, one)
                        : levels == 2    ? CALL(&c, SQL_CAST, sql_printf(p->q, "list(%s)", item), one)
                                         : sql_parse_refuse(p, position, "a cast to a list of more levels is");
        made = made->args[i] == NULL ? NULL : made;
    }
    return made;
}

struct sql_expr *
nested_item(struct parse *p, struct sql_expr *list, struct sql_expr *place)
{
    const struct call c = {.p = p, .position = list->position};
    size_t which = place->kind == SQL_LITERAL && strlen(place->text) < 9 &&
                           strspn(place->text, "0123456789") == strlen(place->text)
                       ? (size_t)strtol(place->text, NULL, 10)
                       : 0;

    if (which > 0 && which <= list->count) {
        return list->args[which - 1];
    }
    return !check_leaves(&c, list, NULL)
               ? NULL
               : item_of(&c, list, CALL(&c, SQL_FUNCTION, "list_extract", keys_of(&c, list), place));
}
