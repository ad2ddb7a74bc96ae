/* LIMIT, OFFSET and FETCH: whole numbers, expressions of numbers as written and of subqueries, and parts of a hundred. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sql/parse/private.h"

/* Whole numbers up to there are exact. */
#define EXACT_MAX 9007199254740992.0

/* A number or a text of one as written, perhaps in brackets. */
static bool
literal_value(const struct sql_expr *expr, double *ret_value)
{
    const char *text = expr->text + strspn(expr->text, "('");
    char *end;

    *ret_value = strtod(text, &end);
    return end != text && strspn(text, "+-.0123456789eE") == (size_t)(end - text) && end[strspn(end, ")'")] == '\0';
}

/* What an expression of numbers gives. false: it is another one. */
static bool
value_of(const struct sql_expr *expr, double *ret_value)
{
    double a = 0;
    double b = 0;

    if (expr->kind == SQL_LITERAL) {
        return literal_value(expr, ret_value);
    }
    if (expr->count < 1 || expr->count > 2 || !value_of(expr->args[0], &a) ||
        (expr->count == 2 && !value_of(expr->args[1], &b))) {
        return false;
    }
    if (expr->kind == SQL_CAST && (strstr(expr->text, "int") != NULL || strstr(expr->text, "float") != NULL)) {
        *ret_value = expr->text[0] == 'f' ? a : rint(a);
    } else if (expr->kind == SQL_PREFIX && expr->text[0] == '-') {
        *ret_value = -a;
    } else if (expr->kind == SQL_INFIX && strchr("+-*", expr->text[0]) != NULL && expr->text[1] == '\0') {
        *ret_value = expr->text[0] == '+' ? a + b : expr->text[0] == '-' ? a - b : a * b;
    } else if (expr->kind == SQL_INFIX && strcmp(expr->text, "/") == 0 && b != 0) {
        *ret_value = a / b;
    } else if (expr->kind == SQL_FUNCTION && strcmp(expr->text, "quotient") == 0 && b != 0) {
        *ret_value = trunc(a / b);
    } else if (expr->kind == SQL_FUNCTION && strcmp(expr->text, "remainder") == 0 && b != 0) {
        *ret_value = fmod(a, b);
    } else {
        return false;
    }
    return fabs(*ret_value) <= EXACT_MAX;
}

/* A whole number that is no expression. */
static bool
parse_count(struct parse *p, const PgQuery__Node *from, const char *what, int64_t absent, int64_t *ret_count)
{
    const PgQuery__AConst *value;

    *ret_count = absent;
    if (from == NULL) {
        return true;
    }
    value = from->node_case == PG_QUERY__NODE__NODE_A_CONST ? from->a_const : NULL;
    if (value != NULL && TAKE(p, value, isnull)) { /* LIMIT ALL */
        return true;
    }
    if (value != NULL && value->val_case == PG_QUERY__A__CONST__VAL_IVAL && TAKE(p, value->ival, ival) >= 0) {
        *ret_count = TAKE(p, value->ival, ival);
        return true;
    }
    if (value != NULL && value->val_case == PG_QUERY__A__CONST__VAL_FVAL) {
        char *end;
        long long count;

        errno = 0;
        count = strtoll(TAKE(p, value->fval, fval), &end, 10);
        if (*end == '\0' && count >= 0 && errno == 0) {
            *ret_count = count;
            return true;
        }
    }
    return sql_fail(p->q, GRANARY_EINVAL, parse_place(&from->base), "%s needs a whole number as written, 0 or more",
                    what);
}

/* Whether a number stands there that parse_count() reads. */
static bool
is_plain(const PgQuery__Node *from)
{
    const PgQuery__AConst *value = from->node_case == PG_QUERY__NODE__NODE_A_CONST ? from->a_const : NULL;

    return value != NULL &&
           (value->isnull || value->val_case == PG_QUERY__A__CONST__VAL_IVAL ||
            (value->val_case == PG_QUERY__A__CONST__VAL_FVAL && strpbrk(value->fval->fval, ".eE") == NULL));
}

static bool
has_subquery(const struct sql_expr *expr)
{
    bool has = expr->kind == SQL_SUBQUERY;

    for (size_t i = 0; i < expr->count && !has; i++) {
        has = has_subquery(expr->args[i]);
    }
    return has;
}

/* Whether it is made of numbers and subqueries alone, so that it has one value. */
static bool
has_one_value(const struct sql_expr *expr)
{
    bool one =
        expr->kind == SQL_LITERAL || expr->kind == SQL_CAST || expr->kind == SQL_INFIX || expr->kind == SQL_PREFIX ||
        (expr->kind == SQL_SUBQUERY && expr->subquery == SQL_SCALAR) ||
        (expr->kind == SQL_FUNCTION && (strcmp(expr->text, "quotient") == 0 || strcmp(expr->text, "coalesce") == 0));

    for (size_t i = 0; i < expr->count && one; i++) {
        one = has_one_value(expr->args[i]);
    }
    return one;
}

/* LIMIT 10%, LIMIT (SELECT ...)% */
static bool
parse_percent(struct parse *p, const PgQuery__FuncCall *call, struct sql_select *select)
{
    struct sql_expr *expr = parse_expr(p, TAKE(p, call, args)[0]);
    double *percent = SQL_NEW(p->q, double);

    (void)parse_last(p, TAKE(p, call, funcname), call->n_funcname);
    if (expr == NULL || percent == NULL) {
        return false;
    }
    select->limit = INT64_MAX; /* rows are cut, and nobody knows how many */
    select->percent = percent;
    if (has_subquery(expr) && has_one_value(expr)) {
        select->limit_value = sql_parse_new_call(p, SQL_CAST, expr->position, "float64", expr, NULL);
        return select->limit_value != NULL;
    }
    if (!value_of(expr, percent) || !(*percent >= 0 && *percent <= 100)) {
        return sql_fail(p->q, GRANARY_EINVAL, expr->position, "LIMIT takes 0 to 100 percent");
    }
    return true;
}

/* absent: where nothing stands, or null. *ret_value: what is known only when the query runs; or NULL */
static bool
parse_rows(struct parse *p, const PgQuery__Node *from, const char *what, int64_t absent, int64_t *ret_rows,
           struct sql_expr **ret_value)
{
    struct sql_expr *expr;
    double value = 0;

    if (from == NULL || is_plain(from)) {
        return parse_count(p, from, what, absent, ret_rows);
    }
    expr = parse_expr(p, from);
    if (expr == NULL) {
        return false;
    }
    *ret_rows = absent;
    if (has_subquery(expr) && has_one_value(expr)) {
        *ret_value = sql_parse_new_call(p, SQL_CAST, expr->position, "int64", expr, NULL);
        return *ret_value != NULL;
    }
    if (!value_of(expr, &value) || !(rint(value) >= 0 && rint(value) <= EXACT_MAX)) {
        return sql_fail(p->q, GRANARY_EINVAL, parse_place(&from->base),
                        "%s needs a whole number, 0 or more, or an expression of numbers and subqueries that gives one",
                        what);
    }
    *ret_rows = (int64_t)rint(value);
    return true;
}

bool
parse_limit(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select)
{
    const PgQuery__Node *limit = TAKE(p, from, limit_count);
    bool percent = limit != NULL && limit->node_case == PG_QUERY__NODE__NODE_FUNC_CALL &&
                   parse_is_noted(p, limit->func_call->location, NOTED_PERCENT);
    bool ties;

    if (percent ? !parse_percent(p, limit->func_call, select)
                : !parse_rows(p, limit, "LIMIT", -1, &select->limit, &select->limit_value)) {
        return false;
    }
    ties = TAKE(p, from, limit_option) == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES;
    if (ties && select->limit > 0) {
        if (select->order_count == 0) {
            return sql_fail(p->q, GRANARY_EINVAL, parse_place(&limit->base), "WITH TIES needs ORDER BY");
        }
        select->ties = select->limit;
        select->limit = INT64_MAX;
    }
    if (!parse_rows(p, TAKE(p, from, limit_offset), "OFFSET", 0, &select->offset, &select->offset_value)) {
        return false;
    }
    if (select->limit_value == NULL && select->offset_value == NULL) {
        return true;
    }
    if (ties) {
        return sql_fail(p->q, GRANARY_EUNSUPPORTED, parse_place(&limit->base),
                        "WITH TIES beside a subquery in LIMIT or OFFSET is not supported: write the number");
    }
    select->limit = select->limit < 0 ? INT64_MAX : select->limit; /* rows are cut, and nobody knows how many */
    return true;
}
