/* The aggregates of a groupby: new column -> 'size' or 'FUNCTION(column)'. */
#ifndef GRAPH_AGGREGATE_H
#define GRAPH_AGGREGATE_H

#include "graph/graph.h"

enum gr_aggregate_function {
    GR_AGGREGATE_SIZE,    /* rows of the group; no column */
    GR_AGGREGATE_COUNT,   /* values that are not null */
    GR_AGGREGATE_SUM,     /* numbers and bools; of no value 0 */
    GR_AGGREGATE_MEAN,    /* numbers and bools; of no value null */
    GR_AGGREGATE_MIN,     /* any dtype; of no value null */
    GR_AGGREGATE_MAX,     /* any dtype; of no value null */
    GR_AGGREGATE_NUNIQUE, /* different values, nulls not counted */
};

struct gr_aggregate {
    char *name; /* of the new column */
    enum gr_aggregate_function function;
    char *column; /* NULL for SIZE */
};

/*
 * Read the attribute "aggregate". The column's name is everything between the first '(' and the last ')', perhaps in
 * backquotes (a backquote within is then doubled).
 *
 * *ret_aggregates  count entries in the order of the mapping, to be given to gr_aggregates_free()
 * Errors           EINVAL the message names the entry · ENOMEM
 */
granary_err gr_aggregates_parse(const Granary__Attr *attr, struct gr_aggregate **ret_aggregates, size_t *ret_count);
void gr_aggregates_free(struct gr_aggregate *aggregates, size_t count);

/* dtype of the result over a column of that dtype (ignored for SIZE). Errors: ETYPE "sum needs ..., not string" */
granary_err gr_aggregate_dtype(enum gr_aggregate_function function, granary_dtype dtype, granary_dtype *ret_dtype);

#endif
