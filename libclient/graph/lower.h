/*
 * Operators that say nothing new: each is written as another one, over the columns its input has. Types are inferred,
 * and steps made, from what it is written as; there are no tile rules or kernels for it.
 */
#ifndef GRAPH_LOWER_H
#define GRAPH_LOWER_H

#include "graph/graph.h"
#include "graph/ops.h"

/* clang-format off */
#define GR_LOWERED_OPS(X) \
    X(drop) X(rename) X(dropna) X(fillna) X(replace) \
    X(astype_columns) X(clip_columns) X(where_columns) X(mask_columns) X(nlargest) \
    X(nsmallest) X(cut) X(get_dummies) X(to_datetime) X(to_numeric) X(aggregate) \
    X(tail) X(quantile) X(count_rows) X(reset_index)
/* clang-format on */

struct gr_lowered {
    enum gr_tile_op op;
    Granary__Attr **attrs; /* owned */
    size_t count;
    int64_t limit; /* of a sort: only the first rows; -1: all */
};

bool gr_op_is_lowered(enum gr_tile_op op);

/* The parameters by themselves. Errors: EINVAL */
granary_err gr_lower_check(const Granary__Node *node, enum gr_tile_op op);

/*
 * Errors: ENOENT a column that is not there · EINVAL · ETYPE · ENOMEM; what is wrong with the expressions that are made
 * is found when what was made is checked
 */
granary_err gr_lower(enum gr_tile_op op, Granary__Attr *const *attrs, size_t count, const struct gr_schema *input,
                     struct gr_lowered *ret_lowered);
void gr_lowered_free(struct gr_lowered *lowered);

#endif
