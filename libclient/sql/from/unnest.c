/*
 * unnest() in FROM: rows of the table that the lists are of become a row for each item. What is a column of that table stays
 * one, and the items are columns of the same item of FROM: so nothing is joined.
 */
#include "sql/block.h"

/* The one table of FROM whose columns the lists name; without any, a row of its own. -1: the statement has failed. */
static int
unnest_item(struct sql_block *block, const struct sql_from *from)
{
    const struct sql_from row = {.kind = SQL_FROM_ROWS,
                                 .position = from->position,
                                 .name = SQL_ROWS,
                                 .alias = sql_fresh(block->q, SQL_UNNEST), /* there may be several */
                                 .stop = 1,
                                 .step = 1};
    uint64_t mask = 0;

    for (size_t i = 0; i < from->list_count; i++) {
        if (!sql_bind(block, from->lists[i]) || !sql_check_inner(block, from->lists[i])) {
            return -1;
        }
        mask |= sql_reach(block, from->lists[i]);
    }
    if ((mask & (mask - 1)) != 0) {
        return sql_collapse_items(block) ? 0 : -1;
    }
    if (mask != 0) {
        return __builtin_ctzll(mask);
    }
    return sql_add_rows(block, &row) ? (int)block->item_count - 1 : -1;
}

/* A list of the numbers of items, behind the names of those lists: as long as the longest. */
static bool
assign_ordinality(struct sql_statement *q, struct sql_rel *rel, const struct sql_from *from, const char **names)
{
    const char *most = sql_longest_list(q, names, from->list_count);
    const char *text = most == NULL ? NULL : sql_printf(q, "generate_series(1, %s)", most);

    names[from->list_count] = sql_fresh(q, "ordinality");
    return text != NULL && names[from->list_count] != NULL &&
           sql_rel_assign(q, rel, &names[from->list_count], &text, 1, from->position);
}

bool
sql_add_unnest(struct sql_block *block, const struct sql_from *from, bool outer)
{
    struct sql_statement *q = block->q;
    const char *table = from->alias != NULL ? from->alias : SQL_UNNEST;
    size_t count = from->list_count + from->ordinality;
    const char **names = SQL_ARRAY(q, const char *, count);
    int item = unnest_item(block, from);

    if (names == NULL || item < 0) {
        return false;
    }
    if (from->column_count > count) {
        return sql_fail(q, GRANARY_EINVAL, from->position, "'%s' has %zu columns, but %zu names are given", table,
                        count, from->column_count);
    }
    block->rel = block->items[item];
    for (size_t i = 0; i < from->list_count; i++) {
        if (!sql_join_subqueries(block, from->lists[i])) {
            return false;
        }
    }
    block->items[item] = block->rel;
    for (size_t i = 0; i < from->list_count; i++) {
        const char *text = sql_text(block, from->lists[i]);

        names[i] = sql_fresh(q, i < from->column_count ? from->columns[i] : table);
        if (text == NULL || names[i] == NULL ||
            !sql_rel_assign(q, &block->items[item], &names[i], &text, 1, from->position)) {
            return false;
        }
    }
    if ((from->ordinality && !assign_ordinality(q, &block->items[item], from, names)) ||
        !sql_rel_unnest(q, &block->items[item], names, count, from->equal, outer, from->position)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const char *name = i < from->column_count  ? from->columns[i]
                           : i == from->list_count ? "ordinality"
                           : from->alias != NULL   ? from->alias
                                                   : SQL_UNNEST;

        if (!sql_add_column(block, table, name, names[i], item)) {
            return false;
        }
        block->columns[block->column_count - 1]->also = i == 0 ? from->function : NULL;
    }
    return true;
}
