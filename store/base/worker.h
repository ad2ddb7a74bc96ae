/* Threads that do what would block the loop: reading and writing files. */
#ifndef STORE_WORKER_H
#define STORE_WORKER_H

#include <stdbool.h>

#include "granary/types.h"
#include "store/base/list.h"

struct job {
    struct list in_queue;
    void (*run)(struct job *job);  /* in the worker: may touch what the job owns, nothing else */
    void (*done)(struct job *job); /* in the loop, afterwards; frees the job */
};

/* Each has threads of its own: writing (spills, removals) never delays reading (restores) or giving memory back. */
enum worker_lane { WORKER_READ, WORKER_WRITE, WORKER_GIVE, WORKER_SUPPLY, WORKER_LANES };

struct workers;

/* Errors: ENOMEM */
granary_err workers_start(struct workers **ret_workers);
/* Lets running jobs end, drops nothing: every job submitted is run and its done() called. NULL is fine. */
void workers_stop(struct workers *workers);

/* Readable when jobs are done. */
int workers_fd(const struct workers *workers);
/* Threads that read. */
unsigned workers_readers(const struct workers *workers);

/* Several jobs of a lane may run at once, and end in any order. */
void workers_submit(struct workers *workers, enum worker_lane lane, struct job *job);

/*
 * For a running job that can wait. Wait until no job of these lanes (a sum of 1 << lane; not its own) is queued or
 * runs, for at most 10 ms. Returns whether one does still, and the workers are not being stopped.
 */
bool workers_give_way(struct workers *workers, unsigned lanes);

/* Call done() of every job that has run. */
void workers_reap(struct workers *workers);

#endif
