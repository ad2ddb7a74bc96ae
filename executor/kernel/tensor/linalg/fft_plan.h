/*
 * Discrete Fourier transforms of one line of complex numbers, of any length: a plan is made once a length.
 *
 * A length is cut into factors (Stockham's order of passes: nothing is permuted), as C. Temperton, "Self-sorting
 * mixed-radix fast Fourier transforms", 1983. A length with a large prime factor is a convolution whose length has small
 * ones (L. Bluestein, "A linear filtering approach to the computation of the discrete Fourier transform", 1970).
 */
#ifndef KERNEL_TENSOR_FFT_PLAN_H
#define KERNEL_TENSOR_FFT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/types.h"

struct fft_number {
    double re;
    double im;
};

struct fft_plan;

/* n: 1 to 2^28. *Gives* the plan. Errors: ENOMEM */
granary_err fft_plan_create(int64_t n, struct fft_plan **ret_plan);
void fft_plan_destroy(struct fft_plan *plan); /* NULL is fine */

/* line[k] becomes the sum of line[j] e^(-2 pi i j k / n); backward: of e^(2 pi i j k / n). A plan is used by one at a
 * time. */
void fft_plan_run(struct fft_plan *plan, struct fft_number *line, bool backward);

/* e^(2 pi i k / n), as near as doubles are; 0 <= k < n. */
struct fft_number fft_root(int64_t k, int64_t n);

#endif
