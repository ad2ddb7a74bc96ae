/*
 * What the sources of a graph yield, learnt before it runs.
 *
 * From a graph of the public API (gr_builder_finish()) or JSON (gr_graph_from_json()) to one whose nodes all have types:
 *
 *     struct gr_graph *graph = NULL, *optimised = NULL;
 *     granary_err err = gr_learn(client, message, &graph);
 *
 *     if (err == GRANARY_OK) {
 *         err = gr_graph_optimize(graph, &optimised); // optimize/graph.h
 *     }
 */
#ifndef CLIENT_LEARN_H
#define CLIENT_LEARN_H

#include "granary/granary.h"
#include "graph/graph.h"

/*
 * Check a graph and infer all its types. The instance tells which columns its files and tables have: a graph of no rows
 * of each of them runs there. So text files are looked at as a whole, as they are when the graph itself runs.
 *
 * message    stays the caller's
 * ret_graph  *gives* the graph of a copy: gr_graph_destroy()
 * Errors     as gr_graph_create() and gr_graph_infer() · as granary_graph_submit() and granary_graph_wait() of what reads
 *            the sources; the message names the node
 */
granary_err gr_learn(granary_client *client, const Granary__Graph *message, struct gr_graph **ret_graph);

#endif
