/*
 * The pool's supervisor: a small process that starts one executor a slot, restarts those that die, and leaves no one
 * behind. It never maps the store and has no threads, so starting an executor is cheap.
 *
 *   slot        entered when                                          next
 *   STARTING    an executor was started                               RUNNING, WAITING, EMPTY, LOST
 *   RUNNING     it said READY: the scheduler knows it                 WAITING, EMPTY
 *   WAITING     it died; another is started after a pause             STARTING
 *   EMPTY       it left with status 0: the scheduler told it to       -
 *   LOST        ten executors in a row died before they were ready    -
 */
#ifndef EXECUTOR_POOL_H
#define EXECUTOR_POOL_H

#include <stdbool.h>

#include "granary/types.h"

struct pool_options {
    const char *program;  /* path of granary-executor */
    const char *instance; /* as for gr_instance_resolve() */
    int executors;        /* slots, at least 1 */
    int ready_fd;         /* where to say READY when every slot runs; -1: nowhere */
    bool die_with_parent; /* leave when the process that started this one dies */
};

/*
 * Run the pool until SIGTERM or SIGINT. Takes ready_fd.
 * Errors: what an executor said when it could not start · EFAILED every slot is lost · ENOMEM
 */
granary_err pool_run(const struct pool_options *options);

#endif
