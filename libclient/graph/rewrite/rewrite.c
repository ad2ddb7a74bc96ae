/* Nodes appended to a graph in place of one, and names for them. */
#include "graph/rewrite/rewrite.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "base/text/buf.h"
#include "graph/node.h"
#include "graph/rewrite/private.h"

struct gr_node *
rewrite_no_memory(struct rewrite *x)
{
    if (x->err == GRANARY_OK) {
        x->err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    return x->node;
}

struct gr_node *
rewrite_fail(struct rewrite *x, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (x->err == GRANARY_OK) {
        x->err = gr_fail(GRANARY_EINVAL, "%s", text);
    }
    return x->node;
}

/* ---- nodes ---- */

/* "NODE: PART", or "NODE:3" for the third without a name. */
static char *
part_name(const struct rewrite *x, const char *part)
{
    const char *user = x->node->node->name;
    char *name;
    int size = part != NULL ? asprintf(&name, "%s: %s", user, part)
                            : asprintf(&name, "%s:%zu", user, x->graph->count - x->first + 1);

    return size < 0 ? NULL : name;
}

/* A message with the parameters that were set; these are taken in any case. NULL: no memory. */
static Granary__Node *
make_message(struct rewrite *x, const char *part, enum gr_tile_op op, struct gr_node *const *inputs, size_t count)
{
    Granary__Node *message = malloc(sizeof *message);
    bool complete;

    if (message == NULL) {
        attrs_free(&x->set);
        return NULL;
    }
    granary__node__init(message);
    message->attrs = x->set.attrs;
    message->n_attrs = x->set.count;
    x->set = (struct gr_attrs){0};
    message->name = part_name(x, part);
    message->op = strdup(gr_op_info(op)->name);
    message->inputs = calloc(count + 1, sizeof *message->inputs);
    complete = message->name != NULL && message->op != NULL && message->inputs != NULL;
    for (size_t k = 0; k < count && complete; k++) {
        message->inputs[k] = strdup(inputs[k]->node->name);
        message->n_inputs += message->inputs[k] != NULL;
        complete = message->inputs[k] != NULL;
    }
    if (!complete) {
        granary__node__free_unpacked(message, NULL);
        return NULL;
    }
    return message;
}

/* The node, checked and with its type, behind all that were added before it. */
static struct gr_node *
append_node(struct rewrite *x, const char *part, enum gr_tile_op op, struct gr_node *const *inputs, size_t count)
{
    Granary__Node *message = x->err == GRANARY_OK ? make_message(x, part, op, inputs, count) : NULL;
    struct gr_node *node = message == NULL ? NULL : graph_make_node(x->graph, message, op, count);

    if (node == NULL) {
        attrs_free(&x->set);
        granary__node__free_unpacked(message, NULL);
        (void)rewrite_no_memory(x);
        return x->node;
    }
    node->own = message;
    if (count > 0) {
        memcpy(node->inputs, inputs, count * sizeof(struct gr_node *));
    }
    x->err = node_check(message, op, &x->graph->trees);
    if (x->err == GRANARY_OK && !x->is_trial) {
        x->err = node_settle(x->graph, node);
    }
    if (x->err == GRANARY_OK && !graph_append(x->graph, node)) {
        (void)rewrite_no_memory(x);
    }
    return node;
}

struct gr_node *
rewrite_add_many(struct rewrite *x, enum gr_tile_op op, struct gr_node *const *inputs, size_t count)
{
    return append_node(x, NULL, op, inputs, count);
}

struct gr_node *
rewrite_part(struct rewrite *x, const char *part, enum gr_tile_op op, struct gr_node *a, struct gr_node *b,
             Granary__Attr *first, Granary__Attr *second)
{
    struct gr_node *inputs[2] = {a, b};

    rewrite_set(x, first);
    rewrite_set(x, second);
    return append_node(x, part, op, inputs, (size_t)(a != NULL) + (b != NULL));
}

struct gr_node *
rewrite_add(struct rewrite *x, enum gr_tile_op op, struct gr_node *a, struct gr_node *b, Granary__Attr *first,
            Granary__Attr *second)
{
    return rewrite_part(x, NULL, op, a, b, first, second);
}

/* ---- the whole ---- */

static void
rewrite_free(struct rewrite *x)
{
    for (size_t i = 0; i < x->text_count; i++) {
        free(x->texts[i]);
    }
    free(x->texts);
    free(x->map.keys);
    free(x->map.values);
    attrs_free(&x->set);
}

static bool
rename_message(Granary__Node *message, const char *name)
{
    char *copy = strdup(name);

    if (copy != NULL) {
        free(message->name);
        message->name = copy;
    }
    return copy != NULL;
}

/*
 * The last node takes the place; where an input or an earlier one is the result, a view of it does. An operator that is
 * just another one is still shown as the user wrote it.
 */
static void
take_place(struct rewrite *x, struct gr_node *last)
{
    struct gr_node *place = x->node;

    if (last != x->graph->nodes[x->graph->count - 1] || last->own == NULL) {
        last = rewrite_reshape(x, last, last->type.shape, (size_t)last->type.dims);
    }
    if (x->err != GRANARY_OK || !rename_message(last->own, place->node->name) ||
        !rename_message(last->node, last->own->name)) {
        (void)rewrite_no_memory(x);
        return;
    }
    x->graph->count--;
    free(place->inputs);
    place->node = last->node;
    place->shown = x->graph->count == x->first ? place->shown : last->shown;
    place->op = last->op;
    place->limit = last->limit;
    place->input_count = last->input_count;
    place->inputs = last->inputs;
    place->type = last->type;
    last->inputs = NULL;
    last->type = (struct gr_node_type){.known = false};
}

granary_err
gr_rewrite(struct gr_graph *graph, struct gr_node *node, bool *ret_stays)
{
    struct rewrite x = {
        .graph = graph, .node = node, .params = gr_node_params(node), .first = graph->count, .err = GRANARY_OK};
    struct gr_node *last = gr_part_is_written(node)      ? rewrite_as_part(&x)
                           : gr_complex_is_written(node) ? rewrite_complex(&x)
                                                         : gr_operator((enum gr_tile_op)node->op)->rewrite(&x);

    *ret_stays = x.err == GRANARY_OK && last == node;
    if (x.err == GRANARY_OK && last != node) {
        take_place(&x, last);
    }
    rewrite_free(&x);
    return x.err;
}

granary_err
gr_rewrite_try(struct gr_node *node)
{
    struct gr_graph trial = {0};
    struct rewrite x = {
        .graph = &trial, .node = node, .params = gr_node_params(node), .is_trial = true, .err = GRANARY_OK};

    (void)gr_operator((enum gr_tile_op)node->op)->rewrite(&x);
    rewrite_free(&x);
    graph_free_nodes(&trial);
    return x.err;
}
