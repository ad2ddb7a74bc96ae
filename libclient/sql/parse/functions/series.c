/*
 * generate_series() and range() of dates and timestamps. Numbers from 0 become moments: by arithmetic where the step is one of
 * days and less, else each by itself, as the rows of VALUES.
 */
#include <stdlib.h>
#include <string.h>

#include "contract/int128.h"
#include "data/value/calendar.h"
#include "graph/expr.h"
#include "sql/parse/private.h"

#define DAY_US INT64_C(86400000000)

enum { MONTHS_MOST = 1000, ROWS_MOST = 1000000000 };

struct series {
    const char *dtype;   /* timestamp, timestamptz */
    int64_t start, stop; /* microseconds */
    int64_t months, us;  /* of a step */
};

/* An argument as written. false: it is none, or of another kind */
static bool
read_argument(struct parse *p, const struct sql_expr *arg, bool interval, struct series *series, int64_t *ret_value)
{
    struct gr_expr *expr = NULL;
    bool ok = arg->kind == SQL_LITERAL && gr_expr_parse(arg->text, &expr) == GRANARY_OK;

    if (ok && interval) {
        ok = expr->is_interval;
        series->months = expr->months;
        *ret_value = (int64_t)expr->value.i;
    } else if (ok) {
        ok = expr->dtype == GRANARY_DATE || expr->dtype == GRANARY_TIMESTAMP || expr->dtype == GRANARY_TIMESTAMPTZ;
        series->dtype = expr->dtype == GRANARY_TIMESTAMPTZ ? "timestamptz" : "timestamp";
        ok = ok && !__builtin_mul_overflow((int64_t)expr->value.i, expr->dtype == GRANARY_DATE ? DAY_US : 1, ret_value);
    }
    gr_expr_destroy(expr);
    return ok || sql_fail(p->q, GRANARY_EUNSUPPORTED, arg->position,
                          interval ? "a series of moments needs a step as written: INTERVAL '1 day'"
                                   : "a series needs numbers, dates or timestamps as written: DATE '2024-01-31'");
}

static int64_t
moment_at(const struct series *series, int64_t i)
{
    int64_t days = series->start / DAY_US - (series->start % DAY_US < 0);
    int64_t clock = series->start - days * DAY_US;

    return series->months == 0 ? series->start + i * series->us
                               : gr_date_add_months(days, i * series->months) * DAY_US + clock + i * series->us;
}

/* How many rows there are; -1: too many. */
static int64_t
rows_of(const struct series *series, bool inclusive)
{
    bool up = series->months > 0 || (series->months == 0 && series->us > 0);
    gr_int128 span = up ? (gr_int128)series->stop - series->start : (gr_int128)series->start - series->stop;
    int64_t count = 0;

    if (span < 0) {
        return 0;
    }
    if (series->months == 0) {
        gr_int128 step = up ? series->us : -(gr_int128)series->us;
        gr_int128 rows = inclusive ? span / step + 1 : (span + step - 1) / step;

        return rows > ROWS_MOST ? -1 : (int64_t)rows;
    }
    for (; count <= MONTHS_MOST; count++) {
        int64_t at = moment_at(series, count);

        if (up ? at > series->stop : at < series->stop) {
            return count;
        }
        if (!inclusive && at == series->stop) {
            return count;
        }
    }
    return -1;
}

static struct sql_expr *
number(struct parse *p, int64_t value, int position)
{
    return sql_parse_new_expr(p, SQL_LITERAL, position,
                              sql_printf(p->q, value < 0 ? "(%lld)" : "%lld", (long long)value), 0);
}

static struct sql_expr *
row_number(struct parse *p, int position)
{
    struct sql_expr *row = sql_parse_new_expr(p, SQL_COLUMN, position, SQL_ROWS, 0);

    if (row != NULL) {
        row->table = SQL_ROWS;
    }
    return row;
}

/* Microseconds of a row: start + row * step, or by cases. */
static struct sql_expr *
row_value(struct parse *p, const struct series *series, int64_t count, int position)
{
    struct sql_expr *cases;

    if (series->months == 0) {
        return sql_parse_new_call(
            p, SQL_INFIX, position, "+", number(p, series->start, position),
            sql_parse_new_call(p, SQL_INFIX, position, "*", row_number(p, position), number(p, series->us, position)));
    }
    cases = sql_parse_new_expr(p, SQL_CASE, position, "", (size_t)(2 * count + 1));
    for (int64_t i = 0; i < count && cases != NULL; i++) {
        cases->args[2 * i] =
            sql_parse_new_call(p, SQL_INFIX, position, "=", row_number(p, position), number(p, i, position));
        cases->args[2 * i + 1] = number(p, moment_at(series, i), position);
        cases = cases->args[2 * i] == NULL || cases->args[2 * i + 1] == NULL ? NULL : cases;
    }
    if (cases != NULL) {
        cases->args[2 * count] = number(p, 0, position);
    }
    return p->q->err == GRANARY_OK ? cases : NULL;
}

/* A SELECT of one value for each of so many rows stands in FROM. */
static bool
take_rows(struct parse *p, int64_t count, struct sql_expr *value, int position, struct sql_from *item)
{
    struct sql_select *select = SQL_NEW(p->q, struct sql_select);

    if (select == NULL || value == NULL) {
        return false;
    }
    *select = (struct sql_select){.position = position, .limit = -1, .target_count = 1};
    select->targets = SQL_ARRAY(p->q, struct sql_target, 1);
    select->group = SQL_ARRAY(p->q, struct sql_expr *, 1);
    if (select->targets == NULL || select->group == NULL || !parse_without_from(p, (size_t)count, select)) {
        return false;
    }
    select->targets[0] = (struct sql_target){.alias = item->name, .expr = value};
    item->kind = SQL_FROM_SELECT;
    item->select = select;
    return true;
}

/* Exactly: a step more than the last may be none of int64. */
bool
sql_parse_large_numbers(struct parse *p, const PgQuery__FuncCall *call, const int64_t numbers[3], bool inclusive,
                        struct sql_from *item)
{
    const struct series series = {.start = numbers[0], .stop = numbers[1], .us = numbers[2]};
    int64_t count = rows_of(&series, inclusive);
    int position = call->location;
    struct sql_expr *row = sql_parse_new_call(p, SQL_CAST, position, "decimal(38, 0)", row_number(p, position), NULL);
    struct sql_expr *value;

    if (count < 0) {
        return sql_fail(p->q, GRANARY_EUNSUPPORTED, position, "a series of such numbers has at most %d rows",
                        ROWS_MOST);
    }
    value = sql_parse_new_call(p, SQL_INFIX, position, "*", row, number(p, series.us, position));
    value = sql_parse_new_call(p, SQL_INFIX, position, "+", value, number(p, series.start, position));
    return take_rows(p, count, sql_parse_new_call(p, SQL_CAST, position, "int64", value, NULL), position, item);
}

bool
sql_parse_moments(struct parse *p, const PgQuery__FuncCall *call, bool inclusive, struct sql_from *item)
{
    struct sql_expr **args = parse_exprs(p, TAKE(p, call, args), call->n_args);
    struct series series = {.months = 0};
    struct sql_expr *value;
    int64_t count;

    if (args == NULL || !read_argument(p, args[0], false, &series, &series.start) ||
        !read_argument(p, args[1], false, &series, &series.stop) ||
        !read_argument(p, args[2], true, &series, &series.us)) {
        return false;
    }
    if ((series.months == 0 && series.us == 0) || (series.months != 0 && series.us != 0)) {
        return sql_fail(p->q, GRANARY_EUNSUPPORTED, args[2]->position,
                        "a step is one of months, or of days and less, and not 0");
    }
    count = rows_of(&series, inclusive);
    if (count < 0) {
        return sql_fail(p->q, GRANARY_EUNSUPPORTED, call->location, "a series of months has at most %d rows, others %d",
                        MONTHS_MOST, ROWS_MOST);
    }
    value =
        sql_parse_new_call(p, SQL_CAST, call->location, "int64", row_value(p, &series, count, call->location), NULL);
    return take_rows(p, count, sql_parse_new_call(p, SQL_CAST, call->location, series.dtype, value, NULL),
                     call->location, item);
}

bool
sql_parse_query(struct parse *p, const PgQuery__FuncCall *call, struct sql_from *item)
{
    const PgQuery__Node *text = TAKE(p, call, args)[0];
    const char *sql =
        text->node_case == PG_QUERY__NODE__NODE_A_CONST && text->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL
            ? TAKE(p, text->a_const->sval, sval)
            : NULL;

    if (sql == NULL) {
        return sql_fail(p->q, GRANARY_EINVAL, call->location, "query() takes a SELECT as a text: query('SELECT 1')");
    }
    item->kind = SQL_FROM_SELECT;
    item->select = sql_parse_inner(p->q, sql, "query()", call->location);
    item->alias = item->name;
    return item->select != NULL;
}

bool
sql_parse_repeat(struct parse *p, const PgQuery__FuncCall *call, struct sql_from *item)
{
    struct sql_expr **args = parse_exprs(p, TAKE(p, call, args), call->n_args);
    const char *count = args == NULL || args[1]->kind != SQL_LITERAL ? "" : args[1]->text;

    if (args == NULL) {
        return false;
    }
    if (count[0] == '\0' || strspn(count, "0123456789") != strlen(count) || strlen(count) > 9) {
        return sql_fail(p->q, GRANARY_EINVAL, args[1]->position,
                        "repeat() in FROM takes a value, and how often as a number below 1000000000: repeat('a', 3)");
    }
    return take_rows(p, strtoll(count, NULL, 10), args[0], call->location, item);
}
