/* Dtypes of comparisons and logic, and of operators whose operands all have one dtype. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "graph/expr/check/check.h"

/* Numbers that differ in kind compare by their exact values; where one is a decimal and the other a float, as floats.
 */
static granary_err
check_numbers_compare(struct gr_expr *expr)
{
    if (expr_is_weak(expr->operands[0]) && expr_is_weak(expr->operands[1])) {
        return GRANARY_OK; /* folded */
    }
    for (int i = 0; i < 2; i++) {
        if (expr_is_weak(expr->operands[i])) {
            expr_adopt_compared(expr->operands[i], expr->operands[1 - i]->dtype);
        }
    }
    granary_dtype a = expr->operands[0]->dtype;
    granary_dtype b = expr->operands[1]->dtype;

    if (expr_is_exact(a) && expr_is_exact(b)) {
        return GRANARY_OK; /* the kernels compare them whatever their scales are */
    }
    if (expr_is_float(a) && expr_is_float(b)) {
        return GRANARY_OK;
    }
    if (expr_is_integer(expr_is_float(a) ? b : a) && gr_dtype_size(expr_is_float(a) ? b : a) == 8) {
        return GRANARY_OK; /* the kernels compare them exactly */
    }
    return expr_convert_both(expr, GRANARY_FLOAT64);
}

static bool
may_be_nan(const struct gr_expr *expr)
{
    while (expr->kind == GR_EXPR_CALL && expr->op == GR_OP_CONVERT) {
        expr = expr->operands[0];
    }
    return expr_is_float(expr->dtype) && !(expr_is_literal(expr) && !isnan(expr->value.d));
}

/* A total comparison becomes the plain one where both say the same: no side can be a nan, or one cannot and the other is
 * not asked to be larger. */
static void
prefer_plain(struct gr_expr *expr)
{
    enum gr_expr_op plain = gr_expr_op_plain(expr->op);
    bool left = may_be_nan(expr->operands[0]);
    bool right = may_be_nan(expr->operands[1]);
    enum gr_expr_op asked = left ? plain : gr_expr_op_mirrored(plain);

    if ((!left && !right) || (left != right && asked != GR_OP_GREATER && asked != GR_OP_GREATER_EQUAL)) {
        expr->op = plain;
    }
}

/* Of a bool and a number the bool is a number, 0 or 1; of a string and a value of another dtype the string is read as one. */
static granary_err
meet_halfway(struct gr_expr *expr)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < 2 && err == GRANARY_OK; i++) {
        struct gr_expr *other = expr->operands[1 - i];
        granary_dtype dtype = expr->operands[i]->dtype;

        if (dtype == GRANARY_BOOL && expr_is_numeric(other->dtype)) {
            err = expr_convert(&expr->operands[i], GRANARY_INT64);
        } else if (dtype == GRANARY_STRING && expr_reads_strings(other->dtype)) {
            err = expr_read_strings(&expr->operands[i], other->dtype);
        }
    }
    return err;
}

/* A midnight as written compares with dates as its day does. */
static void
meet_at_midnight(struct gr_expr *expr)
{
    const int64_t day = 86400000000;

    for (size_t i = 0; i < 2; i++) {
        struct gr_expr *literal = expr->operands[i];

        if (expr_is_literal(literal) && literal->dtype == GRANARY_TIMESTAMP && literal->value.i % day == 0 &&
            expr->operands[1 - i]->dtype == GRANARY_DATE) {
            literal->dtype = GRANARY_DATE;
            literal->value.i /= day;
        }
    }
}

/* a < b becomes list_compare(a, b) < 0. */
static granary_err
compare_lists(struct gr_expr *expr)
{
    struct gr_expr *zero = NULL;
    struct gr_expr *call = NULL;
    granary_err err = gr_expr_parse("0", &zero);

    if (err != GRANARY_OK) {
        return err;
    }
    zero->dtype = expr_dtype_alone(zero);
    err = gr_expr_call(GR_OP_LIST_COMPARE, expr->operands, 2, &call);
    if (err != GRANARY_OK) { /* the operands are gone */
        expr->operand_count = 0;
        gr_expr_destroy(zero);
        return err;
    }
    expr->operands[0] = call;
    expr->operands[1] = zero;
    call->position = expr->position;
    err = expr_check_list_compare(call);
    return err == GRANARY_OK ? expr_check_equal(expr) : err;
}

granary_err
expr_check_equal(struct gr_expr *expr)
{
    expr_settle_nulls(expr, GRANARY_BOOL);
    granary_err err = expr_read_texts(expr);

    if (err == GRANARY_OK) {
        err = meet_halfway(expr);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    meet_at_midnight(expr);
    granary_dtype a = expr->operands[0]->dtype;
    granary_dtype b = expr->operands[1]->dtype;

    if (expr_is_list(a) && expr_is_list(b)) {
        return compare_lists(expr);
    }
    expr->dtype = GRANARY_BOOL;
    if (expr_is_numeric(a) && expr_is_numeric(b)) {
        err = check_numbers_compare(expr);
    } else if (expr_is_temporal(a) && expr_is_temporal(b)) {
        err = a == b ? GRANARY_OK : expr_convert_both(expr, GRANARY_TIMESTAMP);
    } else if (a != b && expr_has_day(a) && expr_has_day(b)) { /* what has no zone is in UTC */
        err = expr_cast_call(&expr->operands[a == GRANARY_TIMESTAMPTZ ? 1 : 0], GRANARY_TIMESTAMPTZ);
    } else if (a != b) {
        return expr_wrong_type(expr, "two values that compare");
    }
    if (err == GRANARY_OK) {
        prefer_plain(expr);
        expr_fold(expr);
    }
    return err;
}

granary_err
expr_check_order(struct gr_expr *expr)
{
    expr_settle_nulls(expr, GRANARY_INT64);
    return expr_check_equal(expr);
}

granary_err
expr_check_logic(struct gr_expr *expr)
{
    if (expr->op == GR_OP_OR && (expr_is_list(expr->operands[0]->dtype) || expr_is_list(expr->operands[1]->dtype))) {
        expr->op = GR_OP_LIST_BEHIND; /* of a null it is null, as a text is */
        return expr_check_list_concat(expr);
    }
    if (expr->op == GR_OP_OR &&
        (gr_dtype_is_text(expr->operands[0]->dtype) || gr_dtype_is_text(expr->operands[1]->dtype))) {
        expr->op = GR_OP_CONCAT; /* a || b */
        return expr_check_joined(expr);
    }
    expr_settle_nulls(expr, GRANARY_BOOL);
    for (size_t i = 0; i < expr->operand_count; i++) {
        granary_err err = expr_become_truth(&expr->operands[i]);

        if (err != GRANARY_OK) {
            return err;
        }
        if (expr->operands[i]->dtype != GRANARY_BOOL) {
            return expr_wrong_type(expr, expr->operand_count == 1 ? "a bool" : "two bools");
        }
    }
    expr->dtype = GRANARY_BOOL;
    expr_fold(expr);
    return GRANARY_OK;
}

/* ---- several operands of one dtype ---- */

/* Operands from, from + step, ... and the last one. */
static granary_err
unify_operands(struct gr_expr *expr, size_t from, size_t step, bool exact, granary_dtype *ret_dtype)
{
    struct gr_expr ***slots = calloc(expr->operand_count, sizeof(struct gr_expr **));
    size_t count = 0;
    size_t clash = 0;
    granary_err err;

    if (slots == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = from; i < expr->operand_count; i += step) {
        slots[count++] = &expr->operands[i];
    }
    if (step > 1) {
        slots[count++] = &expr->operands[expr->operand_count - 1];
    }
    expr_adopt_lists(slots, count);
    err = expr_widen_lists(slots, count);
    if (err != GRANARY_OK) {
        free(slots);
        return err;
    }
    err = expr_unify(slots, count, exact, GRANARY_STRING, ret_dtype, &clash);
    if (err == GRANARY_ETYPE) {
        struct expr_shown first;
        struct expr_shown other;
        size_t before = clash > 0 ? clash - 1 : count - 1;

        while (before > 0 && ((*slots[before])->dtype == GRANARY_NULLTYPE || expr_is_text(*slots[before]))) {
            before--;
        }
        err = gr_fail(GRANARY_ETYPE, "position %d: '%s' needs values of one kind, not %s and %s", expr->position,
                      gr_expr_op_text(expr->op), expr_show(*slots[before], &first), expr_show(*slots[clash], &other));
    }
    free(slots);
    return err;
}

granary_err
expr_check_in(struct gr_expr *expr)
{
    granary_dtype dtype;

    expr->dtype = GRANARY_BOOL;
    return unify_operands(expr, 0, 1, true, &dtype);
}

granary_err
expr_check_alike(struct gr_expr *expr)
{
    return unify_operands(expr, 0, 1, false, &expr->dtype);
}

/* Compared as `=` compares, and a value of the first one. */
granary_err
expr_check_nullif(struct gr_expr *expr)
{
    granary_dtype dtype;
    granary_err err = unify_operands(expr, 0, 1, true, &dtype);

    if (err == GRANARY_OK) {
        expr->dtype = expr->operands[0]->dtype;
    }
    return err;
}

granary_err
expr_check_case(struct gr_expr *expr)
{
    for (size_t i = 0; i + 1 < expr->operand_count; i += 2) {
        struct gr_expr *condition = expr->operands[i];
        struct expr_shown shown;

        if (condition->dtype == GRANARY_NULLTYPE) {
            expr_become_null(condition, GRANARY_BOOL);
        }
        granary_err err = expr_become_truth(&expr->operands[i]);

        if (err != GRANARY_OK) {
            return err;
        }
        condition = expr->operands[i];
        if (condition->dtype != GRANARY_BOOL) {
            return gr_fail(GRANARY_ETYPE, "position %d: a condition of 'case' must be a bool, not %s",
                           condition->position, expr_show(condition, &shown));
        }
    }
    return unify_operands(expr, 1, 2, false, &expr->dtype);
}
