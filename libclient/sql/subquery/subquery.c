/*
 * Subqueries become joins. This file has those that are values, and which of the others a subquery is: a condition (exists.c)
 * or a mark (marks.c). A subquery that names columns of the outer query elsewhere than in equalities is computed for the numbered
 * rows of that (around.c), and joined by the number.
 */
#include <string.h>

#include "sql/block.h"
#include "sql/subquery/subquery.h"

/* The column of a subquery that is a value. NULL: it has another number of them. */
static const char *
value_column(struct sql_statement *q, const struct sql_expr *expr, const struct sql_result *result)
{
    size_t size = expr->row_size > 0 ? expr->row_size : 1;

    if (result->count != size) {
        (void)sql_fail(q, GRANARY_EINVAL, expr->position,
                       size == 1 ? "a subquery that is a value has one column, not %zu"
                                 : "a subquery has %zu columns, and is compared with %zu values",
                       result->count, size);
        return NULL;
    }
    return result->outputs[expr->row_place].frame;
}

/* A value that is an error where there are several rows: of each number, or (NULL) of all. */
static bool
take_single(struct sql_statement *q, struct sql_rel *rel, const char *number, const char *value, int position,
            const char **ret_value)
{
    const char *rows = sql_fresh(q, "rows");
    const char *text = q->err != GRANARY_OK ? NULL : sql_printf(q, "single(%s, `%s`)", sql_quoted(q, value), rows);

    *ret_value = sql_fresh(q, "value");
    return q->err == GRANARY_OK && (number != NULL || sql_rel_head(q, rel, 0, 2, position)) &&
           sql_rel_window(q, rel, rows, "size()",
                          &(struct sql_window_spec){
                              .partition = &number, .partition_count = number != NULL, .position = position}) &&
           sql_rel_assign(q, rel, ret_value, &text, 1, position);
}

/* A value beside every row, or null when there is none. */
static bool
join_perhaps(struct sql_block *block, struct sql_rel *value, int position)
{
    struct sql_statement *q = block->q;
    struct correlation c = {.outer = SQL_ARRAY(q, const char *, 1), .inner = SQL_ARRAY(q, const char *, 1)};

    return q->err == GRANARY_OK && sub_add_any_key(q, &block->rel, value, position, &c) &&
           sub_left_join(block, value, &c, position);
}

/* (SELECT ...) that names nothing of the outer query: one row, beside every row. */
static bool
join_value(struct sql_block *block, struct sql_expr *expr)
{
    struct sql_statement *q = block->q;
    bool plain = sub_is_plain(expr->select);
    struct sql_block *sub = plain ? sub_begin(block, expr->select, true) : NULL;
    struct sql_result result;
    const char *name;

    if (plain ? sub == NULL || !sql_block_finish(sub, false, &result) : !sql_plan(q, expr->select, false, &result)) {
        return false;
    }
    name = value_column(q, expr, &result);
    if (name == NULL || !sql_rel_select(q, &result.rel, &name, 1, expr->position)) {
        return false;
    }
    if (!plain || !sub_is_one_row(expr->select)) {
        return take_single(q, &result.rel, NULL, name, expr->position, &name) &&
               sql_rel_select(q, &result.rel, &name, 1, expr->position) &&
               join_perhaps(block, &result.rel, expr->position) && sql_name_expr(block, expr, sql_quoted(q, name));
    }
    return sql_rel_join(q, &block->rel, &result.rel,
                        &(struct sql_join_spec){.how = "inner", .position = expr->position}) &&
           sql_name_expr(block, expr, sql_quoted(q, name));
}

/* A value for each row of the outer query, whatever the subquery is. */
static bool
join_numbered_value(struct sql_block *block, struct sql_expr *expr, const struct sql_reached *reached)
{
    struct sql_statement *q = block->q;
    struct correlation c = {.outer = SQL_ARRAY(q, const char *, 1), .inner = SQL_ARRAY(q, const char *, 1)};
    const char *columns[2];
    const char *names[2];
    const char *texts[2];
    struct sql_result result;

    if (c.outer == NULL || c.inner == NULL || !sub_plan_query(block, &block->rel, expr, reached, &c, &result)) {
        return false;
    }
    columns[0] = c.inner[0];
    columns[1] = value_column(q, expr, &result);
    if (columns[1] == NULL) {
        return false;
    }
    if (!(sub_is_plain(expr->select) && sub_is_one_row(expr->select)) &&
        !take_single(q, &result.rel, columns[0], columns[1], expr->position, &columns[1])) {
        return false;
    }
    for (int i = 0; i < 2 && q->err == GRANARY_OK; i++) {
        texts[i] = sql_quoted(q, columns[i]);
        names[i] = sql_fresh(q, i == 0 ? "outer" : "value");
    }
    c.inner[0] = names[0];
    return q->err == GRANARY_OK && sql_rel_project(q, &result.rel, names, texts, 2, expr->position) &&
           sub_left_join(block, &result.rel, &c, expr->position) && sql_name_expr(block, expr, sql_quoted(q, names[1]));
}

/* One value for each value of the outer query's columns, of aggregates by those. It is computed beside the outer row,
 * where a group that is missing has aggregates of nothing. */
static bool
join_correlated_value(struct sql_block *block, struct sql_block *sub, struct sql_expr *expr)
{
    struct sql_statement *q = block->q;
    struct sql_expr *target = expr->select->targets[0].expr;
    const char *value = sql_fresh(q, "value");
    const char *text;
    struct correlation c;

    if (!sub_correlate(block, &block->rel, sub, 0, &c)) {
        return false;
    }
    if (c.rest != NULL) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, c.rest_position,
                        "this condition on columns of the outer query is not supported in a subquery that is a value");
    }
    if (!sql_bind(sub, target) || !sql_check_inner(sub, target)) {
        return false;
    }
    sub->sparse = true;
    if (!sql_group(sub, c.inner, c.count, &target, 1, expr->position)) {
        return false;
    }
    sub->grouped = true;
    text = sql_text(sub, target);
    return text != NULL && value != NULL && sub_left_join(block, &sub->rel, &c, expr->position) &&
           sql_rel_assign(q, &block->rel, &value, &text, 1, expr->position) &&
           sql_name_expr(block, expr, sql_quoted(q, value));
}

static bool
join_scalar(struct sql_block *block, struct sql_expr *expr)
{
    const struct sql_select *select = expr->select;
    struct sql_reached reached;
    struct sql_block *sub;

    if (!sql_reach_out(block, select, &reached)) {
        return false;
    }
    if (reached.count == 0) {
        return join_value(block, expr);
    }
    if (!sub_is_plain(select) || reached.beyond || reached.others > 0 || !sub_is_one_group(select) ||
        expr->row_size > 0 || select->target_count != 1 || sql_star_in(select->targets[0].expr) != NULL ||
        select->set_count > 0 || select->distinct || sql_has(select->targets[0].expr, SQL_SUBQUERY) ||
        sql_has_window(select->targets[0].expr)) {
        return join_numbered_value(block, expr, &reached);
    }
    sub = sub_begin(block, select, true);
    return sub != NULL && join_correlated_value(block, sub, expr);
}

bool
sql_join_subqueries(struct sql_block *block, struct sql_expr *expr)
{
    if (expr->kind == SQL_SUBQUERY) {
        for (size_t i = 0; i < block->named_count; i++) {
            if (block->named[i].expr == expr) {
                return true;
            }
        }
        for (size_t i = 0; i < expr->count && expr->subquery == SQL_ANY; i++) {
            if (sql_has(expr->args[i], SQL_SUBQUERY) && !sql_join_subqueries(block, expr->args[i])) {
                return false;
            }
        }
        return expr->subquery == SQL_SCALAR ? join_scalar(block, expr)
               : sub_compares_null(expr)    ? sub_mark_null(block, expr)
                                            : sub_mark_matches(block, expr);
    }
    if (expr->kind == SQL_RANDOM) {
        return sql_number_random(block, expr);
    }
    if (expr->kind == SQL_LAMBDA && sql_has(expr, SQL_RANDOM)) {
        return true; /* each item would need a number: it is refused where it is written */
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (!sql_join_subqueries(block, expr->args[i])) {
            return false;
        }
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->partition_count; i++) {
        if (!sql_join_subqueries(block, expr->over->partition[i])) {
            return false;
        }
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->order_count; i++) {
        if (!sql_join_subqueries(block, expr->over->order[i].expr)) {
            return false;
        }
    }
    return expr->condition == NULL || sql_join_subqueries(block, expr->condition);
}

bool
sql_filter_subquery(struct sql_block *block, struct sql_rel *rel, struct sql_expr *conjunct)
{
    struct sql_expr *expr = conjunct;
    bool negated = false;
    const char *text;

    while (expr->kind == SQL_PREFIX && strcmp(expr->text, "not") == 0) {
        negated = !negated;
        expr = expr->args[0];
    }
    if (expr->kind == SQL_SUBQUERY && expr->subquery != SQL_SCALAR && !sub_compares_null(expr)) {
        return sub_filter_matches(block, rel, expr, negated);
    }
    block->rel = *rel; /* which values are joined to */
    if (!sql_join_subqueries(block, conjunct)) {
        return false;
    }
    *rel = block->rel;
    text = sql_text(block, conjunct);
    return text != NULL && sql_rel_filter(block->q, rel, text, conjunct->position);
}
