#include "graph/expand/private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "graph/expr.h"
#include "graph/node.h"

static void
no_memory(struct expansion *e)
{
    if (e->err == GRANARY_OK) {
        e->err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
}

/* ---- parameters ---- */

const char *
expand_string(const struct expansion *e, const char *name, const char *fallback)
{
    return gr_attr_string(e->node->attrs, e->node->n_attrs, name, fallback);
}

size_t
expand_strings(const struct expansion *e, const char *name, char *const **ret_strings)
{
    const Granary__Attr *attr = gr_attr_find(e->node->attrs, e->node->n_attrs, name);

    *ret_strings = attr == NULL ? NULL : attr->strings;
    return attr == NULL ? 0 : attr->n_strings;
}

/* ---- texts ---- */

static const char *
keep_text(struct expansion *e, char *text)
{
    char **texts = text == NULL ? NULL : realloc(e->texts, (e->text_count + 1) * sizeof *texts);

    if (texts == NULL) {
        free(text);
        no_memory(e);
        return "";
    }
    e->texts = texts;
    e->texts[e->text_count++] = text;
    return text;
}

void
expand_fail(struct expansion *e, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (e->err == GRANARY_OK) {
        e->err = gr_fail(GRANARY_EINVAL, "%s", text);
    }
}

const char *
expand_text(struct expansion *e, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int size;

    va_start(args, format);
    size = vasprintf(&text, format, args);
    va_end(args);
    return keep_text(e, size < 0 ? NULL : text);
}

const char *
expand_name(struct expansion *e, const char *column)
{
    struct gr_buf text = {0};

    gr_expr_print_name(column, &text);
    return keep_text(e, gr_buf_take(&text));
}

const char *
expand_quote(struct expansion *e, const char *text)
{
    struct gr_buf quoted = {0};

    gr_buf_addf(&quoted, "'");
    for (; *text != '\0'; text++) {
        gr_buf_addf(&quoted, *text == '\'' ? "''" : "%c", *text);
    }
    gr_buf_addf(&quoted, "'");
    return keep_text(e, gr_buf_take(&quoted));
}

/* ---- nodes ---- */

static granary_err
node_add_input(Granary__Node *node, const char *input)
{
    char **inputs = realloc(node->inputs, (node->n_inputs + 1) * sizeof *inputs);

    if (inputs == NULL) {
        return GRANARY_ENOMEM;
    }
    node->inputs = inputs;
    node->inputs[node->n_inputs] = strdup(input);
    return node->inputs[node->n_inputs] == NULL ? GRANARY_ENOMEM : (node->n_inputs++, GRANARY_OK);
}

/* Has an operator's name. NULL: no memory */
static Granary__Node *
node_new(const char *name, const char *op)
{
    Granary__Node *node = malloc(sizeof *node);

    if (node == NULL) {
        return NULL;
    }
    granary__node__init(node);
    node->name = strdup(name);
    node->op = strdup(op);
    if (node->name == NULL || node->op == NULL) {
        free(node->name);
        free(node->op);
        free(node);
        return NULL;
    }
    return node;
}

const char *
expand_add(struct expansion *e, const char *part, const char *op, const char *first, const char *second)
{
    Granary__Node **nodes = realloc(e->nodes, (e->count + 1) * sizeof(Granary__Node *));
    Granary__Node *node =
        nodes == NULL ? NULL
                      : node_new(part == NULL ? e->node->name : expand_text(e, "%s: %s", e->node->name, part), op);

    e->nodes = nodes != NULL ? nodes : e->nodes;
    if (node == NULL) {
        no_memory(e);
        return "";
    }
    e->nodes[e->count++] = node;
    if ((first != NULL && node_add_input(node, first) != GRANARY_OK) ||
        (second != NULL && node_add_input(node, second) != GRANARY_OK)) {
        no_memory(e);
    }
    return node->name;
}

void
expand_set(struct expansion *e, Granary__Attr *attr)
{
    Granary__Node *node = e->count == 0 ? NULL : e->nodes[e->count - 1];
    Granary__Attr **attrs =
        attr == NULL || node == NULL ? NULL : realloc(node->attrs, (node->n_attrs + 1) * sizeof(Granary__Attr *));

    if (attrs == NULL) {
        if (attr != NULL) {
            granary__attr__free_unpacked(attr, NULL);
        }
        no_memory(e);
        return;
    }
    node->attrs = attrs;
    node->attrs[node->n_attrs++] = attr;
}

void
expand_set_strings(struct expansion *e, const char *name, const char *const *strings, size_t count)
{
    expand_set(e, gr_attr_new_strings(name, (char *const *)(uintptr_t)strings, count));
}

void
expand_set_string1(struct expansion *e, const char *name, const char *string)
{
    expand_set(e, gr_attr_new_string(name, string));
}

void
expand_map(struct expansion *e, const char *name, const char *key, const char *text)
{
    Granary__Node *node = e->count == 0 ? NULL : e->nodes[e->count - 1];
    Granary__Attr *map = NULL;
    char **keys, **strings;

    for (size_t i = 0; node != NULL && i < node->n_attrs; i++) {
        map = strcmp(node->attrs[i]->name, name) == 0 ? node->attrs[i] : map;
    }
    if (map == NULL) {
        expand_set(e, gr_attr_new_map(name, (char *const[]){(char *)(uintptr_t)key},
                                      (char *const[]){(char *)(uintptr_t)text}, 1));
        return;
    }
    keys = realloc(map->keys, (map->n_keys + 1) * sizeof *keys);
    map->keys = keys != NULL ? keys : map->keys;
    strings = realloc(map->strings, (map->n_strings + 1) * sizeof *strings);
    map->strings = strings != NULL ? strings : map->strings;
    if (keys == NULL || strings == NULL) {
        no_memory(e);
        return;
    }
    keys[map->n_keys] = strdup(key);
    strings[map->n_strings] = strdup(text);
    if (keys[map->n_keys] == NULL || strings[map->n_strings] == NULL) {
        free(keys[map->n_keys]);
        free(strings[map->n_strings]);
        no_memory(e);
        return;
    }
    map->n_keys++;
    map->n_strings++;
}

/* ---- the graph ---- */

static void
expansion_free(struct expansion *e)
{
    for (size_t i = 0; i < e->count; i++) {
        granary__node__free_unpacked(e->nodes[i], NULL);
    }
    for (size_t i = 0; i < e->text_count; i++) {
        free(e->texts[i]);
    }
    free(e->nodes);
    free(e->texts);
}

/* Put what was made into the graph: the last one takes the node's place, the others stand behind all. */
static granary_err
expansion_put(struct expansion *e, Granary__Graph *graph, size_t position, struct gr_origins *origins)
{
    Granary__Node **nodes = realloc(graph->nodes, (graph->n_nodes + e->count) * sizeof(Granary__Node *));
    struct gr_origin *all;

    graph->nodes = nodes != NULL ? nodes : graph->nodes;
    all = nodes == NULL ? NULL : realloc(origins->all, (origins->count + 1) * sizeof *all);
    if (all == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    origins->all = all;
    all[origins->count++] = (struct gr_origin){
        .node = nodes[position], .op = e->op, .last = position, .first = graph->n_nodes, .count = e->count - 1};
    nodes[position] = e->nodes[--e->count];
    for (size_t i = 0; i < e->count; i++) {
        nodes[graph->n_nodes++] = e->nodes[i];
    }
    e->count = 0;
    return GRANARY_OK;
}

static granary_err
expand_node(Granary__Graph *graph, size_t position, enum gr_tile_op op, struct gr_origins *origins)
{
    struct expansion e = {.node = graph->nodes[position], .op = op};

    e.err = node_check(graph->nodes[position], op);
    if (e.err == GRANARY_OK) {
        gr_operator(op)->expand(&e);
    }
    if (e.err == GRANARY_OK) {
        e.err = expansion_put(&e, graph, position, origins);
    } else {
        e.err = node_fail(graph->nodes[position], e.err);
    }
    expansion_free(&e);
    return e.err;
}

granary_err
gr_graph_expand(Granary__Graph *graph, struct gr_origins *ret_origins)
{
    size_t count = graph->n_nodes; /* those that are added are none of them */
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        int op = gr_op_find(graph->nodes[i]->op);

        if (op >= 0 && gr_operator((enum gr_tile_op)op)->expand != NULL) {
            err = expand_node(graph, i, (enum gr_tile_op)op, ret_origins);
        }
    }
    return err;
}

void
gr_origins_free(struct gr_origins *origins)
{
    for (size_t i = 0; i < origins->count; i++) {
        granary__node__free_unpacked(origins->all[i].node, NULL);
    }
    free(origins->all);
    *origins = (struct gr_origins){0};
}
