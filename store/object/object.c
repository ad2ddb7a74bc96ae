/* Objects sealed, deleted, ended: the slot first, then account, segment and maps. */
#include "store/object/object.h"

#include <stdlib.h>

#include "base/barrier.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/futex.h"
#include "base/id.h"
#include "store/core/events.h"
#include "store/object/alias.h"
#include "store/object/contain.h"
#include "store/object/copy.h"
#include "store/object/hold.h"
#include "store/object/slice.h"
#include "store/segment/depot.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"
#include "store/segment/victim.h"

#define WAKE_WORTH     16u /* clients looked at cost as much as one futex woken */
#define CLIENTS_A_LOOK 32u
#define ONE_PIN        ((uint64_t)1 << GR_FLAGS_PINS_SHIFT)

void
session_touch(struct session *session, granary_id id)
{
    struct store *store = session->store;
    uint64_t words[2];
    uint32_t at;
    _Atomic uint32_t *word;

    if (store->objects->touched_session != session || store->objects->touched_count == OBJECTS_TOUCHED) {
        store_flush_touched(store);
        store->objects->touched_session = session;
    }
    gr_id_words(id, words);
    at = (uint32_t)(gr_slot_hash(words[0], words[1]) % GR_WAIT_WORDS);
    word = &session->control->wait[at];
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + 1, memory_order_release);
    word = &session->control->any;
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + 1, memory_order_release);
    store->objects->touched[store->objects->touched_count++] = (uint16_t)at;
}

/* Whoever counted itself in `waiting` after this fence reads the bumped word, and does not sleep. */
void
store_flush_touched(struct store *store)
{
    struct session *session = store->objects->touched_session;
    bool waiting = false;

    if (store->objects->touched_count == 0) {
        return;
    }
    barrier_full();
    /* With many clients, waking nobody is cheaper than looking at each of them. */
    waiting = session->client_count > WAKE_WORTH * store->objects->touched_count;
    list_each (struct client, client, &session->clients, in_session) {
        if (waiting) {
            break;
        }
        waiting = atomic_load_explicit(&client->page->waiting, memory_order_seq_cst) != 0;
    }
    for (unsigned i = 0; waiting && i < store->objects->touched_count; i++) {
        gr_futex_wake(&session->control->wait[store->objects->touched[i]]);
    }
    if (waiting) {
        gr_futex_wake(&session->control->any);
    }
    store->objects->touched_count = 0;
}

void
session_forget_touched(struct session *session)
{
    struct objects *objects = session->store->objects;

    if (objects->touched_session == session) {
        store_flush_touched(session->store);
        objects->touched_session = NULL;
    }
}

bool
session_holds(const struct session *session, uint64_t serial)
{
    unsigned set = (unsigned)(serial % GR_HAZARD_SETS);

    list_each (struct client, client, &session->clients, in_session) {
        for (unsigned way = 0; way < GR_HAZARD_WAYS; way++) {
            uint64_t hazard = atomic_load_explicit(&client->page->hazard[set][way], memory_order_seq_cst);

            if (GR_HAZARD_SERIAL(hazard) == serial && GR_HAZARD_COUNT(hazard) > 0) {
                return true;
            }
        }
    }
    return session->leases.count > 0 && map_find(&session->leases, map_key_number(serial)) != NULL;
}

static void
pinned_use(struct session *session, uint64_t more, uint64_t less)
{
    session->pinned_bytes += more - less;
    session->store->account.pinned += more - less;
}

/* Nothing in the request is believed. Returns the segment, or NULL. */
static struct segment *
check_seal(struct client *client, const struct ring_request *request)
{
    struct segment *segment = client->room;
    uint64_t footprint;

    if (segment == NULL || segment->number != request->segment) {
        segment = store_segment(client->store, request->segment);
    }
    if (segment == NULL || segment->writer != client || segment->closed) {
        return NULL;
    }
    if (request->data_size > GR_MAX_OBJECT || request->meta_size > GR_MAX_META || gr_id_is_zero(request->id)) {
        return NULL;
    }
    footprint = GR_FOOTPRINT(request->data_size, (uint64_t)request->meta_size);
    if (request->offset % GR_ALIGN != 0 || request->offset > segment->size ||
        footprint > segment->size - request->offset || footprint > segment->size - segment->sealed_total) {
        return NULL;
    }
    client->room = segment;
    return segment;
}

/* A counted object is its creator's from before it is there. */
static granary_err
insert(struct client *client, const struct index_object *object, struct gr_slot **ret_slot)
{
    struct index *index = &client->session->index;
    granary_err err;

    if ((object->flags & GR_FLAG_COUNTED) == 0) {
        return index_insert(index, object, ret_slot);
    }
    if (index_find(index, object->id) != NULL) {
        return GRANARY_EEXIST;
    }
    err = hold_creator(client, object->id);
    if (err == GRANARY_OK && (err = index_insert(index, object, ret_slot)) != GRANARY_OK) {
        hold_creator_undo(client->session, object->id);
    }
    return err;
}

static granary_err
seal(struct client *client, const struct ring_request *request)
{
    struct session *session = client->session;
    struct store *store = client->store;
    struct segment *segment = check_seal(client, request);
    struct family *family = NULL;
    struct index_object object;
    struct gr_slot *slot;
    granary_err err;

    if (segment == NULL) {
        return GRANARY_EINVAL;
    }
    if ((request->flags & GR_SEAL_PARENT) != 0 && (family = contain_pending(client, request->id)) == NULL) {
        return GRANARY_EINVAL;
    }
    if (!segment_expect(segment)) {
        return GRANARY_ENOMEM;
    }
    if ((session->control->flags & GR_CONTROL_STRICT) != 0 && !segment_prove(segment, store->instance.shm_prefix)) {
        return GRANARY_EPERM;
    }
    object = (struct index_object){
        .id = request->id,
        .serial = root_serial(&store->root),
        .offset = request->offset,
        .data_size = request->data_size,
        .meta_size = request->meta_size,
        .where = segment->number,
        .flags = (uint64_t)request->importance << GR_FLAGS_IMPORTANCE_SHIFT |
                 (uint64_t)request->next_use << GR_FLAGS_NEXT_USE_SHIFT |
                 (uint64_t)segment->node << GR_FLAGS_NODE_SHIFT | (uint64_t)victim_clock(store) << GR_FLAGS_AGE_SHIFT |
                 ((request->flags & GR_SEAL_COUNTED) != 0 ? GR_FLAG_COUNTED : 0) |
                 ((request->flags & GR_SEAL_PARENT) != 0 ? GR_FLAG_PARENT : 0),
        .stamp = root_stamp(&store->root, store->wall_ms),
    };
    err = insert(client, &object, &slot);
    if (err != GRANARY_OK) {
        return err;
    }
    if (family != NULL) {
        contain_sealed(session, family);
    }
    segment_seal(segment, &store->account, GR_FOOTPRINT(request->data_size, (uint64_t)request->meta_size),
                 index_place_of(object.id, object.serial));
    victim_note(store, segment, slot);
    victim_tick(store, slot_footprint(slot));
    account_add(&store->account, GR_ACCOUNT_OBJECTS, 1);
    count(session, GR_COUNTER_seals, 1);
    event_note(store, session, GR_EVENT_SEAL, &request->id, request->data_size, segment->number, client->number);
    session_touch(session, request->id);
    return GRANARY_OK;
}

granary_err
object_seal(struct client *client, const struct ring_request *request)
{
    granary_err err = seal(client, request);

    if (err != GRANARY_OK && (request->flags & GR_SEAL_PARENT) != 0) {
        contain_forget(client, request->id);
    }
    return err;
}

bool
object_is_sealed(struct client *client, const struct ring_request *request)
{
    struct gr_slot *slot = index_find(&client->session->index, request->id);
    struct index_object object;

    if (slot == NULL || GR_WORD_STATE(slot_word(slot)) != GR_SLOT_SEALED) {
        return false;
    }
    object = slot_object(slot);
    return object.where == request->segment && object.offset == request->offset &&
           object.data_size == request->data_size && object.meta_size == request->meta_size;
}

/* The object in memory has no copy on disk any more. */
static void
forget_copy(struct session *session, struct segment *segment, uint64_t serial, uint64_t footprint)
{
    struct map_entry *entry = map_find(&session->on_disk, map_key_number(serial));
    uint32_t file = (uint32_t)entry->value.numbers[0];

    map_remove(&session->on_disk, entry);
    segment->clean -= footprint;
    session->store->account.clean -= footprint;
    file_release(session->store, file, footprint);
}

static bool
deleting_expect(struct session *session)
{
    if (session->deleting_count == session->deleting_room) {
        size_t room = session->deleting_room == 0 ? 64 : session->deleting_room * 2;
        struct deleting *more = realloc(session->deleting, room * sizeof *more);

        if (more == NULL) {
            return false;
        }
        session->deleting = more;
        session->deleting_room = room;
    }
    return true;
}

/* deleting_expect() went before. */
static void
deleting_add(struct session *session, const struct deleting *object)
{
    session->deleting[session->deleting_count++] = *object;
    (void)atomic_fetch_add_explicit(&session->control->deleting, 1, memory_order_seq_cst);
    session->store->sessions.deleting++;
    /* A release that came before the count was up has told nobody. */
    session->recheck_deleting = true;
}

bool
object_adopt_deleting(struct session *session, struct gr_slot *slot, struct segment *segment)
{
    struct index_object object = slot_object(slot);

    if (!deleting_expect(session)) {
        return false;
    }
    deleting_add(session, &(struct deleting){object.id, object.serial, slot_footprint(slot), segment, NULL});
    return true;
}

static void
delete_spilled(struct session *session, struct gr_slot *slot)
{
    struct index_object object = slot_object(slot);
    struct account *account = &session->store->account;

    index_remove(&session->index, slot);
    account_take(account, GR_ACCOUNT_OBJECTS_SPILLED, 1);
    account_take(account, GR_ACCOUNT_SPILLED, object.data_size + object.meta_size);
    file_release(session->store, object.where, GR_FOOTPRINT(object.data_size, (uint64_t)object.meta_size));
    copy_forget_remote(session, &object);
    event_note(session->store, session, GR_EVENT_DELETE, &object.id, object.data_size, 0, 0);
}

static void
delete_sealed(struct session *session, struct gr_slot *slot, struct family *family)
{
    struct store *store = session->store;
    struct index_object object = slot_object(slot);
    struct segment *segment = store_segment(store, object.where);
    uint64_t footprint = slot_footprint(slot);
    bool held;

    if (GR_FLAGS_PINS(object.flags) > 0) {
        pinned_use(session, 0, footprint);
        slot_set_flags(slot, object.flags & ~(GR_MAX_PINS * ONE_PIN));
    }
    if (object.flags & GR_FLAG_SLICE) {
        segment->clean -= footprint;
        store->account.clean -= footprint;
    } else if (object.flags & GR_FLAG_COPIED) {
        forget_copy(session, segment, object.serial, footprint);
        copy_forget_remote(session, &object);
        slot_set_flags(slot, slot_flags(slot) & ~(uint64_t)(GR_FLAG_COPIED | GR_FLAG_PERSISTENT));
    }
    FAULT_STEP(object_before_deleting);
    slot_enter(slot, GR_SLOT_DELETING);
    FAULT_STEP(object_deleting);
    held = session_holds(session, object.serial);
    event_note(store, session, GR_EVENT_DELETE, &object.id, object.data_size, held, 0);
    if (held) {
        deleting_add(session, &(struct deleting){object.id, object.serial, footprint, segment, family});
        segment_deleting(segment, &store->account, footprint);
    } else {
        index_remove(&session->index, slot);
        segment_died(segment, &store->account, footprint);
        segment_settle(store, segment);
        contain_end(session, family);
    }
}

granary_err
object_not_found(granary_id id)
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(id, text);
    return gr_fail(GRANARY_ENOENT, "object %s: not found", text);
}

bool
object_can_be_deleted(const struct session *session, granary_id id)
{
    const struct gr_slot *slot = index_find(&session->index, id);

    return slot == NULL ? index_find_alias(&session->index, id) != NULL : (slot_flags(slot) & GR_FLAG_DROPPED) == 0;
}

granary_err
object_delete(struct session *session, granary_id id)
{
    struct gr_slot *slot = index_find(&session->index, id);
    uint64_t flags = slot == NULL ? 0 : slot_flags(slot);

    if (slot == NULL) {
        return alias_remove(session, id) ? GRANARY_OK : GRANARY_ENOENT;
    }
    if ((flags & GR_FLAG_DROPPED) != 0) {
        return GRANARY_ENOENT;
    }
    if (session->ledger.count == 0 || ledger_keepers(&session->ledger, id) == 0) {
        return object_end(session, slot);
    }
    slot_set_flags(slot, flags | GR_FLAG_DROPPED);
    FAULT_STEP(object_dropped);
    return GRANARY_OK;
}

granary_err
object_end(struct session *session, struct gr_slot *slot)
{
    struct index_object object = slot_object(slot);
    struct family *family;

    if (!deleting_expect(session)) {
        return GRANARY_ENOMEM;
    }
    hold_object_ends(session, object.id);
    family = (object.flags & GR_FLAG_PARENT) != 0 ? contain_leave(session, object.id) : NULL;
    if (GR_WORD_STATE(slot_word(slot)) == GR_SLOT_SPILLED) {
        delete_spilled(session, slot);
        contain_end(session, family);
    } else {
        delete_sealed(session, slot, family);
    }
    if ((object.flags & GR_FLAG_SLICE) == 0) {
        account_take(&session->store->account, GR_ACCOUNT_OBJECTS, 1);
        slices_drop(session, object.stamp);
    }
    count(session, GR_COUNTER_deletes, 1);
    return GRANARY_OK;
}

bool
object_slice(struct session *session, granary_id id, struct segment *segment, uint64_t offset, uint64_t size,
             uint64_t *ret_serial)
{
    struct store *store = session->store;
    struct index_object object = {
        .id = id,
        .serial = root_serial(&store->root),
        .offset = offset,
        .data_size = size,
        .where = segment->number,
        .flags = GR_FLAG_SLICE | (uint64_t)victim_clock(store) << GR_FLAGS_AGE_SHIFT,
        .stamp = root_stamp(&store->root, store->wall_ms),
    };
    struct gr_slot *slot;

    if (index_insert(&session->index, &object, &slot) != GRANARY_OK) {
        return false;
    }
    segment_seal(segment, &store->account, size, index_place_of(id, object.serial));
    segment->clean += size;
    store->account.clean += size;
    victim_note(store, segment, slot);
    victim_tick(store, size);
    count(session, GR_COUNTER_slices, 1);
    victim_watch(session, object.serial, GR_FLAGS_AGE(object.flags));
    session_touch(session, id);
    *ret_serial = object.serial;
    return true;
}

void
object_drop_slice(struct session *session, struct gr_slot *slot)
{
    /* Without memory to remember it while it is leased, it stays until it is evicted. */
    if (deleting_expect(session)) {
        hold_object_ends(session, slot_object(slot).id);
        delete_sealed(session, slot, NULL);
    }
}

/* Nobody leases the deleted object at that place any more; another one is there now. */
static void
deleting_end(struct session *session, size_t at)
{
    struct store *store = session->store;
    const struct deleting object = session->deleting[at];

    session->deleting[at] = session->deleting[--session->deleting_count];
    store->sessions.deleting--;
    (void)atomic_fetch_sub_explicit(&session->control->deleting, 1, memory_order_seq_cst);
    index_remove(&session->index, index_find_serial(&session->index, object.id, object.serial));
    segment_deleted(object.segment, &store->account, object.footprint);
    segment_settle(store, object.segment);
    contain_end(session, object.family);
}

bool
session_recheck_deleting(struct session *session, unsigned *looks)
{
    if (!session->rechecking && session->recheck_deleting) {
        session->recheck_deleting = false;
        session->rechecking = true;
        session->recheck_at = 0;
    }
    while (session->rechecking && *looks > 0) {
        unsigned cost = 1 + session->client_count / CLIENTS_A_LOOK;

        *looks -= cost < *looks ? cost : *looks;
        if (session->recheck_at >= session->deleting_count) {
            session->rechecking = false;
        } else if (session_holds(session, session->deleting[session->recheck_at].serial)) {
            session->recheck_at++;
        } else {
            deleting_end(session, session->recheck_at);
        }
    }
    return session->rechecking || session->recheck_deleting;
}

/* Who asked for a slice has so long to lease it; when that was done, it is as any other object. */
#define SLICE_GRACE_MS 200

/*
 * Whether a slice was made just now. Its stamp tells by the wall clock. When the clock was set back, an older object
 * would count as new for as long. So no object is new that was there at two looks this far apart.
 */
static bool
is_new_slice(struct store *store, uint64_t stamp)
{
    int64_t now_ns = gr_now_ns();

    if (now_ns - store->objects->slice_look_ns >= SLICE_GRACE_MS * 1000000) {
        store->objects->slice_old_stamp = store->objects->slice_look_stamp;
        store->objects->slice_look_stamp = store->root.stamp;
        store->objects->slice_look_ns = now_ns;
    }
    return stamp > store->objects->slice_old_stamp && GR_STAMP_MS(stamp) + SLICE_GRACE_MS > gr_wall_ms();
}

bool
object_evict(struct session *session, struct gr_slot *slot)
{
    struct store *store = session->store;
    struct index_object object = slot_object(slot);
    struct segment *segment = store_segment(store, object.where);
    struct map_entry *copy = map_find(&session->on_disk, map_key_number(object.serial));
    uint64_t footprint = slot_footprint(slot);

    if ((object.flags & GR_FLAG_SLICE) != 0 && !victim_was_used(session, slot) && is_new_slice(store, object.stamp)) {
        return false;
    }
    slot_enter(slot, GR_SLOT_RETIRING);
    FAULT_STEP(object_retiring);
    if (session_holds(session, object.serial)) {
        slot_enter(slot, GR_SLOT_SEALED);
        count(session, GR_COUNTER_evict_blocked, 1);
        return false;
    }
    segment->clean -= footprint;
    store->account.clean -= footprint;
    if (object.flags & GR_FLAG_SLICE) {
        index_remove(&session->index, slot);
        segment_died(segment, &store->account, footprint);
        return true;
    }
    object.where = (uint32_t)copy->value.numbers[0];
    object.offset = copy->value.numbers[1];
    map_remove(&session->on_disk, copy);
    slot_rewrite(slot, &object, GR_SLOT_SPILLED);
    segment_died(segment, &store->account, footprint);
    account_add(&store->account, GR_ACCOUNT_SPILLED, object.data_size + object.meta_size);
    account_add(&store->account, GR_ACCOUNT_OBJECTS_SPILLED, 1);
    count(session, GR_COUNTER_evictions, 1);
    event_note(store, session, GR_EVENT_EVICT, &object.id, object.data_size, object.where, 0);
    return true;
}

bool
object_note_copy(struct session *session, struct gr_slot *slot, struct spill_file *file, uint64_t place)
{
    struct map_entry *copy = map_add(&session->on_disk, map_key_number(GR_WORD_SERIAL(slot_word(slot))));
    struct segment *segment = store_segment(session->store, slot_where(slot));
    uint64_t footprint = slot_footprint(slot);

    if (copy == NULL) {
        return false;
    }
    copy->value.numbers[0] = file->number;
    copy->value.numbers[1] = place;
    file_hold(file, footprint);
    slot_set_flags(slot, slot_flags(slot) | depot_flag(file));
    segment->clean += footprint;
    session->store->account.clean += footprint;
    victim_note(session->store, segment, slot);
    return true;
}

bool
object_note_return(struct session *session, struct gr_slot *slot, struct segment *segment, uint64_t offset)
{
    struct store *store = session->store;
    struct index_object object = slot_object(slot);
    uint64_t footprint = slot_footprint(slot);
    uint64_t serial = root_serial(&store->root);
    struct map_entry *copy = map_add(&session->on_disk, map_key_number(serial));

    if (copy == NULL) {
        return false;
    }
    copy->value.numbers[0] = object.where;
    copy->value.numbers[1] = object.offset;
    object.serial = serial;
    object.where = segment->number;
    object.offset = offset;
    object.flags &= ~((uint64_t)0xff << GR_FLAGS_AGE_SHIFT | (uint64_t)0xff << GR_FLAGS_NODE_SHIFT);
    object.flags |= (uint64_t)victim_clock(store) << GR_FLAGS_AGE_SHIFT;
    object.flags |= (uint64_t)segment->node << GR_FLAGS_NODE_SHIFT;
    slot_rewrite(slot, &object, GR_SLOT_SEALED);
    segment_seal(segment, &store->account, footprint, index_place_of(object.id, object.serial));
    segment->clean += footprint;
    store->account.clean += footprint;
    pinned_use(session, GR_FLAGS_PINS(object.flags) > 0 ? footprint : 0, 0);
    victim_note(store, segment, slot);
    victim_tick(store, footprint);
    account_take(&store->account, GR_ACCOUNT_SPILLED, object.data_size + object.meta_size);
    account_take(&store->account, GR_ACCOUNT_OBJECTS_SPILLED, 1);
    count(session, GR_COUNTER_restores, 1);
    count(session, GR_COUNTER_restore_raw, object.data_size + object.meta_size);
    event_note(store, session, GR_EVENT_RESTORE, &object.id, object.data_size, (uint32_t)copy->value.numbers[0], 0);
    session_touch(session, object.id);
    return true;
}

granary_err
object_hint(struct session *session, granary_id id, int importance, int next_use)
{
    struct gr_slot *slot = index_find(&session->index, id);
    uint64_t flags;

    if (slot == NULL) {
        return object_not_found(id);
    }
    flags = slot_flags(slot);
    if (importance >= 0) {
        flags &= ~((uint64_t)0xff << GR_FLAGS_IMPORTANCE_SHIFT);
        flags |= (uint64_t)importance << GR_FLAGS_IMPORTANCE_SHIFT;
    }
    if (next_use >= 0) {
        flags &= ~((uint64_t)0xff << GR_FLAGS_NEXT_USE_SHIFT);
        flags |= (uint64_t)next_use << GR_FLAGS_NEXT_USE_SHIFT;
    }
    slot_set_flags(slot, flags);
    if (GR_WORD_STATE(slot_word(slot)) == GR_SLOT_SEALED) {
        victim_note(session->store, store_segment(session->store, slot_where(slot)), slot);
    }
    return GRANARY_OK;
}

void
object_note_pin(struct session *session, struct gr_slot *slot)
{
    uint64_t flags = slot_flags(slot);

    if (GR_FLAGS_PINS(flags) == 0 && GR_WORD_STATE(slot_word(slot)) != GR_SLOT_SPILLED) {
        pinned_use(session, slot_footprint(slot), 0);
    }
    slot_set_flags(slot, flags + ONE_PIN);
}

void
object_note_unpin(struct session *session, struct gr_slot *slot)
{
    uint64_t flags = slot_flags(slot) - ONE_PIN;
    struct store *store = session->store;

    slot_set_flags(slot, flags);
    if (GR_FLAGS_PINS(flags) == 0 && GR_WORD_STATE(slot_word(slot)) != GR_SLOT_SPILLED) {
        victim_note(store, store_segment(store, slot_where(slot)), slot);
        pinned_use(session, 0, slot_footprint(slot));
        store->serve_now = true;
    }
}
