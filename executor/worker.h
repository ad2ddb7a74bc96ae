/*
 * The process of one slot: takes subtasks from the scheduler, runs them one after the other, answers. It keeps
 * nothing that somebody else could miss: it may be killed at any moment.
 */
#ifndef EXECUTOR_WORKER_H
#define EXECUTOR_WORKER_H

#include "granary/types.h"

struct worker_options {
    const char *instance; /* as for gr_instance_resolve() */
    int slot;
    int node;     /* NUMA node to live on */
    int parent;   /* pid of the pool; dies with it. 0: none */
    int ready_fd; /* where to say READY once the scheduler knows us; -1: nowhere */
};

/*
 * Work until the scheduler says die. Takes ready_fd.
 * Errors: EUNREACHABLE the store is gone or was never there · EVERSION the scheduler speaks another version · ENOMEM
 */
granary_err worker_run(const struct worker_options *options);

#endif
