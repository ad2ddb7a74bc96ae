/* Dtypes of functions of a list. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/expr/check/check.h"

/* A null, and a list of nulls, has items of that dtype. */
static granary_err
need_list_of(struct gr_expr *expr, granary_dtype item)
{
    if (expr->operands[0]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], GRANARY_LIST(item));
    }
    (void)expr_nulls_become(expr->operands[0], GRANARY_LIST(item));
    return expr_need_list(expr, 0);
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

granary_err
expr_need_text(struct gr_expr *expr, size_t i)
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
    granary_err err = expr_need_list(expr, 0);

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
expr_check_repeat(struct gr_expr *expr)
{
    if (expr_is_list(expr->operands[0]->dtype)) {
        expr->op = GR_OP_LIST_REPEAT;
        return expr_check_list_pad(expr);
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
    granary_err err = GRANARY_OK;

    if (expr->operands[0]->dtype == GRANARY_STRING) {
        expr->op = GR_OP_CHARACTER;
        return expr_check_signature(expr);
    }
    err = expr_need_list(expr, 0);

    err = err == GRANARY_OK ? need_integer(expr, 1) : err;
    expr->dtype = item_of(expr);
    return err;
}

/* The end of a slice that is not written: the number stands for it. */
static void
become_end(struct gr_expr *end, int64_t number)
{
    if (end->kind == GR_EXPR_LITERAL && end->is_null) {
        expr_become_null(end, GRANARY_INT64);
        end->is_null = false;
        end->value.i = number;
    }
}

granary_err
expr_check_list_slice(struct gr_expr *expr)
{
    granary_err err = GRANARY_OK;

    if (gr_dtype_is_text(expr->operands[0]->dtype)) {
        become_end(expr->operands[1], 1);
        become_end(expr->operands[2], INT64_MAX);
        expr->op = GR_OP_TEXT_SLICE;
        return expr_check_signature(expr);
    }
    err = expr_need_list(expr, 0);

    err = err == GRANARY_OK ? need_integer(expr, 1) : err;
    err = err == GRANARY_OK ? need_integer(expr, 2) : err;
    expr->dtype = expr->operands[0]->dtype;
    return err;
}

/* What is looked for is of the items' dtype, or both are numbers. */
granary_err
expr_check_list_contains(struct gr_expr *expr)
{
    struct gr_expr *list = expr->operands[0];
    struct gr_expr *wanted = expr->operands[1];
    struct expr_shown shown;
    granary_dtype item;
    granary_err err;

    if (wanted->dtype != GRANARY_NULLTYPE && !expr_is_list(wanted->dtype) && list->dtype == GRANARY_NULLTYPE) {
        expr_become_null(list, GRANARY_LIST(wanted->dtype));
    } else if (wanted->dtype != GRANARY_NULLTYPE && !expr_is_list(wanted->dtype) && expr_list_is_open(list)) {
        expr_list_become(list, GRANARY_LIST(wanted->dtype));
    }
    err = expr_need_list(expr, 0);
    item = item_of(expr);

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
    granary_err err = need_list_of(expr, GRANARY_INT64);
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
    granary_err err = expr_need_list(expr, 0);

    expr->dtype = item_of(expr);
    return err;
}

granary_err
expr_check_list_same(struct gr_expr *expr)
{
    granary_err err = expr_need_list(expr, 0);

    expr->dtype = expr->operands[0]->dtype;
    return err;
}

granary_err
expr_check_list_join(struct gr_expr *expr)
{
    granary_err err = expr_need_list(expr, 0);

    expr->dtype = GRANARY_STRING;
    return err == GRANARY_OK ? expr_need_text(expr, 1) : err;
}

granary_err
expr_check_string_split(struct gr_expr *expr)
{
    granary_err err = expr_need_text(expr, 0);

    expr->dtype = GRANARY_LIST(GRANARY_STRING);
    return err == GRANARY_OK ? expr_need_text(expr, 1) : err;
}

granary_err
expr_check_list_parse(struct gr_expr *expr)
{
    expr->dtype = GRANARY_LIST(GRANARY_STRING);
    return expr_need_text(expr, 0);
}

/* The operand of a cast becomes a list of strings. */
static granary_err
parse_first(struct gr_expr *cast, enum gr_expr_op op)
{
    struct gr_expr *call = NULL;
    int position = cast->operands[0]->position;
    granary_err err = gr_expr_call(op, &cast->operands[0], 1, &call);

    cast->operands[0] = call; /* NULL: gone with it */
    if (err != GRANARY_OK) {
        cast->operand_count = 0;
        return err;
    }
    call->position = position;
    return expr_check_list_parse(call);
}

granary_err
expr_parse_list(struct gr_expr *cast)
{
    struct gr_expr *operands[2] = {NULL, NULL};
    struct gr_expr *call = NULL;
    char text[160];
    granary_err err = parse_first(cast, cast->op == GR_OP_CAST ? GR_OP_LIST_PARSE : GR_OP_TRY_LIST_PARSE);

    if (err != GRANARY_OK || cast->op == GR_OP_CAST) {
        return err;
    }
    (void)snprintf(text, sizeof text, "'try_cast(x as %s)'", granary_dtype_name(GRANARY_LIST_ITEM(cast->target)));
    err = gr_expr_parse(text, &operands[1]);
    if (err != GRANARY_OK) {
        return err;
    }
    operands[0] = cast->operands[0];
    err = gr_expr_call(GR_OP_LIST_TRANSFORM, operands, 2, &call);
    cast->operands[0] = call;
    if (err != GRANARY_OK) {
        cast->operand_count = 0;
        return err;
    }
    call->position = cast->position;
    return expr_check_list_lambda(call);
}

granary_err
expr_check_regexp_list(struct gr_expr *expr)
{
    granary_err err = expr_check_string_split(expr);

    return err == GRANARY_OK && expr->operand_count > 2 ? need_integer(expr, 2) : err;
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

granary_err
expr_check_list_pad(struct gr_expr *expr)
{
    granary_err err = expr_need_list(expr, 0);

    expr->dtype = expr->operands[0]->dtype;
    return err == GRANARY_OK ? need_integer(expr, 1) : err;
}

/* ---- keys ---- */

granary_err
expr_check_list_key(struct gr_expr *expr)
{
    granary_err err = expr_need_list(expr, 0);

    expr->dtype = GRANARY_BINARY;
    return err;
}

granary_err
expr_check_list_from_key(struct gr_expr *expr)
{
    granary_dtype dtype = expr->operands[1]->dtype;
    granary_dtype key = expr->operands[0]->dtype;

    if (key == GRANARY_NULLTYPE) {
        key = GRANARY_BINARY;
        expr_become_null(expr->operands[0], key);
    }
    expr->dtype = dtype;
    if (!expr_is_list(dtype)) {
        return expr_wrong_operand(expr, 1, "a list");
    }
    if (key == GRANARY_LIST(GRANARY_BINARY)) {
        return expr_is_list(GRANARY_LIST_ITEM(dtype)) ? GRANARY_OK : expr_wrong_operand(expr, 1, "a list of lists");
    }
    return key == GRANARY_BINARY ? GRANARY_OK : expr_wrong_operand(expr, 0, "a key, or a list of keys");
}

/* ---- statistics ---- */

granary_err
expr_check_list_number(struct gr_expr *expr)
{
    granary_err err = need_list_of(expr, GRANARY_FLOAT64);
    granary_dtype item = item_of(expr);

    expr->dtype = GRANARY_FLOAT64;
    return err == GRANARY_OK && !expr_is_numeric(item) && item != GRANARY_NULLTYPE
               ? expr_wrong_operand(expr, 0, "a list of numbers")
               : err;
}

granary_err
expr_check_list_truth(struct gr_expr *expr)
{
    granary_err err = need_list_of(expr, GRANARY_BOOL);

    expr->dtype = GRANARY_BOOL;
    return err == GRANARY_OK && item_of(expr) != GRANARY_BOOL ? expr_wrong_operand(expr, 0, "a list of bools") : err;
}
