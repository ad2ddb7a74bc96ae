/* Tensors and NPY files (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). */
#include "data/tensor.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/dtypes.h"
#include "data/frame.h"
#include "data/value/half.h"

#define DIMS_MAX   8
#define NPY_MAGIC  "\x93NUMPY"
#define NPY_PREFIX 10 /* magic, version, header length */
#define HEADER_MAX 320

/* By dtype; NULL: not in tensors. */
static const char *const npy_types[] = {
#define ROW(name, type, bytes, class, text, npy) [GRANARY_##name] = npy,
    GR_DTYPES(ROW)
#undef ROW
};
#define NPY_TYPES (sizeof npy_types / sizeof npy_types[0])

static const char *
npy_type(granary_dtype dtype)
{
    return (size_t)dtype < NPY_TYPES ? npy_types[dtype] : NULL;
}

size_t
gr_tensor_element(granary_dtype dtype)
{
    return dtype == GRANARY_BOOL ? 1 : gr_dtype_size(dtype);
}

int64_t
gr_tensor_elements(const granary_tensor *tensor)
{
    int64_t count = 1;

    for (int i = 0; i < tensor->dims; i++) {
        count *= tensor->shape[i];
    }
    return count;
}

/* Bytes of a shape; false: negative, or more than memory can hold. A zero anywhere makes it 0, but each product of
 * the others must fit, too. */
static bool
shape_bytes(granary_dtype dtype, int dims, const int64_t *shape, uint64_t *ret_bytes)
{
    int64_t bytes = (int64_t)gr_tensor_element(dtype);
    bool empty = false;

    for (int i = 0; i < dims; i++) {
        empty = empty || shape[i] == 0;
        if (shape[i] < 0 || __builtin_mul_overflow(bytes, shape[i] == 0 ? 1 : shape[i], &bytes)) {
            return false;
        }
    }
    *ret_bytes = empty ? 0 : (uint64_t)bytes;
    return true;
}

/* Errors: EINVAL */
static granary_err
set_shape(granary_tensor *tensor, int dims, const int64_t *shape)
{
    if (dims < 0 || dims > DIMS_MAX) {
        return gr_fail(GRANARY_EINVAL, "tensor: %d dimensions, at most %d are possible", dims, DIMS_MAX);
    }
    for (int i = 0; i < dims; i++) {
        tensor->shape[i] = shape[i];
        if (shape[i] < 0) {
            return gr_fail(GRANARY_EINVAL, "tensor: dimension %d has %lld elements", i, (long long)shape[i]);
        }
    }
    tensor->dims = dims;
    return GRANARY_OK;
}

granary_err
gr_tensor_alloc(granary_dtype dtype, int dims, const int64_t *shape, struct gr_tensor *ret_tensor)
{
    struct gr_tensor tensor = {.view = {.dtype = dtype}};
    granary_err err = set_shape(&tensor.view, dims, shape);
    uint64_t bytes;

    if (err != GRANARY_OK) {
        return err;
    }
    if (!shape_bytes(dtype, dims, shape, &bytes) || (tensor.owned = gr_data_alloc(bytes)) == NULL) {
        return gr_fail(GRANARY_ENOMEM, "tensor of %d dimensions: out of memory", dims);
    }
    tensor.view.values = tensor.owned;
    *ret_tensor = tensor;
    return GRANARY_OK;
}

void
gr_tensor_free(struct gr_tensor *tensor)
{
    free(tensor->owned);
    *tensor = (struct gr_tensor){.owned = NULL};
}

/* ---- writing ---- */

/* The file's head, padded so that what follows is 64-byte aligned. Returns its size. */
static size_t
npy_header(const granary_tensor *tensor, char header[HEADER_MAX])
{
    const char *type = npy_type(tensor->dtype);
    size_t size;
    int at;

    memcpy(header, NPY_MAGIC "\x01\x00", 8);
    at = NPY_PREFIX + snprintf(header + NPY_PREFIX, HEADER_MAX - NPY_PREFIX,
                               "{'descr': '%s', 'fortran_order': False, 'shape': (", type != NULL ? type : "?");
    for (int i = 0; i < tensor->dims; i++) {
        /* (3,) is a tuple, (3) is not */
        at += snprintf(header + at, (size_t)(HEADER_MAX - at), "%s%lld%s", i == 0 ? "" : " ",
                       (long long)tensor->shape[i], i + 1 < tensor->dims || tensor->dims == 1 ? "," : "");
    }
    at += snprintf(header + at, (size_t)(HEADER_MAX - at), "), }");
    size = ((size_t)at + 1 + 63) / 64 * 64;
    memset(header + at, ' ', size - (size_t)at);
    header[size - 1] = '\n';
    header[8] = (char)((size - NPY_PREFIX) & 0xff);
    header[9] = (char)((size - NPY_PREFIX) >> 8);
    return size;
}

uint64_t
gr_npy_measure(const granary_tensor *tensor)
{
    char header[HEADER_MAX];

    return npy_header(tensor, header) + (uint64_t)gr_tensor_elements(tensor) * gr_tensor_element(tensor->dtype);
}

granary_err
gr_npy_plan(granary_dtype dtype, int dims, const int64_t *shape, granary_tensor *ret_tensor)
{
    granary_tensor tensor = {.dtype = dtype};
    granary_err err = set_shape(&tensor, dims, shape);
    uint64_t bytes;

    if (err == GRANARY_OK && npy_type(dtype) == NULL) {
        err = gr_fail(GRANARY_EINVAL, "tensor: of bool, integers, floats or complex numbers, not of %s",
                      granary_dtype_name(dtype));
    }
    if (err == GRANARY_OK && !shape_bytes(dtype, dims, shape, &bytes)) {
        err = gr_fail(GRANARY_EFULL, "tensor of %d dimensions: larger than any memory", dims);
    }
    if (err == GRANARY_OK) {
        *ret_tensor = tensor;
    }
    return err;
}

void *
gr_npy_begin(const granary_tensor *tensor, void *data)
{
    char header[HEADER_MAX];
    size_t head = npy_header(tensor, header);

    memcpy(data, header, head);
    return (char *)data + head;
}

void
gr_npy_write(const granary_tensor *tensor, void *data)
{
    size_t size = (size_t)gr_tensor_elements(tensor) * gr_tensor_element(tensor->dtype);
    void *values = gr_npy_begin(tensor, data);

    if (size > 0) {
        memcpy(values, tensor->values, size);
    }
}

/* ---- reading ---- */

/* The header's text, a Python dictionary. */
struct text {
    const char *at;
    const char *end;
};

static void
skip_space(struct text *text)
{
    while (text->at < text->end && isspace((unsigned char)*text->at)) {
        text->at++;
    }
}

static bool
skip(struct text *text, const char *what)
{
    size_t length = strlen(what);

    skip_space(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, what, length) != 0) {
        return false;
    }
    text->at += length;
    return true;
}

/* A quoted word of at most 15 characters. */
static bool
read_word(struct text *text, char word[16])
{
    size_t length = 0;
    char quote;

    skip_space(text);
    if (text->at == text->end || (*text->at != '\'' && *text->at != '"')) {
        return false;
    }
    quote = *text->at++;
    while (text->at < text->end && *text->at != quote) {
        if (length == 15) {
            return false;
        }
        word[length++] = *text->at++;
    }
    word[length] = '\0';
    return skip(text, quote == '"' ? "\"" : "'");
}

static bool
read_shape(struct text *text, granary_tensor *tensor)
{
    if (!skip(text, "(")) {
        return false;
    }
    tensor->dims = 0;
    while (!skip(text, ")")) {
        int64_t value = 0;
        int digits = 0;

        if (tensor->dims == DIMS_MAX) {
            return false;
        }
        skip_space(text);
        for (; text->at < text->end && isdigit((unsigned char)*text->at) && digits < 18; digits++) {
            value = value * 10 + (*text->at++ - '0');
        }
        if (digits == 0) {
            return false;
        }
        tensor->shape[tensor->dims++] = value;
        if (!skip(text, ",")) {
            return skip(text, ")");
        }
    }
    return true;
}

static granary_err
fail_header(void)
{
    return gr_fail(GRANARY_ECORRUPT, "NPY file: its header is damaged");
}

static granary_err
read_dtype(struct text *text, granary_tensor *tensor, bool *ret_half)
{
    char word[16];

    if (skip(text, "[")) {
        return gr_fail(GRANARY_EUNSUPPORTED, "NPY file: structured dtypes are not supported");
    }
    if (!read_word(text, word)) {
        return fail_header();
    }
    *ret_half = strcmp(word, "<f2") == 0;
    if (*ret_half) {
        tensor->dtype = GRANARY_FLOAT32;
        return GRANARY_OK;
    }
    for (size_t i = 0; i < NPY_TYPES; i++) {
        if (npy_types[i] != NULL && strcmp(word, npy_types[i]) == 0) {
            tensor->dtype = (granary_dtype)i;
            return GRANARY_OK;
        }
    }
    return gr_fail(GRANARY_EUNSUPPORTED,
                   "NPY file: dtype '%s' is not supported, only |b1, |i1, |u1, <i2, <u2, "
                   "<i4, <u4, <i8, <u8, <f4, <f8, <c8 and <c16",
                   word);
}

/* {'descr': .., 'fortran_order': .., 'shape': ..} in any order, each once. */
static granary_err
read_header(struct text *text, granary_tensor *tensor, bool *ret_half)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    unsigned seen = 0;

    if (!skip(text, "{")) {
        return fail_header();
    }
    while (!skip(text, "}")) {
        char key[16];
        size_t which = 0;
        granary_err err = GRANARY_OK;

        if (!read_word(text, key) || !skip(text, ":")) {
            return fail_header();
        }
        while (which < 3 && strcmp(key, keys[which]) != 0) {
            which++;
        }
        if (which == 3 || (seen & 1u << which) != 0) {
            return fail_header();
        }
        seen |= 1u << which;
        if (which == 0) {
            err = read_dtype(text, tensor, ret_half);
        } else if (which == 1 && skip(text, "True")) {
            err = gr_fail(GRANARY_EUNSUPPORTED, "NPY file: Fortran order is not supported; save it in C order");
        } else if (which == 1 ? !skip(text, "False") : !read_shape(text, tensor)) {
            err = fail_header();
        }
        if (err != GRANARY_OK) {
            return err;
        }
        if (!skip(text, ",")) {
            if (!skip(text, "}")) {
                return fail_header();
            }
            break;
        }
    }
    return seen == 7 ? GRANARY_OK : fail_header();
}

granary_err
gr_npy_head(const void *head, uint64_t head_size, uint64_t data_size, granary_tensor *ret_tensor, uint64_t *ret_values,
            bool *ret_half)
{
    const unsigned char *bytes = head;
    granary_tensor tensor = {.dims = 0};
    uint64_t prefix = NPY_PREFIX;
    uint64_t length;
    uint64_t need;
    struct text text;
    size_t element;
    bool half = false;
    granary_err err;

    if (head_size < NPY_PREFIX || memcmp(bytes, NPY_MAGIC, 6) != 0) {
        return gr_fail(GRANARY_ETYPE, "not an NPY file: it does not begin with \\x93NUMPY");
    }
    if (bytes[6] < 1 || bytes[6] > 3) {
        return gr_fail(GRANARY_EUNSUPPORTED, "NPY file: version %u is not supported", bytes[6]);
    }
    length = bytes[8] | (uint64_t)bytes[9] << 8;
    if (bytes[6] > 1) { /* later versions have four bytes of length */
        prefix += 2;
        length |= head_size < prefix ? 0 : (uint64_t)bytes[10] << 16 | (uint64_t)bytes[11] << 24;
    }
    if (head_size < prefix || length > head_size - prefix) {
        return fail_header();
    }
    text.at = (const char *)bytes + prefix;
    text.end = text.at + length;
    err = read_header(&text, &tensor, &half);
    if (err != GRANARY_OK) {
        return err;
    }
    if (half && ret_half == NULL) {
        return gr_fail(GRANARY_EUNSUPPORTED,
                       "NPY file: its dtype is float16, which only graphs read, as float32: save it "
                       "as float32");
    }
    element = half ? 2 : gr_tensor_element(tensor.dtype);
    if (!shape_bytes(tensor.dtype, tensor.dims, tensor.shape, &need) ||
        need / (half ? 2 : 1) > data_size - prefix - length) {
        return gr_fail(GRANARY_ECORRUPT, "NPY file: %llu bytes of data are too few for its shape",
                       (unsigned long long)(data_size - prefix - length));
    }
    if ((prefix + length) % element != 0) {
        return gr_fail(GRANARY_EUNSUPPORTED,
                       "NPY file: its data begin at byte %llu, which is not aligned; save it "
                       "again with a current NumPy",
                       (unsigned long long)(prefix + length));
    }
    if (ret_half != NULL) {
        *ret_half = half;
    }
    *ret_tensor = tensor;
    *ret_values = prefix + length;
    return GRANARY_OK;
}

granary_err
gr_npy_read(const void *data, uint64_t data_size, granary_tensor *ret_tensor)
{
    granary_tensor tensor;
    uint64_t values;
    granary_err err = gr_npy_head(data, data_size, data_size, &tensor, &values, NULL);

    if (err == GRANARY_OK) {
        tensor.values = (const char *)data + values;
        *ret_tensor = tensor;
    }
    return err;
}

granary_err
gr_npy_open(const void *data, uint64_t data_size, struct gr_tensor *ret_tensor)
{
    struct gr_tensor tensor = {.owned = NULL};
    uint64_t values;
    bool half;
    granary_err err = gr_npy_head(data, data_size, data_size, &tensor.view, &values, &half);

    if (err == GRANARY_OK && half) {
        const granary_tensor head = tensor.view;

        err = gr_tensor_alloc(head.dtype, head.dims, head.shape, &tensor);
        for (int64_t i = 0; err == GRANARY_OK && i < gr_tensor_elements(&head); i++) {
            ((float *)tensor.owned)[i] = gr_half((const char *)data + values + (size_t)i * 2);
        }
    } else if (err == GRANARY_OK) {
        tensor.view.values = (const char *)data + values;
    }
    if (err == GRANARY_OK) {
        *ret_tensor = tensor;
    }
    return err;
}

granary_err
granary_tensor_open(const granary_view *view, granary_tensor *ret_tensor)
{
    return gr_npy_read(view->data, view->data_size, ret_tensor);
}
