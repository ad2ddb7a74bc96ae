/* The columns of concatenated frames; the check and the planner agree by using this. */
#ifndef GRAPH_CONCAT_H
#define GRAPH_CONCAT_H

#include "graph/graph.h"

enum gr_concat_axis { GR_CONCAT_ROWS, GR_CONCAT_COLUMNS };

struct gr_concat {
    enum gr_concat_axis axis;
    bool common;  /* rows: only columns that all have */
    bool convert; /* rows: values of different kinds become those of one */
};

/* Read the attributes axis, join and convert. Errors: EINVAL */
granary_err gr_concat_parse(Granary__Attr *const *attrs, size_t count, struct gr_concat *ret_concat);

/* The result's columns. Errors: ETYPE dtypes that do not go together · EINVAL a name twice, or no column · ENOMEM */
granary_err gr_concat_schema(const struct gr_concat *concat, const struct gr_schema *const *inputs, size_t count,
                             struct gr_schema *ret_schema);

#endif
