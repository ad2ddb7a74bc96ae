/* Tables that change, of a graph that is about to be submitted: cut at one moment, and kept as they were then. */
#ifndef CLIENT_TABLES_H
#define CLIENT_TABLES_H

#include "client/resolve.h"

/*
 * Give the nodes that read tables that change their time and version.
 *
 * snapshots  gets one of each; NULL: none are made
 * Errors     as granary_table_open(), granary_cut() and granary_mutable_snapshot(); the message names the node
 */
granary_err tables_fix(granary_client *client, Granary__Graph *graph, struct gr_snapshots *snapshots);

#endif
