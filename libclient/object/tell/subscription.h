/* Inside tell: a subscription (subscribe.c), what was there before it (existing.c), and its descriptor (announce.c). */
#ifndef OBJECT_TELL_SUBSCRIPTION_H
#define OBJECT_TELL_SUBSCRIPTION_H

#include <pthread.h>

#include "granary/stream.h"
#include "object/client.h"

/* Objects that were there at the beginning, a page at a time. */
struct existing {
    bool wanted; /* some are still to be told */
    granary_object_info *infos;
    size_t count, at;
    uint64_t cursor;
};

/* A thread that sleeps for a program that polls. */
struct announcer {
    pthread_t thread;
    int fd;                /* eventfd; -1: nobody polls */
    _Atomic uint32_t ends; /* a futex: the thread is to end */
};

struct granary_subscription {
    granary_client *client;
    unsigned kinds;
    pthread_mutex_t lock; /* of ring: the announcer looks at it while another one is mapped */
    const struct gr_events *ring;
    uint64_t bytes; /* mapped */
    uint64_t entries;
    uint64_t next;  /* number of the next event to tell */
    uint64_t epoch; /* of the store that writes the ring */
    struct existing existing;
    struct announcer announcer;
};

/* The next object that was there at the beginning, as an event. false, with GRANARY_OK: there are no more. */
granary_err existing_take(granary_subscription *subscription, bool *ret_there, granary_event *ret_event);
void existing_free(struct existing *existing);

/* Everything that was announced was taken: the descriptor is not readable until there is more. */
void announcer_quiet(const struct announcer *announcer);
void announcer_end(granary_subscription *subscription);

#endif
