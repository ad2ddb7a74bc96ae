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
#include "mutable/durable/flush.h"
#include "mutable/durable/root.h"
#include "mutable/marked.h"
#include "mutable/read.h"
#include "mutable/snapshot.h"
#include "mutable/tensor/tile.h"

#define PART_ROWS 65536 /* runs that are copied are put together up to that */

/* ---- parts ---- */

/* Room to hold so many copies. */
static granary_err
snapshot_begin(struct snapshot *snapshot, size_t copies)
{
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

/* A complete chunk as it is, or a copy of runs that are not. */
static granary_err
take_part(struct snapshot *snapshot, size_t first, size_t *ret_next)
{
    const struct run *run = &snapshot->content.runs.run[first];

    if (!is_part(snapshot, first)) {
        *ret_next = copied_together(snapshot, first);
        return snapshot_copy(snapshot, first, *ret_next);
    }
    *ret_next = first + 1;
    return sealed_add(
        &snapshot->parts,
        (struct sealed_part){.id = run->object, .number = run_number(run, run->from), .rows = run->to - run->from});
}

static granary_err
runs_collect_parts(struct snapshot *snapshot, int64_t time, snapshot_take *take)
{
    granary_err err = content_open(snapshot->table, INT64_MIN, time, &snapshot->content);
    size_t count;

    if (err != GRANARY_OK) {
        return err;
    }
    count = snapshot->content.runs.count;
    err = snapshot_begin(snapshot, count);
    for (size_t i = 0; err == GRANARY_OK && i < count;) {
        err = take(snapshot, i, &i);
    }
    /* A table without rows still has columns. */
    err = err == GRANARY_OK && count == 0 ? snapshot_copy(snapshot, 0, 0) : err;
    content_close(&snapshot->content);
    return err;
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

static granary_err
tiles_collect(struct snapshot *snapshot, int64_t time)
{
    const struct index *index = &snapshot->table->index;
    granary_err err = snapshot_begin(snapshot, index->head_count + 1);

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

granary_err
snapshot_collect(struct snapshot *snapshot, granary_mutable *table, int64_t time, snapshot_take *take)
{
    *snapshot = (struct snapshot){.table = table};
    return table->tensor != NULL ? tiles_collect(snapshot, time) : runs_collect_parts(snapshot, time, take);
}

/* The table, which is locked, at a time that is final, as an object. */
static granary_err
snapshot_put(granary_mutable *table, int64_t time, granary_id id, bool counted)
{
    struct snapshot snapshot;
    granary_err err = snapshot_collect(&snapshot, table, time, take_part);

    err = err == GRANARY_OK ? sealed_put(table->client, id, SEALED_MARK, &snapshot.parts, counted) : err;
    snapshot_end(&snapshot);
    return err;
}

/* ---- snapshots ---- */

granary_err
snapshot_as(granary_mutable *table, int64_t time, granary_id id, bool counted)
{
    granary_err err;

    do {
        int64_t at = time;

        (void)pthread_mutex_lock(&table->lock);
        err = table_cut(table, &at);
        err = err == GRANARY_OK ? snapshot_put(table, at, id, counted) : err;
        (void)pthread_mutex_unlock(&table->lock);
    } while (table_try_again(table, err));
    return err;
}

granary_err
granary_mutable_snapshot(granary_mutable *table, int64_t time, const char *name, granary_id *ret_id)
{
    const granary_id id = granary_id_random();
    granary_err err = snapshot_as(table, time, id, false);

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

/* Another client puts the sealed table: whether it still does so is seen that often, and for a minute in all. */
#define LOOK_MS 100
#define LOOKS   600

/* On disk the table is sealed from now on, with all that it has. */
static granary_err
table_seal_root(granary_mutable *table, int64_t time)
{
    const uint64_t hash = table->page.page->root;
    struct root root;
    granary_err err = table_flush(table);

    err = err == GRANARY_OK ? root_get(table->client, hash, &root) : err;
    if (err == GRANARY_OK && root.head.state == GR_TABLE_ROOT_LIVE) {
        root.head.state = GR_TABLE_ROOT_SEALED;
        root.head.sealed = time;
        err = root_put(table->client, hash, &root);
    }
    if (err == GRANARY_OK) {
        root_free(&root);
    }
    return err;
}

granary_err
table_finish_seal(granary_mutable *table)
{
    const int64_t time = atomic_load(&table->page.page->sealed);
    const granary_id id = table_sealed_id(table);
    uint64_t counts[GR_MUTABLE_LANES];
    unsigned looks = 0;
    granary_err err = GRANARY_OK;

    /* Nothing is committed any more from here on. */
    const uint32_t lanes = mutable_cut(table->page.page, INT64_MAX, counts);

    if (table_is_durable(table)) {
        err = table_seal_root(table, time);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (!granary_object_contains(table->client, id)) {
        do { /* again where history was given up meanwhile, by who began before the seal */
            err = table_learn(table, counts, lanes);
            err = err == GRANARY_OK ? snapshot_put(table, time, id, false) : err;
            if (err == GRANARY_EBUSY && looks++ < LOOKS &&
                granary_object_wait(table->client, &id, 1, 1, LOOK_MS, NULL) == GRANARY_OK) {
                err = GRANARY_EEXIST;
            }
        } while (table_try_again(table, err) || (err == GRANARY_EBUSY && looks <= LOOKS));
        /* Who has done it deletes what the table was made of, too, while this one looks at it. */
        err = err == GRANARY_EEXIST || granary_object_contains(table->client, id) ? GRANARY_OK : err;
    }
    if (err == GRANARY_OK) {
        err = granary_name_set(table->client, table->name, id, GRANARY_NAME_ID, table->id, NULL);
        err = err == GRANARY_ESTATE ? GRANARY_OK : err; /* somebody else was faster */
    }
    if (err == GRANARY_OK) {
        err = granary_object_delete(table->client, table->id, 0);
        err = err == GRANARY_OK || err == GRANARY_ENOENT ? kept_drop_all(table->client, table->id) : err;
        if (err == GRANARY_OK) {
            page_give_up(&table->page);
        }
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
