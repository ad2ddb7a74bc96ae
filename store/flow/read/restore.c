/* Restores: gathered by file, placed in arenas, read by workers, and booked in the index. */
#include "store/flow/read/restore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text/size.h"
#include "store/base/node.h"
#include "store/core/answer.h"
#include "store/core/events.h"
#include "store/flow/grant.h"
#include "store/flow/holders.h"
#include "store/flow/move.h"
#include "store/flow/queue.h"
#include "store/flow/read/reading.h"
#include "store/flow/read/slicing.h"
#include "store/object/hold.h"
#include "store/object/object.h"
#include "store/object/slice.h"
#include "store/segment/depot.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"

#define RESTORE_TIMEOUT_MS 25000                /* clients wait for 30 s at least: they are told why it was in vain */
#define ARENA_LEAST        ((uint64_t)64 << 10) /* small objects share a segment of at least this size ... */
#define ARENA_MOST         ((uint64_t)4 << 20)
#define ARENA_SHARE        4 /* ... and small is what fits it so many times */
#define FAILURE_KEPT_NS    30000000000

/* Why an object did not come back; told to the next who asks. */
struct failure {
    granary_err err;
    bool lasting; /* damaged: told to everyone who asks */
    int64_t until_ns;
    char message[512];
};

void
restores_init(struct restores *restores)
{
    list_init(&restores->waiting);
    list_init(&restores->arenas);
}

static void
failure_note(struct session *session, granary_id id, granary_err err, bool lasting)
{
    struct map_entry *entry = map_add(&session->failures, map_key_id(id));
    struct failure *failure = entry == NULL ? NULL : entry->value.pointer;

    if (entry != NULL && failure == NULL) {
        failure = calloc(1, sizeof *failure);
        entry->value.pointer = failure;
        if (failure == NULL) {
            map_remove(&session->failures, entry);
        }
    }
    if (failure != NULL) {
        failure->err = err;
        failure->lasting = lasting;
        failure->until_ns = gr_now_ns() + FAILURE_KEPT_NS;
        (void)snprintf(failure->message, sizeof failure->message, "%s", granary_error_message());
    }
}

/* What went wrong with this object the last time, told once unless it lasts. */
static granary_err
failure_tell(struct session *session, granary_id id, bool damaged)
{
    struct map_entry *entry = map_find(&session->failures, map_key_id(id));
    struct failure *failure;
    granary_err err = GRANARY_OK;

    if (entry == NULL) {
        return damaged ? gr_fail(GRANARY_ECORRUPT, "the object's spilled copy is damaged") : GRANARY_OK;
    }
    failure = entry->value.pointer;
    if (damaged || (!failure->lasting && gr_now_ns() < failure->until_ns)) {
        err = gr_fail(failure->err, "%s", failure->message);
    }
    if (!damaged) {
        map_remove(&session->failures, entry);
        free(failure);
    }
    return err;
}

void
restore_anew(struct session *session, granary_id id)
{
    struct map_entry *entry = map_find(&session->failures, map_key_id(id));

    if (entry != NULL && !((struct failure *)entry->value.pointer)->lasting) {
        free(entry->value.pointer);
        map_remove(&session->failures, entry);
    }
}

static bool
is_pinned_for(const struct client *client, const struct restore *restore)
{
    return client->waits == CLIENT_WAITS_PIN && memcmp(client->pin.id, restore->id.bytes, sizeof restore->id) == 0;
}

/* Clients whose PIN waited for this object are answered. slot NULL: it failed, the error is set. */
static void
answer_pins(struct restore *restore, struct gr_slot *slot, granary_err err)
{
    struct session *session = restore->session;
    struct gr_hold_reply reply;
    char message[512];

    (void)snprintf(message, sizeof message, "%s", granary_error_message());
    list_each (struct client, client, &session->clients, in_session) {
        if (!is_pinned_for(client, restore)) {
            continue;
        }
        client->waits = CLIENT_READY;
        if (slot != NULL && (err = hold_pin(client, slot, &client->pin, &reply.token)) == GRANARY_OK) {
            client_answer(client, &client->request, &reply, sizeof reply, NULL, 0);
        } else {
            client_answer_error(client, &client->request, slot != NULL ? err : gr_fail(err, "%s", message));
        }
    }
}

/* The store's part in a segment it filled ends: closed unless more will be restored to it. */
static void
segment_filled(struct session *session, struct segment *segment)
{
    struct store *store = session->store;

    segment->busy--;
    if (segment->busy == 0 && segment != session->arena && !segment->closed) {
        segment_close(segment, &store->account);
        list_append(&store->segments.closed, &segment->in_order);
    }
    segment_settle(store, segment);
}

/* Else its object was deleted, and another one under its id is brought back: who waits, waits for that. */
static bool
is_newest(const struct restore *restore)
{
    struct map_entry *entry = map_find(&restore->session->restores, map_key_id(restore->id));

    return entry != NULL && entry->value.pointer == restore;
}

static void
restore_free(struct restore *restore)
{
    if (is_newest(restore)) {
        map_remove(&restore->session->restores, map_find(&restore->session->restores, map_key_id(restore->id)));
    }
    list_remove(&restore->in_queue);
    free(restore);
}

/* The error is set. Damaged is for good; everything else may work the next time. */
static void
restore_failed(struct restore *restore, granary_err err)
{
    struct session *session = restore->session;
    struct gr_slot *slot = index_find_serial(&session->index, restore->object.id, restore->serial);
    bool damaged = err == GRANARY_ECORRUPT;

    if (slot == NULL) { /* deleted meanwhile */
        err = gr_fail(GRANARY_ENOENT, "the object was deleted while it was brought back");
    } else if (!restore->slice) {
        failure_note(session, restore->id, err, damaged);
        if (damaged) {
            slot_set_flags(slot, slot_flags(slot) | GR_FLAG_DAMAGED);
            gr_log_error("OBJECT-DAMAGED", "%s", granary_error_message());
        }
    }
    if (slot != NULL) {
        count(session, GR_COUNTER_restore_failed, 1);
        event_note(session->store, session, GR_EVENT_RESTORE_FAILED, &restore->object.id, (uint32_t)-err, restore->file,
                   0);
    }
    if (restore->slice) {
        slice_answer(restore, err);
    } else if (is_newest(restore)) {
        answer_pins(restore, NULL, err);
        moves_wake(session, restore->id, err);
        session_touch(session, restore->id);
        store_flush_touched(session->store);
    }
}

static void
restore_succeeded(struct restore *restore, struct gr_slot *slot)
{
    if (restore->slice) {
        slice_answer(restore, GRANARY_OK);
    } else {
        answer_pins(restore, slot, GRANARY_OK);
        moves_wake(restore->session, restore->id, GRANARY_OK);
    }
    store_flush_touched(restore->session->store);
}

/* What was read is an object now; false: there is no memory to book it. */
static bool
book(struct restore *restore, struct gr_slot *slot)
{
    return segment_expect(restore->segment) &&
           (restore->slice ? slice_book(restore->session, restore->object.stamp, restore->id, restore->segment,
                                        restore->object.offset, restore->footprint)
                           : object_note_return(restore->session, slot, restore->segment, restore->object.offset));
}

void
restore_finished(struct restore *restore)
{
    struct session *session = restore->session;
    struct store *store = session->store;
    struct segment *segment = restore->segment;
    struct gr_slot *slot = index_find_serial(&session->index, restore->object.id, restore->serial);
    granary_err err = restore->err;

    count(session, GR_COUNTER_frames_read, restore->cost.frames);
    count(session, GR_COUNTER_frame_bytes, restore->cost.bytes);
    if (err != GRANARY_OK) {
        (void)gr_fail(err, "%s", restore->message);
    } else if (slot == NULL) {
        err = GRANARY_ENOENT;
    } else if (!book(restore, slot)) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to book a restored object");
    }
    if (err == GRANARY_OK) {
        count_latency(store, GR_LATENCY_restore, restore->began_ns);
        restore_succeeded(restore, slot);
    } else {
        segment_waste(segment, &store->account, restore->footprint);
        restore_failed(restore, err);
    }
    segment_filled(session, segment);
    file_release(store, restore->file, 0);
    restore_free(restore);
    store->serve_now = true;
}

/* Wait for memory under this id, unless it is on its way already. */
static granary_err
restore_enqueue(struct session *session, const struct gr_slot *slot, granary_id id, struct restore **ret_restore)
{
    struct index_object object = slot_object(slot);
    struct map_entry *entry = map_add(&session->restores, map_key_id(id));
    struct restore *restore = entry == NULL ? NULL : entry->value.pointer;

    if (restore != NULL && restore->serial == object.serial) {
        *ret_restore = restore;
        return GRANARY_OK;
    }
    restore = entry == NULL ? NULL : calloc(1, sizeof *restore);
    if (restore == NULL) {
        if (entry != NULL && entry->value.pointer == NULL) {
            map_remove(&session->restores, entry);
        }
        return gr_fail(GRANARY_ENOMEM, "no memory to bring an object back");
    }
    entry->value.pointer = restore;
    restore->session = session;
    restore->id = id;
    restore->serial = object.serial;
    restore->object.id = object.id;
    restore->object.data_size = object.data_size;
    restore->object.meta_size = object.meta_size;
    restore->object.stamp = object.stamp;
    restore->footprint = slot_footprint(slot);
    restore->node = node_of((int)GR_FLAGS_NODE(object.flags));
    restore->began_ns = gr_now_ns();
    restore->deadline_ns = gr_deadline_ns(RESTORE_TIMEOUT_MS);
    restore->ticket = ++session->store->queue->ticket;
    list_init(&restore->in_queue);
    list_append(&session->store->restores->waiting, &restore->in_queue);
    session->store->serve_now = true;
    *ret_restore = restore;
    return GRANARY_OK;
}

granary_err
restore_request(struct session *session, granary_id id, struct gr_slot **ret_slot)
{
    struct gr_slot *slot = index_find(&session->index, id);
    bool damaged;
    struct restore *restore;
    granary_err err;

    if (slot == NULL) {
        return object_not_found(id);
    }
    if (GR_WORD_STATE(slot_word(slot)) == GR_SLOT_SEALED) {
        *ret_slot = slot;
        return GRANARY_OK;
    }
    damaged = (slot_flags(slot) & GR_FLAG_DAMAGED) != 0;
    *ret_slot = NULL;
    if ((err = failure_tell(session, id, damaged)) != GRANARY_OK) {
        return err;
    }
    return restore_enqueue(session, slot, id, &restore);
}

void
restore_pinned(struct session *session)
{
    uint64_t position = 0;
    struct gr_slot *slot;

    while ((slot = index_next(&session->index, &position)) != NULL) {
        granary_id id = slot_object(slot).id;

        if ((1u << slot_state(slot) & INDEX_PRESENT) != 0 && GR_FLAGS_PINS(slot_flags(slot)) > 0 &&
            index_find(&session->index, id) == slot) {
            (void)restore_request(session, id, &slot);
        }
    }
}

granary_err
restore_request_slice(struct session *session, const struct gr_slot *slot, granary_id id, uint64_t from, uint64_t size)
{
    struct restore *restore;
    granary_err err = restore_enqueue(session, slot, id, &restore);

    if (err == GRANARY_OK) {
        restore->slice = true;
        restore->from = from;
        restore->footprint = size;
    }
    return err;
}

static uint64_t
arena_size(const struct store *store)
{
    uint64_t share = store->account.bytes[GR_ACCOUNT_CAPACITY] / 64;

    return share > ARENA_MOST ? ARENA_MOST : share > ARENA_LEAST ? share : ARENA_LEAST;
}

/* A segment for it, carved. Small objects share one. Errors: as memory_grant() */
static granary_err
restore_place(struct restore *restore)
{
    struct session *session = restore->session;
    struct store *store = session->store;
    uint64_t arena_bytes = arena_size(store);
    bool small = restore->footprint <= arena_bytes / ARENA_SHARE;
    uint64_t want = small ? arena_bytes : restore->footprint;
    struct segment *segment = session->arena;
    uint64_t warm;
    granary_err err;

    if (!small || segment == NULL || segment->size - segment->carved < restore->footprint) {
        err = memory_grant(
            store,
            &(struct memory_wish){
                .session = session, .min_bytes = restore->footprint, .want_bytes = want, .node = restore->node},
            &segment, &warm);
        if (err != GRANARY_OK) {
            return err;
        }
        if (small) {
            struct segment *before = session->arena;

            session->arena = segment;
            list_append(&store->restores->arenas, &session->in_arenas);
            if (before != NULL) { /* full; closed now, or when its last object is there */
                before->busy++;
                segment_filled(session, before);
            }
        }
    }
    restore->segment = segment;
    restore->object.offset = segment->carved;
    segment->carved += restore->footprint;
    segment->busy++;
    return GRANARY_OK;
}

/* Its file must be known: what lies in a file that was lost is damaged. */
static granary_err
check_file(const struct restore *restore, const struct gr_slot *slot)
{
    char text[GRANARY_ID_TEXT + 1];

    if (file_find(restore->session->store, slot_where(slot)) != NULL) {
        return GRANARY_OK;
    }
    granary_id_format(restore->object.id, text);
    return gr_fail(GRANARY_ECORRUPT, "object %s: spill file %u is lost", text, slot_where(slot));
}

static granary_err
restore_start(struct restore *restore, const struct gr_slot *slot)
{
    struct index_object object = slot_object(slot);
    struct store *store = restore->session->store;
    struct spill_file *file = file_find(store, object.where);

    restore->file = object.where;
    restore->depot = file->depot;
    restore->object.fd = restore->segment->fd;
    restore->object.place = object.offset;
    if (!reading_start(restore)) {
        segment_waste(restore->segment, &store->account, restore->footprint);
        segment_filled(restore->session, restore->segment);
        return gr_fail(GRANARY_ENOMEM, "no memory to bring an object back");
    }
    file_hold(file, 0); /* it stays until the jobs have run, wherever the object goes */
    return GRANARY_OK;
}

/* Whether it can wait for the session's quota: not when pins leave too little of it. */
static bool
may_fit_quota(const struct restore *restore)
{
    const struct session *session = restore->session;
    uint64_t quota = atomic_load_explicit(&session->control->quota_bytes, memory_order_relaxed);

    return quota == 0 || (quota > session->pinned_bytes && quota - session->pinned_bytes >= restore->footprint);
}

uint64_t
restore_serve(struct store *store, int64_t now_ns)
{
    uint64_t need = 0;

    list_each (struct restore, restore, &store->restores->waiting, in_queue) {
        struct gr_slot *slot = index_find_serial(&restore->session->index, restore->object.id, restore->serial);
        granary_err err = slot == NULL ? GRANARY_ENOENT : check_file(restore, slot);
        bool disk_failed = store->depots->error[0] != '\0' && now_ns < store->depots->retry_ns;

        err = err == GRANARY_OK ? restore_place(restore) : err;
        if (err == GRANARY_ESTATE && now_ns < restore->deadline_ns && may_fit_quota(restore)) {
            queue_wait_quota(restore->session, restore->footprint);
            continue;
        }
        if (err == GRANARY_EBUSY && (disk_failed || now_ns >= restore->deadline_ns)) {
            char holders[640];
            char size[GR_SIZE_TEXT];

            holders_describe(store, (uid_t)atomic_load(&restore->session->control->uid), holders, sizeof holders);
            err = gr_fail(GRANARY_EFULL, "no room to bring an object of %s back: %s%s%s",
                          gr_size_format(restore->footprint, size), store->depots->error,
                          store->depots->error[0] != '\0' ? "; " : "", holders);
        }
        if (err == GRANARY_ESTATE) {
            err = queue_fail_quota(restore->session, "to bring back an object of", restore->footprint);
        }
        if (err == GRANARY_EBUSY) {
            need = restore->footprint;
            break;
        }
        list_remove(&restore->in_queue);
        err = err == GRANARY_OK ? restore_start(restore, slot) : err;
        if (err != GRANARY_OK) {
            restore_failed(restore, err);
            restore_free(restore);
        }
    }
    reading_flush(store);
    return need;
}

uint64_t
restore_ticket(const struct store *store)
{
    return list_owner(store->restores->waiting.next, struct restore, in_queue)->ticket;
}

uint64_t
restore_first_bytes(const struct store *store)
{
    return list_owner(store->restores->waiting.next, struct restore, in_queue)->footprint;
}

void
restore_forget(struct session *session)
{
    list_each (struct restore, restore, &session->store->restores->waiting, in_queue) {
        if (restore->session == session) {
            restore_free(restore);
        }
    }
}

void
restore_fini(struct session *session)
{
    struct map_entry *entry;
    size_t position = 0;

    restore_forget(session);
    map_free(&session->restores);
    while ((entry = map_next(&session->failures, &position)) != NULL) {
        free(entry->value.pointer);
    }
    map_free(&session->failures);
}
