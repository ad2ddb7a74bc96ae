/* Objects that are written or read piece by piece, and events. A handle is used by one thread at a time: `busy` sees to that. */
#include "extension.h"

/* Writer, Reader and Subscription. */
typedef struct {
    PyObject_HEAD
    Client *client; /* kept; NULL: it was closed */
    union {
        granary_writer *writer;
        granary_reader *reader;
        granary_subscription *subscription;
    } of;
    void (*end)(void *of); /* frees it */
    bool busy;
} Stream;

static PyTypeObject *writer_type;
static PyTypeObject *reader_type;
static PyTypeObject *subscription_type;

/* ---- life ---- */

static Stream *
stream_new(PyTypeObject *type, Client *client, void (*end)(void *))
{
    Stream *self = PyObject_New(Stream, type);

    if (self != NULL) {
        self->client = NULL;
        self->of.writer = NULL;
        self->end = end;
        self->busy = false;
        if (client_enter(client) == NULL) {
            Py_DECREF((PyObject *)self);
            return NULL;
        }
        Py_INCREF((PyObject *)client);
        self->client = client;
    }
    return self;
}

static void
stream_end(Stream *self, bool spent)
{
    Client *client = self->client;
    void *of = self->of.writer;
    const bool own = client != NULL && client_is_own(client);

    self->client = NULL;
    self->of.writer = NULL;
    if (own && of != NULL && !spent) {
        Py_BEGIN_ALLOW_THREADS
        self->end(of);
        Py_END_ALLOW_THREADS
    }
    if (own) {
        client_leave(client);
    }
    Py_XDECREF((PyObject *)client);
}

static void
stream_dealloc(PyObject *object)
{
    stream_end((Stream *)object, false);
    free_object(object);
}

/* What opening it came to. */
static PyObject *
stream_opened(Stream *self, granary_err err, bool signal)
{
    if (err == GRANARY_OK && !signal) {
        return (PyObject *)self;
    }
    if (!signal) {
        (void)fail(err);
    }
    Py_DECREF((PyObject *)self);
    return NULL;
}

/* Begin a call, which ends by busy = false. False: a Python error is set */
static bool
stream_begin(Stream *self)
{
    if (self->client == NULL) {
        PyErr_SetString(PyExc_ValueError, "it was closed");
    } else if (!client_is_own(self->client)) {
        (void)fail_with(GRANARY_EFORKED, "it was opened by the parent process: open one of your own");
    } else if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread uses it");
    } else {
        self->busy = true;
        return true;
    }
    return false;
}

static PyObject *
stream_close(PyObject *object, PyObject *none)
{
    Stream *self = (Stream *)object;

    (void)none;
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread uses it");
        return NULL;
    }
    stream_end(self, false);
    Py_RETURN_NONE;
}

/* ---- writing ---- */

static void
end_writer(void *of)
{
    granary_writer_abort(of);
}

static PyObject *
writer_open(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"id", "size_hint", "timeout_ms", "counted", "importance", "persist", NULL};
    granary_object_options options = {.importance = 0};
    unsigned long long hint = 0;
    int counted = 0, persist = 0;
    granary_id id;
    granary_err err;
    Stream *self;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&|Kipip", names, id_convert, &id, &hint, &options.timeout_ms,
                                     &counted, &options.importance, &persist) ||
        (self = stream_new(writer_type, (Client *)object, end_writer)) == NULL) {
        return NULL;
    }
    options.counted = counted != 0;
    options.persist = persist != 0 ? GRANARY_LEVEL_DISK : 0;
    Py_BEGIN_ALLOW_THREADS
    err = granary_writer_open(self->client->client, id, hint, &options, &self->of.writer);
    Py_END_ALLOW_THREADS
    return stream_opened(self, err, false);
}

static PyObject *
writer_write(PyObject *object, PyObject *given)
{
    Stream *self = (Stream *)object;
    Py_buffer data;
    granary_err err;
    Py_ssize_t size;

    if (PyObject_GetBuffer(given, &data, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (!stream_begin(self)) {
        PyBuffer_Release(&data);
        return NULL;
    }
    size = data.len;
    Py_BEGIN_ALLOW_THREADS
    err = granary_writer_append(self->of.writer, data.buf, (uint64_t)size);
    Py_END_ALLOW_THREADS
    self->busy = false;
    PyBuffer_Release(&data);
    return err == GRANARY_OK ? PyLong_FromSsize_t(size) : fail(err);
}

static PyObject *
writer_seal(PyObject *object, PyObject *args)
{
    Stream *self = (Stream *)object;
    Py_buffer meta = {.buf = NULL};
    PyObject *result;
    granary_err err;

    if (!PyArg_ParseTuple(args, "|y*", &meta)) {
        return NULL;
    }
    if (!stream_begin(self)) {
        PyBuffer_Release(&meta);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_writer_seal(self->of.writer, meta.buf, (uint64_t)meta.len);
    Py_END_ALLOW_THREADS
    self->busy = false;
    PyBuffer_Release(&meta);
    result = done(err);
    stream_end(self, true);
    return result;
}

static PyMethodDef writer_methods[] = {
    {"write", writer_write, METH_O, "write(data) -> how many bytes: all"},
    {"seal", writer_seal, METH_VARARGS, "seal(meta=b''): publish the object"},
    {"abort", stream_close, METH_NOARGS, "Give up what was written."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot writer_slots[] = {
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_methods, writer_methods},
    {Py_tp_doc, "An object that grows until it is sealed. One thread at a time."},
    {0, NULL},
};

static PyType_Spec writer_spec = {"granary._granary.Writer", sizeof(Stream), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, writer_slots};

/* ---- reading ---- */

static void
end_reader(void *of)
{
    granary_reader_close(of);
}

static PyObject *
reader_open(PyObject *object, PyObject *args)
{
    int timeout_ms = GRANARY_FOREVER;
    unsigned long long window = 0;
    struct patience patience;
    bool signal = false;
    granary_id id;
    granary_err err;
    Stream *self;

    if (!PyArg_ParseTuple(args, "O&|Ki", id_convert, &id, &window, &timeout_ms) ||
        (self = stream_new(reader_type, (Client *)object, end_reader)) == NULL) {
        return NULL;
    }
    patience = patience_begin(timeout_ms);
    do {
        const int slice_ms = patience_slice(&patience);

        Py_BEGIN_ALLOW_THREADS
        err = granary_reader_open(self->client->client, id, window, slice_ms, &self->of.reader);
        Py_END_ALLOW_THREADS
    } while (err == GRANARY_ETIMEDOUT && patience_more(&patience, &signal));
    return stream_opened(self, err, signal);
}

static PyObject *
reader_readinto(PyObject *object, PyObject *given)
{
    Stream *self = (Stream *)object;
    uint64_t size = 0;
    Py_buffer to;
    granary_err err;

    if (PyObject_GetBuffer(given, &to, PyBUF_WRITABLE) < 0) {
        return NULL;
    }
    if (!stream_begin(self)) {
        PyBuffer_Release(&to);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_reader_read(self->of.reader, to.buf, (uint64_t)to.len, &size);
    Py_END_ALLOW_THREADS
    self->busy = false;
    PyBuffer_Release(&to);
    return err == GRANARY_OK ? PyLong_FromUnsignedLongLong(size) : fail(err);
}

static PyObject *
reader_seek(PyObject *object, PyObject *args)
{
    Stream *self = (Stream *)object;
    unsigned long long offset;
    granary_err err;

    if (!PyArg_ParseTuple(args, "K", &offset) || !stream_begin(self)) {
        return NULL;
    }
    err = granary_reader_seek(self->of.reader, offset);
    self->busy = false;
    return done(err);
}

static PyObject *
reader_get_size(PyObject *object, void *none)
{
    Stream *self = (Stream *)object;

    (void)none;
    if (!stream_begin(self)) {
        return NULL;
    }
    self->busy = false;
    return PyLong_FromUnsignedLongLong(granary_reader_size(self->of.reader));
}

static PyGetSetDef reader_members[] = {
    {"size", reader_get_size, NULL, "Bytes of data.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef reader_methods[] = {
    {"readinto", reader_readinto, METH_O, "readinto(buffer) -> how many bytes; 0 at the end"},
    {"seek", reader_seek, METH_VARARGS, "seek(offset): where the next read begins"},
    {"close", stream_close, METH_NOARGS, "Let go of the object."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot reader_slots[] = {
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_getset, reader_members},
    {Py_tp_methods, reader_methods},
    {Py_tp_doc, "An object's data, piece by piece. One thread at a time."},
    {0, NULL},
};

static PyType_Spec reader_spec = {"granary._granary.Reader", sizeof(Stream), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, reader_slots};

/* ---- events ---- */

static void
end_subscription(void *of)
{
    granary_unsubscribe(of);
}

static PyObject *
subscribe(PyObject *object, PyObject *args)
{
    unsigned kinds = 0;
    int existing = 0;
    granary_err err;
    Stream *self;

    if (!PyArg_ParseTuple(args, "|Ip", &kinds, &existing) ||
        (self = stream_new(subscription_type, (Client *)object, end_subscription)) == NULL) {
        return NULL;
    }
    kinds |= existing != 0 ? GRANARY_SUBSCRIBE_EXISTING : 0;
    Py_BEGIN_ALLOW_THREADS
    err = granary_subscribe(self->client->client, kinds, &self->of.subscription);
    Py_END_ALLOW_THREADS
    return stream_opened(self, err, false);
}

static PyObject *
subscription_next(PyObject *object, PyObject *args)
{
    Stream *self = (Stream *)object;
    int timeout_ms = GRANARY_FOREVER;
    struct patience patience;
    bool signal = false;
    granary_event event;
    granary_err err;

    if (!PyArg_ParseTuple(args, "|i", &timeout_ms) || !stream_begin(self)) {
        return NULL;
    }
    patience = patience_begin(timeout_ms);
    do {
        const int slice_ms = patience_slice(&patience);

        Py_BEGIN_ALLOW_THREADS
        err = granary_subscription_next(self->of.subscription, slice_ms, &event);
        Py_END_ALLOW_THREADS
    } while (err == GRANARY_ETIMEDOUT && patience_more(&patience, &signal));
    self->busy = false;
    if (signal || err != GRANARY_OK) {
        return signal ? NULL : fail(err);
    }
    return Py_BuildValue("(iy#KL)", (int)event.kind, (const char *)event.id.bytes, (Py_ssize_t)GRANARY_ID_BYTES,
                         (unsigned long long)event.size, (long long)event.time_ns);
}

static PyObject *
subscription_fileno(PyObject *object, PyObject *none)
{
    Stream *self = (Stream *)object;
    granary_err err;
    int fd = -1;

    (void)none;
    if (!stream_begin(self)) {
        return NULL;
    }
    err = granary_subscription_fd(self->of.subscription, &fd);
    self->busy = false;
    return err == GRANARY_OK ? PyLong_FromLong(fd) : fail(err);
}

static PyMethodDef subscription_methods[] = {
    {"next", subscription_next, METH_VARARGS, "next(timeout_ms=-1) -> (kind, id, size, time_ns)"},
    {"fileno", subscription_fileno, METH_NOARGS, "fileno() -> a descriptor, readable when there may be an event"},
    {"close", stream_close, METH_NOARGS, "Watch no more."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot subscription_slots[] = {
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_methods, subscription_methods},
    {Py_tp_doc, "Events of a session. One thread at a time."},
    {0, NULL},
};

static PyType_Spec subscription_spec = {"granary._granary.Subscription", sizeof(Stream), 0,
                                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, subscription_slots};

PyMethodDef stream_methods[] = {
    METHOD("writer", writer_open, "writer(id, size_hint=0, ...) -> Writer"),
    {"reader", reader_open, METH_VARARGS,
     "reader(id, window=0, timeout_ms=-1) -> Reader; a spilled object stays on disk"},
    {"subscribe", subscribe, METH_VARARGS,
     "subscribe(kinds=0, existing=False) -> Subscription; kinds: sum of 1 << kind"},
    {NULL, NULL, 0, NULL},
};

int
streams_init_types(PyObject *module)
{
    writer_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &writer_spec, NULL);
    reader_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &reader_spec, NULL);
    subscription_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &subscription_spec, NULL);
    return writer_type == NULL || reader_type == NULL || subscription_type == NULL ||
                   PyModule_AddType(module, writer_type) < 0 || PyModule_AddType(module, reader_type) < 0 ||
                   PyModule_AddType(module, subscription_type) < 0
               ? -1
               : 0;
}
