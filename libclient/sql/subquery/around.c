/*
 * Subqueries that name columns of the query around them, in any place: the rows of that query are numbered, and become
 * a table of the subquery, which is computed for all of them at once. Groups, windows, DISTINCT, LIMIT and set
 * operations go by the number, too. What comes out is joined to the rows by it. (Neumann and Kemper, "Unnesting
 * Arbitrary Queries", 2015, with rows in the place of different values: a number is never null.)
 */
#include <string.h>

#include "sql/block.h"

bool
sql_join_around(struct sql_block *block)
{
    const struct sql_around *around = block->around;
    struct sql_statement *q = block->q;
    const char *number = sql_fresh(q, "outer");
    const char *text = sql_quoted(q, around->number);
    struct sql_rel rel = around->rel;
    struct sql_reached reached;

    if (number == NULL || text == NULL || !sql_reach_out(around->block, block->select, &reached) ||
        !sql_rel_project(q, &rel, &number, &text, 1, block->select->position)) {
        return false;
    }
    block->borrowing = rel.node;
    if (!sql_add_column(block, NULL, "outer", number, (int)block->item_count)) {
        return false;
    }
    block->number = block->columns[block->column_count - 1];
    block->number->hidden = true;
    block->items[block->item_count++] = rel;
    for (size_t i = 0; i < reached.count; i++) {
        if (sql_borrow(block, reached.columns[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static bool
add_borrowed(struct sql_block *block, const struct sql_borrowed *borrowed)
{
    if (block->borrowed_count == block->borrowed_room) {
        size_t room = block->borrowed_room == 0 ? 8 : 2 * block->borrowed_room;
        struct sql_borrowed *grown = SQL_ARRAY(block->q, struct sql_borrowed, room);

        if (grown == NULL) {
            return false;
        }
        if (block->borrowed_count > 0) {
            memcpy(grown, block->borrowed, block->borrowed_count * sizeof *grown);
        }
        block->borrowed = grown;
        block->borrowed_room = room;
    }
    block->borrowed[block->borrowed_count++] = *borrowed;
    return true;
}

const struct sql_column *
sql_borrow(struct sql_block *block, const struct sql_column *of)
{
    struct sql_statement *q = block->q;
    int position = block->select != NULL ? block->select->position : -1;
    struct sql_expr column = {.kind = SQL_COLUMN, .position = position, .text = of->name, .column = of};
    struct sql_borrowed borrowed = {.of = of};
    const char *name;

    for (size_t i = 0; i < block->borrowed_count; i++) {
        if (block->borrowed[i].of == of) {
            return block->borrowed[i].here;
        }
    }
    if (of->block != block->around->block || block->number == NULL || block->grouped) {
        (void)sql_fail(q, GRANARY_EUNSUPPORTED, position,
                       "'%s' is a column of a query further out, which cannot be named here", of->name);
        return NULL;
    }
    borrowed.text = sql_text(block->around->block, &column);
    name = borrowed.text == NULL ? NULL : sql_fresh(q, of->name);
    if (name == NULL || !sql_add_column(block, NULL, of->name, name, block->number->item)) {
        return NULL;
    }
    granary_node_set_entry(q->graph, block->borrowing, "columns", name, borrowed.text);
    borrowed.here = block->columns[block->column_count - 1];
    borrowed.here->hidden = true;
    return add_borrowed(block, &borrowed) ? borrowed.here : NULL;
}

const struct sql_column *
sql_carry(struct sql_block *block, const struct sql_column *column)
{
    if (column->block == block || block->outer == NULL) {
        return column->block == block ? column : NULL;
    }
    column = sql_carry(block->outer, column);
    return column != NULL && block->around != NULL ? sql_borrow(block, column) : column;
}

bool
sql_is_borrowed(const struct sql_block *block, const char *frame)
{
    bool is = block->number != NULL && strcmp(block->number->frame, frame) == 0;

    for (size_t i = 0; i < block->borrowed_count && !is; i++) {
        is = strcmp(block->borrowed[i].here->frame, frame) == 0;
    }
    return is;
}

bool
sql_names_borrowed(const struct sql_block *block, const struct sql_expr *expr)
{
    bool names =
        expr->kind == SQL_SUBQUERY || (expr->kind == SQL_COLUMN && sql_is_borrowed(block, expr->column->frame));

    for (size_t i = 0; i < expr->count && !names && (expr->kind != SQL_AGGREGATE || expr->over != NULL); i++) {
        names = sql_names_borrowed(block, expr->args[i]);
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->partition_count && !names; i++) {
        names = sql_names_borrowed(block, expr->over->partition[i]);
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->order_count && !names; i++) {
        names = sql_names_borrowed(block, expr->over->order[i].expr);
    }
    return names;
}

bool
sql_keep_around(struct sql_block *block, bool all)
{
    const struct sql_around *around = block->around;
    struct sql_statement *q = block->q;
    size_t count = block->borrowed_count;
    const char **names = SQL_ARRAY(q, const char *, count + 1);
    const char **texts = SQL_ARRAY(q, const char *, count + 1);
    struct sql_rel rel = around->rel;

    if (names == NULL || texts == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = sql_fresh(q, block->borrowed[i].of->name);
        texts[i] = block->borrowed[i].text;
    }
    names[count] = sql_fresh(q, "outer");
    texts[count] = sql_quoted(q, around->number);
    if (q->err != GRANARY_OK || !sql_rel_project(q, &rel, names, texts, count + 1, block->select->position) ||
        !sql_rel_join(q, &rel, &block->rel,
                      &(struct sql_join_spec){.how = all ? "left" : "inner",
                                              .left_on = &names[count],
                                              .right_on = &block->number->frame,
                                              .count = 1,
                                              .position = block->select->position})) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        block->borrowed[i].here->frame = names[i];
    }
    block->number->frame = names[count];
    block->rel = rel;
    return true;
}

struct sql_around *
sql_number_rows(struct sql_block *block, struct sql_rel *rel, int position)
{
    struct sql_statement *q = block->q;
    struct sql_around *around = SQL_NEW(q, struct sql_around);
    const char *number = sql_fresh(q, "outer");

    if (around == NULL || number == NULL ||
        !sql_rel_window(q, rel, number, "row_number()", &(struct sql_window_spec){.position = position})) {
        return NULL;
    }
    *around = (struct sql_around){.block = block, .rel = *rel, .number = number};
    return around;
}

bool
sql_add_equal(struct sql_block *block, const struct sql_column *left, const struct sql_column *right, int position)
{
    const struct sql_column *sides[2] = {left, right};
    struct sql_expr *exprs = SQL_ARRAY(block->q, struct sql_expr, 3);
    struct sql_expr **args = SQL_ARRAY(block->q, struct sql_expr *, 2);

    if (exprs == NULL || args == NULL) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        exprs[i] =
            (struct sql_expr){.kind = SQL_COLUMN, .position = position, .text = sides[i]->name, .column = sides[i]};
        args[i] = &exprs[i];
    }
    exprs[2] = (struct sql_expr){.kind = SQL_INFIX, .position = position, .text = "=", .args = args, .count = 2};
    return sql_add_conjunct(block, &exprs[2]);
}
