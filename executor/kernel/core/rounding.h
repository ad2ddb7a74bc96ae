/* Whole units of what lies between two of them: the nearest, of halves the even one. */
#ifndef KERNEL_CORE_ROUNDING_H
#define KERNEL_CORE_ROUNDING_H

#include "contract/int128.h"

static inline gr_int128
divide_to_even(gr_int128 dividend, gr_int128 divisor)
{
    gr_int128 quotient = dividend / divisor;
    gr_int128 rest = dividend % divisor;
    gr_uint128 left = rest < 0 ? -(gr_uint128)rest : (gr_uint128)rest;
    gr_uint128 size = divisor < 0 ? -(gr_uint128)divisor : (gr_uint128)divisor;

    if (left > size - left || (left == size - left && quotient % 2 != 0)) {
        quotient += (dividend < 0) == (divisor < 0) ? 1 : -1;
    }
    return quotient;
}

#endif
