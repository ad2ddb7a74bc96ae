/* Segments and slots: the slots are the truth about objects, as long as they agree with segments and spill files. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/log.h"
#include "store/adopt/adopt_parts.h"
#include "store/object/copy.h"
#include "store/object/object.h"
#include "store/object/session.h"
#include "store/segment/depot.h"
#include "store/segment/memory.h"
#include "store/segment/segment.h"
#include "store/segment/victim.h"

static struct client *
client_by_number(const struct session *session, uint32_t number)
{
    list_each (struct client, client, &session->clients, in_session) {
        if (number != 0 && client->number == number) {
            return client;
        }
    }
    return NULL;
}

/* It goes, with whatever lies in it. */
static void
discard(struct store *store, struct gr_segment_record *record)
{
    uint32_t number = (uint32_t)(atomic_load(&record->word) >> 8);
    char name[96];

    shmfile_name(name, store->instance.shm_prefix, record->session, "data", number);
    (void)shm_unlink(name);
    FAULT_STEP(adopt_segment_unlinked);
    segment_record_drop(record);
}

static granary_err
adopt_segment(struct adoption *adoption, struct gr_segment_record *record)
{
    struct store *store = adoption->store;
    struct session *session = session_by_number(store, record->session);
    struct segment *segment;
    struct map_entry *entry;
    struct client *writer;
    granary_err err;

    if (session == NULL) {
        discard(store, record);
        return GRANARY_OK;
    }
    err = segment_adopt(store->instance.shm_prefix, record, &segment);
    if (err == GRANARY_ENOENT) { /* never made, given back, or truncated: its objects are looked for on disk */
        discard(store, record);
        return GRANARY_OK;
    }
    entry = err == GRANARY_OK ? map_add(&store->segments.by_number, map_key_number(segment->number)) : NULL;
    if (entry == NULL) {
        return err != GRANARY_OK ? err : gr_fail(GRANARY_ENOMEM, "no memory for a segment");
    }
    entry->value.pointer = segment;
    segment->session = session;
    list_append(&session->segments, &segment->in_session);
    writer = client_by_number(session, atomic_load(&record->writer));
    segment_set_writer(segment, writer, writer == NULL ? 0 : writer->number);
    if (writer == NULL && !segment->closed) {
        segment->closed = true;
        segment_note(segment, GR_SEGMENT_CLOSED);
    }
    return GRANARY_OK;
}

granary_err
adopt_segments(struct adoption *adoption)
{
    struct store *store = adoption->store;

    for (uint32_t place = 0; place < GR_MAX_SEGMENTS; place++) {
        struct gr_segment_record *record = &store->root.shm->segments[place];
        bool has;
        granary_err err = root_has_segment(&store->root, place, &has);

        if (err != GRANARY_OK) {
            return err;
        }
        if (!has) {
            place |= 63u; /* none of that page of records */
            continue;
        }
        if (atomic_load(&record->word) != 0 && (atomic_load(&record->word) >> 8) % GR_MAX_SEGMENTS != place) {
            segment_record_drop(record); /* damaged: whose file that is, if there is one, another record tells */
        }
        if (atomic_load(&record->word) != 0 && (err = adopt_segment(adoption, record)) != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

static granary_err
add_piece(struct adoption *adoption, struct segment *segment, struct gr_slot *slot)
{
    if (adoption->piece_count == adoption->piece_room) {
        size_t room = adoption->piece_room == 0 ? 1024 : adoption->piece_room * 2;
        struct adopt_piece *more = realloc(adoption->pieces, room * sizeof *more);

        if (more == NULL) {
            return gr_fail(GRANARY_ENOMEM, "no memory to adopt objects");
        }
        adoption->pieces = more;
        adoption->piece_room = room;
    }
    adoption->pieces[adoption->piece_count++] = (struct adopt_piece){
        .offset = slot_object(slot).offset, .footprint = slot_footprint(slot), .segment = segment, .slot = slot};
    return GRANARY_OK;
}

/* Flags as they are until copies and pins are counted. */
static uint64_t
plain_flags(const struct store *store, uint64_t flags)
{
    flags &= ~((uint64_t)GR_FLAG_COPIED | GR_FLAG_PERSISTENT | (uint64_t)GR_MAX_PINS << GR_FLAGS_PINS_SHIFT |
               (uint64_t)0xff << GR_FLAGS_AGE_SHIFT);
    return flags | (uint64_t)victim_clock(store) << GR_FLAGS_AGE_SHIFT;
}

static granary_err
no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "no memory to adopt objects");
}

/* No file has it any more: that is told to whoever asks for it. */
static granary_err
adopt_damaged(struct adoption *adoption, struct session *session, struct gr_slot *slot)
{
    struct index_object object = slot_object(slot);
    char text[GRANARY_ID_TEXT + 1];
    struct spill_file *file;

    if ((object.flags & GR_FLAG_DAMAGED) == 0) {
        granary_id_format(object.id, text);
        gr_log_error("OBJECT-DAMAGED", "id=%s session=%s file=%u why=the spill file is not there, or not whole", text,
                     session->name, object.where);
    }
    object.where = object.where == 0 ? UINT32_MAX : object.where;
    file = adopt_missing_file(session, object.where);
    if (file == NULL) {
        return no_memory();
    }
    file_hold(file, slot_footprint(slot));
    object.flags = plain_flags(session->store, object.flags) | GR_FLAG_DAMAGED | depot_flag(file);
    slot_rewrite(slot, &object, GR_SLOT_SPILLED);
    FAULT_STEP(adopt_damaged);
    adoption->damaged++;
    return GRANARY_OK;
}

static granary_err
add_copies(struct session *session, struct gr_slot *slot, const struct adopt_copy *const copies[DEPOTS])
{
    for (int depot = 0; depot < DEPOTS; depot++) {
        const struct adopt_copy *copy = copies[depot];

        if (copy != NULL && !copy_add(session, slot, file_find(session->store, copy->file), copy->place)) {
            return no_memory();
        }
    }
    return GRANARY_OK;
}

/* Not in memory. */
static granary_err
adopt_spilled(struct adoption *adoption, struct session *session, struct gr_slot *slot)
{
    struct account *account = &session->store->account;
    struct index_object object = slot_object(slot);
    const struct adopt_copy *copies[DEPOTS];
    granary_err err;

    if (adopt_find_copies(adoption, &object, copies) == 0) {
        err = adopt_damaged(adoption, session, slot);
    } else {
        int first = copies[DEPOT_DISK] != NULL ? DEPOT_DISK : DEPOT_REMOTE;
        struct spill_file *file = file_find(session->store, copies[first]->file);

        object.where = file->number;
        object.offset = copies[first]->place;
        object.flags = (plain_flags(session->store, object.flags) & ~(uint64_t)GR_FLAG_DAMAGED) | depot_flag(file);
        if (first == DEPOT_DISK && (file->flags & LEVEL_FILE_PERSISTENT) != 0) {
            object.flags |= GR_FLAG_PERSISTENT;
        }
        file_hold(file, slot_footprint(slot));
        slot_rewrite(slot, &object, GR_SLOT_SPILLED);
        FAULT_STEP(adopt_spilled);
        copies[first] = NULL;
        err = add_copies(session, slot, copies);
    }
    account_add(account, GR_ACCOUNT_SPILLED, object.data_size + object.meta_size);
    account_add(account, GR_ACCOUNT_OBJECTS_SPILLED, 1);
    account_add(account, GR_ACCOUNT_OBJECTS, 1);
    return err;
}

/* Its place in memory makes no sense: what is in a file counts, or nothing. */
static granary_err
lose(struct adoption *adoption, struct session *session, struct gr_slot *slot, const char *why)
{
    struct index_object object = slot_object(slot);
    const struct adopt_copy *copies[DEPOTS];
    char text[GRANARY_ID_TEXT + 1];

    if (slot_state(slot) != GR_SLOT_DELETING) {
        if (adopt_find_copies(adoption, &object, copies) > 0) {
            return adopt_spilled(adoption, session, slot);
        }
        granary_id_format(object.id, text);
        gr_log_error("OBJECT-LOST", "id=%s session=%s segment=%u offset=%llu why=%s", text, session->name, object.where,
                     (unsigned long long)object.offset, why);
        adoption->lost++;
    }
    index_remove(&session->index, slot);
    FAULT_STEP(adopt_lost);
    return GRANARY_OK;
}

/* In memory, as its slot says. */
static granary_err
adopt_sealed(struct adoption *adoption, struct session *session, struct gr_slot *slot)
{
    struct index_object object = slot_object(slot);
    struct segment *segment = store_segment(session->store, object.where);
    uint64_t footprint = slot_footprint(slot);

    if (segment == NULL || segment->session != session) {
        return lose(adoption, session, slot, "its segment is not there");
    }
    if (object.data_size > GR_MAX_OBJECT || object.meta_size > GR_MAX_META || object.offset % GR_ALIGN != 0 ||
        object.offset > segment->size || footprint > segment->size - object.offset) {
        return lose(adoption, session, slot, "it lies outside of its segment");
    }
    return add_piece(adoption, segment, slot);
}

/*
 * Where its id and serial lead, with sizes that can be: another slot could not be found again, neither by who wants it
 * nor to let go of it. A serial or stamp of 0 is nobody's.
 */
static bool
makes_sense(const struct session *session, const struct gr_slot *slot)
{
    struct index_object object = slot_object(slot);

    return object.serial != 0 && object.serial <= ROOT_SERIAL_MOST &&
           index_find_serial(&session->index, object.id, object.serial) == slot &&
           (slot_state(slot) == GR_SLOT_ALIAS ||
            (object.stamp != 0 && object.data_size <= GR_MAX_OBJECT && object.meta_size <= GR_MAX_META));
}

static void
lose_damaged(struct adoption *adoption, struct session *session, struct gr_slot *slot)
{
    gr_log_error("OBJECT-LOST", "session=%s why=its slot is damaged", session->name);
    index_remove(&session->index, slot);
    adoption->lost++;
}

static granary_err
adopt_slot(struct adoption *adoption, struct session *session, struct gr_slot *slot)
{
    switch (slot_state(slot)) {
    case GR_SLOT_RETIRING:
        slot_enter(slot, GR_SLOT_SEALED);
        FAULT_STEP(adopt_unretired);
        return adopt_sealed(adoption, session, slot);
    case GR_SLOT_SEALED:
        if ((slot_flags(slot) & GR_FLAG_SLICE) != 0) { /* it can be had again; what it belongs to is not known */
            slot_enter(slot, GR_SLOT_DELETING);
        }
        return adopt_sealed(adoption, session, slot);
    case GR_SLOT_DELETING:
        return adopt_sealed(adoption, session, slot);
    case GR_SLOT_SPILLED:
    case GR_SLOT_BETWEEN:
        return adopt_spilled(adoption, session, slot);
    default: /* an alias */
        return GRANARY_OK;
    }
}

granary_err
adopt_slots(struct adoption *adoption, struct session *session)
{
    struct adopt_serials *serials;
    uint64_t position = 0;
    struct gr_slot *slot;
    granary_err err = adopt_serials_create(&session->index, &serials);

    if (err != GRANARY_OK) {
        return err;
    }
    while (err == GRANARY_OK && (slot = index_next(&session->index, &position)) != NULL) {
        uint64_t serial = GR_WORD_SERIAL(slot_word(slot));
        bool first = false;

        if (makes_sense(session, slot)) {
            err = adopt_serials_first(serials, serial, &first);
        }
        if (!first) {
            lose_damaged(adoption, session, slot);
            continue;
        }
        root_serial_beyond(&adoption->store->root, serial);
        err = err == GRANARY_OK ? adopt_slot(adoption, session, slot) : err;
    }
    adopt_serials_destroy(serials);
    return err;
}

static int
by_place(const void *a, const void *b)
{
    const struct adopt_piece *left = a;
    const struct adopt_piece *right = b;

    if (left->segment != right->segment) {
        return left->segment->number < right->segment->number ? -1 : 1;
    }
    return (left->offset > right->offset) - (left->offset < right->offset);
}

static granary_err
keep_sealed(struct adoption *adoption, const struct adopt_piece *piece)
{
    struct segment *segment = piece->segment;
    struct index_object object = slot_object(piece->slot);
    const struct adopt_copy *copies[DEPOTS];

    segment->live += piece->footprint;
    slot_set_flags(piece->slot, plain_flags(adoption->store, object.flags));
    FAULT_STEP(adopt_flags);
    victim_note(adoption->store, segment, piece->slot);
    account_add(&adoption->store->account, GR_ACCOUNT_OBJECTS, 1);
    (void)adopt_find_copies(adoption, &object, copies);
    return add_copies(segment->session, piece->slot, copies);
}

static granary_err
keep(struct adoption *adoption, const struct adopt_piece *piece)
{
    struct session *session = piece->segment->session;
    struct segment *segment = piece->segment;
    struct index_object object = slot_object(piece->slot);

    /* Deleted or not: what is no entry's would be taken for a hole. */
    if (!segment_expect(segment)) {
        return no_memory();
    }
    segment->entries[segment->entry_count++] = index_place_of(object.id, object.serial);
    if (slot_state(piece->slot) != GR_SLOT_DELETING) {
        return keep_sealed(adoption, piece);
    }
    /* It stays for as long as somebody leases it, which is looked at when all leases are known. */
    if (!object_adopt_deleting(session, piece->slot, segment)) {
        return no_memory();
    }
    segment->deleting += piece->footprint;
    return GRANARY_OK;
}

/* The bytes between objects of a closed segment are free, when memory is too short to leave them for later. */
static void
punch(const struct adoption *adoption, struct segment *segment, uint64_t from, uint64_t to)
{
    if (adoption->tight && segment != NULL && segment->closed && from < to) {
        segment->punched += segment_punch(segment, from, to - from);
        FAULT_STEP(adopt_punched);
    }
}

/* Which list each belongs to, and what it takes of the account. */
static void
settle_segments(struct store *store)
{
    list_each (struct session, session, &store->sessions.all, in_store) {
        list_each (struct segment, segment, &session->segments, in_session) {
            memory_adopt(store, segment);
            FAULT_STEP(adopt_segment_settled);
        }
    }
}

granary_err
adopt_places(struct adoption *adoption)
{
    struct segment *segment = NULL;
    uint64_t end = 0;
    granary_err err = GRANARY_OK;

    if (adoption->piece_count > 0) {
        qsort(adoption->pieces, adoption->piece_count, sizeof *adoption->pieces, by_place);
    }
    for (size_t i = 0; i < adoption->piece_count && err == GRANARY_OK; i++) {
        const struct adopt_piece *piece = &adoption->pieces[i];

        if (piece->segment != segment) {
            punch(adoption, segment, end, segment == NULL ? 0 : segment->size);
            segment = piece->segment;
            end = 0;
        }
        if (piece->offset < end) {
            err = lose(adoption, piece->segment->session, piece->slot, "it overlaps another object");
            continue;
        }
        punch(adoption, segment, end, piece->offset);
        err = keep(adoption, piece);
        end = piece->offset + piece->footprint;
    }
    punch(adoption, segment, end, segment == NULL ? 0 : segment->size);
    if (err == GRANARY_OK) {
        settle_segments(adoption->store);
    }
    return err;
}
