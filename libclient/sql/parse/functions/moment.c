/* Parts of dates and times, the moment that a statement runs at, and functions of moments that others can do. */
#include <string.h>
#include <strings.h>
#include <time.h>

#include "data/value/calendar.h"
#include "graph/expr.h"
#include "sql/parse/private.h"

#define DAY_US INT64_C(86400000000)

/* ---- parts ---- */

/* The day of the week as SQL counts: from Sunday, 0, or (iso) from Monday, 1. Expressions count from Monday, 0. */
static struct sql_expr *
parse_weekday(struct parse *p, PgQuery__Node *const *args, bool iso, int position)
{
    struct sql_expr *day = sql_parse_arguments(p, "dayofweek", args, 1, position);
    struct sql_expr *next =
        sql_parse_new_call(p, SQL_INFIX, position, "+", day, sql_parse_new_expr(p, SQL_LITERAL, position, "1", 0));

    return iso ? next
               : sql_parse_new_call(p, SQL_FUNCTION, position, "remainder", next,
                                    sql_parse_new_expr(p, SQL_LITERAL, position, "7", 0));
}

/* Whether a value is a TIME as it is written. */
static bool
is_time(const PgQuery__Node *node)
{
    const PgQuery__TypeName *type =
        node->node_case == PG_QUERY__NODE__NODE_TYPE_CAST ? node->type_cast->type_name : NULL;

    return type != NULL && type->n_names > 0 && strcmp(type->names[type->n_names - 1]->string->sval, "time") == 0;
}

/* EXTRACT(part FROM x), date_part('part', x) */
static struct sql_expr *
parse_extract(struct parse *p, const PgQuery__FuncCall *call)
{
    static const char *const zones[] = {"timezone", "timezone_hour", "timezone_minute", NULL};
    PgQuery__Node *const *args = call->args;
    struct sql_expr *moment;
    const PgQuery__Node *part = TAKE(p, call, args)[0];
    enum gr_expr_op op;

    if (part->node_case != PG_QUERY__NODE__NODE_A_CONST || part->a_const->isnull) { /* a row says it */
        return sql_parse_arguments(p, "date_part", TAKE(p, call, args), 2, call->location);
    }
    if (part->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL &&
        gr_expr_part_named(TAKE(p, part->a_const->sval, sval), &op)) {
        return op == GR_OP_DAYOFWEEK
                   ? parse_weekday(p, TAKE(p, call, args) + 1, strcasecmp(part->a_const->sval->sval, "isodow") == 0,
                                   call->location)
                   : sql_parse_arguments(p, gr_expr_op_text(op), TAKE(p, call, args) + 1, 1, call->location);
    }
    if (part->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL &&
        sql_parse_is_one_of(part->a_const->sval->sval, zones) && is_time(args[1])) {
        parse_take(p, &part->a_const->sval->sval);
        moment = sql_parse_arguments(p, gr_expr_op_text(GR_OP_HOUR), args + 1, 1, call->location);
        return moment == NULL ? NULL : sql_parse_new_call(p, SQL_INFIX, call->location, "-", moment, moment);
    }
    (void)sql_fail(
        p->q, GRANARY_EUNSUPPORTED, call->location,
        "this part of a date is not supported: year, quarter, month, week, day, dow, isodow, doy, hour, minute, "
        "second, millisecond, microsecond, decade, century, millennium, era, isoyear, yearweek, julian and epoch are");
    return NULL;
}

/* ---- now ---- */

/* One moment for all of a statement. */
static int64_t
moment_of(struct parse *p)
{
    struct timespec now;

    if (p->moment == 0) {
        (void)clock_gettime(CLOCK_REALTIME, &now);
        p->moment = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    }
    return p->moment;
}

/* It as a literal of the dtype, in UTC. */
static struct sql_expr *
parse_now(struct parse *p, const char *dtype, int position)
{
    struct gr_buf text = {0};
    int64_t clock = moment_of(p) % DAY_US;
    bool day = strcmp(dtype, "time") != 0;
    struct sql_expr *expr = NULL;

    if (day) {
        gr_date_format(moment_of(p) / DAY_US, &text);
    }
    if (strcmp(dtype, "date") != 0) {
        gr_buf_addf(&text, "%s%02d:%02d:%02d.%06d%s", day ? " " : "", (int)(clock / 3600000000),
                    (int)(clock / 60000000 % 60), (int)(clock / 1000000 % 60), (int)(clock % 1000000),
                    strcmp(dtype, "timestamptz") == 0 ? "+00" : "");
    }
    if (gr_buf_ok(&text)) {
        expr = sql_parse_new_expr(p, SQL_LITERAL, position, sql_printf(p->q, "%s '%s'", dtype, text.bytes), 0);
    } else {
        (void)sql_fail(p->q, GRANARY_ENOMEM, -1, "out of memory");
    }
    gr_buf_free(&text);
    return expr;
}

struct sql_expr *
sql_parse_sql_value(struct parse *p, const PgQuery__SQLValueFunction *from)
{
    if (TAKE(p, from, typmod) >= 0) {
        return sql_parse_refuse(p, from->location, "a precision of the current time is");
    }
    switch (TAKE(p, from, op)) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE:
        return parse_now(p, "date", from->location);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP:
        return parse_now(p, "timestamptz", from->location);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
        return parse_now(p, "timestamp", from->location);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME:
        return parse_now(p, "time", from->location);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_SCHEMA:
        return sql_parse_new_expr(p, SQL_LITERAL, from->location, "'main'", 0); /* as DuckDB calls it */
    default:
        return sql_parse_refuse(p, from->location, "the name of the user, role or catalog is");
    }
}

/* ---- functions ---- */

static struct sql_expr *
literal(struct parse *p, const char *text, int position)
{
    return sql_parse_new_expr(p, SQL_LITERAL, position, text, 0);
}

/* now() and its kin. */
static const char *
dtype_of_clock(const char *name)
{
    static const char *const clocks[][2] = {
        {"now", "timestamptz"},
        {"get_current_timestamp", "timestamptz"},
        {"transaction_timestamp", "timestamptz"},
        {"statement_timestamp", "timestamptz"},
        {"clock_timestamp", "timestamptz"},
        {"current_localtimestamp", "timestamp"},
        {"getdate", "timestamp"},
        {"today", "date"},
        {"current_date", "date"},
        {"get_current_time", "time"},
        {"current_localtime", "time"},
    };

    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        if (strcmp(clocks[i][0], name) == 0) {
            return clocks[i][1];
        }
    }
    return NULL;
}

/* to_hours(x): so many of an interval. */
static const char *
interval_of(const char *name)
{
    static const char *const units[] = {"years", "quarters", "months",  "weeks",        "days",
                                        "hours", "minutes",  "seconds", "milliseconds", "microseconds"};
    static const char *const intervals[] = {
        "interval '1 year'",        "interval '1 quarter'",    "interval '1 month'",  "interval '7 day'",
        "interval '1 day'",         "interval '1 hour'",       "interval '1 minute'", "interval '1 second'",
        "interval '1 millisecond'", "interval '1 microsecond'"};

    for (size_t i = 0; strncmp(name, "to_", 3) == 0 && i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i], name + 3) == 0) {
            return intervals[i];
        }
    }
    return NULL;
}

/* to_timestamp(seconds) */
static struct sql_expr *
parse_to_timestamp(struct parse *p, PgQuery__Node *const *args, int position)
{
    struct sql_expr *us =
        sql_parse_new_call(p, SQL_INFIX, position, "*", parse_expr(p, args[0]), literal(p, "1000000", position));
    struct sql_expr *whole = sql_parse_new_call(p, SQL_CAST, position, "int64", us, NULL);

    return sql_parse_new_call(p, SQL_CAST, position, "timestamptz", whole, NULL);
}

bool
sql_parse_moment_function(struct parse *p, const PgQuery__FuncCall *call, const char *name, struct sql_expr **ret_expr)
{
    PgQuery__Node *const *args = call->args;
    int position = call->location;
    size_t count = call->n_args;

    if (count == 0 && dtype_of_clock(name) != NULL) {
        *ret_expr = parse_now(p, dtype_of_clock(name), position);
    } else if (count == 2 &&
               (strcmp(name, "extract") == 0 || strcmp(name, "date_part") == 0 || strcmp(name, "datepart") == 0)) {
        *ret_expr = parse_extract(p, call);
    } else if (count == 1 && (strcmp(name, "dayofweek") == 0 || strcmp(name, "weekday") == 0 ||
                              strcmp(name, "dow") == 0 || strcmp(name, "isodow") == 0)) {
        *ret_expr = parse_weekday(p, TAKE(p, call, args), name[0] == 'i', position);
    } else if (count == 2 && strcmp(name, "strftime") == 0 && args[0]->node_case == PG_QUERY__NODE__NODE_A_CONST &&
               args[1]->node_case != PG_QUERY__NODE__NODE_A_CONST) { /* the format may come first */
        (void)TAKE(p, call, args);
        *ret_expr = sql_parse_arguments(p, "strftime", (PgQuery__Node *const[]){args[1], args[0]}, 2, position);
    } else if (count == 2 && strcmp(name, "date_add") == 0) {
        struct sql_expr *day = parse_expr(p, TAKE(p, call, args)[0]);

        *ret_expr = sql_parse_new_call(p, SQL_INFIX, position, "+", day, day == NULL ? NULL : parse_expr(p, args[1]));
    } else if (count == 1 && interval_of(name) != NULL) {
        *ret_expr = sql_parse_new_call(p, SQL_INFIX, position, "*", literal(p, interval_of(name), position),
                                       parse_expr(p, TAKE(p, call, args)[0]));
    } else if (count == 1 && strcmp(name, "to_timestamp") == 0) {
        *ret_expr = parse_to_timestamp(p, TAKE(p, call, args), position);
    } else if (count == 1 && strcmp(name, "make_timestamp") == 0) {
        *ret_expr = sql_parse_new_call(p, SQL_CAST, position, "timestamp", parse_expr(p, TAKE(p, call, args)[0]), NULL);
    } else {
        return false;
    }
    return true;
}
