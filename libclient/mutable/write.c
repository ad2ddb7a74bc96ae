/* Writes of a lane: its writer is made by the first, and commits each by lane_commit(). */
#include "mutable/write.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "mutable/core/lane.h"
#include "mutable/read.h"

#define BLOCKS_MOST 4096u /* of a log that a writer looks at which its predecessor has left */

/* ---- the writer ---- */

/* Whether what was committed in a lane, which is known, needs a chunk of rows or a slab of it. */
static bool
lane_needs(const granary_mutable *table, const struct table_writer *writer, enum gr_mutable_object kind,
           uint32_t number)
{
    const struct index *index = &table->index;
    bool needs = false;

    for (size_t i = 0; !needs && kind == GR_MUTABLE_ROWS && i < index->count; i++) {
        needs = index->chunks[i].lane == writer->lane && index->chunks[i].number == number && index->chunks[i].end > 0;
    }
    for (size_t i = 0; !needs && kind == GR_MUTABLE_SLAB && i < index->note_count; i++) {
        needs = index->notes[i].lane == writer->lane && index->notes[i].slab == number;
    }
    return needs;
}

/* An object of the lane in which nothing was committed goes, if it is there. */
static void
lane_drop(const granary_mutable *table, const struct table_writer *writer, enum gr_mutable_object kind, uint32_t number)
{
    const granary_id id = kept_id(table->id, kind, writer->lane, number);

    if (granary_object_contains(table->client, id)) {
        kept_unrefer(table->client, table->id, id);
    }
}

/* The number, + 1, of the last block of the log in which something was committed. */
static uint64_t
blocks_needed(const struct table_writer *writer)
{
    const uint64_t count = GR_LANE_COUNT(atomic_load(&writer->shared->word));

    return count == 0 ? 0 : (count - 1) / GR_LOG_SLOTS + 1;
}

/* Blocks of the log that nobody writes any more, from the one that was open down: those behind what was committed go. */
static void
blocks_leave(const granary_mutable *table, const struct table_writer *writer)
{
    const uint64_t needed = blocks_needed(writer);
    const uint32_t open = atomic_exchange(&writer->shared->open[GR_MUTABLE_LOG], 0);

    for (uint32_t i = open; i > needed && open - i < BLOCKS_MOST; i--) {
        lane_drop(table, writer, GR_MUTABLE_LOG, i - 1);
    }
}

/* What the lane's last writer, which was killed, has left open: nobody writes it any more, and what nothing was committed
 * in goes. */
static void
writer_inherit(granary_mutable *table, const struct table_writer *writer)
{
    const uint64_t needed = blocks_needed(writer);

    for (int kind = GR_MUTABLE_ROWS; kind <= GR_MUTABLE_SLAB; kind++) {
        const uint32_t open = atomic_exchange(&writer->shared->open[kind], 0);
        const bool known = open > 0 && table_look(table) == GRANARY_OK;

        /* It may have been about to leave the one before. */
        for (uint32_t i = open; i > 0 && i + 1 >= open; i--) {
            const granary_id id = kept_id(table->id, (enum gr_mutable_object)kind, writer->lane, i - 1);

            kept_let_leave(table->client, id);
            if (known && !lane_needs(table, writer, (enum gr_mutable_object)kind, i - 1)) {
                lane_drop(table, writer, (enum gr_mutable_object)kind, i - 1);
            }
        }
    }
    for (uint64_t i = needed; atomic_load(&writer->shared->open[GR_MUTABLE_LOG]) > 0 && i > 0 && i + 1 >= needed; i--) {
        kept_let_leave(table->client, kept_id(table->id, GR_MUTABLE_LOG, writer->lane, i - 1));
    }
    blocks_leave(table, writer);
}

/* An object of a kind is written no more. One that has nothing committed goes. */
static void
writer_leave(const granary_mutable *table, const struct table_writer *writer, enum gr_mutable_object kind, bool needed)
{
    const uint32_t open = atomic_exchange(&writer->shared->open[kind], 0);

    if (open > 0 && !needed) {
        lane_drop(table, writer, kind, open - 1);
    }
}

/* Lane and objects, given back. */
static void
writer_end(granary_mutable *table)
{
    struct table_writer *writer = table->writer;
    const bool has_rows = writer->rows.rows > 0, has_notes = writer->slab.used > 0;

    rows_end(&writer->rows);
    slab_end(&writer->slab);
    log_end(&writer->log);
    writer_leave(table, writer, GR_MUTABLE_ROWS, has_rows);
    writer_leave(table, writer, GR_MUTABLE_SLAB, has_notes);
    blocks_leave(table, writer);
}

void
writer_close(granary_mutable *table)
{
    if (table->writer == NULL) {
        return;
    }
    if (gr_client_check(table->client) == GRANARY_OK) {
        writer_end(table);
    } else { /* a child's copy: all but its memory is the parent's, which writes on */
        free(table->writer->rows.columns);
        free(table->writer->log.before);
    }
    free(table->writer);
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

/* A write with a token is the only such write until it ends, and knows whether it was done before. */
static granary_err
write_enter_token(struct write *write)
{
    const uint64_t token = GR_MUTABLE_WHAT_TOKEN(write->options->token);
    granary_err err = page_enter(&write->table->page, GR_MUTABLE_LOCK_TOKEN);

    write->has_token = err == GRANARY_OK;
    err = err == GRANARY_OK ? table_look(write->table) : err;
    if (err == GRANARY_OK && index_find_token(&write->table->index, token, &write->done_time)) {
        write->is_done = true;
        return gr_fail(GRANARY_EEXIST, "it was written before");
    }
    return err == GRANARY_OK
               ? write_slot(write, (struct gr_mutable_slot){.what = (uint64_t)GR_MUTABLE_TOKEN << 60 | token}, true)
               : err;
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
    err = err == GRANARY_OK ? keeper_begin_write(table) : err;
    err = err == GRANARY_OK ? writer_open(table, options->timeout_ms) : err;
    if (err == GRANARY_OK) {
        write->writer = table->writer;
        write->chunk = table->writer->rows.number;
        write->chunk_rows = table->writer->rows.rows;
        write->slab = table->writer->slab.number;
        write->slab_used = table->writer->slab.used;
        table->writer->log.timeout_ms = options->timeout_ms;
    }
    return err == GRANARY_OK && options->token != 0 ? write_enter_token(write) : err;
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

/* The next object of the lane, which contains others. Unlike what kept_create() makes, it is not written any more once it
 * is sealed. */
static granary_err
tile_create(struct write *write, uint64_t size, const granary_id *contains, size_t count, uint32_t *ret_number,
            granary_buffer *ret_buffer)
{
    struct table_writer *writer = write->writer;
    const uint32_t number = atomic_load_explicit(&writer->shared->chunks, memory_order_relaxed);
    const granary_object_options options = {
        .counted = true, .timeout_ms = write->options->timeout_ms, .contains = contains, .contains_count = count};

    *ret_number = number;
    atomic_store_explicit(&writer->shared->chunks, number + 1, memory_order_relaxed);
    return granary_object_create_with(write->table->client,
                                      kept_id(write->table->id, GR_MUTABLE_TILE, writer->lane, number), size, 0,
                                      &options, ret_buffer);
}

granary_err
write_tile_create(struct write *write, uint64_t size, granary_buffer *ret_buffer)
{
    uint32_t number;

    return tile_create(write, size, NULL, 0, &number, ret_buffer);
}

/* The table gets a reference to an object, which goes again with the write. */
static granary_err
write_refer(struct write *write, granary_id id)
{
    granary_err err;

    if (!gr_grow(&write->tiles, &write->tile_room, write->tile_count, sizeof id)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = kept_refer(write->table->client, write->table->id, id);
    if (err == GRANARY_OK) {
        write->tiles[write->tile_count++] = id;
    }
    return err;
}

/* holder: the number of the object that contains it, + 1; 0: the table refers to it */
static granary_err
write_tile_note(struct write *write, uint64_t chunk, granary_id id, uint64_t holder)
{
    struct gr_mutable_note *note;
    granary_err err = write_note(write, GR_NOTE_TILE, sizeof *note + sizeof id, &note);

    if (err == GRANARY_OK) {
        note->chunk = chunk;
        note->points = holder;
        memcpy(note + 1, &id, sizeof id);
    }
    return err;
}

granary_err
write_tile(struct write *write, uint64_t chunk, granary_id id)
{
    granary_err err = write_refer(write, id);

    return err == GRANARY_OK ? write_tile_note(write, chunk, id, 0) : err;
}

granary_err
write_tiles(struct write *write, const uint64_t *chunks, const granary_id *ids, size_t count)
{
    granary_client *client = write->table->client;
    granary_buffer buffer;
    uint32_t number;
    granary_err err = tile_create(write, 0, ids, count, &number, &buffer);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_object_seal(client, &buffer);
    err = err == GRANARY_OK ? write_refer(write, buffer.id) : err;
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = write_tile_note(write, chunks[i], ids[i], (uint64_t)number + 1);
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
    uint64_t position = KEEPER_ANY; /* where one is that was done before, nobody knows */

    err = err == GRANARY_OK ? write_commit(write, ret_time) : err;
    if (err == GRANARY_OK) {
        position = write->writer->log.next - 1;
    }
    if (write->writer != NULL) {
        if (err != GRANARY_OK) {
            write_undo(write);
        }
        log_settle(&write->writer->log);
    }
    if (write->has_token) {
        page_leave(&table->page, GR_MUTABLE_LOCK_TOKEN);
    }
    if (write->is_done && err == GRANARY_EEXIST) {
        err = GRANARY_OK;
        if (ret_time != NULL) {
            *ret_time = write->done_time;
        }
    }
    (void)pthread_mutex_unlock(&table->lock);
    err = err == GRANARY_OK ? keeper_end_write(table, position) : err;
    free(write->slots);
    free(write->tiles);
    return table_told(table, err);
}
