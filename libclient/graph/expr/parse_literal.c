/* Numbers, texts, dates, constants and the names of columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "data/frame.h"
#include "data/value/written.h"
#include "graph/expr/check/check.h"
#include "graph/expr/parser.h"

static granary_err
read_double(struct parser *parser, const struct token *token, double *ret_value)
{
    if (!expr_read_real(token->start, ret_value)) {
        return parser_no_memory();
    }
    if (isinf(*ret_value)) {
        return lexer_fail(&parser->lexer, token->position, "the number is too large for a float64");
    }
    return GRANARY_OK;
}

/* Digits with at most one point as units of 10^-scale. false: they are more than a decimal has, or there is an
 * exponent. A number with a point has a scale of 1 at least: that tells it from an integer. */
static bool
read_decimal(const struct token *token, bool negative, gr_int128 *ret_units, int *ret_scale)
{
    const gr_int128 most = gr_power_of_ten(GRANARY_DECIMAL_DIGITS);
    gr_int128 units = 0;
    int scale = 0;
    bool point = false;
    bool over = false;

    for (size_t i = 0; i < token->size; i++) {
        char c = token->start[i];

        if (c == 'e' || c == 'E') {
            return false;
        }
        if (c == '^') {
            break; /* the mark, which ends it */
        }
        if (c == '.') {
            point = true;
            continue;
        }
        scale += point;
        over = over || units >= most / 10;
        units = over ? 0 : units * 10 + (c - '0');
    }
    if (point && scale == 0) {
        scale = 1;
        over = over || units >= most / 10;
        units = over ? 0 : units * 10;
    }
    if (over || scale > GRANARY_DECIMAL_DIGITS) {
        return false;
    }
    *ret_units = negative ? -units : units;
    *ret_scale = scale;
    return true;
}

granary_err
parse_number(struct parser *parser, bool negative, int position, struct gr_expr **ret_expr)
{
    const struct token token = parser->lexer.token;
    struct gr_expr *expr = NULL;
    granary_err err = parser_new(parser, GR_EXPR_LITERAL, position, &expr);
    bool exact;

    if (err != GRANARY_OK) {
        return err;
    }
    exact = read_decimal(&token, negative, &expr->value.i, &expr->scale);
    expr->is_number = true;
    expr->is_exact = exact && token.start[token.size - 1] == '^';
    if (!exact && token.kind != TOKEN_DOUBLE) {
        err = lexer_fail(&parser->lexer, token.position,
                         "the integer has more than %d digits; write it with an exponent for a float64",
                         GRANARY_DECIMAL_DIGITS);
    } else {
        expr->scale = exact ? expr->scale : -1;
        err = read_double(parser, &token, &expr->value.d);
        expr->value.d = negative ? -expr->value.d : expr->value.d;
        if (negative && exact && expr->value.i == 0) {
            /* Floats have a zero with a sign; integers and decimals have not. */
            expr->scale = expr->scale == 0 || expr->is_exact ? expr->scale : -1;
            expr->value.d = expr->scale >= 0 ? 0.0 : expr->value.d;
        }
        expr->dtype = expr_dtype_alone(expr);
    }
    if (err == GRANARY_OK) {
        err = lexer_next(&parser->lexer);
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(expr);
        return err;
    }
    *ret_expr = expr;
    return GRANARY_OK;
}

granary_err
parse_text(struct parser *parser, granary_dtype dtype, int position, struct gr_expr **ret_expr)
{
    const struct token token = parser->lexer.token;
    struct gr_expr *expr = NULL;
    int32_t days = 0;
    int64_t microseconds = 0;
    granary_err err = parser_new(parser, GR_EXPR_LITERAL, position, &expr);

    if (err != GRANARY_OK) {
        return err;
    }
    expr->dtype = dtype;
    expr->text = token_unquote(&token, &expr->text_size);
    if (expr->text == NULL) {
        err = parser_no_memory();
    } else if (dtype == GRANARY_DATE) {
        if (!gr_date_written(expr->text, expr->text_size, &days)) {
            err = lexer_fail(&parser->lexer, token.position, "'%s' is no date: YYYY-MM-DD", expr->text);
        }
        expr->value.i = days;
    } else if (dtype != GRANARY_STRING) {
        if (!expr_read_clock(dtype, expr->text, expr->text_size, &microseconds)) {
            err = lexer_fail(&parser->lexer, token.position, "'%s' is no %s%s", expr->text, granary_dtype_name(dtype),
                             expr_form_of(dtype));
        }
        expr->value.i = microseconds;
    }
    if (err == GRANARY_OK) {
        err = lexer_next(&parser->lexer);
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(expr);
        return err;
    }
    if (dtype != GRANARY_STRING) {
        free(expr->text);
        expr->text = NULL;
        expr->text_size = 0;
    }
    *ret_expr = expr;
    return GRANARY_OK;
}

granary_err
parse_column(struct parser *parser, const struct token *token, struct gr_expr **ret_expr)
{
    struct gr_expr *expr = NULL;
    size_t size;
    granary_err err = parser_new(parser, GR_EXPR_COLUMN, token->position, &expr);

    if (err != GRANARY_OK) {
        return err;
    }
    expr->column = token->kind == TOKEN_QUOTED_NAME ? token_unquote(token, &size) : strndup(token->start, token->size);
    if (expr->column == NULL) {
        err = parser_no_memory();
    } else if (expr->column[0] == '\0') {
        err = lexer_fail(&parser->lexer, token->position, "a column name is missing between the backquotes");
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(expr);
        return err;
    }
    *ret_expr = expr;
    return GRANARY_OK;
}

granary_err
parse_constant(struct parser *parser, const struct token *word, struct gr_expr **ret_expr)
{
    granary_err err = parser_new(parser, GR_EXPR_LITERAL, word->position, ret_expr);

    if (err == GRANARY_OK) {
        (*ret_expr)->is_null = token_is(word, "null");
        (*ret_expr)->dtype = token_is(word, "null") ? GRANARY_NULLTYPE : GRANARY_BOOL;
        (*ret_expr)->value.i = token_is(word, "true");
    }
    return err;
}
