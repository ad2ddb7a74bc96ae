/* Any bytes as a plan of fragments: what is read keeps what a driver counts on. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "graph_json/plan.h"

static void
check_stage(const struct gr_cutplan *plan, size_t s)
{
    const struct gr_cutplan_stage *stage = &plan->stages[s];
    bool good = stage->partitions > 0 && stage->graph->n_targets == 1 && strlen(stage->digest) == GR_PLAN_DIGEST &&
                gr_cutplan_find(plan, stage->name) == s;

    for (size_t i = 0; i < stage->part_of_count; i++) {
        good = good && stage->part_of[i] < stage->graph->n_nodes;
    }
    for (size_t i = 0; i < stage->input_count; i++) {
        good = good && stage->inputs[i].node < stage->graph->n_nodes && stage->inputs[i].stage < s;
    }
    if (!good) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct gr_cutplan *plan = NULL;

    if (gr_cutplan_from_json((const char *)bytes, size, &plan) != GRANARY_OK) {
        return 0;
    }
    if (!gr_cutplan_is_meant((const char *)bytes, size)) {
        abort();
    }
    for (size_t s = 0; s < plan->stage_count; s++) {
        check_stage(plan, s);
    }
    for (size_t t = 0; t < plan->target_count; t++) {
        if (plan->targets[t].stage >= plan->stage_count || plan->stages[plan->targets[t].stage].partitions != 1) {
            abort();
        }
    }
    gr_cutplan_destroy(plan);
    return 0;
}
