/* The plan for people: a line a stage, what it reads, and where and why something is gathered. */
#include <stdio.h>

#include "base/text/buf.h"
#include "cut/flow.h"

static void
add_bytes(double bytes, struct gr_buf *out)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;

    while (bytes >= 10240 && unit + 1 < sizeof units / sizeof units[0]) {
        bytes /= 1024;
        unit++;
    }
    gr_buf_addf(out, "%.0f %s", bytes, units[unit]);
}

static void
explain_stage(struct cut *cut, struct flow *root, struct gr_buf *out)
{
    static const char *const takes[] = {"its part of", "a share of every part of", "all of"};
    struct stage stage;

    stage_list(cut, root, &stage);
    gr_buf_addf(out, "s%zu  %zu x ", root->stage, root_partitions(cut, root));
    for (size_t i = 0; i < stage.count; i++) {
        gr_buf_addf(out, "%s%s%s", i == 0 ? "" : ", ", stage.flows[i]->op,
                    stage.flows[i]->takes_part && stage.flows[i]->reads ? " (a part)" : "");
    }
    for (size_t i = 0; i < stage.input_count; i++) {
        const struct flow *input = stage.inputs[i];

        gr_buf_addf(out, "%s%s s%zu", i == 0 ? "; reads " : ", ", takes[input->receives ? input->take : TAKE_SAME],
                    (input->receives ? input->inputs[0] : input)->stage);
    }
    gr_buf_addf(out, "; about ");
    add_bytes(size_of(cut, root), out);
    gr_buf_addf(out, "%s%s\n", root->about == NULL ? "" : ": ", root->about == NULL ? "" : root->about);
}

void
plan_explain(struct cut *cut, struct gr_buf *out)
{
    gr_buf_addf(out, "Stages, each with so many fragments:\n");
    for (size_t i = 0; i < cut->root_count; i++) {
        explain_stage(cut, cut->roots[i], out);
    }
    gr_buf_addf(out, "%s",
                cut->gathered_count == 0 ? "Nothing is gathered but results.\n" : "Gathered in one place:\n");
    for (size_t i = 0; i < cut->gathered_count; i++) {
        gr_buf_addf(out, "  node '%s' (%s): %s\n", cut->gathered[i].node, cut->gathered[i].op, cut->gathered[i].why);
    }
    for (size_t i = 0; i < cut->decided_count; i++) {
        const struct decided *decided = &cut->decided[i];

        gr_buf_addf(out, "%s  node '%s': %s, while s%zu has at most ", i == 0 ? "Decided by guesses of sizes:\n" : "",
                    decided->node, decided->way, decided->flow->stage);
        add_bytes(decided->most_bytes, out);
        gr_buf_addf(out, "\n");
    }
}
