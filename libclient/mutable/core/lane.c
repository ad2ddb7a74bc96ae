/*
 * Commits and cuts. The protocol is Dekker's: a writer shows what it is about to commit, then looks at the frontier; a
 * reader raises the frontier, then looks at what is about to be committed. Sequentially consistent operations make at
 * least one see the other. tests/model/cut.pml searches it.
 */
#include "mutable/core/lane.h"

#include "base/futex.h"

void
mutable_page_init(struct gr_mutable *page, const uint64_t id[2])
{
    atomic_store_explicit(&page->id[0], id[0], memory_order_relaxed);
    atomic_store_explicit(&page->id[1], id[1], memory_order_relaxed);
    atomic_store_explicit(&page->sealed, INT64_MIN, memory_order_relaxed);
    atomic_store_explicit(&page->base, 0, memory_order_relaxed);
    page->durability = GR_DURABLE_NONE;
    page->interval_ns = 0;
    page->root = 0;
    atomic_store_explicit(&page->pieces, 0, memory_order_relaxed);
    atomic_store_explicit(&page->given_up, INT64_MIN, memory_order_relaxed);
    atomic_store_explicit(&page->rows, 0, memory_order_relaxed);
    page->kind = GR_PAGE_TABLE;
    atomic_store_explicit(&page->bell.waited, 0, memory_order_relaxed);
    atomic_store_explicit(&page->notes, 0, memory_order_relaxed);
    atomic_store_explicit(&page->lanes, 0, memory_order_relaxed);
    atomic_store_explicit(&page->frontier, INT64_MIN, memory_order_relaxed);
    for (uint32_t i = 0; i < GR_MUTABLE_LANES; i++) {
        atomic_store_explicit(&page->lane[i].word, 0, memory_order_relaxed);
        atomic_store_explicit(&page->lane[i].chunks, 0, memory_order_relaxed);
        atomic_store_explicit(&page->lane[i].blocks, 0, memory_order_relaxed);
        for (int kind = GR_MUTABLE_LOG; kind <= GR_MUTABLE_SLAB; kind++) {
            atomic_store_explicit(&page->lane[i].open[kind], 0, memory_order_relaxed);
        }
        atomic_store_explicit(&page->lane[i].newest, INT64_MIN, memory_order_relaxed);
        atomic_store_explicit(&page->lane[i].durable, 0, memory_order_relaxed);
        atomic_store_explicit(&page->lane[i].durable_rows, 0, memory_order_relaxed);
    }
}

void
mutable_show_lane(struct gr_mutable *page, uint32_t lane)
{
    uint32_t lanes = atomic_load(&page->lanes);

    while (lanes <= lane && !atomic_compare_exchange_weak(&page->lanes, &lanes, lane + 1)) {
    }
}

uint64_t
lane_enter(struct gr_lane *lane)
{
    uint64_t count = GR_LANE_COUNT(atomic_load_explicit(&lane->word, memory_order_acquire));

    /* A reader that revokes it at the same moment leaves REVOKED, which the next commit overwrites. */
    atomic_store_explicit(&lane->word, GR_LANE(count, GR_LANE_IDLE), memory_order_release);
    return count;
}

/* By an exchange: a full fence between that and the look at who waits. */
static void
lane_raise_newest(struct gr_lane *lane, int64_t time)
{
    if (time > atomic_load_explicit(&lane->newest, memory_order_relaxed)) {
        (void)atomic_exchange(&lane->newest, time);
    }
}

void
mutable_ring(struct gr_mutable *page)
{
    gr_bell_ring(&page->bell);
}

bool
mutable_is_sealed(const struct gr_mutable *page)
{
    return atomic_load(&page->sealed) != INT64_MIN;
}

bool
lane_commit(struct gr_mutable *page, struct gr_lane *lane, uint64_t count, int64_t time)
{
    const uint64_t before = GR_LANE_COUNT(atomic_load_explicit(&lane->word, memory_order_relaxed));
    uint64_t pending;

    /* Release: who sees this time sees that the commit before has ended. */
    atomic_store_explicit(&lane->pending_time, time, memory_order_release);
    do {
        /* Who sees PENDING sees the time; and the exchange is a full fence between that and the frontier. */
        (void)atomic_exchange(&lane->word, GR_LANE(before, GR_LANE_PENDING));
        if (time <= atomic_load(&page->frontier)) {
            atomic_store_explicit(&lane->word, GR_LANE(before, GR_LANE_IDLE), memory_order_release);
            return false;
        }
        pending = GR_LANE(before, GR_LANE_PENDING);
        /* It fails when a reader has revoked it: for this time, and then the frontier says so, or (the reader was slow)
         * for an earlier one. */
    } while (!atomic_compare_exchange_strong(&lane->word, &pending, GR_LANE(count, GR_LANE_IDLE)));
    lane_raise_newest(lane, time);
    mutable_ring(page);
    return true;
}

int64_t
mutable_frontier(const struct gr_mutable *page)
{
    return atomic_load(&page->frontier);
}

static uint32_t
mutable_lanes(const struct gr_mutable *page)
{
    uint32_t lanes = atomic_load(&page->lanes);

    return lanes < GR_MUTABLE_LANES ? lanes : GR_MUTABLE_LANES;
}

int64_t
mutable_newest(const struct gr_mutable *page)
{
    int64_t newest = INT64_MIN;

    for (uint32_t i = 0; i < mutable_lanes(page); i++) {
        int64_t time = atomic_load_explicit(&page->lane[i].newest, memory_order_acquire);

        newest = time > newest ? time : newest;
    }
    return newest;
}

static void
mutable_raise_frontier(struct gr_mutable *page, int64_t time)
{
    int64_t frontier = atomic_load(&page->frontier);

    while (frontier < time && !atomic_compare_exchange_weak(&page->frontier, &frontier, time)) {
    }
}

/* Whether what a word of PENDING announces may be left alone: it is later than the time. */
static bool
lane_is_later(const struct gr_lane *lane, uint64_t word, int64_t time)
{
    int64_t pending = atomic_load_explicit(&lane->pending_time, memory_order_acquire);

    /* The word again: another one, and the time may be that of the commit behind the one that was announced. */
    return pending > time && atomic_load(&lane->word) == word;
}

/* Committed slots of a lane in which nothing more can be committed at or before the time. */
static uint64_t
lane_settle(struct gr_lane *lane, int64_t time)
{
    uint64_t word = atomic_load(&lane->word);

    while (GR_LANE_STATE(word) == GR_LANE_PENDING && !lane_is_later(lane, word, time)) {
        if (atomic_compare_exchange_strong(&lane->word, &word, GR_LANE(GR_LANE_COUNT(word), GR_LANE_REVOKED))) {
            break;
        }
    }
    return GR_LANE_COUNT(word);
}

uint32_t
mutable_cut(struct gr_mutable *page, int64_t time, uint64_t *ret_counts)
{
    uint32_t lanes;

    mutable_raise_frontier(page, time);
    /* A lane whose first writer comes later looks at the frontier later. */
    lanes = mutable_lanes(page);
    for (uint32_t i = 0; i < lanes; i++) {
        ret_counts[i] = lane_settle(&page->lane[i], time);
    }
    return lanes;
}

uint32_t
mutable_committed(const struct gr_mutable *page, uint64_t *ret_counts)
{
    const uint32_t lanes = mutable_lanes(page);

    for (uint32_t i = 0; i < lanes; i++) {
        ret_counts[i] = GR_LANE_COUNT(atomic_load(&page->lane[i].word));
    }
    return lanes;
}
