/*
 * WITH RECURSIVE. Its query is the rows with which it begins, UNION or UNION ALL, and a query that names it, which has
 * the rows of the round before. Both become nodes; the second one's are the body of the operator `recurse`.
 */
#include <string.h>
#include <strings.h>

#include "sql/block.h"

#define ROUNDS_GUESSED 10

/* ---- whether it names itself ---- */

static bool select_names(const struct sql_select *select, const char *name);

static bool order_names(const struct sql_order *order, size_t count, const char *name);

static bool
expr_names(const struct sql_expr *expr, const char *name)
{
    bool names = expr != NULL && expr->select != NULL && select_names(expr->select, name);

    for (size_t i = 0; expr != NULL && i < expr->count && !names; i++) {
        names = expr_names(expr->args[i], name);
    }
    if (expr != NULL && expr->over != NULL && !names) {
        names = order_names(expr->over->order, expr->over->order_count, name);
        for (size_t i = 0; i < expr->over->partition_count && !names; i++) {
            names = expr_names(expr->over->partition[i], name);
        }
        names = names || expr_names(expr->over->bounds[0].distance, name) ||
                expr_names(expr->over->bounds[1].distance, name);
    }
    for (size_t i = 0; expr != NULL && expr->star != NULL && i < expr->star->replace_count && !names; i++) {
        names = expr_names(expr->star->replace[i].expr, name);
    }
    return names || (expr != NULL && expr_names(expr->condition, name));
}

static bool
order_names(const struct sql_order *order, size_t count, const char *name)
{
    bool names = false;

    for (size_t i = 0; i < count && !names; i++) {
        names = expr_names(order[i].expr, name);
    }
    return names;
}

static bool
from_names(const struct sql_from *from, const char *name)
{
    bool names =
        from != NULL && ((from->kind == SQL_FROM_TABLE && strcasecmp(from->name, name) == 0) ||
                         (from->kind == SQL_FROM_SELECT && select_names(from->select, name)) ||
                         from_names(from->left, name) || from_names(from->right, name) || expr_names(from->on, name));

    for (size_t i = 0; from != NULL && i < from->list_count && !names; i++) {
        names = expr_names(from->lists[i], name);
    }
    return names;
}

static bool
parts_name(const struct sql_select *select, const char *name)
{
    bool names = expr_names(select->where, name) || expr_names(select->having, name) ||
                 expr_names(select->qualify, name) || order_names(select->order, select->order_count, name);

    for (size_t i = 0; i < select->from_count && !names; i++) {
        names = from_names(select->from[i], name);
    }
    for (size_t i = 0; i < select->target_count && !names; i++) {
        names = expr_names(select->targets[i].expr, name);
    }
    for (size_t i = 0; i < select->group_count && !names; i++) {
        names = expr_names(select->group[i], name);
    }
    return names;
}

/* Its own WITH may have given the name to something else. */
static bool
select_names(const struct sql_select *select, const char *name)
{
    for (size_t i = 0; i < select->with_count; i++) {
        if (select_names(select->with[i].select, name)) {
            return true;
        }
        if (strcasecmp(select->with[i].name, name) == 0) {
            return false;
        }
    }
    return select->set != SQL_NO_SET ? select_names(select->left, name) || select_names(select->right, name) ||
                                           order_names(select->order, select->order_count, name)
                                     : parts_name(select, name);
}

/* ---- its rounds ---- */

/* What the rounds have so many columns for. Columns that come twice get two names. */
static bool
name_columns(struct sql_statement *q, struct sql_result *result, int position)
{
    const char **names = SQL_ARRAY(q, const char *, result->count);
    const char **texts = SQL_ARRAY(q, const char *, result->count);

    for (size_t i = 0; i < result->count && names != NULL && texts != NULL; i++) {
        names[i] = sql_fresh(q, result->outputs[i].name);
        texts[i] = sql_quoted(q, result->outputs[i].frame);
        result->outputs[i].frame = names[i];
    }
    return q->err == GRANARY_OK && sql_rel_project(q, &result->rel, names, texts, result->count, position);
}

/* The columns of a round under the names of those before. */
static bool
name_as(struct sql_statement *q, struct sql_result *made, const struct sql_result *first, int position)
{
    const char **names = SQL_ARRAY(q, const char *, first->count);
    const char **texts = SQL_ARRAY(q, const char *, first->count);

    for (size_t i = 0; i < first->count && names != NULL && texts != NULL; i++) {
        names[i] = first->outputs[i].frame;
        texts[i] = sql_quoted(q, made->outputs[i].frame);
    }
    return q->err == GRANARY_OK && sql_rel_project(q, &made->rel, names, texts, first->count, position);
}

static bool
name_outputs(struct sql_statement *q, const struct sql_with *with, struct sql_result *result)
{
    if (with->column_count > result->count) {
        return sql_fail(q, GRANARY_EINVAL, with->position, "'%s' has %zu columns, but %zu names are given", with->name,
                        result->count, with->column_count);
    }
    for (size_t i = 0; i < with->column_count; i++) {
        result->outputs[i].name = with->columns[i];
    }
    return true;
}

/* The rows of the round before, as a table. */
static bool
add_round(struct sql_statement *q, const struct sql_with *with, const struct sql_result *first,
          struct sql_result *ret_round)
{
    granary_node node = sql_node(q, "round_rows", with->position, &first->rel.node, 1);
    const char *name = sql_fresh(q, with->name);

    *ret_round = *first;
    ret_round->rel.node = node;
    if (node != GRANARY_NO_NODE && name != NULL) {
        granary_node_set_string(q->graph, node, "recursion", name);
    }
    return node != GRANARY_NO_NODE && q->err == GRANARY_OK;
}

/* ---- rounds that see all rows ---- */

/* Whether its rounds see more than the rows of the round before. */
static bool
sees_all(const struct sql_statement *q, const struct sql_with *with)
{
    bool sees = with->key_count > 0;

    for (const struct sql_from *from = q->named; from != NULL && !sees; from = from->before) {
        sees = from->recurring && strcasecmp(from->name, with->name) == 0;
    }
    return sees;
}

/* A last column that tells which rows are of the round before. */
static bool
add_fresh(struct sql_statement *q, struct sql_result *result, int position)
{
    const char *name = sql_fresh(q, "fresh");
    const char *text = "cast(1 as int64)";
    struct sql_output *outputs = SQL_ARRAY(q, struct sql_output, result->count + 1);

    if (name == NULL || outputs == NULL || !sql_rel_assign(q, &result->rel, &name, &text, 1, position)) {
        return false;
    }
    memcpy(outputs, result->outputs, result->count * sizeof *outputs);
    outputs[result->count++] = (struct sql_output){"fresh", name};
    result->outputs = outputs;
    return true;
}

/* The rows of a round without that column: those of the round before, or all. */
static bool
cut_round(struct sql_statement *q, const struct sql_result *all, const char *condition, int position,
          struct sql_result *ret_rows)
{
    const char *fresh = sql_quoted(q, all->outputs[all->count - 1].frame);

    *ret_rows = *all;
    ret_rows->count--;
    return fresh != NULL && sql_rel_filter(q, &ret_rows->rel, sql_printf(q, "%s %s", fresh, condition), position);
}

/* By what rows replace others: also of each row of the query around. */
static bool
set_keys(struct sql_statement *q, const struct sql_with *with, const struct sql_result *result, bool numbered,
         granary_node node)
{
    const char **keys = SQL_ARRAY(q, const char *, with->key_count + 1);
    size_t count = 0;

    for (size_t k = 0; k < with->key_count && keys != NULL; k++) {
        size_t i = 0;

        while (i + 1 < result->count && strcasecmp(result->outputs[i].name, with->keys[k]) != 0) {
            i++;
        }
        if (i + 1 == result->count) {
            return sql_fail(q, GRANARY_ENOENT, with->position, "USING KEY: '%s' has no column '%s'", with->name,
                            with->keys[k]);
        }
        keys[count++] = result->outputs[i].frame;
    }
    if (numbered && count > 0 && keys != NULL) {
        keys[count++] = result->outputs[result->count - 2].frame;
    }
    granary_node_set_string(q->graph, node, "fresh", result->outputs[result->count - 1].frame);
    if (count > 0 && keys != NULL) {
        granary_node_set_strings(q->graph, node, "keys", keys, sql_without_twins(keys, count));
    }
    return keys != NULL;
}

static bool
add_recursion(struct sql_statement *q, const struct sql_with *with, const struct sql_result *round,
              struct sql_result *made, struct sql_result *result)
{
    granary_node inputs[2] = {round->rel.node, GRANARY_NO_NODE};
    granary_node node;

    if (made->count != result->count) {
        return sql_fail(q, GRANARY_EINVAL, with->select->position, "one side lists %zu values, the other %zu",
                        result->count, made->count);
    }
    if (!name_as(q, made, result, with->select->position)) {
        return false;
    }
    inputs[1] = made->rel.node;
    node = sql_node(q, "recurse", with->position, inputs, 2);
    if (node != GRANARY_NO_NODE) {
        granary_node_set_bool(q->graph, node, "distinct", !with->select->all);
    }
    result->rel.node = node;
    result->rel.rows = (result->rel.rows + made->rel.rows) * ROUNDS_GUESSED;
    result->rel.base = result->rel.rows;
    return node != GRANARY_NO_NODE;
}

static bool
check_clauses(struct sql_statement *q, const struct sql_with *with)
{
    const struct sql_select *select = with->select;

    if (select->order_count > 0 || select->order_all != NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED,
                        select->order_count > 0 ? select->order[0].expr->position : with->position,
                        "ORDER BY of all rounds of '%s' is not supported: put it into the query that reads '%s'",
                        with->name, with->name);
    }
    return (select->limit < 0 && select->offset == 0) ||
           sql_fail(q, GRANARY_EUNSUPPORTED, with->position,
                    "LIMIT or OFFSET of all rounds of '%s' is not supported: a condition in its second query ends it",
                    with->name);
}

/* The number of the row of the query around becomes the last column. */
static bool
add_number(struct sql_statement *q, struct sql_result *result)
{
    struct sql_output *outputs = SQL_ARRAY(q, struct sql_output, result->count + 1);

    for (size_t i = 0; i < result->count && outputs != NULL; i++) {
        outputs[i] = result->outputs[i];
    }
    if (outputs != NULL && result->number != NULL) {
        outputs[result->count++] = (struct sql_output){"outer", result->number};
    }
    result->outputs = outputs;
    return outputs != NULL;
}

/* By itself, or for each row of the query around. */
static bool
plan_part(struct sql_statement *q, const struct sql_select *select, const struct sql_around *around,
          struct sql_result *ret_result)
{
    return (around == NULL ? sql_plan(q, select, false, ret_result) : sql_plan_for(q, select, around, ret_result)) &&
           (around != NULL || (ret_result->number = NULL) == NULL);
}

/* The rows with which it begins, and then, until a round makes none, what the second query makes of the round before. */
static bool
plan_rounds(struct sql_statement *q, struct sql_with *with, const struct sql_around *around, struct sql_result *result)
{
    const struct sql_select *select = with->select;
    const bool all = sees_all(q, with);
    struct sql_result round = {0};
    struct sql_result fresh;
    struct sql_result recurring;
    struct sql_result made;
    bool ok = check_clauses(q, with) && plan_part(q, select->left, around, result) && name_outputs(q, with, result) &&
              add_number(q, result) && (!all || add_fresh(q, result, select->position)) &&
              name_columns(q, result, select->position) && add_round(q, with, result, &round);

    fresh = recurring = round;
    if (!ok || (all && (!cut_round(q, &round, ">= 1", select->position, &fresh) ||
                        !cut_round(q, &round, "<= 1", select->position, &recurring)))) {
        return false;
    }
    with->state = SQL_WITH_ROUND;
    with->result = &fresh;
    with->recurring = all ? &recurring : NULL;
    ok = plan_part(q, select->right, around, &made);
    with->result = NULL;
    with->recurring = NULL;
    with->used = false;
    if (!ok || !add_number(q, &made) || (all && !add_fresh(q, &made, select->position)) ||
        !add_recursion(q, with, &round, &made, result) ||
        (all && !set_keys(q, with, result, around != NULL, result->rel.node))) {
        return false;
    }
    result->count -= all;
    if (around != NULL) {
        result->number = result->outputs[--result->count].frame;
    }
    return true;
}

bool
sql_plan_recursive(struct sql_statement *q, struct sql_with *with, const struct sql_around *around,
                   struct sql_result *ret_result)
{
    const struct sql_select *select = with->select;
    const struct sql_names names = {select->with, select->with_count, q->names};
    const struct sql_names *before = q->names;
    bool ok;

    with->state = SQL_WITH_FIRST;
    if (select->by_name && select_names(select, with->name)) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, select->position, "BY NAME in WITH RECURSIVE is not supported");
    }
    if (with->key_count > 0 && (select->set != SQL_UNION || !select_names(select->right, with->name))) {
        return sql_fail(q, GRANARY_EINVAL, with->position,
                        "USING KEY is of a recursive query: a SELECT, UNION ALL, and a SELECT that names '%s'",
                        with->name);
    }
    if (select->set == SQL_UNION && select_names(select->right, with->name)) {
        q->names = &names;
        ok = plan_rounds(q, with, around, ret_result);
        q->names = before;
    } else {
        ok = around == NULL ? sql_plan(q, select, true, ret_result) : sql_plan_for(q, select, around, ret_result);
    }
    with->state = SQL_WITH_QUERY;
    return ok;
}

bool
sql_check_recursive(struct sql_statement *q, const struct sql_with *with, int position)
{
    return with->state != SQL_WITH_FIRST ||
           sql_fail(
               q, GRANARY_EINVAL, position,
               "'%s' names itself here: a recursive query is a SELECT that does not name it, UNION or UNION ALL, and "
               "a SELECT that does",
               with->name);
}
