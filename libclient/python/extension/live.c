/* Live queries: the result of a SELECT, again and again. */
#include "granary/live.h"

#include "extension.h"

static PyTypeObject *live_type;

static void
close_live(void *live)
{
    granary_live_close(live);
}

static PyObject *
live_open(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    granary_live *live = NULL;
    PyObject *made = NULL;
    const char *text;
    Py_ssize_t length;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s#", &text, &length) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_live_open(self->client, text, (size_t)length, &live);
    Py_END_ALLOW_THREADS
    made = err == GRANARY_OK ? handle_new(live_type, self, live, close_live) : fail(err);
    client_leave(self);
    return made;
}

static PyObject *
live_next(PyObject *object, PyObject *args)
{
    granary_live_step step = {.time = 0};
    int timeout_ms = GRANARY_FOREVER;
    struct patience patience;
    bool signal = false;
    granary_live *live;
    granary_err err;

    if (!PyArg_ParseTuple(args, "|i", &timeout_ms)) {
        return NULL;
    }
    if (((Handle *)object)->uses > 0) {
        PyErr_SetString(PyExc_RuntimeError, "another thread waits for the next result of this live query");
        return NULL;
    }
    live = handle_enter(object, "live query");
    if (live == NULL) {
        return NULL;
    }
    patience = patience_begin(timeout_ms);
    do {
        const int slice_ms = patience_slice(&patience);

        Py_BEGIN_ALLOW_THREADS
        err = granary_live_next(live, slice_ms, &step);
        Py_END_ALLOW_THREADS
    } while (err == GRANARY_ETIMEDOUT && handle_more(object, &patience, &signal));
    handle_leave(object);
    if (signal) {
        return NULL;
    }
    return err == GRANARY_OK ? Py_BuildValue("(sLOOK)", step.key, (long long)step.time, step.added ? Py_True : Py_False,
                                             step.anew ? Py_True : Py_False, (unsigned long long)step.rows_read)
                             : fail(err);
}

static PyObject *
live_kind(PyObject *object, PyObject *none)
{
    static const char *const kinds[] = {"", "whole", "groups", "rows"};
    granary_live *live = handle_enter(object, "live query");
    PyObject *kind = live == NULL ? NULL : PyUnicode_FromString(kinds[granary_live_kind(live) & 3]);

    (void)none;
    if (live != NULL) {
        handle_leave(object);
    }
    return kind;
}

static PyMethodDef live_own_methods[] = {
    {"next", live_next, METH_VARARGS, "next(timeout_ms=-1) -> (key, time, added, anew, rows_read)"},
    {"kind", live_kind, METH_NOARGS, "How results are made: 'whole', 'groups' or 'rows'."},
    {"close", handle_close, METH_NOARGS, "End it, when no call uses it any more."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot live_slots[] = {
    {Py_tp_dealloc, handle_dealloc},
    {Py_tp_methods, live_own_methods},
    {Py_tp_doc, "A SELECT over tables that change. One thread at a time."},
    {0, NULL},
};

static PyType_Spec live_spec = {"granary._granary.Live", sizeof(Handle), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, live_slots};

int
live_init_type(PyObject *module)
{
    live_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &live_spec, NULL);
    return live_type == NULL ? -1 : PyModule_AddType(module, live_type);
}

PyMethodDef live_methods[] = {
    {"live_open", live_open, METH_VARARGS, "live_open(sql) -> Live"},
    {NULL, NULL, 0, NULL},
};
