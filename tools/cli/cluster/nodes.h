/* Several machines asked at once what they have and are at. One that does not answer is told as such, and delays nobody. */
#ifndef CLI_CLUSTER_NODES_H
#define CLI_CLUSTER_NODES_H

#include "cli/cluster/look/facts.h"
#include "cli/cluster/places.h"

struct node {
    char name[CHUNKS_NODE];
    struct facts facts; /* all that was told, also by one that then went silent */
    char trouble[256];  /* why nothing more is known, or what is wrong with it; "": it is fine */
    uint64_t fragments; /* run there, of a pilot job */
    char *said;         /* all its lines; NULL: none */
};

/*
 * Ask all places; each has some seconds.
 *
 * why        have them tell what their fragments wait for, too
 * ret_nodes  as many as there are places; to be freed by nodes_free()
 * Errors     ENOMEM
 */
granary_err nodes_ask(const struct places *places, bool why, struct node **ret_nodes);
void nodes_free(struct node *nodes, size_t count);

/* What a machine said, or why it said nothing; said: the caller's, which becomes the node's. NULL: nothing */
void node_hear(struct node *node, char *said, const char *trouble);

#endif
