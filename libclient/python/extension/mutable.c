/* Tables that change, and what tensors have in common with them; tensors.c has the elements of these. */
#include "granary/mutable.h"

#include <stdlib.h>
#include <string.h>

#include "extension.h"

#define EARLY (INT64_MIN + 1) /* before every write */

static PyTypeObject *table_type;

static void
close_table(void *table)
{
    granary_mutable_close(table);
}

/* ---- of the session ---- */

static bool
options_parse(const char *durability, double interval, int flags, granary_mutable_options *options)
{
    *options = (granary_mutable_options){.flags = (unsigned)flags};
    if (strcmp(durability, "commit") == 0) {
        options->durability = GRANARY_DURABLE_COMMIT;
    } else if (strcmp(durability, "interval") == 0) {
        options->durability = GRANARY_DURABLE_INTERVAL;
        options->interval_ns = (int64_t)(interval * 1e9);
    } else if (strcmp(durability, "none") != 0) {
        PyErr_Format(PyExc_ValueError, "there is no durability '%s'", durability);
        return false;
    }
    return true;
}

/* (name, dtype) each, which the sequence keeps; to be freed with PyMem_Free(). NULL: a Python error is set */
static granary_column *
schema_parse(PyObject *sequence, Py_ssize_t *ret_count)
{
    const Py_ssize_t count = PySequence_Size(sequence);
    granary_column *columns = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof *columns);

    for (Py_ssize_t i = 0; columns != NULL && i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        const char *dtype = NULL;
        const bool good = item != NULL && PyArg_ParseTuple(item, "ss", &columns[i].name, &dtype) &&
                          dtype_parse(dtype, &columns[i].dtype);

        Py_XDECREF(item);
        if (!good) {
            PyMem_Free(columns);
            return NULL;
        }
    }
    if (columns == NULL && !PyErr_Occurred()) {
        (void)PyErr_NoMemory();
    }
    *ret_count = count;
    return columns;
}

static PyObject *
table_create(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    const char *name, *durability = "none";
    granary_mutable_options options;
    granary_mutable *table = NULL;
    PyObject *given, *made = NULL;
    granary_column *columns;
    double interval = 0;
    Py_ssize_t count;
    int flags = 0;
    granary_err err;

    if (!PyArg_ParseTuple(args, "sO|sdi", &name, &given, &durability, &interval, &flags) ||
        !options_parse(durability, interval, flags, &options)) {
        return NULL;
    }
    columns = schema_parse(given, &count);
    if (columns != NULL && client_enter(self) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        err = granary_mutable_create_frame(self->client, name, columns, (size_t)count, &options, &table);
        Py_END_ALLOW_THREADS
        made = err == GRANARY_OK ? handle_new(table_type, self, table, close_table) : fail(err);
        client_leave(self);
    }
    PyMem_Free(columns);
    return made;
}

static PyObject *
tensor_create(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    const char *name, *dtype, *durability = "none";
    granary_mutable_tensor tensor = {.dims = 0};
    granary_tensor shape = {.dims = 0}, chunk = {.dims = 0};
    granary_mutable_options options;
    granary_mutable *table = NULL;
    PyObject *sizes, *chunks = Py_None, *made;
    double interval = 0;
    int flags = 0;
    granary_err err;

    if (!PyArg_ParseTuple(args, "ssO|Ozsdi", &name, &dtype, &sizes, &chunks, &tensor.fill, &durability, &interval,
                          &flags) ||
        !options_parse(durability, interval, flags, &options) || !dtype_parse(dtype, &tensor.dtype) ||
        !shape_parse(sizes, &shape) || (chunks != Py_None && !shape_parse(chunks, &chunk))) {
        return NULL;
    }
    if (chunks != Py_None && chunk.dims != shape.dims) {
        return PyErr_Format(PyExc_ValueError, "chunks of %d dimensions for a tensor of %d", chunk.dims, shape.dims);
    }
    tensor.dims = shape.dims;
    for (int i = 0; i < tensor.dims; i++) {
        tensor.shape[i] = shape.shape[i];
        tensor.chunk[i] = chunk.shape[i];
    }
    if (client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_mutable_create_tensor(self->client, name, &tensor, &options, &table);
    Py_END_ALLOW_THREADS
    made = err == GRANARY_OK ? handle_new(table_type, self, table, close_table) : fail(err);
    client_leave(self);
    return made;
}

static PyObject *
table_open(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    granary_mutable *table = NULL;
    const char *name;
    PyObject *made;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s", &name) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_table_open(self->client, name, &table);
    Py_END_ALLOW_THREADS
    made = err == GRANARY_OK ? handle_new(table_type, self, table, close_table) : fail(err);
    client_leave(self);
    return made;
}

static PyObject *
table_delete(PyObject *object, PyObject *args)
{
    return name_call(object, args, granary_mutable_delete);
}

static PyObject *
table_recover(PyObject *object, PyObject *args)
{
    return name_call(object, args, granary_mutable_recover);
}

static PyObject *
info_object(const void *of)
{
    const granary_mutable_info *info = of;
    static const char *const durabilities[] = {"none", "interval", "commit"};
    const bool is_tensor = info->kind == GRANARY_MUTABLE_TENSOR || info->kind == GRANARY_SEALED_TENSOR;
    const bool is_sealed = info->kind == GRANARY_SEALED_FRAME || info->kind == GRANARY_SEALED_TENSOR;

    return Py_BuildValue("{s:s,s:y#,s:O,s:O,s:L,s:L,s:L,s:I,s:I,s:K,s:s,s:d}", "name", info->name, "id",
                         (const char *)info->id.bytes, (Py_ssize_t)sizeof info->id.bytes, "tensor",
                         is_tensor ? Py_True : Py_False, "sealed", is_sealed ? Py_True : Py_False, "rows",
                         (long long)info->rows, "newest", (long long)info->newest, "final", (long long)info->final,
                         "writers", info->writers, "parts", info->parts, "changes", (unsigned long long)info->changes,
                         "durability", durabilities[info->durability <= GRANARY_DURABLE_COMMIT ? info->durability : 0],
                         "interval", (double)info->interval_ns / 1e9);
}

static PyObject *
table_describe(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    granary_mutable_info info;
    const char *name;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s", &name) || client_enter(self) == NULL) {
        return NULL;
    }
    memset(&info, 0, sizeof info);
    Py_BEGIN_ALLOW_THREADS
    err = granary_mutable_describe(self->client, name, &info);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? info_object(&info) : fail(err);
}

static PyObject *
table_list(PyObject *object, PyObject *none)
{
    Client *self = (Client *)object;
    granary_mutable_info *infos = NULL;
    size_t count = 0;
    granary_err err;

    (void)none;
    if (client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_mutable_list(self->client, &infos, &count);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? infos_object(infos, count, sizeof *infos, info_object) : fail(err);
}

PyMethodDef mutable_methods[] = {
    {"table_create", table_create, METH_VARARGS,
     "table_create(name, [(name, dtype)], durability='none', interval=0.0, flags=0) -> Table"},
    {"tensor_create", tensor_create, METH_VARARGS,
     "tensor_create(name, dtype, shape, chunk=None, fill=None, durability='none', interval=0.0, flags=0) -> Table"},
    {"table_open", table_open, METH_VARARGS, "table_open(name) -> Table, sealed or not"},
    {"table_delete", table_delete, METH_VARARGS, "table_delete(name)"},
    {"table_recover", table_recover, METH_VARARGS, "table_recover(name)"},
    {"table_describe", table_describe, METH_VARARGS, "table_describe(name) -> dict"},
    {"table_list", table_list, METH_NOARGS, "table_list() -> list of dicts"},
    {NULL, NULL, 0, NULL},
};

/* ---- writing ---- */

static granary_write_options
write_options(long long time, int forward, unsigned long long token)
{
    return (granary_write_options){.time = time, .forward = forward != 0, .token = token};
}

static PyObject *
table_append(PyObject *object, PyObject *args)
{
    granary_write_options options;
    unsigned long long token = 0;
    granary_mutable *table;
    long long rows, time = 0;
    PyObject *columns, *made = NULL;
    struct given given;
    int64_t written = 0;
    int forward = 0;
    granary_err err;

    if (!PyArg_ParseTuple(args, "OL|LpK", &columns, &rows, &time, &forward, &token)) {
        return NULL;
    }
    options = write_options(time, forward, token);
    if (take_columns(columns, rows, &given) && (table = handle_enter(object, TABLE_WHAT)) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        err = granary_mutable_append(table, given.columns, (size_t)given.count, rows, &options, &written);
        Py_END_ALLOW_THREADS
        handle_leave(object);
        made = err == GRANARY_OK ? PyLong_FromLongLong(written) : fail(err);
    }
    given_free(&given);
    return made;
}

/* Numbers of rows as a buffer of int64; to be released. */
static bool
rows_parse(const Py_buffer *buffer, granary_rows *rows)
{
    if (buffer->len % 8 != 0) {
        PyErr_SetString(PyExc_ValueError, "numbers of rows are int64");
        return false;
    }
    *rows = (granary_rows){.numbers = buffer->buf, .count = (size_t)buffer->len / 8};
    return true;
}

static PyObject *
table_delete_rows(PyObject *object, PyObject *args)
{
    granary_write_options options;
    unsigned long long token = 0;
    granary_mutable *table;
    PyObject *made = NULL;
    int64_t count = 0, written = 0;
    long long time = 0;
    granary_rows rows;
    Py_buffer buffer;
    int forward = 0;
    granary_err err;

    if (!PyArg_ParseTuple(args, "y*|LpK", &buffer, &time, &forward, &token)) {
        return NULL;
    }
    options = write_options(time, forward, token);
    if (rows_parse(&buffer, &rows) && (table = handle_enter(object, TABLE_WHAT)) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        err = granary_mutable_delete_rows(table, &rows, &options, &count, &written);
        Py_END_ALLOW_THREADS
        handle_leave(object);
        made = err == GRANARY_OK ? Py_BuildValue("(LL)", (long long)count, (long long)written) : fail(err);
    }
    PyBuffer_Release(&buffer);
    return made;
}

static PyObject *
table_write_rows(PyObject *object, PyObject *args)
{
    granary_write_options options;
    unsigned long long token = 0;
    granary_mutable *table;
    PyObject *columns, *made = NULL;
    struct given given;
    int64_t written = 0;
    long long time = 0;
    granary_rows rows;
    Py_buffer buffer;
    int forward = 0;
    granary_err err;

    if (!PyArg_ParseTuple(args, "y*O|LpK", &buffer, &columns, &time, &forward, &token)) {
        return NULL;
    }
    options = write_options(time, forward, token);
    if (rows_parse(&buffer, &rows)) {
        if (take_columns(columns, (long long)rows.count, &given) &&
            (table = handle_enter(object, TABLE_WHAT)) != NULL) {
            Py_BEGIN_ALLOW_THREADS
            err = granary_mutable_write_rows(table, &rows, given.columns, (size_t)given.count, &options, &written);
            Py_END_ALLOW_THREADS
            handle_leave(object);
            made = err == GRANARY_OK ? PyLong_FromLongLong(written) : fail(err);
        }
        given_free(&given);
    }
    PyBuffer_Release(&buffer);
    return made;
}

/* ---- reading ---- */

static PyObject *
table_cut(PyObject *object, PyObject *args)
{
    long long time = GRANARY_NOW;
    granary_mutable *table;
    int64_t cut;
    granary_err err;

    if (!PyArg_ParseTuple(args, "|L", &time)) {
        return NULL;
    }
    table = handle_enter(object, TABLE_WHAT);
    if (table == NULL) {
        return NULL;
    }
    cut = time;
    Py_BEGIN_ALLOW_THREADS
    err = granary_cut(&table, 1, &cut);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    return err == GRANARY_OK ? PyLong_FromLongLong(cut) : fail(err);
}

static PyObject *
table_read(PyObject *object, PyObject *args)
{
    long long time = GRANARY_NOW;
    granary_frame *frame = NULL;
    granary_mutable *table;
    granary_err err;

    if (!PyArg_ParseTuple(args, "|L", &time)) {
        return NULL;
    }
    table = handle_enter(object, TABLE_WHAT);
    if (table == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_mutable_read_frame(table, time, &frame);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    return err == GRANARY_OK ? frame_new(NULL, frame) : fail(err);
}

static PyObject *
table_read_since(PyObject *object, PyObject *args)
{
    long long after, time = GRANARY_NOW;
    granary_frame *frame = NULL;
    granary_mutable *table;
    uint64_t changes = 0;
    PyObject *read;
    int64_t at = 0;
    granary_err err;

    if (!PyArg_ParseTuple(args, "L|L", &after, &time)) {
        return NULL;
    }
    table = handle_enter(object, TABLE_WHAT);
    if (table == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_mutable_read_since(table, after, time, &frame, &at, &changes);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    if (err != GRANARY_OK) {
        return fail(err);
    }
    read = frame_new(NULL, frame);
    return read == NULL ? NULL : Py_BuildValue("(NLK)", read, (long long)at, (unsigned long long)changes);
}

static PyObject *
table_numbers(PyObject *object, PyObject *args)
{
    long long time, from, count;
    granary_mutable *table;
    PyObject *bytes = NULL;
    granary_err err;

    if (!PyArg_ParseTuple(args, "LLL", &time, &from, &count)) {
        return NULL;
    }
    if (count < 0 || count > PY_SSIZE_T_MAX / 8) {
        PyErr_SetString(PyExc_ValueError, "impossible rows");
        return NULL;
    }
    table = handle_enter(object, TABLE_WHAT);
    bytes = table == NULL ? NULL : PyBytes_FromStringAndSize(NULL, (Py_ssize_t)count * 8);
    if (bytes != NULL) {
        int64_t *const numbers = (int64_t *)(void *)PyBytes_AsString(bytes);

        Py_BEGIN_ALLOW_THREADS
        err = granary_mutable_numbers(table, time, from, count, numbers);
        Py_END_ALLOW_THREADS
        if (err != GRANARY_OK) {
            Py_CLEAR(bytes);
            (void)fail(err);
        }
    }
    if (table != NULL) {
        handle_leave(object);
    }
    return bytes;
}

static PyObject *
table_watch(PyObject *object, PyObject *args)
{
    long long given = GRANARY_NOW;
    int timeout_ms = GRANARY_FOREVER;
    int64_t after, newest = 0;
    struct patience patience;
    granary_mutable *table;
    bool signal = false;
    granary_err err = GRANARY_OK;

    if (!PyArg_ParseTuple(args, "|Li", &given, &timeout_ms)) {
        return NULL;
    }
    table = handle_enter(object, TABLE_WHAT);
    if (table == NULL) {
        return NULL;
    }
    after = given;
    if (given == GRANARY_NOW) { /* of one moment, whatever is written between two slices */
        err = granary_mutable_watch(table, EARLY, 0, &newest);
        after = err == GRANARY_OK ? newest : EARLY;
        err = err == GRANARY_ETIMEDOUT ? GRANARY_OK : err;
    }
    patience = patience_begin(timeout_ms);
    if (err == GRANARY_OK) {
        do {
            const int slice_ms = patience_slice(&patience);

            Py_BEGIN_ALLOW_THREADS
            err = granary_mutable_watch(table, after, slice_ms, &newest);
            Py_END_ALLOW_THREADS
        } while (err == GRANARY_ETIMEDOUT && handle_more(object, &patience, &signal));
    }
    handle_leave(object);
    return signal ? NULL : err == GRANARY_OK ? PyLong_FromLongLong(newest) : fail(err);
}

/* ---- what does not change ---- */

static PyObject *
table_snapshot(PyObject *object, PyObject *args)
{
    long long time = GRANARY_NOW;
    granary_id id = {{0}};
    granary_mutable *table;
    const char *name = NULL;
    granary_err err;

    if (!PyArg_ParseTuple(args, "|zL", &name, &time)) {
        return NULL;
    }
    table = handle_enter(object, TABLE_WHAT);
    if (table == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_mutable_snapshot(table, time, name, &id);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    return err == GRANARY_OK ? id_object(&id) : fail(err);
}

static PyObject *
table_seal(PyObject *object, PyObject *args)
{
    long long time = GRANARY_NOW;
    granary_id id = {{0}};
    granary_mutable *table;
    granary_err err;

    if (!PyArg_ParseTuple(args, "|L", &time)) {
        return NULL;
    }
    table = handle_enter(object, TABLE_WHAT);
    if (table == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_mutable_seal(table, time, &id);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    return err == GRANARY_OK ? id_object(&id) : fail(err);
}

static PyObject *
table_flush(PyObject *object, PyObject *none)
{
    granary_mutable *table = handle_enter(object, TABLE_WHAT);
    granary_err err;

    (void)none;
    if (table == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_mutable_flush(table);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    return done(err);
}

static PyObject *
table_retain(PyObject *object, PyObject *args)
{
    long long time = 0, age_ns = 0;
    unsigned long long writes = 0;
    granary_retain retain;
    granary_mutable *table;
    int64_t kept = 0;
    granary_err err;

    if (!PyArg_ParseTuple(args, "LLK", &time, &age_ns, &writes)) {
        return NULL;
    }
    table = handle_enter(object, TABLE_WHAT);
    if (table == NULL) {
        return NULL;
    }
    retain = (granary_retain){.time = time, .age_ns = age_ns, .writes = writes};
    Py_BEGIN_ALLOW_THREADS
    err = granary_mutable_retain(table, &retain, &kept);
    Py_END_ALLOW_THREADS
    handle_leave(object);
    return err == GRANARY_OK ? PyLong_FromLongLong(kept) : fail(err);
}

/* [(name, dtype)]; None: it is a tensor. */
static PyObject *
table_schema(PyObject *object, PyObject *none)
{
    granary_mutable *table = handle_enter(object, TABLE_WHAT);
    const granary_frame *schema = table == NULL ? NULL : granary_mutable_schema(table);
    PyObject *list = schema == NULL ? NULL : PyList_New(0);

    (void)none;
    for (size_t i = 0; list != NULL && i < granary_frame_columns(schema); i++) {
        const granary_column *column = granary_frame_column(schema, i);
        PyObject *item = Py_BuildValue("(ss)", column->name, granary_dtype_name(column->dtype));

        if (item == NULL || PyList_Append(list, item) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    if (table != NULL) {
        handle_leave(object);
    }
    return table != NULL && schema == NULL ? Py_NewRef(Py_None) : list;
}

/* ---- the type ---- */

static PyMethodDef table_own_methods[] = {
    {"append", table_append, METH_VARARGS, "append(columns, rows, time=0, forward=False, token=0) -> time"},
    {"delete_rows", table_delete_rows, METH_VARARGS,
     "delete_rows(numbers, time=0, forward=False, token=0) -> (count, time)"},
    {"write_rows", table_write_rows, METH_VARARGS,
     "write_rows(numbers, columns, time=0, forward=False, token=0) -> time"},
    {"cut", table_cut, METH_VARARGS, "cut(time=NOW) -> time, which is final"},
    {"read", table_read, METH_VARARGS, "read(time=NOW) -> Frame, a copy"},
    {"read_since", table_read_since, METH_VARARGS, "read_since(after, time=NOW) -> (Frame, time, changes)"},
    {"numbers", table_numbers, METH_VARARGS, "numbers(time, from, count) -> bytes of int64"},
    {"watch", table_watch, METH_VARARGS, "watch(after=NOW, timeout_ms=-1) -> time of the newest write"},
    {"snapshot", table_snapshot, METH_VARARGS, "snapshot(name=None, time=NOW) -> id"},
    {"seal", table_seal, METH_VARARGS, "seal(time=NOW) -> id"},
    {"flush", table_flush, METH_NOARGS, "Wait until what was written is on disk."},
    {"retain", table_retain, METH_VARARGS, "retain(time, age_ns, writes) -> to which time history is kept"},
    {"schema", table_schema, METH_NOARGS, "[(name, dtype)]; None: it is a tensor"},
    {"shape", tensor_shape, METH_NOARGS, "(dtype, shape, chunk) of a tensor"},
    {"write", tensor_write, METH_VARARGS, "write(indexes, dtype, shape, buffer, time=0) -> time"},
    {"view", tensor_view, METH_VARARGS, "view(indexes, time=NOW) -> (dtype, shape, memory, mapped)"},
    {"close", handle_close, METH_NOARGS, "Close it, when no call uses it any more."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot table_slots[] = {
    {Py_tp_dealloc, handle_dealloc},
    {Py_tp_methods, table_own_methods},
    {Py_tp_doc, "A table or tensor that is open. Any thread may use it; calls take turns."},
    {0, NULL},
};

static PyType_Spec table_spec = {"granary._granary.Table", sizeof(Handle), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, table_slots};

int
mutable_init_types(PyObject *module)
{
    table_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &table_spec, NULL);
    return table_type == NULL || PyModule_AddType(module, table_type) < 0 || tensors_init_type(module) < 0 ? -1 : 0;
}
