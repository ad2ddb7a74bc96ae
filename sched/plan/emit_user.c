/* What subtasks with user code carry beside their operators: where they belong, and what they may use. */
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/user.h"
#include "plan/state.h"

/* The strings of a message are its own. */
static bool
set_string(char **field, const char *text)
{
    char *copy = strdup(text);

    if (copy != NULL) {
        *field = copy;
    }
    return copy != NULL;
}

static bool
set_resources(const Granary__Node *node, Granary__Subtask *subtask)
{
    const Granary__Attr *resources = gr_attr_find(node->attrs, node->n_attrs, "resources");

    if (resources == NULL || resources->n_keys == 0) {
        return true;
    }
    subtask->resources = calloc(resources->n_keys, sizeof *subtask->resources);
    for (size_t i = 0; subtask->resources != NULL && i < resources->n_keys; i++) {
        Granary__Resource *resource = malloc(sizeof *resource);

        if (resource == NULL) {
            return false;
        }
        granary__resource__init(resource);
        subtask->resources[subtask->n_resources++] = resource;
        if (!set_string(&resource->name, resources->keys[i])) {
            return false;
        }
        (void)gr_amount_parse(resources->strings[i], &resource->amount);
    }
    return subtask->resources != NULL;
}

bool
plan_emit_user(const struct gr_plan *plan, const struct gr_chunk *chunk, Granary__Subtask *subtask)
{
    const Granary__Node *node = plan_node(plan, chunk->step);
    const struct gr_function *function = plan->functions[chunk->step];

    subtask->exports = function == NULL ? 0 : function->sequence;
    subtask->retries = (uint32_t)gr_attr_int(node->attrs, node->n_attrs, "retries", 0);
    subtask->timeout_ms = gr_attr_int(node->attrs, node->n_attrs, "timeout_ms", 0);
    subtask->memory_bytes = (uint64_t)gr_attr_int(node->attrs, node->n_attrs, "memory", 0);
    return set_string(&subtask->graph, plan->key) && set_string(&subtask->directory, plan->directory) &&
           set_resources(node, subtask);
}
