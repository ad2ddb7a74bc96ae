/* Tests in words after an operand: is null, in, between, like, and their negations. */

#include "base/error.h"
#include "graph/expr/parser.h"

/* The token is "is": *takes* operand. */
static granary_err
parse_is(struct parser *parser, struct gr_expr *operand, struct gr_expr **ret_expr)
{
    int position = parser->lexer.token.position;
    enum gr_expr_op op = GR_OP_IS_NULL;
    granary_err err = lexer_next(&parser->lexer);

    if (err == GRANARY_OK && token_is(&parser->lexer.token, "not")) {
        op = GR_OP_IS_NOT_NULL;
        err = lexer_next(&parser->lexer);
    }
    if (err == GRANARY_OK) {
        err = parser_expect(parser, "null", "'is' asks for null only; '=' compares");
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(operand);
        return err;
    }
    return parser_call(parser, op, position, operand, NULL, ret_expr);
}

/* Literals of a list are found by hashing, and do not make an expression slow: their limit is another one. */
static granary_err
count_listed(struct parser *parser, const struct gr_expr *item)
{
    if (!expr_is_listed(item)) {
        return GRANARY_OK;
    }
    parser->nodes -= 1 + (int)item->operand_count;
    return ++parser->listed <= GR_EXPR_LISTED
               ? GRANARY_OK
               : lexer_fail(&parser->lexer, item->position, "more than %d values in lists", GR_EXPR_LISTED);
}

/* The token is "in": *takes* operand. */
static granary_err
parse_in(struct parser *parser, struct gr_expr *operand, struct gr_expr **ret_expr)
{
    struct operands operands = {0};
    int position = parser->lexer.token.position;
    granary_err err = operands_add(&operands, operand);

    if (err == GRANARY_OK && (err = lexer_next(&parser->lexer)) == GRANARY_OK) {
        err = parser_expect(parser, "(", "x in (1, 2, 3)");
    }
    if (err == GRANARY_OK && (err = parser_enter(parser)) == GRANARY_OK) {
        bool more = true;

        while (more && err == GRANARY_OK) {
            err = operands_parse(parser, parse_or, &operands);
            if (err == GRANARY_OK) {
                err = count_listed(parser, operands.items[operands.count - 1]);
            }
            if (err == GRANARY_OK) {
                err = parser_take(parser, ",", &more);
            }
        }
        parser_leave(parser);
    }
    if (err == GRANARY_OK) {
        err = parser_expect(parser, ")", "to end the list");
    }
    return operands_call(parser, err, GR_OP_IN, position, &operands, ret_expr);
}

/* The token is "between": *takes* operand. It is written once, and so it stands twice in `low <= x and x <= high`. */
static granary_err
parse_between(struct parser *parser, struct gr_expr *operand, struct gr_expr **ret_expr)
{
    struct gr_expr *low = NULL;
    struct gr_expr *high = NULL;
    struct gr_expr *copy = NULL;
    int position = parser->lexer.token.position;
    granary_err err = lexer_next(&parser->lexer);

    if (err == GRANARY_OK && (err = parse_sum(parser, &low)) == GRANARY_OK &&
        (err = parser_expect(parser, "and", "x between LOW and HIGH")) == GRANARY_OK &&
        (err = parse_sum(parser, &high)) == GRANARY_OK) {
        err = parser_copy(parser, operand, &copy);
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(operand);
        gr_expr_destroy(low);
        gr_expr_destroy(high);
        return err;
    }
    if ((err = parser_call(parser, GR_OP_GREATER_EQUAL, position, operand, low, &low)) != GRANARY_OK) {
        gr_expr_destroy(copy);
        gr_expr_destroy(high);
        return err;
    }
    if ((err = parser_call(parser, GR_OP_LESS_EQUAL, position, copy, high, &high)) != GRANARY_OK) {
        gr_expr_destroy(low);
        return err;
    }
    return parser_call(parser, GR_OP_AND, position, low, high, ret_expr);
}

/* The token is "like" or "ilike": *takes* operand. */
static granary_err
parse_like(struct parser *parser, struct gr_expr *operand, struct gr_expr **ret_expr)
{
    struct operands operands = {0};
    int position = parser->lexer.token.position;
    enum gr_expr_op op = token_is(&parser->lexer.token, "like") ? GR_OP_LIKE : GR_OP_ILIKE;
    bool escape = false;
    granary_err err = operands_add(&operands, operand);

    if (err == GRANARY_OK && (err = lexer_next(&parser->lexer)) == GRANARY_OK &&
        (err = operands_parse(parser, parse_sum, &operands)) == GRANARY_OK &&
        (err = parser_take(parser, "escape", &escape)) == GRANARY_OK && escape) {
        err = operands_parse(parser, parse_sum, &operands);
    }
    return operands_call(parser, err, op, position, &operands, ret_expr);
}

bool
begins_test(const struct parser *parser)
{
    static const char *const words[] = {"is", "in", "between", "like", "ilike", "not"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (parser->lexer.token.kind == TOKEN_NAME && token_is(&parser->lexer.token, words[i])) {
            return true;
        }
    }
    return false;
}

granary_err
parse_test(struct parser *parser, struct gr_expr *operand, struct gr_expr **ret_expr)
{
    int position = parser->lexer.token.position;
    bool negated = false;
    granary_err err = GRANARY_OK;

    if (token_is(&parser->lexer.token, "is")) {
        return parse_is(parser, operand, ret_expr);
    }
    err = parser_take(parser, "not", &negated);
    if (err != GRANARY_OK) {
        gr_expr_destroy(operand);
        return err;
    }
    if (token_is(&parser->lexer.token, "in")) {
        err = parse_in(parser, operand, &operand);
    } else if (token_is(&parser->lexer.token, "between")) {
        err = parse_between(parser, operand, &operand);
    } else if (token_is(&parser->lexer.token, "like") || token_is(&parser->lexer.token, "ilike")) {
        err = parse_like(parser, operand, &operand);
    } else {
        gr_expr_destroy(operand);
        return lexer_fail(&parser->lexer, position,
                          "an operator is missing before 'not'; 'not in', 'not between', "
                          "'not like' and 'not ilike' can stand here");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (negated) {
        return parser_call(parser, GR_OP_NOT, position, operand, NULL, ret_expr);
    }
    *ret_expr = operand;
    return GRANARY_OK;
}
