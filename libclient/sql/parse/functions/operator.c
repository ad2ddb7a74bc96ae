/* Operators: IN, BETWEEN, LIKE, comparisons, arithmetic, logic, CASE. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/parse/private.h"

/* ---- operators ---- */

/* a is distinct from b, which is never null: case when a is null then b is not null when b is null then true else a !=
 * b */
static struct sql_expr *
parse_distinct(struct parse *p, const PgQuery__AExpr *from, bool negated)
{
    struct sql_expr *a = parse_expr(p, TAKE(p, from, lexpr));
    struct sql_expr *b = a == NULL ? NULL : parse_expr(p, TAKE(p, from, rexpr));
    struct sql_expr *expr = b == NULL ? NULL : sql_parse_new_expr(p, SQL_CASE, from->location, "", 5);

    if (expr != NULL) {
        expr->args[0] = sql_parse_new_call(p, SQL_POSTFIX, from->location, "is null", a, NULL);
        expr->args[1] = sql_parse_new_call(p, SQL_POSTFIX, from->location, "is not null", b, NULL);
        expr->args[2] = sql_parse_new_call(p, SQL_POSTFIX, from->location, "is null", b, NULL);
        expr->args[3] = sql_parse_new_expr(p, SQL_LITERAL, from->location, "true", 0);
        expr->args[4] = sql_parse_new_call(p, SQL_INFIX, from->location, "!=", a, b);
    }
    return p->q->err != GRANARY_OK ? NULL : negated ? sql_parse_new_negation(p, expr) : expr;
}

const char *
sql_parse_comparison(const char *operator, bool opposite)
{
    static const char *const comparisons[][3] = {{"=", "=", "!="},  {"<>", "!=", "="}, {"<", "<", ">="},
                                                 {"<=", "<=", ">"}, {">", ">", "<="},  {">=", ">=", "<"}};

    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        if (strcmp(comparisons[i][0], operator) == 0) {
            return comparisons[i][opposite ? 2 : 1];
        }
    }
    return NULL;
}

/* ---- rows of values ---- */

static const PgQuery__RowExpr *
row_of(const PgQuery__Node *node)
{
    return node != NULL && node->node_case == PG_QUERY__NODE__NODE_ROW_EXPR ? node->row_expr : NULL;
}

/* The subquery that a row is compared with; NULL: it is none. */
static const PgQuery__SubLink *
query_of(const PgQuery__Node *node)
{
    return node != NULL && node->node_case == PG_QUERY__NODE__NODE_SUB_LINK &&
                   node->sub_link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK
               ? node->sub_link
               : NULL;
}

/* The values of a row: as written, or the columns of a subquery, which has as many. */
static struct sql_expr **
parse_row(struct parse *p, const PgQuery__Node *from, size_t count)
{
    const PgQuery__RowExpr *row = row_of(from);
    struct sql_expr **values = SQL_ARRAY(p->q, struct sql_expr *, count);

    if (row != NULL && row->n_args != count) {
        (void)sql_fail(p->q, GRANARY_EINVAL, row->location, "a row of %zu values is compared with one of %zu",
                       row->n_args, count);
        return NULL;
    }
    if (row != NULL) {
        (void)TAKE(p, row, row_format);
        (void)TAKE(p, row, colnames);
        return parse_exprs(p, TAKE(p, row, args), count);
    }
    for (size_t i = 0; i < count && values != NULL; i++) {
        values[i] = parse_expr(p, from);
        if (values[i] == NULL) {
            return NULL;
        }
        values[i]->row_size = count;
        values[i]->row_place = i;
    }
    return values;
}

/* (a, b) = (c, d): a = c and b = d. (a, b) < (c, d): a < c or (a = c and b < d) */
static struct sql_expr *
compare_rows(struct parse *p, const char *operator, struct sql_expr ** left, struct sql_expr **right, size_t count,
             int position)
{
    bool ordered = operator[0] == '<' || operator[0] == '>';
    const char *strict = operator[0] == '<' ? "<" : ">";
    struct sql_expr *expr = sql_parse_new_call(p, SQL_INFIX, position, operator, left[count - 1], right[count - 1]);

    for (size_t i = count - 1; i-- > 0 && expr != NULL;) {
        struct sql_expr *equal =
            sql_parse_new_call(p, SQL_INFIX, position, ordered ? "=" : operator, left[i], right[i]);
        struct sql_expr *before = sql_parse_new_call(p, SQL_INFIX, position, strict, left[i], right[i]);

        if (ordered) {
            expr = sql_parse_new_call(p, SQL_OR, position, "", before,
                                      sql_parse_new_call(p, SQL_AND, position, "", equal, expr));
        } else {
            expr = sql_parse_new_call(p, operator[0] == '=' ? SQL_AND : SQL_OR, position, "", equal, expr);
        }
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
}

static struct sql_expr *
parse_row_comparison(struct parse *p, const PgQuery__AExpr *from)
{
    const char *name = parse_last(p, TAKE(p, from, name), from->n_name);
    const char *operator= sql_parse_comparison(name, false);
    const PgQuery__Node *sides[2] = {TAKE(p, from, lexpr), TAKE(p, from, rexpr)};
    const PgQuery__RowExpr *row = row_of(sides[0]) != NULL ? row_of(sides[0]) : row_of(sides[1]);
    struct sql_expr **left;
    struct sql_expr **right;

    for (int i = 0; i < 2; i++) {
        if (row_of(sides[i]) == NULL && query_of(sides[i]) == NULL) {
            return sql_parse_refuse(p, from->location,
                                    "a comparison of a row with anything but a row or a subquery is");
        }
    }
    if (operator== NULL) {
        return sql_parse_refuse(p, from->location, "an operator other than a comparison between rows is");
    }
    if (row->n_args == 0) {
        return sql_parse_refuse(p, from->location, "a row without values is");
    }
    left = parse_row(p, sides[0], row->n_args);
    right = left == NULL ? NULL : parse_row(p, sides[1], row->n_args);
    return right == NULL ? NULL : compare_rows(p, operator, left, right, row->n_args, from->location);
}

static const PgQuery__List *
list_of(const PgQuery__Node *node)
{
    return node->node_case == PG_QUERY__NODE__NODE_LIST ? node->list : NULL;
}

/* (a, b) in ((1, 2), (3, 4)): either of these is equal. */
static struct sql_expr *
parse_rows_in(struct parse *p, const PgQuery__AExpr *from, const PgQuery__List *list, bool negated)
{
    const PgQuery__Node *left = TAKE(p, from, lexpr);
    size_t count = row_of(left)->n_args;
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_OR, from->location, "", list->n_items);
    struct sql_expr **values = count == 0 ? NULL : parse_row(p, left, count);

    if (count == 0) {
        return sql_parse_refuse(p, from->location, "a row without values is");
    }
    for (size_t i = 0; i < list->n_items && expr != NULL && values != NULL; i++) {
        const PgQuery__Node *item = TAKE(p, list, items)[i];
        struct sql_expr **right = row_of(item) == NULL && query_of(item) == NULL ? NULL : parse_row(p, item, count);

        if (right == NULL) {
            return p->q->err != GRANARY_OK
                       ? NULL
                       : sql_parse_refuse(p, from->location, "IN of a row and anything but rows is");
        }
        expr->args[i] = compare_rows(p, "=", values, right, count, from->location);
        if (expr->args[i] == NULL) {
            return NULL;
        }
    }
    if (values == NULL || expr == NULL) {
        return NULL;
    }
    expr = list->n_items == 1 ? expr->args[0] : expr;
    return negated ? sql_parse_new_negation(p, expr) : expr;
}

/* x IN list, which brackets stand around */
static struct sql_expr *
parse_in_list(struct parse *p, const PgQuery__AExpr *from)
{
    bool negated = strcmp(parse_string(p, TAKE(p, from, name)[0]), "<>") == 0;
    struct sql_expr *value = parse_expr(p, TAKE(p, from, lexpr));
    const PgQuery__List *list = value == NULL ? NULL : list_of(TAKE(p, from, rexpr));
    struct sql_expr *expr = list == NULL ? NULL
                                         : sql_parse_new_call(p, SQL_FUNCTION, from->location, "list_contains",
                                                              parse_expr(p, TAKE(p, list, items)[0]), value);

    return expr != NULL && negated ? sql_parse_new_negation(p, expr) : expr;
}

static struct sql_expr *
parse_in(struct parse *p, const PgQuery__AExpr *from)
{
    const PgQuery__List *list = list_of(TAKE(p, from, rexpr));
    struct sql_expr *expr =
        list == NULL ? NULL : sql_parse_new_expr(p, SQL_IN, from->location, "in", 1 + list->n_items);

    if (expr == NULL) {
        return NULL;
    }
    expr->negated = strcmp(parse_string(p, TAKE(p, from, name)[0]), "<>") == 0;
    if (row_of(from->lexpr) != NULL) {
        return parse_rows_in(p, from, list, expr->negated);
    }
    expr->args[0] = parse_expr(p, TAKE(p, from, lexpr));
    for (size_t i = 0; i < list->n_items && p->q->err == GRANARY_OK; i++) {
        expr->args[1 + i] = parse_expr(p, TAKE(p, list, items)[i]);
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
}

static struct sql_expr *
parse_between(struct parse *p, const PgQuery__AExpr *from, bool negated)
{
    const PgQuery__List *list = list_of(TAKE(p, from, rexpr));
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_BETWEEN, from->location, "between", 3);

    if (expr == NULL || list == NULL || list->n_items != 2) {
        return NULL;
    }
    expr->negated = negated;
    expr->args[0] = parse_expr(p, TAKE(p, from, lexpr));
    expr->args[1] = p->q->err != GRANARY_OK ? NULL : parse_expr(p, TAKE(p, list, items)[0]);
    expr->args[2] = p->q->err != GRANARY_OK ? NULL : parse_expr(p, TAKE(p, list, items)[1]);
    return p->q->err == GRANARY_OK ? expr : NULL;
}

static struct sql_expr *
parse_like(struct parse *p, const PgQuery__AExpr *from, const char *name)
{
    const PgQuery__Node *pattern = TAKE(p, from, rexpr);
    const PgQuery__FuncCall *call =
        pattern->node_case == PG_QUERY__NODE__NODE_FUNC_CALL && pattern->func_call->n_args == 2 ? pattern->func_call
                                                                                                : NULL;
    const PgQuery__Node *escape = NULL;
    struct sql_expr *expr;

    if (call != NULL && strcmp(parse_last(p, TAKE(p, call, funcname), call->n_funcname), "like_escape") == 0) {
        escape = TAKE(p, call, args)[1];
        pattern = call->args[0];
    }
    expr = sql_parse_new_expr(p, SQL_LIKE, from->location, name, escape == NULL ? 2 : 3);
    if (expr == NULL) {
        return NULL;
    }
    expr->negated = parse_string(p, TAKE(p, from, name)[0])[0] == '!';
    expr->args[0] = parse_expr(p, TAKE(p, from, lexpr));
    expr->args[1] = p->q->err != GRANARY_OK ? NULL : parse_expr(p, pattern);
    if (escape != NULL && p->q->err == GRANARY_OK) {
        expr->args[2] = parse_expr(p, escape);
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
}

/* x SIMILAR TO y is regexp_full_match(x, y), as in DuckDB. The grammar puts its pattern into a function. */
static struct sql_expr *
parse_similar(struct parse *p, const PgQuery__AExpr *from)
{
    const PgQuery__Node *pattern = TAKE(p, from, rexpr);
    const PgQuery__FuncCall *call = pattern->node_case == PG_QUERY__NODE__NODE_FUNC_CALL ? pattern->func_call : NULL;
    bool negated = parse_string(p, TAKE(p, from, name)[0])[0] == '!';
    struct sql_expr *text = parse_expr(p, TAKE(p, from, lexpr));
    struct sql_expr *found;

    if (call == NULL || text == NULL) {
        return NULL;
    }
    (void)parse_last(p, TAKE(p, call, funcname), call->n_funcname);
    if (call->n_args != 1) {
        return sql_parse_refuse(p, from->location, "ESCAPE of SIMILAR TO is");
    }
    found = sql_parse_new_call(p, SQL_FUNCTION, from->location, "regexp_matches", text,
                               sql_parse_whole_pattern(p, parse_expr(p, TAKE(p, call, args)[0])));
    return p->q->err != GRANARY_OK ? NULL : negated ? sql_parse_new_negation(p, found) : found;
}

/* Whether an expression is an interval by how it is written. */
static bool
is_interval(const struct sql_expr *expr)
{
    bool is = expr->kind == SQL_LITERAL && strncmp(expr->text, "interval ", 9) == 0;

    for (size_t i = 0; i < expr->count && !is && (expr->kind == SQL_INFIX || expr->kind == SQL_PREFIX); i++) {
        is = is_interval(expr->args[i]);
    }
    return is;
}

/* Of an interval of months alone, as written, how many they are; 0: it is another one. */
static int
months_of(const struct sql_expr *expr)
{
    static const struct {
        const char *unit;
        int months;
    } units[] = {{"month", 1}, {"quarter", 3}, {"year", 12}, {"decade", 120}};
    const char *text = expr->kind == SQL_LITERAL && strncmp(expr->text, "interval '", 10) == 0 ? expr->text + 10 : "";
    char *end;
    long count = strtol(text, &end, 10);

    end += strspn(end, " ");
    for (size_t i = 0; i < sizeof units / sizeof units[0] && count > -100000 && count < 100000; i++) {
        size_t size = strlen(units[i].unit);

        if (strncasecmp(end, units[i].unit, size) == 0 &&
            (strcmp(end + size, "'") == 0 || strcmp(end + size, "s'") == 0)) {
            return (int)count * units[i].months;
        }
    }
    return 0;
}

/* day + interval '2 months' * n: add_months(day, n * 2). NULL: it is another sum, or the statement has failed. */
static struct sql_expr *
sum_of_months(struct parse *p, const struct sql_expr *expr)
{
    bool minus = strcmp(expr->text, "-") == 0;

    for (size_t i = minus; i < 2; i++) {
        const struct sql_expr *product = expr->args[i];
        bool is = product->kind == SQL_INFIX && product->count == 2 && strcmp(product->text, "*") == 0;

        for (size_t k = 0; is && k < 2; k++) {
            int months = months_of(product->args[k]);
            struct sql_expr *number = product->args[1 - k];

            if (months != 0 && number->kind != SQL_LITERAL) {
                const char *factor = sql_printf(p->q, "%d", minus ? -months : months);

                return sql_parse_new_call(
                    p, SQL_FUNCTION, expr->position, "add_months", expr->args[1 - i],
                    sql_parse_new_call(p, SQL_INFIX, expr->position, "*", number,
                                       sql_parse_new_expr(p, SQL_LITERAL, expr->position, factor, 0)));
            }
        }
    }
    return NULL;
}

/* A date and an interval make a timestamp. */
static struct sql_expr *
make_moment(struct parse *p, struct sql_expr *expr)
{
    bool sum = expr != NULL && expr->kind == SQL_INFIX && expr->count == 2 &&
               (strcmp(expr->text, "+") == 0 || strcmp(expr->text, "-") == 0);

    if (sum && is_interval(expr->args[0]) != is_interval(expr->args[1])) {
        struct sql_expr *months = sum_of_months(p, expr);

        expr = months != NULL ? months : expr;
        expr = sql_parse_new_call(p, SQL_FUNCTION, expr->position, "moment", expr, NULL);
        if (expr != NULL) {
            expr->written = "value"; /* an operator has no name */
        }
    }
    return expr;
}

/* A text as written beside a list is one of its type: list_concat(text, list_slice(list, 1, 0)) */
static struct sql_expr *
list_beside(struct parse *p, struct sql_expr *expr, struct sql_expr *other)
{
    struct sql_expr *none;

    if (expr == NULL || other == NULL || expr->kind != SQL_LITERAL || expr->text[0] != '\'') {
        return expr;
    }
    none = sql_parse_new_expr(p, SQL_FUNCTION, expr->position, "list_slice", 3);
    if (none == NULL) {
        return NULL;
    }
    none->args[0] = other;
    none->args[1] = sql_parse_new_expr(p, SQL_LITERAL, expr->position, "1", 0);
    none->args[2] = sql_parse_new_expr(p, SQL_LITERAL, expr->position, "0", 0);
    return sql_parse_new_call(p, SQL_FUNCTION, expr->position, "list_concat", expr, none);
}

/* Operators between two lists. NULL: it is none, or the statement has failed. */
static struct sql_expr *
parse_list_operator(struct parse *p, const PgQuery__AExpr *from, const char *name)
{
    static const struct {
        const char *sql;
        const char *function;
        bool exchanged;
    } operators[] = {{"@>", "list_has_all", false}, {"<@", "list_has_all", true}, {"&&", "list_has_any", false}};

    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (strcmp(operators[i].sql, name) == 0) {
            struct sql_expr *a = parse_expr(p, TAKE(p, from, lexpr));
            struct sql_expr *b = a == NULL ? NULL : parse_expr(p, TAKE(p, from, rexpr));
            struct sql_expr *left = list_beside(p, a, b);
            struct sql_expr *right = list_beside(p, b, a);
            struct sql_expr *expr = right == NULL || left == NULL
                                        ? NULL
                                        : sql_parse_form_of_two(p, operators[i].function, from->location,
                                                                operators[i].exchanged ? right : left,
                                                                operators[i].exchanged ? left : right);

            if (expr != NULL) {
                expr->written = "value";
            }
            return expr;
        }
    }
    return NULL;
}

static struct sql_expr *
parse_operator(struct parse *p, const PgQuery__AExpr *from)
{
    static const struct {
        const char *sql;
        const char *text;
        enum sql_kind kind;
        bool negated;
    } operators[] = {
        {"+", "+", SQL_INFIX, false},
        {"-", "-", SQL_INFIX, false},
        {"*", "*", SQL_INFIX, false},
        {"/", "/", SQL_INFIX, false},
        {"//", "quotient", SQL_FUNCTION, false},
        {"%", "remainder", SQL_FUNCTION, false},
        {"=", "=", SQL_INFIX, false},
        {"<>", "!=", SQL_INFIX, false},
        {"<", "<", SQL_INFIX, false},
        {"<=", "<=", SQL_INFIX, false},
        {">", ">", SQL_INFIX, false},
        {">=", ">=", SQL_INFIX, false},
        {"||", "concat", SQL_FUNCTION, false},
        {"^", "pow", SQL_FUNCTION, false},
        {"~", "regexp_matches", SQL_FUNCTION, false},
        {"!~", "regexp_matches", SQL_FUNCTION, true},
        {"~*", "regexp_matches", SQL_FUNCTION, false},
        {"!~*", "regexp_matches", SQL_FUNCTION, true},
        {"~~", "like", SQL_LIKE, false},
        {"!~~", "like", SQL_LIKE, true},
        {"~~*", "ilike", SQL_LIKE, false},
        {"!~~*", "ilike", SQL_LIKE, true},
        {"^@", "startswith", SQL_FUNCTION, false},
        {"->", "json_extract", SQL_FUNCTION, false},
        {"->>", "json_extract_string", SQL_FUNCTION, false},
        {"&", "bitand", SQL_FUNCTION, false},
        {"|", "bitor", SQL_FUNCTION, false},
        {"#", "bitxor", SQL_FUNCTION, false},
        {"<<", "shift_left", SQL_FUNCTION, false},
        {">>", "shift_right", SQL_FUNCTION, false},
    };
    static const char *const prefixes[][2] = {{"~", "bitnot"}, {"@", "abs"}, {"|/", "sqrt"}, {"||/", "cbrt"}};
    const char *grammars = parse_last(p, TAKE(p, from, name), from->n_name);
    const char *name = parse_is_noted(p, from->location, NOTED_QUOTIENT) ? "//" : grammars;
    struct sql_expr *right;

    if (from->lexpr == NULL) {
        if (strcmp(name, "-") == 0) {
            return sql_parse_new_call(p, SQL_PREFIX, from->location, "-", parse_expr(p, TAKE(p, from, rexpr)), NULL);
        }
        if (strcmp(name, "+") == 0) {
            return parse_expr(p, TAKE(p, from, rexpr));
        }
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
            if (strcmp(prefixes[i][0], name) == 0) {
                return sql_parse_new_call(p, SQL_FUNCTION, from->location, prefixes[i][1],
                                          parse_expr(p, TAKE(p, from, rexpr)), NULL);
            }
        }
    }
    for (size_t i = 0; i < sizeof operators / sizeof operators[0] && from->lexpr != NULL; i++) {
        if (strcmp(operators[i].sql, name) == 0) {
            struct sql_expr *left = parse_expr(p, TAKE(p, from, lexpr));
            struct sql_expr *expr;

            right = left == NULL ? NULL : parse_expr(p, TAKE(p, from, rexpr));
            right = name[strlen(name) - 1] == '*' && operators[i].kind == SQL_FUNCTION ? sql_parse_any_case(p, right)
                                                                                       : right;
            expr = right == NULL ? NULL
                   : strncmp(name, "->", 2) == 0
                       ? sql_parse_json_paths(p, operators[i].text, left, right, from->location)
                       : sql_parse_new_call(p, operators[i].kind, from->location, operators[i].text, left, right);
            if (expr != NULL && expr->kind == SQL_FUNCTION && strchr("|&#<>", name[0]) != NULL) {
                expr->written = "value"; /* an operator has no name */
            }
            return operators[i].negated ? sql_parse_new_negation(p, expr) : make_moment(p, expr);
        }
    }
    right = from->lexpr == NULL ? NULL : parse_list_operator(p, from, name);
    if (right == NULL && p->q->err == GRANARY_OK) {
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, from->location, "operator %s is not supported", name);
    }
    return right;
}

/*
 * x < ANY(ARRAY[a, b]): x < a or x < b; ALL: and. Of another list it is ANY (SELECT unnest(list)), and null when there
 * is none.
 */
static struct sql_expr *
compare_with_items(struct parse *p, const char *operator, const PgQuery__AArrayExpr * array, struct sql_expr *value,
                   bool all, int position)
{
    PgQuery__Node *const *items = TAKE(p, array, elements);
    bool in = strcmp(operator, all ? "!=" : "=") == 0;
    struct sql_expr *expr = sql_parse_new_expr(p, all ? SQL_AND : SQL_OR, position, "", array->n_elements);

    if (in) {
        expr = sql_parse_new_expr(p, SQL_IN, position, "in", 1 + array->n_elements);
    }
    for (size_t i = 0; in && i < array->n_elements && expr != NULL; i++) {
        expr->negated = all;
        expr->args[0] = value;
        expr->args[1 + i] = parse_expr(p, items[i]);
        if (expr->args[1 + i] == NULL) {
            return NULL;
        }
    }
    if (in) {
        return expr;
    }
    for (size_t i = 0; i < array->n_elements && expr != NULL; i++) {
        struct sql_expr *item = parse_expr(p, items[i]);

        expr->args[i] = item == NULL ? NULL : sql_parse_new_call(p, SQL_INFIX, position, operator, value, item);
        if (expr->args[i] == NULL) {
            return NULL;
        }
    }
    return expr != NULL && array->n_elements == 1 ? expr->args[0] : expr;
}

static struct sql_expr *
compare_with_list(struct parse *p, const char *operator, const PgQuery__Node * from, struct sql_expr *value,
                  int position)
{
    struct sql_expr *list = parse_expr(p, from); /* of the subquery, whose columns are not those of the query around */
    struct sql_expr *again = list == NULL ? NULL : parse_expr(p, from);
    struct sql_select *select = SQL_NEW(p->q, struct sql_select);
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_SUBQUERY, position, operator, 1);
    struct sql_expr *when = sql_parse_new_expr(p, SQL_CASE, position, "", 3);

    if (select == NULL || expr == NULL || when == NULL || again == NULL) {
        return NULL;
    }
    *select = (struct sql_select){.position = position, .target_count = 1, .limit = -1};
    select->targets = SQL_NEW(p->q, struct sql_target);
    select->group = SQL_ARRAY(p->q, struct sql_expr *, 1);
    if (select->targets == NULL || select->group == NULL || !parse_without_from(p, 1, select)) {
        return NULL;
    }
    select->targets[0].expr =
        sql_parse_new_call(p, SQL_FUNCTION, position, SQL_UNNEST, sql_parse_null_list(p, list), NULL);
    expr->subquery = SQL_ANY;
    expr->select = select;
    expr->args[0] = value;
    when->args[0] = sql_parse_new_call(p, SQL_POSTFIX, position, "is null", again, NULL);
    when->args[1] = sql_parse_new_expr(p, SQL_LITERAL, position, "null", 0);
    when->args[2] = expr;
    return p->q->err == GRANARY_OK ? when : NULL;
}

static struct sql_expr *
parse_quantified(struct parse *p, const PgQuery__AExpr *from, bool all)
{
    const char *name = parse_last(p, TAKE(p, from, name), from->n_name);
    const PgQuery__Node *right = TAKE(p, from, rexpr);
    bool written = right->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR && right->a_array_expr->n_elements > 0;
    const char *operator= sql_parse_comparison(name, all && !written);
    struct sql_expr *value;
    struct sql_expr *expr;

    if (operator== NULL) {
        return sql_parse_refuse(p, from->location, "ANY or ALL with another operator than a comparison is");
    }
    value = parse_expr(p, TAKE(p, from, lexpr));
    if (value == NULL || written) {
        return value == NULL ? NULL : compare_with_items(p, operator, right->a_array_expr, value, all, from->location);
    }
    expr = compare_with_list(p, operator, right, value, from->location);
    return all ? sql_parse_new_negation(p, expr) : expr;
}

struct sql_expr *
sql_parse_a_expr(struct parse *p, const PgQuery__AExpr *from)
{
    if (from->kind != PG_QUERY__A__EXPR__KIND__AEXPR_OP) { /* the kind tells, and NOT is said by the name */
        (void)parse_last(p, TAKE(p, from, name), from->n_name);
    }
    switch (TAKE(p, from, kind)) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP:
        if (row_of(from->lexpr) != NULL || row_of(from->rexpr) != NULL) {
            return parse_row_comparison(p, from);
        }
        return parse_operator(p, from);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
        return parse_distinct(p, from, false);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT:
        return parse_distinct(p, from, true);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF: {
        struct sql_expr *left = parse_expr(p, TAKE(p, from, lexpr));

        return left == NULL ? NULL
                            : sql_parse_new_call(p, SQL_FUNCTION, from->location, "nullif", left,
                                                 parse_expr(p, TAKE(p, from, rexpr)));
    }
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN:
        return parse_is_noted(p, from->location, NOTED_IN_LIST) ? parse_in_list(p, from) : parse_in(p, from);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
        return parse_like(p, from, "like");
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE:
        return parse_like(p, from, "ilike");
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
        return parse_between(p, from, false);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
        return parse_between(p, from, true);
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR:
        return parse_similar(p, from);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL:
        return parse_quantified(p, from, from->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL);
    default:
        return sql_parse_refuse(p, from->location, "BETWEEN SYMMETRIC is");
    }
}

struct sql_expr *
sql_parse_bool(struct parse *p, const PgQuery__BoolExpr *from)
{
    struct sql_expr *expr;

    if (TAKE(p, from, boolop) == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR) {
        return sql_parse_new_call(p, SQL_PREFIX, from->location, "not", parse_expr(p, TAKE(p, from, args)[0]), NULL);
    }
    expr = sql_parse_new_expr(p, TAKE(p, from, boolop) == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR ? SQL_AND : SQL_OR,
                              from->location, "", from->n_args);
    for (size_t i = 0; expr != NULL && i < from->n_args; i++) {
        expr->args[i] = parse_condition(p, TAKE(p, from, args)[i]);
        if (expr->args[i] == NULL) {
            return NULL;
        }
    }
    return expr;
}

/* x IS TRUE and its like, which are never null. */
struct sql_expr *
sql_parse_truth(struct parse *p, const PgQuery__BooleanTest *from)
{
    PgQuery__BoolTestType type = TAKE(p, from, booltesttype);
    bool of_true = type == PG_QUERY__BOOL_TEST_TYPE__IS_TRUE || type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE;
    struct sql_expr *arg;
    struct sql_expr *expr;

    if (type == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN || type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_UNKNOWN) {
        return sql_parse_new_call(p, SQL_POSTFIX, from->location,
                                  type == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN ? "is null" : "is not null",
                                  parse_expr(p, TAKE(p, from, arg)), NULL);
    }
    arg = parse_condition(p, TAKE(p, from, arg));
    expr = arg == NULL
               ? NULL
               : sql_parse_new_call(p, SQL_FUNCTION, from->location, "coalesce", arg,
                                    sql_parse_new_expr(p, SQL_LITERAL, from->location, of_true ? "false" : "true", 0));
    return type == PG_QUERY__BOOL_TEST_TYPE__IS_TRUE || type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE
               ? expr
               : sql_parse_new_negation(p, expr);
}

struct sql_expr *
sql_parse_case(struct parse *p, const PgQuery__CaseExpr *from)
{
    struct sql_expr *expr = sql_parse_new_expr(p, SQL_CASE, from->location, "", 2 * from->n_args + 1);
    struct sql_expr *value = from->arg == NULL ? NULL : parse_expr(p, TAKE(p, from, arg));

    for (size_t i = 0; i < from->n_args && expr != NULL && p->q->err == GRANARY_OK; i++) {
        const PgQuery__CaseWhen *when = TAKE(p, from, args)[i]->case_when;

        expr->args[2 * i] = parse_expr(p, TAKE(p, when, expr));
        if (value != NULL) {
            expr->args[2 * i] = expr->args[2 * i] == NULL
                                    ? NULL
                                    : sql_parse_new_call(p, SQL_INFIX, when->location, "=", value, expr->args[2 * i]);
        }
        expr->args[2 * i + 1] = p->q->err != GRANARY_OK ? NULL : parse_expr(p, TAKE(p, when, result));
    }
    if (expr != NULL && p->q->err == GRANARY_OK) {
        expr->args[expr->count - 1] = from->defresult == NULL
                                          ? sql_parse_new_expr(p, SQL_LITERAL, from->location, "null", 0)
                                          : parse_expr(p, TAKE(p, from, defresult));
    }
    return p->q->err == GRANARY_OK ? expr : NULL;
}
