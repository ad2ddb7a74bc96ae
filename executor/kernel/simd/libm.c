/*
 * Functions of the C library, and those that NumPy defines by them, an element at a time. A function that libm.def
 * does not name is never called; one it names that is not here does not link.
 */
#include "kernel/simd/libm.h"

#include <math.h>

/* NumPy's float floor_divide and mod: the rest has the sign of b, and a = q b + r as well as rounding lets it. */
static double
rest_of(double a, double b, double *ret_quotient)
{
    double r = fmod(a, b);
    double q;

    if (b == 0) {
        *ret_quotient = a / b;
        return r;
    }
    q = (a - r) / b;
    if (r != 0) {
        if ((b < 0) != (r < 0)) {
            r += b;
            q -= 1;
        }
    } else {
        r = copysign(0, b);
    }
    if (q != 0) {
        *ret_quotient = floor(q);
        *ret_quotient += q - *ret_quotient > 0.5 ? 1 : 0;
    } else {
        *ret_quotient = copysign(0, a / b);
    }
    return r;
}

static double
floor_quotient(double a, double b)
{
    double q;

    (void)rest_of(a, b, &q);
    return q;
}

static double
floor_rest(double a, double b)
{
    double q;

    return rest_of(a, b, &q);
}

static double
log_add(double a, double b)
{
    double difference = a - b;

    if (a == b) {
        return a + M_LN2;
    }
    return difference > 0 ? a + log1p(exp(-difference)) : difference <= 0 ? b + log1p(exp(difference)) : difference;
}

static double
log_add2(double a, double b)
{
    double difference = a - b;

    if (a == b) {
        return a + 1;
    }
    return difference > 0    ? a + log1p(exp2(-difference)) / M_LN2
           : difference <= 0 ? b + log1p(exp2(difference)) / M_LN2
                             : difference;
}

/* The function of float32 and of float64. */
#define BOTH(function, floats, doubles)                                                                                \
    void tensor_libm_##function##_floats(float *out, const float *a, const float *b, int64_t n)                        \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            out[i] = (floats);                                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    void tensor_libm_##function##_doubles(double *out, const double *a, const double *b, int64_t n)                    \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            out[i] = (doubles);                                                                                        \
        }                                                                                                              \
    }
#define UNARY(function, name)  BOTH(function, name##f(a[i]), name(a[i]))
#define BINARY(function, name) BOTH(function, name##f(a[i], b[i]), name(a[i], b[i]))
/* In float64, rounded once. */
#define WIDE(function, call) BOTH(function, (float)call, call)

UNARY(cbrt, cbrt)
UNARY(exp, exp)
UNARY(exp2, exp2)
UNARY(expm1, expm1)
UNARY(log, log)
UNARY(log2, log2)
UNARY(log10, log10)
UNARY(log1p, log1p)
UNARY(sin, sin)
UNARY(cos, cos)
UNARY(tan, tan)
UNARY(arcsin, asin)
UNARY(arccos, acos)
UNARY(arctan, atan)
UNARY(sinh, sinh)
UNARY(cosh, cosh)
UNARY(tanh, tanh)
UNARY(arcsinh, asinh)
UNARY(arccosh, acosh)
UNARY(arctanh, atanh)
BOTH(spacing, nextafterf(a[i], a[i] < 0 ? -INFINITY : INFINITY) - a[i],
     nextafter(a[i], a[i] < 0 ? -INFINITY : INFINITY) - a[i])
UNARY(erf, erf)
UNARY(erfc, erfc)
WIDE(gamma, tgamma((double)a[i]))
UNARY(gammaln, lgamma)
WIDE(floor_divide, floor_quotient((double)a[i], (double)b[i]))
WIDE(mod, floor_rest((double)a[i], (double)b[i]))
BINARY(fmod, fmod)
BINARY(power, pow)
BINARY(float_power, pow)
BINARY(arctan2, atan2)
BINARY(hypot, hypot)
WIDE(logaddexp, log_add((double)a[i], (double)b[i]))
WIDE(logaddexp2, log_add2((double)a[i], (double)b[i]))
BINARY(nextafter, nextafter)
