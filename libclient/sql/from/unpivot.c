/*
 * UNPIVOT, written out: the names and the values of its columns become lists, of which each item gets a row, as in DuckDB.
 *
 *     SELECT g, unnest(['a', 'b']) AS n, unnest([a, b]) AS v FROM t
 */
#include <string.h>
#include <strings.h>

#include "sql/block.h"

bool
sql_unpivot_outputs(struct sql_statement *q, const struct sql_select *select, const struct sql_from_names *from,
                    const char ***ret_names, size_t *ret_count)
{
    const struct sql_unpivot *unpivot = select->unpivot;
    const char **names = SQL_ARRAY(q, const char *, from->count + 1 + unpivot->value_count);
    size_t count = 0;

    for (size_t i = 0; names != NULL && i < from->count; i++) {
        names[count++] = from->names[i];
    }
    if (names != NULL) {
        names[count++] = unpivot->name;
    }
    for (size_t i = 0; names != NULL && i < unpivot->value_count; i++) {
        names[count++] = unpivot->values[i];
    }
    *ret_names = names;
    *ret_count = count;
    return names != NULL;
}

/* ---- items ---- */

struct items {
    struct sql_unpivot_item *list;
    size_t count;
    struct gr_buf handled; /* names of the columns that become rows */
};

/* What an item without a name is called: as its columns. */
static bool
name_item(struct sql_block *block, struct sql_unpivot_item *item, struct gr_buf *handled)
{
    struct sql_statement *q = block->q;
    const char *name = NULL;
    bool ok = true;

    for (size_t i = 0; ok && i < item->count; i++) {
        struct gr_buf named = {0};

        ok = sql_add_named(q, item->exprs[i], &named);
        if (ok && (named.size == 0 || strlen(named.bytes) + 1 != named.size)) {
            ok = sql_fail(q, GRANARY_EINVAL, item->exprs[i]->position,
                          "what becomes rows is a column, or computed of one: this names %s",
                          named.size == 0 ? "none" : "several");
        }
        if (ok) {
            bool ambiguous = false;
            const struct sql_column *column = sql_find_column(block, NULL, named.bytes, &ambiguous);

            gr_buf_add(handled, named.bytes, named.size);
            name = sql_printf(q, "%s%s%s", name == NULL ? "" : name, name == NULL ? "" : "_",
                              column == NULL ? named.bytes : column->name);
            ok = name != NULL;
        }
        gr_buf_free(&named);
    }
    item->name = item->name != NULL ? item->name : name;
    return ok;
}

/* A star is an item for each of its columns. */
static bool
add_star(struct sql_block *block, const struct sql_unpivot_item *item, struct items *items)
{
    const struct sql_target star = {.expr = item->exprs[0]};
    struct sql_targets targets = {.list = SQL_ARRAY(block->q, struct sql_target, block->column_count + 1)};

    if (targets.list == NULL || !sql_expand_star(block, &star, &targets)) {
        return false;
    }
    for (size_t i = 0; i < targets.count; i++) {
        struct sql_unpivot_item *to = &items->list[items->count++];

        to->exprs = SQL_ARRAY(block->q, struct sql_expr *, 1);
        to->count = 1;
        to->name = item->name != NULL ? item->name : targets.list[i].alias;
        if (to->exprs == NULL) {
            return false;
        }
        to->exprs[0] = targets.list[i].expr;
    }
    return true;
}

static bool
list_items(struct sql_block *block, struct items *items)
{
    const struct sql_unpivot *unpivot = block->select->unpivot;
    struct sql_statement *q = block->q;

    items->list = SQL_ARRAY(q, struct sql_unpivot_item, unpivot->item_count * (1 + block->column_count));
    for (size_t i = 0; items->list != NULL && i < unpivot->item_count; i++) {
        const struct sql_unpivot_item *item = &unpivot->items[i];

        if (item->count == 1 && sql_star_in(item->exprs[0]) != NULL) {
            if (!add_star(block, item, items)) {
                return false;
            }
        } else {
            items->list[items->count++] = *item;
        }
    }
    for (size_t i = 0; items->list != NULL && i < items->count; i++) {
        if (items->list[i].count != unpivot->value_count) {
            return sql_fail(q, GRANARY_EINVAL, items->list[i].exprs[0]->position,
                            "UNPIVOT makes %zu columns of values here, and this item has %zu", unpivot->value_count,
                            items->list[i].count);
        }
        if (!name_item(block, &items->list[i], &items->handled)) {
            return false;
        }
    }
    return items->list != NULL;
}

/* ---- the SELECT ---- */

static struct sql_expr *
new_call(struct sql_statement *q, const char *name, size_t count, int position)
{
    struct sql_expr *expr = SQL_NEW(q, struct sql_expr);

    if (expr != NULL) {
        *expr = (struct sql_expr){.kind = SQL_FUNCTION, .position = position, .text = name, .count = count};
        expr->args = SQL_ARRAY(q, struct sql_expr *, count);
    }
    return expr == NULL || expr->args == NULL ? NULL : expr;
}

/* unnest([...]) of the items' names, or of their values at a place. */
static struct sql_expr *
unnested(struct sql_statement *q, const struct items *items, bool names, size_t place, int position)
{
    struct sql_expr *list = new_call(q, "list_value", items->count, position);
    struct sql_expr *expr = new_call(q, SQL_UNNEST, 1, position);

    for (size_t i = 0; list != NULL && i < items->count; i++) {
        struct sql_expr *name = names ? SQL_NEW(q, struct sql_expr) : NULL;

        if (name != NULL) {
            *name = (struct sql_expr){
                .kind = SQL_LITERAL, .position = position, .text = sql_literal(q, items->list[i].name)};
        }
        list->args[i] = names ? name : items->list[i].exprs[place];
    }
    if (expr != NULL && list != NULL) {
        expr->args[0] = list;
    }
    return q->err == GRANARY_OK ? expr : NULL;
}

static bool
write_targets(struct sql_block *block, const struct items *items, struct sql_select *to)
{
    struct sql_statement *q = block->q;
    const struct sql_unpivot *unpivot = block->select->unpivot;

    for (size_t i = 0; i < block->column_count; i++) {
        const struct sql_column *column = block->columns[i];

        if (!column->hidden && !sql_is_named(&items->handled, column->name)) {
            to->targets[to->target_count++].expr = sql_column_expr(block, column, unpivot->position);
        }
    }
    to->targets[to->target_count++] =
        (struct sql_target){.expr = unnested(q, items, true, 0, unpivot->position), .alias = unpivot->name};
    for (size_t i = 0; i < unpivot->value_count; i++) {
        to->targets[to->target_count++] = (struct sql_target){
            .expr = unnested(q, items, false, i, items->list[0].exprs[i]->position), .alias = unpivot->values[i]};
    }
    return q->err == GRANARY_OK;
}

const struct sql_select *
sql_write_unpivot(struct sql_block *block)
{
    struct sql_statement *q = block->q;
    const struct sql_unpivot *unpivot = block->select->unpivot;
    struct sql_select *to = SQL_NEW(q, struct sql_select);
    struct items items = {.list = NULL};
    bool ok = to != NULL && list_items(block, &items);

    if (ok) {
        *to = *block->select;
        to->unpivot = NULL;
        to->target_count = 0;
        to->targets = SQL_ARRAY(q, struct sql_target, block->column_count + 1 + unpivot->value_count);
        ok = to->targets != NULL && write_targets(block, &items, to);
    }
    gr_buf_free(&items.handled);
    return ok ? to : NULL;
}

bool
sql_unpivot_cut(struct sql_block *block, const struct sql_unpivot *unpivot, struct sql_result *result)
{
    struct sql_statement *q = block->q;
    const char *where = NULL;

    for (size_t i = 0; i < unpivot->value_count && !unpivot->keeps_nulls; i++) {
        const size_t output = result->count - unpivot->value_count + i;
        const char *name = sql_quoted(q, result->outputs[output].frame);

        where = name == NULL    ? NULL
                : where == NULL ? sql_printf(q, "%s is not null", name)
                                : sql_printf(q, "%s and %s is not null", where, name);
        if (where == NULL) {
            return false;
        }
    }
    return where == NULL || sql_rel_filter(q, &block->rel, where, unpivot->position);
}
