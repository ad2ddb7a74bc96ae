/*
 * Element by element, with NumPy's broadcasting and dtypes: add, subtract, multiply of int64 are int64 and wrap;
 * divide, sqrt, exp and log are float64; negative keeps the dtype; everything mixed is float64.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/tensor_call.h"

/* Elements a time: operands that have to be converted stay in L1. */
#define BLOCK 512

enum function { ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATIVE, SQRT, EXP, LOG, FUNCTIONS };

static const struct {
    const char *name;
    int operands;
    bool keeps_int64;
} functions[FUNCTIONS] = {
    [ADD] = {"add", 2, true},        [SUBTRACT] = {"subtract", 2, true}, [MULTIPLY] = {"multiply", 2, true},
    [DIVIDE] = {"divide", 2, false}, [NEGATIVE] = {"negative", 1, true}, [SQRT] = {"sqrt", 1, false},
    [EXP] = {"exp", 1, false},       [LOG] = {"log", 1, false},
};

static void
apply_doubles(enum function function, const double *a, const double *b, double *out, int64_t count)
{
#define EACH(expression)                                                                                               \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        out[i] = (expression);                                                                                         \
    }                                                                                                                  \
    return
    switch (function) {
    case ADD:
        EACH(a[i] + b[i]);
    case SUBTRACT:
        EACH(a[i] - b[i]);
    case MULTIPLY:
        EACH(a[i] * b[i]);
    case DIVIDE:
        EACH(a[i] / b[i]);
    case NEGATIVE:
        EACH(-a[i]);
    case SQRT:
        EACH(sqrt(a[i]));
    case EXP:
        EACH(exp(a[i]));
    default:
        EACH(log(a[i]));
    }
}

/* Strides are 0 or 1. Unsigned: overflow wraps and is no mistake. */
static void
apply_ints(enum function function, const uint64_t *a, int64_t a_stride, const uint64_t *b, int64_t b_stride,
           uint64_t *out, int64_t count)
{
    switch (function) {
    case ADD:
        EACH(a[i * a_stride] + b[i * b_stride]);
    case SUBTRACT:
        EACH(a[i * a_stride] - b[i * b_stride]);
    case MULTIPLY:
        EACH(a[i * a_stride] * b[i * b_stride]);
    default:
        EACH(0 - a[i * a_stride]);
    }
#undef EACH
}

/* The operands of a call: one or two tensors, or a tensor and a number. */
struct operands {
    int count;
    granary_tensor tensors[2];
    int64_t value_int; /* the number */
    double value_double;
};

static granary_err
read_operands(const struct gr_kernel_call *call, enum function function, struct operands *ret_operands)
{
    const Granary__Attr *value = gr_attr_find(call->op->attrs, call->op->n_attrs, "value");

    *ret_operands = (struct operands){.count = functions[function].operands};
    for (size_t i = 0; i < call->input_count; i++) {
        ret_operands->tensors[i] = call->inputs[i].tensor.view;
    }
    if ((int)call->input_count == ret_operands->count) {
        return GRANARY_OK;
    }
    if (ret_operands->count != 2 || call->input_count != 1 || value == NULL ||
        (value->kind == GRANARY__ATTR__KIND__INT ? value->n_ints : value->n_doubles) != 1) {
        return gr_fail(GRANARY_EINVAL, "%s takes %d operands", functions[function].name, ret_operands->count);
    }
    if (value->kind == GRANARY__ATTR__KIND__INT) {
        ret_operands->value_int = value->ints[0];
        ret_operands->tensors[1] = (granary_tensor){.dtype = GRANARY_INT64, .values = &ret_operands->value_int};
    } else {
        ret_operands->value_double = value->doubles[0];
        ret_operands->tensors[1] = (granary_tensor){.dtype = GRANARY_FLOAT64, .values = &ret_operands->value_double};
    }
    return GRANARY_OK;
}

/* The shape of the result, and how to walk through the operands for it. */
static granary_err
broadcast(const struct operands *operands, struct tensor_walk *ret_walk)
{
    struct tensor_walk walk = {0};
    int64_t stride[2] = {1, 1};

    for (int i = 0; i < operands->count; i++) {
        walk.dims = operands->tensors[i].dims > walk.dims ? operands->tensors[i].dims : walk.dims;
    }
    for (int d = walk.dims - 1, back = 1; d >= 0; d--, back++) { /* shapes are aligned at their ends */
        walk.extent[d] = 1;
        for (int i = 0; i < operands->count; i++) {
            const granary_tensor *tensor = &operands->tensors[i];
            int64_t extent = back <= tensor->dims ? tensor->shape[tensor->dims - back] : 1;

            if (extent != 1 && walk.extent[d] != 1 && extent != walk.extent[d]) {
                return gr_fail(GRANARY_EINVAL, "shapes do not broadcast: %lld and %lld in dimension %d",
                               (long long)walk.extent[d], (long long)extent, d);
            }
            walk.extent[d] = extent == 1 ? walk.extent[d] : extent;
            walk.stride[i][d] = extent == 1 ? 0 : stride[i];
            stride[i] *= extent;
        }
    }
    *ret_walk = walk;
    return GRANARY_OK;
}

/* Take the last dimensions together as far as both operands go through them in one stride. */
static void
collapse(struct tensor_walk *walk)
{
    while (walk->dims > 1) {
        int d = walk->dims - 2;
        bool together = true;

        for (int i = 0; i < TENSOR_OPERANDS; i++) {
            together = together && walk->stride[i][d] == walk->stride[i][d + 1] * walk->extent[d + 1];
        }
        if (!together) {
            return;
        }
        walk->extent[d] *= walk->extent[d + 1];
        for (int i = 0; i < TENSOR_OPERANDS; i++) {
            walk->stride[i][d] = walk->stride[i][d + 1];
        }
        walk->dims--;
    }
}

/* One run along the last dimension. */
static void
apply_run(enum function function, const struct operands *operands, const struct tensor_walk *walk,
          const int64_t strides[2], int64_t count, granary_dtype dtype, void *out)
{
    const granary_tensor *a = &operands->tensors[0];
    const granary_tensor *b = &operands->tensors[operands->count - 1];
    int second = operands->count - 1;

    if (dtype == GRANARY_INT64) {
        apply_ints(function, (const uint64_t *)a->values + walk->at[0], strides[0],
                   (const uint64_t *)b->values + walk->at[second], strides[second], out, count);
        return;
    }
    for (int64_t i = 0; i < count; i += BLOCK) {
        int64_t n = count - i < BLOCK ? count - i : BLOCK;
        double a_room[BLOCK], b_room[BLOCK];
        const double *x = tensor_doubles(a, walk->at[0] + i * strides[0], strides[0], n, a_room);
        const double *y =
            operands->count == 1 ? x : tensor_doubles(b, walk->at[1] + i * strides[1], strides[1], n, b_room);

        apply_doubles(function, x, y, (double *)out + i, n);
    }
}

granary_err
kernel_map(struct gr_kernel_call *call)
{
    const char *name = gr_attr_string(call->op->attrs, call->op->n_attrs, "function", "");
    enum function function = 0;
    struct operands operands;
    struct tensor_walk walk;
    granary_dtype dtype = GRANARY_INT64;
    int64_t strides[2] = {0, 0};
    int64_t run = 1;
    char *out;
    void *values;
    granary_err err = tensor_call_check(call, 1, 2);

    while (function < FUNCTIONS && strcmp(functions[function].name, name) != 0) {
        function++;
    }
    if (err == GRANARY_OK && function == FUNCTIONS) {
        err = gr_fail(GRANARY_EINVAL, "no function '%s'", name);
    }
    if (err == GRANARY_OK) {
        err = read_operands(call, function, &operands);
    }
    if (err == GRANARY_OK) {
        err = broadcast(&operands, &walk);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (int i = 0; i < operands.count; i++) {
        if (!functions[function].keeps_int64 || operands.tensors[i].dtype != GRANARY_INT64) {
            dtype = GRANARY_FLOAT64;
        }
    }
    err = tensor_output(call, dtype, walk.dims, walk.extent, &values);
    if (err != GRANARY_OK || gr_tensor_elements(&call->outputs[0].tensor.view) == 0) {
        return err;
    }
    collapse(&walk);
    if (walk.dims > 0) { /* the last dimension is a run, the others are walked through */
        walk.dims--;
        run = walk.extent[walk.dims];
        strides[0] = walk.stride[0][walk.dims];
        strides[1] = walk.stride[1][walk.dims];
    }
    out = values;
    do {
        apply_run(function, &operands, &walk, strides, run, dtype, out);
        out += run * 8;
    } while (tensor_walk_next(&walk));
    return GRANARY_OK;
}
