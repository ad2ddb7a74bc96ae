/* Giving back: whole segments are unlinked, and holes are punched in those that live, by a worker. */
#include "store/segment/giveback.h"
#include "store/core/core.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fault/fault.h"
#include "base/fd.h"
#include "store/base/shmfile.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"

#define FIRST_RANGES 64u

/* ---- whole segments ---- */

struct giveback_job {
    struct job job;
    struct store *store;
    struct gr_segment_record *record;
    uint64_t bytes;
    int fd;
    char name[96];
};

static void
segment_run(struct job *job)
{
    struct giveback_job *giveback = list_owner(job, struct giveback_job, job);

    (void)!ftruncate(giveback->fd, 0);
    FAULT_STEP(segment_truncated);
    (void)shm_unlink(giveback->name);
    FAULT_STEP(segment_unlinked);
    gr_fd_close(&giveback->fd);
}

static void
segment_done(struct job *job)
{
    struct giveback_job *giveback = list_owner(job, struct giveback_job, job);
    struct store *store = giveback->store;

    segment_record_drop(giveback->record);
    store->giveback->returning -= giveback->bytes;
    account_move(&store->account, GR_ACCOUNT_POOLED, GR_ACCOUNT_FREE, giveback->bytes);
    store->serve_now = true;
    free(giveback);
}

void
giveback_segment(struct store *store, struct segment *segment)
{
    struct giveback_job *giveback = malloc(sizeof *giveback);

    if (giveback == NULL) { /* then here and now */
        (void)!ftruncate(segment->fd, 0);
        segment_destroy(segment, &store->account, store->instance.shm_prefix, segment->session->number);
        return;
    }
    giveback->job = (struct job){.run = segment_run, .done = segment_done};
    giveback->store = store;
    giveback->record = segment->record;
    giveback->bytes = segment->size - segment->punched;
    shmfile_name(giveback->name, store->instance.shm_prefix, segment->session->number, "data", segment->number);
    giveback->fd = segment_release(segment, &store->account);
    store->giveback->returning += giveback->bytes;
    workers_submit(store->workers, WORKER_GIVE, &giveback->job);
}

/* ---- holes ---- */

struct punch {
    struct job job;
    struct store *store;
    struct segment *segment; /* busy */
    struct range *ranges;
    size_t count, room;
    uint32_t cursor; /* entries looked at */
    bool kept;       /* the ranges are what stays */
    uint64_t holes;  /* bytes given back */
};

static int
by_offset(const void *a, const void *b)
{
    const struct range *left = a;
    const struct range *right = b;

    return left->from < right->from ? -1 : left->from > right->from;
}

static void
punch_run(struct job *job)
{
    struct punch *punch = list_owner(job, struct punch, job);
    struct segment *segment = punch->segment;
    uint64_t at = 0;

    if (!punch->kept) {
        for (size_t i = 0; i < punch->count; i++) {
            punch->holes += segment_punch(segment, punch->ranges[i].from, punch->ranges[i].to - punch->ranges[i].from);
        }
        return;
    }
    qsort(punch->ranges, punch->count, sizeof *punch->ranges, by_offset);
    punch->ranges[punch->count] = (struct range){segment->size, segment->size};
    for (size_t i = 0; i <= punch->count; i++) {
        if (punch->ranges[i].from > at) {
            punch->holes += segment_punch(segment, at, punch->ranges[i].from - at);
        }
        at = punch->ranges[i].to > at ? punch->ranges[i].to : at;
    }
}

static void
punch_free(struct punch *punch)
{
    punch->segment->busy--;
    segment_settle(punch->store, punch->segment);
    free(punch->ranges);
    free(punch);
}

static void
punch_done(struct job *job)
{
    struct punch *punch = list_owner(job, struct punch, job);
    struct store *store = punch->store;
    struct segment *segment = punch->segment;

    /* What was kept is measured against all holes; ranges are new ones. */
    if (!punch->kept) {
        memory_punched(store, segment, punch->holes);
    } else if (punch->holes > segment->punched) {
        memory_punched(store, segment, punch->holes - segment->punched);
    }
    store->giveback->punching--;
    store->serve_now = true;
    punch_free(punch);
}

static void
punch_submit(struct punch *punch)
{
    punch->store->giveback->punching++;
    punch->job = (struct job){.run = punch_run, .done = punch_done};
    workers_submit(punch->store->workers, WORKER_GIVE, &punch->job);
}

void
giveback_ranges(struct store *store, struct segment *segment, struct range *ranges, size_t count)
{
    struct punch *punch = calloc(1, sizeof *punch);

    if (punch == NULL) { /* they stay dead until the segment is closed and looked at again */
        free(ranges);
        return;
    }
    *punch = (struct punch){.store = store, .segment = segment, .ranges = ranges, .count = count};
    segment->busy++;
    punch_submit(punch);
}

/* Room for one more, and for the end mark. */
static bool
punch_expect(struct punch *punch)
{
    if (punch->count + 1 >= punch->room) {
        size_t room = punch->room == 0 ? FIRST_RANGES : punch->room * 2;
        struct range *more = realloc(punch->ranges, room * sizeof *more);

        if (more == NULL) {
            return false;
        }
        punch->ranges = more;
        punch->room = room;
    }
    return true;
}

/* Note what lives in the segment. False: the looks are used up, or it cannot be done; then store->giveback->punch is NULL. */
static bool
punch_gather(struct punch *punch, unsigned *looks)
{
    const unsigned in_memory = 1u << GR_SLOT_SEALED | 1u << GR_SLOT_RETIRING | 1u << GR_SLOT_DELETING;
    struct segment *segment = punch->segment;

    for (; *looks > 0; (*looks)--) {
        const struct gr_slot *slot;

        if (!punch_expect(punch)) {
            punch->store->giveback->punch = NULL;
            punch_free(punch);
            return false;
        }
        if (punch->cursor == segment->entry_count) {
            return true;
        }
        slot = segment_entry_slot(segment, &segment->entries[punch->cursor++], in_memory);
        if (slot != NULL) {
            uint64_t from = slot_object(slot).offset;

            punch->ranges[punch->count++] = (struct range){from, from + slot_footprint(slot)};
        }
    }
    return false;
}

bool
giveback_torn(struct store *store, unsigned *looks)
{
    struct punch *punch = store->giveback->punch;
    struct segment *segment;

    if (punch == NULL) {
        if (list_empty(&store->segments.torn)) {
            return false;
        }
        segment = list_owner(store->segments.torn.next, struct segment, in_torn);
        list_remove(&segment->in_torn);
        punch = segment->busy > 0 ? NULL : calloc(1, sizeof *punch);
        if (punch == NULL) { /* it comes again when it is settled */
            return true;
        }
        *punch = (struct punch){.store = store, .segment = segment, .kept = true};
        segment->busy++;
        segment->torn = 0;
        store->giveback->punch = punch;
    }
    if (punch_gather(punch, looks)) {
        store->giveback->punch = NULL;
        punch_submit(punch);
    }
    return true;
}

uint64_t
giveback_returning(const struct store *store)
{
    return store->giveback->returning;
}

bool
giveback_is_punching(const struct store *store)
{
    return store->giveback->punching > 0;
}

bool
giveback_under_way(const struct store *store)
{
    return store->giveback->punching > 0 || store->giveback->punch != NULL || store->giveback->returning > 0;
}

void
giveback_forget(struct store *store, struct segment *segment)
{
    list_remove(&segment->in_torn);
    if (store->giveback->punch != NULL && store->giveback->punch->segment == segment) {
        struct punch *punch = store->giveback->punch;

        store->giveback->punch = NULL;
        segment->busy--;
        free(punch->ranges);
        free(punch);
    }
}
