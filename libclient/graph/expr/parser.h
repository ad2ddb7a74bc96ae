/*
 * The parser's state, what its parts share, and the door of each part. In this room only.
 *
 * A parse_x() reads from the current token on and steps behind what it read. *gives* the tree; on an error it gives
 * none, and whatever it *takes* is gone. Errors: EINVAL with the position, ENOMEM.
 */
#ifndef GRAPH_EXPR_PARSER_H
#define GRAPH_EXPR_PARSER_H

#include "base/error.h"
#include "graph/expr/lex.h"

struct parser {
    struct lexer lexer;
    int nesting;
    int nodes;
    int listed; /* literals of `in`, which are counted apart */
    int cases;  /* open ones: their words are no names */
};

typedef granary_err parse_fn(struct parser *parser, struct gr_expr **ret_expr);

static inline granary_err
parser_no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

/* A node without operands, within the limit on what one expression may hold. */
granary_err parser_new(struct parser *parser, enum gr_expr_kind kind, int position, struct gr_expr **ret_expr);

/* The same of two, or of one when right is NULL. */
granary_err parser_call(struct parser *parser, enum gr_expr_op op, int position, struct gr_expr *left,
                        struct gr_expr *right, struct gr_expr **ret_expr);

/* A copy of an operand that the text has once and the tree twice. */
granary_err parser_copy(struct parser *parser, const struct gr_expr *expr, struct gr_expr **ret_copy);

/* The limit on nesting: leave what was entered. */
granary_err parser_enter(struct parser *parser);
void parser_leave(struct parser *parser);

/* Step over the symbol or word, which must stand here. */
granary_err parser_expect(struct parser *parser, const char *symbol, const char *why);

/* Step over the symbol or word if it stands here. */
granary_err parser_take(struct parser *parser, const char *word, bool *ret_taken);

/* ---- operands as they are read ---- */

struct operands {
    struct gr_expr **items;
    size_t count;
    size_t room;
};

/* *Takes* the operand. */
granary_err operands_add(struct operands *operands, struct gr_expr *operand);

/* Read one and add it. */
granary_err operands_parse(struct parser *parser, parse_fn *parse, struct operands *operands);

/* A call of the operands when all went well; they are gone in any case. */
granary_err operands_call(struct parser *parser, granary_err err, enum gr_expr_op op, int position,
                          struct operands *operands, struct gr_expr **ret_expr);

/* ---- parse.c ---- */

/* A whole expression, the loosest operator first. */
parse_fn parse_or;

/* What binds tighter than comparisons. */
parse_fn parse_sum;

/* ---- parse_literal.c ---- */

/* The token is a number; the sign stood before it: -9223372036854775808 has no positive twin. */
granary_err parse_number(struct parser *parser, bool negative, int position, struct gr_expr **ret_expr);

/* The token is a text, to be string, date, time or one of the timestamps. */
granary_err parse_text(struct parser *parser, granary_dtype dtype, int position, struct gr_expr **ret_expr);

/* The name was read. */
granary_err parse_column(struct parser *parser, const struct token *token, struct gr_expr **ret_expr);

/* true, false or null was read. */
granary_err parse_constant(struct parser *parser, const struct token *word, struct gr_expr **ret_expr);

/* ---- parse_interval.c ---- */

/* The word "interval" was read, the token is a text or an integer. */
granary_err parse_interval(struct parser *parser, const struct token *word, struct gr_expr **ret_expr);

/* ---- parse_function.c ---- */

/* A function's name was read, the token is "(". */
granary_err parse_call(struct parser *parser, const struct token *name, struct gr_expr **ret_expr);

/* extract was read, the token is "(": extract(year from x) is year(x). */
granary_err parse_extract(struct parser *parser, const struct token *word, struct gr_expr **ret_expr);

/* ---- parse_form.c ---- */

/* The word "case" was read. */
granary_err parse_case(struct parser *parser, const struct token *word, struct gr_expr **ret_expr);

/* cast or try_cast was read, the token is "(". */
granary_err parse_cast(struct parser *parser, const struct token *word, struct gr_expr **ret_expr);

/* ---- parse_test.c ---- */

/* Whether the token begins what parse_test() reads. */
bool begins_test(const struct parser *parser);

/* What comes after the first operand, which it *takes*. */
granary_err parse_test(struct parser *parser, struct gr_expr *operand, struct gr_expr **ret_expr);

/* Whether it is a literal, perhaps below 0, which lists of `in` count apart (tree.c). */
bool expr_is_listed(const struct gr_expr *item);

#endif
