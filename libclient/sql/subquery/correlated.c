/*
 * What a subquery has to do with the query around it: its equalities with the outer query's columns are the keys of a join, the
 * rest of its conditions must hold of a pair of rows. And of which form it is, which tells how it may be joined.
 */
#include <string.h>

#include "sql/block.h"
#include "sql/subquery/subquery.h"

/* Whether an expression names columns of `outer` only. */
static bool
is_of(const struct sql_block *outer, const struct sql_expr *expr)
{
    bool is = expr->kind != SQL_SUBQUERY && (expr->kind != SQL_COLUMN || expr->column->block == outer);

    for (size_t i = 0; i < expr->count && is; i++) {
        is = is_of(outer, expr->args[i]);
    }
    return is;
}

static bool
has_column(const struct sql_expr *expr)
{
    return sql_has(expr, SQL_COLUMN);
}

/* Columns must be of the subquery or of the query around it. */
static bool
check_reach(const struct sql_block *sub, const struct sql_expr *expr)
{
    if (expr->kind == SQL_COLUMN && expr->column->block != sub && expr->column->block != sub->outer) {
        return sql_fail(sub->q, GRANARY_EUNSUPPORTED, expr->position,
                        "'%s' is a column of a query further out: only the query right around can be referred to",
                        expr->text);
    }
    if (expr->kind == SQL_SUBQUERY) {
        return sql_fail(sub->q, GRANARY_EUNSUPPORTED, expr->position,
                        "a subquery in a condition on columns of the outer query is not supported");
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (!check_reach(sub, expr->args[i])) {
            return false;
        }
    }
    return true;
}

/* Which argument of an equality with the outer query is of that one; -1: it is no such equality. */
static int
outer_side(const struct sql_block *block, const struct sql_block *sub, const struct sql_expr *expr)
{
    int outer = -1;

    for (int side = 0; expr->kind == SQL_INFIX && strcmp(expr->text, "=") == 0 && side < 2; side++) {
        if (is_of(block, expr->args[side]) && has_column(expr->args[side]) && is_of(sub, expr->args[1 - side]) &&
            has_column(expr->args[1 - side])) {
            outer = side;
        }
    }
    return outer;
}

bool
sub_reduce(struct sql_statement *q, struct sql_rel *rel, const struct sql_rel *by, const char *const *keys,
           const char *const *by_keys, size_t count, int position)
{
    double rows = SUB_REDUCE_FACTOR * by->rows;

    rel->rows = rows < rel->rows ? rows : rel->rows;
    return sql_rel_join(q, rel, by,
                        &(struct sql_join_spec){
                            .how = "semi", .left_on = keys, .right_on = by_keys, .count = count, .position = position});
}

bool
sub_correlate(struct sql_block *block, struct sql_rel *rel, struct sql_block *sub, size_t extra,
              struct correlation *ret_correlation)
{
    struct sql_statement *q = block->q;
    size_t room = sub->correlated_count + extra;
    struct correlation c = {.outer = SQL_ARRAY(q, const char *, room), .inner = SQL_ARRAY(q, const char *, room)};

    for (size_t i = 0; i < sub->correlated_count && q->err == GRANARY_OK; i++) {
        struct sql_expr *expr = sub->correlated[i];
        int outer;

        if (!check_reach(sub, expr)) {
            return false;
        }
        outer = outer_side(block, sub, expr);
        if (outer < 0) {
            const char *text = sql_text(sub, expr);

            c.rest = c.rest == NULL || text == NULL ? text : sql_printf(q, "%s and %s", c.rest, text);
            c.rest_position = expr->position;
            continue;
        }
        c.outer[c.count] =
            sql_other_column(q, rel, c.outer, c.count, sql_column_of(block, rel, expr->args[outer]), expr->position);
        c.inner[c.count] = sql_other_column(q, &sub->rel, c.inner, c.count,
                                            sql_column_of(sub, &sub->rel, expr->args[1 - outer]), expr->position);
        c.count++;
    }
    *ret_correlation = c;
    return q->err == GRANARY_OK;
}

/*
 * A value for each row of the outer query is an aggregate over some rows of the subquery: those that some row of the
 * outer query asks for. Others are left out before anything is computed of them ("magic sets"). A table of the
 * subquery is reduced by what its own columns are equal to.
 */
static bool
reduce_item(struct sql_block *block, struct sql_block *sub, int item)
{
    struct sql_statement *q = block->q;
    struct sql_rel *rel = &sub->items[item];
    size_t room = sub->correlated_count;
    const char **outer = SQL_ARRAY(q, const char *, room);
    const char **inner = SQL_ARRAY(q, const char *, room);
    size_t count = 0;

    for (size_t i = 0; i < sub->correlated_count && q->err == GRANARY_OK; i++) {
        const struct sql_expr *expr = sub->correlated[i];
        int side = outer_side(block, sub, expr);

        if (side >= 0 && sql_mask(sub, expr->args[1 - side]) == (uint64_t)1 << item) {
            outer[count] = sql_other_column(q, &block->rel, outer, count,
                                            sql_column_of(block, &block->rel, expr->args[side]), expr->position);
            inner[count] =
                sql_other_column(q, rel, inner, count, sql_column_of(sub, rel, expr->args[1 - side]), expr->position);
            count++;
        }
    }
    if (q->err != GRANARY_OK) {
        return false;
    }
    return count == 0 || sub_reduce(q, rel, &block->rel, inner, outer, count, sub->select->position);
}

static bool
reduce_items(struct sql_block *block, struct sql_block *sub)
{
    for (int item = 0; item < (int)sub->item_count; item++) {
        if (sub->items[item].rows > SUB_REDUCE_FACTOR * block->rel.rows && !reduce_item(block, sub, item)) {
            return false;
        }
    }
    return true;
}

/* Whether it reads tables alone, and no expression of its FROM and WHERE becomes a text that names their columns. */
static bool
reads_tables(struct sql_statement *q, const struct sql_select *select)
{
    bool only = select->where == NULL || !sql_has(select->where, SQL_SUBQUERY);

    for (size_t i = 0; i < select->from_count && only; i++) {
        only = select->from[i]->kind == SQL_FROM_TABLE && sql_find_with(q, select->from[i]->name) == NULL;
    }
    return only;
}

/* Its tables' columns alone, under names that the query around does not have. */
static bool
part_names(struct sql_block *sub)
{
    struct sql_statement *q = sub->q;
    const char **names = SQL_ARRAY(q, const char *, sub->column_count);
    const char **texts = SQL_ARRAY(q, const char *, sub->column_count);

    for (size_t i = 0; i < sub->column_count && q->err == GRANARY_OK; i++) {
        struct sql_column *column = sub->columns[i];

        texts[i] = sql_quoted(q, column->frame);
        column->frame = sql_take_name(q, column->frame) ? column->frame : sql_fresh(q, column->name);
        names[i] = column->frame;
    }
    return q->err == GRANARY_OK &&
           sql_rel_project(q, &sub->rel, names, texts, sub->column_count, sub->select->position);
}

/*
 * Tables are joined under their own names, and columns renamed afterwards: so steps that the query around has, too, are
 * equal to its, and are done once.
 */
static bool
join_subquery(struct sql_block *block, struct sql_block *sub, bool reduces)
{
    struct sql_taken around = block->q->taken;
    bool apart = reads_tables(block->q, sub->select);
    bool ok;

    if (apart) {
        block->q->taken = (struct sql_taken){.count = 0};
    }
    ok = sql_block_tables(sub) && (!reduces || reduce_items(block, sub)) && sql_join_items(sub);
    if (apart) {
        block->q->taken = around;
    }
    return ok && (!apart || part_names(sub));
}

struct sql_block *
sub_begin(struct sql_block *block, const struct sql_select *select, bool reduces)
{
    struct sql_block *sub = SQL_NEW(block->q, struct sql_block);

    if (sub == NULL) {
        return NULL;
    }
    *sub = (struct sql_block){.q = block->q, .select = select, .outer = block};
    return join_subquery(block, sub, reduces) ? sub : NULL;
}

static bool
is_grouped(const struct sql_select *select)
{
    bool grouped = sql_groups(select);

    for (size_t i = 0; i < select->target_count && !grouped; i++) {
        grouped = sql_has_aggregate(select->targets[i].expr);
    }
    return grouped;
}

/* Whether not all of its rows are left. */
static bool
cuts(const struct sql_select *select)
{
    return select->limit >= 0 || select->offset > 0 || select->distinct_on > 0;
}

bool
sub_is_one_group(const struct sql_select *select)
{
    return is_grouped(select) && select->group_count == 0 && !select->group_all && select->qualify == NULL &&
           select->set_count < 2 && select->having == NULL && select->limit != 0 && select->offset == 0 &&
           select->limit_value == NULL && select->offset_value == NULL;
}

static bool
has_unnest(const struct sql_expr *expr)
{
    bool has = expr->kind == SQL_FUNCTION && strcmp(expr->text, SQL_UNNEST) == 0;

    for (size_t i = 0; i < expr->count && !has; i++) {
        has = has_unnest(expr->args[i]);
    }
    return has;
}

static bool
unnests(const struct sql_select *select)
{
    bool any = false;

    for (size_t i = 0; i < select->target_count; i++) {
        any = any || has_unnest(select->targets[i].expr);
    }
    return any;
}

bool
sub_is_one_row(const struct sql_select *select)
{
    const struct sql_from *only = select->from_count == 1 ? select->from[0] : NULL;

    if (unnests(select)) {
        return false;
    }
    return sub_is_one_group(select) ||
           (only != NULL && only->kind == SQL_FROM_ROWS && only->stop - only->start == only->step &&
            select->where == NULL && select->qualify == NULL && !sql_groups(select) && select->limit != 0 &&
            select->offset == 0 && select->limit_value == NULL && select->offset_value == NULL);
}

bool
sub_is_plain(const struct sql_select *select)
{
    return select->set == SQL_NO_SET && select->with_count == 0;
}

bool
sub_is_simple(const struct sql_select *select)
{
    return sub_is_plain(select) && !is_grouped(select) && !cuts(select) && !unnests(select) && select->qualify == NULL;
}
