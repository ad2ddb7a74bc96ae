/* Arithmetic on blocks. Exact values are computed in int64 and once more in 128 bits where that overflows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/core/rounding.h"
#include "kernel/rows/node.h"
#include "kernel/simd/rows_loops.h"

/* ---- exact ---- */

static bool
exact_one(enum gr_expr_op op, gr_int128 a, gr_int128 b, gr_int128 *out)
{
    switch (op) {
    case GR_OP_ADD:
        return __builtin_add_overflow(a, b, out);
    case GR_OP_SUBTRACT:
        return __builtin_sub_overflow(a, b, out);
    case GR_OP_MULTIPLY:
        return __builtin_mul_overflow(a, b, out);
    case GR_OP_NEGATE:
        return __builtin_sub_overflow((gr_int128)0, a, out);
    case GR_OP_SIGN:
        *out = (a > 0) - (a < 0);
        return false;
    default: /* ABS */
        *out = a;
        return a < 0 ? __builtin_sub_overflow((gr_int128)0, a, out) : false;
    }
}

static bool
is_division(enum gr_expr_op op)
{
    return op == GR_OP_FLOOR_DIVIDE || op == GR_OP_MODULO || op == GR_OP_QUOTIENT || op == GR_OP_REMAINDER;
}

/* Quotient rounded down with a remainder of the divisor's sign, or towards 0 with one of the dividend's; there is none
 * when the divisor is 0. */
static void
exact_divide(struct node *node, int64_t n, gr_int128 *out)
{
    const struct node *a = node->operands[0];
    const struct node *b = node->operands[1];
    const uint8_t *before = node->valid;
    uint8_t *valid = node_valid_room(node);
    bool down = node->op == GR_OP_FLOOR_DIVIDE || node->op == GR_OP_MODULO;
    bool is_rest = node->op == GR_OP_MODULO || node->op == GR_OP_REMAINDER;

    for (int64_t i = 0; i < n; i++) {
        gr_int128 divisor = node_exact_at(b, i);
        gr_int128 dividend = node_exact_at(a, i);
        bool defined = divisor != 0;
        gr_int128 quotient;
        gr_int128 rest;

        divisor = defined ? divisor : 1;
        if (divisor == -1) { /* the least number has no opposite */
            quotient = (gr_int128)(0 - (gr_uint128)dividend);
            rest = 0;
        } else {
            quotient = dividend / divisor;
            rest = dividend % divisor;
        }
        if (down && rest != 0 && (rest < 0) != (divisor < 0)) {
            rest += divisor;
            quotient--;
        }
        out[i] = is_rest ? rest : quotient;
        valid[i] = (uint8_t)((before == NULL || before[i] != 0) && defined);
    }
}

/* Quotients and signs of decimals are whole. */
static void
exact_rescale(struct node *node, int64_t n, gr_int128 *out)
{
    gr_int128 factor = gr_power_of_ten(gr_dtype_scale(node->dtype));

    for (int64_t i = 0; i < n && factor != 1; i++) {
        if (__builtin_mul_overflow(out[i], factor, &out[i])) {
            out[i] = BEYOND;
        }
    }
}

static void
exact_wide(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    const struct node *b = node->operands[node->count - 1];
    gr_int128 *out = node_exact_room(node);

    if (is_division(node->op)) {
        exact_divide(node, n, out);
        if (node->op == GR_OP_FLOOR_DIVIDE || node->op == GR_OP_QUOTIENT) {
            exact_rescale(node, n, out);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            if (exact_one(node->op, node_exact_at(a, i), node_exact_at(b, i), &out[i])) {
                out[i] = BEYOND;
            }
        }
        if (node->op == GR_OP_SIGN) {
            exact_rescale(node, n, out);
        }
    }
    node_settle_exact(node, n);
}

/* A duration times a float, or divided by a number: to the nearest microsecond. By 0 or a nan there is none. */
static void
duration_scaled(struct node *node, int64_t n)
{
    bool divides = node->op == GR_OP_DIVIDE;
    size_t first = node->operands[0]->base == ROWS_DOUBLE; /* float * duration */
    const struct node *a = node->operands[first];
    const struct node *by = node->operands[1 - first];
    const double *reals = by->base == ROWS_DOUBLE ? by->values : NULL;
    const uint8_t *before = node->valid;
    uint8_t *valid = node_valid_room(node);
    gr_int128 *out = node_exact_room(node);

    for (int64_t i = 0; i < n; i++) {
        gr_int128 microseconds = node_exact_at(a, i);
        gr_int128 whole = reals == NULL ? node_exact_at(by, i) : 1;
        bool defined = reals == NULL ? whole != 0 : !isnan(reals[i]) && !(divides && reals[i] == 0);

        out[i] = 0;
        if (defined && reals == NULL) {
            out[i] = divide_to_even(microseconds, whole);
        } else if (defined) {
            long double scaled = (long double)microseconds;

            scaled = rintl(divides ? scaled / reals[i] : scaled * reals[i]);
            out[i] = fabsl(scaled) < 0x1p63L ? (gr_int128)scaled : BEYOND; /* of 0 * inf, too */
        }
        valid[i] = (uint8_t)((before == NULL || before[i] != 0) && defined);
    }
    node_settle_exact(node, n);
}

/* By 0 there is no value. */
static void
drop_divided_by_zero(struct node *node, const int64_t *divisors, int64_t n)
{
    const uint8_t *before = node->valid;
    bool zeros = false;
    uint8_t *valid;

    for (int64_t i = 0; i < n; i++) {
        zeros |= divisors[i] == 0;
    }
    if (!zeros) {
        return;
    }
    valid = node_valid_room(node);
    for (int64_t i = 0; i < n; i++) {
        valid[i] = (uint8_t)((before == NULL || before[i] != 0) && divisors[i] != 0);
    }
}

static void
arithmetic_exact(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    const struct node *b = node->operands[node->count - 1];
    bool whole = node->op == GR_OP_FLOOR_DIVIDE || node->op == GR_OP_QUOTIENT || node->op == GR_OP_SIGN;

    if (a->class != ROWS_INT || b->class != ROWS_INT || (whole && gr_dtype_scale(node->dtype) != 0) ||
        SIMD_CALL(rows_arithmetic_int)(node->op, a->values, b->values, node_room(node, ROWS_INT), n)) {
        exact_wide(node, n);
        return;
    }
    if (is_division(node->op)) {
        drop_divided_by_zero(node, b->values, n);
    }
    node_check_range(node, n);
}

/* ---- floats ---- */

static double
real_modulo(double a, double b)
{
    double rest = fmod(a, b);

    if (rest == 0.0) {
        return copysign(0.0, b);
    }
    return (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

/* As in Python: a quotient that goes with the remainder. */
static double
floor_divide(double a, double b)
{
    double rest;
    double quotient;

    if (b == 0.0) {
        return a / b;
    }
    rest = fmod(a, b);
    quotient = (a - rest) / b;
    if (rest != 0.0 && (rest < 0.0) != (b < 0.0)) {
        quotient -= 1.0;
    }
    if (quotient == 0.0) {
        return copysign(0.0, a / b);
    }
    return quotient - floor(quotient) > 0.5 ? floor(quotient) + 1.0 : floor(quotient);
}

void
node_round_to_float32(struct node *node, int64_t n)
{
    double *out = node->buffer;

    for (int64_t i = 0; i < n && node->dtype == GRANARY_FLOAT32; i++) {
        out[i] = (double)(float)out[i];
    }
}

static void
arithmetic_real(struct node *node, int64_t n)
{
    const double *a = node->operands[0]->values;
    const double *b = node->operands[node->count - 1]->values;
    double *out = node_room(node, ROWS_DOUBLE);

    switch (node->op) {
    case GR_OP_NEGATE:
        for (int64_t i = 0; i < n; i++) {
            out[i] = -a[i];
        }
        break;
    case GR_OP_ABS:
        for (int64_t i = 0; i < n; i++) {
            out[i] = fabs(a[i]);
        }
        break;
    case GR_OP_SIGN:
        for (int64_t i = 0; i < n; i++) {
            out[i] = isnan(a[i]) ? a[i] : (double)((a[i] > 0) - (a[i] < 0));
        }
        break;
    case GR_OP_MODULO:
        for (int64_t i = 0; i < n; i++) {
            out[i] = real_modulo(a[i], b[i]);
        }
        break;
    case GR_OP_FLOOR_DIVIDE:
        for (int64_t i = 0; i < n; i++) {
            out[i] = floor_divide(a[i], b[i]);
        }
        break;
    case GR_OP_QUOTIENT:
        for (int64_t i = 0; i < n; i++) {
            out[i] = b[i] == 0.0 ? a[i] / b[i] : rint((a[i] - fmod(a[i], b[i])) / b[i]);
        }
        break;
    case GR_OP_REMAINDER:
        for (int64_t i = 0; i < n; i++) {
            out[i] = fmod(a[i], b[i]);
        }
        break;
    default:
        SIMD_CALL(rows_arithmetic_double)(node->op, a, b, out, n);
        break;
    }
    node_round_to_float32(node, n);
}

/* A time of day with a duration, around the clock. */
static void
time_shifted(struct node *node, int64_t n)
{
    const int64_t *at = node->operands[0]->values;
    const int64_t *by = node->operands[1]->values;
    int64_t *out = node_room(node, ROWS_INT);

    for (int64_t i = 0; i < n; i++) {
        int64_t rest = by[i] % DAY_US;
        int64_t clock = (at[i] % DAY_US + (node->op == GR_OP_ADD ? rest : -rest)) % DAY_US;

        out[i] = clock < 0 ? clock + DAY_US : clock;
    }
}

granary_err
op_arithmetic(struct node *node, int64_t n)
{
    node_strict(node, n);
    if (node->dtype == GRANARY_TIME) {
        time_shifted(node, n);
    } else if (node->dtype == GRANARY_DURATION && (node->op == GR_OP_DIVIDE || node->operands[0]->base == ROWS_DOUBLE ||
                                                   node->operands[node->count - 1]->base == ROWS_DOUBLE)) {
        duration_scaled(node, n);
    } else if (node->base == ROWS_DOUBLE) {
        arithmetic_real(node, n);
    } else {
        arithmetic_exact(node, n);
    }
    return GRANARY_OK;
}

/* ---- rounding ---- */

/* value / unit as a whole number. */
static gr_int128
exact_round(enum gr_expr_op op, gr_int128 value, gr_int128 unit)
{
    gr_int128 rest = value % unit;
    gr_int128 whole = value / unit;

    switch (op) {
    case GR_OP_FLOOR:
        return whole - (rest < 0);
    case GR_OP_CEIL:
        return whole + (rest > 0);
    case GR_OP_TRUNC:
        return whole;
    default: /* halves away from 0 */
        return gr_decimal_round(value, unit);
    }
}

/* To so many digits of the scale it has, in units of the scale it gets, which may be smaller, but has those digits. */
static gr_int128
exact_to_digits(enum gr_expr_op op, gr_int128 value, int64_t digits, int from, int to)
{
    gr_int128 rounded;

    if (digits >= from) {
        return value;
    }
    if (digits < from - GRANARY_DECIMAL_DIGITS) {
        return 0;
    }
    rounded = exact_round(op, value, gr_power_of_ten(from - (int)digits));
    return __builtin_mul_overflow(rounded, gr_power_of_ten(to - (int)digits), &rounded) ? BEYOND : rounded;
}

static void
round_exact(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    const struct node *digits = node->count > 1 ? node->operands[1] : NULL;
    int from = gr_dtype_scale(a->dtype);
    int to = gr_dtype_scale(node->dtype);
    gr_int128 *out;

    if (from == 0 && digits == NULL) {
        node->class = a->class;
        node->values = a->values;
        return;
    }
    out = node_exact_room(node);
    for (int64_t i = 0; i < n; i++) {
        out[i] = exact_to_digits(node->op, node_exact_at(a, i), digits == NULL ? 0 : node_int_at(digits, i), from, to);
    }
    node_settle_exact(node, n);
}

/* As NumPy: scaled, rounded to even or cut off, scaled back. */
static double
real_round(enum gr_expr_op op, double value, int64_t digits)
{
    double (*const to_whole)(double value) = op == GR_OP_TRUNC ? trunc : rint;
    double factor;
    double scaled;

    if (digits == 0 || !isfinite(value)) {
        return to_whole(value);
    }
    if (digits > 300 || digits < -300) {
        return digits > 0 ? value : copysign(0.0, value);
    }
    factor = pow(10.0, (double)(digits > 0 ? digits : -digits));
    scaled = digits > 0 ? value * factor : value / factor;
    if (!isfinite(scaled)) {
        return value;
    }
    return digits > 0 ? to_whole(scaled) / factor : to_whole(scaled) * factor;
}

granary_err
op_round(struct node *node, int64_t n)
{
    const double *a = node->operands[0]->values;
    const struct node *digits = node->count > 1 ? node->operands[1] : NULL;
    double *out;

    node_strict(node, n);
    if (node->base != ROWS_DOUBLE) {
        round_exact(node, n);
        return GRANARY_OK;
    }
    out = node_room(node, ROWS_DOUBLE);
    for (int64_t i = 0; i < n; i++) {
        switch (node->op) {
        case GR_OP_FLOOR:
            out[i] = floor(a[i]);
            break;
        case GR_OP_CEIL:
            out[i] = ceil(a[i]);
            break;
        default:
            out[i] = real_round(node->op, a[i], digits == NULL ? 0 : node_int_at(digits, i));
            break;
        }
    }
    node_round_to_float32(node, n);
    return GRANARY_OK;
}

/* ---- tests of floats ---- */

granary_err
op_isnan(struct node *node, int64_t n)
{
    const double *a = node->operands[0]->values;
    uint8_t *out = node_room(node, ROWS_BOOL);

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        switch (node->op) {
        case GR_OP_ISNAN:
            out[i] = isnan(a[i]) != 0;
            break;
        case GR_OP_ISINF:
            out[i] = isinf(a[i]) != 0;
            break;
        case GR_OP_ISFINITE:
            out[i] = isfinite(a[i]) != 0;
            break;
        default:
            out[i] = signbit(a[i]) != 0;
            break;
        }
    }
    return GRANARY_OK;
}
