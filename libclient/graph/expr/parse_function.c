/* Functions by their names, and extract(), which names one in its own way. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "graph/expr/parser.h"
#include "graph/operators/nearest.h"

/* A name, and the operands that the function has under any of its names. */
struct function {
    const char *name;
    enum gr_expr_op op;
};

/* Under its own name first: that is what messages suggest before another one. */
static const struct function functions[] = {
#define FUNCTION(id, text, ...) {text, GR_OP_##id},
#include "graph/expr/ops.def"
#define ALIAS(id, name) {name, GR_OP_##id},
#include "graph/expr/ops.def"
};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static const struct {
    int least;
    int most;
} counts[] = {
#define EXPR_OP(id, text, least, most, ...) {least, most},
#include "graph/expr/ops.def"
};

static const struct function *
function_find(const struct token *name)
{
    for (size_t i = 0; i < FUNCTIONS; i++) {
        if (token_is(name, functions[i].name)) {
            return &functions[i];
        }
    }
    return NULL;
}

static const char *
nearest_function(const char *name, char hint[GR_HINT_MAX])
{
    struct gr_nearest nearest = {.name = name};

    for (size_t i = 0; i < FUNCTIONS; i++) {
        gr_nearest_offer(&nearest, functions[i].name);
    }
    return gr_nearest_hint(&nearest, hint);
}

static granary_err
no_function(struct parser *parser, const struct token *token)
{
    char name[64];
    char hint[GR_HINT_MAX];

    (void)snprintf(name, sizeof name, "%.*s", (int)(token->size > 60 ? 60 : token->size), token->start);
    return lexer_fail(&parser->lexer, token->position, "no function '%s'%s", name, nearest_function(name, hint));
}

granary_err
gr_expr_check_function(const char *name)
{
    const struct token token = {.kind = TOKEN_NAME, .position = 1, .start = name, .size = strlen(name)};
    char hint[GR_HINT_MAX];

    return function_find(&token) != NULL || strcasecmp(name, "if") == 0
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "no function '%.60s'%s", name, nearest_function(name, hint));
}

/* Operands up to the closing bracket; SQL has words between them in substring(s from 2 for 3) and position(a in s). */
static granary_err
parse_operands(struct parser *parser, enum gr_expr_op op, struct operands *operands)
{
    granary_err err = GRANARY_OK;

    if (token_is(&parser->lexer.token, ")")) {
        return lexer_next(&parser->lexer);
    }
    for (;;) {
        err = operands_parse(parser, op == GR_OP_POSITION ? parse_sum : parse_or, operands);
        if (err != GRANARY_OK) {
            return err;
        }
        if (!token_is(&parser->lexer.token, ",") &&
            !(op == GR_OP_POSITION && operands->count == 1 && token_is(&parser->lexer.token, "in")) &&
            !(op == GR_OP_SUBSTRING && operands->count == 1 && token_is(&parser->lexer.token, "from")) &&
            !(op == GR_OP_SUBSTRING && operands->count == 2 && token_is(&parser->lexer.token, "for"))) {
            return parser_expect(parser, ")", "to end the function's arguments");
        }
        err = lexer_next(&parser->lexer);
        if (err != GRANARY_OK) {
            return err;
        }
    }
}

granary_err
parse_call(struct parser *parser, const struct token *name, struct gr_expr **ret_expr)
{
    bool is_if = token_is(name, "if");
    const struct function *function = function_find(name);
    enum gr_expr_op op = is_if ? GR_OP_CASE : function != NULL ? function->op : GR_OP_ADD;
    struct operands operands = {0};
    int least;
    int most;
    granary_err err;

    if (!is_if && function == NULL) {
        return no_function(parser, name);
    }
    least = is_if ? 3 : counts[op].least;
    most = is_if ? 3 : counts[op].most;
    if ((err = lexer_next(&parser->lexer)) == GRANARY_OK) {
        err = parse_operands(parser, op, &operands);
    }
    if (err == GRANARY_OK && ((int)operands.count < least || (most >= 0 && (int)operands.count > most))) {
        char takes[48];

        if (most < 0) {
            (void)snprintf(takes, sizeof takes, "%d or more", least);
        } else if (least == most) {
            (void)snprintf(takes, sizeof takes, "%d", least);
        } else {
            (void)snprintf(takes, sizeof takes, "%d to %d", least, most);
        }
        err = lexer_fail(&parser->lexer, name->position, "%.*s() takes %s argument%s, not %zu", (int)name->size,
                         name->start, takes, most == 1 ? "" : "s", operands.count);
    }
    return operands_call(parser, err, op, name->position, &operands, ret_expr);
}

granary_err
parse_extract(struct parser *parser, const struct token *word, struct gr_expr **ret_expr)
{
    struct gr_expr *expr = NULL;
    const struct function *function = NULL;
    struct token part = {0};
    granary_err err = lexer_next(&parser->lexer);

    if (err == GRANARY_OK) {
        part = parser->lexer.token;
        function = part.kind == TOKEN_NAME ? function_find(&part) : NULL;
        if (function == NULL || function->op < GR_OP_YEAR || function->op > GR_OP_EPOCH) {
            return lexer_fail(
                &parser->lexer, part.position,
                "extract(PART from ...): year, quarter, month, week, day, dayofweek, dayofyear, hour, minute, "
                "second, microsecond or epoch is missing");
        }
        err = lexer_next(&parser->lexer);
    }
    if (err == GRANARY_OK) {
        err = parser_expect(parser, "from", "extract(PART from ...)");
    }
    if (err != GRANARY_OK || (err = parse_or(parser, &expr)) != GRANARY_OK) {
        return err;
    }
    err = parser_expect(parser, ")", "to end extract()");
    if (err != GRANARY_OK) {
        gr_expr_destroy(expr);
        return err;
    }
    return parser_call(parser, function->op, word->position, expr, NULL, ret_expr);
}
