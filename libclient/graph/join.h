/* How the columns of a join's result come about; the check, the optimiser, the planner and its tests agree by using
 * this. */
#ifndef GRAPH_JOIN_H
#define GRAPH_JOIN_H

#include "graph/graph.h"

#define GR_JOIN_KEYS_MAX 64

enum gr_join_how {
    GR_JOIN_INNER,
    GR_JOIN_LEFT,  /* rows of the left side without a match are kept */
    GR_JOIN_RIGHT, /* ... of the right side */
    GR_JOIN_OUTER, /* ... of both */
    GR_JOIN_SEMI,  /* rows of the left side that have a match, once each */
    GR_JOIN_ANTI,  /* ... that have none */
    GR_JOIN_CROSS, /* every row with every row: no keys */
};

/* The parameters of a join; strings are borrowed from the attributes. */
struct gr_join {
    enum gr_join_how how;
    size_t key_count;
    char *const *left_on; /* key_count columns; equal to right_on when "on" was given */
    char *const *right_on;
    const char *left_suffix;
    const char *right_suffix;
    const char *indicator; /* name of the column that tells where a row comes from; NULL: none */
    const char *where;     /* what a pair must fulfil beside equal keys; NULL: nothing */
    bool null_aware;       /* anti: as SQL's NOT IN */
    bool unique_left;      /* a key that occurs twice on that side is an error */
    bool unique_right;
    bool any_order; /* inner: rows may come in the order of the right side */
};

/* Read the attributes of a join node. Errors: EINVAL */
granary_err gr_join_parse(Granary__Attr *const *attrs, size_t count, struct gr_join *ret_join);

/* "inner" for GR_JOIN_INNER. */
const char *gr_join_how_name(enum gr_join_how how);

/*
 * The dtype in which keys of two dtypes are compared: values are equal when they are equal as numbers, instants or
 * strings. Integers of any width and floats: int64 (a float that is no integer equals none). Two uint64: uint64. Two
 * floats: float64. With a decimal: decimal of the larger scale, or with a float float64. Date and timestamp:
 * timestamp. Errors: ETYPE
 */
granary_err gr_join_key_dtype(granary_dtype left, granary_dtype right, granary_dtype *ret_dtype);

/* A column of the result. */
struct gr_join_column {
    char *name; /* owned */
    granary_dtype dtype;
    int left;  /* the column of the left side it is, or -1 */
    int right; /* ... of the right side; both: a key that comes once. None: the indicator */
};

/*
 * The result's columns: all of the left side in order, then those of the right side without the keys that have the same
 * name on both sides, then the indicator. Names on both sides get the suffixes. Semi and anti joins give the left
 * side's.
 *
 * ret_columns  to be given to gr_join_columns_free()
 * Errors       ENOENT a key column is missing · ETYPE keys that cannot be compared · EINVAL two columns would have one
 *              name
 */
granary_err gr_join_columns(const struct gr_join *join, const struct gr_schema *left, const struct gr_schema *right,
                            struct gr_join_column **ret_columns, size_t *ret_count);
/* The columns that `where` can read: those of the inner join. Errors: the same */
granary_err gr_join_pair_columns(const struct gr_join *join, const struct gr_schema *left,
                                 const struct gr_schema *right, struct gr_join_column **ret_columns, size_t *ret_count);
void gr_join_columns_free(struct gr_join_column *columns, size_t count);

/* The schema of the result; `where` is checked, too. Errors: as gr_join_columns(), gr_expr_check() */
granary_err gr_join_schema(const struct gr_join *join, const struct gr_schema *left, const struct gr_schema *right,
                           struct gr_schema *ret_schema);

#endif
