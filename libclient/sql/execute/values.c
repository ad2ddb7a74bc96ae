/*
 * VALUES of an INSERT. As in PostgreSQL, each value becomes the dtype of its column by itself: (7) and ('8') may stand below
 * each other, and an error is of one value. A column of VALUES is one CASE over the numbers of the rows (parse/rows.c), and an
 * expression has a limited size: so many rows become a UNION ALL of pieces.
 */
#include "sql/execute/values.h"

#include <string.h>

#include "granary/frame.h"
#include "sql/told.h"

/* Five operands a row, which a cast is one of; the other half of GR_EXPR_NODES is for values that are expressions. */
#define PIECE_ROWS 400

/* Where the value of a row is among the arguments of CASE, which has `count` of them. */
static size_t
argument_of(size_t row, size_t count)
{
    return 2 * row + 1 < count ? 2 * row + 1 : count - 1;
}

struct sql_expr *
sql_cast_to(struct sql_statement *q, struct sql_expr *value, const granary_column *column, int position)
{
    struct sql_expr *cast = SQL_NEW(q, struct sql_expr);
    struct sql_expr **args = SQL_ARRAY(q, struct sql_expr *, 1);

    if (cast == NULL || args == NULL) {
        return NULL;
    }
    args[0] = value;
    *cast = (struct sql_expr){
        .kind = SQL_CAST, .position = position, .text = granary_dtype_name(column->dtype), .args = args, .count = 1};
    return cast;
}

/* One value, which errors name by its row. */
static bool
cast_one(struct sql_statement *q, struct sql_expr **value, size_t row, const granary_column *column)
{
    const int position = (*value)->position;

    *value = sql_cast_to(q, *value, column, position);
    sql_tell_value(q, position, row, column->name);
    return *value != NULL;
}

/* The values of a column. */
static bool
cast_column(struct sql_statement *q, struct sql_select *select, size_t at, const granary_column *column)
{
    struct sql_expr **expr = &select->targets[at].expr;
    bool ok = true;

    if (select->value_rows == 1) {
        return cast_one(q, expr, 0, column);
    }
    for (size_t r = 0; ok && r < select->value_rows; r++) {
        ok = cast_one(q, &(*expr)->args[argument_of(r, (*expr)->count)], r, column);
    }
    return ok;
}

/* ---- pieces ---- */

/* Some rows of a CASE. */
static struct sql_expr *
piece_of_column(struct sql_statement *q, const struct sql_expr *all, size_t first, size_t count)
{
    struct sql_expr *piece = SQL_NEW(q, struct sql_expr);
    struct sql_expr **args = SQL_ARRAY(q, struct sql_expr *, 2 * count - 1);

    if (piece == NULL || args == NULL) {
        return NULL;
    }
    memcpy(args, all->args + 2 * first, 2 * (count - 1) * sizeof(struct sql_expr *));
    args[2 * count - 2] = all->args[argument_of(first + count - 1, all->count)];
    *piece = *all;
    piece->args = args;
    piece->count = 2 * count - 1;
    piece->position = args[2 * count - 2]->position;
    return count > 1 ? piece : args[0];
}

static struct sql_select *
piece_of_rows(struct sql_statement *q, const struct sql_select *all, size_t first, size_t count)
{
    struct sql_select *piece = SQL_NEW(q, struct sql_select);
    struct sql_target *targets = SQL_ARRAY(q, struct sql_target, all->target_count);
    struct sql_from **from = SQL_ARRAY(q, struct sql_from *, 1);
    struct sql_from *rows = SQL_NEW(q, struct sql_from);

    if (piece == NULL || targets == NULL || from == NULL || rows == NULL) {
        return NULL;
    }
    for (size_t c = 0; c < all->target_count; c++) {
        targets[c] = all->targets[c];
        targets[c].expr = piece_of_column(q, all->targets[c].expr, first, count);
        if (targets[c].expr == NULL) {
            return NULL;
        }
    }
    *rows = *all->from[0];
    rows->start = (int64_t)first;
    rows->stop = (int64_t)(first + count);
    from[0] = rows;
    *piece = *all;
    piece->targets = targets;
    piece->from = from;
    piece->value_rows = count;
    return piece;
}

/* Halves, and halves of these, until they are small enough. */
static struct sql_select *
values_cut(struct sql_statement *q, const struct sql_select *all, size_t first, size_t count)
{
    struct sql_select *both;

    if (count <= PIECE_ROWS) {
        return piece_of_rows(q, all, first, count);
    }
    both = SQL_NEW(q, struct sql_select);
    if (both == NULL) {
        return NULL;
    }
    *both = (struct sql_select){.position = all->position, .set = SQL_UNION, .all = true, .limit = -1};
    both->left = values_cut(q, all, first, count / 2);
    both->right = both->left == NULL ? NULL : values_cut(q, all, first + count / 2, count - count / 2);
    return both->right == NULL ? NULL : both;
}

/* ---- the statement ---- */

/* The column that value `at` of each row is for. NULL: there are more values than columns. */
static const granary_column *
column_for(const struct sql_change *change, const granary_frame *schema, size_t at)
{
    const size_t columns = change->field_count > 0 ? change->field_count : granary_frame_columns(schema);

    if (at >= columns) {
        return NULL;
    }
    return change->field_count > 0 ? granary_frame_column_named(schema, change->fields[at].name)
                                   : granary_frame_column(schema, at);
}

/* With ORDER BY or LIMIT it is a SELECT like others. */
struct sql_select *
sql_cast_values(struct sql_statement *q, const struct sql_change *change, const granary_frame *schema)
{
    struct sql_select *select = change->select;

    if (select->value_rows == 0 || select->with_count > 0 || select->order_count > 0 || select->limit >= 0 ||
        select->offset > 0) {
        return select;
    }
    for (size_t c = 0; c < select->target_count; c++) {
        const granary_column *column = column_for(change, schema, c);

        if (column == NULL) {
            return select; /* the count is refused */
        }
        if (!cast_column(q, select, c, column)) {
            return NULL;
        }
    }
    return select->value_rows <= PIECE_ROWS ? select : values_cut(q, select, 0, select->value_rows);
}
