/* dead-node: what no target needs, directly or through others, is not computed. */
#include "optimize/rules.h"

granary_err
rule_dead(struct gr_steps *steps, size_t i)
{
    struct gr_step *step = &steps->steps[i];

    if (step->is_target || steps->readers[i] > 0) {
        return GRANARY_OK;
    }
    for (size_t k = 0; k < step->input_count; k++) {
        steps->readers[step->inputs[k]]--;
    }
    step->dead = true;
    rule_fired(steps, "dead-node", "'%s' (%s) is needed by no target", step->origin->name, gr_op_info(step->op)->name);
    return GRANARY_OK;
}
