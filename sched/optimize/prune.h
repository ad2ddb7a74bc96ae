/* Within the room: what the two halves of prune-columns share. */
#ifndef OPTIMIZE_PRUNE_H
#define OPTIMIZE_PRUNE_H

#include "graph/join.h"
#include "optimize/steps.h"

/* One rule at work. Flags are by column of the step's (or the input's) schema. */
struct pruning {
    struct gr_steps *steps;
    bool **needed;     /* by step; NULL: no frame */
    bool *(*reads)[2]; /* by step and input */
};

static inline const struct gr_schema *
prune_input_schema(const struct pruning *p, const struct gr_step *step, size_t k)
{
    return &p->steps->steps[step->inputs[k]].type->schema;
}

/* Flag a column by name, if there is one; or several. */
void prune_mark(const struct gr_schema *schema, bool *flags, const char *name);
void prune_mark_names(const struct gr_schema *schema, bool *flags, char *const *names, size_t count);

/* Flag what an expression reads. Errors: EINVAL, ENOMEM */
granary_err prune_mark_expression(const struct gr_schema *schema, bool *flags, const char *text);

/*
 * Flag in reads[i] what step i reads of its inputs, given needed[i]; what it cannot do without is flagged in needed[i],
 * too. An operator not known here reads everything. Errors: EINVAL, ENOMEM
 */
granary_err prune_reads(const struct pruning *p, size_t i);

#endif
