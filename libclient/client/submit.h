/* Graphs on their way to the scheduler. */
#ifndef CLIENT_SUBMIT_H
#define CLIENT_SUBMIT_H

#include "granary/graph.h"
#include "schema/granary.pb-c.h"

/*
 * Submit a graph as a message: what it names is resolved in place, and it stays the caller's.
 *
 * options  as of granary_graph_submit(); may be NULL
 * passing  nobody misses it after a power cut, so neither this nor its deletion waits for the disk
 * Errors   as granary_graph_submit(). The same graph is another one when its tables have changed since
 */
granary_err gr_submit(granary_client *client, Granary__Graph *graph, const granary_graph_options *options, bool passing,
                      char ret_key[GRANARY_KEY_MAX]);
/* The same of JSON text; see granary_graph_submit_json(). */
granary_err
gr_submit_text(granary_client *client, const char *json, size_t length, const granary_graph_options *options,
               size_t options_size, bool passing, char ret_key[GRANARY_KEY_MAX]);

/* Errors: EINVAL empty, or too long */
granary_err gr_graph_check_key(const char *key);

/* The status of an answer, if there is one, for a caller whose struct has so many bytes. */
void gr_status_take(const Granary__Reply *reply, granary_graph_status *ret_status, size_t status_size);

#endif
