/* The operators of expressions on one block. Loops are plain, so that the compiler makes vectors of them. */
#include "kernel/eval_ops.h"

#include <math.h>
#include <string.h>

#include "kernel/eval_text.h"

#define DAY_US INT64_C(86400000000)

size_t eval_class_size(enum eval_class class)
{
    switch (class) {
    case CLASS_INT:
        return sizeof(int64_t);
    case CLASS_DOUBLE:
        return sizeof(double);
    case CLASS_BOOL:
        return sizeof(uint8_t);
    case CLASS_TEXT:
        return sizeof(struct eval_text);
    default:
        return 1;
    }
}

/* A row is there when every operand's is. */
static void
valid_from_operands(struct eval_node *node, int64_t n)
{
    const uint8_t *a = node->operands[0]->valid;
    const uint8_t *b = node->operands[1] != NULL ? node->operands[1]->valid : NULL;

    node->valid = a != NULL ? a : b;
    if (a != NULL && b != NULL) {
        for (int64_t i = 0; i < n; i++) {
            node->valid_buffer[i] = a[i] & b[i];
        }
        node->valid = node->valid_buffer;
    }
}

static bool
row_counts(const struct eval_node *node, int64_t i)
{
    return node->valid == NULL || node->valid[i] != 0;
}

/* ---- int64 ---- */

static bool
int_overflows(enum gr_expr_op op, int64_t a, int64_t b)
{
    int64_t result;

    switch (op) {
    case GR_OP_ADD:
        return __builtin_add_overflow(a, b, &result);
    case GR_OP_SUBTRACT:
        return __builtin_sub_overflow(a, b, &result);
    case GR_OP_MULTIPLY:
        return __builtin_mul_overflow(a, b, &result);
    case GR_OP_NEGATE:
    case GR_OP_ABS:
        return a == INT64_MIN;
    case GR_OP_CONVERT: /* date to timestamp */
        return __builtin_mul_overflow(a, DAY_US, &result);
    default:
        return false;
    }
}

/* An overflow was seen in the block; only one in a row that counts is an error. */
static granary_err
find_overflow(const struct eval_node *node, int64_t n, int64_t *ret_bad)
{
    const int64_t *a = node->operands[0]->values;
    const int64_t *b = node->operands[1] != NULL ? node->operands[1]->values : a;

    for (int64_t i = 0; i < n; i++) {
        if (row_counts(node, i) && int_overflows(node->op, a[i], b[i])) {
            *ret_bad = i;
            return GRANARY_EFAILED;
        }
    }
    return GRANARY_OK;
}

/* Remainder with the sign of the divisor; nothing is there when that is 0. */
static void
int_modulo(struct eval_node *node, int64_t n)
{
    const int64_t *a = node->operands[0]->values;
    const int64_t *b = node->operands[1]->values;
    int64_t *out = node->buffer;

    for (int64_t i = 0; i < n; i++) {
        bool undefined = b[i] == 0;
        int64_t divisor = undefined || b[i] == -1 ? 1 : b[i]; /* INT64_MIN % -1 traps */
        int64_t rest = a[i] % divisor;

        out[i] = rest != 0 && (rest ^ divisor) < 0 ? rest + divisor : rest;
        node->valid_buffer[i] = (uint8_t)(row_counts(node, i) && !undefined);
    }
    node->valid = node->valid_buffer;
}

static granary_err
int_arithmetic(struct eval_node *node, int64_t n, int64_t *ret_bad)
{
    const int64_t *a = node->operands[0]->values;
    const int64_t *b = node->operands[1] != NULL ? node->operands[1]->values : NULL;
    int64_t *out = node->buffer;
    int64_t signs = 0;
    bool seen = false;

    switch (node->op) {
    case GR_OP_ADD:
        for (int64_t i = 0; i < n; i++) {
            out[i] = (int64_t)((uint64_t)a[i] + (uint64_t)b[i]);
            signs |= (a[i] ^ out[i]) & (b[i] ^ out[i]);
        }
        break;
    case GR_OP_SUBTRACT:
        for (int64_t i = 0; i < n; i++) {
            out[i] = (int64_t)((uint64_t)a[i] - (uint64_t)b[i]);
            signs |= (a[i] ^ b[i]) & (a[i] ^ out[i]);
        }
        break;
    case GR_OP_MULTIPLY:
        for (int64_t i = 0; i < n; i++) {
            seen |= __builtin_mul_overflow(a[i], b[i], &out[i]);
        }
        break;
    case GR_OP_MODULO:
        int_modulo(node, n);
        break;
    case GR_OP_CONVERT: /* date to timestamp */
        for (int64_t i = 0; i < n; i++) {
            seen |= __builtin_mul_overflow(a[i], DAY_US, &out[i]);
        }
        break;
    default: /* NEGATE, ABS */
        for (int64_t i = 0; i < n; i++) {
            int64_t minus = (int64_t)(0 - (uint64_t)a[i]);

            out[i] = node->op == GR_OP_ABS && a[i] >= 0 ? a[i] : minus;
            signs |= a[i] & minus; /* both negative: INT64_MIN */
        }
        break;
    }
    return seen || signs < 0 ? find_overflow(node, n, ret_bad) : GRANARY_OK;
}

/* ---- float64 ---- */

static double
double_modulo(double a, double b)
{
    double rest = fmod(a, b);

    if (rest == 0.0) {
        return copysign(0.0, b);
    }
    return (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

#define DOUBLES(expression)                                                                                            \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        out[i] = (expression);                                                                                         \
    }                                                                                                                  \
    break

static void
double_arithmetic(struct eval_node *node, int64_t n)
{
    const double *a = node->operands[0]->values;
    const double *b = node->operands[1] != NULL ? node->operands[1]->values : NULL;
    double *out = node->buffer;

    switch (node->op) {
    case GR_OP_ADD:
        DOUBLES(a[i] + b[i]);
    case GR_OP_SUBTRACT:
        DOUBLES(a[i] - b[i]);
    case GR_OP_MULTIPLY:
        DOUBLES(a[i] * b[i]);
    case GR_OP_DIVIDE:
        DOUBLES(a[i] / b[i]);
    case GR_OP_MODULO:
        DOUBLES(double_modulo(a[i], b[i]));
    case GR_OP_NEGATE:
        DOUBLES(-a[i]);
    case GR_OP_ABS:
        DOUBLES(fabs(a[i]));
    default: /* SQRT */
        DOUBLES(sqrt(a[i]));
    }
}

static void
to_double(struct eval_node *node, int64_t n)
{
    double *out = node->buffer;

    if (node->operands[0]->class == CLASS_DOUBLE) {
        node->values = node->operands[0]->values;
        return;
    }
    if (node->operands[0]->class == CLASS_INT) {
        const int64_t *a = node->operands[0]->values;

        for (int64_t i = 0; i < n; i++) {
            out[i] = (double)a[i];
        }
        return;
    }
    const uint8_t *a = node->operands[0]->values;

    for (int64_t i = 0; i < n; i++) {
        out[i] = (double)a[i];
    }
}

/* ---- comparison ---- */

#define COMPARE_LOOP(operator)                                                                                         \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        out[i] = a[i] operator b[i];                                                                                   \
    }                                                                                                                  \
    break

#define COMPARE(name, type)                                                                                            \
    static void name(enum gr_expr_op op, const type *a, const type *b, uint8_t *out, int64_t n)                        \
    {                                                                                                                  \
        switch (op) {                                                                                                  \
        case GR_OP_EQUAL:                                                                                              \
            COMPARE_LOOP(==);                                                                                          \
        case GR_OP_NOT_EQUAL:                                                                                          \
            COMPARE_LOOP(!=);                                                                                          \
        case GR_OP_LESS:                                                                                               \
            COMPARE_LOOP(<);                                                                                           \
        case GR_OP_LESS_EQUAL:                                                                                         \
            COMPARE_LOOP(<=);                                                                                          \
        case GR_OP_GREATER:                                                                                            \
            COMPARE_LOOP(>);                                                                                           \
        default:                                                                                                       \
            COMPARE_LOOP(>=);                                                                                          \
        }                                                                                                              \
    }

COMPARE(compare_ints, int64_t)
COMPARE(compare_doubles, double)
COMPARE(compare_bools, uint8_t)

static void
compare_texts(enum gr_expr_op op, const struct eval_text *a, const struct eval_text *b, uint8_t *out, int64_t n)
{
    int8_t order[EVAL_BLOCK];

    for (int64_t i = 0; i < n; i++) {
        size_t size = a[i].size < b[i].size ? a[i].size : b[i].size;
        int bytes = 0;

        if ((op == GR_OP_EQUAL || op == GR_OP_NOT_EQUAL) && a[i].size != b[i].size) {
            order[i] = 1;
            continue;
        }
        if (size > 0) {
            bytes = memcmp(a[i].bytes, b[i].bytes, size);
        }
        order[i] = (int8_t)(bytes != 0 ? (bytes > 0) - (bytes < 0) : (a[i].size > b[i].size) - (a[i].size < b[i].size));
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t way = order[i];
        int64_t zero = 0;

        compare_ints(op, &way, &zero, &out[i], 1);
    }
}

static void
compare(struct eval_node *node, int64_t n)
{
    const void *a = node->operands[0]->values;
    const void *b = node->operands[1]->values;

    switch (node->operands[0]->class) {
    case CLASS_INT:
        compare_ints(node->op, a, b, node->buffer, n);
        break;
    case CLASS_DOUBLE:
        compare_doubles(node->op, a, b, node->buffer, n);
        break;
    case CLASS_BOOL:
        compare_bools(node->op, a, b, node->buffer, n);
        break;
    default:
        compare_texts(node->op, a, b, node->buffer, n);
        break;
    }
}

/* ---- logic ---- */

/* What decides (false for and, true for or) wins over null. */
static void
and_or(struct eval_node *node, int64_t n)
{
    const uint8_t *a = node->operands[0]->values;
    const uint8_t *b = node->operands[1]->values;
    const uint8_t *there_a = node->operands[0]->valid;
    const uint8_t *there_b = node->operands[1]->valid;
    uint8_t decides = node->op == GR_OP_OR;
    uint8_t *out = node->buffer;

    if (there_a == NULL && there_b == NULL) {
        for (int64_t i = 0; i < n; i++) {
            out[i] = decides ? a[i] | b[i] : a[i] & b[i];
        }
        node->valid = NULL;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        bool null_a = there_a != NULL && !there_a[i];
        bool null_b = there_b != NULL && !there_b[i];
        bool decided = (!null_a && a[i] == decides) || (!null_b && b[i] == decides);

        out[i] = decided ? decides : !decides;
        node->valid_buffer[i] = (uint8_t)(decided || (!null_a && !null_b));
    }
    node->valid = node->valid_buffer;
}

static void
not_or_null_test(struct eval_node *node, int64_t n)
{
    const uint8_t *valid = node->operands[0]->valid;
    uint8_t *out = node->buffer;

    if (node->op == GR_OP_NOT) {
        const uint8_t *a = node->operands[0]->values;

        for (int64_t i = 0; i < n; i++) {
            out[i] = !a[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        bool null = valid != NULL && !valid[i];

        out[i] = null == (node->op == GR_OP_IS_NULL);
    }
    node->valid = NULL;
}

/* ---- dates ---- */

static int64_t
floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Year, month or day of a day number; years start in March, so that the leap day is the last. */
static int64_t
date_part(enum gr_expr_op op, int64_t days)
{
    int64_t shifted = days + 719468; /* since 0000-03-01 */
    int64_t era = floor_divide(shifted, 146097);
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;

    switch (op) {
    case GR_OP_YEAR:
        return year_of_era + era * 400 + (month <= 2);
    case GR_OP_MONTH:
        return month;
    default:
        return day_of_year - (153 * month_from_march + 2) / 5 + 1;
    }
}

static void
date_parts(struct eval_node *node, int64_t n)
{
    const int64_t *a = node->operands[0]->values;
    int64_t unit = node->operands[0]->dtype == GRANARY_TIMESTAMP ? DAY_US : 1;
    int64_t *out = node->buffer;

    for (int64_t i = 0; i < n; i++) {
        out[i] = date_part(node->op, unit == 1 ? a[i] : floor_divide(a[i], unit));
    }
}

/* ---- dispatch ---- */

/* Nothing but nulls comes of an operand without values, except where nulls are looked at. */
static bool
all_null(struct eval_node *node, int64_t n)
{
    bool looks =
        node->op == GR_OP_IS_NULL || node->op == GR_OP_IS_NOT_NULL || node->op == GR_OP_AND || node->op == GR_OP_OR;
    bool null = node->class == CLASS_NULL || node->operands[0]->class == CLASS_NULL ||
                (node->operands[1] != NULL && node->operands[1]->class == CLASS_NULL);

    if (looks || !null) {
        return false;
    }
    memset(node->buffer, 0, (size_t)n * eval_class_size(node->class));
    memset(node->valid_buffer, 0, (size_t)n);
    node->valid = node->valid_buffer;
    return true;
}

granary_err
eval_call(struct eval_node *node, int64_t n, int64_t *ret_bad)
{
    node->values = node->buffer;
    if (all_null(node, n)) {
        return GRANARY_OK;
    }
    valid_from_operands(node, n);
    switch (node->op) {
    case GR_OP_EQUAL:
    case GR_OP_NOT_EQUAL:
    case GR_OP_LESS:
    case GR_OP_LESS_EQUAL:
    case GR_OP_GREATER:
    case GR_OP_GREATER_EQUAL:
        compare(node, n);
        return GRANARY_OK;
    case GR_OP_AND:
    case GR_OP_OR:
        and_or(node, n);
        return GRANARY_OK;
    case GR_OP_NOT:
    case GR_OP_IS_NULL:
    case GR_OP_IS_NOT_NULL:
        not_or_null_test(node, n);
        return GRANARY_OK;
    case GR_OP_YEAR:
    case GR_OP_MONTH:
    case GR_OP_DAY:
        date_parts(node, n);
        return GRANARY_OK;
    case GR_OP_LOWER:
        return eval_text_lower(node, n);
    case GR_OP_LENGTH:
        eval_text_length(node, n);
        return GRANARY_OK;
    case GR_OP_CONVERT:
        if (node->class == CLASS_DOUBLE) {
            to_double(node, n);
            return GRANARY_OK;
        }
        break;
    default:
        break;
    }
    if (node->class == CLASS_DOUBLE) {
        double_arithmetic(node, n);
        return GRANARY_OK;
    }
    return int_arithmetic(node, n, ret_bad);
}
