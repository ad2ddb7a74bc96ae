/* Snapshots for graphs, and their results appended. */
#include "mutable/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "data/caller.h"
#include "mutable/core/kept.h"
#include "mutable/frame/append.h"
#include "mutable/snapshot.h"

/* ---- the snapshot of a graph ---- */

/* Who keeps it: no more than one graph reads it. */
#define READER "graph"

granary_err
source_snapshot(granary_mutable *table, int64_t time, granary_id *ret_snapshot)
{
    granary_err err = table_check_frame(table);

    *ret_snapshot = granary_id_random();
    return table_told(table, err == GRANARY_OK ? snapshot_as(table, time, *ret_snapshot, true) : err);
}

granary_err
source_keep(granary_client *client, granary_id snapshot)
{
    return granary_reference(client, snapshot, READER, NULL);
}

granary_err
source_end(granary_client *client, granary_id snapshot)
{
    /* Deleted first: who keeps it in between is one of those that end here, and who comes later finds nothing. */
    granary_err err = granary_object_delete(client, snapshot, 0);

    do { /* who was interrupted has kept it more than once */
        err = err == GRANARY_OK || err == GRANARY_ENOENT ? granary_unreference(client, snapshot, READER) : err;
    } while (err == GRANARY_OK);
    return err == GRANARY_ENOENT ? GRANARY_OK : err;
}

/* ---- read ---- */

/* Whether a table is the one that was meant, as it was. One that was sealed since does not tell of times any more. */
static granary_err
check_meant(const granary_mutable *table, const struct source *source)
{
    if (gr_id_is_zero(source->table) || gr_id_equal(table->id, source->table)) {
        return GRANARY_OK;
    }
    return gr_id_equal(table->id, kept_id(source->table, GR_MUTABLE_SEALED, 0, 0))
               ? gr_fail(GRANARY_ESTATE, "table '%s': it was sealed after the graph was submitted: submit it again",
                         source->name)
               : gr_fail(GRANARY_ENOENT, "table '%s': it was deleted, and another one has the name", source->name);
}

/* The snapshot that nobody made, or whose maker has died. */
static granary_err
make_snapshot(granary_client *client, const struct source *source)
{
    granary_mutable *table = NULL;
    granary_err err = granary_table_open(client, source->name, &table);

    if (err != GRANARY_OK) {
        return err;
    }
    err = check_meant(table, source);
    err = err == GRANARY_OK ? table_check_frame(table) : err;
    if (err == GRANARY_OK) {
        err = snapshot_as(table, source->time, source->snapshot, true);
        err = err == GRANARY_OK || err == GRANARY_EEXIST ? GRANARY_OK : table_told(table, err);
    }
    granary_mutable_close(table);
    return err;
}

granary_err
source_parts(granary_client *client, const struct source *source, granary_id **ret_parts, size_t *ret_count)
{
    granary_err err = source_keep(client, source->snapshot);

    if (err == GRANARY_ENOENT) {
        err = make_snapshot(client, source);
        err = err == GRANARY_OK ? source_keep(client, source->snapshot) : err;
    }
    return err == GRANARY_OK ? granary_sealed_parts(client, source->snapshot, ret_parts, ret_count) : err;
}

/* ---- appended ---- */

/* The columns of a frame in the table's order. */
static granary_err
columns_in_order(const granary_mutable *table, const granary_frame *frame, granary_column *columns)
{
    const granary_frame *schema = table->schema;

    for (size_t i = 0; i < schema->count; i++) {
        const granary_column *ours = &schema->columns[i].view;
        size_t at = 0;

        while (at < frame->count && strcmp(frame->columns[at].view.name, ours->name) != 0) {
            at++;
        }
        if (at == frame->count) {
            return gr_fail(GRANARY_ETYPE, "table '%s': the rows have no column '%s'", table->name, ours->name);
        }
        columns[i] = frame->columns[at].view;
    }
    return table_check_columns(table, columns, frame->count);
}

static granary_err
append_frame(struct write *write, const granary_frame *frame, granary_column *columns)
{
    granary_frame *plain = NULL;
    granary_err err = gr_frame_decode(frame, &plain);

    err = err == GRANARY_OK ? columns_in_order(write->table, plain, columns) : err;
    err = err == GRANARY_OK ? append_rows(write, columns, frame->rows) : err;
    gr_frame_destroy(plain);
    return err;
}

granary_err
source_append(granary_mutable *table, const granary_frame *const *frames, size_t count,
              const granary_write_options *options, int64_t *ret_time)
{
    granary_column *columns = NULL;
    struct write write;
    granary_err err = table_check_frame(table);

    if (err == GRANARY_OK) {
        columns = calloc(table->schema->count, sizeof *columns);
        err = columns == NULL ? gr_fail(GRANARY_ENOMEM, "table '%s': out of memory", table->name) : GRANARY_OK;
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = columns_in_order(table, frames[i], columns);
    }
    if (err == GRANARY_OK) {
        err = write_begin(&write, table, options);
        for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
            err = append_frame(&write, frames[i], columns);
        }
        err = write_end(&write, err, ret_time);
    }
    free(columns);
    return err;
}
