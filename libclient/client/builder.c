/* Building calls return nothing, so that programs read well: the first mistake is kept until the graph is submitted. */
#include "client/builder.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "graph/copy.h"
#include "graph/graph.h"

struct granary_graph {
    Granary__Graph message;
    size_t room; /* for nodes */
    granary_err err;
    char error[512];
};

granary_graph *
granary_graph_create(void)
{
    granary_graph *graph = calloc(1, sizeof *graph);

    if (graph != NULL) {
        granary__graph__init(&graph->message);
    }
    return graph;
}

void
granary_graph_destroy(granary_graph *graph)
{
    if (graph == NULL) {
        return;
    }
    for (size_t i = 0; i < graph->message.n_nodes; i++) {
        granary__node__free_unpacked(graph->message.nodes[i], NULL);
    }
    for (size_t i = 0; i < graph->message.n_targets; i++) {
        free(graph->message.targets[i]);
    }
    free(graph->message.nodes);
    free(graph->message.targets);
    free(graph);
}

/* Keep the thread's message with the first error. */
static void
keep_error(granary_graph *graph, granary_err err)
{
    if (graph->err == GRANARY_OK) {
        graph->err = err;
        (void)snprintf(graph->error, sizeof graph->error, "%s", granary_error_message());
    }
}

static void
keep_no_memory(granary_graph *graph)
{
    keep_error(graph, gr_fail(GRANARY_ENOMEM, "out of memory"));
}

/* The array with room for one more string; false: no memory. */
static bool
add_string(char ***strings, size_t *count, const char *text)
{
    char *copy = strdup(text);
    char **grown = realloc(*strings, (*count + 1) * sizeof *grown);

    if (grown != NULL) {
        *strings = grown;
    }
    if (copy == NULL || grown == NULL) {
        free(copy);
        return false;
    }
    grown[(*count)++] = copy;
    return true;
}

/* ---- nodes ---- */

/* A node with its strings; NULL: no memory. */
static Granary__Node *
node_new(const granary_graph *graph, const char *name, const char *op, const granary_node *inputs, size_t count)
{
    Granary__Node *node = malloc(sizeof *node);
    char made_up[96];
    bool ok;

    if (node == NULL) {
        return NULL;
    }
    if (name == NULL) {
        (void)snprintf(made_up, sizeof made_up, "%.64s#%zu", op, graph->message.n_nodes + 1);
        name = made_up;
    }
    granary__node__init(node);
    node->name = strdup(name);
    node->op = strdup(op);
    ok = node->name != NULL && node->op != NULL;
    for (size_t i = 0; i < count && ok; i++) {
        ok = add_string(&node->inputs, &node->n_inputs, graph->message.nodes[inputs[i]]->name);
    }
    if (!ok) {
        granary__node__free_unpacked(node, NULL);
        return NULL;
    }
    return node;
}

/* Room for one more node; false: no memory. */
static bool
reserve(granary_graph *graph)
{
    if (graph->message.n_nodes == graph->room) {
        size_t room = graph->room == 0 ? 16 : graph->room * 2;
        Granary__Node **nodes = realloc(graph->message.nodes, room * sizeof *nodes);

        if (nodes == NULL) {
            return false;
        }
        graph->message.nodes = nodes;
        graph->room = room;
    }
    return true;
}

granary_node
granary_graph_add(granary_graph *graph, const char *name, const char *op, const granary_node *inputs, size_t count)
{
    Granary__Node *node;

    if (op == NULL || (inputs == NULL && count > 0) || graph->message.n_nodes >= INT32_MAX) {
        keep_error(graph, gr_fail(GRANARY_EINVAL, "node '%.100s': its operator or its inputs are NULL",
                                  name == NULL ? "" : name));
        return GRANARY_NO_NODE;
    }
    for (size_t i = 0; i < count; i++) {
        if (inputs[i] < 0 || (size_t)inputs[i] >= graph->message.n_nodes) {
            keep_error(graph, gr_fail(GRANARY_EINVAL, "node '%.100s' (%.40s): input %zu is no node of this graph",
                                      name == NULL ? "" : name, op, i + 1));
            return GRANARY_NO_NODE;
        }
    }
    node = node_new(graph, name, op, inputs, count);
    if (node == NULL || !reserve(graph)) {
        if (node != NULL) {
            granary__node__free_unpacked(node, NULL);
        }
        keep_no_memory(graph);
        return GRANARY_NO_NODE;
    }
    graph->message.nodes[graph->message.n_nodes] = node;
    return (granary_node)graph->message.n_nodes++;
}

/* The node, or NULL and the error is kept. */
static Granary__Node *
find_node(granary_graph *graph, granary_node node, const char *key)
{
    if (node < 0 || (size_t)node >= graph->message.n_nodes || key == NULL) {
        keep_error(graph, gr_fail(GRANARY_EINVAL, "parameter '%.60s' is set on no node of this graph",
                                  key == NULL ? "" : key));
        return NULL;
    }
    return graph->message.nodes[node];
}

void
granary_graph_set_level(granary_graph *graph, granary_graph_level level)
{
    if (level == GRANARY_LEVEL_CHUNK) {
        graph->message.level = GRANARY__GRAPH__LEVEL__CHUNK;
    } else if (level == GRANARY_LEVEL_TILEABLE) {
        graph->message.level = GRANARY__GRAPH__LEVEL__TILEABLE;
    } else {
        keep_error(graph, gr_fail(GRANARY_EINVAL, "level %d: there is none of that number", (int)level));
    }
}

static void
add_input(granary_graph *graph, granary_node node, const char *text)
{
    if (node < 0 || (size_t)node >= graph->message.n_nodes) {
        keep_error(graph, gr_fail(GRANARY_EINVAL, "input %.100s is given to no node of this graph", text));
    } else if (!add_string(&graph->message.nodes[node]->inputs, &graph->message.nodes[node]->n_inputs, text)) {
        keep_no_memory(graph);
    }
}

void
granary_node_add_input(granary_graph *graph, granary_node node, granary_node from)
{
    if (from < 0 || (size_t)from >= graph->message.n_nodes) {
        keep_error(graph, gr_fail(GRANARY_EINVAL, "an input is no node of this graph"));
    } else {
        add_input(graph, node, graph->message.nodes[from]->name);
    }
}

void
granary_node_add_output(granary_graph *graph, granary_node node, granary_node from, unsigned output)
{
    struct gr_buf text = {0};

    if (from < 0 || (size_t)from >= graph->message.n_nodes) {
        keep_error(graph, gr_fail(GRANARY_EINVAL, "an input is an output of no node of this graph"));
        return;
    }
    gr_buf_addf(&text, "%s:%u", graph->message.nodes[from]->name, output);
    if (gr_buf_ok(&text)) {
        add_input(graph, node, text.bytes);
    } else {
        keep_no_memory(graph);
    }
    gr_buf_free(&text);
}

void
granary_node_add_object(granary_graph *graph, granary_node node, granary_id object)
{
    char text[7 + GRANARY_ID_TEXT + 1] = "object:";

    granary_id_format(object, text + 7);
    add_input(graph, node, text);
}

void
granary_graph_target(granary_graph *graph, granary_node node)
{
    if (node < 0 || (size_t)node >= graph->message.n_nodes) {
        keep_error(graph, gr_fail(GRANARY_EINVAL, "a target is no node of this graph"));
    } else if (!add_string(&graph->message.targets, &graph->message.n_targets, graph->message.nodes[node]->name)) {
        keep_no_memory(graph);
    }
}

/* ---- parameters ---- */

/* Put an attribute into a node, instead of one of the same name. *takes* it; NULL is kept as out of memory. */
static void
set(granary_graph *graph, granary_node node, const char *key, Granary__Attr *attr)
{
    Granary__Node *to = find_node(graph, node, key);
    Granary__Attr **attrs;

    if (attr == NULL || to == NULL) {
        if (to != NULL) {
            keep_no_memory(graph);
        }
        granary__attr__free_unpacked(attr, NULL);
        return;
    }
    for (size_t i = 0; i < to->n_attrs; i++) {
        if (strcmp(to->attrs[i]->name, key) == 0) {
            granary__attr__free_unpacked(to->attrs[i], NULL);
            to->attrs[i] = attr;
            return;
        }
    }
    attrs = realloc(to->attrs, (to->n_attrs + 1) * sizeof *attrs);
    if (attrs == NULL) {
        granary__attr__free_unpacked(attr, NULL);
        keep_no_memory(graph);
        return;
    }
    to->attrs = attrs;
    attrs[to->n_attrs++] = attr;
}

void
granary_node_set_int(granary_graph *graph, granary_node node, const char *key, int64_t value)
{
    set(graph, node, key, key == NULL ? NULL : gr_attr_new_int(key, value));
}

void
granary_node_set_double(granary_graph *graph, granary_node node, const char *key, double value)
{
    set(graph, node, key, key == NULL ? NULL : gr_attr_new_double(key, value));
}

void
granary_node_set_bool(granary_graph *graph, granary_node node, const char *key, bool value)
{
    set(graph, node, key, key == NULL ? NULL : gr_attr_new_bool(key, value));
}

/* Whether a text parameter is there; else the error is kept. */
static bool
has_text(granary_graph *graph, const char *key, const char *text)
{
    if (text == NULL) {
        keep_error(graph, gr_fail(GRANARY_EINVAL, "parameter '%.60s' is set to NULL", key == NULL ? "" : key));
    }
    return text != NULL;
}

void
granary_node_set_string(granary_graph *graph, granary_node node, const char *key, const char *value)
{
    if (has_text(graph, key, value)) {
        set(graph, node, key, key == NULL ? NULL : gr_attr_new_string(key, value));
    }
}

void
granary_node_set_ints(granary_graph *graph, granary_node node, const char *key, const int64_t *values, size_t count)
{
    set(graph, node, key, key == NULL ? NULL : gr_attr_new_ints(key, values, count));
}

void
granary_node_set_bools(granary_graph *graph, granary_node node, const char *key, const bool *values, size_t count)
{
    set(graph, node, key, key == NULL ? NULL : gr_attr_new_bools(key, values, count));
}

void
granary_node_set_strings(granary_graph *graph, granary_node node, const char *key, const char *const *values,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!has_text(graph, key, values[i])) {
            return;
        }
    }
    set(graph, node, key, key == NULL ? NULL : gr_attr_new_strings(key, (char *const *)(uintptr_t)values, count));
}

/* Put an entry into a mapping; false: no memory. */
static bool
set_entry(Granary__Attr *map, const char *entry, const char *text)
{
    char *copy;

    for (size_t i = 0; i < map->n_keys; i++) {
        if (strcmp(map->keys[i], entry) == 0) {
            copy = strdup(text);
            if (copy != NULL) {
                free(map->strings[i]);
                map->strings[i] = copy;
            }
            return copy != NULL;
        }
    }
    if (!add_string(&map->keys, &map->n_keys, entry)) {
        return false;
    }
    if (!add_string(&map->strings, &map->n_strings, text)) {
        free(map->keys[--map->n_keys]);
        return false;
    }
    return true;
}

void
granary_node_set_entry(granary_graph *graph, granary_node node, const char *key, const char *entry, const char *text)
{
    Granary__Node *to = find_node(graph, node, key);
    Granary__Attr *map = NULL;

    if (to == NULL || !has_text(graph, key, entry) || !has_text(graph, key, text)) {
        return;
    }
    for (size_t i = 0; i < to->n_attrs; i++) {
        if (strcmp(to->attrs[i]->name, key) == 0 && to->attrs[i]->kind == GRANARY__ATTR__KIND__MAP) {
            map = to->attrs[i];
        }
    }
    if (map != NULL) {
        if (!set_entry(map, entry, text)) {
            keep_no_memory(graph);
        }
        return;
    }
    set(graph, node, key,
        gr_attr_new_map(key, (char *[]){(char *)(uintptr_t)entry}, (char *[]){(char *)(uintptr_t)text}, 1));
}

/* ---- the whole ---- */

granary_err
gr_builder_open(granary_graph *graph, Granary__Graph **ret_message)
{
    *ret_message = &graph->message;
    return graph->err == GRANARY_OK ? GRANARY_OK : gr_fail(graph->err, "%s", graph->error);
}

granary_err
gr_builder_finish(const granary_graph *graph, Granary__Graph **ret_message)
{
    Granary__Graph *copy;

    if (graph->err != GRANARY_OK) {
        return gr_fail(graph->err, "%s", graph->error);
    }
    copy = gr_message_copy(&graph->message.base);
    if (copy == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    *ret_message = copy;
    return GRANARY_OK;
}
