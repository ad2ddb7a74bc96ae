/* Errors of granary as exceptions: each is a granary.Error, and what a Python program expects. */
#include "extension.h"

#include <string.h>

struct kind {
    granary_err err;
    const char *name; /* of the class */
    PyObject **base;  /* builtin; NULL: none */
    const char *doc;
    PyObject *type;
};

static struct kind kinds[] = {
    {GRANARY_EFAILED, "Failed", NULL, "What was to be run has failed.", NULL},
    {GRANARY_EINVAL, "Invalid", &PyExc_ValueError, "An argument makes no sense.", NULL},
    {GRANARY_EUNREACHABLE, "Unreachable", &PyExc_ConnectionError, "There is no instance, or it has ended.", NULL},
    {GRANARY_ENOENT, "NotFound", &PyExc_KeyError, "There is no such thing.", NULL},
    {GRANARY_EFULL, "Full", &PyExc_MemoryError, "The store, a disk, or a table of fixed size is full.", NULL},
    {GRANARY_ETIMEDOUT, "TimedOut", &PyExc_TimeoutError, "It did not come in time.", NULL},
    {GRANARY_EPERM, "NotPermitted", &PyExc_PermissionError, "It is not allowed.", NULL},
    {GRANARY_ECORRUPT, "Corrupt", &PyExc_ValueError, "Bytes are damaged.", NULL},
    {GRANARY_EEXIST, "Exists", &PyExc_FileExistsError, "There is something of that name already.", NULL},
    {GRANARY_EPROTO, "ProtocolError", &PyExc_ConnectionError, "Another process said what makes no sense.", NULL},
    {GRANARY_EVERSION, "VersionMismatch", &PyExc_ConnectionError, "The other side is of another version.", NULL},
    {GRANARY_ENOMEM, "OutOfMemory", &PyExc_MemoryError, "This process has no memory.", NULL},
    {GRANARY_EIO, "IOFailed", &PyExc_OSError, "A disk or a file failed.", NULL},
    {GRANARY_EUNSUPPORTED, "Unsupported", &PyExc_NotImplementedError, "It cannot be done.", NULL},
    {GRANARY_ECANCELLED, "Cancelled", NULL, "It was stopped.", NULL},
    {GRANARY_EBUSY, "Busy", &PyExc_RuntimeError, "Somebody uses it.", NULL},
    {GRANARY_EFORKED, "Forked", &PyExc_RuntimeError, "The connection is that of the parent process.", NULL},
    {GRANARY_ETYPE, "WrongType", &PyExc_TypeError, "It is of another kind or dtype.", NULL},
    {GRANARY_ESTATE, "WrongState", &PyExc_RuntimeError, "It is not in a state for that.", NULL},
    {GRANARY_ELOST, "Lost", &PyExc_RuntimeError, "It was there, and is gone.", NULL},
    {GRANARY_ESEALED, "Sealed", &PyExc_RuntimeError, "It does not change any more.", NULL},
};

#define KINDS (sizeof kinds / sizeof kinds[0])

static PyObject *base_error;

/* The sentence; a KeyError would show it with quotes. */
static PyObject *
error_str(PyObject *self, PyObject *none)
{
    PyObject *arguments = PyObject_GetAttrString(self, "args");
    PyObject *first = arguments == NULL || PyTuple_Size(arguments) == 0 ? NULL : PyTuple_GetItem(arguments, 0);
    PyObject *text = first == NULL ? PyUnicode_FromString("") : PyObject_Str(first);

    (void)none;
    Py_XDECREF(arguments);
    PyErr_Clear();
    return text;
}

static PyMethodDef str_method = {"__str__", error_str, METH_NOARGS, NULL};

static int
add_str(PyObject *type)
{
    PyObject *method = PyDescr_NewMethod((PyTypeObject *)type, &str_method);
    int status = method == NULL ? -1 : PyObject_SetAttrString(type, "__str__", method);

    Py_XDECREF(method);
    return status;
}

static int
add_kind(PyObject *module, struct kind *kind)
{
    PyObject *bases = kind->base == NULL ? PyTuple_Pack(1, base_error) : PyTuple_Pack(2, base_error, *kind->base);
    PyObject *members = Py_BuildValue("{s:s,s:i}", "name", granary_error_name(kind->err), "code", (int)kind->err);
    char name[64];

    (void)PyOS_snprintf(name, sizeof name, "granary.%s", kind->name);
    if (bases != NULL && members != NULL) {
        kind->type = PyErr_NewExceptionWithDoc(name, kind->doc, bases, members);
    }
    Py_XDECREF(bases);
    Py_XDECREF(members);
    return kind->type == NULL || add_str(kind->type) < 0 ? -1 : PyModule_AddObjectRef(module, kind->name, kind->type);
}

int
errors_init(PyObject *module)
{
    PyObject *members = Py_BuildValue("{s:s,s:i}", "name", "", "code", 0);

    base_error = members == NULL ? NULL
                                 : PyErr_NewExceptionWithDoc("granary.Error",
                                                             "An error of granary: `name` and `code` tell which, the "
                                                             "message what, why, and what to do.",
                                                             NULL, members);
    Py_XDECREF(members);
    if (base_error == NULL || PyModule_AddObjectRef(module, "Error", base_error) < 0) {
        return -1;
    }
    for (size_t i = 0; i < KINDS; i++) {
        if (add_kind(module, &kinds[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

PyObject *
fail_with(granary_err err, const char *message)
{
    PyObject *type = base_error;
    PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "backslashreplace");

    for (size_t i = 0; i < KINDS; i++) {
        type = kinds[i].err == err ? kinds[i].type : type;
    }
    if (text != NULL) {
        PyErr_SetObject(type, text);
        Py_DECREF(text);
    }
    return NULL;
}

PyObject *
fail(granary_err err)
{
    return fail_with(err, granary_error_message());
}

PyObject *
done(granary_err err)
{
    if (err != GRANARY_OK) {
        return fail(err);
    }
    Py_RETURN_NONE;
}
