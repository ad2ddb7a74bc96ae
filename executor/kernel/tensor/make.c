/* Tensors from nothing. Every element depends on its position in the whole alone, so chunks can be cut anywhere. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/tensor/call.h"

/* ---- random ---- */

/*
 * Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): 128 random bits for each
 * counter, here two doubles. The counter of elements 2 j and 2 j + 1 is j.
 */
static void
philox(uint64_t counter, uint64_t seed, uint64_t ret_bits[2])
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32), c2 = 0, c3 = 0;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)0xD2511F53u * c0;
        uint64_t product1 = (uint64_t)0xCD9E8D57u * c2;

        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)product1;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)product0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    ret_bits[0] = (uint64_t)c1 << 32 | c0;
    ret_bits[1] = (uint64_t)c3 << 32 | c2;
}

/* 53 of the bits, in [0, 1). */
static double
to_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

static void
uniform_pair(uint64_t counter, uint64_t seed, double ret_pair[2])
{
    uint64_t bits[2];

    philox(counter, seed, bits);
    ret_pair[0] = to_unit(bits[0]);
    ret_pair[1] = to_unit(bits[1]);
}

/* Box and Muller: two independent normal numbers from two uniform ones. */
static void
normal_pair(uint64_t counter, uint64_t seed, double ret_pair[2])
{
    double uniform[2];
    double radius, angle;

    uniform_pair(counter, seed, uniform);
    radius = sqrt(-2 * log(1 - uniform[0])); /* of (0, 1] */
    angle = 2 * M_PI * uniform[1];
    ret_pair[0] = radius * cos(angle);
    ret_pair[1] = radius * sin(angle);
}

/* Elements [position, position + count) of the whole. */
static void
fill_random(double *values, int64_t position, int64_t count, uint64_t seed,
            void (*make)(uint64_t counter, uint64_t seed, double ret_pair[2]))
{
    double pair[2];
    int64_t i = 0;

    if (count > 0 && position % 2 != 0) {
        make((uint64_t)position / 2, seed, pair);
        values[i++] = pair[1];
    }
    for (; i + 2 <= count; i += 2) {
        make((uint64_t)(position + i) / 2, seed, values + i);
    }
    if (i < count) {
        make((uint64_t)(position + i) / 2, seed, pair);
        values[i] = pair[0];
    }
}

granary_err
kernel_random(struct gr_kernel_call *call)
{
    const char *distribution = gr_attr_string(call->op->attrs, call->op->n_attrs, "distribution", "uniform");
    uint64_t seed = (uint64_t)gr_attr_int(call->op->attrs, call->op->n_attrs, "seed", 0);
    bool normal = strcmp(distribution, "normal") == 0;
    struct tensor_part part;
    void *values;
    granary_err err = tensor_call_check(call, 0, 0);

    if (err == GRANARY_OK && !normal && strcmp(distribution, "uniform") != 0) {
        err = gr_fail(GRANARY_EINVAL, "distribution '%s': 'uniform' or 'normal'", distribution);
    }
    if (err == GRANARY_OK) {
        err = tensor_part_read(call, &part);
    }
    if (err == GRANARY_OK) {
        err = tensor_output(call, GRANARY_FLOAT64, part.dims, part.size, &values);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (int64_t run = 0; run < tensor_part_runs(&part); run++) {
        fill_random((double *)values + run * tensor_part_run(&part), tensor_part_position(&part, run),
                    tensor_part_run(&part), seed, normal ? normal_pair : uniform_pair);
    }
    return GRANARY_OK;
}

/* ---- arange ---- */

granary_err
kernel_arange(struct gr_kernel_call *call)
{
    const Granary__Attr *start = gr_attr_find(call->op->attrs, call->op->n_attrs, "start");
    const Granary__Attr *step = gr_attr_find(call->op->attrs, call->op->n_attrs, "step");
    bool floats = (start != NULL && start->kind == GRANARY__ATTR__KIND__DOUBLE) ||
                  (step != NULL && step->kind == GRANARY__ATTR__KIND__DOUBLE);
    uint64_t from = (uint64_t)gr_attr_int(call->op->attrs, call->op->n_attrs, "start", 0);
    uint64_t by = (uint64_t)gr_attr_int(call->op->attrs, call->op->n_attrs, "step", 1);
    double from_double = gr_attr_double(call->op->attrs, call->op->n_attrs, "start", 0);
    double by_double = gr_attr_double(call->op->attrs, call->op->n_attrs, "step", 1);
    struct tensor_part part;
    void *values;
    granary_err err = tensor_call_check(call, 0, 0);

    if (err == GRANARY_OK) {
        err = tensor_part_read(call, &part);
    }
    if (err == GRANARY_OK) {
        err = tensor_output(call, floats ? GRANARY_FLOAT64 : GRANARY_INT64, part.dims, part.size, &values);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (int64_t run = 0; run < tensor_part_runs(&part); run++) {
        int64_t count = tensor_part_run(&part);
        int64_t position = tensor_part_position(&part, run);

        for (int64_t i = 0; i < count; i++) {
            if (floats) {
                ((double *)values)[run * count + i] = from_double + (double)(position + i) * by_double;
            } else { /* wraps, as the integers of NumPy do */
                ((uint64_t *)values)[run * count + i] = from + (uint64_t)(position + i) * by;
            }
        }
    }
    return GRANARY_OK;
}
