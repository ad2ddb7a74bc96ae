/* Reading a ring of events (contract/shm.h) while the store writes it, or after it died. */
#ifndef OBJECT_TELL_EVENTS_H
#define OBJECT_TELL_EVENTS_H

#include <stdbool.h>

#include "contract/shm.h"

/* An event as one consistent reading. */
struct gr_event_copy {
    uint64_t time_ns;
    uint64_t id[2];
    uint64_t a, b;
    uint64_t client;
    uint32_t kind; /* gr_event_kind, or one a later release knows */
    uint32_t session;
};

/* What a ring of so many entries takes. */
static inline uint64_t
gr_events_bytes(uint64_t entries)
{
    return sizeof(struct gr_events) + entries * sizeof(struct gr_event);
}

/*
 * Copy event `number`, which is below ring->next. entries: a power of two, what the mapping has room for.
 * Returns false when it was overwritten, or is being.
 */
static inline bool
gr_event_read(const struct gr_events *ring, uint64_t entries, uint64_t number, struct gr_event_copy *ret_event)
{
    const struct gr_event *place = &ring->ring[number & (entries - 1)];
    uint64_t kind_session;

    if (atomic_load_explicit(&place->sequence, memory_order_acquire) != number + 1) {
        return false;
    }
    ret_event->time_ns = atomic_load_explicit(&place->time_ns, memory_order_acquire);
    ret_event->id[0] = atomic_load_explicit(&place->id[0], memory_order_acquire);
    ret_event->id[1] = atomic_load_explicit(&place->id[1], memory_order_acquire);
    ret_event->a = atomic_load_explicit(&place->a, memory_order_acquire);
    ret_event->b = atomic_load_explicit(&place->b, memory_order_acquire);
    kind_session = atomic_load_explicit(&place->kind_session, memory_order_acquire);
    ret_event->client = atomic_load_explicit(&place->client, memory_order_acquire);
    ret_event->kind = (uint32_t)(kind_session >> 32);
    ret_event->session = (uint32_t)kind_session;
    /* The loads above cannot move behind this one: who read a byte of a newer event sees the sequence gone. */
    return atomic_load_explicit(&place->sequence, memory_order_relaxed) == number + 1;
}

#endif
