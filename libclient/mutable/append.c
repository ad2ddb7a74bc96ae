/* Rows appended: written into the lane's chunk, noted in its log, and committed at one time. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/sized.h"
#include "data/caller.h"
#include "mutable/lane.h"
#include "mutable/table.h"

/* One call. */
struct append {
    granary_mutable *table;
    struct table_writer *writer;
    const granary_column *columns;
    int64_t rows;
    int timeout_ms;
    /* What was there before, if it comes to nothing. */
    uint32_t chunk;
    uint32_t chunk_rows;
    /* The slots that will have its time. */
    struct gr_mutable_slot **slots;
    size_t count;
    size_t room;
};

/* ---- the writer ---- */

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
        err = log_begin(&writer->log, table->client, table->id, writer->shared, writer->lane, timeout_ms);
    }
    if (err != GRANARY_OK) {
        free(writer);
        return err;
    }
    table->writer = writer;
    return GRANARY_OK;
}

/* ---- rows ---- */

static granary_err
append_slot(struct append *append, struct gr_mutable_slot slot, bool timed)
{
    struct gr_mutable_slot *at;
    granary_err err;

    if (!gr_grow(&append->slots, &append->room, append->count, sizeof *append->slots)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = log_put(&append->writer->log, slot, &at);
    if (err == GRANARY_OK && timed) {
        append->slots[append->count++] = at;
    }
    return err;
}

/* A chunk for the rows from `from` on, and the numbers of its rows. */
static granary_err
append_chunk(struct append *append, int64_t from)
{
    struct table_writer *writer = append->writer;
    granary_mutable *table = append->table;
    const uint32_t chunk = atomic_load_explicit(&writer->shared->chunks, memory_order_relaxed);
    granary_err err;

    atomic_store_explicit(&writer->shared->chunks, chunk + 1, memory_order_relaxed);
    err = rows_begin(&writer->rows, table->client, table->id, writer->lane, chunk, table->schema, append->columns, from,
                     append->rows - from, append->timeout_ms);
    if (err != GRANARY_OK) {
        return err;
    }
    writer->rows.first = atomic_fetch_add(&table->page.page->rows, writer->rows.capacity);
    return append_slot(
        append,
        (struct gr_mutable_slot){.time = (int64_t)writer->rows.first,
                                 .what = GR_MUTABLE_WHAT(GR_MUTABLE_CHUNK, writer->rows.number, writer->rows.capacity)},
        false);
}

static granary_err
append_rows(struct append *append)
{
    struct rows_writer *rows = &append->writer->rows;
    granary_err err = GRANARY_OK;

    for (int64_t at = 0; err == GRANARY_OK && at < append->rows;) {
        uint32_t written = rows->columns == NULL ? 0 : rows_write(rows, append->columns, at, append->rows - at);

        if (written > 0) {
            at += written;
            err = append_slot(
                append, (struct gr_mutable_slot){.what = GR_MUTABLE_WHAT(GR_MUTABLE_APPEND, rows->number, rows->rows)},
                true);
        }
        if (err == GRANARY_OK && at < append->rows) {
            err = append_chunk(append, at);
        }
    }
    return err;
}

/* ---- the commit ---- */

static granary_err
fail_final(const granary_mutable *table, int64_t time)
{
    return gr_fail(
        GRANARY_ESTATE,
        "time %lld is final, because a read was answered for %lld: write at a later time, or let it be moved "
        "forward",
        (long long)time, (long long)mutable_frontier(table->page.page));
}

static int64_t
later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The clock's, and not before what is final, or what this writer wrote last. */
static int64_t
take_time(const struct append *append)
{
    int64_t frontier = mutable_frontier(append->table->page.page);

    return later_of(later_of(table_clock(), append->writer->last_time),
                    frontier == INT64_MAX ? INT64_MAX : frontier + 1);
}

static granary_err
append_commit(struct append *append, const granary_write_options *options, int64_t *ret_time)
{
    const bool given = options->time != 0 && options->time != GRANARY_NOW;
    struct table_writer *writer = append->writer;
    int64_t time = given ? options->time : take_time(append);

    for (;;) {
        for (size_t i = 0; i < append->count; i++) {
            append->slots[i]->time = time;
        }
        if (lane_commit(append->table->page.page, writer->shared, writer->log.next, time)) {
            break;
        }
        if (given && !options->forward) {
            return fail_final(append->table, time);
        }
        time = take_time(append);
        if (time == INT64_MAX) {
            return fail_final(append->table, time);
        }
    }
    writer->last_time = given ? writer->last_time : time;
    if (ret_time != NULL) {
        *ret_time = time;
    }
    return GRANARY_OK;
}

/* Nothing of it was committed: its slots say nothing, and its rows are written again by the next call. */
static void
append_undo(struct append *append)
{
    struct rows_writer *rows = &append->writer->rows;

    for (size_t i = 0; i < append->count; i++) {
        append->slots[i]->what = 0;
    }
    rows->rows = rows->number == append->chunk ? append->chunk_rows : 0;
}

/* ---- the call ---- */

static granary_err
columns_check(const granary_mutable *table, const granary_column *columns, size_t count, int64_t rows)
{
    granary_err err = table_check_columns(table, columns, count);

    if (err == GRANARY_OK && rows < 0) {
        err = gr_fail(GRANARY_EINVAL, "table '%s': %lld rows", table->name, (long long)rows);
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = gr_caller_check(&columns[i], i, rows);
    }
    return err == GRANARY_OK ? table_check(table) : err;
}

granary_err
granary_mutable_append_sized(granary_mutable *table, const granary_column *columns, size_t count, int64_t rows,
                             const granary_write_options *theirs, int64_t *ret_time, size_t options_size)
{
    struct append append = {.table = table, .columns = columns, .rows = rows};
    granary_write_options options;
    granary_err err = gr_sized_take(&options, sizeof options, theirs, options_size);

    if (err == GRANARY_OK && options.time == INT64_MAX) {
        err = gr_fail(GRANARY_EINVAL, "table '%s': the time is beyond all others", table->name);
    }
    err = err == GRANARY_OK ? columns_check(table, columns, count, rows) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    append.timeout_ms = options.timeout_ms;
    (void)pthread_mutex_lock(&table->lock);
    err = writer_open(table, options.timeout_ms);
    if (err == GRANARY_OK) {
        append.writer = table->writer;
        append.chunk = table->writer->rows.number;
        append.chunk_rows = table->writer->rows.rows;
        table->writer->log.timeout_ms = options.timeout_ms;
        err = append_rows(&append);
        err = err == GRANARY_OK ? append_commit(&append, &options, ret_time) : err;
        if (err != GRANARY_OK) {
            append_undo(&append);
        }
        log_settle(&table->writer->log);
    }
    (void)pthread_mutex_unlock(&table->lock);
    free(append.slots);
    return err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "table '%s'", table->name);
}
