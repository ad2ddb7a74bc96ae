/*
 * The rules that make a graph cheaper without changing its targets.
 *
 *   rule              what it does                                                                  file
 *   (lower)           operators that say nothing new become those they are written as (always)       rule_lower.c
 *   dead-node         a node no target needs is not computed                                        rule_dead.c
 *   merge-selects     select over select takes its columns from below the lower one                 rule_select.c
 *   merge-heads       head over head becomes one head of the fewer rows                             rule_head.c
 *   head-below-map    head over select or assign: the rows are cut first                            rule_head.c
 *   head-into-sort    head over sort becomes a sort that keeps only the first rows                  rule_head.c
 *   push-filter       a condition moves from its filter towards the sources                           rule_predicate.c
 *   fold-into-groupby a groupby computes what assigns below it made                               rule_fold.c
 *   prune-columns     sources read, and steps keep, only the columns a target needs                 rule_prune.c
 */
#ifndef OPTIMIZE_OPTIMIZE_H
#define OPTIMIZE_OPTIMIZE_H

#include "optimize/steps.h"

/* Run all rules. Errors: ENOMEM; EINVAL what an expression's syntax makes impossible (the graph was not checked) */
granary_err gr_optimize(struct gr_steps *steps);

#endif
