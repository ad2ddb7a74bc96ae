/* Dtypes of expressions: bottom up, one rule an operator. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/expr/check.h"

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
        } else if (expr->is_interval) {
            (void)snprintf(shown->text, sizeof shown->text, "an interval");
        } else if (expr->text != NULL) {
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

    if (expr->operand_count == 1) {
        return gr_fail(GRANARY_ETYPE, "position %d: '%s' needs %s, not %s", expr->position, gr_expr_op_text(expr->op),
                       wants, show(expr->operands[0], &left));
    }
    return gr_fail(GRANARY_ETYPE, "position %d: '%s' needs %s, not %s and %s", expr->position,
                   gr_expr_op_text(expr->op), wants, show(expr->operands[0], &left), show(expr->operands[1], &right));
}

/* One argument of a function. */
static granary_err
wrong_operand(const struct gr_expr *expr, size_t i, const char *wants)
{
    struct shown shown;

    if (expr->operand_count == 1) {
        return wrong_type(expr, wants);
    }
    return gr_fail(GRANARY_ETYPE, "position %d: '%s' needs %s as argument %zu, not %s", expr->position,
                   gr_expr_op_text(expr->op), wants, i + 1, show(expr->operands[i], &shown));
}

/* Operands without a dtype take that of the other one, or `alone`. */
static void
settle_nulls(struct gr_expr *expr, granary_dtype alone)
{
    for (size_t i = 0; i < expr->operand_count; i++) {
        const struct gr_expr *other = expr->operand_count == 2 ? expr->operands[1 - i] : NULL;

        if (expr->operands[i]->dtype == GRANARY_NULLTYPE) {
            expr_become_null(expr->operands[i],
                             other != NULL && other->dtype != GRANARY_NULLTYPE ? other->dtype : alone);
        }
    }
}

/* A text as written beside a value of another dtype is read as one. */
static granary_err
read_texts(struct gr_expr *expr)
{
    for (size_t i = 0; i < expr->operand_count && expr->operand_count == 2; i++) {
        const struct gr_expr *other = expr->operands[1 - i];
        struct shown shown;
        granary_err err;

        if (!expr_is_text(expr->operands[i]) || other->dtype == GRANARY_STRING || other->dtype == GRANARY_NULLTYPE) {
            continue;
        }
        err = expr_read_text(expr->operands[i], other->dtype, show(other, &shown));
        if (err != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

/* A text as written where a function takes a number. */
static granary_err
read_argument(const struct gr_expr *expr, struct gr_expr *text, granary_dtype dtype)
{
    char function[40];

    (void)snprintf(function, sizeof function, "'%s'", gr_expr_op_text(expr->op));
    return expr_read_text(text, dtype, function);
}

static granary_err
convert_both(struct gr_expr *expr, granary_dtype dtype)
{
    granary_err err = expr_convert(&expr->operands[0], dtype);

    return err != GRANARY_OK ? err : expr_convert(&expr->operands[1], dtype);
}

/* ---- arithmetic ---- */

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
    granary_err err = convert_both(expr, expr->dtype);

    if (expr->op == GR_OP_QUOTIENT && expr_is_decimal(expr->dtype)) {
        expr->dtype = GRANARY_DECIMAL(0);
    }
    return err;
}

/* Dates, timestamps and durations in sums. Not handled: *ret_done false. */
static granary_err
check_temporal_sum(struct gr_expr *expr, bool *ret_done)
{
    struct gr_expr *a = expr->operands[0];
    struct gr_expr *b = expr->operands[1];
    bool minus = expr->op == GR_OP_SUBTRACT;

    *ret_done = true;
    if (!minus && (expr_is_temporal(b->dtype) && !expr_is_temporal(a->dtype))) {
        expr->operands[0] = b;
        expr->operands[1] = a;
        a = expr->operands[0];
        b = expr->operands[1];
    }
    if (expr_is_temporal(a->dtype) && b->is_interval) {
        expr->op = GR_OP_ADD_INTERVAL;
        if (minus) {
            b->months = -b->months;
            b->value.i = b->value.i == INT64_MIN ? INT64_MAX : -b->value.i;
        }
        expr->dtype = b->value.i % 86400000000 != 0 ? GRANARY_TIMESTAMP : a->dtype;
        expr_fold(expr);
        return GRANARY_OK;
    }
    if (expr_is_temporal(a->dtype) && b->dtype == GRANARY_DURATION) {
        expr->dtype = GRANARY_TIMESTAMP;
        return expr_convert(&expr->operands[0], GRANARY_TIMESTAMP);
    }
    if (a->dtype == GRANARY_DATE && expr_is_integer(b->dtype)) {
        expr->dtype = GRANARY_DATE;
        return GRANARY_OK;
    }
    if (minus && expr_is_temporal(a->dtype) && expr_is_temporal(b->dtype)) {
        bool days = a->dtype == GRANARY_DATE && b->dtype == GRANARY_DATE;

        expr->dtype = days ? GRANARY_INT64 : GRANARY_DURATION;
        return days ? GRANARY_OK : convert_both(expr, GRANARY_TIMESTAMP);
    }
    if (a->dtype == GRANARY_DURATION && b->dtype == GRANARY_DURATION) {
        expr->dtype = GRANARY_DURATION;
        return GRANARY_OK;
    }
    *ret_done = false;
    return GRANARY_OK;
}

static granary_err
check_add_interval(struct gr_expr *expr)
{
    /* An earlier check made it; its operands may be other ones now. */
    const struct gr_expr *by = expr->operands[1];

    if (!expr_is_temporal(expr->operands[0]->dtype)) {
        return wrong_type(expr, "a date or timestamp");
    }
    expr->dtype = by->value.i % 86400000000 != 0 ? GRANARY_TIMESTAMP : expr->operands[0]->dtype;
    expr_fold(expr);
    return GRANARY_OK;
}

static granary_err
months_alone(const struct gr_expr *expr)
{
    return gr_fail(GRANARY_ETYPE,
                   "position %d: months and years are added to a date or timestamp only, and multiplied by whole "
                   "numbers as written only",
                   expr->position);
}

/* A month is no number of days, so an interval is no value of a column. Literal intervals are computed here. Months
 * that are left are refused, except in a sum with a date. */
static granary_err
check_months(struct gr_expr *expr)
{
    bool dates = (expr->op == GR_OP_ADD || expr->op == GR_OP_SUBTRACT || expr->op == GR_OP_ADD_INTERVAL) &&
                 (expr_is_temporal(expr->operands[0]->dtype) ||
                  (expr->op == GR_OP_ADD && expr_is_temporal(expr->operands[1]->dtype)));

    expr_fold_intervals(expr);
    for (size_t i = 0; i < expr->operand_count && !dates; i++) {
        if (expr->operands[i]->months != 0) {
            return months_alone(expr);
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
        either = either || (expr->op == GR_OP_ADD && expr_is_temporal(expr->operands[i]->dtype));
    }
    if (expr->operand_count == 1 && expr->op != GR_OP_NEGATE && expr_is_text(expr->operands[0])) {
        return read_argument(expr, expr->operands[0], GRANARY_FLOAT64);
    }
    return either ? GRANARY_OK : read_texts(expr);
}

static granary_err
check_arithmetic(struct gr_expr *expr)
{
    bool sum = expr->op == GR_OP_ADD || expr->op == GR_OP_SUBTRACT;
    bool done = false;
    granary_dtype a;
    granary_dtype b;
    granary_err err;

    settle_nulls(expr, GRANARY_INT64);
    err = read_summands(expr);
    if (err != GRANARY_OK) {
        return err;
    }
    a = expr->operands[0]->dtype;
    b = expr->operands[expr->operand_count - 1]->dtype;
    if (sum && (expr_is_temporal(a) || expr_is_temporal(b) || a == GRANARY_DURATION || b == GRANARY_DURATION)) {
        err = check_temporal_sum(expr, &done);
        if (done || err != GRANARY_OK) {
            return err;
        }
        return wrong_type(expr, "numbers, or dates with intervals");
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
            return wrong_type(expr, expr->operand_count == 1 ? "a number" : "two numbers");
        }
    }
    if (expr->operand_count == 2) {
        return check_two_numbers(expr);
    }
    expr->dtype = expr->op == GR_OP_SHORT_SIGN && expr_is_decimal(a) ? GRANARY_DECIMAL(0) : a;
    expr_fold(expr);
    return GRANARY_OK;
}

static granary_err
check_divide(struct gr_expr *expr)
{
    granary_err err = expr_is_numeric(expr->operands[0]->dtype) || expr_is_numeric(expr->operands[1]->dtype)
                          ? read_texts(expr)
                          : GRANARY_OK;
    granary_dtype a = expr->operands[0]->dtype;
    granary_dtype b = expr->operands[1]->dtype;

    if (err != GRANARY_OK) {
        return err;
    }
    if (a == GRANARY_DURATION && b == GRANARY_DURATION) {
        expr->dtype = GRANARY_FLOAT64;
        return convert_both(expr, GRANARY_FLOAT64);
    }
    if (a == GRANARY_DURATION && expr_is_numeric(b)) {
        return scale_duration(expr, 1);
    }
    settle_nulls(expr, GRANARY_INT64);
    for (size_t i = 0; i < 2; i++) {
        if (!expr_is_numeric(expr->operands[i]->dtype)) {
            return wrong_type(expr, "two numbers");
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
    return convert_both(expr, expr->dtype);
}

/* ---- comparison, logic ---- */

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
    return convert_both(expr, GRANARY_FLOAT64);
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

static granary_err
check_equal(struct gr_expr *expr)
{
    settle_nulls(expr, GRANARY_BOOL);
    granary_err err = read_texts(expr);

    if (err != GRANARY_OK) {
        return err;
    }
    granary_dtype a = expr->operands[0]->dtype;
    granary_dtype b = expr->operands[1]->dtype;

    expr->dtype = GRANARY_BOOL;
    if (expr_is_numeric(a) && expr_is_numeric(b)) {
        err = check_numbers_compare(expr);
    } else if (expr_is_temporal(a) && expr_is_temporal(b)) {
        err = a == b ? GRANARY_OK : convert_both(expr, GRANARY_TIMESTAMP);
    } else if (a != b) {
        return wrong_type(expr, "two values that compare");
    }
    if (err == GRANARY_OK) {
        prefer_plain(expr);
        expr_fold(expr);
    }
    return err;
}

static granary_err
check_order(struct gr_expr *expr)
{
    settle_nulls(expr, GRANARY_INT64);
    for (int i = 0; i < 2; i++) {
        const struct gr_expr *other = expr->operands[1 - i];

        if (expr->operands[i]->dtype == GRANARY_BOOL && (other->dtype == GRANARY_BOOL || expr_is_text(other))) {
            return wrong_type(expr, "values that have an order");
        }
    }
    return check_equal(expr);
}

static granary_err
check_logic(struct gr_expr *expr)
{
    if (expr->op == GR_OP_OR && expr->operands[0]->dtype == GRANARY_STRING &&
        expr->operands[1]->dtype == GRANARY_STRING) {
        expr->op = GR_OP_CONCAT; /* a || b */
        expr->dtype = GRANARY_STRING;
        return GRANARY_OK;
    }
    settle_nulls(expr, GRANARY_BOOL);
    if (expr->op == GR_OP_OR &&
        (expr->operands[0]->dtype == GRANARY_STRING || expr->operands[1]->dtype == GRANARY_STRING)) {
        struct shown left;
        struct shown right;

        return gr_fail(GRANARY_ETYPE, "position %d: '||' joins two strings, not %s and %s: cast what is none to string",
                       expr->position, show(expr->operands[0], &left), show(expr->operands[1], &right));
    }
    for (size_t i = 0; i < expr->operand_count; i++) {
        if (expr->operands[i]->dtype != GRANARY_BOOL) {
            return wrong_type(expr, expr->operand_count == 1 ? "a bool" : "two bools");
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
    err = expr_unify(slots, count, exact, GRANARY_STRING, ret_dtype, &clash);
    if (err == GRANARY_ETYPE) {
        struct shown first;
        struct shown other;
        size_t before = clash > 0 ? clash - 1 : count - 1;

        while (before > 0 && ((*slots[before])->dtype == GRANARY_NULLTYPE || expr_is_text(*slots[before]))) {
            before--;
        }
        err = gr_fail(GRANARY_ETYPE, "position %d: '%s' needs values of one kind, not %s and %s", expr->position,
                      gr_expr_op_text(expr->op), show(*slots[before], &first), show(*slots[clash], &other));
    }
    free(slots);
    return err;
}

static granary_err
check_in(struct gr_expr *expr)
{
    granary_dtype dtype;

    expr->dtype = GRANARY_BOOL;
    return unify_operands(expr, 0, 1, true, &dtype);
}

static granary_err
check_alike(struct gr_expr *expr)
{
    return unify_operands(expr, 0, 1, false, &expr->dtype);
}

/* Compared as `=` compares, and a value of the first one. */
static granary_err
check_nullif(struct gr_expr *expr)
{
    granary_dtype dtype;
    granary_err err = unify_operands(expr, 0, 1, true, &dtype);

    if (err == GRANARY_OK) {
        expr->dtype = expr->operands[0]->dtype;
    }
    return err;
}

static granary_err
check_ordered_alike(struct gr_expr *expr)
{
    granary_err err = check_alike(expr);

    return err == GRANARY_OK && expr->dtype == GRANARY_BOOL ? wrong_operand(expr, 0, "values that have an order") : err;
}

static granary_err
check_case(struct gr_expr *expr)
{
    for (size_t i = 0; i + 1 < expr->operand_count; i += 2) {
        struct gr_expr *condition = expr->operands[i];
        struct shown shown;

        if (condition->dtype == GRANARY_NULLTYPE) {
            expr_become_null(condition, GRANARY_BOOL);
        }
        if (condition->dtype != GRANARY_BOOL) {
            return gr_fail(GRANARY_ETYPE, "position %d: a condition of 'case' must be a bool, not %s",
                           condition->position, show(condition, &shown));
        }
    }
    return unify_operands(expr, 1, 2, false, &expr->dtype);
}

/* ---- functions ---- */

static granary_err
check_cast(struct gr_expr *expr)
{
    granary_dtype from = expr->operands[0]->dtype;
    granary_dtype to = expr->target;
    bool numbers = expr_is_numeric(from) && expr_is_numeric(to);
    bool texts = from == GRANARY_STRING || to == GRANARY_STRING;
    bool bools = (from == GRANARY_BOOL && expr_is_numeric(to)) || (to == GRANARY_BOOL && expr_is_numeric(from));
    bool times = (expr_is_temporal(from) && expr_is_temporal(to)) ||
                 (expr_is_integer(from) && (expr_is_temporal(to) || to == GRANARY_DURATION)) ||
                 (expr_is_integer(to) && (expr_is_temporal(from) || from == GRANARY_DURATION));
    struct shown shown;

    if (from == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[0], to);
    } else if (!(from == to || numbers || texts || bools || times)) {
        return gr_fail(GRANARY_ETYPE, "position %d: %s cannot be cast to %s", expr->position,
                       show(expr->operands[0], &shown), granary_dtype_name(to));
    }
    expr->dtype = to;
    expr_fold(expr);
    return GRANARY_OK;
}

static granary_err
check_convert(struct gr_expr *expr)
{
    (void)expr; /* an earlier check made it and gave it its dtype */
    return GRANARY_OK;
}

static granary_err
check_date_trunc(struct gr_expr *expr)
{
    const struct gr_expr *unit = expr->operands[0];

    if (!expr_is_literal(unit) || unit->dtype != GRANARY_STRING) {
        return wrong_operand(expr, 0, "a unit in quotes, such as 'month',");
    }
    if (expr->operands[1]->dtype == GRANARY_NULLTYPE) {
        expr_become_null(expr->operands[1], GRANARY_DATE);
    }
    if (!expr_is_temporal(expr->operands[1]->dtype)) {
        return wrong_operand(expr, 1, "a date or timestamp");
    }
    static const char *const names[] = {"year", "quarter", "month", "week", "day", "hour", "minute", "second"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(unit->text, names[i]) == 0) {
            expr->dtype = expr->operands[1]->dtype;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EINVAL,
                   "position %d: date_trunc() knows year, quarter, month, week, day, hour, minute, second, not '%.60s'",
                   unit->position, unit->text);
}

static const struct {
    char letter;
    const char *wants;
    granary_dtype alone;
} letters[] = {
    {'s', "a string", GRANARY_STRING},  {'i', "an integer", GRANARY_INT64},         {'n', "a number", GRANARY_FLOAT64},
    {'x', "a number", GRANARY_FLOAT64}, {'t', "a date or timestamp", GRANARY_DATE}, {'*', "a value", GRANARY_STRING},
};

static bool
letter_takes(char letter, const struct gr_expr *expr)
{
    switch (letter) {
    case 's':
        return expr->dtype == GRANARY_STRING;
    case 'i':
        return expr_is_integer(expr->dtype);
    case 'n':
    case 'x':
        return expr_is_numeric(expr->dtype);
    case 't':
        return expr_is_temporal(expr->dtype);
    default:
        return true;
    }
}

static granary_dtype
letter_gives(char letter, const struct gr_expr *expr)
{
    switch (letter) {
    case 's':
        return GRANARY_STRING;
    case 'i':
        return GRANARY_INT64;
    case 'f':
        return GRANARY_FLOAT64;
    case 'b':
        return GRANARY_BOOL;
    case 'd':
        return GRANARY_DATE;
    case 'm':
        return GRANARY_TIMESTAMP;
    default:
        return expr->operands[0]->dtype;
    }
}

static granary_err
check_signature(struct gr_expr *expr, const char *signature)
{
    const char *letter = signature;
    bool small = true; /* all are float32 */

    for (size_t i = 0; i < expr->operand_count; i++) {
        struct gr_expr *operand = expr->operands[i];
        size_t at = 0;

        while (letters[at].letter != *letter) {
            at++;
        }
        if (operand->dtype == GRANARY_NULLTYPE) {
            expr_become_null(operand, letters[at].alone);
        }
        if (expr_is_text(operand) && expr_is_numeric(letters[at].alone)) {
            granary_err err = read_argument(expr, operand, letters[at].alone);

            if (err != GRANARY_OK) {
                return err;
            }
        }
        if (!letter_takes(*letter, operand)) {
            return wrong_operand(expr, i, letters[at].wants);
        }
        small = small && (operand->dtype == GRANARY_FLOAT32 || expr_is_weak(operand));
        letter += letter[1] != '>';
    }
    if (signature[0] == 'x') {
        for (size_t i = 0; i < expr->operand_count; i++) {
            bool weak = expr_is_weak(expr->operands[i]);
            granary_err err = expr_convert(&expr->operands[i], small && !weak ? GRANARY_FLOAT32 : GRANARY_FLOAT64);

            if (err != GRANARY_OK) {
                return err;
            }
        }
    }
    expr->dtype = letter_gives(letter[strlen(letter) - 1], expr);
    if (signature[0] == 'x' && expr->dtype != GRANARY_BOOL && !small) {
        expr->dtype = GRANARY_FLOAT64;
    }
    return GRANARY_OK;
}

/* How many digits behind the point are left, as far as that is known: each row may ask for others. */
static int
digits_left(const struct gr_expr *rounding, int scale)
{
    const struct gr_expr *asked = rounding->operand_count > 1 ? rounding->operands[1] : NULL;

    if (asked == NULL) {
        return 0;
    }
    return !expr_is_literal(asked) || asked->value.i > scale ? scale : asked->value.i < 0 ? 0 : (int)asked->value.i;
}

static granary_err
check_short(struct gr_expr *expr, const char *signature)
{
    granary_err err = check_signature(expr, signature);

    if (err == GRANARY_OK && expr_is_decimal(expr->dtype)) {
        expr->dtype = GRANARY_DECIMAL(digits_left(expr, gr_dtype_scale(expr->dtype)));
    }
    return err;
}

static granary_err
check_op(struct gr_expr *expr)
{
    static const char *const signatures[] = {
#define EXPR_OP(id, text, least, most, signature) [GR_OP_##id] = signature,
#include "graph/expr/ops.def"
#undef EXPR_OP
    };

    switch (expr->op) {
    case GR_OP_ADD:
    case GR_OP_SUBTRACT:
    case GR_OP_MULTIPLY:
    case GR_OP_FLOOR_DIVIDE:
    case GR_OP_MODULO:
    case GR_OP_QUOTIENT:
    case GR_OP_REMAINDER:
    case GR_OP_NEGATE:
    case GR_OP_ABS:
    case GR_OP_SIGN:
    case GR_OP_SHORT_SIGN:
        return check_arithmetic(expr);
    case GR_OP_SHORT_FLOOR:
    case GR_OP_SHORT_CEIL:
    case GR_OP_SHORT_TRUNC:
    case GR_OP_SHORT_ROUND:
        return check_short(expr, signatures[expr->op]);
    case GR_OP_DIVIDE:
        return check_divide(expr);
    case GR_OP_EQUAL:
    case GR_OP_NOT_EQUAL:
    case GR_OP_TOTAL_EQUAL:
    case GR_OP_TOTAL_NOT_EQUAL:
        return check_equal(expr);
    case GR_OP_LESS:
    case GR_OP_LESS_EQUAL:
    case GR_OP_GREATER:
    case GR_OP_GREATER_EQUAL:
    case GR_OP_TOTAL_LESS:
    case GR_OP_TOTAL_LESS_EQUAL:
    case GR_OP_TOTAL_GREATER:
    case GR_OP_TOTAL_GREATER_EQUAL:
        return check_order(expr);
    case GR_OP_AND:
    case GR_OP_OR:
    case GR_OP_NOT:
        return check_logic(expr);
    case GR_OP_IN:
        return check_in(expr);
    case GR_OP_CASE:
        return check_case(expr);
    case GR_OP_NULLIF:
        return check_nullif(expr);
    case GR_OP_COALESCE:
        return check_alike(expr);
    case GR_OP_GREATEST:
    case GR_OP_LEAST:
        return check_ordered_alike(expr);
    case GR_OP_CAST:
    case GR_OP_TRY_CAST:
        return check_cast(expr);
    case GR_OP_CONVERT:
        return check_convert(expr);
    case GR_OP_DATE_TRUNC:
        return check_date_trunc(expr);
    case GR_OP_ADD_INTERVAL:
        return check_add_interval(expr);
    default:
        return check_signature(expr, signatures[expr->op]);
    }
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
    granary_err err = check_months(expr);

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
        err = months_alone(expr);
    }
    return err;
}
