/*
 * Dtypes of functions that compute an expression for each item of a list. The expression is a text of its own, over the
 * columns x (the item), i (its place, from 1), a1, a2, ... (the arguments behind it) and, of a reduction, y (what the items
 * before have made). So nothing else that reads expressions needs to know of it.
 */
#include <stdio.h>

#include "base/error.h"
#include "graph/expr/check/check.h"
#include "graph/schema.h"

/* Which argument the expression is: that of a reduction with a beginning stands behind it. */
static size_t
body_place(const struct gr_expr *expr)
{
    return expr->op == GR_OP_LIST_FOLD ? 2 : 1;
}

/* The columns of the expression; y: null type: there is none. */
static granary_err
make_columns(const struct gr_expr *expr, granary_dtype item, granary_dtype y, struct gr_schema *schema)
{
    granary_err err = gr_schema_add(schema, "x", item);

    err = err == GRANARY_OK ? gr_schema_add(schema, "i", GRANARY_INT64) : err;
    err = err == GRANARY_OK && y != GRANARY_NULLTYPE ? gr_schema_add(schema, "y", y) : err;
    for (size_t k = body_place(expr) + 1; k < expr->operand_count && err == GRANARY_OK; k++) {
        char name[32];

        (void)snprintf(name, sizeof name, "a%zu", k - body_place(expr));
        if (expr->operands[k]->dtype == GRANARY_NULLTYPE) {
            expr_become_null(expr->operands[k], GRANARY_STRING);
        }
        err = gr_schema_add(schema, name, expr->operands[k]->dtype);
    }
    return err;
}

/* The dtype of the expression over items of a dtype. */
static granary_err
check_body(const struct gr_expr *expr, granary_dtype item, granary_dtype y, granary_dtype *ret_dtype)
{
    const struct gr_expr *text = expr->operands[body_place(expr)];
    struct gr_schema schema = {0};
    struct gr_expr *body = NULL;
    granary_err err = make_columns(expr, item, y, &schema);

    err = err == GRANARY_OK ? gr_expr_parse(text->text, &body) : err;
    err = err == GRANARY_OK ? gr_expr_check(body, &schema) : err;
    if (err == GRANARY_OK) {
        *ret_dtype = body->dtype;
    } else {
        err = gr_fail_in(err, "position %d: '%s': expression `%.200s`", expr->position, gr_expr_op_text(expr->op),
                         text->text);
    }
    gr_expr_destroy(body);
    gr_schema_free(&schema);
    return err;
}

static granary_err
need_body(struct gr_expr *expr)
{
    const struct gr_expr *body = expr->operands[body_place(expr)];

    return expr_is_literal(body) && body->dtype == GRANARY_STRING
               ? GRANARY_OK
               : expr_wrong_operand(expr, body_place(expr), "an expression as text, such as 'x + 1',");
}

/* untyped: the list is a null. A list without a type takes one with which the expression can be computed. */
static granary_err
check_items(struct gr_expr *expr, bool untyped, granary_dtype *ret_dtype)
{
    static const granary_dtype tried[] = {GRANARY_STRING, GRANARY_INT64, GRANARY_BOOL};
    granary_err err = GRANARY_OK;

    if (!untyped && !expr_list_is_open(expr->operands[0])) {
        return check_body(expr, GRANARY_LIST_ITEM(expr->operands[0]->dtype), GRANARY_NULLTYPE, ret_dtype);
    }
    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        err = check_body(expr, tried[i], GRANARY_NULLTYPE, ret_dtype);
        if (err == GRANARY_OK || err == GRANARY_ENOMEM) {
            expr_list_become(expr->operands[0], GRANARY_LIST(tried[i]));
            break;
        }
    }
    return err;
}

granary_err
expr_check_list_lambda(struct gr_expr *expr)
{
    granary_dtype made = GRANARY_NULLTYPE;
    bool untyped = expr->operands[0]->dtype == GRANARY_NULLTYPE;
    granary_err err = expr_need_list(expr, 0);

    err = err == GRANARY_OK ? need_body(expr) : err;
    err = err == GRANARY_OK ? check_items(expr, untyped, &made) : err;
    if (err == GRANARY_OK && expr->op == GR_OP_LIST_FILTER && made != GRANARY_BOOL && !expr_is_numeric(made)) {
        return expr_wrong_operand(expr, 1, "a condition, which is true or false,");
    }
    expr->dtype = expr->op == GR_OP_LIST_FILTER ? expr->operands[0]->dtype : GRANARY_LIST(made);
    return err;
}

/* What is made of the items has their dtype, or that of the beginning: numbers that which holds both. */
granary_err
expr_check_list_reduce(struct gr_expr *expr)
{
    granary_dtype made = GRANARY_NULLTYPE;
    granary_dtype y;
    bool untyped = expr->operands[0]->dtype == GRANARY_NULLTYPE || expr_list_is_open(expr->operands[0]);
    granary_err err = expr_need_list(expr, 0);

    err = err == GRANARY_OK ? need_body(expr) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    if (untyped && expr->op == GR_OP_LIST_REDUCE) { /* of any dtype with which the expression can be computed */
        granary_err tried = check_body(expr, GRANARY_STRING, GRANARY_STRING, &made);

        expr_list_become(expr->operands[0],
                         tried == GRANARY_OK ? GRANARY_LIST(GRANARY_STRING) : GRANARY_LIST(GRANARY_INT64));
    }
    y = GRANARY_LIST_ITEM(expr->operands[0]->dtype);
    if (expr->op == GR_OP_LIST_FOLD) {
        struct gr_expr *first = expr->operands[1];

        if (first->dtype == GRANARY_NULLTYPE) {
            expr_become_null(first, y);
        }
        if (untyped) {
            expr_list_become(expr->operands[0], GRANARY_LIST(first->dtype));
            y = first->dtype;
        }
        y = expr_is_numeric(y) && expr_is_numeric(first->dtype) ? expr_promote(y, first->dtype) : first->dtype;
        err = first->dtype == y ? GRANARY_OK : expr_cast_to(&expr->operands[1], y);
    }
    err = err == GRANARY_OK ? check_body(expr, GRANARY_LIST_ITEM(expr->operands[0]->dtype), y, &made) : err;
    expr->dtype = y;
    if (err == GRANARY_OK && made != y && !(expr_is_numeric(made) && expr_is_numeric(y))) {
        return gr_fail(GRANARY_ETYPE, "position %d: '%s' begins with %s, and its expression makes %s of that: cast it",
                       expr->position, gr_expr_op_text(expr->op), granary_dtype_name(y), granary_dtype_name(made));
    }
    return err;
}
