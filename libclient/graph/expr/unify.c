/* Dtypes that meet in one operation. */
#include <stdlib.h>

#include "base/error.h"
#include "graph/expr/check.h"

static const int64_t powers[] = {1,
                                 10,
                                 100,
                                 1000,
                                 10000,
                                 100000,
                                 1000000,
                                 10000000,
                                 100000000,
                                 1000000000,
                                 10000000000,
                                 100000000000,
                                 1000000000000,
                                 10000000000000,
                                 100000000000000,
                                 1000000000000000,
                                 10000000000000000,
                                 100000000000000000,
                                 1000000000000000000};

/* Bits of an integer dtype, and whether it has a sign. */
static int
integer_bits(granary_dtype dtype, bool *ret_signed)
{
    *ret_signed = dtype == GRANARY_INT8 || dtype == GRANARY_INT16 || dtype == GRANARY_INT32 || dtype == GRANARY_INT64;
    return (int)gr_dtype_size(dtype) * 8;
}

void
expr_integer_range(granary_dtype dtype, int64_t *ret_least, int64_t *ret_most)
{
    bool has_sign;
    int bits = integer_bits(dtype, &has_sign);

    if (bits == 64) {
        *ret_least = has_sign ? INT64_MIN : 0;
        *ret_most = INT64_MAX;
    } else {
        *ret_least = has_sign ? -(INT64_C(1) << (bits - 1)) : 0;
        *ret_most = (INT64_C(1) << (has_sign ? bits - 1 : bits)) - 1;
    }
}

static granary_dtype
signed_of(int bits)
{
    return bits <= 8 ? GRANARY_INT8 : bits <= 16 ? GRANARY_INT16 : bits <= 32 ? GRANARY_INT32 : GRANARY_INT64;
}

static granary_dtype
promote_integers(granary_dtype a, granary_dtype b)
{
    bool sign_a;
    bool sign_b;
    int bits_a = integer_bits(a, &sign_a);
    int bits_b = integer_bits(b, &sign_b);

    if (sign_a == sign_b) {
        return bits_a >= bits_b ? a : b;
    }
    if ((sign_a ? bits_a : bits_b) > (sign_a ? bits_b : bits_a)) {
        return sign_a ? a : b;
    }
    /* The unsigned one needs a bit more than a signed one of its size has. */
    return (sign_a ? bits_b : bits_a) == 64 ? GRANARY_FLOAT64 : signed_of(2 * (sign_a ? bits_b : bits_a));
}

granary_dtype
expr_promote(granary_dtype a, granary_dtype b)
{
    bool has_sign;

    if (a == b) {
        return a;
    }
    if (expr_is_integer(a) && expr_is_integer(b)) {
        return promote_integers(a, b);
    }
    if (expr_is_exact(a) && expr_is_exact(b)) {
        return GRANARY_DECIMAL(gr_dtype_scale(a) > gr_dtype_scale(b) ? gr_dtype_scale(a) : gr_dtype_scale(b));
    }
    if (expr_is_integer(a) || expr_is_integer(b)) {
        granary_dtype real = expr_is_integer(a) ? b : a;

        return real == GRANARY_FLOAT32 && integer_bits(expr_is_integer(a) ? a : b, &has_sign) <= 16 ? GRANARY_FLOAT32
                                                                                                    : GRANARY_FLOAT64;
    }
    return GRANARY_FLOAT64;
}

void
expr_adopt(struct gr_expr *literal, granary_dtype dtype, bool keep_scale)
{
    int64_t least;
    int64_t most;
    int64_t units;

    if (expr_is_float(dtype)) {
        literal->dtype = dtype;
        literal->value.d = dtype == GRANARY_FLOAT32 ? (double)(float)literal->value.d : literal->value.d;
    } else if (expr_is_integer(dtype) && literal->scale == 0) {
        expr_integer_range(dtype, &least, &most);
        if (literal->value.i >= least && literal->value.i <= most) {
            literal->dtype = dtype;
        }
    } else if (expr_is_decimal(dtype) && literal->scale >= 0) {
        int scale = keep_scale ? literal->scale : gr_dtype_scale(dtype);

        if (scale >= literal->scale &&
            !__builtin_mul_overflow(literal->value.i, powers[scale - literal->scale], &units)) {
            literal->value.i = units;
            literal->scale = scale;
        }
        literal->dtype = GRANARY_DECIMAL(literal->scale);
    }
}

/* Whether values of both dtypes lie alike, so that no conversion is needed. */
static bool
is_alike(granary_dtype a, granary_dtype b)
{
    return a == b || (expr_is_float(a) && expr_is_float(b)) ||
           (expr_is_exact(a) && expr_is_exact(b) && gr_dtype_scale(a) == gr_dtype_scale(b));
}

granary_err
expr_convert(struct gr_expr **slot, granary_dtype dtype)
{
    struct gr_expr *inner = *slot;
    struct gr_expr *outer = NULL;
    granary_err err;

    if (inner->kind == GR_EXPR_LITERAL && inner->is_null) {
        inner->dtype = dtype;
        return GRANARY_OK;
    }
    if (is_alike(inner->dtype, dtype)) {
        return GRANARY_OK;
    }
    if (expr_is_weak(inner)) {
        expr_adopt(inner, dtype, false);
        if (is_alike(inner->dtype, dtype)) {
            return GRANARY_OK;
        }
    }
    if (expr_is_literal(inner) && inner->dtype == GRANARY_DATE && dtype == GRANARY_TIMESTAMP) {
        inner->value.i *= 86400000000; /* a date fits int32 */
        inner->dtype = dtype;
        return GRANARY_OK;
    }
    err = gr_expr_call(GR_OP_CONVERT, &inner, 1, &outer);
    if (err != GRANARY_OK) {
        *slot = NULL;
        return err;
    }
    outer->dtype = outer->target = dtype;
    outer->position = inner->position;
    *slot = outer;
    return GRANARY_OK;
}

void
expr_become_null(struct gr_expr *expr, granary_dtype dtype)
{
    for (size_t i = 0; i < expr->operand_count; i++) {
        gr_expr_destroy(expr->operands[i]);
    }
    free(expr->operands);
    free(expr->column);
    free(expr->text);
    *expr = (struct gr_expr){
        .kind = GR_EXPR_LITERAL, .dtype = dtype, .position = expr->position, .column_index = -1, .is_null = true};
}

granary_err
expr_read_temporal(struct gr_expr *text, const char *beside)
{
    int32_t days;
    int64_t microseconds;

    if (gr_date_parse(text->text, text->text_size, &days)) {
        text->dtype = GRANARY_DATE;
        text->value.i = days;
    } else if (gr_timestamp_parse(text->text, text->text_size, &microseconds)) {
        text->dtype = GRANARY_TIMESTAMP;
        text->value.i = microseconds;
    } else {
        return gr_fail(GRANARY_EINVAL,
                       "position %d: '%.100s' is compared with %s, but is no date: YYYY-MM-DD or YYYY-MM-DD hh:mm:ss",
                       text->position, text->text, beside);
    }
    free(text->text);
    text->text = NULL;
    text->text_size = 0;
    return GRANARY_OK;
}

/* The dtype of two that meet, when there is one. */
static bool
merge(granary_dtype a, granary_dtype b, bool exact, granary_dtype *ret_dtype)
{
    bool large_a = a == GRANARY_UINT64;
    bool large_b = b == GRANARY_UINT64;

    if (a == GRANARY_NULLTYPE || a == b) {
        *ret_dtype = b;
    } else if (expr_is_numeric(a) && expr_is_numeric(b)) {
        /* uint64 and a signed one: as decimals nothing is lost. */
        *ret_dtype = exact && expr_is_integer(a) && expr_is_integer(b) && large_a != large_b ? GRANARY_DECIMAL(0)
                                                                                             : expr_promote(a, b);
    } else if (expr_is_temporal(a) && expr_is_temporal(b)) {
        *ret_dtype = GRANARY_TIMESTAMP;
    } else {
        return false;
    }
    return true;
}

granary_err
expr_unify(struct gr_expr ***slots, size_t count, bool exact, granary_dtype alone, granary_dtype *ret_dtype,
           size_t *ret_clash)
{
    granary_dtype dtype = GRANARY_NULLTYPE;
    bool temporal = false;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count; i++) {
        temporal = temporal || expr_is_temporal((*slots[i])->dtype);
    }
    /* First what has a dtype, then what adapts to it. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            struct gr_expr *expr = *slots[i];

            if (expr->dtype == GRANARY_NULLTYPE || expr_is_weak(expr) != (pass == 1)) {
                continue;
            }
            if (temporal && expr_is_literal(expr) && expr->dtype == GRANARY_STRING) {
                err = expr_read_temporal(expr, "a date or timestamp");
                if (err != GRANARY_OK) {
                    return err;
                }
            }
            if (pass == 1 && expr_is_numeric(dtype)) {
                /* Beside an integer that is only compared, 0.5 is a decimal. */
                bool decimal = exact && expr_is_integer(dtype) && expr->scale > 0;

                expr_adopt(expr, decimal ? GRANARY_DECIMAL(expr->scale) : dtype, false);
            }
            if (!merge(dtype, expr->dtype, exact, &dtype)) {
                *ret_clash = i;
                return GRANARY_ETYPE;
            }
        }
    }
    dtype = dtype == GRANARY_NULLTYPE ? alone : dtype;
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if ((*slots[i])->dtype == GRANARY_NULLTYPE) {
            expr_become_null(*slots[i], dtype);
        }
        err = expr_convert(slots[i], dtype);
    }
    *ret_dtype = dtype;
    return err;
}
