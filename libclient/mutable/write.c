/* Writes of a lane: its writer is made by the first, and commits each by lane_commit(). */
#include "mutable/write.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "mutable/core/lane.h"

/* ---- the writer ---- */

/* What the lane's last writer, which was killed, has left open: nobody writes it any more. */
static void
writer_inherit(const granary_mutable *table, const struct table_writer *writer)
{
    for (int kind = GR_MUTABLE_LOG; kind <= GR_MUTABLE_SLAB; kind++) {
        const uint32_t open = atomic_exchange(&writer->shared->open[kind], 0);

        /* It may have been about to leave the block before. */
        for (uint32_t i = open; i > 0 && i + 1 >= open; i--) {
            kept_let_leave(table->client, kept_id(table->id, (enum gr_mutable_object)kind, writer->lane, i - 1));
        }
    }
}

void
writer_close(granary_mutable *table)
{
    struct table_writer *writer = table->writer;

    if (writer == NULL) {
        return;
    }
    rows_end(&writer->rows);
    slab_end(&writer->slab);
    log_end(&writer->log);
    for (int kind = GR_MUTABLE_LOG; kind <= GR_MUTABLE_SLAB; kind++) {
        atomic_store(&writer->shared->open[kind], 0);
    }
    free(writer);
    table->writer = NULL;
}

static granary_err
writer_open(granary_mutable *table, int timeout_ms)
{
    struct table_writer *writer;
    granary_err err;

    if (table->writer != NULL) {
        return GRANARY_OK;
    }
    writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = page_take_lane(&table->page, &writer->lane);
    if (err == GRANARY_OK) {
        writer->shared = &table->page.page->lane[writer->lane];
        writer->last_time = INT64_MIN;
        writer_inherit(table, writer);
        err = log_begin(&writer->log, table->client, table->id, writer->shared, writer->lane, timeout_ms);
    }
    if (err != GRANARY_OK) {
        free(writer);
        return err;
    }
    table->writer = writer;
    return GRANARY_OK;
}

granary_err
write_begin(struct write *write, granary_mutable *table, const granary_write_options *options)
{
    granary_err err;

    *write = (struct write){.table = table, .options = options};
    (void)pthread_mutex_lock(&table->lock);
    if (options->time == INT64_MAX) {
        return gr_fail(GRANARY_EINVAL, "the time is beyond all others");
    }
    err = table_is_fixed(table) ? table_fail_sealed(table) : table_check(table);
    err = err == GRANARY_OK ? writer_open(table, options->timeout_ms) : err;
    if (err == GRANARY_OK) {
        write->writer = table->writer;
        write->chunk = table->writer->rows.number;
        write->chunk_rows = table->writer->rows.rows;
        write->slab = table->writer->slab.number;
        write->slab_used = table->writer->slab.used;
        table->writer->log.timeout_ms = options->timeout_ms;
    }
    return err;
}

/* ---- what it consists of ---- */

/* The slot gets the time of the write. */
static granary_err
write_time_slot(struct write *write, struct gr_mutable_slot *at)
{
    if (write->slots == NULL && write->count < WRITE_FEW) {
        write->few[write->count++] = at;
        return GRANARY_OK;
    }
    if (!gr_grow(&write->slots, &write->room, write->count, sizeof *write->slots)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (write->count == WRITE_FEW) {
        memcpy(write->slots, write->few, sizeof write->few);
    }
    write->slots[write->count++] = at;
    return GRANARY_OK;
}

granary_err
write_slot(struct write *write, struct gr_mutable_slot slot, bool timed)
{
    struct gr_mutable_slot *at;
    granary_err err = log_put(&write->writer->log, slot, &at);

    return err == GRANARY_OK && timed ? write_time_slot(write, at) : err;
}

granary_err
write_note(struct write *write, enum gr_note_kind kind, uint64_t size, struct gr_mutable_note **ret_note)
{
    struct table_writer *writer = write->writer;
    granary_mutable *table = write->table;
    granary_err err = slab_put(&writer->slab, table->client, table->id, writer->shared, writer->lane, size,
                               write->options->timeout_ms, ret_note);

    if (err == GRANARY_OK) {
        (*ret_note)->kind = (uint32_t)kind;
        (*ret_note)->sequence = atomic_fetch_add(&table->page.page->notes, 1);
        err = write_slot(write, (struct gr_mutable_slot){.what = slab_what(&writer->slab, *ret_note)}, true);
    }
    return err;
}

/* ---- chunks of tensors ---- */

granary_err
write_tile_create(struct write *write, uint64_t size, granary_buffer *ret_buffer)
{
    struct table_writer *writer = write->writer;
    const uint32_t number = atomic_load_explicit(&writer->shared->chunks, memory_order_relaxed);

    atomic_store_explicit(&writer->shared->chunks, number + 1, memory_order_relaxed);
    return kept_create(write->table->client, kept_id(write->table->id, GR_MUTABLE_TILE, writer->lane, number), size, 0,
                       write->options->timeout_ms, ret_buffer);
}

granary_err
write_tile(struct write *write, uint64_t chunk, granary_id id)
{
    granary_mutable *table = write->table;
    struct gr_mutable_note *note;
    granary_err err;

    if (!gr_grow(&write->tiles, &write->tile_room, write->tile_count, sizeof id)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = kept_refer(table->client, table->id, id);
    if (err != GRANARY_OK) {
        return err;
    }
    write->tiles[write->tile_count++] = id;
    err = write_note(write, GR_NOTE_TILE, sizeof *note + sizeof id, &note);
    if (err == GRANARY_OK) {
        note->chunk = chunk;
        memcpy(note + 1, &id, sizeof id);
    }
    return err;
}

/* ---- the commit ---- */

static granary_err
fail_final(const struct write *write, int64_t time)
{
    if (mutable_is_sealed(write->table->page.page)) {
        return table_fail_sealed(write->table);
    }
    return gr_fail(
        GRANARY_ESTATE,
        "time %lld is final, because a read was answered for %lld: write at a later time, or let it be moved "
        "forward",
        (long long)time, (long long)mutable_frontier(write->table->page.page));
}

static int64_t
later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The clock's, and not before what is final, or what this writer wrote last. */
static int64_t
take_time(const struct write *write)
{
    int64_t frontier = mutable_frontier(write->table->page.page);

    return later_of(later_of(table_clock(), write->writer->last_time),
                    frontier == INT64_MAX ? INT64_MAX : frontier + 1);
}

static granary_err
write_commit(struct write *write, int64_t *ret_time)
{
    const bool given = write->options->time != 0 && write->options->time != GRANARY_NOW;
    struct gr_mutable_slot **slots = write->slots == NULL ? write->few : write->slots;
    struct table_writer *writer = write->writer;
    int64_t time = given ? write->options->time : take_time(write);

    for (;;) {
        if (time == INT64_MAX) {
            return fail_final(write, time);
        }
        for (size_t i = 0; i < write->count; i++) {
            slots[i]->time = time;
        }
        if (lane_commit(write->table->page.page, writer->shared, writer->log.next, time)) {
            break;
        }
        if (given && !write->options->forward) {
            return fail_final(write, time);
        }
        time = take_time(write);
    }
    writer->last_time = given ? writer->last_time : time;
    if (ret_time != NULL) {
        *ret_time = time;
    }
    return GRANARY_OK;
}

/* Nothing of it was committed: its slots say nothing, and what it wrote is written over by the next one. */
static void
write_undo(struct write *write)
{
    struct gr_mutable_slot **slots = write->slots == NULL ? write->few : write->slots;
    struct rows_writer *rows = &write->writer->rows;
    struct slab_writer *slab = &write->writer->slab;

    for (size_t i = 0; i < write->count; i++) {
        slots[i]->what = 0;
    }
    for (size_t i = 0; i < write->tile_count; i++) {
        kept_unrefer(write->table->client, write->table->id, write->tiles[i]);
    }
    rows->rows = rows->number == write->chunk ? write->chunk_rows : 0;
    slab->used = slab->number == write->slab ? write->slab_used : 0;
}

granary_err
write_end(struct write *write, granary_err err, int64_t *ret_time)
{
    granary_mutable *table = write->table;

    err = err == GRANARY_OK ? write_commit(write, ret_time) : err;
    if (write->writer != NULL) {
        if (err != GRANARY_OK) {
            write_undo(write);
        }
        log_settle(&write->writer->log);
    }
    (void)pthread_mutex_unlock(&table->lock);
    free(write->slots);
    free(write->tiles);
    return table_told(table, err);
}
