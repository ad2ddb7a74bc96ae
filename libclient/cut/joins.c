/*
 * Joins. One side is brought to every partition of the other, or both are dealt by their keys. The first is right where rows of the
 * side that is brought need not know whether they matched anywhere. Rows that are dealt get numbers where their order shows:
 * the left side's number, then the right side's, is the order of an inner join.
 */
#include <string.h>

#include "cut/flow.h"
#include "data/frame.h"
#include "graph/join.h"

/* No side of more bytes is brought everywhere, unless its file is that small. */
#define BROUGHT_MOST (256.0 * 1024 * 1024)
/* Left sides of so many smallest sources are looked at for keys of very many rows. */
#define HOT_LEAST 4

enum way { WAY_ONE, WAY_RIGHT_BROUGHT, WAY_LEFT_BROUGHT, WAY_DEALT };

struct joining {
    struct cut *cut;
    const struct gr_node *node;
    struct gr_join join;
    struct value sides[2];
    bool seen;
    bool in_parts[2];
    double bytes[2];
};

static struct flow *
joined(struct joining *j, struct flow *left, struct flow *right, enum spread spread)
{
    struct flow *flow = flow_of_node(j->cut, j->node, spread);

    flow_reads(j->cut, flow, left);
    flow_reads(j->cut, flow, right);
    if (j->seen && j->join.any_order && spread == SPREAD_PARTS) { /* whatever the sides' sizes are in a partition */
        flow_set(j->cut, flow, gr_attr_new_string("order", "left"));
    }
    flow->bytes = j->join.how == GR_JOIN_SEMI || j->join.how == GR_JOIN_ANTI ? j->bytes[0] * 0.5
                  : j->bytes[0] > j->bytes[1]                                ? j->bytes[0]
                                                                             : j->bytes[1];
    return flow;
}

/* The keys of a side all are copies, which no join renames. */
static struct value
guarded(struct joining *j, int side)
{
    struct value value = value_guard(j->cut, j->node, j->sides[side], side == 0 ? "left" : "right", NULL, NULL);

    return side == 0 ? value : value_apart(j->cut, j->node, value, &j->sides[0]);
}

static void
take_keys(struct joining *j, struct value *value, const struct value *side)
{
    for (size_t k = 0; k < side->key_count; k++) {
        value_add_key(j->cut, value, side->keys[k]);
    }
    for (size_t i = 0; i < side->extra_count; i++) {
        value_add_extra(j->cut, value, side->extra[i]);
    }
    if (side->key_count > 0) {
        value->nan_largest = side->nan_largest;
    }
}

/* Rows of a side lie where they lay: columns that have the same name still tell which are together. */
static void
take_dealt(const struct joining *j, struct value *value, const struct value *side, int which)
{
    const struct gr_schema *other = j->sides[1 - which].schema;

    value->dealt = side->dealt;
    value->dealt_count = side->dealt_count;
    for (size_t i = 0; i < side->dealt_count; i++) {
        if (gr_schema_find(&j->node->type.schema, side->dealt[i]) < 0 ||
            (gr_schema_find(other, side->dealt[i]) >= 0 && j->join.how != GR_JOIN_SEMI &&
             j->join.how != GR_JOIN_ANTI)) {
            value->dealt_count = 0;
        }
    }
}

/* ---- ways ---- */

static struct value
join_in_one(struct joining *j)
{
    struct flow *left = value_gather(j->cut, j->node, j->sides[0], SPREAD_ONE).flow;
    struct flow *right = value_gather(j->cut, j->node, j->sides[1], SPREAD_ONE).flow;

    return value_of(j->cut, joined(j, left, right, SPREAD_ONE), j->node);
}

static struct value
join_right_brought(struct joining *j)
{
    bool keys_alone = j->join.how == GR_JOIN_SEMI || j->join.how == GR_JOIN_ANTI;
    struct value right =
        value_plain(j->cut, j->node, value_everywhere(j->cut, j->node, j->sides[1], j->seen && !keys_alone));
    struct value left = j->seen ? guarded(j, 0) : value_plain(j->cut, j->node, j->sides[0]);
    struct value value = value_of(j->cut, joined(j, left.flow, right.flow, SPREAD_PARTS), j->node);

    take_keys(j, &value, &left);
    take_dealt(j, &value, &left, 0);
    value.local = left.local;
    return value;
}

/* A column by which rows can be dealt; as many as there are: none. */
static size_t
dealable(const struct gr_schema *schema)
{
    size_t c = 0;

    while (c < schema->count && !cut_can_deal(schema, schema->fields[c].name)) {
        c++;
    }
    return c;
}

/* All rows of the left side, numbered where the order shows. */
static struct value
join_left_brought(struct joining *j)
{
    struct cut *cut = j->cut;
    struct value left = value_plain(cut, j->node, value_everywhere(cut, j->node, j->sides[0], j->seen));
    struct value right = j->seen ? guarded(j, 1) : value_plain(cut, j->node, j->sides[1]);
    bool numbers = j->seen && j->join.how != GR_JOIN_RIGHT;
    const char *number = value_hidden(cut, j->node, "left row");
    struct value value;

    if (numbers) {
        struct flow *numbered = flow_over(cut, cut_text(cut, "%s: rows", j->node->node->name), "shuffle", left.flow);

        flow_set(cut, numbered, gr_attr_new_strings("keys", &left.schema->fields[dealable(left.schema)].name, 1));
        flow_set(cut, numbered, gr_attr_new_int("parts", 1));
        flow_set(cut, numbered, gr_attr_new_string("number", number));
        left.flow = numbered;
    }
    value = value_of(cut, joined(j, left.flow, right.flow, SPREAD_PARTS), j->node);
    if (numbers) {
        value_add_key(cut, &value, (struct order_key){.column = number});
        value_add_extra(cut, &value, number);
    }
    take_keys(j, &value, &right);
    take_dealt(j, &value, &right, 1);
    value.local = right.local;
    return value;
}

/* The dtypes in which keys are compared, where those of the sides differ; NULL: they are the same. */
static char **
key_types(struct joining *j)
{
    char **types = cut_room(j->cut, j->join.key_count, sizeof *types);
    bool differ = false;

    for (size_t k = 0; k < j->join.key_count && j->cut->err == GRANARY_OK; k++) {
        granary_dtype sides[2], both = GRANARY_NULLTYPE;

        for (int s = 0; s < 2; s++) {
            const struct gr_schema *schema = j->sides[s].schema;

            sides[s] = schema->fields[gr_schema_find(schema, (s == 0 ? j->join.left_on : j->join.right_on)[k])].dtype;
        }
        cut_fail(j->cut, gr_join_key_dtype(sides[0], sides[1], &both));
        types[k] = cut_borrow(granary_dtype_name(both));
        differ = differ || sides[0] != both || sides[1] != both;
    }
    return differ ? types : NULL;
}

/* Whether a side lies as it would be dealt. */
static bool
is_there(const struct joining *j, const struct value *side, char *const *keys, char *const *types)
{
    if (types != NULL || j->seen || !side->as_dealt || side->dealt_count != j->join.key_count ||
        side->flow->spread != SPREAD_PARTS) {
        return false;
    }
    for (size_t k = 0; k < j->join.key_count; k++) {
        if (strcmp(side->dealt[k], keys[k]) != 0) {
            return false;
        }
    }
    return true;
}

/* The side whose rows may go to any part, if each row of the other side is where it could match; -1: neither is. */
static int
free_side(const struct joining *j)
{
    switch (j->join.how) {
    case GR_JOIN_INNER:
        return j->bytes[1] > j->bytes[0] ? 1 : 0;
    case GR_JOIN_RIGHT:
        return 1;
    case GR_JOIN_LEFT:
    case GR_JOIN_SEMI:
    case GR_JOIN_ANTI:
        return 0;
    default:
        return -1;
    }
}

static char *const *
keys_of(const struct joining *j, int side)
{
    return side == 0 ? j->join.left_on : j->join.right_on;
}

/*
 * Keys that so many rows of a side have that their part would be twice as large as others: in one place, from samples of all
 * partitions. NULL: they are not looked for.
 */
static struct flow *
hot_keys(struct joining *j, int side, char *const *types)
{
    struct cut *cut = j->cut;
    const char *name = j->node->node->name;
    char *rows = cut_borrow("#rows of key"), *all = cut_borrow("#rows of all"), *sum = cut_borrow("sum(`#rows`)");
    static const char *const sides[] = {"left", "right"};
    struct flow *sample, *counts, *total, *both, *hot;
    char *const *keys;

    if (side < 0 || types != NULL || !j->in_parts[side] || j->bytes[side] < HOT_LEAST * cut->smallest ||
        j->join.unique_left || j->join.unique_right) {
        return NULL;
    }
    keys = keys_of(j, side);
    sample = flow_over(cut, cut_text(cut, "%s: %s sample", name, sides[side]), "sort_sample", j->sides[side].flow);
    flow_set(cut, sample, gr_attr_new_strings("by", keys, j->join.key_count));
    sample->chunks = 1;
    sample->about = cut_text(cut, "keys of some rows, for '%s'", name);
    counts =
        flow_over(cut, cut_text(cut, "%s: counts", name), "groupby", flow_receive(cut, sample, TAKE_ALL, SPREAD_ONE));
    flow_set(cut, counts, gr_attr_new_strings("keys", keys, j->join.key_count));
    flow_set(cut, counts, gr_attr_new_map("aggregate", &rows, &sum, 1));
    flow_set(cut, counts, gr_attr_new_bool("dropna", false));
    total = flow_over(cut, cut_text(cut, "%s: total", name), "groupby", counts->inputs[0]);
    flow_set(cut, total, gr_attr_new_strings("keys", NULL, 0));
    flow_set(cut, total, gr_attr_new_map("aggregate", &all, &sum, 1));
    both = flow_over(cut, cut_text(cut, "%s: shares", name), "join", counts);
    flow_reads(cut, both, total);
    flow_set(cut, both, gr_attr_new_string("how", "cross"));
    hot = flow_over(cut, cut_text(cut, "%s: many", name), "filter", both);
    flow_set(cut, hot, gr_attr_new_string("where", cut_text(cut, "`%s` * %zu > `%s`", rows, 2 * cut->parts, all)));
    hot = flow_over(cut, cut_text(cut, "%s: hot", name), "select", hot);
    flow_set(cut, hot, gr_attr_new_strings("columns", keys, j->join.key_count));
    hot->about = cut_text(cut, "keys of very many rows, for '%s'", name);
    hot->bytes = 1024;
    return hot;
}

static bool
can_split(const struct joining *j, int side)
{
    return j->join.how == GR_JOIN_INNER || free_side(j) == side;
}

static struct flow *
flagged(struct joining *j, struct flow *keys, const char *flag)
{
    char *name = cut_borrow("#copy"), *text = cut_borrow(flag);
    struct flow *flow = flow_over(j->cut, cut_text(j->cut, "%s: flagged", j->node->node->name), "assign", keys);

    flow_set(j->cut, flow, gr_attr_new_map("columns", &name, &text, 1));
    return flow;
}

/*
 * Hot keys of both sides of an inner join, in the first one's columns. A key that both have is the first one's. Rows of the others
 * are dealt where the first side's are copied.
 */
static struct flow *
hot_of_both(struct joining *j, int side, char *const *types)
{
    struct cut *cut = j->cut;
    struct flow *first = hot_keys(j, side, types),
                *second = side < 0 || !can_split(j, 1 - side) ? NULL : hot_keys(j, 1 - side, types);
    struct flow *rest, *both;
    char **texts = cut_room(cut, j->join.key_count, sizeof *texts);

    if (first == NULL || second == NULL) {
        return first;
    }
    for (size_t k = 0; k < j->join.key_count && cut->err == GRANARY_OK; k++) {
        texts[k] = cut_borrow(cut_column(cut, keys_of(j, 1 - side)[k]));
    }
    rest = flow_over(cut, cut_text(cut, "%s: other keys", j->node->node->name), "project", second);
    flow_set(cut, rest, gr_attr_new_map("columns", keys_of(j, side), texts, j->join.key_count));
    rest = flow_over(cut, cut_text(cut, "%s: not yet", j->node->node->name), "join", rest);
    flow_reads(cut, rest, first);
    flow_set(cut, rest, gr_attr_new_string("how", "anti"));
    flow_set(cut, rest, gr_attr_new_strings("on", keys_of(j, side), j->join.key_count));
    both = flow_over(cut, cut_text(cut, "%s: hot keys", j->node->node->name), "concat", flagged(j, first, "0"));
    flow_reads(cut, both, flagged(j, rest, "1"));
    both->about = cut_text(cut, "keys of very many rows, for '%s'", j->node->node->name);
    both->bytes = 2048;
    return both;
}

/* Rows of hot keys go to all parts in turn; of the other side each goes to every part. */
static void
deal_hot(struct joining *j, int side, int hot_side, struct flow *hot, struct value *dealt)
{
    struct cut *cut = j->cut;
    struct flow *shuffle = dealt->flow->inputs[0], *keys = flow_receive(cut, hot, TAKE_ALL, SPREAD_ANY);
    char **names = cut_room(cut, j->join.key_count + 1, sizeof *names);
    char **texts = cut_room(cut, j->join.key_count + 1, sizeof *texts);
    bool flags = strcmp(hot->op, "concat") == 0;

    if (side != hot_side) {
        for (size_t k = 0; k < j->join.key_count && cut->err == GRANARY_OK; k++) {
            names[k] = keys_of(j, side)[k];
            texts[k] = cut_borrow(cut_column(cut, keys_of(j, hot_side)[k]));
        }
        names[j->join.key_count] = cut_borrow("#copy");
        texts[j->join.key_count] = cut_borrow("`#copy`");
        keys = flow_over(cut, cut_text(cut, "%s: hot", j->node->node->name), "project", keys);
        flow_set(cut, keys, gr_attr_new_map("columns", names, texts, j->join.key_count + flags));
    }
    flow_reads(cut, shuffle, keys);
    flow_set(cut, shuffle, gr_attr_new_string("hot", side == hot_side ? "deal" : "copy"));
    dealt->dealt_count = 0;
}

static bool
names_differ(char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < k; i++) {
            if (strcmp(names[i], names[k]) == 0) {
                return false;
            }
        }
    }
    return true;
}

static struct value
join_dealt(struct joining *j)
{
    bool keys_alone = j->join.how == GR_JOIN_SEMI || j->join.how == GR_JOIN_ANTI;
    char **types = key_types(j);
    bool there =
        is_there(j, &j->sides[0], j->join.left_on, types) || is_there(j, &j->sides[1], j->join.right_on, types);
    struct flow *hot =
        there || !names_differ(j->join.left_on, j->join.key_count) || !names_differ(j->join.right_on, j->join.key_count)
            ? NULL
            : hot_of_both(j, free_side(j), types);
    struct value dealt[2], value;

    for (int s = 0; s < 2; s++) {
        char *const *keys = keys_of(j, s);
        bool seen = j->seen && !(s == 1 && keys_alone);

        if (j->join.how == GR_JOIN_OUTER && seen) { /* what has no left row comes last */
            j->sides[s] = value_in_order(j->cut, j->node, j->sides[s]);
        }
        j->sides[s] = seen ? guarded(j, s) : value_plain(j->cut, j->node, j->sides[s]);
        dealt[s] = is_there(j, &j->sides[s], keys, types)
                       ? j->sides[s]
                       : value_deal(j->cut, j->node, j->sides[s], keys, j->join.key_count, types,
                                    s == 0 ? "left row" : "right row", seen);
        if (hot != NULL) {
            deal_hot(j, s, free_side(j), hot, &dealt[s]);
        }
    }
    value = value_of(j->cut, joined(j, dealt[0].flow, dealt[1].flow, SPREAD_PARTS), j->node);
    if (j->join.how == GR_JOIN_RIGHT) {
        take_keys(j, &value, &dealt[1]);
        take_keys(j, &value, &dealt[0]);
    } else {
        take_keys(j, &value, &dealt[0]);
        take_keys(j, &value, &dealt[1]);
    }
    value.local = value.key_count == 0;
    if (types == NULL && (j->join.how == GR_JOIN_INNER || j->join.how == GR_JOIN_LEFT || keys_alone)) {
        bool stay = true;

        for (size_t k = 0; k < dealt[0].dealt_count; k++) {
            int at = gr_schema_find(&j->node->type.schema, dealt[0].dealt[k]);

            stay = stay && at >= 0 &&
                   j->node->type.schema.fields[at].dtype ==
                       j->sides[0].schema->fields[gr_schema_find(j->sides[0].schema, dealt[0].dealt[k])].dtype;
        }
        value.dealt = dealt[0].dealt;
        value.dealt_count = stay ? dealt[0].dealt_count : 0;
        value.as_dealt = true;
    }
    return value;
}

/* ---- which way ---- */

/* The right side of a semi or anti join, in parts: its keys, once in each partition. */
static void
keys_of_right(struct joining *j)
{
    struct cut *cut = j->cut;
    struct value *right = &j->sides[1];
    struct flow *keys, *once;

    if ((j->join.how != GR_JOIN_SEMI && j->join.how != GR_JOIN_ANTI) || !j->in_parts[1] || j->join.where != NULL ||
        j->join.unique_right || j->join.unique_left) {
        return;
    }
    if (!names_differ(j->join.right_on, j->join.key_count)) {
        return;
    }
    keys = flow_over(cut, cut_text(cut, "%s: keys", j->node->node->name), "select", right->flow);
    flow_set(cut, keys, gr_attr_new_strings("columns", j->join.right_on, j->join.key_count));
    once = flow_over(cut, cut_text(cut, "%s: keys once", j->node->node->name), "distinct", keys);
    once->bytes = right->schema->count == 0
                      ? 0
                      : right->flow->bytes * (double)j->join.key_count / (double)right->schema->count * 0.8;
    right->flow = once;
    right->extra_count = right->key_count = 0;
    right->local = true;
    right->dealt_count = 0;
    j->bytes[1] = size_of(cut, once);
}

static double
most_brought(const struct joining *j, int stays)
{
    double most = j->bytes[stays] / (double)(j->cut->parts > 1 ? j->cut->parts - 1 : 1);

    most = most < BROUGHT_MOST ? most : BROUGHT_MOST;
    return most > j->cut->smallest ? most : j->cut->smallest;
}

static bool
can_bring(const struct joining *j, int side)
{
    enum gr_join_how how = j->join.how;

    if (side == 1) {
        return j->in_parts[0] && !j->join.unique_left &&
               (how == GR_JOIN_INNER || how == GR_JOIN_LEFT || how == GR_JOIN_SEMI || how == GR_JOIN_ANTI ||
                how == GR_JOIN_CROSS);
    }
    return j->in_parts[1] && !j->join.unique_right &&
           (!j->seen || dealable(j->sides[0].schema) < j->sides[0].schema->count) &&
           (how == GR_JOIN_INNER || how == GR_JOIN_RIGHT || how == GR_JOIN_CROSS);
}

static bool
can_deal(const struct joining *j)
{
    for (size_t k = 0; k < j->join.key_count; k++) {
        if (!cut_can_deal(j->sides[0].schema, j->join.left_on[k])) {
            return false;
        }
    }
    return j->join.key_count > 0 && j->join.how != GR_JOIN_CROSS && !j->join.null_aware;
}

static enum way
choose(struct joining *j)
{
    if (!j->in_parts[0] && !j->in_parts[1]) {
        return WAY_ONE;
    }
    for (int side = 1; side >= 0; side--) {
        bool small = j->sides[side].flow->spread == SPREAD_ANY || j->bytes[side] <= most_brought(j, 1 - side);

        if (can_bring(j, side) && (small || !can_deal(j)) &&
            (j->bytes[side] <= j->bytes[1 - side] || !can_bring(j, 1 - side) || !j->in_parts[side])) {
            return side == 1 ? WAY_RIGHT_BROUGHT : WAY_LEFT_BROUGHT;
        }
    }
    return can_deal(j) ? WAY_DEALT : WAY_ONE;
}

struct value
place_join(struct cut *cut, const struct gr_node *node)
{
    struct joining j = {.cut = cut, .node = node, .seen = cut->seen[node->position]};
    struct flow *brought;
    enum way way;

    cut_fail(cut, gr_join_parse(node->node->attrs, node->node->n_attrs, &j.join));
    for (int s = 0; s < 2 && cut->err == GRANARY_OK; s++) {
        j.sides[s] = cut->values[node->inputs[s]->position];
        j.in_parts[s] = j.sides[s].flow->spread == SPREAD_PARTS;
        j.bytes[s] = size_of(cut, j.sides[s].flow);
    }
    if (cut->err != GRANARY_OK) {
        return place_gathered(cut, node, NULL);
    }
    keys_of_right(&j);
    way = choose(&j);
    if (way == WAY_ONE) {
        if (j.in_parts[0] || j.in_parts[1]) {
            cut_tell_gathered(cut, node,
                              j.join.null_aware ? "NOT IN looks at all keys"
                                                : "rows that match nothing are known in one place");
        }
        return join_in_one(&j);
    }
    if (way == WAY_DEALT) {
        return join_dealt(&j);
    }
    brought = j.sides[way == WAY_RIGHT_BROUGHT ? 1 : 0].flow;
    if (brought->spread != SPREAD_ANY && can_deal(&j)) {
        cut_tell_decided(cut, node, "broadcast", brought, most_brought(&j, way == WAY_RIGHT_BROUGHT ? 0 : 1));
    }
    return way == WAY_RIGHT_BROUGHT ? join_right_brought(&j) : join_left_brought(&j);
}
