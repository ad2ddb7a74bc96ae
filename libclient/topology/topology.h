/*
 * NUMA nodes: those of the machine, through libnuma (this is the only room that knows it), or those of a file. With a
 * file any machine can be treated as one with several nodes ($GRANARY_TOPOLOGY, set by `granary up --topology FILE`).
 *
 * The file has a line a node; '#' begins a comment. Numbers count from 0 up without a gap.
 *
 *      node 0 cpus 0-1 memory 8G distance 10 21
 *      node 1 cpus 2,3 memory 8G distance 21 10
 *
 * Only cpus is required. cpus that this machine does not have are ignored. Without distances a node is 10 from itself
 * and 20 from others.
 *
 * What a process gets are the nodes on which it may run: those outside its cpu set (taskset, a container) are left out.
 */
#ifndef TOPOLOGY_TOPOLOGY_H
#define TOPOLOGY_TOPOLOGY_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

#define TOPOLOGY_NODES_MAX 64

struct topology_node {
    bool usable;    /* this process may run on some cpu of it */
    cpu_set_t cpus; /* all of the node */
    uint64_t memory_bytes;
    uint8_t distances[TOPOLOGY_NODES_MAX]; /* to each node; 10 is itself */
};

struct topology {
    bool from_file;
    size_t count; /* of nodes, usable or not, at least 1; a machine without NUMA has node 0 */
    struct topology_node nodes[TOPOLOGY_NODES_MAX];
};

/*
 * What this process has.
 * Errors: EINVAL the file, with its line · errno's of reading it
 */
granary_err topology_read(struct topology *ret_topology);

/* The same from text. name: of the file, for messages. */
granary_err topology_parse(const char *text, const char *name, struct topology *ret_topology);

/* Numbers of the usable nodes, ascending; at least one. Returns how many. */
size_t topology_usable(const struct topology *topology, int ret_nodes[TOPOLOGY_NODES_MAX]);

/* cpus as "0-3,8". Returns text. */
const char *topology_cpus(const cpu_set_t *cpus, char *text, size_t size);

/* What binds a process to a node. */
struct topology_pin {
    bool cpus_set, memory_set;
    cpu_set_t cpus;
    unsigned long memory; /* nodes to take memory from first: one bit */
};

/*
 * To a node's cpus, and to its memory first. It does nothing with one usable node, so a given cpu set stays. With a
 * topology from a file it takes those of the node's cpus that are there; memory then comes from anywhere.
 */
void topology_pin_plan(const struct topology *topology, int node, struct topology_pin *ret_pin);

/* Do it. System calls only: for use between fork and exec, before the process touches any memory of its own. */
void topology_pin_apply(const struct topology_pin *pin);

/* The node on which the calling thread is now. */
int topology_here(const struct topology *topology);

#endif
