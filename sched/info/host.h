/*
 * What the machine tells about processes, NUMA nodes and the instance's schedulers, for answers to clients. The core
 * asks through these functions and never looks itself; the server's look at /proc, /sys and the executors' pages.
 */
#ifndef SCHED_INFO_HOST_H
#define SCHED_INFO_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/executor_page.h"
#include "base/instance.h"

struct host_process {
    uint64_t rss_bytes;
    int64_t started_ms; /* since the Unix epoch */
    bool has_page;
    struct gr_executor_state page; /* with has_page */
};

struct host_node {
    char cpus[256]; /* as 0-3,8 */
    uint64_t memory_bytes;
    uint64_t free_bytes;
    char distances[512]; /* "10 21" */
};

/* A scheduler of the instance's state, serving or waiting to. */
struct host_scheduler {
    char id[48]; /* pid and start time */
    int64_t pid;
    bool active;
    uint64_t epoch; /* of the active one */
    int64_t started_ms;
};

/* false: there is none. */
struct manager_host {
    void *context;
    bool (*process)(void *context, int64_t pid, struct host_process *ret_process);
    bool (*node)(void *context, int32_t node, struct host_node *ret_node);
    bool (*scheduler)(void *context, size_t position, struct host_scheduler *ret_scheduler);
};

/* instance: must outlive it. */
struct manager_host host_of_machine(struct gr_instance *instance);

/* How far the machine's NUMA nodes, or those of a topology file, are from one another: *ret_nodes rows, to be freed.
 * NULL: there is one node only, or no memory. */
uint32_t *host_distances(uint32_t *ret_nodes);

#endif
