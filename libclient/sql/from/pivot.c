/*
 * PIVOT, written out: each value is an aggregate of the rows that have it, FILTER (WHERE k = 'value'). What is pivoted
 * becomes a column of text before, as values are compared by it. Groups are the columns that nothing else names.
 *
 * Semantics as DuckDB has them: columns are called VALUE, or VALUE_AGGREGATE where there are several aggregates or the
 * one has a name; of several keys each value of the first comes with each of the next.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/block.h"
#include "sql/question.h"

/* ---- columns ---- */

bool
sql_is_named(const struct gr_buf *names, const char *name)
{
    bool found = false;

    for (size_t at = 0; at < names->size && !found; at += strlen(names->bytes + at) + 1) {
        found = strcasecmp(names->bytes + at, name) == 0;
    }
    return found;
}

bool
sql_add_named(struct sql_statement *q, const struct sql_expr *expr, struct gr_buf *names)
{
    if (expr->kind == SQL_COLUMN && !(expr->table != NULL && strcmp(expr->table, SQL_PIVOTED) == 0) &&
        !sql_is_named(names, expr->text)) {
        gr_buf_add(names, expr->text, strlen(expr->text) + 1);
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (!sql_add_named(q, expr->args[i], names)) {
            return false;
        }
    }
    if (expr->condition != NULL && !sql_add_named(q, expr->condition, names)) {
        return false;
    }
    for (size_t i = 0; i < expr->unseen_count; i++) {
        if (!sql_add_named(q, expr->unseen[i].expr, names)) {
            return false;
        }
    }
    return !names->failed || sql_fail(q, GRANARY_ENOMEM, -1, "out of memory");
}

struct sql_expr *
sql_column_expr(struct sql_block *block, const struct sql_column *column, int position)
{
    struct sql_expr *expr = SQL_NEW(block->q, struct sql_expr);

    if (expr != NULL) {
        *expr = (struct sql_expr){
            .kind = SQL_COLUMN, .position = position, .text = column->name, .table = column->table, .column = column};
    }
    return expr;
}

/* The columns that aggregates and keys name. */
static bool
add_handled(struct sql_statement *q, const struct sql_select *select, struct gr_buf *names)
{
    for (size_t i = 0; i < select->target_count; i++) {
        if (!sql_add_named(q, select->targets[i].expr, names)) {
            return false;
        }
    }
    for (size_t i = 0; i < select->pivot->count; i++) {
        for (size_t k = 0; k < select->pivot->keys[i].count; k++) {
            if (!sql_add_named(q, select->pivot->keys[i].exprs[k], names)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- values ---- */

/* The values of each key, written or found. */
struct values {
    const struct sql_pivot_value *list;
    size_t count;
};

static bool
take_answer(struct sql_statement *q, const struct sql_answer *answer, struct values *ret_values)
{
    struct sql_pivot_value *list = SQL_ARRAY(q, struct sql_pivot_value, answer->count);

    for (size_t i = 0; list != NULL && i < answer->count; i++) {
        const char **texts = SQL_ARRAY(q, const char *, 1);

        list[i] = (struct sql_pivot_value){.texts = texts, .count = 1, .name = answer->values[i]};
        list[i].name = sql_printf(q, "%s", answer->values[i]);
        if (texts == NULL || list[i].name == NULL) {
            return false;
        }
        texts[0] = list[i].name;
    }
    *ret_values = (struct values){list, answer->count};
    return list != NULL;
}

/* *ret_all: no values are missing. */
static bool
known_values(struct sql_statement *q, const struct sql_pivot *pivot, struct values **ret_values, bool *ret_all)
{
    struct values *values = SQL_ARRAY(q, struct values, pivot->count);

    *ret_all = true;
    for (size_t i = 0; values != NULL && i < pivot->count; i++) {
        const struct sql_pivot_key *key = &pivot->keys[i];
        const struct sql_answer *answer = key->is_found ? sql_find_answer(q, pivot->position, i) : NULL;

        values[i] = (struct values){key->values, key->value_count};
        *ret_all = *ret_all && (!key->is_found || answer != NULL);
        if (answer != NULL && !take_answer(q, answer, &values[i])) {
            return false;
        }
    }
    *ret_values = values;
    return values != NULL;
}

/* How many columns there will be for each aggregate; 0: the statement has failed. */
static bool
count_columns(struct sql_statement *q, const struct sql_select *select, const struct values *values, size_t *ret_count)
{
    size_t count = select->target_count;

    for (size_t i = 0; i < select->pivot->count; i++) {
        count *= values[i].count;
        if (count > SQL_PIVOT_MAX) {
            return sql_fail(q, GRANARY_EUNSUPPORTED, select->pivot->position,
                            "PIVOT would make more than %d columns: write fewer values, IN ('a', 'b')", SQL_PIVOT_MAX);
        }
    }
    *ret_count = count;
    return true;
}

/* The value of a key in the column-th combination: those of the last key change first. */
static const struct sql_pivot_value *
value_at(const struct sql_pivot *pivot, const struct values *values, size_t column, size_t key)
{
    for (size_t i = pivot->count; i-- > key + 1;) {
        column /= values[i].count;
    }
    return &values[key].list[column % values[key].count];
}

static const char *
column_name(struct sql_statement *q, const struct sql_select *select, const struct values *values, size_t column,
            size_t aggregate)
{
    const struct sql_target *target = &select->targets[aggregate];
    const char *name = value_at(select->pivot, values, column, 0)->name;

    for (size_t i = 1; i < select->pivot->count && name != NULL; i++) {
        name = sql_printf(q, "%s_%s", name, value_at(select->pivot, values, column, i)->name);
    }
    return name == NULL || (select->target_count == 1 && target->alias == NULL)
               ? name
               : sql_printf(q, "%s_%s", name, sql_target_name(target));
}

bool
sql_pivot_outputs(struct sql_statement *q, const struct sql_select *select, const struct sql_from_names *from,
                  const char ***ret_names, size_t *ret_count)
{
    struct gr_buf handled = {0};
    struct values *values;
    size_t columns = 0;
    size_t count = 0;
    const char **names = NULL;
    bool all = false;
    bool ok = known_values(q, select->pivot, &values, &all) && (!all || count_columns(q, select, values, &columns)) &&
              add_handled(q, select, &handled);

    names = ok ? SQL_ARRAY(q, const char *, columns + select->group_count + from->count) : NULL;
    for (size_t i = 0; names != NULL && i < select->group_count; i++) {
        names[count++] = select->group[i]->text;
    }
    for (size_t i = 0; names != NULL && select->group_count == 0 && i < from->count; i++) {
        if (!sql_is_named(&handled, from->names[i])) {
            names[count++] = from->names[i];
        }
    }
    for (size_t i = 0; names != NULL && i < columns && q->err == GRANARY_OK; i++) {
        names[count++] = column_name(q, select, values, i / select->target_count, i % select->target_count);
    }
    gr_buf_free(&handled);
    *ret_names = names;
    *ret_count = count;
    return names != NULL && q->err == GRANARY_OK;
}

/* ---- keys ---- */

/* An expression as text. */
static struct sql_expr *
as_text(struct sql_statement *q, struct sql_expr *expr)
{
    struct sql_expr *cast = SQL_NEW(q, struct sql_expr);

    if (cast != NULL) {
        *cast = (struct sql_expr){.kind = SQL_CAST, .position = expr->position, .text = "string", .count = 1};
        cast->args = SQL_ARRAY(q, struct sql_expr *, 1);
    }
    if (cast == NULL || cast->args == NULL) {
        return NULL;
    }
    cast->args[0] = expr;
    return cast;
}

/* What is pivoted, as a column of text that no star shows. NULL: the statement has failed. */
static const struct sql_column *
key_column(struct sql_block *block, struct sql_expr *expr)
{
    struct sql_statement *q = block->q;
    struct sql_expr *text;
    const char *frame;

    if (!sql_bind(block, expr) || !sql_check_inner(block, expr)) {
        return NULL;
    }
    if (sql_has_aggregate(expr) || sql_has_window(expr) || sql_has(expr, SQL_SUBQUERY) || !sql_has(expr, SQL_COLUMN)) {
        (void)sql_fail(
            q, GRANARY_EINVAL, expr->position,
            "PIVOT takes a column, or what is computed of columns: no constant, aggregate, window or subquery");
        return NULL;
    }
    text = as_text(q, expr);
    frame = text == NULL ? NULL : sql_column_of(block, &block->rel, text);
    if (frame == NULL || !sql_add_column(block, SQL_PIVOTED, sql_printf(q, "key%zu", block->column_count), frame, 0)) {
        return NULL;
    }
    block->columns[block->column_count - 1]->hidden = true;
    return block->columns[block->column_count - 1];
}

/* Ask for the values of a key. */
static bool
ask_key(struct sql_block *block, const struct sql_pivot_key *key, const struct sql_column *column, size_t place)
{
    struct sql_statement *q = block->q;
    const struct sql_answer what = {
        .position = block->select->pivot->position, .place = place, .sorted = key->select == NULL};
    struct sql_result result;
    const char *name;
    const char *text;

    if (block->outer != NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, key->position,
                        "in a subquery that may name columns of the query around, PIVOT needs its values: ON k IN "
                        "('a', 'b')");
    }
    if (key->select == NULL) {
        return sql_ask(q, block->rel, column->frame, &what, key->position);
    }
    if (!sql_plan(q, key->select, true, &result)) {
        return false;
    }
    if (result.count != 1) {
        return sql_fail(q, GRANARY_EINVAL, key->position, "the values of PIVOT are one column, and this has %zu",
                        result.count);
    }
    name = sql_fresh(q, "key");
    text = sql_printf(q, "cast(%s as string)", sql_quoted(q, result.outputs[0].frame));
    return q->err == GRANARY_OK && sql_rel_assign(q, &result.rel, &name, &text, 1, key->position) &&
           sql_ask(q, result.rel, name, &what, key->position);
}

/* ---- aggregates ---- */

/* Whether a key has a value, perhaps the null. */
static struct sql_expr *
has_value(struct sql_block *block, const struct sql_column *column, const char *value)
{
    struct sql_statement *q = block->q;
    struct sql_expr *expr = SQL_NEW(q, struct sql_expr);
    struct sql_expr *literal = SQL_NEW(q, struct sql_expr);
    const int position = block->select->pivot->position;

    if (expr == NULL || literal == NULL) {
        return NULL;
    }
    *literal = (struct sql_expr){
        .kind = SQL_LITERAL, .position = position, .text = value == NULL ? "null" : sql_literal(q, value)};
    *expr = (struct sql_expr){.kind = value == NULL ? SQL_POSTFIX : SQL_INFIX,
                              .position = position,
                              .text = value == NULL ? "is null" : "=",
                              .count = value == NULL ? 1 : 2};
    expr->args = SQL_ARRAY(q, struct sql_expr *, 2);
    if (expr->args == NULL) {
        return NULL;
    }
    expr->args[0] = sql_column_expr(block, column, position);
    expr->args[1] = literal;
    return q->err == GRANARY_OK ? expr : NULL;
}

/* a AND b, of which one may be NULL. */
static struct sql_expr *
both(struct sql_statement *q, struct sql_expr *a, struct sql_expr *b)
{
    struct sql_expr *all;

    if (a == NULL || b == NULL) {
        return a == NULL ? b : a;
    }
    all = SQL_NEW(q, struct sql_expr);
    if (all != NULL) {
        *all = (struct sql_expr){.kind = SQL_AND, .position = b->position, .text = "", .count = 2};
        all->args = SQL_ARRAY(q, struct sql_expr *, 2);
    }
    if (all == NULL || all->args == NULL) {
        return NULL;
    }
    all->args[0] = a;
    all->args[1] = b;
    return all;
}

static struct sql_expr *filtered(struct sql_statement *q, const struct sql_expr *expr, struct sql_expr *condition);

static bool
filter_list(struct sql_statement *q, struct sql_expr ***list, size_t count, struct sql_expr *condition)
{
    struct sql_expr **to = SQL_ARRAY(q, struct sql_expr *, count);

    for (size_t i = 0; to != NULL && i < count; i++) {
        to[i] = filtered(q, (*list)[i], condition);
        if (to[i] == NULL) {
            return false;
        }
    }
    *list = to;
    return to != NULL;
}

/* A copy of an aggregate of the rows alone for which the condition is true. */
static struct sql_expr *
filtered(struct sql_statement *q, const struct sql_expr *expr, struct sql_expr *condition)
{
    struct sql_expr *copy;

    if (expr->kind == SQL_COLUMN) {
        return expr->table != NULL && strcmp(expr->table, SQL_PIVOTED) == 0 ? condition : (struct sql_expr *)expr;
    }
    copy = SQL_NEW(q, struct sql_expr);
    if (copy == NULL) {
        return NULL;
    }
    *copy = *expr;
    copy->condition = expr->condition == NULL ? NULL : filtered(q, expr->condition, condition);
    return filter_list(q, &copy->args, expr->count, condition) && (expr->condition == NULL || copy->condition != NULL)
               ? copy
               : NULL;
}

/* ---- the SELECT ---- */

/* Groups, as the first targets. */
static bool
write_groups(struct sql_block *block, struct sql_select *to)
{
    struct sql_statement *q = block->q;
    const struct sql_select *select = block->select;
    struct gr_buf handled = {0};
    bool ok = add_handled(q, select, &handled);

    to->group_count = 0;
    for (size_t i = 0; ok && i < select->group_count; i++) {
        to->group[to->group_count++] = select->group[i];
    }
    for (size_t i = 0; ok && select->group_count == 0 && i < block->column_count; i++) {
        const struct sql_column *column = block->columns[i];

        if (!column->hidden && !sql_is_named(&handled, column->name)) {
            to->group[to->group_count] = sql_column_expr(block, column, select->pivot->position);
            ok = to->group[to->group_count++] != NULL;
        }
    }
    for (size_t i = 0; ok && i < to->group_count; i++) {
        to->targets[to->target_count++] = (struct sql_target){.expr = to->group[i]};
    }
    gr_buf_free(&handled);
    return ok;
}

static bool
write_column(struct sql_block *block, const struct values *values, const struct sql_column *const *keys, size_t column,
             struct sql_select *to)
{
    struct sql_statement *q = block->q;
    const struct sql_select *select = block->select;
    struct sql_expr *condition = NULL;

    for (size_t i = 0, key = 0; i < select->pivot->count; i++) {
        const struct sql_pivot_value *value = value_at(select->pivot, values, column, i);

        for (size_t k = 0; k < value->count; k++) {
            struct sql_expr *part = has_value(block, keys[key++], value->texts[k]);

            condition = part == NULL ? NULL : both(q, condition, part);
            if (condition == NULL) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < select->target_count; i++) {
        struct sql_target *target = &to->targets[to->target_count++];

        target->expr = filtered(q, select->targets[i].expr, condition);
        target->alias = column_name(q, select, values, column, i);
        if (target->expr == NULL || target->alias == NULL) {
            return false;
        }
    }
    return true;
}

static bool
check_aggregates(struct sql_statement *q, const struct sql_select *select)
{
    for (size_t i = 0; i < select->target_count; i++) {
        const struct sql_expr *expr = select->targets[i].expr;

        if (!sql_has_aggregate(expr) || sql_has_window(expr) || sql_has(expr, SQL_SUBQUERY)) {
            return sql_fail(q, GRANARY_EINVAL, expr->position,
                            "PIVOT takes aggregates, without subqueries and windows: USING sum(x)");
        }
    }
    return true;
}

/* Columns of all that is pivoted. */
static const struct sql_column **
key_columns(struct sql_block *block)
{
    const struct sql_pivot *pivot = block->select->pivot;
    const struct sql_column **keys;
    size_t count = 0;

    for (size_t i = 0; i < pivot->count; i++) {
        count += pivot->keys[i].count;
    }
    keys = SQL_ARRAY(block->q, const struct sql_column *, count);
    count = 0;
    for (size_t i = 0; keys != NULL && i < pivot->count; i++) {
        for (size_t k = 0; k < pivot->keys[i].count; k++) {
            keys[count] = key_column(block, pivot->keys[i].exprs[k]);
            if (keys[count++] == NULL) {
                return NULL;
            }
        }
    }
    return keys;
}

/* The first key of which the values are not known is asked for. */
static bool
ask_missing(struct sql_block *block, const struct sql_column *const *keys)
{
    const struct sql_pivot *pivot = block->select->pivot;

    for (size_t i = 0, key = 0; i < pivot->count; i++) {
        if (pivot->keys[i].is_found && sql_find_answer(block->q, pivot->position, i) == NULL) {
            return ask_key(block, &pivot->keys[i], keys[key], i);
        }
        key += pivot->keys[i].count;
    }
    return true;
}

const struct sql_select *
sql_write_pivot(struct sql_block *block)
{
    struct sql_statement *q = block->q;
    const struct sql_select *select = block->select;
    struct sql_select *to = SQL_NEW(q, struct sql_select);
    const struct sql_column **keys = check_aggregates(q, select) ? key_columns(block) : NULL;
    struct values *values;
    size_t columns = 0;
    bool all = false;

    if (to == NULL || keys == NULL || !known_values(q, select->pivot, &values, &all) ||
        (!all && !ask_missing(block, keys)) || !count_columns(q, select, values, &columns)) {
        return NULL;
    }
    *to = *select;
    to->pivot = NULL;
    to->target_count = 0;
    to->targets = SQL_ARRAY(q, struct sql_target, columns + select->group_count + block->column_count);
    to->group = SQL_ARRAY(q, struct sql_expr *, select->group_count + block->column_count);
    if (q->err != GRANARY_OK || !write_groups(block, to)) {
        return NULL;
    }
    for (size_t i = 0; i < columns / select->target_count; i++) {
        if (!write_column(block, values, keys, i, to)) {
            return NULL;
        }
    }
    return to;
}
