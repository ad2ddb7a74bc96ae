/* Tensors from nothing. Every element depends on its position in the whole alone, so chunks can be cut anywhere. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/simd/tensor/tensor_map.h"
#include "kernel/tensor/call.h"
#include "kernel/tensor/random.h"

/* ---- random ---- */

granary_err
kernel_random(struct gr_kernel_call *call, const struct gr_chunk_random *params)
{
    const struct gr_params given = {GR_TILE_random, call->op->attrs, call->op->n_attrs};
    struct random_make make;
    struct tensor_part part;
    void *values;
    granary_err err = tensor_call_check(call, 0, 0);

    if (err == GRANARY_OK) {
        err = random_make_init(&given, params->seed, &make);
    }
    if (err == GRANARY_OK) {
        err = tensor_part_read(&params->part, &part);
    }
    if (err == GRANARY_OK) {
        err = tensor_output(call, make.dtype, part.dims, part.size, &values);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (int64_t run = 0; run < tensor_part_runs(&part); run++) {
        random_fill(&make, (char *)values + (size_t)(run * tensor_part_run(&part)) * 8,
                    tensor_part_position(&part, run), tensor_part_run(&part));
    }
    return GRANARY_OK;
}

/* ---- arange ---- */

granary_err
kernel_arange(struct gr_kernel_call *call, const struct gr_chunk_arange *params)
{
    const Granary__Attr *start = params->start;
    const Granary__Attr *step = params->step;
    bool floats = start->kind == GRANARY__ATTR__KIND__DOUBLE || step->kind == GRANARY__ATTR__KIND__DOUBLE;
    uint64_t from = 0, by = 0;
    double from_double = gr_attr_number(start);
    double by_double = gr_attr_number(step);
    bool beyond;
    struct tensor_part part;
    void *values;
    granary_err err = tensor_call_check(call, 0, 0);

    if (err == GRANARY_OK) {
        err = tensor_part_read(&params->part, &part);
    }
    if (err == GRANARY_OK) {
        err = tensor_output(call, floats ? GRANARY_FLOAT64 : GRANARY_INT64, part.dims, part.size, &values);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    (void)gr_attr_whole(start, &from, &beyond);
    (void)gr_attr_whole(step, &by, &beyond);
    for (int64_t run = 0; run < tensor_part_runs(&part); run++) {
        int64_t count = tensor_part_run(&part);
        int64_t position = tensor_part_position(&part, run);

        for (int64_t i = 0; i < count; i++) {
            if (floats) {
                ((double *)values)[run * count + i] =
                    position + i == params->last ? params->end : from_double + (double)(position + i) * by_double;
            } else { /* wraps, as the integers of NumPy do */
                ((uint64_t *)values)[run * count + i] = from + (uint64_t)(position + i) * by;
            }
        }
    }
    return GRANARY_OK;
}

/* ---- one value, and shapes made of it ---- */

/* The value in a dtype; NULL is 0. */
static void
store_value(const Granary__Attr *value, granary_dtype dtype, char *to)
{
    double number = value == NULL ? 0 : gr_attr_number(value);
    uint64_t bits = 0;
    bool beyond;
    bool whole = value != NULL && gr_attr_whole(value, &bits, &beyond);
    _Alignas(16) double lane[2] = {number, 0};

    if (gr_dtype_is_complex(dtype)) {
        if (value != NULL && value->kind == GRANARY__ATTR__KIND__STRING) {
            (void)gr_complex_parse(value->strings[0], &lane[0], &lane[1]);
        }
        if (dtype == GRANARY_COMPLEX64) {
            const float parts[2] = {(float)lane[0], (float)lane[1]};

            memcpy(lane, parts, sizeof parts);
        }
        SIMD_CALL(tensor_lane_store)(dtype, to, lane, 1);
        return;
    }
    if (dtype == GRANARY_BOOL) {
        bits = number != 0;
    }
    if (dtype == GRANARY_BOOL || (gr_dtype_is_integer(dtype) && whole)) {
        memcpy(lane, &bits, sizeof bits);
    } else {
        SIMD_CALL(tensor_lane_convert)(GR_LANE_D, gr_lane_of(dtype), lane, &number, 1);
    }
    SIMD_CALL(tensor_lane_store)(dtype, to, lane, 1);
}

/* Elements [from, to) of a run are the value. */
static void
fill_run(char *run, int64_t from, int64_t to, const char *value, size_t element)
{
    for (int64_t i = from; i < to; i++) {
        memcpy(run + (size_t)i * element, value, element);
    }
}

/* Which elements of a run are set: those of a band along the last two dimensions, low <= column - row <= high. */
static void
band_of(const struct tensor_part *part, int64_t run, int64_t low, int64_t high, int64_t *ret_from, int64_t *ret_to)
{
    int last = part->dims - 1;
    int64_t row = part->dims < 2 ? 0 : part->offset[last - 1] + run % part->size[last - 1];
    int64_t count = tensor_part_run(part);
    int64_t begin = part->dims == 0 ? 0 : part->offset[last];
    gr_int128 from = (gr_int128)row + low - begin;
    gr_int128 to = (gr_int128)row + high + 1 - begin;

    *ret_from = from < 0 ? 0 : from > count ? count : (int64_t)from;
    *ret_to = to < 0 ? 0 : to > count ? count : (int64_t)to;
}

/* Bounds of a band, so near that they can be added to any position. */
static int64_t
bound_near(int64_t bound)
{
    const int64_t most = (int64_t)1 << 62;

    return bound < -most ? -most : bound > most ? most : bound;
}

granary_err
kernel_full(struct gr_kernel_call *call, const struct gr_chunk_full *params)
{
    granary_dtype dtype = gr_tensor_dtype_parse(params->dtype);
    struct tensor_part part;
    int64_t low = bound_near(params->low);
    int64_t high = bound_near(params->high);
    char value[16];
    void *values;
    granary_err err = tensor_call_check(call, 0, 0);

    if (err == GRANARY_OK && !gr_tensor_dtype_valid(dtype)) {
        err = gr_fail(GRANARY_ETYPE, "it makes tensors of bool, integers, floats and complex numbers");
    }
    if (err == GRANARY_OK && (err = tensor_part_read(&params->part, &part)) == GRANARY_OK) {
        err = tensor_output(call, dtype, part.dims, part.size, &values);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    store_value(params->value, dtype, value);
    for (int64_t run = 0; run < tensor_part_runs(&part); run++) {
        size_t element = gr_tensor_element(dtype);
        char *at = (char *)values + (size_t)(run * tensor_part_run(&part)) * element;
        int64_t from, to;

        band_of(&part, run, low, high, &from, &to);
        memset(at, 0, (size_t)tensor_part_run(&part) * element);
        fill_run(at, from, to, value, element);
    }
    return GRANARY_OK;
}

/* A block of a tensor whose elements outside the band become 0. */
granary_err
kernel_band(struct gr_kernel_call *call, const struct gr_chunk_band *params)
{
    const granary_tensor *tensor;
    struct tensor_part part;
    int64_t low = bound_near(params->low);
    int64_t high = bound_near(params->high);
    size_t element;
    void *values;
    granary_err err = tensor_call_check_any(call, 1, 1);

    if (err == GRANARY_OK) {
        err = tensor_part_read(&params->part, &part);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    tensor = &call->inputs[0].tensor.view;
    element = gr_tensor_element(tensor->dtype);
    if (tensor->dims != part.dims || memcmp(tensor->shape, part.size, (size_t)part.dims * sizeof part.size[0]) != 0) {
        return gr_fail(GRANARY_EINVAL, "the input is not of the size that is told");
    }
    err = tensor_output(call, tensor->dtype, part.dims, part.size, &values);
    for (int64_t run = 0; run < tensor_part_runs(&part) && err == GRANARY_OK; run++) {
        size_t at = (size_t)(run * tensor_part_run(&part)) * element;
        int64_t from, to;

        band_of(&part, run, low, high, &from, &to);
        memset((char *)values + at, 0, (size_t)tensor_part_run(&part) * element);
        if (to > from) {
            at += (size_t)from * element;
            memcpy((char *)values + at, (const char *)tensor->values + at, (size_t)(to - from) * element);
        }
    }
    return err;
}
