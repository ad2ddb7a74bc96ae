/* Segments come and go: into the lists of their state, the accounts of store and session, and back to the system. */
#include "store/segment/memory.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/segment/giveback.h"
#include "store/segment/segment.h"
#include "store/segment/victim.h"

#define PAGE      ((uint64_t)4096)
#define HUGE_PAGE ((uint64_t)2 << 20)

uint64_t
memory_free(const struct store *store)
{
    uint64_t free_bytes = store->account.bytes[GR_ACCOUNT_FREE];
    uint64_t promised = store->account.bytes[GR_ACCOUNT_WRITING] + store->account.bytes[GR_ACCOUNT_RESERVED];
    struct statvfs shm;
    uint64_t left;

    if (statvfs("/dev/shm", &shm) < 0) {
        return free_bytes;
    }
    left = (uint64_t)shm.f_bavail * shm.f_frsize;
    if (left >= free_bytes) {
        return free_bytes;
    }
    /* Others took what was promised to this store. What is granted may still need its pages. */
    return left > promised ? (left - promised) / PAGE * PAGE : 0;
}

/* ---- the account of a session ---- */

static void
session_use(struct session *session, uint64_t more, uint64_t less)
{
    session->used_bytes += more - less;
    atomic_store_explicit(&session->control->used_bytes, session->used_bytes, memory_order_relaxed);
}

uint64_t
memory_user_left(const struct session *session)
{
    const struct store *store = session->store;
    uint32_t user = (uint32_t)atomic_load_explicit(&session->control->uid, memory_order_relaxed);
    uint64_t used = 0;

    if (store->limits.user_bytes == 0 || store->clients.group == STORE_NO_GROUP || user == geteuid()) {
        return UINT64_MAX;
    }
    list_each (const struct session, other, &store->sessions.all, in_store) {
        used += atomic_load_explicit(&other->control->uid, memory_order_relaxed) == user ? other->used_bytes : 0;
    }
    return used < store->limits.user_bytes ? store->limits.user_bytes - used : 0;
}

uint64_t
memory_quota_left(const struct session *session)
{
    uint64_t quota = atomic_load_explicit(&session->control->quota_bytes, memory_order_relaxed);
    uint64_t left = quota == 0 ? UINT64_MAX : quota > session->used_bytes ? quota - session->used_bytes : 0;
    uint64_t user_left = memory_user_left(session);

    return left < user_left ? left : user_left;
}

void
memory_punched(struct store *store, struct segment *segment, uint64_t bytes)
{
    session_use(segment->session, 0, segment_add_punched(segment, &store->account, bytes));
}

/* ---- segments come and go ---- */

static void
set_idle(struct store *store, struct segment *segment, bool idle)
{
    if (segment->is_idle != idle) {
        segment->is_idle = idle;
        if (idle) {
            segment_note(segment, GR_SEGMENT_IDLE);
        }
        store->account.idle = idle ? store->account.idle + segment->size : store->account.idle - segment->size;
    }
}

/* It is no longer idle, nor one that was supplied or offered. */
static void
put_to_use(struct store *store, struct segment *segment)
{
    set_idle(store, segment, false);
    if (segment->supplied) {
        segment->supplied = false;
        store->segments.supplied_bytes -= segment->size;
    }
    list_remove(&segment->in_offered);
}

/* Take it out of everything but its session. */
static void
forget(struct store *store, struct segment *segment)
{
    struct map_entry *entry = map_find(&store->segments.by_number, map_key_number(segment->number));

    put_to_use(store, segment);
    victim_segment_gone(store, segment);
    session_use(segment->session, 0, segment->size - segment->punched);
    segment->session->segment_count--;
    if (segment->writer != NULL && segment->writer->room == segment) {
        segment->writer->room = NULL;
    }
    map_remove(&store->segments.by_number, entry);
}

void
memory_destroy(struct store *store, struct segment *segment)
{
    forget(store, segment);
    giveback_segment(store, segment);
}

void
memory_abandon(struct store *store, struct segment *segment)
{
    forget(store, segment);
    segment_destroy(segment, &store->account, store->instance.shm_prefix, segment->session->number);
}

/* So much died between its objects that looking for holes is worth it. */
static bool
is_torn(const struct segment *segment)
{
    uint64_t worth = segment->size / 16 > PAGE ? segment->size / 16 : PAGE;

    return segment->torn >= worth || (segment->torn > 0 && segment->live + segment->deleting < worth);
}

/* It holds what is read: huge pages would be good for it. */
static void
offer(struct store *store, struct segment *segment)
{
    if (segment->size >= HUGE_PAGE && segment->live >= segment->size / 2 && !segment->huge && !segment->offered &&
        !segment->proven) {
        segment->offered = true;
        list_append(&store->segments.offered, &segment->in_offered);
    }
}

void
segment_settle(struct store *store, struct segment *segment)
{
    if (!segment->closed || segment->busy > 0 || segment->is_idle) {
        return;
    }
    if (session_is_closed(segment->session)) { /* its pages are its readers', who are no clients any more */
        return;
    }
    if (segment->live > 0 || segment->deleting > 0) {
        if (is_torn(segment)) {
            list_append(&store->segments.torn, &segment->in_torn);
        }
        offer(store, segment);
        return;
    }
    store->serve_now = true;
    victim_segment_gone(store, segment);
    if (segment->punched > 0 || segment->spoiled || segment->proven) {
        memory_destroy(store, segment);
        return;
    }
    list_remove(&segment->in_torn);
    segment->idle_ns = gr_now_ns();
    list_append(&store->segments.idle, &segment->in_order);
    set_idle(store, segment, true);
}

/* Its writer has it from here on. */
static void
hand_out(struct store *store, struct client *client, struct segment *segment)
{
    segment_grant(segment, client, client == NULL ? 0 : client->number);
    if (client != NULL) {
        client->rooms++;
    }
    list_append(&store->segments.open, &segment->in_order);
}

static uint64_t
request_of(const struct memory_wish *wish)
{
    return wish->client == NULL ? 0 : wish->client->room_request;
}

struct segment *
memory_granted(const struct client *client, uint64_t request)
{
    list_each (struct segment, segment, &client->store->segments.open, in_order) {
        if (segment->writer == client &&
            atomic_load_explicit(&segment->record->request, memory_order_relaxed) == request) {
            return segment;
        }
    }
    return NULL;
}

granary_err
memory_create(struct store *store, const struct memory_wish *wish, uint64_t size, struct segment **ret_segment)
{
    struct session *session = wish->session;
    struct gr_segment_record *record;
    struct segment *segment;
    struct map_entry *entry;
    uint32_t number;
    granary_err err;

    err = root_take_segment(&store->root, &number, &record);
    if (err == GRANARY_OK) {
        err = segment_create(&store->account, store->instance.shm_prefix, session->number, number, size,
                             wish->client == NULL ? GR_ACCOUNT_RESERVED : GR_ACCOUNT_WRITING, record, &segment);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    entry = map_add(&store->segments.by_number, map_key_number(segment->number));
    if (entry == NULL) {
        segment_destroy(segment, &store->account, store->instance.shm_prefix, session->number);
        return gr_fail(GRANARY_ENOMEM, "no memory for a segment");
    }
    entry->value.pointer = segment;
    segment->session = session;
    list_append(&session->segments, &segment->in_session);
    session->segment_count++;
    session_use(session, size, 0);
    segment_set_request(segment, request_of(wish));
    hand_out(store, wish->client, segment);
    segment_set_node(segment, wish->node);
    *ret_segment = segment;
    return GRANARY_OK;
}

void
memory_reopen(struct store *store, const struct memory_wish *wish, struct segment *segment)
{
    put_to_use(store, segment);
    segment_set_request(segment, request_of(wish));
    segment_reopen(segment, &store->account, wish->client == NULL ? GR_ACCOUNT_RESERVED : GR_ACCOUNT_WRITING);
    hand_out(store, wish->client, segment);
}

void
memory_adopt(struct store *store, struct segment *segment)
{
    segment_adopted(segment, &store->account);
    session_use(segment->session, segment->size - segment->punched, 0);
    segment->session->segment_count++;
    if (segment->writer != NULL && !segment->closed) {
        segment->writer->rooms++;
    }
    list_append(segment->closed ? &store->segments.closed : &store->segments.open, &segment->in_order);
    segment_settle(store, segment);
}

void
memory_close(struct store *store, struct segment *segment)
{
    if (segment->writer != NULL && !segment->closed) {
        segment->writer->rooms--;
    }
    segment_close(segment, &store->account);
    list_append(&store->segments.closed, &segment->in_order);
    segment_settle(store, segment);
}

void
memory_writer_gone(struct client *client)
{
    struct store *store = client->store;

    list_each (struct segment, segment, &client->session->segments, in_session) {
        if (segment->writer != client) {
            continue;
        }
        segment_set_writer(segment, NULL, 0);
        if (!segment->closed) {
            memory_close(store, segment);
        }
    }
    store->serve_now = true;
}
