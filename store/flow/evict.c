/* A spill in steps: objects are hunted into a batch, a worker writes it, and the loop books what was written. */
#include "store/flow/evict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "store/core/core.h"
#include "store/core/events.h"
#include "store/flow/reclaim.h"
#include "store/object/object.h"
#include "store/segment/depot.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"
#include "store/segment/victim.h"

#define SPILL_LEAST ((uint64_t)256 << 10) /* bytes in one file, when there are as many */
#define SPILL_MOST  ((uint64_t)64 << 20)

/* One file on its way. The worker reads objects[]; everything else is the loop's. */
struct spill {
    struct job job;
    struct victim_hunt hunt; /* while objects are gathered */
    bool with_open;
    bool submitted;
    struct store *store;
    struct session *session;
    struct depot *depot;
    struct level_file file;
    uint64_t bytes; /* raw */
    uint64_t most;
    struct level_object *objects;
    struct segment **segments; /* of each object; busy as often as they are named here */
    size_t count;
    size_t room;
    uint64_t allowance;
    uint64_t written;
    int64_t submitted_ns;
    granary_err err;
    char message[512];
};

static void
spill_free(struct spill *spill)
{
    if (spill != NULL) {
        free(spill->objects);
        free(spill->segments);
        free(spill);
    }
}

static bool
spill_add(struct spill *spill, struct segment *segment, const struct index_object *object)
{
    if (spill->count == spill->room) {
        size_t room = spill->room == 0 ? 64 : spill->room * 2;
        struct level_object *objects = realloc(spill->objects, room * sizeof *objects);
        struct segment **segments;

        if (objects == NULL) {
            return false;
        }
        spill->objects = objects;
        segments = realloc(spill->segments, room * sizeof(struct segment *));
        if (segments == NULL) {
            return false;
        }
        spill->segments = segments;
        spill->room = room;
    }
    spill->objects[spill->count] = (struct level_object){
        .id = object->id,
        .serial = object->serial,
        .data_size = object->data_size,
        .meta_size = object->meta_size,
        .stamp = object->stamp,
        .fd = segment->fd,
        .offset = object->offset,
    };
    spill->segments[spill->count] = segment;
    spill->count++;
    spill->bytes += GR_FOOTPRINT(object->data_size, (uint64_t)object->meta_size);
    segment->busy++;
    return true;
}

static bool
spill_wants(struct victim_hunt *hunt, struct segment *segment)
{
    const struct spill *spill = list_owner(hunt, struct spill, hunt);

    return !segment->spoiled && segment->live > segment->clean && (segment->closed || spill->with_open) &&
           reclaim_may_take(spill->store, segment) && (spill->session == NULL || spill->session == segment->session);
}

static enum victim_verdict
spill_take(struct victim_hunt *hunt, struct segment *segment, struct gr_slot *slot)
{
    struct spill *spill = list_owner(hunt, struct spill, hunt);
    struct index_object object = slot_object(slot);

    if (session_holds(segment->session, object.serial) || !spill_add(spill, segment, &object)) {
        return VICTIM_HELD;
    }
    spill->session = segment->session;
    return spill->bytes >= spill->most ? VICTIM_ENOUGH : VICTIM_TAKEN;
}

static void
spill_leave(struct victim_hunt *hunt, struct segment *segment)
{
    (void)hunt;
    (void)segment;
}

static void
spill_run(struct job *job)
{
    struct spill *spill = list_owner(job, struct spill, job);
    const struct depot *depot = spill->depot;

    spill->err =
        depot->ops->write(depot->self, &spill->file, spill->objects, spill->count, spill->allowance, &spill->written);
    if (spill->err != GRANARY_OK) {
        (void)snprintf(spill->message, sizeof spill->message, "%s", granary_error_message());
    }
}

/* The file is there: whoever still is what it was when it was written, and has not been moved down meanwhile, has a
 * copy now. */
static void
spill_book(struct spill *spill)
{
    struct store *store = spill->store;
    struct spill_file *file = file_add_new(store, spill->depot, spill->session, &spill->file, spill->written);

    if (file == NULL) {
        return;
    }
    file->raw = spill->bytes;
    count_latency(store, GR_LATENCY_spill, spill->submitted_ns);
    count(spill->session, GR_COUNTER_spill_files, 1);
    count(spill->session, GR_COUNTER_spill_written, file->bytes);
    for (size_t i = 0; i < spill->count; i++) {
        const struct level_object *object = &spill->objects[i];
        struct gr_slot *slot = index_find_serial(&spill->session->index, object->id, object->serial);

        if (slot != NULL && GR_WORD_STATE(slot_word(slot)) == GR_SLOT_SEALED &&
            (slot_flags(slot) & GR_FLAG_CLEAN) == 0 && object_note_copy(spill->session, slot, file, object->place)) {
            count(spill->session, GR_COUNTER_spills, 1);
            event_note(store, spill->session, GR_EVENT_SPILL, &object->id, object->data_size, file->number, 0);
            count(spill->session, GR_COUNTER_spill_raw, object->data_size + object->meta_size);
        }
    }
    /* The one it began with: nobody's. Without any other the file goes again. */
    file_release(store, file->number, 0);
}

/* Whoever spoiled its own segment keeps nobody else from being spilled. */
static void
spill_blame(struct spill *spill)
{
    for (size_t i = 0; i < spill->count; i++) {
        if (spill->objects[i].unreadable) {
            segment_set_spoiled(spill->segments[i]);
            gr_log_warn("SEGMENT-SPOILED", "segment=%u why=%s", spill->segments[i]->number, spill->message);
        }
    }
}

/* What has no copy still is a candidate again. */
static void
spill_end(struct spill *spill)
{
    struct store *store = spill->store;

    store->spill = NULL;
    for (size_t i = 0; i < spill->count; i++) {
        const struct level_object *object = &spill->objects[i];
        struct segment *segment = spill->segments[i];
        struct gr_slot *slot = index_find_serial(&segment->session->index, object->id, object->serial);

        if (slot != NULL && GR_WORD_STATE(slot_word(slot)) == GR_SLOT_SEALED &&
            (slot_flags(slot) & GR_FLAG_CLEAN) == 0 && !segment->spoiled) {
            victim_note(store, segment, slot);
        }
        segment->busy--;
        if (segment->busy == 0) {
            segment_settle(store, segment);
        }
    }
    spill_free(spill);
}

static void
spill_done(struct job *job)
{
    struct spill *spill = list_owner(job, struct spill, job);
    struct store *store = spill->store;

    store->serve_now = true;
    reclaim_note_copies(store);
    store->depots->error[0] = '\0';
    if (spill->err == GRANARY_OK) {
        depot_worked(spill->depot);
        spill_book(spill);
    } else if (spill->err == GRANARY_ECORRUPT) {
        spill_blame(spill);
    } else {
        (void)gr_fail(spill->err, "%s", spill->message);
        depot_failed(store, spill->depot, spill->err, gr_now_ns());
        event_note(store, spill->session, GR_EVENT_DISK_FAILED, NULL, (uint32_t)-spill->err, spill->file.number, 0);
        depot_log_failure(spill->depot, spill->file.number, spill->err, spill->message, gr_now_ns());
    }
    spill_end(spill);
}

static uint64_t
clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

bool
spill_start(struct store *store, uint64_t want, bool with_open, unsigned most_rank)
{
    uint64_t share = store->account.bytes[GR_ACCOUNT_CAPACITY] / 16;
    struct spill *spill;

    if (store->stopping || store->spill != NULL || depot_to_spill(store, 0, gr_now_ns()) == NULL) {
        return false;
    }
    spill = calloc(1, sizeof *spill);
    if (spill == NULL) {
        return false;
    }
    spill->store = store;
    spill->most = clamp(want > share ? want : share, SPILL_LEAST, SPILL_MOST);
    spill->with_open = with_open;
    spill->hunt = (struct victim_hunt){.most_rank = most_rank,
                                       .merciless = most_rank == VICTIM_NEVER,
                                       .wants = spill_wants,
                                       .take = spill_take,
                                       .leave = spill_leave};
    store->spill = spill;
    return true;
}

static void
spill_submit(struct spill *spill)
{
    struct store *store = spill->store;
    int64_t now_ns = gr_now_ns();

    /* If all have failed since it was begun, this one tells why. */
    spill->depot = depot_to_spill(store, spill->bytes, now_ns);
    if (spill->depot == NULL) {
        spill->depot =
            depot_choose(store, depot_there(store, DEPOT_DISK) ? DEPOT_DISK : DEPOT_REMOTE, spill->bytes, 0, now_ns);
    }
    depot_charge(store, spill->depot, spill->bytes);
    file_sign(&spill->file, spill->session, 0);
    spill->allowance = depot_allowance(store, spill->depot);
    spill->submitted_ns = now_ns;
    spill->job = (struct job){.run = spill_run, .done = spill_done};
    spill->submitted = true;
    workers_submit(store->workers, WORKER_WRITE, &spill->job);
}

enum spill_progress
spill_step(struct store *store, unsigned looks)
{
    struct spill *spill = store->spill;
    enum victim_result result;

    if (spill == NULL) {
        return SPILL_NONE;
    }
    if (spill->submitted) {
        return SPILL_WRITING;
    }
    result = victim_hunt(store, VICTIM_DIRTY, &spill->hunt, looks);
    if (result == VICTIM_MORE) {
        return SPILL_GATHERING;
    }
    if (spill->count > 0) {
        spill_submit(spill);
        return SPILL_WRITING;
    }
    spill_end(spill);
    return SPILL_NONE;
}

void
spill_forget(struct store *store, const struct session *session)
{
    struct spill *spill = store->spill;

    if (spill != NULL && !spill->submitted && spill->session == session) {
        spill_end(spill);
    }
}
