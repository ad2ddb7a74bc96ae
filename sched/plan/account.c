/* What steps have taken: which step each operator of a subtask is of, and what their reports tell. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "plan/state.h"

#define STEPS_SHOWN 200

granary_err
plan_account_subtask(struct gr_plan *plan, uint64_t number, const uint32_t *ops, uint32_t count)
{
    struct account *a = &plan->account;

    bool grown = gr_grow(&a->first, &a->subtask_room, number + 1, sizeof *a->first);

    for (uint32_t i = 0; i < count && grown; i++) {
        grown = gr_grow(&a->steps, &a->op_room, a->op_count + i, sizeof *a->steps);
    }
    if (!grown) {
        return gr_fail(GRANARY_ENOMEM, "handing out subtasks: out of memory");
    }
    a->first[number] = a->op_count;
    for (uint32_t i = 0; i < count; i++) {
        a->steps[a->op_count++] = plan->chunks.chunks[ops[i]].step;
    }
    a->first[number + 1] = a->op_count;
    a->subtask_count = number + 1;
    return GRANARY_OK;
}

void
plan_account_free(struct gr_plan *plan)
{
    free(plan->account.first);
    free(plan->account.steps);
    free(plan->account.of);
}

void
gr_plan_account(struct gr_plan *plan, uint64_t number, const Granary__Done *done)
{
    struct account *a = &plan->account;
    size_t count = number < a->subtask_count ? (size_t)(a->first[number + 1] - a->first[number]) : 0;

    if (done->n_op_nanoseconds == 0 || done->n_op_nanoseconds > count) {
        return;
    }
    if (a->of == NULL && (a->of = calloc(plan->node_count + 1, sizeof *a->of)) == NULL) {
        return; /* it is only told less */
    }
    for (size_t i = 0; i < done->n_op_nanoseconds; i++) {
        uint32_t step = a->steps[a->first[number] + i];
        struct taken *of = &a->of[step];
        bool is_last = i + 1 == count || a->steps[a->first[number] + i + 1] != step;

        of->nanoseconds += done->op_nanoseconds[i];
        of->bytes += i < done->n_op_bytes ? done->op_bytes[i] : 0;
        of->rows += is_last && i < done->n_op_rows ? done->op_rows[i] : 0;
        of->subtasks += is_last;
    }
}

static const char *
step_name(const struct gr_plan *plan, size_t i, const char **ret_op)
{
    if (plan->steps == NULL) {
        *ret_op = plan_graph_node(plan, i)->op;
        return plan_graph_node(plan, i)->name;
    }
    *ret_op = gr_op_info(plan->steps->steps[i].op)->name;
    return plan->steps->steps[i].is_target ? plan->steps->steps[i].name : plan->steps->steps[i].origin->name;
}

void
gr_plan_analyze(const struct gr_plan *plan, struct gr_buf *out)
{
    const struct account *a = &plan->account;
    size_t shown = 0;

    gr_buf_addf(out, "measured (time of executors; rows that left the step; bytes it put into the store)\n");
    for (size_t i = 0; a->of != NULL && i < plan->node_count && shown < STEPS_SHOWN; i++) {
        const struct taken *of = &a->of[i];
        const char *op;
        const char *name = step_name(plan, i, &op);

        if (of->subtasks > 0) {
            gr_buf_addf(out, "  %s (%s): %" PRIu64 " subtasks, %.3f ms, %" PRIu64 " rows, %" PRIu64 " bytes\n", name,
                        op, of->subtasks, (double)of->nanoseconds / 1e6, of->rows, of->bytes);
            shown++;
        }
    }
    if (shown == 0) {
        gr_buf_addf(out, "  nothing yet\n");
    }
}
