/* Objects that are errors. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "contract/error_object.h"
#include "object/read/probe.h"

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

/* Another release's way to write an error: it must not pass for an object without data. */
static bool
is_foreign(const granary_view *view)
{
    const char *magic = view->meta;
    size_t name = sizeof "granary error " - 1;
    size_t size = sizeof((struct gr_error_object *)NULL)->magic;

    return view->data_size == 0 && view->meta_size >= size && memcmp(magic, GR_ERROR_MAGIC, name) == 0 &&
           magic[size - 1] == '\n' && memcmp(magic, GR_ERROR_MAGIC, size) != 0;
}

static granary_err
fail_foreign(const granary_view *view)
{
    const char *magic = view->meta;

    return gr_fail(
        GRANARY_EVERSION,
        "object %s: a failure as another release writes it (version %c, this granary reads %c): read it with "
        "that release, or delete it and compute it again",
        id_text(view->id), magic[sizeof "granary error " - 1], GR_ERROR_MAGIC[sizeof "granary error " - 1]);
}

granary_err
failure_of_view(const granary_view *view)
{
    const struct gr_error_object *error = error_of(view);

    if (error == NULL && is_foreign(view)) {
        return fail_foreign(view);
    }
    return error == NULL ? GRANARY_OK : gr_fail((granary_err)error->err, "%.*s", (int)error->length, error->message);
}

granary_err
granary_object_put_error(granary_client *client, granary_id id, granary_err err, const char *message)
{
    size_t length = message == NULL ? 0 : strnlen(message, MESSAGE_MAX);
    struct gr_error_object *error;

    if (err == GRANARY_OK || !gr_err_is_known(err)) {
        return gr_fail(GRANARY_EINVAL, "object %s: %d is none of granary's errors (granary_err)", id_text(id),
                       (int)err);
    }
    error = malloc(sizeof *error + length);
    if (error == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    memcpy(error->magic, GR_ERROR_MAGIC, sizeof error->magic);
    error->err = err;
    error->length = (uint32_t)length;
    if (length > 0) {
        memcpy(error->message, message, length);
    }
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
    if (error == NULL && is_foreign(&view)) {
        err = fail_foreign(&view);
    } else if (error == NULL) {
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
