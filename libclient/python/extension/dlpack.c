/*
 * DLPack: tensors of other libraries as read-only buffers, and buffers as tensors for them.
 *
 * The structs are those of https://dmlc.github.io/dlpack, version 1.0, and of before (a capsule "dltensor"). Who takes a tensor out of
 * a capsule gives that the name "used_...", and calls the tensor's deleter once, when nobody reads it any more.
 */
#include "extension.h"

#include <string.h>

#define LEGACY    "dltensor"
#define VERSIONED "dltensor_versioned"
#define USED      "used_"

#define MAJOR     1
#define CPU       1 /* kDLCPU */
#define READ_ONLY 1 /* of flags */
#define IS_COPIED 2
#define DIMS_MOST 8 /* of granary's tensors */

enum code { INT, UINT, FLOAT, OPAQUE, BFLOAT, COMPLEX, BOOL, CODES };

typedef struct {
    int32_t type;
    int32_t id;
} Device;

typedef struct {
    void *data;
    Device device;
    int32_t ndim;
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: C order */
    uint64_t byte_offset;
} Tensor;

struct legacy {
    Tensor tensor;
    void *context;
    void (*deleter)(struct legacy *self);
};

struct versioned {
    uint32_t major;
    uint32_t minor;
    void *context;
    void (*deleter)(struct versioned *self);
    uint64_t flags;
    Tensor tensor;
};

/* ---- in ---- */

/* A tensor of another library, which is its again when this goes. */
typedef struct {
    PyObject_HEAD
    struct legacy *legacy; /* one of both */
    struct versioned *versioned;
    const char *format;
    Py_ssize_t width, bytes;
    Py_ssize_t shape[DIMS_MOST], strides[DIMS_MOST];
} Borrowed;

static PyTypeObject *borrowed_type;

static const Tensor *
tensor_of(const Borrowed *self)
{
    return self->legacy != NULL ? &self->legacy->tensor : &self->versioned->tensor;
}

static void
borrowed_dealloc(PyObject *object)
{
    Borrowed *self = (Borrowed *)object;
    PyObject *type, *value, *trace;

    /* The deleter may run Python, and this may be run while an exception is on its way. */
    PyErr_Fetch(&type, &value, &trace);
    if (self->legacy != NULL && self->legacy->deleter != NULL) {
        self->legacy->deleter(self->legacy);
    }
    if (self->versioned != NULL && self->versioned->deleter != NULL) {
        self->versioned->deleter(self->versioned);
    }
    PyErr_Restore(type, value, trace);
    free_object(object);
}

static int
borrowed_getbuffer(PyObject *object, Py_buffer *buffer, int flags)
{
    static char nothing[1];
    Borrowed *self = (Borrowed *)object;
    const Tensor *tensor = tensor_of(self);

    buffer->obj = NULL;
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "a tensor that was taken by DLPack is read-only: copy it");
        return -1;
    }
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & PyBUF_FORMAT) != PyBUF_FORMAT) {
        PyErr_SetString(PyExc_BufferError, "a tensor that was taken by DLPack has strides: use numpy.asarray()");
        return -1;
    }
    *buffer = (Py_buffer){
        .buf = tensor->data == NULL ? nothing : (char *)tensor->data + tensor->byte_offset,
        .obj = Py_NewRef(object),
        .len = self->bytes,
        .itemsize = self->width,
        .readonly = 1,
        .ndim = tensor->ndim,
        .format = (char *)(uintptr_t)self->format,
        .shape = tensor->ndim > 0 ? self->shape : NULL,
        .strides = tensor->ndim > 0 ? self->strides : NULL,
    };
    return 0;
}

/* How Python's struct module calls the dtype; NULL: granary has none such. */
static const char *
format_of(const Tensor *tensor)
{
    static const char *const ints[] = {"b", "h", "i", "q"}, *const uints[] = {"B", "H", "I", "Q"};
    int power = 0;

    if (tensor->code == COMPLEX && tensor->lanes == 1) {
        return tensor->bits == 64 ? "Zf" : tensor->bits == 128 ? "Zd" : NULL;
    }
    while (power < 4 && tensor->bits != 8 << power) {
        power++;
    }
    if (tensor->lanes != 1 || power == 4) {
        return NULL;
    }
    switch (tensor->code) {
    case INT:
        return ints[power];
    case UINT:
        return uints[power];
    case FLOAT:
        return power == 1 ? "e" : power == 2 ? "f" : power == 3 ? "d" : NULL; /* "e" is float16: it becomes float32 */
    case BOOL:
        return power == 0 ? "?" : NULL;
    default:
        return NULL;
    }
}

static bool
check_kind(const Tensor *tensor, const char **ret_format)
{
    static const char *const codes[CODES] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};

    if (tensor->device.type != CPU) {
        PyErr_Format(PyExc_BufferError,
                     "a tensor of DLPack's device (%d, %d) is not in the CPU's memory: copy it there first, as by "
                     "tensor.cpu()",
                     (int)tensor->device.type, (int)tensor->device.id);
        return false;
    }
    *ret_format = format_of(tensor);
    if (*ret_format != NULL) {
        return true;
    }
    if (tensor->code < CODES) {
        char lanes[32] = "";

        if (tensor->lanes != 1) {
            (void)PyOS_snprintf(lanes, sizeof lanes, " of %d lanes", (int)tensor->lanes);
        }
        PyErr_Format(PyExc_TypeError,
                     "a tensor of DLPack's %s%d%s: granary has bool, int8 to int64, uint8 to uint64, float32, "
                     "float64, complex64 and complex128: convert it first",
                     codes[tensor->code], (int)tensor->bits, lanes);
    } else {
        PyErr_Format(PyExc_TypeError,
                     "a tensor of DLPack's type code %d, which granary does not know: convert it first",
                     (int)tensor->code);
    }
    return false;
}

/* Sides and strides, in bytes. They come from another library's code: what they say must fit this process's memory. */
static bool
check_shape(const Tensor *tensor, Borrowed *self)
{
    const __int128 most = PY_SSIZE_T_MAX;
    __int128 bytes = self->width;
    bool is_empty = false;

    if (tensor->ndim < 0 || tensor->ndim > DIMS_MOST) {
        PyErr_Format(PyExc_ValueError, "a tensor of %d dimensions: granary's have up to %d: reshape it first",
                     (int)tensor->ndim, DIMS_MOST);
        return false;
    }
    if (tensor->ndim > 0 && tensor->shape == NULL) {
        PyErr_SetString(PyExc_ValueError, "a tensor of DLPack without a shape");
        return false;
    }
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        const int64_t side = tensor->shape[i];
        const __int128 stride = tensor->strides == NULL ? bytes : (__int128)tensor->strides[i] * self->width;
        const __int128 reach = stride * (side > 0 ? side - 1 : 0);

        if (side < 0 || reach > most || reach < -most) {
            PyErr_Format(PyExc_ValueError, "a tensor of DLPack whose side %d is %lld: no memory is that large", i,
                         (long long)side);
            return false;
        }
        is_empty = is_empty || side == 0;
        bytes *= side > 0 ? side : 1;
        if (bytes > most) {
            PyErr_SetString(PyExc_ValueError, "a tensor of DLPack of more bytes than there can be");
            return false;
        }
        self->shape[i] = (Py_ssize_t)side;
        self->strides[i] = side > 1 ? (Py_ssize_t)stride : self->width; /* of a single element it says nothing */
    }
    self->bytes = is_empty ? 0 : (Py_ssize_t)bytes;
    if (!is_empty && tensor->data == NULL) {
        PyErr_SetString(PyExc_ValueError, "a tensor of DLPack has elements, and no memory");
        return false;
    }
    return true;
}

/* The capsule's tensor; NULL: a Python error is set */
static const Tensor *
capsule_tensor(PyObject *capsule, Borrowed *self)
{
    if (PyCapsule_IsValid(capsule, LEGACY)) {
        self->legacy = PyCapsule_GetPointer(capsule, LEGACY);
        return &self->legacy->tensor;
    }
    if (PyCapsule_IsValid(capsule, VERSIONED)) {
        self->versioned = PyCapsule_GetPointer(capsule, VERSIONED);
        if (self->versioned->major == MAJOR) {
            return &self->versioned->tensor;
        }
        PyErr_Format(PyExc_BufferError, "a tensor of DLPack's version %u.%u: granary reads version %d",
                     (unsigned)self->versioned->major, (unsigned)self->versioned->minor, MAJOR);
        return NULL;
    }
    if (PyCapsule_IsValid(capsule, USED LEGACY) || PyCapsule_IsValid(capsule, USED VERSIONED)) {
        PyErr_SetString(PyExc_ValueError, "the tensor was taken out of its capsule before: ask __dlpack__() again");
        return NULL;
    }
    PyErr_SetString(PyExc_TypeError, "__dlpack__() gives a capsule named '" LEGACY "' or '" VERSIONED "'");
    return NULL;
}

/* What is refused stays in its capsule, which ends it. */
PyObject *
dlpack_take(PyObject *module, PyObject *capsule)
{
    Borrowed *self = PyObject_New(Borrowed, borrowed_type);
    const Tensor *tensor;

    (void)module;
    if (self == NULL) {
        return NULL;
    }
    self->legacy = NULL;
    self->versioned = NULL;
    tensor = capsule_tensor(capsule, self);
    if (tensor != NULL && check_kind(tensor, &self->format)) {
        self->width = tensor->bits / 8;
        if (check_shape(tensor, self) &&
            PyCapsule_SetName(capsule, self->legacy != NULL ? USED LEGACY : USED VERSIONED) == 0) {
            return (PyObject *)self;
        }
    }
    self->legacy = NULL;
    self->versioned = NULL;
    Py_DECREF((PyObject *)self);
    return NULL;
}

static PyType_Slot borrowed_slots[] = {
    {Py_tp_dealloc, borrowed_dealloc},
    {Py_bf_getbuffer, borrowed_getbuffer},
    {Py_tp_doc, "Elements of another library's tensor, read-only."},
    {0, NULL},
};

static PyType_Spec borrowed_spec = {"granary._granary.Borrowed", sizeof(Borrowed), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, borrowed_slots};

/* ---- out ---- */

/* A tensor over a buffer, in one piece. */
struct lent {
    union {
        struct legacy legacy;
        struct versioned versioned;
    } as;
    Py_buffer buffer;                  /* its shape may lie within itself, so it is not moved */
    int64_t sides[2 * PyBUF_MAX_NDIM]; /* shape, then strides */
};

/* On whatever thread the consumer is; when Python has ended, its memory goes with the process. */
static void
lent_end(struct lent *lent)
{
    PyGILState_STATE state;

    if (lent == NULL || !Py_IsInitialized()) {
        return;
    }
    state = PyGILState_Ensure();
    PyBuffer_Release(&lent->buffer);
    PyMem_Free(lent);
    PyGILState_Release(state);
}

static void
legacy_delete(struct legacy *self)
{
    lent_end((struct lent *)self->context);
}

static void
versioned_delete(struct versioned *self)
{
    lent_end((struct lent *)self->context);
}

/* Nobody has taken the tensor. */
static void
legacy_unread(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, LEGACY)) {
        legacy_delete(PyCapsule_GetPointer(capsule, LEGACY));
    }
}

static void
versioned_unread(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, VERSIONED)) {
        versioned_delete(PyCapsule_GetPointer(capsule, VERSIONED));
    }
}

static void
fill(Tensor *tensor, struct lent *lent, int code)
{
    const Py_buffer *buffer = &lent->buffer;

    *tensor = (Tensor){.data = buffer->buf,
                       .device = {CPU, 0},
                       .ndim = buffer->ndim,
                       .code = (uint8_t)code,
                       .bits = (uint8_t)(8 * buffer->itemsize),
                       .lanes = 1,
                       .shape = lent->sides,
                       .strides = lent->sides + buffer->ndim};
    for (int i = 0; i < buffer->ndim; i++) {
        tensor->shape[i] = buffer->shape[i];
        tensor->strides[i] = buffer->strides[i] / buffer->itemsize;
    }
}

static PyObject *
lent_capsule(struct lent *lent, int code, bool is_versioned, bool is_copy)
{
    if (!is_versioned) {
        lent->as.legacy = (struct legacy){.context = lent, .deleter = legacy_delete};
        fill(&lent->as.legacy.tensor, lent, code);
        return PyCapsule_New(&lent->as.legacy, LEGACY, legacy_unread);
    }
    lent->as.versioned = (struct versioned){.major = MAJOR, .context = lent, .deleter = versioned_delete};
    lent->as.versioned.flags = (lent->buffer.readonly ? READ_ONLY : 0U) | (is_copy ? IS_COPIED : 0U);
    fill(&lent->as.versioned.tensor, lent, code);
    return PyCapsule_New(&lent->as.versioned, VERSIONED, versioned_unread);
}

PyObject *
dlpack_give(PyObject *module, PyObject *args)
{
    PyObject *source, *capsule = NULL;
    int code, is_versioned, is_copy;
    struct lent *lent;

    (void)module;
    if (!PyArg_ParseTuple(args, "Oipp", &source, &code, &is_versioned, &is_copy)) {
        return NULL;
    }
    lent = PyMem_Calloc(1, sizeof *lent);
    if (lent == NULL) {
        return PyErr_NoMemory();
    }
    if (PyObject_GetBuffer(source, &lent->buffer, PyBUF_RECORDS_RO) < 0) {
        PyMem_Free(lent);
        return NULL;
    }
    if (lent->buffer.readonly && !is_versioned) {
        PyErr_SetString(PyExc_BufferError, "a consumer of DLPack before 1.0 may write: it gets a copy");
    } else {
        capsule = lent_capsule(lent, code, is_versioned != 0, is_copy != 0);
    }
    if (capsule == NULL) {
        lent_end(lent);
    }
    return capsule;
}

int
dlpack_init_type(PyObject *module)
{
    borrowed_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &borrowed_spec, NULL);
    return borrowed_type == NULL ? -1 : PyModule_AddType(module, borrowed_type);
}
