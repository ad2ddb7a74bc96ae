/* Dtypes of expressions: bottom up, one rule an operator. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "graph/expr.h"

static bool
is_number(const struct gr_expr *expr)
{
    return expr->dtype == GRANARY_INT64 || expr->dtype == GRANARY_FLOAT64;
}

/* An operand as messages show it: "string (`Wildlife Species`)". */
struct shown {
    char text[160];
};
static const char *
show(const struct gr_expr *expr, struct shown *shown)
{
    const char *dtype = granary_dtype_name(expr->dtype);

    switch (expr->kind) {
    case GR_EXPR_COLUMN:
        (void)snprintf(shown->text, sizeof shown->text, "%s (`%.100s`)", dtype, expr->column);
        break;
    case GR_EXPR_LITERAL:
        if (expr->is_null) {
            (void)snprintf(shown->text, sizeof shown->text, "null");
        } else if (expr->dtype == GRANARY_STRING) {
            (void)snprintf(shown->text, sizeof shown->text, "%s ('%.100s')", dtype, expr->text);
        } else {
            (void)snprintf(shown->text, sizeof shown->text, "%s", dtype);
        }
        break;
    case GR_EXPR_CALL:
        (void)snprintf(shown->text, sizeof shown->text, "%s (what '%s' gives)", dtype, gr_expr_op_text(expr->op));
        break;
    }
    return shown->text;
}

static granary_err
wrong_type(const struct gr_expr *expr, const char *wants)
{
    struct shown left;
    struct shown right;

    if (expr->operands[1] == NULL) {
        return gr_fail(GRANARY_ETYPE, "position %d: '%s' needs %s, not %s", expr->position, gr_expr_op_text(expr->op),
                       wants, show(expr->operands[0], &left));
    }
    return gr_fail(GRANARY_ETYPE, "position %d: '%s' needs %s, not %s and %s", expr->position,
                   gr_expr_op_text(expr->op), wants, show(expr->operands[0], &left), show(expr->operands[1], &right));
}

/* Put a conversion around an operand; a literal is converted at once. */
static granary_err
convert(struct gr_expr **slot, granary_dtype dtype)
{
    struct gr_expr *inner = *slot;
    struct gr_expr *outer;

    if (inner->dtype == dtype) {
        return GRANARY_OK;
    }
    if (inner->kind == GR_EXPR_LITERAL) {
        if (dtype == GRANARY_FLOAT64) {
            inner->value.d = (double)inner->value.i;
        } else {
            inner->value.i *= 86400000000; /* a date fits int32 */
        }
        inner->dtype = dtype;
        return GRANARY_OK;
    }
    outer = calloc(1, sizeof *outer);
    if (outer == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    *outer = (struct gr_expr){
        .kind = GR_EXPR_CALL,
        .dtype = dtype,
        .position = inner->position,
        .column_index = -1,
        .op = dtype == GRANARY_FLOAT64 ? GR_OP_TO_FLOAT64 : GR_OP_TO_TIMESTAMP,
        .operands = {inner},
    };
    *slot = outer;
    return GRANARY_OK;
}

static granary_err
convert_both(struct gr_expr *expr, granary_dtype dtype)
{
    granary_err err = convert(&expr->operands[0], dtype);

    return err != GRANARY_OK ? err : convert(&expr->operands[1], dtype);
}

static void
become_null(struct gr_expr *expr, granary_dtype dtype)
{
    free(expr->column);
    *expr = (struct gr_expr){
        .kind = GR_EXPR_LITERAL, .dtype = dtype, .position = expr->position, .column_index = -1, .is_null = true};
}

/* Operands without a dtype take that of the other one, or `alone`. */
static void
settle_nulls(struct gr_expr *expr, granary_dtype alone)
{
    for (int i = 0; i < 2 && expr->operands[i] != NULL; i++) {
        const struct gr_expr *other = expr->operands[1 - i];

        if (expr->operands[i]->dtype == GRANARY_NULLTYPE) {
            become_null(expr->operands[i], other != NULL && other->dtype != GRANARY_NULLTYPE ? other->dtype : alone);
        }
    }
}

/* ---- rules ---- */

static granary_err
check_arithmetic(struct gr_expr *expr)
{
    settle_nulls(expr, GRANARY_INT64);
    for (int i = 0; i < 2 && expr->operands[i] != NULL; i++) {
        if (!is_number(expr->operands[i])) {
            return wrong_type(expr, expr->operands[1] == NULL ? "a number" : "two numbers");
        }
    }
    expr->dtype = expr->operands[0]->dtype;
    if (expr->operands[1] == NULL || expr->operands[1]->dtype == expr->dtype) {
        return GRANARY_OK;
    }
    expr->dtype = GRANARY_FLOAT64;
    return convert_both(expr, GRANARY_FLOAT64);
}

static granary_err
check_float(struct gr_expr *expr)
{
    granary_err err = check_arithmetic(expr);

    expr->dtype = GRANARY_FLOAT64;
    if (err == GRANARY_OK) {
        err = convert(&expr->operands[0], GRANARY_FLOAT64);
    }
    if (err == GRANARY_OK && expr->operands[1] != NULL) {
        err = convert(&expr->operands[1], GRANARY_FLOAT64);
    }
    return err;
}

static bool
is_temporal(const struct gr_expr *expr)
{
    return expr->dtype == GRANARY_DATE || expr->dtype == GRANARY_TIMESTAMP;
}

static bool
is_text_literal(const struct gr_expr *expr)
{
    return expr->kind == GR_EXPR_LITERAL && !expr->is_null && expr->dtype == GRANARY_STRING;
}

/* A string literal beside a date or timestamp is one, too. */
static granary_err
read_temporal(struct gr_expr *text, const struct gr_expr *other)
{
    int32_t days;
    int64_t microseconds;

    if (!is_text_literal(text) || !is_temporal(other)) {
        return GRANARY_OK;
    }
    if (gr_date_parse(text->text, text->text_size, &days)) {
        text->dtype = GRANARY_DATE;
        text->value.i = days;
    } else if (gr_timestamp_parse(text->text, text->text_size, &microseconds)) {
        text->dtype = GRANARY_TIMESTAMP;
        text->value.i = microseconds;
    } else {
        struct shown shown;

        return gr_fail(GRANARY_EINVAL,
                       "position %d: '%.100s' is compared with %s, but is no date: YYYY-MM-DD or YYYY-MM-DD hh:mm:ss",
                       text->position, text->text, show(other, &shown));
    }
    free(text->text);
    text->text = NULL;
    text->text_size = 0;
    return GRANARY_OK;
}

static granary_err
check_equal(struct gr_expr *expr)
{
    struct gr_expr *left = expr->operands[0];
    struct gr_expr *right = expr->operands[1];
    granary_err err;

    expr->dtype = GRANARY_BOOL;
    settle_nulls(expr, GRANARY_BOOL);
    if ((err = read_temporal(left, right)) != GRANARY_OK || (err = read_temporal(right, left)) != GRANARY_OK) {
        return err;
    }
    if (left->dtype == right->dtype) {
        return left->dtype == GRANARY_INT32 || left->dtype == GRANARY_FLOAT32 ? wrong_type(expr, "64-bit numbers")
                                                                              : GRANARY_OK;
    }
    if (is_number(left) && is_number(right)) {
        return convert_both(expr, GRANARY_FLOAT64);
    }
    if (is_temporal(left) && is_temporal(right)) {
        return convert_both(expr, GRANARY_TIMESTAMP);
    }
    return wrong_type(expr, "two values that compare");
}

static granary_err
check_order(struct gr_expr *expr)
{
    settle_nulls(expr, GRANARY_INT64);
    if (expr->operands[0]->dtype == GRANARY_BOOL && expr->operands[1]->dtype == GRANARY_BOOL) {
        return wrong_type(expr, "values that have an order");
    }
    return check_equal(expr);
}

static granary_err
check_logic(struct gr_expr *expr)
{
    settle_nulls(expr, GRANARY_BOOL);
    for (int i = 0; i < 2 && expr->operands[i] != NULL; i++) {
        if (expr->operands[i]->dtype != GRANARY_BOOL) {
            return wrong_type(expr, expr->operands[1] == NULL ? "a bool" : "two bools");
        }
    }
    expr->dtype = GRANARY_BOOL;
    return GRANARY_OK;
}

static granary_err
check_null_test(struct gr_expr *expr)
{
    settle_nulls(expr, GRANARY_BOOL);
    expr->dtype = GRANARY_BOOL;
    return GRANARY_OK;
}

static granary_err
check_date_part(struct gr_expr *expr)
{
    settle_nulls(expr, GRANARY_DATE);
    if (!is_temporal(expr->operands[0])) {
        return wrong_type(expr, "a date or timestamp");
    }
    expr->dtype = GRANARY_INT64;
    return GRANARY_OK;
}

static granary_err
check_text(struct gr_expr *expr)
{
    settle_nulls(expr, GRANARY_STRING);
    if (expr->operands[0]->dtype != GRANARY_STRING) {
        return wrong_type(expr, "a string");
    }
    expr->dtype = expr->op == GR_OP_LENGTH ? GRANARY_INT64 : GRANARY_STRING;
    return GRANARY_OK;
}

static granary_err
check_converted(struct gr_expr *expr)
{
    (void)expr; /* an earlier check made it and gave it its dtype */
    return GRANARY_OK;
}

static granary_err (*const rules[])(struct gr_expr *expr) = {
    [GR_OP_ADD] = check_arithmetic,
    [GR_OP_SUBTRACT] = check_arithmetic,
    [GR_OP_MULTIPLY] = check_arithmetic,
    [GR_OP_DIVIDE] = check_float,
    [GR_OP_MODULO] = check_arithmetic,
    [GR_OP_NEGATE] = check_arithmetic,
    [GR_OP_EQUAL] = check_equal,
    [GR_OP_NOT_EQUAL] = check_equal,
    [GR_OP_LESS] = check_order,
    [GR_OP_LESS_EQUAL] = check_order,
    [GR_OP_GREATER] = check_order,
    [GR_OP_GREATER_EQUAL] = check_order,
    [GR_OP_AND] = check_logic,
    [GR_OP_OR] = check_logic,
    [GR_OP_NOT] = check_logic,
    [GR_OP_IS_NULL] = check_null_test,
    [GR_OP_IS_NOT_NULL] = check_null_test,
    [GR_OP_ABS] = check_arithmetic,
    [GR_OP_SQRT] = check_float,
    [GR_OP_YEAR] = check_date_part,
    [GR_OP_MONTH] = check_date_part,
    [GR_OP_DAY] = check_date_part,
    [GR_OP_LOWER] = check_text,
    [GR_OP_LENGTH] = check_text,
    [GR_OP_TO_FLOAT64] = check_converted,
    [GR_OP_TO_TIMESTAMP] = check_converted,
};

static granary_err
check_column(struct gr_expr *expr, const struct gr_schema *schema)
{
    int index = gr_schema_find(schema, expr->column);

    if (index < 0) {
        granary_err err = gr_schema_no_column(schema, expr->column);

        return gr_fail_in(err, "position %d", expr->position);
    }
    if (schema->fields[index].dtype > GRANARY_FLOAT32) {
        return gr_fail(GRANARY_ETYPE, "column '%s' is %s: expressions do not take it", schema->fields[index].name,
                       granary_dtype_name(schema->fields[index].dtype));
    }
    expr->column_index = index;
    expr->dtype = schema->fields[index].dtype;
    return GRANARY_OK;
}

static granary_err
check(struct gr_expr *expr, const struct gr_schema *schema)
{
    switch (expr->kind) {
    case GR_EXPR_COLUMN:
        return check_column(expr, schema);
    case GR_EXPR_LITERAL:
        return GRANARY_OK;
    case GR_EXPR_CALL:
        break;
    }
    for (int i = 0; i < 2 && expr->operands[i] != NULL; i++) {
        granary_err err = check(expr->operands[i], schema);

        if (err != GRANARY_OK) {
            return err;
        }
    }
    return rules[expr->op](expr);
}

granary_err
gr_expr_check(struct gr_expr *expr, const struct gr_schema *schema)
{
    granary_err err = check(expr, schema);

    /* A null that stands alone: a column of nulls is a string one, as in a CSV file. */
    if (err == GRANARY_OK && expr->kind == GR_EXPR_LITERAL && expr->dtype == GRANARY_NULLTYPE) {
        expr->dtype = GRANARY_STRING;
    }
    return err;
}
