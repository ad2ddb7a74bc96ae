/* Tables made, opened, closed and deleted. A table is an object with a name, and a page. */
#include "mutable/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/id.h"
#include "base/sized.h"
#include "mutable/core/lane.h"
#include "mutable/marked.h"
#include "mutable/sealed.h"
#include "mutable/tensor/shape.h"
#include "mutable/write.h"

/* The metadata of a table's object begins like that of any frame; the name of its first column tells it from others. */
#define TABLE_MARK  "granary mutable table 1"
#define TENSOR_MARK "granary mutable tensor 1"

/* ---- handles ---- */

/* Why an object is no mutable table. */
static granary_err
not_mutable(granary_client *client, granary_id id)
{
    struct sealed_parts parts = {.count = 0};
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(id, text);
    if (sealed_get(client, id, SEALED_MARK, &parts) != GRANARY_OK) {
        return gr_fail(GRANARY_ETYPE, "the name is of object %s, which is no table", text);
    }
    sealed_free(&parts);
    return gr_fail(GRANARY_ESEALED, "it was sealed, as object %s: it can be read, and does not change any more", text);
}

/* The object that the table is. Errors: ETYPE, ESEALED it is no mutable table */
static granary_err
schema_get(granary_mutable *table)
{
    granary_err err = marked_get(table->client, table->id, TABLE_MARK, &table->view, &table->schema);

    if (err != GRANARY_ETYPE) {
        return err;
    }
    err = marked_get(table->client, table->id, TENSOR_MARK, &table->view, &table->schema);
    if (err == GRANARY_ETYPE) {
        return not_mutable(table->client, table->id);
    }
    table->tensor = err == GRANARY_OK ? calloc(1, sizeof *table->tensor) : NULL;
    if (err == GRANARY_OK) {
        err =
            table->tensor == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : shape_read(table->schema, table->tensor);
    }
    return err;
}

granary_err
table_new(granary_client *client, const char *name, granary_id id, granary_mutable **ret_table)
{
    granary_mutable *table = calloc(1, sizeof *table);

    if (table == NULL) {
        return gr_fail(GRANARY_ENOMEM, "table '%s': out of memory", name);
    }
    table->client = client;
    table->id = id;
    table->page.map.fd = -1;
    index_init(&table->index, client, id);
    (void)snprintf(table->name, sizeof table->name, "%s", name);
    (void)pthread_mutex_init(&table->lock, NULL);
    *ret_table = table;
    return GRANARY_OK;
}

static granary_err
table_open_id(granary_client *client, const char *name, granary_id id, granary_mutable **ret_table)
{
    granary_mutable *table = NULL;
    granary_err err = table_new(client, name, id, &table);

    if (err != GRANARY_OK) {
        return err;
    }
    err = schema_get(table);
    err = err == GRANARY_OK ? page_find(client, id, &table->page) : err;
    if (err == GRANARY_OK && mutable_is_sealed(table->page.page)) { /* by somebody who died before it was done */
        err = table_finish_seal(table);
        err = err == GRANARY_OK ? table_fail_sealed(table) : err;
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
table_check_frame(const granary_mutable *table)
{
    return table->tensor == NULL ? GRANARY_OK : gr_fail(GRANARY_ETYPE, "'%s' is a tensor, no frame", table->name);
}

granary_err
table_check_tensor(const granary_mutable *table)
{
    return table->tensor != NULL ? GRANARY_OK : gr_fail(GRANARY_ETYPE, "'%s' is a frame, no tensor", table->name);
}

granary_err
table_check_columns(const granary_mutable *table, const granary_column *columns, size_t count)
{
    const granary_frame *schema = table->schema;
    granary_err err = table_check_frame(table);

    if (err != GRANARY_OK) {
        return err;
    }
    if (count != schema->count) {
        return gr_fail(GRANARY_ETYPE, "table '%s' has %zu columns, not %zu", table->name, schema->count, count);
    }
    for (size_t i = 0; i < count; i++) {
        const granary_column *ours = &schema->columns[i].view;

        if (columns[i].dtype != ours->dtype || columns[i].name == NULL ||
            (columns[i].name != ours->name && strcmp(columns[i].name, ours->name) != 0)) {
            return gr_fail(GRANARY_ETYPE, "table '%s': column %zu is '%s' of %s, not '%s' of %s", table->name, i,
                           ours->name, granary_dtype_name(ours->dtype), columns[i].name == NULL ? "" : columns[i].name,
                           granary_dtype_name(columns[i].dtype));
        }
    }
    return GRANARY_OK;
}

/* The columns without rows. */
static granary_err
schema_frame(const granary_column *columns, size_t count, granary_frame **ret_frame)
{
    granary_column *bare = calloc(count, sizeof *bare);
    granary_err err;

    if (bare == NULL) {
        return gr_fail(GRANARY_ENOMEM, "table: out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        bare[i] = (granary_column){.name = columns[i].name, .dtype = columns[i].dtype};
    }
    err = marked_frame(TABLE_MARK, bare, count, 0, ret_frame);
    free(bare);
    return err;
}

/* The object and its page; the name comes last, and makes it a table. */
static granary_err
table_make(granary_client *client, const char *name, const granary_frame *schema, int timeout_ms)
{
    const granary_object_options options = {.timeout_ms = timeout_ms};
    const granary_id id = granary_id_random();
    struct mutable_page page;
    granary_err err = page_take(client, id, &page);

    if (err != GRANARY_OK) {
        return err;
    }
    err = frame_store(client, id, schema, &options);
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

/* A table as somebody wants it. */
struct wanted {
    const granary_column *columns;
    size_t count;
    const struct tensor_shape *tensor; /* NULL: a frame of these columns */
};

static granary_err
check_wanted(const granary_mutable *table, const struct wanted *wanted)
{
    granary_err err;

    if (wanted->tensor == NULL) {
        return table_check_columns(table, wanted->columns, wanted->count);
    }
    err = table_check_tensor(table);
    return err != GRANARY_OK || shape_equal(wanted->tensor, table->tensor)
               ? err
               : gr_fail(GRANARY_ETYPE, "tensor '%s' has another dtype, shape, chunks or fill", table->name);
}

static granary_err
open_existing(granary_client *client, const char *name, const struct wanted *wanted, granary_mutable **ret_table)
{
    granary_mutable *table = NULL;
    granary_err err = granary_mutable_open(client, name, &table);

    err = err == GRANARY_OK ? check_wanted(table, wanted) : err;
    if (err != GRANARY_OK) {
        granary_mutable_close(table);
        return err;
    }
    *ret_table = table;
    return GRANARY_OK;
}

/* schema is destroyed. */
static granary_err
table_create(granary_client *client, const char *name, granary_frame *schema, const struct wanted *wanted,
             const granary_mutable_options *options, granary_mutable **ret_table)
{
    granary_err err = table_make(client, name, schema, options->timeout_ms);

    gr_frame_destroy(schema);
    if (err == GRANARY_EEXIST && (options->flags & GRANARY_MUTABLE_OPEN) != 0) {
        return open_existing(client, name, wanted, ret_table);
    }
    if (err == GRANARY_EEXIST) {
        return gr_fail(GRANARY_EEXIST, "table '%s': the name is taken: choose another, or open it", name);
    }
    return err == GRANARY_OK ? granary_mutable_open(client, name, ret_table) : err;
}

granary_err
granary_mutable_create_frame_sized(granary_client *client, const char *name, const granary_column *columns,
                                   size_t count, const granary_mutable_options *theirs, granary_mutable **ret_table,
                                   size_t options_size)
{
    const struct wanted wanted = {.columns = columns, .count = count};
    granary_mutable_options options;
    granary_frame *schema = NULL;
    granary_err err = gr_client_check(client);

    err = err == GRANARY_OK ? gr_sized_take(&options, sizeof options, theirs, options_size) : err;
    if (err == GRANARY_OK && (columns == NULL || count == 0)) {
        err = gr_fail(GRANARY_EINVAL, "table '%s': a table has columns", name);
    }
    err = err == GRANARY_OK ? schema_frame(columns, count, &schema) : err;
    return err == GRANARY_OK ? table_create(client, name, schema, &wanted, &options, ret_table) : err;
}

granary_err
granary_mutable_create_tensor_sized(granary_client *client, const char *name,
                                    const granary_mutable_tensor *their_tensor,
                                    const granary_mutable_options *their_options, granary_mutable **ret_table,
                                    size_t tensor_size, size_t options_size)
{
    struct tensor_shape shape;
    const struct wanted wanted = {.tensor = &shape};
    granary_mutable_tensor tensor;
    granary_mutable_options options;
    granary_frame *schema = NULL;
    granary_err err = gr_client_check(client);

    err = err == GRANARY_OK ? gr_sized_take(&tensor, sizeof tensor, their_tensor, tensor_size) : err;
    err = err == GRANARY_OK ? gr_sized_take(&options, sizeof options, their_options, options_size) : err;
    err = err == GRANARY_OK ? shape_plan(&tensor, &shape) : err;
    err = err == GRANARY_OK ? shape_frame(&shape, TENSOR_MARK, &schema) : err;
    return err == GRANARY_OK ? table_create(client, name, schema, &wanted, &options, ret_table)
                             : gr_fail_in(err, "tensor '%s'", name);
}

void
granary_mutable_close(granary_mutable *table)
{
    if (table == NULL) {
        return;
    }
    writer_close(table);
    index_free(&table->index);
    page_close(&table->page);
    gr_frame_destroy(table->schema);
    free(table->tensor);
    if (table->view.data != NULL) {
        granary_object_release(table->client, &table->view);
    }
    (void)pthread_mutex_destroy(&table->lock);
    free(table);
}

/* Without its name it is gone; whoever binds that meanwhile keeps it. */
static granary_err
table_drop(granary_client *client, const char *name, granary_id id)
{
    granary_err err = granary_name_set(client, name, (granary_id){{0}}, GRANARY_NAME_ID, id, NULL);

    if (err == GRANARY_ESTATE) {
        return gr_fail(GRANARY_ENOENT, "table '%s': there is none of that name", name);
    }
    err = err == GRANARY_OK ? granary_object_delete(client, id, 0) : err;
    return err == GRANARY_OK || err == GRANARY_ENOENT ? kept_drop_all(client, id) : err;
}

granary_err
granary_mutable_delete(granary_client *client, const char *name)
{
    granary_mutable *table = NULL;
    granary_id id;
    granary_err err = granary_mutable_open(client, name, &table);

    if (err == GRANARY_ESEALED) {
        err = granary_name_get(client, name, &id);
        return err == GRANARY_OK ? table_drop(client, name, id) : err;
    }
    if (err == GRANARY_OK) {
        err = table_drop(client, name, table->id);
        mutable_ring(table->page.page);
        granary_mutable_close(table);
    }
    return err;
}

const granary_frame *
granary_mutable_schema(const granary_mutable *table)
{
    return table->tensor == NULL ? table->schema : NULL;
}

granary_err
granary_mutable_shape_sized(const granary_mutable *table, granary_mutable_tensor *ret_tensor, size_t tensor_size)
{
    granary_err err = table_check_tensor(table);
    granary_mutable_tensor tensor = {.dims = 0};

    if (err == GRANARY_OK) {
        tensor.dtype = table->tensor->dtype;
        tensor.dims = table->tensor->dims;
        memcpy(tensor.shape, table->tensor->shape, sizeof tensor.shape);
        memcpy(tensor.chunk, table->tensor->chunk, sizeof tensor.chunk);
        gr_sized_give(ret_tensor, tensor_size, &tensor, sizeof tensor);
    }
    return err;
}

granary_err
table_check(const granary_mutable *table)
{
    granary_err err = gr_client_check(table->client);

    if (table_is_fixed(table)) {
        return err;
    }
    err = err == GRANARY_OK && mutable_is_sealed(table->page.page) ? table_fail_sealed(table) : err;
    return err != GRANARY_OK || granary_object_contains(table->client, table->id)
               ? err
               : gr_fail(GRANARY_ESTATE, "table '%s' was deleted", table->name);
}

granary_err
table_fail_sealed(const granary_mutable *table)
{
    char text[GRANARY_ID_TEXT + 1];

    granary_id_format(table_is_fixed(table) ? table->id : table_sealed_id(table), text);
    return gr_fail(GRANARY_ESEALED, "it was sealed, as object %s: it can be read, and does not change any more", text);
}

granary_id
table_sealed_id(const granary_mutable *table)
{
    return kept_id(table->id, GR_MUTABLE_SEALED, 0, 0);
}

granary_err
table_told(const granary_mutable *table, granary_err err)
{
    return err == GRANARY_OK ? err
                             : gr_fail_in(err, "%s '%s'", table->tensor != NULL ? "tensor" : "table", table->name);
}

/* ---- times ---- */

int64_t
table_clock(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
