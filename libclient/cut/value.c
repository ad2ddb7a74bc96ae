/* What nodes yield in the plan: rows in parts, the keys of their order, and how all of them come to one place. */
#include <string.h>

#include "cut/flow.h"

/* Rows of so many smallest sources are parted where their keys are equal, too. */
#define TIES_LEAST 4

struct value
value_of(struct cut *cut, struct flow *flow, const struct gr_node *node)
{
    (void)cut;
    return (struct value){
        .flow = flow, .schema = node->yields == GR_YIELDS_FRAME ? &node->type.schema : NULL, .local = true};
}

/* Of the node's place in the graph, so that it is the same when the graph is cut again in another way. */
const char *
value_hidden(struct cut *cut, const struct gr_node *node, const char *what)
{
    return cut_text(cut, "#%zu %s", node->position, what);
}

void
value_add_extra(struct cut *cut, struct value *value, const char *column)
{
    const char **grown = cut_room(cut, value->extra_count + 1, sizeof *grown);

    if (cut->err == GRANARY_OK) {
        if (value->extra_count > 0) {
            memcpy(grown, value->extra, value->extra_count * sizeof *grown);
        }
        grown[value->extra_count++] = column;
        value->extra = grown;
    }
}

void
value_add_key(struct cut *cut, struct value *value, struct order_key key)
{
    struct order_key *grown = cut_room(cut, value->key_count + 1, sizeof *grown);

    if (cut->err == GRANARY_OK) {
        if (value->key_count > 0) {
            memcpy(grown, value->keys, value->key_count * sizeof *grown);
        }
        grown[value->key_count++] = key;
        value->keys = grown;
    }
}

static bool
is_extra(const struct value *value, const char *column)
{
    for (size_t i = 0; i < value->extra_count; i++) {
        if (strcmp(value->extra[i], column) == 0) {
            return true;
        }
    }
    return false;
}

const char *
cut_column(struct cut *cut, const char *name)
{
    char *quoted = cut_room(cut, 2 * strlen(name) + 3, 1);
    char *to = quoted;

    if (cut->err != GRANARY_OK) {
        return quoted;
    }
    *to++ = '`';
    for (const char *at = name; *at != '\0'; at++) {
        *to++ = *at;
        if (*at == '`') {
            *to++ = '`';
        }
    }
    *to = '`';
    return quoted;
}

char *
cut_borrow(const char *text)
{
    return (char *)(uintptr_t)text;
}

struct value
value_guard(struct cut *cut, const struct gr_node *node, struct value value, const char *tag,
            bool (*stays)(const void *context, const char *column), const void *context)
{
    struct order_key *keys = cut_room(cut, value.key_count, sizeof *keys);
    char **names = cut_room(cut, value.key_count, sizeof *names);
    char **texts = cut_room(cut, value.key_count, sizeof *texts);
    size_t count = 0;

    for (size_t k = 0; k < value.key_count && cut->err == GRANARY_OK; k++) {
        keys[k] = value.keys[k];
        if (!is_extra(&value, keys[k].column) && (stays == NULL || !stays(context, keys[k].column))) {
            names[count] = cut_borrow(value_hidden(cut, node, cut_text(cut, "%s %zu", tag, k)));
            texts[count] = cut_borrow(cut_column(cut, keys[k].column));
            keys[k].column = names[count++];
        }
    }
    if (count > 0) {
        value.flow = flow_over(cut, cut_text(cut, "%s: keys", node->node->name), "assign", value.flow);
        flow_set(cut, value.flow, gr_attr_new_map("columns", names, texts, count));
        for (size_t i = 0; i < count; i++) {
            value_add_extra(cut, &value, names[i]);
        }
        value.keys = keys;
    }
    return value;
}

struct value
value_apart(struct cut *cut, const struct gr_node *node, struct value value, const struct value *other)
{
    size_t count = value.schema->count, all = count + value.extra_count;
    char **names = cut_room(cut, all, sizeof *names);
    char **texts = cut_room(cut, all, sizeof *texts);
    struct value apart = value;
    bool shared = false;

    for (size_t i = 0; i < value.extra_count; i++) {
        shared = shared || is_extra(other, value.extra[i]);
    }
    if (!shared || cut->err != GRANARY_OK) {
        return value;
    }
    for (size_t c = 0; c < all; c++) {
        const char *column = c < count ? value.schema->fields[c].name : value.extra[c - count];

        names[c] = cut_borrow(c < count ? column : value_hidden(cut, node, cut_text(cut, "apart %zu", c - count)));
        texts[c] = cut_borrow(cut_column(cut, column));
    }
    apart.flow = flow_over(cut, cut_text(cut, "%s: apart", node->node->name), "project", value.flow);
    flow_set(cut, apart.flow, gr_attr_new_map("columns", names, texts, all));
    apart.extra = NULL;
    apart.keys = NULL;
    apart.extra_count = apart.key_count = 0;
    for (size_t i = 0; i < value.extra_count; i++) {
        value_add_extra(cut, &apart, names[count + i]);
    }
    for (size_t k = 0; k < value.key_count; k++) {
        struct order_key key = value.keys[k];

        for (size_t i = 0; i < value.extra_count; i++) {
            key.column = strcmp(value.keys[k].column, value.extra[i]) == 0 ? names[count + i] : key.column;
        }
        value_add_key(cut, &apart, key);
    }
    return apart;
}

/* ---- orders ---- */

/* The parameters of a sort by its keys. */
static void
set_order(struct cut *cut, const struct value *value, struct flow *flow)
{
    char **by = cut_room(cut, value->key_count, sizeof *by);
    char **nulls = cut_room(cut, value->key_count, sizeof *nulls);
    bool *descending = cut_room(cut, value->key_count, sizeof *descending);

    for (size_t k = 0; k < value->key_count && cut->err == GRANARY_OK; k++) {
        by[k] = cut_borrow(value->keys[k].column);
        nulls[k] = cut_borrow(value->keys[k].nulls_first ? "first" : "last");
        descending[k] = value->keys[k].descending;
    }
    flow_set(cut, flow, gr_attr_new_strings("by", by, value->key_count));
    flow_set(cut, flow, gr_attr_new_bools("descending", descending, value->key_count));
    flow_set(cut, flow, gr_attr_new_strings("nulls", nulls, value->key_count));
    if (value->nan_largest) {
        flow_set(cut, flow, gr_attr_new_bool("nan_largest", true));
    }
}

/* The same rows sorted by its keys, where it lies. */
static struct flow *
sorted(struct cut *cut, const struct value *value, const char *name)
{
    struct flow *flow = flow_over(cut, name, "sort", value->flow);

    set_order(cut, value, flow);
    return flow;
}

struct value
value_local(struct cut *cut, const struct gr_node *node, struct value value)
{
    if (value.key_count > 0 && !value.local) {
        value.flow = sorted(cut, &value, cut_text(cut, "%s: order", node->node->name));
        value.local = true;
    }
    return value;
}

struct flow *
value_own_columns(struct cut *cut, const struct gr_node *node, const struct value *value)
{
    struct flow *flow = flow_over(cut, cut_text(cut, "%s: columns", node->node->name), "select", value->flow);
    char **names = cut_room(cut, value->schema->count, sizeof *names);

    for (size_t c = 0; c < value->schema->count && cut->err == GRANARY_OK; c++) {
        names[c] = value->schema->fields[c].name;
    }
    flow_set(cut, flow, gr_attr_new_strings("columns", names, value->schema->count));
    return flow;
}

struct value
value_plain(struct cut *cut, const struct gr_node *node, struct value value)
{
    if (value.extra_count > 0) {
        value.flow = value_own_columns(cut, node, &value);
    }
    value.extra_count = value.key_count = 0;
    value.local = true;
    return value;
}

struct value
value_gather(struct cut *cut, const struct gr_node *node, struct value value, enum spread spread)
{
    if (value.flow->spread == SPREAD_ANY || (value.flow->spread == SPREAD_ONE && spread == SPREAD_ONE)) {
        return value;
    }
    value.flow = flow_receive(cut, value.flow, TAKE_ALL, spread);
    if (value.key_count > 0) {
        value.flow = sorted(cut, &value, cut_text(cut, "%s: order", node->node->name));
    }
    value.dealt_count = 0;
    return value_plain(cut, node, value);
}

struct value
value_everywhere(struct cut *cut, const struct gr_node *node, struct value value, bool seen)
{
    if (!seen) {
        value.key_count = 0;
    }
    return value_gather(cut, node, value, SPREAD_ANY);
}

/* ---- rows that move ---- */

struct value
value_by_ranges(struct cut *cut, const struct gr_node *node, struct value value, size_t count)
{
    struct value first = value;
    struct flow *sample, *ranges;

    first.key_count = count;
    sample = flow_over(cut, cut_text(cut, "%s: sample", node->node->name), "sort_sample", value.flow);
    set_order(cut, &first, sample);
    sample->chunks = 1;
    sample->bytes = 1 << 16;
    sample->about = cut_text(cut, "keys of some rows, of '%s'", node->node->name);
    ranges = flow_over(cut, cut_text(cut, "%s: ranges", node->node->name), "shuffle_sorted", value.flow);
    flow_reads(cut, ranges, flow_receive(cut, sample, TAKE_ALL, SPREAD_ANY));
    set_order(cut, &first, ranges);
    flow_set(cut, ranges, gr_attr_new_int("parts", (int64_t)cut->parts));
    ranges->chunks = cut->parts;
    ranges->about = cut_text(cut, "rows dealt by ranges of keys, of '%s'", node->node->name);
    value.flow = flow_receive(cut, ranges, TAKE_PART, SPREAD_PARTS);
    value.local = false;
    value.dealt_count = 0;
    return value_local(cut, node, value);
}

const char *
cut_dealable(const struct gr_schema *schema)
{
    for (size_t c = 0; c < schema->count; c++) {
        if (cut_can_deal(schema, schema->fields[c].name)) {
            return schema->fields[c].name;
        }
    }
    return NULL;
}

struct flow *
flow_numbered(struct cut *cut, const char *name, struct flow *from, const char *key, const char *number)
{
    struct flow *flow = flow_over(cut, name, "shuffle", from);
    char *keys = cut_borrow(key);

    flow_set(cut, flow, gr_attr_new_strings("keys", &keys, 1));
    flow_set(cut, flow, gr_attr_new_int("parts", 1));
    flow_set(cut, flow, gr_attr_new_string("number", number));
    flow_set(cut, flow, gr_attr_new_int("part", 0));
    flow->takes_part = true;
    flow->chunks = 1;
    return flow;
}

struct value
value_in_order(struct cut *cut, const struct gr_node *node, struct value value)
{
    const char *number = value_hidden(cut, node, "place"), *key;

    if (value.flow->spread != SPREAD_PARTS || value.key_count == 0) {
        return value;
    }
    key = value.flow->bytes < TIES_LEAST * cut->smallest ? NULL : cut_dealable(value.schema);
    if (key != NULL) { /* very many rows of one key are more than a partition's share: where they stood parts them */
        value.flow = flow_numbered(cut, cut_text(cut, "%s: places", node->node->name), value.flow, key, number);
        value_add_key(cut, &value, (struct order_key){.column = number});
        value_add_extra(cut, &value, number);
    }
    return value_plain(cut, node, value_by_ranges(cut, node, value, value.key_count));
}

struct value
value_deal(struct cut *cut, const struct gr_node *node, struct value value, char *const *columns, size_t count,
           char *const *types, const char *tag, bool seen)
{
    struct flow *flow = flow_over(cut, cut_text(cut, "%s: dealt", node->node->name), "shuffle", value.flow);
    bool one_by_one = value.key_count == 0 && value.flow->spread == SPREAD_PARTS;

    flow->spread = value.flow->spread == SPREAD_PARTS ? SPREAD_PARTS : SPREAD_ONE;
    flow->chunks = cut->parts;
    flow->about = cut_text(cut, "rows dealt by keys, for '%s'", node->node->name);
    flow_set(cut, flow, gr_attr_new_strings("keys", columns, count));
    flow_set(cut, flow, gr_attr_new_int("parts", (int64_t)cut->parts));
    if (types != NULL) {
        flow_set(cut, flow, gr_attr_new_strings("types", types, count));
    }
    if (seen) {
        const char *number = value_hidden(cut, node, tag);

        flow_set(cut, flow, gr_attr_new_string("number", number));
        if (flow->spread == SPREAD_PARTS) {
            flow_set(cut, flow, gr_attr_new_int("part", 0));
            flow->takes_part = true;
        }
        value_add_key(cut, &value, (struct order_key){.column = number});
        value_add_extra(cut, &value, number);
        value.local = one_by_one || value.flow->spread != SPREAD_PARTS;
    } else {
        value.key_count = 0;
        value.local = true;
    }
    value.flow = flow_receive(cut, flow, TAKE_PART, SPREAD_PARTS);
    value.dealt = cut_room(cut, count, sizeof *value.dealt);
    value.dealt_count = cut->err == GRANARY_OK ? count : 0;
    for (size_t i = 0; i < value.dealt_count; i++) {
        value.dealt[i] = columns[i];
    }
    value.as_dealt = types == NULL;
    return value;
}

bool
value_is_dealt(const struct value *value, char *const *columns, size_t count)
{
    for (size_t d = 0; d < value->dealt_count; d++) {
        bool there = false;

        for (size_t i = 0; i < count && !there; i++) {
            there = strcmp(columns[i], value->dealt[d]) == 0;
        }
        if (!there) {
            return false;
        }
    }
    return value->dealt_count > 0 && value->flow->spread == SPREAD_PARTS;
}
