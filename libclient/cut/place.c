/*
 * Each node of the graph finds its place in the plan: in every partition, in one place, or wherever it is read. What goes row by row
 * stays where its input is; the others have files of their own. What nothing is known of is gathered.
 */
#include <string.h>

#include "base/error.h"
#include "cut/flow.h"
#include "data/frame.h"
#include "graph/join.h"
#include "graph/operator.h"

void
cut_tell_gathered(struct cut *cut, const struct gr_node *node, const char *why)
{
    cut->gathered = cut_grow(cut, cut->gathered, cut->gathered_count, &cut->gathered_room, sizeof(struct gathered));
    if (cut->err == GRANARY_OK) {
        cut->gathered[cut->gathered_count++] =
            (struct gathered){node->shown->name, gr_op_info((enum gr_tile_op)node->op)->name, why};
    }
}

void
cut_tell_decided(struct cut *cut, const struct gr_node *node, const char *way, struct flow *flow, double most_bytes)
{
    cut->decided = cut_grow(cut, cut->decided, cut->decided_count, &cut->decided_room, sizeof(struct decided));
    if (cut->err == GRANARY_OK) {
        cut->decided[cut->decided_count++] = (struct decided){node->shown->name, way, flow, most_bytes};
    }
}

bool
cut_can_deal(const struct gr_schema *schema, const char *column)
{
    int at = gr_schema_find(schema, column);

    return at >= 0 && !gr_dtype_is_list(schema->fields[at].dtype);
}

/* ---- what is gathered ---- */

/* Why an operator runs in one place. */
static const char *
reason(const struct gr_node *node)
{
    switch (node->op) {
    case GR_TILE_map_chunk:
    case GR_TILE_call:
    case GR_TILE_exec:
        return "what a function of yours needs to see is not known";
    case GR_TILE_append_to:
        return "rows are appended as one write";
    case GR_TILE_slice:
        return "positions are those of all rows";
    case GR_TILE_sample:
        return "rows are drawn from all rows";
    case GR_TILE_lstsq:
    case GR_TILE_solve:
    case GR_TILE_solve_triangular:
    case GR_TILE_cholesky:
    case GR_TILE_det:
    case GR_TILE_inv:
    case GR_TILE_lu:
    case GR_TILE_eigh:
    case GR_TILE_eig:
        return "it works on all of the matrix at once";
    case GR_TILE_recurse:
        return "a recursion runs in one place";
    default:
        return strncmp(gr_op_info((enum gr_tile_op)node->op)->name, "write_", 6) == 0 ? "one file is written as a whole"
                                                                                      : "it is not known how to cut it";
    }
}

struct value
place_gathered(struct cut *cut, const struct gr_node *node, const char *why)
{
    struct flow *flow = flow_of_node(cut, node, SPREAD_ONE);
    bool was_cut = false;

    for (size_t k = 0; k < node->input_count && cut->err == GRANARY_OK; k++) {
        struct value value = cut->values[node->inputs[k]->position];

        was_cut = was_cut || value.flow->spread == SPREAD_PARTS;
        flow->bytes += value.flow->bytes;
        flow_reads(cut, flow, value_gather(cut, node, value, SPREAD_ONE).flow);
    }
    if (was_cut) {
        cut_tell_gathered(cut, node, why == NULL ? reason(node) : why);
    }
    return value_of(cut, flow, node);
}

/* ---- one below the other ---- */

/* Rows of one place, dealt to all. */
static bool
deal_out(struct cut *cut, const struct gr_node *node, size_t i, bool seen, struct value *value)
{
    for (size_t c = 0; c < value->schema->count; c++) {
        if (cut_can_deal(value->schema, value->schema->fields[c].name)) {
            *value = value_deal(cut, node, *value, &value->schema->fields[c].name, 1, NULL, cut_text(cut, "row %zu", i),
                                seen);
            return true;
        }
    }
    return false;
}

/* Which input a row is of, before its order there. */
static void
number_input(struct cut *cut, const struct gr_node *node, size_t i, struct value *value)
{
    const char *column = value_hidden(cut, node, "input");
    char *name = cut_borrow(column);
    char *text = cut_borrow(cut_text(cut, "%zu", i));

    value->flow = flow_over(cut, cut_text(cut, "%s: input %zu", node->node->name, i), "assign", value->flow);
    flow_set(cut, value->flow, gr_attr_new_map("columns", &name, &text, 1));
}

static struct value
place_concat(struct cut *cut, const struct gr_node *node)
{
    const struct gr_params_concat *params = GR_NODE_PARAMS(concat, node->node);
    bool seen = cut->seen[node->position];
    struct value *inputs = cut_room(cut, node->input_count, sizeof *inputs);
    size_t in_parts = 0;
    struct flow *flow;
    struct value value;

    for (size_t k = 0; k < node->input_count && cut->err == GRANARY_OK; k++) {
        inputs[k] = cut->values[node->inputs[k]->position];
        in_parts += inputs[k].flow->spread == SPREAD_PARTS;
    }
    if (in_parts == 0 || cut->err != GRANARY_OK) {
        return place_gathered(cut, node, NULL);
    }
    if (params->axis != 0) {
        return place_gathered(cut, node, "rows stand side by side by their positions");
    }
    if (seen && strcmp(params->join, "inner") == 0) {
        return place_gathered(cut, node, "only columns that all have are left, and none for the order");
    }
    for (size_t k = 0; k < node->input_count; k++) {
        if (inputs[k].flow->spread != SPREAD_PARTS && !deal_out(cut, node, k, seen, &inputs[k])) {
            return place_gathered(cut, node, "rows cannot be dealt by lists");
        }
    }
    flow = flow_of_node(cut, node, SPREAD_PARTS);
    value = value_of(cut, flow, node);
    if (seen) {
        value_add_key(cut, &value, (struct order_key){.column = value_hidden(cut, node, "input")});
        value_add_extra(cut, &value, value_hidden(cut, node, "input"));
        value.local = true;
    }
    for (size_t k = 0; k < node->input_count && cut->err == GRANARY_OK; k++) {
        if (!seen) {
            inputs[k] = value_plain(cut, node, inputs[k]);
        } else {
            inputs[k] = inputs[k].nan_largest ? value_in_order(cut, node, inputs[k]) : inputs[k];
            inputs[k] = value_guard(cut, node, inputs[k], cut_text(cut, "key %zu", k), NULL, NULL);
            number_input(cut, node, k, &inputs[k]);
            value.local = value.local && inputs[k].local;
            for (size_t i = 0; i < inputs[k].key_count; i++) {
                value_add_key(cut, &value, inputs[k].keys[i]);
            }
            for (size_t i = 0; i < inputs[k].extra_count; i++) {
                value_add_extra(cut, &value, inputs[k].extra[i]);
            }
        }
        flow->bytes += inputs[k].flow->bytes;
        flow_reads(cut, flow, inputs[k].flow);
    }
    return value;
}

/* ---- who sees the order of rows ---- */

/* What it gives of a row is of that row alone, and stands where the row stood. */
static bool
goes_row_by_row(const struct gr_node *node)
{
    switch (node->op) {
    case GR_TILE_select:
    case GR_TILE_filter:
    case GR_TILE_assign:
    case GR_TILE_project:
    case GR_TILE_explode:
    case GR_TILE_encode:
    case GR_TILE_rebalance:
        return true;
    default:
        return false;
    }
}

bool
node_sees_order(const struct gr_node *node, size_t k, bool seen)
{
    const struct gr_schema *schema = &node->inputs[k]->type.schema;

    if (goes_row_by_row(node)) {
        return seen;
    }
    switch (node->op) {
    case GR_TILE_concat:
        return seen || GR_NODE_PARAMS(concat, node->node)->axis != 0;
    case GR_TILE_sort:
        return seen || node->limit != GR_NO_LIMIT;
    case GR_TILE_groupby:
        return groups_see_order(node);
    case GR_TILE_value_counts:
        return false;
    case GR_TILE_distinct: {
        const struct gr_params_distinct *params = GR_NODE_PARAMS(distinct, node->node);
        bool sees = seen || (params->subset != NULL && strcmp(params->keep, "none") != 0);

        for (size_t c = 0; c < schema->count && !sees; c++) { /* -0.0 and 0.0 are equal, and not the same */
            granary_dtype dtype = schema->fields[c].dtype;

            sees = dtype == GRANARY_FLOAT64 || dtype == GRANARY_FLOAT32 || gr_dtype_is_list(dtype);
        }
        return sees;
    }
    case GR_TILE_join: {
        struct gr_join join;
        granary_err err = gr_join_parse(node->node->attrs, node->node->n_attrs, &join);

        return err != GRANARY_OK || (seen && !(k == 1 && (join.how == GR_JOIN_SEMI || join.how == GR_JOIN_ANTI)));
    }
    default:
        return true;
    }
}

static void
find_seen(struct cut *cut)
{
    for (size_t t = 0; t < cut->graph->target_count; t++) {
        cut->seen[cut->graph->targets[t]] = true;
    }
    for (size_t i = cut->graph->count; i-- > 0;) {
        const struct gr_node *node = cut->graph->nodes[i];

        for (size_t k = 0; k < node->input_count; k++) {
            size_t from = node->inputs[k]->position;

            cut->seen[from] =
                cut->seen[from] || node->inputs[k]->yields != GR_YIELDS_FRAME || node_sees_order(node, k, cut->seen[i]);
        }
    }
}

/* From a recursion's rows on, up to its end. inside: memory for a flag for each node */
static void
pin_body(struct cut *cut, const struct gr_node *rows, bool *inside)
{
    for (size_t i = 0; i < cut->graph->count; i++) {
        const struct gr_node *node = cut->graph->nodes[i];

        inside[i] = node == rows;
        for (size_t k = 0; k < node->input_count && !inside[i]; k++) {
            const struct gr_node *input = node->inputs[k];

            inside[i] = inside[input->position] && !(input->op == GR_TILE_recurse && input->inputs[0] == rows);
        }
        cut->pinned[i] = cut->pinned[i] || inside[i];
    }
}

/* The body of a recursion stays together, with what recursions within it have. */
static void
find_pinned(struct cut *cut)
{
    bool *inside = cut_room(cut, cut->graph->count, sizeof *inside);

    for (size_t i = 0; i < cut->graph->count && cut->err == GRANARY_OK; i++) {
        if (cut->graph->nodes[i]->op == GR_TILE_round_rows) {
            pin_body(cut, cut->graph->nodes[i], inside);
        }
    }
}

static struct value
place(struct cut *cut, const struct gr_node *node)
{
    struct value value;

    if (cut->pinned[node->position]) {
        return place_gathered(cut, node, "a recursion runs in one place");
    }
    if (place_tensor(cut, node, &value)) {
        return value;
    }
    if (goes_row_by_row(node)) {
        return place_rows(cut, node);
    }
    switch (node->op) {
    case GR_TILE_sort:
        return place_sort(cut, node);
    case GR_TILE_head:
        return place_head(cut, node, cut->values[node->inputs[0]->position], GR_NODE_PARAMS(head, node->node)->rows);
    case GR_TILE_groupby:
        return place_groupby(cut, node);
    case GR_TILE_value_counts:
        return place_value_counts(cut, node);
    case GR_TILE_distinct:
        return place_distinct(cut, node);
    case GR_TILE_window:
        return place_window(cut, node);
    case GR_TILE_join:
        return place_join(cut, node);
    case GR_TILE_concat:
        return place_concat(cut, node);
    default:
        break;
    }
    if (node->op == GR_TILE_table) {
        return place_table(cut, node);
    }
    if (node->op == GR_TILE_object) {
        value = place_gathered(cut, node, NULL);
        value.flow->at_home = true;
        return value;
    }
    if (node->input_count == 0 && strncmp(gr_op_info((enum gr_tile_op)node->op)->name, "read_", 5) == 0) {
        return place_source(cut, node);
    }
    return place_gathered(cut, node, NULL);
}

/* The result of a target in a stage of one partition that has it alone. */
static struct flow *
target_flow(struct cut *cut, const struct gr_node *node)
{
    struct value value = value_gather(cut, node, cut->values[node->position], SPREAD_ONE);
    struct flow *flow = value.flow;

    if (flow->receives && node->yields == GR_YIELDS_TENSOR) {
        flow = flow_over(cut, cut_text(cut, "%s: rows", node->node->name), "astype", flow);
        flow_set(cut, flow, gr_attr_new_string("dtype", granary_dtype_name(node->type.dtype)));
    } else if (flow->receives) {
        flow = value_own_columns(cut, node, &value);
    } else if (flow->spread == SPREAD_ANY) {
        struct flow *whole = flow_add(cut, flow->name, flow->op, SPREAD_ONE, flow->yields);

        for (size_t i = 0; i < flow->attrs.count; i++) {
            flow_set(cut, whole, gr_attr_copy(flow->attrs.attrs[i]));
        }
        for (size_t k = 0; k < flow->input_count; k++) {
            flow_reads(cut, whole, flow->inputs[k]);
        }
        whole->reads = flow->reads;
        whole->at_home = flow->at_home;
        whole->given = flow->given;
        flow = whole;
    }
    flow->about = cut_text(cut, "the result '%s'", node->node->name);
    return flow;
}

void
place_all(struct cut *cut)
{
    find_seen(cut);
    find_pinned(cut);
    for (size_t i = 0; i < cut->graph->count && cut->err == GRANARY_OK; i++) {
        cut->values[i] = place(cut, cut->graph->nodes[i]);
    }
    for (size_t t = 0; t < cut->graph->target_count && cut->err == GRANARY_OK; t++) {
        cut->targets[t] = target_flow(cut, cut->graph->nodes[cut->graph->targets[t]]);
    }
}
