/* Dtypes that meet in one operation. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "data/value/bytes.h"
#include "data/value/calendar.h"
#include "data/value/number.h"
#include "data/value/written.h"
#include "graph/expr/check/check.h"

/* Bits of an integer dtype, and whether it has a sign. */
static int
integer_bits(granary_dtype dtype, bool *ret_signed)
{
    *ret_signed = gr_dtype_is_signed(dtype);
    return (int)gr_dtype_size(dtype) * 8;
}

granary_dtype
expr_dtype_alone(const struct gr_expr *number)
{
    if (number->scale != 0) {
        return number->is_exact ? GRANARY_DECIMAL(number->scale) : GRANARY_FLOAT64;
    }
    return gr_dtype_fits(GRANARY_INT64, number->value.i)                         ? GRANARY_INT64
           : !number->is_exact && gr_dtype_fits(GRANARY_UINT64, number->value.i) ? GRANARY_UINT64
                                                                                 : GRANARY_DECIMAL(0);
}

bool
expr_read_real(const char *text, double *ret_value)
{
    locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);

    if (c_locale == (locale_t)0) {
        return false;
    }
    *ret_value = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    return true;
}

bool
expr_number_units(const struct gr_expr *number, int scale, gr_int128 *ret_units)
{
    gr_int128 units = number->value.i;
    gr_int128 factor = gr_power_of_ten(scale > number->scale ? scale - number->scale : number->scale - scale);

    if (scale < number->scale) {
        units = gr_decimal_round(units, factor);
    } else if (__builtin_mul_overflow(units, factor, &units)) {
        return false;
    }
    *ret_units = units;
    return units < gr_power_of_ten(GRANARY_DECIMAL_DIGITS) && units > -gr_power_of_ten(GRANARY_DECIMAL_DIGITS);
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
    return (sign_a ? bits_b : bits_a) == 64 ? GRANARY_FLOAT64
                                            : gr_dtype_of_integer(true, (size_t)(sign_a ? bits_b : bits_a) / 4);
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

/* Zeros behind the point go. */
static void
drop_zeros(struct gr_expr *number)
{
    for (; number->scale > 0 && number->value.i % 10 == 0; number->scale--) {
        number->value.i /= 10;
    }
}

void
expr_adopt(struct gr_expr *literal, granary_dtype dtype, bool keep_scale)
{
    double real = dtype == GRANARY_FLOAT32 ? (double)(float)literal->value.d : literal->value.d;
    int scale;
    gr_int128 units;

    if (expr_is_float(dtype)) {
        /* What is finite stays so. */
        literal->dtype = isinf(real) ? GRANARY_FLOAT64 : dtype;
        literal->value.d = isinf(real) ? literal->value.d : real;
    } else if (expr_is_integer(dtype) && literal->scale == 0) {
        literal->dtype = gr_dtype_fits(dtype, literal->value.i) ? dtype : literal->dtype;
    } else if (expr_is_decimal(dtype) && literal->scale >= 0) {
        scale = keep_scale ? literal->scale : gr_dtype_scale(dtype);
        if (scale >= literal->scale && expr_number_units(literal, scale, &units)) {
            literal->value.i = units;
            literal->scale = scale;
        }
        literal->dtype = GRANARY_DECIMAL(literal->scale);
    }
}

void
expr_adopt_compared(struct gr_expr *literal, granary_dtype dtype)
{
    double real = dtype == GRANARY_FLOAT32 ? (double)(float)literal->value.d : literal->value.d;

    if (expr_is_float(dtype) && literal->scale == 0) {
        if (fabs(real) < 9007199254740992.0 && (gr_int128)real == literal->value.i) {
            expr_adopt(literal, dtype, false);
        }
        return;
    }
    if (expr_is_integer(dtype) && literal->scale > 0) {
        drop_zeros(literal);
        if (literal->scale > 0 && rint(real) == real) {
            /* Whatever lies between two integers compares with all of them as their middle does. */
            literal->value.i =
                literal->value.i / gr_power_of_ten(literal->scale) * 10 + (literal->value.i < 0 ? -5 : 5);
            literal->scale = 1;
            dtype = GRANARY_DECIMAL(1);
        }
        /* The kernels compare a fraction that is a float64 with integers exactly. */
        literal->dtype = literal->scale > 0 ? GRANARY_FLOAT64 : expr_dtype_alone(literal);
    }
    expr_adopt(literal, dtype, false);
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
    if (expr_is_literal(inner) && inner->dtype == GRANARY_DATE && dtype == GRANARY_TIMESTAMP &&
        gr_dtype_fits(dtype, inner->value.i * 86400000000)) { /* else it is an error when it runs */
        inner->value.i *= 86400000000;
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

granary_err
expr_cast_to(struct gr_expr **slot, granary_dtype dtype)
{
    struct gr_expr *inner = *slot;
    int position = inner->position;
    granary_err err = expr_convert(slot, dtype);

    if (err == GRANARY_OK && *slot == inner && inner->dtype != dtype) { /* they are computed alike */
        *slot = NULL;
        err = gr_expr_call(GR_OP_CONVERT, &inner, 1, slot);
        if (err == GRANARY_OK) {
            (*slot)->dtype = (*slot)->target = dtype;
            (*slot)->position = position;
        }
    }
    return err;
}

granary_err
expr_cast_call(struct gr_expr **slot, granary_dtype dtype)
{
    struct gr_expr *inner = *slot;
    int position = inner->position;
    granary_err err;

    *slot = NULL;
    err = gr_expr_call(GR_OP_CAST, &inner, 1, slot);
    if (err == GRANARY_OK) {
        (*slot)->dtype = (*slot)->target = dtype;
        (*slot)->position = position;
        expr_fold(*slot);
    }
    return err;
}

bool
expr_reads_strings(granary_dtype dtype)
{
    return expr_is_numeric(dtype) || expr_has_day(dtype) || dtype == GRANARY_TIME || dtype == GRANARY_BOOL;
}

granary_err
expr_read_strings(struct gr_expr **slot, granary_dtype dtype)
{
    return expr_cast_call(slot, dtype == GRANARY_DATE ? GRANARY_TIMESTAMP : dtype);
}

granary_err
expr_become_truth(struct gr_expr **slot)
{
    if (expr_is_text(*slot)) {
        return expr_read_text(*slot, GRANARY_BOOL, "a condition");
    }
    return expr_is_numeric((*slot)->dtype) ? expr_cast_call(slot, GRANARY_BOOL) : GRANARY_OK;
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

/* ---- a text as written beside a value that is none ---- */

/* Digits behind the point that a number has as it is written. */
static int
written_scale(const char *text, size_t size)
{
    const char *point = memchr(text, '.', size);
    size_t behind = point == NULL ? 0 : (size_t)(text + size - point - 1);
    size_t digits = 0;
    long exponent = 0;
    long scale;

    while (digits < behind && point[1 + digits] >= '0' && point[1 + digits] <= '9') {
        digits++;
    }
    for (size_t i = 0; i < size; i++) {
        exponent = text[i] == 'e' || text[i] == 'E' ? strtol(text + i + 1, NULL, 10) : exponent;
    }
    scale = (long)digits - exponent;
    return scale < 0 ? 0 : scale > GRANARY_DECIMAL_SCALE_MOST ? GRANARY_DECIMAL_SCALE_MOST : (int)scale;
}

/* As if it stood there without quotes, with a mark: it keeps its digits, and takes the dtype of what it meets. */
static bool
read_decimal(struct gr_expr *text, const char *digits, size_t size)
{
    int scale = written_scale(digits, size);

    if (!gr_decimal_parse(digits, size, scale, &text->value.i) ||
        text->value.i >= gr_power_of_ten(GRANARY_DECIMAL_DIGITS) ||
        text->value.i <= -gr_power_of_ten(GRANARY_DECIMAL_DIGITS)) {
        return false;
    }
    text->is_number = text->is_exact = true;
    text->scale = scale;
    text->value.d = gr_decimal_real(text->value.i, scale);
    text->dtype = expr_dtype_alone(text);
    return true;
}

/* Beside a date only the day of a text counts, as for a cast. Beside a timestamp it may lack the time. */
static bool
read_temporal(struct gr_expr *text, granary_dtype dtype, const char *digits, size_t size)
{
    int32_t days;
    int64_t microseconds;

    if (gr_date_written(digits, size, &days) && (dtype == GRANARY_DATE || memchr(digits, ':', size) == NULL)) {
        text->dtype = GRANARY_DATE;
        text->value.i = days;
        return true;
    }
    text->dtype = GRANARY_TIMESTAMP;
    if (!gr_timestamp_written(digits, size, &microseconds)) {
        return false;
    }
    text->value.i = microseconds;
    return true;
}

const char *
expr_form_of(granary_dtype dtype)
{
    return dtype == GRANARY_DATE          ? ": YYYY-MM-DD"
           : dtype == GRANARY_TIMESTAMP   ? ": YYYY-MM-DD hh:mm:ss"
           : dtype == GRANARY_TIMESTAMPTZ ? ": YYYY-MM-DD hh:mm:ss+hh:mm"
           : dtype == GRANARY_TIME        ? ": hh:mm:ss"
                                          : "";
}

bool
expr_read_clock(granary_dtype dtype, const char *text, size_t size, int64_t *ret_microseconds)
{
    return dtype == GRANARY_TIMESTAMPTZ ? gr_instant_written(text, size, ret_microseconds)
           : dtype == GRANARY_TIME      ? gr_time_written(text, size, ret_microseconds)
                                        : gr_timestamp_written(text, size, ret_microseconds);
}

/* The value and its dtype. false: the text is none of that dtype. */
static bool
read_value(struct gr_expr *text, granary_dtype dtype, const char *from, size_t size)
{
    double real = 0;
    bool truth = false;
    int64_t span = 0;
    bool done;

    if (expr_is_temporal(dtype)) {
        return read_temporal(text, dtype, from, size);
    }
    if (expr_is_decimal(dtype)) {
        return read_decimal(text, from, size);
    }
    text->dtype = dtype;
    if (expr_is_float(dtype)) {
        done = gr_real_written(from, size, &real);
        text->value.d = dtype == GRANARY_FLOAT32 ? (double)(float)real : real;
        return done;
    }
    if (expr_is_integer(dtype)) {
        return gr_integer_parse(from, size, &text->value.i) && gr_dtype_fits(dtype, text->value.i);
    }
    if (dtype == GRANARY_BOOL) {
        done = gr_bool_written(from, size, &truth);
        text->value.i = truth;
        return done;
    }
    done = dtype == GRANARY_DURATION ? gr_span_written(from, size, &span) : expr_read_clock(dtype, from, size, &span);
    text->is_interval = dtype == GRANARY_DURATION;
    text->value.i = span;
    return done;
}

/* The bytes that it stands for take the place of the text. */
static granary_err
read_bytes(struct gr_expr *text, const char *beside)
{
    struct gr_buf bytes = {0};

    if (!gr_bytes_parse(text->text, text->text_size, &bytes)) {
        gr_buf_free(&bytes);
        return gr_fail(GRANARY_EINVAL, "position %d: '%.100s' meets %s, but is no binary: \\x and hexadecimal digits",
                       text->position, text->text, beside);
    }
    text->text_size = bytes.size;
    gr_buf_add(&bytes, "", 1);
    free(text->text);
    text->text = gr_buf_take(&bytes);
    text->dtype = GRANARY_BINARY;
    return text->text == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
}

/* The text becomes a cast of itself. */
static granary_err
read_list(struct gr_expr *text, granary_dtype dtype)
{
    struct gr_expr *inner = malloc(sizeof *inner);
    struct gr_expr *call = NULL;
    granary_err err;

    if (inner == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    *inner = *text;
    text->text = NULL; /* it is inner's */
    text->text_size = 0;
    err = gr_expr_call(GR_OP_CAST, &inner, 1, &call);
    if (err != GRANARY_OK) {
        return err;
    }
    call->position = text->position;
    call->target = dtype;
    *text = *call;
    free(call);
    return expr_check_cast(text);
}

bool
expr_is_text(const struct gr_expr *expr)
{
    return expr_is_literal(expr) && expr->dtype == GRANARY_STRING;
}

granary_err
expr_read_text(struct gr_expr *text, granary_dtype dtype, const char *beside)
{
    struct gr_expr read = *text;
    const char *from = text->text;
    size_t size = text->text_size;

    if (dtype == GRANARY_BINARY) {
        return read_bytes(text, beside);
    }
    if (expr_is_list(dtype)) {
        return read_list(text, dtype);
    }
    for (; size > 0 && (from[0] == ' ' || from[0] == '\t'); size--) {
        from++;
    }
    while (size > 0 && (from[size - 1] == ' ' || from[size - 1] == '\t')) {
        size--;
    }
    if (!read_value(&read, dtype, from, size)) {
        return gr_fail(GRANARY_EINVAL, "position %d: '%.100s' meets %s, but is no %s%s", text->position, text->text,
                       beside, granary_dtype_name(dtype),
                       expr_is_temporal(dtype) ? ": YYYY-MM-DD or YYYY-MM-DD hh:mm:ss" : expr_form_of(dtype));
    }
    *text = read;
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
    } else if (expr_has_day(a) && expr_has_day(b)) {
        *ret_dtype = GRANARY_TIMESTAMPTZ; /* what has no zone is in UTC */
    } else if ((a == GRANARY_BOOL && expr_is_numeric(b)) || (b == GRANARY_BOOL && expr_is_numeric(a))) {
        *ret_dtype = a == GRANARY_BOOL ? b : a;
    } else if (exact && a == GRANARY_STRING && expr_reads_strings(b)) {
        *ret_dtype = b;
    } else if (exact && b == GRANARY_STRING && expr_reads_strings(a)) {
        *ret_dtype = a;
    } else {
        return false;
    }
    return true;
}

/* What adapts to others is asked later: what has a dtype, numbers as written, texts as written. */
static int
turn_of(const struct gr_expr *expr)
{
    return expr_is_text(expr) ? 2 : expr_is_weak(expr) ? 1 : 0;
}

/* A number as written beside values of that dtype, so far. */
static void
adapt_number(struct gr_expr *number, granary_dtype dtype, bool exact)
{
    if (!exact) {
        expr_adopt(number, dtype, false);
        return;
    }
    expr_adopt_compared(number, dtype);
    if (expr_is_integer(dtype) && number->scale > 0) {
        number->dtype = GRANARY_FLOAT64;
        number->value.d = 0.5; /* as any other fraction it equals no integer; its float64 may be one */
    }
}

granary_err
expr_unify(struct gr_expr ***slots, size_t count, bool exact, granary_dtype alone, granary_dtype *ret_dtype,
           size_t *ret_clash)
{
    granary_dtype dtype = GRANARY_NULLTYPE;
    granary_err err = GRANARY_OK;

    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < count; i++) {
            struct gr_expr *expr = *slots[i];

            if (expr->dtype == GRANARY_NULLTYPE || turn_of(expr) != turn) {
                continue;
            }
            if (turn == 2 && dtype != GRANARY_NULLTYPE && dtype != GRANARY_STRING) {
                err = expr_read_text(expr, dtype, granary_dtype_name(dtype));
                if (err != GRANARY_OK) {
                    return err;
                }
            }
            if (expr_is_weak(expr) && expr_is_numeric(dtype)) {
                adapt_number(expr, dtype, exact);
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
        if (((*slots[i])->dtype == GRANARY_STRING) != (dtype == GRANARY_STRING) ||
            (dtype == GRANARY_TIMESTAMPTZ && (*slots[i])->dtype != dtype)) {
            err = expr_cast_call(slots[i], dtype);
            continue;
        }
        /* The kernels compare integers with floats, and decimals of any scales, exactly. */
        if (!(exact && expr_is_numeric((*slots[i])->dtype) &&
              (expr_is_float(dtype) ? expr_is_integer((*slots[i])->dtype) : expr_is_exact(dtype)))) {
            err = expr_convert(slots[i], dtype);
        }
    }
    *ret_dtype = dtype;
    return err;
}
