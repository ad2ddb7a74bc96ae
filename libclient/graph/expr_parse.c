/* Text to tree: recursive descent, one function a line of the grammar in expr.h. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/expr_lex.h"
#include "graph/nearest.h"

struct parser {
    struct lexer lexer;
    int nesting;
    int nodes;
};

static granary_err parse_or(struct parser *parser, struct gr_expr **ret_expr);

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

static granary_err
new_node(struct parser *parser, enum gr_expr_kind kind, int position, struct gr_expr **ret_expr)
{
    struct gr_expr *expr;

    if (++parser->nodes > GR_EXPR_NODES) {
        return lexer_fail(&parser->lexer, position, "more than %d operands and operators; split it in several steps",
                          GR_EXPR_NODES);
    }
    expr = calloc(1, sizeof *expr);
    if (expr == NULL) {
        return out_of_memory();
    }
    expr->kind = kind;
    expr->position = position;
    expr->column_index = -1;
    *ret_expr = expr;
    return GRANARY_OK;
}

/* *takes* the operands, on success or not. */
static granary_err
new_call(struct parser *parser, enum gr_expr_op op, int position, struct gr_expr *left, struct gr_expr *right,
         struct gr_expr **ret_expr)
{
    granary_err err = new_node(parser, GR_EXPR_CALL, position, ret_expr);

    if (err != GRANARY_OK) {
        gr_expr_destroy(left);
        gr_expr_destroy(right);
        return err;
    }
    (*ret_expr)->op = op;
    (*ret_expr)->operands[0] = left;
    (*ret_expr)->operands[1] = right;
    return GRANARY_OK;
}

static granary_err
enter(struct parser *parser)
{
    if (++parser->nesting > GR_EXPR_NESTING) {
        return lexer_fail(&parser->lexer, parser->lexer.token.position,
                          "nested more than %d deep; split it in several steps", GR_EXPR_NESTING);
    }
    return GRANARY_OK;
}

static void
leave(struct parser *parser)
{
    parser->nesting--;
}

static granary_err
expect(struct parser *parser, const char *symbol, const char *why)
{
    char shown[48];

    if (!token_is(&parser->lexer.token, symbol)) {
        return lexer_fail(&parser->lexer, parser->lexer.token.position, "'%s' is missing before %s (%s)", symbol,
                          token_show(&parser->lexer.token, shown), why);
    }
    return lexer_next(&parser->lexer);
}

/* ---- literals and names ---- */

static granary_err
read_double(struct parser *parser, const char *text, const struct token *token, double *ret_value)
{
    /* A host program may have set a locale with another decimal point. */
    locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);

    if (c_locale == (locale_t)0) {
        return out_of_memory();
    }
    *ret_value = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    if (isinf(*ret_value)) {
        return lexer_fail(&parser->lexer, token->position, "the number is too large for a float64");
    }
    return GRANARY_OK;
}

/* The current token as number, with the sign that stood before it: -9223372036854775808 has no positive twin. */
static granary_err
parse_number(struct parser *parser, bool negative, int position, struct gr_expr **ret_expr)
{
    const struct token token = parser->lexer.token;
    struct gr_expr *expr = NULL;
    granary_err err = new_node(parser, GR_EXPR_LITERAL, position, &expr);

    if (err != GRANARY_OK) {
        return err;
    }
    if (token.kind == TOKEN_DOUBLE) {
        expr->dtype = GRANARY_FLOAT64;
        err = read_double(parser, token.start, &token, &expr->value.d);
        expr->value.d = negative ? -expr->value.d : expr->value.d;
    } else {
        uint64_t value = 0;
        bool over = false;

        for (size_t i = 0; i < token.size; i++) {
            over = __builtin_mul_overflow(value, (uint64_t)10, &value) || over;
            over = __builtin_add_overflow(value, (uint64_t)(token.start[i] - '0'), &value) || over;
        }
        if (over || value > (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
            err = lexer_fail(&parser->lexer, token.position,
                             "the integer does not fit 64 bits; write it with a decimal point for a float64");
        }
        expr->dtype = GRANARY_INT64;
        expr->value.i = (int64_t)(negative ? 0 - value : value);
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

/* The current token, a text, as string, date or timestamp. */
static granary_err
parse_text(struct parser *parser, granary_dtype dtype, int position, struct gr_expr **ret_expr)
{
    const struct token token = parser->lexer.token;
    struct gr_expr *expr = NULL;
    int32_t days = 0;
    granary_err err = new_node(parser, GR_EXPR_LITERAL, position, &expr);

    if (err != GRANARY_OK) {
        return err;
    }
    expr->dtype = dtype;
    expr->text = token_unquote(&token, &expr->text_size);
    if (expr->text == NULL) {
        err = out_of_memory();
    } else if (dtype == GRANARY_DATE) {
        if (!gr_date_parse(expr->text, expr->text_size, &days)) {
            err = lexer_fail(&parser->lexer, token.position, "'%s' is no date: YYYY-MM-DD", expr->text);
        }
        expr->value.i = days;
    } else if (dtype == GRANARY_TIMESTAMP) {
        if (!gr_timestamp_parse(expr->text, expr->text_size, &expr->value.i)) {
            err = lexer_fail(&parser->lexer, token.position, "'%s' is no timestamp: YYYY-MM-DD hh:mm:ss", expr->text);
        }
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

static granary_err
parse_column(struct parser *parser, const struct token *token, struct gr_expr **ret_expr)
{
    struct gr_expr *expr = NULL;
    size_t size;
    granary_err err = new_node(parser, GR_EXPR_COLUMN, token->position, &expr);

    if (err != GRANARY_OK) {
        return err;
    }
    expr->column = token->kind == TOKEN_QUOTED_NAME ? token_unquote(token, &size) : strndup(token->start, token->size);
    if (expr->column == NULL) {
        err = out_of_memory();
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

/* ---- words ---- */

static const struct {
    const char *name;
    enum gr_expr_op op;
} functions[] = {
    {"abs", GR_OP_ABS},       {"sqrt", GR_OP_SQRT},   {"isnull", GR_OP_IS_NULL}, {"notnull", GR_OP_IS_NOT_NULL},
    {"year", GR_OP_YEAR},     {"month", GR_OP_MONTH}, {"day", GR_OP_DAY},        {"lower", GR_OP_LOWER},
    {"length", GR_OP_LENGTH},
};

static granary_err
no_function(struct parser *parser, const struct token *token)
{
    char name[64];
    char hint[GR_HINT_MAX];
    struct gr_nearest nearest = {.name = name};

    (void)snprintf(name, sizeof name, "%.*s", (int)(token->size > 60 ? 60 : token->size), token->start);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        gr_nearest_offer(&nearest, functions[i].name);
    }
    if (nearest.best == NULL) {
        return lexer_fail(&parser->lexer, token->position,
                          "no function '%s'; there are: abs, sqrt, isnull, notnull, year, month, day, lower, length",
                          name);
    }
    return lexer_fail(&parser->lexer, token->position, "no function '%s'%s", name, gr_nearest_hint(&nearest, hint));
}

/* The name before is a function, the token is "(". */
static granary_err
parse_call(struct parser *parser, const struct token *name, struct gr_expr **ret_expr)
{
    struct gr_expr *operand = NULL;
    granary_err err = GRANARY_OK;
    size_t i = 0;
    const size_t count = sizeof functions / sizeof functions[0];

    while (i < count && !token_is(name, functions[i].name)) {
        i++;
    }
    if (i == count) {
        return no_function(parser, name);
    }
    if ((err = lexer_next(&parser->lexer)) != GRANARY_OK || (err = parse_or(parser, &operand)) != GRANARY_OK) {
        return err;
    }
    if (token_is(&parser->lexer.token, ",")) {
        err = lexer_fail(&parser->lexer, parser->lexer.token.position, "%s() takes one argument", functions[i].name);
    } else {
        err = expect(parser, ")", "to end the function's argument");
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(operand);
        return err;
    }
    return new_call(parser, functions[i].op, name->position, operand, NULL, ret_expr);
}

static bool
is_reserved(const struct token *token)
{
    static const char *const words[] = {"and", "or", "not", "is"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (token_is(token, words[i])) {
            return true;
        }
    }
    return false;
}

static granary_err
parse_constant(struct parser *parser, const struct token *word, struct gr_expr **ret_expr)
{
    granary_err err = new_node(parser, GR_EXPR_LITERAL, word->position, ret_expr);

    if (err == GRANARY_OK) {
        (*ret_expr)->is_null = token_is(word, "null");
        (*ret_expr)->dtype = token_is(word, "null") ? GRANARY_NULLTYPE : GRANARY_BOOL;
        (*ret_expr)->value.i = token_is(word, "true");
    }
    return err;
}

/* The current token is a name without quotes: keyword, function, typed literal or column. */
static granary_err
parse_word(struct parser *parser, struct gr_expr **ret_expr)
{
    const struct token word = parser->lexer.token;
    granary_err err = lexer_next(&parser->lexer);

    if (err != GRANARY_OK) {
        return err;
    }
    if (token_is(&word, "true") || token_is(&word, "false") || token_is(&word, "null")) {
        return parse_constant(parser, &word, ret_expr);
    }
    if (parser->lexer.token.kind == TOKEN_TEXT && (token_is(&word, "date") || token_is(&word, "timestamp"))) {
        return parse_text(parser, token_is(&word, "date") ? GRANARY_DATE : GRANARY_TIMESTAMP, word.position, ret_expr);
    }
    if (token_is(&parser->lexer.token, "(")) {
        return parse_call(parser, &word, ret_expr);
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
    err = expect(parser, ")", "to close the bracket");
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
        if (!is_reserved(&token)) {
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
    granary_err err = enter(parser);

    if (err != GRANARY_OK) {
        return err;
    }
    if (!minus) {
        err = parse_primary(parser, ret_expr);
    } else if ((err = lexer_next(&parser->lexer)) == GRANARY_OK) {
        if (parser->lexer.token.kind == TOKEN_INT || parser->lexer.token.kind == TOKEN_DOUBLE) {
            err = parse_number(parser, true, position, ret_expr);
        } else if ((err = parse_unary(parser, &operand)) == GRANARY_OK) {
            err = new_call(parser, GR_OP_NEGATE, position, operand, NULL, ret_expr);
        }
    }
    leave(parser);
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

typedef granary_err parse_fn(struct parser *parser, struct gr_expr **ret_expr);

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
    return new_call(parser, op, position, left, right, ret_expr);
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
    static const struct op_entry table[] = {{{"*"}, GR_OP_MULTIPLY}, {{"/"}, GR_OP_DIVIDE}, {{"%"}, GR_OP_MODULO}};

    return parse_chain(parser, table, 3, parse_unary, ret_expr);
}

static granary_err
parse_sum(struct parser *parser, struct gr_expr **ret_expr)
{
    static const struct op_entry table[] = {{{"+"}, GR_OP_ADD}, {{"-"}, GR_OP_SUBTRACT}};

    return parse_chain(parser, table, 2, parse_product, ret_expr);
}

static const struct op_entry comparisons[] = {
    {{"=", "=="}, GR_OP_EQUAL}, {{"!=", "<>"}, GR_OP_NOT_EQUAL}, {{"<"}, GR_OP_LESS},
    {{"<="}, GR_OP_LESS_EQUAL}, {{">"}, GR_OP_GREATER},          {{">="}, GR_OP_GREATER_EQUAL},
};
enum { COMPARISONS = sizeof comparisons / sizeof comparisons[0] };

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
        err = expect(parser, "null", "'is' asks for null only; '=' compares");
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(operand);
        return err;
    }
    return new_call(parser, op, position, operand, NULL, ret_expr);
}

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
    } else if (token_is(&parser->lexer.token, "is")) {
        err = parse_is(parser, expr, &expr);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (find_operator(parser, comparisons, COMPARISONS) != NULL || token_is(&parser->lexer.token, "is")) {
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
    if ((err = enter(parser)) != GRANARY_OK) {
        return err;
    }
    if ((err = lexer_next(&parser->lexer)) == GRANARY_OK && (err = parse_not(parser, &operand)) == GRANARY_OK) {
        err = new_call(parser, GR_OP_NOT, position, operand, NULL, ret_expr);
    }
    leave(parser);
    return err;
}

static granary_err
parse_and(struct parser *parser, struct gr_expr **ret_expr)
{
    static const struct op_entry table[] = {{{"and", "&&", "&"}, GR_OP_AND}};

    return parse_chain(parser, table, 1, parse_not, ret_expr);
}

static granary_err
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
