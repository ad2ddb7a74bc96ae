/* Reductions over axes, in three steps: a partial result of each chunk, partial results merged, the value. */
#include "kernel/tensor/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- reduce_map ---- */

/* Strides in the result and, for positions, along the reduced axes of the whole. */
static granary_err
read_axes(const struct gr_kernel_call *call, struct program *program, struct partial_header *header,
          int64_t *ret_position)
{
    const int64_t *axes, *shape, *offset;
    size_t count, dims, offsets;
    bool reduced[TENSOR_DIMS_MAX] = {false};
    int64_t kept[TENSOR_DIMS_MAX] = {0};
    int64_t along[TENSOR_DIMS_MAX] = {0};
    int64_t stride = 1;
    int64_t position = 1;
    granary_err err = tensor_ints(call, "axes", TENSOR_DIMS_MAX, &axes, &count);

    if (err == GRANARY_OK && (err = tensor_ints(call, "shape", TENSOR_DIMS_MAX, &shape, &dims)) == GRANARY_OK) {
        err = tensor_ints(call, "offset", TENSOR_DIMS_MAX, &offset, &offsets);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < count; i++) {
        if (axes[i] < 0 || axes[i] >= program->dims || reduced[axes[i]]) {
            return gr_fail(GRANARY_EINVAL, "axis %lld: there are %d dimensions", (long long)axes[i], program->dims);
        }
        reduced[axes[i]] = true;
    }
    if (dims != offsets || (dims > 0 && dims != (size_t)program->dims)) {
        return gr_fail(GRANARY_EINVAL, "shape and offset do not fit the input");
    }
    *ret_position = 0;
    for (int d = program->dims - 1; d >= 0; d--) {
        if (reduced[d]) {
            along[d] = position;
            *ret_position += dims > 0 ? offset[d] * position : 0;
            position *= dims > 0 ? shape[d] : program->shape[d];
        } else {
            kept[d] = stride;
            stride *= program->shape[d];
        }
    }
    for (int d = 0; d < program->dims; d++) {
        if (!reduced[d]) {
            header->shape[header->dims++] = program->shape[d];
        }
    }
    program_extra(program, 0, kept);
    if (gr_reduction_how((enum gr_reduction)header->reduction) == GR_REDUCE_BY_ARG) {
        program_extra(program, 1, along);
    }
    return GRANARY_OK;
}

/* A partial result as the call's output; takes buf's bytes. */
static granary_err
give_bytes(struct gr_kernel_call *call, struct gr_buf *buf)
{
    void *bytes = gr_buf_ok(buf) ? gr_data_alloc(buf->size) : NULL;

    if (bytes == NULL) {
        gr_buf_free(buf);
        return gr_fail(GRANARY_ENOMEM, "no memory for a partial result");
    }
    memcpy(bytes, buf->bytes, buf->size);
    call->outputs[0].kind = GR_VALUE_BYTES;
    call->outputs[0].bytes = bytes;
    call->outputs[0].owned_bytes = bytes;
    call->outputs[0].bytes_size = buf->size;
    gr_buf_free(buf);
    return GRANARY_OK;
}

static granary_err
read_reduction(const struct gr_kernel_call *call, enum gr_reduction *ret_reduction)
{
    const char *function = gr_attr_string(call->op->attrs, call->op->n_attrs, "function", "");

    *ret_reduction = gr_reduction_find(function);
    return *ret_reduction == GR_REDUCE_COUNT ? gr_fail(GRANARY_EINVAL, "no function '%s'", function) : GRANARY_OK;
}

/* Whatever the elements are, a program makes them bool before. */
static bool
takes_bool(enum gr_reduction reduction)
{
    return reduction == GR_REDUCE_any || reduction == GR_REDUCE_all || reduction == GR_REDUCE_count_nonzero;
}

/* Where along the reduced axes of the whole the chunk begins is added to every position. */
struct taking {
    struct reducing reducing;
    int64_t position;
};

static void
take(void *context, const int64_t *at, const int64_t *steps, const void *values, enum gr_lane lane, int64_t n)
{
    struct taking *taking = context;
    const int64_t moved[PROGRAM_EXTRAS] = {at[0], at[1] + taking->position};

    reducing_take(&taking->reducing, moved, steps, values, lane, n);
}

granary_err
kernel_reduce_map(struct gr_kernel_call *call)
{
    struct partial_header header = {0};
    struct taking taking = {0};
    struct program program;
    struct gr_buf out = {0};
    enum gr_reduction reduction;
    granary_err err = tensor_call_check(call, 1, PROGRAM_INPUTS);

    if (err == GRANARY_OK) {
        err = read_reduction(call, &reduction);
    }
    if (err == GRANARY_OK) {
        err = program_open(call, &program);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (takes_bool(reduction) && program.dtype != GRANARY_BOOL) {
        program_close(&program);
        return gr_fail(GRANARY_ETYPE, "%s needs bool", gr_reduction_name(reduction));
    }
    header.reduction = (int32_t)reduction;
    header.dtype = (int32_t)program.dtype;
    err = read_axes(call, &program, &header, &taking.position);
    if (err == GRANARY_OK) {
        err = reducing_init(&taking.reducing, &header);
    }
    if (err == GRANARY_OK) {
        program_run(&program, NULL, take, &taking);
        err = reducing_write(&taking.reducing, &out);
        reducing_fini(&taking.reducing);
    }
    program_close(&program);
    if (err != GRANARY_OK) {
        gr_buf_free(&out);
        return err;
    }
    return give_bytes(call, &out);
}

/* ---- reduce_merge, reduce_final ---- */

/* All inputs together; to be given to reducing_fini(). */
static granary_err
merge_inputs(const struct gr_kernel_call *call, struct reducing *ret_reducing)
{
    struct partial_header header;
    enum gr_reduction reduction = GR_REDUCE_COUNT;
    bool named = gr_attr_find(call->op->attrs, call->op->n_attrs, "function") != NULL;
    granary_err err = named ? read_reduction(call, &reduction) : GRANARY_OK;

    if (err == GRANARY_OK && (call->output_count != 1 || call->input_count == 0)) {
        err = gr_fail(GRANARY_EINVAL, "%zu inputs and %zu outputs do not fit the operator", call->input_count,
                      call->output_count);
    }
    for (size_t i = 0; i < call->input_count && err == GRANARY_OK; i++) {
        if (call->inputs[i].kind != GR_VALUE_BYTES || call->inputs[i].bytes_size < sizeof header) {
            err = gr_fail(GRANARY_ETYPE, "input %zu is no partial result", i);
        }
    }
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(&header, call->inputs[0].bytes, sizeof header);
    if (named && header.reduction != (int32_t)reduction) {
        return gr_fail(GRANARY_ETYPE, "input 0 is no partial result of %s", gr_reduction_name(reduction));
    }
    err = reducing_init(ret_reducing, &header);
    for (size_t i = 0; i < call->input_count && err == GRANARY_OK; i++) {
        err = reducing_merge(ret_reducing, call->inputs[i].bytes, call->inputs[i].bytes_size);
        if (err != GRANARY_OK) {
            reducing_fini(ret_reducing);
        }
    }
    return err;
}

granary_err
kernel_reduce_merge(struct gr_kernel_call *call)
{
    struct reducing reducing = {0};
    struct gr_buf out = {0};
    granary_err err = merge_inputs(call, &reducing);

    if (err != GRANARY_OK) {
        return err;
    }
    err = reducing_write(&reducing, &out);
    reducing_fini(&reducing);
    if (err != GRANARY_OK) {
        gr_buf_free(&out);
        return err;
    }
    return give_bytes(call, &out);
}

/* The result's shape: with keepdims, axes of one element stand where the reduced ones stood. */
static granary_err
result_shape(const struct gr_kernel_call *call, const struct partial_header *header, int64_t *ret_shape, int *ret_dims)
{
    bool keep = gr_attr_bool(call->op->attrs, call->op->n_attrs, "keepdims", false);
    const int64_t *axes = NULL;
    size_t count = 0;
    size_t next = 0;
    int dims = 0;
    granary_err err = tensor_ints(call, "axes", TENSOR_DIMS_MAX, &axes, &count);

    if (err != GRANARY_OK || (keep && (size_t)header->dims + count > TENSOR_DIMS_MAX)) {
        return err != GRANARY_OK ? err : gr_fail(GRANARY_EINVAL, "axes do not fit the result");
    }
    for (int d = 0; d < header->dims || (keep && next < count);) {
        if (keep && next < count && (axes[next] == dims || d == header->dims)) {
            ret_shape[dims++] = 1;
            next++;
        } else {
            ret_shape[dims++] = header->shape[d++];
        }
    }
    *ret_dims = dims;
    return GRANARY_OK;
}

granary_err
kernel_reduce_final(struct gr_kernel_call *call)
{
    int64_t count = gr_attr_int(call->op->attrs, call->op->n_attrs, "count", 0);
    double ddof = gr_attr_double(call->op->attrs, call->op->n_attrs, "ddof", 0);
    struct reducing reducing = {0};
    int64_t shape[TENSOR_DIMS_MAX];
    void *values = NULL;
    int dims = 0;
    granary_err err = merge_inputs(call, &reducing);

    if (err != GRANARY_OK) {
        return err;
    }
    err = result_shape(call, &reducing.header, shape, &dims);
    if (err == GRANARY_OK) {
        err = tensor_output(call, gr_reduction_dtype(reducing.reduction, (granary_dtype)reducing.header.dtype), dims,
                            shape, &values);
    }
    if (err == GRANARY_OK) {
        err = reducing_finish(&reducing, count, ddof, values);
    }
    reducing_fini(&reducing);
    return err;
}
