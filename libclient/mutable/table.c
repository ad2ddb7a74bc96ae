/* Tables made, opened, closed and deleted. A table is an object with a name, and a page. */
#include "mutable/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/id.h"
#include "base/sized.h"
#include "data/arrow/arrow.h"
#include "data/caller.h"
#include "mutable/lane.h"

/* The metadata of a table's object begins like that of any frame; the name of its first column tells it from others. */
#define TABLE_MARK "granary mutable table 1"

/* ---- the object ---- */

/* The columns as a frame without rows, behind one of that name, which tells that it is a table. */
static granary_err
schema_frame(const granary_column *columns, size_t count, granary_frame **ret_frame)
{
    granary_column *all = calloc(count + 1, sizeof *all);
    granary_err err;

    if (all == NULL) {
        return gr_fail(GRANARY_ENOMEM, "table: out of memory");
    }
    all[0] = (granary_column){.name = TABLE_MARK, .dtype = GRANARY_NULLTYPE};
    for (size_t i = 0; i < count; i++) {
        all[i + 1] = (granary_column){.name = columns[i].name, .dtype = columns[i].dtype};
    }
    err = gr_caller_frame(all, count + 1, 0, ret_frame);
    free(all);
    return err;
}

static granary_err
schema_put(granary_client *client, granary_id id, const granary_frame *frame, int timeout_ms)
{
    const granary_object_options options = {.timeout_ms = timeout_ms};
    uint64_t data_size, meta_size;
    granary_buffer buffer;
    granary_err err = gr_arrow_measure(frame, &data_size, &meta_size);

    err = err == GRANARY_OK ? granary_object_create_with(client, id, data_size, meta_size, &options, &buffer) : err;
    if (err == GRANARY_OK) {
        gr_arrow_write(frame, buffer.data, buffer.meta);
        err = granary_object_seal(client, &buffer);
    }
    return err;
}

/* The columns behind the mark. Errors: ETYPE the object is no table */
static granary_err
schema_get(granary_client *client, const char *name, granary_id id, granary_view *ret_view, granary_frame **ret_schema)
{
    granary_frame *all = NULL, *schema = NULL;
    granary_view view;
    granary_err err = granary_object_get(client, id, 0, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_frame_open(&view, &all);
    if (err != GRANARY_OK || all->count < 2 || strcmp(all->columns[0].view.name, TABLE_MARK) != 0) {
        err = gr_fail(GRANARY_ETYPE, "'%s' is no mutable table", name);
    } else {
        schema = gr_frame_create(all->count - 1, 0);
        err = schema == NULL ? gr_fail(GRANARY_ENOMEM, "table '%s': out of memory", name) : GRANARY_OK;
    }
    for (size_t i = 1; err == GRANARY_OK && i < all->count; i++) {
        err = gr_frame_set_borrowed(schema, i - 1, all->columns[i].view.name, &all->columns[i].view);
    }
    granary_frame_close(all);
    if (err != GRANARY_OK) {
        gr_frame_destroy(schema);
        granary_object_release(client, &view);
        return err;
    }
    *ret_view = view;
    *ret_schema = schema;
    return GRANARY_OK;
}

/* ---- handles ---- */

static granary_err
table_open_id(granary_client *client, const char *name, granary_id id, granary_mutable **ret_table)
{
    granary_mutable *table = calloc(1, sizeof *table);
    granary_err err;

    if (table == NULL) {
        return gr_fail(GRANARY_ENOMEM, "table '%s': out of memory", name);
    }
    table->client = client;
    table->id = id;
    table->page.map.fd = -1;
    table->index = (struct index){.client = client, .table = id};
    (void)snprintf(table->name, sizeof table->name, "%s", name);
    (void)pthread_mutex_init(&table->lock, NULL);
    err = schema_get(client, name, id, &table->view, &table->schema);
    if (err == GRANARY_OK) {
        err = page_find(client, id, &table->page);
    }
    if (err != GRANARY_OK) {
        granary_mutable_close(table);
        return gr_fail_in(err, "table '%s'", name);
    }
    *ret_table = table;
    return GRANARY_OK;
}

granary_err
granary_mutable_open(granary_client *client, const char *name, granary_mutable **ret_table)
{
    granary_err err = gr_client_check(client);
    granary_id id;

    err = err == GRANARY_OK ? granary_name_get(client, name, &id) : err;
    if (err == GRANARY_ENOENT) {
        return gr_fail(GRANARY_ENOENT, "table '%s': there is none of that name", name);
    }
    return err == GRANARY_OK ? table_open_id(client, name, id, ret_table) : err;
}

granary_err
table_check_columns(const granary_mutable *table, const granary_column *columns, size_t count)
{
    const granary_frame *schema = table->schema;

    if (count != schema->count) {
        return gr_fail(GRANARY_ETYPE, "table '%s' has %zu columns, not %zu", table->name, schema->count, count);
    }
    for (size_t i = 0; i < count; i++) {
        const granary_column *ours = &schema->columns[i].view;

        if (columns[i].name == NULL || strcmp(columns[i].name, ours->name) != 0 || columns[i].dtype != ours->dtype) {
            return gr_fail(GRANARY_ETYPE, "table '%s': column %zu is '%s' of %s, not '%s' of %s", table->name, i,
                           ours->name, granary_dtype_name(ours->dtype), columns[i].name == NULL ? "" : columns[i].name,
                           granary_dtype_name(columns[i].dtype));
        }
    }
    return GRANARY_OK;
}

static granary_err
open_existing(granary_client *client, const char *name, const granary_column *columns, size_t count,
              granary_mutable **ret_table)
{
    granary_mutable *table = NULL;
    granary_err err = granary_mutable_open(client, name, &table);

    err = err == GRANARY_OK ? table_check_columns(table, columns, count) : err;
    if (err != GRANARY_OK) {
        granary_mutable_close(table);
        return err;
    }
    *ret_table = table;
    return GRANARY_OK;
}

/* The object and its page; the name comes last, and makes it a table. */
static granary_err
table_make(granary_client *client, const char *name, const granary_frame *schema, int timeout_ms)
{
    const granary_id id = granary_id_random();
    struct mutable_page page;
    granary_err err = page_take(client, id, &page);

    if (err != GRANARY_OK) {
        return err;
    }
    err = schema_put(client, id, schema, timeout_ms);
    if (err == GRANARY_OK) {
        page_share(&page);
        err = granary_name_set(client, name, id, GRANARY_NAME_NEW, (granary_id){{0}}, NULL);
        if (err != GRANARY_OK) {
            (void)granary_object_delete(client, id, 0);
        }
    }
    page_close(&page);
    return err;
}

granary_err
granary_mutable_create_frame_sized(granary_client *client, const char *name, const granary_column *columns,
                                   size_t count, const granary_mutable_options *theirs, granary_mutable **ret_table,
                                   size_t options_size)
{
    granary_mutable_options options;
    granary_frame *schema = NULL;
    granary_err err = gr_client_check(client);

    err = err == GRANARY_OK ? gr_sized_take(&options, sizeof options, theirs, options_size) : err;
    if (err == GRANARY_OK && (columns == NULL || count == 0)) {
        err = gr_fail(GRANARY_EINVAL, "table '%s': a table has columns", name);
    }
    err = err == GRANARY_OK ? schema_frame(columns, count, &schema) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    err = table_make(client, name, schema, options.timeout_ms);
    gr_frame_destroy(schema);
    if (err == GRANARY_EEXIST && (options.flags & GRANARY_MUTABLE_OPEN) != 0) {
        return open_existing(client, name, columns, count, ret_table);
    }
    if (err == GRANARY_EEXIST) {
        return gr_fail(GRANARY_EEXIST, "table '%s': the name is taken: choose another, or open it", name);
    }
    return err == GRANARY_OK ? granary_mutable_open(client, name, ret_table) : err;
}

void
granary_mutable_close(granary_mutable *table)
{
    if (table == NULL) {
        return;
    }
    if (table->writer != NULL) {
        rows_end(&table->writer->rows);
        slab_end(&table->writer->slab);
        log_end(&table->writer->log);
        free(table->writer);
    }
    index_free(&table->index);
    page_close(&table->page);
    gr_frame_destroy(table->schema);
    if (table->view.data != NULL) {
        granary_object_release(table->client, &table->view);
    }
    (void)pthread_mutex_destroy(&table->lock);
    free(table);
}

granary_err
granary_mutable_delete(granary_client *client, const char *name)
{
    granary_mutable *table = NULL;
    granary_id id;
    granary_err err = granary_mutable_open(client, name, &table);

    if (err != GRANARY_OK) {
        return err;
    }
    id = table->id;
    granary_mutable_close(table);
    /* Without its name it is gone; whoever binds that meanwhile keeps it. */
    err = granary_name_set(client, name, (granary_id){{0}}, GRANARY_NAME_ID, id, NULL);
    if (err == GRANARY_ESTATE) {
        return gr_fail(GRANARY_ENOENT, "table '%s': there is none of that name", name);
    }
    err = err == GRANARY_OK ? granary_object_delete(client, id, 0) : err;
    return err == GRANARY_OK || err == GRANARY_ENOENT ? kept_drop_all(client, id) : err;
}

const granary_frame *
granary_mutable_schema(const granary_mutable *table)
{
    return table->schema;
}

granary_err
table_check(const granary_mutable *table)
{
    granary_err err = gr_client_check(table->client);

    return err != GRANARY_OK || granary_object_contains(table->client, table->id)
               ? err
               : gr_fail(GRANARY_ESTATE, "table '%s' was deleted", table->name);
}

/* ---- times ---- */

int64_t
table_clock(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
