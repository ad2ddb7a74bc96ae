/* Worker threads: a queue a lane, and an event descriptor that tells the loop what is done. */
#include "store/base/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#define LANE_MOST   4u
#define GIVE_WAY_NS 10000000
#define RING_TRIES  3 /* of telling the loop */

struct lane {
    struct workers *workers;
    struct list queue;
    pthread_cond_t filled;
    pthread_t threads[LANE_MOST];
    unsigned started;
    unsigned jobs; /* queued, or running */
};

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t rested; /* a lane has no job any more */
    struct lane lanes[WORKER_LANES];
    struct list finished;
    bool stopping;
    int fd;
};

static void *
lane_main(void *argument)
{
    struct lane *lane = argument;
    struct workers *workers = lane->workers;
    const uint64_t one = 1;

    (void)pthread_mutex_lock(&workers->lock);
    for (;;) {
        struct job *job;

        while (list_empty(&lane->queue) && !workers->stopping) {
            (void)pthread_cond_wait(&lane->filled, &workers->lock);
        }
        if (list_empty(&lane->queue)) {
            break;
        }
        job = list_owner(lane->queue.next, struct job, in_queue);
        list_remove(&job->in_queue);
        (void)pthread_mutex_unlock(&workers->lock);
        job->run(job);
        (void)pthread_mutex_lock(&workers->lock);
        list_append(&workers->finished, &job->in_queue);
        if (--lane->jobs == 0) {
            (void)pthread_cond_broadcast(&workers->rested);
        }
        /* A full counter rings already; nobody would look again when a ring is lost. */
        for (int tries = 0; write(workers->fd, &one, sizeof one) < 0 && errno != EAGAIN && tries < RING_TRIES;
             tries++) {
        }
    }
    (void)pthread_mutex_unlock(&workers->lock);
    return NULL;
}

/* Reading unpacks, so it can use every cpu; writing waits for the disk: one file is packed while another is flushed. */
static unsigned
lane_threads(enum worker_lane lane)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (lane == WORKER_GIVE) {
        return 1;
    }
    return lane == WORKER_WRITE || cpus < 2 ? 2 : cpus < (long)LANE_MOST ? (unsigned)cpus : LANE_MOST;
}

/* At least one thread of the lane runs. */
static bool
lane_start(struct lane *lane, unsigned threads)
{
    while (lane->started < threads && pthread_create(&lane->threads[lane->started], NULL, lane_main, lane) == 0) {
        lane->started++;
    }
    return lane->started > 0;
}

granary_err
workers_start(struct workers **ret_workers)
{
    struct workers *workers = calloc(1, sizeof *workers);
    sigset_t all, before;
    bool started = true;

    if (workers == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for the workers");
    }
    (void)pthread_mutex_init(&workers->lock, NULL);
    (void)pthread_cond_init(&workers->rested, NULL);
    list_init(&workers->finished);
    workers->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    for (int i = 0; i < WORKER_LANES; i++) {
        workers->lanes[i].workers = workers;
        list_init(&workers->lanes[i].queue);
        (void)pthread_cond_init(&workers->lanes[i].filled, NULL);
    }
    /* Signals are the loop's business. */
    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGBUS);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < WORKER_LANES; i++) {
        started = started && workers->fd >= 0 && lane_start(&workers->lanes[i], lane_threads((enum worker_lane)i));
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) {
        workers_stop(workers);
        return gr_fail(GRANARY_ENOMEM, "cannot start the worker threads");
    }
    *ret_workers = workers;
    return GRANARY_OK;
}

static struct job *
take_any(struct workers *workers)
{
    for (int i = 0; i < WORKER_LANES; i++) {
        struct list *first = workers->lanes[i].queue.next;

        if (first != &workers->lanes[i].queue) {
            list_remove(first);
            return list_owner(first, struct job, in_queue);
        }
    }
    return NULL;
}

void
workers_stop(struct workers *workers)
{
    struct job *job;

    if (workers == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&workers->lock);
    workers->stopping = true;
    (void)pthread_cond_broadcast(&workers->rested);
    for (int i = 0; i < WORKER_LANES; i++) {
        (void)pthread_cond_broadcast(&workers->lanes[i].filled);
    }
    (void)pthread_mutex_unlock(&workers->lock);
    for (int i = 0; i < WORKER_LANES; i++) {
        for (unsigned thread = 0; thread < workers->lanes[i].started; thread++) {
            (void)pthread_join(workers->lanes[i].threads[thread], NULL);
        }
        (void)pthread_cond_destroy(&workers->lanes[i].filled);
    }
    workers_reap(workers);
    /* What those that are done began in turn: there is no thread left but this one. */
    while ((job = take_any(workers)) != NULL) {
        job->run(job);
        job->done(job);
    }
    (void)pthread_cond_destroy(&workers->rested);
    (void)pthread_mutex_destroy(&workers->lock);
    gr_fd_close(&workers->fd);
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
    return workers->lanes[WORKER_READ].started;
}

void
workers_submit(struct workers *workers, enum worker_lane lane, struct job *job)
{
    list_init(&job->in_queue);
    (void)pthread_mutex_lock(&workers->lock);
    list_append(&workers->lanes[lane].queue, &job->in_queue);
    workers->lanes[lane].jobs++;
    (void)pthread_cond_signal(&workers->lanes[lane].filled);
    (void)pthread_mutex_unlock(&workers->lock);
}

/* With the lock held. */
static bool
is_busy(const struct workers *workers, unsigned lanes)
{
    bool busy = false;

    for (int i = 0; i < WORKER_LANES; i++) {
        busy = busy || ((lanes & 1u << i) != 0 && workers->lanes[i].jobs > 0);
    }
    return busy && !workers->stopping;
}

bool
workers_give_way(struct workers *workers, unsigned lanes)
{
    int64_t until_ns = gr_now_ns() + GIVE_WAY_NS;
    int waited = 0;
    bool busy;

    (void)pthread_mutex_lock(&workers->lock);
    while (waited == 0 && is_busy(workers, lanes)) {
        waited = gr_cond_wait_ns(&workers->rested, &workers->lock, until_ns);
    }
    busy = is_busy(workers, lanes);
    (void)pthread_mutex_unlock(&workers->lock);
    return busy;
}

void
workers_reap(struct workers *workers)
{
    uint64_t times;

    (void)!read(workers->fd, &times, sizeof times);
    for (;;) {
        struct job *job = NULL;

        (void)pthread_mutex_lock(&workers->lock);
        if (!list_empty(&workers->finished)) {
            job = list_owner(workers->finished.next, struct job, in_queue);
            list_remove(&job->in_queue);
        }
        (void)pthread_mutex_unlock(&workers->lock);
        if (job == NULL) {
            return;
        }
        job->done(job);
    }
}
