/*
 * sort and head. A sort moves nothing: its keys come to those of the order that rows have, and rows are sorted where they are
 * gathered, or where an operator wants them in order. A head keeps the first rows of each partition, and then of these.
 */
#include <string.h>

#include "cut/flow.h"
#include "data/frame.h"

/* Whether both orders can be one: nans of floats have one place. */
static bool
nans_agree(const struct value *value, bool nan_largest)
{
    return value->key_count == 0 || value->nan_largest == nan_largest;
}

static bool
is_hidden_number(const struct order_key *key)
{
    return key->column[0] == '#' && !key->descending && !key->nulls_first;
}

void
value_order_first(struct cut *cut, struct value *value, const Granary__Attr *by, const Granary__Attr *descending,
                  const Granary__Attr *nulls, bool nan_largest)
{
    struct value old = *value;

    value->key_count = 0;
    value->keys = NULL;
    value->nan_largest = nan_largest;
    for (size_t k = 0; k < by->n_strings; k++) {
        struct order_key key = {.column = by->strings[k]};

        if (descending != NULL && descending->n_ints > 0) {
            key.descending = descending->ints[descending->n_ints == 1 ? 0 : k] != 0;
        }
        if (nulls != NULL && nulls->n_strings > 0) {
            key.nulls_first = strcmp(nulls->strings[nulls->n_strings == 1 ? 0 : k], "first") == 0;
        }
        value_add_key(cut, value, key);
    }
    for (size_t k = 0; k < old.key_count; k++) {
        bool there = false;

        for (size_t i = 0; i < value->key_count; i++) {
            there = there || strcmp(value->keys[i].column, old.keys[k].column) == 0;
        }
        if (!there) {
            value_add_key(cut, value, old.keys[k]);
        }
    }
    value->local = false;
}

struct value
place_sort(struct cut *cut, const struct gr_node *node)
{
    const struct gr_params_sort *params = GR_NODE_PARAMS(sort, node->node);
    struct value value = cut->values[node->inputs[0]->position];
    bool numbers = true;

    if (value.flow->spread != SPREAD_PARTS) {
        struct flow *flow = flow_of_node(cut, node, SPREAD_ONE);

        flow_reads(cut, flow, value_gather(cut, node, value, SPREAD_ONE).flow);
        flow->bytes = value.flow->bytes;
        value = value_of(cut, flow, node);
    } else {
        for (size_t k = 0; k < value.key_count; k++) {
            numbers = numbers && is_hidden_number(&value.keys[k]);
        }
        if (!numbers && !nans_agree(&value, params->nan_largest)) {
            value = value_in_order(cut, node, value);
        }
        value_order_first(cut, &value, params->by, params->descending, params->nulls, params->nan_largest);
        value.schema = &node->type.schema;
    }
    return node->limit == GR_NO_LIMIT ? value : place_head(cut, node, value, node->limit);
}

struct value
place_head(struct cut *cut, const struct gr_node *node, struct value value, int64_t rows)
{
    double width = 16.0 * (double)(node->type.schema.count + value.extra_count + 1);
    struct flow *flow;

    for (int round = 0; round < 2; round++) {
        bool parts = value.flow->spread == SPREAD_PARTS;

        value = value_local(cut, node, value);
        flow = flow_over(cut, round == 0 && parts ? cut_text(cut, "%s: first", node->node->name) : node->node->name,
                         "head", value.flow);
        flow->spread = parts ? SPREAD_PARTS : SPREAD_ONE;
        flow_set(cut, flow, gr_attr_new_int("rows", rows));
        flow->bytes = width * (double)rows < flow->bytes ? width * (double)rows : flow->bytes;
        value.flow = flow;
        if (!parts) {
            break;
        }
        value.flow = flow_receive(cut, flow, TAKE_ALL, SPREAD_ONE);
        value.local = value.key_count == 0;
    }
    value.schema = &node->type.schema;
    value.dealt_count = 0;
    return value_plain(cut, node, value);
}
