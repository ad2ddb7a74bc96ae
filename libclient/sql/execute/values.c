/*
 * VALUES of an INSERT. As in PostgreSQL, each value becomes the dtype of its column by itself: (7) and ('8') may stand below
 * each other, and an error is of one value. What VALUES are is told by parse/rows.c.
 */
#include "sql/execute/values.h"

#include "granary/frame.h"
#include "sql/told.h"

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
    const size_t first = (size_t)select->from[0]->start;
    bool ok = true;

    if (select->value_rows == 1) {
        return cast_one(q, expr, first, column);
    }
    for (size_t r = 0; ok && r < select->value_rows; r++) {
        ok = cast_one(q, &(*expr)->args[argument_of(r, (*expr)->count)], first + r, column);
    }
    return ok;
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

/* Those of one piece, or of both halves. */
static bool
cast_rows(struct sql_statement *q, const struct sql_change *change, const granary_frame *schema,
          struct sql_select *select)
{
    bool ok = true;

    if (select->set != SQL_NO_SET) {
        return cast_rows(q, change, schema, select->left) && cast_rows(q, change, schema, select->right);
    }
    for (size_t c = 0; ok && c < select->target_count; c++) {
        const granary_column *column = column_for(change, schema, c);

        ok = column == NULL /* the count is refused */ || cast_column(q, select, c, column);
    }
    return ok;
}

/* With ORDER BY or LIMIT it is a SELECT like others. */
bool
sql_cast_values(struct sql_statement *q, const struct sql_change *change, const granary_frame *schema)
{
    struct sql_select *select = change->select;

    return select->value_rows == 0 || select->with_count > 0 || select->order_count > 0 || select->limit >= 0 ||
           select->offset > 0 || cast_rows(q, change, schema, select);
}
