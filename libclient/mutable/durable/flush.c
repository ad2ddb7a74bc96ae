/*
 * Flushes. Slots are taken over as they are, with the rows and notes that they tell of; rows of one chunk that follow each other
 * go together. A large flush takes several pieces.
 *
 * The pieces are counted before the lanes are told how far they are durable. A process that dies in between leaves what the next
 * one puts again, and a restore takes once.
 */
#include "mutable/durable/flush.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "base/id.h"
#include "base/memory/grow.h"
#include "mutable/core/lane.h"
#include "mutable/durable/merge.h"
#include "mutable/durable/piece.h"
#include "mutable/frame/content.h"

/* Slots that follow each other in a block. */
struct slot_run {
    struct gr_mutable_slot *slot;
    uint64_t at;
    size_t count;
    size_t room;
};

/* A flush that is being put together. */
struct flush {
    const granary_mutable *table;
    struct piece_writer piece;
    uint32_t next;  /* number of the next piece */
    uint32_t first; /* ... of the first one of this flush */
    /* The lane that is walked. */
    uint32_t lane;
    uint32_t chunk;
    bool has_begun; /* the log has told of the chunk */
    uint32_t from;  /* rows of the chunk that are durable, or in the piece */
    uint32_t to;    /* ... that were passed */
    struct slot_run slots;
    uint64_t durable[GR_MUTABLE_LANES]; /* of lanes when all is put, as the page has them */
    uint64_t rows[GR_MUTABLE_LANES];
};

/* ---- what slots tell of ---- */

static granary_err
flush_rows(struct flush *flush)
{
    const granary_mutable *table = flush->table;
    struct run run = {.object = kept_id(table->id, GR_MUTABLE_ROWS, flush->lane, flush->chunk),
                      .lane = flush->lane,
                      .chunk = flush->chunk,
                      .from = flush->from,
                      .to = flush->to};
    const struct content content = {.table = table, .runs = {.run = &run, .count = 1}};
    const struct gr_piece_entry entry = {
        .kind = GR_PIECE_ROWS, .lane = flush->lane, .at = flush->chunk, .more = flush->from, .count = flush->to};
    granary_frame *frame = NULL;
    granary_err err;

    if (flush->from == flush->to) {
        return GRANARY_OK;
    }
    err = content_frame(&content, 0, 1, &frame);
    err = err == GRANARY_OK ? piece_add_frame(&flush->piece, entry, frame) : err;
    gr_frame_destroy(frame);
    flush->from = err == GRANARY_OK ? flush->to : flush->from;
    return err;
}

static granary_err
flush_slots(struct flush *flush)
{
    struct slot_run *slots = &flush->slots;
    const struct gr_lane *lane = &flush->table->page.page->lane[flush->lane];
    const struct gr_piece_entry entry = {.kind = GR_PIECE_SLOTS,
                                         .lane = flush->lane,
                                         .at = slots->at,
                                         .count = slots->count,
                                         .more = atomic_load(&lane->chunks),
                                         .data_size = slots->count * sizeof *slots->slot};
    void *data;
    granary_err err = slots->count == 0 ? GRANARY_OK : piece_add(&flush->piece, &entry, &data, NULL);

    if (err == GRANARY_OK && slots->count > 0) {
        memcpy(data, slots->slot, entry.data_size);
        slots->count = 0;
    }
    return err;
}

static granary_err
flush_chunk(struct flush *flush, uint32_t chunk)
{
    granary_err err = flush_rows(flush);

    flush->chunk = chunk;
    flush->has_begun = true;
    flush->from = flush->to = 0;
    return err;
}

static granary_err
flush_append(struct flush *flush, const struct gr_mutable_slot *slot)
{
    const uint32_t chunk = GR_MUTABLE_WHAT_CHUNK(slot->what), end = GR_MUTABLE_WHAT_END(slot->what);
    granary_err err = GRANARY_OK;

    if (chunk != flush->chunk && flush->has_begun) {
        return gr_fail(GRANARY_ECORRUPT, "the log of lane %u has rows that are in no chunk", flush->lane);
    }
    if (chunk != flush->chunk) { /* who flushed before was killed, having told of a later one */
        err = flush_chunk(flush, chunk);
    }
    flush->to = end > flush->to ? end : flush->to;
    return err;
}

/* The object that a note says a chunk is. */
static granary_err
flush_tile(struct flush *flush, granary_id id)
{
    struct gr_piece_entry entry = {.kind = GR_PIECE_TILE, .lane = flush->lane};
    granary_client *client = flush->table->client;
    granary_view view;
    uint64_t words[2];
    void *data, *meta;
    granary_err err = granary_object_get(client, id, 0, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    gr_id_words(id, words);
    entry.at = words[0];
    entry.more = words[1];
    entry.data_size = view.data_size;
    entry.meta_size = view.meta_size;
    err = piece_add(&flush->piece, &entry, &data, &meta);
    if (err == GRANARY_OK) {
        memcpy(data, view.data, view.data_size);
        if (view.meta_size > 0) {
            memcpy(meta, view.meta, view.meta_size);
        }
    }
    granary_object_release(client, &view);
    return err;
}

static granary_err
flush_note(struct flush *flush, const struct gr_mutable_slot *slot)
{
    const struct index_note note = {.lane = flush->lane,
                                    .slab = GR_MUTABLE_WHAT_CHUNK(slot->what),
                                    .offset = (uint64_t)GR_MUTABLE_WHAT_END(slot->what) * GR_NOTE_ALIGN};
    struct gr_piece_entry entry = {.kind = GR_PIECE_NOTE, .lane = flush->lane, .at = note.slab, .more = note.offset};
    granary_id tile;
    struct note_view view;
    void *data;
    granary_err err = note_get(flush->table->client, flush->table->id, &note, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    entry.data_size = view.head.size;
    err = piece_add(&flush->piece, &entry, &data, NULL);
    if (err == GRANARY_OK) {
        memcpy(data, &view.head, sizeof view.head);
        memcpy((char *)data + sizeof view.head, view.body, view.head.size - sizeof view.head);
        if (view.head.kind == GR_NOTE_TILE && view.head.size >= sizeof view.head + sizeof tile) {
            memcpy(&tile, (char *)data + sizeof view.head, sizeof tile);
            err = flush_tile(flush, tile);
        }
    }
    note_release(flush->table->client, &view);
    return err;
}

/* ---- pieces ---- */

static granary_err
flush_put(struct flush *flush, bool is_last)
{
    const struct gr_mutable *page = flush->table->page.page;
    const struct gr_mutable_piece head = {
        .flags = (flush->next == flush->first ? GR_PIECE_FIRST : 0u) | (is_last ? GR_PIECE_LAST : 0u),
        .frontier = mutable_frontier(page),
        .rows = atomic_load(&page->rows),
        .notes = atomic_load(&page->notes),
    };
    granary_err err = piece_put(flush->table->client, piece_id(flush->table->id, 0, flush->next), &head, &flush->piece);

    flush->next += err == GRANARY_OK;
    flush->piece.size = 0;
    return err;
}

static granary_err
flush_slot(void *context, uint64_t position, const struct gr_mutable_slot *slot)
{
    struct flush *flush = context;
    const struct gr_mutable_slot copy = *slot;
    granary_err err = GRANARY_OK;

    if (flush->slots.count > 0 && flush->slots.at + flush->slots.count != position) {
        err = flush_slots(flush);
    }
    if (err == GRANARY_OK) {
        const unsigned kind = GR_MUTABLE_WHAT_KIND(copy.what);

        err = kind == GR_MUTABLE_CHUNK    ? flush_chunk(flush, GR_MUTABLE_WHAT_CHUNK(copy.what))
              : kind == GR_MUTABLE_APPEND ? flush_append(flush, &copy)
              : kind == GR_MUTABLE_NOTE   ? flush_note(flush, &copy)
                                          : GRANARY_OK;
    }
    if (err == GRANARY_OK && !gr_grow(&flush->slots.slot, &flush->slots.room, flush->slots.count, sizeof copy)) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (err == GRANARY_OK) {
        flush->slots.at = flush->slots.count == 0 ? position : flush->slots.at;
        flush->slots.slot[flush->slots.count++] = copy;
    }
    if (err == GRANARY_OK && flush->piece.size >= PIECE_MOST) {
        err = flush_rows(flush);
        err = err == GRANARY_OK ? flush_slots(flush) : err;
        err = err == GRANARY_OK ? flush_put(flush, false) : err;
    }
    return err;
}

static granary_err
flush_lane(struct flush *flush, uint32_t number, uint64_t last)
{
    const struct gr_lane *lane = &flush->table->page.page->lane[number];
    const uint64_t rows = atomic_load(&lane->durable_rows);
    granary_err err;

    flush->lane = number;
    flush->chunk = (uint32_t)(rows >> 32);
    flush->has_begun = false;
    flush->from = flush->to = (uint32_t)rows;
    err =
        log_walk(flush->table->client, flush->table->id, number, atomic_load(&lane->durable), last, flush_slot, flush);
    err = err == GRANARY_OK ? flush_rows(flush) : err;
    err = err == GRANARY_OK ? flush_slots(flush) : err;
    flush->durable[number] = last;
    flush->rows[number] = (uint64_t)flush->chunk << 32 | flush->to;
    return err;
}

/* ---- the call ---- */

static bool
lane_is_behind(const struct gr_lane *lane, uint64_t count)
{
    return count > atomic_load(&lane->durable) + 1;
}

bool
flush_is_behind(const granary_mutable *table)
{
    const struct gr_mutable *page = table->page.page;
    uint64_t counts[GR_MUTABLE_LANES];
    const uint32_t lanes = mutable_committed(page, counts);
    bool is_behind = false;

    for (uint32_t i = 0; i < lanes && !is_behind; i++) {
        is_behind = lane_is_behind(&page->lane[i], counts[i]);
    }
    return is_behind;
}

/* All of it is on disk: so say the page's counts. */
static void
flush_count(const struct flush *flush)
{
    struct gr_mutable *page = flush->table->page.page;

    FAULT_STEP(flush_put);
    atomic_store(&page->pieces, flush->next);
    FAULT_STEP(flush_counted);
    for (uint32_t i = 0; i < GR_MUTABLE_LANES; i++) {
        if (flush->durable[i] != 0) {
            /* In this order: rows that count are on disk, whatever comes in between. */
            atomic_store(&page->lane[i].durable_rows, flush->rows[i]);
            atomic_store(&page->lane[i].durable, flush->durable[i]);
        }
    }
}

/* Its pieces, which nobody counts, go. */
static void
flush_drop(const struct flush *flush)
{
    for (uint32_t i = flush->next; i-- > flush->first;) {
        const granary_id id = piece_id(flush->table->id, 0, i);

        if (granary_object_contains(flush->table->client, id)) { /* the message stays */
            (void)granary_object_delete(flush->table->client, id, 0);
        }
    }
}

static granary_err
flush_lanes(struct flush *flush)
{
    const struct gr_mutable *page = flush->table->page.page;
    uint64_t counts[GR_MUTABLE_LANES];
    const uint32_t lanes = mutable_committed(page, counts);
    granary_err err = GRANARY_OK;

    for (uint32_t i = 0; err == GRANARY_OK && i < lanes; i++) {
        err = lane_is_behind(&page->lane[i], counts[i]) ? flush_lane(flush, i, counts[i] - 1) : GRANARY_OK;
    }
    return err;
}

/* By who has the lock. horizon: INT64_MIN: none. */
static granary_err
flush_now(granary_mutable *table, int64_t horizon)
{
    const uint32_t first = atomic_load(&table->page.page->pieces);
    struct flush flush = {.table = table, .first = first, .next = first};
    const struct gr_piece_entry given_up = {.kind = GR_PIECE_HORIZON, .at = (uint64_t)horizon};
    void *data;
    granary_err err = flush_lanes(&flush);

    if (err == GRANARY_OK && horizon != INT64_MIN) {
        err = piece_add(&flush.piece, &given_up, &data, NULL);
    }
    if (err == GRANARY_OK && (flush.piece.size > 0 || flush.next > first)) {
        FAULT_STEP(flush_begin);
        err = flush_put(&flush, true);
    }
    if (err == GRANARY_OK) {
        flush_count(&flush);
        pieces_merge(table, first, flush.next);
    } else {
        flush_drop(&flush);
    }
    free(flush.slots.slot);
    piece_free(&flush.piece);
    return err;
}

/* Whether what somebody waits for is on disk: so many slots of lanes. */
static bool
has_come(const struct gr_mutable *page, const uint64_t *counts, uint32_t lanes)
{
    bool has_come = true;

    for (uint32_t i = 0; has_come && i < lanes; i++) {
        has_come = !lane_is_behind(&page->lane[i], counts[i]);
    }
    return has_come;
}

/* Unless somebody else has done meanwhile what is wanted: then the next flush has all who came later. */
static granary_err
flush_for(granary_mutable *table, const uint64_t *counts, uint32_t lanes, int64_t horizon)
{
    granary_err err;

    (void)pthread_mutex_lock(&table->flush_lock); /* the kernel's lock is the handle's, whichever thread takes it */
    err = page_enter(&table->page, GR_MUTABLE_LOCK_DISK);
    if (err == GRANARY_OK) {
        /* Of a table that was deleted nothing is to be on disk; one that was sealed has nothing that is not. */
        if ((horizon != INT64_MIN || !has_come(table->page.page, counts, lanes)) &&
            granary_object_contains(table->client, table->id)) {
            err = flush_now(table, horizon);
        }
        page_leave(&table->page, GR_MUTABLE_LOCK_DISK);
    }
    (void)pthread_mutex_unlock(&table->flush_lock);
    return err;
}

granary_err
table_flush_horizon(granary_mutable *table, int64_t horizon)
{
    uint64_t counts[GR_MUTABLE_LANES];
    const uint32_t lanes = mutable_committed(table->page.page, counts);

    return flush_for(table, counts, lanes, horizon);
}

granary_err
table_flush(granary_mutable *table)
{
    return table_flush_horizon(table, INT64_MIN);
}

granary_err
table_flush_lane(granary_mutable *table, uint32_t lane, uint64_t position)
{
    uint64_t counts[GR_MUTABLE_LANES] = {0};

    counts[lane] = position + 1;
    return flush_for(table, counts, lane + 1, INT64_MIN);
}
