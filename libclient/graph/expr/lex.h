/* The tokens of an expression. In this room only: the parser reads them. */
#ifndef GRAPH_EXPR_LEX_H
#define GRAPH_EXPR_LEX_H

#include "graph/expr.h"

enum token_kind {
    TOKEN_END,
    TOKEN_SYMBOL, /* operators, brackets, comma: a canonical spelling in `symbol` */
    TOKEN_NAME,   /* without quotes: perhaps a keyword */
    TOKEN_QUOTED_NAME,
    TOKEN_TEXT,
    TOKEN_INT,
    TOKEN_DOUBLE,
};

struct token {
    enum token_kind kind;
    int position;      /* characters from 1 */
    const char *start; /* in the text */
    size_t size;
};

struct lexer {
    const char *text; /* of the whole expression */
    const char *at;
    int position; /* of at, characters from 1 */
    struct token token;
};

/* "expression `...`, position N: ..." */
granary_err
lexer_fail(const struct lexer *lexer, int position, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Step to the next token. Errors: EINVAL */
granary_err lexer_next(struct lexer *lexer);

/* Whether the token is this symbol, or this word without quotes in any case. */
bool token_is(const struct token *token, const char *text);

/* Whether a column's name can stand without backquotes wherever a column can. */
bool lexer_is_plain_name(const char *name);

/* The token as messages show it: `the end`, or its text in quotes, cut. Static per-call buffer of the caller. */
const char *token_show(const struct token *token, char ret_text[48]);

/* The text of a quoted token with doubled quotes made single. *gives* it, NUL-terminated; NULL: no memory. */
char *token_unquote(const struct token *token, size_t *ret_size);

#endif
