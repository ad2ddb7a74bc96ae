/* Nodes that run user code: object, map_chunk, call, exec, and arrays. In this room, and for who tiles them. */
#ifndef GRAPH_USER_H
#define GRAPH_USER_H

#include "graph/graph.h"

#define GR_ARRAY_MAX ((int64_t)1 << 31) /* instances of an array of nulls */
#define GR_CALLS_MAX ((int64_t)1 << 20) /* calls or runs of an array, and their outputs together */
#define GR_BLOCK_MAX 1024               /* instances in one subtask */

/* Parameters beyond their kinds. Errors: EINVAL; without the node's name */
granary_err user_check_object(const Granary__Node *node);
granary_err user_check_map_chunk(const Granary__Node *node);
granary_err user_check_call(const Granary__Node *node);
granary_err user_check_exec(const Granary__Node *node);
granary_err user_check_null(const Granary__Node *node);

/* What map_chunk makes of a frame, or of a tensor. Errors: EINVAL, ENOMEM; without the node's name */
granary_err user_infer_frame(const struct gr_graph_node *node, const struct gr_schema *input, struct gr_schema *schema);
granary_err
user_infer_tensor(const struct gr_graph_node *node, const struct gr_node_type *input, struct gr_node_type *type);

/* Whether a text may name an object: up to 32 hex digits, or "name:NAME". */
bool gr_id_text_good(const char *text);

/* An amount of a resource: a whole number, 1 or more. */
bool gr_amount_parse(const char *text, uint64_t *ret_amount);

#endif
