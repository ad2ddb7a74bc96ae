/*
 * NUMA nodes. A machine without NUMA is one node, 0, and nothing is bound on it. With a topology from a file, or with
 * GRANARY_TEST_NODES=N, which pretends that there are N nodes, they are told apart and nothing is bound.
 */
#ifndef STORE_NODE_H
#define STORE_NODE_H

#include <stddef.h>

/* How many nodes there are, at least 1. Looked up once. */
unsigned node_count(void);

/* The node that a caller's wish means: -1, or one that does not exist, is node 0. */
unsigned node_of(int wish);

/* Let pages of this mapping come from a node, if it has any left. Any thread. */
void node_bind(void *base, size_t size, unsigned node);

/* The same for the file, by a mapping of its own. */
void node_bind_file(int fd, size_t size, unsigned node);

#endif
