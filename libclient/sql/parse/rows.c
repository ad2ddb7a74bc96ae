/* Functions in FROM, and rows that come from no table: VALUES, series, and the one row of a SELECT without FROM. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/value/calendar.h"
#include "sql/parse/private.h"

/*
 * A column of VALUES becomes one CASE over the numbers of its rows, five operands a row with the cast of an INSERT. An
 * expression has so many (GR_EXPR_NODES), and the rest is for values that are expressions: more rows are a UNION ALL of pieces.
 */
#define PIECE_ROWS  200
#define VALUES_MOST 100000
/* Of a series' numbers: one step further does not overflow. */
#define NUMBER_MAX 999999999999999

/* ---- series ---- */

/* A whole number as written, perhaps below 0. *ret_null: it is null */
static bool
parse_number(struct parse *p, const PgQuery__Node *from, int64_t *ret_number, bool *ret_null)
{
    const PgQuery__AConst *value = from->node_case == PG_QUERY__NODE__NODE_A_CONST ? from->a_const : NULL;
    char *end = NULL;

    if (value != NULL && value->isnull) {
        *ret_null = TAKE(p, value, isnull) != 0;
        return true;
    }
    if (value != NULL && value->val_case == PG_QUERY__A__CONST__VAL_IVAL) {
        *ret_number = TAKE(p, value->ival, ival);
        return true;
    }
    if (value != NULL && value->val_case == PG_QUERY__A__CONST__VAL_FVAL) {
        errno = 0;
        *ret_number = strtoll(TAKE(p, value->fval, fval), &end, 10);
        if (*end == '\0' && errno == 0) {
            return true;
        }
    }
    return sql_fail(p->q, GRANARY_EINVAL, value == NULL ? -1 : value->location,
                    "a series needs whole numbers that int64 holds");
}

/* The numbers of generate_series() and range(). */
static bool
parse_series(struct parse *p, const PgQuery__FuncCall *call, bool inclusive, struct sql_from *item)
{
    int64_t numbers[3] = {0, 0, 1};
    size_t at = call->n_args == 1 ? 1 : 0; /* one number: the end */
    bool large = false;
    bool null = false;

    for (size_t i = 0; i < call->n_args; i++, at++) {
        if (!parse_number(p, TAKE(p, call, args)[i], &numbers[at], &null)) {
            return false;
        }
        large = large || numbers[at] > NUMBER_MAX || numbers[at] < -NUMBER_MAX;
    }
    if (null) { /* no rows */
        memcpy(numbers, (const int64_t[]){0, 0, 1}, sizeof numbers);
        large = inclusive = false;
    }
    if (numbers[2] != 0 && large) {
        return sql_parse_large_numbers(p, call, numbers, inclusive, item);
    }
    if (numbers[2] == 0) {
        return sql_fail(p->q, GRANARY_EINVAL, call->location, "'%s' with steps of 0", item->name);
    }
    item->kind = SQL_FROM_ROWS;
    item->start = numbers[0];
    item->step = numbers[2];
    item->stop = numbers[1] + (inclusive ? numbers[2] > 0 ? 1 : -1 : 0);
    if (numbers[2] > 0 ? item->stop < item->start : item->stop > item->start) {
        item->stop = item->start;
    }
    return true;
}

/* ---- tables as they were ---- */

/* TIMESTAMP '...' as nanoseconds, or a number of them. */
static bool
parse_moment(struct parse *p, const PgQuery__Node *from, int64_t *ret_time)
{
    const struct sql_expr *expr = parse_expr(p, from);
    const char *text = expr != NULL && expr->kind == SQL_LITERAL ? expr->text : NULL;
    const char *quote = text == NULL ? NULL : strchr(text, '\'');
    char *end = NULL;

    if (expr == NULL) {
        return false;
    }
    if (text != NULL && strncmp(text, "timestamp '", 11) == 0 &&
        gr_timestamp_parse(quote + 1, strlen(quote) - 2, ret_time) && *ret_time <= INT64_MAX / 1000 &&
        *ret_time >= INT64_MIN / 1000) {
        *ret_time *= 1000;
        return true;
    }
    errno = 0;
    *ret_time = text == NULL ? 0 : strtoll(text, &end, 10);
    return (text != NULL && end != text && *end == '\0' && errno == 0) ||
           sql_fail(p->q, GRANARY_EINVAL, expr->position,
                    "at() needs a moment: TIMESTAMP '2026-01-31 12:00:00' in UTC, or nanoseconds since 1970");
}

/* at(t, TIMESTAMP '...') */
static bool
parse_at(struct parse *p, const PgQuery__FuncCall *call, struct sql_from *item)
{
    const struct sql_expr *table;

    if (call->n_args != 2) {
        return sql_fail(p->q, GRANARY_EINVAL, call->location,
                        "at() needs a table and a moment: at(t, TIMESTAMP '...')");
    }
    table = parse_expr(p, TAKE(p, call, args)[0]);
    if (table == NULL) {
        return false;
    }
    if (table->kind != SQL_COLUMN) {
        return sql_fail(p->q, GRANARY_EINVAL, table->position, "at() needs the name of a table first");
    }
    item->kind = SQL_FROM_TABLE;
    item->position = table->position;
    item->name = table->table == NULL ? table->text : sql_printf(p->q, "%s.%s", table->table, table->text);
    item->has_time = true;
    return item->name != NULL && parse_moment(p, call->args[1], &item->time);
}

/* ---- functions in FROM ---- */

/* The call in FROM; NULL: it is something else. */
static const PgQuery__FuncCall *
only_call(struct parse *p, const PgQuery__RangeFunction *from)
{
    const PgQuery__Node *only = from->n_functions == 1 ? TAKE(p, from, functions)[0] : NULL;
    const PgQuery__List *call_and_columns =
        only != NULL && only->node_case == PG_QUERY__NODE__NODE_LIST ? only->list : NULL;

    return call_and_columns != NULL && call_and_columns->n_items > 0 &&
                   call_and_columns->items[0]->node_case == PG_QUERY__NODE__NODE_FUNC_CALL
               ? TAKE(p, call_and_columns, items)[0]->func_call
               : NULL;
}

/* unnest(LIST, ...): LATERAL goes without saying. */
static bool
parse_unnest(struct parse *p, const PgQuery__RangeFunction *from, const PgQuery__FuncCall *call, struct sql_from *item)
{
    (void)TAKE(p, from, lateral);
    item->kind = SQL_FROM_UNNEST;
    item->ordinality = TAKE(p, from, ordinality) != 0;
    item->list_count = call->n_args;
    item->lists = parse_exprs(p, TAKE(p, call, args), call->n_args);
    item->function = call->n_args == 1 ? SQL_UNNEST : NULL;
    return item->lists != NULL && parse_alias(p, TAKE(p, from, alias), item);
}

/* Steps of a series of moments are intervals. */
static bool
is_of_moments(const PgQuery__FuncCall *call)
{
    const PgQuery__Node *step = call->n_args == 3 ? call->args[2] : NULL;
    const PgQuery__TypeName *type =
        step != NULL && step->node_case == PG_QUERY__NODE__NODE_TYPE_CAST ? step->type_cast->type_name : NULL;
    const PgQuery__Node *name = type == NULL || type->n_names == 0 ? NULL : type->names[type->n_names - 1];

    return name != NULL && strcmp(name->string->sval, "interval") == 0;
}

static bool
has_numbers(const PgQuery__FuncCall *call)
{
    bool has = true;

    for (size_t i = 0; i < call->n_args && has; i++) {
        has = call->args[i]->node_case == PG_QUERY__NODE__NODE_A_CONST;
    }
    return has;
}

/* generate_series(1, t.n): the items of that list. */
static bool
parse_series_of_values(struct parse *p, const PgQuery__RangeFunction *from, const PgQuery__FuncCall *call,
                       struct sql_from *item)
{
    (void)TAKE(p, from, lateral);
    item->kind = SQL_FROM_UNNEST;
    item->ordinality = TAKE(p, from, ordinality) != 0;
    item->list_count = 1;
    item->lists = SQL_ARRAY(p->q, struct sql_expr *, 1);
    if (item->lists == NULL) {
        return false;
    }
    item->function = item->name;
    item->lists[0] = sql_parse_arguments(p, item->name, TAKE(p, call, args), call->n_args, call->location);
    if (item->lists[0] == NULL || !parse_alias(p, TAKE(p, from, alias), item)) {
        return false;
    }
    item->alias = item->alias != NULL ? item->alias : item->name;
    return true;
}

bool
parse_range_function(struct parse *p, const PgQuery__RangeFunction *from, struct sql_from *item)
{
    const PgQuery__FuncCall *call = only_call(p, from);
    const char *name = call == NULL ? "" : parse_last(p, TAKE(p, call, funcname), call->n_funcname);
    bool inclusive = strcmp(name, "generate_series") == 0;
    bool ok;

    item->name = parse_copy(p, name);
    item->position = call == NULL ? -1 : call->location;
    if (strcmp(name, "at") == 0) {
        return parse_at(p, call, item) && parse_alias(p, TAKE(p, from, alias), item);
    }
    if (strcmp(name, SQL_UNNEST) == 0 && call->n_args > 0) {
        return parse_unnest(p, from, call, item);
    }
    if (parse_is_reader(name)) {
        return parse_reader(p, call, item) && parse_alias(p, TAKE(p, from, alias), item);
    }
    if (strcmp(name, "repeat") == 0 && call->n_args == 2 && !from->ordinality) {
        ok = sql_parse_repeat(p, call, item) && parse_alias(p, TAKE(p, from, alias), item);
        item->alias = item->alias != NULL ? item->alias : item->name;
        return ok;
    }
    if ((strcmp(name, "json_each") == 0 || strcmp(name, "json_tree") == 0) && !from->ordinality &&
        (call->n_args == 1 || call->n_args == 2)) {
        return sql_parse_json_rows(p, from, call, item);
    }
    if (strcmp(name, "query") == 0 && call->n_args == 1 && !from->ordinality) {
        return sql_parse_query(p, call, item) && parse_alias(p, TAKE(p, from, alias), item);
    }
    if ((!inclusive && strcmp(name, "range") != 0) || call->n_args < 1 || call->n_args > 3) {
        return parse_unsupported(p, item->position,
                                 "in FROM, anything but generate_series(...) and range(...) of numbers, unnest(...) of "
                                 "lists, repeat(value, n), json_each(j), json_tree(j), query(text), at(t, time), and "
                                 "read_csv('FILE') and its kin, is");
    }
    if (is_of_moments(call)) {
        ok = sql_parse_moments(p, call, inclusive, item);
    } else if (has_numbers(call) && !from->ordinality) {
        ok = parse_series(p, call, inclusive, item);
    } else {
        return parse_series_of_values(p, from, call, item);
    }
    ok = ok && parse_alias(p, TAKE(p, from, alias), item);
    if (ok && item->alias == NULL && item->kind == SQL_FROM_SELECT) {
        item->alias = item->name;
    }
    if (ok && item->alias != NULL &&
        item->column_count == 0) { /* as PostgreSQL has it: x in `range(3) x` is the column, too */
        item->columns = &item->alias;
        item->column_count = 1;
        item->function = item->name;
    }
    return ok;
}

/* ---- VALUES ---- */

/* Rows that have nothing but their numbers. */
static bool
parse_series_rows(struct parse *p, size_t first, size_t stop, struct sql_select *select)
{
    struct sql_from *rows = SQL_NEW(p->q, struct sql_from);

    select->from_count = 1;
    select->from = SQL_ARRAY(p->q, struct sql_from *, 1);
    if (rows == NULL || select->from == NULL) {
        return false;
    }
    *rows = (struct sql_from){.kind = SQL_FROM_ROWS,
                              .position = select->position,
                              .name = SQL_ROWS,
                              .start = (int64_t)first,
                              .stop = (int64_t)stop,
                              .step = 1};
    select->from[0] = rows;
    return true;
}

bool
parse_without_from(struct parse *p, size_t count, struct sql_select *select)
{
    return parse_series_rows(p, 0, count, select);
}

/* A column of some rows of VALUES: case when number = 0 then FIRST when number = 1 then SECOND ... else LAST end. */
static struct sql_expr *
values_of_column(struct parse *p, PgQuery__Node *const *rows, size_t first, size_t count, size_t column)
{
    struct sql_expr *expr = SQL_NEW(p->q, struct sql_expr);
    struct sql_expr **args = SQL_ARRAY(p->q, struct sql_expr *, 2 * count);

    for (size_t r = 0; r < count && p->q->err == GRANARY_OK; r++) {
        struct sql_expr *value = parse_expr(p, TAKE(p, rows[first + r]->list, items)[column]);
        struct sql_expr *made = SQL_ARRAY(p->q, struct sql_expr, 3);
        struct sql_expr **sides = SQL_ARRAY(p->q, struct sql_expr *, 2);

        if (value == NULL || !parse_unmarked(p, value) || made == NULL || sides == NULL || args == NULL) {
            return NULL;
        }
        made[0] =
            (struct sql_expr){.kind = SQL_COLUMN, .position = value->position, .text = SQL_ROWS, .table = SQL_ROWS};
        made[1] = (struct sql_expr){
            .kind = SQL_LITERAL, .position = value->position, .text = sql_printf(p->q, "%zu", first + r)};
        sides[0] = &made[0];
        sides[1] = &made[1];
        made[2] =
            (struct sql_expr){.kind = SQL_INFIX, .position = value->position, .text = "=", .args = sides, .count = 2};
        args[2 * r] = r + 1 < count ? &made[2] : value;
        args[2 * r + 1] = value;
    }
    if (expr != NULL && args != NULL && p->q->err == GRANARY_OK) {
        *expr = (struct sql_expr){
            .kind = SQL_CASE, .position = args[1]->position, .text = "", .args = args, .count = 2 * count - 1};
    }
    return p->q->err != GRANARY_OK ? NULL : count > 1 ? expr : args[0];
}

/* Whether the statement has a word that is `name` and a number. */
static bool
names_numbered(const struct parse *p, const char *name)
{
    const size_t size = strlen(name);
    const char *text = p->q->text; /* it does not end with a NUL */
    bool found = false;

    for (size_t i = 0; i + size < p->q->length && !found; i++) {
        found = strncasecmp(text + i, name, size) == 0 && isdigit((unsigned char)text[i + size]) != 0 &&
                (i == 0 || (strchr("_$", text[i - 1]) == NULL && isalnum((unsigned char)text[i - 1]) == 0));
    }
    return found;
}

static struct sql_select *
new_select(struct parse *p)
{
    struct sql_select *select = SQL_NEW(p->q, struct sql_select);

    if (select != NULL) {
        select->position = -1;
        select->limit = -1;
    }
    return select;
}

/* Rows of VALUES; too many for one piece are two halves. */
static bool
parse_value_rows(struct parse *p, PgQuery__Node *const *rows, size_t first, size_t count, struct sql_select *select)
{
    const size_t columns = rows[first]->list->n_items;

    select->value_rows = count;
    if (count > PIECE_ROWS) {
        select->set = SQL_UNION;
        select->all = true;
        select->left = new_select(p);
        select->right = new_select(p);
        if (select->right == NULL || !parse_value_rows(p, rows, first, count / 2, select->left) ||
            !parse_value_rows(p, rows, first + count / 2, count - count / 2, select->right)) {
            return false;
        }
        select->position = select->left->position;
        return true;
    }
    select->target_count = columns;
    select->targets = SQL_ARRAY(p->q, struct sql_target, columns);
    for (size_t c = 0; c < columns && select->targets != NULL; c++) {
        select->targets[c].expr = values_of_column(p, rows, first, count, c);
        select->targets[c].alias =
            p->counts_from_zero ? sql_printf(p->q, "col%zu", c) : sql_printf(p->q, "column%zu", c + 1);
        if (select->targets[c].expr == NULL) {
            return false;
        }
    }
    if (select->targets != NULL && columns > 0) {
        select->position = select->targets[0].expr->position;
    }
    select->group = SQL_ARRAY(p->q, struct sql_expr *, 1);
    return select->group != NULL && parse_series_rows(p, first, first + count, select);
}

bool
parse_values(struct parse *p, const PgQuery__SelectStmt *from, struct sql_select *select)
{

    PgQuery__Node *const *rows = TAKE(p, from, values_lists);
    size_t count = rows[0]->list->n_items;

    if (from->n_values_lists > VALUES_MOST) {
        return sql_fail(
            p->q, GRANARY_EUNSUPPORTED, parse_place(&rows[0]->base),
            "VALUES has %zu rows, and can have %d: write them to a CSV file, and read that, FROM 'rows.csv'",
            from->n_values_lists, VALUES_MOST);
    }
    for (size_t r = 1; r < from->n_values_lists; r++) {
        if (rows[r]->list->n_items != count) {
            return sql_fail(p->q, GRANARY_EINVAL, parse_place(&rows[r]->base),
                            "VALUES: row %zu has %zu values, the first one %zu", r + 1, rows[r]->list->n_items, count);
        }
    }
    if (!p->has_values) { /* PostgreSQL counts columns from column1, DuckDB from col0: as the statement says */
        p->counts_from_zero = names_numbered(p, "col") && !names_numbered(p, "column");
        p->has_values = true;
    }
    return parse_value_rows(p, rows, 0, from->n_values_lists, select);
}
