/*
 * A worker takes subtasks from the scheduler, runs them one after the other, and answers. It is the inside of a slot's
 * process, which is given work as long as it lives, or is embedded in another program, which asks for it (pull). It
 * belongs to one thread at a time and changes nothing of the process around it.
 */
#ifndef EXECUTOR_WORKER_WORKER_H
#define EXECUTOR_WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/executor_page.h"
#include "granary/types.h"

struct worker;

struct worker_options {
    const char *instance; /* as for gr_instance_resolve() */
    int slot;             /* of the pool; -1: none */
    int node;             /* NUMA node it lives on */
    bool pull;            /* embedded in another program: gets only what worker_poll() asks for */
    /* Called when what it has on the file system is open, and before it has threads; may be NULL. */
    granary_err (*settle)(void *context, enum gr_confinement *ret_rung); /* rung: GR_CONFINED_NOT before */
    int (*find_scheduler)(const char *lock); /* a pidfd of it; NULL: gr_daemon_holder_open() */
    bool keeps_connections; /* makes none after it was registered: it is replaced when the scheduler changes */
    void (*registered)(void *context); /* called when the scheduler knows it, again for each scheduler; may be NULL */
    void *context;
};

/*
 * Connect to store and scheduler; the scheduler need not be there yet.
 *
 * options  copied, but for what it points to
 * Errors   EUNREACHABLE no store · ENOMEM · as gr_instance_resolve()
 */
granary_err worker_create(const struct worker_options *options, struct worker **ret_worker);

/* What it has and has not run goes back to the scheduler. NULL is fine. */
void worker_destroy(struct worker *worker);

/*
 * Work until the scheduler says die.
 * Errors: EUNREACHABLE the store is gone · EVERSION the scheduler speaks another version · ENOMEM
 */
granary_err worker_run(struct worker *worker);

/*
 * Of one that pulls: take up to max subtasks and run them in this thread.
 *
 * timeout_ms  for the first; GRANARY_FOREVER
 * ret_ran     how many; set on an error, too
 * Errors      as worker_run() · ESTATE it was drained
 */
granary_err worker_poll(struct worker *worker, int timeout_ms, uint32_t max, uint32_t *ret_ran);

/*
 * A descriptor that becomes readable when there is something to poll for; it is the worker's. From now on what a poll
 * asked for and did not get stays asked for.
 */
granary_err worker_fd(struct worker *worker, int *ret_fd);

/* After worker_run(): another process is to take its place. */
bool worker_wants_replacement(const struct worker *worker);

#endif
