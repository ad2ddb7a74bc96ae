/* Rows appended: written into the lane's chunk, and noted in its log. */
#include "mutable/frame/append.h"
#include "base/error.h"
#include "base/sized.h"
#include "data/caller.h"

static struct gr_mutable_slot
chunk_slot(const struct rows_writer *rows)
{
    return (struct gr_mutable_slot){.time = (int64_t)rows->first,
                                    .what = GR_MUTABLE_WHAT(GR_MUTABLE_CHUNK, rows->number, rows->capacity)};
}

/* A chunk for the rows from `from` on, and the numbers of its rows. */
static granary_err
append_chunk(struct write *write, const granary_column *columns, int64_t from, int64_t rows)
{
    struct table_writer *writer = write->writer;
    granary_mutable *table = write->table;
    const uint32_t chunk = atomic_load_explicit(&writer->shared->chunks, memory_order_relaxed);
    const struct gr_mutable_slot full = {.what =
                                             GR_MUTABLE_WHAT(GR_MUTABLE_FULL, writer->rows.number, writer->rows.rows)};
    const bool had_rows = writer->rows.columns != NULL && writer->rows.rows > 0;
    granary_err err;

    atomic_store_explicit(&writer->shared->chunks, chunk + 1, memory_order_relaxed);
    atomic_store_explicit(&writer->shared->open[GR_MUTABLE_ROWS], chunk + 1, memory_order_relaxed);
    err = rows_begin(&writer->rows, table->client, table->id, writer->lane, chunk, table->schema, columns, from,
                     rows - from, write->options->timeout_ms);
    if (err != GRANARY_OK) {
        return err;
    }
    writer->rows.first = atomic_fetch_add(&table->page.page->rows, writer->rows.capacity);
    err = had_rows ? write_slot(write, full, false) : GRANARY_OK;
    err = err == GRANARY_OK ? write_slot(write, chunk_slot(&writer->rows), false) : err;
    if (err != GRANARY_OK) {
        rows_end(&writer->rows); /* readers are not told of it */
    }
    return err;
}

granary_err
append_rows(struct write *write, const granary_column *columns, int64_t rows)
{
    struct rows_writer *to = &write->writer->rows;
    granary_err err = GRANARY_OK;

    for (int64_t at = 0; err == GRANARY_OK && at < rows;) {
        uint32_t written = to->columns == NULL ? 0 : rows_write(to, columns, at, rows - at);

        if (written > 0) {
            at += written;
            err = write_slot(write,
                             (struct gr_mutable_slot){.what = GR_MUTABLE_WHAT(GR_MUTABLE_APPEND, to->number, to->rows)},
                             true);
        }
        if (err == GRANARY_OK && at < rows) {
            err = append_chunk(write, columns, at, rows);
        }
    }
    return err;
}

static granary_err
columns_check(const granary_mutable *table, const granary_column *columns, size_t count, int64_t rows)
{
    granary_err err = table_check_columns(table, columns, count);

    if (err == GRANARY_OK && rows < 0) {
        err = gr_fail(GRANARY_EINVAL, "%lld rows cannot be appended", (long long)rows);
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = gr_caller_check_values(&columns[i], rows);
    }
    return err;
}

granary_err
granary_mutable_append_sized(granary_mutable *table, const granary_column *columns, size_t count, int64_t rows,
                             const granary_write_options *theirs, int64_t *ret_time, size_t options_size)
{
    granary_write_options options;
    struct write write;
    granary_err err = gr_sized_take(&options, sizeof options, theirs, options_size);

    err = err == GRANARY_OK ? columns_check(table, columns, count, rows) : err;
    if (err != GRANARY_OK) {
        return table_told(table, err);
    }
    err = write_begin(&write, table, &options);
    err = err == GRANARY_OK ? append_rows(&write, columns, rows) : err;
    return write_end(&write, err, ret_time);
}
