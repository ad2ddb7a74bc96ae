/* Arguments that are given by their names: lead(col := x, "offset" := 2). Each takes its place. */
#include <string.h>

#include "sql/parse/private.h"

enum { PLACES = 3 };

/* The functions whose arguments have names that people write. */
static const struct {
    const char *function;
    const char *names[PLACES];
} named[] = {
    {"lag", {"col", "offset", "default"}},
    {"lead", {"col", "offset", "default"}},
    {"percentile_cont", {"quantile"}},
    {"percentile_disc", {"quantile"}},
    {"quantile_cont", {"x", "quantile"}},
    {"quantile_disc", {"x", "quantile"}},
    {"array_to_string_comma_default", {"list", "sep"}},
};

static const char *const *
names_of(const char *function)
{
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (strcmp(named[i].function, function) == 0) {
            return named[i].names;
        }
    }
    return NULL;
}

/* The place of the argument that is called so. PLACES: there is none; then the statement has failed. */
static size_t
place_of(struct parse *p, const char *function, const PgQuery__NamedArgExpr *arg)
{
    const char *const *names = names_of(function);
    size_t place = 0;

    while (names != NULL && place < PLACES && (names[place] == NULL || strcmp(names[place], arg->name) != 0)) {
        place++;
    }
    if (names == NULL || place == PLACES) {
        (void)sql_fail(p->q, GRANARY_EUNSUPPORTED, arg->location, "'%s' has no argument that is called '%.60s'",
                       function, arg->name);
        return PLACES;
    }
    return place;
}

/* One argument in its place. false: the statement has failed. */
static bool
put_argument(struct parse *p, const char *function, PgQuery__Node *from, struct sql_expr **args, size_t at)
{
    const PgQuery__NamedArgExpr *arg =
        from->node_case == PG_QUERY__NODE__NODE_NAMED_ARG_EXPR ? from->named_arg_expr : NULL;
    const size_t place = arg == NULL ? at : place_of(p, function, arg);

    if (arg == NULL && at >= PLACES) {
        return sql_fail(p->q, GRANARY_EINVAL, -1, "'%s' takes at most %d arguments", function, PLACES);
    }
    if (place == PLACES) {
        return false;
    }
    if (args[place] != NULL) {
        return sql_fail(p->q, GRANARY_EINVAL, args[place]->position, "'%s' is given this argument twice", function);
    }
    if (arg != NULL) {
        parse_take(p, &arg->name);
        parse_take(p, &arg->argnumber);
    }
    args[place] = parse_expr(p, arg == NULL ? from : TAKE(p, arg, arg));
    return args[place] != NULL;
}

struct sql_expr **
sql_parse_call_arguments(struct parse *p, const PgQuery__FuncCall *call, size_t *ret_count)
{
    PgQuery__Node *const *from = TAKE(p, call, args);
    const char *function = parse_last(p, call->funcname, call->n_funcname);
    struct sql_expr **args;
    bool any = false;

    for (size_t i = 0; i < call->n_args; i++) {
        any = any || from[i]->node_case == PG_QUERY__NODE__NODE_NAMED_ARG_EXPR;
    }
    *ret_count = call->n_args;
    if (!any) {
        return parse_exprs(p, from, call->n_args);
    }
    args = SQL_ARRAY(p->q, struct sql_expr *, PLACES);
    for (size_t i = 0; i < call->n_args && args != NULL; i++) {
        if (!put_argument(p, function, from[i], args, i)) {
            return NULL;
        }
    }
    for (size_t i = PLACES; args != NULL && i-- > 0;) {
        if (args[i] != NULL && i >= *ret_count) {
            *ret_count = i + 1;
        }
        if (args[i] == NULL && i == 1 && *ret_count == PLACES) { /* the distance of lag and lead */
            args[i] = sql_parse_new_expr(p, SQL_LITERAL, call->location, "1", 0);
        }
        if (args[i] == NULL && i < *ret_count) {
            (void)sql_fail(p->q, GRANARY_EINVAL, call->location, "'%s' needs its argument '%s'", function,
                           names_of(function)[i]);
            return NULL;
        }
    }
    return args;
}
