/* Spare rooms taken back from writers by a word in the lease page that both sides swap. */
#include "store/flow/spare.h"

#include "base/fault/fault.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"

#define WORTH 4096u /* bytes: a page */

/* The client's open room of that number, or NULL. */
static struct segment *
room_of(const struct client *client, uint32_t number)
{
    struct segment *segment = store_segment(client->store, number);

    return segment != NULL && segment->writer == client && !segment->closed ? segment : NULL;
}

static void
close_taken(struct client *client, uint32_t number)
{
    /* What was made in it may still have to be sealed. A ring that makes no sense drops its client, and room. */
    client->store->clients.drain(client);
    if (!client->gone && room_of(client, number) != NULL) {
        client->room = NULL;
        memory_close(client->store, room_of(client, number));
    }
}

static bool
take(struct client *client)
{
    _Atomic uint64_t *word = &client->page->spare_room;
    uint64_t spare = atomic_load_explicit(word, memory_order_relaxed);
    const struct segment *segment = room_of(client, (uint32_t)GR_OFFER_NUMBER(spare));

    if (segment == NULL || segment->size - segment->sealed_total < WORTH || !gr_offer_take(word, spare)) {
        return false;
    }
    FAULT_STEP(spare_taken);
    close_taken(client, segment->number);
    return true;
}

bool
spare_take(struct session *session)
{
    bool taken = false;

    list_each (struct client, client, &session->clients, in_session) {
        taken = take(client) || taken;
    }
    return taken;
}

bool
spare_is_taken(const struct client *client, const struct segment *segment)
{
    return client != NULL && atomic_load_explicit(&client->page->spare_room, memory_order_acquire) ==
                                 (GR_OFFER(segment->number) | GR_OFFER_TAKEN);
}

/* What was granted to a client that has not had the answer, and may never come to ask again. */
static void
take_unanswered(struct client *client)
{
    uint64_t asked = atomic_load_explicit(&client->page->asked_room, memory_order_acquire);
    const struct segment *segment = memory_granted(client, GR_OFFER_NUMBER(asked));

    if (asked != 0 && segment != NULL &&
        ((asked & GR_OFFER_TAKEN) != 0 || gr_offer_take(&client->page->asked_room, asked))) {
        close_taken(client, segment->number);
    }
}

void
spare_adopt(struct store *store)
{
    list_each (struct client, client, &store->clients.all, in_store) {
        uint64_t spare = atomic_load_explicit(&client->page->spare_room, memory_order_relaxed);

        if ((spare & GR_OFFER_TAKEN) != 0 && room_of(client, (uint32_t)GR_OFFER_NUMBER(spare)) != NULL) {
            close_taken(client, (uint32_t)GR_OFFER_NUMBER(spare));
        }
        if (!client->gone) {
            take_unanswered(client);
        }
    }
}
