/* Elements of a tensor that changes: indexes as NumPy has them, written and looked at. */
#include <string.h>

#include "extension.h"
#include "granary/mutable.h"

static PyTypeObject *part_type;

/* (dtype, shape, chunk) */
PyObject *
tensor_shape(PyObject *object, PyObject *none)
{
    granary_mutable *table = handle_enter(object, TABLE_WHAT);
    granary_mutable_tensor tensor = {.dims = 0};
    granary_err err;

    (void)none;
    if (table == NULL) {
        return NULL;
    }
    err = granary_mutable_shape(table, &tensor);
    handle_leave(object);
    return err == GRANARY_OK
               ? Py_BuildValue("(sNN)", granary_dtype_name(tensor.dtype), sizes_object(tensor.shape, tensor.dims),
                               sizes_object(tensor.chunk, tensor.dims))
               : fail(err);
}

/* Indexes, with the buffers that they borrow. */
struct indexes {
    granary_index *indexes;
    Py_buffer *buffers;
    Py_ssize_t count;
};

static void
indexes_free(struct indexes *taken)
{
    for (Py_ssize_t i = 0; taken->buffers != NULL && i < taken->count; i++) {
        PyBuffer_Release(&taken->buffers[i]);
    }
    PyMem_Free(taken->indexes);
    PyMem_Free(taken->buffers);
}

/* (kind, start, stop, step, buffer or None, dimensions of a mask) */
static bool
take_index(PyObject *tuple, granary_index *index, Py_buffer *buffer)
{
    PyObject *bytes = Py_None;
    long long start = 0, stop = 0, step = 0;
    int kind = 0;

    if (!PyTuple_Check(tuple) ||
        !PyArg_ParseTuple(tuple, "iLLLOi", &kind, &start, &stop, &step, &bytes, &index->mask_dims)) {
        return false;
    }
    index->kind = (granary_index_kind)kind;
    index->slice = (granary_slice){.start = start, .stop = stop, .step = step};
    if (kind != GRANARY_INDEX_LIST && kind != GRANARY_INDEX_MASK) {
        return true;
    }
    if (PyObject_GetBuffer(bytes, buffer, PyBUF_SIMPLE) < 0) {
        return false;
    }
    if (kind == GRANARY_INDEX_LIST) {
        index->list = buffer->buf;
        index->count = (size_t)buffer->len / sizeof *index->list;
    } else {
        index->mask = buffer->buf;
        index->count = (size_t)buffer->len;
    }
    return true;
}

static bool
take_indexes(PyObject *sequence, struct indexes *taken)
{
    *taken = (struct indexes){.count = PySequence_Size(sequence)};
    if (taken->count < 0) {
        return false;
    }
    taken->indexes = PyMem_Calloc((size_t)taken->count + 1, sizeof *taken->indexes);
    taken->buffers = PyMem_Calloc((size_t)taken->count + 1, sizeof *taken->buffers);
    if (taken->indexes == NULL || taken->buffers == NULL) {
        (void)PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < taken->count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        const bool good = item != NULL && take_index(item, &taken->indexes[i], &taken->buffers[i]);

        Py_XDECREF(item); /* the sequence keeps it */
        if (!good) {
            return false;
        }
    }
    return true;
}

PyObject *
tensor_write(PyObject *object, PyObject *args)
{
    granary_write_options options;
    granary_tensor tensor = {.dims = 0};
    struct indexes taken;
    granary_mutable *table;
    PyObject *given, *shape, *made = NULL;
    int64_t written = 0;
    long long time = 0;
    const char *dtype;
    Py_buffer data;
    granary_err err;

    if (!PyArg_ParseTuple(args, "OsOy*|L", &given, &dtype, &shape, &data, &time)) {
        return NULL;
    }
    options = (granary_write_options){.time = time};
    if (take_indexes(given, &taken) && dtype_parse(dtype, &tensor.dtype) && shape_parse(shape, &tensor)) {
        tensor.values = data.buf;
        if (tensor_bytes(&tensor) > data.len) {
            PyErr_Format(PyExc_ValueError, "%zd bytes for values of %zd", data.len, tensor_bytes(&tensor));
        } else if ((table = handle_enter(object, TABLE_WHAT)) != NULL) {
            Py_BEGIN_ALLOW_THREADS
            err = granary_mutable_write(table, taken.indexes, (size_t)taken.count, &tensor, &options, &written);
            Py_END_ALLOW_THREADS
            handle_leave(object);
            made = err == GRANARY_OK ? PyLong_FromLongLong(written) : fail(err);
        }
    }
    indexes_free(&taken);
    PyBuffer_Release(&data);
    return made;
}

/* Elements that were looked at. */
typedef struct {
    PyObject_HEAD
    Client *client;
    granary_mutable_part part;
} Part;

static void
part_dealloc(PyObject *object)
{
    Part *self = (Part *)object;

    if (client_is_own(self->client)) {
        granary_mutable_release(self->client->client, &self->part);
        client_leave(self->client);
    }
    Py_DECREF((PyObject *)self->client);
    free_object(object);
}

static PyType_Slot part_slots[] = {
    {Py_tp_dealloc, part_dealloc},
    {Py_tp_doc, "Elements of a tensor as they were at a time."},
    {0, NULL},
};

static PyType_Spec part_spec = {"granary._granary.Part", sizeof(Part), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, part_slots};

/* Takes the part over, also when it fails. */
static PyObject *
part_object(Client *client, granary_mutable_part *part)
{
    Part *owner = PyObject_New(Part, part_type);
    const granary_tensor *tensor;
    PyObject *made;

    if (owner == NULL) {
        granary_mutable_release(client->client, part);
        return NULL;
    }
    client_keep(client);
    owner->client = client;
    owner->part = *part;
    tensor = &owner->part.tensor;
    made = Py_BuildValue("(sNNO)", granary_dtype_name(tensor->dtype), sizes_object(tensor->shape, tensor->dims),
                         memory_new((PyObject *)owner, tensor->values, tensor_bytes(tensor)),
                         owner->part.mapped ? Py_True : Py_False);
    Py_DECREF((PyObject *)owner);
    return made;
}

PyObject *
tensor_view(PyObject *object, PyObject *args)
{
    long long time = GRANARY_NOW;
    granary_mutable_part part;
    struct indexes taken;
    granary_mutable *table;
    PyObject *given, *made = NULL;
    granary_err err;

    if (!PyArg_ParseTuple(args, "O|L", &given, &time)) {
        return NULL;
    }
    memset(&part, 0, sizeof part);
    if (take_indexes(given, &taken) && (table = handle_enter(object, TABLE_WHAT)) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        err = granary_mutable_view(table, time, taken.indexes, (size_t)taken.count, &part);
        Py_END_ALLOW_THREADS
        made = err == GRANARY_OK ? part_object(((Handle *)object)->client, &part) : fail(err);
        handle_leave(object);
    }
    indexes_free(&taken);
    return made;
}

int
tensors_init_type(PyObject *module)
{
    part_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &part_spec, NULL);
    return part_type == NULL ? -1 : PyModule_AddType(module, part_type);
}
