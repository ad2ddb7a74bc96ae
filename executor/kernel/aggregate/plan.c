/*
 * Aggregates become parts: each function asks for the parts it is made of, and equal parts are shared, found by
 * looking through the few there are.
 */
#include "kernel/aggregate/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/frame_call.h"

static int
plan_argument(struct group_plan *plan, const char *text)
{
    if (text == NULL) {
        return -1;
    }
    for (size_t i = 0; i < plan->argument_count; i++) {
        if (strcmp(plan->arguments[i], text) == 0) {
            return (int)i;
        }
    }
    plan->arguments[plan->argument_count] = text;
    return (int)plan->argument_count++;
}

granary_err
group_plan_init(const struct gr_group_params *params, struct group_plan *ret_plan)
{
    struct group_plan plan = {.keys = params->keys, .keep_nulls = !params->dropna};
    granary_err err = gr_aggregates_parse(params->aggregate, &plan.aggregates, &plan.count);

    if (err != GRANARY_OK) {
        return err;
    }
    plan.arguments = calloc(2 * plan.count + 1, sizeof *plan.arguments);
    plan.argument_of = calloc(plan.count + 1, sizeof *plan.argument_of);
    plan.uses = calloc(plan.count + 1, sizeof *plan.uses);
    plan.parts = calloc((plan.count + 1) * (USE_COUNT + 2), sizeof *plan.parts);
    plan.dtypes = calloc(2 * plan.count + 1, sizeof *plan.dtypes);
    if (plan.arguments == NULL || plan.argument_of == NULL || plan.uses == NULL || plan.parts == NULL ||
        plan.dtypes == NULL) {
        group_plan_fini(&plan);
        return gr_no_memory("groupby");
    }
    for (size_t i = 0; i < plan.count; i++) {
        plan.argument_of[i][0] = plan_argument(&plan, plan.aggregates[i].column);
        plan.argument_of[i][1] = plan_argument(&plan, plan.aggregates[i].second);
    }
    *ret_plan = plan;
    return GRANARY_OK;
}

void
group_plan_fini(struct group_plan *plan)
{
    gr_aggregates_free(plan->aggregates, plan->count);
    free(plan->arguments);
    free(plan->argument_of);
    free(plan->uses);
    free(plan->parts);
    free(plan->dtypes);
    *plan = (struct group_plan){0};
}

/* The part that is such, new or there already. */
static int
plan_part(struct group_plan *plan, struct group_part_spec want)
{
    for (size_t i = 0; i < plan->part_count; i++) {
        const struct group_part_spec *part = &plan->parts[i];

        if (part->kind == want.kind && part->measure == want.measure && part->x == want.x && part->y == want.y &&
            part->mask == want.mask && part->n == want.n) {
            return (int)i;
        }
    }
    plan->parts[plan->part_count] = want;
    return (int)plan->part_count++;
}

#define PART(kind, measure, x, y, mask) plan_part(plan, (struct group_part_spec){kind, measure, x, y, mask, 0})

/* Sums, products and their rests for var, corr and the like. */
static void
plan_moments(struct group_plan *plan, size_t i, int x, int y)
{
    int *use = plan->uses[i];
    granary_dtype dtype_y = y >= 0 ? plan->dtypes[y] : GRANARY_INT64;
    bool real = group_is_real(plan->dtypes[x]) || group_is_wide(plan->dtypes[x]) || group_is_real(dtype_y) ||
                group_is_wide(dtype_y);
    enum group_kind kind = real ? GROUP_REAL : GROUP_INT;

    use[USE_SUM] = PART(kind, GROUP_SUM, x, -1, y);
    if (y < 0 || plan->aggregates[i].function == GR_AGGREGATE_CORR) {
        use[USE_SQUARE] = PART(kind, GROUP_PRODUCT, x, x, y);
        use[USE_SQUARE_REST] = real ? PART(kind, GROUP_REST, x, x, y) : -1;
    }
    if (y < 0) {
        return;
    }
    use[USE_SUM_Y] = PART(kind, GROUP_SUM, y, -1, x);
    use[USE_CROSS] = PART(kind, GROUP_PRODUCT, x, y, -1);
    use[USE_CROSS_REST] = real ? PART(kind, GROUP_REST, x, y, -1) : -1;
    if (plan->aggregates[i].function == GR_AGGREGATE_CORR) {
        use[USE_SQUARE_Y] = PART(kind, GROUP_PRODUCT, y, y, x);
        use[USE_SQUARE_Y_REST] = real ? PART(kind, GROUP_REST, y, y, x) : -1;
    }
}

/* What is kept of a group, by function. */
static const struct plan_rule {
    enum { NONE, SUM, MOMENTS, ITEM } how;
    enum group_kind kind; /* ITEM */
    enum group_measure measure;
} rules[] = {
#define ITEM(kind, measure)                                         ITEM, GROUP_##kind, GROUP_##measure
#define AGGREGATE(id, text, second, takes, gives, order, part, ...) [GR_AGGREGATE_##id] = {.how = part},
#include "graph/operators/aggregates.def"
#undef ITEM
};

static void
plan_uses(struct group_plan *plan, size_t i)
{
    const struct gr_aggregate *aggregate = &plan->aggregates[i];
    const struct plan_rule *rule = &rules[aggregate->function];
    int64_t rows = gr_aggregate_is_rows(aggregate) ? (int64_t)aggregate->number : 0;
    int x = plan->argument_of[i][0];
    int y = plan->argument_of[i][1];
    int *use = plan->uses[i];

    if (x >= 0) {
        use[USE_MISSING] = PART(GROUP_COUNT, GROUP_MISSING, x, -1, y);
    }
    switch (rule->how) {
    case NONE:
        break;
    case SUM:
        use[USE_SUM] = PART(group_is_real(plan->dtypes[x]) ? GROUP_REAL : GROUP_INT, GROUP_SUM, x, -1, -1);
        break;
    case MOMENTS:
        plan_moments(plan, i, x, y);
        break;
    case ITEM:
        if (group_is_arg(rule->measure)) { /* the least of y, and where there is one */
            (void)PART(GROUP_COUNT, GROUP_MISSING, y, -1, -1);
            (void)PART(GROUP_VALUE, rule->measure == GROUP_ARG_LEAST ? GROUP_LEAST : GROUP_MOST, y, -1, -1);
            use[USE_ITEM] = PART(rule->kind, rule->measure, x, y, -1);
            break;
        }
        use[USE_ITEM] = plan_part(plan, (struct group_part_spec){rule->kind, rule->measure, x, -1, -1, rows});
        break;
    }
}

size_t
group_plan_beside(const struct group_plan *plan, const struct group_part_spec *arg)
{
    enum group_measure measure = arg->measure == GROUP_ARG_LEAST ? GROUP_LEAST : GROUP_MOST;
    size_t p = 0;

    while (plan->parts[p].kind != GROUP_VALUE || plan->parts[p].measure != measure || plan->parts[p].x != arg->y) {
        p++;
    }
    return p;
}

granary_err
group_plan_types(struct group_plan *plan, const granary_dtype *dtypes)
{
    memcpy(plan->dtypes, dtypes, plan->argument_count * sizeof *dtypes);
    for (size_t i = 0; i < plan->count; i++) {
        for (int a = 0; a < 2; a++) {
            int argument = plan->argument_of[i][a];
            granary_dtype result;
            granary_err err =
                argument < 0 ? GRANARY_OK : gr_aggregate_dtype(plan->aggregates[i].function, dtypes[argument], &result);

            if (err != GRANARY_OK) {
                return gr_fail_in(err, "aggregate '%s'", plan->aggregates[i].name);
            }
        }
    }
    plan->part_count = 0;
    (void)PART(GROUP_COUNT, GROUP_ROWS, -1, -1, -1); /* the first part of every plan */
    for (size_t i = 0; i < plan->count; i++) {
        for (int u = 0; u < USE_COUNT; u++) {
            plan->uses[i][u] = -1;
        }
        plan->uses[i][USE_ROWS] = PART(GROUP_COUNT, GROUP_ROWS, -1, -1, -1);
        plan_uses(plan, i);
    }
    return GRANARY_OK;
}
