/* Trees of expressions as text: brackets only where the parser would bind otherwise. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "contract/int128.h"
#include "data/frame.h"
#include "data/value/bytes.h"
#include "data/value/calendar.h"
#include "graph/expr/check/check.h"
#include "graph/expr/lex.h"

/* How tight forms bind, as in the grammar of expr.h. */
enum level { LEVEL_OR, LEVEL_AND, LEVEL_NOT, LEVEL_COMPARE, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_UNARY, LEVEL_PRIMARY };

static void print(const struct gr_expr *expr, enum level least, struct gr_buf *out);

static void
put(struct gr_buf *out, const char *text)
{
    gr_buf_add(out, text, strlen(text));
}

static void
put_quoted(struct gr_buf *out, const char *text, size_t size, char quote)
{
    gr_buf_add(out, &quote, 1);
    for (size_t i = 0; i < size; i++) {
        gr_buf_add(out, &text[i], 1);
        if (text[i] == quote) {
            gr_buf_add(out, &quote, 1);
        }
    }
    gr_buf_add(out, &quote, 1);
}

void
gr_expr_print_name(const char *name, struct gr_buf *out)
{
    if (lexer_is_plain_name(name)) {
        put(out, name);
    } else {
        put_quoted(out, name, strlen(name), '`');
    }
}

/* ---- literals ---- */

const char *
expr_decimal_text(gr_int128 units, int scale, char ret_text[EXPR_DECIMAL_TEXT])
{
    gr_uint128 left = units < 0 ? 0 - (gr_uint128)units : (gr_uint128)units;
    char *at = ret_text + EXPR_DECIMAL_TEXT - 1;

    *at = '\0';
    for (int digits = 0; digits <= scale || left > 0; digits++, left /= 10) {
        if (digits == scale && scale > 0) {
            *--at = '.';
        }
        *--at = (char)('0' + (int)(left % 10));
    }
    if (units < 0) {
        *--at = '-';
    }
    return at;
}

static void
put_decimal(struct gr_buf *out, gr_int128 units, int scale)
{
    char text[EXPR_DECIMAL_TEXT];

    put(out, expr_decimal_text(units, scale, text));
}

/* With an exponent, so that it is no exact decimal when it is read. */
static void
put_double(struct gr_buf *out, double value)
{
    char text[40];

    if (!isfinite(value)) {
        gr_buf_addf(out, "cast('%s' as float64)", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    (void)snprintf(text, sizeof text, "%.17e", value);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == ',' ? '.' : *at; /* whatever the locale of the process */
    }
    put(out, text);
}

/* A word and the moment in quotes. */
static void
put_moment(struct gr_buf *out, granary_dtype dtype, int64_t at)
{
    int64_t days = at / 86400000000 - (at % 86400000000 < 0);
    int64_t clock = at - days * 86400000000;

    gr_buf_addf(out, "%s '", granary_dtype_name(dtype));
    if (dtype != GRANARY_TIME) {
        gr_date_format(days, out);
        put(out, " ");
    }
    gr_buf_addf(out, "%02d:%02d:%02d.%06d%s'", (int)(clock / 3600000000), (int)(clock / 60000000 % 60),
                (int)(clock / 1000000 % 60), (int)(clock % 1000000), dtype == GRANARY_TIMESTAMPTZ ? "Z" : "");
}

static void
print_literal(const struct gr_expr *expr, struct gr_buf *out)
{
    if (expr->is_null) {
        put(out, "null");
        return;
    }
    if (expr->is_number) {
        if (expr->scale < 0) {
            put_double(out, expr->value.d);
        } else {
            put_decimal(out, expr->value.i, expr->scale);
            put(out, expr->is_exact ? "^" : "");
        }
        return;
    }
    switch (gr_dtype_kind(expr->dtype)) {
    case GRANARY_BOOL:
        put(out, expr->value.i != 0 ? "true" : "false");
        return;
    case GRANARY_STRING:
        put_quoted(out, expr->text, expr->text_size, '\'');
        return;
    case GRANARY_BINARY:
        put(out, "cast('");
        gr_bytes_format(expr->text, expr->text_size, out);
        put(out, "' as binary)");
        return;
    case GRANARY_DATE:
        put(out, "date '");
        gr_date_format((int64_t)expr->value.i, out);
        put(out, "'");
        return;
    case GRANARY_TIMESTAMP:
    case GRANARY_TIMESTAMPTZ:
    case GRANARY_TIME:
        put_moment(out, expr->dtype, (int64_t)expr->value.i);
        return;
    case GRANARY_DURATION:
        gr_buf_addf(out, "interval '%d months %lld microseconds'", expr->months, (long long)expr->value.i);
        return;
    default:
        break;
    }
    put(out, "cast(");
    if (gr_dtype_kind(expr->dtype) == GRANARY_FLOAT64 || gr_dtype_kind(expr->dtype) == GRANARY_FLOAT32) {
        put_double(out, expr->value.d);
    } else {
        put_decimal(out, expr->value.i, gr_dtype_scale(expr->dtype));
    }
    gr_buf_addf(out, " as %s)", granary_dtype_name(expr->dtype));
}

/* ---- calls ---- */

/* Each binds as tightly as least, or is in brackets. */
static void
print_list(const struct gr_expr *expr, size_t from, enum level least, struct gr_buf *out)
{
    put(out, "(");
    for (size_t i = from; i < expr->operand_count; i++) {
        put(out, i > from ? ", " : "");
        print(expr->operands[i], least, out);
    }
    put(out, ")");
}

static void
print_case(const struct gr_expr *expr, struct gr_buf *out)
{
    put(out, "case");
    for (size_t i = 0; i + 1 < expr->operand_count; i += 2) {
        put(out, " when ");
        print(expr->operands[i], LEVEL_OR, out);
        put(out, " then ");
        print(expr->operands[i + 1], LEVEL_OR, out);
    }
    put(out, " else ");
    print(expr->operands[expr->operand_count - 1], LEVEL_OR, out);
    put(out, " end");
}

static enum level
level_of(const struct gr_expr *expr)
{
    static const enum level levels[] = {
#define EXPR_OP(id, text, least, most, rule, kernel, fails, binds) [GR_OP_##id] = LEVEL_##binds,
#define FUNCTION(id, ...)                                          [GR_OP_##id] = LEVEL_PRIMARY,
#include "graph/expr/ops.def"
    };

    return expr->kind == GR_EXPR_CALL ? levels[expr->op] : LEVEL_PRIMARY;
}

/* left OP right; what binds to the left needs brackets on the right only. Comparisons do not chain. */
static void
print_binary(const struct gr_expr *expr, enum level level, struct gr_buf *out)
{
    print(expr->operands[0], level == LEVEL_COMPARE ? LEVEL_SUM : level, out);
    gr_buf_addf(out, " %s ", gr_expr_op_text(expr->op));
    print(expr->operands[1], (enum level)(level + 1), out);
}

static void
print_compare(const struct gr_expr *expr, struct gr_buf *out)
{
    switch (expr->op) {
    case GR_OP_IS_NULL:
    case GR_OP_IS_NOT_NULL:
        print(expr->operands[0], LEVEL_SUM, out);
        gr_buf_addf(out, " %s", gr_expr_op_text(expr->op));
        return;
    case GR_OP_IN:
        print(expr->operands[0], LEVEL_SUM, out);
        put(out, " in ");
        print_list(expr, 1, LEVEL_OR, out);
        return;
    case GR_OP_LIKE:
    case GR_OP_ILIKE:
        print_binary(expr, LEVEL_COMPARE, out);
        if (expr->operand_count == 3) {
            put(out, " escape ");
            print(expr->operands[2], LEVEL_SUM, out);
        }
        return;
    default:
        print_binary(expr, LEVEL_COMPARE, out);
        return;
    }
}

static void
print_call(const struct gr_expr *expr, struct gr_buf *out)
{
    enum level level = level_of(expr);

    switch (level) {
    case LEVEL_NOT:
        put(out, "not ");
        print(expr->operands[0], LEVEL_NOT, out);
        return;
    case LEVEL_UNARY:
        put(out, "-");
        /* Before a number it would be the number's sign. */
        print(expr->operands[0],
              expr->operands[0]->kind == GR_EXPR_COLUMN ? LEVEL_UNARY : (enum level)(LEVEL_PRIMARY + 1), out);
        return;
    case LEVEL_COMPARE:
        print_compare(expr, out);
        return;
    case LEVEL_PRIMARY:
        break;
    default:
        print_binary(expr, level, out);
        return;
    }
    switch (expr->op) {
    case GR_OP_CASE:
        print_case(expr, out);
        return;
    case GR_OP_CAST:
    case GR_OP_TRY_CAST:
        gr_buf_addf(out, "%s(", gr_expr_op_text(expr->op));
        print(expr->operands[0], LEVEL_OR, out);
        if (expr->digits > 0) {
            gr_buf_addf(out, " as decimal(%d, %d))", expr->digits, gr_dtype_scale(expr->target));
        } else {
            gr_buf_addf(out, " as %s)", granary_dtype_name(expr->target));
        }
        return;
    default:
        put(out, gr_expr_op_text(expr->op));
        /* position(a in b): an `in` of its first operand's own would be taken for that */
        print_list(expr, 0, expr->op == GR_OP_POSITION ? LEVEL_SUM : LEVEL_OR, out);
        return;
    }
}

static void
print(const struct gr_expr *expr, enum level least, struct gr_buf *out)
{
    bool brackets;

    while (expr->kind == GR_EXPR_CALL && expr->op == GR_OP_CONVERT) {
        expr = expr->operands[0];
    }
    brackets = level_of(expr) < least;
    put(out, brackets ? "(" : "");
    switch (expr->kind) {
    case GR_EXPR_COLUMN:
        gr_expr_print_name(expr->column, out);
        break;
    case GR_EXPR_LITERAL:
        print_literal(expr, out);
        break;
    case GR_EXPR_CALL:
        print_call(expr, out);
        break;
    }
    put(out, brackets ? ")" : "");
}

void
gr_expr_print(const struct gr_expr *expr, struct gr_buf *out)
{
    print(expr, LEVEL_OR, out);
}

char *
gr_expr_text(const struct gr_expr *expr)
{
    struct gr_buf out = {0};

    gr_expr_print(expr, &out);
    if (!gr_buf_ok(&out)) {
        gr_buf_free(&out);
        return NULL;
    }
    return gr_buf_take(&out);
}
