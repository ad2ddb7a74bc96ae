/* The aggregates of a groupby: new column -> 'size', 'FUNCTION(argument)' or 'FUNCTION(argument, second)'. */
#ifndef GRAPH_AGGREGATE_H
#define GRAPH_AGGREGATE_H

#include "graph/graph.h"
#include "graph/schema.h"

enum gr_aggregate_function {
#define AGGREGATE(id, ...) GR_AGGREGATE_##id,
#include "graph/operators/aggregates.def"
};

#define GR_AGGREGATE_ROWS_MAX 1000 /* of largest and smallest */

struct gr_aggregate {
    char *name; /* of the new column */
    enum gr_aggregate_function function;
    char *column;  /* a column's name, or an expression; NULL for SIZE */
    char *second;  /* CORR, COV: the other one; else NULL */
    double number; /* DDOF, FRACTION, ROWS: the second argument, or what it is when it is left out */
};

/*
 * Read the attribute "aggregate". An argument is everything between the first '(' and the last ')', or the comma before
 * the second argument; perhaps in backquotes (a backquote within is then doubled).
 *
 * *ret_aggregates  count entries in the order of the mapping, to be given to gr_aggregates_free()
 * Errors           EINVAL the message names the entry · ENOMEM
 */
granary_err gr_aggregates_parse(const Granary__Attr *attr, struct gr_aggregate **ret_aggregates, size_t *ret_count);
void gr_aggregates_free(struct gr_aggregate *aggregates, size_t count);

/* Whether there is an aggregate of that name, in letters of any case; all names, for a hint. */
bool gr_aggregate_exists(const char *name);
struct gr_nearest;
void gr_aggregates_offer(struct gr_nearest *nearest);

/* dtype of the result over arguments of that dtype (ignored for SIZE). Errors: ETYPE "sum needs ..., not string" */
granary_err gr_aggregate_dtype(enum gr_aggregate_function function, granary_dtype dtype, granary_dtype *ret_dtype);

/* Whether a group of no value has no result. */
bool gr_aggregate_has_nulls(enum gr_aggregate_function function);
/* Whether what is kept of a group are values of rows, and not only what they add up to. */
bool gr_aggregate_keeps_values(enum gr_aggregate_function function);
/* Whether the order of rows does not show in a result over arguments of that dtype. */
bool gr_aggregate_is_blind(enum gr_aggregate_function function, granary_dtype dtype);

/* Whether describe takes a column: numbers, not bools. */
bool gr_aggregate_describes(granary_dtype dtype);

/* dtype of an argument over a frame: of the column that has exactly this name, else of the expression.
 * Errors: ENOENT, EINVAL, ETYPE name what is wrong · ENOMEM */
granary_err gr_aggregate_argument(struct gr_trees *trees, const char *text, const struct gr_schema *schema,
                                  granary_dtype *ret_dtype);

/* Whether a group has several rows in the result: then there is no other aggregate. */
static inline bool
gr_aggregate_is_rows(const struct gr_aggregate *aggregate)
{
    return aggregate->function == GR_AGGREGATE_LARGEST || aggregate->function == GR_AGGREGATE_SMALLEST;
}

#endif
