/* Operators that go row by row: select, filter, assign, project, explode, and those that change no row. */
#include <string.h>

#include "cut/flow.h"

/* ---- which columns come through ---- */

static bool
is_listed(char *const *names, size_t count, const char *column)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], column) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether an expression is that column, and nothing else. */
static bool
is_column(const char *text, const char *column)
{
    size_t size = strlen(column);

    return strcmp(text, column) == 0 || (text[0] == '`' && strlen(text) == size + 2 && text[size + 1] == '`' &&
                                         strncmp(text + 1, column, size) == 0 && strchr(column, '`') == NULL);
}

/* Whether a column of the input has the same name and values in the result. */
static bool
stays(const void *context, const char *column)
{
    const struct gr_node *node = context;
    const Granary__Attr *columns = gr_attr_find(node->node->attrs, node->node->n_attrs, "columns");

    switch (node->op) {
    case GR_TILE_select:
        return is_listed(columns->strings, columns->n_strings, column);
    case GR_TILE_project:
        for (size_t i = 0; i < columns->n_keys; i++) {
            if (strcmp(columns->keys[i], column) == 0) {
                return is_column(columns->strings[i], column);
            }
        }
        return false;
    case GR_TILE_assign:
    case GR_TILE_window:
        return !is_listed(columns->keys, columns->n_keys, column);
    case GR_TILE_explode:
        return strcmp(gr_attr_string(node->node->attrs, node->node->n_attrs, "column", ""), column) != 0 &&
               (columns == NULL || !is_listed(columns->strings, columns->n_strings, column));
    default:
        return true;
    }
}

/* What the plan has beside the node's columns comes through, too. */
static void
pass_extra(struct cut *cut, const struct gr_node *node, struct flow *flow, const struct value *value)
{
    const Granary__Attr *columns = flow_attr(flow, "columns");
    bool by_map = node->op == GR_TILE_project;
    size_t had = columns == NULL ? 0 : columns->n_strings;
    char **names = cut_room(cut, had + value->extra_count, sizeof *names);
    char **texts = cut_room(cut, had + value->extra_count, sizeof *texts);

    if ((node->op != GR_TILE_select && !by_map) || value->extra_count == 0 || cut->err != GRANARY_OK) {
        return;
    }
    for (size_t i = 0; i < had; i++) {
        names[i] = by_map ? columns->keys[i] : columns->strings[i];
        texts[i] = columns->strings[i];
    }
    for (size_t i = 0; i < value->extra_count; i++) {
        names[had + i] = cut_borrow(value->extra[i]);
        texts[had + i] = cut_borrow(cut_column(cut, value->extra[i]));
    }
    flow_set(cut, flow,
             by_map ? gr_attr_new_map("columns", names, texts, had + value->extra_count)
                    : gr_attr_new_strings("columns", names, had + value->extra_count));
}

/* Whether all columns by which rows were dealt are there, as they were. */
static void
pass_dealt(const struct gr_node *node, struct value *value)
{
    for (size_t i = 0; i < value->dealt_count; i++) {
        if (!stays(node, value->dealt[i])) {
            value->dealt_count = 0;
        }
    }
}

static double
bytes_after(const struct gr_node *node, const struct value *from)
{
    double bytes = from->flow->bytes;

    if (node->op == GR_TILE_filter) {
        return bytes * 0.4;
    }
    if ((node->op == GR_TILE_select || node->op == GR_TILE_project) && from->schema->count > 0) {
        double share = (double)node->type.schema.count / (double)from->schema->count;

        return share < 1 ? bytes * share : bytes;
    }
    return node->op == GR_TILE_explode ? bytes * 4 : bytes;
}

static struct value
pass_through(struct cut *cut, const struct gr_node *node, struct value from)
{
    struct value value = value_guard(cut, node, from, "key", stays, node);
    struct flow *flow = flow_of_node(cut, node, value.flow->spread);

    flow_reads(cut, flow, value.flow);
    pass_extra(cut, node, flow, &value);
    pass_dealt(node, &value);
    flow->bytes = bytes_after(node, &from);
    value.flow = flow;
    value.schema = &node->type.schema;
    return value;
}

struct value
place_rows(struct cut *cut, const struct gr_node *node)
{
    struct value value = cut->values[node->inputs[0]->position];

    if (node->op == GR_TILE_rebalance && value.flow->spread == SPREAD_PARTS) { /* chunks are the driver's */
        value.schema = &node->type.schema;
        return value;
    }
    return pass_through(cut, node, value);
}

struct value
place_window(struct cut *cut, const struct gr_node *node)
{
    const Granary__Attr *partition = gr_attr_find(node->node->attrs, node->node->n_attrs, "partition");
    struct value value = cut->values[node->inputs[0]->position];

    if (value.flow->spread != SPREAD_PARTS) {
        return place_gathered(cut, node, NULL);
    }
    if (partition == NULL || partition->n_strings == 0) {
        return place_window_of_all(cut, node);
    }
    if (!value_is_dealt(&value, partition->strings, partition->n_strings)) {
        value = value_deal(cut, node, value, partition->strings, partition->n_strings, NULL, "row", true);
    }
    return pass_through(cut, node, value_local(cut, node, value));
}
