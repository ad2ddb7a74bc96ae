/*
 * Operators that say nothing new: each is written as another one, over the columns its input has. Types are inferred,
 * and steps made, from what it is written as; there are no tile rules or kernels for it.
 */
#ifndef GRAPH_LOWER_LOWER_H
#define GRAPH_LOWER_LOWER_H

#include "graph/graph.h"
#include "graph/ops.h"

struct gr_lowered {
    enum gr_tile_op op;
    Granary__Attr **attrs; /* owned */
    size_t count;
    int64_t limit; /* of a sort: only the first rows; -1: all */
};

/*
 * Errors: ENOENT a column that is not there · EINVAL · ETYPE · ENOMEM; what is wrong with the expressions that are made
 * is found when what was made is checked
 */
granary_err gr_lower(enum gr_tile_op op, Granary__Attr *const *attrs, size_t count, const struct gr_schema *input,
                     struct gr_lowered *ret_lowered);
void gr_lowered_free(struct gr_lowered *lowered);

#endif
