/* Functions and aggregates that are made up of others: by the forms of composed.def, read by descent, and by gathered.c. */
#include <string.h>

#include "sql/parse/functions/composed.h"

static const struct {
    const char *name;
    size_t count;
    const char *form;
} composed[] = {
#define COMPOSED(name, count, form) {name, count, form},
#include "sql/parse/functions/composed.def"
};
enum { COMPOSED_COUNT = sizeof composed / sizeof composed[0], FORM_ARGUMENTS = 8 };

/* ---- parts ---- */

bool
sql_parse_is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

struct sql_expr *
composed_literal(const struct call *c, const char *text)
{
    return sql_parse_new_expr(c->p, SQL_LITERAL, c->position, text, 0);
}

struct sql_expr *
composed_call(const struct call *c, enum sql_kind kind, const char *text, struct sql_expr *const *args, size_t count)
{
    struct sql_expr *expr = sql_parse_new_expr(c->p, kind, c->position, text, count);

    for (size_t i = 0; i < count && expr != NULL; i++) {
        expr->args[i] = args[i];
        expr = args[i] == NULL ? NULL : expr;
    }
    return expr;
}

/* An aggregate by its name in graph/operators/aggregates.def. */
struct sql_expr *
composed_aggregate(const struct call *c, const char *name, struct sql_expr *const *args, size_t count)
{
    struct sql_expr *expr = composed_call(c, SQL_AGGREGATE, name, args, count);

    if (expr != NULL) {
        sql_parse_type_null(c->p, name, expr->args, count);
        expr->written = c->written;
        expr->condition = c->condition;
        expr->unseen = c->unseen;
        expr->unseen_count = c->unseen_count;
        expr->over = c->over;
    }
    return expr;
}

/* The same without FILTER. */
struct sql_expr *
composed_aggregate_of_all(const struct call *c, const char *name, struct sql_expr *value)
{
    struct call plain = *c;

    plain.condition = NULL;
    return value == NULL ? NULL : composed_aggregate(&plain, name, &value, 1);
}

struct sql_expr *
composed_null_test(const struct call *c, struct sql_expr *value, bool negated)
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

/* The form of a name; NULL: there is none with so many arguments. */
static const char *
form_of(const char *name, size_t count)
{
    for (size_t i = 0; i < COMPOSED_COUNT; i++) {
        if (strcmp(composed[i].name, name) == 0 && composed[i].count == count) {
            return composed[i].form;
        }
    }
    return NULL;
}

static struct sql_expr *
make_call(const struct call *c, const char *word, struct sql_expr **args, size_t count)
{
    static const char *const casts[][2] = {
        {"double", "float64"}, {"bigint", "int64"}, {"string", "string"}, {"date", "date"}};

    if (word[0] == '_') { /* a part that forms share */
        struct call part = *c;

        part.args = args;
        part.count = count;
        return composed_read(&part, form_of(word, count));
    }
    if (word[0] == '@') {
        return strcmp(word, "@var_pop") == 0 ? composed_aggregate(c, "var, 0", args, count)
                                             : composed_aggregate(c, word + 1, args, count);
    }
    if (strchr("+-*/=>|", word[0]) != NULL) {
        return composed_call(c, SQL_INFIX, word, args, count);
    }
    if (strcmp(word, "if") == 0) {
        return composed_call(c, SQL_CASE, "", args, count);
    }
    if (strcmp(word, "is_null") == 0) {
        return composed_null_test(c, args[0], false);
    }
    for (size_t i = 0; i < sizeof casts / sizeof casts[0]; i++) {
        if (strcmp(word, casts[i][0]) == 0) {
            return composed_call(c, SQL_CAST, casts[i][1], args, count);
        }
    }
    if (strcmp(word, "json_of") == 0) {
        return sql_parse_json_of(c->p, args[0], c->position);
    }
    if (strcmp(word, "pairs") == 0) {
        return CALL(c, SQL_CASE, "", composed_null_test(c, args[1], false), composed_literal(c, "null"), args[0]);
    }
    return composed_call(c, SQL_FUNCTION, word, args, count);
}

static struct sql_expr *
read_form(struct form *form)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_@.+-*/=>|'^";
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

        while (form->at[size] == '\'') { /* a quote in it */
            size += 1 + strcspn(form->at + size + 1, "'") + 1;
        }

        word = sql_printf(c->p->q, "%.*s", (int)size, form->at);
        form->at += size;
        return composed_literal(c, word);
    }
    word = read_word(form, letters);
    if (word == NULL || *form->at != '(') {
        return word == NULL ? NULL : composed_literal(c, word[0] == '-' ? sql_printf(c->p->q, "(%s)", word) : word);
    }
    count = read_arguments(form, args);
    return make_call(c, word, args, count);
}

struct sql_expr *
composed_read(const struct call *c, const char *form)
{
    struct form at = {c, form};

    return read_form(&at);
}

struct sql_expr *
sql_parse_form_of_two(struct parse *p, const char *name, int position, struct sql_expr *left, struct sql_expr *right)
{
    struct sql_expr *args[2] = {left, right};
    const struct call call = {.p = p, .args = args, .count = 2, .position = position};

    return composed_read(&call, form_of(name, 2));
}

void
sql_parse_type_null(struct parse *p, const char *aggregate, struct sql_expr **args, size_t count)
{
    static const char *const any[] = {"count", "min",   "max",    "first",   "last",    "mode",
                                      "list",  "array", "unique", "nunique", "entropy", NULL};

    for (size_t i = 0; i < count && !sql_parse_is_one_of(aggregate, any); i++) {
        if (args[i]->kind == SQL_LITERAL && strcmp(args[i]->text, "null") == 0) {
            args[i] = sql_parse_new_call(p, SQL_CAST, args[i]->position, "int64", args[i], NULL);
        }
    }
}

/* ---- which ---- */

static const char *const list_aggregates[] = {
    "list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate_list", "aggregate", NULL};
static const char *const list_sorts[] = {"list_sort", "array_sort", "list_reverse_sort", "array_reverse_sort", NULL};
static const char *const lists[] = {"list", "array_agg", NULL};
static const char *const texts[] = {"string_agg", "group_concat", "listagg", NULL};
static const char *const firsts[] = {"first", "any_value", "arbitrary", "last", "first_value", "last_value", NULL};
static const char *const leasts[] = {"arg_min", "min_by", "argmin", "arg_min_null", NULL};
static const char *const mosts[] = {"arg_max", "max_by", "argmax", "arg_max_null", NULL};
static const char *const leasts_last[] = {"arg_min_nulls_last", "min_by_nulls_last", NULL};
static const char *const mosts_last[] = {"arg_max_nulls_last", "max_by_nulls_last", NULL};
static const char *const conts[] = {"quantile_cont", "percentile_cont", NULL};
static const char *const discs[] = {"quantile_disc",   "percentile_disc",    "quantile",
                                    "approx_quantile", "reservoir_quantile", NULL};

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
    {"entropy", "coalesce(list_entropy($1), 0e0)"},
    {"mad", "list_mad($1)"},
    {"skewness", "list_skewness($1)"},
    {"kurtosis", "list_kurtosis($1)"},
    {"bit_xor", "list_bit_xor($1)"},
};

/* Those whose value DISTINCT does not change. */
static const char *const indifferent[] = {"min",    "max",   "bool_and", "bool_or",   "every",     "bit_and",
                                          "bit_or", "first", "last",     "any_value", "arbitrary", NULL};

bool
sql_parse_minds_distinct(const char *name)
{
    return !sql_parse_is_one_of(name, indifferent);
}

static struct sql_expr *
of_list_of(const struct call *c, const char *form)
{
    struct call with = *c;
    struct sql_expr *list = gathered_different(c, NULL, 0, false);

    with.args = &list;
    return list == NULL ? NULL : composed_read(&with, form);
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

/* Of equally frequent values it is that which comes first in the order; with DISTINCT all are. */
static struct sql_expr *
mode(const struct call *c, const struct inside *in)
{
    struct sql_expr *there;

    if (c->count != 1) {
        (void)sql_fail(c->p->q, GRANARY_EINVAL, c->position, "'mode' takes one value");
        return NULL;
    }
    if (in->distinct) {
        return in->count == 0 ? composed_aggregate(c, "first", c->args, 1)
                              : composed_aggregate(c, in->order[0].descending ? "max" : "min", c->args, 1);
    }
    if (in->count == 1 && !in->order[0].descending && gathered_same(in->order[0].expr, c->args[0])) {
        return composed_aggregate(c, "mode", c->args, 1);
    }
    there = composed_null_test(c, c->args[0], true);
    return CALL(c, SQL_FUNCTION, "list_mode", gathered_in_order(c, c->args[0], in->order, in->count, there));
}

/* arg_min_nulls_last(x, y): a null y comes behind all others, and x may be null. */
static struct sql_expr *
extreme_nulls_last(const struct call *c, bool most)
{
    struct sql_order order = {.expr = c->args[1], .descending = most};
    struct sql_expr *list = gathered_in_order(c, c->args[0], &order, 1, NULL);

    return c->count == 3 ? gathered_first(c, list, c->args[2])
                         : CALL(c, SQL_FUNCTION, "list_extract", list, composed_literal(c, "1"));
}

/* approx_top_k(x, k), exactly: of equally frequent values the first. */
static struct sql_expr *
most_frequent(const struct call *c, const struct inside *in)
{
    struct sql_expr *list = in->count == 0 ? composed_aggregate(c, "list", c->args, 1)
                                           : gathered_in_order(c, c->args[0], in->order, in->count, NULL);

    return gathered_first(c, CALL(c, SQL_FUNCTION, "list_by_frequency", list), c->args[1]);
}

static struct sql_expr *
compose(const struct call *c, const char *name, const struct inside *in)
{
    struct sql_statement *q = c->p->q;

    if (sql_parse_is_one_of(name, list_aggregates)) {
        return gathered_of_list(c);
    }
    if (sql_parse_is_one_of(name, list_sorts)) {
        return gathered_sorted(c, strstr(name, "reverse") != NULL);
    }
    if (strcmp(name, "approx_top_k") == 0 && c->count == 2 && !in->distinct) {
        return most_frequent(c, in);
    }
    if (sql_parse_is_one_of(name, conts) || sql_parse_is_one_of(name, discs)) {
        bool sample = c->count == 3 && strcmp(name, "reservoir_quantile") == 0; /* whose size does not matter */

        if (in->distinct || (c->count != 2 && !sample) || in->count > 1 ||
            (in->count == 1 && !gathered_same(in->order[0].expr, c->args[0]))) {
            (void)sql_fail(q, GRANARY_EUNSUPPORTED, c->position,
                           "'%s' takes a value and a fraction, in the order of the value and without DISTINCT",
                           c->written);
            return NULL;
        }
        return gathered_quantiles(c, c->args[1], sql_parse_is_one_of(name, conts),
                                  in->count == 1 && in->order[0].descending);
    }
    if (sql_parse_is_one_of(name, lists) && c->count == 1) {
        return in->distinct ? gathered_different(c, in->order, in->count, true)
                            : gathered_in_order(c, c->args[0], in->order, in->count, NULL);
    }
    if (sql_parse_is_one_of(name, texts) && (c->count == 1 || c->count == 2)) {
        return gathered_joined(c, in->order, in->count, in->distinct);
    }
    if (sql_parse_is_one_of(name, leasts) || sql_parse_is_one_of(name, mosts)) {
        return gathered_extreme(c, sql_parse_is_one_of(name, mosts), strstr(name, "_null") != NULL);
    }
    if (sql_parse_is_one_of(name, leasts_last) || sql_parse_is_one_of(name, mosts_last)) {
        return extreme_nulls_last(c, sql_parse_is_one_of(name, mosts_last));
    }
    if ((strcmp(name, "max") == 0 || strcmp(name, "min") == 0) && c->count == 2) {
        return gathered_several(c, name[1] == 'a');
    }
    if (strcmp(name, "mode") == 0) {
        return mode(c, in);
    }
    if ((sql_parse_is_one_of(name, firsts) && c->count == 1) || (strcmp(name, "nth_value") == 0 && c->count == 2)) {
        bool filled = strcmp(name, "any_value") == 0 || parse_is_noted(c->p, c->from->location, NOTED_IGNORE_NULLS);
        struct sql_expr *there = filled ? composed_null_test(c, c->args[0], true) : NULL;

        return CALL(c, SQL_FUNCTION, "list_extract", gathered_in_order(c, c->args[0], in->order, in->count, there),
                    c->count == 2 ? c->args[1] : composed_literal(c, name[0] == 'l' ? "(-1)" : "1"));
    }
    return in->distinct ? compose_distinct(c, name) : NULL;
}

/* What a function would need that there is not. */
static const struct {
    const char *name;
    const char *needs;
} absent[] = {
    {"list_zip", "structs: unnest the lists side by side"},
    {"array_zip", "structs: unnest the lists side by side"},
    {"histogram_exact", "maps: GROUP BY the value, and count"},
    {"histogram", "maps: GROUP BY the value, and count"},
    {"list_histogram", "maps: unnest the list, GROUP BY its items, and count"},
    {"current_database", "databases with names: SELECT a constant"},
    {"current_catalog", "databases with names: SELECT a constant"},
    {"version", "a version that other engines know: ask granary --version"},
    {"setseed", "a generator with a state: write random_of(seed, n), n a number of the row"},
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
    return (sql_parse_is_one_of(name, list_aggregates) && (call->n_args == 2 || call->n_args == 3)) ||
           (sql_parse_is_one_of(name, list_sorts) &&
            (call->n_args == 2 || (call->n_args == 3 && strstr(name, "reverse") == NULL)));
}

/* Whether a call is made up: by its name, or because of what stands in it. */
static bool
wants_composing(const PgQuery__FuncCall *call, const char *name)
{
    bool distinct = call->agg_distinct && is_of_different(name);

    if (is_of_list(call, name)) {
        return true;
    }
    if (sql_parse_is_one_of(name, lists) || sql_parse_is_one_of(name, texts) || sql_parse_is_one_of(name, discs) ||
        sql_parse_is_one_of(name, conts) || strcmp(name, "approx_top_k") == 0 ||
        ((sql_parse_is_one_of(name, leasts) || sql_parse_is_one_of(name, mosts) ||
          sql_parse_is_one_of(name, leasts_last) || sql_parse_is_one_of(name, mosts_last)) &&
         (call->n_args == 2 || call->n_args == 3)) ||
        ((strcmp(name, "max") == 0 || strcmp(name, "min") == 0) && call->n_args == 2)) {
        return true;
    }
    return distinct ||
           (call->n_agg_order > 0 &&
            (sql_parse_is_one_of(name, firsts) || (strcmp(name, "nth_value") == 0 && call->over != NULL))) ||
           ((call->agg_within_group || call->n_agg_order > 0 || (call->agg_distinct && call->over == NULL)) &&
            strcmp(name, "mode") == 0);
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
    if (in->within && (sql_parse_is_one_of(name, conts) || sql_parse_is_one_of(name, discs))) {
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
        (in->count > 1 || c->count == 0 || !gathered_same(in->order[0].expr, c->args[0]))) {
        return sql_fail(c->p->q, GRANARY_EINVAL, in->order[0].expr->position,
                        "with DISTINCT, ORDER BY in '%s' can only name the value itself", c->written);
    }
    return true;
}

static bool
open_call(struct parse *p, const PgQuery__FuncCall *from, struct call *ret_call)
{
    *ret_call = (struct call){.p = p, .from = from, .position = from->location};
    ret_call->written = parse_copy(p, parse_last(p, TAKE(p, from, funcname), from->n_funcname));
    ret_call->args = sql_parse_call_arguments(p, from, &ret_call->count);
    if (ret_call->args != NULL && from->agg_filter != NULL) {
        ret_call->condition = parse_expr(p, TAKE(p, from, agg_filter));
    }
    ret_call->condition = parse_pivoted(p, ret_call->condition, from->location);
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

/* Of a name that callers know. */
static bool
is_form(const char *name, size_t count, const char **ret_form)
{
    const char *form = name == NULL || name[0] == '_' ? NULL : form_of(name, count);

    *ret_form = form == NULL ? *ret_form : form;
    return form != NULL;
}

/* The form of a call; with a mark behind its name those for a second argument that is null, or may be. */
static bool
find_form(struct parse *p, const PgQuery__FuncCall *from, const char *name, const char **ret_form)
{
    const PgQuery__Node *second = from->n_args == 2 ? from->args[1] : NULL;
    bool written = second != NULL && second->node_case == PG_QUERY__NODE__NODE_A_CONST;
    bool null = written && second->a_const->isnull;
    bool known = written || (second != NULL && second->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR);

    return (null && is_form(sql_printf(p->q, "%s!", name), 2, ret_form)) ||
           (second != NULL && (null || !known) && is_form(sql_printf(p->q, "%s?", name), 2, ret_form)) ||
           is_form(name, from->n_args, ret_form);
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
    if (!wants_composing(from, name) && !find_form(p, from, name, &form)) {
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
            *ret_expr = finish(&call, composed_read(&call, form));
        }
        return true;
    }
    parse_take(p, &from->agg_distinct);
    if (take_order(&call, name, &in)) {
        expr = compose(&call, name, &in);
        if (expr == NULL && p->q->err == GRANARY_OK) {
            (void)sql_fail(p->q, GRANARY_EINVAL, from->location, "'%s' does not take %zu arguments", name, call.count);
        }
        *ret_expr = finish(&call, expr);
    }
    return true;
}
