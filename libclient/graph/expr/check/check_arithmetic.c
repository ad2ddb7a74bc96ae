/* Dtypes of arithmetic: numbers, decimals, dates with intervals, durations. */
#include "base/error.h"
#include "graph/expr/check/check.h"

/* The operand of a pair that is written without a dtype takes the other's. Of two integers so written one may be larger
 * than int64. */
static void
adopt_pair(struct gr_expr *expr, bool keep_scale)
{
    bool integers = expr_is_exact(expr->operands[0]->dtype) && expr_is_exact(expr->operands[1]->dtype);

    for (int i = 0; i < 2; i++) {
        if (expr_is_weak(expr->operands[i]) && (integers || !expr_is_weak(expr->operands[1 - i]))) {
            expr_adopt(expr->operands[i], expr->operands[1 - i]->dtype, keep_scale);
        }
    }
}

static granary_err
check_product(struct gr_expr *expr, granary_dtype a, granary_dtype b)
{
    int scale = gr_dtype_scale(a) + gr_dtype_scale(b);

    if (scale > GRANARY_DECIMAL_SCALE_MOST) {
        return gr_fail(
            GRANARY_ETYPE,
            "position %d: the product of %s and %s has %d digits behind the point, more than %d; cast one of "
            "them to a smaller scale or to float64",
            expr->position, granary_dtype_name(a), granary_dtype_name(b), scale, GRANARY_DECIMAL_SCALE_MOST);
    }
    expr->dtype = GRANARY_DECIMAL(scale);
    return GRANARY_OK;
}

static granary_err
check_two_numbers(struct gr_expr *expr)
{
    bool product = expr->op == GR_OP_MULTIPLY;
    granary_dtype a;
    granary_dtype b;

    if (expr_is_weak(expr->operands[0]) && expr_is_weak(expr->operands[1])) {
        enum gr_expr_kind kind = expr->kind;

        expr_fold(expr);
        if (expr->kind != kind) {
            return GRANARY_OK;
        }
    }
    adopt_pair(expr, product);
    a = expr->operands[0]->dtype;
    b = expr->operands[1]->dtype;
    if (product && expr_is_exact(a) && expr_is_exact(b) && (expr_is_decimal(a) || expr_is_decimal(b))) {
        return check_product(expr, a, b);
    }
    expr->dtype = expr_promote(a, b);
    granary_err err = expr_convert_both(expr, expr->dtype);

    if (expr->op == GR_OP_QUOTIENT && expr_is_decimal(expr->dtype)) {
        expr->dtype = GRANARY_DECIMAL(0);
    }
    return err;
}

/* What a day, an instant or a time of day is when so much is added to it. */
static granary_dtype
shifted_dtype(granary_dtype at, bool whole_days)
{
    return at == GRANARY_DATE && !whole_days ? GRANARY_TIMESTAMP : at;
}

/* In a sum of two the one that stays comes first: days, then times of day. */
static int
place_in_sum(granary_dtype dtype)
{
    return expr_has_day(dtype) ? 2 : dtype == GRANARY_TIME;
}

/* Dates, times, timestamps and durations in sums. Not handled: *ret_done false. */
static granary_err
check_temporal_sum(struct gr_expr *expr, bool *ret_done)
{
    struct gr_expr *a = expr->operands[0];
    struct gr_expr *b = expr->operands[1];
    bool minus = expr->op == GR_OP_SUBTRACT;

    *ret_done = true;
    if (!minus && place_in_sum(b->dtype) > place_in_sum(a->dtype)) {
        expr->operands[0] = b;
        expr->operands[1] = a;
        a = expr->operands[0];
        b = expr->operands[1];
    }
    if (place_in_sum(a->dtype) > 0 && b->is_interval) {
        expr->op = GR_OP_ADD_INTERVAL;
        if (minus) {
            b->months = -b->months;
            b->value.i = b->value.i == INT64_MIN ? INT64_MAX : -b->value.i;
        }
        expr->dtype = shifted_dtype(a->dtype, b->value.i % 86400000000 == 0);
        expr_fold(expr);
        return GRANARY_OK;
    }
    if (place_in_sum(a->dtype) > 0 && b->dtype == GRANARY_DURATION) {
        expr->dtype = shifted_dtype(a->dtype, false);
        return expr_convert(&expr->operands[0], expr->dtype);
    }
    if (!minus && a->dtype == GRANARY_DATE && b->dtype == GRANARY_TIME) {
        expr->dtype = GRANARY_TIMESTAMP;
        return expr_convert(&expr->operands[0], GRANARY_TIMESTAMP);
    }
    if (minus && a->dtype == b->dtype && (a->dtype == GRANARY_TIME || a->dtype == GRANARY_TIMESTAMPTZ)) {
        expr->dtype = GRANARY_DURATION;
        return GRANARY_OK;
    }
    if (a->dtype == GRANARY_DATE && expr_is_integer(b->dtype)) {
        expr->dtype = GRANARY_DATE;
        expr_fold(expr);
        return GRANARY_OK;
    }
    if (minus && expr_is_temporal(a->dtype) && expr_is_temporal(b->dtype)) {
        bool days = a->dtype == GRANARY_DATE && b->dtype == GRANARY_DATE;

        expr->dtype = days ? GRANARY_INT64 : GRANARY_DURATION;
        return days ? GRANARY_OK : expr_convert_both(expr, GRANARY_TIMESTAMP);
    }
    if (a->dtype == GRANARY_DURATION && b->dtype == GRANARY_DURATION) {
        expr->dtype = GRANARY_DURATION;
        return GRANARY_OK;
    }
    *ret_done = false;
    return GRANARY_OK;
}

granary_err
expr_check_add_interval(struct gr_expr *expr)
{
    /* An earlier check made it; its operands may be other ones now. */
    const struct gr_expr *by = expr->operands[1];

    if (place_in_sum(expr->operands[0]->dtype) == 0) {
        return expr_wrong_type(expr, "a date, time or timestamp");
    }
    expr->dtype = shifted_dtype(expr->operands[0]->dtype, by->value.i % 86400000000 == 0);
    expr_fold(expr);
    return GRANARY_OK;
}

granary_err
expr_months_alone(const struct gr_expr *expr)
{
    return gr_fail(GRANARY_ETYPE,
                   "position %d: months and years are added to a date or timestamp only, and multiplied by whole "
                   "numbers as written only: write add_months(day, n), or in SQL day + interval '1 month' * n",
                   expr->position);
}

/* A month is no number of days, so an interval is no value of a column. Literal intervals are computed here. Months
 * that are left are refused, except in a sum with a date. */
granary_err
expr_check_months(struct gr_expr *expr)
{
    bool dates =
        (expr->op == GR_OP_ADD || expr->op == GR_OP_SUBTRACT || expr->op == GR_OP_ADD_INTERVAL) &&
        (expr_has_day(expr->operands[0]->dtype) || (expr->op == GR_OP_ADD && expr_has_day(expr->operands[1]->dtype)));

    dates = dates || expr->op == GR_OP_TIME_BUCKET;
    expr_fold_intervals(expr);
    for (size_t i = 0; i < expr->operand_count && !dates; i++) {
        if (expr->operands[i]->months != 0) {
            return expr_months_alone(expr);
        }
    }
    return GRANARY_OK;
}

/* Times or divided by the operand at `by`: integers stay what they are, all else becomes a float. */
static granary_err
scale_duration(struct gr_expr *expr, size_t by)
{
    expr->dtype = GRANARY_DURATION;
    return expr_is_integer(expr->operands[by]->dtype) ? GRANARY_OK : expr_convert(&expr->operands[by], GRANARY_FLOAT64);
}

/* A text as written in arithmetic. What is added to a date may be a number of days or an interval: it must say which. */
static granary_err
read_summands(struct gr_expr *expr)
{
    bool either = false;

    for (size_t i = 0; i < expr->operand_count; i++) {
        either = either || (expr->op == GR_OP_ADD && place_in_sum(expr->operands[i]->dtype) > 0);
    }
    if (expr->operand_count == 1 && expr->op != GR_OP_NEGATE && expr_is_text(expr->operands[0])) {
        return expr_read_argument(expr, expr->operands[0], GRANARY_FLOAT64);
    }
    return either ? GRANARY_OK : expr_read_texts(expr);
}

granary_err
expr_check_arithmetic(struct gr_expr *expr)
{
    bool sum = expr->op == GR_OP_ADD || expr->op == GR_OP_SUBTRACT;
    bool done = false;
    granary_dtype a;
    granary_dtype b;
    granary_err err;

    expr_settle_nulls(expr, GRANARY_INT64);
    err = read_summands(expr);
    if (err != GRANARY_OK) {
        return err;
    }
    a = expr->operands[0]->dtype;
    b = expr->operands[expr->operand_count - 1]->dtype;
    if (sum && (place_in_sum(a) > 0 || place_in_sum(b) > 0 || a == GRANARY_DURATION || b == GRANARY_DURATION)) {
        err = check_temporal_sum(expr, &done);
        if (done || err != GRANARY_OK) {
            return err;
        }
        return expr_wrong_type(expr, "numbers, or dates with intervals");
    }
    if (expr->op == GR_OP_ADD && a == GRANARY_STRING && b == GRANARY_STRING) {
        expr->op = GR_OP_CONCAT;
        expr->dtype = GRANARY_STRING;
        return GRANARY_OK;
    }
    if (expr->op == GR_OP_MULTIPLY &&
        ((a == GRANARY_DURATION && expr_is_numeric(b)) || (b == GRANARY_DURATION && expr_is_numeric(a)))) {
        return scale_duration(expr, a == GRANARY_DURATION);
    }
    if (a == GRANARY_DURATION &&
        (expr->operand_count == 1 ||
         ((expr->op == GR_OP_QUOTIENT || expr->op == GR_OP_FLOOR_DIVIDE) && expr_is_integer(b)))) {
        expr->dtype = GRANARY_DURATION;
        return GRANARY_OK;
    }
    for (size_t i = 0; i < expr->operand_count; i++) {
        if (!expr_is_numeric(expr->operands[i]->dtype)) {
            return expr_wrong_type(expr, expr->operand_count == 1 ? "a number" : "two numbers");
        }
    }
    if (expr->operand_count == 2) {
        return check_two_numbers(expr);
    }
    expr->dtype = expr->op == GR_OP_SHORT_SIGN && expr_is_decimal(a) ? GRANARY_DECIMAL(0) : a;
    expr_fold(expr);
    return GRANARY_OK;
}

granary_err
expr_check_divide(struct gr_expr *expr)
{
    granary_err err = expr_is_numeric(expr->operands[0]->dtype) || expr_is_numeric(expr->operands[1]->dtype)
                          ? expr_read_texts(expr)
                          : GRANARY_OK;
    granary_dtype a = expr->operands[0]->dtype;
    granary_dtype b = expr->operands[1]->dtype;

    if (err != GRANARY_OK) {
        return err;
    }
    if (a == GRANARY_DURATION && b == GRANARY_DURATION) {
        expr->dtype = GRANARY_FLOAT64;
        return expr_convert_both(expr, GRANARY_FLOAT64);
    }
    if (a == GRANARY_DURATION && expr_is_numeric(b)) {
        return scale_duration(expr, 1);
    }
    expr_settle_nulls(expr, GRANARY_INT64);
    for (size_t i = 0; i < 2; i++) {
        if (!expr_is_numeric(expr->operands[i]->dtype)) {
            return expr_wrong_type(expr, "two numbers");
        }
    }
    if (expr_is_weak(expr->operands[0]) && expr_is_weak(expr->operands[1])) {
        expr_fold(expr);
        if (expr->kind == GR_EXPR_LITERAL) {
            return GRANARY_OK;
        }
    }
    adopt_pair(expr, true);
    a = expr->operands[0]->dtype;
    b = expr->operands[1]->dtype;
    expr->dtype = expr_promote(a, b) == GRANARY_FLOAT32 ? GRANARY_FLOAT32 : GRANARY_FLOAT64;
    return expr_convert_both(expr, expr->dtype);
}
