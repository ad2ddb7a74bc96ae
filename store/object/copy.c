/* Copies: at most two a slot, in its first and its second place. */
#include "store/object/copy.h"

#include "store/object/object.h"
#include "store/segment/depot.h"
#include "store/segment/segment.h"
#include "store/segment/victim.h"

static bool
is_spilled(const struct gr_slot *slot)
{
    return GR_WORD_STATE(slot_word(slot)) == GR_SLOT_SPILLED;
}

static struct map_entry *
remote_entry(const struct session *session, uint64_t stamp)
{
    return session->on_remote.count == 0 ? NULL : map_find(&session->on_remote, map_key_number(stamp));
}

/* The copy that counts. */
static struct copy
first_copy(const struct session *session, const struct gr_slot *slot)
{
    struct index_object object = slot_object(slot);
    const struct map_entry *entry;

    if (is_spilled(slot)) {
        return (struct copy){object.where, object.offset};
    }
    entry = map_find(&session->on_disk, map_key_number(object.serial));
    return (struct copy){(uint32_t)entry->value.numbers[0], entry->value.numbers[1]};
}

static void
set_first(struct session *session, struct gr_slot *slot, struct copy copy)
{
    struct index_object object = slot_object(slot);
    struct map_entry *entry;

    if (is_spilled(slot)) {
        object.where = copy.file;
        object.offset = copy.place;
        slot_rewrite(slot, &object, GR_SLOT_SPILLED);
        return;
    }
    entry = map_find(&session->on_disk, map_key_number(object.serial));
    entry->value.numbers[0] = copy.file;
    entry->value.numbers[1] = copy.place;
}

static bool
set_remote(struct session *session, uint64_t stamp, struct copy copy)
{
    struct map_entry *entry = map_add(&session->on_remote, map_key_number(stamp));

    if (entry == NULL) {
        return false;
    }
    entry->value.numbers[0] = copy.file;
    entry->value.numbers[1] = copy.place;
    return true;
}

bool
copy_find(const struct session *session, const struct gr_slot *slot, enum depot_name depot, struct copy *ret_copy)
{
    uint64_t flags = slot_flags(slot) & GR_FLAG_COPIED;

    if ((flags & (depot == DEPOT_DISK ? GR_FLAG_ON_DISK : GR_FLAG_REMOTE)) == 0) {
        return false;
    }
    if (depot == DEPOT_REMOTE && flags == GR_FLAG_COPIED) {
        const struct map_entry *entry = remote_entry(session, slot_object(slot).stamp);

        if (entry == NULL) {
            return false;
        }
        *ret_copy = (struct copy){(uint32_t)entry->value.numbers[0], entry->value.numbers[1]};
    } else {
        *ret_copy = first_copy(session, slot);
    }
    return true;
}

bool
copy_add(struct session *session, struct gr_slot *slot, struct spill_file *file, uint64_t place)
{
    const struct copy copy = {file->number, place};
    uint64_t stamp = slot_object(slot).stamp;
    uint64_t footprint = slot_footprint(slot);
    uint64_t flags = slot_flags(slot);
    struct copy before = {0, 0};

    if ((flags & GR_FLAG_COPIED) == 0) {
        if (!object_note_copy(session, slot, file, place)) {
            return false;
        }
        flags = slot_flags(slot);
    } else {
        bool replaces = copy_find(session, slot, file->depot->name, &before);
        bool second = file->depot->name == DEPOT_REMOTE && (flags & GR_FLAG_ON_DISK) != 0;

        if (second) {
            if (!set_remote(session, stamp, copy)) {
                return false;
            }
        } else {
            /* One on disk goes before one at the remote level. */
            if (!replaces && !set_remote(session, stamp, first_copy(session, slot))) {
                return false;
            }
            set_first(session, slot, copy);
        }
        file_hold(file, footprint);
    }
    if (file->depot->name == DEPOT_DISK) {
        flags &= ~(uint64_t)GR_FLAG_PERSISTENT;
        flags |= (file->flags & LEVEL_FILE_PERSISTENT) != 0 ? GR_FLAG_PERSISTENT : 0;
    }
    /* A copy that was damaged does not matter any more. */
    slot_set_flags(slot, (flags | depot_flag(file)) & ~(uint64_t)GR_FLAG_DAMAGED);
    if (before.file != 0) {
        file_release(session->store, before.file, footprint);
    }
    return true;
}

void
copy_drop(struct session *session, struct gr_slot *slot, enum depot_name depot)
{
    struct store *store = session->store;
    struct index_object object = slot_object(slot);
    uint64_t footprint = slot_footprint(slot);
    uint64_t gone = depot == DEPOT_DISK ? GR_FLAG_ON_DISK | GR_FLAG_PERSISTENT : GR_FLAG_REMOTE;
    struct map_entry *remote = remote_entry(session, object.stamp);
    struct copy copy;

    if (!copy_find(session, slot, depot, &copy)) {
        return;
    }
    if ((object.flags & GR_FLAG_COPIED) == GR_FLAG_COPIED) {
        if (depot == DEPOT_DISK) {
            set_first(session, slot, (struct copy){(uint32_t)remote->value.numbers[0], remote->value.numbers[1]});
        }
        map_remove(&session->on_remote, remote);
        slot_set_flags(slot, object.flags & ~gone);
    } else {
        struct segment *segment = store_segment(store, object.where);

        map_remove(&session->on_disk, map_find(&session->on_disk, map_key_number(object.serial)));
        slot_set_flags(slot, object.flags & ~gone);
        segment->clean -= footprint;
        store->account.clean -= footprint;
        victim_note(store, segment, slot);
    }
    file_release(store, copy.file, footprint);
}

void
copy_forget_remote(struct session *session, const struct index_object *object)
{
    struct map_entry *entry = remote_entry(session, object->stamp);

    if (entry != NULL) {
        uint32_t file = (uint32_t)entry->value.numbers[0];

        map_remove(&session->on_remote, entry);
        file_release(session->store, file, GR_FOOTPRINT(object->data_size, (uint64_t)object->meta_size));
    }
}
