/* Nodes that run user code: object, map_chunk, call, exec, and arrays. In this room, and for who tiles them. */
#ifndef GRAPH_USER_H
#define GRAPH_USER_H

#include "graph/graph.h"

#define GR_CALLS_MAX ((int64_t)1 << 20) /* calls or runs of an array, and their outputs together */
#define GR_BLOCK_MAX 1024               /* instances in one subtask */

/* The parameter `ids` names objects. Errors: EINVAL; without the node's name */
granary_err user_check_ids(const Granary__Node *node);

/* Whether a text may name an object: up to 32 hex digits, or "name:NAME". */
bool gr_id_text_good(const char *text);

/* An amount of a resource: a whole number, 1 or more. */
bool gr_amount_parse(const char *text, uint64_t *ret_amount);

#endif
