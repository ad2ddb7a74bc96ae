/* The tileable operators, from contract/ops.def. */
#ifndef GRAPH_OPS_H
#define GRAPH_OPS_H

#include <stddef.h>

enum gr_tile_op {
#define OP(name, kind, min_inputs, max_inputs, summary) GR_TILE_##name,
#define PARAM(op, name, kind, need, summary)
#include "contract/ops.def"
#undef OP
#undef PARAM
    GR_TILE_COUNT
};

struct gr_op_info {
    const char *name;
    int min_inputs;
    int max_inputs;
    const char *summary;
};

const struct gr_op_info *gr_op_info(enum gr_tile_op op);
/* -1 when there is none. */
int gr_op_find(const char *name);

#endif
