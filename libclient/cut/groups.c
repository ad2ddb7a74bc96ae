/*
 * groupby in two phases: tables of groups of each partition, then those of all partitions combined, in one place or by parts of the
 * keys' hashes. distinct: rows are dealt by the columns that are compared. Neither needs that where equal rows are in one
 * partition anyway.
 */
#include <string.h>

#include "cut/flow.h"
#include "data/frame.h"
#include "graph/aggregate.h"

static const Granary__Attr *
param(const struct gr_node *node, const char *name)
{
    return gr_attr_find(node->node->attrs, node->node->n_attrs, name);
}

/* Whether the order of rows shows in the values of a groupby. */
bool
groups_see_order(const struct gr_node *node)
{
    const struct gr_schema *schema = &node->inputs[0]->type.schema;
    struct gr_aggregate *aggregates = NULL;
    size_t count = 0;
    bool sees = gr_aggregates_parse(param(node, "aggregate"), &aggregates, &count) != GRANARY_OK;

    for (size_t i = 0; i < count && !sees; i++) {
        granary_dtype dtype = GRANARY_INT64;

        sees = (aggregates[i].column != NULL &&
                gr_aggregate_argument(node->trees, aggregates[i].column, schema, &dtype) != GRANARY_OK) ||
               !gr_aggregate_is_blind(aggregates[i].function, dtype);
    }
    gr_aggregates_free(aggregates, count);
    return sees;
}

static bool
is_sorted(const struct gr_node *node)
{
    const Granary__Attr *sort = param(node, "sort");

    return sort == NULL || sort->n_ints == 0 || sort->ints[0] != 0;
}

/* Groups in the order of their keys, which tell each from all others. */
static void
order_by_keys(struct cut *cut, const struct gr_node *node, struct value *value)
{
    const Granary__Attr *keys = param(node, "keys");

    for (size_t k = 0; k < keys->n_strings && is_sorted(node); k++) {
        value_add_key(cut, value, (struct order_key){.column = keys->strings[k]});
    }
    value->dealt = cut_room(cut, keys->n_strings, sizeof *value->dealt);
    value->dealt_count = cut->err == GRANARY_OK ? keys->n_strings : 0;
    for (size_t k = 0; k < value->dealt_count; k++) {
        value->dealt[k] = keys->strings[k];
    }
}

/* The columns that are grouped, for those who do not see them. */
static void
set_columns(struct cut *cut, const struct gr_node *node, struct flow *flow)
{
    const struct gr_schema *schema = &node->inputs[0]->type.schema;
    char **names = cut_room(cut, schema->count, sizeof *names);
    char **dtypes = cut_room(cut, schema->count, sizeof *dtypes);

    for (size_t c = 0; c < schema->count && cut->err == GRANARY_OK; c++) {
        names[c] = schema->fields[c].name;
        dtypes[c] = cut_borrow(granary_dtype_name(schema->fields[c].dtype));
    }
    flow_set(cut, flow, gr_attr_new_strings("columns", names, schema->count));
    flow_set(cut, flow, gr_attr_new_strings("dtypes", dtypes, schema->count));
}

static void
drop_attr(struct flow *flow, const char *name)
{
    for (size_t i = 0; i < flow->attrs.count; i++) {
        if (strcmp(flow->attrs.attrs[i]->name, name) == 0) {
            granary__attr__free_unpacked(flow->attrs.attrs[i], NULL);
            flow->attrs.attrs[i--] = flow->attrs.attrs[--flow->attrs.count];
        }
    }
}

struct value
place_groupby(struct cut *cut, const struct gr_node *node)
{
    struct value from = cut->values[node->inputs[0]->position];
    const Granary__Attr *keys = param(node, "keys");
    bool has_keys = keys->n_strings > 0;
    double groups = has_keys ? from.flow->bytes * 0.5 : 64.0 * (double)(node->type.schema.count + 1);
    struct flow *partial, *combine;
    struct value value;
    bool in_parts;

    if (from.flow->spread != SPREAD_PARTS) {
        value = place_gathered(cut, node, NULL);
        value.flow->bytes = groups;
        return value;
    }
    if (value_is_dealt(&from, keys->strings, keys->n_strings) &&
        (is_sorted(node) || !cut->seen[node->position])) { /* each group is in one partition */
        if (groups_see_order(node)) {
            from = value_local(cut, node, from);
        }
        combine = flow_of_node(cut, node, SPREAD_PARTS);
        flow_reads(cut, combine, from.flow);
        combine->bytes = groups;
        value = value_of(cut, combine, node);
        order_by_keys(cut, node, &value);
        return value;
    }
    from = groups_see_order(node) ? value_in_order(cut, node, from) : from;
    partial = flow_for_node(cut, node, cut_text(cut, "%s: groups", node->node->name), "groupby_partial", SPREAD_PARTS);
    partial->yields = GR_YIELDS_OBJECTS;
    partial->chunks = has_keys ? cut->parts : 1;
    partial->bytes = groups;
    partial->about = cut_text(cut, "tables of groups, for '%s'", node->node->name);
    drop_attr(partial, "sort");
    flow_set(cut, partial, gr_attr_new_int("parts", (int64_t)partial->chunks));
    flow_reads(cut, partial, from.flow);
    in_parts = has_keys && size_of(cut, partial) > cut->smallest;
    combine = flow_for_node(cut, node, node->node->name, "groupby_combine", in_parts ? SPREAD_PARTS : SPREAD_ONE);
    combine->bytes = size_of(cut, partial);
    set_columns(cut, node, combine);
    flow_reads(cut, combine,
               flow_receive(cut, partial, in_parts ? TAKE_PART : TAKE_ALL, in_parts ? SPREAD_PARTS : SPREAD_ONE));
    value = value_of(cut, combine, node);
    if (in_parts) {
        order_by_keys(cut, node, &value);
        if (!cut->seen[node->position]) {
            flow_set(cut, combine, gr_attr_new_bool("sort", false));
        }
    } else if (has_keys) {
        cut_tell_decided(cut, node, "combine", partial, cut->smallest);
    }
    return value;
}

/* ---- distinct ---- */

static struct flow *
distinct_over(struct cut *cut, const struct gr_node *node, const char *name, struct flow *from, char *const *columns,
              size_t count)
{
    struct flow *flow = flow_over(cut, name, "distinct", from);
    const Granary__Attr *keep = param(node, "keep");

    flow_set(cut, flow, gr_attr_new_strings("subset", columns, count));
    if (keep != NULL) {
        flow_set(cut, flow, gr_attr_copy(keep));
    }
    return flow;
}

struct value
place_distinct(struct cut *cut, const struct gr_node *node)
{
    const Granary__Attr *subset = param(node, "subset");
    const struct gr_params_distinct *params = GR_NODE_PARAMS(distinct, node->node);
    struct value value = cut->values[node->inputs[0]->position];
    size_t count = subset == NULL ? value.schema->count : subset->n_strings;
    char **columns = cut_room(cut, count, sizeof *columns);

    if (value.flow->spread != SPREAD_PARTS) {
        return place_gathered(cut, node, NULL);
    }
    for (size_t c = 0; c < count && cut->err == GRANARY_OK; c++) {
        columns[c] = subset == NULL ? value.schema->fields[c].name : subset->strings[c];
        if (!cut_can_deal(value.schema, columns[c])) {
            return place_gathered(cut, node, "rows cannot be dealt by lists");
        }
    }
    if (!value_is_dealt(&value, columns, count)) {
        if (strcmp(params->keep, "none") != 0 && value.local) {
            value.flow =
                distinct_over(cut, node, cut_text(cut, "%s: each", node->node->name), value.flow, columns, count);
        }
        value = value_deal(cut, node, value, columns, count, NULL, "row",
                           node_sees_order(node, 0, cut->seen[node->position]));
    }
    value = value_local(cut, node, value);
    value.flow = distinct_over(cut, node, node->node->name, value.flow, columns, count);
    value.flow->bytes *= 0.5;
    value.schema = &node->type.schema;
    return value;
}
