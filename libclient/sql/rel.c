/* Relations: each SQL clause becomes a node of the graph, with column names unique in the statement. */
#include "sql/rel.h"

#include <string.h>

#include "sql/told.h"

static size_t
slot_of(const char *const *table, size_t room, const char *name)
{
    size_t hash = 14695981039346656037U;

    for (const char *c = name; *c != '\0'; c++) { /* FNV-1a */
        hash = (hash ^ (unsigned char)*c) * 1099511628211U;
    }
    hash &= room - 1;
    while (table[hash] != NULL && strcmp(table[hash], name) != 0) {
        hash = (hash + 1) & (room - 1);
    }
    return hash;
}

bool
sql_take_name(struct sql_statement *q, const char *name)
{
    size_t slot;

    if (2 * (q->taken.count + 1) > q->taken.room) {
        size_t room = q->taken.room == 0 ? 256 : 2 * q->taken.room;
        const char **grown = SQL_ARRAY(q, const char *, room);

        for (size_t i = 0; i < q->taken.room && grown != NULL; i++) {
            if (q->taken.names[i] != NULL) {
                grown[slot_of(grown, room, q->taken.names[i])] = q->taken.names[i];
            }
        }
        if (grown == NULL) {
            return false;
        }
        q->taken.names = grown;
        q->taken.room = room;
    }
    slot = slot_of(q->taken.names, q->taken.room, name);
    if (q->taken.names[slot] != NULL) {
        return false;
    }
    q->taken.names[slot] = sql_printf(q, "%s", name);
    q->taken.count++;
    return q->taken.names[slot] != NULL;
}

const char *
sql_fresh(struct sql_statement *q, const char *hint)
{
    const char *name;

    do {
        name = sql_printf(q, "%.40s#%u", hint, ++q->taken.fresh);
    } while (name != NULL && !sql_take_name(q, name) && q->err == GRANARY_OK);
    return q->err == GRANARY_OK ? name : NULL;
}

granary_node
sql_node(struct sql_statement *q, const char *op, int position, const granary_node *inputs, size_t count)
{
    char place[24];
    const char *name;

    q->nodes++;
    sql_tell(q, op, NULL, position);
    /* A message about the node leads back to the text. */
    name = position < 0 ? sql_printf(q, "%s %u", op, q->nodes)
                        : sql_printf(q, "%s %u at %s", op, q->nodes, sql_place(q, position, place));
    return name == NULL ? GRANARY_NO_NODE : granary_graph_add(q->graph, name, op, inputs, count);
}

size_t
sql_without_twins(const char **names, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool twin = false;

        for (size_t k = 0; k < kept && !twin; k++) {
            twin = strcmp(names[k], names[i]) == 0;
        }
        if (!twin) {
            names[kept++] = names[i];
        }
    }
    return kept;
}

/* The next node on rel alone. */
static granary_node
on(struct sql_statement *q, const struct sql_rel *rel, const char *op, int position)
{
    return sql_node(q, op, position, &rel->node, 1);
}

static bool
becomes(struct sql_rel *rel, granary_node node)
{
    rel->node = node;
    return node != GRANARY_NO_NODE;
}

bool
sql_rel_filter(struct sql_statement *q, struct sql_rel *rel, const char *where, int position)
{
    granary_node node = where == NULL ? GRANARY_NO_NODE : on(q, rel, "filter", position);

    if (where != NULL) {
        granary_node_set_string(q->graph, node, "where", where);
    }
    return becomes(rel, node);
}

/* A node whose columns are a mapping. */
static bool
map_columns(struct sql_statement *q, struct sql_rel *rel, const char *op, const char *const *keys,
            const char *const *texts, size_t count, int position)
{
    granary_node node = on(q, rel, op, position);

    for (size_t i = 0; i < count; i++) {
        granary_node_set_entry(q->graph, node, "columns", keys[i], texts[i]);
    }
    return becomes(rel, node);
}

bool
sql_rel_assign(struct sql_statement *q, struct sql_rel *rel, const char *const *names, const char *const *texts,
               size_t count, int position)
{
    return count == 0 || map_columns(q, rel, "assign", names, texts, count, position);
}

const char *
sql_other_column(struct sql_statement *q, struct sql_rel *rel, const char *const *names, size_t count, const char *name,
                 int position)
{
    const char *copy = name;
    const char *text;

    for (size_t i = 0; name != NULL && i < count && copy == name; i++) {
        if (strcmp(names[i], name) == 0) {
            copy = sql_fresh(q, name);
            text = sql_quoted(q, name);
            copy = copy != NULL && text != NULL && sql_rel_assign(q, rel, &copy, &text, 1, position) ? copy : NULL;
        }
    }
    return copy;
}

bool
sql_rel_project(struct sql_statement *q, struct sql_rel *rel, const char *const *names, const char *const *texts,
                size_t count, int position)
{
    return map_columns(q, rel, "project", names, texts, count, position);
}

bool
sql_rel_rename(struct sql_statement *q, struct sql_rel *rel, const char *const *names, const char *const *to,
               size_t count, int position)
{
    return count == 0 || map_columns(q, rel, "rename", names, to, count, position);
}

bool
sql_rel_select(struct sql_statement *q, struct sql_rel *rel, const char *const *names, size_t count, int position)
{
    granary_node node = on(q, rel, "select", position);

    granary_node_set_strings(q->graph, node, "columns", names, count);
    return becomes(rel, node);
}

/* Groups have the keys for columns, whatever else is asked of them. */
bool
sql_rel_distinct(struct sql_statement *q, struct sql_rel *rel, const char *const *names, size_t count, int position)
{
    const char **keys = SQL_ARRAY(q, const char *, count);
    const char *rows = sql_fresh(q, "rows");
    const char *size = "size";
    double before = rel->rows;

    if (keys == NULL || rows == NULL) {
        return false;
    }
    memcpy(keys, names, count * sizeof *keys);
    count = sql_without_twins(keys, count);
    if (!sql_rel_group(q, rel, keys, count, &(struct sql_aggregates){&rows, &size, 1}, position)) {
        return false;
    }
    rel->rows = before;
    rel->base = before;
    return sql_rel_select(q, rel, keys, count, position);
}

bool
sql_rel_first(struct sql_statement *q, struct sql_rel *rel, const char *const *names, size_t count, int position)
{
    granary_node node = on(q, rel, "distinct", position);
    const char **subset = SQL_ARRAY(q, const char *, count);

    if (subset == NULL) {
        return false;
    }
    memcpy(subset, names, count * sizeof *subset);
    granary_node_set_strings(q->graph, node, "subset", subset, sql_without_twins(subset, count));
    return becomes(rel, node);
}

/* Order by each column once, with what was said of it first: several aliases may mean it, and DISTINCT ON names again
 * what ORDER BY has. */
static void
set_order(struct sql_statement *q, granary_node node, const char *const *by, const bool *descending,
          const char *const *nulls, size_t count)
{
    const char **kept_by = SQL_ARRAY(q, const char *, count);
    bool *kept_descending = SQL_ARRAY(q, bool, count);
    const char **kept_nulls = SQL_ARRAY(q, const char *, count);
    size_t kept = 0;

    for (size_t i = 0; i < count && q->err == GRANARY_OK; i++) {
        kept_by[kept] = by[i];
        kept_descending[kept] = descending[i];
        kept_nulls[kept] = nulls[i];
        kept += sql_without_twins(kept_by, kept + 1) == kept + 1;
    }
    if (q->err == GRANARY_OK) {
        granary_node_set_strings(q->graph, node, "by", kept_by, kept);
        granary_node_set_bools(q->graph, node, "descending", kept_descending, kept);
        granary_node_set_strings(q->graph, node, "nulls", kept_nulls, kept);
        granary_node_set_bool(q->graph, node, "nan_largest", true);
    }
}

bool
sql_rel_sort(struct sql_statement *q, struct sql_rel *rel, const char *const *by, const bool *descending,
             const char *const *nulls, size_t count, int position)
{
    granary_node node = on(q, rel, "sort", position);

    set_order(q, node, by, descending, nulls, count);
    return becomes(rel, node);
}

const char *
sql_no_value(struct sql_statement *q, const char *name)
{
    const char *quoted = sql_quoted(q, name);

    return quoted == NULL ? NULL : sql_printf(q, "first(case when false then %s else null end)", quoted);
}

bool
sql_rel_group(struct sql_statement *q, struct sql_rel *rel, const char *const *keys, size_t key_count,
              const struct sql_aggregates *aggregates, int position)
{
    granary_node node = on(q, rel, "groupby", position);

    granary_node_set_strings(q->graph, node, "keys", keys, key_count);
    granary_node_set_bool(q->graph, node, "dropna", false);
    granary_node_set_bool(q->graph, node, "sort", false);
    for (size_t i = 0; i < aggregates->count; i++) {
        granary_node_set_entry(q->graph, node, "aggregate", aggregates->names[i], aggregates->texts[i]);
    }
    rel->rows = key_count == 0 ? 1 : rel->rows / 3 + 1;
    rel->base = rel->rows;
    return becomes(rel, node);
}

/* A window's node, to which functions of the same window are added: so their rows are sorted once. */
struct sql_shared {
    granary_node node;
    const struct sql_window_spec *spec;
    const char *name; /* of a function that it has */
    const struct sql_shared *next;
};

static bool
same_texts(const char *const *a, const char *const *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(a[i], b[i]) != 0) {
            return false;
        }
    }
    return true;
}

static bool
same_window(const struct sql_window_spec *a, const struct sql_window_spec *b)
{
    return a->partition_count == b->partition_count && a->by_count == b->by_count &&
           same_texts(a->partition, b->partition, a->partition_count) && same_texts(a->by, b->by, a->by_count) &&
           same_texts(a->nulls, b->nulls, a->by_count) &&
           (a->by_count == 0 || memcmp(a->descending, b->descending, a->by_count * sizeof *a->descending) == 0);
}

/* Whether the relation's last node is such a window, and the text names none of its functions. */
static bool
can_share(const struct sql_statement *q, const struct sql_rel *rel, const char *text,
          const struct sql_window_spec *spec)
{
    const struct sql_shared *shared = q->shared;
    bool can = shared != NULL && shared->node == rel->node && same_window(shared->spec, spec);

    for (; shared != NULL && can; shared = shared->next) {
        can = strstr(text, shared->name) == NULL;
    }
    return can;
}

static void
share(struct sql_statement *q, granary_node node, const char *name, const struct sql_window_spec *spec)
{
    struct sql_shared *shared = SQL_NEW(q, struct sql_shared);
    struct sql_window_spec *copy = SQL_NEW(q, struct sql_window_spec);

    if (shared != NULL && copy != NULL) {
        bool first = q->shared == NULL || q->shared->node != node;

        *copy = *spec;
        *shared = (struct sql_shared){node, copy, name, first ? NULL : q->shared};
        q->shared = shared;
    }
}

bool
sql_rel_window(struct sql_statement *q, struct sql_rel *rel, const char *name, const char *text,
               const struct sql_window_spec *spec)
{
    granary_node node;

    if (name == NULL || text == NULL) {
        return false;
    }
    if (can_share(q, rel, text, spec)) {
        granary_node_set_entry(q->graph, rel->node, "columns", name, text);
        share(q, rel->node, name, spec);
        return q->err == GRANARY_OK;
    }
    node = on(q, rel, "window", spec->position);
    granary_node_set_entry(q->graph, node, "columns", name, text);
    if (spec->partition_count > 0) {
        granary_node_set_strings(q->graph, node, "partition", spec->partition, spec->partition_count);
        granary_node_set_bool(q->graph, node, "dropna", false);
    }
    if (spec->by_count > 0) {
        set_order(q, node, spec->by, spec->descending, spec->nulls, spec->by_count);
    }
    share(q, node, name, spec);
    return becomes(rel, node);
}

#define ITEMS_GUESSED 5 /* of a list */

static bool
explode(struct sql_statement *q, struct sql_rel *rel, const char *const *names, size_t count, bool outer, int position)
{
    granary_node node = on(q, rel, "explode", position);

    granary_node_set_strings(q->graph, node, "columns", names, count);
    granary_node_set_bool(q->graph, node, "outer", outer);
    rel->rows *= ITEMS_GUESSED;
    rel->base *= ITEMS_GUESSED;
    return becomes(rel, node);
}

const char *
sql_longest_list(struct sql_statement *q, const char *const *names, size_t count)
{
    const char *most = "0";

    for (size_t i = 0; i < count && most != NULL; i++) {
        most = sql_printf(q, "greatest(%s, coalesce(list_length(%s), 0))", most, sql_quoted(q, names[i]));
    }
    return most;
}

bool
sql_rel_unnest(struct sql_statement *q, struct sql_rel *rel, const char **names, size_t count, bool equal, bool outer,
               int position)
{
    const char *most = count > 1 && !equal ? sql_longest_list(q, names, count) : NULL;

    for (size_t i = 0; i < count && count > 1 && !equal; i++) {
        const char *text = most == NULL ? NULL : sql_printf(q, "list_pad(%s, %s)", sql_quoted(q, names[i]), most);
        const char *padded = sql_fresh(q, "unnest");

        if (text == NULL || padded == NULL || !sql_rel_assign(q, rel, &padded, &text, 1, position)) {
            return false;
        }
        names[i] = padded;
    }
    return explode(q, rel, names, count, outer, position);
}

bool
sql_rel_head(struct sql_statement *q, struct sql_rel *rel, int64_t offset, int64_t rows, int position)
{
    const struct sql_window_spec all = {.position = position};
    const char *number;

    if (rows >= 0) {
        int64_t most = rows > INT64_MAX - offset ? INT64_MAX : offset + rows;
        granary_node node = on(q, rel, "head", position);

        granary_node_set_int(q->graph, node, "rows", most);
        rel->rows = rel->rows < (double)most ? rel->rows : (double)most;
        rel->node = node;
    }
    if (offset == 0) {
        return rel->node != GRANARY_NO_NODE;
    }
    number = sql_fresh(q, "row");
    return number != NULL && sql_rel_window(q, rel, number, "row_number()", &all) &&
           sql_rel_filter(q, rel, sql_printf(q, "`%s` > %lld", number, (long long)offset), position);
}

bool
sql_rel_sample(struct sql_statement *q, struct sql_rel *rel, const struct sql_sample *sample)
{
    granary_node node = on(q, rel, "sample", sample->position);

    if (sample->fraction >= 0) {
        granary_node_set_double(q->graph, node, "fraction", sample->fraction);
        rel->rows *= sample->fraction;
    } else {
        granary_node_set_int(q->graph, node, "rows", sample->rows);
        granary_node_set_bool(q->graph, node, "fewer", true);
        rel->rows = rel->rows < (double)sample->rows ? rel->rows : (double)sample->rows;
    }
    granary_node_set_int(q->graph, node, "seed", sample->seed);
    rel->node = node;
    return rel->node != GRANARY_NO_NODE;
}

bool
sql_rel_join(struct sql_statement *q, struct sql_rel *left, const struct sql_rel *right,
             const struct sql_join_spec *spec)
{
    granary_node inputs[2] = {left->node, right->node};
    granary_node node = sql_node(q, "join", spec->position, inputs, 2);

    if (spec->count > 0) {
        granary_node_set_strings(q->graph, node, "left_on", spec->left_on, spec->count);
        granary_node_set_strings(q->graph, node, "right_on", spec->right_on, spec->count);
    }
    granary_node_set_string(q->graph, node, "how", spec->count == 0 ? "cross" : spec->how);
    if (spec->where != NULL) {
        granary_node_set_string(q->graph, node, "where", spec->where);
    }
    if (spec->null_aware) {
        granary_node_set_bool(q->graph, node, "null_aware", true);
    }
    if (spec->count > 0 && strcmp(spec->how, "inner") == 0) {
        granary_node_set_string(q->graph, node, "order", "any");
    }
    return becomes(left, node);
}

bool
sql_rel_concat(struct sql_statement *q, struct sql_rel *first, const struct sql_rel *second, int position)
{
    granary_node inputs[2] = {first->node, second->node};
    granary_node node = sql_node(q, "concat", position, inputs, 2);

    granary_node_set_bool(q->graph, node, "convert", true);
    first->rows += second->rows;
    first->base += second->base;
    return becomes(first, node);
}
