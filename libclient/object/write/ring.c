/*
 * The ring: what this client tells the store without a message. The client fills entries in order and the store answers
 * them in order; this side takes each answer before it fills the entry again.
 */
#include <assert.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "object/client.h"

/* How long a thread looks at the tail: with the cpu to itself, then lending it to others, before it sleeps. */
#define SPIN_NS  4000
#define YIELD_NS 20000
/* An answer is a matter of microseconds: one that is so late may mean that the store is dead. */
#define DEAD_CHECK_NS 50000000

static uint64_t
ring_tail(const granary_client *client)
{
    return atomic_load_explicit(&client->page->ring_tail, memory_order_acquire);
}

/* Look at the tail for a while. True: everything before end is answered. */
static bool
ring_spin(granary_client *client, uint64_t end)
{
    int64_t began;
    int64_t spent = 0;

    if (ring_tail(client) >= end || !client->spin) {
        return ring_tail(client) >= end;
    }
    began = gr_now_ns();
    while (spent < YIELD_NS) {
        for (int i = 0; i < 16; i++) {
            if (ring_tail(client) >= end) {
                return true;
            }
            gr_cpu_relax();
        }
        if (spent > SPIN_NS) {
            (void)sched_yield(); /* the store may be waiting for this very cpu */
        }
        spent = gr_now_ns() - began;
    }
    return false;
}

/* Spin, then sleep, until everything before end is answered, by whichever store. Errors: EUNREACHABLE */
static granary_err
ring_await(granary_client *client, uint64_t end)
{
    struct gr_lease_page *page = client->page;
    granary_err err = GRANARY_OK;
    bool begun;

    if (ring_spin(client, end)) {
        return GRANARY_OK;
    }
    begun = wait_begin(client, GR_WAIT_answer, NULL, 0);
    atomic_fetch_add(&page->ring_waiting, 1);
    while (err == GRANARY_OK) {
        struct gr_futex words[2] = {{&page->ring_tail_word, atomic_load(&page->ring_tail_word)},
                                    {&client->control->life, atomic_load(&client->control->life)}};

        if (atomic_load(&page->ring_tail) >= end) {
            break;
        }
        if (client_alive(client)) {
            int64_t check_ns = gr_now_ns() + DEAD_CHECK_NS;

            gr_futex_wait_many(words, 2, check_ns);
            if (gr_now_ns() >= check_ns) {
                client_ring_bell(client); /* the last time may have failed */
            }
        } else {
            err = link_restore(client, INT64_MAX);
        }
    }
    atomic_fetch_sub(&page->ring_waiting, 1);
    wait_end(client, begun);
    return err;
}

/* Take the answers of all entries before end, which are answered. */
static void
ring_harvest(granary_client *client, uint64_t end)
{
    struct ring *ring = &client->ring;

    for (; ring->harvested < end; ring->harvested++) {
        size_t at = ring->harvested % GR_RING_ENTRIES;
        struct ring_note *note = &ring->notes[at];
        uint32_t status = atomic_load_explicit(&client->page->ring[at].status, memory_order_acquire);
        granary_err err = (granary_err)(-(int32_t)(status & ~GR_RING_DONE));

        if (note->answer != NULL) {
            *note->answer = (struct ring_answer){.err = err, .done = true};
        } else if (note->report && err != GRANARY_OK && ring->first_err == GRANARY_OK) {
            ring->first_err = err;
            ring->first_id = note->id;
        }
    }
}

void
client_ring_bell(granary_client *client)
{
    uint64_t one = 1;

    /* A full counter is a bell that rings already; after other failures who waits rings again. */
    (void)!write(client->doorbell, &one, sizeof one);
}

/* Wake the store if it sleeps. False: the bell at hand is not this store's. */
static bool
ring_doorbell(granary_client *client)
{
    uint64_t tail = ring_tail(client);

    /*
     * Nothing to say when all is answered already. Otherwise the entry at the tail is waiting, and while the tail stays
     * where it was when the bell rang last, the store has yet to look.
     */
    if (tail == client->ring.head || client->ring.rung_at == tail ||
        atomic_load(&client->control->store_sleeping) == 0) {
        return true;
    }
    if (link_is_stale(client)) {
        return false;
    }
    client->ring.rung_at = tail;
    client_ring_bell(client);
    return true;
}

/* False: see ring_doorbell(). */
static bool
ring_fill(granary_client *client, const struct gr_ring_entry *entry, struct ring_answer *answer, bool report)
{
    struct ring *ring = &client->ring;
    size_t at = ring->head % GR_RING_ENTRIES;
    struct gr_ring_entry *place = &client->page->ring[at];

    atomic_store_explicit(&place->status, 0, memory_order_relaxed);
    place->op = entry->op;
    place->flags = entry->flags;
    place->importance = entry->importance;
    place->next_use = entry->next_use;
    memcpy(place->id, entry->id, sizeof place->id);
    place->segment = entry->segment;
    place->meta_size = entry->meta_size;
    place->offset = entry->offset;
    place->data_size = entry->data_size;
    memcpy(ring->notes[at].id.bytes, entry->id, sizeof entry->id);
    ring->notes[at].answer = answer;
    ring->notes[at].report = report;
    ring->head++;
    /* An exchange, not a store: it is ordered before the look at store_sleeping. */
    (void)atomic_exchange(&client->page->ring_head, ring->head);
    return ring_doorbell(client);
}

/* Make room when the ring is full. */
static granary_err
ring_make_room(granary_client *client)
{
    struct ring *ring = &client->ring;
    granary_err err = GRANARY_OK;

    /* Others may fill it again while the lock is given up. */
    while (err == GRANARY_OK && ring->head - ring->harvested == GR_RING_ENTRIES) {
        /* Half the ring at once: a sleep and a wake for each entry would cost more than the work. */
        uint64_t tail = ring_tail(client);
        uint64_t end = tail > ring->harvested ? tail : ring->harvested + GR_RING_ENTRIES / 2;

        (void)pthread_mutex_unlock(&client->lock);
        err = ring_await(client, end);
        (void)pthread_mutex_lock(&client->lock);
        if (err == GRANARY_OK) {
            ring_harvest(client, end);
        }
    }
    return err;
}

granary_err
ring_push(granary_client *client, const struct gr_ring_entry *entry, struct ring_answer *answer, bool report,
          uint64_t *ret_position)
{
    granary_err err = link_check(client);

    if (err == GRANARY_OK && link_gave_up(client)) {
        (void)pthread_mutex_unlock(&client->lock);
        err = link_restore(client, 0);
        (void)pthread_mutex_lock(&client->lock);
    }
    if (err == GRANARY_OK) {
        err = ring_make_room(client);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    *ret_position = client->ring.head;
    if (!ring_fill(client, entry, answer, report)) {
        /* Another store sleeps. Whether it can be reached or not, it will find the entry. */
        (void)pthread_mutex_unlock(&client->lock);
        (void)link_restore(client, gr_deadline_ns(REQUEST_TIMEOUT_MS));
        (void)pthread_mutex_lock(&client->lock);
    }
    return GRANARY_OK;
}

void
ring_try_push(granary_client *client, const struct gr_ring_entry *entry)
{
    struct ring *ring = &client->ring;

    if (pthread_mutex_trylock(&client->lock) != 0) {
        return;
    }
    if (ring->head - ring->harvested == GR_RING_ENTRIES) {
        uint64_t tail = ring_tail(client);

        ring_harvest(client, tail < ring->head ? tail : ring->head);
    }
    if (ring->head - ring->harvested < GR_RING_ENTRIES) {
        (void)ring_fill(client, entry, NULL, false);
    }
    (void)pthread_mutex_unlock(&client->lock);
}

granary_err
ring_wait(granary_client *client, uint64_t position, struct ring_answer *answer)
{
    granary_err err = ring_await(client, position + 1);

    (void)pthread_mutex_lock(&client->lock);
    if (err == GRANARY_OK) {
        ring_harvest(client, position + 1);
        assert(answer->done);
        err = answer->err;
    }
    /* The answer lives on the caller's stack: nobody may write there later. */
    if (client->ring.notes[position % GR_RING_ENTRIES].answer == answer) {
        client->ring.notes[position % GR_RING_ENTRIES].answer = NULL;
    }
    (void)pthread_mutex_unlock(&client->lock);
    return err;
}

void
ring_forget(granary_client *client, const struct ring_answer *answers, size_t count)
{
    for (size_t i = 0; i < GR_RING_ENTRIES; i++) {
        struct ring_answer *answer = client->ring.notes[i].answer;

        if (answer >= answers && answer < answers + count) {
            client->ring.notes[i].answer = NULL;
        }
    }
}

granary_err
granary_flush(granary_client *client)
{
    granary_err err = gr_client_check(client);
    granary_id id;
    uint64_t end;

    if (err != GRANARY_OK) {
        return err;
    }
    (void)pthread_mutex_lock(&client->lock);
    end = client->ring.head;
    (void)pthread_mutex_unlock(&client->lock);
    err = ring_await(client, end);
    if (err != GRANARY_OK) {
        return err;
    }
    (void)pthread_mutex_lock(&client->lock);
    ring_harvest(client, end);
    err = client->ring.first_err;
    id = client->ring.first_id;
    client->ring.first_err = GRANARY_OK;
    (void)pthread_mutex_unlock(&client->lock);
    return err == GRANARY_OK
               ? GRANARY_OK
               : gr_fail(err, "object %s: %s (sent without waiting)", id_text(id), granary_error_text(err));
}
