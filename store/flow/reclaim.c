/* Reclaiming: one source after the other until enough is under way, cheapest first. */
#include "store/flow/reclaim.h"

#include <stdlib.h>

#include "base/error.h"
#include "store/core/admit.h"
#include "store/core/core.h"
#include "store/flow/evict.h"
#include "store/flow/limits.h"
#include "store/flow/queue.h"
#include "store/flow/read/restore.h"
#include "store/flow/spare.h"
#include "store/flow/supply.h"
#include "store/object/object.h"
#include "store/segment/giveback.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"
#include "store/segment/victim.h"

#define LOOKS           128u     /* at objects in one turn: some 20 to 100 us */
#define IDLE_STEP       16u      /* idle segments given back in one turn */
#define RETRY_NS        5000000  /* leases end without a message: look again */
#define BACKGROUND_NS   50000000 /* ... when nobody waits */
#define RESERVE_SHARE   32u      /* of the capacity is kept in hand ... */
#define RESERVE_MOST    ((uint64_t)64 << 20)
#define FIRST_RANGES    16u
#define HIGH_PERCENT    90u
#define LOW_PERCENT     75u
#define PERCENT(x, per) ((x) / 100 * (per))

granary_err
reclaim_init(struct reclaim *reclaim, unsigned high, unsigned low)
{
    unsigned fitting;

    reclaim->spill_rank = VICTIM_NEVER;
    reclaim->high_percent = high == 0 ? HIGH_PERCENT : high;
    fitting = reclaim->high_percent > LOW_PERCENT ? LOW_PERCENT : reclaim->high_percent - 1;
    reclaim->low_percent = low == 0 ? fitting : low;
    return reclaim->low_percent < reclaim->high_percent
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "--low-water %u: not below --high-water %u", reclaim->low_percent,
                         reclaim->high_percent);
}

void
reclaim_note_copies(struct store *store)
{
    store->reclaim->drop_ns = 0;
}

void
reclaim_note_starved(struct store *store)
{
    store->reclaim->starved = true;
}

uint64_t
reclaim_blocked_bytes(const struct store *store)
{
    return store->reclaim->blocked_bytes;
}

bool
reclaim_is_cleaning(const struct store *store)
{
    return store->reclaim->cleaning;
}

uint64_t
reclaim_reserve(const struct store *store)
{
    uint64_t reserve = store->account.bytes[GR_ACCOUNT_CAPACITY] / RESERVE_SHARE;

    return reserve > RESERVE_MOST ? RESERVE_MOST : reserve;
}

bool
reclaim_hopeful(const struct store *store)
{
    return store->spill != NULL || giveback_under_way(store);
}

/* Bytes that somebody waits for, or that a smaller budget has to lose. */
static uint64_t
needed(const struct store *store)
{
    return store->queue->need + limits_excess(store);
}

/* For quotas alone when nobody waits for memory itself. */
static bool
for_quotas(const struct store *store)
{
    return needed(store) == 0 && !list_empty(&store->queue->quota_waits);
}

static bool
anybody_waits(const struct store *store)
{
    return needed(store) > 0 || for_quotas(store);
}

/* Another session of the same user waits, and the user's limit is what it waits for. */
static uint64_t
over_user_limit(const struct session *session)
{
    uint64_t left = memory_user_left(session);
    uint64_t most = 0;

    if (left == UINT64_MAX) {
        return 0;
    }
    for (const struct list *node = session->store->queue->quota_waits.next; node != &session->store->queue->quota_waits;
         node = node->next) {
        const struct session *other = list_owner(node, struct session, in_quota_waits);

        if (other->control->uid == session->control->uid && other->quota_need > left &&
            other->quota_need - left > most) {
            most = other->quota_need - left;
        }
    }
    return most;
}

/* What the session has to give up for who waits for its quota, or its share of segments: anything that makes one go. */
static uint64_t
over_quota(const struct session *session)
{
    uint64_t left = memory_quota_left(session);

    if (list_empty(&session->in_quota_waits)) {
        return over_user_limit(session);
    }
    return left < session->quota_need ? session->quota_need - left : admit_segment(session) == GRANARY_OK ? 0 : 1;
}

bool
reclaim_may_take(const struct store *store, const struct segment *segment)
{
    return !for_quotas(store) || over_quota(segment->session) > 0;
}

/* ---- copies are dropped ---- */

struct drop {
    struct victim_hunt hunt;
    struct store *store;
    uint64_t left; /* bytes still wanted */
    /* Of an open segment: what lies between objects may be under construction, so only these ranges are dead. */
    struct range *ranges;
    size_t count, room;
};

static bool
drop_wants(struct victim_hunt *hunt, struct segment *segment)
{
    const struct drop *drop = list_owner(hunt, struct drop, hunt);

    return segment->busy == 0 && reclaim_may_take(drop->store, segment) &&
           (segment->closed || (drop->store->reclaim->with_open && segment->open_as == GR_ACCOUNT_WRITING));
}

static void
note_range(struct drop *drop, uint64_t from, uint64_t to)
{
    if (drop->count > 0 && drop->ranges[drop->count - 1].to == from) {
        drop->ranges[drop->count - 1].to = to;
        return;
    }
    if (drop->count == drop->room) {
        size_t room = drop->room == 0 ? FIRST_RANGES : drop->room * 2;
        struct range *more = realloc(drop->ranges, room * sizeof *more);

        if (more == NULL) { /* dead, but not given back before the segment is closed */
            return;
        }
        drop->ranges = more;
        drop->room = room;
    }
    drop->ranges[drop->count++] = (struct range){from, to};
}

static enum victim_verdict
drop_take(struct victim_hunt *hunt, struct segment *segment, struct gr_slot *slot)
{
    struct drop *drop = list_owner(hunt, struct drop, hunt);
    uint64_t footprint = slot_footprint(slot);
    uint64_t offset = slot_object(slot).offset;
    bool slice = (slot_flags(slot) & GR_FLAG_SLICE) != 0;

    if (!object_evict(segment->session, slot)) {
        drop->store->reclaim->blocked_now += footprint;
        return VICTIM_HELD;
    }
    if (!slice && slot_where(slot) < drop->store->reclaim->hunt_file) {
        count(segment->session, GR_COUNTER_clean_drops, 1);
    }
    if (!segment->closed) {
        note_range(drop, offset, offset + footprint);
    }
    drop->left -= footprint < drop->left ? footprint : drop->left;
    return drop->left == 0 ? VICTIM_ENOUGH : VICTIM_TAKEN;
}

static void
drop_leave(struct victim_hunt *hunt, struct segment *segment)
{
    struct drop *drop = list_owner(hunt, struct drop, hunt);

    if (drop->count > 0) {
        giveback_ranges(drop->store, segment, drop->ranges, drop->count);
        drop->ranges = NULL;
        drop->count = drop->room = 0;
    }
    segment_settle(drop->store, segment);
}

/*
 * Drop about `want` bytes of what has a copy, as long as it is worth no more than what has none. What was used lately is
 * spared: unless merciless.
 */
static enum victim_result
drop_clean(struct store *store, uint64_t want, unsigned looks, bool merciless)
{
    struct drop drop = {.hunt = {.most_rank = victim_least(store, VICTIM_DIRTY),
                                 .merciless = merciless,
                                 .wants = drop_wants,
                                 .take = drop_take,
                                 .leave = drop_leave},
                        .store = store,
                        .left = want};
    enum victim_result result = victim_hunt(store, VICTIM_CLEAN, &drop.hunt, looks);

    free(drop.ranges);
    if (result != VICTIM_MORE && result != VICTIM_SATISFIED) { /* each was looked at once */
        store->reclaim->blocked_bytes = store->reclaim->blocked_now;
        store->reclaim->blocked_now = 0;
    }
    return result;
}

/* ---- steps ---- */

/* What is missing for who waits, beside what will be there when the workers are done. */
static uint64_t
missing(const struct store *store)
{
    uint64_t have, bytes = 0;

    if (!for_quotas(store)) {
        have = memory_free(store) + giveback_returning(store);
        return have < needed(store) ? needed(store) - have : 0;
    }
    for (const struct list *node = store->queue->quota_waits.next; node != &store->queue->quota_waits;
         node = node->next) {
        bytes += over_quota(list_owner(node, struct session, in_quota_waits));
    }
    return bytes;
}

/* Warm memory nobody could use as it is. True: there may be more. */
static bool
give_idle_back(struct store *store, bool all)
{
    unsigned looked = 0;
    unsigned given = 0;

    list_each (struct segment, segment, &store->segments.idle, in_order) {
        if (!all && missing(store) == 0) {
            return false;
        }
        if (++looked > LOOKS || given == IDLE_STEP) {
            return given > 0;
        }
        if (reclaim_may_take(store, segment)) {
            memory_destroy(store, segment);
            given++;
        }
    }
    return false;
}

/* Segments that objects were restored to are closed, so that what lies there can go. */
static void
close_arenas(struct store *store)
{
    list_each (struct session, session, &store->restores->arenas, in_arenas) {
        struct segment *arena = session->arena;

        if (arena != NULL && arena->busy == 0) {
            session->arena = NULL;
            list_remove(&session->in_arenas);
            segment_close(arena, &store->account);
            list_append(&store->segments.closed, &arena->in_order);
            segment_settle(store, arena);
        }
    }
}

/* Rooms in which their writers make nothing: those of the sessions that are over their quotas, or everybody's. */
static bool
take_spare_rooms(struct store *store)
{
    bool taken = false;

    list_each (struct session, session, &store->sessions.all, in_store) {
        if (!for_quotas(store) || over_quota(session) > 0) {
            taken = spare_take(session) || taken;
        }
    }
    return taken;
}

/* Everything that has a copy was looked at in vain. */
static void
nothing_to_drop(struct store *store, int64_t now_ns)
{
    if (take_spare_rooms(store)) {
        return;
    }
    if (!list_empty(&store->restores->arenas)) {
        close_arenas(store);
    } else if (!store->reclaim->with_open) {
        store->reclaim->with_open = true;
    } else {
        store->reclaim->drop_ns = now_ns + RETRY_NS;
    }
}

/* Nothing can be written so that copies used lately may stay. False: they are not spared anyway. */
static bool
spare_no_more(struct store *store)
{
    bool spares = store->reclaim->spill_rank != VICTIM_NEVER;

    if (spares) {
        store->reclaim->spill_rank = VICTIM_NEVER;
        store->reclaim->merciless = true;
        store->reclaim->drop_ns = 0;
    }
    return spares;
}

/* Who waits needs something written, and nothing was found. True: there is more to look at. */
static bool
nothing_to_write(struct store *store, int64_t now_ns)
{
    if (spare_no_more(store)) {
        return true;
    }
    /* Objects in rooms that are being written are the last resort. */
    store->reclaim->spill_ns = store->reclaim->spill_open ? now_ns + RETRY_NS : 0;
    store->reclaim->spill_open = !store->reclaim->spill_open;
    return store->reclaim->spill_open;
}

/* Nothing can be had without writing. */
static bool
spill_for(struct store *store, int64_t now_ns)
{
    if (store->spill == NULL) {
        if (now_ns < store->reclaim->spill_ns ||
            !spill_start(store, missing(store), store->reclaim->spill_open, store->reclaim->spill_rank)) {
            return spare_no_more(store);
        }
    }
    switch (spill_step(store, LOOKS)) {
    case SPILL_GATHERING:
        return true;
    case SPILL_WRITING:
        store->reclaim->spill_open = false;
        return false;
    case SPILL_NONE:
        break;
    }
    return nothing_to_write(store, now_ns);
}

/* Somebody waits. */
static bool
make_room(struct store *store, int64_t now_ns)
{
    unsigned looks = LOOKS;
    bool more = false;

    if (missing(store) == 0) {
        store->reclaim->merciless = false;
        return false;
    }
    /* What a session's own writers do not use goes before its objects. */
    if (give_idle_back(store, false) || (for_quotas(store) && take_spare_rooms(store)) ||
        giveback_torn(store, &looks)) {
        return true;
    }
    if (missing(store) == 0) {
        return false;
    }
    /* Holes first: what they give need not be dropped. */
    if (!giveback_is_punching(store) && now_ns >= store->reclaim->drop_ns) {
        const bool merciless = store->reclaim->merciless || victim_least(store, VICTIM_DIRTY) == VICTIM_NEVER;

        switch (drop_clean(store, missing(store), looks, merciless)) {
        case VICTIM_SATISFIED:
        case VICTIM_ROUND:
            store->reclaim->spill_rank = VICTIM_NEVER;
            store->reclaim->merciless = false;
            more = true;
            break;
        case VICTIM_MORE:
            more = true;
            break;
        case VICTIM_SPARED:
            store->reclaim->spill_rank = victim_reached(store, VICTIM_CLEAN);
            store->reclaim->drop_ns = now_ns + RETRY_NS;
            break;
        case VICTIM_NOTHING:
            store->reclaim->spill_rank = VICTIM_NEVER;
            nothing_to_drop(store, now_ns);
            more = store->reclaim->drop_ns <= now_ns;
            break;
        }
    }
    /* What is being written, or made a hole, will be there soon. */
    if (!giveback_is_punching(store) &&
        (store->reclaim->drop_ns > now_ns || store->account.clean + store->account.idle < missing(store))) {
        more = spill_for(store, now_ns) || more;
    }
    return more;
}

/* Write copies ahead of demand, so that memory can be had at once when it is asked for. */
static bool
clean_ahead(struct store *store, int64_t now_ns)
{
    const struct account *account = &store->account;
    uint64_t capacity = account->bytes[GR_ACCOUNT_CAPACITY];
    /* Rooms being written are, or soon will be. */
    uint64_t dirty = account->bytes[GR_ACCOUNT_SEALED] - account->clean + account->bytes[GR_ACCOUNT_WRITING];

    if (dirty > PERCENT(capacity, store->reclaim->high_percent)) {
        store->reclaim->cleaning = true;
    } else if (dirty < PERCENT(capacity, store->reclaim->low_percent)) {
        store->reclaim->cleaning = false;
    }
    if (store->spill == NULL && (!store->reclaim->cleaning || now_ns < store->reclaim->background_ns)) {
        return false;
    }
    if (store->spill == NULL && !spill_start(store, 0, false, VICTIM_NEVER)) {
        store->reclaim->background_ns = now_ns + BACKGROUND_NS;
        return false;
    }
    switch (spill_step(store, LOOKS)) {
    case SPILL_GATHERING:
        return true;
    case SPILL_NONE: /* it may have been begun for who waits */
        store->reclaim->background_ns = now_ns + BACKGROUND_NS;
        return anybody_waits(store) && nothing_to_write(store, now_ns);
    case SPILL_WRITING:
        break;
    }
    return false;
}

/*
 * Keep some bytes in hand, as long as copies can be dropped for it. Nobody waits for them: who waits for an object that
 * was just brought back has to find it.
 */
static bool
drop_ahead(struct store *store, int64_t now_ns)
{
    uint64_t reserve = reclaim_reserve(store);
    uint64_t have = store->account.bytes[GR_ACCOUNT_FREE] + giveback_returning(store) + store->account.idle;
    unsigned looks = LOOKS;

    if (have >= reserve || store->account.clean == 0 || now_ns < store->reclaim->ahead_ns) {
        return false;
    }
    if (giveback_torn(store, &looks)) {
        return true;
    }
    if (giveback_is_punching(store)) {
        return false;
    }
    switch (drop_clean(store, reserve - have, looks, false)) {
    case VICTIM_MORE:
    case VICTIM_SATISFIED:
    case VICTIM_ROUND:
        return true;
    case VICTIM_SPARED:
    case VICTIM_NOTHING:
        break;
    }
    store->reclaim->ahead_ns = now_ns + BACKGROUND_NS;
    return false;
}

bool
reclaim_turn(struct store *store, int64_t now_ns)
{
    bool more;

    victim_turn(store);
    if (store->reclaim->starved) {
        store->reclaim->starved = give_idle_back(store, true);
    }
    if (anybody_waits(store)) {
        more = make_room(store, now_ns);
    } else {
        store->reclaim->with_open = store->reclaim->spill_open = store->reclaim->merciless = false;
        store->reclaim->spill_rank = VICTIM_NEVER;
        store->reclaim->hunt_file = atomic_load_explicit(&store->root.shm->next_file, memory_order_relaxed);
        more = drop_ahead(store, now_ns);
    }
    return clean_ahead(store, now_ns) || more;
}

int64_t
reclaim_next_ns(const struct store *store)
{
    int64_t next_ns = INT64_MAX;

    if (store->reclaim->cleaning && store->spill == NULL) {
        next_ns = store->reclaim->background_ns;
    }
    return next_ns;
}

void
reclaim_stop(struct store *store)
{
    list_each (struct session, session, &store->sessions.all, in_store) {
        reclaim_forget(session);
    }
}

void
reclaim_forget(struct session *session)
{
    struct store *store = session->store;

    spill_forget(store, session);
    supply_forget(session);
    list_remove(&session->in_arenas);
    list_each (struct segment, segment, &session->segments, in_session) {
        giveback_forget(store, segment);
        victim_segment_gone(store, segment);
    }
}
