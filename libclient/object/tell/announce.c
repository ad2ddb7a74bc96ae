/*
 * A subscription's descriptor: a thread sleeps on the ring's futex, and makes an eventfd readable whenever the ring has
 * moved. Nothing is lost: who takes the last event empties the eventfd first, and looks at the ring once more.
 */
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/futex.h"
#include "base/thread.h"
#include "object/tell/events.h"
#include "object/tell/subscription.h"

static void
announce(const struct announcer *announcer)
{
    const uint64_t one = 1;

    (void)!write(announcer->fd, &one, sizeof one); /* full: it is readable already */
}

static void *
sleep_for_poller(void *context)
{
    granary_subscription *subscription = context;
    struct announcer *announcer = &subscription->announcer;
    const _Atomic uint32_t *life = &subscription->client->control->life;
    const void *ring = NULL;
    uint32_t seen = 0;
    uint32_t seen_life = atomic_load(life);

    while (atomic_load(&announcer->ends) == 0) {
        struct gr_futex words[3] = {{NULL, 0}, {life, atomic_load(life)}, {&announcer->ends, 0}};
        bool moved;

        (void)pthread_mutex_lock(&subscription->lock);
        words[0] = (struct gr_futex){&subscription->ring->word, atomic_load(&subscription->ring->word)};
        moved = ring != subscription->ring || words[0].expected != seen || words[1].expected != seen_life;
        ring = subscription->ring;
        (void)pthread_mutex_unlock(&subscription->lock);
        seen = words[0].expected;
        seen_life = words[1].expected;
        if (moved) {
            announce(announcer);
        }
        /* A ring that was replaced meanwhile is another page, or none: then this ends at once. */
        gr_futex_wait_many(words, 3, gr_now_ns() + ALIVE_CHECK_NS);
        if (!client_alive(subscription->client)) {
            announce(announcer); /* who asks for the next event is told, or connects again */
        }
    }
    return NULL;
}

granary_err
granary_subscription_fd(granary_subscription *subscription, int *ret_fd)
{
    struct announcer *announcer = &subscription->announcer;
    granary_err err = gr_client_check(subscription->client);
    int failed;

    if (err != GRANARY_OK || announcer->fd >= 0) {
        *ret_fd = announcer->fd;
        return err;
    }
    announcer->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (announcer->fd < 0) {
        return gr_fail_errno("subscription: a descriptor");
    }
    /* Announced to the store before the ring is looked at, as in granary_subscription_next(). */
    atomic_fetch_add(&subscription->client->page->waiting, 1);
    failed = gr_thread_start(&announcer->thread, sleep_for_poller, subscription);
    if (failed != 0) {
        atomic_fetch_sub(&subscription->client->page->waiting, 1);
        gr_fd_close(&announcer->fd);
        return gr_fail(GRANARY_ENOMEM, "subscription: no thread: %s: raise the limit (ulimit -u)", strerror(failed));
    }
    *ret_fd = announcer->fd;
    return GRANARY_OK;
}

void
announcer_quiet(const struct announcer *announcer)
{
    uint64_t count;

    if (announcer->fd >= 0) {
        (void)!read(announcer->fd, &count, sizeof count);
    }
}

void
announcer_end(granary_subscription *subscription)
{
    struct announcer *announcer = &subscription->announcer;

    if (announcer->fd >= 0) {
        atomic_store(&announcer->ends, 1);
        gr_futex_wake(&announcer->ends);
        (void)pthread_join(announcer->thread, NULL);
        atomic_fetch_sub(&subscription->client->page->waiting, 1);
        gr_fd_close(&announcer->fd);
    }
}
