/* Dtypes of functions of lists that compute with their items, or read or write them. */
#include "base/error.h"
#include "graph/expr/check/check.h"

/* What expr_check_list_length() asks of operand 0: a list, or a null that becomes one. */
static granary_err
need_list(struct gr_expr *expr, granary_dtype *ret_item)
{
    granary_err err = expr_check_list_length(expr);

    *ret_item = err == GRANARY_OK ? GRANARY_LIST_ITEM(expr->operands[0]->dtype) : GRANARY_NULLTYPE;
    return err;
}

granary_err
expr_check_list_real(struct gr_expr *expr)
{
    granary_dtype item;
    granary_err err = need_list(expr, &item);

    expr->dtype = GRANARY_FLOAT64;
    return err;
}

granary_err
expr_check_list_whole(struct gr_expr *expr)
{
    granary_dtype item;
    granary_err err;

    if (expr->operands[0]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], GRANARY_LIST(GRANARY_INT64));
    }
    (void)expr_nulls_become(expr->operands[0], GRANARY_LIST(GRANARY_INT64));
    err = need_list(expr, &item);
    expr->dtype = item;
    return err == GRANARY_OK && !expr_is_integer(item) ? expr_wrong_operand(expr, 0, "a list of integers") : err;
}

/* Lists of numbers; float32 stays when both have it. */
granary_err
expr_check_list_pair(struct gr_expr *expr)
{
    bool small = true;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < 2 && err == GRANARY_OK; i++) {
        struct gr_expr *operand = expr->operands[i];

        if (operand->dtype == GRANARY_NULLTYPE) {
            expr_become_null(operand, GRANARY_LIST(GRANARY_FLOAT64));
        }
        (void)expr_nulls_become(operand, GRANARY_LIST(GRANARY_FLOAT64));
        if (!expr_is_list(operand->dtype) || !expr_is_numeric(GRANARY_LIST_ITEM(operand->dtype))) {
            err = expr_wrong_operand(expr, i, "a list of numbers");
        }
        small = small && operand->dtype == GRANARY_LIST(GRANARY_FLOAT32);
    }
    expr->dtype = small ? GRANARY_FLOAT32 : GRANARY_FLOAT64;
    return err;
}

/* The value is one that could be an item: a literal takes the items' dtype. */
granary_err
expr_check_list_resize(struct gr_expr *expr)
{
    struct gr_expr *value = expr->operands[2];
    granary_dtype item;
    granary_err err;

    if (expr->operands[0]->dtype == GRANARY_NULLTYPE && value->dtype != GRANARY_NULLTYPE &&
        !expr_is_list(value->dtype)) {
        expr_become_null(expr->operands[0], GRANARY_LIST(value->dtype));
    } else if (value->dtype != GRANARY_NULLTYPE && !expr_is_list(value->dtype)) {
        (void)expr_nulls_become(expr->operands[0], GRANARY_LIST(value->dtype));
    }
    err = need_list(expr, &item);
    if (err == GRANARY_OK && expr->operands[1]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[1], GRANARY_INT64);
    }
    if (err == GRANARY_OK && !expr_is_integer(expr->operands[1]->dtype)) {
        err = expr_wrong_operand(expr, 1, "an integer");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (value->dtype == GRANARY_NULLTYPE) {
        expr_become_null(value, item);
    } else if (expr_is_text(value) && item != GRANARY_STRING) {
        err = expr_read_argument(expr, value, item);
    } else if (value->dtype != item && expr_is_numeric(value->dtype) && expr_is_numeric(item) &&
               (expr_is_weak(value) || expr_promote(value->dtype, item) == item)) {
        err = expr_cast_to(&expr->operands[2], item);
    }
    expr->dtype = expr->operands[0]->dtype;
    return err == GRANARY_OK && expr->operands[2]->dtype != item
               ? expr_wrong_operand(expr, 2, "a value of the items' dtype")
               : err;
}

/* A list of texts, made of texts. */
granary_err
expr_check_texts(struct gr_expr *expr)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < expr->operand_count && err == GRANARY_OK; i++) {
        err = expr_need_text(expr, i);
    }
    expr->dtype = GRANARY_LIST(GRANARY_STRING);
    return err;
}

granary_err
expr_check_bar(struct gr_expr *expr)
{
    granary_err err = expr_check_signature(expr);

    expr->dtype = GRANARY_STRING;
    return err;
}

/* Numbers, bools and strings have a form in JSON, and lists of them; all else is a string there. */
granary_err
expr_check_to_json(struct gr_expr *expr)
{
    granary_dtype item;
    granary_err err = GRANARY_OK;
    bool list;

    if (expr->operands[0]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], GRANARY_STRING);
    }
    list = expr_is_list(expr->operands[0]->dtype);
    item = list ? GRANARY_LIST_ITEM(expr->operands[0]->dtype) : expr->operands[0]->dtype;
    if (expr_is_list(item)) {
        return expr_wrong_operand(expr, 0, "a value, or a list of values that are none");
    }
    if (item != GRANARY_STRING && item != GRANARY_BOOL && !expr_is_numeric(item)) {
        err = expr_cast_call(&expr->operands[0], list ? GRANARY_LIST(GRANARY_STRING) : GRANARY_STRING);
    }
    expr->dtype = GRANARY_STRING;
    return err;
}

granary_err
expr_check_try(struct gr_expr *expr)
{
    if (expr->operands[0]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], GRANARY_STRING);
    }
    expr->dtype = expr->operands[0]->dtype;
    return GRANARY_OK;
}

static bool
is_moment(granary_dtype dtype)
{
    return dtype == GRANARY_DATE || dtype == GRANARY_TIMESTAMP;
}

/* Bounds are integers or moments, or become floats. Those of dates are what the last one is. */
granary_err
expr_check_bins(struct gr_expr *expr)
{
    granary_dtype bound = GRANARY_INT64;
    granary_dtype item = GRANARY_NULLTYPE;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < 4; i++) {
        if (expr->operands[i]->dtype == GRANARY_NULLTYPE) {
            expr_become_null(expr->operands[i], i < 3 ? GRANARY_INT64 : GRANARY_BOOL);
        }
    }
    if (is_moment(expr->operands[0]->dtype) && is_moment(expr->operands[1]->dtype)) {
        item = expr->operands[1]->dtype;
        bound = GRANARY_TIMESTAMP;
    }
    for (size_t i = 0; i < 2 && bound != GRANARY_TIMESTAMP; i++) {
        if (!expr_is_numeric(expr->operands[i]->dtype)) {
            return expr_wrong_operand(expr, i, "a number");
        }
        bound = expr_is_integer(expr->operands[i]->dtype) ? bound : GRANARY_FLOAT64;
    }
    if (!expr_is_integer(expr->operands[2]->dtype)) {
        return expr_wrong_operand(expr, 2, "an integer");
    }
    if (expr->operands[3]->dtype != GRANARY_BOOL) {
        return expr_wrong_operand(expr, 3, "a bool");
    }
    for (size_t i = 0; i < 2 && err == GRANARY_OK; i++) {
        err = expr->operands[i]->dtype == bound ? GRANARY_OK : expr_cast_to(&expr->operands[i], bound);
    }
    expr->dtype = GRANARY_LIST(item != GRANARY_NULLTYPE ? item : bound);
    return err;
}
