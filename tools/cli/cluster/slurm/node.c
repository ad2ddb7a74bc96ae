/* Names of machines, and attributes of nodes. */
#include "cli/cluster/slurm/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "graph/graph.h"

const char *
node_name(char buffer[CHUNKS_NODE])
{
    const char *slurm = getenv("SLURMD_NODENAME");

    if (slurm != NULL && slurm[0] != '\0') {
        (void)snprintf(buffer, CHUNKS_NODE, "%s", slurm);
    } else if (gethostname(buffer, CHUNKS_NODE) < 0) {
        (void)snprintf(buffer, CHUNKS_NODE, "this machine");
    }
    buffer[CHUNKS_NODE - 1] = '\0';
    buffer[strcspn(buffer, ". /")] = '\0';
    return buffer;
}

granary_err
node_set(Granary__Node *node, Granary__Attr *attr)
{
    Granary__Attr **attrs;

    if (attr == NULL) {
        return gr_no_memory("graph");
    }
    for (size_t i = 0; i < node->n_attrs; i++) {
        if (strcmp(node->attrs[i]->name, attr->name) == 0) {
            granary__attr__free_unpacked(node->attrs[i], NULL);
            node->attrs[i] = attr;
            return GRANARY_OK;
        }
    }
    attrs = realloc(node->attrs, (node->n_attrs + 1) * sizeof *attrs);
    if (attrs == NULL) {
        granary__attr__free_unpacked(attr, NULL);
        return gr_no_memory("graph");
    }
    node->attrs = attrs;
    node->attrs[node->n_attrs++] = attr;
    return GRANARY_OK;
}

/* Texts of a message are malloc's, but for those that were never set. */
static granary_err
set_op(Granary__Node *node, const char *op)
{
    static const Granary__Node fresh = GRANARY__NODE__INIT;
    char *copy = strdup(op);

    if (copy == NULL) {
        return gr_no_memory("graph");
    }
    if (node->op != fresh.op) {
        free(node->op);
    }
    node->op = copy;
    return GRANARY_OK;
}

granary_err
node_become(Granary__Node *node, const char *op)
{
    while (node->n_attrs > 0) {
        granary__attr__free_unpacked(node->attrs[--node->n_attrs], NULL);
    }
    return set_op(node, op);
}

granary_err
node_set_ids(Granary__Node *node, const granary_id *ids, size_t count)
{
    char(*texts)[GRANARY_ID_TEXT + 1] = calloc(count + 1, sizeof *texts);
    char **list = calloc(count + 1, sizeof *list);
    Granary__Attr *attr = NULL;

    for (size_t i = 0; texts != NULL && list != NULL && i < count; i++) {
        granary_id_format(ids[i], texts[i]);
        list[i] = texts[i];
    }
    if (texts != NULL && list != NULL) {
        attr = gr_attr_new_strings("ids", list, count);
    }
    free(texts);
    free(list);
    return node_set(node, attr);
}

granary_err
node_set_tensor(Granary__Node *node, granary_client *client, granary_id first, const int64_t *shape, int dims)
{
    granary_view view;
    granary_tensor tensor;
    granary_err err = granary_object_get(client, first, GRANARY_FOREVER, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_tensor_open(&view, &tensor);
    err = err == GRANARY_OK ? set_op(node, "array") : err;
    if (err == GRANARY_OK) {
        err = node_set(node, gr_attr_new_ints("shape", shape == NULL ? tensor.shape : shape,
                                              (size_t)(shape == NULL ? tensor.dims : dims)));
    }
    if (err == GRANARY_OK && tensor.dims > 0) {
        err = node_set(node, gr_attr_new_ints("chunk", tensor.shape, (size_t)tensor.dims));
    }
    if (err == GRANARY_OK) {
        err = node_set(node, gr_attr_new_string("dtype", granary_dtype_name(tensor.dtype)));
    }
    granary_object_release(client, &view);
    return err;
}

granary_err
node_copy(Granary__Graph *graph, size_t node)
{
    static const char ending[] = " (chunks)";
    Granary__Node *reader = graph->nodes[node];
    const bool is_tensor = strcmp(reader->op, "array") == 0;
    const char *dtype = gr_attr_string(reader->attrs, reader->n_attrs, "dtype", "");
    Granary__Node **nodes = realloc(graph->nodes, (graph->n_nodes + 1) * sizeof *nodes);
    Granary__Node *copier;
    char *name;
    granary_err err;

    if (nodes == NULL) {
        return gr_no_memory("graph");
    }
    graph->nodes = nodes;
    copier = malloc(sizeof *copier);
    name = malloc(strlen(reader->name) + sizeof ending);
    if (copier == NULL || name == NULL) {
        free(copier);
        free(name);
        return gr_no_memory("graph");
    }
    (void)sprintf(name, "%s%s", reader->name, ending);
    granary__node__init(copier);
    copier->name = reader->name;
    reader->name = name;
    graph->nodes[node] = copier;
    graph->nodes[graph->n_nodes++] = reader;
    copier->inputs = calloc(1, sizeof *copier->inputs);
    if (copier->inputs == NULL || (copier->inputs[0] = strdup(name)) == NULL) {
        return gr_no_memory("graph");
    }
    copier->n_inputs = 1;
    /* Operators that are not seen through: all rows of a frame, and the same elements of a tensor. */
    err = node_become(copier, is_tensor ? "astype" : "filter");
    return err != GRANARY_OK ? err
           : is_tensor       ? node_set(copier, gr_attr_new_string("dtype", dtype))
                             : node_set(copier, gr_attr_new_string("where", "true"));
}
