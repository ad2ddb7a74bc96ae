/*
 * What a reduction keeps of the elements seen so far, for each element of the result: taken from blocks of a chunk,
 * merged with what was kept of other chunks, and finished. None of it depends on how the tensor was cut: sums are
 * exact, products and variances are kept with twice a float64's digits (NOTE of var).
 */
#ifndef KERNEL_TENSOR_REDUCE_H
#define KERNEL_TENSOR_REDUCE_H

#include "kernel/exact_sum.h"
#include "kernel/tensor/program.h"

struct partial_header {
    char magic[8];
    int32_t reduction; /* enum gr_reduction */
    int32_t dtype;     /* of what is reduced */
    int32_t dims;      /* of the result, without the reduced ones */
    int32_t unused;
    int64_t shape[TENSOR_DIMS_MAX];
};

/* By element of the result; arrays that the reduction has no use for are NULL. */
struct reducing {
    struct partial_header header;
    enum gr_reduction reduction;
    enum gr_reduce_how how;
    enum gr_lane lane; /* of what is reduced */
    int64_t elements;
    int64_t *counts;         /* elements that are not NaN, where those are skipped */
    struct exact_sum *exact; /* SUM of floats */
    __int128 *integers;      /* SUM of integers */
    double *parts[4];        /* SUM of floats: what exact has not yet, high and low; MOMENTS: two sums of two;
                                PROD of floats: high, low */
    int64_t *exponents;      /* PROD of floats */
    char *values;            /* FOLD, ARG, PROD of integers: 8 bytes each */
    int64_t *positions;      /* ARG; -1: none yet */
    double *rest;            /* a block's */
    bool failed;             /* out of memory */
};

/* For an empty set of elements. Errors: ENOMEM */
granary_err reducing_init(struct reducing *r, const struct partial_header *header);
void reducing_fini(struct reducing *r);

/* Take a block: at[0], steps[0] tell the result's element, at[1], steps[1] the position along the reduced axes. */
program_consume reducing_take;

/* Take what is kept in a partial result. Errors: ETYPE it is none of this reduction · ECORRUPT · ENOMEM */
granary_err reducing_merge(struct reducing *r, const void *bytes, uint64_t size);
/* As bytes for merging. Errors: ENOMEM */
granary_err reducing_write(struct reducing *r, struct gr_buf *out);

/*
 * The results, stored.
 *
 * count   elements reduced into one
 * ddof    of var and std
 * Errors  EFAILED a sum of integers does not fit · ENOMEM
 */
granary_err reducing_finish(struct reducing *r, int64_t count, double ddof, void *out);

#endif
