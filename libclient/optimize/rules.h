/* Within the room: the rules, in the order they run. Each but the first two may be left out: targets stay
 * the same, only slower. */
#ifndef OPTIMIZE_RULES_H
#define OPTIMIZE_RULES_H

#include "optimize/steps.h"

/* A rule is asked about each live step, one after the other; steps->readers are right when it begins. */
typedef granary_err rule_visit(struct gr_steps *steps, size_t i);
rule_visit rule_written, rule_dead, rule_select, rule_constant, rule_sort, rule_head, rule_lift, rule_predicate,
    rule_fold, rule_match, rule_fuse_map;
/* These look at all steps together. */
granary_err rule_common(struct gr_steps *steps);
granary_err rule_keys(struct gr_steps *steps);
granary_err rule_prune(struct gr_steps *steps);
granary_err rule_recursion(struct gr_steps *steps);

/* Add to what rows of input k must fulfil; before: the new part is looked at first. Errors: as gr_expr_and() */
granary_err rule_add_condition(struct gr_step *step, size_t k, const struct gr_expr *expr, bool before);
/* Whoever reads the filter reads what it reads; a target hands that through. Errors: ENOMEM */
granary_err rule_let_through(struct gr_steps *steps, size_t i);
/* The step passes the one below its input, whose reader it was: that is dead when it had no other. */
void rule_pass_by(struct gr_steps *steps, size_t *input);

/* Note that a rule fired, for explain. */
void
rule_fired(struct gr_steps *steps, const char *rule, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
