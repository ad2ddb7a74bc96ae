/* Conversions between dtypes, on blocks. What does not fit is bad; try_cast makes it null. */
#include <math.h>
#include <string.h>

#include "contract/int128.h"
#include "data/value/bytes.h"
#include "data/value/calendar.h"
#include "data/value/number.h"
#include "data/value/written.h"
#include "graph/dtype_class.h"
#include "kernel/rows/lists/lists.h"
#include "kernel/rows/node.h"

/* Doubles as float32 has them, in the node's room; what is finite and beyond float32 is bad. */
static void
cast_narrow(struct node *node, const double *from, int64_t n)
{
    double *out = node_room(node, ROWS_DOUBLE);

    for (int64_t i = 0; i < n; i++) {
        double value = (double)(float)from[i];

        if (isinf(value) && !isinf(from[i]) && node_counts(node, i)) {
            node_mark_bad(node, i, n);
        }
        out[i] = value;
    }
}

/* ---- exact values ---- */

/* Units of another scale; to a smaller one rounded, halves away from 0. */
static gr_int128
rescale(gr_int128 value, int by)
{
    gr_int128 factor = gr_power_of_ten(by < 0 ? -by : by);

    return by < 0 ? gr_decimal_round(value, factor) : __builtin_mul_overflow(value, factor, &value) ? BEYOND : value;
}

static void
exact_to_exact(struct node *node, int64_t n, gr_int128 factor, gr_int128 divisor)
{
    const struct node *a = node->operands[0];
    int by = gr_dtype_scale(node->dtype) - gr_dtype_scale(a->dtype);
    gr_int128 *out;

    if (by == 0 && factor == 1 && divisor == 1 && a->class == ROWS_INT) {
        node->class = ROWS_INT;
        node->values = a->values;
        node_check_range(node, n);
        return;
    }
    out = node_exact_room(node);
    for (int64_t i = 0; i < n; i++) {
        gr_int128 value = node_exact_at(a, i);

        if (divisor != 1) {
            out[i] = value / divisor - (value % divisor < 0);
        } else {
            out[i] = by != 0 ? rescale(value, by) : value * factor;
        }
    }
    node_settle_exact(node, n);
}

/* The time of day of timestamps. */
static void
clock_of_days(struct node *node, int64_t n)
{
    const int64_t *from = node->operands[0]->values;
    int64_t *out = node_room(node, ROWS_INT);

    for (int64_t i = 0; i < n; i++) {
        int64_t clock = from[i] % DAY_US;

        out[i] = clock < 0 ? clock + DAY_US : clock;
    }
}

/* Timestamps of both kinds. */
static bool
is_clock(granary_dtype dtype)
{
    return dtype == GRANARY_TIMESTAMP || dtype == GRANARY_TIMESTAMPTZ;
}

/* Integers up to 2^53 and powers of ten up to 10^22 are float64s, so that their quotient is rounded once. */
#define EXACT_REAL  INT64_C(9007199254740992)
#define EXACT_POWER 22

static void
exact_to_real(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    int scale = gr_dtype_scale(a->dtype);
    bool near = a->class == ROWS_INT && scale <= EXACT_POWER;
    double *out = node_room(node, ROWS_DOUBLE);

    if (a->class == ROWS_INT) {
        const int64_t *from = a->values;
        double unit = (double)gr_power_of_ten(scale);
        unsigned large = 0;

        for (int64_t i = 0; i < n; i++) {
            out[i] = (double)from[i];
            large |= (unsigned)(from[i] > EXACT_REAL) | (unsigned)(from[i] < -EXACT_REAL);
        }
        for (int64_t i = 0; i < n && scale > 0; i++) {
            out[i] /= unit;
        }
        near = near && (scale == 0 || large == 0);
    }
    for (int64_t i = 0; i < n && !near; i++) {
        out[i] = gr_decimal_real(node_exact_at(a, i), scale);
    }
    if (node->dtype == GRANARY_FLOAT32) {
        cast_narrow(node, out, n);
    }
}

/* Halves become the even integer, but go away from 0 where digits are left: in a decimal. */
static void
real_to_exact(struct node *node, int64_t n)
{
    const double *a = node->operands[0]->values;
    bool away = gr_dtype_class(node->dtype) == GR_CLASS_DECIMAL;
    double unit = (double)gr_power_of_ten(gr_dtype_scale(node->dtype));
    gr_int128 *out = node_exact_room(node);

    for (int64_t i = 0; i < n; i++) {
        double value = away ? round(a[i] * unit) : rint(a[i] * unit);

        out[i] = value > -1e38 && value < 1e38 ? (gr_int128)value : BEYOND; /* NaN, too */
    }
    node_settle_exact(node, n);
}

/* ---- bools ---- */

static void
bool_to_number(struct node *node, int64_t n)
{
    const uint8_t *a = node->operands[0]->values;
    gr_int128 one = gr_power_of_ten(gr_dtype_scale(node->dtype));
    bool is_real = node->base == ROWS_DOUBLE;
    double *reals = node->buffer;
    gr_int128 *exact = node->buffer;

    (void)node_room(node, is_real ? ROWS_DOUBLE : ROWS_WIDE);
    for (int64_t i = 0; i < n; i++) {
        if (is_real) {
            reals[i] = a[i];
        } else {
            exact[i] = a[i] != 0 ? one : 0;
        }
    }
    if (!is_real) {
        node_settle_exact(node, n);
    }
}

static void
number_to_bool(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    uint8_t *out = node_room(node, ROWS_BOOL);

    for (int64_t i = 0; i < n; i++) {
        out[i] = a->class == ROWS_DOUBLE ? ((const double *)a->values)[i] != 0.0 : node_exact_at(a, i) != 0;
    }
}

/* ---- text ---- */

/* Value i of the node out of a text without blanks around it. */
static bool
read_one(struct node *node, const char *text, size_t size, int64_t i)
{
    gr_int128 *exact = node->buffer;
    int32_t days = 0;
    int64_t at = 0;
    double real = 0.0;
    bool truth = false;
    bool done;

    switch (gr_dtype_kind(node->dtype)) {
    case GRANARY_BOOL:
        done = gr_bool_written(text, size, &truth);
        ((uint8_t *)node->buffer)[i] = truth;
        return done;
    case GRANARY_FLOAT64:
        return gr_real_written(text, size, &((double *)node->buffer)[i]);
    case GRANARY_FLOAT32: /* beyond it is infinite, too */
        done = gr_real_written(text, size, &real);
        ((double *)node->buffer)[i] = (double)(float)real;
        return done;
    case GRANARY_DATE:
        done = gr_date_written(text, size, &days);
        exact[i] = days;
        return done;
    case GRANARY_TIMESTAMP:
        done = gr_timestamp_written(text, size, &at);
        exact[i] = at;
        return done;
    case GRANARY_TIMESTAMPTZ:
        done = gr_instant_written(text, size, &at);
        exact[i] = at;
        return done;
    case GRANARY_TIME:
        done = gr_time_written(text, size, &at);
        exact[i] = at;
        return done;
    case GRANARY_DURATION:
        done = gr_span_written(text, size, &at);
        exact[i] = at;
        return done;
    case GRANARY_DECIMAL:
        return gr_decimal_written(text, size, gr_dtype_scale(node->dtype), &exact[i]);
    default:
        return gr_integer_written(text, size, &exact[i]);
    }
}

static void
text_to_any(struct node *node, int64_t n)
{
    const struct rows_text *a = node_texts(node->operands[0], n);
    gr_int128 *exact = node->base == ROWS_INT ? node_exact_room(node) : NULL;

    if (exact != NULL) {
        memset(exact, 0, (size_t)n * sizeof *exact);
    } else {
        (void)node_room(node, node->base);
    }
    for (int64_t i = 0; i < n; i++) {
        const char *text = a[i].size > 0 ? a[i].bytes : "";
        size_t size = a[i].size;

        for (; size > 0 && (text[0] == ' ' || text[0] == '\t'); size--) {
            text++;
        }
        while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t')) {
            size--;
        }
        if (node_counts(node, i) && !read_one(node, text, size, i)) {
            node_mark_bad(node, i, n);
            if (exact != NULL) {
                exact[i] = 0;
            }
        }
    }
    if (exact != NULL) {
        node_settle_exact(node, n);
    } else if (node->dtype == GRANARY_FLOAT32) {
        cast_narrow(node, node->buffer, n);
    }
}

static granary_err
any_to_text(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    struct rows_text *out = node_room(node, ROWS_TEXT);

    node->text.size = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t before = node->text.size;

        if (node_counts(node, i)) {
            value_as_text(a, i, &node->text);
        }
        out[i].size = node->text.size - before;
    }
    return node_place_texts(node, out, n);
}

/* A text to the bytes that it stands for, or the other way round. */
static granary_err
bytes_and_text(struct node *node, bool reads, int64_t n)
{
    const struct rows_text *a = node_texts(node->operands[0], n);
    struct rows_text *out = node_room(node, ROWS_TEXT);

    node->text.size = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t before = node->text.size;
        const char *at = a[i].size > 0 ? a[i].bytes : "";

        if (node_counts(node, i) && !reads) {
            gr_bytes_write(at, a[i].size, &node->text);
        } else if (node_counts(node, i) && !gr_bytes_parse(at, a[i].size, &node->text)) {
            node->text.size = before;
            node_mark_bad(node, i, n);
        }
        out[i].size = node->text.size - before;
    }
    return node_place_texts(node, out, n);
}

/* ---- which one ---- */

static void
cast_same(struct node *node, int64_t n)
{
    struct node *a = node->operands[0];

    node->class = a->class;
    node->values = a->values;
    if (a->class == ROWS_CODE) {
        node->values = node_texts(a, n);
        node->class = ROWS_TEXT;
    } else if (node->dtype == GRANARY_FLOAT32 && a->dtype == GRANARY_FLOAT64) {
        cast_narrow(node, a->values, n);
    }
}

static granary_err
cast_convert(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    granary_dtype from = gr_dtype_kind(a->dtype);
    granary_dtype to = gr_dtype_kind(node->dtype);

    if (a->dtype == node->dtype || (a->base == ROWS_DOUBLE && rows_class_of_dtype(node->dtype) == ROWS_DOUBLE)) {
        cast_same(node, n);
    } else if (a->base == ROWS_LIST) {
        return to == GRANARY_STRING ? lists_to_text(node, n) : lists_cast(node, n);
    } else if (to == GRANARY_BINARY || from == GRANARY_BINARY) {
        return bytes_and_text(node, to == GRANARY_BINARY, n);
    } else if (to == GRANARY_STRING) {
        return any_to_text(node, n);
    } else if (from == GRANARY_STRING) {
        text_to_any(node, n);
    } else if (from == GRANARY_BOOL) {
        bool_to_number(node, n);
    } else if (to == GRANARY_BOOL) {
        number_to_bool(node, n);
    } else if (a->base == ROWS_DOUBLE) {
        real_to_exact(node, n);
    } else if (rows_class_of_dtype(node->dtype) == ROWS_DOUBLE) {
        exact_to_real(node, n);
    } else if (to == GRANARY_TIME && gr_dtype_class(from) == GR_CLASS_MOMENT) {
        clock_of_days(node, n);
    } else {
        exact_to_exact(node, n, from == GRANARY_DATE && is_clock(to) ? DAY_US : 1,
                       is_clock(from) && to == GRANARY_DATE ? DAY_US : 1);
    }
    return GRANARY_OK;
}

/* What has more digits than the cast allows is bad. */
static void
limit_digits(struct node *node, int64_t n)
{
    gr_int128 most = gr_power_of_ten(node->expr->digits);

    for (int64_t i = 0; i < n; i++) {
        gr_int128 value = node_exact_at(node, i);

        if (node_counts(node, i) && (value >= most || value <= -most)) {
            node_mark_bad(node, i, n);
        }
    }
}

/* What cast_convert() found bad becomes null; what was bad before stays. */
static void
cast_forgive(struct node *node, int64_t n)
{
    const uint8_t *before = node->operands[0]->bad;
    const uint8_t *bad = node->bad;
    const uint8_t *there = node->valid;
    uint8_t *valid = node_valid_room(node);

    for (int64_t i = 0; i < n; i++) {
        valid[i] = (uint8_t)((there == NULL || there[i] != 0) && bad[i] == 0);
    }
    node->bad = before;
}

granary_err
op_cast(struct node *node, int64_t n)
{
    granary_err err;

    node_strict(node, n);
    err = cast_convert(node, n);
    if (err == GRANARY_OK && node->expr->digits > 0 && node->base != ROWS_LIST) {
        limit_digits(node, n);
    }
    if (err == GRANARY_OK && node->op == GR_OP_TRY_CAST && node->bad != NULL && node->bad != node->operands[0]->bad) {
        cast_forgive(node, n);
    }
    return err;
}
