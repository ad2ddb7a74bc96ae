#include "graph/compose/private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/node.h"

size_t
gr_compose_room(enum gr_tile_op op, size_t inputs)
{
    return gr_operator(op)->compose != NULL ? gr_operator(op)->compose_room + inputs + 1 : 0;
}

/* ---- nodes ---- */

/* A message of its own, named after the node whose place is taken. */
static Granary__Node *
new_message(const struct composition *x, enum gr_tile_op op, const size_t *inputs, size_t input_count,
            Granary__Attr *const *attrs, size_t attr_count)
{
    bool failed = false;
    const Granary__Node *user = x->graph->nodes[x->node].node;
    size_t size = strlen(user->name) + 24;
    Granary__Node *message = malloc(sizeof *message);

    if (message == NULL) {
        return NULL;
    }
    granary__node__init(message);
    message->name = malloc(size);
    message->op = strdup(gr_op_info(op)->name);
    message->attrs = calloc(attr_count + 1, sizeof *message->attrs);
    message->inputs = calloc(input_count + 1, sizeof *message->inputs);
    for (size_t k = 0; k < input_count && message->inputs != NULL; k++) {
        message->inputs[k] = strdup(x->graph->nodes[inputs[k]].node->name);
        failed = failed || message->inputs[k] == NULL;
        message->n_inputs++;
    }
    if (failed || message->name == NULL || message->op == NULL || message->attrs == NULL || message->inputs == NULL) {
        granary__node__free_unpacked(message, NULL);
        return NULL;
    }
    (void)snprintf(message->name, size, "%s:%zu", user->name, x->node - x->next);
    for (size_t i = 0; i < attr_count; i++) {
        message->attrs[message->n_attrs++] = attrs[i];
    }
    return message;
}

static granary_err
infer(struct gr_graph *graph, struct gr_graph_node *node)
{
    node->type = (struct gr_node_type){.known = false};
    return node_infer(graph, node, &node->type);
}

size_t
compose_add_many(struct composition *x, enum gr_tile_op op, const size_t *inputs, size_t count,
                 Granary__Attr *const attrs[3])
{
    Granary__Attr *given[3];
    size_t attr_count = 0;
    size_t *copy = malloc((count + 1) * sizeof *copy);
    struct gr_graph_node *node = &x->graph->nodes[x->next];
    Granary__Node *message = NULL;

    for (int i = 0; i < 3; i++) {
        if (attrs[i] != NULL) {
            given[attr_count++] = attrs[i];
        }
    }
    if (x->err == GRANARY_OK && x->next == x->node) {
        x->err = gr_fail(GRANARY_EINVAL, "it takes more steps than there is room for");
    }
    if (x->err == GRANARY_OK) {
        message = copy == NULL ? NULL : new_message(x, op, inputs, count, given, attr_count);
        x->err = message == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    if (message == NULL) {
        for (size_t i = 0; i < attr_count; i++) {
            granary__attr__free_unpacked(given[i], NULL);
        }
        free(copy);
        return x->node;
    }
    for (size_t k = 0; k < count; k++) {
        copy[k] = inputs[k];
    }
    free(node->inputs);
    *node = (struct gr_graph_node){.node = message,
                                   .own = message,
                                   .op = (int)op,
                                   .yields = gr_op_info(op)->yields,
                                   .input_count = count,
                                   .inputs = copy};
    x->err = node_check(message, op);
    if (x->err == GRANARY_OK) {
        x->err = infer(x->graph, node);
    }
    return x->next++;
}

size_t
compose_add(struct composition *x, enum gr_tile_op op, size_t a, size_t b, Granary__Attr *first, Granary__Attr *second)
{
    size_t inputs[2] = {a, b};

    return compose_add_many(x, op, inputs, (size_t)(a != NO_NODE) + (b != NO_NODE),
                            (Granary__Attr *const[3]){first, second, NULL});
}

/* The last node takes the place; where an input or an earlier one is the result, a view of it does. */
static granary_err
take_place(struct composition *x, size_t last)
{
    struct gr_graph_node *place = &x->graph->nodes[x->node];
    struct gr_graph_node *from;
    Granary__Node *message;
    char *name;

    if (last != x->next - 1 || x->graph->nodes[last].own == NULL) {
        const struct gr_node_type *type = compose_type(x, last);

        last = compose_reshape(x, last, type->shape, (size_t)type->dims);
    }
    from = &x->graph->nodes[last];
    if (x->err != GRANARY_OK) {
        return x->err;
    }
    message = from->own;
    name = strdup(place->node->name);
    if (name == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    free(message->name);
    message->name = name;
    free(place->inputs);
    *place = *from;
    *from = (struct gr_graph_node){.node = place->node,
                                   .op = GR_TILE_empty,
                                   .yields = GR_YIELDS_TENSOR,
                                   .absent = true,
                                   .type = {.known = true, .is_tensor = true, .dtype = GRANARY_FLOAT64}};
    return GRANARY_OK;
}

granary_err
gr_compose(struct gr_graph *graph, size_t i, bool *ret_stays)
{
    const struct gr_graph_node *node = &graph->nodes[i];
    struct composition x = {
        .graph = graph, .node = i, .next = i - gr_compose_room((enum gr_tile_op)node->op, node->input_count)};
    size_t last = gr_operator((enum gr_tile_op)node->op)->compose(&x);

    *ret_stays = x.err == GRANARY_OK && last == i;
    return x.err != GRANARY_OK || last == i ? x.err : take_place(&x, last);
}

/* ---- attributes ---- */

static Granary__Attr *
made(struct composition *x, Granary__Attr *attr)
{
    if (attr == NULL && x->err == GRANARY_OK) {
        x->err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    return attr;
}

Granary__Attr *
compose_ints(struct composition *x, const char *name, const int64_t *values, size_t count)
{
    return made(x, gr_attr_new_ints(name, values, count));
}

Granary__Attr *
compose_names(struct composition *x, const char *name, const char *const *values, size_t count)
{
    return made(x, gr_attr_new_strings(name, (char *const *)(uintptr_t)values, count));
}

Granary__Attr *
compose_int(struct composition *x, const char *name, int64_t value)
{
    return made(x, gr_attr_new_int(name, value));
}

Granary__Attr *
compose_number(struct composition *x, const char *name, double value)
{
    return made(x, gr_attr_new_double(name, value));
}

Granary__Attr *
compose_bool(struct composition *x, const char *name, bool value)
{
    return made(x, gr_attr_new_bool(name, value));
}

Granary__Attr *
compose_text(struct composition *x, const char *name, const char *value)
{
    return made(x, gr_attr_new_string(name, value));
}

size_t
compose_fail(struct composition *x, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (x->err == GRANARY_OK) {
        x->err = gr_fail(GRANARY_EINVAL, "%s", text);
    }
    return x->node;
}

/* ---- what is there ---- */

size_t
compose_input(const struct composition *x, size_t k)
{
    return x->graph->nodes[x->node].inputs[k];
}

size_t
compose_inputs(const struct composition *x)
{
    return x->graph->nodes[x->node].input_count;
}

const struct gr_node_type *
compose_type(const struct composition *x, size_t position)
{
    return &x->graph->nodes[position].type;
}

const Granary__Attr *
compose_param(const struct composition *x, const char *name)
{
    const Granary__Node *node = x->graph->nodes[x->node].node;

    return gr_attr_find(node->attrs, node->n_attrs, name);
}

int64_t
compose_param_int(const struct composition *x, const char *name, int64_t fallback)
{
    const Granary__Attr *attr = compose_param(x, name);

    return attr == NULL ? fallback : attr->ints[0];
}

int
compose_axis(struct composition *x, const char *name, int64_t fallback, int dims)
{
    int64_t axis = compose_param_int(x, name, fallback);

    if (axis < -dims || axis >= dims) {
        (void)compose_fail(x, "parameter '%s': there is no axis %lld in a tensor of %d dimension%s", name,
                           (long long)axis, dims, dims == 1 ? "" : "s");
        return 0;
    }
    return (int)(axis < 0 ? axis + dims : axis);
}

/* ---- shorthands ---- */

size_t
compose_unary(struct composition *x, enum gr_tile_op op, size_t a)
{
    return compose_add(x, op, a, NO_NODE, NULL, NULL);
}

size_t
compose_binary(struct composition *x, enum gr_tile_op op, size_t a, size_t b)
{
    return compose_add(x, op, a, b, NULL, NULL);
}

size_t
compose_value(struct composition *x, enum gr_tile_op op, size_t a, double value)
{
    int64_t whole = value >= -1e15 && value <= 1e15 ? (int64_t)value : 0;

    return compose_add(x, op, a, NO_NODE,
                       (double)whole == value ? compose_int(x, "value", whole) : compose_number(x, "value", value),
                       NULL);
}

size_t
compose_reshape(struct composition *x, size_t a, const int64_t *shape, size_t dims)
{
    return compose_add(x, GR_TILE_reshape, a, NO_NODE, compose_ints(x, "shape", shape, dims), NULL);
}

size_t
compose_transpose(struct composition *x, size_t a, const int64_t *axes, size_t dims)
{
    bool same = true;

    for (size_t d = 0; d < dims; d++) {
        same = same && axes[d] == (int64_t)d;
    }
    return same ? a : compose_add(x, GR_TILE_transpose, a, NO_NODE, compose_ints(x, "axes", axes, dims), NULL);
}

size_t
compose_astype(struct composition *x, size_t a, granary_dtype dtype)
{
    return compose_type(x, a)->dtype == dtype
               ? a
               : compose_add(x, GR_TILE_astype, a, NO_NODE, compose_text(x, "dtype", granary_dtype_name(dtype)), NULL);
}

size_t
compose_reduce(struct composition *x, enum gr_tile_op op, size_t a, int axis, bool keep)
{
    int64_t axes = axis;

    return compose_add(x, op, a, NO_NODE, axis < 0 ? NULL : compose_ints(x, "axes", &axes, 1),
                       compose_bool(x, "keepdims", keep));
}

size_t
compose_full(struct composition *x, const int64_t *shape, int dims, const Granary__Attr *value, granary_dtype dtype)
{
    Granary__Attr *const attrs[3] = {compose_ints(x, "shape", shape, (size_t)dims),
                                     value == NULL ? compose_int(x, "value", 0) : made(x, gr_attr_copy(value)),
                                     compose_text(x, "dtype", granary_dtype_name(dtype))};

    return compose_add_many(x, GR_TILE_full, NULL, 0, attrs);
}

size_t
compose_range(struct composition *x, int64_t count)
{
    return compose_add(x, GR_TILE_arange, NO_NODE, NO_NODE, compose_int(x, "stop", count), NULL);
}
