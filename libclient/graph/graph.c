/* The structure of a graph: names, inputs, order, targets. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"
#include "graph/nearest.h"
#include "graph/node.h"
#include "graph/ops.h"

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

/* What is worked on while a graph is made: positions are those of the message. */
struct work {
    Granary__Graph *message;
    size_t count;
    size_t *by_name;        /* positions by the hash of their name, open addressing; SIZE_MAX: free */
    size_t names_mask;      /* of by_name */
    int *ops;               /* by position */
    enum gr_yields *yields; /* by position */
    size_t **inputs;        /* by position: positions */
    size_t *order;          /* positions, inputs first */
    size_t *place_of;       /* by position: place in order */
};

static void
work_free(struct work *work)
{
    for (size_t i = 0; work->inputs != NULL && i < work->count; i++) {
        free(work->inputs[i]);
    }
    free(work->by_name);
    free(work->ops);
    free(work->yields);
    free(work->inputs);
    free(work->order);
    free(work->place_of);
}

static granary_err
work_alloc(struct work *work)
{
    size_t count = work->count;

    work->names_mask = 1;
    while (work->names_mask < count * 2) {
        work->names_mask = work->names_mask * 2 + 1;
    }
    work->by_name = malloc((work->names_mask + 1) * sizeof *work->by_name);
    work->ops = calloc(count, sizeof *work->ops);
    work->yields = calloc(count, sizeof *work->yields);
    work->inputs = calloc(count, sizeof *work->inputs);
    work->order = calloc(count, sizeof *work->order);
    work->place_of = calloc(count, sizeof *work->place_of);
    if (work->by_name != NULL) {
        memset(work->by_name, 0xff, (work->names_mask + 1) * sizeof *work->by_name);
    }
    return work->by_name == NULL || work->ops == NULL || work->yields == NULL || work->inputs == NULL ||
                   work->order == NULL || work->place_of == NULL
               ? out_of_memory()
               : GRANARY_OK;
}

/* ---- names ---- */

/* Where a name is, or where it would be put. */
static size_t
name_slot(const struct work *work, const char *name)
{
    size_t slot = gr_hash64(name, strlen(name)) & work->names_mask;

    while (work->by_name[slot] != SIZE_MAX && strcmp(work->message->nodes[work->by_name[slot]]->name, name) != 0) {
        slot = (slot + 1) & work->names_mask;
    }
    return slot;
}

static bool
has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            return true;
        }
    }
    return false;
}

static granary_err
check_name(const Granary__Node *node, size_t position)
{
    if (node->name[0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "node %zu (%.40s) has no name", position + 1, node->op);
    }
    if (!gr_is_utf8(node->name, strlen(node->name)) || has_control(node->name)) {
        return gr_fail(GRANARY_EINVAL, "node %zu (%.40s): its name is not UTF-8 text without control characters",
                       position + 1, node->op);
    }
    return GRANARY_OK;
}

static granary_err
enter_names(struct work *work)
{
    for (size_t i = 0; i < work->count; i++) {
        const Granary__Node *node = work->message->nodes[i];
        granary_err err = check_name(node, i);
        size_t slot;

        if (err != GRANARY_OK) {
            return err;
        }
        slot = name_slot(work, node->name);
        if (work->by_name[slot] != SIZE_MAX) {
            return node_fail(node, gr_fail(GRANARY_EINVAL, "an earlier node has the same name"));
        }
        work->by_name[slot] = i;
    }
    return GRANARY_OK;
}

/* Position of a node by name, or SIZE_MAX. */
static size_t
find_node(const struct work *work, const char *name)
{
    return work->by_name[name_slot(work, name)];
}

static granary_err
no_node(const struct work *work, const char *name)
{
    struct gr_nearest nearest = {.name = name};
    char hint[GR_HINT_MAX];

    for (size_t i = 0; i < work->count; i++) {
        gr_nearest_offer(&nearest, work->message->nodes[i]->name);
    }
    return gr_fail(GRANARY_ENOENT, "there is no node '%.100s'%s", name, gr_nearest_hint(&nearest, hint));
}

/* ---- nodes ---- */

static granary_err
find_op(const Granary__Node *node, int *ret_op)
{
    struct gr_nearest nearest = {.name = node->op};
    char hint[GR_HINT_MAX];
    int op = gr_op_find(node->op);

    if (op >= 0) {
        *ret_op = op;
        return GRANARY_OK;
    }
    if (node->op[0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "node '%.100s': it has no operator ('op')", node->name);
    }
    for (int i = 0; i < GR_TILE_COUNT; i++) {
        gr_nearest_offer(&nearest, gr_op_info((enum gr_tile_op)i)->name);
    }
    return node_fail(
        node, gr_fail(GRANARY_ENOENT, "there is no operator '%.60s'%s", node->op, gr_nearest_hint(&nearest, hint)));
}

/* Find the inputs of a node. */
static granary_err
resolve_inputs(struct work *work, size_t position)
{
    const Granary__Node *node = work->message->nodes[position];

    work->inputs[position] = calloc(node->n_inputs + 1, sizeof **work->inputs);
    if (work->inputs[position] == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < node->n_inputs; i++) {
        size_t input = find_node(work, node->inputs[i]);

        if (input == SIZE_MAX) {
            return no_node(work, node->inputs[i]);
        }
        work->inputs[position][i] = input;
    }
    return GRANARY_OK;
}

static granary_err
check_nodes(struct work *work)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < work->count && err == GRANARY_OK; i++) {
        err = find_op(work->message->nodes[i], &work->ops[i]);
    }
    for (size_t i = 0; i < work->count && err == GRANARY_OK; i++) {
        err = node_check(work->message->nodes[i], (enum gr_tile_op)work->ops[i]);
        if (err == GRANARY_OK) {
            err = resolve_inputs(work, i);
        }
        if (err != GRANARY_OK) {
            err = node_fail(work->message->nodes[i], err);
        }
    }
    return err;
}

/* ---- order ---- */

struct step {
    size_t position;
    size_t next; /* input to look at */
};

/* The steps from the one at `from` read one another in a circle. */
static granary_err
fail_cycle(const struct work *work, const struct step *steps, size_t from, size_t count)
{
    enum { SHOWN = 8 };
    const Granary__Node *first = work->message->nodes[steps[from].position];
    struct gr_buf path = {0};

    /* A step's input is the next step: told from the back, each node feeds the next one. */
    gr_buf_addf(&path, "%.60s", first->name);
    for (size_t i = count; i > from; i--) {
        if (count - i == SHOWN && i - from > 2) {
            gr_buf_addf(&path, " -> ...");
            i = from + 1;
        }
        gr_buf_addf(&path, " -> %.60s", work->message->nodes[steps[i - 1].position]->name);
    }
    (void)gr_fail(GRANARY_EINVAL, "it depends on its own result: %s", path.bytes == NULL ? "" : path.bytes);
    gr_buf_free(&path);
    return node_fail(first, GRANARY_EINVAL);
}

enum mark { NEW, OPEN, DONE };

/* Depth first without recursion: a chain may be a million nodes long. */
static granary_err
visit(struct work *work, size_t start, struct step *steps, unsigned char *marks, size_t *placed)
{
    size_t depth = 1;

    steps[0] = (struct step){.position = start};
    marks[start] = OPEN;
    while (depth > 0) {
        struct step *step = &steps[depth - 1];
        const Granary__Node *node = work->message->nodes[step->position];
        size_t input;

        if (step->next == node->n_inputs) {
            marks[step->position] = DONE;
            work->place_of[step->position] = *placed;
            work->order[(*placed)++] = step->position;
            depth--;
            continue;
        }
        input = work->inputs[step->position][step->next++];
        if (marks[input] == OPEN) {
            size_t from = depth - 1;

            while (steps[from].position != input) {
                from--;
            }
            return fail_cycle(work, steps, from, depth);
        }
        if (marks[input] == NEW) {
            marks[input] = OPEN;
            steps[depth++] = (struct step){.position = input};
        }
    }
    return GRANARY_OK;
}

static granary_err
order_nodes(struct work *work)
{
    struct step *steps = calloc(work->count, sizeof *steps);
    unsigned char *marks = calloc(work->count, 1);
    size_t placed = 0;
    granary_err err = steps == NULL || marks == NULL ? out_of_memory() : GRANARY_OK;

    for (size_t i = 0; i < work->count && err == GRANARY_OK; i++) {
        if (marks[i] == NEW) {
            err = visit(work, i, steps, marks, &placed);
        }
    }
    free(steps);
    free(marks);
    return err;
}

/* ---- what flows ---- */

static const char *
yields_text(enum gr_yields yields)
{
    static const char *const texts[] = {
        [GR_YIELDS_NONE] = "nothing",
        [GR_YIELDS_FRAME] = "a frame",
        [GR_YIELDS_TENSOR] = "a tensor",
        [GR_YIELDS_OBJECTS] = "objects",
    };

    return texts[yields];
}

/* The inputs of a node must yield what its operator works on. */
static granary_err
check_kind(struct work *work, size_t position)
{
    const Granary__Node *node = work->message->nodes[position];
    const struct gr_op_info *info = gr_op_info((enum gr_tile_op)work->ops[position]);
    const size_t *inputs = work->inputs[position];

    for (size_t i = 0; i < node->n_inputs; i++) {
        const char *op = work->message->nodes[inputs[i]]->op;
        enum gr_yields from = work->yields[inputs[i]];

        if ((info->yields == GR_YIELDS_FRAME || info->yields == GR_YIELDS_TENSOR) && from != info->yields) {
            return gr_fail(GRANARY_ETYPE, "it works on %s, but its input '%.100s' (%s) yields %s",
                           info->yields == GR_YIELDS_FRAME ? "frames" : "tensors", node->inputs[i], op,
                           yields_text(from));
        }
        if (info->yields != GR_YIELDS_NONE && from == GR_YIELDS_NONE) {
            return gr_fail(GRANARY_ETYPE, "it needs something to work on, but its input '%.100s' (%s) yields nothing",
                           node->inputs[i], op);
        }
    }
    work->yields[position] = info->yields == GR_YIELDS_SAME ? work->yields[inputs[0]] : info->yields;
    return GRANARY_OK;
}

static granary_err
check_kinds(struct work *work)
{
    granary_err err = GRANARY_OK;

    for (size_t place = 0; place < work->count && err == GRANARY_OK; place++) {
        err = check_kind(work, work->order[place]);
        if (err != GRANARY_OK) {
            err = node_fail(work->message->nodes[work->order[place]], err);
        }
    }
    return err;
}

/* ---- targets ---- */

/* Without targets: the nodes nobody reads. */
static granary_err
choose_targets(struct work *work)
{
    Granary__Graph *message = work->message;
    bool *read = calloc(work->count, sizeof *read);
    char **targets = calloc(work->count, sizeof *targets);
    granary_err err = GRANARY_OK;

    if (read == NULL || targets == NULL) {
        free(read);
        free(targets);
        return out_of_memory();
    }
    for (size_t i = 0; i < work->count; i++) {
        for (size_t j = 0; j < message->nodes[i]->n_inputs; j++) {
            read[work->inputs[i][j]] = true;
        }
    }
    free(message->targets);
    message->targets = targets;
    for (size_t i = 0; i < work->count && err == GRANARY_OK; i++) {
        if (!read[i]) {
            err =
                (targets[message->n_targets] = strdup(message->nodes[i]->name)) == NULL ? out_of_memory() : GRANARY_OK;
            message->n_targets += err == GRANARY_OK;
        }
    }
    free(read);
    return err;
}

static granary_err
resolve_targets(struct work *work, struct gr_graph *graph)
{
    const Granary__Graph *message = work->message;
    const char *repeated = NULL;
    granary_err err = find_repeated(message->targets, message->n_targets, &repeated);

    if (err != GRANARY_OK) {
        return err;
    }
    if (repeated != NULL) {
        return gr_fail(GRANARY_EINVAL, "target '%.100s' is named twice", repeated);
    }
    graph->targets = calloc(message->n_targets, sizeof *graph->targets);
    if (graph->targets == NULL) {
        return out_of_memory();
    }
    graph->target_count = message->n_targets;
    for (size_t i = 0; i < message->n_targets; i++) {
        size_t position = find_node(work, message->targets[i]);

        if (position == SIZE_MAX) {
            return gr_fail_in(no_node(work, message->targets[i]), "target '%.100s'", message->targets[i]);
        }
        if (work->ops[position] == GR_TILE_object) {
            return node_fail(work->message->nodes[position],
                             gr_fail(GRANARY_EINVAL, "its objects are there already: it cannot be a target"));
        }
        graph->targets[i] = work->place_of[position];
    }
    return GRANARY_OK;
}

/* ---- the whole ---- */

/* Move what was found into the graph, in order. */
static granary_err
fill_nodes(struct work *work, struct gr_graph *graph)
{
    graph->nodes = calloc(work->count, sizeof *graph->nodes);
    if (graph->nodes == NULL) {
        return out_of_memory();
    }
    graph->count = work->count;
    for (size_t place = 0; place < work->count; place++) {
        size_t position = work->order[place];
        struct gr_graph_node *node = &graph->nodes[place];

        node->node = work->message->nodes[position];
        node->op = work->ops[position];
        node->yields = work->yields[position];
        node->input_count = node->node->n_inputs;
        node->inputs = work->inputs[position];
        for (size_t i = 0; i < node->input_count; i++) {
            node->inputs[i] = work->place_of[node->inputs[i]];
        }
        work->inputs[position] = NULL;
    }
    return GRANARY_OK;
}

static granary_err
build(struct work *work, struct gr_graph *graph)
{
    granary_err err;

    if (work->count == 0) {
        return gr_fail(GRANARY_EINVAL, "the graph has no nodes");
    }
    if ((err = work_alloc(work)) != GRANARY_OK || (err = enter_names(work)) != GRANARY_OK ||
        (err = check_nodes(work)) != GRANARY_OK || (err = order_nodes(work)) != GRANARY_OK ||
        (err = check_kinds(work)) != GRANARY_OK) {
        return err;
    }
    if (work->message->n_targets == 0 && (err = choose_targets(work)) != GRANARY_OK) {
        return err;
    }
    err = resolve_targets(work, graph);
    return err == GRANARY_OK ? fill_nodes(work, graph) : err;
}

granary_err
gr_graph_create(Granary__Graph *message, struct gr_graph **ret_graph)
{
    struct work work = {.message = message, .count = message->n_nodes};
    struct gr_graph *graph = calloc(1, sizeof *graph);
    granary_err err = graph == NULL ? out_of_memory() : build(&work, graph);

    work_free(&work);
    if (err != GRANARY_OK) {
        gr_graph_destroy(graph);
        return err;
    }
    graph->message = message;
    *ret_graph = graph;
    return GRANARY_OK;
}

void
gr_graph_destroy(struct gr_graph *graph)
{
    if (graph == NULL) {
        return;
    }
    for (size_t i = 0; graph->nodes != NULL && i < graph->count; i++) {
        free(graph->nodes[i].inputs);
        gr_schema_free(&graph->nodes[i].type.schema);
    }
    free(graph->nodes);
    free(graph->targets);
    if (graph->message != NULL) {
        granary__graph__free_unpacked(graph->message, NULL);
    }
    free(graph);
}
