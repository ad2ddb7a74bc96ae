/* Arrow's PyCapsule interface: schemas and streams of frames out, streams and arrays in. */
#include "extension.h"

#include <stdlib.h>
#include <string.h>

#include "granary/arrow.h"

/* As the interface names them. */
#define STREAM_CAPSULE "arrow_array_stream"
#define SCHEMA_CAPSULE "arrow_schema"
#define ARRAY_CAPSULE  "arrow_array"

/* ---- out ---- */

/* Nobody has taken the stream out of the capsule: then it is still to be released. */
static void
stream_free(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, STREAM_CAPSULE);

    if (stream != NULL && stream->release != NULL) {
        stream->release(stream);
    }
    PyMem_Free(stream);
}

static void
schema_free(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, SCHEMA_CAPSULE);

    if (schema != NULL && schema->release != NULL) {
        schema->release(schema);
    }
    PyMem_Free(schema);
}

/* A struct of so many bytes goes into a capsule; NULL: a Python error is set, and it is still the caller's. */
static PyObject *
capsule_of(const void *given, size_t size, const char *name, PyCapsule_Destructor end)
{
    void *copy = PyMem_Malloc(size);
    PyObject *capsule;

    if (copy == NULL) {
        return PyErr_NoMemory();
    }
    memcpy(copy, given, size);
    capsule = PyCapsule_New(copy, name, end);
    if (capsule == NULL) {
        PyMem_Free(copy);
    }
    return capsule;
}

/* What a capsule holds; NULL: a Python error is set, or *ret_none, there is no capsule. */
static const struct ArrowSchema *
schema_of(PyObject *capsule, bool *ret_none)
{
    *ret_none = capsule == Py_None;
    if (!*ret_none && !PyCapsule_IsValid(capsule, SCHEMA_CAPSULE)) {
        PyErr_SetString(PyExc_TypeError, "requested_schema is None or a capsule named '" SCHEMA_CAPSULE "'");
        return NULL;
    }
    return *ret_none ? NULL : PyCapsule_GetPointer(capsule, SCHEMA_CAPSULE);
}

/* The stream of some frames, with the columns that are asked for. */
static granary_err
stream_begin(Client *self, const granary_id *ids, Py_ssize_t count, const struct ArrowSchema *asked,
             struct ArrowArrayStream *ret_stream)
{
    granary_err err = granary_frames_stream(self->client, ids, (size_t)count, ret_stream);

    if (err == GRANARY_OK && asked != NULL) {
        err = granary_stream_request(ret_stream, asked);
        if (err != GRANARY_OK) {
            ret_stream->release(ret_stream);
        }
    }
    return err;
}

static PyObject *
arrow_frames(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    PyObject *sequence, *requested = Py_None, *capsule = NULL;
    struct ArrowArrayStream stream;
    const struct ArrowSchema *asked;
    Py_ssize_t count;
    granary_id *ids;
    granary_err err;
    bool is_none;

    if (!PyArg_ParseTuple(args, "O|O", &sequence, &requested)) {
        return NULL;
    }
    asked = schema_of(requested, &is_none);
    if (asked == NULL && !is_none) {
        return NULL;
    }
    ids = ids_convert(sequence, &count);
    if (ids != NULL && client_enter(self) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        err = stream_begin(self, ids, count, asked, &stream);
        Py_END_ALLOW_THREADS
        client_leave(self);
        capsule = err == GRANARY_OK ? capsule_of(&stream, sizeof stream, STREAM_CAPSULE, stream_free) : fail(err);
        if (err == GRANARY_OK && capsule == NULL) {
            stream.release(&stream);
        }
    }
    PyMem_Free(ids);
    return capsule;
}

/* Of a frame object, which is not read. */
static PyObject *
arrow_schema(PyObject *object, PyObject *bytes)
{
    Client *self = (Client *)object;
    struct ArrowSchema schema;
    PyObject *capsule = NULL;
    granary_view view;
    granary_id id;
    granary_err err;

    if (!id_convert(bytes, &id) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_object_get(self->client, id, 0, &view);
    if (err == GRANARY_OK) {
        struct ArrowArray array;

        err = granary_frame_export(self->client, &view, &schema, &array);
        if (err == GRANARY_OK) {
            array.release(&array);
        } else {
            granary_object_release(self->client, &view);
        }
    }
    Py_END_ALLOW_THREADS
    client_leave(self);
    capsule = err == GRANARY_OK ? capsule_of(&schema, sizeof schema, SCHEMA_CAPSULE, schema_free) : fail(err);
    if (err == GRANARY_OK && capsule == NULL) {
        schema.release(&schema);
    }
    return capsule;
}

/* ---- in ---- */

static PyObject *
arrow_put(PyObject *object, PyObject *capsule)
{
    Client *self = (Client *)object;
    struct ArrowArrayStream *given, stream;
    granary_id *ids = NULL;
    PyObject *list;
    size_t count = 0;
    granary_err err;

    if (!PyCapsule_IsValid(capsule, STREAM_CAPSULE)) {
        PyErr_SetString(PyExc_TypeError, "an Arrow stream is a capsule named '" STREAM_CAPSULE "'");
        return NULL;
    }
    given = PyCapsule_GetPointer(capsule, STREAM_CAPSULE);
    if (given == NULL || given->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "the Arrow stream was taken before");
        return NULL;
    }
    if (client_enter(self) == NULL) {
        return NULL;
    }
    stream = *given;
    given->release = NULL; /* moved */
    /* The producer may be in Python: it takes the lock itself when it needs it. */
    Py_BEGIN_ALLOW_THREADS
    err = granary_frame_import(self->client, &stream, &ids, &count);
    Py_END_ALLOW_THREADS
    client_leave(self);
    list = err == GRANARY_OK ? ids_object(ids, count) : fail(err);
    free(ids);
    return list;
}

/* What a capsule of that name holds; NULL: a Python error is set */
static void *
pointer_of(PyObject *capsule, const char *name)
{
    if (!PyCapsule_IsValid(capsule, name)) {
        PyErr_Format(PyExc_TypeError,
                     "an Arrow array is a pair of capsules named '" SCHEMA_CAPSULE "' and '" ARRAY_CAPSULE "': "
                     "'%s' is missing",
                     name);
        return NULL;
    }
    return PyCapsule_GetPointer(capsule, name);
}

static PyObject *
arrow_put_array(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    struct ArrowSchema *given_schema, schema;
    struct ArrowArray *given_array, array;
    PyObject *capsules[2];
    granary_id id = {{0}};
    granary_err err;

    if (!PyArg_ParseTuple(args, "OO", &capsules[0], &capsules[1])) {
        return NULL;
    }
    given_schema = pointer_of(capsules[0], SCHEMA_CAPSULE);
    given_array = given_schema == NULL ? NULL : pointer_of(capsules[1], ARRAY_CAPSULE);
    if (given_array == NULL) {
        return NULL;
    }
    if (given_schema->release == NULL || given_array->release == NULL) {
        PyErr_SetString(PyExc_ValueError, "the Arrow array was taken before");
        return NULL;
    }
    if (client_enter(self) == NULL) {
        return NULL;
    }
    schema = *given_schema;
    array = *given_array;
    given_schema->release = NULL; /* moved */
    given_array->release = NULL;
    Py_BEGIN_ALLOW_THREADS
    err = granary_frame_import_array(self->client, &schema, &array, &id);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? id_object(&id) : fail(err);
}

PyMethodDef arrow_methods[] = {
    {"arrow_frames", arrow_frames, METH_VARARGS,
     "arrow_frames(ids, requested_schema=None) -> capsule of an ArrowArrayStream"},
    {"arrow_schema", arrow_schema, METH_O, "arrow_schema(id) -> capsule of an ArrowSchema"},
    {"arrow_put_array", arrow_put_array, METH_VARARGS, "arrow_put_array(schema, array) -> id of a frame object"},
    {"arrow_put", arrow_put, METH_O, "arrow_put(capsule) -> ids of frame objects, one for each record batch"},
    {NULL, NULL, 0, NULL},
};
