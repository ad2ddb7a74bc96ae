/*
 * Stages. A root is a flow whose results others take: a target, what is moved, and what two stages read. All other flows are
 * computed in the stage of the only root above them, and those that are small in each stage that reads them.
 */
#include <string.h>

#include "cut/flow.h"

/* It is computed again wherever it is read. */
static bool
is_inlined(const struct flow *flow)
{
    return flow->spread == SPREAD_ANY || flow->receives || flow->reads;
}

/* Whoever reads the flow is computed in the stage of that root. */
static void
claim(struct flow *flow, struct flow *root)
{
    if (flow->is_root || is_inlined(flow)) {
        return;
    }
    if (flow->owner != NULL && flow->owner != root) {
        flow->is_root = true;
    }
    flow->owner = root;
}

void
stage_list(struct cut *cut, const struct flow *root, struct stage *ret_stage)
{
    bool *here = cut_room(cut, cut->flow_count, sizeof *here);
    bool *input = cut_room(cut, cut->flow_count, sizeof *input);
    struct stage stage = {0};

    stage.flows = cut_room(cut, cut->flow_count, sizeof *stage.flows);
    stage.inputs = cut_room(cut, cut->flow_count, sizeof *stage.inputs);
    for (size_t i = cut->flow_count; i-- > 0 && cut->err == GRANARY_OK;) {
        struct flow *flow = cut->flows[i];

        here[i] = here[i] || flow == root;
        for (size_t k = 0; here[i] && !flow->receives && k < flow->input_count; k++) {
            struct flow *from = flow->inputs[k];

            (from->receives || (from->is_root && !is_inlined(from)) ? input : here)[from->place] = true;
        }
    }
    for (size_t i = 0; i < cut->flow_count && cut->err == GRANARY_OK; i++) {
        if (here[i]) {
            stage.flows[stage.count++] = cut->flows[i];
        } else if (input[i]) {
            stage.inputs[stage.input_count++] = cut->flows[i];
        }
    }
    *ret_stage = stage;
}

/* A flow behind all that it reads. The stack has those whose inputs are being listed, and the next input of each. */
static void
list_below(struct cut *cut, struct flow *top, struct flow **listed, size_t *count)
{
    struct flow **stack = cut_room(cut, cut->flow_count, sizeof *stack);
    size_t *next = cut_room(cut, cut->flow_count, sizeof *next);
    size_t depth = 0;

    if (cut->err != GRANARY_OK || top->is_listed) {
        return;
    }
    stack[0] = top;
    for (size_t size = 1; size > 0;) {
        struct flow *flow = stack[size - 1];

        depth = next[size - 1]++;
        if (depth < flow->input_count) {
            if (!flow->inputs[depth]->is_listed) {
                flow->inputs[depth]->is_listed = true;
                stack[size] = flow->inputs[depth];
                next[size++] = 0;
            }
        } else {
            flow->is_listed = true;
            flow->place = *count;
            listed[(*count)++] = flow;
            size--;
        }
    }
}

/* What some target needs, inputs first. */
static void
list_needed(struct cut *cut)
{
    struct flow **listed = cut_room(cut, cut->flow_count, sizeof *listed);
    size_t count = 0;

    for (size_t t = 0; t < cut->graph->target_count; t++) {
        list_below(cut, cut->targets[t], listed, &count);
        cut->targets[t]->is_root = true;
    }
    cut->flows = listed;
    cut->flow_count = count;
    for (size_t i = 0; i < count && cut->err == GRANARY_OK; i++) {
        (void)flow_digest(cut, listed[i]);
    }
}

/* What a flow reads, itself or through what is inlined, is of its stage. */
static void
claim_below(struct flow *flow, struct flow *root)
{
    for (size_t k = 0; k < flow->input_count && !flow->receives; k++) {
        struct flow *from = flow->inputs[k];

        if (is_inlined(from) && !from->receives) {
            claim_below(from, root);
        } else if (!from->receives) {
            claim(from, root);
        }
    }
}

void
stages_find(struct cut *cut)
{
    list_needed(cut);
    for (size_t i = 0; i < cut->flow_count; i++) {
        struct flow *flow = cut->flows[i];

        if (flow->receives) {
            flow->inputs[0]->is_root = true;
        } else if (flow->spread != SPREAD_ANY && !flow->reads && size_is_known(cut, flow)) { /* it is there */
            flow->is_root = true;
        }
    }
    for (size_t i = cut->flow_count; i-- > 0;) {
        struct flow *flow = cut->flows[i];

        if (!is_inlined(flow)) {
            claim_below(flow, flow->is_root ? flow : flow->owner);
        }
    }
    cut->roots = cut_room(cut, cut->flow_count, sizeof *cut->roots);
    for (size_t i = 0; i < cut->flow_count && cut->err == GRANARY_OK; i++) {
        if (cut->flows[i]->is_root) {
            cut->flows[i]->stage = cut->root_count;
            cut->roots[cut->root_count++] = cut->flows[i];
        }
    }
}
