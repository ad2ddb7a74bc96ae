/*
 * The rules that make a graph cheaper without changing its targets.
 *
 *   rule              what it does                                                                  file
 *   (written)         operators that are just another one become it (always)                         rule_written.c
 *   dead-node         a node no target needs is not computed                                        rule_dead.c
 *   merge-selects     select over select takes its columns from below the lower one                 rule_select.c
 *   constant-filter   a filter that lets all rows through is left out; one that leaves none reads none rule_constant.c
 *   drop-sort         a sort whose order is there already, or cannot be seen, is left out             rule_sort.c
 *   merge-heads       head over head becomes one head of the fewer rows                             rule_head.c
 *   head-below-map    head over select or assign: the rows are cut first                            rule_head.c
 *   head-into-sort    head over sort becomes a sort that keeps only the first rows                  rule_head.c
 *   head-into-recursion head over recurse ends the recursion when there are so many rows             rule_head.c
 *   lift-project      what only picks and renames columns moves from below a join to above it         rule_lift.c
 *   push-filter       a condition moves from its filter towards the sources                           rule_predicate.c
 *   fold-into-groupby a groupby computes what assigns below it made                               rule_fold.c
 *   common-steps      steps that compute the same are computed once                                 rule_common.c
 *   match-once        a table that is joined and then looked up again by the same keys is read once       rule_match.c
 *   (keys)            what each step yields, as a key, when it may be recalled (always)               rule_keys.c
 *   prune-columns     sources read, and steps keep, only the columns a target needs                 rule_prune.c
 *   fuse-map          element-wise operators become one program                                     rule_fuse_map.c
 *   (recursion)       what a recurse runs round by round is put into it (always)                    rule_recursion.c
 */
#ifndef OPTIMIZE_OPTIMIZE_H
#define OPTIMIZE_OPTIMIZE_H

#include "optimize/steps.h"

/* One bit each. (lower) and dead-node are always run: tiling knows neither the operators nor the sources they remove.
 */
enum gr_rule {
    GR_RULE_SELECT = 1 << 0,
    GR_RULE_CONSTANT = 1 << 1,
    GR_RULE_SORT = 1 << 2,
    GR_RULE_HEAD = 1 << 3,
    GR_RULE_PREDICATE = 1 << 4,
    GR_RULE_FOLD = 1 << 5,
    GR_RULE_COMMON = 1 << 6,
    GR_RULE_PRUNE = 1 << 7,
    GR_RULE_FUSE_MAP = 1 << 8,
    GR_RULE_LIFT = 1 << 9,
    GR_RULE_MATCH = 1 << 10,
};
#define GR_RULE_COUNT 11

/* Run all rules but those of `without` (for tests: 0). Errors: ENOMEM; EINVAL what an expression's syntax makes
 * impossible (the graph was not checked) */
granary_err gr_optimize(struct gr_steps *steps, uint32_t without);

#endif
