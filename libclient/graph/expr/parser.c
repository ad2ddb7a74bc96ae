/* What all parts of the parser use: nodes within their limit, operands, the tokens expected. */
#include <stdlib.h>

#include "base/error.h"
#include "graph/expr/parser.h"

granary_err
parser_new(struct parser *parser, enum gr_expr_kind kind, int position, struct gr_expr **ret_expr)
{
    struct gr_expr *expr;

    if (++parser->nodes > GR_EXPR_NODES) {
        return lexer_fail(&parser->lexer, position, "more than %d operands and operators; split it in several steps",
                          GR_EXPR_NODES);
    }
    expr = calloc(1, sizeof *expr);
    if (expr == NULL) {
        return parser_no_memory();
    }
    expr->kind = kind;
    expr->position = position;
    expr->column_index = -1;
    *ret_expr = expr;
    return GRANARY_OK;
}

/* The limit on what one expression may hold, for nodes that are made otherwise than by parser_new(). */
static granary_err
count_nodes(struct parser *parser, size_t more, int position)
{
    if (more > GR_EXPR_NODES || (parser->nodes += (int)more) > GR_EXPR_NODES) {
        return lexer_fail(&parser->lexer, position, "more than %d operands and operators; split it in several steps",
                          GR_EXPR_NODES);
    }
    return GRANARY_OK;
}

/* An operator over its operands, which it *takes*, on success or not. */
static granary_err
parser_call_of(struct parser *parser, enum gr_expr_op op, int position, struct gr_expr *const *operands, size_t count,
               struct gr_expr **ret_expr)
{
    granary_err err = count_nodes(parser, 1, position);

    if (err != GRANARY_OK) {
        for (size_t i = 0; i < count; i++) {
            gr_expr_destroy(operands[i]);
        }
        return err;
    }
    err = gr_expr_call(op, operands, count, ret_expr);
    if (err == GRANARY_OK) {
        (*ret_expr)->position = position;
    }
    return err;
}

granary_err
parser_call(struct parser *parser, enum gr_expr_op op, int position, struct gr_expr *left, struct gr_expr *right,
            struct gr_expr **ret_expr)
{
    struct gr_expr *const operands[2] = {left, right};

    return parser_call_of(parser, op, position, operands, right != NULL ? 2 : 1, ret_expr);
}

static void
operands_free(struct operands *operands)
{
    for (size_t i = 0; i < operands->count; i++) {
        gr_expr_destroy(operands->items[i]);
    }
    free(operands->items);
    *operands = (struct operands){0};
}

granary_err
operands_add(struct operands *operands, struct gr_expr *operand)
{
    if (operands->count == operands->room) {
        size_t room = operands->room * 2 + 4;
        struct gr_expr **items = realloc(operands->items, room * sizeof(struct gr_expr *));

        if (items == NULL) {
            gr_expr_destroy(operand);
            return parser_no_memory();
        }
        operands->items = items;
        operands->room = room;
    }
    operands->items[operands->count++] = operand;
    return GRANARY_OK;
}

granary_err
operands_call(struct parser *parser, granary_err err, enum gr_expr_op op, int position, struct operands *operands,
              struct gr_expr **ret_expr)
{
    if (err == GRANARY_OK) {
        err = parser_call_of(parser, op, position, operands->items, operands->count, ret_expr);
        operands->count = 0;
    }
    operands_free(operands);
    return err;
}

granary_err
parser_copy(struct parser *parser, const struct gr_expr *expr, struct gr_expr **ret_copy)
{
    granary_err err = count_nodes(parser, gr_expr_size(expr), expr->position);

    return err == GRANARY_OK ? gr_expr_copy(expr, ret_copy) : err;
}

granary_err
parser_enter(struct parser *parser)
{
    if (++parser->nesting > GR_EXPR_NESTING) {
        return lexer_fail(&parser->lexer, parser->lexer.token.position,
                          "nested more than %d deep; split it in several steps", GR_EXPR_NESTING);
    }
    return GRANARY_OK;
}

void
parser_leave(struct parser *parser)
{
    parser->nesting--;
}

granary_err
parser_expect(struct parser *parser, const char *symbol, const char *why)
{
    char shown[48];

    if (!token_is(&parser->lexer.token, symbol)) {
        return lexer_fail(&parser->lexer, parser->lexer.token.position, "'%s' is missing before %s (%s)", symbol,
                          token_show(&parser->lexer.token, shown), why);
    }
    return lexer_next(&parser->lexer);
}

granary_err
parser_take(struct parser *parser, const char *word, bool *ret_taken)
{
    *ret_taken = token_is(&parser->lexer.token, word);
    return *ret_taken ? lexer_next(&parser->lexer) : GRANARY_OK;
}

granary_err
operands_parse(struct parser *parser, granary_err (*parse)(struct parser *parser, struct gr_expr **ret_expr),
               struct operands *operands)
{
    struct gr_expr *expr = NULL;
    granary_err err = parse(parser, &expr);

    return err == GRANARY_OK ? operands_add(operands, expr) : err;
}
