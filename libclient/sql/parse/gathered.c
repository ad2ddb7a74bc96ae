/*
 * Aggregates of values in an order, of different values and of ranks. These are lists of a group's values and of what
 * they are ordered by, put in order row by row after grouping. So each group's values are kept, as for a median.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sql/parse/functions/composed.h"

/* ---- values in an order ---- */

/* Conditions that all must hold; either may be NULL. */
static struct sql_expr *
both(const struct call *c, struct sql_expr *a, struct sql_expr *b)
{
    return a == NULL ? b : b == NULL ? a : CALL(c, SQL_AND, "", a, b);
}

/* All values of the argument as a list, nulls too: those for which the conditions hold, in that order. */
struct sql_expr *
gathered_in_order(const struct call *c, struct sql_expr *value, const struct sql_order *order, size_t count,
                  struct sql_expr *condition)
{
    struct sql_statement *q = c->p->q;
    struct sql_expr **args = SQL_ARRAY(q, struct sql_expr *, count + 2);
    struct sql_expr *flag = both(c, c->condition, condition);
    struct sql_expr *flags = flag == NULL ? NULL : composed_aggregate_of_all(c, "array", flag);
    struct sql_expr *items = composed_aggregate_of_all(c, "array", value);
    struct sql_expr *rows;
    const char *way = "";

    items = flag == NULL ? items : CALL(c, SQL_FUNCTION, "list_where", items, flags);
    for (size_t i = 0; i < count && args != NULL && way != NULL; i++) {
        struct sql_expr *keys = composed_aggregate_of_all(c, "array", order[i].expr);

        args[i + 2] = flag == NULL ? keys : CALL(c, SQL_FUNCTION, "list_where", keys, flags);
        way = sql_printf(q, "%s%s%s%s", way, i > 0 ? "," : "", order[i].descending ? "d" : "a",
                         order[i].nulls_first ? "f" : "");
    }
    if (count > 0 && args != NULL && way != NULL) {
        args[0] = items;
        args[1] = composed_literal(c, sql_printf(q, "'%s'", way));
        items = composed_call(c, SQL_FUNCTION, "list_order_by", args, count + 2);
    }
    if (flag == NULL || items == NULL) {
        return items;
    }
    rows = CALL(c, SQL_CASE, "", flag, composed_literal(c, "1"), composed_literal(c, "null"));
    rows = composed_aggregate_of_all(c, "count", rows);
    return CALL(c, SQL_CASE, "", CALL(c, SQL_INFIX, "=", rows, composed_literal(c, "0")), composed_literal(c, "null"),
                items);
}

/* Each different value once, in ascending order or in the only order that there can be: its own. */
struct sql_expr *
gathered_different(const struct call *c, const struct sql_order *order, size_t count, bool with_null)
{
    struct sql_expr *value = c->args[0];
    const bool framed = c->over != NULL && count == 0; /* in the order of the window */
    struct sql_expr *list = framed ? CALL(c, SQL_FUNCTION, "list_distinct", gathered_in_order(c, value, NULL, 0, NULL))
                                   : composed_aggregate(c, "unique", &value, 1);
    struct sql_expr *nulls, *with;

    if (with_null) {
        nulls = composed_null_test(c, value, false);
        nulls =
            CALL(c, SQL_CASE, "", both(c, c->condition, nulls), composed_literal(c, "1"), composed_literal(c, "null"));
        nulls = composed_aggregate_of_all(c, "count", nulls);
        with = CALL(c, SQL_FUNCTION, "list_concat", list,
                    CALL(c, SQL_FUNCTION, "list_value", composed_literal(c, "null")));
        list = CALL(c, SQL_CASE, "", CALL(c, SQL_INFIX, ">", nulls, composed_literal(c, "0")), with, list);
    }
    if (count == 0) {
        return list;
    }
    return CALL(c, SQL_FUNCTION, "list_order_by", list,
                composed_literal(
                    c, sql_printf(c->p->q, "'%s%s'", order[0].descending ? "d" : "a", order[0].nulls_first ? "f" : "")),
                list);
}

/* ---- functions of a list that are told by texts ---- */

static struct sql_expr *gathered_quantiles_of(const struct call *c, struct sql_expr *list, struct sql_expr *given);

/* The text of an argument, in small letters and without quotes; NULL: the statement has failed. */
static const char *
told(const struct call *c, size_t i)
{
    const char *text = c->args[i]->text;
    size_t size = strlen(text);
    char *small = SQL_ARRAY(c->p->q, char, size);

    if (c->args[i]->kind != SQL_LITERAL || size < 2 || text[0] != '\'') {
        (void)sql_fail(c->p->q, GRANARY_EUNSUPPORTED, c->args[i]->position,
                       "argument %zu of '%s' must be a text as written", i + 1, c->written);
        return NULL;
    }
    for (size_t k = 1; small != NULL && k + 1 < size; k++) {
        small[k - 1] = (char)tolower((unsigned char)text[k]);
        small[k] = '\0';
    }
    return small;
}

/* list_sort(l, 'desc', 'nulls first') */
struct sql_expr *
gathered_sorted(const struct call *c, bool reverse)
{
    const char *way = c->count > (reverse ? 2u : 1u) || (!reverse && c->count == 2) ? told(c, 1)
                      : reverse                                                     ? "desc"
                                                                                    : "asc";
    const char *nulls = c->count == (reverse ? 2u : 3u) ? told(c, c->count - 1) : "nulls last";

    if (way == NULL || nulls == NULL) {
        return NULL;
    }
    if ((strcmp(way, "asc") != 0 && strcmp(way, "desc") != 0) ||
        (strcmp(nulls, "nulls first") != 0 && strcmp(nulls, "nulls last") != 0)) {
        (void)sql_fail(c->p->q, GRANARY_EINVAL, c->position,
                       "'%s' takes 'ASC' or 'DESC', and 'NULLS FIRST' or 'NULLS LAST'", c->written);
        return NULL;
    }
    return CALL(
        c, SQL_FUNCTION, "list_order_by", c->args[0],
        composed_literal(c, sql_printf(c->p->q, "'%s%s'", way[0] == 'd' ? "d" : "a", nulls[6] == 'f' ? "f" : "")),
        c->args[0]);
}

struct sql_expr *
gathered_of_list(const struct call *c)
{
    static const char *const forms[][2] = {
        {"sum", "list_sum($1)"},
        {"avg", "list_mean($1)"},
        {"mean", "list_mean($1)"},
        {"min", "list_min($1)"},
        {"max", "list_max($1)"},
        {"count", "list_count($1)"},
        {"median", "list_median($1)"},
        {"product", "list_product($1)"},
        {"var_samp", "list_var_samp($1)"},
        {"variance", "list_var_samp($1)"},
        {"var_pop", "list_var_pop($1)"},
        {"stddev", "sqrt(list_var_samp($1))"},
        {"stddev_samp", "sqrt(list_var_samp($1))"},
        {"stddev_pop", "sqrt(list_var_pop($1))"},
        {"mad", "list_mad($1)"},
        {"sem", "/(sqrt(list_var_pop($1)), sqrt(double(list_count($1))))"},
        {"bool_and", "list_bool_and($1)"},
        {"bool_or", "list_bool_or($1)"},
        {"approx_count_distinct", "list_unique($1)"},
        {"skewness", "list_skewness($1)"},
        {"kurtosis", "list_kurtosis($1)"},
        {"entropy", "list_entropy($1)"},
        {"mode", "list_mode($1)"},
        {"bit_and", "list_bit_and($1)"},
        {"bit_or", "list_bit_or($1)"},
        {"bit_xor", "list_bit_xor($1)"},
        {"any_value", "list_extract(list_distinct($1), 1)"},
        {"fsum", "list_sum($1)"},
        {"sumkahan", "list_sum($1)"},
        {"kahan_sum", "list_sum($1)"},
        {"favg", "list_mean($1)"},
        {"count_star", "list_length($1)"},
        {"first", "list_extract($1, 1)"},
        {"arbitrary", "list_extract($1, 1)"},
        {"last", "list_extract($1, -1)"},
        {"list", "if(=(list_length($1), 0), null, $1)"},
        {"array_agg", "if(=(list_length($1), 0), null, $1)"},
    };
    const char *name = told(c, 1);

    for (size_t i = 0; name != NULL && i < sizeof forms / sizeof forms[0] && c->count == 2; i++) {
        if (strcmp(forms[i][0], name) == 0) {
            return composed_read(c, forms[i][1]);
        }
    }
    if (name != NULL && (strcmp(name, "string_agg") == 0 || strcmp(name, "group_concat") == 0)) {
        return CALL(
            c, SQL_CASE, "",
            CALL(c, SQL_INFIX, "=", CALL(c, SQL_FUNCTION, "list_count", c->args[0]), composed_literal(c, "0")),
            composed_literal(c, "null"),
            CALL(c, SQL_FUNCTION, "list_join", c->args[0], c->count == 3 ? c->args[2] : composed_literal(c, "','")));
    }
    if (name != NULL && c->count == 3 && (strcmp(name, "quantile") == 0 || strcmp(name, "quantile_disc") == 0)) {
        return gathered_quantiles_of(c, c->args[0], c->args[2]);
    }
    if (name != NULL) {
        (void)sql_fail(c->p->q, GRANARY_EUNSUPPORTED, c->args[1]->position,
                       "aggregate '%s' of a list is not supported: unnest the list, and aggregate its items", name);
    }
    return NULL;
}

/* What DISTINCT allows in ORDER BY: the value itself. */
bool
gathered_same(const struct sql_expr *a, const struct sql_expr *b)
{
    bool same = a->kind == b->kind && a->count == b->count && strcmp(a->text, b->text) == 0 &&
                a->negated == b->negated && (a->table == NULL) == (b->table == NULL) &&
                (a->table == NULL || strcmp(a->table, b->table) == 0) && a->kind != SQL_SUBQUERY;

    for (size_t i = 0; same && i < a->count; i++) {
        same = gathered_same(a->args[i], b->args[i]);
    }
    return same;
}

/* Whether it is made of literals by functions alone. */
static bool
is_constant(const struct sql_expr *expr)
{
    bool constant = expr->kind == SQL_LITERAL || expr->kind == SQL_CAST ||
                    (expr->kind == SQL_FUNCTION && expr->count > 0 && strcmp(expr->text, SQL_UNNEST) != 0);

    for (size_t i = 0; i < expr->count && constant; i++) {
        constant = is_constant(expr->args[i]);
    }
    return constant;
}

/* A separator is one text for all rows. */
static struct sql_expr *
separator(const struct call *c)
{
    if (c->count == 1) {
        return composed_literal(c, "','");
    }
    if (!is_constant(c->args[1])) {
        (void)sql_fail(c->p->q, GRANARY_EUNSUPPORTED, c->args[1]->position,
                       "the separator of '%s' must be a text of no column, such as ', '", c->written);
        return NULL;
    }
    return c->args[1];
}

/* string_agg(x, sep): nulls are left out. */
struct sql_expr *
gathered_joined(const struct call *c, const struct sql_order *order, size_t count, bool distinct)
{
    struct sql_expr *between = separator(c);
    struct sql_expr *text = CALL(c, SQL_CAST, "string", c->args[0]);
    struct sql_expr *there;

    if (between == NULL || text == NULL) {
        return NULL;
    }
    if (distinct) {
        return CALL(c, SQL_FUNCTION, "list_join", gathered_different(c, order, count, false), between);
    }
    if (count == 0) {
        return CALL(c, SQL_FUNCTION, "list_join", composed_aggregate(c, "list", &text, 1), between);
    }
    there = composed_null_test(c, c->args[0], true);
    return CALL(c, SQL_FUNCTION, "list_join", gathered_in_order(c, text, order, count, there), between);
}

struct sql_expr *
gathered_first(const struct call *c, struct sql_expr *list, struct sql_expr *count)
{
    if (count->kind != SQL_LITERAL || count->text[0] == '\0' ||
        strspn(count->text, "0123456789") != strlen(count->text) || strspn(count->text, "0") == strlen(count->text)) {
        (void)sql_fail(c->p->q, GRANARY_EINVAL, count->position,
                       "so many values are a whole number above 0, as written");
        return NULL;
    }
    return CALL(c, SQL_FUNCTION, "list_slice", list, composed_literal(c, "1"), count);
}

/* The first of equals is the row that comes first. */
struct sql_expr *
gathered_extreme(const struct call *c, bool most, bool nulls)
{
    struct sql_order order = {.expr = c->args[1], .descending = most};
    struct sql_expr *there =
        both(c, nulls ? NULL : composed_null_test(c, c->args[0], true), composed_null_test(c, c->args[1], true));
    struct sql_expr *list;

    if (c->count == 2) {
        struct call plain = *c; /* FILTER decides with y which rows there are */
        struct sql_expr *args[] = {
            c->args[0],
            CALL(c, SQL_CASE, "", both(c, c->condition, there), c->args[1], composed_literal(c, "null")),
        };

        plain.condition = NULL;
        return composed_aggregate(&plain, most ? "arg_most" : "arg_least", args, 2);
    }
    list = gathered_in_order(c, c->args[0], &order, 1, there);
    return c->count == 3 ? gathered_first(c, list, c->args[2])
                         : CALL(c, SQL_FUNCTION, "list_extract", list, composed_literal(c, "1"));
}

/* max(x, n) */
struct sql_expr *
gathered_several(const struct call *c, bool most)
{
    struct sql_expr *list = composed_aggregate(c, "list", c->args, 1);

    return gathered_first(c, CALL(c, SQL_FUNCTION, most ? "list_reverse_sort" : "list_sort", list), c->args[1]);
}

/* ---- quantiles ---- */

static bool
check_fraction(const struct call *c, const struct sql_expr *fraction)
{
    const char *text = fraction->text;

    return (fraction->kind == SQL_LITERAL && text[0] != '\0' && text[strspn(text, "0123456789.eE+-")] == '\0' &&
            strtod(text, NULL) >= 0 && strtod(text, NULL) <= 1) ||
           sql_fail(c->p->q, GRANARY_EINVAL, fraction->position, "the fraction must be a number from 0 to 1");
}

/* The value below or at which that part of a list's values lies, which is one of them. */
static struct sql_expr *
discrete(const struct call *c, struct sql_expr *list, struct sql_expr *count, struct sql_expr *fraction,
         bool descending)
{
    struct sql_expr *above, *place;

    if (!check_fraction(c, fraction)) {
        return NULL;
    }
    above = CALL(c, SQL_INFIX, "*", CALL(c, SQL_CAST, "float64", count), CALL(c, SQL_CAST, "float64", fraction));
    above = CALL(c, SQL_FUNCTION, "floor", CALL(c, SQL_INFIX, "-", CALL(c, SQL_CAST, "float64", count), above));
    place = CALL(c, SQL_INFIX, "-", count, CALL(c, SQL_CAST, "int64", above));
    return CALL(c, SQL_FUNCTION, "list_extract",
                CALL(c, SQL_FUNCTION, descending ? "list_reverse_sort" : "list_sort", list),
                CALL(c, SQL_FUNCTION, "greatest", composed_literal(c, "1"), place));
}

/* 0.5::float is 0.5. */
static struct sql_expr *
without_cast(struct sql_expr *expr)
{
    while (expr->kind == SQL_CAST) {
        expr = expr->args[0];
    }
    return expr;
}

/* [], of the type that values or quantiles have; null where there are no values. */
static struct sql_expr *
no_quantiles(const struct call *c, bool cont)
{
    struct sql_expr *half[] = {c->args[0], composed_literal(c, "0.5")};
    struct sql_expr *list = cont ? CALL(c, SQL_FUNCTION, "list_value", composed_aggregate(c, "quantile", half, 2))
                                 : composed_aggregate(c, "list", c->args, 1);
    struct sql_expr *counted = composed_aggregate(c, "count", c->args, 1);

    return CALL(c, SQL_CASE, "", CALL(c, SQL_INFIX, "=", counted, composed_literal(c, "0")),
                composed_literal(c, "null"),
                CALL(c, SQL_FUNCTION, "list_slice", list, composed_literal(c, "1"), composed_literal(c, "0")));
}

/* Of one fraction, or a list of what each of a list gives. */
struct sql_expr *
gathered_quantiles(const struct call *c, struct sql_expr *given, bool cont, bool descending)
{
    struct sql_expr *fraction = without_cast(given);
    bool negative = fraction->kind == SQL_LITERAL && strncmp(fraction->text, "(-", 2) == 0;
    bool list = fraction->kind == SQL_FUNCTION && strcmp(fraction->text, "list_value") == 0;
    struct sql_expr *made =
        list ? sql_parse_new_expr(c->p, SQL_FUNCTION, c->position, "list_value", fraction->count) : NULL;
    struct sql_expr *counted;

    if (fraction->kind == SQL_FUNCTION && strcmp(fraction->text, "list_distinct") == 0 &&
        gathered_same(fraction, composed_read(c, "list_distinct(list_value(null))"))) {
        return no_quantiles(c, cont);
    }
    if (negative) { /* from the other end */
        fraction =
            composed_literal(c, sql_printf(c->p->q, "%.*s", (int)strlen(fraction->text) - 3, fraction->text + 2));
        return fraction == NULL ? NULL : gathered_quantiles(c, fraction, cont, !descending);
    }
    if (!list && cont) {
        struct sql_expr *args[] = {c->args[0], descending ? sql_parse_complement(c->p, fraction) : fraction};

        return args[1] == NULL || !check_fraction(c, args[1]) ? NULL : composed_aggregate(c, "quantile", args, 2);
    }
    if (!list) {
        struct sql_expr *values = composed_aggregate(c, "list", c->args, 1);

        return discrete(c, values, CALL(c, SQL_FUNCTION, "list_length", values), fraction, descending);
    }
    for (size_t i = 0; made != NULL && i < fraction->count; i++) {
        made->args[i] = gathered_quantiles(c, fraction->args[i], cont, descending);
        made = made->args[i] == NULL ? NULL : made;
    }
    counted = composed_aggregate(c, "count", c->args, 1);
    return made == NULL ? NULL
                        : CALL(c, SQL_CASE, "", CALL(c, SQL_INFIX, "=", counted, composed_literal(c, "0")),
                               composed_literal(c, "null"), made);
}

/* list_aggregate(l, 'quantile', 0.5): nulls come behind all values. */
static struct sql_expr *
gathered_quantiles_of(const struct call *c, struct sql_expr *list, struct sql_expr *given)
{
    struct sql_expr *count = CALL(c, SQL_FUNCTION, "list_count", list);
    struct sql_expr *fraction = without_cast(given);
    struct sql_expr *made;

    if (fraction->kind != SQL_FUNCTION || strcmp(fraction->text, "list_value") != 0) {
        return count == NULL ? NULL : discrete(c, list, count, fraction, false);
    }
    made = sql_parse_new_expr(c->p, SQL_FUNCTION, c->position, "list_value", fraction->count);
    for (size_t i = 0; made != NULL && i < fraction->count; i++) {
        made->args[i] = gathered_quantiles_of(c, list, fraction->args[i]);
        made = made->args[i] == NULL ? NULL : made;
    }
    return CALL(c, SQL_CASE, "", CALL(c, SQL_INFIX, "=", count, composed_literal(c, "0")), composed_literal(c, "null"),
                made);
}
