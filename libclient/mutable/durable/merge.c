/*
 * Sixteen pieces become one of the next level, and sixteen of those again: so a table has at most fifteen pieces of a level,
 * and each byte is written once a level. Pieces that are large together stay. A piece counts from the moment it is on disk, and
 * those that it replaces go after that.
 */
#include "mutable/durable/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault/fault.h"
#include "mutable/durable/joined.h"

/* What a lane's entries have told that is not in the new piece. */
struct merge_lane {
    struct joined rows;
    struct gr_piece_entry slots; /* count 0: none */
    struct piece_writer bytes;   /* of the slots, without their entry */
};

struct merge {
    const granary_mutable *table;
    struct piece_writer piece;
    struct gr_mutable_piece head;
    struct merge_lane lanes[GR_MUTABLE_LANES];
};

/* ---- entries ---- */

static granary_err
merge_rows_end(struct merge *merge, uint32_t lane)
{
    struct joined *rows = &merge->lanes[lane].rows;
    granary_frame *frame = NULL;
    granary_err err;

    if (joined_is_empty(rows)) {
        return GRANARY_OK;
    }
    err = joined_frame(rows, &frame);
    if (err == GRANARY_OK) {
        err = piece_add_frame(
            &merge->piece,
            (struct gr_piece_entry){
                .kind = GR_PIECE_ROWS, .lane = lane, .at = rows->chunk, .more = rows->from, .count = rows->to},
            frame);
    }
    gr_frame_destroy(frame);
    joined_clear(rows);
    return err;
}

static granary_err
merge_rows(struct merge *merge, const struct piece_entry *entry)
{
    struct joined *rows = &merge->lanes[entry->head.lane].rows;
    granary_err err = GRANARY_OK;

    if (!joined_continues(rows, entry)) {
        err = merge_rows_end(merge, entry->head.lane);
    }
    return err == GRANARY_OK ? joined_add(rows, entry, merge->table->schema) : err;
}

static granary_err
merge_copy(struct merge *merge, const struct piece_entry *entry)
{
    void *data, *meta;
    granary_err err = piece_add(&merge->piece, &entry->head, &data, &meta);

    if (err == GRANARY_OK && entry->head.data_size > 0) {
        memcpy(data, entry->data, entry->head.data_size);
    }
    if (err == GRANARY_OK && entry->head.meta_size > 0) {
        memcpy(meta, entry->meta, entry->head.meta_size);
    }
    return err;
}

static granary_err
merge_slots_end(struct merge *merge, uint32_t lane)
{
    struct merge_lane *of = &merge->lanes[lane];
    const struct piece_entry entry = {.head = of->slots, .data = of->bytes.bytes};
    granary_err err = of->slots.count == 0 ? GRANARY_OK : merge_copy(merge, &entry);

    of->slots.count = 0;
    of->bytes.size = 0;
    return err;
}

static granary_err
merge_slots(struct merge *merge, const struct piece_entry *entry)
{
    struct merge_lane *lane = &merge->lanes[entry->head.lane];
    const uint64_t size = entry->head.count * sizeof(struct gr_mutable_slot);
    granary_err err = GRANARY_OK;

    if (lane->slots.count > 0 && lane->slots.at + lane->slots.count != entry->head.at) {
        err = merge_slots_end(merge, entry->head.lane);
    }
    err = err == GRANARY_OK ? piece_append(&lane->bytes, entry->data, size) : err;
    if (err == GRANARY_OK) {
        const uint64_t at = lane->slots.count == 0 ? entry->head.at : lane->slots.at;
        const uint64_t count = lane->slots.count + entry->head.count;

        lane->slots = entry->head;
        lane->slots.at = at;
        lane->slots.count = count;
        lane->slots.data_size = count * sizeof(struct gr_mutable_slot);
    }
    return err;
}

static granary_err
merge_entry(struct merge *merge, const struct piece_entry *entry)
{
    return entry->head.kind == GR_PIECE_ROWS    ? merge_rows(merge, entry)
           : entry->head.kind == GR_PIECE_SLOTS ? merge_slots(merge, entry)
                                                : merge_copy(merge, entry);
}

/* ---- pieces ---- */

static granary_err
merge_piece(struct merge *merge, granary_id id)
{
    granary_client *client = merge->table->client;
    struct piece_reader reader;
    struct piece_entry entry;
    granary_view view;
    granary_err err = granary_object_get(client, id, 0, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    err = piece_open(view.data, view.data_size, &reader);
    if (err == GRANARY_OK && reader.head.flags != (GR_PIECE_FIRST | GR_PIECE_LAST)) {
        err = gr_fail(GRANARY_ESTATE, "the piece is a part of a flush");
    }
    while (err == GRANARY_OK && piece_has_more(&reader)) {
        err = piece_next(&reader, &entry);
        err = err == GRANARY_OK ? merge_entry(merge, &entry) : err;
    }
    merge->head = reader.head;
    granary_object_release(client, &view);
    return err;
}

static granary_err
merge_end(struct merge *merge)
{
    granary_err err = GRANARY_OK;

    for (uint32_t i = 0; err == GRANARY_OK && i < GR_MUTABLE_LANES; i++) {
        err = merge_rows_end(merge, i);
        err = err == GRANARY_OK ? merge_slots_end(merge, i) : err;
    }
    return err;
}

static void
merge_free(struct merge *merge)
{
    for (uint32_t i = 0; i < GR_MUTABLE_LANES; i++) {
        joined_free(&merge->lanes[i].rows);
        piece_free(&merge->lanes[i].bytes);
    }
    piece_free(&merge->piece);
    free(merge);
}

/* Whether all pieces of a group are there, and small together. */
static bool
group_is_small(const granary_mutable *table, uint32_t level, uint64_t group)
{
    uint64_t size = 0;
    bool is_small = true;

    for (uint32_t i = 0; is_small && i < GR_PIECE_FAN; i++) {
        const granary_id id = piece_id(table->id, level - 1, group * GR_PIECE_FAN + i);
        granary_object_info info;

        is_small = granary_object_info_get(table->client, id, &info) == GRANARY_OK;
        size += is_small ? info.data_size : 0;
    }
    return is_small && size <= PIECE_MOST;
}

/* The pieces of a group go, all at once. */
static void
group_drop(const granary_mutable *table, uint32_t level, uint64_t group)
{
    granary_id ids[GR_PIECE_FAN];

    for (uint32_t i = 0; i < GR_PIECE_FAN; i++) {
        ids[i] = piece_id(table->id, level - 1, group * GR_PIECE_FAN + i);
    }
    (void)granary_object_delete_many(table->client, ids, GR_PIECE_FAN, NULL);
}

/* False: it stays as it is. */
static bool
group_merge(const granary_mutable *table, uint32_t level, uint64_t group)
{
    struct merge *merge = group_is_small(table, level, group) ? calloc(1, sizeof *merge) : NULL;
    granary_err err = GRANARY_OK;

    if (merge == NULL) {
        return false;
    }
    merge->table = table;
    for (uint32_t i = 0; err == GRANARY_OK && i < GR_PIECE_FAN; i++) {
        err = merge_piece(merge, piece_id(table->id, level - 1, group * GR_PIECE_FAN + i));
    }
    err = err == GRANARY_OK ? merge_end(merge) : err;
    err = err == GRANARY_OK ? piece_put(table->client, piece_id(table->id, level, group), &merge->head, &merge->piece)
                            : err;
    merge_free(merge);
    FAULT_STEP(merge_put);
    if (err == GRANARY_OK) {
        group_drop(table, level, group);
    }
    return err == GRANARY_OK;
}

void
pieces_merge(const granary_mutable *table, uint32_t first, uint32_t last)
{
    for (uint64_t next = first + 1; next <= last; next++) {
        uint64_t group = next;

        for (uint32_t level = 1; level < GR_PIECE_LEVELS && group % GR_PIECE_FAN == 0; level++) {
            group /= GR_PIECE_FAN;
            if (!group_merge(table, level, group - 1)) {
                break;
            }
        }
    }
}
