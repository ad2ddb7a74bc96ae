/*
 * _granary: the public C API for Python, by its limited API. module.c gathers what there is; errors.c has the exceptions;
 * client.c the connection; memory.c leased, written and borrowed bytes as buffers; fork.c leases that forked children read;
 * arguments.c what calls are given and give; dlpack.c tensors of other libraries; streams.c, counters.c and handles.c handles of their own; the other files the calls,
 * each a table of methods.
 *
 * Calls that may block give up the interpreter's lock. Those that wait come back every SLICE_MS to see whether a signal has come.
 * Every object that needs a client holds a reference to it.
 */
#ifndef EXTENSION_EXTENSION_H
#define EXTENSION_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <structmember.h>
#include <sys/types.h>

#include "granary/granary.h"

#define SLICE_MS 100

/* ---- errors.c ---- */

/* Make the exceptions and put them into the module. -1: a Python error is set */
int errors_init(PyObject *module);
/* The calling thread's last failure as an exception. Returns NULL */
PyObject *fail(granary_err err);
/* The same with a message of one's own. Returns NULL */
PyObject *fail_with(granary_err err, const char *message);
/* None, or fail() */
PyObject *done(granary_err err);

/* ---- client.c ---- */

/* Fields are guarded by the interpreter's lock. */
typedef struct {
    PyObject_HEAD
    granary_client *client; /* NULL: disconnected */
    pid_t pid;              /* who may use it, and gives back what it has */
    Py_ssize_t uses;        /* leases, buffers and calls that need the connection */
    bool closed;            /* it goes when nothing uses it any more */
} Client;

int client_init_type(PyObject *module);
/* The connection, in use until client_leave(). NULL: closed, a Python error is set */
granary_client *client_enter(Client *self);
void client_leave(Client *self);
bool client_is_own(const Client *self);

/* What a handle other than a view does: it keeps the connection until it is closed. */
void client_keep(Client *self);
void client_drop(Client *self);

/* How long is left of a wait. */
struct patience {
    int64_t deadline_ns; /* -1: for ever */
};

struct patience patience_begin(int timeout_ms);
/* Milliseconds for the next try, SLICE_MS at most; the timeout itself when that is one of granary's names for none. */
int patience_slice(const struct patience *patience);
/* After ETIMEDOUT: whether to try again. False: the time is over, or *ret_signal, a Python error is set. */
bool patience_more(const struct patience *patience, bool *ret_signal);

/* ---- fork.c ---- */

/* To be called for each new lease, before it is used. Returns what lease_end() is to be given. -1: a Python error is set */
int lease_begin(uint64_t *ret_born);
/* The lease is not needed here any more: now, or when children that may read it have gone. Drops the client, too. */
void lease_end(Client *client, granary_view *view, uint64_t born);
/* End what no child may read any more. */
void lease_look(void);

/* ---- memory.c ---- */

/* Read-only bytes of a leased object. */
typedef struct {
    PyObject_HEAD
    Client *client;
    granary_view view;
    uint64_t born; /* of lease_begin() */
} View;

/* Bytes that another object keeps valid. */
typedef struct {
    PyObject_HEAD
    PyObject *owner;
    const void *data;
    Py_ssize_t size;
} Memory;

int memory_init_types(PyObject *module);
/* A deallocated object's memory, and the type that goes with it: heap types are counted. */
void free_object(PyObject *self);
/* Takes the lease over, also when it fails. */
PyObject *view_new(Client *client, const granary_view *view);
PyObject *memory_new(PyObject *owner, const void *data, Py_ssize_t size);
PyObject *buffer_new(Client *client, const granary_buffer *buffer);

/* ---- arguments.c ---- */

/* For PyArg_Parse's O&: 16 bytes. */
int id_convert(PyObject *object, void *to);
/* The same, or None: all zero. */
int id_convert_optional(PyObject *object, void *to);
PyObject *id_object(const granary_id *id);
/* A sequence of ids; to be freed with PyMem_Free(). NULL: a Python error is set. */
granary_id *ids_convert(PyObject *sequence, Py_ssize_t *ret_count);
/* A list of ids. */
PyObject *ids_object(const granary_id *ids, size_t count);
/* A tuple of numbers. */
PyObject *sizes_object(const int64_t *sizes, int dims);
/* Bytes of a tensor's values; PY_SSIZE_T_MAX: too many. */
Py_ssize_t tensor_bytes(const granary_tensor *tensor);
/* A list of what `make` makes of each of count infos of so many bytes. These are freed with free(). */
PyObject *infos_object(void *infos, size_t count, size_t size, PyObject *(*make)(const void *info));
/* A method of Client about a name or key, which gives nothing; without the lock. */
PyObject *name_call(PyObject *object, PyObject *args, granary_err (*call)(granary_client *client, const char *name));

/* A call with keywords, as a row of a table of methods. */
#define METHOD(name, function, doc)                                                                                    \
    {                                                                                                                  \
        name, (PyCFunction)(void (*)(void))function, METH_VARARGS | METH_KEYWORDS, doc                                 \
    }

/* Methods of Client, each table ends with an empty row. */
extern PyMethodDef object_methods[];
extern PyMethodDef hold_methods[];
extern PyMethodDef graph_methods[];
extern PyMethodDef frame_methods[];
extern PyMethodDef arrow_methods[];
extern PyMethodDef stream_methods[];
extern PyMethodDef counter_methods[];

int streams_init_types(PyObject *module);
int counters_init_type(PyObject *module);

int frames_init_types(PyObject *module);
/* Of a View: its frame, its tensor. */
PyObject *view_frame(PyObject *self, PyObject *none);
PyObject *view_tensor(PyObject *self, PyObject *none);
/* A frame that lies in a view, or, without one, a copy. Takes the frame over, also when it fails. */
PyObject *frame_new(PyObject *view, granary_frame *frame);
/* Bytes of a value; bits of bools are counted apart. */
Py_ssize_t width_of(granary_dtype dtype);
/* False: a Python error is set */
bool dtype_parse(const char *name, granary_dtype *ret_dtype);
bool shape_parse(PyObject *sequence, granary_tensor *tensor);

/* Columns as they are given, with the buffers that they borrow. */
struct given {
    granary_column *columns; /* count of them, then their dictionaries */
    Py_buffer *buffers;      /* 3 of each */
    Py_ssize_t count;
    int64_t rows;
};

/* False: a Python error is set. Whatever it returns, given_free() ends it. */
bool take_columns(PyObject *sequence, long long rows, struct given *given);
void given_free(struct given *given);
/* A frame over immutable bytes (data, metadata), which it keeps. */
PyObject *frame_of_bytes(PyObject *module, PyObject *args);

/* ---- dlpack.c ---- */

int dlpack_init_type(PyObject *module);
/* dlpack_take(capsule) -> Borrowed */
PyObject *dlpack_take(PyObject *module, PyObject *capsule);
/* dlpack_give(buffer, type code, versioned, copied) -> capsule */
PyObject *dlpack_give(PyObject *module, PyObject *args);

/* ---- texts.c, decimals.c ---- */

/* Whether it stands for no value: None, NaN, or one of a tuple. */
bool value_is_absent(PyObject *item, PyObject *absent);
/* texts_of_list(name, list, absent) -> (offsets, values, validity or None), or None: the list has other values than strings */
PyObject *texts_of_list(PyObject *module, PyObject *args);
/* decimals_of_list(list, decimal.Decimal, absent) -> (scale, values, validity or None), or None: not all can be taken */
PyObject *decimals_of_list(PyObject *module, PyObject *args);

/* ---- mutable.c, tensors.c, channels.c, live.c ---- */

extern PyMethodDef mutable_methods[];
extern PyMethodDef channel_methods[];
extern PyMethodDef live_methods[];

int mutable_init_types(PyObject *module);
int tensors_init_type(PyObject *module);
/* Methods of an open tensor, which is a Table, too. */
#define TABLE_WHAT "table"
PyObject *tensor_shape(PyObject *self, PyObject *none);
PyObject *tensor_write(PyObject *self, PyObject *args);
PyObject *tensor_view(PyObject *self, PyObject *args);
int channels_init_type(PyObject *module);
int live_init_type(PyObject *module);

/* A handle of the library, which is closed when it was asked for and no call uses it. */
typedef struct {
    PyObject_HEAD
    Client *client;
    void *handle; /* NULL: closed */
    Py_ssize_t uses;
    bool closed;
    void (*close)(void *handle);
} Handle;

/* Takes the handle over, also when it fails. */
PyObject *handle_new(PyTypeObject *type, Client *client, void *handle, void (*close)(void *handle));
void handle_dealloc(PyObject *object);
/* What it stands for, in use until handle_leave(). NULL: closed, a Python error is set */
void *handle_enter(PyObject *object, const char *what);
void handle_leave(PyObject *object);
/* patience_more(), which also ends when another thread has closed the handle or the session. */
bool handle_more(PyObject *object, const struct patience *patience, bool *ret_error);
/* A method `close` without arguments. */
PyObject *handle_close(PyObject *object, PyObject *none);

#endif
