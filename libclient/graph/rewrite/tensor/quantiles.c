/* Several quantiles at once: one after another, side by side along a new first dimension. */
#include "graph/infer/private.h"
#include "graph/rewrite/private.h"

#define QUANTILES 1000

/* One quantile stays as it is. */
static struct gr_node *
rewrite_quantiles(struct rewrite *x)
{
    const Granary__Attr *q = rewrite_param(x, "q");
    struct gr_node *made[QUANTILES];

    if (q->kind != GRANARY__ATTR__KIND__DOUBLES) {
        return x->node;
    }
    if (q->n_doubles == 0 || q->n_doubles > QUANTILES) {
        return rewrite_fail(x, "parameter 'q' has %zu numbers; 1 to %d are possible", q->n_doubles, QUANTILES);
    }
    for (size_t k = 0; k < q->n_doubles; k++) {
        rewrite_hand_on(x, "axis", "axis");
        rewrite_hand_on(x, "method", "method");
        made[k] = rewrite_add(x, (enum gr_tile_op)x->node->op, rewrite_input(x, 0), NULL,
                              rewrite_number(x, "q", q->doubles[k]), NULL);
    }
    rewrite_set(x, rewrite_int(x, "axis", 0));
    return rewrite_add_many(x, GR_TILE_stack, made, q->n_doubles);
}

#define QUANTILE(name) const struct gr_operator gr_op_##name = {.infer = infer_along, .rewrite = rewrite_quantiles};
QUANTILE(tensor_quantile)
QUANTILE(nanquantile)
QUANTILE(percentile)
QUANTILE(nanpercentile)
#undef QUANTILE
