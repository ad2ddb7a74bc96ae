/* Which column a name means. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "graph/operators/nearest.h"
#include "sql/block.h"
#include "sql/told.h"

bool
sql_add_column(struct sql_block *block, const char *table, const char *name, const char *frame, int item)
{
    struct sql_column *column = SQL_NEW(block->q, struct sql_column);

    if (block->column_count == block->column_room) {
        size_t room = block->column_room == 0 ? 32 : 2 * block->column_room;
        struct sql_column **grown = SQL_ARRAY(block->q, struct sql_column *, room);

        if (grown == NULL) {
            return false;
        }
        if (block->column_count > 0) {
            memcpy(grown, block->columns, block->column_count * sizeof(struct sql_column *));
        }
        block->columns = grown;
        block->column_room = room;
    }
    if (column == NULL || name == NULL || frame == NULL) {
        return false;
    }
    sql_tell(block->q, frame, name, -1);
    *column = (struct sql_column){.table = table, .name = name, .frame = frame, .block = block, .item = item};
    block->columns[block->column_count++] = column;
    return true;
}

/* Names without quotes have come in small letters. */
static bool
same_name(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

bool
sql_is_table(const char *table, const char *name)
{
    size_t size = strlen(name);
    size_t all = table == NULL ? 0 : strlen(table);
    const char *dot = strchr(name, '.');
    const char *last = table == NULL ? NULL : strrchr(table, '.');

    if (table == NULL || all < size) {
        return false;
    }
    if (same_name(table + all - size, name) && (all == size || table[all - size - 1] == '.')) {
        return true;
    }
    return dot != NULL && last != NULL && same_name(last, dot) &&
           strncasecmp(table, name, (size_t)(dot - name) + 1) == 0;
}

/* By their names, or by the other ones that some have. */
static const struct sql_column *
find_named(const struct sql_block *block, const char *table, const char *name, bool also, bool *ret_ambiguous)
{
    const struct sql_column *found = NULL;
    bool exact = false;

    *ret_ambiguous = false;
    for (size_t i = 0; i < block->column_count; i++) {
        const struct sql_column *column = block->columns[i];
        const char *is = also ? column->also : column->name;
        bool is_exact = is != NULL && strcmp(is, name) == 0;

        if (is == NULL || !same_name(is, name) || (also && table == NULL && !column->also_alone) ||
            (exact && !is_exact) || (table == NULL ? column->hidden : !sql_is_table(column->table, table))) {
            continue;
        }
        if (found != NULL && is_exact == exact) {
            *ret_ambiguous = true;
        } else {
            *ret_ambiguous = false;
            found = column;
            exact = is_exact;
        }
    }
    return found;
}

/* A part of a structure is a column with dots in its name: s.a, t.s.a, s.b.c. */
static const struct sql_column *
find_part(const struct sql_block *block, const char *table, const char *name, bool *ret_ambiguous)
{
    char *path = sql_printf(block->q, "%s.%s", table, name);
    const struct sql_column *found = path == NULL ? NULL : find_named(block, NULL, path, false, ret_ambiguous);

    for (size_t i = 0; path != NULL && i < strlen(table) && found == NULL && !*ret_ambiguous; i++) {
        if (path[i] == '.') {
            path[i] = '\0';
            found = find_named(block, path, path + i + 1, false, ret_ambiguous);
            path[i] = '.';
        }
    }
    return found;
}

const struct sql_column *
sql_find_column(const struct sql_block *block, const char *table, const char *name, bool *ret_ambiguous)
{
    const struct sql_column *found = find_named(block, table, name, false, ret_ambiguous);

    if (found == NULL && !*ret_ambiguous) {
        found = find_named(block, table, name, true, ret_ambiguous);
    }
    return found == NULL && !*ret_ambiguous && table != NULL ? find_part(block, table, name, ret_ambiguous) : found;
}

static bool
no_column(struct sql_block *block, const struct sql_expr *expr)
{
    struct gr_nearest nearest = {.name = expr->text};
    char hint[GR_HINT_MAX];
    bool has_table = expr->table == NULL;

    for (const struct sql_block *b = block; b != NULL; b = b->outer) {
        for (size_t i = 0; i < b->column_count; i++) {
            bool of_table = expr->table != NULL && sql_is_table(b->columns[i]->table, expr->table);

            has_table = has_table || of_table;
            if (expr->table == NULL || of_table) {
                gr_nearest_offer(&nearest, b->columns[i]->name);
            }
        }
    }
    if (!has_table) {
        return sql_fail(block->q, GRANARY_ENOENT, expr->position, "no table in FROM is called '%s'", expr->table);
    }
    block->q->no_column = true;
    (void)gr_nearest_hint(&nearest, hint);
    if (hint[0] == '\0' && expr->position >= 0 && block->q->text[sql_given_position(block->q, expr->position)] == '"') {
        return sql_fail(block->q, GRANARY_ENOENT, expr->position,
                        "no column '%s': text stands in single quotes, names in double ones", expr->text);
    }
    if (hint[0] == '\0' && block->column_count == 1 && block->outer == NULL) { /* lines that nothing divides, perhaps */
        const char *only = block->columns[0]->name;

        if (only[0] == '#') {
            (void)snprintf(hint, sizeof hint, "; there is no FROM");
        } else {
            (void)snprintf(hint, sizeof hint, "; the only one is '%.60s'", only);
        }
    }
    return sql_fail(block->q, GRANARY_ENOENT, expr->position, "no column '%s%s%s'%s",
                    expr->table == NULL ? "" : expr->table, expr->table == NULL ? "" : ".", expr->text, hint);
}

/* The one table whose columns a name means; NULL: there are several. twice: two tables are called so */
static const char *
only_table(const struct sql_block *block, const struct sql_expr *expr, bool *ret_twice)
{
    const char *table = NULL;
    int item = -1;

    *ret_twice = false;

    for (size_t i = 0; i < block->column_count; i++) {
        const struct sql_column *column = block->columns[i];

        if (!same_name(column->name, expr->text) || column->table == NULL ||
            (expr->table != NULL && !sql_is_table(column->table, expr->table))) {
            continue;
        }
        if (table != NULL && strcmp(table, column->table) != 0) {
            return NULL;
        }
        *ret_twice = *ret_twice || (item >= 0 && item != column->item);
        table = column->table;
        item = column->item;
    }
    return table;
}

const struct sql_column *
sql_reach_column(struct sql_block *block, const char *table, const char *name, bool *ret_ambiguous)
{
    const struct sql_column *column = sql_find_column(block, table, name, ret_ambiguous);

    if (column != NULL || *ret_ambiguous || block->outer == NULL) {
        return column;
    }
    column = sql_reach_column(block->outer, table, name, ret_ambiguous);
    return column != NULL && !*ret_ambiguous && block->around != NULL ? sql_borrow(block, column) : column;
}

static bool
ambiguous_column(struct sql_block *block, const struct sql_expr *expr)
{
    const struct sql_block *of = block;
    bool ambiguous = false;
    bool twice;
    const char *table;

    while (of->outer != NULL && sql_find_column(of, expr->table, expr->text, &ambiguous) == NULL) {
        of = of->outer;
    }
    table = only_table(of, expr, &twice);
    if (table != NULL && twice) {
        return sql_fail(block->q, GRANARY_EINVAL, expr->position,
                        "two tables in FROM are called '%s': give one an alias", table);
    }
    return table != NULL
               ? sql_fail(block->q, GRANARY_EINVAL, expr->position,
                          "'%s' has more than one column '%s': give its columns names, AS t(a, b)", table, expr->text)
               : sql_fail(block->q, GRANARY_EINVAL, expr->position,
                          "more than one table has a column '%s': write TABLE.%s", expr->text, expr->text);
}

/* The column at that place of FROM, from 1. */
static bool
bind_place(struct sql_block *block, struct sql_expr *expr)
{
    size_t place = 0;

    for (size_t i = 0; i < block->column_count && place < expr->row_place; i++) {
        place += !block->columns[i]->hidden;
        expr->column = block->columns[i];
    }
    return (place == expr->row_place && place > 0) ||
           sql_fail(block->q, GRANARY_ENOENT, expr->position, "'%s': FROM gives %zu column%s", expr->text, place,
                    place == 1 ? "" : "s");
}

static bool
bind_column(struct sql_block *block, struct sql_expr *expr)
{
    bool ambiguous = false;

    if (expr->row_place > 0) {
        return bind_place(block, expr);
    }
    expr->column = sql_reach_column(block, expr->table, expr->text, &ambiguous);
    if (block->q->err != GRANARY_OK) {
        return false;
    }
    return ambiguous ? ambiguous_column(block, expr) : expr->column != NULL || no_column(block, expr);
}

/* What stands in FILTER and OVER. */
static bool
bind_clauses(struct sql_block *block, struct sql_expr *expr)
{
    for (size_t i = 0; expr->over != NULL && i < expr->over->partition_count; i++) {
        if (!sql_bind(block, expr->over->partition[i])) {
            return false;
        }
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->order_count; i++) {
        if (!sql_bind(block, expr->over->order[i].expr)) {
            return false;
        }
    }
    for (size_t i = 0; expr->over != NULL && i < 2; i++) {
        if (expr->over->bounds[i].distance != NULL && !sql_bind(block, expr->over->bounds[i].distance)) {
            return false;
        }
    }
    for (size_t i = 0; i < expr->unseen_count; i++) {
        if (!sql_bind(block, expr->unseen[i].expr)) {
            return false;
        }
    }
    return expr->condition == NULL || sql_bind(block, expr->condition);
}

/* alias(x) of a column is its name as the table has it. */
static void
name_alias_of(struct sql_block *block, struct sql_expr *expr)
{
    const struct sql_expr *of = expr->args[0]->count == 1 ? expr->args[0]->args[0] : NULL;

    if (of != NULL && of->column != NULL && same_name(expr->args[1]->text, sql_literal(block->q, of->text))) {
        expr->args[1]->text = sql_literal(block->q, of->column->name);
    }
}

bool
sql_bind(struct sql_block *block, struct sql_expr *expr)
{
    if (sql_bind_whole(block, expr)) {
        return block->q->err == GRANARY_OK;
    }
    if (expr->kind == SQL_COLUMN && !bind_column(block, expr)) {
        return false;
    }
    if (expr->kind == SQL_STAR) {
        return sql_fail(block->q, GRANARY_EINVAL, expr->position, "* stands for columns of SELECT, and in count(*)");
    }
    for (size_t i = 0; i < expr->count; i++) {
        if (!sql_bind(block, expr->args[i])) {
            return false;
        }
    }
    if (expr->kind == SQL_CASE && expr->written != NULL && strcmp(expr->written, SQL_ALIAS_OF) == 0) {
        name_alias_of(block, expr);
    }
    return bind_clauses(block, expr);
}

uint64_t
sql_mask(const struct sql_block *block, const struct sql_expr *expr)
{
    uint64_t mask = 0;

    if (expr->kind == SQL_COLUMN && expr->column != NULL && expr->column->block == block) {
        mask = (uint64_t)1 << expr->column->item;
    }
    for (size_t i = 0; i < expr->count; i++) {
        mask |= sql_mask(block, expr->args[i]);
    }
    return mask;
}

/* Items whose columns a subquery's condition, which is not bound yet, may name. */
static uint64_t
may_name(const struct sql_block *block, const struct sql_expr *expr)
{
    bool ambiguous = false;
    uint64_t mask = 0;

    if (expr->kind == SQL_COLUMN) {
        const struct sql_column *column = sql_find_column(block, expr->table, expr->text, &ambiguous);

        for (size_t item = 0; item < block->item_count; item++) {
            mask |= (uint64_t)(ambiguous || (column != NULL && column->item == (int)item)) << item;
        }
    }
    for (size_t i = 0; i < expr->count; i++) {
        mask |= may_name(block, expr->args[i]);
    }
    return mask;
}

static uint64_t
on_may_name(const struct sql_block *block, const struct sql_from *from)
{
    uint64_t mask = from->on != NULL ? may_name(block, from->on) : 0;

    return from->kind != SQL_FROM_JOIN ? 0 : mask | on_may_name(block, from->left) | on_may_name(block, from->right);
}

uint64_t
sql_reach(struct sql_block *block, const struct sql_expr *expr)
{
    const struct sql_select *select = expr->kind == SQL_SUBQUERY ? expr->select : NULL;
    uint64_t mask = sql_mask(block, expr);
    struct sql_reached reached = {.count = 0};

    if (select != NULL && select->where != NULL) {
        mask |= may_name(block, select->where);
    }
    for (size_t i = 0; select != NULL && i < select->from_count; i++) {
        mask |= on_may_name(block, select->from[i]);
    }
    if (select != NULL && sql_reach_out(block, select, &reached)) {
        for (size_t i = 0; i < reached.count; i++) {
            mask |= reached.columns[i]->block == block ? (uint64_t)1 << reached.columns[i]->item : 0;
        }
    }
    for (size_t i = 0; i < expr->count; i++) {
        mask |= sql_reach(block, expr->args[i]);
    }
    return mask;
}

bool
sql_has(const struct sql_expr *expr, enum sql_kind kind)
{
    bool has = expr->kind == kind || (expr->kind == SQL_RANDOM && kind == SQL_SUBQUERY) ||
               (expr->condition != NULL && sql_has(expr->condition, kind));

    for (size_t i = 0; i < expr->count && !has; i++) {
        has = sql_has(expr->args[i], kind);
    }
    return has;
}

bool
sql_is_outer(const struct sql_block *block, const struct sql_expr *expr)
{
    bool outer = expr->kind == SQL_COLUMN && expr->column != NULL && expr->column->block != block;

    for (size_t i = 0; i < expr->count && !outer; i++) {
        outer = sql_is_outer(block, expr->args[i]);
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->partition_count && !outer; i++) {
        outer = sql_is_outer(block, expr->over->partition[i]);
    }
    for (size_t i = 0; expr->over != NULL && i < expr->over->order_count && !outer; i++) {
        outer = sql_is_outer(block, expr->over->order[i].expr);
    }
    for (size_t i = 0; expr->over != NULL && i < 2 && !outer; i++) {
        outer = expr->over->bounds[i].distance != NULL && sql_is_outer(block, expr->over->bounds[i].distance);
    }
    return outer || (expr->condition != NULL && sql_is_outer(block, expr->condition));
}

bool
sql_check_inner(struct sql_block *block, const struct sql_expr *expr)
{
    return !sql_is_outer(block, expr) || sql_fail(block->q, GRANARY_EUNSUPPORTED, expr->position,
                                                  "a column of the outer query can stand in WHERE of a subquery only");
}

bool
sql_equal(const struct sql_expr *a, const struct sql_expr *b)
{
    if (a == b) {
        return true;
    }
    if (a->kind != b->kind || a->count != b->count || a->negated != b->negated || a->distinct != b->distinct ||
        (a->condition == NULL) != (b->condition == NULL) || a->over != NULL || b->over != NULL ||
        a->kind == SQL_SUBQUERY) {
        return false;
    }
    if (a->kind == SQL_COLUMN) {
        return a->column != NULL && b->column != NULL && a->column->block == b->column->block &&
               strcmp(a->column->frame, b->column->frame) == 0;
    }
    if (strcmp(a->text, b->text) != 0) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (!sql_equal(a->args[i], b->args[i])) {
            return false;
        }
    }
    return a->condition == NULL || sql_equal(a->condition, b->condition);
}
