/* Constants computed when the expression is checked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/expr/check.h"

#define DAY_US INT64_C(86400000000)

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
become_number(struct gr_expr *expr, int64_t units, int scale, double real)
{
    become_literal(expr, scale == 0 ? GRANARY_INT64 : GRANARY_FLOAT64);
    expr->is_number = true;
    expr->scale = scale;
    expr->value.i = units;
    expr->value.d = real;
}

static bool
to_scale(__int128 *units, int by)
{
    for (int i = 0; i < by; i++) {
        if (__builtin_mul_overflow(*units, (__int128)10, units)) {
            return false;
        }
    }
    return true;
}

/* Numbers as written, with or without a point, are added and multiplied exactly: 0.06 + 0.01 is 0.07. */
static void
fold_numbers(struct gr_expr *expr)
{
    const struct gr_expr *a = expr->operands[0];
    const struct gr_expr *b = expr->operands[1];
    __int128 x = a->value.i;
    __int128 y = b->value.i;
    bool exact = a->scale >= 0 && b->scale >= 0;
    int scale = a->scale > b->scale ? a->scale : b->scale;
    double real;

    switch (expr->op) {
    case GR_OP_ADD:
        real = a->value.d + b->value.d;
        exact = exact && to_scale(&x, scale - a->scale) && to_scale(&y, scale - b->scale);
        x += exact ? y : 0;
        break;
    case GR_OP_SUBTRACT:
        real = a->value.d - b->value.d;
        exact = exact && to_scale(&x, scale - a->scale) && to_scale(&y, scale - b->scale);
        x -= exact ? y : 0;
        break;
    case GR_OP_MULTIPLY:
        real = a->value.d * b->value.d;
        scale = a->scale + b->scale;
        x *= exact ? y : 1;
        break;
    default: /* DIVIDE */
        real = a->value.d / b->value.d;
        exact = false;
        break;
    }
    if (exact && (x < INT64_MIN || x > INT64_MAX || scale > GRANARY_DECIMAL_SCALE_MOST)) {
        exact = false;
    }
    if (!exact) {
        /* An integer that overflows does so when it runs, with its values. */
        if ((a->scale == 0 && b->scale == 0 && expr->op != GR_OP_DIVIDE) || !isfinite(real)) {
            return;
        }
        become_number(expr, 0, -1, real);
        return;
    }
    become_number(expr, (int64_t)x, scale, (double)((long double)x / powl(10, scale)));
}

static void
fold_negate(struct gr_expr *expr)
{
    const struct gr_expr *a = expr->operands[0];

    if (expr_is_weak(a) && a->value.i != INT64_MIN) {
        become_number(expr, -a->value.i, a->scale, -a->value.d);
    }
}

static void
fold_interval(struct gr_expr *expr)
{
    const struct gr_expr *at = expr->operands[0];
    const struct gr_expr *by = expr->operands[1];
    granary_dtype dtype = expr->dtype;
    int64_t unit = at->dtype == GRANARY_TIMESTAMP ? DAY_US : 1;
    int64_t days;
    int64_t clock;
    int64_t value;

    if (!expr_is_literal(at) || !expr_is_literal(by)) {
        return;
    }
    days = at->value.i / unit - (at->value.i % unit < 0);
    clock = at->value.i - days * unit;
    days = gr_date_add_months(days, by->months);
    /* Years 1 to 9999 can be written; beyond them it is left to the kernels. */
    if (dtype == GRANARY_DATE) {
        value = days + by->value.i / DAY_US;
        if (value < -719162 || value > 2932896) {
            return;
        }
    } else {
        if (__builtin_mul_overflow(days, DAY_US, &value) || __builtin_add_overflow(value, clock, &value) ||
            __builtin_add_overflow(value, by->value.i, &value) || value < -719162 * DAY_US ||
            value > 2932897 * DAY_US - 1) {
            return;
        }
    }
    become_literal(expr, dtype)->value.i = value;
}

void
expr_fold_intervals(struct gr_expr *expr)
{
    const struct gr_expr *a = expr->operands[0];
    const struct gr_expr *b = expr->operands[expr->operand_count - 1];
    int64_t months = a->months;
    int64_t microseconds = a->value.i;
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
        if (!a->is_interval || !expr_is_literal(b) || b->is_null || !expr_is_integer(b->dtype)) {
            return;
        }
        by = b->value.i;
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
    if (a->text != NULL && b->text != NULL) {
        size_t size = a->text_size < b->text_size ? a->text_size : b->text_size;

        order = memcmp(a->text, b->text, size);
        order = order != 0 ? order : (a->text_size > b->text_size) - (a->text_size < b->text_size);
    } else if (a->dtype == b->dtype && !expr_is_float(a->dtype) && a->text == NULL && b->text == NULL) {
        order = (a->value.i > b->value.i) - (a->value.i < b->value.i);
    } else {
        return;
    }
    switch (expr->op) {
    case GR_OP_EQUAL:
        truth = order == 0;
        break;
    case GR_OP_NOT_EQUAL:
        truth = order != 0;
        break;
    case GR_OP_LESS:
        truth = order < 0;
        break;
    case GR_OP_LESS_EQUAL:
        truth = order <= 0;
        break;
    case GR_OP_GREATER:
        truth = order > 0;
        break;
    default:
        truth = order >= 0;
        break;
    }
    become_literal(expr, GRANARY_BOOL)->value.i = truth;
}

static void
fold_cast(struct gr_expr *expr)
{
    const struct gr_expr *a = expr->operands[0];
    int32_t days;
    int64_t microseconds;
    int64_t least;
    int64_t most;

    if (!expr_is_literal(a)) {
        return;
    }
    if (a->text != NULL && expr->target == GRANARY_DATE && gr_date_parse(a->text, a->text_size, &days)) {
        become_literal(expr, GRANARY_DATE)->value.i = days;
    } else if (a->text != NULL && expr->target == GRANARY_TIMESTAMP &&
               gr_timestamp_parse(a->text, a->text_size, &microseconds)) {
        become_literal(expr, GRANARY_TIMESTAMP)->value.i = microseconds;
    } else if (a->dtype == GRANARY_DATE && expr->target == GRANARY_TIMESTAMP) {
        int64_t value = a->value.i * DAY_US;

        become_literal(expr, GRANARY_TIMESTAMP)->value.i = value;
    } else if (a->dtype == expr->target && !expr_is_weak(a)) {
        become_operand(expr, 0);
    } else if (expr_is_weak(a) && a->scale == 0 && expr_is_integer(expr->target)) {
        int64_t value = a->value.i;

        expr_integer_range(expr->target, &least, &most);
        if (value >= least && value <= most) {
            become_literal(expr, expr->target)->value.i = value;
        }
    } else if (expr_is_weak(a) && expr->target == GRANARY_FLOAT64) {
        double value = a->value.d;

        become_literal(expr, GRANARY_FLOAT64)->value.d = value;
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
