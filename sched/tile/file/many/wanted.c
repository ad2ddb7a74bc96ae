/*
 * Which files filters of the graph want, before types are known, for those come from the files. A filter is found above
 * the node, or above renames and selects there. Conditions elsewhere are tried when the step is tiled.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tile/file/many/own.h"

#define CONDITIONS_MOST 32 /* one above the other */

struct walk {
    const struct many *many;
    const struct gr_graph *graph;
    bool *wanted;
    const struct gr_expr *where[CONDITIONS_MOST];
    const char **names[CONDITIONS_MOST]; /* of hive's keys, where each condition stands */
    size_t count;
};

/* Flag the files that none of the conditions excludes. */
static void
want(const struct walk *walk)
{
    const struct gr_hive *hive = &walk->many->partition.hive;

    for (size_t f = 0; f < hive->files; f++) {
        bool excluded = false;

        for (size_t c = 0; c < walk->count && !excluded; c++) {
            excluded = gr_partition_excludes(&walk->many->partition, f, walk->names[c], walk->where[c]);
        }
        walk->wanted[f] = walk->wanted[f] || !excluded;
    }
}

/* The names of the keys above a rename. To be freed; NULL: no memory */
static const char **
renamed(const struct walk *walk, const Granary__Attr *columns, const char *const *names)
{
    const char **made = calloc(walk->many->partition.hive.count + 1, sizeof *made);

    for (size_t k = 0; made != NULL && k < walk->many->partition.hive.count; k++) {
        made[k] = names[k];
        for (size_t i = 0; i < columns->n_keys && names[k] != NULL; i++) {
            if (strcmp(columns->keys[i], names[k]) == 0) {
                made[k] = columns->strings[i];
            }
        }
    }
    return made;
}

static bool
is_target(const struct gr_graph *graph, const struct gr_node *node)
{
    bool is = false;

    for (size_t t = 0; t < graph->target_count && !is; t++) {
        is = graph->targets[t] == node->position;
    }
    return is;
}

static granary_err climb(struct walk *walk, const struct gr_node *node, const char **names);

static granary_err
climb_reader(struct walk *walk, const struct gr_node *reader, const char **names)
{
    const struct gr_expr *where = NULL;
    const char **above;
    granary_err err;

    if (reader->op == GR_TILE_filter && walk->count < CONDITIONS_MOST &&
        gr_trees_find(reader->trees, GR_NODE_PARAMS(filter, reader->node)->where, &where) == GRANARY_OK) {
        walk->where[walk->count] = where;
        walk->names[walk->count++] = names;
        err = climb(walk, reader, names);
        walk->count--;
        return err;
    }
    if (reader->op == GR_TILE_select) {
        return climb(walk, reader, names);
    }
    if (reader->op == GR_TILE_rename) {
        above = renamed(walk, GR_NODE_PARAMS(rename, reader->node)->columns, names);
        err = above == NULL ? tile_no_memory() : climb(walk, reader, above);
        free(above);
        return err;
    }
    want(walk);
    return GRANARY_OK;
}

/* All who read the node. */
static granary_err
climb(struct walk *walk, const struct gr_node *node, const char **names)
{
    bool is_read = false;
    granary_err err = GRANARY_OK;

    for (size_t r = node->position + 1; r < walk->graph->count && err == GRANARY_OK; r++) {
        const struct gr_node *reader = walk->graph->nodes[r];

        for (size_t k = 0; k < reader->input_count && err == GRANARY_OK; k++) {
            if (reader->inputs[k] == node) {
                is_read = true;
                err = climb_reader(walk, reader, names);
            }
        }
    }
    if (!is_read || is_target(walk->graph, node)) {
        want(walk);
    }
    return err;
}

granary_err
many_wanted(const struct many *many, const struct gr_node *node, const struct gr_graph *graph, bool *wanted)
{
    struct walk walk = {.many = many, .graph = graph, .wanted = wanted};
    const char **names = calloc(many->partition.hive.count + 1, sizeof *names);
    granary_err err;

    for (size_t k = 0; names != NULL && k < many->partition.hive.count; k++) {
        names[k] = many->partition.hive.keys[k];
    }
    err = names == NULL ? tile_no_memory() : climb(&walk, node, names);
    free(names);
    return err;
}
