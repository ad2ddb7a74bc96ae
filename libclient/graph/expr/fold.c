/* Constants computed when the expression is checked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contract/int128.h"
#include "data/value/bytes.h"
#include "data/value/calendar.h"
#include "data/value/written.h"
#include "graph/expr/check/check.h"

#define DAY_US INT64_C(86400000000)
/* Years 1 to 9999 can be written; beyond them it is left to the kernels. */
#define DAY_LEAST (-719162)
#define DAY_MOST  2932896

/* The call becomes a literal; its operands are gone. Position stays. */
static struct gr_expr *
become_literal(struct gr_expr *expr, granary_dtype dtype)
{
    expr_become_null(expr, dtype);
    expr->is_null = false;
    return expr;
}

/* The call becomes one of its operands. */
static void
become_operand(struct gr_expr *expr, size_t kept)
{
    struct gr_expr *operand = expr->operands[kept];
    struct gr_expr old = *expr;

    *expr = *operand;
    free(operand);
    for (size_t i = 0; i < old.operand_count; i++) {
        if (i != kept) {
            gr_expr_destroy(old.operands[i]);
        }
    }
    free(old.operands);
}

static void
become_number(struct gr_expr *expr, bool is_exact, gr_int128 units, int scale, double real)
{
    become_literal(expr, GRANARY_NULLTYPE);
    expr->is_number = true;
    expr->is_exact = is_exact;
    expr->scale = scale;
    expr->value.i = units;
    expr->value.d = real;
    expr->dtype = expr_dtype_alone(expr);
}

/* The sum, difference or product, exactly. false: it has more digits than a decimal. */
static bool
fold_exactly(enum gr_expr_op op, const struct gr_expr *a, const struct gr_expr *b, gr_int128 *ret_units, int *ret_scale)
{
    const gr_int128 most = gr_power_of_ten(GRANARY_DECIMAL_DIGITS);
    int scale = op == GR_OP_MULTIPLY ? a->scale + b->scale : a->scale > b->scale ? a->scale : b->scale;
    gr_int128 x = a->value.i;
    gr_int128 y = b->value.i;

    if (a->scale < 0 || b->scale < 0 || scale > GRANARY_DECIMAL_DIGITS) {
        return false;
    }
    if (op == GR_OP_MULTIPLY) {
        if (__builtin_mul_overflow(x, y, &x)) {
            return false;
        }
    } else {
        if (!expr_number_units(a, scale, &x) || !expr_number_units(b, scale, &y)) {
            return false;
        }
        x = op == GR_OP_ADD ? x + y : x - y;
    }
    *ret_units = x;
    *ret_scale = scale;
    return x < most && x > -most;
}

/* Numbers as written, with or without a point, are added and multiplied exactly: 0.06 + 0.01 is 0.07. */
static void
fold_numbers(struct gr_expr *expr)
{
    const struct gr_expr *a = expr->operands[0];
    const struct gr_expr *b = expr->operands[1];
    bool integers = a->dtype == GRANARY_INT64 && b->dtype == GRANARY_INT64;
    bool is_exact = a->is_exact || b->is_exact;
    gr_int128 units;
    int scale;
    double real;

    if (expr->op != GR_OP_DIVIDE && fold_exactly(expr->op, a, b, &units, &scale)) {
        /* An integer that overflows does so when it runs, with its values. */
        if (!integers || gr_dtype_fits(GRANARY_INT64, units)) {
            become_number(expr, is_exact, units, scale, gr_decimal_real(units, scale));
        }
        return;
    }
    if (expr->op != GR_OP_DIVIDE && is_exact && a->scale >= 0 && b->scale >= 0) {
        return; /* decimals that overflow do so when it runs, too */
    }
    real = expr->op == GR_OP_ADD        ? a->value.d + b->value.d
           : expr->op == GR_OP_SUBTRACT ? a->value.d - b->value.d
           : expr->op == GR_OP_MULTIPLY ? a->value.d * b->value.d
                                        : a->value.d / b->value.d;
    if (isfinite(real) && (expr->op == GR_OP_DIVIDE || a->scale != 0 || b->scale != 0)) {
        become_number(expr, false, 0, -1, real);
    }
}

static void
fold_negate(struct gr_expr *expr)
{
    const struct gr_expr *a = expr->operands[0];

    if (expr_is_weak(a) && (a->scale != 0 || a->value.i != INT64_MIN)) {
        become_number(expr, a->is_exact, -a->value.i, a->scale, a->is_exact ? 0.0 - a->value.d : -a->value.d);
    }
}

static void
fold_interval(struct gr_expr *expr)
{
    const struct gr_expr *at = expr->operands[0];
    const struct gr_expr *by = expr->operands[1];
    granary_dtype dtype = expr->dtype;
    int64_t unit = at->dtype == GRANARY_DATE ? 1 : DAY_US;
    int64_t days;
    int64_t clock;
    int64_t value;

    if (!expr_is_literal(at) || !expr_is_literal(by)) {
        return;
    }
    days = at->value.i / unit - (at->value.i % unit < 0);
    clock = at->value.i - days * unit;
    if (dtype == GRANARY_TIME) { /* around the clock */
        clock = (clock + (int64_t)(by->value.i % DAY_US) + DAY_US) % DAY_US;
        become_literal(expr, dtype)->value.i = clock;
        return;
    }
    days = gr_date_add_months(days, by->months);
    if (dtype == GRANARY_DATE) {
        value = days + by->value.i / DAY_US;
        if (value < DAY_LEAST || value > DAY_MOST) {
            return;
        }
    } else {
        if (__builtin_mul_overflow(days, DAY_US, &value) || __builtin_add_overflow(value, clock, &value) ||
            __builtin_add_overflow(value, by->value.i, &value) || value < DAY_LEAST * DAY_US ||
            value > (DAY_MOST + 1) * DAY_US - 1) {
            return;
        }
    }
    become_literal(expr, dtype)->value.i = value;
}

/* A date and so many days. */
static void
fold_days(struct gr_expr *expr)
{
    const struct gr_expr *at = expr->operands[0];
    const struct gr_expr *by = expr->operands[1];
    gr_int128 value;

    if (expr->dtype != GRANARY_DATE || !expr_is_literal(at) || !expr_is_literal(by) || by->is_interval ||
        !gr_dtype_fits(GRANARY_INT64, by->value.i)) {
        return;
    }
    value = expr->op == GR_OP_SUBTRACT ? at->value.i - by->value.i : at->value.i + by->value.i;
    if (value >= DAY_LEAST && value <= DAY_MOST) {
        become_literal(expr, GRANARY_DATE)->value.i = value;
    }
}

void
expr_fold_intervals(struct gr_expr *expr)
{
    const struct gr_expr *a = expr->operands[0];
    const struct gr_expr *b = expr->operands[expr->operand_count - 1];
    int64_t months = a->months;
    int64_t microseconds = (int64_t)a->value.i;
    int64_t by = -1;
    bool overflows;

    switch (expr->op) {
    case GR_OP_ADD:
    case GR_OP_SUBTRACT:
        if (!a->is_interval || !b->is_interval) {
            return;
        }
        by = expr->op == GR_OP_ADD ? 1 : -1;
        months += by * b->months;
        overflows =
            __builtin_mul_overflow(by, b->value.i, &by) || __builtin_add_overflow(microseconds, by, &microseconds);
        break;
    case GR_OP_MULTIPLY:
        if (b->is_interval) {
            const struct gr_expr *number = a;

            a = b;
            b = number;
        }
        if (!a->is_interval || !expr_is_literal(b) || !expr_is_integer(b->dtype) ||
            !gr_dtype_fits(GRANARY_INT64, b->value.i)) {
            return;
        }
        by = (int64_t)b->value.i;
        /* falls through */
    case GR_OP_NEGATE:
        if (!a->is_interval) {
            return;
        }
        overflows = __builtin_mul_overflow((int64_t)a->months, by, &months) ||
                    __builtin_mul_overflow(a->value.i, by, &microseconds);
        break;
    default:
        return;
    }
    if (!overflows && months >= -EXPR_MONTHS_MOST && months <= EXPR_MONTHS_MOST) {
        become_literal(expr, GRANARY_DURATION);
        expr->is_interval = true;
        expr->months = (int)months;
        expr->value.i = microseconds;
    }
}

static void
fold_logic(struct gr_expr *expr)
{
    bool decides = expr->op == GR_OP_OR;

    for (size_t i = 0; i < 2; i++) {
        if (expr_is_literal(expr->operands[i])) {
            bool value = expr->operands[i]->value.i != 0;

            become_operand(expr, value == decides ? i : 1 - i);
            return;
        }
    }
}

/* By their digits, where both have them. */
static int
order_numbers(const struct gr_expr *a, const struct gr_expr *b)
{
    if (a->scale < 0 || b->scale < 0) {
        return (a->value.d > b->value.d) - (a->value.d < b->value.d);
    }
    return a->scale > b->scale ? -gr_order_scaled(b->value.i, gr_power_of_ten(a->scale - b->scale), a->value.i)
                               : gr_order_scaled(a->value.i, gr_power_of_ten(b->scale - a->scale), b->value.i);
}

static void
fold_compare(struct gr_expr *expr)
{
    const struct gr_expr *a = expr->operands[0];
    const struct gr_expr *b = expr->operands[1];
    int order;
    bool truth;

    if (!expr_is_literal(a) || !expr_is_literal(b)) {
        return;
    }
    if (expr_is_weak(a) && expr_is_weak(b)) {
        order = order_numbers(a, b);
    } else if (a->text != NULL && b->text != NULL && a->dtype == b->dtype) {
        size_t size = a->text_size < b->text_size ? a->text_size : b->text_size;

        order = memcmp(a->text, b->text, size);
        order = order != 0 ? order : (a->text_size > b->text_size) - (a->text_size < b->text_size);
    } else if (a->dtype == b->dtype && !expr_is_float(a->dtype) && a->text == NULL && b->text == NULL) {
        order = (a->value.i > b->value.i) - (a->value.i < b->value.i);
    } else {
        return;
    }
    truth = gr_expr_op_holds(expr->op, order);
    become_literal(expr, GRANARY_BOOL)->value.i = truth;
}

/* A number as written is cast as a decimal of its digits would be, not as the float nearest to it. */
static void
fold_number_cast(struct gr_expr *expr)
{
    const struct gr_expr *a = expr->operands[0];
    granary_dtype target = expr->target;
    char text[EXPR_DECIMAL_TEXT];
    gr_int128 units;

    if (target == GRANARY_FLOAT64) {
        double value = a->value.d;

        become_literal(expr, GRANARY_FLOAT64)->value.d = value;
    } else if (a->scale >= 0 && expr_is_exact(target)) {
        int digits = expr->digits > 0 ? expr->digits : GRANARY_DECIMAL_DIGITS;
        gr_int128 most = gr_power_of_ten(digits);

        if (expr_number_units(a, gr_dtype_scale(target), &units) &&
            (expr_is_integer(target) ? gr_dtype_fits(target, units) : units < most && units > -most)) {
            become_literal(expr, target)->value.i = units;
        }
    } else if (a->scale >= 0 && target == GRANARY_STRING) {
        char *copy = strdup(expr_decimal_text(a->value.i, a->scale, text));

        if (copy != NULL) {
            become_literal(expr, GRANARY_STRING)->text = copy;
            expr->text_size = strlen(copy);
        }
    }
}

/* Moments in microseconds. */
static bool
is_clock(granary_dtype dtype)
{
    return dtype == GRANARY_TIMESTAMP || dtype == GRANARY_TIMESTAMPTZ || dtype == GRANARY_TIME;
}

static void
fold_bytes(struct gr_expr *expr)
{
    const struct gr_expr *a = expr->operands[0];
    struct gr_buf bytes = {0};
    size_t size;
    char *copy;

    if (gr_bytes_parse(a->text, a->text_size, &bytes)) {
        size = bytes.size;
        gr_buf_add(&bytes, "", 1);
        copy = gr_buf_take(&bytes);
        if (copy != NULL) {
            become_literal(expr, GRANARY_BINARY)->text = copy;
            expr->text_size = size;
        }
    }
    gr_buf_free(&bytes);
}

static void
fold_cast(struct gr_expr *expr)
{
    const struct gr_expr *a = expr->operands[0];
    int32_t days;
    int64_t microseconds;

    if (!expr_is_literal(a)) {
        return;
    }
    if (expr_is_weak(a)) {
        fold_number_cast(expr);
    } else if (expr_is_text(a) && expr->target == GRANARY_DATE && gr_date_written(a->text, a->text_size, &days)) {
        become_literal(expr, GRANARY_DATE)->value.i = days;
    } else if (expr_is_text(a) && expr->target == GRANARY_BINARY) {
        fold_bytes(expr);
    } else if (expr_is_text(a) && is_clock(expr->target) &&
               expr_read_clock(expr->target, a->text, a->text_size, &microseconds)) {
        become_literal(expr, expr->target)->value.i = microseconds;
    } else if (a->dtype == GRANARY_DATE && is_clock(expr->target) && expr->target != GRANARY_TIME) {
        gr_int128 value = a->value.i * DAY_US;

        if (gr_dtype_fits(expr->target, value)) {
            become_literal(expr, expr->target)->value.i = value;
        }
    } else if (expr_has_day(a->dtype) && is_clock(a->dtype) && expr_has_day(expr->target) && is_clock(expr->target)) {
        int64_t value = (int64_t)a->value.i;

        become_literal(expr, expr->target)->value.i = value;
    } else if (a->dtype == expr->target && expr->digits == 0) {
        become_operand(expr, 0);
    }
}

void
expr_fold(struct gr_expr *expr)
{
    switch (expr->op) {
    case GR_OP_ADD:
    case GR_OP_SUBTRACT:
    case GR_OP_MULTIPLY:
    case GR_OP_DIVIDE:
        if (expr_is_weak(expr->operands[0]) && expr_is_weak(expr->operands[1])) {
            fold_numbers(expr);
        } else if (expr->operands[0]->dtype == GRANARY_DATE) {
            fold_days(expr);
        }
        return;
    case GR_OP_NEGATE:
        fold_negate(expr);
        return;
    case GR_OP_ADD_INTERVAL:
        fold_interval(expr);
        return;
    case GR_OP_AND:
    case GR_OP_OR:
        fold_logic(expr);
        return;
    case GR_OP_NOT:
        if (expr_is_literal(expr->operands[0])) {
            bool value = expr->operands[0]->value.i == 0;

            become_literal(expr, GRANARY_BOOL)->value.i = value;
        }
        return;
    case GR_OP_EQUAL:
    case GR_OP_NOT_EQUAL:
    case GR_OP_LESS:
    case GR_OP_LESS_EQUAL:
    case GR_OP_GREATER:
    case GR_OP_GREATER_EQUAL:
        fold_compare(expr);
        return;
    case GR_OP_CAST:
    case GR_OP_TRY_CAST:
        fold_cast(expr);
        return;
    default:
        return;
    }
}
