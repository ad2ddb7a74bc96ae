/* Text to tree: recursive descent, one function a line of the grammar in expr.h; the parts are in parse_*.c. */
#include <string.h>

#include "base/error.h"
#include "graph/expr/parser.h"
#include "graph/operators/nearest.h"

static bool
is_reserved(const struct parser *parser, const struct token *token)
{
    static const char *const words[] = {"and", "or", "not", "is", "in", "between", "like", "ilike"};
    static const char *const in_case[] = {"when", "then", "else", "end"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (token_is(token, words[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof in_case / sizeof in_case[0] && parser->cases > 0; i++) {
        if (token_is(token, in_case[i])) {
            return true;
        }
    }
    return false;
}

/* The current token is a name without quotes: keyword, function, typed literal or column. */
static granary_err
parse_word(struct parser *parser, struct gr_expr **ret_expr)
{
    static const granary_dtype moments[] = {GRANARY_DATE, GRANARY_TIMESTAMP, GRANARY_TIMESTAMPTZ, GRANARY_TIME};
    const struct token word = parser->lexer.token;
    granary_err err = lexer_next(&parser->lexer);

    if (err != GRANARY_OK) {
        return err;
    }
    if (token_is(&word, "true") || token_is(&word, "false") || token_is(&word, "null")) {
        return parse_constant(parser, &word, ret_expr);
    }
    for (size_t i = 0; parser->lexer.token.kind == TOKEN_TEXT && i < sizeof moments / sizeof moments[0]; i++) {
        if (token_is(&word, granary_dtype_name(moments[i]))) {
            return parse_text(parser, moments[i], word.position, ret_expr);
        }
    }
    if (token_is(&word, "interval") &&
        (parser->lexer.token.kind == TOKEN_TEXT || parser->lexer.token.kind == TOKEN_INT)) {
        return parse_interval(parser, &word, ret_expr);
    }
    if (token_is(&word, "case")) {
        return parse_case(parser, &word, ret_expr);
    }
    if (token_is(&parser->lexer.token, "(")) {
        return token_is(&word, "cast") || token_is(&word, "try_cast") ? parse_cast(parser, &word, ret_expr)
               : token_is(&word, "extract")                           ? parse_extract(parser, &word, ret_expr)
                                                                      : parse_call(parser, &word, ret_expr);
    }
    return parse_column(parser, &word, ret_expr);
}

static granary_err
parse_brackets(struct parser *parser, struct gr_expr **ret_expr)
{
    struct gr_expr *expr = NULL;
    granary_err err = lexer_next(&parser->lexer);

    if (err != GRANARY_OK || (err = parse_or(parser, &expr)) != GRANARY_OK) {
        return err;
    }
    err = parser_expect(parser, ")", "to close the bracket");
    if (err != GRANARY_OK) {
        gr_expr_destroy(expr);
        return err;
    }
    *ret_expr = expr;
    return GRANARY_OK;
}

static granary_err
parse_primary(struct parser *parser, struct gr_expr **ret_expr)
{
    const struct token token = parser->lexer.token;
    char shown[48];
    granary_err err;

    switch (token.kind) {
    case TOKEN_INT:
    case TOKEN_DOUBLE:
        return parse_number(parser, false, token.position, ret_expr);
    case TOKEN_TEXT:
        return parse_text(parser, GRANARY_STRING, token.position, ret_expr);
    case TOKEN_QUOTED_NAME:
        err = lexer_next(&parser->lexer);
        return err != GRANARY_OK ? err : parse_column(parser, &token, ret_expr);
    case TOKEN_NAME:
        if (!is_reserved(parser, &token)) {
            return parse_word(parser, ret_expr);
        }
        break;
    case TOKEN_SYMBOL:
        if (token_is(&token, "(")) {
            return parse_brackets(parser, ret_expr);
        }
        break;
    case TOKEN_END:
        break;
    }
    return lexer_fail(&parser->lexer, token.position, "a column, a value or '(' is missing before %s",
                      token_show(&token, shown));
}

/* ---- operators, from the tightest to the loosest ---- */

static granary_err
parse_unary(struct parser *parser, struct gr_expr **ret_expr)
{
    struct gr_expr *operand = NULL;
    int position = parser->lexer.token.position;
    bool minus = token_is(&parser->lexer.token, "-");
    granary_err err = parser_enter(parser);

    if (err != GRANARY_OK) {
        return err;
    }
    if (!minus) {
        err = parse_primary(parser, ret_expr);
    } else if ((err = lexer_next(&parser->lexer)) == GRANARY_OK) {
        if (parser->lexer.token.kind == TOKEN_INT || parser->lexer.token.kind == TOKEN_DOUBLE) {
            err = parse_number(parser, true, position, ret_expr);
        } else if ((err = parse_unary(parser, &operand)) == GRANARY_OK) {
            err = parser_call(parser, GR_OP_NEGATE, position, operand, NULL, ret_expr);
        }
    }
    parser_leave(parser);
    return err;
}

struct op_entry {
    const char *spellings[3];
    enum gr_expr_op op;
};

/* The operator of the table that the token is, or NULL. */
static const struct op_entry *
find_operator(const struct parser *parser, const struct op_entry *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (int j = 0; j < 3 && table[i].spellings[j] != NULL; j++) {
            if (token_is(&parser->lexer.token, table[i].spellings[j])) {
                return &table[i];
            }
        }
    }
    return NULL;
}

/* The token is an operator whose left side was read: *takes* left. */
static granary_err
parse_right(struct parser *parser, enum gr_expr_op op, parse_fn *next, struct gr_expr *left, struct gr_expr **ret_expr)
{
    struct gr_expr *right = NULL;
    int position = parser->lexer.token.position;
    granary_err err = lexer_next(&parser->lexer);

    if (err != GRANARY_OK || (err = next(parser, &right)) != GRANARY_OK) {
        gr_expr_destroy(left);
        return err;
    }
    return parser_call(parser, op, position, left, right, ret_expr);
}

/* next { operator next }, grouped from the left. */
static granary_err
parse_chain(struct parser *parser, const struct op_entry *table, size_t count, parse_fn *next,
            struct gr_expr **ret_expr)
{
    struct gr_expr *left = NULL;
    const struct op_entry *found;
    granary_err err = next(parser, &left);

    while (err == GRANARY_OK && (found = find_operator(parser, table, count)) != NULL) {
        err = parse_right(parser, found->op, next, left, &left);
    }
    if (err == GRANARY_OK) {
        *ret_expr = left;
    }
    return err;
}

static granary_err
parse_product(struct parser *parser, struct gr_expr **ret_expr)
{
    static const struct op_entry table[] = {
        {{"*"}, GR_OP_MULTIPLY}, {{"/"}, GR_OP_DIVIDE}, {{"//"}, GR_OP_FLOOR_DIVIDE}, {{"%"}, GR_OP_MODULO}};

    return parse_chain(parser, table, 4, parse_unary, ret_expr);
}

granary_err
parse_sum(struct parser *parser, struct gr_expr **ret_expr)
{
    static const struct op_entry table[] = {{{"+"}, GR_OP_ADD}, {{"-"}, GR_OP_SUBTRACT}};

    return parse_chain(parser, table, 2, parse_product, ret_expr);
}

static const struct op_entry comparisons[] = {
    {{"=", "=="}, GR_OP_EQUAL},        {{"!=", "<>"}, GR_OP_NOT_EQUAL},  {{"<"}, GR_OP_LESS},
    {{"<="}, GR_OP_LESS_EQUAL},        {{">"}, GR_OP_GREATER},           {{">="}, GR_OP_GREATER_EQUAL},
    {{"=^"}, GR_OP_TOTAL_EQUAL},       {{"!=^"}, GR_OP_TOTAL_NOT_EQUAL}, {{"<^"}, GR_OP_TOTAL_LESS},
    {{"<=^"}, GR_OP_TOTAL_LESS_EQUAL}, {{">^"}, GR_OP_TOTAL_GREATER},    {{">=^"}, GR_OP_TOTAL_GREATER_EQUAL},
};

enum { COMPARISONS = sizeof comparisons / sizeof comparisons[0] };

static granary_err
parse_compare(struct parser *parser, struct gr_expr **ret_expr)
{
    struct gr_expr *expr = NULL;
    const struct op_entry *found;
    granary_err err = parse_sum(parser, &expr);

    if (err != GRANARY_OK) {
        return err;
    }
    if ((found = find_operator(parser, comparisons, COMPARISONS)) != NULL) {
        err = parse_right(parser, found->op, parse_sum, expr, &expr);
    } else if (begins_test(parser)) {
        err = parse_test(parser, expr, &expr);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (find_operator(parser, comparisons, COMPARISONS) != NULL || begins_test(parser)) {
        gr_expr_destroy(expr);
        return lexer_fail(&parser->lexer, parser->lexer.token.position,
                          "comparisons do not chain: join them by 'and', or put one in brackets");
    }
    *ret_expr = expr;
    return GRANARY_OK;
}

static granary_err
parse_not(struct parser *parser, struct gr_expr **ret_expr)
{
    static const struct op_entry table[] = {{{"not", "!", "~"}, GR_OP_NOT}};
    struct gr_expr *operand = NULL;
    int position = parser->lexer.token.position;
    granary_err err;

    if (find_operator(parser, table, 1) == NULL) {
        return parse_compare(parser, ret_expr);
    }
    if ((err = parser_enter(parser)) != GRANARY_OK) {
        return err;
    }
    if ((err = lexer_next(&parser->lexer)) == GRANARY_OK && (err = parse_not(parser, &operand)) == GRANARY_OK) {
        err = parser_call(parser, GR_OP_NOT, position, operand, NULL, ret_expr);
    }
    parser_leave(parser);
    return err;
}

static granary_err
parse_and(struct parser *parser, struct gr_expr **ret_expr)
{
    static const struct op_entry table[] = {{{"and", "&&", "&"}, GR_OP_AND}};

    return parse_chain(parser, table, 1, parse_not, ret_expr);
}

granary_err
parse_or(struct parser *parser, struct gr_expr **ret_expr)
{
    static const struct op_entry table[] = {{{"or", "||", "|"}, GR_OP_OR}};

    return parse_chain(parser, table, 1, parse_and, ret_expr);
}

granary_err
gr_expr_parse(const char *text, struct gr_expr **ret_expr)
{
    struct parser parser = {.lexer = {.text = text, .at = text, .position = 1}};
    struct gr_expr *expr = NULL;
    char shown[48];
    granary_err err;

    if (!gr_is_utf8(text, strlen(text))) {
        return gr_fail(GRANARY_EINVAL, "an expression is not UTF-8 text");
    }
    if ((err = lexer_next(&parser.lexer)) != GRANARY_OK || (err = parse_or(&parser, &expr)) != GRANARY_OK) {
        return err;
    }
    if (parser.lexer.token.kind != TOKEN_END) {
        gr_expr_destroy(expr);
        return lexer_fail(&parser.lexer, parser.lexer.token.position, "an operator is missing before %s",
                          token_show(&parser.lexer.token, shown));
    }
    *ret_expr = expr;
    return GRANARY_OK;
}
