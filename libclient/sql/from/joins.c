/*
 * Inner joins: the tables of FROM along the equalities of WHERE and ON, in the order that order.c chooses. Equalities
 * that follow from others (a = b, b = c: a = c) count, too, so that tables can be joined that no condition names
 * together.
 */
#include <string.h>

#include "sql/block.h"
#include "sql/select/order.h"

/* ---- equalities ---- */

bool
sql_is_link(const struct sql_block *block, const struct sql_expr *expr, uint64_t *ret_left, uint64_t *ret_right)
{
    if (expr->kind != SQL_INFIX || strcmp(expr->text, "=") != 0 || sql_has(expr, SQL_SUBQUERY)) {
        return false;
    }
    *ret_left = sql_mask(block, expr->args[0]);
    *ret_right = sql_mask(block, expr->args[1]);
    return *ret_left != 0 && *ret_right != 0 && (*ret_left & *ret_right) == 0;
}

static bool
add_pair(struct sql_block *block, struct sql_links *links, struct sql_rel *left, struct sql_rel *right,
         const struct sql_expr *of_left, const struct sql_expr *of_right, int position)
{
    struct sql_statement *q = block->q;
    size_t count = links->count;
    const char *a = sql_column_of(block, left, of_left);
    const char *b = sql_column_of(block, right, of_right);

    links->left[count] = sql_other_column(q, left, links->left, count, a, position);
    links->right[count] = sql_other_column(q, right, links->right, count, b, position);
    links->position = position;
    links->count++;
    return links->left[count] != NULL && links->right[count] != NULL;
}

bool
sql_add_link(struct sql_block *block, struct sql_links *links, struct sql_rel *left, struct sql_rel *right,
             const struct sql_expr *expr, bool forward)
{
    return add_pair(block, links, left, right, expr->args[forward ? 0 : 1], expr->args[forward ? 1 : 0],
                    expr->position);
}

/* Values that are all equal: one of each item at most. */
struct equals {
    const struct sql_expr *of_item[SQL_ITEMS_MAX];
    uint64_t items;
    int position;
};

/* The links of a block, as orders are chosen by (links) and as columns (equals, where items are set). */
struct joining {
    struct sql_block *block;
    struct sql_order_link *links;
    struct equals **equals;
    struct sql_expr **exprs; /* of a link with sides, and of the first of equals */
    size_t count;
};

static struct equals *
new_equals(struct sql_statement *q, const struct sql_expr *expr, uint64_t left, uint64_t right)
{
    struct equals *equals = SQL_NEW(q, struct equals);

    if (equals != NULL) {
        equals->of_item[__builtin_ctzll(left)] = expr->args[0];
        equals->of_item[__builtin_ctzll(right)] = expr->args[1];
        equals->items = left | right;
        equals->position = expr->position;
    }
    return equals;
}

/* Whether both say the same of an item that they share, and nothing different of any. */
static bool
may_merge(const struct equals *a, const struct equals *b)
{
    uint64_t shared = a->items & b->items;

    for (uint64_t items = shared; items != 0; items &= items - 1) {
        int item = __builtin_ctzll(items);

        if (!sql_equal(a->of_item[item], b->of_item[item])) {
            return false;
        }
    }
    return shared != 0;
}

/* a = b and b = c become one, as long as that lasts. */
static void
merge_equals(struct joining *j)
{
    for (size_t i = 0; i < j->count; i++) {
        for (size_t k = i + 1; j->equals[i] != NULL && k < j->count;) {
            struct equals *more = j->equals[k];

            if (more == NULL || !may_merge(j->equals[i], more)) {
                k++;
                continue;
            }
            for (uint64_t items = more->items & ~j->equals[i]->items; items != 0; items &= items - 1) {
                j->equals[i]->of_item[__builtin_ctzll(items)] = more->of_item[__builtin_ctzll(items)];
            }
            j->equals[i]->items |= more->items;
            j->count--;
            j->equals[k] = j->equals[j->count];
            j->exprs[k] = j->exprs[j->count];
            k = i + 1; /* those passed over may be of it now */
        }
    }
}

/* As many values as the smallest table has rows. */
static double
distinct_of(const struct sql_block *block, uint64_t items)
{
    double least = -1;

    for (; items != 0; items &= items - 1) {
        double base = block->items[__builtin_ctzll(items)].base;

        least = least < 0 || base < least ? base : least;
    }
    return least;
}

/* Take the equalities out of the block's conditions; those with expressions over several items stay there until they
 * are used. */
static bool
collect(struct joining *j)
{
    struct sql_block *block = j->block;
    struct sql_statement *q = block->q;

    j->links = SQL_ARRAY(q, struct sql_order_link, block->conjunct_count);
    j->equals = SQL_ARRAY(q, struct equals *, block->conjunct_count);
    j->exprs = SQL_ARRAY(q, struct sql_expr *, block->conjunct_count);
    for (size_t i = 0; i < block->conjunct_count && q->err == GRANARY_OK; i++) {
        struct sql_expr *expr = block->conjuncts[i];
        uint64_t a;
        uint64_t b;

        if (expr == NULL || !sql_is_link(block, expr, &a, &b)) {
            continue;
        }
        if ((a & (a - 1)) == 0 && (b & (b - 1)) == 0) {
            j->equals[j->count] = new_equals(q, expr, a, b);
            block->conjuncts[i] = NULL;
        }
        j->exprs[j->count++] = expr;
    }
    if (q->err != GRANARY_OK) {
        return false;
    }
    merge_equals(j);
    for (size_t i = 0; i < j->count; i++) {
        struct sql_order_link *link = &j->links[i];

        if (j->equals[i] != NULL) {
            link->items = j->equals[i]->items;
            link->distinct = distinct_of(block, link->items);
        } else {
            (void)sql_is_link(block, j->exprs[i], &link->sides[0], &link->sides[1]);
            link->distinct = distinct_of(block, link->sides[0] | link->sides[1]);
        }
    }
    return true;
}

/* ---- the order ---- */

/* Other conditions on several tables. */
static bool
list_filters(const struct sql_block *block, struct sql_order_problem *problem)
{
    struct sql_order_filter *filters = SQL_ARRAY(block->q, struct sql_order_filter, block->conjunct_count);
    uint64_t a;
    uint64_t b;

    for (size_t i = 0; i < block->conjunct_count && filters != NULL; i++) {
        const struct sql_expr *expr = block->conjuncts[i];
        uint64_t mask = expr == NULL || sql_has(expr, SQL_SUBQUERY) ? 0 : sql_mask(block, expr);

        if ((mask & (mask - 1)) != 0 && !sql_is_link(block, expr, &a, &b)) {
            filters[problem->filter_count++] = (struct sql_order_filter){mask, sql_selectivity(expr)};
        }
    }
    problem->filters = filters;
    return filters != NULL;
}

static const struct sql_order_join *
choose_order(const struct joining *j)
{
    struct sql_block *block = j->block;
    struct sql_order_table *tables = SQL_ARRAY(block->q, struct sql_order_table, block->item_count);
    struct sql_order_problem problem = {
        .tables = tables, .table_count = block->item_count, .links = j->links, .link_count = j->count};

    if (tables == NULL || !list_filters(block, &problem)) {
        return NULL;
    }
    for (size_t i = 0; i < block->item_count; i++) {
        tables[i] = (struct sql_order_table){block->items[i].rows, block->items[i].base};
    }
    return sql_order_joins(block->q, &problem);
}

/* ---- the joins ---- */

/* One pair of equal values of the two sides: as a condition has it if one does. */
static bool
add_equals(struct joining *j, const struct equals *equals, struct sql_links *links, struct sql_rel *sides[2],
           const uint64_t sets[2])
{
    const struct sql_expr *of[2];

    for (int side = 0; side < 2; side++) {
        of[side] = equals->of_item[__builtin_ctzll(equals->items & sets[side])];
    }
    return add_pair(j->block, links, sides[0], sides[1], of[0], of[1], equals->position);
}

static bool
collect_links(struct joining *j, struct sql_links *links, struct sql_rel *sides[2], const uint64_t sets[2])
{
    links->count = 0;
    links->position = -1;
    for (size_t i = 0; i < j->count && links->count < SQL_ITEMS_MAX; i++) {
        int crosses = sql_order_crosses(&j->links[i], sets[0], sets[1]);

        if (crosses == 0) {
            continue;
        }
        if (j->equals[i] != NULL ? !add_equals(j, j->equals[i], links, sides, sets)
                                 : !sql_add_link(j->block, links, sides[0], sides[1], j->exprs[i], crosses > 0)) {
            return false;
        }
        for (size_t c = 0; j->equals[i] == NULL && c < j->block->conjunct_count; c++) {
            if (j->block->conjuncts[c] == j->exprs[i]) {
                j->block->conjuncts[c] = NULL;
            }
        }
    }
    return true;
}

/* rels[i]: what the item of lowest number i is joined to. */
static bool
join_two(struct joining *j, struct sql_rel *rels, const struct sql_order_join *join)
{
    const uint64_t sets[2] = {join->left, join->right};
    struct sql_rel *sides[2] = {&rels[__builtin_ctzll(join->left)], &rels[__builtin_ctzll(join->right)]};
    struct sql_rel *result = &rels[__builtin_ctzll(join->left | join->right)];
    struct sql_links links;
    struct sql_rel left;

    if (!collect_links(j, &links, sides, sets)) {
        return false;
    }
    /* Every row meets every other: what can be asked of a side is asked before, by subqueries, too. */
    for (int side = 0; side < 2 && links.count == 0; side++) {
        if (!sql_apply_ready(j->block, sides[side], sets[side], true)) {
            return false;
        }
    }
    left = *sides[0];
    if (!sql_rel_join(j->block->q, &left, sides[1],
                      &(struct sql_join_spec){.how = "inner",
                                              .left_on = links.left,
                                              .right_on = links.right,
                                              .count = links.count,
                                              .position = links.position})) {
        return false;
    }
    *result = left;
    if (!sql_apply_ready(j->block, result, join->left | join->right, false)) {
        return false;
    }
    result->rows = join->rows;
    result->base = left.base > join->rows ? left.base : join->rows;
    return true;
}

bool
sql_join_items(struct sql_block *block)
{
    uint64_t all = block->item_count == SQL_ITEMS_MAX ? UINT64_MAX : ((uint64_t)1 << block->item_count) - 1;
    struct sql_rel *rels = SQL_ARRAY(block->q, struct sql_rel, block->item_count);
    struct joining j = {.block = block};
    const struct sql_order_join *joins;

    if (rels == NULL || !collect(&j) || (joins = choose_order(&j)) == NULL) {
        return false;
    }
    memcpy(rels, block->items, block->item_count * sizeof *rels);
    for (size_t i = 0; i + 1 < block->item_count; i++) {
        if (!join_two(&j, rels, &joins[i])) {
            return false;
        }
    }
    block->rel = rels[0];
    return sql_apply_ready(block, &block->rel, all, true);
}

bool
sql_collapse_items(struct sql_block *block)
{
    size_t kept = 0;

    if (block->item_count > 1 && !sql_join_items(block)) {
        return false;
    }
    if (block->item_count > 1) {
        block->items[0] = block->rel;
        block->item_count = 1;
    }
    for (size_t i = 0; i < block->column_count; i++) {
        block->columns[i]->item = 0;
    }
    for (size_t i = 0; i < block->conjunct_count; i++) {
        if (block->conjuncts[i] != NULL) {
            block->conjuncts[kept++] = block->conjuncts[i];
        }
    }
    block->conjunct_count = kept;
    block->conjunct_floor = kept;
    return true;
}
