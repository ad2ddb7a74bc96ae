/* Operators: IN, BETWEEN, LIKE, comparisons, arithmetic, logic, CASE. */
#include <string.h>

#include "sql/parse/private.h"

/* ---- operators ---- */

/* a is distinct from b, which is never null: case when a is null then b is not null when b is null then true else a !=
 * b */
static struct sql_expr *
parse_distinct(struct parse *p, const PgQuery__AExpr *from, bool negated)
{
    struct sql_expr *a = parse_expr(p, TAKE(p, from, lexpr));
    struct sql_expr *b = a == NULL ? NULL : parse_expr(p, TAKE(p, from, rexpr));
    struct sql_expr *expr = b == NULL ? NULL : sql_parse_new_expr(p, SQL_CASE, from->location, "", 5);

    if (expr != NULL) {
        expr->args[0] = sql_parse_new_call(p, SQL_POSTFIX, from->location, "is null", a, NULL);
        expr->args[1] = sql_parse_new_call(p, SQL_POSTFIX, from->location, "is not null", b, NULL);
        expr->args[2] = sql_parse_new_call(p, SQL_POSTFIX, from->location, "is null", b, NULL);
        expr->args[3] = sql_parse_new_expr(p, SQL_LITERAL, from->location, "true", 0);
        expr->args[4] = sql_parse_new_call(p, SQL_INFIX, from->location, "!=", a, b);
    }
    return p->q->err != GRANARY_OK ? NULL : negated ? sql_parse_new_negation(p, expr) : expr;
}

static const PgQuery__List *
list_of(const PgQuery__Node *node)
{
    return node->node_case == PG_QUERY__NODE__NODE_LIST ? node->list : NULL;
}

static struct sql_expr *
parse_in(struct parse *p, const PgQuery__AExpr *from)
{
    const PgQuery__List *list = list_of(TAKE(p, from, rexpr));
    struct sql_expr *expr =
        list == NULL ? NULL : sql_parse_new_expr(p, SQL_IN, from->location, "in", 1 + list->n_items);

    if (expr == NULL) {
        return NULL;
    }
    expr->negated = strcmp(parse_string(p, TAKE(p, from, name)[0]), "<>") == 0;
    expr->args[0] = parse_expr(p, TAKE(p, from, lexpr));
    for (size_t i = 0; i < list->n_items && p->q->err == GRANARY_OK; i++) {
        expr->args[1 + i] = parse_expr(p, TAKE(p, list, items)[i]);
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
}

static struct sql_expr *
parse_between(struct parse *p, const PgQuery__AExpr *from, bool negated)
{
    const PgQuery__List *list = list_of(TAKE(p, from, rexpr));
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_BETWEEN, from->location, "between", 3);

    if (expr == NULL || list == NULL || list->n_items != 2) {
        return NULL;
    }
    expr->negated = negated;
    expr->args[0] = parse_expr(p, TAKE(p, from, lexpr));
    expr->args[1] = p->q->err != GRANARY_OK ? NULL : parse_expr(p, TAKE(p, list, items)[0]);
    expr->args[2] = p->q->err != GRANARY_OK ? NULL : parse_expr(p, TAKE(p, list, items)[1]);
    return p->q->err == GRANARY_OK ? expr : NULL;
}

static struct sql_expr *
parse_like(struct parse *p, const PgQuery__AExpr *from, const char *name)
{
    const PgQuery__Node *pattern = TAKE(p, from, rexpr);
    const PgQuery__FuncCall *call =
        pattern->node_case == PG_QUERY__NODE__NODE_FUNC_CALL && pattern->func_call->n_args == 2 ? pattern->func_call
                                                                                                : NULL;
    const PgQuery__Node *escape = NULL;
    struct sql_expr *expr;

    if (call != NULL && strcmp(parse_last(p, TAKE(p, call, funcname), call->n_funcname), "like_escape") == 0) {
        escape = TAKE(p, call, args)[1];
        pattern = call->args[0];
    }
    expr = sql_parse_new_expr(p, SQL_LIKE, from->location, name, escape == NULL ? 2 : 3);
    if (expr == NULL) {
        return NULL;
    }
    expr->negated = parse_string(p, TAKE(p, from, name)[0])[0] == '!';
    expr->args[0] = parse_expr(p, TAKE(p, from, lexpr));
    expr->args[1] = p->q->err != GRANARY_OK ? NULL : parse_expr(p, pattern);
    if (escape != NULL && p->q->err == GRANARY_OK) {
        expr->args[2] = parse_expr(p, escape);
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
}

/* x SIMILAR TO y is regexp_full_match(x, y), as in DuckDB. The grammar puts its pattern into a function. */
static struct sql_expr *
parse_similar(struct parse *p, const PgQuery__AExpr *from)
{
    const PgQuery__Node *pattern = TAKE(p, from, rexpr);
    const PgQuery__FuncCall *call = pattern->node_case == PG_QUERY__NODE__NODE_FUNC_CALL ? pattern->func_call : NULL;
    bool negated = parse_string(p, TAKE(p, from, name)[0])[0] == '!';
    struct sql_expr *text = parse_expr(p, TAKE(p, from, lexpr));
    struct sql_expr *found;

    if (call == NULL || text == NULL) {
        return NULL;
    }
    (void)parse_last(p, TAKE(p, call, funcname), call->n_funcname);
    if (call->n_args != 1) {
        return sql_parse_refuse(p, from->location, "ESCAPE of SIMILAR TO is");
    }
    found = sql_parse_new_call(p, SQL_FUNCTION, from->location, "regexp_matches", text,
                               sql_parse_whole_pattern(p, parse_expr(p, TAKE(p, call, args)[0])));
    return p->q->err != GRANARY_OK ? NULL : negated ? sql_parse_new_negation(p, found) : found;
}

static struct sql_expr *
parse_operator(struct parse *p, const PgQuery__AExpr *from)
{
    static const struct {
        const char *sql;
        const char *text;
        enum sql_kind kind;
        bool negated;
    } operators[] = {
        {"+", "+", SQL_INFIX, false},
        {"-", "-", SQL_INFIX, false},
        {"*", "*", SQL_INFIX, false},
        {"/", "/", SQL_INFIX, false},
        {"//", "quotient", SQL_FUNCTION, false},
        {"%", "remainder", SQL_FUNCTION, false},
        {"=", "=", SQL_INFIX, false},
        {"<>", "!=", SQL_INFIX, false},
        {"<", "<", SQL_INFIX, false},
        {"<=", "<=", SQL_INFIX, false},
        {">", ">", SQL_INFIX, false},
        {">=", ">=", SQL_INFIX, false},
        {"||", "concat", SQL_FUNCTION, false},
        {"^", "pow", SQL_FUNCTION, false},
        {"~", "regexp_matches", SQL_FUNCTION, false},
        {"!~", "regexp_matches", SQL_FUNCTION, true},
        {"~*", "regexp_matches", SQL_FUNCTION, false},
        {"!~*", "regexp_matches", SQL_FUNCTION, true},
        {"~~", "like", SQL_LIKE, false},
        {"!~~", "like", SQL_LIKE, true},
        {"~~*", "ilike", SQL_LIKE, false},
        {"!~~*", "ilike", SQL_LIKE, true},
        {"^@", "startswith", SQL_FUNCTION, false},
        {"&", "bitand", SQL_FUNCTION, false},
        {"|", "bitor", SQL_FUNCTION, false},
        {"#", "bitxor", SQL_FUNCTION, false},
        {"<<", "shift_left", SQL_FUNCTION, false},
        {">>", "shift_right", SQL_FUNCTION, false},
    };
    static const char *const prefixes[][2] = {{"~", "bitnot"}, {"@", "abs"}, {"|/", "sqrt"}, {"||/", "cbrt"}};
    const char *grammars = parse_last(p, TAKE(p, from, name), from->n_name);
    const char *name = parse_is_noted(p, from->location, NOTED_QUOTIENT) ? "//" : grammars;
    struct sql_expr *right;

    if (from->lexpr == NULL) {
        if (strcmp(name, "-") == 0) {
            return sql_parse_new_call(p, SQL_PREFIX, from->location, "-", parse_expr(p, TAKE(p, from, rexpr)), NULL);
        }
        if (strcmp(name, "+") == 0) {
            return parse_expr(p, TAKE(p, from, rexpr));
        }
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
            if (strcmp(prefixes[i][0], name) == 0) {
                return sql_parse_new_call(p, SQL_FUNCTION, from->location, prefixes[i][1],
                                          parse_expr(p, TAKE(p, from, rexpr)), NULL);
            }
        }
    }
    for (size_t i = 0; i < sizeof operators / sizeof operators[0] && from->lexpr != NULL; i++) {
        if (strcmp(operators[i].sql, name) == 0) {
            struct sql_expr *left = parse_expr(p, TAKE(p, from, lexpr));
            struct sql_expr *expr;

            right = left == NULL ? NULL : parse_expr(p, TAKE(p, from, rexpr));
            right = name[strlen(name) - 1] == '*' && operators[i].kind == SQL_FUNCTION ? sql_parse_any_case(p, right)
                                                                                       : right;
            expr = right == NULL
                       ? NULL
                       : sql_parse_new_call(p, operators[i].kind, from->location, operators[i].text, left, right);
            if (expr != NULL && expr->kind == SQL_FUNCTION && strchr("|&#<>", name[0]) != NULL) {
                expr->written = "value"; /* an operator has no name */
            }
            return operators[i].negated ? sql_parse_new_negation(p, expr) : expr;
        }
    }
    (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, from->location, "operator %s is not supported", name);
    return NULL;
}

struct sql_expr *
sql_parse_a_expr(struct parse *p, const PgQuery__AExpr *from)
{
    if (from->kind != PG_QUERY__A__EXPR__KIND__AEXPR_OP) { /* the kind tells, and NOT is said by the name */
        (void)parse_last(p, TAKE(p, from, name), from->n_name);
    }
    switch (TAKE(p, from, kind)) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP:
        return parse_operator(p, from);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
        return parse_distinct(p, from, false);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT:
        return parse_distinct(p, from, true);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF: {
        struct sql_expr *left = parse_expr(p, TAKE(p, from, lexpr));

        return left == NULL ? NULL
                            : sql_parse_new_call(p, SQL_FUNCTION, from->location, "nullif", left,
                                                 parse_expr(p, TAKE(p, from, rexpr)));
    }
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN:
        return parse_in(p, from);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
        return parse_like(p, from, "like");
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE:
        return parse_like(p, from, "ilike");
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
        return parse_between(p, from, false);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
        return parse_between(p, from, true);
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR:
        return parse_similar(p, from);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
        if (strcmp(parse_last(p, TAKE(p, from, name), from->n_name), "=") == 0) { /* x = ANY(l) */
            struct sql_expr *wanted = parse_expr(p, TAKE(p, from, lexpr));

            return wanted == NULL ? NULL
                                  : sql_parse_new_call(p, SQL_FUNCTION, from->location, "list_contains",
                                                       parse_expr(p, TAKE(p, from, rexpr)), wanted);
        }
        return sql_parse_refuse(p, from->location, "ANY of an array with another operator than = is");
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL:
        return sql_parse_refuse(p, from->location, "ANY or ALL of an array is");
    default:
        return sql_parse_refuse(p, from->location, "BETWEEN SYMMETRIC is");
    }
}

struct sql_expr *
sql_parse_bool(struct parse *p, const PgQuery__BoolExpr *from)
{
    struct sql_expr *expr;

    if (TAKE(p, from, boolop) == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR) {
        return sql_parse_new_call(p, SQL_PREFIX, from->location, "not", parse_expr(p, TAKE(p, from, args)[0]), NULL);
    }
    expr = sql_parse_new_expr(p, TAKE(p, from, boolop) == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR ? SQL_AND : SQL_OR,
                              from->location, "", from->n_args);
    for (size_t i = 0; expr != NULL && i < from->n_args; i++) {
        expr->args[i] = parse_condition(p, TAKE(p, from, args)[i]);
        if (expr->args[i] == NULL) {
            return NULL;
        }
    }
    return expr;
}

/* x IS TRUE and its like, which are never null. */
struct sql_expr *
sql_parse_truth(struct parse *p, const PgQuery__BooleanTest *from)
{
    struct sql_expr *arg = parse_expr(p, TAKE(p, from, arg));
    PgQuery__BoolTestType type = TAKE(p, from, booltesttype);
    bool of_true = type == PG_QUERY__BOOL_TEST_TYPE__IS_TRUE || type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE;
    struct sql_expr *expr;

    if (type == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN || type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_UNKNOWN) {
        return sql_parse_new_call(p, SQL_POSTFIX, from->location,
                                  type == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN ? "is null" : "is not null", arg, NULL);
    }
    expr = arg == NULL
               ? NULL
               : sql_parse_new_call(p, SQL_FUNCTION, from->location, "coalesce", arg,
                                    sql_parse_new_expr(p, SQL_LITERAL, from->location, of_true ? "false" : "true", 0));
    return type == PG_QUERY__BOOL_TEST_TYPE__IS_TRUE || type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE
               ? expr
               : sql_parse_new_negation(p, expr);
}

struct sql_expr *
sql_parse_case(struct parse *p, const PgQuery__CaseExpr *from)
{
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_CASE, from->location, "", 2 * from->n_args + 1);
    struct sql_expr *value = from->arg == NULL ? NULL : parse_expr(p, TAKE(p, from, arg));

    for (size_t i = 0; i < from->n_args && expr != NULL && p->q->err == GRANARY_OK; i++) {
        const PgQuery__CaseWhen *when = TAKE(p, from, args)[i]->case_when;

        expr->args[2 * i] = parse_expr(p, TAKE(p, when, expr));
        if (value != NULL) {
            expr->args[2 * i] = expr->args[2 * i] == NULL
                                    ? NULL
                                    : sql_parse_new_call(p, SQL_INFIX, when->location, "=", value, expr->args[2 * i]);
        }
        expr->args[2 * i + 1] = p->q->err != GRANARY_OK ? NULL : parse_expr(p, TAKE(p, when, result));
    }
    if (expr != NULL && p->q->err == GRANARY_OK) {
        expr->args[expr->count - 1] = from->defresult == NULL
                                          ? sql_parse_new_expr(p, SQL_LITERAL, from->location, "null", 0)
                                          : parse_expr(p, TAKE(p, from, defresult));
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
}
