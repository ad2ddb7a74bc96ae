#include "store/evict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "store/events.h"
#include "store/memory.h"
#include "store/object.h"

#define SPILL_LEAST ((uint64_t)256 << 10) /* bytes in one file, when there are as many */
#define SPILL_MOST  ((uint64_t)64 << 20)

/* One file on its way. The worker reads objects[]; everything else is the loop's. */
struct spill {
    struct job job;
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

/* The objects of one segment that have no copy yet and could be dropped once they have. */
static void
gather(struct spill *spill, struct segment *segment)
{
    for (uint32_t i = 0; i < segment->entry_count && spill->bytes < spill->most; i++) {
        struct gr_slot *slot = segment_entry_slot(segment, &segment->entries[i], 1u << GR_SLOT_SEALED);
        struct index_object object;

        if (slot == NULL || (slot_flags(slot) & GR_FLAG_COPIED) != 0 || GR_FLAGS_PINS(slot_flags(slot)) != 0) {
            continue;
        }
        object = slot_object(slot);
        if (!session_holds(segment->session, object.serial) && !spill_add(spill, segment, &object)) {
            return;
        }
    }
}

static void
gather_from(struct spill *spill, struct list *segments)
{
    struct list *node, *next;

    list_each (node, next, segments) {
        struct segment *segment = list_owner(node, struct segment, in_order);

        if (segment->live == segment->clean || segment->spoiled ||
            (spill->session != NULL && spill->session != segment->session)) {
            continue;
        }
        gather(spill, segment);
        if (spill->count > 0) {
            spill->session = segment->session;
        }
        if (spill->bytes >= spill->most) {
            return;
        }
    }
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

/* The file is there: whoever still is what it was when it was written has a copy now. */
static void
spill_book(struct spill *spill)
{
    struct store *store = spill->store;
    struct spill_file *file = file_add(store, spill->depot, spill->session, &spill->file, spill->written);

    if (file == NULL) {
        return;
    }
    file->raw = spill->bytes;
    count(spill->session, GR_COUNTER_spill_files, 1);
    count(spill->session, GR_COUNTER_spill_written, file->bytes);
    for (size_t i = 0; i < spill->count; i++) {
        const struct level_object *object = &spill->objects[i];
        struct gr_slot *slot = index_find_serial(&spill->session->index, object->id, object->serial);

        if (slot != NULL && GR_WORD_STATE(slot_word(slot)) == GR_SLOT_SEALED &&
            object_on_disk(spill->session, slot, file, object->place)) {
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

static void
spill_done(struct job *job)
{
    struct spill *spill = list_owner(job, struct spill, job);
    struct store *store = spill->store;

    store->spill = NULL;
    store->serve_now = true;
    store->disk_error[0] = '\0';
    if (spill->err == GRANARY_OK) {
        spill_book(spill);
    } else if (spill->err == GRANARY_ECORRUPT) {
        spill_blame(spill);
    } else {
        (void)gr_fail(spill->err, "%s", spill->message);
        depot_failed(store, spill->depot, gr_now_ns());
        event_note(store, spill->session, GR_EVENT_DISK_FAILED, NULL, (uint32_t)-spill->err, spill->file.number, 0);
        gr_log_warn("SPILL-FAILED", "file=%u objects=%zu why=%s", spill->file.number, spill->count, spill->message);
    }
    for (size_t i = 0; i < spill->count; i++) {
        struct segment *segment = spill->segments[i];

        segment->busy--;
        if (segment->busy == 0) {
            segment_settle(store, segment);
        }
    }
    spill_free(spill);
}

static uint64_t
clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

bool
spill_start(struct store *store, uint64_t want, bool with_open)
{
    uint64_t share = store->account.bytes[GR_ACCOUNT_CAPACITY] / 16;
    struct depot *depot = depot_to_spill(store, gr_now_ns());
    struct spill *spill;

    if (store->stopping || store->spill != NULL || depot == NULL) {
        return false;
    }
    spill = calloc(1, sizeof *spill);
    if (spill == NULL) {
        return false;
    }
    spill->store = store;
    spill->depot = depot;
    spill->most = clamp(want > share ? want : share, SPILL_LEAST, SPILL_MOST);
    gather_from(spill, &store->closed);
    if (with_open && spill->count == 0) {
        gather_from(spill, &store->open);
    }
    if (spill->count == 0) {
        spill_free(spill);
        return false;
    }
    spill->file.number = root_number(&store->root.shm->next_file);
    (void)snprintf(spill->file.session, sizeof spill->file.session, "%s", spill->session->name);
    spill->allowance = depot_allowance(depot);
    spill->job = (struct job){.run = spill_run, .done = spill_done};
    store->spill = spill;
    workers_submit(store->workers, WORKER_WRITE, &spill->job);
    return true;
}

/* A dead range, growing while its neighbours die too. */
struct range {
    uint64_t from, to;
};

static void
punch_range(struct store *store, struct segment *segment, struct range *range)
{
    segment_add_punched(segment, &store->account, segment_punch(segment, range->from, range->to - range->from));
    *range = (struct range){0, 0};
}

uint64_t
segment_drop_clean(struct store *store, struct segment *segment)
{
    struct range range = {0, 0};
    uint64_t dropped = 0;

    if (segment->clean == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < segment->entry_count; i++) {
        struct gr_slot *slot = segment_entry_slot(segment, &segment->entries[i], 1u << GR_SLOT_SEALED);
        uint64_t offset, footprint;

        if (slot == NULL || (slot_flags(slot) & GR_FLAG_COPIED) == 0 || GR_FLAGS_PINS(slot_flags(slot)) != 0) {
            continue;
        }
        offset = slot_object(slot).offset;
        footprint = slot_footprint(slot);
        if (!object_evict(segment->session, slot)) {
            store->blocked_bytes += footprint;
            continue;
        }
        dropped += footprint;
        /* What an open segment holds between known objects may be under construction: only these ranges are dead. */
        if (segment->closed || segment->busy > 0) {
            continue;
        }
        if (range.to != offset) {
            punch_range(store, segment, &range);
            range.from = offset;
        }
        range.to = offset + footprint;
    }
    punch_range(store, segment, &range);
    return dropped;
}

static int
by_offset(const void *a, const void *b)
{
    const struct range *left = a;
    const struct range *right = b;

    return left->from < right->from ? -1 : left->from > right->from;
}

void
segment_punch_dead(struct store *store, struct segment *segment)
{
    const unsigned in_memory = 1u << GR_SLOT_SEALED | 1u << GR_SLOT_RETIRING | 1u << GR_SLOT_DELETING;
    struct range *kept;
    uint64_t at = 0;
    uint64_t holes = 0;
    size_t kept_count = 0;

    if (!segment->closed || (kept = malloc(((size_t)segment->entry_count + 1) * sizeof *kept)) == NULL) {
        return;
    }
    for (uint32_t i = 0; i < segment->entry_count; i++) {
        struct gr_slot *slot = segment_entry_slot(segment, &segment->entries[i], in_memory);

        if (slot != NULL) {
            uint64_t from = slot_object(slot).offset;

            kept[kept_count++] = (struct range){from, from + slot_footprint(slot)};
        }
    }
    qsort(kept, kept_count, sizeof *kept, by_offset);
    kept[kept_count] = (struct range){segment->size, segment->size};
    for (size_t i = 0; i <= kept_count; i++) {
        if (kept[i].from > at) {
            holes += segment_punch(segment, at, kept[i].from - at);
        }
        at = kept[i].to > at ? kept[i].to : at;
    }
    free(kept);
    segment->died_since_punch = false;
    if (holes > segment->punched) {
        segment_add_punched(segment, &store->account, holes - segment->punched);
    }
}
