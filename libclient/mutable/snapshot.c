/*
 * Snapshots and seals: a table as it is at a time, as an object that does not change. Chunks that are complete are its
 * parts as they are; what lies in others, and rows that were changed, are copied into parts of their own.
 */
#include <stdlib.h>

#include "base/error.h"
#include "granary/hold.h"
#include "mutable/content.h"
#include "mutable/lane.h"
#include "mutable/marked.h"
#include "mutable/read.h"
#include "mutable/sealed.h"

#define PART_ROWS 65536 /* runs that are copied are put together up to that */

/* ---- parts ---- */

/* A snapshot that is being made. */
struct snapshot {
    granary_mutable *table;
    struct content content;
    struct sealed_parts parts;
    granary_id *copies; /* parts that are ours until an object contains them */
    size_t copy_count;
};

/* Runs [first, last), copied into a part, which the client holds meanwhile. */
static granary_err
part_copy(struct snapshot *snapshot, size_t first, size_t last)
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
    err = err == GRANARY_OK ? granary_reference(client, part.id, NULL, NULL) : err;
    if (err == GRANARY_OK) {
        snapshot->copies[snapshot->copy_count++] = part.id;
        err = sealed_add(&snapshot->parts, part);
    }
    return err;
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
    granary_mutable *table = snapshot->table;
    granary_err err = GRANARY_OK;

    snapshot->copies = calloc(runs->count + 1, sizeof *snapshot->copies);
    if (snapshot->copies == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0, next; err == GRANARY_OK && i < runs->count; i = next) {
        const struct run *run = &runs->run[i];

        if (is_part(snapshot, i)) {
            next = i + 1;
            err = sealed_add(&snapshot->parts,
                             (struct sealed_part){.id = kept_id(table->id, GR_MUTABLE_ROWS, run->lane, run->chunk),
                                                  .number = run_number(run, run->from),
                                                  .rows = run->to - run->from});
        } else {
            next = copied_together(snapshot, i);
            err = part_copy(snapshot, i, next);
        }
    }
    /* A table without rows still has columns. */
    return err == GRANARY_OK && runs->count == 0 ? part_copy(snapshot, 0, 0) : err;
}

/* The table, which is locked, at a time that is final, as an object. */
static granary_err
snapshot_put(granary_mutable *table, int64_t time, granary_id id)
{
    struct snapshot snapshot = {.table = table};
    granary_err err = content_open(table, time, &snapshot.content);

    if (err != GRANARY_OK) {
        return err;
    }
    err = parts_collect(&snapshot);
    err = err == GRANARY_OK ? sealed_put(table->client, id, &snapshot.parts, 0) : err;
    for (size_t i = 0; i < snapshot.copy_count; i++) {
        /* It ends with the client at the latest. */
        (void)granary_unreference(table->client, snapshot.copies[i], NULL);
    }
    free(snapshot.copies);
    sealed_free(&snapshot.parts);
    content_close(&snapshot.content);
    return err;
}

/* ---- snapshots ---- */

granary_err
granary_mutable_snapshot(granary_mutable *table, int64_t time, const char *name, granary_id *ret_id)
{
    const granary_id id = granary_id_random();
    granary_err err;

    (void)pthread_mutex_lock(&table->lock);
    err = table_cut(table, &time);
    err = err == GRANARY_OK ? snapshot_put(table, time, id) : err;
    (void)pthread_mutex_unlock(&table->lock);
    if (err == GRANARY_OK && name != NULL) {
        err = granary_name_set(table->client, name, id, GRANARY_NAME_NEW, (granary_id){{0}}, NULL);
        if (err != GRANARY_OK) {
            (void)granary_object_delete(table->client, id, 0);
        }
    }
    if (err == GRANARY_OK && ret_id != NULL) {
        *ret_id = id;
    }
    return err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "table '%s'", table->name);
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
        err = index_update(&table->index, counts, lanes);
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
    err = table_cut(table, &time);
    time = time == INT64_MIN ? time + 1 : time; /* nothing was written; and that would mean that it is not sealed */
    if (err == GRANARY_OK && !atomic_compare_exchange_strong(&table->page.page->sealed, &unsealed, time)) {
        err = table_fail_sealed(table);
    }
    err = err == GRANARY_OK ? table_finish_seal(table) : err;
    mutable_ring(table->page.page);
    (void)pthread_mutex_unlock(&table->lock);
    if (err == GRANARY_OK && ret_id != NULL) {
        *ret_id = table_sealed_id(table);
    }
    return err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "table '%s'", table->name);
}
