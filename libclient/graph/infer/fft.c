/* Types of Fourier transforms. */
#include "base/error.h"
#include "graph/infer/private.h"
#include "graph/operator.h"
#include "graph/tensor/types.h"

enum { LINE_MOST = 1 << 28 };

static granary_err
infer_fft(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_node_type *input = inputs[0];
    const struct gr_params_fft *params = GR_NODE_PARAMS(fft, node->node); /* all of them have these */
    granary_dtype part = gr_dtype_part(input->dtype);
    bool single = part == GRANARY_FLOAT32;
    bool back = node->op == GR_TILE_irfft;
    int64_t axis = params->axis, n, count;
    granary_err err = GRANARY_OK;

    if (axis < -input->dims || axis >= input->dims) {
        return gr_fail(GRANARY_EINVAL, "parameter 'axis': there is no axis %lld in a tensor of %d dimension%s",
                       (long long)axis, input->dims, input->dims == 1 ? "" : "s");
    }
    axis = axis < 0 ? axis + input->dims : axis;
    n = params->n != NULL ? *params->n : back ? 2 * (input->shape[axis] - 1) : input->shape[axis];
    if (n < 1 || n > LINE_MOST) {
        return gr_fail(GRANARY_EINVAL, "a line of %lld elements cannot be transformed; 1 to %d are possible%s",
                       (long long)n, LINE_MOST, params->n == NULL ? ": give 'n'" : "");
    }
    *type = *input;
    type->dtype =
        back ? (single ? GRANARY_FLOAT32 : GRANARY_FLOAT64) : (single ? GRANARY_COMPLEX64 : GRANARY_COMPLEX128);
    type->shape[axis] = node->op == GR_TILE_rfft ? n / 2 + 1 : n;
    err = infer_count(type->dims, type->shape, &count);
    return err;
}

#define FFT(name) const struct gr_operator gr_op_##name = {.infer = infer_fft};
FFT(fft)
FFT(ifft)
FFT(rfft)
FFT(irfft)
#undef FFT
