/* Dtypes of expressions: bottom up, one rule an operator. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/expr/check/check.h"

const char *
expr_show(const struct gr_expr *expr, struct expr_shown *shown)
{
    const char *dtype = granary_dtype_name(expr->dtype);

    switch (expr->kind) {
    case GR_EXPR_COLUMN:
        (void)snprintf(shown->text, sizeof shown->text, "%s (`%.100s`)", dtype, expr->column);
        break;
    case GR_EXPR_LITERAL:
        if (expr->is_null) {
            (void)snprintf(shown->text, sizeof shown->text, "null");
        } else if (expr->is_interval) {
            (void)snprintf(shown->text, sizeof shown->text, "an interval");
        } else if (expr->text != NULL && expr->dtype == GRANARY_STRING) {
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

granary_err
expr_wrong_type(const struct gr_expr *expr, const char *wants)
{
    struct expr_shown left;
    struct expr_shown right;

    if (expr->operand_count == 1) {
        return gr_fail(GRANARY_ETYPE, "position %d: '%s' needs %s, not %s", expr->position, gr_expr_op_text(expr->op),
                       wants, expr_show(expr->operands[0], &left));
    }
    return gr_fail(GRANARY_ETYPE, "position %d: '%s' needs %s, not %s and %s", expr->position,
                   gr_expr_op_text(expr->op), wants, expr_show(expr->operands[0], &left),
                   expr_show(expr->operands[1], &right));
}

/* One argument of a function. */
granary_err
expr_wrong_operand(const struct gr_expr *expr, size_t i, const char *wants)
{
    struct expr_shown shown;

    if (expr->operand_count == 1) {
        return expr_wrong_type(expr, wants);
    }
    return gr_fail(GRANARY_ETYPE, "position %d: '%s' needs %s as argument %zu, not %s", expr->position,
                   gr_expr_op_text(expr->op), wants, i + 1, expr_show(expr->operands[i], &shown));
}

void
expr_settle_nulls(struct gr_expr *expr, granary_dtype alone)
{
    for (size_t i = 0; i < expr->operand_count; i++) {
        const struct gr_expr *other = expr->operand_count == 2 ? expr->operands[1 - i] : NULL;

        if (expr->operands[i]->dtype == GRANARY_NULLTYPE) {
            expr_become_null(expr->operands[i],
                             other != NULL && other->dtype != GRANARY_NULLTYPE ? other->dtype : alone);
        }
    }
}

granary_err
expr_read_texts(struct gr_expr *expr)
{
    for (size_t i = 0; i < expr->operand_count && expr->operand_count == 2; i++) {
        const struct gr_expr *other = expr->operands[1 - i];
        struct expr_shown shown;
        granary_err err;

        if (!expr_is_text(expr->operands[i]) || other->dtype == GRANARY_STRING || other->dtype == GRANARY_NULLTYPE) {
            continue;
        }
        err = expr_read_text(expr->operands[i], other->dtype, expr_show(other, &shown));
        if (err != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

/* A text as written where a function takes a number. */
granary_err
expr_read_argument(const struct gr_expr *expr, struct gr_expr *text, granary_dtype dtype)
{
    char function[40];

    (void)snprintf(function, sizeof function, "'%s'", gr_expr_op_text(expr->op));
    return expr_read_text(text, dtype, function);
}

granary_err
expr_convert_both(struct gr_expr *expr, granary_dtype dtype)
{
    granary_err err = expr_convert(&expr->operands[0], dtype);

    return err != GRANARY_OK ? err : expr_convert(&expr->operands[1], dtype);
}

/* clang-format off */
#define TYPES(signature)             {signature, NULL}
#define CHECK(name)                  {NULL, expr_check_##name}
#define CHECK_TYPES(name, signature) {signature, expr_check_##name}
/* clang-format on */
static const struct {
    const char *signature;
    granary_err (*check)(struct gr_expr *expr);
} rules[] = {
#define EXPR_OP(id, text, least, most, rule, ...) [GR_OP_##id] = rule,
#include "graph/expr/ops.def"
};
#undef TYPES
#undef CHECK
#undef CHECK_TYPES

const char *
expr_signature(enum gr_expr_op op)
{
    return rules[op].signature;
}

/* Whether it asks nothing of values that lists do not have. */
static bool
takes_lists(enum gr_expr_op op)
{
    switch (op) {
    case GR_OP_IS_NULL:
    case GR_OP_IS_NOT_NULL:
    case GR_OP_CASE:
    case GR_OP_COALESCE:
    case GR_OP_CAST:
    case GR_OP_TRY_CAST:
    case GR_OP_CONVERT:
    case GR_OP_LENGTH:
    case GR_OP_CONTAINS:
    case GR_OP_REPEAT:
    case GR_OP_SINGLE:
    case GR_OP_TYPEOF:
    case GR_OP_TO_JSON:
    case GR_OP_TRY:
    case GR_OP_OR: /* a || b */
    case GR_OP_CONCAT:
    case GR_OP_CONCAT_THERE:
    case GR_OP_CONCAT_WS:
    case GR_OP_EQUAL:
    case GR_OP_NOT_EQUAL:
    case GR_OP_LESS:
    case GR_OP_LESS_EQUAL:
    case GR_OP_GREATER:
    case GR_OP_GREATER_EQUAL:
    case GR_OP_TOTAL_EQUAL:
    case GR_OP_TOTAL_NOT_EQUAL:
    case GR_OP_TOTAL_LESS:
    case GR_OP_TOTAL_LESS_EQUAL:
    case GR_OP_TOTAL_GREATER:
    case GR_OP_TOTAL_GREATER_EQUAL:
        return true;
    default:
        return op >= GR_OP_LIST_VALUE && op <= GR_OP_GENERATE_SERIES;
    }
}

static granary_err
check_op(struct gr_expr *expr)
{
    for (size_t i = 0; i < expr->operand_count && !takes_lists(expr->op); i++) {
        struct expr_shown shown;

        if (expr_is_list(expr->operands[i]->dtype)) {
            return gr_fail(GRANARY_ETYPE,
                           "position %d: '%s' takes no lists, such as %s; take an item (list_extract), or explode it",
                           expr->position, gr_expr_op_text(expr->op), expr_show(expr->operands[i], &shown));
        }
    }
    return rules[expr->op].check == NULL ? expr_check_signature(expr) : rules[expr->op].check(expr);
}

static granary_err
check_column(struct gr_expr *expr, const struct gr_schema *schema)
{
    int index = gr_schema_find(schema, expr->column);

    if (index < 0) {
        granary_err err = gr_schema_no_column(schema, expr->column);

        return gr_fail_in(err, "position %d", expr->position);
    }
    expr->column_index = index;
    expr->dtype = schema->fields[index].dtype;
    return GRANARY_OK;
}

/* Conversions come of an earlier check: what is under them may have another dtype now. */
static void
drop_conversions(struct gr_expr *expr)
{
    for (size_t i = 0; i < expr->operand_count; i++) {
        struct gr_expr *operand = expr->operands[i];

        while (operand->kind == GR_EXPR_CALL && operand->op == GR_OP_CONVERT) {
            expr->operands[i] = operand->operands[0];
            operand->operand_count = 0;
            gr_expr_destroy(operand);
            operand = expr->operands[i];
        }
    }
}

static granary_err
check(struct gr_expr *expr, const struct gr_schema *schema)
{
    switch (expr->kind) {
    case GR_EXPR_COLUMN:
        return check_column(expr, schema);
    case GR_EXPR_LITERAL:
        if (expr->is_number) {
            expr->dtype = expr_dtype_alone(expr);
        }
        return GRANARY_OK;
    case GR_EXPR_CALL:
        break;
    }
    drop_conversions(expr);
    for (size_t i = 0; i < expr->operand_count; i++) {
        granary_err err = check(expr->operands[i], schema);

        if (err != GRANARY_OK) {
            return err;
        }
    }
    granary_err err = expr_check_months(expr);

    return err != GRANARY_OK || expr->kind == GR_EXPR_LITERAL ? err : check_op(expr);
}

granary_err
gr_expr_check(struct gr_expr *expr, const struct gr_schema *schema)
{
    granary_err err = check(expr, schema);

    /* A null that stands alone: a column of nulls is a string one, as in a CSV file. */
    if (err == GRANARY_OK && expr->kind == GR_EXPR_LITERAL && expr->dtype == GRANARY_NULLTYPE) {
        expr->dtype = GRANARY_STRING;
    }
    if (err == GRANARY_OK && expr->kind == GR_EXPR_LITERAL && expr->months != 0) {
        err = expr_months_alone(expr);
    }
    return err;
}
