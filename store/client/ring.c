/*
 * A client's ring. The client may write its page at any time. So the store copies every entry first and then checks
 * it. The position of the ring is kept in the client's record, which outlives the store and which the client cannot
 * write.
 *
 * Each entry is executed once, whenever the store dies. Its answer is written before the record's tail passes it. The
 * record also says which entry may have been executed although the tail has not passed it.
 */
#include <string.h>
#include <time.h>

#include "base/barrier.h"
#include "base/fault/fault.h"
#include "base/futex.h"
#include "store/client/client.h"
#include "store/object/object.h"
#include "store/object/session.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"

#define BATCH 256u

static uint64_t
ring_tail(const struct client *client)
{
    return atomic_load_explicit(&client->record->ring_tail, memory_order_relaxed);
}

#define READ_ONCE(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

static struct ring_request
copy_entry(struct gr_ring_entry *entry)
{
    struct ring_request request = {
        .op = READ_ONCE(entry->op),
        .flags = READ_ONCE(entry->flags),
        .importance = READ_ONCE(entry->importance),
        .next_use = READ_ONCE(entry->next_use),
        .segment = READ_ONCE(entry->segment),
        .meta_size = READ_ONCE(entry->meta_size),
        .offset = READ_ONCE(entry->offset),
        .data_size = READ_ONCE(entry->data_size),
    };

    for (size_t i = 0; i < sizeof request.id.bytes; i += sizeof(uint64_t)) {
        uint64_t word = __atomic_load_n((uint64_t *)(void *)(entry->id + i), __ATOMIC_RELAXED);

        memcpy(request.id.bytes + i, &word, sizeof word);
    }
    return request;
}

static granary_err
retire_room(struct client *client, uint32_t number)
{
    struct store *store = client->store;
    struct segment *segment = store_segment(store, number);

    if (segment == NULL || segment->writer != client || segment->closed) {
        return GRANARY_EINVAL;
    }
    if (client->room == segment) {
        client->room = NULL;
    }
    memory_close(store, segment);
    return GRANARY_OK;
}

static granary_err
handle(struct client *client, const struct ring_request *request)
{
    switch (request->op) {
    case GR_RING_SEAL:
        return object_seal(client, request);
    case GR_RING_DELETE:
        return object_delete(client->session, request->id);
    case GR_RING_RETIRE:
        return retire_room(client, request->segment);
    case GR_RING_LEASE_RELEASED:
        client->session->recheck_deleting = true;
        return GRANARY_OK;
    default:
        return GRANARY_EINVAL;
    }
}

/* The same for an entry that the last store was executing when it died: what it did is not done again. */
static granary_err
handle_again(struct client *client, const struct ring_request *request)
{
    const struct segment *segment;
    granary_err err;

    switch (request->op) {
    case GR_RING_SEAL:
        return object_is_sealed(client, request) ? GRANARY_OK : object_seal(client, request);
    case GR_RING_DELETE:
        err = object_delete(client->session, request->id);
        return err == GRANARY_ENOENT ? GRANARY_OK : err;
    case GR_RING_RETIRE:
        segment = store_segment(client->store, request->segment);
        return segment == NULL || (segment->closed && segment->writer == client)
                   ? GRANARY_OK
                   : retire_room(client, request->segment);
    default:
        return handle(client, request);
    }
}

/*
 * A delete of what is not there changes nothing. To the next store, if this one died, its absence would look like this
 * one's work: so that is never said to have begun.
 */
static bool
changes(const struct client *client, const struct ring_request *request)
{
    return request->op != GR_RING_DELETE || object_can_be_deleted(client->session, request->id);
}

bool
ring_is_begun(const struct client *client)
{
    return atomic_load_explicit(&client->record->ring_begun, memory_order_relaxed) == ring_tail(client) + 1;
}

static void
execute(struct client *client, uint64_t at)
{
    struct gr_ring_entry *entry = &client->page->ring[at % GR_RING_ENTRIES];
    struct gr_client_record *record = client->record;
    struct ring_request request = copy_entry(entry);
    bool again = ring_is_begun(client);
    granary_err err;

    if (!again || (atomic_load_explicit(&entry->status, memory_order_relaxed) & GR_RING_DONE) == 0) {
        if (again || changes(client, &request)) {
            atomic_store_explicit(&record->ring_begun, at + 1, memory_order_release);
            FAULT_STEP(ring_begun);
        }
        err = again ? handle_again(client, &request) : handle(client, &request);
        FAULT_STEP(ring_executed);
        atomic_store_explicit(&entry->status, GR_RING_DONE | (uint32_t)-err, memory_order_release);
        FAULT_STEP(ring_status);
    }
    atomic_store_explicit(&record->ring_tail, at + 1, memory_order_release);
    FAULT_STEP(ring_tail);
}

static inline void
publish(struct client *client, bool steps)
{
    struct gr_lease_page *page = client->page;
    uint64_t tail = ring_tail(client);

    atomic_store_explicit(&page->ring_tail, tail, memory_order_release);
    if (steps) {
        FAULT_STEP(ring_page_tail);
    }
    atomic_store_explicit(&page->ring_tail_word, (uint32_t)tail, memory_order_release);
    if (steps) {
        FAULT_STEP(ring_page_word);
    }
    barrier_full();
    if (atomic_load_explicit(&page->ring_waiting, memory_order_relaxed) != 0) {
        gr_futex_wake(&page->ring_tail_word);
    }
}

static __attribute__((cold, noinline)) void
publish_in_steps(struct client *client)
{
    publish(client, true);
}

void
ring_publish(struct client *client)
{
    if (__builtin_expect(gr_fault_armed, false)) {
        publish_in_steps(client);
    } else {
        publish(client, false);
    }
}

unsigned
ring_drain(struct client *client, unsigned most)
{
    struct gr_lease_page *page = client->page;
    uint64_t head = atomic_load_explicit(&page->ring_head, memory_order_acquire);
    uint64_t tail = ring_tail(client);
    uint64_t filled = head - tail;
    struct timespec now;
    unsigned entries;

    if (filled == 0) {
        return 0;
    }
    if (filled > GR_RING_ENTRIES || atomic_load_explicit(&page->magic, memory_order_relaxed) != GR_LEASE_MAGIC) {
        client_drop(client, "its ring makes no sense");
        return 0;
    }
    entries = filled < most ? (unsigned)filled : most;
    entries = entries < BATCH ? entries : BATCH;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    client->store->wall_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    for (unsigned i = 0; i < entries; i++) {
        execute(client, tail + i);
    }
    session_publish(client->session);
    ring_publish(client);
    store_flush_touched(client->store);
    return entries;
}

void
ring_drain_once(struct client *client)
{
    unsigned left = GR_RING_ENTRIES;
    unsigned drained;

    while (left > 0 && (drained = ring_drain(client, left)) > 0) {
        left -= drained;
    }
}
