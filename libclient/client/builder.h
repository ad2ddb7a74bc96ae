/* The graph a program builds call by call (granary/graph.h, "building") as the message that is submitted. */
#ifndef CLIENT_BUILDER_H
#define CLIENT_BUILDER_H

#include "granary/graph.h"
#include "schema/granary.pb-c.h"

/*
 * The graph as it is now.
 *
 * ret_message  *gives* a deep copy, to be freed with granary__graph__free_unpacked()
 * Errors       the first thing that was wrong in a building call, which could not tell it: EINVAL, ENOMEM
 */
granary_err gr_builder_finish(const granary_graph *graph, Granary__Graph **ret_message);

/* The graph's own message, to be changed in place; it stays the graph's. Errors: as gr_builder_finish() */
granary_err gr_builder_open(granary_graph *graph, Granary__Graph **ret_message);

#endif
