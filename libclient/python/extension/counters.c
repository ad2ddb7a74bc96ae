/* Numbers that the processes of a session share. */
#include "extension.h"

typedef struct {
    PyObject_HEAD
    Client *client;
    granary_counter *counter;
} Counter;

static PyTypeObject *counter_type;

static PyObject *
counter_open(PyObject *object, PyObject *args)
{
    Client *client = (Client *)object;
    granary_counter *counter = NULL;
    const char *name;
    Counter *self;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s", &name) || client_enter(client) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_counter_open(client->client, name, &counter);
    Py_END_ALLOW_THREADS
    self = err == GRANARY_OK ? PyObject_New(Counter, counter_type) : (Counter *)fail(err);
    if (self != NULL) {
        client_keep(client);
        self->client = client;
        self->counter = counter;
    } else {
        granary_counter_close(counter);
    }
    client_leave(client);
    return (PyObject *)self;
}

static void
counter_dealloc(PyObject *object)
{
    Counter *self = (Counter *)object;

    if (client_is_own(self->client)) {
        granary_counter_close(self->counter);
        client_leave(self->client);
    }
    Py_DECREF((PyObject *)self->client);
    free_object(object);
}

static PyObject *
counter_add(PyObject *object, PyObject *args)
{
    long long delta = 1;

    if (!PyArg_ParseTuple(args, "|L", &delta)) {
        return NULL;
    }
    return PyLong_FromLongLong(granary_counter_add(((Counter *)object)->counter, delta));
}

static PyObject *
counter_get(PyObject *object, PyObject *none)
{
    (void)none;
    return PyLong_FromLongLong(granary_counter_get(((Counter *)object)->counter));
}

static PyObject *
counter_set(PyObject *object, PyObject *args)
{
    granary_counter *counter = ((Counter *)object)->counter;
    int64_t was = granary_counter_get(counter);
    long long value;

    if (!PyArg_ParseTuple(args, "L", &value)) {
        return NULL;
    }
    while (!granary_counter_set_if(counter, &was, value)) {
    }
    return PyLong_FromLongLong(was);
}

static PyObject *
counter_set_if(PyObject *object, PyObject *args)
{
    long long expected, value;
    int64_t was;

    if (!PyArg_ParseTuple(args, "LL", &expected, &value)) {
        return NULL;
    }
    was = expected;
    return PyBool_FromLong(granary_counter_set_if(((Counter *)object)->counter, &was, value));
}

static PyObject *
counter_wait(PyObject *object, PyObject *args)
{
    Counter *self = (Counter *)object;
    int timeout_ms = GRANARY_FOREVER;
    struct patience patience;
    bool signal = false;
    long long least;
    int64_t value;
    granary_err err;

    if (!PyArg_ParseTuple(args, "L|i", &least, &timeout_ms)) {
        return NULL;
    }
    patience = patience_begin(timeout_ms);
    do {
        const int slice_ms = patience_slice(&patience);

        Py_BEGIN_ALLOW_THREADS
        err = granary_counter_wait(self->counter, least, slice_ms, &value);
        Py_END_ALLOW_THREADS
    } while (err == GRANARY_ETIMEDOUT && patience_more(&patience, &signal));
    return signal ? NULL : err == GRANARY_OK ? PyLong_FromLongLong(value) : fail(err);
}

static PyMethodDef methods[] = {
    {"add", counter_add, METH_VARARGS, "add(delta=1) -> the new value. A forked child may do it, too."},
    {"get", counter_get, METH_NOARGS, "get() -> the value"},
    {"set", counter_set, METH_VARARGS, "set(value) -> what it was"},
    {"set_if", counter_set_if, METH_VARARGS,
     "set_if(expected, value) -> whether it was `expected`, and is `value` now"},
    {"wait", counter_wait, METH_VARARGS, "wait(least, timeout_ms=-1) -> the value, once it is that or more"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, counter_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, "A named number of a session. Any thread may use it."},
    {0, NULL},
};

static PyType_Spec spec = {"granary._granary.Counter", sizeof(Counter), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyMethodDef counter_methods[] = {
    {"counter", counter_open, METH_VARARGS, "counter(name) -> Counter; made, and 0, when there is none"},
    {NULL, NULL, 0, NULL},
};

int
counters_init_type(PyObject *module)
{
    counter_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return counter_type == NULL ? -1 : PyModule_AddType(module, counter_type);
}
