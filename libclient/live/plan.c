/* Graphs of a live query, cut out of the SELECT's. */
#include "live/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "client/builder.h"
#include "graph/copy.h"
#include "graph/graph.h"
#include "graph/operators/aggregate.h"

#define NOT_FOUND SIZE_MAX

/* ---- the graph ---- */

static size_t
node_named(const Granary__Graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (strcmp(graph->nodes[i]->name, name) == 0) {
            return i;
        }
    }
    return NOT_FOUND;
}

static const char *
text_of(const Granary__Node *node, const char *name, const char *otherwise)
{
    return gr_attr_string(node->attrs, node->n_attrs, name, otherwise);
}

/* The only node that reads a node's rows, and as which input. NOT_FOUND: none, or several, or it is a target, too. */
static size_t
reader_of(const Granary__Graph *graph, size_t at, size_t *ret_input)
{
    const char *name = graph->nodes[at]->name;
    size_t reader = NOT_FOUND, count = 0;

    for (size_t i = 0; i < graph->n_nodes; i++) {
        for (size_t k = 0; k < graph->nodes[i]->n_inputs; k++) {
            if (strcmp(graph->nodes[i]->inputs[k], name) == 0) {
                reader = i;
                *ret_input = k;
                count++;
            }
        }
    }
    for (size_t i = 0; i < graph->n_targets; i++) {
        count += strcmp(graph->targets[i], name) == 0;
    }
    return count == 1 ? reader : NOT_FOUND;
}

/* Whether rows that are added to an input add rows to what a node gives, and change none. */
static bool
adds_rows(const Granary__Node *node, size_t input)
{
    static const char *const ops[] = {"filter", "assign", "project", "select", "rename"};

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(node->op, ops[i]) == 0) {
            return true;
        }
    }
    if (strcmp(node->op, "join") == 0 && gr_attr_find(node->attrs, node->n_attrs, "validate") == NULL) {
        const char *how = text_of(node, "how", "inner");
        const bool is_left = strcmp(how, "left") == 0 || strcmp(how, "semi") == 0 || strcmp(how, "anti") == 0;

        return strcmp(how, "inner") == 0 || strcmp(how, "cross") == 0 || (is_left && input == 0);
    }
    return false;
}

/* Whether groups can be added to, in a room that does not grow with the rows. */
static bool
adds_groups(const Granary__Node *node)
{
    struct gr_aggregate *aggregates = NULL;
    size_t count = 0;
    bool adds;

    if (strcmp(node->op, "groupby") != 0) {
        return false;
    }
    adds =
        gr_aggregates_parse(gr_attr_find(node->attrs, node->n_attrs, "aggregate"), &aggregates, &count) == GRANARY_OK;
    for (size_t i = 0; adds && i < count; i++) {
        adds = !gr_aggregate_keeps_values(aggregates[i].function) && !gr_aggregate_is_rows(&aggregates[i]);
    }
    gr_aggregates_free(aggregates, count);
    return adds;
}

void
live_plan_make(Granary__Graph *graph, const bool *grows, struct live_plan *ret_plan)
{
    struct live_plan plan = {.how = GRANARY_LIVE_WHOLE, .graph = graph, .table = NOT_FOUND};
    size_t count = 0, at, input = 0;

    for (size_t i = 0; i < graph->n_nodes; i++) {
        count += grows[i];
        plan.table = grows[i] && plan.table == NOT_FOUND ? i : plan.table;
    }
    if (count == 1) {
        for (at = plan.table; plan.how == GRANARY_LIVE_WHOLE;) {
            const size_t reader = reader_of(graph, at, &input);

            if (reader == NOT_FOUND) { /* the target, or what several look at */
                plan.how = strcmp(graph->nodes[at]->name, graph->targets[0]) == 0 && graph->n_targets == 1
                               ? GRANARY_LIVE_ROWS
                               : plan.how;
                break;
            }
            if (adds_groups(graph->nodes[reader])) {
                plan.how = GRANARY_LIVE_GROUPS;
                plan.group = reader;
            } else if (!adds_rows(graph->nodes[reader], input)) {
                break;
            }
            at = reader;
        }
    }
    *ret_plan = plan;
}

void
live_plan_free(struct live_plan *plan)
{
    granary__graph__free_unpacked(plan->graph, NULL);
    plan->graph = NULL;
}

const char *
live_plan_input_name(const struct live_plan *plan)
{
    return plan->graph->nodes[plan->group]->inputs[0];
}

/* ---- copies ---- */

/* Nodes that a node needs, and itself. */
static void
mark_needed(const Granary__Graph *graph, size_t at, bool *needed)
{
    if (at == NOT_FOUND || needed[at]) {
        return;
    }
    needed[at] = true;
    for (size_t i = 0; i < graph->nodes[at]->n_inputs; i++) {
        mark_needed(graph, node_named(graph, graph->nodes[at]->inputs[i]), needed);
    }
}

/* A node becomes one that reads rows of a table. */
static granary_err
read_rows(Granary__Node *node, const struct live_rows *rows)
{
    char **texts = NULL;
    granary_err err = GRANARY_OK;

    if (rows->ids == NULL) {
        return gr_node_give(node, gr_attr_new_int("time", rows->time));
    }
    for (size_t i = 0; i < node->n_inputs; i++) {
        free(node->inputs[i]);
    }
    for (size_t i = 0; i < node->n_attrs; i++) {
        granary__attr__free_unpacked(node->attrs[i], NULL);
    }
    node->n_inputs = node->n_attrs = 0;
    free(node->op);
    node->op = strdup("table");
    texts = calloc(rows->count + 1, sizeof *texts);
    err = node->op == NULL || texts == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    for (size_t i = 0; err == GRANARY_OK && i < rows->count; i++) {
        texts[i] = malloc(GRANARY_ID_TEXT + 1);
        if (texts[i] == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "out of memory");
        } else {
            granary_id_format(rows->ids[i], texts[i]);
        }
    }
    err = err == GRANARY_OK ? gr_node_give(node, gr_attr_new_strings("ids", texts, rows->count)) : err;
    for (size_t i = 0; texts != NULL && i < rows->count; i++) {
        free(texts[i]);
    }
    free(texts);
    return err;
}

/* The SELECT's graph with another target, or NULL for its own, of which some node reads rows; without what is not needed. */
static granary_err
cut_out(const struct live_plan *plan, const char *target, size_t at, const struct live_rows *rows,
        granary_graph **ret_graph)
{
    granary_graph *graph = granary_graph_create();
    bool *needed = calloc(plan->graph->n_nodes + 1, sizeof *needed);
    Granary__Graph *copy = gr_message_copy(&plan->graph->base), *message = NULL;
    granary_err err = GRANARY_OK;

    if (graph == NULL || copy == NULL || needed == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = err == GRANARY_OK ? gr_builder_open(graph, &message) : err;
    err = err == GRANARY_OK ? read_rows(copy->nodes[at], rows) : err;
    if (err == GRANARY_OK && target != NULL) {
        free(copy->targets[0]);
        copy->targets[0] = strdup(target);
        err = copy->targets[0] == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        size_t kept = 0;

        mark_needed(copy, node_named(copy, copy->targets[0]), needed);
        for (size_t i = 0; i < copy->n_nodes; i++) {
            if (needed[i]) {
                copy->nodes[kept++] = copy->nodes[i];
            } else {
                granary__node__free_unpacked(copy->nodes[i], NULL);
            }
        }
        /* The builder owns its lists by itself, as these are. */
        message->nodes = copy->nodes;
        message->n_nodes = kept;
        message->targets = copy->targets;
        message->n_targets = copy->n_targets;
        copy->nodes = NULL;
        copy->targets = NULL;
        copy->n_nodes = copy->n_targets = 0;
        *ret_graph = graph;
        graph = NULL;
    }
    if (copy != NULL) {
        granary__graph__free_unpacked(copy, NULL);
    }
    granary_graph_destroy(graph);
    free(needed);
    return err;
}

granary_err
live_plan_whole(const struct live_plan *plan, const bool *grows, const struct live_rows *rows,
                granary_graph **ret_graph)
{
    Granary__Graph *message;
    granary_err err = cut_out(plan, NULL, plan->table, rows, ret_graph);

    err = err == GRANARY_OK ? gr_builder_open(*ret_graph, &message) : err;
    for (size_t i = 0; err == GRANARY_OK && i < plan->graph->n_nodes; i++) {
        const size_t at = i == plan->table || !grows[i] ? NOT_FOUND : node_named(message, plan->graph->nodes[i]->name);

        if (at != NOT_FOUND) {
            err = read_rows(message->nodes[at], rows);
        }
    }
    return err;
}

granary_err
live_plan_input(const struct live_plan *plan, const struct live_rows *rows, granary_graph **ret_graph)
{
    return cut_out(plan, live_plan_input_name(plan), plan->table, rows, ret_graph);
}

granary_err
live_plan_rest(const struct live_plan *plan, granary_id done, granary_graph **ret_graph)
{
    const struct live_rows rows = {.ids = &done, .count = 1};

    return cut_out(plan, NULL, plan->group, &rows, ret_graph);
}

/* ---- groups ---- */

/* A node of a chunk graph gets some of the groupby's parameters. */
static granary_err
copy_attrs(const struct live_plan *plan, Granary__Graph *message, granary_node node, const char *const *names)
{
    const Granary__Node *group = plan->graph->nodes[plan->group];
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && names[i] != NULL; i++) {
        const Granary__Attr *attr = gr_attr_find(group->attrs, group->n_attrs, names[i]);

        err = attr == NULL ? GRANARY_OK : gr_node_give(message->nodes[node], gr_attr_copy(attr));
    }
    return err;
}

granary_err
live_plan_groups(const struct live_plan *plan, const granary_id *frames, size_t count, granary_id known,
                 granary_graph **ret_graph)
{
    static const char *const merged[] = {"keys", "aggregate", "dropna", NULL};
    static const char *const finished[] = {"keys", "aggregate", "dropna", "sort", NULL};
    granary_graph *graph = granary_graph_create();
    granary_node merge = GRANARY_NO_NODE, map, final;
    Granary__Graph *message = NULL;
    granary_err err = graph == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    if (err == GRANARY_OK) {
        granary_graph_set_level(graph, GRANARY_LEVEL_CHUNK);
        map = granary_graph_add(graph, "new", "groupby_map", NULL, 0);
        merge = granary_graph_add(graph, LIVE_KNOWN, "groupby_merge", NULL, 0);
        final = granary_graph_add(graph, LIVE_DONE, "groupby_final", NULL, 0);
        for (size_t i = 0; i < count; i++) {
            granary_node_add_object(graph, map, frames[i]);
        }
        if (!gr_id_is_zero(known)) { /* first: the order of rows is that of their writes */
            granary_node_add_object(graph, merge, known);
        }
        granary_node_add_output(graph, merge, map, 0);
        granary_node_add_output(graph, final, merge, 0);
        granary_graph_target(graph, merge);
        granary_graph_target(graph, final);
        err = gr_builder_open(graph, &message);
        err = err == GRANARY_OK ? copy_attrs(plan, message, map, merged) : err;
        err = err == GRANARY_OK ? copy_attrs(plan, message, merge, merged) : err;
        err = err == GRANARY_OK ? copy_attrs(plan, message, final, finished) : err;
    }
    if (err != GRANARY_OK) {
        granary_graph_destroy(graph);
        return err;
    }
    *ret_graph = graph;
    return GRANARY_OK;
}
