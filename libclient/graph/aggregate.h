/* The aggregates of a groupby: new column -> 'size', 'FUNCTION(argument)' or 'FUNCTION(argument, second)'. */
#ifndef GRAPH_AGGREGATE_H
#define GRAPH_AGGREGATE_H

#include "graph/graph.h"
#include "graph/schema.h"

/*
 * Functions: name, what the second argument is, whether values are numbers.
 *
 *            function    name        second              values */
#define GR_AGGREGATES(X)                                                                                               \
    X(SIZE, "size", NOTHING, ANY)                                                                                      \
    X(COUNT, "count", NOTHING, ANY)                                                                                    \
    X(SUM, "sum", NOTHING, ADDABLE)                                                                                    \
    X(MEAN, "mean", NOTHING, AVERAGED)                                                                                 \
    X(MIN, "min", NOTHING, ANY)                                                                                        \
    X(MAX, "max", NOTHING, ANY)                                                                                        \
    X(NUNIQUE, "nunique", NOTHING, ANY)                                                                                \
    X(VAR, "var", DDOF, NUMBER)                                                                                        \
    X(STD, "std", DDOF, NUMBER)                                                                                        \
    X(SEM, "sem", DDOF, NUMBER)                                                                                        \
    X(SKEW, "skew", NOTHING, NUMBER)                                                                                   \
    X(KURTOSIS, "kurtosis", NOTHING, NUMBER)                                                                           \
    X(PROD, "prod", NOTHING, NUMBER)                                                                                   \
    X(ANY, "any", NOTHING, NUMBER)                                                                                     \
    X(ALL, "all", NOTHING, NUMBER)                                                                                     \
    X(FIRST, "first", NOTHING, ANY)                                                                                    \
    X(LAST, "last", NOTHING, ANY)                                                                                      \
    X(MEDIAN, "median", NOTHING, BETWEEN)                                                                              \
    X(QUANTILE, "quantile", FRACTION, BETWEEN)                                                                         \
    X(MODE, "mode", NOTHING, ANY)                                                                                      \
    X(CORR, "corr", ARGUMENT, NUMBER)                                                                                  \
    X(COV, "cov", ARGUMENT, NUMBER)                                                                                    \
    X(LARGEST, "largest", ROWS, ORDERED)                                                                               \
    X(SMALLEST, "smallest", ROWS, ORDERED)

#define GR_AGGREGATE_ENUM(function, name, second, values) GR_AGGREGATE_##function,
enum gr_aggregate_function { GR_AGGREGATES(GR_AGGREGATE_ENUM) GR_AGGREGATE_COUNT_ALL };
#undef GR_AGGREGATE_ENUM

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

/* dtype of the result over arguments of that dtype (ignored for SIZE). Errors: ETYPE "sum needs ..., not string" */
granary_err gr_aggregate_dtype(enum gr_aggregate_function function, granary_dtype dtype, granary_dtype *ret_dtype);

/* Whether describe takes a column: numbers, not bools. */
bool gr_aggregate_describes(granary_dtype dtype);

/* dtype of an argument over a frame: of the column that has exactly this name, else of the expression.
 * Errors: ENOENT, EINVAL, ETYPE name what is wrong · ENOMEM */
granary_err gr_aggregate_argument(const char *text, const struct gr_schema *schema, granary_dtype *ret_dtype);
/* Mark the columns an argument reads; flags: schema->count. Errors: EINVAL · ENOMEM */
granary_err gr_aggregate_reads(const char *text, const struct gr_schema *schema, bool *flags);

/* Whether a group has several rows in the result: then there is no other aggregate. */
static inline bool
gr_aggregate_is_rows(const struct gr_aggregate *aggregate)
{
    return aggregate->function == GR_AGGREGATE_LARGEST || aggregate->function == GR_AGGREGATE_SMALLEST;
}

#endif
