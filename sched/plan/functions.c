/* Which functions the nodes of a graph run. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"
#include "plan/state.h"

struct bound_function {
    struct bound_function *next;
    char *text; /* as nodes name it */
    struct gr_function function;
};

/* What the node says, beside what the function declares. */
static granary_err
check_outputs(const Granary__Node *node, bool is_map, const struct gr_function *function)
{
    const int64_t *given = GR_NODE_PARAMS(call, node)->outputs;
    int64_t outputs = given == NULL ? function->outputs : *given;

    if (is_map && function->outputs != 1) {
        return gr_fail(GRANARY_EINVAL, "function %s makes %u outputs, but one is needed for each chunk",
                       function->name.name, function->outputs);
    }
    if (outputs != function->outputs) {
        return gr_fail(GRANARY_EINVAL, "parameter 'outputs' is %lld, but function %s makes %u", (long long)outputs,
                       function->name.name, function->outputs);
    }
    return GRANARY_OK;
}

/* The function that a text means, looked up once. */
static granary_err
find_function(struct gr_plan *plan, const struct gr_plan_options *options, const char *text,
              struct gr_function **ret_function)
{
    struct bound_function *bound = plan->bound;
    granary_err err;

    while (bound != NULL && strcmp(bound->text, text) != 0) {
        bound = bound->next;
    }
    if (bound != NULL) {
        *ret_function = &bound->function;
        return GRANARY_OK;
    }
    if (options->find_function == NULL) {
        return gr_fail(GRANARY_ENOENT, "function '%.200s': no functions can be used here", text);
    }
    bound = calloc(1, sizeof *bound);
    if (bound == NULL || (bound->text = strdup(text)) == NULL) {
        free(bound);
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    bound->next = plan->bound;
    plan->bound = bound;
    err = options->find_function(options->functions, text, &bound->function);
    *ret_function = &bound->function;
    return err;
}

static granary_err
bind_node(struct gr_plan *plan, size_t i, const struct gr_plan_options *options)
{
    const Granary__Node *node = plan_graph_node(plan, i);
    const char *text = GR_NODE_PARAMS(call, node)->function; /* or of map_chunk */
    granary_err err = find_function(plan, options, text, &plan->functions[i]);

    if (err == GRANARY_OK) {
        err = check_outputs(node, strcmp(node->op, "map_chunk") == 0, plan->functions[i]);
    }
    return err == GRANARY_OK ? err : gr_fail_in(err, "node '%.100s' (%.40s)", node->name, node->op);
}

granary_err
plan_bind_functions(struct gr_plan *plan, const struct gr_plan_options *options)
{
    granary_err err = GRANARY_OK;

    plan->functions = calloc(plan->node_count + 1, sizeof(struct gr_function *));
    if (plan->functions == NULL) {
        return plan_no_memory();
    }
    for (size_t i = 0; i < plan->node_count && err == GRANARY_OK; i++) {
        const char *op = plan_graph_node(plan, i)->op;

        if (strcmp(op, "call") == 0 || strcmp(op, "map_chunk") == 0) {
            err = bind_node(plan, i, options);
        }
    }
    return err;
}

void
plan_free_functions(struct gr_plan *plan)
{
    while (plan->bound != NULL) {
        struct bound_function *bound = plan->bound;

        plan->bound = bound->next;
        free(bound->text);
        free(bound);
    }
    free(plan->functions);
}

uint64_t
gr_plan_exports(const struct gr_plan *plan)
{
    uint64_t sequence = 0;

    for (const struct bound_function *bound = plan->bound; bound != NULL; bound = bound->next) {
        sequence = bound->function.sequence > sequence ? bound->function.sequence : sequence;
    }
    return sequence;
}

bool
gr_plan_uses(const struct gr_plan *plan, const char *library, const char *version)
{
    for (const struct bound_function *bound = plan->bound; bound != NULL; bound = bound->next) {
        if (strcmp(bound->function.name.library, library) == 0 && strcmp(bound->function.name.version, version) == 0) {
            return true;
        }
    }
    return false;
}
