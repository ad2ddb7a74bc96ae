/*
 * The facts that a reduction keeps of the elements seen so far, for each element of the result. They are taken from
 * blocks of a chunk, merged with those of other chunks, and finished. None of it depends on how the tensor was cut.
 * Sums are exact, squares of integers too. Products and squares of floats are kept with twice a float64's digits
 * (NOTE of var).
 */
#ifndef KERNEL_TENSOR_REDUCE_H
#define KERNEL_TENSOR_REDUCE_H

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/core/exact_sum.h"
#include "kernel/tensor/program.h"

struct partial_header {
    char magic[8];
    int32_t reduction; /* enum gr_reduction */
    int32_t dtype;     /* of what is reduced */
    int32_t dims;      /* of the result, without the reduced ones */
    int32_t unused;
    int64_t shape[TENSOR_DIMS_MAX];
};

/* A sum of squares of integers: low + 2^128 high. */
struct square_sum {
    gr_uint128 low;
    gr_uint128 high;
};

/* By element of the result; arrays that the reduction has no use for are NULL. */
struct reducing {
    struct partial_header header;
    enum gr_reduction reduction;
    enum gr_reduce_how how;
    enum gr_lane lane; /* of what is reduced */
    int64_t elements;
    int64_t *counts;            /* elements that are not NaN, where those are skipped */
    struct exact_sum *exact;    /* SUM and MOMENTS of floats */
    gr_int128 *integers;        /* SUM and MOMENTS of integers */
    struct square_sum *squares; /* MOMENTS of integers */
    double *parts[4];           /* SUM, MOMENTS of floats: what exact has not yet, high and low; MOMENTS: of squares the
                                sum, high and low; PROD of floats: high, low */
    int64_t *exponents;         /* PROD of floats */
    char *values;               /* FOLD, ARG, PROD of integers: 8 bytes each */
    int64_t *positions;         /* ARG; -1: none yet */
    double *rest;               /* a block's */
};

/* For an empty set of elements. Errors: ENOMEM */
granary_err reducing_init(struct reducing *r, const struct partial_header *header);
void reducing_fini(struct reducing *r);

/* Bytes of one of `values`. */
static inline size_t
reducing_width(const struct reducing *r)
{
    return r->lane == GR_LANE_F ? 4 : 8;
}
/* Whether larger values win. */
bool reducing_is_largest(enum gr_reduction reduction);

static inline granary_err
reducing_no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "no memory for a reduction");
}

/* Take a block: at[0], steps[0] tell the result's element, at[1], steps[1] the position along the reduced axes. */
program_consume reducing_take;
/* Take n values of the lane into the elements from `at` on, one each. FOLD, and PROD of integers. */
void reducing_take_fold(struct reducing *r, int64_t at, int64_t step, const void *values, int64_t n);
/* ... with their positions. ARG */
void
reducing_take_positions(struct reducing *r, const int64_t *at, const int64_t *steps, const void *values, int64_t n);
/* high + low times x, the exponent kept apart. PROD of floats */
void reducing_multiply(struct reducing *r, int64_t at, double x, double x_low, int64_t x_exponent);

/* Value c of each row goes into element at + c, of a reduction for which reducing_takes_rows(). */
void reducing_take_rows(struct reducing *r, int64_t at, const struct program_rows *rows);
bool reducing_takes_rows(const struct reducing *r);

/* What lanes hold moves into the exact sums. Errors: ENOMEM */
granary_err reducing_settle(struct reducing *r);

/* Take what is kept in a partial result. Errors: ETYPE it is none of this reduction · ECORRUPT · ENOMEM */
granary_err reducing_merge(struct reducing *r, const void *bytes, uint64_t size);
/* ... as an output of the call. */
granary_err reducing_give(struct reducing *r, struct gr_kernel_call *call, size_t output);

/*
 * The results, stored.
 *
 * reduction  what is asked: that of the partial results, or another that follows from what they keep
 * count   elements reduced into one
 * ddof    of var and std
 * Errors  EFAILED a sum of integers does not fit · ENOMEM
 */
granary_err reducing_finish(struct reducing *r, enum gr_reduction reduction, int64_t count, double ddof, void *out);

#endif
