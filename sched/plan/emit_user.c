/* What subtasks with user code carry beside their operators: where they belong, and what they may use. */
#include "base/memory/region.h"
#include "graph/graph.h"
#include "graph/user/user.h"
#include "plan/state.h"

static bool
set_resources(const Granary__Attr *resources, struct gr_region *memory, Granary__Subtask *subtask)
{
    if (resources == NULL || resources->n_keys == 0) {
        return true;
    }
    subtask->resources = gr_region_zalloc(memory, resources->n_keys, sizeof *subtask->resources);
    for (size_t i = 0; subtask->resources != NULL && i < resources->n_keys; i++) {
        Granary__Resource *resource = gr_region_alloc(memory, sizeof *resource);

        if (resource == NULL) {
            return false;
        }
        granary__resource__init(resource);
        subtask->resources[subtask->n_resources++] = resource;
        resource->name = resources->keys[i];
        (void)gr_amount_parse(resources->strings[i], &resource->amount);
    }
    return subtask->resources != NULL;
}

bool
plan_emit_user(const struct gr_plan *plan, const struct gr_chunk *chunk, struct gr_region *memory,
               Granary__Subtask *subtask)
{
    /* or of map_chunk, or exec, or none */
    const struct gr_params_call *params = GR_NODE_PARAMS(call, plan_node(plan, chunk->step));
    const struct gr_function *function = plan->functions[chunk->step];

    subtask->exports = function == NULL ? 0 : function->sequence;
    subtask->retries = (uint32_t)params->retries;
    subtask->timeout_ms = params->timeout_ms;
    subtask->memory_bytes = params->memory == NULL ? 0 : (uint64_t)*params->memory;
    subtask->graph = plan->key;
    subtask->directory = plan->directory;
    return set_resources(params->resources, memory, subtask);
}
