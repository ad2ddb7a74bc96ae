/* Channels: messages from process to process. */
#include "granary/channel.h"

#include <stdlib.h>
#include <string.h>

#include "extension.h"

#define WHAT "channel"

static PyTypeObject *channel_type;

static void
close_channel(void *channel)
{
    granary_channel_close(channel);
}

/* ---- of the session ---- */

static PyObject *
channel_create(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    granary_channel_options options = {.flags = 0};
    granary_channel *channel = NULL;
    unsigned long long ring_bytes = 0;
    const char *name;
    PyObject *made;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s|IKI", &name, &options.flags, &ring_bytes, &options.objects) ||
        client_enter(self) == NULL) {
        return NULL;
    }
    options.ring_bytes = ring_bytes;
    Py_BEGIN_ALLOW_THREADS
    err = granary_channel_create(self->client, name, &options, &channel);
    Py_END_ALLOW_THREADS
    made = err == GRANARY_OK ? handle_new(channel_type, self, channel, close_channel) : fail(err);
    client_leave(self);
    return made;
}

static PyObject *
channel_open(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    granary_channel *channel = NULL;
    const char *name;
    PyObject *made;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s", &name) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_channel_open(self->client, name, &channel);
    Py_END_ALLOW_THREADS
    made = err == GRANARY_OK ? handle_new(channel_type, self, channel, close_channel) : fail(err);
    client_leave(self);
    return made;
}

static PyObject *
channel_delete(PyObject *object, PyObject *args)
{
    return name_call(object, args, granary_channel_delete);
}

static PyObject *
info_object(const void *of)
{
    const granary_channel_info *info = of;

    return Py_BuildValue("{s:s,s:y#,s:O,s:O,s:I,s:I,s:K,s:K,s:K,s:I}", "name", info->name, "id",
                         (const char *)info->id.bytes, (Py_ssize_t)sizeof info->id.bytes, "broadcast",
                         (info->flags & GRANARY_CHANNEL_BROADCAST) != 0 ? Py_True : Py_False, "sealed",
                         info->sealed ? Py_True : Py_False, "writers", info->writers, "readers", info->readers,
                         "messages", (unsigned long long)info->messages, "waiting", (unsigned long long)info->waiting,
                         "ring_bytes", (unsigned long long)info->ring_bytes, "objects", info->objects);
}

static PyObject *
channel_list(PyObject *object, PyObject *none)
{
    Client *self = (Client *)object;
    granary_channel_info *infos = NULL;
    size_t count = 0;
    granary_err err;

    (void)none;
    if (client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_channel_list(self->client, &infos, &count);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? infos_object(infos, count, sizeof *infos, info_object) : fail(err);
}

/* ---- writing ---- */

/* A put, of bytes or of an object, until there is room. -1: a signal's handler has raised */
static int
put_patiently(PyObject *object, const Py_buffer *data, granary_id id, int timeout_ms, granary_err *ret_err)
{
    granary_channel *channel = ((Handle *)object)->handle;
    struct patience patience = patience_begin(timeout_ms);
    bool signal = false;

    do {
        const int slice_ms = patience_slice(&patience);

        Py_BEGIN_ALLOW_THREADS
        *ret_err = data != NULL ? granary_channel_put(channel, data->buf, (uint64_t)data->len, slice_ms)
                                : granary_channel_put_object(channel, id, slice_ms);
        Py_END_ALLOW_THREADS
    } while (*ret_err == GRANARY_ETIMEDOUT && handle_more(object, &patience, &signal));
    return signal ? -1 : 0;
}

static PyObject *
channel_put(PyObject *object, PyObject *args)
{
    int timeout_ms = GRANARY_FOREVER;
    PyObject *result = NULL;
    Py_buffer data;
    granary_err err;

    if (!PyArg_ParseTuple(args, "y*|i", &data, &timeout_ms)) {
        return NULL;
    }
    if (handle_enter(object, WHAT) != NULL) {
        result = put_patiently(object, &data, (granary_id){{0}}, timeout_ms, &err) == 0 ? done(err) : NULL;
        handle_leave(object);
    }
    PyBuffer_Release(&data);
    return result;
}

static PyObject *
channel_put_object(PyObject *object, PyObject *args)
{
    int timeout_ms = GRANARY_FOREVER;
    PyObject *result;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTuple(args, "O&|i", id_convert, &id, &timeout_ms)) {
        return NULL;
    }
    if (handle_enter(object, WHAT) == NULL) {
        return NULL;
    }
    result = put_patiently(object, NULL, id, timeout_ms, &err) == 0 ? done(err) : NULL;
    handle_leave(object);
    return result;
}

static PyObject *
channel_seal(PyObject *object, PyObject *none)
{
    granary_channel *channel = handle_enter(object, WHAT);
    granary_err err;

    (void)none;
    if (channel == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_channel_seal(channel);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    return done(err);
}

/* ---- reading ---- */

/* The bytes, copied; of an object a lease of its own, so that the next message takes nothing away. */
static PyObject *
message_object(Client *client, const granary_message *message)
{
    static const granary_id none;
    const bool is_object = memcmp(&message->id, &none, sizeof none) != 0;
    granary_view view = {.data = NULL};
    PyObject *data;

    if (is_object && message->data != NULL) {
        granary_err err;

        Py_BEGIN_ALLOW_THREADS
        err = granary_object_get(client->client, message->id, 0, &view);
        Py_END_ALLOW_THREADS
        data = err == GRANARY_OK ? view_new(client, &view) : fail(err);
    } else {
        data = message->data == NULL && is_object
                   ? Py_NewRef(Py_None)
                   : PyBytes_FromStringAndSize(message->size == 0 ? "" : message->data, (Py_ssize_t)message->size);
    }
    return data == NULL ? NULL
                        : Py_BuildValue("(NNKIKO)", data, is_object ? id_object(&message->id) : Py_NewRef(Py_None),
                                        (unsigned long long)message->number, message->writer,
                                        (unsigned long long)message->missed, message->again ? Py_True : Py_False);
}

static PyObject *
channel_get(PyObject *object, PyObject *args)
{
    granary_message message = {.data = NULL};
    int timeout_ms = GRANARY_FOREVER;
    granary_channel *channel;
    struct patience patience;
    PyObject *made = NULL;
    bool signal = false;
    granary_err err;

    if (!PyArg_ParseTuple(args, "|i", &timeout_ms)) {
        return NULL;
    }
    channel = handle_enter(object, WHAT);
    if (channel == NULL) {
        return NULL;
    }
    patience = patience_begin(timeout_ms);
    do {
        const int slice_ms = patience_slice(&patience);

        Py_BEGIN_ALLOW_THREADS
        err = granary_channel_get(channel, slice_ms, &message);
        Py_END_ALLOW_THREADS
    } while (err == GRANARY_ETIMEDOUT && handle_more(object, &patience, &signal));
    if (!signal) {
        made = err == GRANARY_OK ? message_object(((Handle *)object)->client, &message) : fail(err);
    }
    handle_leave(object);
    return made;
}

static PyObject *
channel_done(PyObject *object, PyObject *none)
{
    granary_channel *channel = handle_enter(object, WHAT);

    (void)none;
    if (channel == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    granary_channel_done(channel);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    Py_RETURN_NONE;
}

static PyObject *
channel_join(PyObject *object, PyObject *args)
{
    const char *name = NULL;
    int oldest = 0;
    granary_channel *channel;
    granary_err err;

    if (!PyArg_ParseTuple(args, "|zp", &name, &oldest)) {
        return NULL;
    }
    channel = handle_enter(object, WHAT);
    if (channel == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_channel_join(channel, name, oldest != 0 ? GRANARY_CHANNEL_OLDEST : GRANARY_CHANNEL_NEXT);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    return done(err);
}

static PyObject *
channel_observe(PyObject *object, PyObject *args)
{
    granary_channel *channel;
    int oldest = 0;
    granary_err err;

    if (!PyArg_ParseTuple(args, "|p", &oldest)) {
        return NULL;
    }
    channel = handle_enter(object, WHAT);
    if (channel == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_channel_observe(channel, oldest != 0 ? GRANARY_CHANNEL_OLDEST : GRANARY_CHANNEL_NEXT);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    return done(err);
}

static PyObject *
channel_forget(PyObject *object, PyObject *args)
{
    granary_channel *channel;
    const char *name;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s", &name)) {
        return NULL;
    }
    channel = handle_enter(object, WHAT);
    if (channel == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_channel_forget(channel, name);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    return done(err);
}

static PyObject *
channel_describe(PyObject *object, PyObject *none)
{
    granary_channel *channel = handle_enter(object, WHAT);
    granary_channel_info info = {.flags = 0};
    granary_err err;

    (void)none;
    if (channel == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_channel_describe(channel, &info);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    return err == GRANARY_OK ? info_object(&info) : fail(err);
}

static PyMethodDef channel_own_methods[] = {
    {"put", channel_put, METH_VARARGS, "put(bytes, timeout_ms=-1)"},
    {"put_object", channel_put_object, METH_VARARGS, "put_object(id, timeout_ms=-1)"},
    {"seal", channel_seal, METH_NOARGS, "No message may be put any more."},
    {"get", channel_get, METH_VARARGS,
     "get(timeout_ms=-1) -> (bytes | View | None, id | None, number, writer, missed, again)"},
    {"done", channel_done, METH_NOARGS, "The message that was got is done."},
    {"join", channel_join, METH_VARARGS, "join(name=None, oldest=False): how it reads"},
    {"observe", channel_observe, METH_VARARGS, "observe(oldest=False): only look"},
    {"forget", channel_forget, METH_VARARGS, "forget(name): give up a reader"},
    {"describe", channel_describe, METH_NOARGS, "What it is, and what waits, as a dict."},
    {"close", handle_close, METH_NOARGS, "Close it, when no call uses it any more."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot channel_slots[] = {
    {Py_tp_dealloc, handle_dealloc},
    {Py_tp_methods, channel_own_methods},
    {Py_tp_doc, "A channel that is open. One thread may put while another one gets."},
    {0, NULL},
};

static PyType_Spec channel_spec = {"granary._granary.Channel", sizeof(Handle), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, channel_slots};

int
channels_init_type(PyObject *module)
{
    channel_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &channel_spec, NULL);
    return channel_type == NULL ? -1 : PyModule_AddType(module, channel_type);
}

PyMethodDef channel_methods[] = {
    {"channel_create", channel_create, METH_VARARGS,
     "channel_create(name, flags=0, ring_bytes=0, objects=0) -> Channel"},
    {"channel_open", channel_open, METH_VARARGS, "channel_open(name) -> Channel"},
    {"channel_delete", channel_delete, METH_VARARGS, "channel_delete(name)"},
    {"channel_list", channel_list, METH_NOARGS, "channel_list() -> list of dicts"},
    {NULL, NULL, 0, NULL},
};
