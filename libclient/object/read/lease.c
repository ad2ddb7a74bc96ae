/*
 * Leases: the hazard protocol of contract/shm.h.
 *
 * A hazard entry is serial << 16 | count, in the set serial % GR_HAZARD_SETS. Two threads that lease the same object
 * for the first time at once may claim two ways of the set. Each gives back the way it took, and the store finds
 * either.
 */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "base/id.h"
#include "object/read/probe.h"

#define COUNT_MAX 0xffffu
/* So many looks at an object that is about to change go without a pause. */
#define SPINS_BUSY 4096u

/*
 * A hazard is published by a sequentially consistent read-modify-write: the word behind it is loaded when the store can
 * see the hazard, and not before. GRANARY_WEAK_FENCE leaves that out for a test that must notice.
 */
static inline bool
hazard_set(_Atomic uint64_t *way, uint64_t *expected, uint64_t hazard)
{
#ifdef GRANARY_WEAK_FENCE
    (void)expected; /* one thread to a lease page */
    atomic_store_explicit(way, hazard, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return true;
#else
    return atomic_compare_exchange_strong(way, expected, hazard);
#endif
}

/* Take a hazard for a serial: its way + 1, or 0 when the set is full. */
static unsigned
hazard_take(struct gr_lease_page *page, uint64_t serial)
{
    _Atomic uint64_t *set = page->hazard[serial % GR_HAZARD_SETS];

    for (;;) {
        unsigned empty = GR_HAZARD_WAYS;
        uint64_t none = 0;

        for (unsigned way = 0; way < GR_HAZARD_WAYS; way++) {
            uint64_t hazard = atomic_load_explicit(&set[way], memory_order_relaxed);

            while (GR_HAZARD_SERIAL(hazard) == serial && GR_HAZARD_COUNT(hazard) < COUNT_MAX) {
                if (hazard_set(&set[way], &hazard, hazard + 1)) {
                    return way + 1;
                }
            }
            if (hazard == 0 && empty == GR_HAZARD_WAYS) {
                empty = way;
            }
        }
        if (empty == GR_HAZARD_WAYS) {
            return 0;
        }
        if (hazard_set(&set[empty], &none, GR_HAZARD(serial, 1))) {
            return empty + 1;
        }
    }
}

static void
hazard_give(struct gr_lease_page *page, uint64_t serial, unsigned handle)
{
    _Atomic uint64_t *way = &page->hazard[serial % GR_HAZARD_SETS][handle - 1];
    uint64_t hazard = atomic_load_explicit(way, memory_order_relaxed);

    while (!atomic_compare_exchange_weak(way, &hazard, GR_HAZARD_COUNT(hazard) == 1 ? 0 : hazard - 1)) {
    }
}

void
lease_end(granary_client *client, uint64_t serial, uint64_t handle)
{
    if (handle > GR_HAZARD_WAYS) {
        counted_end(client, (uint32_t)(handle - GR_HAZARD_WAYS - 1));
        return;
    }
    hazard_give(client->page, serial, (unsigned)handle);
    /* Sequentially consistent after the hazard: either the store sees it gone, or this sees the deletion. */
    if (atomic_load(&client->control->deleting) != 0) {
        ring_try_push(client, &(struct gr_ring_entry){.op = GR_RING_LEASE_RELEASED});
    }
}

/* Tell the store which objects are warm. The line stays shared as long as it says so already. */
static inline void
mark_used(struct gr_lease_page *page, uint64_t serial)
{
    _Atomic uint8_t *used = &page->used[serial % GR_USED_BYTES];

    if (atomic_load_explicit(used, memory_order_relaxed) == 0) {
        atomic_store_explicit(used, 1, memory_order_relaxed);
    }
}

/* The slot holds the wanted object in memory: take a hazard and see that it still does. */
static inline enum lease_result
lease_slot(granary_client *client, const struct probe *probe, const struct gr_slot *slot, uint64_t word,
           struct lease *ret_lease)
{
    uint64_t where_meta;
    unsigned handle;

    ret_lease->serial = GR_WORD_SERIAL(word);
    ret_lease->offset = atomic_load_explicit(&slot->offset, memory_order_relaxed);
    ret_lease->data_size = atomic_load_explicit(&slot->data_size, memory_order_relaxed);
    where_meta = atomic_load_explicit(&slot->where_meta, memory_order_relaxed);
    ret_lease->segment = (uint32_t)(where_meta >> 32);
    ret_lease->meta_size = (uint32_t)where_meta;
    handle = hazard_take(client->page, ret_lease->serial);
    /*
     * The read-modify-write above keeps the fields' loads before it and these behind it. The same word in a page that
     * was another one meanwhile would prove nothing.
     */
    if (atomic_load(&slot->word) != word || probe_replaced(probe)) {
        if (handle != 0) {
            lease_end(client, ret_lease->serial, handle);
        }
        return LEASE_AGAIN;
    }
    ret_lease->handle = handle;
    mark_used(client->page, ret_lease->serial);
    return handle == 0 ? LEASE_SET_FULL : LEASE_HELD;
}

/* An alias' slot: where it leads, if it still does. */
static bool
alias_target(const struct probe *probe, const struct gr_slot *slot, uint64_t words[2])
{
    struct slot_copy copy;

    if (!slot_read(slot, &copy) || GR_WORD_STATE(copy.word) != GR_SLOT_ALIAS || copy.id[0] != words[0] ||
        copy.id[1] != words[1] || probe_replaced(probe)) {
        return false;
    }
    words[0] = copy.offset;
    words[1] = copy.data_size;
    return true;
}

/* One look at one id. *ret_alias: words are its target's now. */
static inline enum lease_result
lease_look(granary_client *client, uint64_t words[2], struct lease *ret_lease, bool *ret_alias)
{
    uint64_t hash = gr_slot_hash(words[0], words[1]);
    uint32_t prefix = gr_index_prefix(hash);
    struct probe probe = probe_begin(client, prefix);
    uint32_t at = gr_page_home(hash);

    for (uint32_t n = 0; n < GR_PAGE_SLOTS; n++, at++) {
        const struct gr_slot *slot = &probe.page[at % GR_PAGE_SLOTS];
        uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);

        if (GR_WORD_STATE(word) == GR_SLOT_EMPTY) {
            break;
        }
        if (atomic_load_explicit(&slot->id[0], memory_order_relaxed) != words[0] ||
            atomic_load_explicit(&slot->id[1], memory_order_relaxed) != words[1]) {
            continue;
        }
        switch (GR_WORD_STATE(word)) {
        case GR_SLOT_SEALED:
            return lease_slot(client, &probe, slot, word, ret_lease);
        case GR_SLOT_SPILLED:
            return LEASE_SPILLED;
        case GR_SLOT_RETIRING:
        case GR_SLOT_BETWEEN:
        case GR_SLOT_MOVED:
            return LEASE_AGAIN;
        case GR_SLOT_ALIAS:
            *ret_alias = alias_target(&probe, slot, words);
            return LEASE_AGAIN;
        default: /* being deleted, or a tomb whose id was not wiped: a newer object of this id may lie further on */
            continue;
        }
    }
    return probe_stale(client, prefix, &probe) ? LEASE_AGAIN : LEASE_ABSENT;
}

/* words: of the id that is asked for; then of what it stands for. */
static inline enum lease_result
lease_words(granary_client *client, uint64_t words[2], struct lease *ret_lease)
{
    enum lease_result result;
    bool alias = false;

    result = lease_look(client, words, ret_lease, &alias);
    for (unsigned hops = 0; alias; hops++) {
        if (hops == ALIAS_HOPS) {
            return LEASE_ABSENT;
        }
        alias = false;
        result = lease_look(client, words, ret_lease, &alias);
    }
    return result;
}

enum lease_result
lease_try(granary_client *client, granary_id id, struct lease *ret_lease)
{
    uint64_t words[2];

    gr_id_words(id, words);
    return lease_words(client, words, ret_lease);
}

enum lease_result
lease_follow(granary_client *client, granary_id *id, struct lease *ret_lease)
{
    enum lease_result result;
    uint64_t words[2];

    gr_id_words(*id, words);
    result = lease_words(client, words, ret_lease);
    *id = gr_id_from_words(words[0], words[1]);
    return result;
}

/* Let the store count a lease. LEASE_AGAIN: the object moved meanwhile. */
static granary_err
lease_at_store(granary_client *client, granary_id id, struct lease *lease, enum lease_result *ret_result)
{
    uint32_t place;
    granary_err err = counted_lease(client, id, lease->serial, &place);

    if (err != GRANARY_OK) {
        *ret_result = LEASE_AGAIN;
        return err == GRANARY_ESTATE || err == GRANARY_ENOENT ? GRANARY_OK : err;
    }
    lease->handle = (uint64_t)place + GR_HAZARD_WAYS + 1;
    *ret_result = LEASE_HELD;
    return GRANARY_OK;
}

/* ---- waiting ---- */

struct waiting {
    granary_id id;  /* what is waited for: at the end of the aliases, as far as they are there */
    bool once;      /* an object that does not exist is not waited for */
    bool asked;     /* the store knows that it is waited for */
    bool firm;      /* the deadline holds for objects that exist, too: the caller has named one */
    bool extended;  /* the deadline was moved for one that exists */
    uint64_t epoch; /* ... by what this store has time for */
    int64_t began_ns, deadline_ns;
    uint32_t spins;
    const _Atomic uint32_t *word; /* bumped after something happened to ids like this one */
    uint32_t seen;                /* its value before the last look at the index */
};

/* It exists: it is worth a longer wait. What one store did not do before it died is no fault of the next. */
static void
wait_extend(const granary_client *client, struct waiting *waiting)
{
    uint64_t epoch = atomic_load_explicit(&client->link.epoch, memory_order_relaxed);

    if (!waiting->firm && (!waiting->extended || waiting->epoch != epoch)) {
        int64_t least = gr_deadline_ns(EXISTS_WAIT_MS);

        waiting->deadline_ns = waiting->deadline_ns < least ? least : waiting->deadline_ns;
        waiting->extended = true;
        waiting->epoch = epoch;
    }
}

/* How long a store is waited for: as the connection's options say, but for the caller's own timeout. */
static int64_t
store_until(const struct waiting *waiting)
{
    return waiting->extended ? INT64_MAX : waiting->deadline_ns;
}

/* Errors: ETIMEDOUT · EUNREACHABLE */
static granary_err
wait_sleep(granary_client *client, const struct waiting *waiting)
{
    const struct gr_control *control = client->control;
    struct gr_futex words[2] = {{waiting->word, waiting->seen}, {&control->life, atomic_load(&control->life)}};
    int64_t now = gr_now_ns();

    if (!client_alive(client)) {
        return link_restore(client, store_until(waiting));
    }
    if (now >= waiting->deadline_ns) {
        return gr_fail(GRANARY_ETIMEDOUT, "object %s: not there in time, which was %.3g s%s", id_text(waiting->id),
                       (double)(now - waiting->began_ns) / 1e9,
                       waiting->asked ? ": it is being brought back from disk. If there is no room for it, release or "
                                        "unpin others: `granary why` names who holds them"
                                      : "");
    }
    gr_futex_wait_many(words, 2,
                       waiting->deadline_ns - now > ALIVE_CHECK_NS ? now + ALIVE_CHECK_NS : waiting->deadline_ns);
    return GRANARY_OK;
}

/* The store is about to decide, in microseconds: not worth a sleep, unless it stops in the middle. */
static granary_err
wait_spin(granary_client *client, struct waiting *waiting)
{
    waiting->spins++;
    if (waiting->spins % 64 != 0) {
        gr_cpu_relax();
        return GRANARY_OK;
    }
    if (waiting->spins < SPINS_BUSY) {
        (void)sched_yield();
        return GRANARY_OK;
    }
    wait_extend(client, waiting);
    if (!client_alive(client)) {
        return link_restore(client, store_until(waiting));
    }
    if (gr_now_ns() >= waiting->deadline_ns) {
        return gr_fail(GRANARY_ETIMEDOUT, "object %s: the store does not go on: see its log", id_text(waiting->id));
    }
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return GRANARY_OK;
}

static granary_err
wait_restore(granary_client *client, struct waiting *waiting)
{
    int64_t least = waiting->firm ? REQUEST_LEAST_MS : EXISTS_WAIT_MS;
    int64_t left;
    granary_err err;

    wait_extend(client, waiting);
    left = gr_left_ms(waiting->deadline_ns);
    left = left >= 0 && left < least ? least : left;
    err = socket_ask_object(client, GR_STORE_RESTORE, waiting->id, 0, waiting->asked ? 0 : GR_RESTORE_ANEW, left,
                            waiting->firm ? gr_deadline_ns(left) : INT64_MAX);
    waiting->asked = true;
    if (err == GRANARY_ENOENT) {
        return GRANARY_OK; /* deleted meanwhile: the next look tells */
    }
    if (err != GRANARY_OK) {
        return err;
    }
    wait_extend(client, waiting); /* another store may have answered than was asked first */
    return wait_sleep(client, waiting);
}

/* What to do before the next look. */
static granary_err
wait_step(granary_client *client, struct waiting *waiting, enum lease_result result)
{
    granary_err err;

    switch (result) {
    case LEASE_SPILLED:
        return wait_restore(client, waiting);
    case LEASE_ABSENT:
        if (!waiting->once) {
            return wait_sleep(client, waiting);
        }
        err = link_settled(client);
        return err == GRANARY_OK ? gr_fail(GRANARY_ENOENT, "object %s: not found", id_text(waiting->id)) : err;
    default:
        return wait_spin(client, waiting);
    }
}

static void
wait_for(granary_client *client, struct waiting *waiting, granary_id id)
{
    uint64_t words[2];

    gr_id_words(id, words);
    waiting->id = id;
    waiting->word = &client->control->wait[gr_slot_hash(words[0], words[1]) % GR_WAIT_WORDS];
}

static granary_err
wait_until_leased(granary_client *client, granary_id id, struct waiting waiting, struct lease *ret_lease)
{
    bool begun = wait_begin(client, GR_WAIT_object, &id, 0);
    enum lease_result result;
    granary_id target;
    granary_err err;

    waiting.began_ns = gr_now_ns();
    wait_for(client, &waiting, id);
    if (!waiting.once) {
        client_waits(&id);
    }
    /* Announced before the word is read: the store either sees the sleeper, or has bumped the word already. */
    atomic_fetch_add(&client->page->waiting, 1);
    do {
        err = GRANARY_OK;
        waiting.seen = atomic_load(waiting.word);
        target = id;
        result = lease_follow(client, &target, ret_lease);
        if (result == LEASE_SET_FULL) {
            err = lease_at_store(client, target, ret_lease, &result);
        }
        if (result != LEASE_HELD && !gr_id_equal(target, waiting.id)) {
            /* The word that was read belongs to another id: look once more. */
            wait_for(client, &waiting, target);
        } else if (err == GRANARY_OK && result != LEASE_HELD) {
            err = wait_step(client, &waiting, result);
        }
    } while (err == GRANARY_OK && result != LEASE_HELD);
    atomic_fetch_sub(&client->page->waiting, 1);
    wait_end(client, begun);
    if (err == GRANARY_OK) {
        client_timed(client, GR_LATENCY_get_wait, waiting.began_ns);
    }
    if (!waiting.once) {
        client_waits(NULL);
    }
    return err;
}

granary_err
lease_wait(granary_client *client, granary_id id, int timeout_ms, int64_t deadline_ns, struct lease *ret_lease)
{
    return wait_until_leased(
        client, id, (struct waiting){.once = timeout_ms == 0, .firm = timeout_ms > 0, .deadline_ns = deadline_ns},
        ret_lease);
}

granary_err
lease_wait_briefly(granary_client *client, granary_id id, int64_t deadline_ns, struct lease *ret_lease)
{
    return wait_until_leased(client, id, (struct waiting){.once = true, .firm = true, .deadline_ns = deadline_ns},
                             ret_lease);
}
