/* Graphs, SQL, and what the scheduler knows. */
#include "extension.h"

#include <stdlib.h>
#include <string.h>

#include "granary/cut.h"
#include "granary/sql.h"

/* ---- submitted ---- */

/* What the calls with a graph as text have in common. */
struct submission {
    const char *text;
    Py_ssize_t length;
    granary_graph_options options;
    int timeout_ms;
};

static bool
submission_parse(PyObject *args, PyObject *keywords, struct submission *submission)
{
    static char *names[] = {"text",       "key",   "chunk_bytes", "priority", "timeout_ms",
                            "keep_going", "flags", "wait_ms",     NULL};
    long long chunk_bytes = 0, timeout_ms = 0;
    unsigned long long flags = 0;
    int keep_going = 0;

    *submission = (struct submission){.timeout_ms = GRANARY_FOREVER};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s#|zLiLpKi", names, &submission->text, &submission->length,
                                     &submission->options.key, &chunk_bytes, &submission->options.priority, &timeout_ms,
                                     &keep_going, &flags, &submission->timeout_ms)) {
        return false;
    }
    submission->options.chunk_bytes = chunk_bytes;
    submission->options.timeout_ms = timeout_ms;
    submission->options.keep_going = keep_going != 0;
    submission->options.flags = flags;
    return true;
}

static PyObject *
submit_json(PyObject *object, PyObject *args, PyObject *keywords)
{
    Client *self = (Client *)object;
    struct submission submission;
    char key[GRANARY_KEY_MAX];
    granary_err err;

    if (!submission_parse(args, keywords, &submission) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_graph_submit_json(self->client, submission.text, (size_t)submission.length, &submission.options, key);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? PyUnicode_FromString(key) : fail(err);
}

/* Until the graph has ended, or a signal's handler has raised. True: *ret_err tells how it ended. */
static bool
await_graph(Client *self, const char *key, const struct patience *patience, granary_graph_status *status,
            granary_err *ret_err)
{
    bool signal = false;

    /* A graph that has ended may have failed with ETIMEDOUT itself. */
    while (*ret_err == GRANARY_ETIMEDOUT && status->state <= GRANARY_GRAPH_RUNNING &&
           patience_more(patience, &signal)) {
        const int slice_ms = patience_slice(patience);

        Py_BEGIN_ALLOW_THREADS
        *ret_err = granary_graph_wait(self->client, key, slice_ms, status);
        Py_END_ALLOW_THREADS
    }
    return !signal;
}

static PyObject *
run_json(PyObject *object, PyObject *args, PyObject *keywords)
{
    Client *self = (Client *)object;
    struct submission submission;
    granary_graph_status status = {.state = 0};
    struct patience patience;
    char key[GRANARY_KEY_MAX];
    granary_err err;
    bool ended;

    if (!submission_parse(args, keywords, &submission) || client_enter(self) == NULL) {
        return NULL;
    }
    patience = patience_begin(submission.timeout_ms);
    Py_BEGIN_ALLOW_THREADS
    err = granary_graph_run_json(self->client, submission.text, (size_t)submission.length, &submission.options,
                                 SLICE_MS, key, &status);
    Py_END_ALLOW_THREADS
    ended = await_graph(self, key, &patience, &status, &err);
    client_leave(self);
    return !ended ? NULL : err == GRANARY_OK ? PyUnicode_FromString(key) : fail(err);
}

static PyObject *
wait_graph(PyObject *object, PyObject *args)
{
    static const char *const states[] = {"", "running", "succeeded", "failed", "cancelled"};
    Client *self = (Client *)object;
    granary_graph_status status = {.state = 0};
    int timeout_ms = GRANARY_FOREVER;
    struct patience patience;
    granary_err err = GRANARY_ETIMEDOUT;
    const char *key;
    bool ended;

    if (!PyArg_ParseTuple(args, "s|i", &key, &timeout_ms) || client_enter(self) == NULL) {
        return NULL;
    }
    patience = patience_begin(timeout_ms);
    Py_BEGIN_ALLOW_THREADS
    err = granary_graph_wait(self->client, key, 0, &status);
    Py_END_ALLOW_THREADS
    ended = await_graph(self, key, &patience, &status, &err);
    client_leave(self);
    if (!ended) {
        return NULL;
    }
    if (err != GRANARY_OK && (err != GRANARY_ETIMEDOUT || status.state != GRANARY_GRAPH_RUNNING)) {
        return fail(err);
    }
    return Py_BuildValue("{s:s,s:K,s:K,s:K,s:K,s:d}", "state", (unsigned)status.state < 5 ? states[status.state] : "",
                         "subtasks_total", (unsigned long long)status.subtasks_total, "subtasks_done",
                         (unsigned long long)status.subtasks_done, "retries", (unsigned long long)status.retries,
                         "subtasks_failed", (unsigned long long)status.subtasks_failed, "progress", status.progress);
}

/* A call with a key, which gives a text. */
static PyObject *
text_call(PyObject *object, PyObject *args, granary_err (*call)(granary_client *, const char *, char **))
{
    Client *self = (Client *)object;
    PyObject *text;
    char *given = NULL;
    const char *key;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s", &key) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = call(self->client, key, &given);
    Py_END_ALLOW_THREADS
    client_leave(self);
    text = err == GRANARY_OK ? PyUnicode_FromString(given) : fail(err);
    free(given);
    return text;
}

static PyObject *
stop_graph(PyObject *object, PyObject *args)
{
    return name_call(object, args, granary_graph_stop);
}

static PyObject *
delete_graph(PyObject *object, PyObject *args)
{
    return name_call(object, args, granary_graph_delete);
}

static PyObject *
explain(PyObject *object, PyObject *args)
{
    return text_call(object, args, granary_graph_explain);
}

static PyObject *
analyze(PyObject *object, PyObject *args)
{
    return text_call(object, args, granary_graph_analyze);
}

static PyObject *
why(PyObject *object, PyObject *args)
{
    return text_call(object, args, granary_why);
}

static PyObject *
cancel_graph(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    int kill_after_ms = 1000;
    const char *key;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s|i", &key, &kill_after_ms) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_graph_cancel(self->client, key, kill_after_ms, NULL);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}

static PyObject *
rename_graph(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    const char *key, *new_key;
    int replace = 0;
    granary_err err;

    if (!PyArg_ParseTuple(args, "ss|p", &key, &new_key, &replace) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_graph_rename(self->client, key, new_key, replace != 0);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}

/* ---- results ---- */

static PyObject *
numbers_object(const int64_t *numbers, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);

    for (size_t i = 0; list != NULL && i < count; i++) {
        (void)PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromLongLong(numbers[i]));
    }
    return list;
}

static PyObject *
result(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    PyObject *chunks, *rows, *shape, *splits, *tuple = NULL;
    const char *key, *target;
    granary_result found;
    granary_err err;

    if (!PyArg_ParseTuple(args, "ss", &key, &target) || client_enter(self) == NULL) {
        return NULL;
    }
    memset(&found, 0, sizeof found);
    Py_BEGIN_ALLOW_THREADS
    err = granary_graph_result(self->client, key, target, &found);
    Py_END_ALLOW_THREADS
    client_leave(self);
    if (err != GRANARY_OK) {
        return fail(err);
    }
    chunks = ids_object(found.chunks, found.chunk_count);
    rows = numbers_object(found.chunk_rows, found.chunk_rows == NULL ? 0 : found.chunk_count);
    shape = numbers_object(found.shape, found.is_tensor ? (size_t)found.dims : 0);
    splits = numbers_object(found.splits, found.is_tensor ? (size_t)found.dims : 0);
    if (chunks != NULL && rows != NULL && shape != NULL && splits != NULL) {
        tuple = Py_BuildValue("(OOsOOO)", chunks, rows,
                              found.is_tensor    ? "tensor"
                              : found.is_objects ? "objects"
                                                 : "frame",
                              shape, splits, found.complete ? Py_True : Py_False);
    }
    Py_XDECREF(chunks);
    Py_XDECREF(rows);
    Py_XDECREF(shape);
    Py_XDECREF(splits);
    granary_result_free(&found);
    return tuple;
}

static PyObject *
next_chunk(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    int timeout_ms = GRANARY_FOREVER;
    unsigned long long begin;
    struct patience patience;
    const char *key, *target;
    bool signal = false;
    uint64_t cursor;
    granary_id id;
    granary_err err;

    if (!PyArg_ParseTuple(args, "ssK|i", &key, &target, &begin, &timeout_ms) || client_enter(self) == NULL) {
        return NULL;
    }
    cursor = begin;
    patience = patience_begin(timeout_ms);
    do {
        const int slice_ms = patience_slice(&patience);

        Py_BEGIN_ALLOW_THREADS
        err = granary_graph_next(self->client, key, target, &cursor, slice_ms, &id);
        Py_END_ALLOW_THREADS
    } while (err == GRANARY_ETIMEDOUT && patience_more(&patience, &signal));
    client_leave(self);
    if (signal) {
        return NULL;
    }
    if (err == GRANARY_ENOENT && cursor > 0) {
        Py_RETURN_NONE;
    }
    return err == GRANARY_OK
               ? Py_BuildValue("(y#K)", (const char *)id.bytes, (Py_ssize_t)sizeof id.bytes, (unsigned long long)cursor)
               : fail(err);
}

/* ---- SQL ---- */

static PyObject *
sql_submit(PyObject *object, PyObject *args, PyObject *keywords)
{
    Client *self = (Client *)object;
    struct submission submission;
    granary_graph *graph = NULL;
    char key[GRANARY_KEY_MAX];
    granary_err err;

    if (!submission_parse(args, keywords, &submission) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_sql_graph(self->client, submission.text, (size_t)submission.length, &graph);
    if (err == GRANARY_OK) {
        err = granary_graph_submit(self->client, graph, &submission.options, key);
        err =
            err == GRANARY_OK ? err : granary_sql_error(self->client, err, submission.text, (size_t)submission.length);
    }
    granary_graph_destroy(graph);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? PyUnicode_FromString(key) : fail(err);
}

/* Sizes that were found: pairs of a digest and bytes. The texts are Python's. NULL: a Python error is set */
static granary_cut_size *
sizes_convert(PyObject *list, size_t *ret_count)
{
    const Py_ssize_t count = PyList_Size(list);
    granary_cut_size *sizes = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof *sizes);

    for (Py_ssize_t i = 0; sizes != NULL && i < count; i++) {
        long long bytes;

        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sL", &sizes[i].digest, &bytes)) {
            PyMem_Free(sizes);
            return NULL;
        }
        sizes[i].bytes = bytes;
    }
    *ret_count = (size_t)count;
    return sizes;
}

/* What the driver has: triples of a name, bytes, and partitions. As sizes_convert() */
static granary_cut_source *
sources_convert(PyObject *list, size_t *ret_count)
{
    const Py_ssize_t count = PyList_Size(list);
    granary_cut_source *sources = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof *sources);

    for (Py_ssize_t i = 0; sources != NULL && i < count; i++) {
        long long bytes, partitions;

        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sLL", &sources[i].name, &bytes, &partitions)) {
            PyMem_Free(sources);
            return NULL;
        }
        sources[i].bytes = bytes;
        sources[i].partitions = partitions;
    }
    *ret_count = (size_t)count;
    return sources;
}

static PyObject *
sql_cut(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    granary_cut_options options = {.partitions = 0};
    granary_cut_size *found = NULL;
    granary_cut_source *sources = NULL;
    granary_graph *graph = NULL;
    long long partitions, smallest;
    PyObject *sizes, *given, *result = NULL;
    const char *text;
    char *plan = NULL;
    Py_ssize_t length;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s#LLO!O!", &text, &length, &partitions, &smallest, &PyList_Type, &sizes, &PyList_Type,
                          &given) ||
        (found = sizes_convert(sizes, &options.size_count)) == NULL ||
        (sources = sources_convert(given, &options.source_count)) == NULL) {
        PyMem_Free(found);
        return NULL;
    }
    if (client_enter(self) != NULL) {
        options.partitions = partitions;
        options.smallest_bytes = smallest;
        options.sizes = found;
        options.sources = sources;
        Py_BEGIN_ALLOW_THREADS
        err = granary_sql_graph(self->client, text, (size_t)length, &graph);
        if (err == GRANARY_OK) {
            err = granary_graph_cut(self->client, graph, &options, &plan);
            err = err == GRANARY_OK ? err : granary_sql_error(self->client, err, text, (size_t)length);
        }
        granary_graph_destroy(graph);
        Py_END_ALLOW_THREADS
        client_leave(self);
        result = err == GRANARY_OK ? PyUnicode_FromString(plan) : fail(err);
        free(plan);
    }
    PyMem_Free(found);
    PyMem_Free(sources);
    return result;
}

/* A graph's failure, in the words of its statement. */
static PyObject *
sql_fail(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    const char *key, *text;
    Py_ssize_t length;
    granary_err err;

    if (!PyArg_ParseTuple(args, "ss#", &key, &text, &length) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_graph_wait(self->client, key, 0, NULL);
    err = err == GRANARY_OK ? err : granary_sql_error(self->client, err, text, (size_t)length);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}

static PyObject *
sql_changes(PyObject *object, PyObject *args)
{
    const char *text;
    Py_ssize_t length;

    (void)object;
    return PyArg_ParseTuple(args, "s#", &text, &length) ? PyBool_FromLong(granary_sql_changes(text, (size_t)length))
                                                        : NULL;
}

static PyObject *
sql_execute(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    granary_sql_done told = {.command = ""};
    const char *text;
    Py_ssize_t length;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s#", &text, &length) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_sql_execute(self->client, text, (size_t)length, GRANARY_FOREVER, &told);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? Py_BuildValue("(sLL)", told.command, (long long)told.rows, (long long)told.time)
                             : fail(err);
}

/* The UTF-8 of a tuple's texts, which live as long as it; to be freed. NULL: an exception is set. */
static const char **
texts_of(PyObject *tuple)
{
    const Py_ssize_t count = PyTuple_Size(tuple);
    const char **texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);

    if (texts == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t size = 0;

        texts[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, i), &size);
        if (texts[i] != NULL && strlen(texts[i]) != (size_t)size) {
            PyErr_SetString(PyExc_ValueError, "a value has a NUL");
            texts[i] = NULL;
        }
        if (texts[i] == NULL) {
            PyMem_Free(texts);
            return NULL;
        }
    }
    return texts;
}

static PyObject *
sql_bind(PyObject *object, PyObject *args)
{
    const char *text;
    Py_ssize_t length;
    PyObject *names, *values;
    const char **name_texts = NULL;
    const char **value_texts = NULL;
    PyObject *bound = NULL;

    (void)object;
    if (!PyArg_ParseTuple(args, "s#O!O!", &text, &length, &PyTuple_Type, &names, &PyTuple_Type, &values)) {
        return NULL;
    }
    if (PyTuple_Size(names) > 0 && PyTuple_Size(names) != PyTuple_Size(values)) {
        PyErr_SetString(PyExc_ValueError, "each value has a name, or none has");
        return NULL;
    }
    name_texts = texts_of(names);
    value_texts = name_texts == NULL ? NULL : texts_of(values);
    if (value_texts != NULL) {
        char *sql = NULL;
        granary_err err = granary_sql_bind(text, (size_t)length, PyTuple_Size(names) > 0 ? name_texts : NULL,
                                           value_texts, (size_t)PyTuple_Size(values), &sql);

        bound = err == GRANARY_OK ? PyUnicode_FromString(sql) : fail(err);
        free(sql);
    }
    PyMem_Free(name_texts);
    PyMem_Free(value_texts);
    return bound;
}

/* ---- what the scheduler knows ---- */

static PyObject *
cell_object(granary_cell_value cell)
{
    return cell.kind == GRANARY_CELL_INT    ? PyLong_FromLongLong(cell.integer)
           : cell.kind == GRANARY_CELL_REAL ? PyFloat_FromDouble(cell.real)
                                            : PyUnicode_DecodeUTF8(cell.text, (Py_ssize_t)strlen(cell.text), "replace");
}

static PyObject *
rows_object(const granary_table *table, PyObject *list)
{
    for (size_t r = 0; list != NULL && r < granary_table_rows(table); r++) {
        PyObject *row = PyDict_New();

        for (size_t f = 0; row != NULL && f < granary_table_fields(table); f++) {
            PyObject *cell = cell_object(granary_table_cell(table, r, f));

            if (cell == NULL || PyDict_SetItemString(row, granary_table_field(table, f), cell) < 0) {
                Py_CLEAR(row);
            }
            Py_XDECREF(cell);
        }
        if (row == NULL || PyList_Append(list, row) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *
info(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    unsigned long long since = 0;
    granary_query query = {.timeout_ms = 0};
    granary_table *table = NULL;
    uint64_t version = 0;
    PyObject *list;
    granary_err err;

    if (!PyArg_ParseTuple(args, "s|Ki", &query.subject, &since, &query.timeout_ms) || client_enter(self) == NULL) {
        return NULL;
    }
    query.since_version = since;
    list = PyList_New(0);
    do {
        Py_BEGIN_ALLOW_THREADS
        err = granary_info(self->client, &query, &table);
        Py_END_ALLOW_THREADS
        if (err == GRANARY_OK) {
            query.cursor = granary_table_cursor(table);
            version = granary_table_version(table);
            list = rows_object(table, list);
            granary_table_free(table);
        }
    } while (err == GRANARY_OK && query.cursor != 0 && list != NULL);
    client_leave(self);
    if (err != GRANARY_OK) {
        Py_XDECREF(list);
        return fail(err);
    }
    return list == NULL ? NULL : Py_BuildValue("(NK)", list, (unsigned long long)version);
}

/* ---- functions, recall, the pool ---- */

static PyObject *
export_library(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    const char *path, *name = NULL;
    char version[33];
    granary_err err;

    if (!PyArg_ParseTuple(args, "s|z", &path, &name) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_export(self->client, path, name, version);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? PyUnicode_FromString(version) : fail(err);
}

static PyObject *
recall_clear(PyObject *object, PyObject *none)
{
    Client *self = (Client *)object;
    uint64_t count = 0;
    granary_err err;

    (void)none;
    if (client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_recall_clear(self->client, &count);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return err == GRANARY_OK ? PyLong_FromUnsignedLongLong(count) : fail(err);
}

static PyObject *
pool_add(PyObject *object, PyObject *args)
{
    Client *self = (Client *)object;
    unsigned count;
    int node = -1, timeout_ms = 30000;
    granary_err err;

    if (!PyArg_ParseTuple(args, "I|ii", &count, &node, &timeout_ms) || client_enter(self) == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_pool_add(self->client, count, node, timeout_ms);
    Py_END_ALLOW_THREADS
    client_leave(self);
    return done(err);
}

PyMethodDef graph_methods[] = {
    METHOD("submit_json", submit_json, "submit_json(text, key=None, chunk_bytes=0, ...) -> key"),
    METHOD("run_json", run_json, "run_json(text, key=None, chunk_bytes=0, ..., wait_ms=-1) -> key"),
    {"wait_graph", wait_graph, METH_VARARGS, "wait_graph(key, timeout_ms=-1) -> dict; raises the graph's error"},
    {"stop_graph", stop_graph, METH_VARARGS, "stop_graph(key)"},
    {"cancel_graph", cancel_graph, METH_VARARGS, "cancel_graph(key, kill_after_ms=1000)"},
    {"delete_graph", delete_graph, METH_VARARGS, "delete_graph(key)"},
    {"rename_graph", rename_graph, METH_VARARGS, "rename_graph(key, new_key, replace=False)"},
    {"explain", explain, METH_VARARGS, "explain(key) -> text"},
    {"analyze", analyze, METH_VARARGS, "analyze(key) -> text"},
    {"why", why, METH_VARARGS, "why(subject) -> text"},
    {"result", result, METH_VARARGS, "result(key, target) -> (chunks, rows, kind, shape, splits, complete)"},
    {"next_chunk", next_chunk, METH_VARARGS,
     "next_chunk(key, target, cursor, timeout_ms=-1) -> (id, cursor); None: no more"},
    METHOD("sql_submit", sql_submit, "sql_submit(text, key=None, ...) -> key"),
    {"sql_fail", sql_fail, METH_VARARGS, "sql_fail(key, text): raise a graph's error, in the words of its statement"},
    {"sql_changes", sql_changes, METH_VARARGS, "sql_changes(text) -> bool"},
    {"sql_bind", sql_bind, METH_VARARGS, "sql_bind(text, names, values) -> text; names may be ()"},
    {"sql_execute", sql_execute, METH_VARARGS, "sql_execute(text) -> (command, rows, time)"},
    {"info", info, METH_VARARGS, "info(subject, since_version=0, timeout_ms=0) -> (list of dicts, version)"},
    {"sql_cut", sql_cut, METH_VARARGS,
     "sql_cut(text, partitions, smallest_bytes, sizes, sources) -> a plan of fragments"},
    {"export", export_library, METH_VARARGS, "export(path, name=None) -> version"},
    {"recall_clear", recall_clear, METH_NOARGS, "recall_clear() -> how many results"},
    {"pool_add", pool_add, METH_VARARGS, "pool_add(count, node=-1, timeout_ms=30000)"},
    {NULL, NULL, 0, NULL},
};
