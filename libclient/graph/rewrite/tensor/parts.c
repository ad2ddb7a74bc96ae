/*
 * A part of a tensor that is made of nothing, or is there: `split` of the whole. Blocks that the part does not need are
 * not made. Of a file, the part is an array in the file itself (sched/tile/file/npy.c).
 */
#include <string.h>

#include "graph/rewrite/private.h"

bool
gr_part_is_written(const struct gr_node *node)
{
    return node->op != GR_TILE_read_npy && node->op != GR_TILE_read_raw && node->yields == GR_YIELDS_TENSOR &&
           gr_op_info((enum gr_tile_op)node->op)->max_inputs == 0 &&
           gr_attr_find(node->node->attrs, node->node->n_attrs, "parts") != NULL;
}

struct gr_node *
rewrite_as_part(struct rewrite *x)
{
    int64_t part = rewrite_param_int(x, "part");
    int64_t parts = rewrite_param_int(x, "parts");
    struct gr_node *whole;

    for (size_t i = 0; i < x->params.count; i++) {
        const char *name = x->params.attrs[i]->name;

        if (strcmp(name, "part") != 0 && strcmp(name, "parts") != 0) {
            rewrite_hand_on(x, name, name);
        }
    }
    whole = rewrite_part(x, "whole", (enum gr_tile_op)x->node->op, NULL, NULL, NULL, NULL);
    if (x->err == GRANARY_OK && whole->type.dims == 0) {
        return rewrite_fail(x, "parameter 'part': a tensor without dimensions has no parts");
    }
    return rewrite_add(x, GR_TILE_split, whole, NULL, rewrite_int(x, "part", part), rewrite_int(x, "parts", parts));
}
