/* How the columns of a join's result come about; the planner, the kernel and the check agree by using this. */
#ifndef GRAPH_JOIN_H
#define GRAPH_JOIN_H

#include "graph/graph.h"

/* The parameters of a join; strings are borrowed from the attributes. */
struct gr_join {
    size_t key_count;
    char *const *left_on; /* key_count columns; equal to right_on when "on" was given */
    char *const *right_on;
    bool left; /* rows of the left side without a match are kept */
    const char *left_suffix;
    const char *right_suffix;
};

/* Read the attributes on, left_on, right_on, how, suffixes. Errors: EINVAL */
granary_err gr_join_parse(Granary__Attr *const *attrs, size_t count, struct gr_join *ret_join);

/* Whether a column of the right side is in the result: all but keys of the same name as the left side's. */
bool gr_join_keeps(const struct gr_join *join, const char *right_column);

/*
 * The result's columns: all of the left side in order, then those of the right side that are kept, in order. Names on
 * both sides get the suffixes.
 *
 * Errors: ENOENT a key column is missing · ETYPE key dtypes differ · EINVAL two columns would have one name
 */
granary_err gr_join_schema(const struct gr_join *join, const struct gr_schema *left, const struct gr_schema *right,
                           struct gr_schema *ret_schema);

#endif
