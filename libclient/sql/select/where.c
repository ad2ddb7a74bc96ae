/*
 * Conditions: of ON and WHERE, taken apart where AND joins them. Each goes to the table it is about, or is asked as
 * soon as its tables are joined.
 */
#include <string.h>

#include "sql/block.h"

bool
sql_add_conjunct(struct sql_block *block, struct sql_expr *expr)
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
        if (common && !sql_has(part, SQL_SUBQUERY) && !sql_add_conjunct(block, part)) {
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
    return implied->args != NULL && sql_add_conjunct(block, implied);
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
    return sql_add_conjunct(block, expr);
}

double
sql_selectivity(const struct sql_expr *expr)
{
    double part = 1;

    switch (expr->kind) {
    case SQL_AND:
        for (size_t i = 0; i < expr->count; i++) {
            part *= sql_selectivity(expr->args[i]);
        }
        return part;
    case SQL_OR:
        part = 0;
        for (size_t i = 0; i < expr->count; i++) {
            part += sql_selectivity(expr->args[i]);
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
    rel->rows *= sql_selectivity(expr);
    return sql_rel_filter(block->q, rel, sql_text(block, expr), expr->position);
}

bool
sql_apply_ready(struct sql_block *block, struct sql_rel *rel, uint64_t joined, bool with_subqueries)
{
    for (size_t i = 0; i < block->conjunct_count; i++) {
        struct sql_expr *expr = block->conjuncts[i];

        if (expr == NULL || (sql_reach(block, expr) & ~joined) != 0 ||
            (sql_has(expr, SQL_SUBQUERY) && !with_subqueries)) {
            continue;
        }
        block->conjuncts[i] = NULL;
        if (!filter(block, rel, expr)) {
            return false;
        }
    }
    return true;
}

bool
sql_look_into_ors(struct sql_block *block)
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

bool
sql_take_correlated(struct sql_block *block)
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

bool
sql_filter_items(struct sql_block *block)
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
        uint64_t mask = expr == NULL ? 0 : sql_reach(block, expr);

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
