/*
 * The pool's supervisor: a small process that starts one executor a slot, restarts those that die, and leaves no one
 * behind. It never maps the store, so starting an executor is cheap. The scheduler, which knows who works at what,
 * tells executors to leave; it is told of every death, and asks for more slots.
 */
#ifndef EXECUTOR_POOL_POOL_H
#define EXECUTOR_POOL_POOL_H

#include <stdbool.h>

#include "granary/types.h"

#define POOL_SLOTS_MAX 1024

struct pool_options {
    const char *program;  /* path of granary-executor */
    const char *instance; /* as for gr_instance_resolve() */
    int executors;        /* slots to begin with, 0 to POOL_SLOTS_MAX */
    int ready_fd;         /* where to say READY when every slot runs; -1: nowhere */
    bool die_with_parent; /* leave when the process that started this one dies */
};

/*
 * Run the pool until SIGTERM or SIGINT. Takes ready_fd.
 * Errors: what an executor said when it could not start · EFAILED every slot is lost · ENOMEM
 */
granary_err pool_run(const struct pool_options *options);

#endif
