/*
 * store/base/worker.h without threads: a job waits until somebody runs it, here and now. It stands before the room's own
 * worker.c in the link, so what it defines is what the store calls.
 */
#include "store/base/worker.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "world.h"

struct workers {
    struct list queued; /* first come first, of all lanes */
    struct list finished;
    int fd;
};

static struct workers *current;

granary_err
workers_start(struct workers **ret_workers)
{
    struct workers *workers = calloc(1, sizeof *workers);

    if (workers == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for the workers");
    }
    list_init(&workers->queued);
    list_init(&workers->finished);
    workers->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    current = workers;
    *ret_workers = workers;
    return GRANARY_OK;
}

void
workers_stop(struct workers *workers)
{
    if (workers == NULL) {
        return;
    }
    while (world_run_job(0)) {
        workers_reap(workers);
    }
    workers_reap(workers);
    gr_fd_close(&workers->fd);
    current = NULL;
    free(workers);
}

int
workers_fd(const struct workers *workers)
{
    return workers->fd;
}

unsigned
workers_readers(const struct workers *workers)
{
    (void)workers;
    return 2;
}

void
workers_submit(struct workers *workers, enum worker_lane lane, struct job *job)
{
    (void)lane;
    list_init(&job->in_queue);
    list_append(&workers->queued, &job->in_queue);
}

bool
workers_give_way(struct workers *workers, unsigned lanes)
{
    (void)workers;
    (void)lanes;
    return false;
}

void
workers_reap(struct workers *workers)
{
    uint64_t times;

    (void)!read(workers->fd, &times, sizeof times);
    while (!list_empty(&workers->finished)) {
        struct job *job = list_owner(workers->finished.next, struct job, in_queue);

        list_remove(&job->in_queue);
        job->done(job);
    }
}

bool
world_run_job(unsigned nth)
{
    const uint64_t one = 1;
    struct list *node;
    struct job *job;

    if (current == NULL || list_empty(&current->queued)) {
        return false;
    }
    for (node = current->queued.next; nth > 0; nth--) {
        node = node->next == &current->queued ? current->queued.next : node->next;
    }
    list_remove(node);
    job = list_owner(node, struct job, in_queue);
    job->run(job);
    list_append(&current->finished, &job->in_queue);
    (void)!write(current->fd, &one, sizeof one);
    return true;
}
