/* Dtypes of functions of lists. */
#include "base/error.h"
#include "graph/expr/check.h"

/* A null becomes a list of strings. Errors: ETYPE it is no list */
static granary_err
need_list(struct gr_expr *expr)
{
    if (expr->operands[0]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], GRANARY_LIST(GRANARY_STRING));
    }
    return expr_is_list(expr->operands[0]->dtype) ? GRANARY_OK : expr_wrong_operand(expr, 0, "a list");
}

static granary_dtype
item_of(const struct gr_expr *expr)
{
    return GRANARY_LIST_ITEM(expr->operands[0]->dtype);
}

static granary_err
need_integer(struct gr_expr *expr, size_t i)
{
    struct gr_expr *operand = expr->operands[i];

    if (operand->dtype == GRANARY_NULLTYPE) {
        expr_become_null(operand, GRANARY_INT64);
    }
    return expr_is_integer(operand->dtype) ? GRANARY_OK : expr_wrong_operand(expr, i, "an integer");
}

static granary_err
need_text(struct gr_expr *expr, size_t i)
{
    struct gr_expr *operand = expr->operands[i];

    if (operand->dtype == GRANARY_NULLTYPE) {
        expr_become_null(operand, GRANARY_STRING);
    }
    return operand->dtype == GRANARY_STRING ? GRANARY_OK : expr_wrong_operand(expr, i, "a string");
}

granary_err
expr_check_list_value(struct gr_expr *expr)
{
    granary_dtype item = GRANARY_NULLTYPE;
    granary_err err;

    for (size_t i = 0; i < expr->operand_count; i++) {
        if (expr_is_list(expr->operands[i]->dtype)) {
            return expr_wrong_operand(expr, i, "a value that is no list itself");
        }
    }
    err = expr_check_alike(expr);
    item = expr->dtype;
    for (size_t i = 0; i < expr->operand_count && err == GRANARY_OK; i++) {
        struct gr_expr *operand = expr->operands[i];

        if (operand->dtype != item && !(operand->kind == GR_EXPR_LITERAL && operand->is_null)) {
            err = expr_cast_to(&expr->operands[i], item);
        }
    }
    expr->dtype = GRANARY_LIST(item);
    return err;
}

granary_err
expr_check_list_length(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    expr->dtype = GRANARY_INT64;
    return err;
}

/* Of a list they are the functions of lists. */
granary_err
expr_check_length(struct gr_expr *expr)
{
    if (expr_is_list(expr->operands[0]->dtype)) {
        expr->op = GR_OP_LIST_LENGTH;
        return expr_check_list_length(expr);
    }
    return expr_check_signature(expr);
}

granary_err
expr_check_contains(struct gr_expr *expr)
{
    if (expr_is_list(expr->operands[0]->dtype)) {
        expr->op = GR_OP_LIST_CONTAINS;
        return expr_check_list_contains(expr);
    }
    return expr_check_signature(expr);
}

granary_err
expr_check_list_extract(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    err = err == GRANARY_OK ? need_integer(expr, 1) : err;
    expr->dtype = item_of(expr);
    return err;
}

granary_err
expr_check_list_slice(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    err = err == GRANARY_OK ? need_integer(expr, 1) : err;
    err = err == GRANARY_OK ? need_integer(expr, 2) : err;
    expr->dtype = expr->operands[0]->dtype;
    return err;
}

/* What is looked for is of the items' dtype, or both are numbers. */
granary_err
expr_check_list_contains(struct gr_expr *expr)
{
    granary_err err = need_list(expr);
    granary_dtype item = item_of(expr);
    struct gr_expr *wanted = expr->operands[1];
    struct expr_shown shown;

    expr->dtype = expr->op == GR_OP_LIST_CONTAINS ? GRANARY_BOOL : GRANARY_INT64;
    if (err != GRANARY_OK) {
        return err;
    }
    if (wanted->dtype == GRANARY_NULLTYPE) {
        expr_become_null(wanted, item);
    }
    if (expr_is_text(wanted) && item != GRANARY_STRING) {
        err = expr_read_text(wanted, item, expr_show(expr->operands[0], &shown));
    }
    if (err == GRANARY_OK && expr_is_weak(wanted) && expr_is_numeric(item)) {
        expr_adopt_compared(wanted, item);
    }
    if (err != GRANARY_OK || wanted->dtype == item || (expr_is_integer(wanted->dtype) && expr_is_integer(item))) {
        return err;
    }
    if (expr_is_numeric(wanted->dtype) && expr_is_numeric(item)) {
        return expr_is_float(wanted->dtype) || expr_is_float(item) ? GRANARY_OK /* compared as floats */
               : expr_is_decimal(item)                             ? expr_cast_to(&expr->operands[1], item)
                                       : expr_wrong_operand(expr, 1, "a number of the items' dtype");
    }
    return gr_fail(GRANARY_ETYPE, "position %d: '%s' needs a value of the items' dtype as argument 2, not %s beside %s",
                   expr->position, gr_expr_op_text(expr->op), granary_dtype_name(wanted->dtype),
                   granary_dtype_name(expr->operands[0]->dtype));
}

granary_err
expr_check_list_sum(struct gr_expr *expr)
{
    granary_err err = need_list(expr);
    granary_dtype item = item_of(expr);
    bool is_mean = expr->op == GR_OP_LIST_MEAN;

    if (err == GRANARY_OK && !expr_is_numeric(item) && (item != GRANARY_DURATION || is_mean)) {
        return expr_wrong_operand(expr, 0, "a list of numbers");
    }
    expr->dtype = is_mean || expr_is_float(item) ? GRANARY_FLOAT64 : expr_is_integer(item) ? GRANARY_INT64 : item;
    return err;
}

granary_err
expr_check_list_item(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    expr->dtype = item_of(expr);
    return err;
}

granary_err
expr_check_list_same(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    expr->dtype = expr->operands[0]->dtype;
    return err;
}

granary_err
expr_check_list_join(struct gr_expr *expr)
{
    granary_err err = need_list(expr);

    expr->dtype = GRANARY_STRING;
    return err == GRANARY_OK ? need_text(expr, 1) : err;
}

granary_err
expr_check_string_split(struct gr_expr *expr)
{
    granary_err err = need_text(expr, 0);

    expr->dtype = GRANARY_LIST(GRANARY_STRING);
    return err == GRANARY_OK ? need_text(expr, 1) : err;
}

granary_err
expr_check_list_range(struct gr_expr *expr)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < expr->operand_count && err == GRANARY_OK; i++) {
        err = need_integer(expr, i);
    }
    expr->dtype = GRANARY_LIST(GRANARY_INT64);
    return err;
}
