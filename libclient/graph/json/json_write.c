/* A graph as JSON that gives the same graph when it is read. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph_json/json.h"
#include "graph_json/json_memory.h"

/* Every json_...() constructor gives NULL when it cannot, and every _new() setter then fails, too. Memory:
 * json_memory.h */

static json_t *
write_ints(const Granary__Attr *attr, bool bools)
{
    json_t *list = json_array();

    for (size_t i = 0; i < attr->n_ints; i++) {
        if (json_array_append_new(list, bools ? json_boolean(attr->ints[i] != 0) : json_integer(attr->ints[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *
write_doubles(const Granary__Attr *attr)
{
    json_t *list = json_array();

    for (size_t i = 0; i < attr->n_doubles; i++) {
        if (json_array_append_new(list, json_real(attr->doubles[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *
write_strings(char *const *strings, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        if (json_array_append_new(list, json_string(strings[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *
write_map(const Granary__Attr *attr)
{
    json_t *map = json_object();

    for (size_t i = 0; i < attr->n_keys && i < attr->n_strings; i++) {
        if (json_object_set_new(map, attr->keys[i], json_string(attr->strings[i])) != 0) {
            json_decref(map);
            return NULL;
        }
    }
    return map;
}

/* JSON has no number for all of them: the check knows these words where it wants a number. */
static json_t *
write_double(double value)
{
    return isnan(value)   ? json_string("nan")
           : isinf(value) ? json_string(value < 0 ? "-inf" : "inf")
                          : json_real(value);
}

static json_t *
write_value(const Granary__Attr *attr)
{
    switch (attr->kind) {
    case GRANARY__ATTR__KIND__INT:
        return attr->n_ints == 1 ? json_integer(attr->ints[0]) : NULL;
    case GRANARY__ATTR__KIND__DOUBLE:
        return attr->n_doubles == 1 ? write_double(attr->doubles[0]) : NULL;
    case GRANARY__ATTR__KIND__BOOL:
        return attr->n_ints == 1 ? json_boolean(attr->ints[0] != 0) : NULL;
    case GRANARY__ATTR__KIND__STRING:
        return attr->n_strings == 1 ? json_string(attr->strings[0]) : NULL;
    case GRANARY__ATTR__KIND__INTS:
        return write_ints(attr, false);
    case GRANARY__ATTR__KIND__BOOLS:
        return write_ints(attr, true);
    case GRANARY__ATTR__KIND__DOUBLES:
        return write_doubles(attr);
    case GRANARY__ATTR__KIND__STRINGS:
        return write_strings(attr->strings, attr->n_strings);
    case GRANARY__ATTR__KIND__MAP:
        return write_map(attr);
    default:
        return NULL;
    }
}

static granary_err
write_node(const Granary__Node *node, json_t *nodes)
{
    json_t *object = json_object();
    int failed = json_object_set_new(object, "op", json_string(node->op));

    if (json_object_get(nodes, node->name) != NULL) {
        json_decref(object);
        return gr_fail(GRANARY_EINVAL, "node '%.100s': an earlier node has the same name", node->name);
    }
    if (node->n_inputs == 1) {
        failed |= json_object_set_new(object, "input", json_string(node->inputs[0]));
    } else if (node->n_inputs > 1) {
        failed |= json_object_set_new(object, "inputs", write_strings(node->inputs, node->n_inputs));
    }
    for (size_t i = 0; i < node->n_attrs; i++) {
        if (json_object_set_new(object, node->attrs[i]->name, write_value(node->attrs[i])) != 0) {
            json_decref(object);
            return gr_fail(GRANARY_EINVAL, "node '%.100s': JSON cannot express its parameter '%.60s'", node->name,
                           node->attrs[i]->name);
        }
    }
    if (failed != 0 || json_object_set(nodes, node->name, object) != 0) {
        json_decref(object);
        return gr_fail(GRANARY_EINVAL, "node '%.100s': JSON cannot express it", node->name);
    }
    json_decref(object);
    return GRANARY_OK;
}

static int
append(const char *text, size_t size, void *context)
{
    gr_buf_add(context, text, size);
    return gr_buf_ok(context) ? 0 : -1;
}

struct writing {
    const Granary__Graph *graph;
    struct gr_buf *out;
};

static granary_err
write_graph(void *context)
{
    struct writing *writing = context;
    const Granary__Graph *graph = writing->graph;
    json_t *root = json_object();
    json_t *nodes = json_object();
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < graph->n_nodes && err == GRANARY_OK; i++) {
        err = write_node(graph->nodes[i], nodes);
    }
    if (err == GRANARY_OK && graph->level == GRANARY__GRAPH__LEVEL__CHUNK) {
        (void)json_object_set_new(root, "level", json_string("chunk"));
    }
    if (err == GRANARY_OK) {
        (void)json_object_set_new(root, "nodes", nodes);
    }
    if (err == GRANARY_OK && graph->n_targets > 0 &&
        json_object_set_new(root, "targets", write_strings(graph->targets, graph->n_targets)) != 0) {
        err = gr_fail(GRANARY_EINVAL, "targets: JSON cannot express them");
    }
    if (err == GRANARY_OK && json_dump_callback(root, append, writing->out, JSON_INDENT(2)) != 0) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    return err;
}

granary_err
gr_graph_to_json(const Granary__Graph *graph, struct gr_buf *out)
{
    struct writing writing = {graph, out};

    return json_run(write_graph, &writing);
}
