/* The rules in their order, each run once over all steps; any of them can be left out, for tests and comparisons. */
#include "optimize/optimize.h"

#include <stdarg.h>
#include <stdio.h>

#include "optimize/rules.h"

void
rule_fired(struct gr_steps *steps, const char *rule, const char *format, ...)
{
    char text[512];
    va_list args;

    if (steps->fired == NULL) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gr_buf_addf(steps->fired, "  %s: %s\n", rule, text);
}

granary_err
gr_optimize(struct gr_steps *steps, uint32_t without)
{
    /* What dies first makes others' only reader visible; others find what the rules between have cut off. Equal steps
     * are looked for when conditions have moved: what they left in different places is not the same. */
    static const struct {
        uint32_t rule; /* 0: always */
        granary_err (*run)(struct gr_steps *steps);
    } rules[] = {{0, rule_lower},
                 {0, rule_dead},
                 {GR_RULE_CONSTANT, rule_constant},
                 {GR_RULE_SORT, rule_sort},
                 {GR_RULE_SELECT, rule_select},
                 {0, rule_dead},
                 {GR_RULE_HEAD, rule_head},
                 {0, rule_dead},
                 {GR_RULE_PREDICATE, rule_predicate},
                 {GR_RULE_FOLD, rule_fold},
                 {GR_RULE_COMMON, rule_common},
                 {0, rule_dead},
                 {GR_RULE_PRUNE, rule_prune},
                 {GR_RULE_FUSE_MAP, rule_fuse_map}};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0] && err == GRANARY_OK; i++) {
        if ((rules[i].rule & without) == 0) {
            err = rules[i].run(steps);
        }
    }
    return err;
}
