/* Nodes in order by depth-first search, with a cycle named; names by hashing. */
#include "graph/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/text/buf.h"
#include "base/text/text.h"
#include "graph/node.h"
#include "graph/operators/nearest.h"

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

void
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

static granary_err
check_name(const Granary__Node *node, size_t position)
{
    granary_err err;

    if (node->name[0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "node %zu (%.40s) has no name", position + 1, node->op);
    }
    err = gr_text_check(node->name, strlen(node->name), "its name");
    return err == GRANARY_OK ? err : gr_fail_in(err, "node %zu (%.40s)", position + 1, node->op);
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
size_t
work_find(const struct work *work, const char *name)
{
    return work->by_name[name_slot(work, name)];
}

granary_err
work_no_node(const struct work *work, const char *name)
{
    struct gr_nearest nearest = {.name = name};
    char hint[GR_HINT_MAX];

    for (size_t i = 0; i < work->count; i++) {
        gr_nearest_offer(&nearest, work->message->nodes[i]->name);
    }
    return gr_fail(GRANARY_ENOENT, "there is no node '%.100s'%s", name, gr_nearest_hint(&nearest, hint));
}

granary_err
work_init(struct work *work, Granary__Graph *message)
{
    granary_err err;

    *work = (struct work){.message = message, .count = message->n_nodes};
    if (work->count == 0) {
        return gr_fail(GRANARY_EINVAL, "the graph has no nodes");
    }
    err = work_alloc(work);
    return err == GRANARY_OK ? enter_names(work) : err;
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
        if (input == WORK_OBJECT) {
            continue;
        }
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

granary_err
work_order(struct work *work)
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
            if (work->inputs[i][j] != WORK_OBJECT) {
                read[work->inputs[i][j]] = true;
            }
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
check_targets(const Granary__Graph *message)
{
    const char *repeated = NULL;
    granary_err err = find_repeated(message->targets, message->n_targets, &repeated);

    if (err == GRANARY_OK && repeated != NULL) {
        err = gr_fail(GRANARY_EINVAL, "target '%.100s' is named twice", repeated);
    }
    for (size_t i = 0; i < message->n_targets && err == GRANARY_OK; i++) {
        size_t length = strlen(message->targets[i]);

        if (length > GR_TARGET_MAX) {
            err = gr_fail(GRANARY_EINVAL, "target '%.100s...': its name has %zu bytes, at most %d are possible",
                          message->targets[i], length, GR_TARGET_MAX);
        }
    }
    return err;
}

granary_err
work_targets(struct work *work, size_t **ret_targets, size_t *ret_count)
{
    const Granary__Graph *message = work->message;
    granary_err err = message->n_targets == 0 ? choose_targets(work) : GRANARY_OK;
    size_t *targets;

    if (err == GRANARY_OK) {
        err = check_targets(message);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    targets = calloc(message->n_targets, sizeof *targets);
    if (targets == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < message->n_targets; i++) {
        size_t position = work_find(work, message->targets[i]);

        if (position == SIZE_MAX) {
            free(targets);
            return gr_fail_in(work_no_node(work, message->targets[i]), "target '%.100s'", message->targets[i]);
        }
        targets[i] = work->place_of[position];
    }
    *ret_targets = targets;
    *ret_count = message->n_targets;
    return GRANARY_OK;
}
