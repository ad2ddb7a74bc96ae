/* Frames and tensors: read where they lie, and put. */
#include "extension.h"

#include <stdio.h>
#include <string.h>

static PyTypeObject *frame_type;

/* A frame and what it lies in. */
typedef struct {
    PyObject_HEAD
    PyObject *view; /* NULL: the frame is a copy */
    granary_frame *frame;
} Frame;

PyObject *
frame_new(PyObject *view, granary_frame *frame)
{
    Frame *self = PyObject_New(Frame, frame_type);

    if (self == NULL) {
        granary_frame_close(frame);
        return NULL;
    }
    self->view = Py_XNewRef(view);
    self->frame = frame;
    return (PyObject *)self;
}

static void
frame_dealloc(PyObject *object)
{
    Frame *self = (Frame *)object;

    granary_frame_close(self->frame);
    Py_XDECREF(self->view);
    free_object(object);
}

Py_ssize_t
width_of(granary_dtype dtype)
{
    switch ((unsigned)dtype & 0xff) {
    case GRANARY_INT8:
    case GRANARY_UINT8:
        return 1;
    case GRANARY_INT16:
    case GRANARY_UINT16:
        return 2;
    case GRANARY_INT32:
    case GRANARY_UINT32:
    case GRANARY_FLOAT32:
    case GRANARY_DATE:
        return 4;
    case GRANARY_DECIMAL:
    case GRANARY_COMPLEX128:
        return 16;
    default:
        return 8;
    }
}

/* Strings, and binaries: they have offsets, or a dictionary. */
static bool
is_text(granary_dtype dtype)
{
    return dtype == GRANARY_STRING || dtype == GRANARY_BINARY;
}

static bool
is_list(granary_dtype dtype)
{
    return ((unsigned)dtype & 0xff) == GRANARY_LIST;
}

/* (name, dtype, rows, null count, validity, values, offsets, dictionary); what is not there is None. In the dictionary's
 * place lists have the column of their items. */
static PyObject *
column_object(PyObject *owner, const granary_column *column)
{
    const Py_ssize_t rows = (Py_ssize_t)column->rows, bitmap = (rows + 7) / 8;
    const granary_column *child = is_list(column->dtype) ? granary_column_items(column) : column->dictionary;
    const bool is_plain = is_text(column->dtype) && column->dictionary == NULL;
    const bool has_offsets = column->offsets != NULL && (is_plain || is_list(column->dtype));
    const Py_ssize_t size = column->dtype == GRANARY_NULLTYPE || is_list(column->dtype) ? 0
                            : is_plain                      ? (column->offsets == NULL ? 0 : column->offsets[rows])
                            : column->dictionary != NULL    ? rows * 4
                            : column->dtype == GRANARY_BOOL ? bitmap
                                                            : rows * width_of(column->dtype);
    PyObject *validity = column->validity == NULL ? Py_NewRef(Py_None) : memory_new(owner, column->validity, bitmap);
    PyObject *values = memory_new(owner, is_list(column->dtype) ? NULL : column->values, size);
    PyObject *offsets = has_offsets ? memory_new(owner, column->offsets, (rows + 1) * 4) : Py_NewRef(Py_None);
    PyObject *dictionary = child == NULL ? Py_NewRef(Py_None) : column_object(owner, child);
    PyObject *tuple = NULL;

    if (validity != NULL && values != NULL && offsets != NULL && dictionary != NULL) {
        tuple = Py_BuildValue("(ssLLOOOO)", column->name == NULL ? "" : column->name, granary_dtype_name(column->dtype),
                              (long long)column->rows, (long long)column->null_count, validity, values, offsets,
                              dictionary);
    }
    Py_XDECREF(validity);
    Py_XDECREF(values);
    Py_XDECREF(offsets);
    Py_XDECREF(dictionary);
    return tuple;
}

static PyObject *
frame_columns(PyObject *object, PyObject *none)
{
    Frame *self = (Frame *)object;
    const size_t count = granary_frame_columns(self->frame);
    PyObject *list = PyList_New((Py_ssize_t)count);

    (void)none;
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *column = column_object(object, granary_frame_column(self->frame, i));

        if (column == NULL || PyList_SetItem(list, (Py_ssize_t)i, column) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *
frame_get_rows(PyObject *object, void *none)
{
    (void)none;
    return PyLong_FromLongLong(granary_frame_rows(((Frame *)object)->frame));
}

static PyGetSetDef frame_members[] = {
    {"rows", frame_get_rows, NULL, "How many rows it has.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef frame_own_methods[] = {
    {"columns", frame_columns, METH_NOARGS, "[(name, dtype, rows, null_count, validity, values, offsets, dictionary)]"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot frame_slots[] = {
    {Py_tp_dealloc, frame_dealloc},
    {Py_tp_getset, frame_members},
    {Py_tp_methods, frame_own_methods},
    {Py_tp_doc, "Columns in Arrow's layout, where they lie."},
    {0, NULL},
};

static PyType_Spec frame_spec = {"granary._granary.Frame", sizeof(Frame), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, frame_slots};

int
frames_init_types(PyObject *module)
{
    frame_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &frame_spec, NULL);
    return frame_type == NULL ? -1 : PyModule_AddType(module, frame_type);
}

/* ---- of a view ---- */

PyObject *
view_frame(PyObject *object, PyObject *none)
{
    granary_frame *frame = NULL;
    granary_err err = granary_frame_open(&((View *)object)->view, &frame);

    (void)none;
    return err == GRANARY_OK ? frame_new(object, frame) : fail(err);
}

PyObject *
view_tensor(PyObject *object, PyObject *none)
{
    granary_tensor tensor;
    granary_err err = granary_tensor_open(&((View *)object)->view, &tensor);

    (void)none;
    return err == GRANARY_OK
               ? Py_BuildValue("(sNN)", granary_dtype_name(tensor.dtype), sizes_object(tensor.shape, tensor.dims),
                               memory_new(object, tensor.values, tensor_bytes(&tensor)))
               : fail(err);
}

/* ---- of bytes that are no object ---- */

PyObject *
frame_of_bytes(PyObject *module, PyObject *args)
{
    PyObject *data, *meta, *owner = NULL, *made = NULL;
    Py_buffer buffers[2] = {{.buf = NULL}, {.buf = NULL}};
    granary_view view = {.data = NULL};
    granary_frame *frame = NULL;
    granary_err err;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &data, &meta) || PyObject_GetBuffer(data, &buffers[0], PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (PyObject_GetBuffer(meta, &buffers[1], PyBUF_SIMPLE) == 0) {
        view.data = buffers[0].buf;
        view.data_size = (uint64_t)buffers[0].len;
        view.meta = buffers[1].len == 0 ? NULL : buffers[1].buf;
        view.meta_size = (uint64_t)buffers[1].len;
        err = granary_frame_open(&view, &frame);
        owner = err == GRANARY_OK ? Py_BuildValue("(OO)", data, meta) : fail(err);
        made = owner == NULL ? NULL : frame_new(owner, frame);
        if (owner == NULL && frame != NULL) {
            granary_frame_close(frame);
        }
        Py_XDECREF(owner);
        PyBuffer_Release(&buffers[1]);
    }
    PyBuffer_Release(&buffers[0]);
    return made;
}

/* ---- put ---- */

/* list(DTYPE) */
static bool
list_parse(const char *name, granary_dtype *ret_dtype)
{
    const size_t length = strlen(name);
    granary_dtype item;
    char inner[32];

    if (strncmp(name, "list(", 5) != 0 || length < 7 || length - 6 >= sizeof inner || name[length - 1] != ')') {
        return false;
    }
    memcpy(inner, name + 5, length - 6);
    inner[length - 6] = '\0';
    if (!dtype_parse(inner, &item)) {
        PyErr_Clear();
        return false;
    }
    *ret_dtype = GRANARY_LIST(item);
    return strcmp(granary_dtype_name(*ret_dtype), name) == 0;
}

bool
dtype_parse(const char *name, granary_dtype *ret_dtype)
{
    int scale;

    for (unsigned i = 0; i < 0xff; i++) { /* a number that is none is called '?' */
        if (strcmp(granary_dtype_name((granary_dtype)i), name) == 0) {
            *ret_dtype = (granary_dtype)i;
            return true;
        }
    }
    if (sscanf(name, "decimal(%d)", &scale) == 1 && scale >= 0 && scale <= GRANARY_DECIMAL_SCALE_MOST) {
        *ret_dtype = GRANARY_DECIMAL(scale);
        return true;
    }
    if (list_parse(name, ret_dtype)) {
        return true;
    }
    PyErr_Format(PyExc_TypeError, "there is no dtype '%s'", name);
    return false;
}

void
given_free(struct given *given)
{
    for (Py_ssize_t i = 0; given->buffers != NULL && i < given->count * 6; i++) {
        PyBuffer_Release(&given->buffers[i]);
    }
    PyMem_Free(given->columns);
    PyMem_Free(given->buffers);
}

/* A buffer of at least so many bytes, or None. */
static bool
take_buffer(PyObject *object, Py_buffer *buffer, Py_ssize_t least, const char *name, const void **ret_bytes)
{
    *ret_bytes = NULL;
    if (object == Py_None) {
        return true;
    }
    if (PyObject_GetBuffer(object, buffer, PyBUF_SIMPLE) < 0) {
        return false;
    }
    if (buffer->len < least) {
        PyErr_Format(PyExc_ValueError, "column '%s': a buffer of %zd bytes where %zd are needed", name, buffer->len,
                     least);
        return false;
    }
    *ret_bytes = buffer->buf;
    return true;
}

static bool
take_column(struct given *given, PyObject *tuple, Py_ssize_t at, bool is_dictionary)
{
    granary_column *column = &given->columns[at];
    Py_buffer *buffers = &given->buffers[3 * at];
    const char *name, *dtype;
    PyObject *validity, *values, *offsets, *dictionary;
    long long rows, nulls;
    Py_ssize_t width;

    if (!PyTuple_Check(tuple) ||
        !PyArg_ParseTuple(tuple, "ssLLOOOO", &name, &dtype, &rows, &nulls, &validity, &values, &offsets, &dictionary)) {
        return false;
    }
    if (rows < 0 || (!is_dictionary && rows != given->rows)) {
        PyErr_Format(PyExc_ValueError, "column '%s' has %lld rows", name, rows);
        return false;
    }
    if (is_dictionary && dictionary != Py_None) {
        PyErr_Format(PyExc_ValueError, "column '%s': a dictionary in a dictionary, or in items", name);
        return false;
    }
    column->name = name;
    column->rows = rows;
    if (!dtype_parse(dtype, &column->dtype)) {
        return false;
    }
    width = is_text(column->dtype) && dictionary == Py_None ? 0
            : column->dtype == GRANARY_NULLTYPE             ? 0
            : is_list(column->dtype)                        ? 0
            : is_text(column->dtype)                        ? 4 * (Py_ssize_t)rows
            : column->dtype == GRANARY_BOOL                 ? ((Py_ssize_t)rows + 7) / 8
                                                            : width_of(column->dtype) * (Py_ssize_t)rows;
    if (!take_buffer(validity, &buffers[0], ((Py_ssize_t)rows + 7) / 8, name, (const void **)&column->validity) ||
        !take_buffer(values, &buffers[1], width, name, &column->values) ||
        !take_buffer(offsets, &buffers[2], 4 * ((Py_ssize_t)rows + 1), name, (const void **)&column->offsets)) {
        return false;
    }
    if (is_text(column->dtype) && dictionary == Py_None) {
        if (column->offsets == NULL) {
            PyErr_Format(PyExc_ValueError, "column '%s': strings need offsets", name);
            return false;
        }
        if (column->offsets[rows] > buffers[1].len) {
            PyErr_Format(PyExc_ValueError, "column '%s': its offsets lead beyond its bytes", name);
            return false;
        }
    }
    if (is_list(column->dtype)) {
        if (column->offsets == NULL || dictionary == Py_None || is_dictionary) {
            PyErr_Format(PyExc_ValueError, "column '%s': lists need offsets and items, which are no lists", name);
            return false;
        }
        column->values = &given->columns[given->count + at];
        return take_column(given, dictionary, given->count + at, true);
    }
    if (dictionary != Py_None && !is_dictionary) {
        column->dictionary = &given->columns[given->count + at];
        return take_column(given, dictionary, given->count + at, true);
    }
    return true;
}

bool
take_columns(PyObject *sequence, long long rows, struct given *given)
{
    *given = (struct given){.count = PySequence_Size(sequence), .rows = rows};
    if (given->count < 0) {
        given->count = 0;
        return false;
    }
    given->columns = PyMem_Calloc((size_t)given->count * 2 + 1, sizeof *given->columns);
    given->buffers = PyMem_Calloc((size_t)given->count * 6 + 1, sizeof *given->buffers);
    if (given->columns == NULL || given->buffers == NULL) {
        (void)PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < given->count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        const bool good = item != NULL && take_column(given, item, i, false);

        Py_XDECREF(item); /* the sequence keeps it */
        if (!good) {
            return false;
        }
    }
    return true;
}

static PyObject *
frame_put(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"columns", "rows", "id", "timeout_ms", "counted", "importance", "persist", NULL};
    Client *self = (Client *)object;
    granary_object_options options = {.importance = 0};
    PyObject *columns, *made = NULL;
    struct given given;
    granary_id id = {{0}};
    long long rows;
    int counted = 0, persist = 0;
    granary_err err;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OL|O&ipip", names, &columns, &rows, id_convert_optional, &id,
                                     &options.timeout_ms, &counted, &options.importance, &persist)) {
        return NULL;
    }
    options.counted = counted != 0;
    options.persist = persist != 0 ? GRANARY_LEVEL_DISK : 0;
    if (take_columns(columns, rows, &given) && client_enter(self) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        err = granary_frame_put_with(self->client, given.columns, (size_t)given.count, rows, &options, &id);
        Py_END_ALLOW_THREADS
        client_leave(self);
        made = err == GRANARY_OK ? id_object(&id) : fail(err);
    }
    given_free(&given);
    return made;
}

bool
shape_parse(PyObject *sequence, granary_tensor *tensor)
{
    const Py_ssize_t dims = PySequence_Size(sequence);

    if (dims < 0 || dims > 8) {
        PyErr_SetString(PyExc_ValueError, "a tensor has at most 8 dimensions");
        return false;
    }
    tensor->dims = (int)dims;
    for (Py_ssize_t i = 0; i < dims; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);

        tensor->shape[i] = item == NULL ? -1 : PyLong_AsLongLong(item);
        Py_XDECREF(item);
        if (tensor->shape[i] < 0) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "a dimension cannot be below 0");
            }
            return false;
        }
    }
    return true;
}

/* Names of columns, which the sequence keeps; to be freed with PyMem_Free(). None: NULL, all. False: a Python error is set */
static bool
take_names(PyObject *sequence, const char ***ret_names, Py_ssize_t *ret_count)
{
    const Py_ssize_t count = sequence == Py_None ? 0 : PySequence_Size(sequence);
    const char **names = sequence == Py_None || count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof *names);

    *ret_names = NULL;
    *ret_count = count;
    if (sequence == Py_None) {
        return true;
    }
    for (Py_ssize_t i = 0; names != NULL && i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);

        names[i] = item == NULL ? NULL : PyUnicode_AsUTF8AndSize(item, NULL);
        Py_XDECREF(item);
        if (names[i] == NULL) {
            PyMem_Free(names);
            return false;
        }
    }
    if (names == NULL && !PyErr_Occurred()) {
        (void)PyErr_NoMemory();
    }
    *ret_names = names;
    return names != NULL;
}

static PyObject *
read_rows(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    PyObject *given = Py_None, *read = NULL;
    granary_frame *frame = NULL;
    const char **names;
    long long from, rows;
    Py_ssize_t count;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTuple(args, "O&LL|O", id_convert, &id, &from, &rows, &given) ||
        !take_names(given, &names, &count)) {
        return NULL;
    }
    if (client_enter(self) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        err = granary_frame_read_rows(self->client, id, from, rows, names, (size_t)count, 30000, &frame);
        Py_END_ALLOW_THREADS
        client_leave(self);
        read = err == GRANARY_OK ? frame_new(NULL, frame) : fail(err);
    }
    PyMem_Free(names);
    return read;
}

PyMethodDef frame_methods[] = {
    {"frame_put", (PyCFunction)(void (*)(void))frame_put, METH_VARARGS | METH_KEYWORDS,
     "frame_put(columns, rows, id=None, **options of create()) -> id; columns as of Frame.columns()"},
    {"read_rows", read_rows, METH_VARARGS,
     "read_rows(id, from, rows, names=None) -> Frame, a copy; rows -1: to the end"},
    {NULL, NULL, 0, NULL},
};
