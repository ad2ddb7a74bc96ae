/*
 * Tables that change, of a graph: those that are read without a time are cut at the same moment. A snapshot of each goes
 * with this client until the graph keeps it: neither delete nor seal nor given up history takes from a graph that waits.
 */
#include "client/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "granary/mutable.h"
#include "graph/graph.h"
#include "mutable/source.h"

struct fixed {
    Granary__Node **nodes;
    granary_mutable **tables;
    size_t count;
    granary_mutable **unfixed; /* of tables: those without a time */
    size_t unfixed_count;
    struct gr_snapshots *snapshots; /* NULL: none are made */
};

static void
fixed_end(struct fixed *fixed)
{
    for (size_t i = 0; i < fixed->count; i++) {
        granary_mutable_close(fixed->tables[i]);
    }
    free(fixed->nodes);
    free(fixed->tables);
    free(fixed->unfixed);
}

/* ---- parameters ---- */

static const char *
text_of(const Granary__Node *node, const char *name)
{
    return gr_attr_string(node->attrs, node->n_attrs, name, NULL);
}

static bool
has(const Granary__Node *node, const char *name)
{
    return gr_attr_find(node->attrs, node->n_attrs, name) != NULL;
}

/* ---- one moment ---- */

/* The table of a node's name, when it is a mutable or sealed one; else the name is for the scheduler. */
static granary_err
open_named(granary_client *client, Granary__Node *node, struct fixed *fixed)
{
    const char *name = text_of(node, "name");
    const bool is_fixed = has(node, "version"); /* it was cut before; an executor tells when it has gone since */
    granary_mutable *table = NULL;
    granary_err err;

    if (name == NULL || (is_fixed && fixed->snapshots == NULL)) {
        return GRANARY_OK;
    }
    err = strlen(name) > GRANARY_TEXT_MAX ? GRANARY_ENOENT : granary_table_open(client, name, &table);
    if (err == GRANARY_ENOENT || err == GRANARY_ETYPE) {
        return has(node, "time") && !is_fixed ? err : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        fixed->nodes[fixed->count] = node;
        fixed->tables[fixed->count++] = table;
        if (!has(node, "time")) {
            fixed->unfixed[fixed->unfixed_count++] = table;
        }
    }
    return err;
}

/* The moment of now; of tables that nobody has written yet, too. */
static granary_err
cut_unfixed(const struct fixed *fixed, int64_t *ret_time)
{
    granary_err err;

    *ret_time = GRANARY_NOW;
    err = granary_cut(fixed->unfixed, fixed->unfixed_count, ret_time);
    if (err == GRANARY_OK && *ret_time == GRANARY_NOW) {
        *ret_time = GRANARY_NOW + 1;
        err = granary_cut(fixed->unfixed, fixed->unfixed_count, ret_time);
    }
    return err;
}

/* Cut at the node's own time, or at `now`, which is final. */
static granary_err
fix_node(Granary__Node *node, granary_mutable *table, int64_t now)
{
    char version[GRANARY_ID_TEXT + 1];
    int64_t time = gr_attr_int(node->attrs, node->n_attrs, "time", now);
    granary_err err =
        has(node, "time") ? granary_cut(&table, 1, &time) : gr_node_give(node, gr_attr_new_int("time", now));

    granary_id_format(table->id, version);
    return err == GRANARY_OK ? gr_node_give(node, gr_attr_new_string("version", version)) : err;
}

/* ---- snapshots ---- */

/* A snapshot of the table as the node reads it; of another table that has got its name there is none. */
static granary_err
snapshot_node(struct gr_snapshots *snapshots, Granary__Node *node, granary_mutable *table)
{
    Granary__StoredTable *told = &snapshots->tables[snapshots->count];
    char version[GRANARY_ID_TEXT + 1];
    granary_id *id = &snapshots->ids[snapshots->count];
    granary_err err;

    granary_id_format(table->id, version);
    if (strcmp(text_of(node, "version"), version) != 0) {
        return GRANARY_OK;
    }
    err = source_snapshot(table, gr_attr_int(node->attrs, node->n_attrs, "time", 0), id);
    if (err == GRANARY_OK) {
        granary__stored_table__init(told);
        told->node = node->name;
        told->snapshot = (ProtobufCBinaryData){.data = id->bytes, .len = sizeof id->bytes};
        snapshots->told[snapshots->count++] = told;
    }
    return err;
}

static granary_err
snapshots_make(struct gr_snapshots *snapshots, const struct fixed *fixed)
{
    granary_err err = GRANARY_OK;

    snapshots->ids = calloc(fixed->count, sizeof *snapshots->ids);
    snapshots->tables = calloc(fixed->count, sizeof *snapshots->tables);
    snapshots->told = calloc(fixed->count, sizeof(Granary__StoredTable *));
    if (snapshots->ids == NULL || snapshots->tables == NULL || snapshots->told == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < fixed->count && err == GRANARY_OK; i++) {
        err = snapshot_node(snapshots, fixed->nodes[i], fixed->tables[i]);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "node '%.100s' (table)", fixed->nodes[i]->name);
    }
    return err;
}

void
gr_snapshots_end(granary_client *client, struct gr_snapshots *snapshots, bool kept)
{
    char *message = snapshots->count == 0 ? NULL : strdup(granary_error_message());

    for (size_t i = 0; i < snapshots->count; i++) {
        /* Either finds none when the graph has ended. */
        (void)(kept ? source_keep(client, snapshots->ids[i]) : granary_object_delete(client, snapshots->ids[i], 0));
    }
    if (message != NULL) { /* that of the submission stays */
        gr_fail_message("%s", message);
    }
    free(message);
    free(snapshots->ids);
    free(snapshots->tables);
    free(snapshots->told);
    *snapshots = (struct gr_snapshots){.count = 0};
}

/* ---- all of it ---- */

granary_err
tables_fix(granary_client *client, Granary__Graph *graph, struct gr_snapshots *snapshots)
{
    struct fixed fixed = {.nodes = calloc(graph->n_nodes + 1, sizeof(Granary__Node *)),
                          .tables = calloc(graph->n_nodes + 1, sizeof(granary_mutable *)),
                          .unfixed = calloc(graph->n_nodes + 1, sizeof(granary_mutable *)),
                          .snapshots = snapshots};
    int64_t now = GRANARY_NOW;
    granary_err err = fixed.nodes == NULL || fixed.tables == NULL || fixed.unfixed == NULL
                          ? gr_fail(GRANARY_ENOMEM, "out of memory")
                          : GRANARY_OK;

    for (size_t i = 0; i < graph->n_nodes && err == GRANARY_OK; i++) {
        if (strcmp(graph->nodes[i]->op, "table") == 0) {
            err = open_named(client, graph->nodes[i], &fixed);
            err = err == GRANARY_OK ? err : gr_fail_in(err, "node '%.100s' (table)", graph->nodes[i]->name);
        }
    }
    err = err == GRANARY_OK && fixed.unfixed_count > 0 ? cut_unfixed(&fixed, &now) : err;
    for (size_t i = 0; i < fixed.count && err == GRANARY_OK; i++) {
        err = has(fixed.nodes[i], "version") ? GRANARY_OK : fix_node(fixed.nodes[i], fixed.tables[i], now);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "node '%.100s' (table)", fixed.nodes[i]->name);
    }
    err = err == GRANARY_OK && snapshots != NULL && fixed.count > 0 ? snapshots_make(snapshots, &fixed) : err;
    fixed_end(&fixed);
    return err;
}
