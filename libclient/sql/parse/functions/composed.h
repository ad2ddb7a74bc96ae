/* Within the folder: calls that are made up of others. composed.c reads forms and tells which calls these are,
 * gathered.c makes those of lists of a group's values. */
#ifndef SQL_PARSE_COMPOSED_H
#define SQL_PARSE_COMPOSED_H

#include "sql/parse/private.h"

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

/* What stands in ORDER BY of the call, or of WITHIN GROUP. */
struct inside {
    struct sql_order *order;
    size_t count;
    bool distinct;
    bool within;
};

/* ---- composed.c: parts; NULL among the arguments, or given: the statement has failed ---- */

struct sql_expr *composed_literal(const struct call *c, const char *text);
struct sql_expr *
composed_call(const struct call *c, enum sql_kind kind, const char *text, struct sql_expr *const *args, size_t count);
#define CALL(c, kind, text, ...)                                                                                       \
    composed_call(c, kind, text, (struct sql_expr *const[]){__VA_ARGS__},                                              \
                  sizeof((struct sql_expr *const[]){__VA_ARGS__}) / sizeof(struct sql_expr *))

/* An aggregate by its name in graph/operators/aggregates.def, with what belongs to every aggregate of the call. */
struct sql_expr *composed_aggregate(const struct call *c, const char *name, struct sql_expr *const *args, size_t count);
/* The same without FILTER. */
struct sql_expr *composed_aggregate_of_all(const struct call *c, const char *name, struct sql_expr *value);
struct sql_expr *composed_null_test(const struct call *c, struct sql_expr *value, bool negated);
/* A form of composed.def. */
struct sql_expr *composed_read(const struct call *c, const char *form);

/* ---- gathered.c ---- */

/* list(x ORDER BY ...): all values, nulls too, for which the conditions hold (either may be NULL). */
struct sql_expr *gathered_in_order(const struct call *c, struct sql_expr *value, const struct sql_order *order,
                                   size_t count, struct sql_expr *condition);
/* list(DISTINCT x ORDER BY x): each different value once, in ascending order or in its own one. */
struct sql_expr *gathered_different(const struct call *c, const struct sql_order *order, size_t count, bool with_null);
/* string_agg(x, separator) */
struct sql_expr *gathered_joined(const struct call *c, const struct sql_order *order, size_t count, bool distinct);
/* So many values of a list, from its first; a count that is none fails the statement. */
struct sql_expr *gathered_first(const struct call *c, struct sql_expr *list, struct sql_expr *count);
/* arg_max(x, y) and arg_min (nulls: also rows where x is null), perhaps with how many; max(x, n) and min. */
struct sql_expr *gathered_extreme(const struct call *c, bool most, bool nulls);
struct sql_expr *gathered_several(const struct call *c, bool most);
/* Quantiles: of one fraction, or of a list of them. */
struct sql_expr *gathered_quantiles(const struct call *c, struct sql_expr *given, bool cont, bool descending);
/* Whether two expressions are written alike. */
bool gathered_same(const struct sql_expr *a, const struct sql_expr *b);
/* list_sort(l, 'desc', 'nulls first'), list_aggregate(l, 'sum') */
struct sql_expr *gathered_sorted(const struct call *c, bool reverse);
struct sql_expr *gathered_of_list(const struct call *c);

#endif
