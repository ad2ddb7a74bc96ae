/* Bytes as buffers: leased ones and parts of them, read-only; those of an object that is being written. */
#include "extension.h"

#include <string.h>

static PyTypeObject *view_type;
static PyTypeObject *memory_type;
static PyTypeObject *buffer_type;

/* An object being written. */
typedef struct {
    PyObject_HEAD
    Client *client; /* NULL: it was sealed or aborted, and nobody has its memory */
    granary_buffer buffer;
    Py_ssize_t exports;
    bool sealed;
    granary_view view; /* sealed while it has exports: their memory stays where it is */
    uint64_t born;     /* of the view's lease */
} Buffer;

void
free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    release(self);
    Py_DECREF(type);
}

/* ---- views ---- */

PyObject *
view_new(Client *client, const granary_view *view)
{
    granary_view copy = *view;
    uint64_t born;
    View *self;

    if (lease_begin(&born) < 0) {
        granary_object_release(client->client, &copy);
        return NULL;
    }
    client_keep(client);
    self = PyObject_New(View, view_type);
    if (self == NULL) {
        lease_end(client, &copy, born);
        return NULL;
    }
    self->client = client;
    self->view = copy;
    self->born = born;
    return (PyObject *)self;
}

static void
view_dealloc(PyObject *object)
{
    View *self = (View *)object;

    lease_end(self->client, &self->view, self->born);
    free_object(object);
}

static int
view_getbuffer(PyObject *object, Py_buffer *buffer, int flags)
{
    View *self = (View *)object;

    return PyBuffer_FillInfo(buffer, object, (void *)(uintptr_t)self->view.data, (Py_ssize_t)self->view.data_size, 1,
                             flags);
}

static PyObject *
view_get_id(PyObject *object, void *none)
{
    (void)none;
    return id_object(&((View *)object)->view.id);
}

static PyObject *
view_get_size(PyObject *object, void *none)
{
    (void)none;
    return PyLong_FromUnsignedLongLong(((View *)object)->view.data_size);
}

static PyObject *
view_get_meta(PyObject *object, void *none)
{
    View *self = (View *)object;

    (void)none;
    return PyBytes_FromStringAndSize(self->view.meta == NULL ? "" : self->view.meta, (Py_ssize_t)self->view.meta_size);
}

static PyObject *
view_get_client(PyObject *object, void *none)
{
    (void)none;
    return Py_NewRef((PyObject *)((View *)object)->client);
}

static PyGetSetDef view_members[] = {
    {"id", view_get_id, NULL, "Of the object, 16 bytes.", NULL},
    {"size", view_get_size, NULL, "Bytes of data.", NULL},
    {"meta", view_get_meta, NULL, "A copy of the metadata.", NULL},
    {"client", view_get_client, NULL, "Whose lease it is.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef view_methods[] = {
    {"frame", view_frame, METH_NOARGS, "The object as a frame."},
    {"tensor", view_tensor, METH_NOARGS, "The object as a tensor: (dtype, shape, memory)."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot view_slots[] = {
    {Py_tp_dealloc, view_dealloc},
    {Py_bf_getbuffer, view_getbuffer},
    {Py_tp_getset, view_members},
    {Py_tp_methods, view_methods},
    {Py_tp_doc, "A leased object: read-only memory, valid as long as this or a view of it lives."},
    {0, NULL},
};

static PyType_Spec view_spec = {"granary._granary.View", sizeof(View), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, view_slots};

/* ---- parts ---- */

PyObject *
memory_new(PyObject *owner, const void *data, Py_ssize_t size)
{
    Memory *self = PyObject_New(Memory, memory_type);

    if (self != NULL) {
        self->owner = Py_NewRef(owner);
        self->data = data;
        self->size = size;
    }
    return (PyObject *)self;
}

static void
memory_dealloc(PyObject *object)
{
    Py_DECREF(((Memory *)object)->owner);
    free_object(object);
}

static int
memory_getbuffer(PyObject *object, Py_buffer *buffer, int flags)
{
    Memory *self = (Memory *)object;

    return PyBuffer_FillInfo(buffer, object, self->data == NULL ? "" : (void *)(uintptr_t)self->data, self->size, 1,
                             flags);
}

static PyType_Slot memory_slots[] = {
    {Py_tp_dealloc, memory_dealloc},
    {Py_bf_getbuffer, memory_getbuffer},
    {Py_tp_doc, "Read-only memory that belongs to a leased object."},
    {0, NULL},
};

static PyType_Spec memory_spec = {"granary._granary.Memory", sizeof(Memory), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, memory_slots};

/* ---- buffers ---- */

PyObject *
buffer_new(Client *client, const granary_buffer *buffer)
{
    Buffer *self = PyObject_New(Buffer, buffer_type);

    if (self == NULL) {
        granary_buffer copy = *buffer;

        granary_object_abort(client->client, &copy);
        return NULL;
    }
    client_keep(client);
    self->client = client;
    self->buffer = *buffer;
    self->exports = 0;
    self->sealed = false;
    self->view = (granary_view){.data = NULL};
    return (PyObject *)self;
}

/* It is nobody's any more. */
static void
buffer_end(Buffer *self)
{
    Client *client = self->client;

    self->client = NULL;
    client_drop(client);
}

static void
buffer_dealloc(PyObject *object)
{
    Buffer *self = (Buffer *)object;

    if (self->view.data != NULL) {
        Client *client = self->client;

        self->client = NULL;
        lease_end(client, &self->view, self->born);
    } else if (self->client != NULL) {
        if (client_is_own(self->client) && !self->sealed) {
            granary_object_abort(self->client->client, &self->buffer);
        }
        buffer_end(self);
    }
    free_object(object);
}

static int
buffer_getbuffer(PyObject *object, Py_buffer *buffer, int flags)
{
    Buffer *self = (Buffer *)object;

    if (self->client == NULL || self->sealed) {
        PyErr_SetString(PyExc_BufferError, "the object was sealed or given up: get() it to read it");
        return -1;
    }
    if (PyBuffer_FillInfo(buffer, object, self->buffer.data, (Py_ssize_t)self->buffer.data_size, 0, flags) < 0) {
        return -1;
    }
    self->exports++;
    return 0;
}

static void
buffer_releasebuffer(PyObject *object, Py_buffer *buffer)
{
    (void)buffer;
    ((Buffer *)object)->exports--;
}

static bool
buffer_check(Buffer *self)
{
    if (self->client == NULL || self->sealed) {
        PyErr_SetString(PyExc_ValueError, "the object was sealed or given up before");
        return false;
    }
    return true;
}

/* After the seal, with memory that somebody has still: it must not become another object's. */
static granary_err
keep_memory(Buffer *self, granary_id id)
{
    granary_view view;
    granary_err err = granary_object_get(self->client->client, id, 0, &view);

    if (err == GRANARY_OK && lease_begin(&self->born) < 0) {
        PyErr_Clear();
        granary_object_release(self->client->client, &view);
        return GRANARY_ENOMEM;
    }
    if (err == GRANARY_OK) {
        self->view = view;
    }
    return err;
}

static PyObject *
buffer_seal(PyObject *object, PyObject *args)
{
    Buffer *self = (Buffer *)object;
    const granary_id id = self->buffer.id;
    int keep = 0;
    granary_err err;

    if (!PyArg_ParseTuple(args, "|p", &keep) || !buffer_check(self)) {
        return NULL;
    }
    if (self->exports > 0 && keep == 0) {
        PyErr_SetString(PyExc_BufferError, "arrays or memoryviews of the object still live, through which it could be "
                                           "written after the seal: delete them first");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    err = granary_object_seal(self->client->client, &self->buffer);
    Py_END_ALLOW_THREADS
    self->sealed = true;
    if (err == GRANARY_OK && self->exports > 0 && keep_memory(self, id) != GRANARY_OK) {
        PyErr_SetString(PyExc_RuntimeError, "memory was so short that the object left it at once: it is sealed, but "
                                            "arrays that were made of it before must not be used any more: get() it");
        return NULL;
    }
    if (self->exports == 0) {
        buffer_end(self);
    }
    return done(err);
}

static PyObject *
buffer_abort(PyObject *object, PyObject *none)
{
    Buffer *self = (Buffer *)object;

    (void)none;
    if (self->client != NULL && !self->sealed) {
        if (self->exports > 0) {
            PyErr_SetString(PyExc_BufferError, "arrays or memoryviews of the object still live: delete them first");
            return NULL;
        }
        granary_object_abort(self->client->client, &self->buffer);
        buffer_end(self);
    }
    Py_RETURN_NONE;
}

static PyObject *
buffer_set_meta(PyObject *object, PyObject *given)
{
    Buffer *self = (Buffer *)object;
    char *bytes;
    Py_ssize_t size;

    if (!buffer_check(self) || PyBytes_AsStringAndSize(given, &bytes, &size) < 0) {
        return NULL;
    }
    if ((uint64_t)size != self->buffer.meta_size) {
        return PyErr_Format(PyExc_ValueError, "%zd bytes of metadata, for which %llu were reserved", size,
                            (unsigned long long)self->buffer.meta_size);
    }
    if (size > 0) {
        memcpy(self->buffer.meta, bytes, (size_t)size);
    }
    Py_RETURN_NONE;
}

static PyObject *
buffer_get_id(PyObject *object, void *none)
{
    (void)none;
    return id_object(&((Buffer *)object)->buffer.id);
}

static PyGetSetDef buffer_members[] = {
    {"id", buffer_get_id, NULL, "Of the object, 16 bytes.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef buffer_methods[] = {
    {"seal", buffer_seal, METH_VARARGS, "seal(keep=False): publish it. keep: memory that was made of it stays valid."},
    {"abort", buffer_abort, METH_NOARGS, "Give its room back."},
    {"set_meta", buffer_set_meta, METH_O, "Write its metadata, as many bytes as were reserved."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot buffer_slots[] = {
    {Py_tp_dealloc, buffer_dealloc},
    {Py_bf_getbuffer, buffer_getbuffer},
    {Py_bf_releasebuffer, buffer_releasebuffer},
    {Py_tp_getset, buffer_members},
    {Py_tp_methods, buffer_methods},
    {Py_tp_doc, "An object being written: memory, until it is sealed."},
    {0, NULL},
};

static PyType_Spec buffer_spec = {"granary._granary.Buffer", sizeof(Buffer), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, buffer_slots};

int
memory_init_types(PyObject *module)
{
    view_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &view_spec, NULL);
    memory_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &memory_spec, NULL);
    buffer_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &buffer_spec, NULL);
    return view_type == NULL || memory_type == NULL || buffer_type == NULL || PyModule_AddType(module, view_type) < 0 ||
                   PyModule_AddType(module, memory_type) < 0 || PyModule_AddType(module, buffer_type) < 0
               ? -1
               : 0;
}
