/*
 * What the task manager is told of its surroundings: the memory and resources there are, and functions that tell about
 * processes, NUMA nodes and the instance's schedulers. The core asks through these and never looks itself; the server's
 * look at /proc, /sys and the executors' pages (sched/machine.h).
 */
#ifndef SCHED_CORE_OPTIONS_H
#define SCHED_CORE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/process/executor_page.h"

struct gr_sched_page;
struct resource_amount;

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

#define MANAGER_HISTORY      (1u << 18)
#define MANAGER_HISTORY_MOST (1u << 24)

struct manager_options {
    uint64_t memory_bytes;      /* the store's budget; 0: unknown */
    uint32_t cores;             /* that executors share; 0: unknown */
    bool store_is_shared;       /* other schedulers make objects in it, and what earlier ones made may be there */
    int64_t chunk_bytes;        /* for submissions that leave it open; 0: automatic */
    int64_t unix_offset_ns;     /* Unix time minus the clock of the events */
    uint64_t history;           /* runs, and subtasks of ended graphs, that are remembered; 0: MANAGER_HISTORY */
    uint64_t task_memory_bytes; /* private memory a subtask with user code may use; 0: any */
    const struct resource_amount *resources; /* named ones there are; read by manager_create() only */
    size_t resource_count;
    struct manager_host host;
    struct gr_sched_page *page; /* what is counted is written there; NULL: to where nobody looks */
};

#endif
