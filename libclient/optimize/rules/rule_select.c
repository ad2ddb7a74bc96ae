/* merge-selects: the upper select's columns are among the lower one's, so it can read what the lower one reads. */
#include "optimize/rules.h"

granary_err
rule_select(struct gr_steps *steps, size_t i)
{
    struct gr_step *upper = &steps->steps[i];
    const struct gr_step *lower = upper->op == GR_TILE_select ? &steps->steps[upper->inputs[0]] : NULL;

    if (lower != NULL && lower->op == GR_TILE_select) {
        rule_fired(steps, "merge-selects", "'%s' reads '%s' past '%s'", upper->origin->name,
                   steps->steps[lower->inputs[0]].origin->name, lower->origin->name);
        upper->inputs[0] = lower->inputs[0]; /* the lower one itself was merged before: chains collapse */
    }
    return GRANARY_OK;
}
