/* Within the room: the rules, in the order they run. Each but the first two may be left out: targets stay
 * the same, only slower. */
#ifndef OPTIMIZE_RULES_H
#define OPTIMIZE_RULES_H

#include "optimize/steps.h"

granary_err rule_lower(struct gr_steps *steps);
granary_err rule_dead(struct gr_steps *steps);
granary_err rule_select(struct gr_steps *steps);
granary_err rule_constant(struct gr_steps *steps);
granary_err rule_sort(struct gr_steps *steps);
granary_err rule_head(struct gr_steps *steps);
granary_err rule_predicate(struct gr_steps *steps);
granary_err rule_fold(struct gr_steps *steps);
granary_err rule_common(struct gr_steps *steps);
granary_err rule_prune(struct gr_steps *steps);
granary_err rule_fuse_map(struct gr_steps *steps);

/* Note that a rule fired, for explain. */
void
rule_fired(struct gr_steps *steps, const char *rule, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
