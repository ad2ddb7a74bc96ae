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
#include "mutable/durable/flush.h"
#include "mutable/durable/restore.h"
#include "mutable/history.h"
#include "mutable/marked.h"
#include "mutable/sealed.h"
#include "mutable/tensor/shape.h"
#include "mutable/write.h"

/* The metadata of a table's object begins like that of any frame; the name of its first column tells it from others. */
#define TABLE_MARK  "granary mutable table 1"
#define TENSOR_MARK "granary mutable tensor 1"

#define MESSAGE_MOST 1024 /* bytes of an error's message, with its NUL */

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
    return err == GRANARY_OK ? table_set_shape(table) : err;
}

granary_err
table_set_shape(granary_mutable *table)
{
    granary_err err;

    table->tensor = calloc(1, sizeof *table->tensor);
    err = table->tensor == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : shape_read(table->schema, table->tensor);
    table->index.tiles = err == GRANARY_OK ? table->tensor->chunks : 0;
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
    index_init(&table->index, client, id, 0);
    (void)snprintf(table->name, sizeof table->name, "%s", name);
    (void)pthread_mutex_init(&table->lock, NULL);
    (void)pthread_mutex_init(&table->flush_lock, NULL);
    keeper_init(&table->keeper);
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
    err = err == GRANARY_OK ? table_finish_restore(table) : err;
    if (err == GRANARY_OK) {
        keeper_begin(table);
    }
    if (err != GRANARY_OK) {
        granary_mutable_close(table);
        return gr_fail_in(err, "table '%s'", name);
    }
    *ret_table = table;
    return GRANARY_OK;
}

/* What a name is bound to, of a table that only the disk knows, too. */
static granary_err
name_get(granary_client *client, const char *name, granary_id *ret_id)
{
    granary_err err = granary_name_get(client, name, ret_id);

    if (err == GRANARY_ENOENT) {
        err = durable_restore(client, name);
        err = err == GRANARY_OK ? granary_name_get(client, name, ret_id) : err;
    }
    return err == GRANARY_ENOENT ? gr_fail(GRANARY_ENOENT, "table '%s': there is none of that name", name) : err;
}

/* Who seals or replaces it meanwhile binds the name to another object, and deletes the one that was found. */
granary_err
granary_mutable_open(granary_client *client, const char *name, granary_mutable **ret_table)
{
    granary_err err = gr_client_check(client);
    granary_id id, opened;

    err = err == GRANARY_OK ? name_get(client, name, &id) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    do {
        opened = id;
        err = table_open_id(client, name, opened, ret_table);
    } while (err == GRANARY_ENOENT && name_get(client, name, &id) == GRANARY_OK && !gr_id_equal(id, opened));
    return err;
}

granary_err
granary_mutable_recover(granary_client *client, const char *name)
{
    granary_err err = gr_client_check(client);

    return err == GRANARY_OK ? durable_recover(client, name) : err;
}

granary_err
granary_mutable_flush(granary_mutable *table)
{
    granary_err err = table_is_fixed(table) ? table_fail_sealed(table) : table_check(table);

    if (err == GRANARY_OK && !table_is_durable(table)) {
        err = gr_fail(GRANARY_EUNSUPPORTED, "it is not durable: it lives as long as the instance");
    }
    return table_told(table, err == GRANARY_OK ? table_flush(table) : err);
}

granary_err
table_check_frame(const granary_mutable *table)
{
    return table->tensor == NULL ? GRANARY_OK : gr_fail(GRANARY_ETYPE, "it is a tensor, no frame");
}

granary_err
table_check_tensor(const granary_mutable *table)
{
    return table->tensor != NULL ? GRANARY_OK : gr_fail(GRANARY_ETYPE, "it is a frame, no tensor");
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
        return gr_fail(GRANARY_ETYPE, "it has %zu columns, not %zu", schema->count, count);
    }
    for (size_t i = 0; i < count; i++) {
        const granary_column *ours = &schema->columns[i].view;

        if (columns[i].dtype != ours->dtype || columns[i].name == NULL ||
            (columns[i].name != ours->name && strcmp(columns[i].name, ours->name) != 0)) {
            return gr_fail(GRANARY_ETYPE, "column %zu is '%s' of %s, not '%s' of %s", i, ours->name,
                           granary_dtype_name(ours->dtype), columns[i].name == NULL ? "" : columns[i].name,
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
        if (gr_dtype_is_list(columns[i].dtype)) {
            free(bare);
            return gr_fail(
                GRANARY_EUNSUPPORTED,
                "column '%s' is %s: tables that change have no lists; explode it, or keep the rows as a table "
                "that does not change (granary sql --keep NAME)",
                columns[i].name == NULL ? "" : columns[i].name, granary_dtype_name(columns[i].dtype));
        }
    }
    err = marked_frame(TABLE_MARK, bare, count, 0, ret_frame);
    free(bare);
    return err;
}

/* A table that has not got its name. */
static void
table_forget(granary_client *client, granary_id id)
{
    if (granary_object_contains(client, id)) { /* the message stays */
        (void)granary_object_delete(client, id, 0);
    }
}

/* The root of a durable table, with what its object is. Errors: as root_put(), granary_object_get() */
static granary_err
table_put_root(granary_client *client, const char *name, granary_id id, const struct gr_mutable *page)
{
    struct root root = {
        .head = {.state = GR_TABLE_ROOT_LIVE, .durability = page->durability, .interval_ns = page->interval_ns}};
    granary_view view;
    granary_err err = granary_object_get(client, id, 0, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    gr_id_words(id, root.head.id);
    (void)snprintf(root.head.name, sizeof root.head.name, "%s", name);
    err = root_set_object(&root, &view);
    err = err == GRANARY_OK ? root_put(client, page->root, &root) : err;
    root_free(&root);
    granary_object_release(client, &view);
    return err;
}

/* The object and its page; the name comes last, and makes it a table. */
static granary_err
table_make_id(granary_client *client, const char *name, granary_id id, const granary_frame *schema,
              const granary_mutable_options *how)
{
    /* It is this client's, and ends with that, until it has its name. */
    const granary_object_options options = {.counted = true, .timeout_ms = how->timeout_ms};
    const bool is_durable = how->durability != GRANARY_DURABLE_NONE;
    struct mutable_page page;
    granary_err err = page_take(client, id, &page);

    if (err != GRANARY_OK) {
        return err;
    }
    page.page->durability = (uint32_t)how->durability;
    page.page->interval_ns = how->interval_ns;
    page.page->root = root_hash(name);
    err = frame_store(client, id, schema, &options);
    if (err == GRANARY_OK) {
        err = is_durable ? table_put_root(client, name, id, page.page) : GRANARY_OK;
        page_share(&page);
        err = err == GRANARY_OK ? granary_name_set(client, name, id, GRANARY_NAME_NEW, (granary_id){{0}}, NULL) : err;
        if (err == GRANARY_EEXIST && is_durable) {
            err = durable_end(client, page.page->root, id);
            err = err == GRANARY_OK ? gr_fail(GRANARY_EEXIST, "the name is taken") : err;
        }
        if (err != GRANARY_OK) {
            table_forget(client, id);
        }
    }
    page_close(&page);
    return err;
}

/* Errors: EEXIST the name is bound, or that of a table that only the disk knows: it is back then */
static granary_err
table_make(granary_client *client, const char *name, const granary_frame *schema,
           const granary_mutable_options *options)
{
    struct mutable_page lock;
    granary_err err = page_lock_name(client, root_hash(name), &lock);

    if (err != GRANARY_OK) {
        return err;
    }
    err = durable_restore_locked(client, name);
    err = err == GRANARY_ENOENT ? table_make_id(client, name, granary_id_random(), schema, options)
          : err == GRANARY_OK   ? gr_fail(GRANARY_EEXIST, "the name is taken")
                                : err;
    page_close(&lock);
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
               : gr_fail(GRANARY_ETYPE, "it has another dtype, shape, chunks or fill");
}

static granary_err
open_existing(granary_client *client, const char *name, const struct wanted *wanted, granary_mutable **ret_table)
{
    granary_mutable *table = NULL;
    granary_err err = granary_mutable_open(client, name, &table);

    err = err == GRANARY_OK ? table_told(table, check_wanted(table, wanted)) : err;
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
    granary_err err = table_make(client, name, schema, options);

    gr_frame_destroy(schema);
    if (err == GRANARY_EEXIST && (options->flags & GRANARY_MUTABLE_OPEN) != 0) {
        return open_existing(client, name, wanted, ret_table);
    }
    if (err == GRANARY_EEXIST) {
        return gr_fail(GRANARY_EEXIST, "table '%s': the name is taken: choose another, or open it", name);
    }
    return err == GRANARY_OK ? granary_mutable_open(client, name, ret_table) : err;
}

static granary_err
options_take(const granary_mutable_options *theirs, size_t size, granary_mutable_options *ret_options)
{
    granary_err err = gr_sized_take(ret_options, sizeof *ret_options, theirs, size);

    if (err != GRANARY_OK) {
        return err;
    }
    if (ret_options->durability > GRANARY_DURABLE_COMMIT) {
        return gr_fail(GRANARY_EINVAL, "durability %d: there is none such", (int)ret_options->durability);
    }
    return (ret_options->durability == GRANARY_DURABLE_INTERVAL) == (ret_options->interval_ns > 0)
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "an interval above 0 goes with tables that are durable on an interval");
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

    err = err == GRANARY_OK ? options_take(theirs, options_size, &options) : err;
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
    err = err == GRANARY_OK ? options_take(their_options, options_size, &options) : err;
    err = err == GRANARY_OK ? shape_plan(&tensor, &shape) : err;
    err = err == GRANARY_OK ? shape_frame(&shape, TENSOR_MARK, &schema) : err;
    return err == GRANARY_OK ? table_create(client, name, schema, &wanted, &options, ret_table)
                             : gr_fail_in(err, "tensor '%s'", name);
}

void
granary_mutable_close(granary_mutable *table)
{
    char before[MESSAGE_MOST];

    if (table == NULL) {
        return;
    }
    (void)snprintf(before, sizeof before, "%s",
                   granary_error_message()); /* of the call that failed: a last flush fails, too */
    keeper_end(table);
    writer_close(table);
    index_free(&table->index);
    page_close(&table->page);
    gr_frame_destroy(table->schema);
    free(table->tensor);
    if (table->view.data != NULL) {
        granary_object_release(table->client, &table->view);
    }
    (void)pthread_mutex_destroy(&table->lock);
    (void)pthread_mutex_destroy(&table->flush_lock);
    free(table);
    gr_fail_message("%s", before);
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

/* A sealed one: what the disk knows of it goes when it has become that. */
static granary_err
sealed_drop(granary_client *client, const char *name)
{
    const uint64_t hash = root_hash(name);
    struct root root;
    granary_id id;
    granary_err err = granary_name_get(client, name, &id);

    if (err == GRANARY_OK && root_is_there(client, hash) && root_get(client, hash, &root) == GRANARY_OK) {
        if (gr_id_equal(kept_id(root_table(&root), GR_MUTABLE_SEALED, 0, 0), id)) {
            err = durable_end(client, hash, root_table(&root));
        }
        root_free(&root);
    }
    return err == GRANARY_OK ? table_drop(client, name, id) : err;
}

/* One that changes. On disk it ends first: who is killed in between leaves a table that lives as long as the instance. */
static granary_err
mutable_drop(granary_mutable *table)
{
    granary_err err = GRANARY_OK;

    if (table_is_durable(table)) {
        err = page_enter(&table->page, GR_MUTABLE_LOCK_DISK); /* nobody flushes it any more */
        err = err == GRANARY_OK ? durable_end(table->client, table->page.page->root, table->id) : err;
    }
    err = err == GRANARY_OK ? table_drop(table->client, table->name, table->id) : err;
    if (err == GRANARY_OK) {
        page_give_up(&table->page);
    }
    mutable_ring(table->page.page);
    return err;
}

granary_err
granary_mutable_delete(granary_client *client, const char *name)
{
    granary_mutable *table = NULL;
    struct mutable_page lock;
    granary_err err = granary_mutable_open(client, name, &table);

    if (err == GRANARY_OK || err == GRANARY_ESEALED) {
        const bool is_sealed = err == GRANARY_ESEALED;

        err = page_lock_name(client, root_hash(name), &lock);
        if (err == GRANARY_OK) {
            err = is_sealed ? sealed_drop(client, name) : mutable_drop(table);
            page_close(&lock);
        }
    }
    granary_mutable_close(table);
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
    granary_err err = table_told(table, table_check_tensor(table));
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
               : gr_fail(GRANARY_ESTATE, "it was deleted");
}

granary_err
granary_mutable_lock(granary_mutable *table)
{
    granary_err err = table_is_fixed(table) ? table_fail_sealed(table) : gr_client_check(table->client);

    err = err == GRANARY_OK ? page_enter(&table->page, GR_MUTABLE_LOCK_CHANGE) : err;
    err = err == GRANARY_OK ? table_check(table) : err;
    if (err != GRANARY_OK) {
        granary_mutable_unlock(table);
    }
    return table_told(table, err);
}

void
granary_mutable_unlock(granary_mutable *table)
{
    if (!table_is_fixed(table) && gr_client_check(table->client) == GRANARY_OK) { /* else it is the parent's */
        page_leave(&table->page, GR_MUTABLE_LOCK_CHANGE);
    }
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
