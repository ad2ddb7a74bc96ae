/*
 * A condition with the values of a file's folders put in. Parts in which no other column is fold to a literal when they
 * are checked; `and`, `or` and `not` join what is known of the parts, as three-valued logic has it.
 */
#include "graph/folders/constant.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "data/frame.h"
#include "data/value/calendar.h"
#include "data/value/number.h"
#include "graph/dtype_class.h"

/* ---- values ---- */

/* A number in digits: no blank, no hexadecimal, no name. */
static bool
is_real(const char *text, double *ret_value)
{
    return strchr("+-.0123456789", text[0]) != NULL && strpbrk(text, "0123456789") != NULL &&
           gr_real_parse(text, strlen(text), ret_value);
}

static bool
is_bool(const char *text)
{
    return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

uint32_t
constant_kind(const char *text)
{
    size_t size = text == NULL ? 0 : strlen(text);
    gr_int128 integer;
    int64_t microseconds;
    int32_t days;
    double real;
    bool told;

    if (text == NULL) {
        return GR_KIND_NULL;
    }
    if (is_bool(text)) {
        return GR_KIND_BOOL;
    }
    if (gr_integer_parse(text, size, &integer)) {
        return integer >= INT64_MIN && integer <= INT64_MAX ? GR_KIND_INT64 : GR_KIND_WIDE;
    }
    if (gr_date_parse(text, size, &days)) {
        return GR_KIND_DATE;
    }
    if (gr_instant_parse(text, size, &microseconds, &told)) {
        return told ? GR_KIND_TIMESTAMPTZ : GR_KIND_TIMESTAMP;
    }
    if (gr_time_parse(text, size, &microseconds, &told) && told) {
        return GR_KIND_TIME;
    }
    return is_real(text, &real) ? GR_KIND_FLOAT64 : GR_KIND_STRING;
}

static void
print_text(const char *text, struct gr_buf *out)
{
    gr_buf_add(out, "'", 1);
    for (; *text != '\0'; text++) {
        gr_buf_add(out, *text == '\'' ? "''" : text, *text == '\'' ? 2 : 1);
    }
    gr_buf_add(out, "'", 1);
}

/* Whether it is a value of that dtype, which is none of text. */
static bool
is_of(const char *text, granary_dtype dtype)
{
    size_t size = strlen(text);
    gr_int128 integer;
    int64_t microseconds;
    int32_t days;
    double real;
    bool told;

    switch (gr_dtype_kind(dtype)) {
    case GRANARY_BOOL:
        return is_bool(text);
    case GRANARY_DATE:
        return gr_date_parse(text, size, &days);
    case GRANARY_TIMESTAMP:
        return gr_timestamp_parse(text, size, &microseconds);
    case GRANARY_TIMESTAMPTZ:
        return gr_instant_parse(text, size, &microseconds, &told);
    case GRANARY_TIME:
        return gr_time_parse(text, size, &microseconds, &told);
    case GRANARY_DECIMAL:
        return gr_decimal_parse(text, size, gr_dtype_scale(dtype), &integer);
    case GRANARY_FLOAT32:
    case GRANARY_FLOAT64:
        return is_real(text, &real);
    default:
        return gr_dtype_is_integer(dtype) && gr_integer_parse(text, size, &integer) && gr_dtype_fits(dtype, integer);
    }
}

granary_err
constant_text(const char *text, granary_dtype dtype, char **ret_text)
{
    struct gr_buf out = {0};
    double real;

    if (text != NULL && dtype != GRANARY_STRING && !is_of(text, dtype)) {
        return gr_fail(GRANARY_EINVAL, "'%.100s' is no %s", text, granary_dtype_name(dtype));
    }
    gr_buf_addf(&out, "cast(");
    if (text == NULL) {
        gr_buf_addf(&out, "null");
    } else if (gr_dtype_is_float(dtype) && is_real(text, &real)) {
        gr_buf_addf(&out, "%.17g", real);
    } else if (dtype == GRANARY_BOOL || gr_dtype_is_integer(dtype) ||
               (gr_dtype_kind(dtype) == GRANARY_DECIMAL && text[strspn(text, "+-0123456789")] == '\0')) {
        gr_buf_addf(&out, "%s", text + (text[0] == '+'));
    } else {
        print_text(text, &out);
    }
    gr_buf_addf(&out, " as %s)", granary_dtype_name(dtype));
    *ret_text = gr_buf_take(&out);
    return *ret_text == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
}

/* ---- conditions ---- */

enum truth { TRUTH_NO, TRUTH_YES, TRUTH_NULL, TRUTH_OPEN };

static const struct gr_expr *
value_of(const struct constants *constants, const struct gr_expr *expr)
{
    for (size_t i = 0; expr->kind == GR_EXPR_COLUMN && i < constants->count; i++) {
        if (constants->names[i] != NULL && strcmp(constants->names[i], expr->column) == 0) {
            return constants->values[i];
        }
    }
    return expr->kind == GR_EXPR_LITERAL ? expr : NULL;
}

/* Put the values in. false: another column is in it, or there is no memory */
static bool
put_in(const struct constants *constants, struct gr_expr **expr)
{
    const struct gr_expr *value = (*expr)->kind == GR_EXPR_COLUMN ? value_of(constants, *expr) : NULL;
    struct gr_expr *copy = NULL;
    bool good = true;

    if ((*expr)->kind == GR_EXPR_COLUMN) {
        if (value == NULL || gr_expr_copy(value, &copy) != GRANARY_OK) {
            return false;
        }
        gr_expr_destroy(*expr);
        *expr = copy;
    }
    for (size_t i = 0; (*expr)->kind == GR_EXPR_CALL && good && i < (*expr)->operand_count; i++) {
        good = put_in(constants, &(*expr)->operands[i]);
    }
    return good;
}

/* What the whole expression folds to. */
static enum truth
fold(const struct constants *constants, const struct gr_expr *expr)
{
    const struct gr_schema nothing = {0};
    struct gr_expr *copy = NULL;
    enum truth truth = TRUTH_OPEN;

    if (gr_expr_copy(expr, &copy) == GRANARY_OK && put_in(constants, &copy) &&
        gr_expr_check(copy, &nothing) == GRANARY_OK && copy->kind == GR_EXPR_LITERAL) {
        truth = copy->is_null ? TRUTH_NULL : copy->value.i != 0 ? TRUTH_YES : TRUTH_NO;
    }
    gr_expr_destroy(copy);
    return truth;
}

static enum truth
either(enum truth a, enum truth b)
{
    return a == TRUTH_YES || b == TRUTH_YES     ? TRUTH_YES
           : a == TRUTH_OPEN || b == TRUTH_OPEN ? TRUTH_OPEN
           : a == TRUTH_NULL || b == TRUTH_NULL ? TRUTH_NULL
                                                : TRUTH_NO;
}

static enum truth
opposite(enum truth a)
{
    return a == TRUTH_YES ? TRUTH_NO : a == TRUTH_NO ? TRUTH_YES : a;
}

static enum truth
compare(const struct constants *constants, const struct gr_expr *expr)
{
    for (size_t i = 0; i < 2; i++) {
        const struct gr_expr *value = value_of(constants, expr->operands[i]);

        if (value != NULL && value->is_null) {
            return TRUTH_NULL;
        }
    }
    return fold(constants, expr);
}

/* value in (a, b): value = a or value = b */
static enum truth
judge_in(const struct constants *constants, const struct gr_expr *expr)
{
    enum truth truth = TRUTH_NO;

    for (size_t i = 1; i < expr->operand_count && truth != TRUTH_YES; i++) {
        struct gr_expr *operands[2] = {expr->operands[0], expr->operands[i]};
        struct gr_expr equal = {.kind = GR_EXPR_CALL, .op = GR_OP_EQUAL, .operand_count = 2, .operands = operands};

        truth = either(truth, compare(constants, &equal));
    }
    return truth;
}

static enum truth
judge(const struct constants *constants, const struct gr_expr *expr)
{
    const struct gr_expr *value;

    if (expr->kind != GR_EXPR_CALL) {
        return fold(constants, expr);
    }
    switch (expr->op) {
    case GR_OP_AND:
        return opposite(
            either(opposite(judge(constants, expr->operands[0])), opposite(judge(constants, expr->operands[1]))));
    case GR_OP_OR:
        return either(judge(constants, expr->operands[0]), judge(constants, expr->operands[1]));
    case GR_OP_NOT:
        return opposite(judge(constants, expr->operands[0]));
    case GR_OP_IS_NULL:
    case GR_OP_IS_NOT_NULL:
        value = value_of(constants, expr->operands[0]);
        return value == NULL ? TRUTH_OPEN : value->is_null == (expr->op == GR_OP_IS_NULL) ? TRUTH_YES : TRUTH_NO;
    case GR_OP_IN:
        return judge_in(constants, expr);
    case GR_OP_EQUAL:
    case GR_OP_NOT_EQUAL:
    case GR_OP_LESS:
    case GR_OP_LESS_EQUAL:
    case GR_OP_GREATER:
    case GR_OP_GREATER_EQUAL:
        return compare(constants, expr);
    default:
        return fold(constants, expr);
    }
}

bool
constants_exclude(const struct constants *constants, const struct gr_expr *where)
{
    enum truth truth = judge(constants, where);

    return truth == TRUTH_NO || truth == TRUTH_NULL;
}
