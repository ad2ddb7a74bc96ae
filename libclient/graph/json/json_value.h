/* What the readers of this room share: values of jansson, and a graph among them. */
#ifndef GRAPH_JSON_JSON_VALUE_H
#define GRAPH_JSON_JSON_VALUE_H

#include "granary/types.h"
#include "schema/granary.pb-c.h"

struct json_t; /* jansson's */

/* "a list": in messages. */
const char *json_type_text(const struct json_t *value);

/* In json_run() alone. Errors: EINVAL "line 3, column 7: ..." */
granary_err json_load(const char *text, size_t length, struct json_t **ret_root);

/* A graph into an empty one, which is the caller's to free whatever comes of it. Errors: as gr_graph_from_json() */
granary_err json_read_graph(struct json_t *root, Granary__Graph *graph);

#endif
