/*
 * Functions and aggregates that are made up of others: by the forms of composed.def, read by descent; and aggregates of
 * values in an order. These are lists of a group's values and of what they are ordered by, put in order row by row
 * after grouping. So each group's values are kept, as for a median.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sql/parse/private.h"

static const struct {
    const char *name;
    size_t count;
    const char *form;
} composed[] = {
#define COMPOSED(name, count, form) {name, count, form},
#include "sql/parse/composed.def"
};
enum { COMPOSED_COUNT = sizeof composed / sizeof composed[0], FORM_ARGUMENTS = 8 };

/* What stands around a call, and belongs to every aggregate that is made for it. */
struct call {
    struct parse *p;
    const PgQuery__FuncCall *from;
    const char *written;
    struct sql_expr **args;
    size_t count;
    struct sql_expr *condition;
    struct sql_order *unseen;
    size_t unseen_count;
    struct sql_window *over;
    int position;
};

/* ---- parts ---- */

static struct sql_expr *
literal(const struct call *c, const char *text)
{
    return sql_parse_new_expr(c->p, SQL_LITERAL, c->position, text, 0);
}

static struct sql_expr *
call_of(const struct call *c, enum sql_kind kind, const char *text, struct sql_expr *const *args, size_t count)
{
    struct sql_expr *expr = sql_parse_new_expr(c->p, kind, c->position, text, count);

    for (size_t i = 0; i < count && expr != NULL; i++) {
        expr->args[i] = args[i];
        expr = args[i] == NULL ? NULL : expr;
    }
    return expr;
}

#define CALL(c, kind, text, ...)                                                                                       \
    call_of(c, kind, text, (struct sql_expr *const[]){__VA_ARGS__},                                                    \
            sizeof((struct sql_expr *const[]){__VA_ARGS__}) / sizeof(struct sql_expr *))

/* An aggregate by its name in graph/aggregates.def. */
static struct sql_expr *
aggregate(const struct call *c, const char *name, struct sql_expr *const *args, size_t count)
{
    struct sql_expr *expr = call_of(c, SQL_AGGREGATE, name, args, count);

    if (expr != NULL) {
        expr->written = c->written;
        expr->condition = c->condition;
        expr->unseen = c->unseen;
        expr->unseen_count = c->unseen_count;
        expr->over = c->over;
    }
    return expr;
}

/* The same without FILTER. */
static struct sql_expr *
aggregate_of_all(const struct call *c, const char *name, struct sql_expr *value)
{
    struct call plain = *c;

    plain.condition = NULL;
    return value == NULL ? NULL : aggregate(&plain, name, &value, 1);
}

static struct sql_expr *
is_null(const struct call *c, struct sql_expr *value, bool negated)
{
    return CALL(c, SQL_POSTFIX, negated ? "is not null" : "is null", value);
}

/* ---- forms ---- */

struct form {
    const struct call *call;
    const char *at;
};

static struct sql_expr *read_form(struct form *form);

static const char *
read_word(struct form *form, const char *letters)
{
    size_t size = strspn(form->at, letters);
    const char *word = sql_printf(form->call->p->q, "%.*s", (int)size, form->at);

    form->at += size;
    return word;
}

static size_t
read_arguments(struct form *form, struct sql_expr *args[FORM_ARGUMENTS])
{
    size_t count = 0;

    form->at++;
    while (*form->at != ')') {
        args[count++] = read_form(form);
        form->at += strspn(form->at, ", ");
    }
    form->at++;
    return count;
}

static struct sql_expr *
make_call(const struct call *c, const char *word, struct sql_expr *const *args, size_t count)
{
    if (word[0] == '@') {
        return strcmp(word, "@var_pop") == 0 ? aggregate(c, "var, 0", args, count)
                                             : aggregate(c, word + 1, args, count);
    }
    if (strchr("+-*/=>|", word[0]) != NULL) {
        return call_of(c, SQL_INFIX, word, args, count);
    }
    if (strcmp(word, "if") == 0) {
        return call_of(c, SQL_CASE, "", args, count);
    }
    if (strcmp(word, "is_null") == 0) {
        return is_null(c, args[0], false);
    }
    if (strcmp(word, "double") == 0 || strcmp(word, "bigint") == 0) {
        return call_of(c, SQL_CAST, word[0] == 'd' ? "float64" : "int64", args, count);
    }
    if (strcmp(word, "pairs") == 0) {
        return CALL(c, SQL_CASE, "", is_null(c, args[1], false), literal(c, "null"), args[0]);
    }
    return call_of(c, SQL_FUNCTION, word, args, count);
}

static struct sql_expr *
read_form(struct form *form)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_@.+-*/=>|'";
    const struct call *c = form->call;
    struct sql_expr *args[FORM_ARGUMENTS] = {NULL};
    const char *word;
    size_t count;

    if (*form->at == '$') {
        size_t which = (size_t)(form->at[1] - '1');

        form->at += 2;
        return c->args[which];
    }
    if (*form->at == '\'') { /* a comma within is none of the form's */
        size_t size = 2 + strcspn(form->at + 1, "'");

        word = sql_printf(c->p->q, "%.*s", (int)size, form->at);
        form->at += size;
        return literal(c, word);
    }
    word = read_word(form, letters);
    if (word == NULL || *form->at != '(') {
        return word == NULL ? NULL : literal(c, word[0] == '-' ? sql_printf(c->p->q, "(%s)", word) : word);
    }
    count = read_arguments(form, args);
    return make_call(c, word, args, count);
}

/* ---- values in an order ---- */

/* Conditions that all must hold; either may be NULL. */
static struct sql_expr *
both(const struct call *c, struct sql_expr *a, struct sql_expr *b)
{
    return a == NULL ? b : b == NULL ? a : CALL(c, SQL_AND, "", a, b);
}

/* All values of the argument as a list, nulls too: those for which the conditions hold, in that order. */
static struct sql_expr *
ordered(const struct call *c, struct sql_expr *value, const struct sql_order *order, size_t count,
        struct sql_expr *condition)
{
    struct sql_statement *q = c->p->q;
    struct sql_expr **args = SQL_ARRAY(q, struct sql_expr *, count + 2);
    struct sql_expr *flag = both(c, c->condition, condition);
    struct sql_expr *flags = flag == NULL ? NULL : aggregate_of_all(c, "array", flag);
    struct sql_expr *items = aggregate_of_all(c, "array", value);
    struct sql_expr *rows;
    const char *way = "";

    items = flag == NULL ? items : CALL(c, SQL_FUNCTION, "list_where", items, flags);
    for (size_t i = 0; i < count && args != NULL && way != NULL; i++) {
        struct sql_expr *keys = aggregate_of_all(c, "array", order[i].expr);

        args[i + 2] = flag == NULL ? keys : CALL(c, SQL_FUNCTION, "list_where", keys, flags);
        way = sql_printf(q, "%s%s%s%s", way, i > 0 ? "," : "", order[i].descending ? "d" : "a",
                         order[i].nulls_first ? "f" : "");
    }
    if (count > 0 && args != NULL && way != NULL) {
        args[0] = items;
        args[1] = literal(c, sql_printf(q, "'%s'", way));
        items = call_of(c, SQL_FUNCTION, "list_order_by", args, count + 2);
    }
    if (flag == NULL || items == NULL) {
        return items;
    }
    rows = CALL(c, SQL_CASE, "", flag, literal(c, "1"), literal(c, "null"));
    rows = aggregate_of_all(c, "count", rows);
    return CALL(c, SQL_CASE, "", CALL(c, SQL_INFIX, "=", rows, literal(c, "0")), literal(c, "null"), items);
}

/* Each different value once, in ascending order or in the only order that there can be: its own. */
static struct sql_expr *
different(const struct call *c, const struct sql_order *order, size_t count, bool with_null)
{
    struct sql_expr *value = c->args[0];
    struct sql_expr *list = aggregate(c, "unique", &value, 1);
    struct sql_expr *nulls, *with;

    if (with_null) {
        nulls = is_null(c, value, false);
        nulls = CALL(c, SQL_CASE, "", both(c, c->condition, nulls), literal(c, "1"), literal(c, "null"));
        nulls = aggregate_of_all(c, "count", nulls);
        with = CALL(c, SQL_FUNCTION, "list_concat", list, CALL(c, SQL_FUNCTION, "list_value", literal(c, "null")));
        list = CALL(c, SQL_CASE, "", CALL(c, SQL_INFIX, ">", nulls, literal(c, "0")), with, list);
    }
    if (count == 0) {
        return list;
    }
    return CALL(
        c, SQL_FUNCTION, "list_order_by", list,
        literal(c, sql_printf(c->p->q, "'%s%s'", order[0].descending ? "d" : "a", order[0].nulls_first ? "f" : "")),
        list);
}

/* ---- functions of a list that are told by texts ---- */

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
static struct sql_expr *
sorted(const struct call *c, bool reverse)
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
    return CALL(c, SQL_FUNCTION, "list_order_by", c->args[0],
                literal(c, sql_printf(c->p->q, "'%s%s'", way[0] == 'd' ? "d" : "a", nulls[6] == 'f' ? "f" : "")),
                c->args[0]);
}

static struct sql_expr *
of_list(const struct call *c)
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
        {"bool_and", "list_bool_and($1)"},
        {"bool_or", "list_bool_or($1)"},
        {"approx_count_distinct", "list_unique($1)"},
        {"first", "list_extract($1, 1)"},
        {"last", "list_extract($1, -1)"},
        {"list", "$1"},
        {"array_agg", "$1"},
    };
    const char *name = told(c, 1);

    for (size_t i = 0; name != NULL && i < sizeof forms / sizeof forms[0] && c->count == 2; i++) {
        struct form form = {c, forms[i][1]};

        if (strcmp(forms[i][0], name) == 0) {
            return read_form(&form);
        }
    }
    if (name != NULL && strcmp(name, "string_agg") == 0) {
        return CALL(c, SQL_FUNCTION, "list_join", c->args[0], c->count == 3 ? c->args[2] : literal(c, "','"));
    }
    if (name != NULL) {
        (void)sql_fail(c->p->q, GRANARY_EUNSUPPORTED, c->args[1]->position,
                       "aggregate '%s' of a list is not supported: unnest the list, and aggregate its items", name);
    }
    return NULL;
}

/* What DISTINCT allows in ORDER BY: the value itself. */
static bool
same_expr(const struct sql_expr *a, const struct sql_expr *b)
{
    bool same = a->kind == b->kind && a->count == b->count && strcmp(a->text, b->text) == 0 &&
                a->negated == b->negated && (a->table == NULL) == (b->table == NULL) &&
                (a->table == NULL || strcmp(a->table, b->table) == 0) && a->kind != SQL_SUBQUERY;

    for (size_t i = 0; same && i < a->count; i++) {
        same = same_expr(a->args[i], b->args[i]);
    }
    return same;
}

/* A separator is one text for all rows. */
static struct sql_expr *
separator(const struct call *c)
{
    if (c->count == 1) {
        return literal(c, "','");
    }
    if (c->args[1]->kind != SQL_LITERAL) {
        (void)sql_fail(c->p->q, GRANARY_EUNSUPPORTED, c->args[1]->position,
                       "the separator of '%s' must be a text as written, such as ', '", c->written);
        return NULL;
    }
    return c->args[1];
}

/* string_agg(x, sep): nulls are left out. */
static struct sql_expr *
joined(const struct call *c, const struct sql_order *order, size_t count, bool distinct)
{
    struct sql_expr *between = separator(c);
    struct sql_expr *text = CALL(c, SQL_CAST, "string", c->args[0]);
    struct sql_expr *there;

    if (between == NULL || text == NULL) {
        return NULL;
    }
    if (distinct) {
        return CALL(c, SQL_FUNCTION, "list_join", different(c, order, count, false), between);
    }
    if (count == 0) {
        return CALL(c, SQL_FUNCTION, "list_join", aggregate(c, "list", &text, 1), between);
    }
    there = is_null(c, c->args[0], true);
    return CALL(c, SQL_FUNCTION, "list_join", ordered(c, text, order, count, there), between);
}

/* The first of equals is the row that comes first. */
static struct sql_expr *
extreme(const struct call *c, bool most)
{
    struct sql_order order = {.expr = c->args[1], .descending = most};
    struct sql_expr *there = both(c, is_null(c, c->args[0], true), is_null(c, c->args[1], true));
    struct sql_expr *list = ordered(c, c->args[0], &order, 1, there);

    return c->count == 3 ? CALL(c, SQL_FUNCTION, "list_slice", list, literal(c, "1"), c->args[2])
                         : CALL(c, SQL_FUNCTION, "list_extract", list, literal(c, "1"));
}

/* max(x, n) */
static struct sql_expr *
several(const struct call *c, bool most)
{
    struct sql_expr *list = aggregate(c, "list", c->args, 1);

    return CALL(c, SQL_FUNCTION, "list_slice", CALL(c, SQL_FUNCTION, most ? "list_reverse_sort" : "list_sort", list),
                literal(c, "1"), c->args[1]);
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

/* The value below or at which that part of the values lies, which is one of them. */
static struct sql_expr *
discrete(const struct call *c, struct sql_expr *fraction, bool descending)
{
    struct sql_expr *list = aggregate(c, "list", c->args, 1);
    struct sql_expr *count = CALL(c, SQL_FUNCTION, "list_length", list);
    struct sql_expr *above, *place;

    if (!check_fraction(c, fraction)) {
        return NULL;
    }
    above = CALL(c, SQL_INFIX, "*", CALL(c, SQL_CAST, "float64", count), CALL(c, SQL_CAST, "float64", fraction));
    above = CALL(c, SQL_FUNCTION, "floor", CALL(c, SQL_INFIX, "-", CALL(c, SQL_CAST, "float64", count), above));
    place = CALL(c, SQL_INFIX, "-", count, CALL(c, SQL_CAST, "int64", above));
    return CALL(c, SQL_FUNCTION, "list_extract",
                CALL(c, SQL_FUNCTION, descending ? "list_reverse_sort" : "list_sort", list),
                CALL(c, SQL_FUNCTION, "greatest", literal(c, "1"), place));
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

/* Of one fraction, or a list of what each of a list gives. */
static struct sql_expr *
quantiles(const struct call *c, struct sql_expr *given, bool cont, bool descending)
{
    struct sql_expr *fraction = without_cast(given);
    bool list = fraction->kind == SQL_FUNCTION && strcmp(fraction->text, "list_value") == 0;
    struct sql_expr *made =
        list ? sql_parse_new_expr(c->p, SQL_FUNCTION, c->position, "list_value", fraction->count) : NULL;
    struct sql_expr *counted;

    if (!list && cont) {
        struct sql_expr *args[] = {c->args[0], descending ? sql_parse_complement(c->p, fraction) : fraction};

        return args[1] == NULL || !check_fraction(c, args[1]) ? NULL : aggregate(c, "quantile", args, 2);
    }
    if (!list) {
        return discrete(c, fraction, descending);
    }
    for (size_t i = 0; made != NULL && i < fraction->count; i++) {
        made->args[i] = quantiles(c, fraction->args[i], cont, descending);
        made = made->args[i] == NULL ? NULL : made;
    }
    counted = aggregate(c, "count", c->args, 1);
    return made == NULL
               ? NULL
               : CALL(c, SQL_CASE, "", CALL(c, SQL_INFIX, "=", counted, literal(c, "0")), literal(c, "null"), made);
}

/* ---- which ---- */

static bool
is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

static const char *const list_aggregates[] = {"list_aggregate", "list_aggr",      "array_aggregate",
                                              "array_aggr",     "aggregate_list", NULL};
static const char *const list_sorts[] = {"list_sort", "array_sort", "list_reverse_sort", "array_reverse_sort", NULL};
static const char *const lists[] = {"list", "array_agg", NULL};
static const char *const texts[] = {"string_agg", "group_concat", "listagg", NULL};
static const char *const firsts[] = {"first", "any_value", "arbitrary", "last", "first_value", "last_value", NULL};
static const char *const leasts[] = {"arg_min", "min_by", "argmin", NULL};
static const char *const mosts[] = {"arg_max", "max_by", "argmax", NULL};
static const char *const conts[] = {"quantile_cont", "percentile_cont", NULL};
static const char *const discs[] = {"quantile_disc", "percentile_disc", "quantile", "approx_quantile", NULL};

/* sum(DISTINCT x) and its kin: of the list of different values. */
static const char *const of_different[][2] = {
    {"sum", "list_sum($1)"},
    {"avg", "list_mean($1)"},
    {"mean", "list_mean($1)"},
    {"product", "list_product($1)"},
    {"median", "list_median($1)"},
    {"stddev", "sqrt(list_var_samp($1))"},
    {"stddev_samp", "sqrt(list_var_samp($1))"},
    {"stddev_pop", "sqrt(list_var_pop($1))"},
    {"variance", "list_var_samp($1)"},
    {"var_samp", "list_var_samp($1)"},
    {"var_pop", "list_var_pop($1)"},
    {"fsum", "list_sum($1)"},
    {"kahan_sum", "list_sum($1)"},
    {"favg", "list_mean($1)"},
};

/* Those whose value DISTINCT does not change. */
static const char *const indifferent[] = {"min",    "max",   "bool_and", "bool_or",   "every",     "bit_and",
                                          "bit_or", "first", "last",     "any_value", "arbitrary", NULL};

bool
sql_parse_minds_distinct(const char *name)
{
    return !is_one_of(name, indifferent);
}

static struct sql_expr *
read_composed(const struct call *c, const char *form)
{
    struct form at = {c, form};

    return read_form(&at);
}

static struct sql_expr *
of_list_of(const struct call *c, const char *form)
{
    struct call with = *c;
    struct sql_expr *list = different(c, NULL, 0, false);

    with.args = &list;
    return list == NULL ? NULL : read_composed(&with, form);
}

static bool
is_of_different(const char *name)
{
    bool found = false;

    for (size_t i = 0; i < sizeof of_different / sizeof of_different[0]; i++) {
        found = found || strcmp(of_different[i][0], name) == 0;
    }
    return found;
}

static struct sql_expr *
refuse_distinct(const struct call *c)
{
    (void)sql_fail(c->p->q, GRANARY_EUNSUPPORTED, c->position,
                   "DISTINCT in '%s' is not supported: aggregate a subquery with SELECT DISTINCT", c->written);
    return NULL;
}

static struct sql_expr *
compose_distinct(const struct call *c, const char *name)
{
    for (size_t i = 0; i < sizeof of_different / sizeof of_different[0] && c->count == 1; i++) {
        if (strcmp(of_different[i][0], name) == 0) {
            return of_list_of(c, of_different[i][1]);
        }
    }
    return refuse_distinct(c);
}

/* What stands in ORDER BY of the call, or of WITHIN GROUP. */
struct inside {
    struct sql_order *order;
    size_t count;
    bool distinct;
    bool within;
};

/* Of equally frequent values it is the smallest, which is the first in ascending order. */
static struct sql_expr *
mode(const struct call *c, const struct inside *in)
{
    if (in->distinct || c->count != 1 || in->count != 1 || in->order[0].descending ||
        !same_expr(in->order[0].expr, c->args[0])) {
        (void)sql_fail(c->p->q, GRANARY_EUNSUPPORTED, c->position,
                       "'mode' in another order than the ascending one of its values is not supported: of equally "
                       "frequent values it gives the smallest");
        return NULL;
    }
    return aggregate(c, "mode", c->args, 1);
}

static struct sql_expr *
compose(const struct call *c, const char *name, const struct inside *in)
{
    struct sql_statement *q = c->p->q;

    if (is_one_of(name, list_aggregates)) {
        return of_list(c);
    }
    if (is_one_of(name, list_sorts)) {
        return sorted(c, strstr(name, "reverse") != NULL);
    }
    if (is_one_of(name, conts) || is_one_of(name, discs)) {
        if (in->distinct || c->count != 2 || in->count > 1 ||
            (in->count == 1 && !same_expr(in->order[0].expr, c->args[0]))) {
            (void)sql_fail(q, GRANARY_EUNSUPPORTED, c->position,
                           "'%s' takes a value and a fraction, in the order of the value and without DISTINCT",
                           c->written);
            return NULL;
        }
        return quantiles(c, c->args[1], is_one_of(name, conts), in->count == 1 && in->order[0].descending);
    }
    if (is_one_of(name, lists) && c->count == 1) {
        return in->distinct ? different(c, in->order, in->count, true)
                            : ordered(c, c->args[0], in->order, in->count, NULL);
    }
    if (is_one_of(name, texts) && (c->count == 1 || c->count == 2)) {
        return joined(c, in->order, in->count, in->distinct);
    }
    if (is_one_of(name, leasts) || is_one_of(name, mosts)) {
        return extreme(c, is_one_of(name, mosts));
    }
    if ((strcmp(name, "max") == 0 || strcmp(name, "min") == 0) && c->count == 2) {
        return several(c, name[1] == 'a');
    }
    if (strcmp(name, "mode") == 0) {
        return mode(c, in);
    }
    if (is_one_of(name, firsts) && c->count == 1) {
        struct sql_expr *there = strcmp(name, "any_value") == 0 ? is_null(c, c->args[0], true) : NULL;

        return CALL(c, SQL_FUNCTION, "list_extract", ordered(c, c->args[0], in->order, in->count, there),
                    literal(c, name[0] == 'l' ? "(-1)" : "1"));
    }
    return in->distinct ? compose_distinct(c, name) : NULL;
}

/* What a function would need that there is not. */
static const struct {
    const char *name;
    const char *needs;
} absent[] = {
    {"list_transform", "a lambda: unnest the list, compute, and gather with list()"},
    {"list_apply", "a lambda: unnest the list, compute, and gather with list()"},
    {"array_transform", "a lambda: unnest the list, compute, and gather with list()"},
    {"array_apply", "a lambda: unnest the list, compute, and gather with list()"},
    {"list_filter", "a lambda: unnest the list, and gather with list(...) FILTER (WHERE ...)"},
    {"array_filter", "a lambda: unnest the list, and gather with list(...) FILTER (WHERE ...)"},
    {"list_reduce", "a lambda: unnest the list, and aggregate its items"},
    {"array_reduce", "a lambda: unnest the list, and aggregate its items"},
    {"list_zip", "structs: unnest the lists side by side"},
    {"array_zip", "structs: unnest the lists side by side"},
    {"flatten", "lists of lists"},
    {"histogram", "maps: GROUP BY the value, and count"},
    {"list_histogram", "maps: unnest the list, GROUP BY its items, and count"},
    {"approx_top_k", "counts that are not exact: GROUP BY the value, ORDER BY count(*) DESC, and LIMIT"},
    {"reservoir_quantile", "a sample of its own: use quantile_cont, which is exact"},
};

/* false: it is none of these. */
static bool
is_absent(struct parse *p, const PgQuery__FuncCall *call, const char *name)
{
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        if (strcmp(absent[i].name, name) == 0) {
            (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, call->location, "'%s' is not supported, for it needs %s", name,
                           absent[i].needs);
            return true;
        }
    }
    return false;
}

/* A function of one row, told what to do by texts. */
static bool
is_of_list(const PgQuery__FuncCall *call, const char *name)
{
    return (is_one_of(name, list_aggregates) && (call->n_args == 2 || call->n_args == 3)) ||
           (is_one_of(name, list_sorts) &&
            (call->n_args == 2 || (call->n_args == 3 && strstr(name, "reverse") == NULL)));
}

/* Whether a call is made up: by its name, or because of what stands in it. */
static bool
wants_composing(const PgQuery__FuncCall *call, const char *name)
{
    bool distinct = call->agg_distinct && call->over == NULL && is_of_different(name);

    if (is_of_list(call, name)) {
        return true;
    }
    if (is_one_of(name, lists) || is_one_of(name, texts) || is_one_of(name, discs) || is_one_of(name, conts) ||
        ((is_one_of(name, leasts) || is_one_of(name, mosts)) && (call->n_args == 2 || call->n_args == 3)) ||
        ((strcmp(name, "max") == 0 || strcmp(name, "min") == 0) && call->n_args == 2)) {
        return true;
    }
    return distinct || (call->n_agg_order > 0 && is_one_of(name, firsts)) ||
           ((call->agg_within_group || call->n_agg_order > 0) && strcmp(name, "mode") == 0);
}

/* An aggregate in which the order of values does not show, or none of more than one value. */
static bool
take_order(struct call *c, const char *name, struct inside *in)
{
    const PgQuery__FuncCall *call = c->from;

    in->count = call->n_agg_order;
    in->within = call->agg_within_group;
    parse_take(c->p, &call->agg_within_group);
    if (!parse_order(c->p, TAKE(c->p, call, agg_order), call->n_agg_order, &in->order)) {
        return false;
    }
    if (in->within && strcmp(name, "mode") == 0 && in->count == 1 && c->count == 0) {
        c->args = &in->order[0].expr;
        c->count = 1;
        return true;
    }
    if (in->within && (is_one_of(name, conts) || is_one_of(name, discs))) {
        struct sql_expr **args = SQL_ARRAY(c->p->q, struct sql_expr *, 2);

        if (args == NULL || in->count != 1 || c->count != 1) {
            return args != NULL && sql_fail(c->p->q, GRANARY_EINVAL, c->position,
                                            "'%s' takes a fraction, and WITHIN GROUP one value", c->written);
        }
        args[0] = in->order[0].expr;
        args[1] = c->args[0];
        c->args = args;
        c->count = 2;
    }
    if (in->distinct && in->count > 0 &&
        (in->count > 1 || c->count == 0 || !same_expr(in->order[0].expr, c->args[0]))) {
        return sql_fail(c->p->q, GRANARY_EINVAL, in->order[0].expr->position,
                        "with DISTINCT, ORDER BY in '%s' can only name the value itself", c->written);
    }
    return true;
}

static bool
open_call(struct parse *p, const PgQuery__FuncCall *from, struct call *ret_call)
{
    *ret_call = (struct call){.p = p, .from = from, .position = from->location, .count = from->n_args};
    ret_call->written = parse_copy(p, parse_last(p, TAKE(p, from, funcname), from->n_funcname));
    ret_call->args = parse_exprs(p, TAKE(p, from, args), from->n_args);
    if (ret_call->args != NULL && from->agg_filter != NULL) {
        ret_call->condition = parse_expr(p, TAKE(p, from, agg_filter));
    }
    if (ret_call->args != NULL && from->over != NULL) {
        ret_call->over = sql_parse_window(p, TAKE(p, from, over));
    }
    return p->q->err == GRANARY_OK;
}

/* Named by what was called. */
static struct sql_expr *
finish(const struct call *c, struct sql_expr *expr)
{
    struct sql_expr *own = expr == NULL ? NULL : SQL_NEW(c->p->q, struct sql_expr);

    if (own != NULL) {
        *own = *expr;
        own->written = c->written;
    }
    return own;
}

static bool
is_form(const char *name, size_t count, const char **ret_form)
{
    for (size_t i = 0; i < COMPOSED_COUNT; i++) {
        if (strcmp(composed[i].name, name) == 0 && composed[i].count == count) {
            *ret_form = composed[i].form;
            return true;
        }
    }
    return false;
}

bool
sql_parse_composed(struct parse *p, const PgQuery__FuncCall *from, const char *name, struct sql_expr **ret_expr)
{
    struct inside in = {.distinct = from->agg_distinct};
    const char *form = NULL;
    struct call call;
    struct sql_expr *expr;

    *ret_expr = NULL;
    if (is_absent(p, from, name)) {
        return true;
    }
    if (!wants_composing(from, name) && !is_form(name, from->n_args, &form)) {
        return false;
    }
    if (((form != NULL && strstr(form, "@") == NULL) || is_of_list(from, name)) &&
        (from->agg_distinct || from->agg_filter != NULL || from->over != NULL || from->n_agg_order > 0)) {
        return false; /* a function of one row, which says so */
    }
    if (!open_call(p, from, &call)) {
        return true;
    }
    if (!wants_composing(from, name) && from->agg_distinct && strcmp(name, "approx_count_distinct") != 0) {
        (void)refuse_distinct(&call);
        return true;
    }
    if (!wants_composing(from, name)) {
        parse_take(p, &from->agg_distinct);
        call.unseen_count = from->n_agg_order;
        if (parse_order(p, TAKE(p, from, agg_order), from->n_agg_order, &call.unseen)) {
            *ret_expr = finish(&call, read_composed(&call, form));
        }
        return true;
    }
    parse_take(p, &from->agg_distinct);
    if (call.over != NULL) {
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, from->location, "'%s' with OVER is not supported in this form",
                       name);
        return true;
    }
    if (take_order(&call, name, &in)) {
        expr = compose(&call, name, &in);
        if (expr == NULL && p->q->err == GRANARY_OK) {
            (void)sql_fail(p->q, GRANARY_EINVAL, from->location, "'%s' does not take %zu arguments", name, call.count);
        }
        *ret_expr = finish(&call, expr);
    }
    return true;
}
