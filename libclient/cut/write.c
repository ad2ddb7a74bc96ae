/*
 * The plan as JSON (docs/fragments.md). A node stands on a line, so that people can read it, too. Graphs are written here, and not by
 * the room graph_json: its library's symbols must not reach programs that load libgranary.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "cut/flow.h"

static void
write_string(const char *text, struct gr_buf *out)
{
    gr_buf_add(out, "\"", 1);
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;

        if (byte == '"' || byte == '\\') {
            gr_buf_addf(out, "\\%c", byte);
        } else if (byte < 0x20) {
            gr_buf_addf(out, "\\u%04x", byte);
        } else {
            gr_buf_add(out, at, 1);
        }
    }
    gr_buf_add(out, "\"", 1);
}

/* As many digits as tell it from others, and a point, by which it is read as a number that need not be whole. */
static void
write_double(double value, struct gr_buf *out)
{
    char text[40];

    if (!isfinite(value)) { /* no number of JSON: the check knows these words */
        gr_buf_addf(out, "\"%s\"", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 15; digits <= 17; digits += 2) {
        double back = 0;

        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (sscanf(text, "%lf", &back) == 1 && memcmp(&back, &value, sizeof back) == 0) {
            break;
        }
    }
    gr_buf_addf(out, "%s%s", text, strpbrk(text, ".e") == NULL ? ".0" : "");
}

static void
comma(size_t i, struct gr_buf *out)
{
    gr_buf_addf(out, "%s", i == 0 ? "" : ", ");
}

static void
write_list(const Granary__Attr *attr, struct gr_buf *out)
{
    gr_buf_addf(out, "[");
    for (size_t i = 0; i < attr->n_ints; i++) {
        comma(i, out);
        if (attr->kind == GRANARY__ATTR__KIND__BOOLS) {
            gr_buf_addf(out, "%s", attr->ints[i] != 0 ? "true" : "false");
        } else {
            gr_buf_addf(out, "%" PRId64, (int64_t)attr->ints[i]);
        }
    }
    for (size_t i = 0; i < attr->n_doubles; i++) {
        comma(i, out);
        write_double(attr->doubles[i], out);
    }
    for (size_t i = 0; i < attr->n_strings; i++) {
        comma(i, out);
        write_string(attr->strings[i], out);
    }
    gr_buf_addf(out, "]");
}

void
write_attr(const Granary__Attr *attr, struct gr_buf *out)
{
    switch (attr->kind) {
    case GRANARY__ATTR__KIND__INT:
        gr_buf_addf(out, "%" PRId64, attr->n_ints > 0 ? (int64_t)attr->ints[0] : 0);
        break;
    case GRANARY__ATTR__KIND__BOOL:
        gr_buf_addf(out, "%s", attr->n_ints > 0 && attr->ints[0] != 0 ? "true" : "false");
        break;
    case GRANARY__ATTR__KIND__DOUBLE:
        write_double(attr->n_doubles > 0 ? attr->doubles[0] : 0, out);
        break;
    case GRANARY__ATTR__KIND__STRING:
        write_string(attr->n_strings > 0 ? attr->strings[0] : "", out);
        break;
    case GRANARY__ATTR__KIND__MAP:
        gr_buf_addf(out, "{");
        for (size_t i = 0; i < attr->n_keys && i < attr->n_strings; i++) {
            comma(i, out);
            write_string(attr->keys[i], out);
            gr_buf_addf(out, ": ");
            write_string(attr->strings[i], out);
        }
        gr_buf_addf(out, "}");
        break;
    default:
        write_list(attr, out);
    }
}

/* ---- stages ---- */

static const char *
name_in(const struct flow *root, const struct flow *flow)
{
    return flow == root ? "out" : flow->name;
}

static void
write_node(const struct flow *root, const struct flow *flow, struct gr_buf *out)
{
    write_string(name_in(root, flow), out);
    gr_buf_addf(out, ": {\"op\": ");
    write_string(flow->op, out);
    if (flow->input_count > 0) {
        gr_buf_addf(out, ", \"inputs\": [");
        for (size_t i = 0; i < flow->input_count; i++) {
            comma(i, out);
            write_string(name_in(root, flow->inputs[i]), out);
        }
        gr_buf_addf(out, "]");
    }
    for (size_t i = 0; i < flow->attrs.count; i++) {
        gr_buf_addf(out, ", ");
        write_string(flow->attrs.attrs[i]->name, out);
        gr_buf_addf(out, ": ");
        write_attr(flow->attrs.attrs[i], out);
    }
    gr_buf_addf(out, "}");
}

/* The node by which a fragment reads what others have made. */
static void
write_input_node(const struct flow *input, struct gr_buf *out)
{
    const char *op = input->yields == GR_YIELDS_FRAME    ? "table"
                     : input->yields == GR_YIELDS_TENSOR ? "array"
                                                         : "object";

    write_string(input->name, out);
    gr_buf_addf(out, ": {\"op\": \"%s\", \"ids\": []", op);
    for (size_t i = 0; input->receives && i < input->attrs.count; i++) {
        gr_buf_addf(out, ", ");
        write_string(input->attrs.attrs[i]->name, out);
        gr_buf_addf(out, ": ");
        write_attr(input->attrs.attrs[i], out);
    }
    gr_buf_addf(out, "}");
}

static void
write_inputs(const struct stage *stage, struct gr_buf *out)
{
    static const char *const takes[] = {"same", "part", "all"};

    gr_buf_addf(out, "     \"inputs\": {");
    for (size_t i = 0; i < stage->input_count; i++) {
        const struct flow *input = stage->inputs[i];
        const struct flow *from = input->receives ? input->inputs[0] : input;

        comma(i, out);
        write_string(input->name, out);
        gr_buf_addf(out, ": {\"stage\": \"s%zu\", \"take\": \"%s\"}", from->stage,
                    takes[input->receives ? input->take : TAKE_SAME]);
    }
    gr_buf_addf(out, "},\n");
}

/* Nodes whose chunks the driver has. */
static void
write_given(const struct flow *root, const struct stage *stage, struct gr_buf *out)
{
    size_t count = 0;

    for (size_t i = 0; i < stage->count; i++) {
        if (stage->flows[i]->given != NULL) {
            gr_buf_addf(out, "%s", count == 0 ? "     \"sources\": {" : ", ");
            write_string(name_in(root, stage->flows[i]), out);
            gr_buf_addf(out, ": ");
            write_string(stage->flows[i]->given, out);
            count++;
        }
    }
    gr_buf_addf(out, "%s", count == 0 ? "" : "},\n");
}

static void
write_stage(struct cut *cut, struct flow *root, struct gr_buf *out)
{
    struct stage stage;
    bool at_home = false;
    size_t parts = 0;

    stage_list(cut, root, &stage);
    gr_buf_addf(out,
                "    {\"name\": \"s%zu\", \"digest\": \"%s\", \"partitions\": %zu, \"chunks\": %zu,\n     \"about\": ",
                root->stage, flow_digest(cut, root), root_partitions(cut, root), root->chunks);
    write_string(root->about == NULL ? root->op : root->about, out);
    gr_buf_addf(out, ",\n     \"graph\": {\"nodes\": {");
    for (size_t i = 0; i < stage.input_count; i++) {
        gr_buf_addf(out, "%s\n       ", i == 0 ? "" : ",");
        write_input_node(stage.inputs[i], out);
    }
    for (size_t i = 0; i < stage.count; i++) {
        gr_buf_addf(out, "%s\n       ", i + stage.input_count == 0 ? "" : ",");
        write_node(root, stage.flows[i], out);
        at_home = at_home || stage.flows[i]->at_home;
    }
    gr_buf_addf(out, "},\n       \"targets\": [\"out\"]},\n     \"part_of\": [");
    for (size_t i = 0; i < stage.count; i++) {
        if (stage.flows[i]->takes_part) {
            comma(parts++, out);
            write_string(name_in(root, stage.flows[i]), out);
        }
    }
    gr_buf_addf(out, "],\n");
    write_inputs(&stage, out);
    write_given(root, &stage, out);
    gr_buf_addf(out, "     \"home\": %s}", at_home ? "true" : "false");
}

static void
write_targets(struct cut *cut, struct gr_buf *out)
{
    for (size_t t = 0; t < cut->graph->target_count; t++) {
        const struct gr_node *node = cut->graph->nodes[cut->graph->targets[t]];

        gr_buf_addf(out, "%s\n    {\"name\": ", t == 0 ? "" : ",");
        write_string(node->node->name, out);
        gr_buf_addf(out, ", \"stage\": \"s%zu\", \"kind\": \"%s\"}", cut->targets[t]->stage,
                    node->yields == GR_YIELDS_FRAME    ? "frame"
                    : node->yields == GR_YIELDS_TENSOR ? "tensor"
                                                       : "objects");
    }
}

/* Drivers that read format 1 have no sources. */
static int
format_of(const struct cut *cut)
{
    for (size_t i = 0; i < cut->flow_count; i++) {
        if (cut->flows[i]->given != NULL) {
            return 2;
        }
    }
    return 1;
}

void
plan_write(struct cut *cut, struct gr_buf *out)
{
    gr_buf_addf(out, "{\"granary_fragments\": %d, \"version\": \"%s\", \"partitions\": %zu,\n  \"stages\": [",
                format_of(cut), granary_version(), cut->parts);
    for (size_t i = 0; i < cut->root_count; i++) {
        gr_buf_addf(out, "%s\n", i == 0 ? "" : ",");
        write_stage(cut, cut->roots[i], out);
    }
    gr_buf_addf(out, "],\n  \"targets\": [");
    write_targets(cut, out);
    gr_buf_addf(out, "],\n  \"gathered\": [");
    for (size_t i = 0; i < cut->gathered_count; i++) {
        gr_buf_addf(out, "%s\n    {\"node\": ", i == 0 ? "" : ",");
        write_string(cut->gathered[i].node, out);
        gr_buf_addf(out, ", \"op\": \"%s\", \"why\": ", cut->gathered[i].op);
        write_string(cut->gathered[i].why, out);
        gr_buf_addf(out, "}");
    }
    gr_buf_addf(out, "],\n  \"decided\": [");
    for (size_t i = 0; i < cut->decided_count; i++) {
        struct decided *decided = &cut->decided[i];

        gr_buf_addf(out, "%s\n    {\"node\": ", i == 0 ? "" : ",");
        write_string(decided->node, out);
        gr_buf_addf(out, ", \"way\": \"%s\", \"stage\": \"s%zu\", \"digest\": \"%s\", \"most_bytes\": %.0f}",
                    decided->way, decided->flow->stage, flow_digest(cut, decided->flow), decided->most_bytes);
    }
    gr_buf_addf(out, "]}\n");
}
