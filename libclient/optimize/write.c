/*
 * Steps as nodes. What a step has beyond the parameters of its node becomes nodes of its own:
 *
 *   filter     below it: a condition on that input
 *   select     below it: columns that it does not take, so that it does not move them
 *   head       above a sort: how many rows it keeps
 *   select     above sources, joins and concats: the columns that it yields. What other operators yield follows from
 *              what they take
 *
 * The step's name goes to its own node; of a target, to the last one.
 */
#include "optimize/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/memory/grow.h"

static granary_err
write_no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "writing the optimised graph: out of memory");
}

/* ---- names ---- */

static struct written_name *
place_of(const struct writer *w, const char *name)
{
    size_t at = gr_hash64(name, strlen(name)) & (w->name_room - 1);

    while (w->names[at].name != NULL && strcmp(w->names[at].name, name) != 0) {
        at = (at + 1) & (w->name_room - 1);
    }
    return &w->names[at];
}

static bool
grow_names(struct writer *w)
{
    struct writer larger = {.name_room = w->name_room == 0 ? 64 : 2 * w->name_room};

    larger.names = calloc(larger.name_room, sizeof *larger.names);
    for (size_t i = 0; larger.names != NULL && i < w->name_room; i++) {
        if (w->names[i].name != NULL) {
            *place_of(&larger, w->names[i].name) = w->names[i];
        }
    }
    if (larger.names != NULL) {
        free(w->names);
        w->names = larger.names;
        w->name_room = larger.name_room;
    }
    return larger.names != NULL;
}

/* Borrows the name. false: no memory */
static bool
take_name(struct writer *w, const char *name, size_t step)
{
    struct written_name *place;

    if (2 * (w->name_count + 1) > w->name_room && !grow_names(w)) {
        return false;
    }
    place = place_of(w, name);
    w->name_count += place->name == NULL;
    *place = (struct written_name){name, step};
    return true;
}

static bool
is_taken(const struct writer *w, const char *name)
{
    return w->name_room > 0 && place_of(w, name)->name != NULL;
}

size_t
steps_written_from(const struct writer *w, const char *name)
{
    return place_of(w, name)->step;
}

/* The step's name, with what else it is, and a number where others have that. To be freed. NULL: no memory */
static char *
make_name(const struct writer *w, size_t i, const char *what)
{
    const struct gr_step *step = &w->steps->steps[i];
    const char *base = step->is_target ? step->name : step->origin->name;
    size_t size = strlen(base) + (what == NULL ? 0 : strlen(what)) + 32;
    char *name = malloc(size);

    if (name == NULL) {
        return NULL;
    }
    (void)snprintf(name, size, what == NULL ? "%s" : "%s (%s)", base, what);
    for (size_t n = 2; is_taken(w, name) && !(what == NULL && step->is_target); n++) {
        (void)snprintf(name, size, what == NULL ? "%s%s (%zu)" : "%s (%s %zu)", base, what == NULL ? "" : what, n);
    }
    return name;
}

/* ---- nodes ---- */

static bool
add_input(Granary__Node *node, const char *name)
{
    char **inputs = realloc(node->inputs, (node->n_inputs + 1) * sizeof *inputs);
    char *copy = strdup(name);

    if (inputs != NULL) {
        node->inputs = inputs;
    }
    if (inputs == NULL || copy == NULL) {
        free(copy);
        return false;
    }
    inputs[node->n_inputs++] = copy;
    return true;
}

/* A node of a step, the last one of the graph. what: said behind the step's name; NULL: it has that very name if it can.
 * input: NULL: none yet. NULL: no memory */
static Granary__Node *
add_node(struct writer *w, size_t i, enum gr_tile_op op, const char *what, const char *input)
{
    Granary__Node *node = malloc(sizeof *node);
    bool good = node != NULL;

    if (good) {
        granary__node__init(node);
        node->name = make_name(w, i, what);
        node->op = strdup(gr_op_info(op)->name);
        good = node->name != NULL && node->op != NULL && (input == NULL || add_input(node, input)) &&
               gr_grow(&w->graph->nodes, &w->node_room, w->graph->n_nodes, sizeof(Granary__Node *)) &&
               take_name(w, node->name, i);
    }
    if (!good) {
        if (node != NULL) {
            granary__node__free_unpacked(node, NULL);
        }
        return NULL;
    }
    return w->graph->nodes[w->graph->n_nodes++] = node;
}

/* One over *name, with this attribute (*taken*), whose name then stands in *name. Errors: ENOMEM */
static granary_err
add_over(struct writer *w, size_t i, enum gr_tile_op op, const char *what, Granary__Attr *attr, const char **name)
{
    Granary__Node *node = attr == NULL ? NULL : add_node(w, i, op, what, *name);

    if (node == NULL) {
        granary__attr__free_unpacked(attr, NULL);
        return write_no_memory();
    }
    *name = node->name;
    return gr_node_give(node, attr);
}

static Granary__Attr *
list_columns(const struct gr_schema *schema, const bool *flags)
{
    char **names = malloc((schema->count + 1) * sizeof *names);
    Granary__Attr *attr = NULL;
    size_t count = 0;

    for (size_t c = 0; names != NULL && c < schema->count; c++) {
        if (flags[c]) {
            names[count++] = schema->fields[c].name;
        }
    }
    if (names != NULL) {
        attr = gr_attr_new_strings("columns", names, count);
    }
    free(names);
    return attr;
}

/* ---- a step ---- */

/* What stands below input k, and the step's node reads. */
static granary_err
write_input(struct writer *w, size_t i, size_t k, const bool *takes, const char **ret_name)
{
    const struct gr_step *step = &w->steps->steps[i];
    size_t from = step->body == NULL ? step->inputs[k] : k == 0 ? step->body->round : step->body->end;
    const char *name = w->tops[from];
    granary_err err = GRANARY_OK;

    if (k < 2 && step->where[k] != NULL) {
        err = add_over(w, i, GR_TILE_filter, "rows", gr_attr_new_expr("where", step->where[k]), &name);
    }
    if (err == GRANARY_OK && takes != NULL) {
        err = add_over(w, i, GR_TILE_select, "reads", list_columns(&w->steps->steps[from].type->schema, takes), &name);
    }
    *ret_name = name;
    return err;
}

/* Whether an input of a concat yields a column that the concat does not. */
static bool
concat_drops(const struct gr_steps *steps, const struct gr_step *step)
{
    for (size_t k = 0; k < step->input_count; k++) {
        const struct gr_step *input = &steps->steps[step->inputs[k]];

        for (size_t c = 0; c < input->type->schema.count; c++) {
            int at = gr_schema_find(&step->type->schema, input->type->schema.fields[c].name);

            if (gr_step_yields(input, c) && at >= 0 && !gr_step_yields(step, (size_t)at)) {
                return true;
            }
        }
    }
    return false;
}

/* What stands above the step's node. ret_attr: its parameter; NULL: nothing does, or no memory. */
static bool
has_above(const struct gr_steps *steps, const struct gr_step *step, struct written_join *join, enum gr_tile_op *ret_op,
          Granary__Attr **ret_attr)
{
    *ret_op = GR_TILE_select;
    if (step->op == GR_TILE_sort && step->limit != GR_STEP_NO_LIMIT) {
        *ret_op = GR_TILE_head;
        *ret_attr = gr_attr_new_int("rows", step->limit);
        return true;
    }
    if (step->op == GR_TILE_join && join->picks != NULL) {
        *ret_op = join->picks->n_keys > 0 ? GR_TILE_project : GR_TILE_select;
        *ret_attr = join->picks;
        join->picks = NULL;
        return true;
    }
    if (step->present != NULL && gr_step_width(step) < step->type->schema.count &&
        (gr_operator(step->op)->columns == GR_COLUMNS_SOURCE ||
         (step->op == GR_TILE_concat && concat_drops(steps, step)))) {
        *ret_attr = list_columns(&step->type->schema, step->present);
        return true;
    }
    return false;
}

/* The step's own node: its parameters as they are now. */
static granary_err
write_node(struct writer *w, size_t i, const char *what, struct written_join *join, const char *const *inputs,
           size_t input_count)
{
    const struct gr_step *step = &w->steps->steps[i];
    Granary__Node *node = add_node(w, i, step->op, what, NULL);
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);
    granary_err err = node == NULL ? write_no_memory() : GRANARY_OK;

    for (size_t k = 0; k < input_count && err == GRANARY_OK; k++) {
        err = add_input(node, inputs[k]) ? GRANARY_OK : write_no_memory();
    }
    for (size_t a = 0; a < count && err == GRANARY_OK; a++) {
        bool is_other = false;

        for (size_t o = 0; o < 2; o++) {
            is_other = is_other || (join->own[o] != NULL && strcmp(attrs[a]->name, join->own[o]->name) == 0);
        }
        err = is_other ? GRANARY_OK : gr_node_give(node, gr_attr_copy(attrs[a]));
    }
    for (size_t o = 0; o < 2 && err == GRANARY_OK; o++) {
        err = join->own[o] == NULL ? GRANARY_OK : gr_node_give(node, join->own[o]);
        join->own[o] = NULL;
    }
    w->tops[i] = node == NULL ? NULL : node->name;
    return err;
}

static granary_err
write_step(struct writer *w, size_t i)
{
    const struct gr_step *step = &w->steps->steps[i];
    size_t input_count = step->body == NULL ? step->input_count : 2;
    const char **inputs = calloc(input_count + 1, sizeof *inputs);
    struct written_join join = {.picks = NULL};
    enum gr_tile_op above = GR_TILE_select;
    Granary__Attr *attr = NULL;
    granary_err err = inputs == NULL ? write_no_memory() : GRANARY_OK;
    bool has = false;

    if (err == GRANARY_OK && step->op == GR_TILE_join) {
        err = steps_write_join(w->steps, i, &join);
    }
    for (size_t k = 0; k < input_count && err == GRANARY_OK; k++) {
        const bool *takes = k >= 2                     ? NULL
                            : step->op == GR_TILE_join ? (join.is_narrowed[k] ? join.takes[k] : NULL)
                                                       : step->narrow[k];

        err = write_input(w, i, k, takes, &inputs[k]);
    }
    if (err == GRANARY_OK) {
        has = has_above(w->steps, step, &join, &above, &attr);
        err = write_node(w, i, has && step->is_target ? gr_op_info(step->op)->name : NULL, &join, inputs, input_count);
    }
    if (err == GRANARY_OK && has) {
        err = add_over(w, i, above,
                       step->is_target         ? NULL
                       : above == GR_TILE_head ? "first"
                                               : "columns",
                       attr, &w->tops[i]);
        attr = NULL;
    }
    granary__attr__free_unpacked(attr, NULL);
    steps_write_join_end(&join);
    free(inputs);
    return err;
}

/* ---- all of them ---- */

/* Whatever rules have put into the place of a target, nobody else has its name. */
static granary_err
reserve_targets(struct writer *w)
{
    bool good = true;

    for (size_t t = 0; t < w->steps->target_count && good; t++) {
        good = take_name(w, w->steps->steps[w->steps->targets[t]].name, w->steps->targets[t]);
    }
    return good ? GRANARY_OK : write_no_memory();
}

static granary_err
write_targets(struct writer *w)
{
    const struct gr_steps *steps = w->steps;

    w->graph->targets = calloc(steps->target_count + 1, sizeof *w->graph->targets);
    for (size_t t = 0; w->graph->targets != NULL && t < steps->target_count; t++) {
        char *name = strdup(steps->steps[steps->targets[t]].name);

        if (name == NULL) {
            return write_no_memory();
        }
        w->graph->targets[w->graph->n_targets++] = name;
    }
    return w->graph->targets == NULL ? write_no_memory() : GRANARY_OK;
}

granary_err
steps_write(struct writer *w)
{
    granary_err err = GRANARY_OK;

    w->tops = calloc(w->steps->count + 1, sizeof *w->tops);
    w->graph = malloc(sizeof *w->graph);
    if (w->graph != NULL) {
        granary__graph__init(w->graph);
    }
    if (w->tops == NULL || w->graph == NULL) {
        return write_no_memory();
    }
    err = reserve_targets(w);
    for (size_t i = 0; i < w->steps->count && err == GRANARY_OK; i++) {
        if (!w->steps->steps[i].dead || w->steps->steps[i].inner) { /* what is within a recursion stands as it was */
            err = write_step(w, i);
        }
    }
    return err == GRANARY_OK ? write_targets(w) : err;
}

void
steps_write_end(struct writer *w)
{
    if (w->graph != NULL) {
        granary__graph__free_unpacked(w->graph, NULL);
    }
    free(w->tops);
    free(w->names);
}
