/*
 * Watching a session: a reader of its ring of events (contract/shm.h), which the store writes without knowing of us. It
 * wakes sleepers when a lease page of the session says that somebody waits.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/id.h"
#include "base/sized.h"
#include "granary/stream.h"
#include "object/client.h"
#include "object/tell/events.h"
#include "object/tell/subscription.h"

static void
ring_unmap(granary_subscription *subscription)
{
    if (subscription->ring != NULL) {
        (void)munmap((void *)(uintptr_t)subscription->ring, subscription->bytes);
        subscription->ring = NULL;
    }
}

/* Map the session's ring; what is noted from now on is told. */
static granary_err
ring_map(granary_subscription *subscription)
{
    granary_client *client = subscription->client;
    uint64_t epoch = atomic_load(&client->control->epoch);
    const struct gr_events *ring;
    const char *base;
    uint64_t bytes;
    granary_err err = events_map(client, &base, &bytes);

    if (err != GRANARY_OK) {
        return err;
    }
    ring = (const void *)base;
    if (bytes < sizeof *ring || atomic_load(&ring->magic) != GR_EVENTS_MAGIC || !gr_shm_known(ring->version) ||
        ring->entries == 0 || (ring->entries & (ring->entries - 1)) != 0 || ring->entries > bytes ||
        gr_events_bytes(ring->entries) > bytes) {
        (void)munmap((void *)(uintptr_t)base, bytes);
        return gr_fail(GRANARY_EPROTO, "the store's ring of events makes no sense");
    }
    (void)pthread_mutex_lock(&subscription->lock);
    ring_unmap(subscription);
    subscription->ring = ring;
    subscription->bytes = bytes;
    (void)pthread_mutex_unlock(&subscription->lock);
    subscription->entries = ring->entries;
    subscription->next = atomic_load(&ring->next);
    subscription->epoch = epoch;
    return GRANARY_OK;
}

granary_err
granary_subscribe(granary_client *client, unsigned kinds, granary_subscription **ret_subscription)
{
    granary_subscription *subscription;
    granary_err err = gr_client_check(client);

    if (err != GRANARY_OK) {
        return err;
    }
    subscription = calloc(1, sizeof *subscription);
    if (subscription == NULL) {
        return gr_fail(GRANARY_ENOMEM, "subscribe: out of memory");
    }
    subscription->client = client;
    subscription->existing.wanted = (kinds & GRANARY_SUBSCRIBE_EXISTING) != 0;
    kinds &= ~GRANARY_SUBSCRIBE_EXISTING;
    subscription->kinds = kinds == 0 ? ~0u : kinds;
    subscription->announcer.fd = -1;
    (void)pthread_mutex_init(&subscription->lock, NULL);
    err = ring_map(subscription); /* before the listing: what is sealed meanwhile is told twice, not never */
    if (err != GRANARY_OK) {
        (void)pthread_mutex_destroy(&subscription->lock);
        free(subscription);
        return err;
    }
    *ret_subscription = subscription;
    return GRANARY_OK;
}

void
granary_unsubscribe(granary_subscription *subscription)
{
    if (subscription != NULL) {
        announcer_end(subscription);
        ring_unmap(subscription);
        existing_free(&subscription->existing);
        (void)pthread_mutex_destroy(&subscription->lock);
        free(subscription);
    }
}

/* What subscribers call it; 0: they are not told. */
static granary_event_kind
kind_of(uint32_t kind)
{
    switch (kind) {
    case GR_EVENT_SEAL:
        return GRANARY_EVENT_SEAL;
    case GR_EVENT_DELETE:
        return GRANARY_EVENT_DELETE;
    case GR_EVENT_SPILL:
        return GRANARY_EVENT_SPILL;
    case GR_EVENT_EVICT:
        return GRANARY_EVENT_EVICT;
    case GR_EVENT_RESTORE:
        return GRANARY_EVENT_RESTORE;
    default:
        return 0;
    }
}

/* The store has lapped us: go on in the middle of what is there, and tell how many are missing. */
static granary_event
skip_lost(granary_subscription *subscription, uint64_t end)
{
    uint64_t at = end - subscription->entries / 2;
    uint64_t missing = at - subscription->next;

    subscription->next = at;
    return (granary_event){.kind = GRANARY_EVENT_LOST, .size = missing, .time_ns = gr_wall_ms() * 1000000};
}

/* The next event that is there and wanted. */
static bool
take_event(granary_subscription *subscription, granary_event *ret_event)
{
    uint64_t end = atomic_load_explicit(&subscription->ring->next, memory_order_acquire);

    while (subscription->next < end) {
        struct gr_event_copy event;
        granary_event_kind kind;

        if (!gr_event_read(subscription->ring, subscription->entries, subscription->next, &event)) {
            end = atomic_load_explicit(&subscription->ring->next, memory_order_acquire);
            *ret_event = skip_lost(subscription, end);
            return true;
        }
        subscription->next++;
        kind = kind_of(event.kind);
        if (kind != 0 && (subscription->kinds & 1u << kind) != 0) {
            *ret_event = (granary_event){.kind = kind,
                                         .id = gr_id_from_words(event.id[0], event.id[1]),
                                         .size = event.a,
                                         .time_ns = (int64_t)event.time_ns};
            return true;
        }
    }
    return false;
}

/* Another store serves: its ring may be another one, and what happened in between is not known. */
static granary_err
restarted(granary_subscription *subscription, granary_event *ret_event)
{
    granary_err err = ring_map(subscription);

    if (err == GRANARY_OK) {
        *ret_event = (granary_event){.kind = GRANARY_EVENT_RESTART, .time_ns = gr_wall_ms() * 1000000};
    }
    return err;
}

/* Look, sleep, look again. */
static granary_err
wait_event(granary_subscription *subscription, int64_t deadline_ns, granary_event *ret_event)
{
    granary_client *client = subscription->client;

    for (;;) {
        struct gr_futex words[2] = {{&subscription->ring->word, atomic_load(&subscription->ring->word)},
                                    {&client->control->life, atomic_load(&client->control->life)}};
        int64_t now_ns = gr_now_ns();
        granary_err err = GRANARY_OK;

        if (take_event(subscription, ret_event)) {
            return GRANARY_OK;
        }
        announcer_quiet(&subscription->announcer);
        if (take_event(subscription, ret_event)) {
            return GRANARY_OK;
        }
        if (!client_alive(client)) {
            err = link_restore(client, deadline_ns);
        }
        if (err == GRANARY_OK && atomic_load(&client->control->epoch) != subscription->epoch) {
            return restarted(subscription, ret_event);
        }
        if (err == GRANARY_OK && now_ns >= deadline_ns) {
            err = gr_fail(GRANARY_ETIMEDOUT, "nothing happened in time");
        }
        if (err != GRANARY_OK) {
            return err;
        }
        gr_futex_wait_many(words, 2, deadline_ns - now_ns > ALIVE_CHECK_NS ? now_ns + ALIVE_CHECK_NS : deadline_ns);
    }
}

granary_err
granary_subscription_next_sized(granary_subscription *subscription, int timeout_ms, granary_event *ret_event,
                                size_t event_size)
{
    granary_client *client = subscription->client;
    granary_err err = gr_client_check_wait(client, timeout_ms);
    granary_event event;
    bool there = false;

    err = err == GRANARY_OK ? existing_take(subscription, &there, &event) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    if (there) {
        gr_sized_give(ret_event, event_size, &event, sizeof event);
        return GRANARY_OK;
    }
    /* Announced before the word is read: the store either sees the sleeper, or has bumped it already. */
    atomic_fetch_add(&client->page->waiting, 1);
    err = wait_event(subscription, gr_deadline_ns(timeout_ms), &event);
    atomic_fetch_sub(&client->page->waiting, 1);
    if (err == GRANARY_OK) {
        gr_sized_give(ret_event, event_size, &event, sizeof event);
    }
    return err;
}
