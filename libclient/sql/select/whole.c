/* A table's row as JSON: to_json(t), where t is called so in FROM and no column is. It becomes the concat of its parts. */
#include <string.h>
#include <strings.h>

#include "data/print/print.h"
#include "sql/block.h"

static struct sql_expr *
new_expr(struct sql_block *block, enum sql_kind kind, int position, const char *text, size_t count)
{
    struct sql_expr *expr = SQL_NEW(block->q, struct sql_expr);
    struct sql_expr **args = SQL_ARRAY(block->q, struct sql_expr *, count + 1);

    if (expr == NULL || args == NULL || text == NULL) {
        return NULL;
    }
    *expr = (struct sql_expr){.kind = kind, .position = position, .text = text, .args = args, .count = count};
    return expr;
}

/* {"name": or ,"name": */
static struct sql_expr *
name_of(struct sql_block *block, const char *name, bool first, int position)
{
    struct gr_buf json = {0};
    struct sql_expr *expr;

    gr_buf_add(&json, first ? "{" : ",", 1);
    gr_print_json_string(name, strlen(name), &json);
    gr_buf_add(&json, ":", 1);
    expr = gr_buf_ok(&json) ? new_expr(block, SQL_LITERAL, position,
                                       sql_literal(block->q, sql_printf(block->q, "%s", json.bytes)), 0)
                            : NULL;
    gr_buf_free(&json);
    return expr;
}

/* coalesce(to_json(column), 'null') */
static struct sql_expr *
value_of(struct sql_block *block, const struct sql_column *column, int position)
{
    struct sql_expr *name = new_expr(block, SQL_COLUMN, position, column->name, 0);
    struct sql_expr *json = new_expr(block, SQL_FUNCTION, position, "to_json", 1);
    struct sql_expr *value = new_expr(block, SQL_FUNCTION, position, "coalesce", 2);
    struct sql_expr *none = new_expr(block, SQL_LITERAL, position, "'null'", 0);

    if (name == NULL || json == NULL || value == NULL || none == NULL) {
        return NULL;
    }
    name->column = column;
    json->args[0] = name;
    value->args[0] = json;
    value->args[1] = none;
    return value;
}

static bool
is_of(const struct sql_column *column, const char *table)
{
    return column->table != NULL && strcasecmp(column->table, table) == 0;
}

bool
sql_bind_whole(struct sql_block *block, struct sql_expr *expr)
{
    const struct sql_expr *name = expr->count == 1 ? expr->args[0] : NULL;
    struct sql_expr *made;
    bool ambiguous = false;
    size_t count = 0;

    if (expr->kind != SQL_FUNCTION || strcmp(expr->text, "to_json") != 0 || name == NULL || name->kind != SQL_COLUMN ||
        name->table != NULL || name->column != NULL || sql_find_column(block, NULL, name->text, &ambiguous) != NULL ||
        ambiguous) {
        return false;
    }
    for (size_t i = 0; i < block->column_count; i++) {
        count += is_of(block->columns[i], name->text);
    }
    if (count == 0) {
        return false;
    }
    made = new_expr(block, SQL_FUNCTION, expr->position, "concat", 2 * count + 1);
    count = 0;
    for (size_t i = 0; i < block->column_count && made != NULL; i++) {
        const struct sql_column *column = block->columns[i];

        if (is_of(column, name->text)) {
            made->args[count] = name_of(block, column->name, count == 0, expr->position);
            made->args[count + 1] = value_of(block, column, expr->position);
            count += 2;
        }
    }
    if (made != NULL) {
        made->args[count] = new_expr(block, SQL_LITERAL, expr->position, "'}'", 0);
        made->written = expr->written != NULL ? expr->written : "to_json";
        *expr = *made;
    }
    return true;
}
