/* Pieces as bytes. */
#include "mutable/durable/piece.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/memory/grow.h"
#include "data/arrow/arrow.h"
#include "mutable/core/kept.h"
#include "mutable/durable/ids.h"

#define PUT_TRIES 4

/* What the ids of a table's pieces begin with. */
static uint64_t
piece_prefix(granary_id table)
{
    uint64_t words[2];

    gr_id_words(kept_id(table, GR_MUTABLE_PIECE, 0, 0), words);
    return words[0];
}

granary_id
piece_id(granary_id table, uint32_t level, uint64_t number)
{
    return gr_id_from_words(piece_prefix(table), (uint64_t)level << GR_PIECE_LEVEL_SHIFT | number);
}

uint64_t
piece_span(uint32_t level)
{
    uint64_t span = 1;

    while (level-- > 0) {
        span *= GR_PIECE_FAN;
    }
    return span;
}

/* ---- those of a table ---- */

static int
by_first(const void *left, const void *right)
{
    const struct piece_place *a = left, *b = right;

    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    return a->level > b->level ? -1 : a->level < b->level;
}

static granary_err
places_add(struct piece_places *places, granary_id id)
{
    struct piece_place place;
    uint64_t words[2];

    gr_id_words(id, words);
    place.level = (uint32_t)(words[1] >> GR_PIECE_LEVEL_SHIFT);
    place.number = words[1] & (((uint64_t)1 << GR_PIECE_LEVEL_SHIFT) - 1);
    if (place.level >= GR_PIECE_LEVELS || place.number > UINT32_MAX / piece_span(place.level)) {
        return GRANARY_OK; /* somebody else's */
    }
    place.first = place.number * piece_span(place.level);
    if (!gr_grow(&places->place, &places->room, places->count, sizeof place)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    places->place[places->count++] = place;
    return GRANARY_OK;
}

static granary_err
take_id(void *context, granary_id id)
{
    return places_add(context, id);
}

granary_err
pieces_list(granary_client *client, granary_id table, struct piece_places *ret_places)
{
    struct piece_places places = {.count = 0};
    granary_err err = ids_walk(client, piece_prefix(table), take_id, &places);

    if (err != GRANARY_OK) {
        free(places.place);
        return err;
    }
    if (places.count > 1) {
        qsort(places.place, places.count, sizeof *places.place, by_first);
    }
    *ret_places = places;
    return GRANARY_OK;
}

/* ---- bytes ---- */

static uint64_t
piece_pad(uint64_t size)
{
    return (size + GR_PIECE_PAD - 1) / GR_PIECE_PAD * GR_PIECE_PAD;
}

/* ---- making one ---- */

void
piece_free(struct piece_writer *piece)
{
    free(piece->bytes);
    *piece = (struct piece_writer){.size = 0};
}

/* So many zeros more. */
static granary_err
piece_reserve(struct piece_writer *piece, size_t size)
{
    size_t room = piece->room * 2 > piece->size + size ? piece->room * 2 : piece->size + size;

    if (piece->room - piece->size < size) {
        char *bytes = realloc(piece->bytes, room);

        if (bytes == NULL) {
            return gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        piece->bytes = bytes;
        piece->room = room;
    }
    memset(piece->bytes + piece->size, 0, size);
    return GRANARY_OK;
}

granary_err
piece_add(struct piece_writer *piece, const struct gr_piece_entry *like, void **ret_data, void **ret_meta)
{
    struct gr_piece_entry entry = *like;
    granary_err err;

    entry.size = sizeof entry + piece_pad(entry.data_size) + piece_pad(entry.meta_size);
    err = piece_reserve(piece, entry.size);
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(piece->bytes + piece->size, &entry, sizeof entry);
    *ret_data = piece->bytes + piece->size + sizeof entry;
    if (ret_meta != NULL) {
        *ret_meta = (char *)*ret_data + piece_pad(entry.data_size);
    }
    piece->size += entry.size;
    return GRANARY_OK;
}

granary_err
piece_add_frame(struct piece_writer *piece, struct gr_piece_entry like, const granary_frame *frame)
{
    void *data, *meta;
    granary_err err = gr_arrow_measure(frame, &like.data_size, &like.meta_size);

    err = err == GRANARY_OK ? piece_add(piece, &like, &data, &meta) : err;
    if (err == GRANARY_OK) {
        gr_arrow_write_passing(frame, data, meta);
    }
    return err;
}

granary_err
piece_append(struct piece_writer *piece, const void *bytes, size_t size)
{
    granary_err err = piece_reserve(piece, size);

    if (err == GRANARY_OK && size > 0) {
        memcpy(piece->bytes + piece->size, bytes, size);
        piece->size += size;
    }
    return err;
}

granary_err
piece_put(granary_client *client, granary_id id, const struct gr_mutable_piece *head, const struct piece_writer *piece)
{
    const granary_object_options options = {.persist = GRANARY_LEVEL_DISK, .next_use = 255};
    struct gr_mutable_piece copy = *head;
    granary_buffer buffer;
    granary_err err = GRANARY_EEXIST;

    copy.magic = GR_PIECE_MAGIC;
    copy.version = GR_PIECE_VERSION;
    copy.size = sizeof copy + piece->size;
    for (int i = 0; err == GRANARY_EEXIST && i < PUT_TRIES; i++) {
        err = granary_object_create_with(client, id, copy.size, 0, &options, &buffer);
        if (err == GRANARY_OK) {
            memcpy(buffer.data, &copy, sizeof copy);
            if (piece->size > 0) {
                memcpy((char *)buffer.data + sizeof copy, piece->bytes, piece->size);
            }
            err = granary_object_seal(client, &buffer);
        }
        if (err != GRANARY_OK && granary_object_contains(client, id)) {
            (void)granary_object_delete(client, id, 0); /* in memory, but not on disk; or of somebody who died */
        }
    }
    return err;
}

/* ---- reading one ---- */

static granary_err
fail_piece(const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "it %s", what);
}

granary_err
piece_open(const void *bytes, uint64_t size, struct piece_reader *ret_reader)
{
    struct piece_reader reader = {.at = bytes};

    if (size < sizeof reader.head) {
        return fail_piece("is too short");
    }
    memcpy(&reader.head, bytes, sizeof reader.head);
    if (reader.head.magic != GR_PIECE_MAGIC || reader.head.size != size) {
        return fail_piece("does not begin as pieces of tables do");
    }
    if (reader.head.version != GR_PIECE_VERSION) {
        return gr_fail(GRANARY_EVERSION, "it has version %u, this release reads %u", reader.head.version,
                       GR_PIECE_VERSION);
    }
    reader.at += sizeof reader.head;
    reader.left = size - sizeof reader.head;
    *ret_reader = reader;
    return GRANARY_OK;
}

/* What an entry's kind asks of its data. */
static bool
entry_makes_sense(const struct piece_entry *entry)
{
    const struct gr_piece_entry *head = &entry->head;
    struct gr_mutable_note note;

    switch (head->kind) {
    case GR_PIECE_SLOTS:
        return head->count > 0 && head->count <= head->data_size / sizeof(struct gr_mutable_slot) &&
               head->at % GR_LOG_SLOTS > 0 && head->at / GR_LOG_SLOTS < UINT32_MAX &&
               head->count <= GR_LOG_SLOTS - head->at % GR_LOG_SLOTS && head->more <= UINT32_MAX;
    case GR_PIECE_ROWS:
        return head->more < head->count && head->count <= UINT32_MAX && head->at <= UINT32_MAX && head->meta_size > 0;
    case GR_PIECE_NOTE:
        if (head->data_size < sizeof note || head->at > UINT32_MAX || head->more % GR_NOTE_ALIGN != 0 ||
            head->more > (uint64_t)UINT32_MAX * GR_NOTE_ALIGN) {
            return false;
        }
        memcpy(&note, entry->data, sizeof note);
        return note.size == head->data_size;
    case GR_PIECE_TILE:
        return head->data_size > 0;
    default:
        return head->kind == GR_PIECE_HORIZON;
    }
}

granary_err
piece_next(struct piece_reader *reader, struct piece_entry *ret_entry)
{
    struct piece_entry entry = {.data = NULL};
    uint64_t room;

    if (reader->left < sizeof entry.head) {
        return fail_piece("ends in the midst of an entry");
    }
    memcpy(&entry.head, reader->at, sizeof entry.head);
    if (entry.head.size < sizeof entry.head || entry.head.size > reader->left) {
        return fail_piece("has an entry that is larger than it");
    }
    room = entry.head.size - sizeof entry.head;
    if (entry.head.data_size > room || entry.head.meta_size > room ||
        piece_pad(entry.head.data_size) + piece_pad(entry.head.meta_size) != room) {
        return fail_piece("has an entry of another size than its parts");
    }
    entry.data = entry.head.data_size == 0 ? NULL : reader->at + sizeof entry.head;
    entry.meta = entry.head.meta_size == 0 ? NULL : reader->at + sizeof entry.head + piece_pad(entry.head.data_size);
    if (entry.head.lane >= GR_MUTABLE_LANES || !entry_makes_sense(&entry)) {
        return fail_piece("has an entry that makes no sense");
    }
    reader->at += entry.head.size;
    reader->left -= entry.head.size;
    *ret_entry = entry;
    return GRANARY_OK;
}
