/*
 * Leases that the store counts, ended through shared memory: a client sets the bit of its lease in page->ended[] and
 * says so in counted_ended, without a request. Each turn of the loop reads a slice of the words of the sessions that
 * have such leases, and ends those leases. A bit may come before the request for its lease: it stays until that came.
 */
#include "store/object/counted.h"

#include "store/object/hold.h"

#define WORDS (GR_COUNTED_PLACES / 64)
/* Words looked at, and leases ended, of one session in one turn of the loop: a fraction of a millisecond. */
#define SLICE 256u

static uint64_t
bit_of(uint64_t place)
{
    return (uint64_t)1 << place % 64;
}

bool
counted_has_ended(struct client *client, uint64_t request)
{
    uint64_t place = request - GR_COUNTED_REQUEST(0);

    /* Of an earlier release the number is any, and its end is a request. */
    return request >= GR_COUNTED_REQUEST(0) && place < GR_COUNTED_PLACES &&
           (atomic_fetch_and(&client->page->ended[place / 64], ~bit_of(place)) & bit_of(place)) != 0;
}

/* End what a word says has ended. An end whose lease is not there stays, for the request may be on its way, or goes. */
static unsigned
end_word(struct client *client, unsigned word, bool settled)
{
    uint64_t bits = atomic_load_explicit(&client->page->ended[word], memory_order_acquire);
    unsigned looks = 1;

    for (; bits != 0; bits &= bits - 1, looks++) {
        unsigned place = word * 64 + (unsigned)__builtin_ctzll(bits);

        if (hold_unlease(client, GR_COUNTED_REQUEST(place)) == GRANARY_OK || settled) {
            atomic_fetch_and(&client->page->ended[word], ~bit_of(place));
        }
    }
    return looks;
}

/* True: there is more. */
static bool
client_turn(struct client *client, unsigned *left)
{
    if (client->counted_at == 0 && (atomic_load_explicit(&client->page->counted_ended, memory_order_relaxed) == 0 ||
                                    atomic_exchange(&client->page->counted_ended, 0) == 0)) {
        return false;
    }
    while (*left > 0 && client->counted_at < WORDS) {
        unsigned looks = end_word(client, client->counted_at++, false);

        *left -= looks < *left ? looks : *left;
    }
    if (client->counted_at < WORDS) {
        return true;
    }
    client->counted_at = 0;
    return false;
}

static bool
session_turn(struct session *session)
{
    unsigned left = SLICE;
    bool more = false;

    list_each (struct client, client, &session->clients, in_session) {
        more = client_turn(client, &left) || more;
    }
    return more;
}

bool
counted_turn(struct store *store, int64_t now_ns)
{
    bool more = false;

    (void)now_ns;
    if (!store->holds->counted) {
        return false;
    }
    store->holds->counted = false;
    list_each (struct session, session, &store->sessions.all, in_store) {
        if (session->leases.count > 0) {
            store->holds->counted = true;
            more = session_turn(session) || more;
        }
    }
    return more;
}

void
counted_settle(struct client *client)
{
    for (unsigned word = 0; word < WORDS; word++) {
        (void)end_word(client, word, true);
    }
}
