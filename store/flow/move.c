/* Moves: looked at whole after each event they wait for, until nothing is missing. */
#include "store/flow/move.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/log.h"
#include "store/core/answer.h"
#include "store/core/events.h"
#include "store/flow/read/restore.h"
#include "store/object/contain.h"
#include "store/object/copy.h"
#include "store/object/object.h"
#include "store/segment/depot.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"

#define LEVELS_BELOW (GRANARY_LEVEL_DISK | GRANARY_LEVEL_REMOTE)

/* One that nobody waits for. */
struct background {
    struct list in_session;
    struct gr_move move;
    granary_id on; /* the object that something is done to: it, or one that it contains */
};

/* A copy on its way: one object, one file. */
struct copying {
    struct job job;
    struct session *session;
    granary_id id;
    struct depot *depot;
    unsigned tried; /* those it failed in, a bit each */
    bool unread;    /* it failed where it comes from */
    struct level_file file;
    struct level_object object;
    struct segment *segment;  /* it is copied from memory; NULL: */
    const struct depot *from; /* ... from this file there */
    uint32_t from_file;
    uint64_t allowance;
    uint64_t written;
    int64_t submitted_ns;
    granary_err err;
    char message[512];
};

static void
copying_run(struct job *job)
{
    struct copying *copying = list_owner(job, struct copying, job);
    int fd = -1;

    if (copying->segment == NULL) {
        fd = copying->from->ops->open_file(copying->from->self, copying->from_file, &copying->err);
        copying->object.fd = fd;
        copying->unread = copying->err != GRANARY_OK;
    }
    if (copying->err == GRANARY_OK) {
        copying->err = copying->depot->ops->write(copying->depot->self, &copying->file, &copying->object, 1,
                                                  copying->allowance, &copying->written);
    }
    if (copying->err != GRANARY_OK) {
        (void)snprintf(copying->message, sizeof copying->message, "%s", granary_error_message());
    }
    gr_fd_close(&fd);
}

/* The file is there: the object has a copy more, if it still is that object. */
static granary_err
copying_book(struct copying *copying)
{
    struct session *session = copying->session;
    struct store *store = session->store;
    struct gr_slot *slot = index_find(&session->index, copying->id);
    struct spill_file *file = file_add_new(store, copying->depot, session, &copying->file, copying->written);
    uint64_t raw = copying->object.data_size + copying->object.meta_size;
    granary_err err = GRANARY_OK;

    if (file == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to book a copy");
    }
    file->raw = GR_FOOTPRINT(copying->object.data_size, (uint64_t)copying->object.meta_size);
    count_latency(store, GR_LATENCY_spill, copying->submitted_ns);
    count(session, GR_COUNTER_spill_files, 1);
    count(session, GR_COUNTER_spill_written, copying->written);
    if (slot == NULL || slot_object(slot).stamp != copying->object.stamp) {
        err = object_not_found(copying->id);
    } else if (!copy_add(session, slot, file, copying->object.place)) {
        err = gr_fail(GRANARY_ENOMEM, "no memory to book a copy");
    } else {
        count(session, GR_COUNTER_spills, 1);
        count(session, GR_COUNTER_spill_raw, raw);
        event_note(store, session, GR_EVENT_SPILL, &copying->id, copying->object.data_size, file->number, 0);
    }
    file_release(store, copying->file.number, 0);
    return err;
}

static void copying_done(struct job *job);

static void
copying_submit(struct copying *copying, uint32_t flags)
{
    struct session *session = copying->session;

    depot_charge(session->store, copying->depot, copying->object.data_size + copying->object.meta_size);
    file_sign(&copying->file, session, flags & LEVEL_FILE_PERSISTENT);
    copying->allowance = depot_allowance(session->store, copying->depot);
    copying->submitted_ns = gr_now_ns();
    copying->job = (struct job){.run = copying_run, .done = copying_done};
    workers_submit(session->store->workers, WORKER_WRITE, &copying->job);
}

/* Another directory of the level may have the room that this one lacks; false: there is none, or it is not at fault. */
static bool
copying_again(struct copying *copying)
{
    struct store *store = copying->session->store;
    struct depot *depot = copying->depot, *other;

    if (copying->unread || copying->err == GRANARY_ECORRUPT || copying->err == GRANARY_ENOMEM) {
        return false;
    }
    copying->tried |= depot_bit(store, depot);
    other = depot_choose(store, depot->name, copying->object.data_size, copying->tried, gr_now_ns());
    if (other == NULL || store->stopping) {
        depot_blame(depot, copying->err);
        return false;
    }
    (void)gr_fail(copying->err, "%s", copying->message);
    depot_failed(store, depot, copying->err, gr_now_ns());
    copying->depot = other;
    copying->err = GRANARY_OK;
    copying_submit(copying, copying->file.flags);
    return true;
}

static void
copying_done(struct job *job)
{
    struct copying *copying = list_owner(job, struct copying, job);
    struct session *session = copying->session;
    struct store *store = session->store;
    granary_id id = copying->id;
    granary_err err = copying->err;

    if (err != GRANARY_OK) {
        gr_log_warn("COPY-FAILED", "dir=%s file=%u why=%s", copying->depot->place->path, copying->file.number,
                    copying->message);
        event_note(store, session, GR_EVENT_DISK_FAILED, &id, (uint32_t)-err, copying->file.number, 0);
        if (copying_again(copying)) {
            return;
        }
    }
    map_remove(&session->copying, map_find(&session->copying, map_key_id(id)));
    if (err == GRANARY_OK) {
        depot_worked(copying->depot);
        err = copying_book(copying);
    } else {
        (void)gr_fail(err, "%s", copying->message);
    }
    if (copying->segment != NULL) {
        copying->segment->busy--;
        segment_settle(store, copying->segment);
    } else {
        file_release(store, copying->from_file, 0);
    }
    session->jobs--;
    free(copying);
    store->serve_now = true;
    moves_wake(session, id, err);
}

/* Where its bytes are read from. */
static void
copy_from(struct copying *copying, const struct gr_slot *slot)
{
    struct session *session = copying->session;
    struct store *store = session->store;
    struct index_object object = slot_object(slot);

    if (GR_WORD_STATE(slot_word(slot)) == GR_SLOT_SPILLED) {
        struct spill_file *file = file_find(store, object.where);

        file_hold(file, 0);
        copying->from = file->depot;
        copying->from_file = object.where;
        copying->object.packed = true;
    } else {
        copying->segment = store_segment(store, object.where);
        copying->segment->busy++;
        copying->object.fd = copying->segment->fd;
    }
    copying->object.offset = object.offset;
}

static granary_err
copy_start(struct session *session, const struct gr_slot *slot, enum depot_name depot, uint32_t flags)
{
    struct store *store = session->store;
    struct index_object object = slot_object(slot);
    struct map_entry *entry = map_add(&session->copying, map_key_id(object.id));
    struct copying *copying;

    if (entry != NULL && entry->value.pointer != NULL) { /* one at a time; it is looked at again when that is done */
        return GRANARY_OK;
    }
    copying = entry == NULL ? NULL : calloc(1, sizeof *copying);
    if (copying == NULL) {
        if (entry != NULL) {
            map_remove(&session->copying, entry);
        }
        return gr_fail(GRANARY_ENOMEM, "no memory to copy an object");
    }
    entry->value.pointer = copying;
    copying->session = session;
    copying->id = object.id;
    copying->depot = depot_choose(store, depot, slot_footprint(slot), 0, gr_now_ns());
    copying->object = (struct level_object){.id = object.id,
                                            .serial = object.serial,
                                            .data_size = object.data_size,
                                            .meta_size = object.meta_size,
                                            .stamp = object.stamp};
    copy_from(copying, slot);
    session->jobs++;
    copying_submit(copying, flags);
    return GRANARY_OK;
}

static granary_levels
levels_of(const struct gr_slot *slot)
{
    uint64_t flags = slot_flags(slot);

    return (GR_WORD_STATE(slot_word(slot)) == GR_SLOT_SPILLED ? 0u : GRANARY_LEVEL_MEMORY) |
           ((flags & GR_FLAG_ON_DISK) != 0 ? GRANARY_LEVEL_DISK : 0u) |
           ((flags & GR_FLAG_REMOTE) != 0 ? GRANARY_LEVEL_REMOTE : 0u);
}

/* What a move asks for of levels that this store has. */
static granary_err
check_levels(const struct store *store, const struct gr_move *move)
{
    struct level_capacity room;

    if ((move->to & move->from) != 0 || (move->to | move->from) == 0 || (move->to | move->from) > 15) {
        return gr_fail(GRANARY_EINVAL, "move to %u, from %u: two sets of levels that differ are expected", move->to,
                       move->from);
    }
    if ((move->to & GRANARY_LEVEL_GPU) != 0) {
        granary_err err = level_gpu.probe(&(struct level_options){.dir = NULL}, &room);

        return err != GRANARY_OK ? err : gr_fail(GRANARY_EUNSUPPORTED, "no object can be moved to the GPU");
    }
    if ((move->to & GRANARY_LEVEL_DISK) != 0 && !depot_there(store, DEPOT_DISK)) {
        return gr_fail(GRANARY_EUNSUPPORTED, "this store runs without the level disk (--levels)");
    }
    if ((move->to & GRANARY_LEVEL_REMOTE) != 0 && !depot_there(store, DEPOT_REMOTE)) {
        return gr_fail(GRANARY_EUNSUPPORTED, "this store runs without the level remote (--remote-dir)");
    }
    return GRANARY_OK;
}

/* Where an object goes that leaves memory and has no copy that stays; false: nowhere. */
static bool
find_refuge(const struct store *store, granary_levels from, enum depot_name *ret_depot)
{
    if (depot_there(store, DEPOT_DISK) && (from & GRANARY_LEVEL_DISK) == 0) {
        *ret_depot = DEPOT_DISK;
        return true;
    }
    *ret_depot = DEPOT_REMOTE;
    return depot_there(store, DEPOT_REMOTE) && (from & GRANARY_LEVEL_REMOTE) == 0;
}

/* Give up what shall go; everything that shall be there is. */
static granary_err
leave(struct session *session, struct gr_slot *slot, granary_levels from)
{
    if ((from & levels_of(slot) & GRANARY_LEVEL_MEMORY) != 0) {
        struct store *store = session->store;
        struct segment *segment = store_segment(store, slot_where(slot));

        if (!object_evict(session, slot)) {
            return gr_fail(GRANARY_EBUSY, "the object is leased: it stays in memory until its last lease ends");
        }
        segment_settle(store, segment);
    }
    if ((from & GRANARY_LEVEL_DISK) != 0) {
        copy_drop(session, slot, DEPOT_DISK);
    }
    if ((from & GRANARY_LEVEL_REMOTE) != 0) {
        copy_drop(session, slot, DEPOT_REMOTE);
    }
    return GRANARY_OK;
}

/* Copies that are missing, one at a time. *ret_waits: one was begun. */
static granary_err
copy_down(struct session *session, const struct gr_slot *slot, const struct gr_move *move, bool *ret_waits)
{
    granary_levels levels = levels_of(slot);
    granary_levels staying = (levels | move->to) & ~move->from;
    enum depot_name refuge;

    *ret_waits = true;
    if ((move->to & GRANARY_LEVEL_DISK) != 0 && (slot_flags(slot) & GR_FLAG_PERSISTENT) == 0) {
        return copy_start(session, slot, DEPOT_DISK, LEVEL_FILE_PERSISTENT);
    }
    if ((move->to & GRANARY_LEVEL_REMOTE) != 0 && (levels & GRANARY_LEVEL_REMOTE) == 0) {
        return copy_start(session, slot, DEPOT_REMOTE, 0);
    }
    if (staying == 0) {
        if ((move->from & levels & GRANARY_LEVEL_MEMORY) == 0 || !find_refuge(session->store, move->from, &refuge)) {
            return gr_fail(GRANARY_EINVAL, "the object would lie nowhere: delete it, or name a level it goes to");
        }
        return copy_start(session, slot, refuge, 0);
    }
    *ret_waits = false;
    return GRANARY_OK;
}

static bool
is_movable(const struct gr_slot *slot)
{
    enum gr_slot_state state = GR_WORD_STATE(slot_word(slot));

    return state == GR_SLOT_SEALED || state == GR_SLOT_SPILLED;
}

static bool
is_volatile(const struct gr_slot *slot)
{
    return is_movable(slot) && (slot_flags(slot) & GR_FLAG_PERSISTENT) == 0;
}

/*
 * What an object contains lives as long as it does, through the machine's restart, too: it is persisted first, one
 * after the other. *ret_waits: that of *ret_on was begun.
 */
static granary_err
persist_members(struct session *session, const struct gr_slot *slot, granary_id *ret_on, bool *ret_waits)
{
    *ret_waits = (slot_flags(slot) & GR_FLAG_PARENT) != 0 && contain_find(session, *ret_on, is_volatile, ret_on);
    return *ret_waits ? copy_start(session, index_find(&session->index, *ret_on), DEPOT_DISK, LEVEL_FILE_PERSISTENT)
                      : GRANARY_OK;
}

/* Do what can be done of a move now. *ret_waits: the rest comes with moves_wake() of *ret_on. */
static granary_err
step(struct session *session, const struct gr_move *move, granary_id *ret_on, bool *ret_waits)
{
    struct gr_slot *slot, *there;
    granary_id id;
    granary_err err;

    memcpy(id.bytes, move->id, sizeof id.bytes);
    *ret_on = id;
    slot = index_find(&session->index, id);
    *ret_waits = false;
    if (slot == NULL || (slot_flags(slot) & GR_FLAG_SLICE) != 0 || !is_movable(slot)) {
        return object_not_found(id);
    }
    if ((move->from & levels_of(slot) & GRANARY_LEVEL_MEMORY) != 0) {
        if (GR_FLAGS_PINS(slot_flags(slot)) > 0) {
            return gr_fail(GRANARY_EBUSY, "the object is pinned: it stays in memory until it is unpinned");
        }
        if (session_holds(session, GR_WORD_SERIAL(slot_word(slot)))) {
            return gr_fail(GRANARY_EBUSY, "the object is leased: it stays in memory until its last lease ends");
        }
    }
    if ((move->to & GRANARY_LEVEL_DISK) != 0) {
        err = persist_members(session, slot, ret_on, ret_waits);
        if (err != GRANARY_OK || *ret_waits) {
            *ret_waits = *ret_waits && err == GRANARY_OK;
            return err;
        }
    }
    err = copy_down(session, slot, move, ret_waits);
    if (err != GRANARY_OK || *ret_waits) {
        *ret_waits = *ret_waits && err == GRANARY_OK;
        return err;
    }
    if ((move->to & GRANARY_LEVEL_MEMORY) != 0 && GR_WORD_STATE(slot_word(slot)) == GR_SLOT_SPILLED) {
        err = restore_request(session, id, &there);
        *ret_waits = err == GRANARY_OK && there == NULL;
        return err;
    }
    return leave(session, slot, move->from);
}

static granary_err
add_background(struct session *session, const struct gr_move *move, granary_id on)
{
    struct background *background;

    list_each (const struct background, there, &session->moves, in_session) {
        const struct gr_move *other = &there->move;

        if (memcmp(other->id, move->id, sizeof move->id) == 0 && other->to == move->to && other->from == move->from) {
            return GRANARY_OK;
        }
    }
    background = calloc(1, sizeof *background);
    if (background == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory to move an object");
    }
    background->move = *move;
    background->on = on;
    list_init(&background->in_session);
    list_append(&session->moves, &background->in_session);
    return GRANARY_OK;
}

static void
drop_background(struct background *background)
{
    list_remove(&background->in_session);
    free(background);
}

/* Who wants an object somewhere undoes what was asked for before: to take it from there in the background. */
static void
supersede(struct session *session, const struct gr_move *move)
{
    list_each (struct background, background, &session->moves, in_session) {
        const struct gr_move *other = &background->move;

        if (memcmp(other->id, move->id, sizeof move->id) == 0 && (other->from & move->to) != 0) {
            drop_background(background);
        }
    }
}

void
moves_init(struct moves *moves)
{
    moves->until_ns = INT64_MAX;
}

granary_err
move_request(struct client *client, const struct gr_frame *request, const struct gr_move *move)
{
    struct session *session = client->session;
    struct store *store = session->store;
    bool in_background = (move->flags & 1u) != 0;
    bool waits = false;
    granary_id on;
    granary_err err = check_levels(store, move);

    if (err == GRANARY_OK) {
        supersede(session, move);
        err = step(session, move, &on, &waits);
    }
    if (err == GRANARY_OK && waits && in_background) {
        count(session, GR_COUNTER_prefetches, (move->to & GRANARY_LEVEL_MEMORY) != 0);
        /* A restore goes on by itself. */
        err = move->to == GRANARY_LEVEL_MEMORY && move->from == 0 ? GRANARY_OK : add_background(session, move, on);
    }
    if (err != GRANARY_OK) {
        return client_answer_error(client, request, err);
    }
    if (!waits || in_background) {
        client_answer(client, request, NULL, 0, NULL, 0);
        return GRANARY_OK;
    }
    client->request = *request;
    client->waits = CLIENT_WAITS_MOVE;
    client->move = *move;
    client->move_on = on;
    client->deadline_ns = gr_deadline_ns(move->timeout_ms);
    if (client->deadline_ns < store->moves->until_ns) {
        store->moves->until_ns = client->deadline_ns;
    }
    return GRANARY_OK;
}

static void
wake_client(struct client *client, granary_err err, const char *message)
{
    bool waits = false;

    err = err == GRANARY_OK ? step(client->session, &client->move, &client->move_on, &waits)
                            : gr_fail(err, "%s", message);
    if (err == GRANARY_OK && waits) {
        return;
    }
    client->waits = CLIENT_READY;
    if (err == GRANARY_OK) {
        client_answer(client, &client->request, NULL, 0, NULL, 0);
    } else {
        (void)client_answer_error(client, &client->request, err);
    }
}

void
moves_wake(struct session *session, granary_id id, granary_err err)
{
    char message[512];

    if (session->store->stopping) { /* nothing more is begun */
        return;
    }
    (void)snprintf(message, sizeof message, "%s", granary_error_message());
    list_each (struct background, background, &session->moves, in_session) {
        bool waits = false;

        if (gr_id_equal(background->on, id) &&
            (err != GRANARY_OK || step(session, &background->move, &background->on, &waits) != GRANARY_OK || !waits)) {
            drop_background(background);
        }
    }
    list_each (struct client, client, &session->clients, in_session) {
        if (client->waits == CLIENT_WAITS_MOVE && gr_id_equal(client->move_on, id)) {
            wake_client(client, err, message);
        }
    }
}

bool
moves_turn(struct store *store, int64_t now_ns)
{
    if (now_ns < store->moves->until_ns) {
        return false;
    }
    store->moves->until_ns = INT64_MAX;
    list_each (struct client, client, &store->clients.all, in_store) {
        if (client->waits != CLIENT_WAITS_MOVE) {
            continue;
        }
        if (now_ns < client->deadline_ns) {
            if (client->deadline_ns < store->moves->until_ns) {
                store->moves->until_ns = client->deadline_ns;
            }
            continue;
        }
        /* The work goes on: who asks again finds it further on. */
        (void)add_background(client->session, &client->move, client->move_on);
        client->waits = CLIENT_READY;
        (void)client_answer_error(client, &client->request,
                                  gr_fail(GRANARY_ETIMEDOUT, "the object is still being moved"));
    }
    return false;
}

int64_t
moves_next_ns(const struct store *store)
{
    return store->moves->until_ns;
}

void
moves_forget(struct session *session)
{
    list_each (struct background, background, &session->moves, in_session) {
        drop_background(background);
    }
}
