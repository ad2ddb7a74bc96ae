/* One thread syncs whatever was asked for last; numbers tell up to where everything is done. */

#include "sched/durable/syncer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"

struct syncer {
    granary_err (*sync)(void *context);
    void *context;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wanted;
    uint64_t asked, done;
    granary_err err;
    char message[256];
    bool stop;
    int event_fd;
};

static void *
syncer_run(void *context)
{
    struct syncer *syncer = context;
    const uint64_t one = 1;

    (void)pthread_mutex_lock(&syncer->lock);
    while (!syncer->stop) {
        uint64_t number = syncer->asked;
        granary_err err;

        if (number == syncer->done) {
            (void)pthread_cond_wait(&syncer->wanted, &syncer->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&syncer->lock);
        err = syncer->sync(syncer->context);
        (void)pthread_mutex_lock(&syncer->lock);
        syncer->done = number;
        syncer->err = err;
        (void)snprintf(syncer->message, sizeof syncer->message, "%s", err == GRANARY_OK ? "" : granary_error_message());
        (void)!write(syncer->event_fd, &one, sizeof one);
    }
    (void)pthread_mutex_unlock(&syncer->lock);
    return NULL;
}

struct syncer *
syncer_create(granary_err (*sync)(void *context), void *context)
{
    struct syncer *syncer = calloc(1, sizeof *syncer);

    if (syncer == NULL) {
        return NULL;
    }
    *syncer = (struct syncer){.sync = sync, .context = context, .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    (void)pthread_mutex_init(&syncer->lock, NULL);
    (void)pthread_cond_init(&syncer->wanted, NULL);
    if (syncer->event_fd < 0 || pthread_create(&syncer->thread, NULL, syncer_run, syncer) != 0) {
        gr_fd_close(&syncer->event_fd);
        free(syncer);
        return NULL;
    }
    return syncer;
}

void
syncer_destroy(struct syncer *syncer)
{
    if (syncer == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&syncer->lock);
    syncer->stop = true;
    (void)pthread_cond_signal(&syncer->wanted);
    (void)pthread_mutex_unlock(&syncer->lock);
    (void)pthread_join(syncer->thread, NULL);
    (void)pthread_cond_destroy(&syncer->wanted);
    (void)pthread_mutex_destroy(&syncer->lock);
    gr_fd_close(&syncer->event_fd);
    free(syncer);
}

uint64_t
syncer_ask(struct syncer *syncer)
{
    uint64_t number;

    (void)pthread_mutex_lock(&syncer->lock);
    number = ++syncer->asked;
    (void)pthread_cond_signal(&syncer->wanted);
    (void)pthread_mutex_unlock(&syncer->lock);
    return number;
}

int
syncer_fd(const struct syncer *syncer)
{
    return syncer->event_fd;
}

uint64_t
syncer_done(struct syncer *syncer, granary_err *ret_err, char ret_message[256])
{
    uint64_t events;
    uint64_t done;

    (void)!read(syncer->event_fd, &events, sizeof events);
    (void)pthread_mutex_lock(&syncer->lock);
    done = syncer->done;
    *ret_err = syncer->err;
    (void)snprintf(ret_message, 256, "%s", syncer->message);
    (void)pthread_mutex_unlock(&syncer->lock);
    return done;
}
