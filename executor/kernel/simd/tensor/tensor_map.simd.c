/*
 * A loop for every function of contract/ops/tensor_functions.def and each lane its rule has. The table of loops is made
 * from the rules: a function without a loop for such a lane does not compile.
 */
#include "kernel/simd/tensor/tensor_map.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "contract/dtypes.h"
#include "kernel/simd/libm.h"

#define X x[i]
#define Y y[i]

/* The kernel of a function in a lane: function_LANE(). */
#define LOOP(lane_type, out_type, function, lane, ...)                                                                 \
    static void function##_##lane(void *out, const void *a, const void *b, const void *c, int64_t n)                   \
    {                                                                                                                  \
        const lane_type *restrict x = a;                                                                               \
        const lane_type *restrict y = b;                                                                               \
        out_type *restrict o = out;                                                                                    \
                                                                                                                       \
        (void)x;                                                                                                       \
        (void)y;                                                                                                       \
        (void)c;                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            o[i] = (out_type)(__VA_ARGS__);                                                                            \
        }                                                                                                              \
    }
#define OF_I(function, ...)    LOOP(int64_t, int64_t, function, I, __VA_ARGS__)
#define OF_U(function, ...)    LOOP(uint64_t, uint64_t, function, U, __VA_ARGS__)
#define OF_F(function, ...)    LOOP(float, float, function, F, __VA_ARGS__)
#define OF_D(function, ...)    LOOP(double, double, function, D, __VA_ARGS__)
#define OF_INTS(function, ...) OF_I(function, __VA_ARGS__) OF_U(function, __VA_ARGS__)
#define OF_FD(function, ...)   OF_F(function, __VA_ARGS__) OF_D(function, __VA_ARGS__)
#define TESTS_INTS(function, ...)                                                                                      \
    LOOP(int64_t, int64_t, function, I, __VA_ARGS__) LOOP(uint64_t, int64_t, function, U, __VA_ARGS__)
#define TESTS_FD(function, ...)                                                                                        \
    LOOP(float, int64_t, function, F, __VA_ARGS__) LOOP(double, int64_t, function, D, __VA_ARGS__)
#define TESTS(function, ...) TESTS_INTS(function, __VA_ARGS__) TESTS_FD(function, __VA_ARGS__)
/* Wraps, as NumPy's integers do: computed unsigned. */
#define WRAPS(function, op)                                                                                            \
    OF_I(function, (uint64_t)X op(uint64_t) Y)                                                                         \
    OF_U(function, X op Y)

/* ---- integers, one by one ---- */

static int64_t
divide_down(int64_t a, int64_t b)
{
    int64_t q;

    if (b == 0 || b == -1) {
        return b == 0 ? 0 : (int64_t)(0 - (uint64_t)a);
    }
    q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static int64_t
rest_down(int64_t a, int64_t b)
{
    int64_t r = b == 0 || b == -1 ? 0 : a % b;

    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static uint64_t
power_of(uint64_t a, uint64_t b)
{
    uint64_t result = 1;

    for (; b != 0; b >>= 1) {
        result *= (b & 1) != 0 ? a : 1;
        a *= a;
    }
    return result;
}

static int64_t
signed_power(int64_t a, int64_t b)
{
    if (b >= 0) {
        return (int64_t)power_of((uint64_t)a, (uint64_t)b);
    }
    return a == 1 ? 1 : a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0;
}

static uint64_t
gcd_of(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t r = a % b;

        a = b;
        b = r;
    }
    return a;
}

static uint64_t
size_of(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

static uint64_t
lcm_of(uint64_t a, uint64_t b)
{
    uint64_t g = gcd_of(a, b);

    return g == 0 ? 0 : a / g * b;
}

/* ---- a function, a lane ---- */

OF_INTS(negative, 0 - (uint64_t)X)
OF_FD(negative, -X)
OF_INTS(positive, X)
OF_FD(positive, X)
OF_I(absolute, X < 0 ? 0 - (uint64_t)X : (uint64_t)X)
OF_U(absolute, X)
OF_F(absolute, fabsf(X))
OF_D(absolute, fabs(X))
OF_I(sign, (X > 0) - (X < 0))
OF_U(sign, X != 0)
OF_FD(sign, X > 0 ? 1 : X < 0 ? -1 : X == 0 ? 0 : X)
OF_INTS(square, (uint64_t)X *(uint64_t)X)
OF_FD(square, X *X)
OF_I(reciprocal, X == 1 ? 1 : X == -1 ? -1 : 0)
OF_U(reciprocal, X == 1)
OF_FD(reciprocal, 1 / X)
OF_INTS(conj, X)
OF_FD(conj, X)
OF_INTS(real, X)
OF_FD(real, X)
OF_INTS(imag, (X & 0))
OF_FD(imag, 0)
OF_F(angle, X != X ? X : signbit(X) ? (float)M_PI : 0)
OF_D(angle, X != X ? X : signbit(X) ? M_PI : 0)
OF_F(sqrt, sqrtf(X))
OF_D(sqrt, sqrt(X))
OF_F(deg2rad, X *(float)(M_PI / 180.0))
OF_D(deg2rad, X *(M_PI / 180.0))
OF_F(rad2deg, X *(float)(180.0 / M_PI))
OF_D(rad2deg, X *(180.0 / M_PI))
OF_INTS(floor, X)
OF_F(floor, floorf(X))
OF_D(floor, floor(X))
OF_INTS(ceil, X)
OF_F(ceil, ceilf(X))
OF_D(ceil, ceil(X))
OF_INTS(trunc, X)
OF_F(trunc, truncf(X))
OF_D(trunc, trunc(X))
OF_F(rint, rintf(X))
OF_D(rint, rint(X))
TESTS_INTS(isnan, (X & 0))
TESTS_FD(isnan, X != X)
TESTS_INTS(isfinite, (X & 0) + 1)
TESTS_FD(isfinite, X - X == 0)
TESTS_INTS(isinf, (X & 0))
TESTS_FD(isinf, X == INFINITY || X == -INFINITY)
TESTS_INTS(isposinf, (X & 0))
TESTS_FD(isposinf, X == INFINITY)
TESTS_INTS(isneginf, (X & 0))
TESTS_FD(isneginf, X == -INFINITY)
LOOP(int64_t, int64_t, signbit, I, X < 0)
LOOP(uint64_t, int64_t, signbit, U, (X & 0))
LOOP(uint32_t, int64_t, signbit, F, X >> 31)
LOOP(uint64_t, int64_t, signbit, D, X >> 63)
TESTS(logical_not, X == 0)
OF_INTS(invert, ~X)
WRAPS(add, +)
OF_FD(add, X + Y)
WRAPS(subtract, -)
OF_FD(subtract, X - Y)
WRAPS(multiply, *)
OF_FD(multiply, X *Y)
OF_FD(divide, X / Y)
OF_I(floor_divide, divide_down(X, Y))
OF_U(floor_divide, Y == 0 ? 0 : X / Y)
OF_I(mod, rest_down(X, Y))
OF_U(mod, Y == 0 ? 0 : X % Y)
OF_I(fmod, Y == 0 || Y == -1 ? 0 : X % Y)
OF_U(fmod, Y == 0 ? 0 : X % Y)
OF_I(power, signed_power(X, Y))
OF_U(power, power_of(X, Y))
OF_F(copysign, copysignf(X, Y))
OF_D(copysign, copysign(X, Y))
OF_FD(heaviside, X != X ? X : X == 0 ? Y : X < 0 ? 0 : 1)
OF_INTS(maximum, X > Y ? X : Y)
OF_FD(maximum, X > Y || X != X ? X : Y)
OF_INTS(minimum, X < Y ? X : Y)
OF_FD(minimum, X < Y || X != X ? X : Y)
OF_INTS(fmax, X > Y ? X : Y)
OF_FD(fmax, X > Y || Y != Y ? X : Y)
OF_INTS(fmin, X < Y ? X : Y)
OF_FD(fmin, X < Y || Y != Y ? X : Y)
TESTS(equal, X == Y)
TESTS(not_equal, X != Y)
TESTS(less, X < Y)
TESTS(less_equal, X <= Y)
TESTS(greater, X > Y)
TESTS(greater_equal, X >= Y)
TESTS(logical_and, (X != 0) & (Y != 0))
TESTS(logical_or, (X != 0) | (Y != 0))
TESTS(logical_xor, (X != 0) ^ (Y != 0))
OF_INTS(bitwise_and, X &Y)
OF_INTS(bitwise_or, X | Y)
OF_INTS(bitwise_xor, X ^ Y)
OF_INTS(left_shift, (uint64_t)Y < 64 ? (uint64_t)X << ((uint64_t)Y & 63) : 0)
OF_I(right_shift, X >> ((uint64_t)Y < 64 ? (uint64_t)Y : 63))
OF_U(right_shift, Y < 64 ? X >> (Y & 63) : 0)
OF_I(gcd, gcd_of(size_of(X), size_of(Y)))
OF_U(gcd, gcd_of(X, Y))
OF_I(lcm, lcm_of(size_of(X), size_of(Y)))
OF_U(lcm, lcm_of(X, Y))

#define WHERE(lane, type)                                                                                              \
    static void where_##lane(void *out, const void *a, const void *b, const void *c, int64_t n)                        \
    {                                                                                                                  \
        const int64_t *restrict test = a;                                                                              \
        const type *restrict x = b;                                                                                    \
        const type *restrict y = c;                                                                                    \
        type *restrict o = out;                                                                                        \
                                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            o[i] = test[i] != 0 ? x[i] : y[i];                                                                         \
        }                                                                                                              \
    }
WHERE(I, int64_t)
WHERE(U, uint64_t)
WHERE(F, float)
WHERE(D, double)

#define MAKE_COMPLEX(lane, type)                                                                                       \
    static void make_complex_##lane(void *out, const void *a, const void *b, const void *c, int64_t n)                 \
    {                                                                                                                  \
        const type *restrict x = a;                                                                                    \
        const type *restrict y = b;                                                                                    \
        type *restrict o = out;                                                                                        \
                                                                                                                       \
        (void)c;                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            o[2 * i] = x[i];                                                                                           \
            o[2 * i + 1] = y[i];                                                                                       \
        }                                                                                                              \
    }
MAKE_COMPLEX(F, float)
MAKE_COMPLEX(D, double)

/* Those of the C library are a call a block. */
#define TENSOR_LIBM(function)                                                                                          \
    static void function##_F(void *out, const void *a, const void *b, const void *c, int64_t n)                        \
    {                                                                                                                  \
        (void)c;                                                                                                       \
        tensor_libm_##function##_floats(out, a, b, n);                                                                 \
    }                                                                                                                  \
    static void function##_D(void *out, const void *a, const void *b, const void *c, int64_t n)                        \
    {                                                                                                                  \
        (void)c;                                                                                                       \
        tensor_libm_##function##_doubles(out, a, b, n);                                                                \
    }
#include "kernel/simd/libm.def"
#undef TENSOR_LIBM

/* ---- all ---- */

/* The lanes in which a function computes follow from its rule. One without a kernel there does not compile. */
#define ALL_LANES(name)        [GR_MAP_##name] = {name##_I, name##_U, name##_F, name##_D}
#define FLOAT_LANES(name)      [GR_MAP_##name] = {[GR_LANE_F] = name##_F, [GR_LANE_D] = name##_D}
#define INTEGER_LANES(name)    [GR_MAP_##name] = {[GR_LANE_I] = name##_I, [GR_LANE_U] = name##_U}
#define LANES_SAME(name)       ALL_LANES(name)
#define LANES_NUMBER(name)     ALL_LANES(name)
#define LANES_ARITHMETIC(name) ALL_LANES(name)
#define LANES_PREDICATE(name)  ALL_LANES(name)
#define LANES_COMPARE(name)    ALL_LANES(name)
#define LANES_FLOATING(name)   FLOAT_LANES(name)
#define LANES_DIVIDE(name)     FLOAT_LANES(name)
#define LANES_FLOAT64(name)    FLOAT_LANES(name)
#define LANES_BITS(name)       INTEGER_LANES(name)
#define LANES_SHIFT(name)      INTEGER_LANES(name)
#define LANES_INTEGER(name)    INTEGER_LANES(name)
#define LANES_COMPLEX(name)    FLOAT_LANES(name)

typedef void map_kernel(void *out, const void *a, const void *b, const void *c, int64_t n);

static map_kernel *const kernels[GR_MAP_COUNT][4] = {
#define TENSOR_UNARY(name, rule, summary)  LANES_##rule(name),
#define TENSOR_BINARY(name, rule, summary) LANES_##rule(name),
#include "contract/ops/tensor_functions.def"
#undef TENSOR_UNARY
#undef TENSOR_BINARY
    ALL_LANES(where),
};

void
SIMD(tensor_map_apply)(enum gr_map_function function, enum gr_lane lane, void *out, const void *a, const void *b,
                       const void *c, int64_t n)
{
    kernels[function][lane](out, a, b, c, n);
}

/* ---- lanes ---- */

static int64_t
to_int(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static uint64_t
to_unsigned(double x)
{
    return x >= 0x1p63 && x < 0x1p64 ? (uint64_t)x : (uint64_t)to_int(x);
}

#define CONVERT(from_lane, to_lane, from_type, to_type, ...)                                                           \
    case GR_LANE_##from_lane * 4 + GR_LANE_##to_lane: {                                                                \
        const from_type *restrict x = a;                                                                               \
        to_type *restrict o = out;                                                                                     \
                                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            o[i] = (to_type)(__VA_ARGS__);                                                                             \
        }                                                                                                              \
        return;                                                                                                        \
    }

void
SIMD(tensor_lane_convert)(enum gr_lane from, enum gr_lane to, void *out, const void *a, int64_t n)
{
    switch ((int)from * 4 + (int)to) {
        CONVERT(I, U, int64_t, uint64_t, X)
        CONVERT(I, F, int64_t, float, X)
        CONVERT(I, D, int64_t, double, X)
        CONVERT(U, I, uint64_t, int64_t, X)
        CONVERT(U, F, uint64_t, float, X)
        CONVERT(U, D, uint64_t, double, X)
        CONVERT(F, I, float, int64_t, to_int((double)X))
        CONVERT(F, U, float, uint64_t, to_unsigned((double)X))
        CONVERT(F, D, float, double, X)
        CONVERT(D, I, double, int64_t, to_int(X))
        CONVERT(D, U, double, uint64_t, to_unsigned(X))
        CONVERT(D, F, double, float, X)
    default: /* F and F: 4 bytes */
        memmove(out, a, (size_t)n * (from == GR_LANE_F ? 4 : 8));
    }
}

/* The lane of an integer dtype, by its class. */
#define LANE_OF_SIGNED   int64_t
#define LANE_OF_UNSIGNED uint64_t

#define EACH(name, declared, ...)                                                                                      \
    case GRANARY_##name: {                                                                                             \
        declared;                                                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
        return;                                                                                                        \
    }

void
SIMD(tensor_lane_wrap)(granary_dtype dtype, void *values, int64_t n)
{
#define WRAP(name, type, bytes, class, ...) EACH(name, LANE_OF_##class *x = values, x[i] = (type)x[i])
    switch (dtype) {
        EACH(BOOL, int64_t *x = values, x[i] = x[i] != 0)
        GR_INTEGER_DTYPES(WRAP)
    default:
        return;
    }
}

/* Floats are their own lane. */
#define MOVE(to, from, name, bytes)                                                                                    \
    case GRANARY_##name:                                                                                               \
        memcpy(to, from, (size_t)n *(bytes));                                                                          \
        return;

void
SIMD(tensor_lane_load)(granary_dtype dtype, void *out, const void *stored, int64_t n)
{
#define LOAD(name, type, bytes, class, ...) EACH(name, LANE_OF_##class *o = out; const type *x = stored, o[i] = x[i])
#define LOAD_REAL(name, type, bytes, ...)   MOVE(out, stored, name, bytes)
    switch (dtype) {
        EACH(BOOL, int64_t *o = out; const uint8_t *x = stored, o[i] = x[i] != 0)
        GR_INTEGER_DTYPES(LOAD)
        GR_REAL_DTYPES(LOAD_REAL)
        GR_COMPLEX_DTYPES(LOAD_REAL)
    default:
        return;
    }
}

void
SIMD(tensor_lane_store)(granary_dtype dtype, void *stored, const void *values, int64_t n)
{
#define STORE(name, type, bytes, class, ...)                                                                           \
    EACH(name, type *o = stored; const LANE_OF_##class *x = values, o[i] = (type)x[i])
#define STORE_REAL(name, type, bytes, ...) MOVE(stored, values, name, bytes)
    switch (dtype) {
        STORE(BOOL, uint8_t, 1, SIGNED)
        GR_INTEGER_DTYPES(STORE)
        GR_REAL_DTYPES(STORE_REAL)
        GR_COMPLEX_DTYPES(STORE_REAL)
    default:
        return;
    }
}

/* The target's first bytes up to a whole line are copied as usual. */
void
SIMD(tensor_stream)(void *to, const void *from, int64_t bytes)
{
    char *o = to;
    const char *x = from;
    int64_t i = -(int64_t)((uintptr_t)o & 63) & 63;

    i = i < bytes ? i : bytes;
    memcpy(o, x, (size_t)i);
#if defined(__AVX512F__)
    for (; i + 64 <= bytes; i += 64) {
        _mm512_stream_si512((void *)(o + i), _mm512_loadu_si512((const void *)(x + i)));
    }
#elif defined(__AVX2__)
    for (; i + 32 <= bytes; i += 32) {
        _mm256_stream_si256((void *)(o + i), _mm256_loadu_si256((const void *)(x + i)));
    }
#elif defined(__x86_64__)
    for (; i + 16 <= bytes; i += 16) {
        _mm_stream_si128((void *)(o + i), _mm_loadu_si128((const void *)(x + i)));
    }
#endif
    memcpy(o + i, x + i, (size_t)(bytes - i));
#if defined(__x86_64__)
    _mm_sfence();
#endif
}
