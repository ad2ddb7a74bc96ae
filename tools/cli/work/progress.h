/* Waiting for a graph, with a bar on a terminal. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/command/cli.h"

/*
 * Wait until the graph has ended; when stderr is a terminal, a bar there shows how far it is.
 *
 * deadline_ns  on gr_now_ns()'s clock; INT64_MAX: none
 * Errors       as granary_graph_wait()
 */
granary_err
progress_wait(granary_client *client, const char *key, int64_t deadline_ns, granary_graph_status *ret_status);

#endif
