#include "store/restore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "store/client.h"
#include "store/events.h"
#include "store/hold.h"
#include "store/memory.h"
#include "store/object.h"
#include "store/queue.h"

#define RESTORE_TIMEOUT_MS 30000
#define ARENA_LEAST        ((uint64_t)64 << 10) /* small objects share a segment of at least this size ... */
#define ARENA_MOST         ((uint64_t)4 << 20)
#define ARENA_SHARE        4 /* ... and small is what fits it so many times */
#define FAILURE_KEPT_NS    30000000000

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
    struct list *node, *next;

    (void)snprintf(message, sizeof message, "%s", granary_error_message());
    list_each (node, next, &session->clients) {
        struct client *client = list_owner(node, struct client, in_session);

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
        list_append(&store->closed, &segment->in_order);
    }
    segment_settle(store, segment);
}

static void
restore_free(struct restore *restore)
{
    struct map *restores = &restore->session->restores;
    struct map_entry *entry = map_find(restores, map_key_id(restore->id));

    if (entry != NULL && entry->value.pointer == restore) {
        map_remove(restores, entry);
    }
    list_remove(&restore->in_queue);
    free(restore);
}

/* The error is set. Damaged is for good; everything else may work the next time. */
static void
restore_failed(struct restore *restore, granary_err err)
{
    struct session *session = restore->session;
    struct gr_slot *slot = index_find_serial(&session->index, restore->id, restore->serial);
    bool damaged = err == GRANARY_ECORRUPT;

    if (slot == NULL) { /* deleted meanwhile */
        err = gr_fail(GRANARY_ENOENT, "the object was deleted while it was brought back");
    } else {
        failure_note(session, restore->id, err, damaged);
        if (damaged) {
            slot_set_flags(slot, slot_flags(slot) | GR_FLAG_DAMAGED);
            gr_log_error("OBJECT-DAMAGED", "%s", granary_error_message());
        }
        count(session, GR_COUNTER_restore_failed, 1);
        event_note(session->store, session, GR_EVENT_RESTORE_FAILED, &restore->id, (uint32_t)-err, restore->file, 0);
    }
    answer_pins(restore, NULL, err);
    session_touch(session, restore->id);
    store_flush_touched(session->store);
}

static void
restore_run(struct job *job)
{
    struct restore *restore = list_owner(job, struct restore, job);
    const struct depot *depot = restore->depot;

    restore->err =
        depot->ops->read(depot->self, restore->file, &restore->object, 0, restore->footprint, &restore->cost);
    if (restore->err != GRANARY_OK) {
        (void)snprintf(restore->message, sizeof restore->message, "%s", granary_error_message());
    }
}

static void
restore_done(struct job *job)
{
    struct restore *restore = list_owner(job, struct restore, job);
    struct session *session = restore->session;
    struct store *store = session->store;
    struct segment *segment = restore->segment;
    struct gr_slot *slot = index_find_serial(&session->index, restore->id, restore->serial);
    granary_err err = restore->err;

    count(session, GR_COUNTER_frames_read, restore->cost.frames);
    count(session, GR_COUNTER_frame_bytes, restore->cost.bytes);
    if (err == GRANARY_OK && slot != NULL &&
        (!segment_expect(segment) || !object_restored(session, slot, segment, restore->object.offset))) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to book a restored object");
    } else if (err != GRANARY_OK) {
        (void)gr_fail(err, "%s", restore->message);
    }
    if (err == GRANARY_OK && slot != NULL) {
        answer_pins(restore, slot, GRANARY_OK);
        store_flush_touched(store);
    } else {
        segment_waste(segment, &store->account, restore->footprint);
        restore_failed(restore, err == GRANARY_OK ? GRANARY_ENOENT : err);
    }
    segment_filled(session, segment);
    file_release(store, restore->file, 0);
    restore_free(restore);
    store->serve_now = true;
}

granary_err
restore_request(struct session *session, granary_id id, struct gr_slot **ret_slot)
{
    struct gr_slot *slot = index_find(&session->index, id);
    bool damaged;
    struct restore *restore;
    struct map_entry *entry;
    granary_err err;

    if (slot == NULL) {
        char text[GRANARY_ID_TEXT + 1];

        granary_id_format(id, text);
        return gr_fail(GRANARY_ENOENT, "object %s: not found", text);
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
    entry = map_add(&session->restores, map_key_id(id));
    if (entry != NULL && entry->value.pointer != NULL &&
        ((struct restore *)entry->value.pointer)->serial == GR_WORD_SERIAL(slot_word(slot))) {
        return GRANARY_OK; /* on its way */
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
    restore->serial = GR_WORD_SERIAL(slot_word(slot));
    restore->footprint = slot_footprint(slot);
    restore->deadline_ns = gr_deadline_ns(RESTORE_TIMEOUT_MS);
    restore->ticket = ++session->store->ticket;
    list_init(&restore->in_queue);
    list_append(&session->store->restores, &restore->in_queue);
    session->store->serve_now = true;
    return GRANARY_OK;
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
            store, &(struct memory_wish){.session = session, .min_bytes = restore->footprint, .want_bytes = want},
            &segment, &warm);
        if (err != GRANARY_OK) {
            return err;
        }
        if (small) {
            struct segment *before = session->arena;

            session->arena = segment;
            list_append(&store->arenas, &session->in_arenas);
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
    granary_id_format(restore->id, text);
    return gr_fail(GRANARY_ECORRUPT, "object %s: spill file %u is lost", text, slot_where(slot));
}

static void
restore_start(struct restore *restore, const struct gr_slot *slot)
{
    struct index_object object = slot_object(slot);
    struct store *store = restore->session->store;
    struct spill_file *file = file_find(store, object.where);

    file_hold(file, 0);
    restore->file = object.where;
    restore->depot = depot_of(store, file);
    restore->object.id = object.id;
    restore->object.data_size = object.data_size;
    restore->object.meta_size = object.meta_size;
    restore->object.stamp = object.stamp;
    restore->object.fd = restore->segment->fd;
    restore->object.place = object.offset;
    restore->job = (struct job){.run = restore_run, .done = restore_done};
    workers_submit(store->workers, WORKER_READ, &restore->job);
}

bool
restore_serve(struct store *store, int64_t now_ns)
{
    struct list *node, *next;

    list_each (node, next, &store->restores) {
        struct restore *restore = list_owner(node, struct restore, in_queue);
        struct gr_slot *slot = index_find_serial(&restore->session->index, restore->id, restore->serial);
        granary_err err = slot == NULL ? GRANARY_ENOENT : check_file(restore, slot);
        bool disk_failed = store->disk_error[0] != '\0' && now_ns < store->disk_retry_ns;

        err = err == GRANARY_OK ? restore_place(restore) : err;
        if (err == GRANARY_ESTATE && now_ns < restore->deadline_ns) {
            queue_wait_quota(restore->session, restore->footprint);
            continue;
        }
        if (err == GRANARY_EBUSY && (disk_failed || now_ns >= restore->deadline_ns)) {
            char holders[640];

            queue_describe(store, holders, sizeof holders);
            err = gr_fail(GRANARY_EFULL, "no room to bring an object of %llu bytes back: %s%s%s",
                          (unsigned long long)restore->footprint, disk_failed ? store->disk_error : "",
                          disk_failed ? "; " : "", holders);
        }
        if (err == GRANARY_ESTATE) {
            err = gr_fail(GRANARY_EFULL, "no room to bring an object of %llu bytes back: session '%s' is at its quota",
                          (unsigned long long)restore->footprint, restore->session->name);
        }
        if (err == GRANARY_EBUSY) {
            return false;
        }
        list_remove(&restore->in_queue);
        if (err == GRANARY_OK) {
            restore_start(restore, slot);
        } else {
            restore_failed(restore, err);
            restore_free(restore);
        }
    }
    return true;
}

uint64_t
restore_ticket(const struct store *store)
{
    return list_owner(store->restores.next, struct restore, in_queue)->ticket;
}

uint64_t
restore_need(const struct store *store)
{
    return list_empty(&store->restores) ? 0 : list_owner(store->restores.next, struct restore, in_queue)->footprint;
}

void
restore_fini(struct session *session)
{
    struct list *node, *next;
    struct map_entry *entry;
    size_t position = 0;

    list_each (node, next, &session->store->restores) {
        struct restore *restore = list_owner(node, struct restore, in_queue);

        if (restore->session == session) {
            restore_free(restore);
        }
    }
    map_free(&session->restores);
    while ((entry = map_next(&session->failures, &position)) != NULL) {
        free(entry->value.pointer);
    }
    map_free(&session->failures);
}
