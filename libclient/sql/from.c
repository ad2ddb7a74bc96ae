/*
 * FROM and WHERE: conditions go to the tables they are about, then tables are joined along equalities, beginning with
 * the largest, the one next whose conditions leave the smallest part of it.
 */
#include <stdlib.h>
#include <string.h>

#include "sql/block.h"

/* ---- conditions ---- */

static bool
add_conjunct(struct sql_block *block, struct sql_expr *expr)
{
    if (block->conjunct_count == block->conjunct_room) {
        size_t room = block->conjunct_room == 0 ? 16 : 2 * block->conjunct_room;
        struct sql_expr **grown = SQL_ARRAY(block->q, struct sql_expr *, room);

        if (grown == NULL) {
            return false;
        }
        if (block->conjunct_count > 0) {
            memcpy(grown, block->conjuncts, block->conjunct_count * sizeof(struct sql_expr *));
        }
        block->conjuncts = grown;
        block->conjunct_room = room;
    }
    block->conjuncts[block->conjunct_count++] = expr;
    return true;
}

/* Whether an expression is, or is joined by AND from, parts one of which is `part`. */
static bool
has_part(const struct sql_expr *expr, const struct sql_expr *part)
{
    bool has = sql_equal(expr, part);

    for (size_t i = 0; expr->kind == SQL_AND && i < expr->count && !has; i++) {
        has = sql_equal(expr->args[i], part);
    }
    return has;
}

/* (a and b) or (a and c): a holds by itself, which may be the equality two tables are joined by. */
static bool
add_common(struct sql_block *block, const struct sql_expr * or)
{
    const struct sql_expr *first = or->args[0];
    size_t parts = first->kind == SQL_AND ? first->count : 1;

    for (size_t i = 0; i < parts; i++) {
        struct sql_expr *part = first->kind == SQL_AND ? first->args[i] : or->args[0];
        bool common = true;

        for (size_t k = 1; k < or->count && common; k++) {
            common = has_part(or->args[k], part);
        }
        if (common && !sql_has(part, SQL_SUBQUERY) && !add_conjunct(block, part)) {
            return false;
        }
    }
    return true;
}

/* Of (a.x = 1 and b.y = 2) or (a.x = 3 and b.y = 4) each table can look at its own half first. */
static bool
add_implied(struct sql_block *block, const struct sql_expr * or, int item)
{
    struct sql_expr *implied = SQL_NEW(block->q, struct sql_expr);

    if (implied == NULL) {
        return false;
    }
    *implied = * or ;
    implied->args = SQL_ARRAY(block->q, struct sql_expr *, or->count);
    for (size_t i = 0; i < or->count && implied->args != NULL; i++) {
        const struct sql_expr *branch = or->args[i];
        struct sql_expr *and = SQL_NEW(block->q, struct sql_expr);
        size_t parts = branch->kind == SQL_AND ? branch->count : 1;

        if (and == NULL) {
            return false;
        }
        *and = *branch;
        and->kind = SQL_AND;
        and->args = SQL_ARRAY(block->q, struct sql_expr *, parts);
        and->count = 0;
        for (size_t k = 0; k < parts && and->args != NULL; k++) {
            struct sql_expr *part = branch->kind == SQL_AND ? branch->args[k] : or->args[i];

            if (sql_mask(block, part) == (uint64_t)1 << item && !sql_has(part, SQL_SUBQUERY)) {
                and->args[ and->count++] = part;
            }
        }
        if (and->count == 0) { /* this branch says nothing about the table */
            return true;
        }
        implied->args[i] = and->count == 1 ? and->args[0] : and;
    }
    return implied->args != NULL && add_conjunct(block, implied);
}

bool
sql_add_conjuncts(struct sql_block *block, struct sql_expr *expr)
{
    if (expr->kind == SQL_AND) {
        for (size_t i = 0; i < expr->count; i++) {
            if (!sql_add_conjuncts(block, expr->args[i])) {
                return false;
            }
        }
        return true;
    }
    return add_conjunct(block, expr);
}

/* How much of a table a condition leaves, about. */
static double
selectivity(const struct sql_expr *expr)
{
    double part = 1;

    switch (expr->kind) {
    case SQL_AND:
        for (size_t i = 0; i < expr->count; i++) {
            part *= selectivity(expr->args[i]);
        }
        return part;
    case SQL_OR:
        part = 0;
        for (size_t i = 0; i < expr->count; i++) {
            part += selectivity(expr->args[i]);
        }
        return part < 1 ? part : 1;
    case SQL_INFIX:
        return strcmp(expr->text, "=") == 0 ? 0.05 : strcmp(expr->text, "!=") == 0 ? 0.9 : 0.4;
    case SQL_BETWEEN:
        return expr->negated ? 0.8 : 0.2;
    case SQL_IN:
        part = 0.05 * (double)(expr->count - 1);
        return expr->negated ? 0.9 : part < 0.5 ? part : 0.5;
    case SQL_LIKE:
        return expr->negated ? 0.9 : 0.1;
    default:
        return 0.5;
    }
}

/* Apply a condition to a relation that has all its columns. */
static bool
filter(struct sql_block *block, struct sql_rel *rel, struct sql_expr *expr)
{
    if (sql_has(expr, SQL_SUBQUERY)) {
        rel->rows *= 0.5;
        return sql_filter_subquery(block, rel, expr);
    }
    rel->rows *= selectivity(expr);
    return sql_rel_filter(block->q, rel, sql_text(block, expr), expr->position);
}

/* ---- joins ---- */

/* Whether a condition is an equality between one part of the tables and another. */
static bool
is_link(const struct sql_block *block, const struct sql_expr *expr, uint64_t *ret_left, uint64_t *ret_right)
{
    if (expr->kind != SQL_INFIX || strcmp(expr->text, "=") != 0 || sql_has(expr, SQL_SUBQUERY)) {
        return false;
    }
    *ret_left = sql_mask(block, expr->args[0]);
    *ret_right = sql_mask(block, expr->args[1]);
    return *ret_left != 0 && *ret_right != 0 && (*ret_left & *ret_right) == 0;
}

/* The equalities between tables that are joined and one that is not, as columns of both. */
struct links {
    const char *left[SQL_ITEMS_MAX];
    const char *right[SQL_ITEMS_MAX];
    size_t count;
    int position;
};

/* forward: the left side is the equality's first argument */
static bool
add_link(struct sql_block *block, struct links *links, struct sql_rel *left, struct sql_rel *right,
         const struct sql_expr *expr, bool forward)
{
    struct sql_statement *q = block->q;
    size_t count = links->count;
    const char *a = sql_column_of(block, left, expr->args[forward ? 0 : 1]);
    const char *b = sql_column_of(block, right, expr->args[forward ? 1 : 0]);

    links->left[count] = sql_other_column(q, left, links->left, count, a, expr->position);
    links->right[count] = sql_other_column(q, right, links->right, count, b, expr->position);
    links->position = expr->position;
    links->count++;
    return links->left[count] != NULL && links->right[count] != NULL;
}

static bool
collect_links(struct sql_block *block, uint64_t joined, int item, struct sql_rel *left, struct sql_rel *right,
              struct links *links)
{
    uint64_t bit = (uint64_t)1 << item;

    links->count = 0;
    links->position = -1;
    for (size_t i = 0; i < block->conjunct_count; i++) {
        struct sql_expr *expr = block->conjuncts[i];
        uint64_t a;
        uint64_t b;
        bool forward;

        if (expr == NULL || links->count == SQL_ITEMS_MAX || !is_link(block, expr, &a, &b)) {
            continue;
        }
        forward = (a & ~joined) == 0 && b == bit;
        if (!forward && !((b & ~joined) == 0 && a == bit)) {
            continue;
        }
        if (!add_link(block, links, left, right, expr, forward)) {
            return false;
        }
        block->conjuncts[i] = NULL;
    }
    return true;
}

/* Whether an equality leads from what is joined to an item. */
static bool
is_linked(const struct sql_block *block, uint64_t joined, int item)
{
    uint64_t bit = (uint64_t)1 << item;

    for (size_t i = 0; i < block->conjunct_count; i++) {
        uint64_t a;
        uint64_t b;

        if (block->conjuncts[i] != NULL && is_link(block, block->conjuncts[i], &a, &b) &&
            (((a & ~joined) == 0 && b == bit) || ((b & ~joined) == 0 && a == bit))) {
            return true;
        }
    }
    return false;
}

/* The next to join: a linked one whose conditions leave the least of it; among those the smallest. */
static int
choose_next(const struct sql_block *block, uint64_t joined)
{
    int best = -1;
    bool best_linked = false;

    for (int i = 0; i < (int)block->item_count; i++) {
        const struct sql_rel *item = &block->items[i];
        const struct sql_rel *than = best < 0 ? NULL : &block->items[best];
        bool linked;

        if ((joined >> i & 1) != 0) {
            continue;
        }
        linked = is_linked(block, joined, i);
        if (best < 0 || linked > best_linked ||
            (linked == best_linked &&
             (item->rows / item->base < than->rows / than->base - 1e-9 ||
              (item->rows / item->base < than->rows / than->base + 1e-9 && item->rows < than->rows)))) {
            best = i;
            best_linked = linked;
        }
    }
    return best;
}

/* Apply every condition whose tables are all joined. Subqueries only when everything is. */
static bool
apply_ready(struct sql_block *block, uint64_t joined, bool with_subqueries)
{
    for (size_t i = 0; i < block->conjunct_count; i++) {
        struct sql_expr *expr = block->conjuncts[i];

        if (expr == NULL || (sql_mask(block, expr) & ~joined) != 0 ||
            (sql_has(expr, SQL_SUBQUERY) && !with_subqueries)) {
            continue;
        }
        block->conjuncts[i] = NULL;
        if (!filter(block, &block->rel, expr)) {
            return false;
        }
    }
    return true;
}

static bool
join_items(struct sql_block *block)
{
    uint64_t all = block->item_count == 64 ? UINT64_MAX : ((uint64_t)1 << block->item_count) - 1;
    uint64_t joined;
    int first = 0;

    for (int i = 1; i < (int)block->item_count; i++) {
        if (block->items[i].rows > block->items[first].rows) {
            first = i;
        }
    }
    block->rel = block->items[first];
    joined = (uint64_t)1 << first;
    while (joined != all) {
        int next = choose_next(block, joined);
        struct sql_rel right = block->items[next];
        struct links links;

        if (!collect_links(block, joined, next, &block->rel, &right, &links)) {
            return false;
        }
        block->rel.rows *= links.count == 0 ? right.rows : right.base > 0 ? right.rows / right.base : 1;
        if (!sql_rel_join(block->q, &block->rel, &right,
                          &(struct sql_join_spec){.how = "inner",
                                                  .left_on = links.left,
                                                  .right_on = links.right,
                                                  .count = links.count,
                                                  .position = links.position})) {
            return false;
        }
        joined |= (uint64_t)1 << next;
        if (!apply_ready(block, joined, false)) {
            return false;
        }
    }
    return apply_ready(block, all, true);
}

/* ---- FROM ---- */

static bool add_from(struct sql_block *block, const struct sql_from *from);

/* The columns of a join with USING: the right one is reached by its table's name only. */
static bool
add_using(struct sql_block *block, const struct sql_from *from, size_t left_begin, size_t right_begin,
          const char *const *names, size_t count)
{
    struct sql_statement *q = block->q;

    for (size_t i = 0; i < count; i++) {
        struct sql_column *sides[2] = {NULL, NULL};
        struct sql_expr *equal = SQL_NEW(q, struct sql_expr);

        for (size_t c = left_begin; c < block->column_count; c++) {
            struct sql_column **side = &sides[c >= right_begin];

            if (strcmp(block->columns[c]->name, names[i]) == 0 && !block->columns[c]->hidden) {
                if (*side != NULL) {
                    return sql_fail(q, GRANARY_EINVAL, from->position, "USING: more than one column is called '%s'",
                                    names[i]);
                }
                *side = block->columns[c];
            }
        }
        if (sides[0] == NULL || sides[1] == NULL) {
            return sql_fail(q, GRANARY_ENOENT, from->position, "USING: there is no column '%s' on the %s side",
                            names[i], sides[0] == NULL ? "left" : "right");
        }
        if (equal == NULL || (equal->args = SQL_ARRAY(q, struct sql_expr *, 2)) == NULL) {
            return false;
        }
        *equal = (struct sql_expr){
            .kind = SQL_INFIX, .text = "=", .position = from->position, .args = equal->args, .count = 2};
        for (int side = 0; side < 2; side++) {
            struct sql_expr *column = SQL_NEW(q, struct sql_expr);

            if (column == NULL) {
                return false;
            }
            *column = (struct sql_expr){
                .kind = SQL_COLUMN, .text = names[i], .position = from->position, .column = sides[side]};
            equal->args[side] = column;
        }
        sides[0]->hidden = from->join == SQL_RIGHT || from->join == SQL_FULL;
        sides[1]->hidden = from->join != SQL_RIGHT;
        if (!add_conjunct(block, equal)) {
            return false;
        }
    }
    return true;
}

/* NATURAL: the names both sides have. */
static bool
add_natural(struct sql_block *block, const struct sql_from *from, size_t left_begin, size_t right_begin)
{
    const char **names = SQL_ARRAY(block->q, const char *, block->column_count);
    size_t count = 0;

    for (size_t r = right_begin; r < block->column_count && names != NULL; r++) {
        for (size_t l = left_begin; l < right_begin; l++) {
            if (strcmp(block->columns[l]->name, block->columns[r]->name) == 0 && !block->columns[l]->hidden) {
                names[count++] = block->columns[r]->name;
                break;
            }
        }
    }
    return names != NULL && add_using(block, from, left_begin, right_begin, names, count);
}

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

/* The condition of an outer join: equalities of both sides are its keys, what is about a side whose rows may go is a
 * filter of that side, the rest is asked of pairs. */
static bool
outer_keys(struct sql_block *block, const struct conditions *conditions, struct sql_rel sides[2],
           const uint64_t masks[2], const bool kept[2], const struct sql_from *from, struct links *links,
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

        if (sql_has(expr, SQL_SUBQUERY)) {
            return sql_fail(q, GRANARY_EUNSUPPORTED, expr->position,
                            "a subquery in ON of an outer join is not supported");
        }
        if (is_link(block, expr, &a, &b) && links->count < SQL_ITEMS_MAX && (a == masks[0] || b == masks[0])) {
            bool forward = a == masks[0];

            if (!add_link(block, links, &sides[0], &sides[1], expr, forward)) {
                return false;
            }
            continue;
        }
        text = sql_text(block, expr);
        if (text == NULL) {
            return false;
        }
        if ((mask == masks[0] && !kept[0]) || (mask == masks[1] && !kept[1])) {
            if (!sql_rel_filter(q, &sides[mask == masks[1]], text, expr->position)) {
                return false;
            }
        } else {
            *ret_where = *ret_where == NULL ? text : sql_printf(q, "%s and %s", *ret_where, text);
        }
    }
    return links->count > 0 ||
           sql_fail(q, GRANARY_EUNSUPPORTED, from->position, "ON of an outer join needs an equality of both sides");
}

/* The tables of one side, joined by themselves: a block of its own, whose columns stay those of `block`. */
static bool
plan_side(struct sql_block *block, const struct sql_from *from, struct sql_rel *ret_rel)
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
    side->outer = NULL;
    if (!add_from(side, from)) {
        return false;
    }
    for (size_t i = 0; i < side->column_count; i++) {
        if (!sql_add_column(block, side->columns[i]->table, side->columns[i]->name, side->columns[i]->frame,
                            (int)before)) {
            return false;
        }
        block->columns[block->column_count - 1]->hidden = side->columns[i]->hidden;
    }
    if (!join_items(side)) {
        return false;
    }
    *ret_rel = side->rel;
    block->items[block->item_count++] = side->rel;
    return true;
}

/* A column of USING in a full join: the value of the side that has one. */
static bool
merge_columns(struct sql_block *block, struct sql_rel *rel, const struct conditions *conditions, int item)
{
    struct sql_statement *q = block->q;

    for (size_t i = 0; i < conditions->count; i++) {
        const struct sql_expr *equal = conditions->exprs[i];
        const char *name = sql_fresh(q, equal->args[0]->text);
        const char *text = sql_printf(q, "coalesce(%s, %s)", sql_quoted(q, equal->args[0]->column->frame),
                                      sql_quoted(q, equal->args[1]->column->frame));

        if (name == NULL || text == NULL || !sql_rel_assign(q, rel, &name, &text, 1, equal->position) ||
            !sql_add_column(block, NULL, equal->args[0]->text, name, item)) {
            return false;
        }
    }
    return true;
}

/* An outer join becomes one item. */
static bool
add_outer_join(struct sql_block *block, const struct sql_from *from)
{
    static const char *const how[] = {[SQL_LEFT] = "left", [SQL_RIGHT] = "left", [SQL_FULL] = "outer"};
    const bool kept[2] = {from->join != SQL_RIGHT, from->join != SQL_LEFT};
    size_t first_item = block->item_count;
    size_t left_begin = block->column_count;
    size_t before = block->conjunct_count;
    int keep = from->join == SQL_RIGHT ? 1 : 0; /* which side is the left one of the join */
    const uint64_t masks[2] = {(uint64_t)1 << first_item, (uint64_t)2 << first_item};
    struct sql_rel sides[2];
    struct conditions conditions;
    struct links links;
    size_t right_begin;
    const char *where = NULL;

    if (first_item + 2 > SQL_ITEMS_MAX) {
        return sql_fail(block->q, GRANARY_EUNSUPPORTED, from->position, "more than %d tables in one FROM",
                        SQL_ITEMS_MAX);
    }
    if (!plan_side(block, from->left, &sides[0])) {
        return false;
    }
    right_begin = block->column_count;
    if (!plan_side(block, from->right, &sides[1]) ||
        (from->on != NULL && (!sql_bind(block, from->on) || !sql_add_conjuncts(block, from->on))) ||
        (from->natural ? !add_natural(block, from, left_begin, right_begin)
                       : !add_using(block, from, left_begin, right_begin, from->using, from->using_count)) ||
        !take_conditions(block, before, &conditions) ||
        !outer_keys(block, &conditions, sides, masks, kept, from, &links, &where) ||
        !sql_rel_join(block->q, &sides[keep], &sides[1 - keep],
                      &(struct sql_join_spec){.how = how[from->join],
                                              .left_on = keep == 0 ? links.left : links.right,
                                              .right_on = keep == 0 ? links.right : links.left,
                                              .count = links.count,
                                              .where = where,
                                              .position = from->position})) {
        return false;
    }
    if (from->join == SQL_FULL && from->on == NULL &&
        !merge_columns(block, &sides[keep], &conditions, (int)first_item)) {
        return false;
    }
    /* Both sides are one item from now on. */
    block->item_count = first_item + 1;
    block->items[first_item] = sides[keep];
    for (size_t c = left_begin; c < block->column_count; c++) {
        block->columns[c]->item = (int)first_item;
    }
    return true;
}

static bool
add_join(struct sql_block *block, const struct sql_from *from)
{
    size_t left_begin = block->column_count;
    size_t right_begin;

    if (from->join != SQL_INNER && from->join != SQL_CROSS) {
        return add_outer_join(block, from);
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
    return from->natural ? add_natural(block, from, left_begin, right_begin)
                         : add_using(block, from, left_begin, right_begin, from->using, from->using_count);
}

static bool
add_from(struct sql_block *block, const struct sql_from *from)
{
    struct sql_result result;

    switch (from->kind) {
    case SQL_FROM_TABLE:
        return sql_add_table(block, from);
    case SQL_FROM_ROWS:
        return sql_add_rows(block, from);
    case SQL_FROM_SELECT:
        return sql_plan(block->q, from->select, false, &result) && sql_add_result(block, from, from->alias, &result);
    default:
        return add_join(block, from);
    }
}

/* What OR says about single tables, and about all its branches. */
static bool
look_into_ors(struct sql_block *block)
{
    size_t count = block->conjunct_count;

    for (size_t i = 0; i < count; i++) {
        const struct sql_expr *expr = block->conjuncts[i];
        uint64_t mask = expr->kind == SQL_OR ? sql_mask(block, expr) : 0;

        if ((mask & (mask - 1)) == 0) { /* of no table, or of one alone */
            continue;
        }
        if (!add_common(block, expr)) {
            return false;
        }
        for (int item = 0; item < (int)block->item_count; item++) {
            if ((mask >> item & 1) != 0 && !add_implied(block, expr, item)) {
                return false;
            }
        }
    }
    return true;
}

/* Conditions that name the outer query's columns are its business. */
static bool
take_correlated(struct sql_block *block)
{
    block->correlated = SQL_ARRAY(block->q, struct sql_expr *, block->conjunct_count);
    for (size_t i = 0; i < block->conjunct_count && block->correlated != NULL; i++) {
        if (sql_is_outer(block, block->conjuncts[i])) {
            block->correlated[block->correlated_count++] = block->conjuncts[i];
            block->conjuncts[i--] = block->conjuncts[--block->conjunct_count];
        }
    }
    return block->correlated != NULL;
}

/* Conditions on one table go to it; IN (SELECT ...) too, which is computed once and cheap to ask. */
static bool
filter_items(struct sql_block *block)
{
    for (size_t i = 0; i < block->conjunct_count; i++) {
        struct sql_expr *expr = block->conjuncts[i];
        uint64_t mask = sql_mask(block, expr);

        if (mask == 0 || (mask & (mask - 1)) != 0 || sql_has(expr, SQL_SUBQUERY)) {
            continue;
        }
        block->conjuncts[i] = NULL;
        if (!filter(block, &block->items[__builtin_ctzll(mask)], expr)) {
            return false;
        }
    }
    for (size_t i = 0; i < block->conjunct_count; i++) {
        struct sql_expr *expr = block->conjuncts[i];
        uint64_t mask = expr == NULL ? 0 : sql_mask(block, expr);

        if (mask == 0 || (mask & (mask - 1)) != 0 || expr->kind != SQL_SUBQUERY || expr->subquery != SQL_ANY) {
            continue;
        }
        block->conjuncts[i] = NULL;
        if (!filter(block, &block->items[__builtin_ctzll(mask)], expr)) {
            return false;
        }
    }
    return true;
}

bool
sql_block_begin(struct sql_block *block)
{
    const struct sql_select *select = block->select;

    for (size_t i = 0; i < select->from_count; i++) {
        if (!add_from(block, select->from[i])) {
            return false;
        }
    }
    if (select->where != NULL) {
        if (!sql_bind(block, select->where)) {
            return false;
        }
        if (sql_has_aggregate(select->where)) {
            return sql_fail(block->q, GRANARY_EINVAL, select->where->position,
                            "an aggregate in WHERE: put the condition into HAVING");
        }
        if (sql_has_window(select->where)) {
            return sql_fail(block->q, GRANARY_EINVAL, select->where->position,
                            "a window function in WHERE: put the query into a subquery, and the condition around it");
        }
        if (!sql_add_conjuncts(block, select->where)) {
            return false;
        }
    }
    return take_correlated(block) && look_into_ors(block) && filter_items(block) && join_items(block);
}
