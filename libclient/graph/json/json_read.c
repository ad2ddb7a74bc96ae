/* A graph from JSON: each member is read by the kind that its parameter has, and errors name node and member. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"
#include "graph/operators/nearest.h"
#include "graph/ops.h"
#include "graph_json/json.h"
#include "graph_json/json_memory.h"
#include "graph_json/json_value.h"

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

const char *
json_type_text(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        return "null";
    }
    return "nothing";
}

/* ---- values ---- */

/* The kind of a list's elements; mixed numbers are DOUBLES. NONE: they do not go together. */
static Granary__Attr__Kind
list_kind(const json_t *list)
{
    Granary__Attr__Kind kind = GRANARY__ATTR__KIND__NONE;
    size_t i;
    json_t *element;

    json_array_foreach(list, i, element)
    {
        Granary__Attr__Kind of = json_is_string(element)    ? GRANARY__ATTR__KIND__STRINGS
                                 : json_is_integer(element) ? GRANARY__ATTR__KIND__INTS
                                 : json_is_real(element)    ? GRANARY__ATTR__KIND__DOUBLES
                                 : json_is_boolean(element) ? GRANARY__ATTR__KIND__BOOLS
                                                            : GRANARY__ATTR__KIND__NONE;
        bool numbers = (kind == GRANARY__ATTR__KIND__INTS || kind == GRANARY__ATTR__KIND__DOUBLES) &&
                       (of == GRANARY__ATTR__KIND__INTS || of == GRANARY__ATTR__KIND__DOUBLES);

        if (of == GRANARY__ATTR__KIND__NONE || (i > 0 && of != kind && !numbers)) {
            return GRANARY__ATTR__KIND__NONE;
        }
        kind = i > 0 && of != kind ? GRANARY__ATTR__KIND__DOUBLES : of;
    }
    return i == 0 ? GRANARY__ATTR__KIND__STRINGS : kind; /* an empty list fits every list parameter */
}

/* A list's numbers into the attribute; room for all of them was made. */
static void
fill_numbers(Granary__Attr *attr, const json_t *list)
{
    size_t i;
    json_t *element;

    json_array_foreach(list, i, element)
    {
        if (attr->kind == GRANARY__ATTR__KIND__DOUBLES) {
            attr->doubles[attr->n_doubles++] = json_number_value(element);
        } else {
            attr->ints[attr->n_ints++] =
                json_is_boolean(element) ? (json_is_true(element) ? 1 : 0) : json_integer_value(element);
        }
    }
}

/* Strings of a list, or NULL: no memory or an element that is no string (*ret_wrong is then its position). */
static char **
borrow_strings(const json_t *list, size_t *ret_wrong)
{
    char **strings = calloc(json_array_size(list) + 1, sizeof *strings);
    size_t i;
    json_t *element;

    *ret_wrong = SIZE_MAX;
    json_array_foreach(list, i, element)
    {
        if (strings == NULL) {
            break;
        }
        if (!json_is_string(element)) {
            *ret_wrong = i;
            free(strings);
            return NULL;
        }
        strings[i] = (char *)(uintptr_t)json_string_value(element); /* only read */
    }
    return strings;
}

static granary_err
read_list(const char *name, const json_t *list, Granary__Attr **ret_attr)
{
    Granary__Attr__Kind kind = list_kind(list);
    size_t count = json_array_size(list);
    Granary__Attr *attr;

    if (kind == GRANARY__ATTR__KIND__NONE) {
        return gr_fail(GRANARY_EINVAL,
                       "parameter '%.60s': a list has strings, or numbers, or true and false, of one "
                       "kind each",
                       name);
    }
    if (kind == GRANARY__ATTR__KIND__STRINGS) {
        size_t wrong;
        char **strings = borrow_strings(list, &wrong);

        attr = strings == NULL ? NULL : gr_attr_new_strings(name, strings, count);
        free(strings);
    } else {
        attr = gr_attr_new_ints(name, NULL, 0);
        if (attr != NULL) {
            attr->kind = kind;
            attr->ints = kind == GRANARY__ATTR__KIND__DOUBLES ? NULL : calloc(count, sizeof *attr->ints);
            attr->doubles = kind == GRANARY__ATTR__KIND__DOUBLES ? calloc(count, sizeof *attr->doubles) : NULL;
            if (attr->ints == NULL && attr->doubles == NULL) {
                granary__attr__free_unpacked(attr, NULL);
                return out_of_memory();
            }
            fill_numbers(attr, list);
        }
    }
    *ret_attr = attr;
    return attr == NULL ? out_of_memory() : GRANARY_OK;
}

/* The text of an entry, or NULL: it is none. What users' functions and programs are given may be numbers, too. */
static const char *
entry_text(const char *name, const json_t *value, char ret_room[32])
{
    if (json_is_string(value)) {
        return json_string_value(value);
    }
    if (strcmp(name, "params") != 0 && strcmp(name, "resources") != 0) {
        return NULL;
    }
    switch (json_typeof(value)) {
    case JSON_INTEGER:
        (void)snprintf(ret_room, 32, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return ret_room;
    case JSON_REAL:
        (void)snprintf(ret_room, 32, "%.17g", json_real_value(value));
        return ret_room;
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    default:
        return NULL;
    }
}

static granary_err
read_map(const char *name, json_t *map, Granary__Attr **ret_attr)
{
    size_t count = json_object_size(map);
    char **keys = calloc(count + 1, sizeof *keys);
    char **values = calloc(count + 1, sizeof *values);
    char(*rooms)[32] = calloc(count + 1, sizeof *rooms);
    granary_err err = keys == NULL || values == NULL || rooms == NULL ? out_of_memory() : GRANARY_OK;
    size_t i = 0;
    const char *key;
    json_t *value;

    json_object_foreach(map, key, value)
    {
        const char *text = err == GRANARY_OK ? entry_text(name, value, rooms[i]) : NULL;

        if (err != GRANARY_OK) {
            break;
        }
        if (text == NULL) {
            err = gr_fail(GRANARY_EINVAL, "parameter '%.60s', entry '%.100s' needs a string, not %s", name, key,
                          json_type_text(value));
            break;
        }
        keys[i] = (char *)(uintptr_t)key; /* only read */
        values[i++] = (char *)(uintptr_t)text;
    }
    if (err == GRANARY_OK) {
        *ret_attr = gr_attr_new_map(name, keys, values, count);
        err = *ret_attr == NULL ? out_of_memory() : GRANARY_OK;
    }
    free(keys);
    free(values);
    free(rooms);
    return err;
}

static granary_err
read_value(const char *name, json_t *value, Granary__Attr **ret_attr)
{
    Granary__Attr *attr = NULL;

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return read_map(name, value, ret_attr);
    case JSON_ARRAY:
        return read_list(name, value, ret_attr);
    case JSON_STRING:
        attr = gr_attr_new_string(name, json_string_value(value));
        break;
    case JSON_INTEGER:
        attr = gr_attr_new_int(name, json_integer_value(value));
        break;
    case JSON_REAL:
        attr = gr_attr_new_double(name, json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        attr = gr_attr_new_bool(name, json_is_true(value));
        break;
    case JSON_NULL:
        return gr_fail(GRANARY_EINVAL, "parameter '%.60s' is null; leave it out for its default", name);
    }
    *ret_attr = attr;
    return attr == NULL ? out_of_memory() : GRANARY_OK;
}

/* ---- nodes ---- */

/* Where members beside the parameters are expected. */
struct members {
    const char *const *names;
    size_t count;
};

static granary_err
no_member(const char *name, const struct members *members, int op)
{
    struct gr_nearest nearest = {.name = name};
    char hint[GR_HINT_MAX];
    char all[512] = "";
    size_t length = 0;

    for (size_t i = 0; i < members->count; i++) {
        gr_nearest_offer(&nearest, members->names[i]);
    }
    for (const struct gr_param_info *p = op < 0 ? NULL : gr_params_of((enum gr_tile_op)op); p != NULL; p = p->next) {
        gr_nearest_offer(&nearest, p->name);
        if (length < sizeof all) {
            length += (size_t)snprintf(all + length, sizeof all - length, "%s%s",
                                       length == 0 ? "; its parameters are: " : ", ", p->name);
        }
    }
    return gr_fail(GRANARY_EINVAL, "unknown member '%.60s'%s", name,
                   nearest.best != NULL ? gr_nearest_hint(&nearest, hint) : all);
}

/* Names from a list, or from one string. What was made is counted in *ret_count and the caller's to free. */
static granary_err
read_names(const char *member, const json_t *value, char ***ret_names, size_t *ret_count)
{
    size_t count = json_is_array(value) ? json_array_size(value) : 1;

    if (!json_is_array(value) && !json_is_string(value)) {
        return gr_fail(GRANARY_EINVAL, "'%s' needs a name or a list of names, not %s", member, json_type_text(value));
    }
    *ret_names = calloc(count + 1, sizeof **ret_names);
    if (*ret_names == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *name = json_is_array(value) ? json_array_get(value, i) : value;

        if (!json_is_string(name)) {
            return gr_fail(GRANARY_EINVAL, "'%s' has %s where a name is needed", member, json_type_text(name));
        }
        (*ret_names)[i] = strdup(json_string_value(name));
        if ((*ret_names)[i] == NULL) {
            return out_of_memory();
        }
        *ret_count = i + 1;
    }
    return GRANARY_OK;
}

static granary_err
read_op(const json_t *object, Granary__Graph__Level level, Granary__Node *node, int *ret_op)
{
    const json_t *op = json_object_get(object, "op");
    char *copy;

    if (op == NULL) {
        return gr_fail(GRANARY_EINVAL, "it has no operator ('op')");
    }
    if (!json_is_string(op)) {
        return gr_fail(GRANARY_EINVAL, "'op' needs the name of an operator, not %s", json_type_text(op));
    }
    copy = strdup(json_string_value(op));
    if (copy == NULL) {
        return out_of_memory();
    }
    node->op = copy;
    /* An unknown one has no parameters to compare with; the check of the graph tells it, and those on chunks. */
    *ret_op = level == GRANARY__GRAPH__LEVEL__TILEABLE ? gr_op_find(node->op) : -1;
    return GRANARY_OK;
}

static granary_err
read_member(const char *key, json_t *value, int op, Granary__Node *node)
{
    static const char *const known[] = {"op", "input", "inputs"};
    static const struct members members = {known, 3};
    granary_err err;

    if (strcmp(key, "op") == 0) {
        return GRANARY_OK;
    }
    if (strcmp(key, "input") == 0 && json_is_array(value)) {
        return gr_fail(GRANARY_EINVAL, "'input' is one name; a list of names is called 'inputs'");
    }
    if (strcmp(key, "input") == 0 || strcmp(key, "inputs") == 0) {
        return node->inputs != NULL ? gr_fail(GRANARY_EINVAL, "it has 'input' and 'inputs': leave one of them out")
                                    : read_names(key, value, &node->inputs, &node->n_inputs);
    }
    if (op >= 0 && gr_param_find((enum gr_tile_op)op, key) == NULL) {
        return no_member(key, &members, op);
    }
    err = read_value(key, value, &node->attrs[node->n_attrs]);
    if (err == GRANARY_OK) {
        node->n_attrs++;
    }
    return err;
}

/* named: the object is an element of a list and has a member "name", which was read already. */
static granary_err
read_node(json_t *object, bool named, Granary__Graph__Level level, Granary__Node *node)
{
    int op = -1;
    const char *key;
    json_t *value;
    granary_err err;

    if (!json_is_object(object)) {
        return gr_fail(GRANARY_EINVAL, "it needs to be an object with 'op', inputs and parameters, not %s",
                       json_type_text(object));
    }
    if ((err = read_op(object, level, node, &op)) != GRANARY_OK) {
        return err;
    }
    node->attrs = calloc(json_object_size(object), sizeof *node->attrs);
    if (node->attrs == NULL) {
        return out_of_memory();
    }
    json_object_foreach(object, key, value)
    {
        if (named && strcmp(key, "name") == 0) {
            continue;
        }
        if ((err = read_member(key, value, op, node)) != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

/* Append an empty node. There is room. */
static Granary__Node *
add_node(Granary__Graph *graph, const char *name)
{
    Granary__Node *node = malloc(sizeof *node);

    if (node == NULL) {
        return NULL;
    }
    granary__node__init(node);
    node->name = strdup(name);
    if (node->name == NULL) {
        free(node);
        return NULL;
    }
    graph->nodes[graph->n_nodes++] = node;
    return node;
}

static granary_err
read_named_node(json_t *object, const char *name, bool named, Granary__Graph *graph)
{
    Granary__Node *node = add_node(graph, name);
    granary_err err = node == NULL ? out_of_memory() : read_node(object, named, graph->level, node);

    if (err != GRANARY_OK && node != NULL && node->op[0] != '\0') {
        return gr_fail_in(err, "node '%.100s' (%.40s)", name, node->op);
    }
    return err == GRANARY_OK ? err : gr_fail_in(err, "node '%.100s'", name);
}

static granary_err
read_node_list(const json_t *list, Granary__Graph *graph)
{
    size_t i;
    json_t *element;

    json_array_foreach(list, i, element)
    {
        const json_t *name = json_object_get(element, "name");
        granary_err err;

        if (!json_is_string(name)) {
            return gr_fail(GRANARY_EINVAL, "node %zu of the list 'nodes' %s", i + 1,
                           !json_is_object(element) ? "is no object"
                           : name == NULL           ? "has no 'name'"
                                                    : "has a 'name' that is no string");
        }
        if ((err = read_named_node(element, json_string_value(name), true, graph)) != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

static granary_err
read_nodes(json_t *nodes, Granary__Graph *graph)
{
    const char *name;
    json_t *object;

    if (nodes == NULL) {
        return gr_fail(GRANARY_EINVAL, "the graph has no member 'nodes'");
    }
    if (!json_is_object(nodes) && !json_is_array(nodes)) {
        return gr_fail(GRANARY_EINVAL, "'nodes' needs an object (name: node) or a list of nodes, not %s",
                       json_type_text(nodes));
    }
    graph->nodes = calloc(json_object_size(nodes) + json_array_size(nodes) + 1, sizeof(Granary__Node *));
    if (graph->nodes == NULL) {
        return out_of_memory();
    }
    if (json_is_array(nodes)) {
        return read_node_list(nodes, graph);
    }
    json_object_foreach(nodes, name, object)
    {
        granary_err err = read_named_node(object, name, false, graph);

        if (err != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

/* ---- the whole ---- */

static granary_err
read_level(const json_t *level, Granary__Graph *graph)
{
    const char *text = json_string_value(level); /* NULL of anything else */

    if (level == NULL || (text != NULL && strcmp(text, "tileable") == 0)) {
        return GRANARY_OK;
    }
    if (text == NULL || strcmp(text, "chunk") != 0) {
        return gr_fail(GRANARY_EINVAL, "'level' is \"tileable\" (default) or \"chunk\"");
    }
    graph->level = GRANARY__GRAPH__LEVEL__CHUNK;
    return GRANARY_OK;
}

granary_err
json_read_graph(json_t *root, Granary__Graph *graph)
{
    static const char *const known[] = {"level", "nodes", "targets"};
    static const struct members members = {known, 3};
    const json_t *targets;
    const char *key;
    json_t *value;
    granary_err err;

    if (!json_is_object(root)) {
        return gr_fail(GRANARY_EINVAL, "a graph is an object with 'nodes' and 'targets', not %s", json_type_text(root));
    }
    json_object_foreach(root, key, value)
    {
        if (strcmp(key, known[0]) != 0 && strcmp(key, known[1]) != 0 && strcmp(key, known[2]) != 0) {
            return no_member(key, &members, -1);
        }
    }
    if ((err = read_level(json_object_get(root, "level"), graph)) != GRANARY_OK) {
        return err;
    }
    if ((err = read_nodes(json_object_get(root, "nodes"), graph)) != GRANARY_OK) {
        return err;
    }
    targets = json_object_get(root, "targets");
    return targets == NULL ? GRANARY_OK : read_names("targets", targets, &graph->targets, &graph->n_targets);
}

struct reading {
    const char *text;
    size_t length;
    Granary__Graph *graph;
};

granary_err
json_load(const char *text, size_t length, json_t **ret_root)
{
    json_error_t error;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    const char *remedy = "";

    if (root == NULL && strncmp(error.text, "too big integer", strlen("too big integer")) == 0) {
        remedy = "; where a value is wanted, it can be a string of its digits, up to uint64";
    }
    *ret_root = root;
    return root != NULL ? GRANARY_OK
                        : gr_fail(GRANARY_EINVAL, "line %d, column %d: %s%s", error.line < 1 ? 1 : error.line,
                                  error.column < 0 ? 0 : error.column, error.text, remedy);
}

static granary_err
read_text(void *context)
{
    struct reading *reading = context;
    json_t *root;
    granary_err err = json_load(reading->text, reading->length, &root);

    return err == GRANARY_OK ? json_read_graph(root, reading->graph) : err;
}

granary_err
gr_graph_from_json(const char *text, size_t length, Granary__Graph **ret_graph)
{
    struct reading reading = {.text = text, .length = length, .graph = malloc(sizeof *reading.graph)};
    granary_err err;

    if (reading.graph == NULL) {
        return out_of_memory();
    }
    granary__graph__init(reading.graph);
    err = json_run(read_text, &reading);
    if (err != GRANARY_OK) {
        granary__graph__free_unpacked(reading.graph, NULL);
        return err;
    }
    *ret_graph = reading.graph;
    return GRANARY_OK;
}
