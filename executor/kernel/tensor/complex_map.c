/*
 * A loop for every function of contract/ops/tensor_complex.def: it is written once and made for both sizes of numbers. A
 * function without a loop does not compile. Where NumPy has a formula of its own it is NumPy's.
 */
#include "kernel/tensor/complex_map.h"

#include <complex.h>
#include <math.h>

#undef I /* of complex.h: lanes have such names */

#define X x[i]
#define Y y[i]

#define LOOP(name, suffix, type, out_type, ...)                                                                        \
    static void name##_##suffix(void *out, const void *a, const void *b, const void *c, int64_t n)                     \
    {                                                                                                                  \
        const type *x = a;                                                                                             \
        const type *y = b;                                                                                             \
        out_type *o = out;                                                                                             \
                                                                                                                       \
        (void)c;                                                                                                       \
        (void)y;                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            o[i] = (out_type)(__VA_ARGS__);                                                                            \
        }                                                                                                              \
    }

/* ---- numbers of either size ---- */

#define NUMBERS(suffix, real_type, f)                                                                                  \
    typedef real_type part_##suffix;                                                                                   \
    typedef real_type _Complex number_##suffix;                                                                        \
                                                                                                                       \
    static inline number_##suffix make_##suffix(part_##suffix re, part_##suffix im)                                    \
    {                                                                                                                  \
        number_##suffix z;                                                                                             \
                                                                                                                       \
        __real__ z = re;                                                                                               \
        __imag__ z = im;                                                                                               \
        return z;                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    /* As written: infinities make NaN, as NumPy has them. */                                                          \
    static inline number_##suffix times_##suffix(number_##suffix a, number_##suffix b)                                 \
    {                                                                                                                  \
        return make_##suffix(__real__ a * __real__ b - __imag__ a * __imag__ b,                                        \
                             __real__ a * __imag__ b + __imag__ a * __real__ b);                                       \
    }                                                                                                                  \
                                                                                                                       \
    /* R. L. Smith, Algorithm 116: Complex division, 1962: nothing on the way overflows that need not. */              \
    static inline number_##suffix over_##suffix(number_##suffix a, number_##suffix b)                                  \
    {                                                                                                                  \
        part_##suffix re = __real__ b, im = __imag__ b;                                                                \
        part_##suffix large = fabs##f(re), small = fabs##f(im), ratio, scale;                                          \
                                                                                                                       \
        if (large >= small) {                                                                                          \
            if (large == 0 && small == 0) {                                                                            \
                return make_##suffix(__real__ a / large, __imag__ a / large);                                          \
            }                                                                                                          \
            ratio = im / re;                                                                                           \
            scale = 1 / (re + im * ratio);                                                                             \
            return make_##suffix((__real__ a + __imag__ a * ratio) * scale,                                            \
                                 (__imag__ a - __real__ a * ratio) * scale);                                           \
        }                                                                                                              \
        ratio = re / im;                                                                                               \
        scale = 1 / (im + re * ratio);                                                                                 \
        return make_##suffix((__real__ a * ratio + __imag__ a) * scale, (__imag__ a * ratio - __real__ a) * scale);    \
    }                                                                                                                  \
                                                                                                                       \
    /* Whole powers of a small number by multiplication, as NumPy. */                                                  \
    static number_##suffix raised_##suffix(number_##suffix a, number_##suffix b)                                       \
    {                                                                                                                  \
        part_##suffix re = __real__ b, im = __imag__ b;                                                                \
        number_##suffix result = make_##suffix(1, 0);                                                                  \
        int n = fabs##f(re) < 100 ? (int)re : 0;                                                                       \
                                                                                                                       \
        if (re == 0 && im == 0) {                                                                                      \
            return result;                                                                                             \
        }                                                                                                              \
        if (__real__ a == 0 && __imag__ a == 0) {                                                                      \
            return re > 0 && im == 0 ? make_##suffix(0, 0) : make_##suffix((part_##suffix)NAN, (part_##suffix)NAN);    \
        }                                                                                                              \
        if (im != 0 || n == 0 || (part_##suffix)n != re) {                                                             \
            return cpow##f(a, b);                                                                                      \
        }                                                                                                              \
        for (unsigned left = n < 0 ? 0u - (unsigned)n : (unsigned)n; left != 0; left >>= 1) {                          \
            result = (left & 1) != 0 ? times_##suffix(result, a) : result;                                             \
            a = left > 1 ? times_##suffix(a, a) : a;                                                                   \
        }                                                                                                              \
        return n < 0 ? over_##suffix(make_##suffix(1, 0), result) : result;                                            \
    }                                                                                                                  \
                                                                                                                       \
    static number_##suffix less_one_##suffix(number_##suffix z) /* e^z - 1 */                                          \
    {                                                                                                                  \
        part_##suffix half = sin##f(__imag__ z / 2);                                                                   \
                                                                                                                       \
        return make_##suffix(expm1##f(__real__ z) * cos##f(__imag__ z) - 2 * half * half,                              \
                             exp##f(__real__ z) * sin##f(__imag__ z));                                                 \
    }                                                                                                                  \
                                                                                                                       \
    static number_##suffix log_more_##suffix(number_##suffix z) /* log(1 + z) */                                       \
    {                                                                                                                  \
        part_##suffix re = __real__ z, im = __imag__ z;                                                                \
        bool near = fabs##f(re) < (part_##suffix)0.5 && fabs##f(im) < (part_##suffix)0.5;                              \
                                                                                                                       \
        return make_##suffix(near ? log1p##f(re * (2 + re) + im * im) / 2 : log##f(hypot##f(1 + re, im)),              \
                             atan2##f(im, 1 + re));                                                                    \
    }                                                                                                                  \
                                                                                                                       \
    static number_##suffix unit_##suffix(number_##suffix z) /* z / |z| */                                              \
    {                                                                                                                  \
        part_##suffix size = hypot##f(__real__ z, __imag__ z);                                                         \
                                                                                                                       \
        return size == 0 ? make_##suffix(0, 0) : make_##suffix(__real__ z / size, __imag__ z / size);                  \
    }

NUMBERS(C, float, f)
NUMBERS(Z, double, )

/* ---- loops ---- */

#define SAME(name, c, z)    LOOP(name, C, number_C, number_C, c) LOOP(name, Z, number_Z, number_Z, z)
#define REAL(name, c, z)    LOOP(name, C, number_C, part_C, c) LOOP(name, Z, number_Z, part_Z, z)
#define TRUTH(name, ...)    LOOP(name, C, number_C, int64_t, __VA_ARGS__) LOOP(name, Z, number_Z, int64_t, __VA_ARGS__)
#define LIBM(name, of_libm) SAME(name, of_libm##f(X), of_libm(X))

#define IS_TRUE(z) (__real__(z) != 0 || __imag__(z) != 0)

SAME(negative, -X, -X)
SAME(positive, X, X)
REAL(absolute, hypotf(__real__ X, __imag__ X), hypot(__real__ X, __imag__ X))
SAME(sign, unit_C(X), unit_Z(X))
SAME(square, times_C(X, X), times_Z(X, X))
SAME(reciprocal, over_C(make_C(1, 0), X), over_Z(make_Z(1, 0), X))
SAME(conj, make_C(__real__ X, -__imag__ X), make_Z(__real__ X, -__imag__ X))
REAL(real, __real__ X, __real__ X)
REAL(imag, __imag__ X, __imag__ X)
REAL(angle, atan2f(__imag__ X, __real__ X), atan2(__imag__ X, __real__ X))
LIBM(sqrt, csqrt)
LIBM(exp, cexp)
SAME(exp2, cexpf(times_C(X, make_C((float)M_LN2, 0))), cexp(times_Z(X, make_Z(M_LN2, 0))))
SAME(expm1, less_one_C(X), less_one_Z(X))
LIBM(log, clog)
SAME(log2, clogf(X) * (float)M_LOG2E, clog(X) * M_LOG2E)
SAME(log10, clogf(X) * (float)M_LOG10E, clog(X) * M_LOG10E)
SAME(log1p, log_more_C(X), log_more_Z(X))
LIBM(sin, csin)
LIBM(cos, ccos)
LIBM(tan, ctan)
LIBM(arcsin, casin)
LIBM(arccos, cacos)
LIBM(arctan, catan)
LIBM(sinh, csinh)
LIBM(cosh, ccosh)
LIBM(tanh, ctanh)
LIBM(arcsinh, casinh)
LIBM(arccosh, cacosh)
LIBM(arctanh, catanh)
SAME(rint, make_C(rintf(__real__ X), rintf(__imag__ X)), make_Z(rint(__real__ X), rint(__imag__ X)))
TRUTH(isnan, isnan(__real__ X) || isnan(__imag__ X))
TRUTH(isfinite, isfinite(__real__ X) && isfinite(__imag__ X))
TRUTH(isinf, isinf(__real__ X) || isinf(__imag__ X))
TRUTH(logical_not, !IS_TRUE(X))
SAME(add, X + Y, X + Y)
SAME(subtract, X - Y, X - Y)
SAME(multiply, times_C(X, Y), times_Z(X, Y))
SAME(divide, over_C(X, Y), over_Z(X, Y))
SAME(power, raised_C(X, Y), raised_Z(X, Y))
TRUTH(equal, __real__ X == __real__ Y && __imag__ X == __imag__ Y)
TRUTH(not_equal, __real__ X != __real__ Y || __imag__ X != __imag__ Y)
TRUTH(logical_and, IS_TRUE(X) && IS_TRUE(Y))
TRUTH(logical_or, IS_TRUE(X) || IS_TRUE(Y))
TRUTH(logical_xor, IS_TRUE(X) != IS_TRUE(Y))

#define WHERE(suffix)                                                                                                  \
    static void where_##suffix(void *out, const void *a, const void *b, const void *c, int64_t n)                      \
    {                                                                                                                  \
        const int64_t *test = a;                                                                                       \
        const number_##suffix *x = b;                                                                                  \
        const number_##suffix *y = c;                                                                                  \
        number_##suffix *o = out;                                                                                      \
                                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            o[i] = test[i] != 0 ? x[i] : y[i];                                                                         \
        }                                                                                                              \
    }
WHERE(C)
WHERE(Z)

typedef void map_kernel(void *out, const void *a, const void *b, const void *c, int64_t n);

static map_kernel *const kernels[GR_MAP_COUNT][2] = {
#define TENSOR_COMPLEX_FUNCTION(name, gives) [GR_MAP_##name] = {name##_C, name##_Z},
#include "contract/ops/tensor_complex.def"
    [GR_MAP_where] = {where_C, where_Z}};

void
complex_map_apply(enum gr_map_function function, enum gr_lane lane, void *out, const void *a, const void *b,
                  const void *c, int64_t n)
{
    kernels[function][lane == GR_LANE_Z](out, a, b, c, n);
}

/* ---- lanes ---- */

#define CONVERT(from_lane, to_lane, from_type, to_type, ...)                                                           \
    case GR_LANE_##from_lane * 8 + GR_LANE_##to_lane: {                                                                \
        const from_type *x = a;                                                                                        \
        to_type *o = out;                                                                                              \
                                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            o[i] = (__VA_ARGS__);                                                                                      \
        }                                                                                                              \
        return;                                                                                                        \
    }
#define TO_COMPLEX(from_lane, from_type)                                                                               \
    CONVERT(from_lane, C, from_type, number_C, make_C((float)X, 0))                                                    \
    CONVERT(from_lane, Z, from_type, number_Z, make_Z((double)X, 0))

void
complex_lane_convert(enum gr_lane from, enum gr_lane to, void *out, const void *a, int64_t n)
{
    switch ((int)from * 8 + (int)to) {
        TO_COMPLEX(I, int64_t)
        TO_COMPLEX(U, uint64_t)
        TO_COMPLEX(F, float)
        TO_COMPLEX(D, double)
        CONVERT(C, Z, number_C, number_Z, make_Z((double)__real__ X, (double)__imag__ X))
        CONVERT(Z, C, number_Z, number_C, make_C((float)__real__ X, (float)__imag__ X))
        CONVERT(C, C, number_C, number_C, X)
        CONVERT(Z, Z, number_Z, number_Z, X)
        CONVERT(C, I, number_C, int64_t, IS_TRUE(X))
        CONVERT(Z, I, number_Z, int64_t, IS_TRUE(X))
    default:
        return;
    }
}
