/* FROM: its tables, and outer joins, as items of the block; then WHERE. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/block.h"

static bool add_from(struct sql_block *block, const struct sql_from *from);

/* Conditions of a join that are not the block's: taken out of those added since `before`. */
struct conditions {
    struct sql_expr **exprs;
    size_t count;
};

static bool
take_conditions(struct sql_block *block, size_t before, struct conditions *ret_conditions)
{
    ret_conditions->count = block->conjunct_count - before;
    ret_conditions->exprs = SQL_ARRAY(block->q, struct sql_expr *, ret_conditions->count);
    for (size_t i = 0; i < ret_conditions->count && ret_conditions->exprs != NULL; i++) {
        ret_conditions->exprs[i] = block->conjuncts[before + i];
    }
    block->conjunct_count = before;
    return ret_conditions->exprs != NULL;
}

/* Without an equality every row meets every row: both sides get a column that is equal. */
static bool
link_all(struct sql_statement *q, struct sql_rel sides[2], int position, struct sql_links *links)
{
    const char *one = "1";

    links->left[0] = sql_fresh(q, "all");
    links->right[0] = sql_fresh(q, "all");
    links->count = 1;
    links->position = position;
    return q->err == GRANARY_OK && sql_rel_assign(q, &sides[0], &links->left[0], &one, 1, position) &&
           sql_rel_assign(q, &sides[1], &links->right[0], &one, 1, position);
}

/* Subqueries in ON of an outer join become columns of the side that they name columns of. */
static bool
join_subqueries_of_on(struct sql_block *block, struct sql_expr *expr, struct sql_rel sides[2], const uint64_t masks[2])
{
    const struct sql_rel rel = block->rel;
    uint64_t reach;
    int side;
    bool ok;

    for (size_t i = 0; expr->kind != SQL_SUBQUERY && i < expr->count; i++) {
        if (!join_subqueries_of_on(block, expr->args[i], sides, masks)) {
            return false;
        }
    }
    if (expr->kind != SQL_SUBQUERY) {
        return true;
    }
    reach = sql_reach(block, expr);
    side = reach == masks[1] ? 1 : 0;
    if ((reach & ~masks[side]) != 0) {
        return sql_fail(block->q, GRANARY_EUNSUPPORTED, expr->position,
                        "a subquery in ON of an outer join that names columns of both sides is not supported");
    }
    block->rel = sides[side];
    ok = sql_join_subqueries(block, expr);
    sides[side] = block->rel;
    block->rel = rel;
    return ok;
}

/* The condition of an outer join. Equalities of both sides are its keys. Conditions on a side whose rows may go are a
 * filter of that side. The rest is asked of pairs. */
static bool
outer_keys(struct sql_block *block, const struct conditions *conditions, struct sql_rel sides[2],
           const uint64_t masks[2], const bool kept[2], const struct sql_from *from, struct sql_links *links,
           const char **ret_where)
{
    struct sql_statement *q = block->q;
    const char *text;

    *ret_where = NULL;
    links->count = 0;
    for (size_t i = 0; i < conditions->count; i++) {
        struct sql_expr *expr = conditions->exprs[i];
        uint64_t mask = sql_mask(block, expr);
        uint64_t a = 0;
        uint64_t b = 0;

        if (sql_has(expr, SQL_SUBQUERY) && !join_subqueries_of_on(block, expr, sides, masks)) {
            return false;
        }
        if (sql_is_link(block, expr, &a, &b) && links->count < SQL_ITEMS_MAX && (a == masks[0] || b == masks[0])) {
            bool forward = a == masks[0];

            if (!sql_add_link(block, links, &sides[0], &sides[1], expr, forward)) {
                return false;
            }
            continue;
        }
        text = sql_text(block, expr);
        if (text == NULL) {
            return false;
        }
        if (!sql_has(expr, SQL_SUBQUERY) && ((mask == masks[0] && !kept[0]) || (mask == masks[1] && !kept[1]))) {
            if (!sql_rel_filter(q, &sides[mask == masks[1]], text, expr->position)) {
                return false;
            }
        } else {
            *ret_where = *ret_where == NULL ? text : sql_printf(q, "%s and %s", *ret_where, text);
        }
    }
    return links->count > 0 || link_all(q, sides, from->position, links);
}

/* The tables of one side, joined by themselves: a block of its own, whose columns stay those of `block`. */
static bool
plan_tables(struct sql_block *block, const struct sql_from *from, struct sql_rel *ret_rel)
{
    struct sql_block *side = SQL_NEW(block->q, struct sql_block);
    uint64_t before = block->item_count;

    if (side == NULL) {
        return false;
    }
    if (from->kind != SQL_FROM_JOIN) {
        if (!add_from(block, from)) {
            return false;
        }
        *ret_rel = block->items[before];
        return true;
    }
    /* Its items stand in the block as one, its conditions hold among themselves. */
    side->q = block->q;
    side->where = block->where;
    side->outer = block->outer;
    side->around = block->around; /* which is not joined: its columns cannot be named */
    if (!add_from(side, from)) {
        return false;
    }
    for (size_t i = 0; i < side->column_count; i++) {
        if (!sql_add_column(block, side->columns[i]->table, side->columns[i]->name, side->columns[i]->frame,
                            (int)before)) {
            return false;
        }
        block->columns[block->column_count - 1]->also = side->columns[i]->also;
        block->columns[block->column_count - 1]->also_alone = side->columns[i]->also_alone;
        block->columns[block->column_count - 1]->hidden = side->columns[i]->hidden;
    }
    if (!sql_join_items(side)) {
        return false;
    }
    *ret_rel = side->rel;
    block->items[block->item_count++] = side->rel;
    return true;
}

/* kept: all its rows stay, and no other condition than WHERE decides. Rows of the other side are asked as they are joined. */
static bool
plan_side(struct sql_block *block, const struct sql_from *from, bool kept, struct sql_rel *ret_rel)
{
    struct sql_expr *where = block->where;
    bool planned;

    block->where = kept ? where : NULL;
    planned = plan_tables(block, from, ret_rel);
    block->where = where;
    return planned;
}

/* The columns of USING in a full join, from `at` on: the value of the side that has one. */
static bool
merge_columns(struct sql_block *block, struct sql_rel *rel, const struct conditions *conditions, size_t at)
{
    struct sql_statement *q = block->q;

    for (size_t i = 0; i < conditions->count; i++) {
        const struct sql_expr *equal = conditions->exprs[i];
        const char *name = sql_fresh(q, equal->args[0]->text);
        const char *text = sql_printf(q, "coalesce(%s, %s)", sql_quoted(q, equal->args[0]->column->frame),
                                      sql_quoted(q, equal->args[1]->column->frame));

        if (name == NULL || text == NULL || !sql_rel_assign(q, rel, &name, &text, 1, equal->position)) {
            return false;
        }
        block->columns[at + i]->frame = name;
    }
    return true;
}

/* What an outer join's condition names of items before its left side is joined to that: all of them become one. */
static bool
gather_left(struct sql_block *block, const struct sql_from *from)
{
    size_t right = block->item_count - 1;
    size_t floor = block->conjunct_floor;
    size_t count = block->conjunct_count - floor;
    struct sql_expr **own = SQL_ARRAY(block->q, struct sql_expr *, count);
    const struct sql_rel rel = block->items[right];
    uint64_t mask = 0;

    for (size_t i = 0; i < count && own != NULL; i++) {
        own[i] = block->conjuncts[floor + i];
        mask |= sql_reach(block, own[i]);
    }
    if (own == NULL || right < 2 || (mask & (((uint64_t)1 << (right - 1)) - 1)) == 0) {
        return own != NULL;
    }
    if (from->join == SQL_RIGHT || from->join == SQL_FULL) {
        return sql_fail(block->q, GRANARY_EUNSUPPORTED, from->position,
                        "RIGHT or FULL JOIN with a condition on columns of the query around is not supported");
    }
    block->conjunct_count = floor;
    block->item_count = right;
    for (size_t i = 0; i < block->column_count; i++) { /* those of the right side come back below */
        block->columns[i]->joined = block->columns[i]->item == (int)right;
    }
    if (!sql_collapse_items(block)) {
        return false;
    }
    for (size_t i = 0; i < block->column_count; i++) {
        block->columns[i]->item = block->columns[i]->joined ? 1 : 0;
    }
    block->items[block->item_count++] = rel;
    for (size_t i = 0; i < count; i++) {
        if (!sql_add_conjunct(block, own[i])) {
            return false;
        }
    }
    return true;
}

/* An outer join becomes one item; so does an ASOF JOIN, and a semi join, of which the left columns are left.
 * *ret_right_begin: where the columns of the right side begin; or NULL */
static bool
add_outer_join(struct sql_block *block, const struct sql_from *from, size_t *ret_right_begin)
{
    static const char *const how[] = {
        [SQL_LEFT] = "left", [SQL_RIGHT] = "left", [SQL_FULL] = "outer", [SQL_SEMI] = "semi", [SQL_ANTI] = "anti"};
    const bool kept[2] = {from->join != SQL_RIGHT, from->join == SQL_RIGHT || from->join == SQL_FULL};
    size_t first_item = block->item_count;
    size_t left_begin = block->column_count;
    int keep = from->join == SQL_RIGHT ? 1 : 0; /* which side is the left one of the join */
    uint64_t masks[2];
    struct sql_rel sides[2];
    struct conditions conditions;
    struct sql_links links;
    size_t before = block->conjunct_count;
    size_t right_begin;
    const char *where = NULL;

    if (first_item + 2 > SQL_ITEMS_MAX) {
        return sql_fail(block->q, GRANARY_EUNSUPPORTED, from->position, "more than %d tables in one FROM",
                        SQL_ITEMS_MAX);
    }
    if (!plan_side(block, from->left, from->join == SQL_LEFT || from->asof || sql_is_semi(from), &sides[0])) {
        return false;
    }
    if (block->conjunct_count > before && (from->join == SQL_RIGHT || from->join == SQL_FULL)) {
        return sql_fail(block->q, GRANARY_EUNSUPPORTED, from->position,
                        "RIGHT or FULL JOIN of a subquery that names columns of the query around is not supported");
    }
    right_begin = block->column_count;
    block->conjunct_floor = block->conjunct_count;
    if (!plan_side(block, from->right, from->join == SQL_RIGHT, &sides[1]) ||
        (from->on != NULL && (!sql_bind(block, from->on) || !sql_add_conjuncts(block, from->on))) ||
        !sql_join_using(block, from, left_begin, right_begin) || !gather_left(block, from) ||
        !take_conditions(block, block->conjunct_floor, &conditions)) {
        return false;
    }
    first_item = block->item_count - 2; /* what is on the left may have become one item */
    for (int side = 0; side < 2; side++) {
        masks[side] = (uint64_t)1 << (first_item + (size_t)side);
        sides[side] = block->items[first_item + (size_t)side];
    }
    if (from->asof) {
        if (from->using_count > 0) { /* the last of its names is the inequality */
            conditions.exprs[conditions.count - 1]->text = ">=";
        }
        if (!sql_asof_join(block, conditions.exprs, conditions.count, sides, masks, from)) {
            return false;
        }
    } else if (!outer_keys(block, &conditions, sides, masks, kept, from, &links, &where) ||
               !sql_rel_join(block->q, &sides[keep], &sides[1 - keep],
                             &(struct sql_join_spec){.how = how[from->join],
                                                     .left_on = keep == 0 ? links.left : links.right,
                                                     .right_on = keep == 0 ? links.right : links.left,
                                                     .count = links.count,
                                                     .where = where,
                                                     .position = from->position})) {
        return false;
    }
    if (from->join == SQL_FULL && from->on == NULL && !merge_columns(block, &sides[keep], &conditions, left_begin)) {
        return false;
    }
    if (sql_is_semi(from)) {
        block->column_count = right_begin;
    }
    /* Both sides are one item from now on. */
    block->item_count = first_item + 1;
    block->items[first_item] = sides[keep];
    for (size_t c = first_item == 0 ? 0 : left_begin; c < block->column_count; c++) {
        block->columns[c]->item = (int)first_item;
    }
    if (ret_right_begin != NULL) {
        *ret_right_begin = right_begin;
    }
    return true;
}

/* a RIGHT JOIN b ON ... in a subquery as b LEFT JOIN a, whose sides may name columns of the query around. The columns of a stay
 * the first ones. */
static bool
add_right_join(struct sql_block *block, const struct sql_from *from)
{
    const struct sql_from turned = {.kind = from->kind,
                                    .join = SQL_LEFT,
                                    .left = from->right,
                                    .right = from->left,
                                    .on = from->on,
                                    .position = from->position};
    const size_t begin = block->column_count;
    size_t middle = 0;
    struct sql_column **columns;
    size_t count;

    if (!add_outer_join(block, &turned, &middle)) {
        return false;
    }
    count = block->column_count - begin;
    columns = SQL_ARRAY(block->q, struct sql_column *, count);
    for (size_t i = 0; i < count && columns != NULL; i++) {
        columns[i] = block->columns[begin + (middle - begin + i) % count];
    }
    if (columns != NULL) {
        memcpy(&block->columns[begin], columns, count * sizeof *columns);
    }
    return columns != NULL;
}

/* POSITIONAL JOIN: the n-th rows of both sides, by numbers that all rows get; where one side has fewer rows, nulls. */
static bool
add_positional_join(struct sql_block *block, const struct sql_from *from)
{
    const struct sql_window_spec all = {.position = from->position};
    struct sql_statement *q = block->q;
    size_t first_item = block->item_count;
    size_t left_begin = block->column_count;
    const char *numbers[2] = {sql_fresh(q, "row"), sql_fresh(q, "row")};
    struct sql_rel sides[2];

    if (first_item + 2 > SQL_ITEMS_MAX) {
        return sql_fail(q, GRANARY_EUNSUPPORTED, from->position, "more than %d tables in one FROM", SQL_ITEMS_MAX);
    }
    if (!plan_side(block, from->left, false, &sides[0]) || !plan_side(block, from->right, false, &sides[1]) ||
        !sql_rel_window(q, &sides[0], numbers[0], "row_number()", &all) ||
        !sql_rel_window(q, &sides[1], numbers[1], "row_number()", &all) ||
        !sql_rel_join(q, &sides[0], &sides[1],
                      &(struct sql_join_spec){.how = "outer",
                                              .left_on = &numbers[0],
                                              .right_on = &numbers[1],
                                              .count = 1,
                                              .position = from->position})) {
        return false;
    }
    block->item_count = first_item + 1;
    block->items[first_item] = sides[0];
    for (size_t c = left_begin; c < block->column_count; c++) {
        block->columns[c]->item = (int)first_item;
    }
    return true;
}

/* LEFT JOIN unnest(...) ON true: rows whose list has no items stay. With another condition it is a subquery. */
static bool
add_left_unnest(struct sql_block *block, const struct sql_from *from)
{
    struct sql_select *select = SQL_NEW(block->q, struct sql_select);
    struct sql_from *right = SQL_NEW(block->q, struct sql_from);
    struct sql_expr *star = SQL_NEW(block->q, struct sql_expr);
    struct sql_from join = *from;

    if (from->on != NULL && from->on->kind == SQL_LITERAL && strcmp(from->on->text, "true") == 0) {
        return add_from(block, from->left) && sql_add_unnest(block, from->right, true);
    }
    if (select == NULL || right == NULL || star == NULL) {
        return false;
    }
    *star = (struct sql_expr){.kind = SQL_STAR, .position = from->position, .text = "*"};
    *select = (struct sql_select){.position = from->position, .target_count = 1, .from_count = 1, .limit = -1};
    select->targets = SQL_NEW(block->q, struct sql_target);
    select->from = SQL_ARRAY(block->q, struct sql_from *, 1);
    if (select->targets == NULL || select->from == NULL) {
        return false;
    }
    select->targets[0].expr = star;
    select->from[0] = from->right;
    *right = (struct sql_from){.kind = SQL_FROM_SELECT,
                               .position = from->position,
                               .alias = from->right->alias != NULL ? from->right->alias : SQL_UNNEST,
                               .select = select};
    join.right = right;
    return add_outer_join(block, &join, NULL);
}

static bool
add_join(struct sql_block *block, const struct sql_from *from)
{
    size_t left_begin = block->column_count;
    size_t right_begin;

    if (from->asof && from->right->kind == SQL_FROM_UNNEST) {
        return sql_fail(block->q, GRANARY_EUNSUPPORTED, from->position,
                        "ASOF JOIN with unnest() is not supported: write (SELECT ...) around it");
    }
    if (from->join == SQL_LEFT && from->right->kind == SQL_FROM_UNNEST) {
        return add_left_unnest(block, from);
    }
    if (from->join == SQL_POSITIONAL) {
        return add_positional_join(block, from);
    }
    if ((from->join != SQL_INNER && from->join != SQL_CROSS) || from->asof) {
        return from->join == SQL_RIGHT && block->outer != NULL && from->on != NULL && !from->asof
                   ? add_right_join(block, from)
                   : add_outer_join(block, from, NULL);
    }
    if (!add_from(block, from->left)) {
        return false;
    }
    right_begin = block->column_count;
    if (!add_from(block, from->right)) {
        return false;
    }
    if (from->on != NULL) {
        return sql_bind(block, from->on) && sql_add_conjuncts(block, from->on);
    }
    return sql_join_using(block, from, left_begin, right_begin);
}

/* Whether a query names nothing but columns of the query around. */
static bool
all_borrowed(const struct sql_block *block, const struct sql_reached *reached)
{
    bool all = true;

    for (size_t i = 0; i < reached->count && all; i++) {
        all = sql_is_borrowed(block, reached->columns[i]->frame);
    }
    return all;
}

/* Rows that stand beside those of `around`, whose number is a column of the block. */
static bool
add_numbered(struct sql_block *block, const struct sql_from *from, const struct sql_around *around,
             const struct sql_column *number)
{
    struct sql_result result;

    if (!sql_plan_for(block->q, from->select, around, &result) || !sql_add_result(block, from, from->alias, &result) ||
        !sql_add_column(block, NULL, "outer", result.number, (int)block->item_count - 1)) {
        return false;
    }
    block->columns[block->column_count - 1]->hidden = true;
    return sql_add_equal(block, number, block->columns[block->column_count - 1], from->position);
}

/* A subquery that names columns of tables before it (LATERAL goes without saying), or of the query around. */
static bool
add_lateral(struct sql_block *block, const struct sql_from *from, const struct sql_reached *reached)
{
    struct sql_around *around;
    uint64_t mask = 0;
    int item;

    for (size_t i = 0; i < reached->count; i++) {
        if (reached->columns[i]->block != block) {
            return sql_fail(block->q, GRANARY_EUNSUPPORTED, from->position,
                            "'%s' is a column of a query further out, which cannot be named here",
                            reached->columns[i]->name);
        }
        mask |= (uint64_t)1 << reached->columns[i]->item;
    }
    if (block->around != NULL && block->item_count > 0 && all_borrowed(block, reached)) {
        return add_numbered(block, from, block->around, block->number);
    }
    if ((mask & (mask - 1)) != 0 && !sql_collapse_items(block)) {
        return false;
    }
    item = (mask & (mask - 1)) != 0 ? 0 : __builtin_ctzll(mask);
    around = sql_number_rows(block, &block->items[item], from->position);
    if (around == NULL || !sql_add_column(block, NULL, "outer", around->number, item)) {
        return false;
    }
    block->columns[block->column_count - 1]->hidden = true;
    return add_numbered(block, from, around, block->columns[block->column_count - 1]);
}

bool
sql_add_select(struct sql_block *block, const struct sql_from *from)
{
    struct sql_reached reached;
    struct sql_result result;

    if (from->about != SQL_ABOUT_NOTHING) {
        return sql_add_about(block, from);
    }
    if (!sql_reach_out(block, from->select, &reached)) {
        return false;
    }
    return reached.count > 0
               ? add_lateral(block, from, &reached)
               : sql_plan(block->q, from->select, true, &result) && sql_add_result(block, from, from->alias, &result);
}

static bool
add_from(struct sql_block *block, const struct sql_from *from)
{

    switch (from->kind) {
    case SQL_FROM_TABLE:
        return sql_add_table(block, from);
    case SQL_FROM_ROWS:
        return sql_add_rows(block, from);
    case SQL_FROM_UNNEST:
        return sql_add_unnest(block, from, false);
    case SQL_FROM_SELECT:
        return sql_add_select(block, from);
    default:
        return add_join(block, from);
    }
}

/* WHERE, with aliases written out, bound. */
static bool
bind_where(struct sql_block *block, struct sql_expr **where)
{
    if (!sql_put_aliases(block, where) || !sql_expand_condition(block, where) || !sql_bind(block, *where)) {
        return false;
    }
    if (sql_has_aggregate(*where)) {
        return sql_fail(block->q, GRANARY_EINVAL, (*where)->position,
                        "an aggregate in WHERE: put the condition into HAVING");
    }
    if (sql_has_window(*where)) {
        return sql_fail(block->q, GRANARY_EINVAL, (*where)->position,
                        "a window function in WHERE: put the condition into QUALIFY");
    }
    return true;
}

bool
sql_block_tables(struct sql_block *block)
{
    const struct sql_select *select = block->select;

    if (block->around != NULL && !sql_join_around(block)) {
        return false;
    }
    block->where = select->where;
    for (size_t i = 0; i < select->from_count; i++) {
        if (!add_from(block, select->from[i])) {
            return false;
        }
    }
    block->where = NULL;
    if (select->where != NULL) {
        struct sql_expr *where = select->where;

        if (!bind_where(block, &where) || !sql_add_conjuncts(block, where)) {
            return false;
        }
    }
    return sql_take_correlated(block) && sql_look_into_ors(block) && sql_filter_items(block);
}

/* Rows are drawn of all that FROM gives, and then asked WHERE. */
static bool
begin_drawn(struct sql_block *block)
{
    const struct sql_select *select = block->select;
    struct sql_select *drawn = SQL_NEW(block->q, struct sql_select);
    struct sql_expr *where = select->where;
    const char *text;

    if (drawn == NULL) {
        return false;
    }
    if (block->around != NULL) {
        return sql_fail(block->q, GRANARY_EUNSUPPORTED, select->sample->position,
                        "a sample in a subquery that names columns of the query around is not supported");
    }
    *drawn = *select;
    drawn->where = NULL;
    block->select = drawn;
    if (!sql_block_tables(block) || !sql_join_items(block) || !sql_rel_sample(block->q, &block->rel, select->sample)) {
        return false;
    }
    block->select = select;
    if (where == NULL) {
        return true;
    }
    if (!bind_where(block, &where) || !sql_check_inner(block, where) || !sql_join_subqueries(block, where)) {
        return false;
    }
    text = sql_text(block, where);
    return text != NULL && sql_rel_filter(block->q, &block->rel, text, where->position);
}

bool
sql_block_begin(struct sql_block *block)
{
    return block->select->sample != NULL ? begin_drawn(block) : sql_block_tables(block) && sql_join_items(block);
}
