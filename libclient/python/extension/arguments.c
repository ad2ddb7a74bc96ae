/* What calls are given and give: ids, sizes, lists; and calls that are alike but for the function. */
#include "extension.h"

#include <stdlib.h>
#include <string.h>

/* ---- ids ---- */

int
id_convert(PyObject *object, void *to)
{
    char *bytes;
    Py_ssize_t size;

    if (!PyBytes_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "an id is a bytes object");
        return 0;
    }
    if (PyBytes_AsStringAndSize(object, &bytes, &size) < 0) {
        return 0;
    }
    if (size != GRANARY_ID_BYTES) {
        PyErr_Format(PyExc_ValueError, "an id has %d bytes, not %zd", GRANARY_ID_BYTES, size);
        return 0;
    }
    memcpy(((granary_id *)to)->bytes, bytes, GRANARY_ID_BYTES);
    return 1;
}

int
id_convert_optional(PyObject *object, void *to)
{
    if (object == Py_None) {
        memset(to, 0, sizeof(granary_id));
        return 1;
    }
    return id_convert(object, to);
}

PyObject *
id_object(const granary_id *id)
{
    return PyBytes_FromStringAndSize((const char *)id->bytes, sizeof id->bytes);
}

granary_id *
ids_convert(PyObject *sequence, Py_ssize_t *ret_count)
{
    const Py_ssize_t count = PySequence_Size(sequence);
    granary_id *ids = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof *ids);

    for (Py_ssize_t i = 0; ids != NULL && i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        const int good = item != NULL && id_convert(item, &ids[i]);

        Py_XDECREF(item);
        if (!good) {
            PyMem_Free(ids);
            return NULL;
        }
    }
    if (ids == NULL && !PyErr_Occurred()) {
        return (granary_id *)PyErr_NoMemory();
    }
    *ret_count = count;
    return ids;
}

PyObject *
ids_object(const granary_id *ids, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);

    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *id = id_object(&ids[i]);

        if (id == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        (void)PyList_SetItem(list, (Py_ssize_t)i, id);
    }
    return list;
}

/* ---- sizes ---- */

PyObject *
sizes_object(const int64_t *sizes, int dims)
{
    PyObject *tuple = PyTuple_New(dims);

    for (int i = 0; tuple != NULL && i < dims; i++) {
        (void)PyTuple_SetItem(tuple, i, PyLong_FromLongLong(sizes[i]));
    }
    return tuple;
}

Py_ssize_t
tensor_bytes(const granary_tensor *tensor)
{
    Py_ssize_t size = tensor->dtype == GRANARY_BOOL ? 1 : width_of(tensor->dtype);

    for (int i = 0; i < tensor->dims; i++) {
        size = tensor->shape[i] > 0 && size > PY_SSIZE_T_MAX / tensor->shape[i] ? PY_SSIZE_T_MAX
                                                                                : size * (Py_ssize_t)tensor->shape[i];
    }
    return size;
}

/* ---- lists ---- */

PyObject *
infos_object(void *infos, size_t count, size_t size, PyObject *(*make)(const void *info))
{
    PyObject *list = PyList_New((Py_ssize_t)count);

    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *item = make((const char *)infos + i * size);

        if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) {
            Py_CLEAR(list);
        }
    }
    free(infos);
    return list;
}

/* ---- calls ---- */

PyObject *
name_call(PyObject *object, PyObject *args, granary_err (*call)(granary_client *, const char *))
{
    Client *self = (Client *)object;
    const char *name;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s", &name) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = call(self->client, name);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}
