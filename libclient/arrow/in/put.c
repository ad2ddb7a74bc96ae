/* Arrays and streams of others become frame objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/in/in.h"
#include "base/error.h"
#include "base/memory/grow.h"
#include "object/object.h"

static granary_err
put(granary_client *client, granary_columns *columns, granary_id *id)
{
    granary_err err = granary_frame_put(client, columns->columns, columns->count, columns->rows, id);

    granary_columns_free(columns);
    return err;
}

granary_err
granary_frame_import_array(granary_client *client, struct ArrowSchema *schema, struct ArrowArray *array, granary_id *id)
{
    granary_columns columns = {.count = 0};
    granary_err err = granary_columns_import(schema, array, &columns);

    err = err == GRANARY_OK ? put(client, &columns, id) : err;
    if (schema != NULL && schema->release != NULL) {
        schema->release(schema);
    }
    return err;
}

/* ---- streams ---- */

struct ids {
    granary_id *id;
    size_t count;
    size_t room;
};

static granary_err
stream_failed(struct ArrowArrayStream *stream, int number)
{
    static const struct {
        int number;
        granary_err err;
    } numbers[] = {
        {EINVAL, GRANARY_EINVAL},        {ENOMEM, GRANARY_ENOMEM},        {EIO, GRANARY_EIO},
        {ETIMEDOUT, GRANARY_ETIMEDOUT},  {ECANCELED, GRANARY_ECANCELLED}, {ENOSYS, GRANARY_EUNSUPPORTED},
        {ENOTSUP, GRANARY_EUNSUPPORTED},
    };
    const char *told = stream->get_last_error == NULL ? NULL : stream->get_last_error(stream);
    granary_err err = GRANARY_EFAILED;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        err = numbers[i].number == number ? numbers[i].err : err;
    }
    told = told != NULL && told[0] != '\0' ? told : strerrordesc_np(number);
    if (told == NULL) {
        return gr_fail(err, "the Arrow stream failed: error %d, which its producer does not explain", number);
    }
    return gr_fail(err, "the Arrow stream failed: %s", told);
}

static granary_err
add(granary_client *client, granary_columns *columns, struct ids *ids)
{
    granary_id id = {{0}};
    granary_err err = GRANARY_OK;

    if (!gr_grow(&ids->id, &ids->room, ids->count, sizeof id)) {
        granary_columns_free(columns);
        return gr_no_memory("ids");
    }
    err = put(client, columns, &id);
    if (err == GRANARY_OK) {
        ids->id[ids->count++] = id;
    }
    return err;
}

static granary_err
add_all(granary_client *client, struct ArrowArrayStream *stream, const struct ArrowSchema *schema, struct ids *ids)
{
    granary_columns columns = {.count = 0};
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK) {
        struct ArrowArray array = {.release = NULL};
        int number = stream->get_next(stream, &array);

        if (number != 0) {
            return stream_failed(stream, number);
        }
        if (array.release == NULL) {
            break;
        }
        err = granary_columns_import(schema, &array, &columns);
        if (err == GRANARY_OK && columns.rows == 0) {
            granary_columns_free(&columns);
        } else if (err == GRANARY_OK) {
            err = add(client, &columns, ids);
        }
    }
    if (err == GRANARY_OK && ids->count == 0) {
        err = in_columns_empty(schema, &columns);
        err = err == GRANARY_OK ? add(client, &columns, ids) : err;
    }
    return err;
}

/* What was put goes again; the message stays that of what failed. */
static granary_err
take_back(granary_client *client, struct ids *ids, granary_err err)
{
    char *message = strdup(granary_error_message());

    if (ids->count > 0) {
        (void)granary_object_delete_many(client, ids->id, ids->count, NULL);
    }
    free(ids->id);
    if (message != NULL) {
        gr_fail_message("%s", message);
    }
    free(message);
    return err;
}

granary_err
granary_frame_import(granary_client *client, struct ArrowArrayStream *stream, granary_id **ret_ids, size_t *ret_count)
{
    struct ArrowSchema schema = {.release = NULL};
    struct ids ids = {.count = 0};
    granary_err err;
    int number;

    if (stream == NULL || stream->release == NULL || stream->get_schema == NULL || stream->get_next == NULL) {
        if (stream != NULL && stream->release != NULL) {
            stream->release(stream);
        }
        return gr_fail(GRANARY_EINVAL, "the Arrow stream is missing, or was released already");
    }
    err = gr_client_check(client);
    if (err == GRANARY_OK && (number = stream->get_schema(stream, &schema)) != 0) {
        err = stream_failed(stream, number);
    }
    err = err == GRANARY_OK ? add_all(client, stream, &schema, &ids) : err;
    if (schema.release != NULL) {
        schema.release(&schema);
    }
    stream->release(stream);
    if (err != GRANARY_OK) {
        return take_back(client, &ids, err);
    }
    *ret_ids = ids.id;
    *ret_count = ids.count;
    return GRANARY_OK;
}
