/* dead-node: what no target needs, directly or through others, is not computed. */
#include "base/error.h"
#include "optimize/rules.h"

#include <stdlib.h>

granary_err
rule_dead(struct gr_steps *steps)
{
    bool *needed = calloc(steps->count + 1, sizeof *needed);

    if (needed == NULL) {
        return gr_fail(GRANARY_ENOMEM, "optimising a graph of %zu nodes: out of memory", steps->count);
    }
    for (size_t i = steps->count; i-- > 0;) {
        struct gr_step *step = &steps->steps[i];

        needed[i] = needed[i] || step->is_target;
        for (size_t k = 0; k < step->input_count && needed[i]; k++) {
            needed[step->inputs[k]] = true;
        }
        if (!needed[i] && !step->dead) {
            step->dead = true;
            rule_fired(steps, "dead-node", "'%s' (%s) is needed by no target", step->origin->name,
                       gr_op_info(step->op)->name);
        }
    }
    free(needed);
    return GRANARY_OK;
}
