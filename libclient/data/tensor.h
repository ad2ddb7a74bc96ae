/* Tensors in memory and as NPY files (version 1.0, C order, data 64-byte aligned). */
#ifndef DATA_TENSOR_H
#define DATA_TENSOR_H

#include "base/text/buf.h"
#include "granary/frame.h"

struct gr_tensor {
    granary_tensor view;
    void *owned; /* view.values when it is ours, else NULL */
};

int64_t gr_tensor_elements(const granary_tensor *tensor);
/* Bytes of an element; bools have one each. */
size_t gr_tensor_element(granary_dtype dtype);
/* Zeroed. Errors: ENOMEM · EINVAL negative or too many dimensions (8) */
granary_err gr_tensor_alloc(granary_dtype dtype, int dims, const int64_t *shape, struct gr_tensor *ret_tensor);
void gr_tensor_free(struct gr_tensor *tensor);

/* Object size of a tensor as NPY file; write it. dtypes: BOOL '|b1', INT8 '|i1' .. UINT64 '<u8', FLOAT32 '<f4', FLOAT64
 * '<f8', COMPLEX64 '<c8', COMPLEX128 '<c16'. */
uint64_t gr_npy_measure(const granary_tensor *tensor);
void gr_npy_write(const granary_tensor *tensor, void *data);
/* The same from the file's first bytes, which must hold all of its header: ret_tensor without values, and where they
 * begin. data_size: of the whole file. ret_half: whether the values are float16, of 2 bytes, though the tensor is of
 * float32; NULL: then it is an error, EUNSUPPORTED. */
granary_err gr_npy_head(const void *head, uint64_t head_size, uint64_t data_size, granary_tensor *ret_tensor,
                        uint64_t *ret_values, bool *ret_half);
/* A tensor without values, to be measured. Errors: EINVAL dimensions, or a dtype NPY files are not made of · EFULL */
granary_err gr_npy_plan(granary_dtype dtype, int dims, const int64_t *shape, granary_tensor *ret_tensor);
/* Write what stands before the values of a tensor that was measured. Returns where they go. */
void *gr_npy_begin(const granary_tensor *tensor, void *data);
/* Read in place. Errors: ETYPE no NPY file · EUNSUPPORTED dtype, Fortran order · ECORRUPT */
granary_err gr_npy_read(const void *data, uint64_t data_size, granary_tensor *ret_tensor);
/* The same, but float16 becomes float32, in memory of its own. Errors: also ENOMEM */
granary_err gr_npy_open(const void *data, uint64_t data_size, struct gr_tensor *ret_tensor);

#endif
