/* Objects that are errors. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "contract/error_object.h"
#include "object/probe.h"

#define MESSAGE_MAX 65536

/* The error a view is; NULL: it is an ordinary object. */
static const struct gr_error_object *
error_of(const granary_view *view)
{
    const struct gr_error_object *error = view->meta;

    if (view->data_size != 0 || view->meta_size < sizeof *error ||
        memcmp(error->magic, GR_ERROR_MAGIC, sizeof error->magic) != 0 ||
        error->length > view->meta_size - sizeof *error || error->err >= 0) {
        return NULL;
    }
    return error;
}

granary_err
failure_of_view(const granary_view *view)
{
    const struct gr_error_object *error = error_of(view);

    return error == NULL ? GRANARY_OK : gr_fail((granary_err)error->err, "%.*s", (int)error->length, error->message);
}

granary_err
granary_object_put_error(granary_client *client, granary_id id, granary_err err, const char *message)
{
    size_t length = message == NULL ? 0 : strnlen(message, MESSAGE_MAX);
    struct gr_error_object *error;

    if (err >= 0) {
        return gr_fail(GRANARY_EINVAL, "object %s: %d is no error", id_text(id), (int)err);
    }
    error = malloc(sizeof *error + length);
    if (error == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    memcpy(error->magic, GR_ERROR_MAGIC, sizeof error->magic);
    error->err = err;
    error->length = (uint32_t)length;
    memcpy(error->message, message, length);
    err = granary_object_put(client, id, NULL, 0, error, sizeof *error + length, 0);
    free(error);
    return err;
}

granary_err
granary_object_error(granary_client *client, granary_id id, granary_err *ret_err, char *text, size_t size)
{
    const struct gr_error_object *error;
    granary_view view;
    granary_err err = view_get_any(client, id, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    error = error_of(&view);
    if (error == NULL) {
        err = gr_fail(GRANARY_ESTATE, "object %s: it is no error", id_text(id));
    } else {
        *ret_err = (granary_err)error->err;
        if (size > 0) {
            size_t length = error->length < size ? error->length : size - 1;

            memcpy(text, error->message, length);
            text[length] = '\0';
        }
    }
    granary_object_release(client, &view);
    return err;
}
