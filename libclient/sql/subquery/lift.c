/*
 * Aggregates in subqueries that are of the query around: the standard has it that an aggregate is of the query whose columns it
 * names. They are computed beside the other aggregates of that query, and the subquery names their columns.
 */
#include <string.h>

#include "sql/block.h"

/* Those in the subqueries of an expression. */
static bool
find_in(struct sql_block *block, const struct sql_expr *expr, struct sql_lifts *lifts)
{
    if (expr->kind == SQL_SUBQUERY && !sql_find_lifts(block, expr->select, lifts)) {
        return false;
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (!find_in(block, expr->args[i], lifts)) {
            return false;
        }
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->partition_count; i++) {
        if (!find_in(block, expr->over->partition[i], lifts)) {
            return false;
        }
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->order_count; i++) {
        if (!find_in(block, expr->over->order[i].expr, lifts)) {
            return false;
        }
    }
    return expr->condition == NULL || find_in(block, expr->condition, lifts);
}

/* An expression as it was written, bound to the block. */
static struct sql_expr *
copy_bound(struct sql_block *block, const struct sql_expr *expr)
{
    struct sql_expr *copy = SQL_NEW(block->q, struct sql_expr);
    struct sql_expr **args = SQL_ARRAY(block->q, struct sql_expr *, expr->count + 1);

    if (copy == NULL || args == NULL) {
        return NULL;
    }
    *copy = *expr;
    copy->args = args;
    for (size_t i = 0; i < expr->count; i++) {
        args[i] = copy_bound(block, expr->args[i]);
        if (args[i] == NULL) {
            return NULL;
        }
    }
    copy->condition = expr->condition == NULL ? NULL : copy_bound(block, expr->condition);
    return (expr->condition != NULL && copy->condition == NULL) || (expr->kind == SQL_COLUMN && !sql_bind(block, copy))
               ? NULL
               : copy;
}

/* Its place in the subquery is taken by the column that it becomes. A query that is planned again has another one. */
static bool
take_out(struct sql_block *block, struct sql_expr *expr)
{
    const struct sql_expr *was = expr->lifted != NULL ? expr->lifted : expr;
    struct sql_expr *kept = SQL_NEW(block->q, struct sql_expr);
    struct sql_expr *bound = copy_bound(block, was);
    const char *name = sql_fresh(block->q, "aggregate");

    if (kept == NULL || bound == NULL || name == NULL) {
        return false;
    }
    *kept = *was;
    *expr = (struct sql_expr){
        .kind = SQL_COLUMN, .position = was->position, .text = name, .written = was->written, .lifted = kept};
    block->lifted[block->lifted_count++] = (struct sql_lifted){bound, name};
    return true;
}

bool
sql_lift_aggregates(struct sql_block *block, struct sql_expr *const *exprs, size_t count)
{
    struct sql_lifts lifts = {.count = 0};

    for (size_t i = 0; i < count; i++) {
        if (exprs[i] != NULL && sql_has(exprs[i], SQL_SUBQUERY) && !find_in(block, exprs[i], &lifts)) {
            return false;
        }
    }
    block->lifted_count = 0;
    block->lifted = SQL_ARRAY(block->q, struct sql_lifted, lifts.count + 1);
    for (size_t i = 0; i < lifts.count && block->lifted != NULL; i++) {
        bool known = false;

        for (size_t k = 0; k < i; k++) {
            known = known || lifts.exprs[k] == lifts.exprs[i];
        }
        if (!known && !take_out(block, lifts.exprs[i])) {
            return false;
        }
    }
    return block->lifted != NULL;
}

bool
sql_name_lifted(struct sql_block *block)
{
    for (size_t i = 0; i < block->lifted_count; i++) {
        const struct sql_lifted *lifted = &block->lifted[i];
        const char *text = sql_text(block, lifted->expr);
        struct sql_expr *column = SQL_NEW(block->q, struct sql_expr);

        if (text == NULL || column == NULL ||
            !sql_rel_assign(block->q, &block->rel, &lifted->name, &text, 1, lifted->expr->position) ||
            !sql_add_column(block, NULL, lifted->name, lifted->name, 0)) {
            return false;
        }
        *column = (struct sql_expr){.kind = SQL_COLUMN,
                                    .position = lifted->expr->position,
                                    .text = lifted->name,
                                    .column = block->columns[block->column_count - 1]};
        if (!sql_name_expr(block, column, sql_quoted(block->q, lifted->name))) {
            return false;
        }
    }
    return true;
}
