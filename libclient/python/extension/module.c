/* The module: types, exceptions, and functions that need no connection. */
#include "extension.h"

static PyObject *
id_from_name(PyObject *module, PyObject *args)
{
    const char *session = NULL, *name;
    Py_ssize_t length;
    granary_id id;

    (void)module;
    if (!PyArg_ParseTuple(args, "zs#", &session, &name, &length)) {
        return NULL;
    }
    id = granary_id_from_key(session, name, (size_t)length);
    return id_object(&id);
}

static PyObject *
id_random(PyObject *module, PyObject *none)
{
    granary_id id = granary_id_random();

    (void)module;
    (void)none;
    return id_object(&id);
}

static PyObject *
address(PyObject *module, PyObject *object)
{
    Py_buffer buffer;
    PyObject *number;

    (void)module;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    number = PyLong_FromVoidPtr(buffer.buf);
    PyBuffer_Release(&buffer);
    return number;
}

static PyMethodDef module_methods[] = {
    {"id_from_name", id_from_name, METH_VARARGS, "id_from_name(session or None, name) -> id"},
    {"id_random", id_random, METH_NOARGS, "id_random() -> id"},
    {"frame_of_bytes", frame_of_bytes, METH_VARARGS, "frame_of_bytes(data, meta) -> Frame over immutable bytes"},
    {"dlpack_take", dlpack_take, METH_O, "dlpack_take(capsule) -> its tensor as a read-only buffer"},
    {"dlpack_give", dlpack_give, METH_VARARGS, "dlpack_give(buffer, type code, versioned, copied) -> capsule"},
    {"texts_of_list", texts_of_list, METH_VARARGS,
     "texts_of_list(name, list, absent) -> (offsets, values, validity or None) of strings; None: they are none"},
    {"decimals_of_list", decimals_of_list, METH_VARARGS,
     "decimals_of_list(list, decimal.Decimal, absent) -> (scale, values, validity or None); None: they cannot be "
     "taken"},
    {"address", address, METH_O, "address(buffer) -> where its bytes lie"},
    {NULL, NULL, 0, NULL},
};

static int
module_exec(PyObject *module)
{
    return errors_init(module) < 0 || client_init_type(module) < 0 || memory_init_types(module) < 0 ||
                   frames_init_types(module) < 0 || streams_init_types(module) < 0 || counters_init_type(module) < 0 ||
                   mutable_init_types(module) < 0 || channels_init_type(module) < 0 || live_init_type(module) < 0 ||
                   dlpack_init_type(module) < 0 ||
                   PyModule_AddIntConstant(module, "NO_RECALL", (long)GRANARY_GRAPH_NO_RECALL) < 0 ||
                   PyModule_AddIntConstant(module, "PASSING", (long)GRANARY_GRAPH_PASSING) < 0 ||
                   PyModule_AddIntConstant(module, "OWN", (long)(GRANARY_GRAPH_PASSING | GRANARY_GRAPH_OWNED)) < 0 ||
                   PyModule_AddStringConstant(module, "VERSION", granary_version()) < 0
               ? -1
               : 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module_def = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "granary._granary",
    .m_doc = "The public C API of granary.",
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__granary(void);

PyMODINIT_FUNC
PyInit__granary(void)
{
    return PyModuleDef_Init(&module_def);
}
