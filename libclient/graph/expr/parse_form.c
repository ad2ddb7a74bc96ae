/* What has a form of its own: case, cast and try_cast. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "contract/dtypes.h"
#include "data/frame.h"
#include "graph/expr/parser.h"

/* The condition of a branch; after `case x` it is x = condition. */
static granary_err
parse_when(struct parser *parser, const struct gr_expr *subject, struct operands *operands)
{
    struct gr_expr *copy = NULL;
    struct gr_expr *expr = NULL;
    int position = parser->lexer.token.position;
    granary_err err = parse_or(parser, &expr);

    if (err == GRANARY_OK && subject != NULL) {
        err = parser_copy(parser, subject, &copy);
        if (err != GRANARY_OK) {
            gr_expr_destroy(expr);
            return err;
        }
        err = parser_call(parser, GR_OP_EQUAL, position, copy, expr, &expr);
    }
    return err == GRANARY_OK ? operands_add(operands, expr) : err;
}

static granary_err
parse_branches(struct parser *parser, const struct gr_expr *subject, struct operands *operands)
{
    struct gr_expr *null = NULL;
    bool taken = false;
    granary_err err = GRANARY_OK;

    do {
        err = parser_expect(parser, "when", "case when CONDITION then VALUE ... else VALUE end");
        if (err == GRANARY_OK && (err = parse_when(parser, subject, operands)) == GRANARY_OK &&
            (err = parser_expect(parser, "then", "case when CONDITION then VALUE ... else VALUE end")) == GRANARY_OK) {
            err = operands_parse(parser, parse_or, operands);
        }
    } while (err == GRANARY_OK && token_is(&parser->lexer.token, "when"));
    if (err == GRANARY_OK && (err = parser_take(parser, "else", &taken)) == GRANARY_OK) {
        if (taken) {
            err = operands_parse(parser, parse_or, operands);
        } else if ((err = parser_new(parser, GR_EXPR_LITERAL, parser->lexer.token.position, &null)) == GRANARY_OK) {
            null->is_null = true;
            err = operands_add(operands, null);
        }
    }
    return err;
}

granary_err
parse_case(struct parser *parser, const struct token *word, struct gr_expr **ret_expr)
{
    struct operands operands = {0};
    struct gr_expr *subject = NULL;
    granary_err err;

    parser->cases++;
    err = parser_enter(parser);
    if (err == GRANARY_OK && !token_is(&parser->lexer.token, "when")) {
        err = parse_or(parser, &subject);
    }
    if (err == GRANARY_OK) {
        err = parse_branches(parser, subject, &operands);
    }
    parser_leave(parser);
    parser->cases--;
    gr_expr_destroy(subject);
    if (err == GRANARY_OK) {
        err = parser_expect(parser, "end", "to close 'case'");
    }
    return operands_call(parser, err, GR_OP_CASE, word->position, &operands, ret_expr);
}

/* (SCALE) or (DIGITS, SCALE): the last of one or two integers is the scale. *ret_digits: 0 when they are not said */
static granary_err
parse_decimal(struct parser *parser, int *ret_digits, int *ret_scale)
{
    static const char why[] = "decimal(SCALE) or decimal(DIGITS, SCALE)";
    int numbers[2] = {0};
    char shown[48];
    bool more = true;
    granary_err err = parser_expect(parser, "(", why);

    for (int i = 0; i < 2 && err == GRANARY_OK && more; i++) {
        const struct token number = parser->lexer.token;

        if (number.kind != TOKEN_INT || number.size > 2) {
            return lexer_fail(&parser->lexer, number.position, "a number of digits is missing before %s (%s)",
                              token_show(&number, shown), why);
        }
        numbers[0] = numbers[1];
        numbers[1] = (int)strtol(number.start, NULL, 10);
        if (i == 1 && (numbers[0] < 1 || numbers[0] > GRANARY_DECIMAL_DIGITS || numbers[1] > numbers[0])) {
            return lexer_fail(&parser->lexer, number.position,
                              "a decimal has 1 to %d digits, and no more of them behind the point: not decimal(%d, %d)",
                              GRANARY_DECIMAL_DIGITS, numbers[0], numbers[1]);
        }
        if ((err = lexer_next(&parser->lexer)) == GRANARY_OK) {
            err = parser_take(parser, ",", &more);
        }
    }
    *ret_digits = numbers[0];
    *ret_scale = numbers[1];
    return err == GRANARY_OK ? parser_expect(parser, ")", why) : err;
}

static granary_err parse_dtype(struct parser *parser, granary_dtype *ret_dtype, int *ret_digits);

/* The dtype of the items, behind "list". */
static granary_err
parse_list_dtype(struct parser *parser, int position, granary_dtype *ret_dtype)
{
    granary_dtype item = GRANARY_NULLTYPE;
    int digits = 0;
    granary_err err = lexer_next(&parser->lexer);

    err = err == GRANARY_OK ? parse_dtype(parser, &item, &digits) : err;
    err = err == GRANARY_OK ? parser_expect(parser, ")", "list(DTYPE)") : err;
    if (err == GRANARY_OK && gr_dtype_is_list(item)) {
        err = lexer_fail(&parser->lexer, position, "there are no lists of lists");
    }
    *ret_dtype = GRANARY_LIST(item);
    return err;
}

/* A dtype as granary names it, or one of SQL's names. */
static granary_err
parse_dtype(struct parser *parser, granary_dtype *ret_dtype, int *ret_digits)
{
    static const struct {
        const char *name;
        granary_dtype dtype;
    } others[] = {
#define ROW(text, name) {text, GRANARY_##name},
        GR_DTYPE_ALIASES(ROW)
#undef ROW
    };
    const struct token name = parser->lexer.token;
    char text[32];
    int scale = 0;
    granary_err err = lexer_next(&parser->lexer);

    (void)snprintf(text, sizeof text, "%.*s", (int)(name.size > 30 ? 30 : name.size), name.start);
    if (err == GRANARY_OK && strcasecmp(text, "list") == 0 && token_is(&parser->lexer.token, "(")) {
        return parse_list_dtype(parser, name.position, ret_dtype);
    }
    for (char *at = text; *at != '\0'; at++) {
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at + 32) : *at;
    }
    if (err == GRANARY_OK && (strcmp(text, "decimal") == 0 || strcmp(text, "numeric") == 0)) {
        err = parse_decimal(parser, ret_digits, &scale);
        (void)snprintf(text, sizeof text, "decimal(%d)", scale);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    *ret_dtype = gr_dtype_parse(text);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(text, others[i].name) == 0) {
            *ret_dtype = others[i].dtype;
        }
    }
    if (*ret_dtype == GRANARY_NULLTYPE) {
        return lexer_fail(
            &parser->lexer, name.position,
            "'%s' is no dtype; there are bool, int8 to int64, uint8 to uint64, float32, float64, string, binary, "
            "date, time, timestamp, timestamptz, duration, decimal(0) to decimal(38), and list(...) of these",
            text);
    }
    return GRANARY_OK;
}

granary_err
parse_cast(struct parser *parser, const struct token *word, struct gr_expr **ret_expr)
{
    granary_dtype dtype = GRANARY_NULLTYPE;
    int digits = 0;
    struct gr_expr *expr = NULL;
    granary_err err = lexer_next(&parser->lexer);

    if (err != GRANARY_OK || (err = parse_or(parser, &expr)) != GRANARY_OK) {
        return err;
    }
    if ((err = parser_expect(parser, "as", "cast(VALUE as DTYPE)")) == GRANARY_OK &&
        (err = parse_dtype(parser, &dtype, &digits)) == GRANARY_OK) {
        err = parser_expect(parser, ")", "to end the cast");
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(expr);
        return err;
    }
    err =
        parser_call(parser, token_is(word, "cast") ? GR_OP_CAST : GR_OP_TRY_CAST, word->position, expr, NULL, ret_expr);
    if (err == GRANARY_OK) {
        (*ret_expr)->target = dtype;
        (*ret_expr)->digits = digits;
    }
    return err;
}
