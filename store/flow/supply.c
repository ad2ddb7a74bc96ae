/* Supply: pages are populated while rooms are idle, given up as soon as anybody else wants memory. */
#include "store/flow/supply.h"
#include "store/core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "store/base/node.h"
#include "store/core/admit.h"
#include "store/flow/queue.h"
#include "store/flow/reclaim.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define PAGE       ((uint64_t)4096)
#define PAGE_UP(n) (((n) + PAGE - 1) / PAGE * PAGE)
#define HUGE_PAGE  ((uint64_t)2 << 20)
#define STEP       ((uint64_t)8 << 20) /* between two looks at whether to go on */
#define SHARE      8u                  /* of the capacity may be supplied, and as much must stay free */
#define AHEAD_MOST 4u                  /* segments made for one session */
#define KEPT_NS    2000000000          /* a session that asked for nothing so long gets nothing any more */
#define CALM_NS    100000000           /* nothing changed for so long: time for huge pages */

/* Whether the kernel makes huge pages of shared memory; found out by the first who tries, in the worker. */
static _Atomic int huge_errno;

struct supply_job {
    struct job job;
    struct store *store;
    struct segment *segment; /* busy */
    bool fresh;              /* it gets its first pages; else it holds objects */
    bool huge;               /* all of it that can be */
    bool failed;
};

/* ---- in the worker ---- */

/* The range is 2 MiB-aligned in memory and file. Each huge page must have a page already. */
static bool
collapse(char *base, uint64_t size, bool fresh)
{
    int before = 0;

    if (size == 0 || (atomic_load(&huge_errno) == EINVAL)) {
        return false;
    }
    for (uint64_t at = 0; fresh && at < size; at += HUGE_PAGE) {
        if (madvise(base + at, PAGE, MADV_POPULATE_WRITE) < 0) {
            return false;
        }
    }
    /* One call: each begins with waiting for all processors. */
    if (madvise(base, size, MADV_COLLAPSE) == 0) {
        return true;
    }
    if (atomic_compare_exchange_strong(&huge_errno, &before, errno)) {
        gr_log_info("NO-HUGE-PAGES", "why=%s", errno == EINVAL ? "the kernel has no MADV_COLLAPSE" : strerror(errno));
    }
    return false;
}

/* Give pages to all of a range. False: there are none left. */
static bool
populate(int fd, char *base, uint64_t at, uint64_t size)
{
    while (madvise(base + at, size, MADV_POPULATE_WRITE) < 0) {
        if (errno == EINVAL) { /* before Linux 5.14 */
            return gr_fd_allocate(fd, at, size) == 0;
        }
        if (errno != EINTR && errno != EAGAIN) {
            return false;
        }
    }
    return true;
}

static bool
in_hurry(const struct supply_job *supply)
{
    return atomic_load_explicit(&supply->store->supply->hurry, memory_order_relaxed);
}

/* Who waits for an object on its way waits now; who will want this memory may not come. */
static void
give_way(const struct supply_job *supply)
{
    const unsigned lanes = 1u << WORKER_READ | 1u << WORKER_WRITE;

    while (!in_hurry(supply) && workers_give_way(supply->store->workers, lanes)) {
    }
}

static void
supply_pages(struct supply_job *supply, char *base)
{
    struct segment *segment = supply->segment;

    node_bind(base, segment->size, segment->node);
    supply->huge = segment->size >= HUGE_PAGE;
    for (uint64_t at = 0; at < segment->size && !supply->failed; at += STEP) {
        uint64_t step = segment->size - at < STEP ? segment->size - at : STEP;
        bool done;

        give_way(supply);
        done = collapse(base + at, step / HUGE_PAGE * HUGE_PAGE, supply->fresh);

        supply->huge = supply->huge && done;
        if (in_hurry(supply)) {
            supply->failed = true;
        } else if (supply->fresh) {
            supply->failed = !populate(segment->fd, base, at, step);
        }
    }
}

static void
supply_run(struct job *job)
{
    struct supply_job *supply = list_owner(job, struct supply_job, job);
    uint64_t size = supply->segment->size;
    char *reserved = mmap(NULL, size + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *aligned;

    supply->failed = true;
    if (reserved == MAP_FAILED) {
        return;
    }
    aligned = reserved + (HUGE_PAGE - ((uintptr_t)reserved & (HUGE_PAGE - 1))) % HUGE_PAGE;
    if (mmap(aligned, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, supply->segment->fd, 0) != MAP_FAILED) {
        supply->failed = false;
        supply_pages(supply, aligned);
    }
    (void)munmap(reserved, size + HUGE_PAGE);
}

/* ---- in the loop ---- */

static void
supply_done(struct job *job)
{
    struct supply_job *supply = list_owner(job, struct supply_job, job);
    struct store *store = supply->store;
    struct segment *segment = supply->segment;

    store->supply->running = false;
    segment->busy--;
    if (supply->huge) {
        segment_set_huge(segment);
    }
    if (supply->fresh) {
        segment->spoiled = supply->failed; /* it goes */
        segment->supplied = !supply->failed;
        store->segments.supplied_bytes += segment->supplied ? segment->size : 0;
        segment_close(segment, &store->account);
        list_append(&store->segments.closed, &segment->in_order);
    }
    segment_settle(store, segment);
    free(supply);
}

static bool
begin(struct store *store, struct segment *segment, bool fresh)
{
    struct supply_job *supply = calloc(1, sizeof *supply);

    if (supply == NULL) {
        return false;
    }
    *supply = (struct supply_job){.store = store, .segment = segment, .fresh = fresh};
    supply->job = (struct job){.run = supply_run, .done = supply_done};
    segment->busy++;
    store->supply->running = true;
    atomic_store_explicit(&store->supply->hurry, false, memory_order_relaxed);
    workers_submit(store->workers, WORKER_SUPPLY, &supply->job);
    return true;
}

void
supply_init(struct supply *supply)
{
    list_init(&supply->asked);
}

void
supply_note(struct session *session, unsigned node, uint64_t bytes, const struct segment *from)
{
    struct store *store = session->store;

    if (from != NULL && !from->supplied) { /* it lives on what it had before */
        session->supply_due = 0;
        return;
    }
    session->supply_bytes = bytes;
    session->supply_node = node;
    session->supply_ns = gr_now_ns();
    session->supply_due += from == NULL ? 2 : 1;
    session->supply_due = session->supply_due > AHEAD_MOST ? AHEAD_MOST : session->supply_due;
    list_append(&store->supply->asked, &session->in_supply_asked);
}

void
supply_forget(struct session *session)
{
    list_remove(&session->in_supply_asked);
}

/* Make one segment for the session that asked first. */
static void
supply_session(struct store *store, int64_t now_ns)
{
    struct session *session = list_owner(store->supply->asked.next, struct session, in_supply_asked);
    uint64_t share = store->account.bytes[GR_ACCOUNT_CAPACITY] / SHARE;
    uint64_t bytes = session->supply_bytes;
    struct memory_wish wish;
    struct segment *segment;

    if (session->supply_due == 0 || now_ns - session->supply_ns > KEPT_NS ||
        store->segments.supplied_bytes + bytes > share || memory_free(store) < bytes + share + reclaim_reserve(store) ||
        memory_quota_left(session) < 2 * bytes || admit_segment(session) != GRANARY_OK) {
        list_remove(&session->in_supply_asked);
        return;
    }
    wish = (struct memory_wish){.session = session, .node = session->supply_node};
    if (memory_create(store, &wish, PAGE_UP(bytes), &segment) != GRANARY_OK) {
        list_remove(&session->in_supply_asked);
        return;
    }
    session->supply_due--;
    if (!begin(store, segment, true)) {
        segment_close(segment, &store->account);
        segment_settle(store, segment);
    }
}

/* Whether nothing has happened for a while. */
static bool
is_calm(struct store *store, int64_t now_ns)
{
    if (store->supply->calm_changes != store->account.changes) {
        store->supply->calm_changes = store->account.changes;
        store->supply->calm_ns = now_ns + CALM_NS;
    }
    return now_ns >= store->supply->calm_ns;
}

/* Memory is wanted for other things. */
static bool
is_short(const struct store *store)
{
    return store->queue->need > 0 || !list_empty(&store->queue->quota_waits) || store->stopping;
}

void
supply_turn(struct store *store, int64_t now_ns)
{
    if (store->supply->running) {
        if (is_short(store)) {
            atomic_store_explicit(&store->supply->hurry, true, memory_order_relaxed);
        }
        return;
    }
    if (is_short(store) || reclaim_is_cleaning(store)) {
        return;
    }
    if (!list_empty(&store->supply->asked)) {
        supply_session(store, now_ns);
    } else if (!list_empty(&store->segments.offered) && is_calm(store, now_ns)) {
        struct segment *segment = list_owner(store->segments.offered.next, struct segment, in_offered);

        list_remove(&segment->in_offered);
        if (segment->closed && segment->busy == 0 && segment->live > 0 && atomic_load(&huge_errno) == 0) {
            (void)begin(store, segment, false);
        }
    }
}

int64_t
supply_next_ns(const struct store *store)
{
    /* As supply_turn() has it: a time at which it would begin nothing would keep the loop awake. */
    if (store->supply->running || is_short(store) || reclaim_is_cleaning(store) ||
        list_empty(&store->segments.offered)) {
        return INT64_MAX;
    }
    return store->supply->calm_ns;
}
