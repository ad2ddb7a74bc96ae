/* Grants of segments: a warm one of the same writer first, then free bytes, within the session's quota. */
#include "store/flow/grant.h"

#include "base/error.h"
#include "store/base/node.h"
#include "store/core/admit.h"
#include "store/flow/limits.h"
#include "store/flow/queue.h"
#include "store/flow/read/restore.h"
#include "store/flow/reclaim.h"
#include "store/flow/spare.h"
#include "store/flow/supply.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"

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

/* When the oldest idle segment has been idle for too long; INT64_MAX: there is none. */
static int64_t
trim_ns(const struct store *store)
{
    return list_empty(&store->segments.idle)
               ? INT64_MAX
               : list_owner(store->segments.idle.next, struct segment, in_order)->idle_ns + IDLE_NS;
}

/* What is kept warm, and how long: the oldest idle segments beyond it go back to the system. */
static bool
bound_pool(struct store *store, int64_t now_ns)
{
    for (unsigned i = 0; i < BOUND_STEP; i++) {
        if (list_empty(&store->segments.idle) ||
            (store->account.idle <= capacity_bytes(store) / 2 && now_ns < trim_ns(store))) {
            return false;
        }
        memory_destroy(store, list_owner(store->segments.idle.next, struct segment, in_order));
    }
    return true;
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

    for (struct list *node = store->segments.idle.prev;
         node != &store->segments.idle && looks < WARM_LOOKS && best_suits < 4; node = node->prev, looks++) {
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
    uint64_t left = memory_free(store) / PAGE * PAGE; /* the capacity need not be of whole pages */
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

    if (left < min && memory_user_left(session) < min && min > session->store->limits.user_bytes) {
        return gr_fail(GRANARY_EFULL, "%llu bytes are more than each user may have here, %llu bytes",
                       (unsigned long long)min, (unsigned long long)session->store->limits.user_bytes);
    }
    if (left < min) {
        uint64_t quota = atomic_load_explicit(&session->control->quota_bytes, memory_order_relaxed);

        return quota > 0 && min > quota
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
    memory_reopen(store, wish, segment);
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
    err = memory_create(store, wish, size, ret_segment);
    if (err == GRANARY_OK && wish->client != NULL) {
        supply_note(wish->session, wish->node, want, NULL);
    }
    if (err == GRANARY_ENOMEM && !list_empty(&store->segments.idle)) {
        /* Out of descriptors, or of memory: idle segments hold both. */
        reclaim_note_starved(store);
        return GRANARY_EBUSY;
    }
    return err;
}

/* ---- the loop's turn ---- */

static bool
anybody_waits(const struct store *store)
{
    return !list_empty(&store->queue->rooms) || !list_empty(&store->restores->waiting);
}

bool
memory_turn(struct store *store, int64_t now_ns)
{
    bool pooled, reclaimed; /* each has its turn, whatever the other says */
    bool shrinks = limits_turn(store) > 0;

    if (anybody_waits(store)) {
        bool changed =
            store->account.changes != store->queue->tried_changes && now_ns >= store->queue->tried_ns + SCAN_NS;

        if (store->serve_now || changed || now_ns >= memory_next_ns(store)) {
            store->serve_now = false;
            queue_serve(store, now_ns);
            store->queue->tried_ns = now_ns;
            store->queue->tried_changes = store->account.changes;
        }
    } else {
        store->queue->need = 0;
        queue_forget_quotas(store);
    }
    supply_turn(store, now_ns);
    pooled = bound_pool(store, now_ns);
    reclaimed = reclaim_turn(store, now_ns);
    store->limits.next_ns = shrinks ? now_ns + RETRY_NS : INT64_MAX;
    return pooled || reclaimed;
}

int64_t
memory_next_ns(const struct store *store)
{
    int64_t next_ns = reclaim_next_ns(store);
    int64_t supply_ns = supply_next_ns(store);

    next_ns = supply_ns < next_ns ? supply_ns : next_ns;
    next_ns = trim_ns(store) < next_ns ? trim_ns(store) : next_ns;
    if (limits_excess(store) > 0) {
        next_ns = store->limits.next_ns < next_ns ? store->limits.next_ns : next_ns;
    }

    if (anybody_waits(store)) {
        int64_t serve_ns = store->serve_now ? 0 : store->queue->tried_ns + RETRY_NS;
        int64_t deadline_ns = queue_deadline_ns(store);

        next_ns = serve_ns < next_ns ? serve_ns : next_ns;
        next_ns = deadline_ns < next_ns ? deadline_ns : next_ns;
    }
    return next_ns;
}
