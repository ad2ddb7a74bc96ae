/*
 * Functions with a lambda: list_transform(l, x -> x + 1) and its kin. The lambda becomes a text that is computed of each item
 * (graph/expr/check/check_lambda.c). Whatever else it names is an argument of the function.
 */
#include <string.h>
#include <strings.h>

#include "sql/parse/private.h"

static const struct {
    const char *name;
    const char *function;
} functions[] = {
    {"list_transform", "list_transform"}, {"list_apply", "list_transform"}, {"array_transform", "list_transform"},
    {"array_apply", "list_transform"},    {"apply", "list_transform"},      {"list_filter", "list_filter"},
    {"array_filter", "list_filter"},      {"filter", "list_filter"},        {"list_reduce", "list_reduce"},
    {"array_reduce", "list_reduce"},      {"reduce", "list_reduce"},        {"transform", "list_transform"},
};

enum { FUNCTIONS = sizeof functions / sizeof functions[0], ARGUMENTS_MOST = 64 };

/* NULL: there is none. */
static const char *
find_function(const char *name, size_t size)
{
    const char *found = NULL;

    for (size_t i = 0; i < FUNCTIONS && found == NULL; i++) {
        bool same = strlen(functions[i].name) == size && strncasecmp(functions[i].name, name, size) == 0;

        found = same ? functions[i].function : NULL;
    }
    return found;
}

bool
sql_parse_takes_lambda(const char *name, size_t size)
{
    return find_function(name, size) != NULL;
}

struct sql_expr *
sql_parse_item(struct parse *p, const char *name, int position)
{
    for (const struct lambda *lambda = p->lambda; lambda != NULL; lambda = lambda->outer) {
        for (size_t i = 0; i < lambda->count; i++) {
            if (strcmp(lambda->names[i], name) == 0) {
                struct sql_expr *item = sql_parse_new_expr(p, SQL_ITEM, position, lambda->columns[i], 0);

                if (item != NULL) {
                    item->row_place = lambda->depth;
                }
                return item;
            }
        }
    }
    return NULL;
}

/* ---- the lambda ---- */

/* `x -> value` or `(x, i) -> value`, as the dialect has left it. */
static const PgQuery__AExpr *
lambda_of(const PgQuery__Node *node)
{
    const PgQuery__AExpr *expr = node->node_case == PG_QUERY__NODE__NODE_A_EXPR ? node->a_expr : NULL;
    const PgQuery__Node *name = expr == NULL || expr->n_name != 1 ? NULL : expr->name[0];

    return name != NULL && name->node_case == PG_QUERY__NODE__NODE_STRING && strcmp(name->string->sval, "->") == 0
               ? expr
               : NULL;
}

/* A name between `->` and what is before it. */
static bool
read_name(struct parse *p, const PgQuery__Node *from, struct lambda *lambda)
{
    const PgQuery__ColumnRef *ref = from->node_case == PG_QUERY__NODE__NODE_COLUMN_REF ? from->column_ref : NULL;
    const char *name;

    if (ref == NULL || ref->n_fields != 1 || ref->fields[0]->node_case != PG_QUERY__NODE__NODE_STRING) {
        return sql_fail(p->q, GRANARY_EINVAL, parse_place(&from->base),
                        "a lambda's names stand before its `->`, as in (x, i) -> x + i");
    }
    name = parse_copy(p, parse_string(p, TAKE(p, ref, fields)[0]));
    for (size_t i = 0; i < lambda->count && name != NULL; i++) {
        if (strcmp(lambda->names[i], name) == 0) {
            return sql_fail(p->q, GRANARY_EINVAL, ref->location, "a lambda has the name '%s' twice", name);
        }
    }
    lambda->names[lambda->count++] = name;
    return name != NULL;
}

static bool
read_names(struct parse *p, const PgQuery__AExpr *from, const char *function, struct lambda *lambda)
{
    static const char *const items[] = {"x", "i"};
    static const char *const reduced[] = {"y", "x", "i"};
    bool reduces = strcmp(function, "list_reduce") == 0;
    const PgQuery__Node *side = TAKE(p, from, lexpr);
    const PgQuery__RowExpr *row = side->node_case == PG_QUERY__NODE__NODE_ROW_EXPR ? side->row_expr : NULL;
    size_t count = row == NULL ? 1 : row->n_args;
    bool ok = true;

    if (count > (reduces ? 3 : 2) || (reduces && count < 2)) {
        return sql_fail(p->q, GRANARY_EINVAL, from->location, "a lambda of '%s' has %s, not %zu", function,
                        reduces ? "two names or three" : "a name or two", count);
    }
    for (size_t i = 0; i < count && ok; i++) {
        lambda->columns[i] = (reduces ? reduced : items)[i];
        ok = read_name(p, row == NULL ? side : TAKE(p, row, args)[i], lambda);
    }
    if (row != NULL) {
        (void)TAKE(p, row, row_format);
        (void)TAKE(p, row, colnames);
    }
    return ok;
}

/* ---- what it takes from outside ---- */

struct outside {
    struct parse *p;
    size_t depth;
    struct sql_expr *args[ARGUMENTS_MOST];
    size_t count;
};

/* Whether it is computed from a lambda's items, of this one or of one that it is in. */
static bool
has_items(const struct sql_expr *expr)
{
    bool has = expr->kind == SQL_ITEM;

    for (size_t i = 0; i < expr->count && !has && expr->kind != SQL_LAMBDA; i++) { /* another one's are its own */
        has = has_items(expr->args[i]);
    }
    return has;
}

/* An argument, under a name in the lambda. NULL: the statement has failed. */
static struct sql_expr *
take_argument(struct outside *outside, struct sql_expr *expr)
{
    struct parse *p = outside->p;
    struct sql_expr *item;

    if (outside->count == ARGUMENTS_MOST) {
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, expr->position, "a lambda takes at most %d values from outside",
                       (int)ARGUMENTS_MOST);
        return NULL;
    }
    outside->args[outside->count++] = expr;
    item = sql_parse_new_expr(p, SQL_ITEM, expr->position, sql_printf(p->q, "a%zu", outside->count), 0);
    if (item != NULL) {
        item->row_place = outside->depth;
    }
    return item;
}

static bool
is_from_outside(const struct outside *outside, const struct sql_expr *expr)
{
    switch (expr->kind) {
    case SQL_COLUMN:
    case SQL_STAR:
        return true;
    case SQL_ITEM:
        return expr->row_place != outside->depth;
    case SQL_AGGREGATE:
    case SQL_SUBQUERY:
        return !has_items(expr);
    default:
        return false;
    }
}

/* Columns, aggregates and the like become arguments. false: the statement has failed. */
static bool
take_outside(struct outside *outside, struct sql_expr **slot)
{
    struct sql_expr *expr = *slot;
    bool ok = true;

    if (is_from_outside(outside, expr)) {
        *slot = take_argument(outside, expr);
        return *slot != NULL;
    }
    if (expr->kind == SQL_AGGREGATE || expr->kind == SQL_SUBQUERY) {
        return sql_fail(outside->p->q, GRANARY_EUNSUPPORTED, expr->position,
                        "a lambda's names are not supported in aggregates and subqueries");
    }
    for (size_t i = 0; i < expr->count && ok && expr->kind != SQL_LAMBDA; i++) {
        ok = take_outside(outside, &expr->args[i]);
    }
    return ok;
}

/* ---- the call ---- */

static struct sql_expr *
parse_body(struct parse *p, const PgQuery__AExpr *from, const char *function, struct outside *outside)
{
    struct lambda lambda = {.outer = p->lambda, .depth = p->lambda == NULL ? 1 : p->lambda->depth + 1};
    struct sql_expr *body = NULL;

    (void)parse_last(p, TAKE(p, from, name), from->n_name);
    (void)TAKE(p, from, kind);
    *outside = (struct outside){.p = p, .depth = lambda.depth};
    if (read_names(p, from, function, &lambda)) {
        p->lambda = &lambda;
        body = parse_expr(p, TAKE(p, from, rexpr));
        p->lambda = lambda.outer;
    }
    return body == NULL || !take_outside(outside, &body)
               ? NULL
               : sql_parse_new_call(p, SQL_LAMBDA, from->location, "", body, NULL);
}

/* list_transform(l, lambda, outside ...); list_fold(l, first, lambda, outside ...) */
static struct sql_expr *
make_call(struct parse *p, const PgQuery__FuncCall *call, const char *function, const PgQuery__AExpr *lambda)
{
    PgQuery__Node *const *args = TAKE(p, call, args);
    bool fold = call->n_args == 3;
    size_t first = fold ? 3 : 2;
    struct outside *outside = SQL_NEW(p->q, struct outside);
    struct sql_expr *list = parse_expr(p, args[0]);
    struct sql_expr *begin = list != NULL && fold ? parse_expr(p, args[2]) : NULL;
    struct sql_expr *body =
        list == NULL || outside == NULL || (fold && begin == NULL) ? NULL : parse_body(p, lambda, function, outside);
    struct sql_expr *made = body == NULL ? NULL
                                         : sql_parse_new_expr(p, SQL_FUNCTION, call->location,
                                                              fold ? "list_fold" : function, first + outside->count);

    if (made == NULL) {
        return NULL;
    }
    made->args[0] = list;
    made->args[first - 1] = body;
    if (fold) {
        made->args[1] = begin;
    }
    for (size_t i = 0; i < outside->count; i++) {
        made->args[first + i] = outside->args[i];
    }
    made->written = parse_copy(p, parse_last(p, TAKE(p, call, funcname), call->n_funcname));
    return made;
}

bool
sql_parse_lambda(struct parse *p, const PgQuery__FuncCall *call, const char *name, struct sql_expr **ret_expr)
{
    const char *function = find_function(name, strlen(name));
    bool reduces = function != NULL && strcmp(function, "list_reduce") == 0;
    const PgQuery__AExpr *lambda;

    *ret_expr = NULL;
    if (function == NULL || call->over != NULL) {
        return false;
    }
    if (call->n_args < 2 || call->n_args > (reduces ? 3 : 2)) {
        (void)sql_fail(p->q, GRANARY_EINVAL, call->location, "'%s' takes a list and a lambda%s", name,
                       reduces ? ", and perhaps a first value" : "");
        return true;
    }
    lambda = lambda_of(call->args[1]);
    if (lambda == NULL) {
        (void)sql_fail(p->q, GRANARY_EINVAL, call->location,
                       "the second argument of '%s' is a lambda, such as x -> x + 1", name);
        return true;
    }
    *ret_expr = make_call(p, call, function, lambda);
    return true;
}
