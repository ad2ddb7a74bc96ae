/* Graphs as JSON text; docs/graph-format.md describes it. */
#ifndef GRAPH_JSON_JSON_H
#define GRAPH_JSON_JSON_H

#include "base/text/buf.h"
#include "granary/types.h"
#include "schema/granary.pb-c.h"

/*
 * Read a graph. Only the form is checked here: gr_graph_create() checks what it says.
 *
 * text       length bytes of UTF-8
 * ret_graph  *gives* it, to be freed with granary__graph__free_unpacked()
 * Errors     EINVAL "line 3, column 7: ..." for broken JSON, "node 'NAME': ..." for members that are wrong · ENOENT an
 *            unknown operator · ENOMEM
 */
granary_err gr_graph_from_json(const char *text, size_t length, Granary__Graph **ret_graph);

/* Append a graph as indented JSON that gr_graph_from_json() reads back to an equal one. Errors: EINVAL nan or inf
 * in a list, which JSON cannot express, text that is not UTF-8, two nodes of one name · ENOMEM */
granary_err gr_graph_to_json(const Granary__Graph *graph, struct gr_buf *out);

#endif
