#include "kernel/tensor/libm.h"

#include <math.h>
#include <string.h>

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

#define FUNCTIONS(type, suffix)                                                                                        \
    CASE(cbrt, cbrt##suffix(a[i]))                                                                                     \
    CASE(exp, exp##suffix(a[i]))                                                                                       \
    CASE(exp2, exp2##suffix(a[i]))                                                                                     \
    CASE(expm1, expm1##suffix(a[i]))                                                                                   \
    CASE(log, log##suffix(a[i]))                                                                                       \
    CASE(log2, log2##suffix(a[i]))                                                                                     \
    CASE(log10, log10##suffix(a[i]))                                                                                   \
    CASE(log1p, log1p##suffix(a[i]))                                                                                   \
    CASE(sin, sin##suffix(a[i]))                                                                                       \
    CASE(cos, cos##suffix(a[i]))                                                                                       \
    CASE(tan, tan##suffix(a[i]))                                                                                       \
    CASE(arcsin, asin##suffix(a[i]))                                                                                   \
    CASE(arccos, acos##suffix(a[i]))                                                                                   \
    CASE(arctan, atan##suffix(a[i]))                                                                                   \
    CASE(sinh, sinh##suffix(a[i]))                                                                                     \
    CASE(cosh, cosh##suffix(a[i]))                                                                                     \
    CASE(tanh, tanh##suffix(a[i]))                                                                                     \
    CASE(arcsinh, asinh##suffix(a[i]))                                                                                 \
    CASE(arccosh, acosh##suffix(a[i]))                                                                                 \
    CASE(arctanh, atanh##suffix(a[i]))                                                                                 \
    CASE(spacing, nextafter##suffix(a[i], copysign##suffix((type)INFINITY, a[i])) - a[i])                              \
    CASE(erf, erf##suffix(a[i]))                                                                                       \
    CASE(erfc, erfc##suffix(a[i]))                                                                                     \
    CASE(gamma, (type)tgamma((double)a[i]))                                                                            \
    CASE(gammaln, lgamma##suffix(a[i]))                                                                                \
    CASE(floor_divide, (type)floor_quotient((double)a[i], (double)b[i]))                                               \
    CASE(mod, (type)floor_rest((double)a[i], (double)b[i]))                                                            \
    CASE(fmod, fmod##suffix(a[i], b[i]))                                                                               \
    CASE(power, pow##suffix(a[i], b[i]))                                                                               \
    CASE(float_power, pow##suffix(a[i], b[i]))                                                                         \
    CASE(arctan2, atan2##suffix(a[i], b[i]))                                                                           \
    CASE(hypot, hypot##suffix(a[i], b[i]))                                                                             \
    CASE(logaddexp, (type)log_add((double)a[i], (double)b[i]))                                                         \
    CASE(logaddexp2, (type)log_add2((double)a[i], (double)b[i]))                                                       \
    CASE(nextafter, nextafter##suffix(a[i], b[i]))

#define CASE(function, expression)                                                                                     \
    case GR_MAP_##function:                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            out[i] = (expression);                                                                                     \
        }                                                                                                              \
        return;

void
tensor_libm_floats(enum gr_map_function function, float *out, const float *a, const float *b, int64_t n)
{
    switch (function) {
        FUNCTIONS(float, f)
    default:
        memset(out, 0, (size_t)n * sizeof *out);
    }
}

void
tensor_libm_doubles(enum gr_map_function function, double *out, const double *a, const double *b, int64_t n)
{
    switch (function) {
        FUNCTIONS(double, )
    default:
        memset(out, 0, (size_t)n * sizeof *out);
    }
}
