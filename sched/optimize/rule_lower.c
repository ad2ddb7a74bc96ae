/* Operators that say nothing new become those they are written as; rules, tiling and kernels know only the others. */
#include "graph/lower/lower.h"
#include "optimize/rules.h"

granary_err
rule_lower(struct gr_steps *steps, size_t i)
{
    struct gr_step *step = &steps->steps[i];
    struct gr_lowered lowered;
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);
    granary_err err = GRANARY_OK;

    if (gr_operator(step->op)->lower == NULL) {
        return GRANARY_OK;
    }
    err = gr_lower(step->op, attrs, count, &steps->steps[step->inputs[0]].type->schema, &lowered);
    if (err == GRANARY_OK) {
        gr_step_clear_attrs(step);
        step->op = lowered.op;
        step->own_attrs = lowered.attrs;
        step->own_attr_count = lowered.count;
        step->limit = lowered.limit;
    }
    return err;
}
