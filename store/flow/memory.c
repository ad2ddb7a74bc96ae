/* Grants of segments: a warm one of the same writer first, then free bytes, within the session's quota. */
#include "store/flow/memory.h"

#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/base/node.h"
#include "store/client/admit.h"
#include "store/client/client.h"
#include "store/core/core.h"
#include "store/flow/queue.h"
#include "store/flow/reclaim.h"
#include "store/flow/spare.h"
#include "store/object/session.h"
#include "store/segment/giveback.h"
#include "store/segment/supply.h"

#define PAGE        4096u
#define PAGE_UP(n)  (((n) + PAGE - 1) / PAGE * PAGE)
#define RETRY_NS    5000000     /* leases end without a message: look again */
#define SCAN_NS     1000000     /* ... but not at every turn of a busy loop */
#define WARM_LOOKS  256u        /* idle segments looked at for one request */
#define IDLE_NS     10000000000 /* idle memory goes back to the system after that */
#define BOUND_STEP  16u         /* idle segments beyond the bound given back in one turn */
#define SMALL_SHARE 8u          /* a small request asks for at most this part of the reserve */

static uint64_t
capacity_bytes(const struct store *store)
{
    return store->account.bytes[GR_ACCOUNT_CAPACITY];
}

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
memory_quota_left(const struct session *session)
{
    uint64_t quota = atomic_load_explicit(&session->control->quota_bytes, memory_order_relaxed);

    return quota == 0 ? UINT64_MAX : quota > session->used_bytes ? quota - session->used_bytes : 0;
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

/* Take it out of everything but its session. */
static void
forget(struct store *store, struct segment *segment)
{
    struct map_entry *entry = map_find(&store->segments, map_key_number(segment->number));

    set_idle(store, segment, false);
    victim_segment_gone(store, segment);
    supply_taken(store, segment);
    session_use(segment->session, 0, segment->size - segment->punched);
    segment->session->segment_count--;
    if (segment->writer != NULL && segment->writer->room == segment) {
        segment->writer->room = NULL;
    }
    map_remove(&store->segments, entry);
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

/* When the oldest idle segment has been idle for too long; INT64_MAX: there is none. */
static int64_t
trim_ns(const struct store *store)
{
    return list_empty(&store->idle) ? INT64_MAX
                                    : list_owner(store->idle.next, struct segment, in_order)->idle_ns + IDLE_NS;
}

/* What is kept warm, and how long: the oldest idle segments beyond it go back to the system. */
static bool
bound_pool(struct store *store, int64_t now_ns)
{
    for (unsigned i = 0; i < BOUND_STEP; i++) {
        if (list_empty(&store->idle) || (store->account.idle <= capacity_bytes(store) / 2 && now_ns < trim_ns(store))) {
            return false;
        }
        memory_destroy(store, list_owner(store->idle.next, struct segment, in_order));
    }
    return true;
}

/* So much died between its objects that looking for holes is worth it. */
static bool
is_torn(const struct segment *segment)
{
    uint64_t worth = segment->size / 16 > PAGE ? segment->size / 16 : PAGE;

    return segment->torn >= worth || (segment->torn > 0 && segment->live + segment->deleting < worth);
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
            list_append(&store->torn, &segment->in_torn);
        }
        supply_offer(store, segment);
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
    list_append(&store->idle, &segment->in_order);
    set_idle(store, segment, true);
}

/* How good a warm segment is for a wish; 0: not at all. Fresh memory of the right node is better than warm memory of
 * another one, while there is any. */
static unsigned
suits(const struct memory_wish *wish, const struct segment *segment, uint64_t min, uint64_t want, bool any_node)
{
    uint64_t most = want > 2 * min ? want : 2 * min;

    if (segment->session != wish->session || (segment->writer != NULL && segment->writer != wish->client) ||
        segment->size < min || segment->size > most || (segment->node != wish->node && !any_node) ||
        spare_is_taken(wish->client, segment)) {
        return 0;
    }
    /* Large enough; mapped by the writer already. */
    return 1 + (segment->size >= want ? 2 : 0) + (segment->writer == wish->client ? 1 : 0);
}

/* Most recently freed first among equals; never written by somebody else who is still there. */
static struct segment *
find_warm(struct store *store, const struct memory_wish *wish, uint64_t min, uint64_t want, bool any_node)
{
    struct segment *best = NULL;
    unsigned best_suits = 0;
    unsigned looks = 0;

    for (struct list *node = store->idle.prev; node != &store->idle && looks < WARM_LOOKS && best_suits < 4;
         node = node->prev, looks++) {
        struct segment *segment = list_owner(node, struct segment, in_order);
        unsigned suited = suits(wish, segment, min, want, any_node);

        if (suited > best_suits ||
            (suited > 0 && suited == best_suits && segment->size < want && segment->size > best->size)) {
            best = segment;
            best_suits = suited;
        }
    }
    return best;
}

static void
adopt(struct store *store, struct client *client, struct segment *segment)
{
    segment_grant(segment, client, client == NULL ? 0 : client->number);
    if (client != NULL) {
        client->rooms++;
    }
    list_append(&store->open, &segment->in_order);
}

static uint64_t
request_of(const struct memory_wish *wish)
{
    return wish->client == NULL ? 0 : wish->client->room_request;
}

struct segment *
memory_granted(const struct client *client, uint64_t request)
{
    struct list *node, *next;

    list_each (node, next, &client->store->open) {
        struct segment *segment = list_owner(node, struct segment, in_order);

        if (segment->writer == client &&
            atomic_load_explicit(&segment->record->request, memory_order_relaxed) == request) {
            return segment;
        }
    }
    return NULL;
}

static granary_err
create_segment(struct store *store, const struct memory_wish *wish, uint64_t size, struct segment **ret_segment)
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
    entry = map_add(&store->segments, map_key_number(segment->number));
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
    adopt(store, wish->client, segment);
    segment_set_node(segment, wish->node);
    *ret_segment = segment;
    return GRANARY_OK;
}

granary_err
memory_prepare(struct store *store, struct session *session, unsigned node, uint64_t bytes,
               struct segment **ret_segment)
{
    const struct memory_wish wish = {.session = session, .node = node};

    return create_segment(store, &wish, PAGE_UP(bytes), ret_segment);
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
    list_append(segment->closed ? &store->closed : &store->open, &segment->in_order);
    segment_settle(store, segment);
}

/* ---- grants ---- */

/*
 * How large a new segment may be now; 0: too small. Small requests are served from what is kept in hand while large
 * ones wait for more. Crumbs would make every object a segment of its own, so it is better to wait as long as more is
 * on its way.
 */
static uint64_t
grantable(const struct store *store, uint64_t min, uint64_t want)
{
    uint64_t reserve = reclaim_reserve(store);
    uint64_t small = reserve / SMALL_SHARE / PAGE * PAGE;
    uint64_t left = memory_free(store);
    bool hopeful = reclaim_hopeful(store);
    uint64_t size;

    if (min > small && hopeful) {
        left = left > reserve ? left - reserve : 0;
    }
    size = left < want ? left : want;
    if (size == want) {
        return size;
    }
    if (size < min || !hopeful) {
        return size < min ? 0 : size;
    }
    if (min <= small) {
        return size < small ? size : small;
    }
    return size < want / 4 ? 0 : size;
}

/* Within the quota, and the shares of segments. Errors: as memory_grant() */
static granary_err
fit_quota(const struct memory_wish *wish, uint64_t min, uint64_t *want)
{
    const struct session *session = wish->session;
    uint64_t left = memory_quota_left(session);
    granary_err err = wish->client == NULL ? GRANARY_OK : admit_room(wish->client);

    if (err != GRANARY_OK) {
        return err;
    }
    if (admit_segment(session) != GRANARY_OK) {
        return GRANARY_ESTATE;
    }

    if (left < min) {
        uint64_t quota = atomic_load_explicit(&session->control->quota_bytes, memory_order_relaxed);

        return min > quota
                   ? gr_fail(GRANARY_EFULL, "%llu bytes are more than the whole quota of session '%s', %llu bytes",
                             (unsigned long long)min, session->name, (unsigned long long)quota)
                   : GRANARY_ESTATE;
    }
    *want = left < *want ? left / PAGE * PAGE : *want;
    return GRANARY_OK;
}

static void
grant_warm(struct store *store, const struct memory_wish *wish, uint64_t want, struct segment *segment)
{
    if (wish->client != NULL) {
        supply_note(wish->session, wish->node, want, segment);
    }
    supply_taken(store, segment);
    set_idle(store, segment, false);
    segment_set_request(segment, request_of(wish));
    segment_reopen(segment, &store->account, wish->client == NULL ? GR_ACCOUNT_RESERVED : GR_ACCOUNT_WRITING);
    adopt(store, wish->client, segment);
}

granary_err
memory_grant(struct store *store, const struct memory_wish *wish, struct segment **ret_segment, uint64_t *ret_warm)
{
    uint64_t min = PAGE_UP(wish->min_bytes);
    uint64_t want = wish->want_bytes > min ? PAGE_UP(wish->want_bytes) : min;
    struct segment *segment = find_warm(store, wish, min, want, false);
    granary_err err = GRANARY_OK;
    uint64_t size = 0;

    if (segment == NULL) {
        err = fit_quota(wish, min, &want);
        size = err == GRANARY_OK ? grantable(store, min, want) : 0;
    }
    if (segment == NULL && size == 0) {
        segment = node_count() == 1 ? NULL : find_warm(store, wish, min, want, true);
        if (segment == NULL) {
            return err == GRANARY_OK ? GRANARY_EBUSY : err;
        }
    }
    if (segment != NULL) {
        grant_warm(store, wish, want, segment);
        *ret_segment = segment;
        *ret_warm = segment_warm_bytes(segment);
        return GRANARY_OK;
    }
    *ret_warm = 0;
    err = create_segment(store, wish, size, ret_segment);
    if (err == GRANARY_OK && wish->client != NULL) {
        supply_note(wish->session, wish->node, want, NULL);
    }
    if (err == GRANARY_ENOMEM && !list_empty(&store->idle)) {
        /* Out of descriptors, or of memory: idle segments hold both. */
        reclaim_note_starved(store);
        return GRANARY_EBUSY;
    }
    return err;
}

void
memory_close(struct store *store, struct segment *segment)
{
    if (segment->writer != NULL && !segment->closed) {
        segment->writer->rooms--;
    }
    segment_close(segment, &store->account);
    list_append(&store->closed, &segment->in_order);
    segment_settle(store, segment);
}

void
memory_writer_gone(struct client *client)
{
    struct store *store = client->store;
    struct list *node, *next;

    list_each (node, next, &client->session->segments) {
        struct segment *segment = list_owner(node, struct segment, in_session);

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

/* ---- the loop's turn ---- */

static bool
anybody_waits(const struct store *store)
{
    return !list_empty(&store->rooms) || !list_empty(&store->restores);
}

bool
memory_turn(struct store *store, int64_t now_ns)
{
    bool pooled, reclaimed; /* each has its turn, whatever the other says */

    if (anybody_waits(store)) {
        bool changed = store->account.changes != store->tried_changes && now_ns >= store->tried_ns + SCAN_NS;

        if (store->serve_now || changed || now_ns >= memory_next_ns(store, now_ns)) {
            store->serve_now = false;
            queue_serve(store, now_ns);
            store->tried_ns = now_ns;
            store->tried_changes = store->account.changes;
        }
    } else {
        store->need = 0;
        queue_forget_quotas(store);
    }
    supply_turn(store, now_ns);
    pooled = bound_pool(store, now_ns);
    reclaimed = reclaim_turn(store, now_ns);
    return pooled || reclaimed;
}

int64_t
memory_next_ns(const struct store *store, int64_t now_ns)
{
    int64_t next_ns = reclaim_next_ns(store);
    int64_t supply_ns = supply_next_ns(store);

    next_ns = supply_ns < next_ns ? supply_ns : next_ns;
    next_ns = trim_ns(store) < next_ns ? trim_ns(store) : next_ns;

    if (anybody_waits(store)) {
        int64_t serve_ns = store->serve_now ? now_ns : store->tried_ns + RETRY_NS;
        int64_t deadline_ns = queue_deadline_ns(store);

        next_ns = serve_ns < next_ns ? serve_ns : next_ns;
        next_ns = deadline_ns < next_ns ? deadline_ns : next_ns;
    }
    return next_ns;
}
