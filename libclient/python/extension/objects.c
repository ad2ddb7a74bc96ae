/* Objects: got, made, waited for, listed. */
#include "extension.h"

#include <stdlib.h>
#include <string.h>

/* ---- get ---- */

static PyObject *
get(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    int timeout_ms = GRANARY_FOREVER;
    struct patience patience;
    bool signal = false;
    granary_view view;
    granary_id id;
    granary_err err;
    PyObject *result;

    if (!PyArg_ParseTuple(args, "O&|i", id_convert, &id, &timeout_ms)) {
        return NULL;
    }
    if (client_enter(self) == NULL) {
        return NULL;
    }
    /* An object in memory is there at once: no reason to give up the lock. */
    err = granary_object_contains(self->client, id) ? granary_object_get(self->client, id, 0, &view) : GRANARY_ENOENT;
    if (err == GRANARY_ENOENT && timeout_ms == 0) {
        err = granary_object_get(self->client, id, 0, &view); /* for its message */
    } else if (err == GRANARY_ENOENT || err == GRANARY_ETIMEDOUT) {
        patience = patience_begin(timeout_ms);
        do {
            const int slice_ms = patience_slice(&patience);

            Py_BEGIN_ALLOW_THREADS
            err = granary_object_get(self->client, id, slice_ms < 1 ? 1 : slice_ms, &view);
            Py_END_ALLOW_THREADS
        } while (err == GRANARY_ETIMEDOUT && patience_more(&patience, &signal));
    }
    result = signal ? NULL : err == GRANARY_OK ? view_new(self, &view) : fail(err);
    client_leave(self);
    return result;
}

static PyObject *
get_each(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    int timeout_ms = 0;
    PyObject *sequence, *list = NULL;
    granary_view *views = NULL;
    granary_err *errs = NULL, err;
    Py_ssize_t count;
    granary_id *ids;

    if (!PyArg_ParseTuple(args, "O|i", &sequence, &timeout_ms) || (ids = ids_convert(sequence, &count)) == NULL) {
        return NULL;
    }
    views = PyMem_Calloc((size_t)count + 1, sizeof *views);
    errs = PyMem_Calloc((size_t)count + 1, sizeof *errs);
    if (views == NULL || errs == NULL) {
        (void)PyErr_NoMemory();
    } else if (client_enter(self) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        err = granary_object_get_each(self->client, ids, (size_t)count, timeout_ms, views, errs);
        Py_END_ALLOW_THREADS
        list = err == GRANARY_OK ? PyList_New(count) : fail(err);
        for (Py_ssize_t i = 0; err == GRANARY_OK && i < count; i++) {
            PyObject *item = errs[i] == GRANARY_OK ? view_new(self, &views[i]) : PyLong_FromLong(errs[i]);

            if (list == NULL || item == NULL || PyList_SetItem(list, i, item) < 0) {
                Py_CLEAR(list);
            }
        }
        client_leave(self);
    }
    PyMem_Free(views);
    PyMem_Free(errs);
    PyMem_Free(ids);
    return list;
}

/* ---- make ---- */

static PyObject *
create(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"id",         "size",     "meta_size", "timeout_ms", "counted",
                            "importance", "next_use", "contains",  "persist",    NULL};
    Client *self = (Client *)object;
    granary_object_options options = {.importance = 0};
    unsigned long long size = 0, meta_size = 0;
    PyObject *contains = Py_None, *result = NULL;
    granary_id *contained = NULL;
    Py_ssize_t count = 0;
    granary_buffer buffer;
    int counted = 0, persist = 0;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&K|KipiiOp", names, id_convert, &id, &size, &meta_size,
                                     &options.timeout_ms, &counted, &options.importance, &options.next_use, &contains,
                                     &persist)) {
        return NULL;
    }
    if (contains != Py_None && (contained = ids_convert(contains, &count)) == NULL) {
        return NULL;
    }
    options.counted = counted != 0;
    options.persist = persist != 0 ? GRANARY_LEVEL_DISK : 0;
    options.contains = contained;
    options.contains_count = (size_t)count;
    if (client_enter(self) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        err = granary_object_create_with(self->client, id, size, meta_size, &options, &buffer);
        Py_END_ALLOW_THREADS
        result = err == GRANARY_OK ? buffer_new(self, &buffer) : fail(err);
        client_leave(self);
    }
    PyMem_Free(contained);
    return result;
}

static PyObject *
put(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"id", "data", "meta", NULL};
    Client *self = (Client *)object;
    Py_buffer data = {.buf = NULL}, meta = {.buf = NULL};
    PyObject *result = NULL;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&y*|y*", names, id_convert, &id, &data, &meta)) {
        return NULL;
    }
    if (client_enter(self) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        err = granary_object_put(self->client, id, data.buf, (uint64_t)data.len, meta.buf, (uint64_t)meta.len, 0);
        Py_END_ALLOW_THREADS
        result = done(err);
        client_leave(self);
    }
    PyBuffer_Release(&data);
    PyBuffer_Release(&meta);
    return result;
}

static PyObject *
put_error(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    const char *message;
    granary_id id;
    int code;
    granary_err err;

    if (!PyArg_ParseTuple(args, "O&is", id_convert, &id, &code, &message) || client_enter(self) == NULL) {
        return NULL;
    }
    err = granary_object_put_error(self->client, id, (granary_err)code, message);
    client_leave(self);
    return done(err);
}

/* ---- through a descriptor, in checksummed chunks ---- */

static PyObject *
write_object(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    int fd, timeout_ms = 0;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTuple(args, "O&i|i", id_convert, &id, &fd, &timeout_ms) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_object_export(self->client, id, fd, timeout_ms);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}

static PyObject *
read_object(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    granary_object_options options = {.counted = true};
    unsigned long long size_hint = 0;
    granary_id id;
    int fd;
    granary_err err;

    if (!PyArg_ParseTuple(args, "O&i|K", id_convert, &id, &fd, &size_hint) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_object_import_with(self->client, fd, &id, size_hint, &options, NULL);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}

/* ---- one id, and nothing more ---- */

static PyObject *delete (PyObject *object, PyObject *argument)
{
    Client *self = (Client *)object;
    granary_id id;
    granary_err err;

    if (!id_convert(argument, &id) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_object_delete(self->client, id, 0);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}

static PyObject *
prefetch(PyObject *object, PyObject *argument)
{
    Client *self = (Client *)object;
    granary_id id;
    granary_err err;

    if (!id_convert(argument, &id) || client_enter(self) == NULL) {
        return NULL;
    }
    err = granary_object_prefetch(self->client, &id, 1);
    client_leave(self);
    return done(err);
}

static PyObject *
delete_tree(PyObject *object, PyObject *argument)
{
    Client *self = (Client *)object;
    size_t count = 0;
    granary_id id;
    granary_err err;

    if (!id_convert(argument, &id) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_object_delete_tree(self->client, id, &count);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? PyLong_FromSize_t(count) : fail(err);
}

static PyObject *
contains(PyObject *object, PyObject *argument)
{
    Client *self = (Client *)object;
    granary_id id;
    bool there;

    if (!id_convert(argument, &id) || client_enter(self) == NULL) {
        return NULL;
    }
    there = granary_object_contains(self->client, id);
    client_leave(self);
    return PyBool_FromLong(there);
}

static PyObject *
digest(PyObject *object, PyObject *argument)
{
    Client *self = (Client *)object;
    char text[33];
    granary_id id;
    granary_err err;

    if (!id_convert(argument, &id) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_object_digest(self->client, id, GRANARY_FOREVER, text);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? PyUnicode_FromString(text) : fail(err);
}

/* ---- waits ---- */

static PyObject *
wait_objects(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    Py_ssize_t count, least = -1;
    int timeout_ms = GRANARY_FOREVER;
    struct patience patience;
    PyObject *sequence, *list = NULL;
    bool signal = false;
    granary_id *ids;
    bool *there;
    granary_err err;

    if (!PyArg_ParseTuple(args, "O|ni", &sequence, &least, &timeout_ms) ||
        (ids = ids_convert(sequence, &count)) == NULL) {
        return NULL;
    }
    there = PyMem_Calloc((size_t)count + 1, sizeof *there);
    if (there == NULL) {
        (void)PyErr_NoMemory();
    } else if (client_enter(self) != NULL) {
        patience = patience_begin(timeout_ms);
        do {
            const int slice_ms = patience_slice(&patience);

            Py_BEGIN_ALLOW_THREADS
            err = granary_object_wait(self->client, ids, (size_t)count, least < 0 ? (size_t)count : (size_t)least,
                                      slice_ms, there);
            Py_END_ALLOW_THREADS
        } while (err == GRANARY_ETIMEDOUT && patience_more(&patience, &signal));
        if (!signal && (err == GRANARY_OK || err == GRANARY_ETIMEDOUT)) {
            list = PyList_New(count);
            for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
                (void)PyList_SetItem(list, i, PyBool_FromLong(there[i]));
            }
        } else if (!signal) {
            (void)fail(err);
        }
        client_leave(self);
    }
    PyMem_Free(there);
    PyMem_Free(ids);
    return list;
}

/* ---- what there is ---- */

static PyObject *
info_object(const granary_object_info *info)
{
    static const char *const states[] = {"", "sealed", "spilled", "deleting", "alias"};
    const unsigned state = (unsigned)info->state;

    return Py_BuildValue(
        "{s:y#,s:s,s:K,s:K,s:I,s:O,s:i,s:L,s:I,s:i,s:i,s:O,s:O,s:O,s:K,s:y#}", "id", (const char *)info->id.bytes,
        (Py_ssize_t)GRANARY_ID_BYTES, "state", state < 5 ? states[state] : "", "size",
        (unsigned long long)info->data_size, "meta_size", (unsigned long long)info->meta_size, "pins", info->pins,
        "on_disk", info->on_disk ? Py_True : Py_False, "numa_node", info->numa_node, "sealed_at_ms",
        (long long)info->sealed_at_ms, "levels", (unsigned)info->levels, "importance", info->importance, "next_use",
        info->next_use, "persistent", info->persistent ? Py_True : Py_False, "counted",
        info->counted ? Py_True : Py_False, "damaged", info->damaged ? Py_True : Py_False, "serial",
        (unsigned long long)info->serial, "target", (const char *)info->target.bytes, (Py_ssize_t)GRANARY_ID_BYTES);
}

static PyObject *
object_info(PyObject *object, PyObject *argument)
{
    Client *self = (Client *)object;
    granary_object_info info;
    granary_id id;
    granary_err err;

    if (!id_convert(argument, &id) || client_enter(self) == NULL) {
        return NULL;
    }
    err = granary_object_info_get(self->client, id, &info);
    client_leave(self);
    return err == GRANARY_OK ? info_object(&info) : fail(err);
}

static PyObject *
list_objects(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"prefix", "least_size", "most_size", "pinned", "owner", NULL};
    Client *self = (Client *)object;
    granary_object_filter filter = {.prefix = NULL};
    unsigned long long least = 0, most = 0;
    PyObject *list = NULL;
    granary_object_info *infos = NULL;
    uint64_t cursor = 0;
    int pinned = 0;
    size_t count;
    granary_err err = GRANARY_OK;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|zKKpz", names, &filter.prefix, &least, &most, &pinned,
                                     &filter.owner)) {
        return NULL;
    }
    filter.least_size = least;
    filter.most_size = most;
    filter.pinned = pinned != 0;
    if (client_enter(self) == NULL) {
        return NULL;
    }
    infos = PyMem_Calloc(1024, sizeof *infos);
    list = infos == NULL ? PyErr_NoMemory() : PyList_New(0);
    do {
        if (list == NULL) {
            break;
        }
        Py_BEGIN_ALLOW_THREADS
        err = granary_object_list_page(self->client, &filter, &cursor, 1024, infos, &count);
        Py_END_ALLOW_THREADS
        for (size_t i = 0; err == GRANARY_OK && list != NULL && i < count; i++) {
            PyObject *item = info_object(&infos[i]);

            if (item == NULL || PyList_Append(list, item) < 0) {
                Py_CLEAR(list);
            }
            Py_XDECREF(item);
        }
    } while (err == GRANARY_OK && cursor != 0);
    client_leave(self);
    PyMem_Free(infos);
    if (err != GRANARY_OK) {
        Py_XDECREF(list);
        return fail(err);
    }
    return list;
}

static PyObject *
evict(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    unsigned long long bytes;
    int timeout_ms = 30000;
    uint64_t freed = 0;
    granary_err err;

    if (!PyArg_ParseTuple(args, "K|i", &bytes, &timeout_ms) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_evict(self->client, bytes, timeout_ms, &freed);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? PyLong_FromUnsignedLongLong(freed) : fail(err);
}

static PyObject *
move(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    const char *to, *from;
    granary_levels to_levels = 0, from_levels = 0;
    int timeout_ms = 30000;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTuple(args, "O&ss|i", id_convert, &id, &to, &from, &timeout_ms) || client_enter(self) == NULL) {
        return NULL;
    }
    err = to[0] == '\0' ? GRANARY_OK : granary_levels_parse(to, &to_levels);
    err = err == GRANARY_OK && from[0] != '\0' ? granary_levels_parse(from, &from_levels) : err;
    if (err == GRANARY_OK) {
        Py_BEGIN_ALLOW_THREADS
        err = granary_object_move(self->client, id, to_levels, from_levels, timeout_ms);
        Py_END_ALLOW_THREADS
    }
    client_leave(self);
    return done(err);
}

static PyObject *
hint(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    int importance = -1, next_use = -1;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTuple(args, "O&|ii", id_convert, &id, &importance, &next_use) || client_enter(self) == NULL) {
        return NULL;
    }
    err = granary_object_hint(self->client, id, importance, next_use);
    client_leave(self);
    return done(err);
}

static PyObject *
stat_store(PyObject *object, PyObject *none)
{
    Client *self = (Client *)object;
    granary_store_stat stat;
    granary_err err;

    (void)none;
    if (client_enter(self) == NULL) {
        return NULL;
    }
    err = granary_store_stat_get(self->client, &stat);
    client_leave(self);
    if (err != GRANARY_OK) {
        return fail(err);
    }
#define NUMBER(field) #field, (unsigned long long)stat.field
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", NUMBER(capacity_bytes),
                         NUMBER(free_bytes), NUMBER(reserved_bytes), NUMBER(writing_bytes), NUMBER(sealed_bytes),
                         NUMBER(retiring_bytes), NUMBER(pooled_bytes), NUMBER(spilled_bytes), NUMBER(disk_bytes),
                         NUMBER(objects), NUMBER(objects_spilled), NUMBER(clients));
#undef NUMBER
}

PyMethodDef object_methods[] = {
    {"get", get, METH_VARARGS, "get(id, timeout_ms=-1) -> View"},
    {"get_each", get_each, METH_VARARGS, "get_each(ids, timeout_ms=0) -> a View or an error's code of each"},
    METHOD("create", create, "create(id, size, meta_size=0, ...) -> Buffer"),
    METHOD("put", put, "put(id, data, meta=b'')"),
    {"put_error", put_error, METH_VARARGS, "put_error(id, code, message)"},
    {"write_object", write_object, METH_VARARGS, "write_object(id, fd, timeout_ms=0)"},
    {"read_object", read_object, METH_VARARGS, "read_object(id, fd, size_hint=0): counted"},
    {"delete", delete, METH_O, "delete(id)"},
    {"delete_tree", delete_tree, METH_O, "delete_tree(id) -> how many were deleted"},
    {"prefetch", prefetch, METH_O, "prefetch(id)"},
    {"contains", contains, METH_O, "contains(id) -> bool"},
    {"digest", digest, METH_O, "digest(id) -> 32 hex digits"},
    {"wait_objects", wait_objects, METH_VARARGS, "wait_objects(ids, least=all, timeout_ms=-1) -> which are there"},
    {"info_object", object_info, METH_O, "info_object(id) -> dict"},
    METHOD("list_objects", list_objects, "list_objects(prefix=None, least_size=0, ...) -> list of dicts"),
    {"evict", evict, METH_VARARGS, "evict(bytes, timeout_ms=30000) -> bytes that were freed"},
    {"move", move, METH_VARARGS, "move(id, to, from, timeout_ms=30000)"},
    {"hint", hint, METH_VARARGS, "hint(id, importance=-1, next_use=-1)"},
    {"stat", stat_store, METH_NOARGS, "stat() -> dict"},
    {NULL, NULL, 0, NULL},
};
