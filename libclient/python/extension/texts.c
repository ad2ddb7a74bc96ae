/* Lists of Python's strings as columns of text: offsets, UTF-8 and a bitmap, in one pass. */
#include "extension.h"

#include <math.h>
#include <string.h>

/* A column being made: bytes and a bytearray, which nobody else has seen yet. */
struct texts {
    PyObject *list;
    PyObject *absent; /* a tuple of what stands for no value, beside None and NaN */
    PyObject *offsets, *values, *validity;
    Py_ssize_t rows, used, room;
    Py_ssize_t strings, nans;
};

enum kind { OTHER, STRING, ABSENT, NOT_A_NUMBER };

bool
value_is_absent(PyObject *item, PyObject *absent)
{
    if (item == Py_None) {
        return true;
    }
    if (PyFloat_Check(item)) {
        return isnan(PyFloat_AsDouble(item)) != 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(absent); i++) {
        if (PyTuple_GetItem(absent, i) == item) {
            return true;
        }
    }
    return false;
}

static enum kind
kind_of(const struct texts *texts, PyObject *item)
{
    if (PyUnicode_Check(item)) {
        return STRING;
    }
    if (!value_is_absent(item, texts->absent)) {
        return OTHER;
    }
    return PyFloat_Check(item) ? NOT_A_NUMBER : ABSENT;
}

/* Room for so many more bytes. False: a Python error is set */
static bool
reserve(struct texts *texts, Py_ssize_t size, PyObject *name)
{
    Py_ssize_t room = texts->room;

    if (size > INT32_MAX - texts->used) {
        PyErr_Format(PyExc_ValueError, "column %R: more than 2 GiB of text in one piece", name);
        return false;
    }
    if (size <= room - texts->used) {
        return true;
    }
    room = 2 * room > texts->used + size ? 2 * room : texts->used + size;
    texts->room = room;
    return PyByteArray_Resize(texts->values, room) == 0;
}

/* UTF-8 of a string behind the others. It is encoded anew: what Python remembers of it would stay as long as the string. */
static bool
append(struct texts *texts, PyObject *item, Py_ssize_t row, PyObject *name)
{
    PyObject *encoded = PyUnicode_AsUTF8String(item);
    Py_ssize_t size;
    char *text;
    bool good;

    if (encoded == NULL) {
        if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
            PyErr_Clear();
            PyErr_Format(
                PyExc_ValueError,
                "column %R, row %zd: the text has half of a surrogate pair, which UTF-8 does not know: replace "
                "it",
                name, row);
        }
        return false;
    }
    good = PyBytes_AsStringAndSize(encoded, &text, &size) == 0 && reserve(texts, size, name);
    if (good) {
        memcpy(PyByteArray_AsString(texts->values) + texts->used, text, (size_t)size);
        texts->used += size;
    }
    Py_DECREF(encoded);
    return good;
}

/* False: a Python error is set, or an item is of another kind. */
static bool
fill(struct texts *texts, PyObject *name)
{
    int32_t *offsets = (int32_t *)(void *)PyBytes_AsString(texts->offsets);
    uint8_t *bits = (uint8_t *)PyBytes_AsString(texts->validity);

    offsets[0] = 0;
    for (Py_ssize_t i = 0; i < texts->rows; i++) {
        PyObject *item = PyList_GetItem(texts->list, i);
        const enum kind kind = item == NULL ? OTHER : kind_of(texts, item);

        if (kind == OTHER || (kind == STRING && !append(texts, item, i, name))) {
            return false;
        }
        if (kind == STRING) {
            bits[i / 8] |= (uint8_t)(1U << (i % 8));
            texts->strings++;
        }
        texts->nans += kind == NOT_A_NUMBER;
        offsets[i + 1] = (int32_t)texts->used;
    }
    return true;
}

static bool
begin(struct texts *texts)
{
    const Py_ssize_t bits = (texts->rows + 7) / 8;

    texts->room = 8 * texts->rows + 64;
    texts->offsets = PyBytes_FromStringAndSize(NULL, (texts->rows + 1) * (Py_ssize_t)sizeof(int32_t));
    texts->values = PyByteArray_FromStringAndSize(NULL, texts->room);
    texts->validity = PyBytes_FromStringAndSize(NULL, bits);
    if (texts->offsets == NULL || texts->values == NULL || texts->validity == NULL) {
        return false;
    }
    memset(PyBytes_AsString(texts->validity), 0, (size_t)bits);
    return true;
}

/* NaN alone is no text: then it is a column of numbers. */
PyObject *
texts_of_list(PyObject *module, PyObject *args)
{
    struct texts texts = {.list = NULL};
    PyObject *name, *made = NULL;

    (void)module;
    if (!PyArg_ParseTuple(args, "UOO", &name, &texts.list, &texts.absent)) {
        return NULL;
    }
    if (!PyList_Check(texts.list) || !PyTuple_Check(texts.absent)) {
        PyErr_SetString(PyExc_TypeError, "texts_of_list(name, list, tuple)");
        return NULL;
    }
    texts.rows = PyList_Size(texts.list);
    if (begin(&texts) && fill(&texts, name) && (texts.strings > 0 || texts.nans == 0) &&
        PyByteArray_Resize(texts.values, texts.used) == 0) {
        made =
            Py_BuildValue("(OOO)", texts.offsets, texts.values, texts.strings < texts.rows ? texts.validity : Py_None);
    } else if (!PyErr_Occurred()) {
        made = Py_NewRef(Py_None);
    }
    Py_XDECREF(texts.offsets);
    Py_XDECREF(texts.values);
    Py_XDECREF(texts.validity);
    return made;
}
