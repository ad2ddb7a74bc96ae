#include "graph/expr.h"

#include <stdlib.h>

void
gr_expr_destroy(struct gr_expr *expr)
{
    if (expr == NULL) {
        return;
    }
    gr_expr_destroy(expr->operands[0]);
    gr_expr_destroy(expr->operands[1]);
    free(expr->column);
    free(expr->text);
    free(expr);
}

void
gr_expr_columns(const struct gr_expr *expr, const struct gr_schema *schema, bool *used)
{
    if (expr->kind == GR_EXPR_COLUMN) {
        int index = gr_schema_find(schema, expr->column);

        if (index >= 0) {
            used[index] = true;
        }
    }
    for (int i = 0; i < 2 && expr->operands[i] != NULL; i++) {
        gr_expr_columns(expr->operands[i], schema, used);
    }
}

const char *
gr_expr_op_text(enum gr_expr_op op)
{
    static const char *const texts[] = {
        [GR_OP_ADD] = "+",
        [GR_OP_SUBTRACT] = "-",
        [GR_OP_MULTIPLY] = "*",
        [GR_OP_DIVIDE] = "/",
        [GR_OP_MODULO] = "%",
        [GR_OP_NEGATE] = "-",
        [GR_OP_EQUAL] = "=",
        [GR_OP_NOT_EQUAL] = "!=",
        [GR_OP_LESS] = "<",
        [GR_OP_LESS_EQUAL] = "<=",
        [GR_OP_GREATER] = ">",
        [GR_OP_GREATER_EQUAL] = ">=",
        [GR_OP_AND] = "and",
        [GR_OP_OR] = "or",
        [GR_OP_NOT] = "not",
        [GR_OP_IS_NULL] = "is null",
        [GR_OP_IS_NOT_NULL] = "is not null",
        [GR_OP_ABS] = "abs",
        [GR_OP_SQRT] = "sqrt",
        [GR_OP_YEAR] = "year",
        [GR_OP_MONTH] = "month",
        [GR_OP_DAY] = "day",
        [GR_OP_LOWER] = "lower",
        [GR_OP_LENGTH] = "length",
        [GR_OP_TO_FLOAT64] = "to_float64",
        [GR_OP_TO_TIMESTAMP] = "to_timestamp",
    };

    return texts[op];
}
