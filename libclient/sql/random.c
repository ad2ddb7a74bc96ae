/*
 * random() and uuid(): of a seed that is drawn when the statement is translated, and the number of the row. So every row and
 * every call has a value of its own, however the rows are cut, and a statement that is run again has others.
 */
#include "sql/block.h"

/* The rows get numbers, which the call names. */
bool
sql_number_random(struct sql_block *block, struct sql_expr *expr)
{
    struct sql_statement *q = block->q;
    const char *name;
    granary_node node;

    for (size_t i = 0; i < block->named_count; i++) {
        if (block->named[i].expr == expr) {
            return true;
        }
    }
    name = sql_fresh(q, "row");
    node = name == NULL ? GRANARY_NO_NODE : sql_node(q, "reset_index", expr->position, &block->rel.node, 1);
    if (node == GRANARY_NO_NODE) {
        return false;
    }
    granary_node_set_string(q->graph, node, "name", name);
    block->rel.node = node;
    return sql_name_expr(block, expr, sql_printf(q, "%s, `%s`)", expr->text, name));
}
