/*
 * Leases the store counts, because the hazards' set was full. Each has a place, and ends with a bit in the lease page,
 * whatever has become of the request: see contract/shm.h.
 */
#include "base/error.h"
#include "object/client.h"

#define WORDS (GR_COUNTED_PLACES / 64)

/* A place without a lease, of which the store has nothing to end any more. GR_COUNTED_PLACES: there is none. */
static uint32_t
place_take(granary_client *client)
{
    struct counted *counted = &client->counted;
    uint32_t place = GR_COUNTED_PLACES;

    (void)pthread_mutex_lock(&counted->lock);
    for (uint32_t i = 0; i < WORDS && place == GR_COUNTED_PLACES; i++) {
        uint32_t at = (counted->next + i) % WORDS;
        uint64_t taken = counted->held[at] | atomic_load_explicit(&client->page->ended[at], memory_order_acquire);

        if (~taken != 0) {
            unsigned bit = (unsigned)__builtin_ctzll(~taken);

            counted->held[at] |= (uint64_t)1 << bit;
            counted->next = at;
            place = at * 64 + bit;
        }
    }
    (void)pthread_mutex_unlock(&counted->lock);
    return place;
}

static void
place_give(granary_client *client, uint32_t place)
{
    struct counted *counted = &client->counted;

    (void)pthread_mutex_lock(&counted->lock);
    counted->held[place / 64] &= ~((uint64_t)1 << place % 64);
    (void)pthread_mutex_unlock(&counted->lock);
}

/* Whether an error is the store's answer, which leaves no lease. After any other one it may count it, now or later. */
static bool
is_refusal(granary_err err)
{
    return err == GRANARY_ESTATE || err == GRANARY_ENOENT || err == GRANARY_EFULL || err == GRANARY_EINVAL;
}

granary_err
counted_lease(granary_client *client, granary_id id, uint64_t serial, uint32_t *ret_place)
{
    uint32_t place = place_take(client);
    granary_err err;

    if (place == GR_COUNTED_PLACES) {
        return gr_fail(GRANARY_EFULL, "object %s: this process has %u leases that the store counts: release some",
                       id_text(id), GR_COUNTED_PLACES);
    }
    err = socket_ask_object(client, GR_STORE_LEASE, id, serial, GR_COUNTED_REQUEST(place), EXISTS_WAIT_MS, INT64_MAX);
    if (is_refusal(err)) {
        place_give(client, place);
    } else if (err != GRANARY_OK) {
        counted_end(client, place);
    }
    *ret_place = place;
    return err;
}

void
counted_end(granary_client *client, uint32_t place)
{
    struct gr_lease_page *page = client->page;

    atomic_fetch_or(&page->ended[place / 64], (uint64_t)1 << place % 64);
    place_give(client, place);
    if (atomic_exchange(&page->counted_ended, 1) == 0) {
        ring_try_push(client, &(struct gr_ring_entry){.op = GR_RING_LEASE_RELEASED});
    }
}
