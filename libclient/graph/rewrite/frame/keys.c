/*
 * Lists as keys of operators that know of none: they get hidden columns of bytes that are equal where the lists are, and in
 * their order (list_key). Where such a column is in the result, the lists are made of it again.
 */
#include "graph/rewrite/frame/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "data/frame.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"
#include "graph/join.h"
#include "graph/operators/aggregate.h"
#include "graph/rewrite/private.h"
#include "graph/window.h"

/* Names of columns, some of them hidden; texts of the rewrite. */
struct keyed {
    const char **names;
    const char **hidden;
    size_t count, hidden_count, room, hidden_room;
};

static void
keyed_free(struct keyed *keyed)
{
    free(keyed->names);
    free(keyed->hidden);
}

static bool
has_list(const struct gr_schema *schema, const char *name)
{
    int at = gr_schema_find(schema, name);

    return at >= 0 && gr_dtype_is_list(schema->fields[at].dtype);
}

static bool
any_list(const struct gr_schema *schema, const Granary__Attr *names)
{
    bool any = false;

    for (size_t c = 0; names == NULL && c < schema->count; c++) {
        any = any || gr_dtype_is_list(schema->fields[c].dtype);
    }
    for (size_t i = 0; names != NULL && i < names->n_strings; i++) {
        any = any || has_list(schema, names->strings[i]);
    }
    return any;
}

static void
add_name(struct rewrite *x, struct keyed *keyed, const char *name)
{
    if (!gr_grow(&keyed->names, &keyed->room, keyed->count, sizeof(char *))) {
        (void)rewrite_no_memory(x);
        return;
    }
    keyed->names[keyed->count++] = name;
}

/* A name as it is or, of lists, that of a hidden column, for which an entry is made. */
static void
add_key(struct rewrite *x, const struct gr_schema *schema, struct keyed *keyed, const char *name)
{
    const char *hidden;

    if (!has_list(schema, name)) {
        add_name(x, keyed, name);
        return;
    }
    hidden = rewrite_text(x, "#list %s", name);
    for (size_t i = 0; i < keyed->hidden_count; i++) {
        if (strcmp(keyed->hidden[i], hidden) == 0) {
            add_name(x, keyed, hidden);
            return;
        }
    }
    rewrite_entry(x, hidden, rewrite_text(x, "list_key(%s)", rewrite_name(x, name)));
    add_name(x, keyed, hidden);
    if (!gr_grow(&keyed->hidden, &keyed->hidden_room, keyed->hidden_count, sizeof(char *))) {
        (void)rewrite_no_memory(x);
        return;
    }
    keyed->hidden[keyed->hidden_count++] = hidden;
}

/* All columns of a parameter, or of the input without it. */
static void
add_keys(struct rewrite *x, const Granary__Attr *names, struct keyed *keyed)
{
    const struct gr_schema *schema = rewrite_schema(x);

    for (size_t c = 0; names == NULL && c < schema->count; c++) {
        add_key(x, schema, keyed, schema->fields[c].name);
    }
    for (size_t i = 0; names != NULL && i < names->n_strings; i++) {
        add_key(x, schema, keyed, names->strings[i]);
    }
}

/* The parameters of the operator but some, which the next node gets. */
static void
hand_on_all_but(struct rewrite *x, const char *const *without, size_t count)
{
    for (size_t i = 0; i < x->params.count; i++) {
        const char *name = x->params.attrs[i]->name;
        bool out = false;

        for (size_t k = 0; k < count; k++) {
            out = out || strcmp(without[k], name) == 0;
        }
        if (!out) {
            rewrite_hand_on(x, name, name);
        }
    }
}

static Granary__Attr *
names_attr(struct rewrite *x, const char *name, const struct keyed *keyed)
{
    return rewrite_strings(x, name, keyed->names, keyed->count);
}

static struct gr_node *
add_hidden(struct rewrite *x, struct gr_node *rows, const char *part)
{
    return rewrite_part(x, part, GR_TILE_assign, rows, NULL, rewrite_map(x, "columns"), NULL);
}

static struct gr_node *
drop_hidden(struct rewrite *x, struct gr_node *rows, const struct keyed *keyed)
{
    return rewrite_add(x, GR_TILE_drop, rows, NULL, rewrite_strings(x, "columns", keyed->hidden, keyed->hidden_count),
                       NULL);
}

/* The list that a key stands for. */
static const char *
list_text(struct rewrite *x, const char *column, granary_dtype dtype)
{
    return rewrite_text(x, "list_from_key(%s, cast(null as %s))", rewrite_name(x, column), granary_dtype_name(dtype));
}

/* ---- operators that hand rows through ---- */

/* One parameter names the keys. */
static struct gr_node *
by_keys(struct rewrite *x, const char *parameter, const char *part, enum gr_tile_op op, bool drops)
{
    const Granary__Attr *names = rewrite_param(x, parameter);
    struct keyed keyed = {0};
    struct gr_node *rows;

    if (!any_list(rewrite_schema(x), names)) {
        return x->node;
    }
    add_keys(x, names, &keyed);
    rows = add_hidden(x, rewrite_input(x, 0), "keys");
    hand_on_all_but(x, &parameter, 1);
    rows = rewrite_part(x, part, op, rows, NULL, names_attr(x, parameter, &keyed), NULL);
    rows = drops ? drop_hidden(x, rows, &keyed) : rows;
    keyed_free(&keyed);
    return rows;
}

struct gr_node *
keys_of_sort(struct rewrite *x)
{
    return by_keys(x, "by", "in order", GR_TILE_sort, true);
}

struct gr_node *
keys_of_distinct(struct rewrite *x)
{
    return by_keys(x, "subset", "distinct", GR_TILE_distinct, true);
}

struct gr_node *
keys_of_duplicated(struct rewrite *x)
{
    return by_keys(x, "subset", "flags", GR_TILE_duplicated, false);
}

/* Whether an argument is a list; false as well where it is wrong, which the operator tells. */
static bool
is_list(struct rewrite *x, const char *argument, granary_dtype *ret_dtype)
{
    granary_err err = GRANARY_OK;

    *ret_dtype = GRANARY_NULLTYPE;
    if (argument != NULL) {
        err = gr_aggregate_argument(&x->graph->trees, argument, rewrite_schema(x), ret_dtype);
    }
    if (err == GRANARY_ENOMEM) {
        (void)rewrite_no_memory(x);
    }
    return err == GRANARY_OK && gr_dtype_is_list(*ret_dtype);
}

/* A window as it was written, but of keys; NULL: it takes what it is given. *ret_dtype: of the lists that are its value. */
static const char *
window_text(struct rewrite *x, const struct gr_window *window, const char *text, granary_dtype *ret_dtype)
{
    const char *open = strchr(text, '(');
    granary_dtype list = GRANARY_NULLTYPE;
    granary_dtype given = GRANARY_NULLTYPE;
    const char *name;

    *ret_dtype = GRANARY_NULLTYPE;
    if (window->second != NULL || open == NULL || !is_list(x, window->value, &list) ||
        gr_window_dtype(window, list, &given) == GRANARY_OK ||
        gr_window_dtype(window, GRANARY_BINARY, &given) != GRANARY_OK) {
        return NULL;
    }
    open += 1 + strspn(open + 1, " ");
    if (strncmp(open, window->value, strlen(window->value)) != 0) {
        return NULL;
    }
    *ret_dtype = given == GRANARY_BINARY ? list : GRANARY_NULLTYPE;
    name = gr_schema_find(rewrite_schema(x), window->value) >= 0 ? rewrite_name(x, window->value) : window->value;
    return rewrite_text(x, "%.*slist_key(%s)%s", (int)(open - text), text, name, open + strlen(window->value));
}

/* The windows' texts, of lists over keys; which of them give keys for lists. Returns whether any takes lists. */
static bool
window_texts(struct rewrite *x, const Granary__Attr *map, const char **texts, granary_dtype *dtypes)
{
    struct gr_window *windows = NULL;
    size_t count = 0;
    bool any = false;

    for (size_t i = 0; i < map->n_keys; i++) {
        texts[i] = map->strings[i];
        dtypes[i] = GRANARY_NULLTYPE;
    }
    x->err = gr_windows_parse(map, &windows, &count);
    if (x->err != GRANARY_OK) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const char *text = window_text(x, &windows[i], map->strings[i], &dtypes[i]);

        any = any || text != NULL;
        texts[i] = text != NULL ? text : texts[i];
    }
    gr_windows_free(windows, count);
    return any;
}

/* Hidden keys for what partitions and orders the rows, the windows over them, and their lists. */
static struct gr_node *
window_rows(struct rewrite *x, const char *const *texts, const granary_dtype *dtypes)
{
    static const char *const parameters[] = {"columns", "partition", "by"};
    const Granary__Attr *map = rewrite_param(x, "columns");
    struct keyed keys[3] = {{0}, {0}, {0}};
    struct keyed hidden = {0};
    struct gr_node *rows = rewrite_input(x, 0);

    for (size_t i = 1; i < 3; i++) {
        const Granary__Attr *names = rewrite_param(x, parameters[i]);

        for (size_t k = 0; names != NULL && k < names->n_strings; k++) {
            add_key(x, rewrite_schema(x), &hidden, names->strings[k]);
            add_name(x, &keys[i], hidden.count > 0 ? hidden.names[hidden.count - 1] : "");
        }
    }
    rows = hidden.hidden_count > 0 ? add_hidden(x, rows, "keys") : rows;
    hand_on_all_but(x, parameters, 3);
    for (size_t i = 1; i < 3; i++) {
        rewrite_set(x, rewrite_param(x, parameters[i]) == NULL ? NULL : names_attr(x, parameters[i], &keys[i]));
    }
    for (size_t i = 0; i < map->n_keys; i++) {
        rewrite_entry(x, map->keys[i], texts[i]);
    }
    rows = rewrite_part(x, "windows", GR_TILE_window, rows, NULL, rewrite_map(x, "columns"), NULL);
    for (size_t i = 0; i < map->n_keys; i++) {
        if (dtypes[i] != GRANARY_NULLTYPE) {
            rewrite_entry(x, map->keys[i], list_text(x, map->keys[i], dtypes[i]));
        }
    }
    rows = x->map.count > 0 ? add_hidden(x, rows, "lists") : rows;
    rows = hidden.hidden_count > 0 ? drop_hidden(x, rows, &hidden) : rows;
    for (size_t i = 1; i < 3; i++) {
        keyed_free(&keys[i]);
    }
    keyed_free(&hidden);
    return rows;
}

struct gr_node *
keys_of_window(struct rewrite *x)
{
    const Granary__Attr *map = rewrite_param(x, "columns");
    const Granary__Attr *partition = rewrite_param(x, "partition");
    const Granary__Attr *by = rewrite_param(x, "by");
    const char **texts = calloc(map->n_keys + 1, sizeof *texts);
    granary_dtype *dtypes = calloc(map->n_keys + 1, sizeof *dtypes);
    struct gr_node *rows = x->node;

    if (texts == NULL || dtypes == NULL) {
        rows = rewrite_no_memory(x);
    } else if (window_texts(x, map, texts, dtypes) || (partition != NULL && any_list(rewrite_schema(x), partition)) ||
               (by != NULL && any_list(rewrite_schema(x), by))) {
        rows = window_rows(x, texts, dtypes);
    }
    free(texts);
    free(dtypes);
    return rows;
}

/* ---- groups ---- */

/* What an aggregate of lists may be: a list among them, or how many there are. */
static bool
takes_keys(enum gr_aggregate_function function)
{
    switch (function) {
    case GR_AGGREGATE_MIN:
    case GR_AGGREGATE_MAX:
    case GR_AGGREGATE_FIRST:
    case GR_AGGREGATE_LAST:
    case GR_AGGREGATE_MODE:
    case GR_AGGREGATE_NUNIQUE:
    case GR_AGGREGATE_ENTROPY:
    case GR_AGGREGATE_ARG_LEAST:
    case GR_AGGREGATE_ARG_MOST:
        return true;
    default:
        return false;
    }
}

/* An argument as it is written in an aggregate, of lists their key. */
static const char *
argument_text(struct rewrite *x, const char *argument, bool exact)
{
    granary_dtype dtype;
    const char *text = gr_schema_find(rewrite_schema(x), argument) >= 0 ? rewrite_name(x, argument) : argument;

    return is_list(x, argument, &dtype) ? rewrite_text(x, "%s(%s)", exact ? "list_bytes" : "list_key", text) : text;
}

/* Whether the value is one of the lists, which are then carried as they are. */
static bool
hands_through(enum gr_aggregate_function function)
{
    return function == GR_AGGREGATE_FIRST || function == GR_AGGREGATE_LAST || function == GR_AGGREGATE_ARG_LEAST ||
           function == GR_AGGREGATE_ARG_MOST;
}

static bool
any_listed(struct rewrite *x, const struct gr_aggregate *aggregates, size_t count)
{
    bool any = false;
    granary_dtype dtype;

    for (size_t i = 0; i < count; i++) {
        any = any || (takes_keys(aggregates[i].function) &&
                      (is_list(x, aggregates[i].column, &dtype) || is_list(x, aggregates[i].second, &dtype)));
    }
    return any;
}

/* The aggregate as it was written, but of keys; and its column of the result. */
static void
add_aggregate(struct rewrite *x, const Granary__Attr *map, size_t i, const struct gr_aggregate *aggregate)
{
    const char *text = map->strings[i];
    granary_dtype dtype;

    if (takes_keys(aggregate->function) &&
        (is_list(x, aggregate->column, &dtype) || is_list(x, aggregate->second, &dtype))) {
        int size = (int)strcspn(text, "(");
        const char *first = argument_text(x, aggregate->column, hands_through(aggregate->function));

        text = aggregate->second == NULL
                   ? rewrite_text(x, "%.*s(%s)", size, text, first)
                   : rewrite_text(x, "%.*s(%s, %s)", size, text, first, argument_text(x, aggregate->second, false));
    }
    rewrite_entry(x, map->keys[i], text);
}

static const char *
aggregate_result(struct rewrite *x, const struct gr_aggregate *aggregate)
{
    granary_dtype dtype;
    bool value = aggregate->function != GR_AGGREGATE_NUNIQUE && aggregate->function != GR_AGGREGATE_ENTROPY;

    return takes_keys(aggregate->function) && value && is_list(x, aggregate->column, &dtype)
               ? list_text(x, aggregate->name, dtype)
               : rewrite_name(x, aggregate->name);
}

/* Keys under their names, then the aggregates. */
static void
add_results(struct rewrite *x, const Granary__Attr *keys, const struct keyed *keyed,
            const struct gr_aggregate *aggregates, size_t count)
{
    const struct gr_schema *schema = rewrite_schema(x);

    for (size_t k = 0; k < keys->n_strings && k < keyed->count; k++) {
        int at = gr_schema_find(schema, keys->strings[k]);

        rewrite_entry(x, keys->strings[k],
                      has_list(schema, keys->strings[k]) ? list_text(x, keyed->names[k], schema->fields[at].dtype)
                                                         : rewrite_name(x, keyed->names[k]));
    }
    for (size_t i = 0; i < count; i++) {
        rewrite_entry(x, aggregates[i].name, aggregate_result(x, &aggregates[i]));
    }
}

struct gr_node *
keys_of_groupby(struct rewrite *x)
{
    static const char *const parameters[] = {"keys", "aggregate"};
    const Granary__Attr *keys = rewrite_param(x, parameters[0]);
    const Granary__Attr *map = rewrite_param(x, parameters[1]);
    struct gr_aggregate *aggregates = NULL;
    struct keyed keyed = {0};
    struct gr_node *rows = x->node;
    size_t count = 0;

    x->err = gr_aggregates_parse(map, &aggregates, &count);
    if (x->err == GRANARY_OK && (any_list(rewrite_schema(x), keys) || any_listed(x, aggregates, count))) {
        add_keys(x, keys, &keyed);
        rows = rewrite_input(x, 0);
        rows = keyed.hidden_count > 0 ? add_hidden(x, rows, "keys") : rows;
        for (size_t i = 0; i < count; i++) {
            add_aggregate(x, map, i, &aggregates[i]);
        }
        rewrite_set(x, rewrite_map(x, "aggregate"));
        hand_on_all_but(x, parameters, 2);
        rows = rewrite_part(x, "groups", GR_TILE_groupby, rows, NULL, names_attr(x, "keys", &keyed), NULL);
        add_results(x, keys, &keyed, aggregates, count);
        rows = rewrite_add(x, GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
    }
    gr_aggregates_free(aggregates, count);
    keyed_free(&keyed);
    return rows;
}

struct gr_node *
keys_of_value_counts(struct rewrite *x)
{
    const struct gr_schema *schema = rewrite_schema(x);
    const Granary__Attr *names = rewrite_param(x, "columns");
    const char *result = rewrite_param_bool(x, "normalize") ? "proportion" : "count";
    struct gr_node *rows = x->node;

    if (!any_list(schema, names)) {
        return x->node;
    }
    for (int round = 0; round < 2; round++) {
        for (size_t c = 0; c < (names == NULL ? schema->count : names->n_strings); c++) {
            const char *name = names == NULL ? schema->fields[c].name : names->strings[c];
            int at = gr_schema_find(schema, name);
            bool list = has_list(schema, name);

            rewrite_entry(x, name,
                          !list        ? rewrite_name(x, name)
                          : round == 0 ? rewrite_text(x, "list_key(%s)", rewrite_name(x, name))
                                       : list_text(x, name, schema->fields[at].dtype));
        }
        if (round == 0) {
            rows = rewrite_part(x, "keys", GR_TILE_project, rewrite_input(x, 0), NULL, rewrite_map(x, "columns"), NULL);
            hand_on_all_but(x, NULL, 0);
            rows = rewrite_part(x, "counts", GR_TILE_value_counts, rows, NULL, NULL, NULL);
        }
    }
    rewrite_entry(x, result, result);
    return rewrite_add(x, GR_TILE_project, rows, NULL, rewrite_map(x, "columns"), NULL);
}

/* ---- joins ---- */

/* The dtype of lists that keys of two dtypes become; false: they do not compare. */
static bool
common_list(granary_dtype left, granary_dtype right, granary_dtype *ret_dtype)
{
    granary_dtype item;

    if (!gr_dtype_is_list(left) || !gr_dtype_is_list(right)) {
        return false;
    }
    *ret_dtype = left;
    if (left == right) {
        return true;
    }
    if (gr_join_key_dtype(GRANARY_LIST_ITEM(left), GRANARY_LIST_ITEM(right), &item) != GRANARY_OK ||
        gr_dtype_is_float(GRANARY_LIST_ITEM(left)) != gr_dtype_is_float(GRANARY_LIST_ITEM(right))) {
        return false;
    }
    *ret_dtype = GRANARY_LIST(item);
    return true;
}

struct sides {
    const struct gr_schema *schemas[2];
    struct gr_join join;
    granary_dtype dtypes[GR_JOIN_KEYS_MAX]; /* of lists; else the null type */
};

/* Whether any key has lists. */
static bool
find_lists(struct rewrite *x, struct sides *sides)
{
    bool any = false;

    if (gr_join_parse(x->params.attrs, x->params.count, &sides->join) != GRANARY_OK) {
        return false;
    }
    for (size_t k = 0; k < sides->join.key_count; k++) {
        int left = gr_schema_find(sides->schemas[0], sides->join.left_on[k]);
        int right = gr_schema_find(sides->schemas[1], sides->join.right_on[k]);

        sides->dtypes[k] = GRANARY_NULLTYPE;
        if (left < 0 || right < 0) {
            return false;
        }
        if (common_list(sides->schemas[0]->fields[left].dtype, sides->schemas[1]->fields[right].dtype,
                        &sides->dtypes[k])) {
            any = true;
        }
    }
    return any;
}

/* Keys that have one name on both sides come once, in place of the lists; others are hidden. */
static bool
is_shared(const struct sides *sides, size_t k)
{
    return strcmp(sides->join.left_on[k], sides->join.right_on[k]) == 0;
}

/* The side with its keys, whose names are added. */
static struct gr_node *
key_side(struct rewrite *x, struct sides *sides, size_t side, struct keyed *keyed)
{
    char *const *on = side == 0 ? sides->join.left_on : sides->join.right_on;
    struct gr_node *rows = rewrite_input(x, side);

    for (size_t k = 0; k < sides->join.key_count; k++) {
        int at = gr_schema_find(sides->schemas[side], on[k]);
        const char *name = on[k];
        const char *list = rewrite_name(x, name);

        if (sides->dtypes[k] == GRANARY_NULLTYPE) {
            add_name(x, keyed, name);
            continue;
        }
        list = sides->schemas[side]->fields[at].dtype == sides->dtypes[k]
                   ? list
                   : rewrite_text(x, "cast(%s as %s)", list, granary_dtype_name(sides->dtypes[k]));
        name = is_shared(sides, k) ? name : rewrite_text(x, "#list %zu of %s", k, side == 0 ? "left" : "right");
        rewrite_entry(x, name, rewrite_text(x, "list_key(%s)", list));
        add_name(x, keyed, name);
    }
    return add_hidden(x, rows, side == 0 ? "left keys" : "right keys");
}

/* Shared keys as lists again, and no others: the columns that the join has without this. */
static struct gr_node *
give_lists(struct rewrite *x, const struct sides *sides, struct gr_node *rows, const struct keyed keyed[2])
{
    struct keyed hidden = {0};

    for (size_t k = 0; k < sides->join.key_count && x->err == GRANARY_OK; k++) {
        const char *name = keyed[0].names[k];

        if (sides->dtypes[k] == GRANARY_NULLTYPE) {
            continue;
        }
        if (is_shared(sides, k)) {
            rewrite_entry(x, name, list_text(x, name, sides->dtypes[k]));
            continue;
        }
        for (size_t side = 0; side < 2; side++) {
            if (gr_schema_find(&rows->type.schema, keyed[side].names[k]) >= 0) {
                add_name(x, &hidden, keyed[side].names[k]);
            }
        }
    }
    rows = x->map.count > 0 ? add_hidden(x, rows, "lists") : rows;
    if (hidden.count > 0) {
        rows =
            rewrite_add(x, GR_TILE_drop, rows, NULL, rewrite_strings(x, "columns", hidden.names, hidden.count), NULL);
    }
    keyed_free(&hidden);
    return rows;
}

struct gr_node *
keys_of_join(struct rewrite *x)
{
    static const char *const parameters[] = {"on", "left_on", "right_on"};
    struct sides sides = {.schemas = {&rewrite_input(x, 0)->type.schema, &rewrite_input(x, 1)->type.schema}};
    struct keyed keyed[2] = {{0}, {0}};
    struct gr_node *left;
    struct gr_node *right;
    struct gr_node *rows;

    if (!find_lists(x, &sides)) {
        return x->node;
    }
    left = key_side(x, &sides, 0, &keyed[0]);
    right = key_side(x, &sides, 1, &keyed[1]);
    hand_on_all_but(x, parameters, 3);
    rewrite_set(x, names_attr(x, "left_on", &keyed[0]));
    rewrite_set(x, names_attr(x, "right_on", &keyed[1]));
    rows = rewrite_part(x, "joined", GR_TILE_join, left, right, NULL, NULL);
    rows = give_lists(x, &sides, rows, keyed);
    keyed_free(&keyed[0]);
    keyed_free(&keyed[1]);
    return rows;
}
