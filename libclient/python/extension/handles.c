/* Handles of tables, channels and live queries: how long they live. */
#include "extension.h"

static void
end(Handle *self)
{
    void *handle = self->handle;

    self->handle = NULL;
    if (handle != NULL && client_is_own(self->client)) {
        Py_BEGIN_ALLOW_THREADS
        self->close(handle);
        Py_END_ALLOW_THREADS
        client_leave(self->client);
    }
}

PyObject *
handle_new(PyTypeObject *type, Client *client, void *handle, void (*close)(void *handle))
{
    Handle *self = PyObject_New(Handle, type);

    if (self == NULL) {
        close(handle);
        return NULL;
    }
    client_keep(client);
    self->client = client;
    self->handle = handle;
    self->uses = 0;
    self->closed = false;
    self->close = close;
    return (PyObject *)self;
}

void
handle_dealloc(PyObject *object)
{
    Handle *self = (Handle *)object;

    end(self);
    Py_DECREF((PyObject *)self->client);
    free_object(object);
}

void *
handle_enter(PyObject *object, const char *what)
{
    Handle *self = (Handle *)object;

    if (self->closed || self->handle == NULL) {
        PyErr_Format(PyExc_ValueError, "the %s was closed", what);
        return NULL;
    }
    if (client_enter(self->client) == NULL) {
        return NULL;
    }
    self->uses++;
    return self->handle;
}

void
handle_leave(PyObject *object)
{
    Handle *self = (Handle *)object;

    if (--self->uses == 0 && self->closed) {
        end(self);
    }
    client_leave(self->client);
}

bool
handle_more(PyObject *object, const struct patience *patience, bool *ret_error)
{
    const Handle *self = (Handle *)object;
    const bool more = patience_more(patience, ret_error);

    if (!*ret_error && (self->closed || self->client->closed)) {
        PyErr_SetString(PyExc_ValueError, "it was closed by another thread");
        *ret_error = true;
    }
    return more && !*ret_error;
}

PyObject *
handle_close(PyObject *object, PyObject *none)
{
    Handle *self = (Handle *)object;

    (void)none;
    self->closed = true;
    if (self->uses == 0) {
        end(self);
    }
    Py_RETURN_NONE;
}
