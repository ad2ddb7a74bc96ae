/* The rules in their order, each asked once about every live step; any of them can be left out, for tests and comparisons. */
#include "optimize/optimize.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/expr.h"
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

static void
count_readers(struct gr_steps *steps)
{
    memset(steps->readers, 0, steps->count * sizeof *steps->readers);
    for (size_t i = 0; i < steps->count; i++) {
        const struct gr_step *step = &steps->steps[i];

        for (size_t k = 0; k < step->input_count && !step->dead; k++) {
            steps->readers[step->inputs[k]]++;
        }
    }
}

void
rule_pass_by(struct gr_steps *steps, size_t *input)
{
    struct gr_step *below = &steps->steps[*input];

    if (--steps->readers[*input] == 0 && !below->is_target) {
        below->dead = true;
    } else {
        steps->readers[below->inputs[0]]++;
    }
    *input = below->inputs[0];
}

granary_err
rule_let_through(struct gr_steps *steps, size_t i)
{
    struct gr_step *filter = &steps->steps[i];

    for (size_t r = i + 1; r < steps->count; r++) {
        for (size_t k = 0; k < steps->steps[r].input_count; k++) {
            if (steps->steps[r].inputs[k] == i) {
                steps->steps[r].inputs[k] = filter->inputs[0];
            }
        }
    }
    steps->readers[filter->inputs[0]] += steps->readers[i];
    steps->readers[i] = 0;
    if (filter->is_target) {
        return gr_step_become_select(steps, filter);
    }
    steps->readers[filter->inputs[0]]--;
    filter->dead = true;
    return GRANARY_OK;
}

granary_err
rule_add_condition(struct gr_step *step, size_t k, const struct gr_expr *expr, bool before)
{
    const struct gr_expr *parts[2] = {before ? expr : step->where[k], before ? step->where[k] : expr};
    struct gr_expr *both = NULL;
    granary_err err = gr_expr_and(parts, 2, &both);

    if (err == GRANARY_OK) {
        gr_expr_destroy(step->where[k]);
        step->where[k] = both;
    }
    return err;
}

static granary_err
visit_all(struct gr_steps *steps, rule_visit *visit, bool backwards)
{
    granary_err err = GRANARY_OK;

    count_readers(steps);
    for (size_t n = 0; n < steps->count && err == GRANARY_OK; n++) {
        size_t i = backwards ? steps->count - 1 - n : n;

        err = steps->steps[i].dead ? GRANARY_OK : visit(steps, i);
    }
    return err;
}

granary_err
gr_optimize(struct gr_steps *steps, uint32_t without)
{
    /* What dies first makes others' only reader visible; others find what the rules between have cut off. Equal steps
     * are looked for when conditions have moved: what they left in different places is not the same. */
    static const struct {
        uint32_t rule; /* 0: always */
        rule_visit *visit;
        bool backwards;                             /* readers first */
        granary_err (*run)(struct gr_steps *steps); /* instead of visit */
    } rules[] = {{0, rule_written, false, NULL},
                 {0, rule_dead, true, NULL},
                 {GR_RULE_CONSTANT, rule_constant, false, NULL},
                 {GR_RULE_SORT, rule_sort, false, NULL},
                 {GR_RULE_SELECT, rule_select, false, NULL},
                 {0, rule_dead, true, NULL},
                 {GR_RULE_HEAD, rule_head, false, NULL},
                 {0, rule_dead, true, NULL},
                 {GR_RULE_LIFT, rule_lift, false, NULL},
                 {GR_RULE_PREDICATE, rule_predicate, true, NULL},
                 {GR_RULE_FOLD, rule_fold, false, NULL},
                 {GR_RULE_COMMON, NULL, false, rule_common},
                 {0, rule_dead, true, NULL},
                 {GR_RULE_MATCH, rule_match, false, NULL},
                 {0, NULL, false, rule_keys},
                 {GR_RULE_PRUNE, NULL, false, rule_prune},
                 {GR_RULE_FUSE_MAP, rule_fuse_map, false, NULL},
                 {0, NULL, false, rule_recursion}};
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0] && err == GRANARY_OK; i++) {
        if ((rules[i].rule & without) == 0) {
            err = rules[i].run != NULL ? rules[i].run(steps) : visit_all(steps, rules[i].visit, rules[i].backwards);
        }
    }
    return err;
}
