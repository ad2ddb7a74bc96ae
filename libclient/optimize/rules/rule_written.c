/* Operators that are just another one are shown as the user wrote them until here. Rules know only the others. */
#include "optimize/rules.h"

granary_err
rule_written(struct gr_steps *steps, size_t i)
{
    struct gr_step *step = &steps->steps[i];

    step->op = (enum gr_tile_op)step->node->op;
    step->given = step->node->node;
    step->limit = step->node->limit;
    return GRANARY_OK;
}
