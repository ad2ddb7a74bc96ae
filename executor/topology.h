/* NUMA nodes, through libnuma: the only file that knows it. A machine without NUMA is one node, 0. */
#ifndef EXECUTOR_TOPOLOGY_H
#define EXECUTOR_TOPOLOGY_H

#include <stddef.h>

#define TOPOLOGY_NODES_MAX 64

/* Numbers of the nodes with cpus this process may run on, ascending; at least one. Returns how many. */
size_t topology_nodes(int ret_nodes[TOPOLOGY_NODES_MAX]);

/* The node on which the calling thread is now. */
int topology_here(void);

/*
 * Run on a node's cpus and take memory from it first. Call it before memory is touched. With one node only it does
 * nothing, so that a cpu set somebody gave us (taskset) stays.
 */
void topology_pin(int node);

#endif
