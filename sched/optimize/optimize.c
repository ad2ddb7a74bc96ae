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
gr_optimize(struct gr_steps *steps)
{
    /* What dies first makes others' only reader visible; the last finds what the rules between have cut off. */
    static granary_err (*const rules[])(struct gr_steps *) = {rule_lower, rule_dead,    rule_select,    rule_dead,
                                                              rule_head,  rule_dead,    rule_predicate, rule_fold,
                                                              rule_prune, rule_fuse_map};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0] && err == GRANARY_OK; i++) {
        err = rules[i](steps);
    }
    return err;
}
