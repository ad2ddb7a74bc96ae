/* Inside rows: functions of floats that the C library lacks, by the names of graph/expr/ops.def. */
#ifndef KERNEL_ROWS_REALS_H
#define KERNEL_ROWS_REALS_H

#include <math.h>

static inline double
degrees(double x)
{
    return x * (180.0 / M_PI);
}

static inline double
radians(double x)
{
    return x * (M_PI / 180.0);
}

static inline double
cotangent(double x)
{
    return 1.0 / tan(x);
}

/* The even number that is next, away from 0. */
static inline double
next_even(double x)
{
    double size = ceil(fabs(x));

    return copysign(fmod(size, 2.0) == 1.0 ? size + 1.0 : size, x);
}

static inline double
logarithm(double base, double x)
{
    return log(x) / log(base);
}

static inline double
floor_quotient(double a, double b)
{
    return floor(a / b);
}

/* What is left of a, with the sign of b. */
static inline double
floor_rest(double a, double b)
{
    return a - floor(a / b) * b;
}

#endif
