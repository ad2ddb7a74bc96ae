/*
 * Tables that graphs append to, one a client: each append must be there once, whole, whoever died meanwhile. Another graph
 * counts what is there.
 */
#ifndef TORTURE_TALLY_H
#define TORTURE_TALLY_H

#include "granary/graph.h"

#define TALLY_ROWS 100 /* of an append */

/* The table of a client, which may be there. Errors: as granary_mutable_create_frame() */
granary_err tally_open(granary_client *client, unsigned number);
granary_err tally_delete(granary_client *client, unsigned number);

/* A graph that appends rows numbered 0 to TALLY_ROWS - 1 as append number `append`, from 1. Its target is "result". */
granary_graph *tally_append(unsigned number, uint64_t append);

/*
 * Run a graph under a key that groups the table by appends, look at its result, and delete it.
 *
 * appends  so many there are
 * ret_right  whether each of them is there once
 * Errors   as granary_graph_run()
 */
granary_err tally_check(granary_client *client, unsigned number, const char *key, uint64_t appends, int timeout_ms,
                        bool *ret_right);

#endif
