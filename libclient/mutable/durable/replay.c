/*
 * Replays. Of each lane the object of each kind to which it has come is kept in memory: rows of a chunk, notes of a slab, a
 * block of the log. When the lane goes on to the next, it is stored. Positions in logs and slabs are what they were, so slots
 * need no change.
 */
#include "mutable/durable/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "mutable/core/slab.h"
#include "mutable/marked.h"

/* Bytes of an object that grows. */
struct bytes {
    char *at;
    uint64_t size;
    uint64_t room;
};

struct replay_lane {
    struct joined rows;
    uint64_t chunks; /* chunks up to this number have begun */
    struct bytes slab;
    uint64_t slab_number;
    bool has_slab;
    struct bytes block; /* of slots */
    uint64_t last;      /* position of the last slot; 0: there is none */
    uint64_t numbers;   /* of chunks and slabs that were taken */
    int64_t newest;
};

struct replay {
    granary_client *client;
    granary_id table;
    struct gr_mutable *page;
    const granary_frame *schema;
    int64_t given_up;
    int64_t frontier;
    uint64_t rows;
    uint64_t notes;
    struct replay_lane lanes[GR_MUTABLE_LANES];
};

/* ---- objects ---- */

/* The table gets a reference to a sealed object. */
static granary_err
replay_refer(const struct replay *replay, granary_id id)
{
    return kept_refer(replay->client, replay->table, id);
}

/* An object that a process has left which died in the midst of a restore goes. */
static void
replay_clear(const struct replay *replay, granary_id id)
{
    if (granary_object_contains(replay->client, id)) {
        (void)granary_object_delete(replay->client, id, 0);
    }
}

/* Errors: as granary_object_put_with() */
static granary_err
replay_store(const struct replay *replay, granary_id id, const void *data, uint64_t size, const void *meta,
             uint64_t meta_size)
{
    const granary_object_options options = {.counted = true};
    granary_err err;

    replay_clear(replay, id);
    err = granary_object_put_with(replay->client, id, data, size, meta, meta_size, &options, 0);
    return err == GRANARY_OK ? replay_refer(replay, id) : err;
}

/* So many bytes from `at` on; what lies between is zero. */
static granary_err
bytes_write(struct bytes *bytes, uint64_t at, const void *from, uint64_t size)
{
    const uint64_t end = at + size, room = bytes->room * 2 > end ? bytes->room * 2 : end;

    if (end > bytes->room) {
        char *grown = realloc(bytes->at, room);

        if (grown == NULL) {
            return gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        bytes->at = grown;
        bytes->room = room;
    }
    if (at > bytes->size) {
        memset(bytes->at + bytes->size, 0, at - bytes->size);
    }
    memcpy(bytes->at + at, from, size);
    bytes->size = end > bytes->size ? end : bytes->size;
    return GRANARY_OK;
}

/* ---- rows ---- */

static granary_err
rows_store(struct replay *replay, uint32_t number)
{
    const granary_object_options options = {.counted = true};
    struct joined *rows = &replay->lanes[number].rows;
    const granary_id id = kept_id(replay->table, GR_MUTABLE_ROWS, number, rows->chunk);
    granary_frame *frame = NULL;
    granary_err err;

    if (joined_is_empty(rows)) {
        return GRANARY_OK;
    }
    replay_clear(replay, id);
    err = joined_frame(rows, &frame);
    err = err == GRANARY_OK ? frame_store(replay->client, id, frame, &options) : err;
    err = err == GRANARY_OK ? replay_refer(replay, id) : err;
    gr_frame_destroy(frame);
    joined_clear(rows);
    return err;
}

static granary_err
take_rows(struct replay *replay, const struct piece_entry *entry)
{
    struct replay_lane *lane = &replay->lanes[entry->head.lane];
    granary_err err = GRANARY_OK;

    if (entry->head.at < lane->chunks) { /* told again */
        return GRANARY_OK;
    }
    if (joined_is_empty(&lane->rows) || entry->head.at != lane->rows.chunk) {
        err = rows_store(replay, entry->head.lane);
        if (err == GRANARY_OK && entry->head.more != 0) {
            err = gr_fail(GRANARY_ECORRUPT, "chunk %llu of lane %u does not begin", (unsigned long long)entry->head.at,
                          entry->head.lane);
        }
    } else if (!joined_continues(&lane->rows, entry)) {
        err = gr_fail(GRANARY_ECORRUPT, "rows of chunk %llu of lane %u are missing", (unsigned long long)entry->head.at,
                      entry->head.lane);
    }
    err = err == GRANARY_OK ? joined_add(&lane->rows, entry, replay->schema) : err;
    lane->chunks = entry->head.at;
    return err;
}

/* ---- notes ---- */

static granary_err
slab_store(struct replay *replay, uint32_t number)
{
    struct replay_lane *lane = &replay->lanes[number];
    granary_err err = GRANARY_OK;

    if (lane->slab.size > 0) {
        err = replay_store(replay, kept_id(replay->table, GR_MUTABLE_SLAB, number, lane->slab_number), lane->slab.at,
                           lane->slab.size, NULL, 0);
    }
    lane->slab.size = 0;
    return err;
}

static granary_err
take_note(struct replay *replay, const struct piece_entry *entry)
{
    struct replay_lane *lane = &replay->lanes[entry->head.lane];
    const bool is_later = !lane->has_slab || entry->head.at > lane->slab_number;
    granary_err err = GRANARY_OK;

    if (!is_later && (entry->head.at < lane->slab_number || entry->head.more < lane->slab.size)) {
        return GRANARY_OK; /* told again */
    }
    if (is_later) {
        err = slab_store(replay, entry->head.lane);
    }
    if (err == GRANARY_OK && entry->head.more - lane->slab.size > GR_LOG_SLOTS * (uint64_t)GR_NOTE_ALIGN) {
        err = gr_fail(GRANARY_ECORRUPT, "notes of slab %llu of lane %u are missing", (unsigned long long)entry->head.at,
                      entry->head.lane);
    }
    lane->slab_number = entry->head.at;
    lane->has_slab = true;
    return err == GRANARY_OK ? bytes_write(&lane->slab, entry->head.more, entry->data, entry->head.data_size) : err;
}

static granary_err
take_tile(const struct replay *replay, const struct piece_entry *entry)
{
    const granary_id id = gr_id_from_words(entry->head.at, entry->head.more);

    if (granary_object_contains(replay->client, id)) { /* told again; or its owner has made it persistent, too */
        return replay_refer(replay, id);
    }
    return replay_store(replay, id, entry->data, entry->head.data_size, entry->meta, entry->head.meta_size);
}

/* ---- slots ---- */

static granary_err
block_store(struct replay *replay, uint32_t number)
{
    struct replay_lane *lane = &replay->lanes[number];
    granary_err err = GRANARY_OK;

    if (lane->block.size > 0) {
        err = replay_store(replay, kept_id(replay->table, GR_MUTABLE_LOG, number, lane->last / GR_LOG_SLOTS),
                           lane->block.at, lane->block.size, NULL, 0);
    }
    lane->block.size = 0;
    return err;
}

/* The block of a position begins, with the head that leads to the one before. */
static granary_err
block_begin(struct replay *replay, uint32_t number)
{
    struct replay_lane *lane = &replay->lanes[number];
    const struct gr_mutable_slot head = {
        .time = lane->last == 0 ? 0 : (int64_t)(lane->last % GR_LOG_SLOTS + 1),
        .what = lane->last / GR_LOG_SLOTS,
    };
    granary_err err = block_store(replay, number);

    return err == GRANARY_OK ? bytes_write(&lane->block, 0, &head, sizeof head) : err;
}

/* What a slot tells of the table as a whole. */
static void
slot_learn(struct replay *replay, struct replay_lane *lane, const struct gr_mutable_slot *slot)
{
    const unsigned kind = GR_MUTABLE_WHAT_KIND(slot->what);
    const uint64_t end = (uint64_t)slot->time + GR_MUTABLE_WHAT_END(slot->what);

    if (kind == GR_MUTABLE_CHUNK && end > replay->rows) {
        replay->rows = end;
    }
    if ((kind == GR_MUTABLE_APPEND || kind == GR_MUTABLE_NOTE) && slot->time > lane->newest) {
        lane->newest = slot->time;
    }
}

static granary_err
take_slots(struct replay *replay, const struct piece_entry *entry)
{
    struct replay_lane *lane = &replay->lanes[entry->head.lane];
    granary_err err = GRANARY_OK;

    for (uint64_t i = 0; err == GRANARY_OK && i < entry->head.count; i++) {
        const uint64_t at = entry->head.at + i;
        struct gr_mutable_slot slot;

        memcpy(&slot, entry->data + i * sizeof slot, sizeof slot);
        if (at <= lane->last) { /* told again */
            continue;
        }
        if (lane->last == 0 || at / GR_LOG_SLOTS != lane->last / GR_LOG_SLOTS) {
            err = block_begin(replay, entry->head.lane);
        }
        err = err == GRANARY_OK ? bytes_write(&lane->block, at % GR_LOG_SLOTS * sizeof slot, &slot, sizeof slot) : err;
        lane->last = at;
        slot_learn(replay, lane, &slot);
    }
    lane->numbers = entry->head.more > lane->numbers ? entry->head.more : lane->numbers;
    return err;
}

/* ---- the calls ---- */

granary_err
replay_begin(granary_client *client, granary_id table, struct gr_mutable *page, const granary_frame *schema,
             struct replay **ret_replay)
{
    struct replay *replay = calloc(1, sizeof *replay);

    if (replay == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    replay->client = client;
    replay->table = table;
    replay->page = page;
    replay->schema = schema;
    replay->given_up = replay->frontier = INT64_MIN;
    for (uint32_t i = 0; i < GR_MUTABLE_LANES; i++) {
        replay->lanes[i].newest = INT64_MIN;
    }
    *ret_replay = replay;
    return GRANARY_OK;
}

static granary_err
take_entry(struct replay *replay, const struct piece_entry *entry)
{
    switch (entry->head.kind) {
    case GR_PIECE_SLOTS:
        return take_slots(replay, entry);
    case GR_PIECE_ROWS:
        return take_rows(replay, entry);
    case GR_PIECE_NOTE:
        return take_note(replay, entry);
    case GR_PIECE_TILE:
        return take_tile(replay, entry);
    default:
        replay->given_up = (int64_t)entry->head.at > replay->given_up ? (int64_t)entry->head.at : replay->given_up;
        return GRANARY_OK;
    }
}

granary_err
replay_piece(struct replay *replay, const void *bytes, uint64_t size)
{
    struct piece_reader reader;
    struct piece_entry entry;
    granary_err err = piece_open(bytes, size, &reader);

    if (err != GRANARY_OK) {
        return err;
    }
    replay->frontier = reader.head.frontier > replay->frontier ? reader.head.frontier : replay->frontier;
    replay->rows = reader.head.rows > replay->rows ? reader.head.rows : replay->rows;
    replay->notes = reader.head.notes > replay->notes ? reader.head.notes : replay->notes;
    while (err == GRANARY_OK && piece_has_more(&reader)) {
        err = piece_next(&reader, &entry);
        err = err == GRANARY_OK ? take_entry(replay, &entry) : err;
    }
    return err;
}

/* The lane is as it was when its last slot was on disk; its next writer goes on behind that. */
static void
lane_set(struct replay *replay, uint32_t number)
{
    const struct replay_lane *from = &replay->lanes[number];
    struct gr_lane *lane = &replay->page->lane[number];

    if (from->last == 0) {
        return;
    }
    atomic_store(&lane->word, GR_LANE(from->last + 1, GR_LANE_IDLE));
    atomic_store(&lane->newest, from->newest);
    atomic_store(&lane->chunks, (uint32_t)from->numbers);
    atomic_store(&lane->blocks, (uint32_t)(from->last / GR_LOG_SLOTS + 1));
    atomic_store(&lane->durable, from->last);
    atomic_store(&lane->durable_rows, from->chunks << 32 | from->rows.to);
    atomic_store(&replay->page->lanes, number + 1);
    replay->frontier = from->newest > replay->frontier ? from->newest : replay->frontier;
}

granary_err
replay_end(struct replay *replay)
{
    granary_err err = GRANARY_OK;

    for (uint32_t i = 0; err == GRANARY_OK && i < GR_MUTABLE_LANES; i++) {
        err = rows_store(replay, i);
        err = err == GRANARY_OK ? slab_store(replay, i) : err;
        err = err == GRANARY_OK ? block_store(replay, i) : err;
        lane_set(replay, i);
    }
    if (err == GRANARY_OK) {
        atomic_store(&replay->page->rows, replay->rows);
        atomic_store(&replay->page->notes, replay->notes);
        atomic_store(&replay->page->frontier, replay->frontier);
        atomic_store(&replay->page->given_up, replay->given_up);
    }
    return err;
}

void
replay_free(struct replay *replay)
{
    for (uint32_t i = 0; replay != NULL && i < GR_MUTABLE_LANES; i++) {
        joined_free(&replay->lanes[i].rows);
        free(replay->lanes[i].slab.at);
        free(replay->lanes[i].block.at);
    }
    free(replay);
}
