/*
 * groupby in two phases: tables of groups of each partition, then those of all partitions combined, in one place or by parts of the
 * keys' hashes. distinct: rows are dealt by the columns that are compared. Neither needs that where equal rows are in one
 * partition anyway.
 */
#include <string.h>

#include "cut/flow.h"
#include "data/frame.h"
#include "graph/operators/aggregate.h"

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

/* What makes groups: a groupby, or what is like one. */
struct grouping {
    char *const *keys;
    size_t count;
    const Granary__Attr *aggregate, *dropna; /* dropna may be NULL */
    bool sorted;                             /* groups come in the order of their keys */
};

/* Groups in the order of their keys, which tell each from all others. */
static void
order_by_keys(struct cut *cut, const struct grouping *by, struct value *value)
{
    for (size_t k = 0; k < by->count && by->sorted; k++) {
        value_add_key(cut, value, (struct order_key){.column = by->keys[k]});
    }
    value->dealt = cut_room(cut, by->count, sizeof *value->dealt);
    value->dealt_count = cut->err == GRANARY_OK ? by->count : 0;
    for (size_t k = 0; k < value->dealt_count; k++) {
        value->dealt[k] = by->keys[k];
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
set_grouping(struct cut *cut, const struct grouping *by, struct flow *flow)
{
    flow_set(cut, flow, gr_attr_new_strings("keys", by->keys, by->count));
    flow_set(cut, flow, gr_attr_copy(by->aggregate));
    if (by->dropna != NULL) {
        flow_set(cut, flow, gr_attr_copy(by->dropna));
    }
}

/* Tables of groups of each partition, combined in one place or by parts. */
static struct value
in_two_phases(struct cut *cut, const struct gr_node *node, const struct value *from, const struct grouping *by)
{
    const char *name = node->node->name;
    struct flow *partial = flow_over(cut, cut_text(cut, "%s: groups", name), "groupby_partial", from->flow);
    struct flow *combine;
    struct value value;
    bool in_parts;

    partial->yields = GR_YIELDS_OBJECTS;
    partial->chunks = by->count > 0 ? cut->parts : 1;
    partial->bytes = by->count > 0 ? from->flow->bytes * 0.5 : 64.0 * (double)(node->type.schema.count + 1);
    partial->about = cut_text(cut, "tables of groups, for '%s'", name);
    set_grouping(cut, by, partial);
    flow_set(cut, partial, gr_attr_new_int("parts", (int64_t)partial->chunks));
    in_parts = by->count > 0 && size_of(cut, partial) > cut->smallest;
    combine = flow_add(cut, name, "groupby_combine", in_parts ? SPREAD_PARTS : SPREAD_ONE, GR_YIELDS_FRAME);
    combine->bytes = size_of(cut, partial);
    set_grouping(cut, by, combine);
    set_columns(cut, node, combine);
    if (!by->sorted || (in_parts && !cut->seen[node->position])) {
        flow_set(cut, combine, gr_attr_new_bool("sort", false));
    }
    flow_reads(cut, combine,
               flow_receive(cut, partial, in_parts ? TAKE_PART : TAKE_ALL, in_parts ? SPREAD_PARTS : SPREAD_ONE));
    value = value_of(cut, combine, node);
    if (in_parts) {
        order_by_keys(cut, by, &value);
        value.local = cut->seen[node->position] || value.key_count == 0;
    } else if (by->count > 0) {
        cut_tell_decided(cut, node, "combine", partial, cut->smallest);
    }
    return value;
}

struct flow *
groups_of_all(struct cut *cut, const struct gr_node *node, struct flow *from, char *const *names, char *const *texts,
              size_t count)
{
    Granary__Attr *aggregate = gr_attr_new_map("aggregate", names, texts, count);
    const struct grouping by = {.aggregate = aggregate, .sorted = true};
    const struct value all = {.flow = from};
    struct flow *flow = from;

    if (aggregate == NULL) {
        cut_fail(cut, gr_fail(GRANARY_ENOMEM, "cutting: out of memory"));
    } else {
        flow = in_two_phases(cut, node, &all, &by).flow;
        granary__attr__free_unpacked(aggregate, NULL);
    }
    return flow;
}

struct value
place_groupby(struct cut *cut, const struct gr_node *node)
{
    struct value from = cut->values[node->inputs[0]->position];
    const Granary__Attr *keys = param(node, "keys");
    struct grouping by = {.keys = keys->strings,
                          .count = keys->n_strings,
                          .aggregate = param(node, "aggregate"),
                          .dropna = param(node, "dropna"),
                          .sorted = is_sorted(node)};
    struct flow *flow;
    struct value value;

    if (from.flow->spread != SPREAD_PARTS) {
        value = place_gathered(cut, node, NULL);
        value.flow->bytes = by.count > 0 ? from.flow->bytes * 0.5 : 64;
        return value;
    }
    if (value_is_dealt(&from, by.keys, by.count) && (by.sorted || !cut->seen[node->position])) {
        from = groups_see_order(node) ? value_local(cut, node, from) : from; /* each group is in one partition */
        flow = flow_of_node(cut, node, SPREAD_PARTS);
        flow_reads(cut, flow, from.flow);
        flow->bytes = from.flow->bytes * 0.5;
        value = value_of(cut, flow, node);
        order_by_keys(cut, &by, &value);
        return value;
    }
    from = groups_see_order(node) ? value_in_order(cut, node, from) : from;
    return in_two_phases(cut, node, &from, &by);
}

struct value
place_value_counts(struct cut *cut, const struct gr_node *node)
{
    const struct gr_params_value_counts *params = GR_NODE_PARAMS(value_counts, node->node);
    struct value from = cut->values[node->inputs[0]->position];
    size_t count = params->columns == NULL ? node->inputs[0]->type.schema.count : params->columns->n_strings;
    char **columns = cut_room(cut, count, sizeof *columns);
    char *name = cut_borrow("count"), *what = cut_borrow("size");
    Granary__Attr *aggregate;
    struct grouping by = {.keys = columns, .count = count, .dropna = param(node, "dropna"), .sorted = true};
    struct value value;

    if (from.flow->spread != SPREAD_PARTS || params->normalize || cut->err != GRANARY_OK) {
        return place_gathered(cut, node, "shares are those of all rows");
    }
    for (size_t c = 0; c < count; c++) {
        columns[c] =
            params->columns == NULL ? node->inputs[0]->type.schema.fields[c].name : params->columns->strings[c];
    }
    by.aggregate = aggregate = gr_attr_new_map("aggregate", &name, &what, 1);
    if (aggregate == NULL) {
        cut_fail(cut, gr_fail(GRANARY_ENOMEM, "cutting: out of memory"));
        return place_gathered(cut, node, NULL);
    }
    value = in_two_phases(cut, node, &from, &by);
    granary__attr__free_unpacked(aggregate, NULL);
    if (params->sort) {
        struct order_key first = {.column = name, .descending = !params->ascending};
        struct value by_count = value;

        by_count.keys = NULL;
        by_count.key_count = 0;
        value_add_key(cut, &by_count, first);
        for (size_t k = 0; k < value.key_count; k++) {
            value_add_key(cut, &by_count, value.keys[k]);
        }
        by_count.local = false;
        value = by_count;
        if (value.flow->spread == SPREAD_ONE) { /* groups of one count are in the order of their keys */
            value = value_local(cut, node, value);
            value.key_count = 0;
        }
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
