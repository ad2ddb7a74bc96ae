/* Trees of views: their places are those of another text than the statement's. */
#include "sql/from/view.h"

static void place_expr(struct sql_expr *expr, int position);

static void
place_exprs(struct sql_expr **exprs, size_t count, int position)
{
    for (size_t i = 0; i < count; i++) {
        place_expr(exprs[i], position);
    }
}

static void
place_order(struct sql_order *order, size_t count, int position)
{
    for (size_t i = 0; i < count; i++) {
        place_expr(order[i].expr, position);
    }
}

static void
place_targets(struct sql_target *targets, size_t count, int position)
{
    for (size_t i = 0; i < count; i++) {
        place_expr(targets[i].expr, position);
    }
}

static void
place_star(struct sql_star *star, int position)
{
    if (star != NULL) {
        place_exprs(star->exclude, star->exclude_count, position);
        place_targets(star->replace, star->replace_count, position);
        place_targets(star->rename, star->rename_count, position);
    }
}

static void
place_expr(struct sql_expr *expr, int position)
{
    if (expr == NULL) {
        return;
    }
    expr->position = position;
    place_exprs(expr->args, expr->count, position);
    place_expr(expr->condition, position);
    place_order(expr->unseen, expr->unseen_count, position);
    place_star(expr->star, position);
    if (expr->over != NULL) {
        expr->over->position = position;
        place_exprs(expr->over->partition, expr->over->partition_count, position);
        place_order(expr->over->order, expr->over->order_count, position);
        place_expr(expr->over->bounds[0].distance, position);
        place_expr(expr->over->bounds[1].distance, position);
    }
    sql_place_select(expr->select, position);
}

static void
place_from(struct sql_from *from, int position)
{
    if (from == NULL) {
        return;
    }
    from->position = position;
    sql_place_select(from->select, position);
    place_exprs(from->lists, from->list_count, position);
    place_from(from->left, position);
    place_from(from->right, position);
    place_expr(from->on, position);
    for (size_t i = 0; from->file != NULL && i < from->file->count; i++) {
        from->file->options[i].position = position;
    }
}

void
sql_place_select(struct sql_select *select, int position)
{
    if (select == NULL) {
        return;
    }
    select->position = position;
    for (size_t i = 0; i < select->with_count; i++) {
        select->with[i].position = position;
        sql_place_select(select->with[i].select, position);
    }
    sql_place_select(select->left, position);
    sql_place_select(select->right, position);
    place_targets(select->targets, select->target_count, position);
    for (size_t i = 0; i < select->from_count; i++) {
        place_from(select->from[i], position);
    }
    place_expr(select->where, position);
    place_exprs(select->group, select->group_count, position);
    place_expr(select->having, position);
    place_expr(select->qualify, position);
    place_order(select->order, select->order_count, position);
}
