/* Counts and sums by number: a partial result of a chunk. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/simd/tensor/tensor_map.h"
#include "kernel/tensor/reduce/reduce.h"

/* Elements of a chunk, a block at a time: into which result each goes, and what. */
static granary_err
take_block(struct reducing *r, const int64_t *bins, bool is_unsigned, const double *weights, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (bins[i] < 0 || bins[i] >= r->elements) {
            return is_unsigned ? gr_fail(GRANARY_EFAILED, "an element is %llu; it can be 0 to %lld",
                                         (unsigned long long)bins[i], (long long)r->elements - 1)
                               : gr_fail(GRANARY_EFAILED, "an element is %lld; it can be 0 to %lld", (long long)bins[i],
                                         (long long)r->elements - 1);
        }
        if (weights != NULL) {
            exact_sum_add(&r->exact[bins[i]], weights[i]);
        } else {
            r->integers[bins[i]]++;
        }
    }
    return GRANARY_OK;
}

static granary_err
take_all(struct reducing *r, const granary_tensor *elements, const granary_tensor *weights)
{
    int64_t count = gr_tensor_elements(elements);
    size_t width = gr_tensor_element(elements->dtype);
    granary_err err = GRANARY_OK;

    for (int64_t from = 0; from < count && err == GRANARY_OK; from += PROGRAM_BLOCK) {
        int64_t n = count - from < PROGRAM_BLOCK ? count - from : PROGRAM_BLOCK;
        int64_t bins[PROGRAM_BLOCK];
        double loaded[PROGRAM_BLOCK], converted[PROGRAM_BLOCK];

        SIMD_CALL(tensor_lane_load)(elements->dtype, bins, (const char *)elements->values + (size_t)from * width, n);
        if (weights != NULL) {
            SIMD_CALL(tensor_lane_load)
            (weights->dtype, loaded, (const char *)weights->values + (size_t)from * gr_tensor_element(weights->dtype),
             n);
            SIMD_CALL(tensor_lane_convert)(gr_lane_of(weights->dtype), GR_LANE_D, converted, loaded, n);
        }
        err = take_block(r, bins, gr_lane_of(elements->dtype) == GR_LANE_U, weights != NULL ? converted : NULL, n);
    }
    return err;
}

granary_err
kernel_bin_map(struct gr_kernel_call *call, const struct gr_chunk_bin_map *params)
{
    const granary_tensor *elements = &call->inputs[0].tensor.view;
    const granary_tensor *weights = call->input_count > 1 ? &call->inputs[1].tensor.view : NULL;
    int64_t length = params->length;
    struct partial_header header = {.reduction = GR_REDUCE_sum, .dims = 1, .shape = {length}};
    struct reducing reducing = {0};
    granary_err err = tensor_call_check(call, 1, 2);

    if (err == GRANARY_OK && (gr_dtype_is_float(elements->dtype) ||
                              (weights != NULL && gr_tensor_elements(weights) != gr_tensor_elements(elements)))) {
        err = gr_fail(GRANARY_ETYPE, "it counts integers, with as many weights");
    }
    header.dtype = weights != NULL ? GRANARY_FLOAT64 : GRANARY_BOOL;
    if (err == GRANARY_OK) {
        err = reducing_init(&reducing, &header);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = take_all(&reducing, elements, weights);
    if (err == GRANARY_OK) {
        err = reducing_give(&reducing, call, 0);
    }
    reducing_fini(&reducing);
    return err;
}
