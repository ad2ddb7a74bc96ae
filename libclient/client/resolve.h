/* Objects that a graph names before it is submitted. */
#ifndef CLIENT_RESOLVE_H
#define CLIENT_RESOLVE_H

#include "granary/granary.h"
#include "schema/granary.pb-c.h"

/* Snapshots of the tables that change which a graph reads: this client's, until the graph keeps them. */
struct gr_snapshots {
    Granary__StoredTable **told; /* as a submission tells of them; the nodes' names are the graph's */
    size_t count;
    Granary__StoredTable *tables;
    granary_id *ids;
};

/* The graph was submitted, or not. kept: it has accepted them; else they go, but for what it keeps by now. */
void gr_snapshots_end(granary_client *client, struct gr_snapshots *snapshots, bool kept);

/*
 * Replace what a graph names as objects ("name:NAME", beginnings of ids) by whole ids, in place: the parameter `ids` of
 * object nodes, and of chunk graphs the inputs "object:...". The scheduler cannot look into the store.
 *
 * Nodes that read tables that change get the time, which is final from now on, and the version of the table.
 *
 * snapshots  zero; gets one of each table that changes: gr_snapshots_end() follows, whatever is returned. NULL: none are
 *            made
 * Errors  ENOENT · EINVAL · as granary_table_open() and granary_cut(); the message names the node
 */
granary_err gr_resolve_objects(granary_client *client, Granary__Graph *graph, struct gr_snapshots *snapshots);

/* What a name is bound to, or else the object whose id was made of the name (granary_id_from_name()). Errors: ENOENT */
granary_err gr_resolve_name(granary_client *client, const char *name, granary_id *ret_id);

/* An id from 32 hex digits, there or not; from the beginning of one that is there; or "name:NAME". Errors: ENOENT,
 * EINVAL
 */
granary_err gr_resolve_id(granary_client *client, const char *text, granary_id *ret_id);

/* Names of mutable and sealed tables and keys of kept graphs are one set. Errors: EEXIST there is a table of that name */
granary_err gr_check_no_table(granary_client *client, const char *key);
/* The same the other way round. Errors: EEXIST there is a graph of that key */
granary_err gr_check_no_graph(granary_client *client, const char *name);

#endif
