/* Expressions. What SQL writes in its own way becomes what expressions have (graph/expr.h). */
#include <stdlib.h>
#include <string.h>

#include "sql/parse/private.h"

struct sql_expr *
sql_parse_new_expr(struct parse *p, enum sql_kind kind, int position, const char *text, size_t count)
{
    struct sql_expr *expr = SQL_NEW(p->q, struct sql_expr);

    if (expr == NULL || text == NULL) {
        return NULL;
    }
    expr->kind = kind;
    expr->position = position;
    expr->text = text;
    expr->count = count;
    expr->args = SQL_ARRAY(p->q, struct sql_expr *, count);
    return expr->args == NULL ? NULL : expr;
}

/* With these arguments; NULL when one is. */
struct sql_expr *
sql_parse_new_call(struct parse *p, enum sql_kind kind, int position, const char *text, struct sql_expr *a,
                   struct sql_expr *b)
{
    struct sql_expr *expr = a == NULL ? NULL : sql_parse_new_expr(p, kind, position, text, b == NULL ? 1 : 2);

    if (expr != NULL) {
        expr->args[0] = a;
        if (b != NULL) {
            expr->args[1] = b;
        }
    }
    return expr;
}

struct sql_expr *
sql_parse_new_negation(struct parse *p, struct sql_expr *expr)
{
    return expr == NULL ? NULL : sql_parse_new_call(p, SQL_PREFIX, expr->position, "not", expr, NULL);
}

struct sql_expr **
parse_exprs(struct parse *p, PgQuery__Node *const *from, size_t count)
{
    struct sql_expr **exprs = SQL_ARRAY(p->q, struct sql_expr *, count);

    for (size_t i = 0; i < count && exprs != NULL; i++) {
        exprs[i] = parse_expr(p, from[i]);
        if (exprs[i] == NULL) {
            return NULL;
        }
    }
    return exprs;
}

struct sql_expr *
sql_parse_refuse(struct parse *p, int position, const char *what)
{
    (void)parse_unsupported(p, position, what);
    return NULL;
}

/* ---- subqueries and names ---- */

static struct sql_expr *
parse_subquery(struct parse *p, const PgQuery__SubLink *link)
{
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_SUBQUERY, link->location, "", 0);
    PgQuery__Node *const test = TAKE(p, link, testexpr);
    const PgQuery__Node *query = TAKE(p, link, subselect);
    bool all = link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK;
    const struct lambda *lambda = p->lambda;

    if (expr == NULL) {
        return NULL;
    }
    switch (TAKE(p, link, sub_link_type)) {
    case PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK:
        expr->subquery = SQL_EXISTS;
        break;
    case PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK:
    case PG_QUERY__SUB_LINK_TYPE__ARRAY_SUBLINK:
        expr->subquery = SQL_SCALAR;
        break;
    case PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK:
    case PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK:
        expr->subquery = SQL_ANY;
        if (link->n_oper_name > 0) {
            expr->text = sql_parse_comparison(parse_string(p, TAKE(p, link, oper_name)[0]), all);
        }
        if (expr->text == NULL) {
            return sql_parse_refuse(p, link->location, "ANY or ALL with another operator than a comparison is");
        }
        if (test->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
            expr->count = test->row_expr->n_args;
            expr->args = parse_exprs(p, TAKE(p, test->row_expr, args), test->row_expr->n_args);
        } else {
            expr->count = 1;
            expr->args = parse_exprs(p, &test, 1);
        }
        break;
    default:
        return sql_parse_refuse(p, link->location, "this form of a subquery is");
    }
    p->lambda = NULL; /* its names mean nothing there */
    expr->select = expr->args == NULL || query->node_case != PG_QUERY__NODE__NODE_SELECT_STMT
                       ? NULL
                       : parse_select(p, query->select_stmt);
    p->lambda = lambda;
    if (expr->select == NULL) {
        return NULL;
    }
    if (expr->select->sample != NULL) { /* its rows are drawn before anything is asked of them */
        struct sql_from *drawn = SQL_NEW(p->q, struct sql_from);

        if (drawn == NULL) {
            return NULL;
        }
        *drawn = (struct sql_from){.kind = SQL_FROM_SELECT, .position = expr->select->position, .select = expr->select};
        expr->select = parse_select_all(p, drawn);
        if (expr->select == NULL) {
            return NULL;
        }
    }
    if (link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ARRAY_SUBLINK) {
        return parse_listed(p, expr);
    }
    return all ? sql_parse_new_negation(p, expr) : expr; /* all are so: none is the opposite */
}

static struct sql_expr *
parse_column(struct parse *p, const PgQuery__ColumnRef *ref)
{
    PgQuery__Node *const *fields = TAKE(p, ref, fields);
    const PgQuery__Node *last = fields[ref->n_fields - 1];
    bool star = last->node_case == PG_QUERY__NODE__NODE_A_STAR;
    struct sql_expr *expr = star || ref->n_fields > 1 ? NULL : sql_parse_item(p, parse_string(p, last), ref->location);

    if (expr != NULL) {
        return expr;
    }
    expr = sql_parse_new_expr(p, star ? SQL_STAR : SQL_COLUMN, ref->location,
                              star ? "*" : parse_copy(p, parse_string(p, last)), 0);
    if (expr != NULL && parse_is_noted(p, ref->location, NOTED_PLACE)) {
        expr->row_place = strtoul(expr->text + 1, NULL, 10);
    }
    for (size_t i = 0; expr != NULL && i + 1 < ref->n_fields; i++) {
        const char *part = parse_string(p, fields[i]);

        expr->table = i == 0 ? parse_copy(p, part) : sql_printf(p->q, "%s.%s", expr->table, part);
    }
    return expr;
}

/* ---- lists ---- */

/* ARRAY[...] */
static struct sql_expr *
parse_array(struct parse *p, const PgQuery__AArrayExpr *from)
{
    PgQuery__Node *const *elements = TAKE(p, from, elements);

    return from->n_elements > 0
               ? sql_parse_arguments(p, "list_value", elements, from->n_elements, from->location)
               : sql_parse_new_call(p, SQL_FUNCTION, from->location, "list_distinct",
                                    sql_parse_new_call(p, SQL_FUNCTION, from->location, "list_value",
                                                       sql_parse_new_expr(p, SQL_LITERAL, from->location, "null", 0),
                                                       NULL),
                                    NULL);
}

/* An end of a slice; without one: null. */
static struct sql_expr *
parse_end(struct parse *p, const PgQuery__Node *from, int position)
{
    return from == NULL ? sql_parse_new_expr(p, SQL_LITERAL, position, "null", 0) : parse_expr(p, from);
}

/* An end that is written, and no number. */
static bool
end_may_be_null(const PgQuery__Node *from, const struct sql_expr *end)
{
    return from != NULL && (end->kind != SQL_LITERAL || strcmp(end->text, "null") == 0);
}

/* CASE WHEN end IS NULL THEN NULL ELSE expr END */
static struct sql_expr *
null_of_null(struct parse *p, struct sql_expr *end, struct sql_expr *expr)
{
    struct sql_expr *made = sql_parse_new_expr(p, SQL_CASE, expr->position, "", 3);

    if (made == NULL) {
        return NULL;
    }
    made->args[0] = sql_parse_new_call(p, SQL_POSTFIX, expr->position, "is null", end, NULL);
    made->args[1] = sql_parse_new_expr(p, SQL_LITERAL, expr->position, "null", 0);
    made->args[2] = expr;
    return made->args[0] == NULL || made->args[1] == NULL ? NULL : made;
}

/* l[1], l[2:3], and one of them behind another. */
static struct sql_expr *
parse_indirection(struct parse *p, const PgQuery__AIndirection *from)
{
    struct sql_expr *expr = parse_expr(p, TAKE(p, from, arg));
    PgQuery__Node *const *parts = TAKE(p, from, indirection);

    for (size_t i = 0; i < from->n_indirection && expr != NULL; i++) {
        const PgQuery__AIndices *at =
            parts[i]->node_case == PG_QUERY__NODE__NODE_A_INDICES ? parts[i]->a_indices : NULL;
        int position = expr->position;

        if (at == NULL) {
            return sql_parse_refuse(p, position, "a field of a value is");
        }
        if (TAKE(p, at, is_slice)) {
            struct sql_expr *slice = sql_parse_new_expr(p, SQL_FUNCTION, position, "list_slice", 3);

            if (slice != NULL) {
                slice->args[0] = expr;
                slice->args[1] = parse_end(p, TAKE(p, at, lidx), position);
                slice->args[2] = parse_end(p, TAKE(p, at, uidx), position);
            }
            expr = slice == NULL || slice->args[1] == NULL || slice->args[2] == NULL ? NULL : slice;
            for (int end = 1; end <= 2 && expr != NULL; end++) {
                expr = end_may_be_null(end == 1 ? at->lidx : at->uidx, slice->args[end])
                           ? null_of_null(p, slice->args[end], expr)
                           : expr;
            }
        } else {
            struct sql_expr *place = parse_expr(p, TAKE(p, at, uidx));

            expr = place == NULL     ? NULL
                   : nested_is(expr) ? nested_item(p, expr, place)
                                     : sql_parse_new_call(p, SQL_FUNCTION, position, "list_extract", expr, place);
        }
    }
    return expr;
}

static struct sql_expr *
parse_node(struct parse *p, const PgQuery__Node *from)
{
    switch (from->node_case) {
    case PG_QUERY__NODE__NODE_A_CONST:
        return sql_parse_constant(p, from->a_const);
    case PG_QUERY__NODE__NODE_COLUMN_REF:
        return parse_column(p, from->column_ref);
    case PG_QUERY__NODE__NODE_A_EXPR:
        return sql_parse_a_expr(p, from->a_expr);
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
        return sql_parse_bool(p, from->bool_expr);
    case PG_QUERY__NODE__NODE_FUNC_CALL:
        return sql_parse_function(p, from->func_call);
    case PG_QUERY__NODE__NODE_TYPE_CAST:
        return sql_parse_cast(p, from->type_cast);
    case PG_QUERY__NODE__NODE_CASE_EXPR:
        return sql_parse_case(p, from->case_expr);
    case PG_QUERY__NODE__NODE_SUB_LINK:
        return parse_subquery(p, from->sub_link);
    case PG_QUERY__NODE__NODE_NULL_TEST:
        return sql_parse_new_call(
            p, SQL_POSTFIX, from->null_test->location,
            TAKE(p, from->null_test, nulltesttype) == PG_QUERY__NULL_TEST_TYPE__IS_NULL ? "is null" : "is not null",
            parse_expr(p, TAKE(p, from->null_test, arg)), NULL);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST:
        return sql_parse_truth(p, from->boolean_test);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR:
        return sql_parse_arguments(p, "coalesce", TAKE(p, from->coalesce_expr, args), from->coalesce_expr->n_args,
                                   from->coalesce_expr->location);
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
        return sql_parse_arguments(
            p, TAKE(p, from->min_max_expr, op) == PG_QUERY__MIN_MAX_OP__IS_GREATEST ? "greatest" : "least",
            TAKE(p, from->min_max_expr, args), from->min_max_expr->n_args, from->min_max_expr->location);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
        return sql_parse_sql_value(p, from->sqlvalue_function);
    case PG_QUERY__NODE__NODE_GROUPING_FUNC:
        return sql_parse_grouping(p, TAKE(p, from->grouping_func, args), from->grouping_func->n_args,
                                  from->grouping_func->location);
    case PG_QUERY__NODE__NODE_PARAM_REF:
        return sql_parse_refuse(p, from->param_ref->location, "a parameter ($1) is");
    case PG_QUERY__NODE__NODE_GROUPING_SET:
        return sql_parse_refuse(p, from->grouping_set->location, "ROLLUP, CUBE or GROUPING SETS is");
    case PG_QUERY__NODE__NODE_ROW_EXPR:
        return sql_parse_refuse(p, from->row_expr->location, "a row of values is");
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
        return parse_array(p, from->a_array_expr);
    case PG_QUERY__NODE__NODE_A_INDIRECTION:
        return parse_indirection(p, from->a_indirection);
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE:
        return parse_collate(p, from->collate_clause);
    default:
        return sql_parse_refuse(p, parse_place(&from->base), "an expression of this form is");
    }
}

struct sql_expr *
parse_expr(struct parse *p, const PgQuery__Node *from)
{
    struct sql_expr *expr = NULL;

    if (from == NULL) {
        return sql_parse_refuse(p, -1, "an empty expression is");
    }
    if (p->depth >= SQL_NESTING) {
        (void)sql_fail(p->q, GRANARY_EINVAL, parse_place(&from->base), "expressions and queries nest more than %d deep",
                       SQL_NESTING);
        return NULL;
    }
    p->depth++;
    expr = parse_settle(p, parse_node(p, from));
    p->depth--;
    return expr;
}

struct sql_expr *
parse_condition(struct parse *p, const PgQuery__Node *from)
{
    struct sql_expr *expr = parse_expr(p, from);
    bool computed =
        expr != NULL && (expr->kind == SQL_LITERAL || expr->kind == SQL_COLUMN || expr->kind == SQL_AGGREGATE ||
                         (expr->kind == SQL_SUBQUERY && expr->subquery == SQL_SCALAR) ||
                         (expr->kind == SQL_PREFIX && expr->text[0] == '-') ||
                         (expr->kind == SQL_INFIX && strchr("+-*/", expr->text[0]) != NULL));

    return computed ? sql_parse_new_call(p, SQL_CAST, expr->position, "bool", expr, NULL) : expr;
}
