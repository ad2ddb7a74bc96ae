/* Text to tree: recursive descent, one function a line of the grammar in expr.h. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/expr/lex.h"
#include "graph/nearest.h"

struct parser {
    struct lexer lexer;
    int nesting;
    int nodes;
    int cases; /* open ones: their words are no names */
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

/* The limit on what one expression may hold, for nodes that are made otherwise than by new_node(). */
static granary_err
count_nodes(struct parser *parser, size_t more, int position)
{
    if (more > GR_EXPR_NODES || (parser->nodes += (int)more) > GR_EXPR_NODES) {
        return lexer_fail(&parser->lexer, position, "more than %d operands and operators; split it in several steps",
                          GR_EXPR_NODES);
    }
    return GRANARY_OK;
}

/* *takes* the operands, on success or not. */
static granary_err
new_call_of(struct parser *parser, enum gr_expr_op op, int position, struct gr_expr *const *operands, size_t count,
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

static granary_err
new_call(struct parser *parser, enum gr_expr_op op, int position, struct gr_expr *left, struct gr_expr *right,
         struct gr_expr **ret_expr)
{
    struct gr_expr *const operands[2] = {left, right};

    return new_call_of(parser, op, position, operands, right != NULL ? 2 : 1, ret_expr);
}

/* Operands as they are read. */
struct operands {
    struct gr_expr **items;
    size_t count;
    size_t room;
};

static void
operands_free(struct operands *operands)
{
    for (size_t i = 0; i < operands->count; i++) {
        gr_expr_destroy(operands->items[i]);
    }
    free(operands->items);
    *operands = (struct operands){0};
}

/* *Takes* the operand. */
static granary_err
operands_add(struct operands *operands, struct gr_expr *operand)
{
    if (operands->count == operands->room) {
        size_t room = operands->room * 2 + 4;
        struct gr_expr **items = realloc(operands->items, room * sizeof(struct gr_expr *));

        if (items == NULL) {
            gr_expr_destroy(operand);
            return out_of_memory();
        }
        operands->items = items;
        operands->room = room;
    }
    operands->items[operands->count++] = operand;
    return GRANARY_OK;
}

/* A call of the operands when all went well; they are gone in any case. */
static granary_err
operands_call(struct parser *parser, granary_err err, enum gr_expr_op op, int position, struct operands *operands,
              struct gr_expr **ret_expr)
{
    if (err == GRANARY_OK) {
        err = new_call_of(parser, op, position, operands->items, operands->count, ret_expr);
        operands->count = 0;
    }
    operands_free(operands);
    return err;
}

/* A copy of an operand that the text has once and the tree twice. */
static granary_err
copy_operand(struct parser *parser, const struct gr_expr *expr, struct gr_expr **ret_copy)
{
    granary_err err = count_nodes(parser, gr_expr_size(expr), expr->position);

    return err == GRANARY_OK ? gr_expr_copy(expr, ret_copy) : err;
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

/* Digits with at most one point as units of 10^-scale. false: they are too many for int64, or there is an exponent.
 * A number with a point has a scale of 1 at least: that tells it from an integer. */
static bool
read_decimal(const struct token *token, bool negative, int64_t *ret_units, int *ret_scale)
{
    uint64_t units = 0;
    int scale = 0;
    bool point = false;
    bool over = false;

    for (size_t i = 0; i < token->size; i++) {
        char c = token->start[i];

        if (c == 'e' || c == 'E') {
            return false;
        }
        if (c == '.') {
            point = true;
            continue;
        }
        scale += point;
        over = __builtin_mul_overflow(units, (uint64_t)10, &units) || over;
        over = __builtin_add_overflow(units, (uint64_t)(c - '0'), &units) || over;
    }
    if (point && scale == 0) {
        scale = 1;
        over = __builtin_mul_overflow(units, (uint64_t)10, &units) || over;
    }
    if (over || units > (uint64_t)INT64_MAX + (negative ? 1 : 0) || scale > GRANARY_DECIMAL_SCALE_MOST) {
        return false;
    }
    *ret_units = (int64_t)(negative ? 0 - units : units);
    *ret_scale = scale;
    return true;
}

/* The current token as number, with the sign that stood before it: -9223372036854775808 has no positive twin. */
static granary_err
parse_number(struct parser *parser, bool negative, int position, struct gr_expr **ret_expr)
{
    const struct token token = parser->lexer.token;
    struct gr_expr *expr = NULL;
    granary_err err = new_node(parser, GR_EXPR_LITERAL, position, &expr);
    bool exact;

    if (err != GRANARY_OK) {
        return err;
    }
    exact = read_decimal(&token, negative, &expr->value.i, &expr->scale);
    expr->is_number = true;
    expr->dtype = token.kind == TOKEN_DOUBLE ? GRANARY_FLOAT64 : GRANARY_INT64;
    if (!exact && token.kind != TOKEN_DOUBLE) {
        err = lexer_fail(&parser->lexer, token.position,
                         "the integer does not fit 64 bits; write it with a decimal point for a float64");
    } else {
        expr->scale = exact ? expr->scale : -1;
        err = read_double(parser, token.start, &token, &expr->value.d);
        expr->value.d = negative ? -expr->value.d : expr->value.d;
        if (negative && exact && expr->value.i == 0) {
            /* Floats have a zero with a sign; integers and decimals have not. */
            expr->scale = expr->scale == 0 ? 0 : -1;
            expr->value.d = expr->scale == 0 ? 0.0 : expr->value.d;
        }
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

/* ---- intervals ---- */

static const struct unit {
    const char *name;
    int months;
    int64_t microseconds;
} units[] = {
    {"year", 12, 0},          {"quarter", 3, 0},       {"month", 1, 0},         {"week", 0, 604800000000},
    {"day", 0, 86400000000},  {"hour", 0, 3600000000}, {"minute", 0, 60000000}, {"second", 0, 1000000},
    {"millisecond", 0, 1000}, {"microsecond", 0, 1},
};

/* Months: from year 0 to 9999. */
enum { INTERVAL_MOST = 120000 };

/* Add "COUNT UNIT" to an interval; the unit may end in s. false: no such unit, or too much. */
static bool
interval_add(struct gr_expr *interval, int64_t count, const char *unit, size_t size)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t name = strlen(units[i].name);
        int64_t microseconds;

        if (size < name || strncasecmp(unit, units[i].name, name) != 0 ||
            (size > name && (size > name + 1 || (unit[name] != 's' && unit[name] != 'S')))) {
            continue;
        }
        if (units[i].months > 0) {
            if (count < -INTERVAL_MOST || count > INTERVAL_MOST) {
                return false;
            }
            interval->months += (int)count * units[i].months;
            return interval->months >= -INTERVAL_MOST && interval->months <= INTERVAL_MOST;
        }
        return !__builtin_mul_overflow(count, units[i].microseconds, &microseconds) &&
               !__builtin_add_overflow(interval->value.i, microseconds, &interval->value.i);
    }
    return false;
}

/* "3 months -2 days": pairs of an integer and a unit; or an integer alone, whose unit is the word that follows. */
static bool
interval_read(struct gr_expr *interval, const char *text, const struct token *unit)
{
    const char *at = text + strspn(text, " ");
    bool any = false;

    while (*at != '\0') {
        char *end;
        int64_t count;
        size_t size;

        if (strspn(at, "+-0123456789") == 0 || strspn(at, "+-0123456789") > 19) {
            return false;
        }
        count = strtoll(at, &end, 10);
        at = end + strspn(end, " ");
        if (*at == '\0') {
            return !any && end > text && unit != NULL && interval_add(interval, count, unit->start, unit->size);
        }
        size = strcspn(at, " ");
        if (!interval_add(interval, count, at, size)) {
            return false;
        }
        at += size + strspn(at + size, " ");
        any = true;
    }
    return any && unit == NULL;
}

/* The word "interval" is read, the token is a text or an integer. */
static granary_err
parse_interval(struct parser *parser, const struct token *word, struct gr_expr **ret_expr)
{
    const struct token count = parser->lexer.token;
    struct token unit = {0};
    struct gr_expr *expr = NULL;
    size_t size;
    char *text = count.kind == TOKEN_TEXT ? token_unquote(&count, &size) : strndup(count.start, count.size);
    granary_err err = text == NULL ? out_of_memory() : new_node(parser, GR_EXPR_LITERAL, word->position, &expr);

    if (err == GRANARY_OK) {
        expr->dtype = GRANARY_DURATION;
        expr->is_interval = true;
        err = lexer_next(&parser->lexer);
    }
    if (err == GRANARY_OK && parser->lexer.token.kind == TOKEN_NAME) {
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
            size_t name = strlen(units[i].name);

            if (strncasecmp(parser->lexer.token.start, units[i].name, name) == 0 &&
                parser->lexer.token.size <= name + 1) {
                unit = parser->lexer.token;
            }
        }
        err = unit.start != NULL ? lexer_next(&parser->lexer) : GRANARY_OK;
    }
    if (err == GRANARY_OK && !interval_read(expr, text, unit.start != NULL ? &unit : NULL)) {
        err = lexer_fail(&parser->lexer, count.position,
                         "'%.60s' is no interval: interval '90' day, interval '1 year 2 months'; units are year, "
                         "quarter, month, week, day, hour, minute, second, millisecond, microsecond",
                         text);
    }
    free(text);
    if (err != GRANARY_OK) {
        gr_expr_destroy(expr);
        return err;
    }
    *ret_expr = expr;
    return GRANARY_OK;
}

/* ---- words ---- */

struct function {
    const char *name;
    enum gr_expr_op op;
};

/* Every operator that a word names; those with a form of their own are told apart by is_function(). */
static const struct function ops[] = {
#define EXPR_OP(id, text, least, most, signature) {text, GR_OP_##id},
#include "graph/expr/ops.def"
#undef EXPR_OP
};
static const struct {
    int least;
    int most;
} counts[] = {
#define EXPR_OP(id, text, least, most, signature) {least, most},
#include "graph/expr/ops.def"
#undef EXPR_OP
};
enum { OPS = sizeof ops / sizeof ops[0] };

static const struct function aliases[] = {
    {"isnull", GR_OP_IS_NULL},     {"notnull", GR_OP_IS_NOT_NULL}, {"ceiling", GR_OP_CEIL},
    {"power", GR_OP_POW},          {"mod", GR_OP_MODULO},          {"substr", GR_OP_SUBSTRING},
    {"char_length", GR_OP_LENGTH}, {"len", GR_OP_LENGTH},          {"starts_with", GR_OP_STARTSWITH},
    {"ends_with", GR_OP_ENDSWITH}, {"fillna", GR_OP_COALESCE},     {"ifnull", GR_OP_COALESCE},
    {"dayofmonth", GR_OP_DAY},     {"weekday", GR_OP_DAYOFWEEK},   {"dow", GR_OP_DAYOFWEEK},
    {"doy", GR_OP_DAYOFYEAR},      {"div", GR_OP_FLOOR_DIVIDE},    {"strip", GR_OP_TRIM},
    {"lstrip", GR_OP_LTRIM},       {"rstrip", GR_OP_RTRIM},        {"initcap", GR_OP_TITLE},
    {"is_nan", GR_OP_ISNAN},       {"is_inf", GR_OP_ISINF},
};
enum { ALIASES = sizeof aliases / sizeof aliases[0] };

static bool
is_function(enum gr_expr_op op)
{
    return op > GR_OP_TRY_CAST && op != GR_OP_ADD_INTERVAL && op != GR_OP_CONVERT;
}

static const struct function *
find_function(const struct token *name)
{
    for (size_t i = 0; i < OPS; i++) {
        if (is_function(ops[i].op) && token_is(name, ops[i].name)) {
            return &ops[i];
        }
    }
    for (size_t i = 0; i < ALIASES; i++) {
        if (token_is(name, aliases[i].name)) {
            return &aliases[i];
        }
    }
    return NULL;
}

static const char *
nearest_function(const char *name, char hint[GR_HINT_MAX])
{
    struct gr_nearest nearest = {.name = name};

    for (size_t i = 0; i < OPS; i++) {
        if (is_function(ops[i].op)) {
            gr_nearest_offer(&nearest, ops[i].name);
        }
    }
    for (size_t i = 0; i < ALIASES; i++) {
        gr_nearest_offer(&nearest, aliases[i].name);
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

    return find_function(&token) != NULL || strcasecmp(name, "if") == 0
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "no function '%.60s'%s", name, nearest_function(name, hint));
}

static granary_err
parse_operand(struct parser *parser, granary_err (*parse)(struct parser *parser, struct gr_expr **ret_expr),
              struct operands *operands)
{
    struct gr_expr *expr = NULL;
    granary_err err = parse(parser, &expr);

    return err == GRANARY_OK ? operands_add(operands, expr) : err;
}

static granary_err parse_sum(struct parser *parser, struct gr_expr **ret_expr);

/* Operands up to the closing bracket; SQL has words between them in substring(s from 2 for 3) and position(a in s). */
static granary_err
parse_operands(struct parser *parser, enum gr_expr_op op, struct operands *operands)
{
    granary_err err = GRANARY_OK;

    if (token_is(&parser->lexer.token, ")")) {
        return lexer_next(&parser->lexer);
    }
    for (;;) {
        err = parse_operand(parser, op == GR_OP_POSITION ? parse_sum : parse_or, operands);
        if (err != GRANARY_OK) {
            return err;
        }
        if (!token_is(&parser->lexer.token, ",") &&
            !(op == GR_OP_POSITION && operands->count == 1 && token_is(&parser->lexer.token, "in")) &&
            !(op == GR_OP_SUBSTRING && operands->count == 1 && token_is(&parser->lexer.token, "from")) &&
            !(op == GR_OP_SUBSTRING && operands->count == 2 && token_is(&parser->lexer.token, "for"))) {
            return expect(parser, ")", "to end the function's arguments");
        }
        err = lexer_next(&parser->lexer);
        if (err != GRANARY_OK) {
            return err;
        }
    }
}

/* The word before is a function, the token is "(". */
static granary_err
parse_call(struct parser *parser, const struct token *name, struct gr_expr **ret_expr)
{
    bool is_if = token_is(name, "if");
    const struct function *function = find_function(name);
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

/* ---- case, cast, extract ---- */

static granary_err
take_word(struct parser *parser, const char *word, bool *ret_taken)
{
    *ret_taken = token_is(&parser->lexer.token, word);
    return *ret_taken ? lexer_next(&parser->lexer) : GRANARY_OK;
}

/* The condition of a branch; after `case x` it is x = condition. */
static granary_err
parse_when(struct parser *parser, const struct gr_expr *subject, struct operands *operands)
{
    struct gr_expr *copy = NULL;
    struct gr_expr *expr = NULL;
    int position = parser->lexer.token.position;
    granary_err err = parse_or(parser, &expr);

    if (err == GRANARY_OK && subject != NULL) {
        err = copy_operand(parser, subject, &copy);
        if (err != GRANARY_OK) {
            gr_expr_destroy(expr);
            return err;
        }
        err = new_call(parser, GR_OP_EQUAL, position, copy, expr, &expr);
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
        err = expect(parser, "when", "case when CONDITION then VALUE ... else VALUE end");
        if (err == GRANARY_OK && (err = parse_when(parser, subject, operands)) == GRANARY_OK &&
            (err = expect(parser, "then", "case when CONDITION then VALUE ... else VALUE end")) == GRANARY_OK) {
            err = parse_operand(parser, parse_or, operands);
        }
    } while (err == GRANARY_OK && token_is(&parser->lexer.token, "when"));
    if (err == GRANARY_OK && (err = take_word(parser, "else", &taken)) == GRANARY_OK) {
        if (taken) {
            err = parse_operand(parser, parse_or, operands);
        } else if ((err = new_node(parser, GR_EXPR_LITERAL, parser->lexer.token.position, &null)) == GRANARY_OK) {
            null->is_null = true;
            err = operands_add(operands, null);
        }
    }
    return err;
}

/* The word "case" is read. */
static granary_err
parse_case(struct parser *parser, const struct token *word, struct gr_expr **ret_expr)
{
    struct operands operands = {0};
    struct gr_expr *subject = NULL;
    granary_err err;

    parser->cases++;
    err = enter(parser);
    if (err == GRANARY_OK && !token_is(&parser->lexer.token, "when")) {
        err = parse_or(parser, &subject);
    }
    if (err == GRANARY_OK) {
        err = parse_branches(parser, subject, &operands);
    }
    leave(parser);
    parser->cases--;
    gr_expr_destroy(subject);
    if (err == GRANARY_OK) {
        err = expect(parser, "end", "to close 'case'");
    }
    return operands_call(parser, err, GR_OP_CASE, word->position, &operands, ret_expr);
}

/* A dtype as granary names it, or one of SQL's names. */
static granary_err
parse_dtype(struct parser *parser, granary_dtype *ret_dtype)
{
    static const struct {
        const char *name;
        granary_dtype dtype;
    } others[] = {
        {"int", GRANARY_INT64},    {"bigint", GRANARY_INT64},  {"integer", GRANARY_INT32},  {"smallint", GRANARY_INT16},
        {"tinyint", GRANARY_INT8}, {"float", GRANARY_FLOAT64}, {"double", GRANARY_FLOAT64}, {"real", GRANARY_FLOAT32},
        {"boolean", GRANARY_BOOL}, {"text", GRANARY_STRING},   {"varchar", GRANARY_STRING}, {"str", GRANARY_STRING},
    };
    const struct token name = parser->lexer.token;
    char text[32];
    char shown[48];
    int digits = 0;
    granary_err err = lexer_next(&parser->lexer);

    (void)snprintf(text, sizeof text, "%.*s", (int)(name.size > 30 ? 30 : name.size), name.start);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at + 32) : *at;
    }
    if (err == GRANARY_OK && (strcmp(text, "decimal") == 0 || strcmp(text, "numeric") == 0)) {
        const char *why = "decimal(SCALE) or decimal(DIGITS, SCALE)";

        err = expect(parser, "(", why);
        /* The last of one or two integers is the scale. */
        for (bool more = true; err == GRANARY_OK && more;) {
            const struct token number = parser->lexer.token;

            if (number.kind != TOKEN_INT || number.size > 2) {
                return lexer_fail(&parser->lexer, number.position, "a number of digits is missing before %s (%s)",
                                  token_show(&number, shown), why);
            }
            digits = (int)strtol(number.start, NULL, 10);
            if ((err = lexer_next(&parser->lexer)) == GRANARY_OK) {
                err = take_word(parser, ",", &more);
            }
        }
        (void)snprintf(text, sizeof text, "decimal(%d)", digits);
        err = err == GRANARY_OK ? expect(parser, ")", why) : err;
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
        return lexer_fail(&parser->lexer, name.position,
                          "'%s' is no dtype; there are bool, int8 to int64, uint8 to uint64, float32, float64, string, "
                          "date, timestamp, duration and decimal(0) to decimal(18)",
                          text);
    }
    return GRANARY_OK;
}

/* cast or try_cast is read, the token is "(". */
static granary_err
parse_cast(struct parser *parser, const struct token *word, struct gr_expr **ret_expr)
{
    granary_dtype dtype = GRANARY_NULLTYPE;
    struct gr_expr *expr = NULL;
    granary_err err = lexer_next(&parser->lexer);

    if (err != GRANARY_OK || (err = parse_or(parser, &expr)) != GRANARY_OK) {
        return err;
    }
    if ((err = expect(parser, "as", "cast(VALUE as DTYPE)")) == GRANARY_OK &&
        (err = parse_dtype(parser, &dtype)) == GRANARY_OK) {
        err = expect(parser, ")", "to end the cast");
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(expr);
        return err;
    }
    err = new_call(parser, token_is(word, "cast") ? GR_OP_CAST : GR_OP_TRY_CAST, word->position, expr, NULL, ret_expr);
    if (err == GRANARY_OK) {
        (*ret_expr)->target = dtype;
    }
    return err;
}

/* extract is read, the token is "(": extract(year from x) is year(x). */
static granary_err
parse_extract(struct parser *parser, const struct token *word, struct gr_expr **ret_expr)
{
    struct gr_expr *expr = NULL;
    const struct function *function = NULL;
    struct token part = {0};
    granary_err err = lexer_next(&parser->lexer);

    if (err == GRANARY_OK) {
        part = parser->lexer.token;
        function = part.kind == TOKEN_NAME ? find_function(&part) : NULL;
        if (function == NULL || function->op < GR_OP_YEAR || function->op > GR_OP_EPOCH) {
            return lexer_fail(
                &parser->lexer, part.position,
                "extract(PART from ...): year, quarter, month, week, day, dayofweek, dayofyear, hour, minute, "
                "second, microsecond or epoch is missing");
        }
        err = lexer_next(&parser->lexer);
    }
    if (err == GRANARY_OK) {
        err = expect(parser, "from", "extract(PART from ...)");
    }
    if (err != GRANARY_OK || (err = parse_or(parser, &expr)) != GRANARY_OK) {
        return err;
    }
    err = expect(parser, ")", "to end extract()");
    if (err != GRANARY_OK) {
        gr_expr_destroy(expr);
        return err;
    }
    return new_call(parser, function->op, word->position, expr, NULL, ret_expr);
}

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
    static const struct op_entry table[] = {
        {{"*"}, GR_OP_MULTIPLY}, {{"/"}, GR_OP_DIVIDE}, {{"//"}, GR_OP_FLOOR_DIVIDE}, {{"%"}, GR_OP_MODULO}};

    return parse_chain(parser, table, 4, parse_unary, ret_expr);
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

/* The token is "in": *takes* operand. */
static granary_err
parse_in(struct parser *parser, struct gr_expr *operand, struct gr_expr **ret_expr)
{
    struct operands operands = {0};
    int position = parser->lexer.token.position;
    granary_err err = operands_add(&operands, operand);

    if (err == GRANARY_OK && (err = lexer_next(&parser->lexer)) == GRANARY_OK) {
        err = expect(parser, "(", "x in (1, 2, 3)");
    }
    if (err == GRANARY_OK && (err = enter(parser)) == GRANARY_OK) {
        bool more = true;

        while (more && err == GRANARY_OK) {
            err = parse_operand(parser, parse_or, &operands);
            if (err == GRANARY_OK) {
                err = take_word(parser, ",", &more);
            }
        }
        leave(parser);
    }
    if (err == GRANARY_OK) {
        err = expect(parser, ")", "to end the list");
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
        (err = expect(parser, "and", "x between LOW and HIGH")) == GRANARY_OK &&
        (err = parse_sum(parser, &high)) == GRANARY_OK) {
        err = copy_operand(parser, operand, &copy);
    }
    if (err != GRANARY_OK) {
        gr_expr_destroy(operand);
        gr_expr_destroy(low);
        gr_expr_destroy(high);
        return err;
    }
    if ((err = new_call(parser, GR_OP_GREATER_EQUAL, position, operand, low, &low)) != GRANARY_OK) {
        gr_expr_destroy(copy);
        gr_expr_destroy(high);
        return err;
    }
    if ((err = new_call(parser, GR_OP_LESS_EQUAL, position, copy, high, &high)) != GRANARY_OK) {
        gr_expr_destroy(low);
        return err;
    }
    return new_call(parser, GR_OP_AND, position, low, high, ret_expr);
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
        (err = parse_operand(parser, parse_sum, &operands)) == GRANARY_OK &&
        (err = take_word(parser, "escape", &escape)) == GRANARY_OK && escape) {
        err = parse_operand(parser, parse_sum, &operands);
    }
    return operands_call(parser, err, op, position, &operands, ret_expr);
}

static bool
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

/* What comes after the first operand, when the token is a word: *takes* operand. */
static granary_err
parse_test(struct parser *parser, struct gr_expr *operand, struct gr_expr **ret_expr)
{
    int position = parser->lexer.token.position;
    bool negated = false;
    granary_err err = GRANARY_OK;

    if (token_is(&parser->lexer.token, "is")) {
        return parse_is(parser, operand, ret_expr);
    }
    err = take_word(parser, "not", &negated);
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
        return new_call(parser, GR_OP_NOT, position, operand, NULL, ret_expr);
    }
    *ret_expr = operand;
    return GRANARY_OK;
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
