/* Names, order and targets of a graph, whatever its nodes are. In this room only. */
#ifndef GRAPH_ORDER_H
#define GRAPH_ORDER_H

#include "graph/graph.h"

#define WORK_OBJECT (SIZE_MAX - 1)

/* What is worked on while a graph is made: positions are those of the message. */
struct work {
    Granary__Graph *message;
    size_t count;
    size_t *by_name;        /* positions by the hash of their name, open addressing; SIZE_MAX: free */
    size_t names_mask;      /* of by_name */
    int *ops;               /* by position: of contract/ops/ops.def, or of chunk_ops.def */
    enum gr_yields *yields; /* by position */
    size_t **inputs;        /* by position: positions, WORK_OBJECT where an input is no node */
    size_t *order;          /* positions, inputs first */
    size_t *place_of;       /* by position: place in order */
};

/* Room for all nodes, and their names; they must be good and differ. Errors: EINVAL, ENOMEM; to be freed in any case */
granary_err work_init(struct work *work, Granary__Graph *message);
void work_free(struct work *work);

/* Position of a node by name, or SIZE_MAX. */
size_t work_find(const struct work *work, const char *name);
/* The error ENOENT for a node that is not there. */
granary_err work_no_node(const struct work *work, const char *name);

/* Fill order and place_of from inputs. Errors: EINVAL a cycle, shown; ENOMEM */
granary_err work_order(struct work *work);

/* The places of the targets; without any, those nodes are targets whose results no other node reads. To be freed.
 * Errors: ENOENT, EINVAL, ENOMEM */
granary_err work_targets(struct work *work, size_t **ret_targets, size_t *ret_count);

#endif
