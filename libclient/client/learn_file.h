/* Files that a client looks at by itself, to learn what they have. In this room only. */
#ifndef CLIENT_LEARN_FILE_H
#define CLIENT_LEARN_FILE_H

#include "graph/graph.h"

/* The type of a file that is a tensor. Errors: as of opening and reading it · EUNSUPPORTED another source; with the node's
 * name */
granary_err learn_tensor(struct gr_node *node);

/*
 * A file may have columns that cannot be read, which hinder only who wants them. Whether a node's header tells all columns,
 * so that these have their places. Of many files nobody tells where they are.
 */
bool learn_may_have_others(const Granary__Node *node);
/* The type of such a node has the columns that can be read: the others get their places among them. Errors: as of reading it
 * · EUNSUPPORTED the header does not tell all; with the node's name */
granary_err learn_add_unreadable(struct gr_node *source);

#endif
