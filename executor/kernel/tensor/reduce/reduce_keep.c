/* What reductions keep: made empty, and freed. */
#include "kernel/tensor/reduce/reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char magic[8] = "GRRED02";

bool
reducing_is_largest(enum gr_reduction reduction)
{
    return reduction == GR_REDUCE_max || reduction == GR_REDUCE_any || reduction == GR_REDUCE_nanmax ||
           reduction == GR_REDUCE_argmax;
}

/* What leaves every other value as it is. */
static void
fill_identity(struct reducing *r)
{
    bool largest = reducing_is_largest(r->reduction);
    bool skips = gr_reduction_skips_nan(r->reduction);

    for (int64_t i = 0; i < r->elements; i++) {
        char *at = r->values + (size_t)i * reducing_width(r);

        if (r->how == GR_REDUCE_BY_PROD) {
            *(uint64_t *)(void *)at = 1;
        } else if (r->lane == GR_LANE_F) {
            *(float *)(void *)at = skips ? NAN : largest ? -INFINITY : INFINITY;
        } else if (r->lane == GR_LANE_D) {
            *(double *)(void *)at = skips ? (double)NAN : largest ? -INFINITY : INFINITY;
        } else if (r->lane == GR_LANE_U) {
            *(uint64_t *)(void *)at = largest ? 0 : UINT64_MAX;
        } else if (r->header.dtype == GRANARY_BOOL) {
            *(int64_t *)(void *)at = largest ? 0 : 1;
        } else {
            *(int64_t *)(void *)at = largest ? INT64_MIN : INT64_MAX;
        }
    }
}

static void *
zeroes(const struct reducing *r, size_t size, bool *failed)
{
    void *array = calloc((size_t)r->elements + 1, size);

    *failed = *failed || array == NULL;
    return array;
}

/* The arrays that its kind keeps, all zero; those of floats have parts. */
static void
make_arrays(struct reducing *r, bool floats, bool *failed)
{
    if (gr_reduction_skips_nan(r->reduction) && (r->how == GR_REDUCE_BY_SUM || r->how == GR_REDUCE_BY_MOMENTS)) {
        r->counts = zeroes(r, sizeof *r->counts, failed);
    }
    switch (r->how) {
    case GR_REDUCE_BY_MOMENTS:
    case GR_REDUCE_BY_SUM:
        if (floats) {
            r->exact = zeroes(r, sizeof *r->exact, failed);
            break;
        }
        r->integers = zeroes(r, sizeof *r->integers, failed);
        if (r->how == GR_REDUCE_BY_MOMENTS) {
            r->squares = zeroes(r, sizeof *r->squares, failed);
        }
        break;
    case GR_REDUCE_BY_PROD:
        if (floats) {
            r->exponents = zeroes(r, sizeof *r->exponents, failed);
        } else {
            r->values = zeroes(r, 8, failed);
        }
        break;
    case GR_REDUCE_BY_ARG:
        r->positions = zeroes(r, sizeof *r->positions, failed);
        r->values = zeroes(r, 8, failed);
        break;
    case GR_REDUCE_BY_FOLD:
        r->values = zeroes(r, 8, failed);
        break;
    }
    if (r->exact != NULL || r->exponents != NULL) {
        for (int k = 0; k < (r->how == GR_REDUCE_BY_MOMENTS ? 4 : 2); k++) {
            r->parts[k] = zeroes(r, sizeof *r->parts[k], failed);
        }
        r->rest = malloc(PROGRAM_BLOCK * sizeof *r->rest);
        *failed = *failed || r->rest == NULL;
    }
}

granary_err
reducing_init(struct reducing *r, const struct partial_header *header)
{
    bool failed = false;

    *r = (struct reducing){.header = *header, .elements = 1};
    memcpy(r->header.magic, magic, sizeof magic);
    if (header->reduction < 0 || header->reduction >= GR_REDUCE_COUNT || header->dims < 0 ||
        header->dims > TENSOR_DIMS_MAX || !gr_tensor_dtype_good((granary_dtype)header->dtype)) {
        return gr_fail(GRANARY_ECORRUPT, "a partial result is damaged");
    }
    for (int d = 0; d < header->dims; d++) {
        if (header->shape[d] < 0 || __builtin_mul_overflow(r->elements, header->shape[d], &r->elements) ||
            r->elements > INT64_MAX / 128) {
            return gr_fail(GRANARY_ECORRUPT, "a partial result is damaged");
        }
    }
    r->reduction = (enum gr_reduction)header->reduction;
    r->how = gr_reduction_how(r->reduction);
    r->lane = gr_lane_of((granary_dtype)header->dtype);
    make_arrays(r, gr_dtype_is_float((granary_dtype)header->dtype), &failed);
    if (failed) {
        reducing_fini(r);
        return reducing_no_memory();
    }
    if (r->values != NULL) {
        fill_identity(r);
    }
    for (int64_t i = 0; i < r->elements && r->positions != NULL; i++) {
        r->positions[i] = -1;
    }
    for (int64_t i = 0; i < r->elements && r->exponents != NULL; i++) {
        r->parts[0][i] = 1;
    }
    return GRANARY_OK;
}

void
reducing_fini(struct reducing *r)
{
    for (int64_t i = 0; i < r->elements && r->exact != NULL; i++) {
        exact_sum_fini(&r->exact[i]);
    }
    free(r->counts);
    free(r->exact);
    free(r->integers);
    free(r->squares);
    for (int k = 0; k < 4; k++) {
        free(r->parts[k]);
    }
    free(r->exponents);
    free(r->values);
    free(r->positions);
    free(r->rest);
    *r = (struct reducing){0};
}
