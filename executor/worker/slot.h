/*
 * The process of one slot: the pool has bound it to its node; dies with its pool, and is a worker until the scheduler
 * says otherwise. It keeps nothing that somebody else could miss: it may be killed at any moment.
 */
#ifndef EXECUTOR_WORKER_SLOT_H
#define EXECUTOR_WORKER_SLOT_H

#include <stdbool.h>

#include "granary/types.h"

struct slot_options {
    const char *instance; /* as for gr_instance_resolve() */
    int slot;
    int node;     /* NUMA node it is on */
    int parent;   /* pid of the pool; dies with it. 0: none */
    int ready_fd; /* where to say READY once the scheduler knows us; -1: nowhere */
};

/*
 * Work until the scheduler says that it is enough. Takes ready_fd.
 *
 * ret_replace  another process is to take the place
 * Errors       EUNREACHABLE the store is gone or was never there · EVERSION the scheduler speaks another version ·
 *              ENOMEM
 */
granary_err slot_run(const struct slot_options *options, bool *ret_replace);

#endif
