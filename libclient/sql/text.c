/* Expressions as the graph's are written (graph/expr.h). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "data/value/number.h"
#include "graph/expr.h"
#include "sql/block.h"
#include "sql/told.h"

bool
sql_name_expr(struct sql_block *block, const struct sql_expr *expr, const char *text)
{
    if (text == NULL) {
        return false;
    }
    for (size_t i = 0; i < block->named_count; i++) { /* a subquery that GROUP BY has: its value was computed before */
        if (block->named[i].expr == expr) {
            block->named[i].text = text;
            return true;
        }
    }
    if (block->named_count == block->named_room) {
        size_t room = block->named_room == 0 ? 16 : 2 * block->named_room;
        struct sql_named *grown = SQL_ARRAY(block->q, struct sql_named, room);

        if (grown == NULL) {
            return false;
        }
        if (block->named_count > 0) {
            memcpy(grown, block->named, block->named_count * sizeof *grown);
        }
        block->named = grown;
        block->named_room = room;
    }
    block->named[block->named_count++] = (struct sql_named){expr, text};
    return true;
}

static void
add_name(struct gr_buf *out, const char *name)
{
    gr_buf_add(out, "`", 1);
    for (; *name != '\0'; name++) {
        gr_buf_add(out, "``", *name == '`' ? 2 : 0);
        if (*name != '`') {
            gr_buf_add(out, name, 1);
        }
    }
    gr_buf_add(out, "`", 1);
}

const char *
sql_quoted(struct sql_statement *q, const char *name)
{
    struct gr_buf out = {0};
    const char *text;

    add_name(&out, name);
    text = gr_buf_ok(&out) ? sql_printf(q, "%s", out.bytes) : NULL;
    gr_buf_free(&out);
    return text;
}

/* A number without an exponent is exact, for which the graph's expressions have a mark: those with a point, and integers
 * that int64 may not hold. */
static void
add_literal(const char *text, struct gr_buf *out)
{
    size_t sign = strspn(text, "(-");
    size_t digits = strspn(text + sign, "0123456789.");
    const char *end = text + sign + digits;
    bool exact = (*end == '\0' || *end == ')') && (digits > 18 || memchr(text + sign, '.', digits) != NULL);

    gr_buf_add(out, text, (size_t)(end - text));
    gr_buf_addf(out, "%s%s", exact ? "^" : "", end);
}

bool
sql_is_rounding(const char *name, size_t size)
{
    static const char *const names[] = {"sign", "floor", "ceil", "trunc", "round"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i]) == size && strncmp(names[i], name, size) == 0) {
            return true;
        }
    }
    return false;
}

static bool add_text(struct sql_block *block, const struct sql_expr *expr, struct gr_buf *out);

/* Functions whose arguments have one type. */
static bool
takes_any_null(const struct sql_expr *expr)
{
    return expr->kind == SQL_FUNCTION && (strcmp(expr->text, "coalesce") == 0 || strcmp(expr->text, "greatest") == 0 ||
                                          strcmp(expr->text, "least") == 0);
}

/* Arguments from..count, with what separates them. */
static bool
add_list(struct sql_block *block, const struct sql_expr *expr, size_t from, const char *separator, struct gr_buf *out)
{
    for (size_t i = from; i < expr->count; i++) {
        if (i > from) {
            gr_buf_addf(out, "%s", separator);
        }
        if (takes_any_null(expr) && expr->args[i]->kind == SQL_COLUMN && expr->args[i]->column->empty) {
            gr_buf_addf(out, "null"); /* of the others' type */
        } else if (!add_text(block, expr->args[i], out)) {
            return false;
        }
    }
    return true;
}

static bool
add_case(struct sql_block *block, const struct sql_expr *expr, struct gr_buf *out)
{
    bool ok = true;

    gr_buf_addf(out, "case");
    for (size_t i = 0; i + 1 < expr->count && ok; i += 2) {
        gr_buf_addf(out, " when ");
        ok = add_text(block, expr->args[i], out);
        gr_buf_addf(out, " then ");
        ok = ok && add_text(block, expr->args[i + 1], out);
    }
    gr_buf_addf(out, " else ");
    ok = ok && add_text(block, expr->args[expr->count - 1], out);
    gr_buf_addf(out, " end");
    return ok;
}

static bool
add_column(struct sql_block *block, const struct sql_expr *expr, struct gr_buf *out)
{
    if (block->grouped && expr->column->block == block && !expr->column->lifted &&
        !sql_is_borrowed(block, expr->column->frame)) {
        return sql_fail(block->q, GRANARY_EINVAL, expr->position,
                        "column '%s' differs within a group: name it in GROUP BY, or aggregate it", expr->text);
    }
    add_name(out, expr->column->frame);
    return true;
}

/* Whether a text in quotes is a float, when it stands beside one. */
static bool
reads_as_real(const char *quoted, double *ret_value)
{
    size_t blanks = 1 + strspn(quoted + 1, " \t");
    size_t size = strlen(quoted) - 1;

    while (size > blanks && strchr(" \t", quoted[size - 1]) != NULL) {
        size--;
    }
    return quoted[0] == '\'' && size > blanks && gr_real_parse(quoted + blanks, size - blanks, ret_value);
}

/* And no nan. */
static bool
is_literal(const struct sql_expr *expr)
{
    double value;

    return (expr->kind == SQL_LITERAL && !(reads_as_real(expr->text, &value) && isnan(value))) ||
           (expr->kind == SQL_PREFIX && expr->args[0]->kind == SQL_LITERAL);
}

static bool
is_number(const struct sql_expr *expr)
{
    const char *text = (expr->kind == SQL_PREFIX ? expr->args[0] : expr)->text;
    double value;

    return reads_as_real(text, &value) || strchr(".0123456789", text[strspn(text, "(-")]) != NULL;
}

/* A nan is the largest value and equal to itself, which the graph's comparisons take a mark for. Literals are no nans:
 * beside a number it matters only whether the other side is larger, beside other literals there are none. */
static const char *
mark_of(const struct sql_expr *expr)
{
    const struct sql_expr *left = expr->args[0];
    const struct sql_expr *right = expr->args[1];

    if (strchr("=!<>", expr->text[0]) == NULL || (is_literal(right) && (expr->text[0] != '>' || !is_number(right))) ||
        (is_literal(left) && (expr->text[0] != '<' || !is_number(left)))) {
        return "";
    }
    return "^";
}

/* The first argument beside another one. */
static bool
add_comparison(struct sql_block *block, const struct sql_expr *expr, const char *text, size_t with, struct gr_buf *out)
{
    struct sql_expr *sides[] = {expr->args[0], expr->args[with]};
    struct sql_expr comparison = {
        .kind = SQL_INFIX, .position = expr->position, .text = text, .args = sides, .count = 2};

    return add_text(block, &comparison, out);
}

/* x in (1, 2) or x = a: of what is no literal each stands alone. */
static bool
add_in(struct sql_block *block, const struct sql_expr *expr, struct gr_buf *out)
{
    struct sql_expr **literals = SQL_ARRAY(block->q, struct sql_expr *, expr->count);
    struct sql_expr list = *expr;
    bool ok = literals != NULL;

    list.args = literals;
    list.count = 0;
    for (size_t i = 0; i < expr->count && ok; i++) {
        if (i == 0 || is_literal(expr->args[i])) {
            literals[list.count++] = expr->args[i];
        }
    }
    gr_buf_addf(out, expr->negated ? "not (" : "");
    if (list.count > 1 && ok) {
        ok = add_text(block, expr->args[0], out);
        gr_buf_addf(out, " in (");
        ok = ok && add_list(block, &list, 1, ", ", out);
        gr_buf_addf(out, ")");
    }
    for (size_t i = 1, more = list.count > 1; i < expr->count && ok; i++) {
        if (!is_literal(expr->args[i])) {
            gr_buf_addf(out, more++ ? " or " : "");
            ok = add_comparison(block, expr, "=", i, out);
        }
    }
    gr_buf_addf(out, expr->negated ? ")" : "");
    return ok;
}

static bool
add_between(struct sql_block *block, const struct sql_expr *expr, struct gr_buf *out)
{
    bool ok;

    if (is_literal(expr->args[1]) && is_literal(expr->args[2])) {
        ok = add_text(block, expr->args[0], out);
        gr_buf_addf(out, " %sbetween ", expr->negated ? "not " : "");
        return ok && add_list(block, expr, 1, " and ", out);
    }
    gr_buf_addf(out, expr->negated ? "not (" : "");
    ok = add_comparison(block, expr, ">=", 1, out);
    gr_buf_addf(out, " and ");
    ok = ok && add_comparison(block, expr, "<=", 2, out);
    gr_buf_addf(out, expr->negated ? ")" : "");
    return ok;
}

static bool
add_operation(struct sql_block *block, const struct sql_expr *expr, struct gr_buf *out)
{
    const char *not = expr->negated ? "not " : "";
    bool ok;

    switch (expr->kind) {
    case SQL_AND:
        return add_list(block, expr, 0, " and ", out);
    case SQL_OR:
        return add_list(block, expr, 0, " or ", out);
    case SQL_INFIX:
        ok = add_text(block, expr->args[0], out);
        gr_buf_addf(out, " %s%s ", expr->text, mark_of(expr));
        return ok && add_text(block, expr->args[1], out);
    case SQL_PREFIX:
        gr_buf_addf(out, "%s ", expr->text);
        return add_text(block, expr->args[0], out);
    case SQL_POSTFIX:
        ok = add_text(block, expr->args[0], out);
        gr_buf_addf(out, " %s", expr->text);
        return ok;
    case SQL_IN:
        return add_in(block, expr, out);
    case SQL_BETWEEN:
        return add_between(block, expr, out);
    case SQL_LIKE:
        ok = add_text(block, expr->args[0], out);
        gr_buf_addf(out, " %s%s ", not, expr->text);
        return ok && add_list(block, expr, 1, " escape ", out);
    default:
        return add_case(block, expr, out);
    }
}

/* The expression as a text in quotes. */
static bool
add_lambda(struct sql_block *block, const struct sql_expr *expr, struct gr_buf *out)
{
    struct gr_buf body = {0};
    size_t named = block->named_count;
    bool ok;

    block->named_count = 0; /* no column of the query is in it */
    ok = add_text(block, expr->args[0], &body) && gr_buf_ok(&body);
    block->named_count = named;

    gr_buf_addf(out, "'");
    for (size_t i = 0; i < body.size && ok; i++) {
        gr_buf_add(out, "''", body.bytes[i] == '\'' ? 2 : 0);
        gr_buf_add(out, &body.bytes[i], body.bytes[i] == '\'' ? 0 : 1);
    }
    gr_buf_addf(out, "'");
    gr_buf_free(&body);
    return ok;
}

static bool
add_one(struct sql_block *block, const struct sql_expr *expr, struct gr_buf *out)
{
    bool ok;

    for (size_t i = 0; i < block->named_count; i++) {
        if (sql_equal(block->named[i].expr, expr)) {
            gr_buf_addf(out, "%s", block->named[i].text);
            return true;
        }
    }
    switch (expr->kind) {
    case SQL_LITERAL:
        add_literal(expr->text, out);
        return true;
    case SQL_COLUMN:
        return add_column(block, expr, out);
    case SQL_FUNCTION:
        if (strcmp(expr->text, SQL_UNNEST) == 0) {
            return sql_fail(block->q, GRANARY_EUNSUPPORTED, expr->position,
                            "unnest() stands in SELECT's list, and in no other one, or in FROM");
        }
        gr_buf_addf(out, "%s%s(", expr->text, sql_is_rounding(expr->text, strlen(expr->text)) ? "^" : "");
        ok = add_list(block, expr, 0, ", ", out);
        gr_buf_addf(out, ")");
        return ok;
    case SQL_CAST:
    case SQL_TRY_CAST:
        gr_buf_addf(out, expr->kind == SQL_CAST ? "cast(" : "try_cast(");
        ok = add_text(block, expr->args[0], out);
        gr_buf_addf(out, " as %s)", expr->text);
        return ok;
    case SQL_AGGREGATE:
        return sql_fail(block->q, GRANARY_EINVAL, expr->position,
                        "an aggregate stands in SELECT, HAVING or ORDER BY, and not in another one");
    case SQL_SUBQUERY:
        return sql_fail(block->q, GRANARY_EUNSUPPORTED, expr->position, "a subquery is not supported here");
    case SQL_RANDOM:
        return sql_fail(block->q, GRANARY_EUNSUPPORTED, expr->position,
                        "random numbers stand in SELECT, WHERE, HAVING, GROUP BY and ORDER BY, and not here");
    case SQL_STAR:
        return sql_fail(block->q, GRANARY_EINVAL, expr->position, "* is no value");
    case SQL_ITEM:
        add_name(out, expr->text);
        return true;
    case SQL_LAMBDA:
        return add_lambda(block, expr, out);
    default:
        gr_buf_addf(out, "(");
        ok = add_operation(block, expr, out);
        gr_buf_addf(out, ")");
        return ok;
    }
}

static bool
add_text(struct sql_block *block, const struct sql_expr *expr, struct gr_buf *out)
{
    size_t from = out->size;
    bool ok = add_one(block, expr, out);

    sql_tell_span(block->q, from, out->size, expr->position);
    return ok;
}

/* What is wrong with an expression, without its text and the position in that, which nobody wrote. */
static const char *
reason_of(const char *message)
{
    static const char place[] = "`, position ";
    const char *reason = NULL;

    for (const char *at = message; (at = strstr(at, place)) != NULL; at++) {
        reason = strstr(at, ": ");
    }
    return reason != NULL ? reason + 2 : message;
}

static size_t
size_of(const struct sql_expr *expr)
{
    size_t size = 1;

    for (size_t i = 0; i < expr->count; i++) {
        size += expr->kind == SQL_IN && i > 0 && is_literal(expr->args[i]) ? 0 : size_of(expr->args[i]);
    }
    return size;
}

/* The part that has the most arguments. */
static const struct sql_expr *
widest(const struct sql_expr *expr)
{
    const struct sql_expr *found = expr;

    for (size_t i = 0; i < expr->count; i++) {
        const struct sql_expr *part = widest(expr->args[i]);

        found = part->count > found->count ? part : found;
    }
    return found;
}

/* More operands and operators than an expression can have. */
static void
fail_too_long(struct sql_block *block, const struct sql_expr *expr)
{
    const struct sql_expr *part = widest(expr);

    (void)sql_fail(block->q, GRANARY_EUNSUPPORTED, part->position,
                   part->kind == SQL_IN   ? "IN has %zu values, more than an expression can have (%d): load them as a "
                                            "table, and write IN (SELECT value FROM it)"
                   : part->kind == SQL_OR ? "OR has %zu terms, more than an expression can have (%d operands and "
                                            "operators): write IN (...), or load the values as a table and join it"
                                          : "this has %zu arguments, more than an expression can have (%d operands and "
                                            "operators): compute parts of it in a subquery",
                   part->kind == SQL_IN ? part->count - 1 : part->count, GR_EXPR_NODES);
}

const char *
sql_text(struct sql_block *block, const struct sql_expr *expr)
{
    struct gr_buf out = {0};
    struct gr_expr *parsed = NULL;
    const char *text = NULL;
    granary_err err;

    if (add_text(block, expr, &out)) {
        if (!gr_buf_ok(&out)) {
            (void)sql_fail(block->q, GRANARY_ENOMEM, -1, "out of memory");
        } else if ((err = gr_expr_parse(out.bytes, &parsed)) == GRANARY_EINVAL && size_of(expr) > GR_EXPR_NODES / 2) {
            fail_too_long(block, expr);
        } else if (err != GRANARY_OK) {
            (void)sql_fail(block->q, err, expr->position, "%s", reason_of(granary_error_message()));
        } else {
            text = sql_printf(block->q, "%s", out.bytes);
        }
    }
    sql_tell_expr(block->q, text, parsed);
    gr_expr_destroy(parsed);
    gr_buf_free(&out);
    return text;
}

const char *
sql_column_named(struct sql_block *block, const struct sql_expr *expr, const char *text)
{
    if (expr->kind == SQL_COLUMN && !block->grouped) {
        return expr->column->frame;
    }
    if (text[0] == '`' && strchr(text + 1, '`') == text + strlen(text) - 1) { /* `name`: a column that was named */
        return sql_printf(block->q, "%.*s", (int)strlen(text) - 2, text + 1);
    }
    return NULL;
}

const char *
sql_column_of(struct sql_block *block, struct sql_rel *rel, const struct sql_expr *expr)
{
    const char *text = sql_text(block, expr);
    const char *name = text == NULL ? NULL : sql_column_named(block, expr, text);

    if (text == NULL || name != NULL) {
        return name;
    }
    name = sql_fresh(block->q, expr->kind == SQL_FUNCTION ? expr->text : "value");
    sql_tell(block->q, name, NULL, expr->position);
    return name != NULL && sql_rel_assign(block->q, rel, &name, &text, 1, expr->position) ? name : NULL;
}
