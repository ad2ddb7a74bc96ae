/* What subtasks with user code carry beside their operators: where they belong, and what they may use. */
#include "base/region.h"
#include "graph/graph.h"
#include "graph/user/user.h"
#include "plan/state.h"

static bool
set_resources(const Granary__Node *node, struct gr_region *memory, Granary__Subtask *subtask)
{
    const Granary__Attr *resources = gr_attr_find(node->attrs, node->n_attrs, "resources");

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
    const Granary__Node *node = plan_node(plan, chunk->step);
    const struct gr_function *function = plan->functions[chunk->step];

    subtask->exports = function == NULL ? 0 : function->sequence;
    subtask->retries = (uint32_t)gr_attr_int(node->attrs, node->n_attrs, "retries", 0);
    subtask->timeout_ms = gr_attr_int(node->attrs, node->n_attrs, "timeout_ms", 0);
    subtask->memory_bytes = (uint64_t)gr_attr_int(node->attrs, node->n_attrs, "memory", 0);
    subtask->graph = plan->key;
    subtask->directory = plan->directory;
    return set_resources(node, memory, subtask);
}
