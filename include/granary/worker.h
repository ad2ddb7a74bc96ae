/*
 * granary: a worker in your own program. Subtasks run in a thread of yours, when you ask for them. Link
 * libgranary-worker instead of libgranary: it is libgranary and the executors' operators.
 *
 *      granary_worker *worker;
 *      granary_worker_create(NULL, &worker);
 *      while (granary_worker_poll(worker, GRANARY_FOREVER, 16, &ran) == GRANARY_OK) { ... }
 *      granary_worker_destroy(worker);
 *
 * Nothing is sent ahead: a worker has at most what its last poll asked for. A program that ends while it has subtasks
 * is an executor that died: they run elsewhere. `granary executors` shows it with mode pull.
 *
 * Threads  a worker belongs to one thread at a time; a program may have several, in as many threads. Operators run in
 *          the thread that polls. Only matmul uses more: as many as OPENBLAS_NUM_THREADS says in your program. User
 *          functions run inside your process: one that crashes takes the process with it, and nothing stops one that
 *          hangs.
 */
#ifndef GRANARY_WORKER_H
#define GRANARY_WORKER_H

#include "granary/store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct granary_worker granary_worker;

typedef struct granary_worker_options {
    const char *instance; /* a name, or its directory; NULL: as for granary_connect() */
    bool on_node;         /* numa_node says where it works; else that is where the calling thread is now */
    int numa_node;
} granary_worker_options;

/*
 * Connect to an instance. Its scheduler learns of the worker with the first poll.
 *
 * options  may be NULL
 * Errors   EUNREACHABLE no instance is up there · EINVAL its name · ENOMEM
 */
GRANARY_API granary_err granary_worker_create(const granary_worker_options *options, granary_worker **ret_worker);

/*
 * Take up to max subtasks, run them in this thread, and report. It waits for the first only, and returns when it has
 * run max, or has run some and no more are there.
 *
 * timeout_ms  GRANARY_FOREVER; 0: only what has arrived
 * ret_ran     how many were run; may be NULL
 * Errors      ETIMEDOUT there was none · EINVAL max is 0 · ESTATE the worker was drained (`granary executors drain`):
 *             destroy it · EUNREACHABLE the store is gone · EVERSION
 */
GRANARY_API granary_err granary_worker_poll(granary_worker *worker, int timeout_ms, uint32_t max, uint32_t *ret_ran);

/*
 * For event loops: a descriptor that becomes readable (poll, epoll) when a poll with timeout 0 may find something. Poll
 * until it returns ETIMEDOUT before waiting again, and every few seconds, so that another scheduler is noticed. From
 * this call on, what a poll asked for and did not get stays asked for. It belongs to the worker.
 *
 * Errors  ENOMEM no descriptor or no memory is left
 */
GRANARY_API granary_err granary_worker_fd(granary_worker *worker, int *ret_fd);

/* Leave. Subtasks that it has not run go back at once, without blame. NULL is fine. */
GRANARY_API void granary_worker_destroy(granary_worker *worker);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_worker_create,
                (const granary_worker_options *options, granary_worker **ret_worker), (options, ret_worker),
                granary_worker_options);

#ifdef __cplusplus
}
#endif
#endif
