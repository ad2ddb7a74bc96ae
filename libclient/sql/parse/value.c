/* Constants, types and casts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/parse/private.h"

/* ---- values ---- */

/* 1e1000 */
static struct sql_expr *
infinite(struct parse *p, const char *text, int position)
{
    return sql_parse_new_call(p, SQL_CAST, position, "float64",
                              sql_parse_new_expr(p, SQL_LITERAL, position, text[0] == '-' ? "'-inf'" : "'inf'", 0),
                              NULL);
}

struct sql_expr *
sql_parse_constant(struct parse *p, const PgQuery__AConst *value)
{
    const char *text = "null";

    if (!TAKE(p, value, isnull)) {
        switch (value->val_case) {
        case PG_QUERY__A__CONST__VAL_IVAL:
            text = sql_printf(p->q, value->ival->ival < 0 ? "(%d)" : "%d", TAKE(p, value->ival, ival));
            break;
        case PG_QUERY__A__CONST__VAL_FVAL:
            if (isinf(strtod(value->fval->fval, NULL)) && strpbrk(value->fval->fval, "eE") != NULL) {
                return infinite(p, TAKE(p, value->fval, fval), value->location);
            }
            text = sql_printf(p->q,
                              value->fval->fval[0] == '-'   ? "(%s)"
                              : value->fval->fval[0] == '.' ? "0%s"
                                                            : "%s",
                              TAKE(p, value->fval, fval));
            break;
        case PG_QUERY__A__CONST__VAL_BOOLVAL:
            text = TAKE(p, value->boolval, boolval) ? "true" : "false";
            break;
        case PG_QUERY__A__CONST__VAL_SVAL:
            text = sql_literal(p->q, TAKE(p, value->sval, sval));
            break;
        default:
            return sql_parse_refuse(p, value->location, "a bit string is");
        }
    }
    return sql_parse_new_expr(p, SQL_LITERAL, value->location, text, 0);
}

/* ---- types ---- */

static const struct {
    const char *sql;
    const char *dtype;
} types[] = {
    {"bool", "bool"},
    {"boolean", "bool"},
    {"int1", "int8"},
    {"tinyint", "int8"},
    {"int2", "int16"},
    {"smallint", "int16"},
    {"int4", "int32"},
    {"integer", "int32"},
    {"int", "int32"},
    {"int8", "int64"},
    {"bigint", "int64"},
    {"utinyint", "uint8"},
    {"usmallint", "uint16"},
    {"uinteger", "uint32"},
    {"ubigint", "uint64"},
    {"float4", "float32"},
    {"real", "float32"},
    {"float", "float32"},
    {"float8", "float64"},
    {"double", "float64"},
    {"text", "string"},
    {"varchar", "string"},
    {"bpchar", "string"},
    {"char", "string"},
    {"string", "string"},
    {"date", "date"},
    {"timestamp", "timestamp"},
    {"datetime", "timestamp"},
    {"float64", "float64"},
    {"float32", "float32"},
    {"int64", "int64"},
    {"int32", "int32"},
    {"int16", "int16"},
    {"uint8", "uint8"},
    {"uint16", "uint16"},
    {"uint32", "uint32"},
    {"uint64", "uint64"},
    {"time", "time"},
    {"timestamptz", "timestamptz"},
    {"bytea", "binary"},
    {"blob", "binary"},
    {"binary", "binary"},
    {"varbinary", "binary"},
    {"hugeint", "decimal(38, 0)"},
    {"int128", "decimal(38, 0)"},
    {"signed", "int32"},
    {"short", "int16"},
    {"long", "int64"},
    {"logical", "bool"},
    {"nvarchar", "string"},
    {"oid", "int64"},
    {"integral", "int32"},
    {"uint1", "uint8"},
    {"uint2", "uint16"},
    {"uint4", "uint32"},
    {"name", "string"},
    {"timestamp_us", "timestamp"},
};

/* What stands in brackets behind a type: its i-th number. */
static int
typmod(struct parse *p, const PgQuery__TypeName *type, size_t i)
{
    const PgQuery__Node *node = i < type->n_typmods ? TAKE(p, type, typmods)[i] : NULL;
    bool number = node != NULL && node->node_case == PG_QUERY__NODE__NODE_A_CONST &&
                  node->a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL;

    return number ? TAKE(p, node->a_const->ival, ival) : 0;
}

static const char *
parse_scalar(struct parse *p, const PgQuery__TypeName *from)
{
    const char *name = parse_last(p, TAKE(p, from, names), from->n_names);

    if (strcasecmp(name, "numeric") == 0 || strcasecmp(name, "decimal") == 0) {
        /* DuckDB's default scale */
        int digits = typmod(p, from, 0);
        int scale = from->n_typmods == 0 ? 3 : typmod(p, from, 1);

        if (from->n_typmods == 0) {
            return sql_printf(p->q, "decimal(%d)", scale);
        }
        if (digits < 1 || digits > GRANARY_DECIMAL_DIGITS || scale < 0 || scale > GRANARY_DECIMAL_SCALE_MOST ||
            scale > digits) {
            (void)sql_fail(p->q, GRANARY_EINVAL, from->location,
                           "a decimal has 1 to %d digits, at most %d of them behind the point: decimal(10, 2)",
                           GRANARY_DECIMAL_DIGITS, GRANARY_DECIMAL_SCALE_MOST);
            return NULL;
        }
        return sql_printf(p->q, "decimal(%d, %d)", digits, scale);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcasecmp(types[i].sql, name) == 0) {
            if (strcmp(types[i].dtype, "string") == 0) { /* a length says nothing, as in DuckDB */
                (void)typmod(p, from, 0);
            }
            return types[i].dtype;
        }
    }
    (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, from->location,
                   "type '%s' is not supported: boolean, smallint, integer, bigint, real, double precision, "
                   "decimal(p, s), text, bytea, date, time, timestamp and timestamptz are",
                   name);
    return NULL;
}

const char *
parse_dtype(struct parse *p, const PgQuery__TypeName *from)
{
    const char *scalar = parse_scalar(p, from);

    if (scalar == NULL || from->n_array_bounds == 0) {
        return scalar;
    }
    for (size_t i = 0; i < from->n_array_bounds; i++) { /* a length says nothing, as in PostgreSQL */
        (void)TAKE(p, TAKE(p, from, array_bounds)[i]->integer, ival);
    }
    if (from->n_array_bounds > 1) {
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, from->location, "there are no lists of lists");
        return NULL;
    }
    return sql_printf(p->q, "list(%s)", scalar);
}

/* A list of lists as written, cast to text, or level by level. */
static struct sql_expr *
cast_nested(struct parse *p, const PgQuery__TypeName *type, struct sql_expr *list, int position)
{
    const char *item = parse_scalar(p, type);

    for (size_t i = 0; i < type->n_array_bounds; i++) {
        (void)TAKE(p, TAKE(p, type, array_bounds)[i]->integer, ival);
    }
    return item == NULL ? NULL : nested_cast(p, list, item, type->n_array_bounds, position);
}

/* INTERVAL '3' MONTH comes with the unit as a mask of PostgreSQL's. */
static const char *
interval_unit(struct parse *p, const PgQuery__TypeName *type)
{
    static const struct {
        int mask;
        const char *unit;
    } units[] = {{1 << 1, "month"}, {1 << 2, "year"},    {1 << 3, "day"},
                 {1 << 10, "hour"}, {1 << 11, "minute"}, {1 << 12, "second"}};

    int mask = typmod(p, type, 0);

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (units[i].mask == mask) {
            return units[i].unit;
        }
    }
    return NULL;
}

/* Whether a text in quotes behind it is a value as it is written. */
static bool
is_literal_of(const char *dtype)
{
    static const char *const names[] = {"date", "time", "timestamp", "timestamptz"};
    size_t i = 0;

    while (i < sizeof names / sizeof names[0] && strcmp(dtype, names[i]) != 0) {
        i++;
    }
    return i < sizeof names / sizeof names[0];
}

/* What a timestamp is rounded to: of timestamp_s, timestamp_ms, timestamp(0) and timestamp(3). NULL: nothing. */
static const char *
rounding_unit(struct parse *p, const PgQuery__TypeName *type, const char *name)
{
    const PgQuery__Node *node =
        strcmp(name, "timestamp") == 0 && type->n_typmods == 1 && type->n_array_bounds == 0 ? type->typmods[0] : NULL;
    int digits = node != NULL && node->node_case == PG_QUERY__NODE__NODE_A_CONST &&
                         node->a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL
                     ? node->a_const->ival->ival
                     : -1;

    if (type->n_array_bounds > 0) {
        return NULL;
    }
    if (digits == 0 || digits == 3 || digits == 6) { /* others are refused */
        (void)typmod(p, type, 0);
    }
    return digits == 0 || strcasecmp(name, "timestamp_s") == 0    ? "second"
           : digits == 3 || strcasecmp(name, "timestamp_ms") == 0 ? "millisecond"
                                                                  : NULL;
}

/* Halves are rounded away from 1970, as in DuckDB. */
static struct sql_expr *
round_moment(struct parse *p, struct sql_expr *moment, const char *unit, int position)
{
    static const char *const steps[2][2] = {
        {"interval '499999 microsecond'", "interval '500000 microsecond'"},
        {"interval '499 microsecond'", "interval '500 microsecond'"},
    };
    struct sql_expr *when = sql_parse_new_expr(p, SQL_CASE, position, "", 3);
    struct sql_expr *first = sql_parse_new_expr(p, SQL_LITERAL, position, "timestamp '1970-01-01'", 0);

    for (int i = 0; i < 2 && when != NULL && first != NULL && moment != NULL; i++) {
        when->args[i + 1] =
            sql_parse_new_call(p, SQL_INFIX, position, "+", moment,
                               sql_parse_new_expr(p, SQL_LITERAL, position, steps[unit[0] == 'm'][i], 0));
    }
    if (p->q->err != GRANARY_OK) {
        return NULL;
    }
    when->args[0] = sql_parse_new_call(p, SQL_INFIX, position, "<", moment, first);
    return sql_parse_new_call(p, SQL_FUNCTION, position, "date_trunc",
                              sql_parse_new_expr(p, SQL_LITERAL, position, sql_literal(p->q, unit), 0), when);
}

/* A text of a value that SQL has and granary lacks: TRY_CAST's null would be wrong. */
static bool
is_lacking(const char *dtype, const char *text)
{
    static const char *const infinite[] = {"infinity", "-infinity", "inf", "-inf"};
    bool lacks =
        strcmp(dtype, "time") == 0 && strncmp(text, "24:", 3) == 0 && text[2 + strspn(text + 2, ":0.")] == '\0';

    for (size_t i = 0; i < sizeof infinite / sizeof infinite[0]; i++) {
        lacks = lacks || (strcasecmp(infinite[i], text) == 0 && strcmp(dtype, "time") != 0);
    }
    return lacks;
}

struct sql_expr *
sql_parse_cast(struct parse *p, const PgQuery__TypeCast *cast)
{
    const PgQuery__TypeName *type = TAKE(p, cast, type_name);
    const char *name = parse_last(p, TAKE(p, type, names), type->n_names);
    const PgQuery__Node *arg = TAKE(p, cast, arg);
    const PgQuery__AConst *value = arg->node_case == PG_QUERY__NODE__NODE_A_CONST ? arg->a_const : NULL;
    const char *string = value != NULL && value->val_case == PG_QUERY__A__CONST__VAL_SVAL ? value->sval->sval : NULL;
    int position = cast->location >= 0 ? cast->location : type->location;
    bool tries = parse_is_noted(p, cast->location, NOTED_TRY);
    const char *rounded = rounding_unit(p, type, name);
    struct sql_expr *inner = NULL;
    const char *dtype;
    struct sql_expr *expr;

    if (strcmp(name, "interval") == 0) {
        const char *unit = interval_unit(p, type);

        if (string == NULL || tries) {
            return sql_parse_refuse(p, position, "an interval that is no literal is");
        }
        if (type->n_typmods > 0 && unit == NULL) {
            return sql_parse_refuse(p, position, "an interval of several units or a precision is");
        }
        parse_take(p, &value->sval->sval);
        if (unit != NULL) {
            string = sql_printf(p->q, "%s %s", string, unit);
        }
        return string == NULL ? NULL
                              : sql_parse_new_expr(p, SQL_LITERAL, position,
                                                   sql_printf(p->q, "interval %s", sql_literal(p->q, string)), 0);
    }
    if (value == NULL && !tries) {
        inner = parse_expr(p, arg);
        if (inner == NULL || nested_is(inner)) {
            return inner == NULL ? NULL : cast_nested(p, type, inner, position);
        }
    }
    dtype = rounded != NULL ? "timestamp" : parse_dtype(p, type);
    if (dtype == NULL) {
        return NULL;
    }
    if (string != NULL && tries && is_literal_of(dtype) && is_lacking(dtype, string)) {
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, position, "there is no %s '%.20s' here", dtype, string);
        return NULL;
    }
    if (string != NULL && !tries && is_literal_of(dtype)) {
        parse_take(p, &value->sval->sval);
        expr = sql_parse_new_expr(p, SQL_LITERAL, position, sql_printf(p->q, "%s %s", dtype, sql_literal(p->q, string)),
                                  0);
    } else {
        expr = sql_parse_new_call(p, tries ? SQL_TRY_CAST : SQL_CAST, position, dtype,
                                  inner != NULL ? inner : parse_expr(p, arg), NULL);
    }
    return rounded == NULL || expr == NULL ? expr : round_moment(p, expr, rounded, position);
}
