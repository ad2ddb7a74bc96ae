/*
 * Lists of Python's decimals as columns: 128 bits each, all scaled by one power of ten. They are read as Python prints them: a sign,
 * digits with a point among them, and perhaps an exponent. What does not fit is left to the caller, who knows how to tell it.
 */
#include "extension.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS_MOST 38

typedef __int128 wide;

/* digits / 10^behind; behind may be below 0 */
struct number {
    wide digits;
    long behind;
};

struct decimals {
    PyObject *list;
    PyTypeObject *type; /* decimal.Decimal */
    PyObject *absent;   /* a tuple of what stands for no value */
    struct number *numbers;
    uint8_t *bits;
    Py_ssize_t rows, known;
    long scale;
};

static wide
power_of_ten(long power)
{
    wide made = 1;

    while (power-- > 0) {
        made *= 10;
    }
    return made;
}

/* False: it is printed in another way, or has more digits than there can be. */
static bool
parse(const char *text, struct number *number)
{
    const wide most = power_of_ten(DIGITS_MOST);
    const bool negative = *text == '-';
    bool point = false;

    *number = (struct number){.digits = 0};
    text += negative;
    if (*text < '0' || *text > '9') {
        return false;
    }
    for (; *text == '.' || (*text >= '0' && *text <= '9'); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        if (number->digits > (most - 1 - (*text - '0')) / 10 || number->behind + point > DIGITS_MOST) {
            return false;
        }
        number->digits = 10 * number->digits + (*text - '0');
        number->behind += point;
    }
    if (*text == 'E') {
        char *end;
        const long power = strtol(text + 1, &end, 10);

        if (power < -DIGITS_MOST || power > DIGITS_MOST) {
            return false;
        }
        number->behind -= power;
        text = end;
    }
    number->digits = negative ? -number->digits : number->digits;
    return *text == '\0' && number->behind <= DIGITS_MOST;
}

/* False: a Python error is set, or it is none that can be taken. */
static bool
take(struct decimals *taken, PyObject *item, Py_ssize_t row)
{
    struct number *number = &taken->numbers[row];
    PyObject *printed;
    const char *text;
    Py_ssize_t size;
    bool good;

    if (!PyObject_TypeCheck(item, taken->type)) {
        return value_is_absent(item, taken->absent);
    }
    printed = PyObject_Str(item);
    text = printed == NULL ? NULL : PyUnicode_AsUTF8AndSize(printed, &size);
    good = text != NULL && parse(text, number);
    Py_XDECREF(printed);
    if (good) {
        taken->bits[row / 8] |= (uint8_t)(1U << (row % 8));
        taken->known++;
        taken->scale = number->behind > taken->scale ? number->behind : taken->scale;
    }
    return good;
}

static bool
take_all(struct decimals *taken)
{
    for (Py_ssize_t i = 0; i < taken->rows; i++) {
        /* Printing may run the program's own code, which may change the list. */
        PyObject *item = i < PyList_Size(taken->list) ? Py_XNewRef(PyList_GetItem(taken->list, i)) : NULL;
        const bool good = item != NULL && take(taken, item, i);

        Py_XDECREF(item);
        if (!good) {
            return false;
        }
    }
    return taken->known > 0;
}

/* False: one has more digits than there can be. */
static bool
scale_all(const struct decimals *taken, char *to)
{
    const wide most = power_of_ten(DIGITS_MOST) - 1;

    for (Py_ssize_t i = 0; i < taken->rows; i++) {
        wide digits = taken->numbers[i].digits;

        if (digits != 0) {
            const long power = taken->scale - taken->numbers[i].behind;
            const wide factor = power_of_ten(power < DIGITS_MOST ? power : DIGITS_MOST); /* then nothing fits */

            if ((digits < 0 ? -digits : digits) > most / factor) {
                return false;
            }
            digits *= factor;
        }
        memcpy(to + (size_t)i * sizeof digits, &digits, sizeof digits);
    }
    return true;
}

static PyObject *
decimals_object(const struct decimals *taken)
{
    PyObject *values = PyBytes_FromStringAndSize(NULL, taken->rows * (Py_ssize_t)sizeof(wide));
    PyObject *validity = NULL, *made = NULL;

    if (values == NULL) {
        return NULL;
    }
    if (!scale_all(taken, PyBytes_AsString(values))) {
        made = Py_NewRef(Py_None);
    } else {
        validity = taken->known < taken->rows
                       ? PyBytes_FromStringAndSize((const char *)taken->bits, (taken->rows + 7) / 8)
                       : Py_NewRef(Py_None);
        made = validity == NULL ? NULL : Py_BuildValue("(lOO)", taken->scale, values, validity);
    }
    Py_DECREF(values);
    Py_XDECREF(validity);
    return made;
}

PyObject *
decimals_of_list(PyObject *module, PyObject *args)
{
    struct decimals taken = {.list = NULL};
    PyObject *type, *made = NULL;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOO", &taken.list, &type, &taken.absent)) {
        return NULL;
    }
    if (!PyList_Check(taken.list) || !PyType_Check(type) || !PyTuple_Check(taken.absent)) {
        PyErr_SetString(PyExc_TypeError, "decimals_of_list(list, type, tuple)");
        return NULL;
    }
    taken.type = (PyTypeObject *)type;
    taken.rows = PyList_Size(taken.list);
    taken.numbers = PyMem_Calloc((size_t)taken.rows + 1, sizeof *taken.numbers);
    taken.bits = PyMem_Calloc((size_t)taken.rows / 8 + 1, 1);
    if (taken.numbers == NULL || taken.bits == NULL) {
        (void)PyErr_NoMemory();
    } else if (take_all(&taken)) {
        made = decimals_object(&taken);
    } else if (!PyErr_Occurred()) {
        made = Py_NewRef(Py_None);
    }
    PyMem_Free(taken.numbers);
    PyMem_Free(taken.bits);
    return made;
}
