/*
 * Snapshots and seals: a table as it is at a time, as an object that does not change. Chunks that are complete are its
 * parts as they are; what lies in others, and rows that were changed, are copied into parts of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/tensor.h"
#include "granary/hold.h"
#include "mutable/core/lane.h"
#include "mutable/marked.h"
#include "mutable/read.h"
#include "mutable/snapshot.h"
#include "mutable/tensor/tile.h"

#define PART_ROWS 65536 /* runs that are copied are put together up to that */

/* ---- parts ---- */

granary_err
snapshot_begin(struct snapshot *snapshot, granary_mutable *table, size_t copies)
{
    snapshot->table = table;
    snapshot->copies = calloc(copies + 1, sizeof *snapshot->copies);
    return snapshot->copies != NULL ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "out of memory");
}

void
snapshot_end(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->copy_count; i++) {
        /* It ends with the client at the latest. */
        (void)granary_unreference(snapshot->table->client, snapshot->copies[i], NULL);
    }
    free(snapshot->copies);
    sealed_free(&snapshot->parts);
}

/* An object of ours, which the client holds until the snapshot contains it. */
static granary_err
copy_hold(struct snapshot *snapshot, granary_id id)
{
    granary_err err = granary_reference(snapshot->table->client, id, NULL, NULL);

    if (err == GRANARY_OK) {
        snapshot->copies[snapshot->copy_count++] = id;
    }
    return err;
}

granary_err
snapshot_copy(struct snapshot *snapshot, size_t first, size_t last)
{
    const granary_object_options options = {.counted = true};
    granary_client *client = snapshot->table->client;
    struct sealed_part part = {.id = granary_id_random()};
    granary_frame *frame = NULL;
    granary_err err = content_frame(&snapshot->content, first, last, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    part.rows = frame->rows;
    part.number =
        first < last ? run_number(&snapshot->content.runs.run[first], snapshot->content.runs.run[first].from) : 0;
    err = frame_store(client, part.id, frame, &options);
    gr_frame_destroy(frame);
    err = err == GRANARY_OK ? copy_hold(snapshot, part.id) : err;
    return err == GRANARY_OK ? sealed_add(&snapshot->parts, part) : err;
}

static bool
is_part(const struct snapshot *snapshot, size_t run)
{
    return snapshot->content.runs.run[run].is_whole && !content_is_patched(&snapshot->content, run);
}

/* The end of the runs from `first` on that are copied together. */
static size_t
copied_together(const struct snapshot *snapshot, size_t first)
{
    const struct runs *runs = &snapshot->content.runs;
    size_t last = first;

    while (last < runs->count && !is_part(snapshot, last) &&
           (last == first || runs->run[last].at - runs->run[first].at < PART_ROWS)) {
        last++;
    }
    return last;
}

static granary_err
parts_collect(struct snapshot *snapshot)
{
    const struct runs *runs = &snapshot->content.runs;
    granary_err err = snapshot_begin(snapshot, snapshot->table, runs->count);

    for (size_t i = 0, next; err == GRANARY_OK && i < runs->count; i = next) {
        const struct run *run = &runs->run[i];

        if (is_part(snapshot, i)) {
            next = i + 1;
            err = sealed_add(&snapshot->parts, (struct sealed_part){.id = run->object,
                                                                    .number = run_number(run, run->from),
                                                                    .rows = run->to - run->from});
        } else {
            next = copied_together(snapshot, i);
            err = snapshot_copy(snapshot, i, next);
        }
    }
    /* A table without rows still has columns. */
    return err == GRANARY_OK && runs->count == 0 ? snapshot_copy(snapshot, 0, 0) : err;
}

/* ---- parts of a tensor ---- */

/* The first part tells what the tensor is. */
static granary_err
shape_part(struct snapshot *snapshot)
{
    const granary_object_options options = {.counted = true};
    const struct sealed_part part = {.id = granary_id_random(), .number = SEALED_SHAPE};
    granary_frame *frame = NULL;
    granary_err err = shape_frame(snapshot->table->tensor, SEALED_TENSOR_MARK, &frame);

    err = err == GRANARY_OK ? frame_store(snapshot->table->client, part.id, frame, &options) : err;
    gr_frame_destroy(frame);
    err = err == GRANARY_OK ? copy_hold(snapshot, part.id) : err;
    return err == GRANARY_OK ? sealed_add(&snapshot->parts, part) : err;
}

/* A chunk that was written over, as an object. */
static granary_err
tile_copy(struct snapshot *snapshot, uint64_t chunk, int64_t time, granary_id *ret_id)
{
    const granary_object_options options = {.counted = true};
    const granary_mutable *table = snapshot->table;
    int64_t origin[TENSOR_DIMS], extent[TENSOR_DIMS];
    const int64_t elements = shape_extent(table->tensor, chunk, origin, extent);
    granary_tensor planned;
    granary_buffer buffer;
    struct tile tile;
    granary_err err = tile_get(table, chunk, time, &tile);

    if (err != GRANARY_OK) {
        return err;
    }
    *ret_id = granary_id_random();
    err = gr_npy_plan(table->tensor->dtype, table->tensor->dims, extent, &planned);
    err = err == GRANARY_OK
              ? granary_object_create_with(table->client, *ret_id, gr_npy_measure(&planned), 0, &options, &buffer)
              : err;
    if (err == GRANARY_OK) {
        memcpy(gr_npy_begin(&planned, buffer.data), tile.values, (size_t)elements * table->tensor->element);
        err = granary_object_seal(table->client, &buffer);
    }
    tile_release(table->client, &tile);
    return err == GRANARY_OK ? copy_hold(snapshot, *ret_id) : err;
}

granary_err
snapshot_tiles(struct snapshot *snapshot, granary_mutable *table, int64_t time)
{
    const struct index *index = &table->index;
    granary_err err = snapshot_begin(snapshot, table, index->head_count + 1);

    err = err == GRANARY_OK ? shape_part(snapshot) : err;
    /* As they came: those of one slab follow each other. */
    for (size_t i = 0; err == GRANARY_OK && i < index->note_count; i++) {
        const struct index_note *note = &index->notes[i];
        struct sealed_part part = {.id = note->tile, .number = note->chunk, .offset = note_values_offset(note)};

        if (note->time > time || index_latest(index, note->chunk, time) != note) {
            continue;
        }
        err = note_is_base(note) ? GRANARY_OK : tile_copy(snapshot, note->chunk, time, &part.id);
        err = err == GRANARY_OK ? sealed_add(&snapshot->parts, part) : err;
    }
    return err;
}

/* ---- the object ---- */

/* The table, which is locked, at a time that is final, as an object. */
static granary_err
snapshot_put(granary_mutable *table, int64_t time, granary_id id)
{
    struct snapshot snapshot = {.table = table};
    granary_err err;

    if (table->tensor != NULL) {
        err = snapshot_tiles(&snapshot, table, time);
    } else {
        err = content_open(table, time, &snapshot.content);
        if (err == GRANARY_OK) {
            err = parts_collect(&snapshot);
            content_close(&snapshot.content);
        }
    }
    err = err == GRANARY_OK ? sealed_put(table->client, id, SEALED_MARK, &snapshot.parts, false) : err;
    snapshot_end(&snapshot);
    return err;
}

/* ---- snapshots ---- */

granary_err
granary_mutable_snapshot(granary_mutable *table, int64_t time, const char *name, granary_id *ret_id)
{
    const granary_id id = granary_id_random();
    granary_err err;

    do {
        int64_t at = time;

        (void)pthread_mutex_lock(&table->lock);
        err = table_cut(table, &at);
        err = err == GRANARY_OK ? snapshot_put(table, at, id) : err;
        (void)pthread_mutex_unlock(&table->lock);
    } while (table_try_again(table, err));
    if (err == GRANARY_OK && name != NULL) {
        err = granary_name_set(table->client, name, id, GRANARY_NAME_NEW, (granary_id){{0}}, NULL);
        if (err != GRANARY_OK) {
            (void)granary_object_delete(table->client, id, 0);
        }
    }
    if (err == GRANARY_OK && ret_id != NULL) {
        *ret_id = id;
    }
    return table_told(table, err);
}

/* ---- seals ---- */

granary_err
table_finish_seal(granary_mutable *table)
{
    const int64_t time = atomic_load(&table->page.page->sealed);
    const granary_id id = table_sealed_id(table);
    uint64_t counts[GR_MUTABLE_LANES];
    granary_err err = GRANARY_OK;

    /* Nothing is committed any more from here on. */
    const uint32_t lanes = mutable_cut(table->page.page, INT64_MAX, counts);

    if (!granary_object_contains(table->client, id)) {
        err = table_learn(table, counts, lanes);
        err = err == GRANARY_OK ? snapshot_put(table, time, id) : err;
        err = err == GRANARY_EEXIST ? GRANARY_OK : err;
    }
    if (err == GRANARY_OK) {
        err = granary_name_set(table->client, table->name, id, GRANARY_NAME_ID, table->id, NULL);
        err = err == GRANARY_ESTATE ? GRANARY_OK : err; /* somebody else was faster */
    }
    if (err == GRANARY_OK) {
        err = granary_object_delete(table->client, table->id, 0);
        err = err == GRANARY_OK || err == GRANARY_ENOENT ? kept_drop_all(table->client, table->id) : err;
    }
    return err;
}

granary_err
granary_mutable_seal(granary_mutable *table, int64_t time, granary_id *ret_id)
{
    int64_t unsealed = INT64_MIN;
    granary_err err;

    (void)pthread_mutex_lock(&table->lock);
    err = table_is_fixed(table) ? table_fail_sealed(table) : table_cut(table, &time);
    time = time == INT64_MIN ? time + 1 : time; /* nothing was written; and that would mean that it is not sealed */
    if (err == GRANARY_OK && !atomic_compare_exchange_strong(&table->page.page->sealed, &unsealed, time)) {
        err = table_fail_sealed(table);
    }
    err = err == GRANARY_OK ? table_finish_seal(table) : err;
    if (!table_is_fixed(table)) {
        mutable_ring(table->page.page);
    }
    (void)pthread_mutex_unlock(&table->lock);
    if (err == GRANARY_OK && ret_id != NULL) {
        *ret_id = table_sealed_id(table);
    }
    return table_told(table, err);
}
