/* Expressions. What SQL writes in its own way becomes what expressions have (graph/expr.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "graph/expr.h"
#include "sql/parse/private.h"

static struct sql_expr *
new_expr(struct parse *p, enum sql_kind kind, int position, const char *text, size_t count)
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
static struct sql_expr *
new_call(struct parse *p, enum sql_kind kind, int position, const char *text, struct sql_expr *a, struct sql_expr *b)
{
    struct sql_expr *expr = a == NULL ? NULL : new_expr(p, kind, position, text, b == NULL ? 1 : 2);

    if (expr != NULL) {
        expr->args[0] = a;
        if (b != NULL) {
            expr->args[1] = b;
        }
    }
    return expr;
}

static struct sql_expr *
new_negation(struct parse *p, struct sql_expr *expr)
{
    return expr == NULL ? NULL : new_call(p, SQL_PREFIX, expr->position, "not", expr, NULL);
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

static struct sql_expr *
unsupported(struct parse *p, int position, const char *what)
{
    (void)parse_unsupported(p, position, what);
    return NULL;
}

/* ---- values ---- */

/* In single quotes, those within doubled. */
static const char *
quote(struct parse *p, const char *text)
{
    char *quoted = sql_alloc(p->q, 2 * strlen(text) + 3, 1);
    char *to = quoted;

    if (quoted == NULL) {
        return NULL;
    }
    *to++ = '\'';
    for (; *text != '\0'; text++) {
        *to++ = *text;
        if (*text == '\'') {
            *to++ = '\'';
        }
    }
    *to = '\'';
    return quoted;
}

static struct sql_expr *
parse_constant(struct parse *p, const PgQuery__AConst *value)
{
    const char *text = "null";

    if (!value->isnull) {
        switch (value->val_case) {
        case PG_QUERY__A__CONST__VAL_IVAL:
            text = sql_printf(p->q, value->ival->ival < 0 ? "(%d)" : "%d", value->ival->ival);
            break;
        case PG_QUERY__A__CONST__VAL_FVAL:
            text = sql_printf(p->q,
                              value->fval->fval[0] == '-'   ? "(%s)"
                              : value->fval->fval[0] == '.' ? "0%s"
                                                            : "%s",
                              value->fval->fval);
            break;
        case PG_QUERY__A__CONST__VAL_BOOLVAL:
            text = value->boolval->boolval ? "true" : "false";
            break;
        case PG_QUERY__A__CONST__VAL_SVAL:
            text = quote(p, value->sval->sval);
            break;
        default:
            return unsupported(p, value->location, "a bit string is");
        }
    }
    return new_expr(p, SQL_LITERAL, value->location, text, 0);
}

/* ---- types ---- */

static const struct {
    const char *sql;
    const char *dtype;
} types[] = {
    {"bool", "bool"},        {"boolean", "bool"},    {"int1", "int8"},           {"tinyint", "int8"},
    {"int2", "int16"},       {"smallint", "int16"},  {"int4", "int32"},          {"integer", "int32"},
    {"int", "int32"},        {"int8", "int64"},      {"bigint", "int64"},        {"utinyint", "uint8"},
    {"usmallint", "uint16"}, {"uinteger", "uint32"}, {"ubigint", "uint64"},      {"float4", "float32"},
    {"real", "float32"},     {"float", "float32"},   {"float8", "float64"},      {"double", "float64"},
    {"text", "string"},      {"varchar", "string"},  {"bpchar", "string"},       {"char", "string"},
    {"string", "string"},    {"date", "date"},       {"timestamp", "timestamp"}, {"datetime", "timestamp"},
    {"float64", "float64"},  {"float32", "float32"}, {"int64", "int64"},         {"int32", "int32"},
    {"int16", "int16"},      {"uint8", "uint8"},     {"uint16", "uint16"},       {"uint32", "uint32"},
    {"uint64", "uint64"},
};

const char *
parse_dtype(struct parse *p, const PgQuery__TypeName *from)
{
    const char *name = from->n_names > 0 ? parse_string(from->names[from->n_names - 1]) : "";

    if (from->n_array_bounds > 0 || from->setof) {
        (void)parse_unsupported(p, from->location, "a list type is");
        return NULL;
    }
    if (strcasecmp(name, "numeric") == 0 || strcasecmp(name, "decimal") == 0) {
        /* DuckDB's default scale */
        int scale = from->n_typmods == 0 ? 3 : 0;

        if (from->n_typmods == 2 && from->typmods[1]->node_case == PG_QUERY__NODE__NODE_A_CONST &&
            from->typmods[1]->a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL) {
            scale = from->typmods[1]->a_const->ival->ival;
        }
        if (scale < 0 || scale > 18) {
            (void)sql_fail(p->q, GRANARY_EINVAL, from->location, "a decimal's scale is 0 to 18, not %d", scale);
            return NULL;
        }
        return sql_printf(p->q, "decimal(%d)", scale);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcasecmp(types[i].sql, name) == 0) {
            return types[i].dtype;
        }
    }
    (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, from->location,
                   "type '%s' is not supported: boolean, smallint, integer, bigint, real, double precision, "
                   "decimal(p, s), text, date and timestamp are",
                   name);
    return NULL;
}

/* INTERVAL '3' MONTH comes with the unit as a mask of PostgreSQL's. */
static const char *
interval_unit(const PgQuery__TypeName *type)
{
    static const struct {
        int mask;
        const char *unit;
    } units[] = {{1 << 1, "month"}, {1 << 2, "year"},    {1 << 3, "day"},
                 {1 << 10, "hour"}, {1 << 11, "minute"}, {1 << 12, "second"}};

    if (type->n_typmods > 0 && type->typmods[0]->node_case == PG_QUERY__NODE__NODE_A_CONST &&
        type->typmods[0]->a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL) {
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
            if (units[i].mask == type->typmods[0]->a_const->ival->ival) {
                return units[i].unit;
            }
        }
    }
    return NULL;
}

static struct sql_expr *
parse_cast(struct parse *p, const PgQuery__TypeCast *cast)
{
    const PgQuery__TypeName *type = cast->type_name;
    const char *name = type->n_names > 0 ? parse_string(type->names[type->n_names - 1]) : "";
    const PgQuery__AConst *value = cast->arg->node_case == PG_QUERY__NODE__NODE_A_CONST ? cast->arg->a_const : NULL;
    const char *string = value != NULL && value->val_case == PG_QUERY__A__CONST__VAL_SVAL ? value->sval->sval : NULL;
    int position = cast->location >= 0 ? cast->location : type->location;
    const char *dtype;

    if (strcmp(name, "interval") == 0) {
        const char *unit = interval_unit(type);

        if (string == NULL) {
            return unsupported(p, position, "an interval that is no literal is");
        }
        if (type->n_typmods > 0 && unit == NULL) {
            return unsupported(p, position, "an interval of several units or a precision is");
        }
        if (unit != NULL) {
            string = sql_printf(p->q, "%s %s", string, unit);
        }
        return string == NULL
                   ? NULL
                   : new_expr(p, SQL_LITERAL, position, sql_printf(p->q, "interval %s", quote(p, string)), 0);
    }
    dtype = parse_dtype(p, type);
    if (dtype == NULL) {
        return NULL;
    }
    if (string != NULL && (strcmp(dtype, "date") == 0 || strcmp(dtype, "timestamp") == 0)) {
        return new_expr(p, SQL_LITERAL, position, sql_printf(p->q, "%s %s", dtype, quote(p, string)), 0);
    }
    return new_call(p, SQL_CAST, position, dtype, parse_expr(p, cast->arg), NULL);
}

/* ---- operators ---- */

/* a is distinct from b, which is never null: case when a is null then b is not null when b is null then true else a !=
 * b */
static struct sql_expr *
parse_distinct(struct parse *p, const PgQuery__AExpr *from, bool negated)
{
    struct sql_expr *a = parse_expr(p, from->lexpr);
    struct sql_expr *b = a == NULL ? NULL : parse_expr(p, from->rexpr);
    struct sql_expr *expr = b == NULL ? NULL : new_expr(p, SQL_CASE, from->location, "", 5);

    if (expr != NULL) {
        expr->args[0] = new_call(p, SQL_POSTFIX, from->location, "is null", a, NULL);
        expr->args[1] = new_call(p, SQL_POSTFIX, from->location, "is not null", b, NULL);
        expr->args[2] = new_call(p, SQL_POSTFIX, from->location, "is null", b, NULL);
        expr->args[3] = new_expr(p, SQL_LITERAL, from->location, "true", 0);
        expr->args[4] = new_call(p, SQL_INFIX, from->location, "!=", a, b);
    }
    return p->q->err != GRANARY_OK ? NULL : negated ? new_negation(p, expr) : expr;
}

static struct sql_expr *
parse_in(struct parse *p, const PgQuery__AExpr *from)
{
    const PgQuery__List *list = from->rexpr->node_case == PG_QUERY__NODE__NODE_LIST ? from->rexpr->list : NULL;
    struct sql_expr *expr = list == NULL ? NULL : new_expr(p, SQL_IN, from->location, "in", 1 + list->n_items);

    if (expr == NULL) {
        return NULL;
    }
    expr->negated = strcmp(parse_string(from->name[0]), "<>") == 0;
    expr->args[0] = parse_expr(p, from->lexpr);
    for (size_t i = 0; i < list->n_items && p->q->err == GRANARY_OK; i++) {
        expr->args[1 + i] = parse_expr(p, list->items[i]);
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
}

static struct sql_expr *
parse_between(struct parse *p, const PgQuery__AExpr *from, bool negated)
{
    const PgQuery__List *list = from->rexpr->node_case == PG_QUERY__NODE__NODE_LIST ? from->rexpr->list : NULL;
    struct sql_expr *expr = new_expr(p, SQL_BETWEEN, from->location, "between", 3);

    if (expr == NULL || list == NULL || list->n_items != 2) {
        return NULL;
    }
    expr->negated = negated;
    expr->args[0] = parse_expr(p, from->lexpr);
    expr->args[1] = p->q->err != GRANARY_OK ? NULL : parse_expr(p, list->items[0]);
    expr->args[2] = p->q->err != GRANARY_OK ? NULL : parse_expr(p, list->items[1]);
    return p->q->err == GRANARY_OK ? expr : NULL;
}

static struct sql_expr *
parse_like(struct parse *p, const PgQuery__AExpr *from, const char *name)
{
    const PgQuery__Node *pattern = from->rexpr;
    const PgQuery__Node *escape = NULL;
    struct sql_expr *expr;

    if (pattern->node_case == PG_QUERY__NODE__NODE_FUNC_CALL && pattern->func_call->n_args == 2 &&
        strcmp(parse_string(pattern->func_call->funcname[pattern->func_call->n_funcname - 1]), "like_escape") == 0) {
        escape = pattern->func_call->args[1];
        pattern = pattern->func_call->args[0];
    }
    expr = new_expr(p, SQL_LIKE, from->location, name, escape == NULL ? 2 : 3);
    if (expr == NULL) {
        return NULL;
    }
    expr->negated = parse_string(from->name[0])[0] == '!';
    expr->args[0] = parse_expr(p, from->lexpr);
    expr->args[1] = p->q->err != GRANARY_OK ? NULL : parse_expr(p, pattern);
    if (escape != NULL && p->q->err == GRANARY_OK) {
        expr->args[2] = parse_expr(p, escape);
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
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
        {"||", "||", SQL_INFIX, false},
        {"^", "pow", SQL_FUNCTION, false},
        {"**", "pow", SQL_FUNCTION, false},
        {"~", "regexp_matches", SQL_FUNCTION, false},
        {"!~", "regexp_matches", SQL_FUNCTION, true},
    };
    const char *name = parse_string(from->name[from->n_name - 1]);
    struct sql_expr *right;

    if (from->lexpr == NULL) {
        if (strcmp(name, "-") == 0) {
            return new_call(p, SQL_PREFIX, from->location, "-", parse_expr(p, from->rexpr), NULL);
        }
        if (strcmp(name, "+") == 0) {
            return parse_expr(p, from->rexpr);
        }
    }
    for (size_t i = 0; i < sizeof operators / sizeof operators[0] && from->lexpr != NULL; i++) {
        if (strcmp(operators[i].sql, name) == 0) {
            struct sql_expr *left = parse_expr(p, from->lexpr);
            struct sql_expr *expr;

            right = left == NULL ? NULL : parse_expr(p, from->rexpr);
            expr =
                right == NULL ? NULL : new_call(p, operators[i].kind, from->location, operators[i].text, left, right);
            return operators[i].negated ? new_negation(p, expr) : expr;
        }
    }
    (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, from->location, "operator %s is not supported", name);
    return NULL;
}

static struct sql_expr *
parse_a_expr(struct parse *p, const PgQuery__AExpr *from)
{
    switch (from->kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP:
        return parse_operator(p, from);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
        return parse_distinct(p, from, false);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT:
        return parse_distinct(p, from, true);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF: {
        struct sql_expr *left = parse_expr(p, from->lexpr);

        return left == NULL ? NULL
                            : new_call(p, SQL_FUNCTION, from->location, "nullif", left, parse_expr(p, from->rexpr));
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
        return unsupported(p, from->location, "SIMILAR TO is");
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL:
        return unsupported(p, from->location, "ANY or ALL of an array is");
    default:
        return unsupported(p, from->location, "BETWEEN SYMMETRIC is");
    }
}

static struct sql_expr *
parse_bool(struct parse *p, const PgQuery__BoolExpr *from)
{
    struct sql_expr *expr;

    if (from->boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR) {
        return new_call(p, SQL_PREFIX, from->location, "not", parse_expr(p, from->args[0]), NULL);
    }
    expr = new_expr(p, from->boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR ? SQL_AND : SQL_OR, from->location, "",
                    from->n_args);
    for (size_t i = 0; expr != NULL && i < from->n_args; i++) {
        expr->args[i] = parse_expr(p, from->args[i]);
        if (expr->args[i] == NULL) {
            return NULL;
        }
    }
    return expr;
}

/* x IS TRUE and its like, which are never null. */
static struct sql_expr *
parse_truth(struct parse *p, const PgQuery__BooleanTest *from)
{
    struct sql_expr *arg = parse_expr(p, from->arg);
    PgQuery__BoolTestType type = from->booltesttype;
    bool of_true = type == PG_QUERY__BOOL_TEST_TYPE__IS_TRUE || type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE;
    struct sql_expr *expr;

    if (type == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN || type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_UNKNOWN) {
        return new_call(p, SQL_POSTFIX, from->location,
                        type == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN ? "is null" : "is not null", arg, NULL);
    }
    expr = arg == NULL ? NULL
                       : new_call(p, SQL_FUNCTION, from->location, "coalesce", arg,
                                  new_expr(p, SQL_LITERAL, from->location, of_true ? "false" : "true", 0));
    return type == PG_QUERY__BOOL_TEST_TYPE__IS_TRUE || type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE
               ? expr
               : new_negation(p, expr);
}

static struct sql_expr *
parse_case(struct parse *p, const PgQuery__CaseExpr *from)
{
    struct sql_expr *expr = new_expr(p, SQL_CASE, from->location, "", 2 * from->n_args + 1);
    struct sql_expr *value = from->arg == NULL ? NULL : parse_expr(p, from->arg);

    for (size_t i = 0; i < from->n_args && expr != NULL && p->q->err == GRANARY_OK; i++) {
        const PgQuery__CaseWhen *when = from->args[i]->case_when;

        expr->args[2 * i] = parse_expr(p, when->expr);
        if (value != NULL) {
            expr->args[2 * i] = expr->args[2 * i] == NULL
                                    ? NULL
                                    : new_call(p, SQL_INFIX, when->location, "=", value, expr->args[2 * i]);
        }
        expr->args[2 * i + 1] = p->q->err != GRANARY_OK ? NULL : parse_expr(p, when->result);
    }
    if (expr != NULL && p->q->err == GRANARY_OK) {
        expr->args[expr->count - 1] = from->defresult == NULL ? new_expr(p, SQL_LITERAL, from->location, "null", 0)
                                                              : parse_expr(p, from->defresult);
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
}

/* ---- functions ---- */

/* A call of these arguments by a fixed name. */
static struct sql_expr *
parse_arguments(struct parse *p, const char *name, PgQuery__Node *const *args, size_t count, int position)
{
    struct sql_expr *expr = new_expr(p, SQL_FUNCTION, position, name, 0);

    if (expr == NULL) {
        return NULL;
    }
    expr->count = count;
    expr->args = parse_exprs(p, args, count);
    return expr->args == NULL ? NULL : expr;
}

/* The day of the week as SQL counts: from Sunday, 0, or (iso) from Monday, 1. Expressions count from Monday, 0. */
static struct sql_expr *
parse_weekday(struct parse *p, PgQuery__Node *const *args, bool iso, int position)
{
    struct sql_expr *day = parse_arguments(p, "dayofweek", args, 1, position);
    struct sql_expr *next = new_call(p, SQL_INFIX, position, "+", day, new_expr(p, SQL_LITERAL, position, "1", 0));

    return iso ? next
               : new_call(p, SQL_FUNCTION, position, "remainder", next, new_expr(p, SQL_LITERAL, position, "7", 0));
}

/* EXTRACT(part FROM x), date_part('part', x) */
static struct sql_expr *
parse_extract(struct parse *p, const PgQuery__FuncCall *call)
{
    static const char *const parts[][2] = {
        {"year", "year"},     {"quarter", "quarter"}, {"month", "month"},   {"week", "week"},     {"day", "day"},
        {"doy", "dayofyear"}, {"hour", "hour"},       {"minute", "minute"}, {"second", "second"}, {"epoch", "epoch"},
    };
    const PgQuery__Node *part = call->args[0];

    if (part->node_case == PG_QUERY__NODE__NODE_A_CONST && part->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL) {
        bool iso = strcasecmp("isodow", part->a_const->sval->sval) == 0;

        if (iso || strcasecmp("dow", part->a_const->sval->sval) == 0) {
            return parse_weekday(p, call->args + 1, iso, call->location);
        }
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            if (strcasecmp(parts[i][0], part->a_const->sval->sval) == 0) {
                return parse_arguments(p, parts[i][1], call->args + 1, 1, call->location);
            }
        }
    }
    (void)sql_fail(
        p->q, GRANARY_EUNSUPPORTED, call->location,
        "this part of a date is not supported: year, quarter, month, week, day, dow, isodow, doy, hour, minute, "
        "second and epoch are");
    return NULL;
}

static struct sql_expr *
parse_aggregate(struct parse *p, const PgQuery__FuncCall *call, const char *name)
{
    struct sql_expr *expr = new_expr(p, SQL_AGGREGATE, call->location, name, 0);

    if (expr == NULL) {
        return NULL;
    }
    if (call->agg_within_group && strcmp(name, "quantile") == 0 && call->n_agg_order == 1 && call->n_args == 1) {
        expr->count = 2; /* percentile_cont(0.5) within group (order by x) */
        expr->args = parse_exprs(p, (PgQuery__Node *[]){call->agg_order[0]->sort_by->node, call->args[0]}, 2);
        return expr->args == NULL ? NULL : expr;
    }
    if (call->n_agg_order > 0 || call->agg_within_group) {
        return unsupported(p, call->location, "ORDER BY in an aggregate is");
    }
    expr->distinct = call->agg_distinct != 0;
    expr->count = call->n_args;
    expr->args = parse_exprs(p, call->args, call->n_args);
    if (expr->args != NULL && call->agg_filter != NULL) {
        expr->condition = parse_expr(p, call->agg_filter);
        if (expr->condition == NULL) {
            return NULL;
        }
    }
    if (expr->args != NULL && call->over != NULL) {
        expr->over = parse_window(p, call->over);
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
}

/* ---- windows ---- */

/* PostgreSQL's bits of a frame. */
enum {
    FRAME_GIVEN = 0x1,
    FRAME_RANGE = 0x2,
    FRAME_ROWS = 0x4,
    FRAME_FROM_BEGINNING = 0x20,
    FRAME_TO_END = 0x100,
    FRAME_TO_CURRENT = 0x400,
    FRAME_FROM_OFFSET = 0x800,
    FRAME_KNOWN = 0x1 | 0x2 | 0x4 | 0x10 | 0x20 | 0x100 | 0x400 | 0x800,
};

static bool
parse_frame(struct parse *p, const PgQuery__WindowDef *from, struct sql_window *window)
{
    int options = from->frame_options;
    bool from_beginning = (options & FRAME_FROM_BEGINNING) != 0;

    window->frame = window->order_count > 0 ? SQL_FRAME_PEERS : SQL_FRAME_PARTITION;
    if ((options & FRAME_GIVEN) == 0) {
        return true;
    }
    if ((options & ~FRAME_KNOWN) != 0) {
        return parse_unsupported(p, from->location, "this frame of a window is");
    }
    if (from_beginning && (options & FRAME_TO_END) != 0) {
        window->frame = SQL_FRAME_PARTITION;
    } else if (from_beginning && (options & FRAME_TO_CURRENT) != 0) {
        window->frame = (options & FRAME_ROWS) != 0 ? SQL_FRAME_SO_FAR
                        : window->order_count == 0  ? SQL_FRAME_PARTITION
                                                    : SQL_FRAME_PEERS;
    } else if ((options & FRAME_ROWS) != 0 && (options & FRAME_FROM_OFFSET) != 0 && (options & FRAME_TO_CURRENT) != 0) {
        window->frame = SQL_FRAME_LAST;
        return parse_count(p, from->start_offset, "ROWS ... PRECEDING", 0, &window->back);
    } else {
        return parse_unsupported(p, from->location, "this frame of a window is");
    }
    return true;
}

/* The window of that name in the WINDOW clause; NULL: there is none. */
static const PgQuery__WindowDef *
find_window(const struct parse *p, const char *name)
{
    for (size_t i = 0; p->select != NULL && i < p->select->n_window_clause; i++) {
        if (strcmp(p->select->window_clause[i]->window_def->name, name) == 0) {
            return p->select->window_clause[i]->window_def;
        }
    }
    return NULL;
}

struct sql_window *
parse_window(struct parse *p, const PgQuery__WindowDef *from)
{
    struct sql_window *window = SQL_NEW(p->q, struct sql_window);
    bool is_name = from->name[0] != '\0'; /* OVER name */

    if (window == NULL) {
        return NULL;
    }
    window->position = from->location;
    if (is_name || from->refname[0] != '\0') {
        const PgQuery__WindowDef *named = find_window(p, is_name ? from->name : from->refname);

        if (named == NULL) {
            (void)sql_fail(p->q, GRANARY_ENOENT, from->location, "there is no window '%s'",
                           is_name ? from->name : from->refname);
            return NULL;
        }
        if (!is_name) {
            (void)parse_unsupported(p, from->location, "a window made of another one is");
            return NULL;
        }
        from = named;
    }
    window->partition_count = from->n_partition_clause;
    window->partition = parse_exprs(p, from->partition_clause, from->n_partition_clause);
    window->order_count = from->n_order_clause;
    return window->partition != NULL && parse_order(p, from->order_clause, from->n_order_clause, &window->order) &&
                   parse_frame(p, from, window)
               ? window
               : NULL;
}

static struct sql_expr *
parse_function(struct parse *p, const PgQuery__FuncCall *call)
{
#define FUNCTION(name, least, most, becomes) {#name, becomes, least, most},
#define AGGREGATE(name, becomes)
    static const struct {
        const char *name;
        const char *becomes;
        size_t least;
        size_t most;
    } functions[] = {
#include "sql/parse/functions.def"
    };
#undef FUNCTION
#undef AGGREGATE
#define FUNCTION(name, least, most, becomes)
#define AGGREGATE(name, becomes) {#name, becomes},
    static const struct {
        const char *name;
        const char *becomes;
    } aggregates[] = {
#include "sql/parse/functions.def"
    };
#undef FUNCTION
#undef AGGREGATE
    static const char *const windows[] = {"row_number", "rank",        "dense_rank", "ntile",    "lag",
                                          "lead",       "first_value", "last_value", "nth_value"};
    const char *name = parse_string(call->funcname[call->n_funcname - 1]);
    granary_err err;

    if ((strcmp(name, "extract") == 0 || strcmp(name, "date_part") == 0) && call->n_args == 2) {
        return parse_extract(p, call);
    }
    if ((strcmp(name, "dayofweek") == 0 || strcmp(name, "weekday") == 0 || strcmp(name, "isodow") == 0) &&
        call->n_args == 1) {
        return parse_weekday(p, call->args, name[0] == 'i', call->location);
    }
    for (size_t i = 0; i < sizeof aggregates / sizeof aggregates[0]; i++) {
        if (strcmp(aggregates[i].name, name) == 0) {
            return parse_aggregate(p, call, aggregates[i].becomes);
        }
    }
    if (call->over != NULL) {
        for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
            if (strcmp(windows[i], name) == 0) {
                return parse_aggregate(p, call, windows[i]);
            }
        }
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, call->location, "window function '%s' is not supported", name);
        return NULL;
    }
    if (call->agg_star || call->agg_distinct || call->agg_filter != NULL || call->n_agg_order > 0 ||
        call->agg_within_group) {
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, call->location, "aggregate '%s' is not supported", name);
        return NULL;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strcmp(functions[i].name, name) == 0 && call->n_args >= functions[i].least &&
            call->n_args <= functions[i].most) {
            return parse_arguments(p, functions[i].becomes, call->args, call->n_args, call->location);
        }
    }
    if ((err = gr_expr_check_function(name)) != GRANARY_OK) {
        (void)sql_fail(p->q, err, call->location, "%s", granary_error_message());
        return NULL;
    }
    return parse_arguments(p, parse_copy(p, name), call->args, call->n_args, call->location);
}

/* ---- subqueries and names ---- */

static struct sql_expr *
parse_subquery(struct parse *p, const PgQuery__SubLink *link)
{
    struct sql_expr *expr = new_expr(p, SQL_SUBQUERY, link->location, "", 0);
    const PgQuery__Node *test = link->testexpr;

    if (expr == NULL) {
        return NULL;
    }
    switch (link->sub_link_type) {
    case PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK:
        expr->subquery = SQL_EXISTS;
        break;
    case PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK:
        expr->subquery = SQL_SCALAR;
        break;
    case PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK:
        expr->subquery = SQL_ANY;
        if (link->n_oper_name > 0 && strcmp(parse_string(link->oper_name[0]), "=") != 0) {
            return unsupported(p, link->location, "ANY with another operator than = is");
        }
        if (test->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
            expr->count = test->row_expr->n_args;
            expr->args = parse_exprs(p, test->row_expr->args, test->row_expr->n_args);
        } else {
            expr->count = 1;
            expr->args = parse_exprs(p, &link->testexpr, 1);
        }
        break;
    case PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK:
        return unsupported(p, link->location, "ALL (SELECT ...) is");
    default:
        return unsupported(p, link->location, "this form of a subquery is");
    }
    expr->select = expr->args == NULL || link->subselect->node_case != PG_QUERY__NODE__NODE_SELECT_STMT
                       ? NULL
                       : parse_select(p, link->subselect->select_stmt);
    return expr->select == NULL ? NULL : expr;
}

static struct sql_expr *
parse_column(struct parse *p, const PgQuery__ColumnRef *ref)
{
    const PgQuery__Node *last = ref->fields[ref->n_fields - 1];
    bool star = last->node_case == PG_QUERY__NODE__NODE_A_STAR;
    struct sql_expr *expr =
        new_expr(p, star ? SQL_STAR : SQL_COLUMN, ref->location, star ? "*" : parse_copy(p, parse_string(last)), 0);

    if (expr != NULL && ref->n_fields > 1) {
        expr->table = parse_copy(p, parse_string(ref->fields[ref->n_fields - 2]));
    }
    return expr;
}

static struct sql_expr *
parse_node(struct parse *p, const PgQuery__Node *from)
{
    switch (from->node_case) {
    case PG_QUERY__NODE__NODE_A_CONST:
        return parse_constant(p, from->a_const);
    case PG_QUERY__NODE__NODE_COLUMN_REF:
        return parse_column(p, from->column_ref);
    case PG_QUERY__NODE__NODE_A_EXPR:
        return parse_a_expr(p, from->a_expr);
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
        return parse_bool(p, from->bool_expr);
    case PG_QUERY__NODE__NODE_FUNC_CALL:
        return parse_function(p, from->func_call);
    case PG_QUERY__NODE__NODE_TYPE_CAST:
        return parse_cast(p, from->type_cast);
    case PG_QUERY__NODE__NODE_CASE_EXPR:
        return parse_case(p, from->case_expr);
    case PG_QUERY__NODE__NODE_SUB_LINK:
        return parse_subquery(p, from->sub_link);
    case PG_QUERY__NODE__NODE_NULL_TEST:
        return new_call(p, SQL_POSTFIX, from->null_test->location,
                        from->null_test->nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL ? "is null" : "is not null",
                        parse_expr(p, from->null_test->arg), NULL);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST:
        return parse_truth(p, from->boolean_test);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR:
        return parse_arguments(p, "coalesce", from->coalesce_expr->args, from->coalesce_expr->n_args,
                               from->coalesce_expr->location);
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
        return parse_arguments(p, from->min_max_expr->op == PG_QUERY__MIN_MAX_OP__IS_GREATEST ? "greatest" : "least",
                               from->min_max_expr->args, from->min_max_expr->n_args, from->min_max_expr->location);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
        return unsupported(p, from->sqlvalue_function->location, "the current date, time or user is");
    case PG_QUERY__NODE__NODE_PARAM_REF:
        return unsupported(p, from->param_ref->location, "a parameter ($1) is");
    case PG_QUERY__NODE__NODE_GROUPING_SET:
        return unsupported(p, from->grouping_set->location, "ROLLUP, CUBE or GROUPING SETS is");
    case PG_QUERY__NODE__NODE_ROW_EXPR:
        return unsupported(p, from->row_expr->location, "a row of values is");
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
        return unsupported(p, from->a_array_expr->location, "an array is");
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE:
        return unsupported(p, from->collate_clause->location, "COLLATE is");
    default:
        return unsupported(p, -1, "an expression in the statement is of a form that is");
    }
}

struct sql_expr *
parse_expr(struct parse *p, const PgQuery__Node *from)
{
    struct sql_expr *expr = NULL;

    if (from == NULL) {
        return unsupported(p, -1, "an empty expression is");
    }
    if (p->depth >= SQL_NESTING) {
        (void)sql_fail(p->q, GRANARY_EINVAL, -1, "expressions and queries nest more than %d deep", SQL_NESTING);
        return NULL;
    }
    p->depth++;
    expr = parse_node(p, from);
    p->depth--;
    return expr;
}
