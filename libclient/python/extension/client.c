/* The connection, how long it lives, and how waits come back for signals. */
#include "extension.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static PyTypeObject *client_type;

/* ---- waits ---- */

static int64_t
now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

struct patience
patience_begin(int timeout_ms)
{
    return (struct patience){timeout_ms < 0 ? -1 : now_ns() + timeout_ms * INT64_C(1000000)};
}

int
patience_slice(const struct patience *patience)
{
    const int64_t left_ms =
        patience->deadline_ns < 0 ? SLICE_MS : (patience->deadline_ns - now_ns() + 999999) / 1000000;

    return left_ms < 0 ? 0 : left_ms < SLICE_MS ? (int)left_ms : SLICE_MS;
}

bool
patience_more(const struct patience *patience, bool *ret_signal)
{
    *ret_signal = PyErr_CheckSignals() < 0;
    return !*ret_signal && (patience->deadline_ns < 0 || now_ns() < patience->deadline_ns);
}

/* ---- life ---- */

bool
client_is_own(const Client *self)
{
    return self->client != NULL && self->pid == getpid();
}

static void
disconnect(Client *self)
{
    granary_client *client = self->client;

    self->client = NULL;
    if (client != NULL && self->pid == getpid()) {
        Py_BEGIN_ALLOW_THREADS
        granary_disconnect(client);
        Py_END_ALLOW_THREADS
    }
}

granary_client *
client_enter(Client *self)
{
    if (self->closed || self->client == NULL) {
        PyErr_SetString(PyExc_ValueError, "the session was closed");
        return NULL;
    }
    self->uses++;
    return self->client;
}

void
client_leave(Client *self)
{
    if (--self->uses == 0 && self->closed) {
        disconnect(self);
    }
}

void
client_keep(Client *self)
{
    Py_INCREF((PyObject *)self);
    self->uses++;
}

void
client_drop(Client *self)
{
    client_leave(self);
    Py_DECREF((PyObject *)self);
}

static PyObject *
client_close(PyObject *object, PyObject *none)
{
    Client *self = (Client *)object;

    (void)none;
    lease_look();
    self->closed = true;
    if (self->uses == 0) {
        disconnect(self);
    }
    Py_RETURN_NONE;
}

static PyObject *
client_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"instance", "session", "tag", "timeout_ms", "reconnect_ms", "existing", NULL};
    granary_connect_options options = {.instance = NULL};
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    granary_client *client = NULL;
    int existing = 0;
    granary_err err;
    Client *self;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|zzziip", names, &options.instance, &options.session,
                                     &options.tag, &options.timeout_ms, &options.reconnect_ms, &existing)) {
        return NULL;
    }
    options.existing = existing != 0;
    Py_BEGIN_ALLOW_THREADS
    err = granary_connect(&options, &client);
    Py_END_ALLOW_THREADS
    if (err != GRANARY_OK) {
        return fail(err);
    }
    self = (Client *)allocate(type, 0);
    if (self == NULL) {
        granary_disconnect(client);
        return NULL;
    }
    self->client = client;
    self->pid = getpid();
    self->uses = 0;
    self->closed = false;
    return (PyObject *)self;
}

static void
client_dealloc(PyObject *object)
{
    PyObject_ClearWeakRefs(object);
    disconnect((Client *)object);
    free_object(object);
}

static PyObject *
client_get_closed(PyObject *object, void *none)
{
    (void)none;
    return PyBool_FromLong(((Client *)object)->closed);
}

static PyObject *
client_get_pid(PyObject *object, void *none)
{
    (void)none;
    return PyLong_FromLong(((Client *)object)->pid);
}

static PyGetSetDef client_members[] = {
    {"closed", client_get_closed, NULL, "Whether close() was called.", NULL},
    {"pid", client_get_pid, NULL, "The process whose connection it is.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef own_methods[] = {
    {"close", client_close, METH_NOARGS, "Disconnect, when the last view of an object has gone."},
    {NULL, NULL, 0, NULL},
};

/* All methods, one table behind the other. */
static PyMethodDef *
gather_methods(void)
{
    static PyMethodDef all[128];
    PyMethodDef *const tables[] = {own_methods,     object_methods,  hold_methods,   graph_methods,
                                   frame_methods,   arrow_methods,   stream_methods, counter_methods,
                                   mutable_methods, channel_methods, live_methods};
    size_t count = 0;

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        for (PyMethodDef *at = tables[i]; at->ml_name != NULL; at++) {
            if (count + 1 == sizeof all / sizeof all[0]) {
                PyErr_SetString(PyExc_SystemError, "client.c: too many methods");
                return NULL;
            }
            all[count++] = *at;
        }
    }
    return all;
}

int
client_init_type(PyObject *module)
{
    static PyMemberDef weak[] = {{"__weaklistoffset__", T_PYSSIZET, 0, READONLY, NULL}, {NULL, 0, 0, 0, NULL}};
    PyMethodDef *methods = gather_methods();
    PyType_Slot slots[] = {
        {Py_tp_new, client_new},
        {Py_tp_dealloc, client_dealloc},
        {Py_tp_getset, client_members},
        {Py_tp_members, weak},
        {Py_tp_methods, methods},
        {Py_tp_doc, "A connection to a session of an instance. Any thread may use it."},
        {0, NULL},
    };
    PyType_Spec spec = {"granary._granary.Client", sizeof(Client) + sizeof(PyObject *), 0, Py_TPFLAGS_DEFAULT, slots};

    weak[0].offset = sizeof(Client); /* behind the fields */
    client_type = methods == NULL ? NULL : (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return client_type == NULL ? -1 : PyModule_AddType(module, client_type);
}
