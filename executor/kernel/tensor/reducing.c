#include "kernel/tensor/reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/simd/tensor_sum.h"

static const char magic[8] = "GRRED01";

static granary_err
no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "no memory for a reduction");
}

/* ---- what is kept ---- */

static enum gr_map_function
fold_of(enum gr_reduction reduction)
{
    switch (reduction) {
    case GR_REDUCE_max:
    case GR_REDUCE_any:
        return GR_MAP_maximum;
    case GR_REDUCE_nanmax:
        return GR_MAP_fmax;
    case GR_REDUCE_nanmin:
        return GR_MAP_fmin;
    default:
        return GR_MAP_minimum;
    }
}

static bool
is_largest(enum gr_reduction reduction)
{
    return reduction == GR_REDUCE_max || reduction == GR_REDUCE_any || reduction == GR_REDUCE_nanmax ||
           reduction == GR_REDUCE_argmax;
}

static size_t
lane_width(enum gr_lane lane)
{
    return lane == GR_LANE_F ? 4 : 8;
}

/* What leaves every other value as it is. */
static void
fill_identity(struct reducing *r)
{
    bool largest = is_largest(r->reduction);
    bool skips = gr_reduction_skips_nan(r->reduction);

    for (int64_t i = 0; i < r->elements; i++) {
        char *at = r->values + (size_t)i * lane_width(r->lane);

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

granary_err
reducing_init(struct reducing *r, const struct partial_header *header)
{
    bool floats, failed = false;

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
    floats = gr_dtype_is_float((granary_dtype)header->dtype);
    if (gr_reduction_skips_nan(r->reduction) && (r->how == GR_REDUCE_BY_SUM || r->how == GR_REDUCE_BY_MOMENTS)) {
        r->counts = zeroes(r, sizeof *r->counts, &failed);
    }
    switch (r->how) {
    case GR_REDUCE_BY_SUM:
        if (floats) {
            r->exact = zeroes(r, sizeof *r->exact, &failed);
        } else {
            r->integers = zeroes(r, sizeof *r->integers, &failed);
        }
        break;
    case GR_REDUCE_BY_PROD:
        if (floats) {
            r->exponents = zeroes(r, sizeof *r->exponents, &failed);
        } else {
            r->values = zeroes(r, 8, &failed);
        }
        break;
    case GR_REDUCE_BY_ARG:
        r->positions = zeroes(r, sizeof *r->positions, &failed);
        r->values = zeroes(r, 8, &failed);
        break;
    case GR_REDUCE_BY_FOLD:
        r->values = zeroes(r, 8, &failed);
        break;
    default:
        break;
    }
    if (r->how == GR_REDUCE_BY_MOMENTS || (floats && (r->how == GR_REDUCE_BY_SUM || r->how == GR_REDUCE_BY_PROD))) {
        for (int k = 0; k < (r->how == GR_REDUCE_BY_MOMENTS ? 4 : 2); k++) {
            r->parts[k] = zeroes(r, sizeof *r->parts[k], &failed);
        }
        r->rest = malloc(PROGRAM_BLOCK * 4 * sizeof *r->rest);
        failed = failed || r->rest == NULL;
    }
    if (failed) {
        reducing_fini(r);
        return no_memory();
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
    for (int k = 0; k < 4; k++) {
        free(r->parts[k]);
    }
    free(r->exponents);
    free(r->values);
    free(r->positions);
    free(r->rest);
    *r = (struct reducing){0};
}

/* ---- sums ---- */

static void
take_doubles(struct reducing *r, int64_t at, int64_t step, const double *x, int64_t n)
{
    if (step == 0) {
        exact_sum_add_many(&r->exact[at], x, (size_t)n);
        return;
    }
    if (!SIMD_CALL(tensor_sum_lanes)(r->parts[0] + at, r->parts[1] + at, r->rest, x, n)) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!(fabs(x[i]) < TENSOR_SUM_MOST)) {
            exact_sum_add(&r->exact[at + i], x[i]);
        }
        if (r->rest[i] != 0) {
            exact_sum_add(&r->exact[at + i], r->rest[i]);
        }
    }
}

static void
take_integers(struct reducing *r, int64_t at, int64_t step, const void *values, int64_t n)
{
    if (step != 0) {
        for (int64_t i = 0; i < n; i++) {
            r->integers[at + i * step] +=
                r->lane == GR_LANE_U ? (__int128)((const uint64_t *)values)[i] : ((const int64_t *)values)[i];
        }
    } else if (r->lane == GR_LANE_U) {
        uint64_t high, low;

        SIMD_CALL(tensor_sum_uint64)(values, n, &high, &low);
        r->integers[at] += ((__int128)high << 32) + low;
    } else {
        int64_t high;
        uint64_t low;

        SIMD_CALL(tensor_sum_int64)(values, n, &high, &low);
        r->integers[at] += (__int128)high * ((int64_t)1 << 32) + low;
    }
}

/* ---- products ---- */

/* high + low times x, the exponent kept apart. */
static void
multiply_into(struct reducing *r, int64_t at, double x, double x_low, int64_t x_exponent)
{
    double a = r->parts[0][at];
    double product = a * x;
    double error;
    int shift;

    if (!isfinite(product) || product == 0) {
        r->parts[0][at] = product;
        r->parts[1][at] = 0;
        return;
    }
    error = fma(a, x, -product) + (r->parts[1][at] * x + a * x_low);
    a = product + error;
    error -= a - product;
    a = frexp(a, &shift);
    r->parts[0][at] = a;
    r->parts[1][at] = ldexp(error, -shift);
    r->exponents[at] += shift + x_exponent;
}

static void
take_factors(struct reducing *r, int64_t at, int64_t step, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int exponent = 0;
        double fraction = isfinite(x[i]) ? frexp(x[i], &exponent) : x[i];

        multiply_into(r, at + i * step, fraction, 0, exponent);
    }
}

/* ---- moments ---- */

static void
take_moments(struct reducing *r, int64_t at, int64_t step, const double *x, int64_t n)
{
    double *const *p = r->parts;

    if (step != 0) {
        SIMD_CALL(tensor_moment_lanes)(p[0] + at, p[1] + at, p[2] + at, p[3] + at, x, n);
        return;
    }
    /* Sixteen sums side by side, which are then put together. */
    {
        double lanes[4][16] = {{0}};

        for (int64_t i = 0; i < n; i += 16) {
            SIMD_CALL(tensor_moment_lanes)(lanes[0], lanes[1], lanes[2], lanes[3], x + i, n - i < 16 ? n - i : 16);
        }
        for (int i = 0; i < 16; i++) {
            for (int k = 0; k < 4; k += 2) {
                double total = p[k][at] + lanes[k][i];
                double part = total - p[k][at];

                p[k + 1][at] += ((p[k][at] - (total - part)) + (lanes[k][i] - part)) + lanes[k + 1][i];
                p[k][at] = total;
            }
        }
    }
}

/* ---- one value ---- */

static void
take_fold(struct reducing *r, int64_t at, int64_t step, const void *values, int64_t n)
{
    enum gr_map_function function = r->how == GR_REDUCE_BY_PROD ? GR_MAP_multiply : fold_of(r->reduction);
    size_t width = lane_width(r->lane);
    _Alignas(64) char out[PROGRAM_BLOCK * 8];
    _Alignas(64) char other[PROGRAM_BLOCK * 8];
    char *from = other;
    char *to = out;

    if (step != 0) {
        (void)SIMD_CALL(tensor_map_apply)(function, r->lane, out, r->values + (size_t)at * width, values, values, n);
        memcpy(r->values + (size_t)at * width, out, (size_t)n * width);
        return;
    }
    memcpy(from, values, (size_t)n * width);
    while (n > 1) { /* one half with the other */
        int64_t half = n / 2;
        char *last = from;

        (void)SIMD_CALL(tensor_map_apply)(function, r->lane, to, from, from + (size_t)(n - half) * width, from, half);
        memcpy(to + (size_t)half * width, from + (size_t)half * width, (size_t)(n - 2 * half) * width);
        n -= half;
        from = to;
        to = last;
    }
    (void)SIMD_CALL(tensor_map_apply)(function, r->lane, to, r->values + (size_t)at * width, from, from, 1);
    memcpy(r->values + (size_t)at * width, to, width);
}

#define TAKE_BEST(type, is_nan)                                                                                        \
    do {                                                                                                               \
        const type *x = values;                                                                                        \
        type *best = (type *)(void *)r->values;                                                                        \
                                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            int64_t e = at[0] + i * steps[0];                                                                          \
            int64_t position = at[1] + i * steps[1];                                                                   \
            int64_t old = r->positions[e];                                                                             \
            bool nan = is_nan(x[i]);                                                                                   \
            bool old_nan = old >= 0 && is_nan(best[e]);                                                                \
            bool better = old < 0 || (nan != old_nan ? nan : !nan && (largest ? x[i] > best[e] : x[i] < best[e]));     \
            bool same = nan ? old_nan : x[i] == best[e];                                                               \
                                                                                                                       \
            if (better || (same && position < old)) {                                                                  \
                best[e] = x[i];                                                                                        \
                r->positions[e] = position;                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)
#define NEVER_NAN(x) false
#define IS_NAN(x)    ((x) != (x))

static void
take_positions(struct reducing *r, const int64_t *at, const int64_t *steps, const void *values, int64_t n)
{
    bool largest = is_largest(r->reduction);

    switch (r->lane) {
    case GR_LANE_I:
        TAKE_BEST(int64_t, NEVER_NAN);
        break;
    case GR_LANE_U:
        TAKE_BEST(uint64_t, NEVER_NAN);
        break;
    case GR_LANE_F:
        TAKE_BEST(float, IS_NAN);
        break;
    default:
        TAKE_BEST(double, IS_NAN);
    }
}

/* ---- blocks ---- */

/* Replace NaN by what changes nothing, and count the others. */
static const double *
skip_nan(struct reducing *r, int64_t at, int64_t step, const double *x, int64_t n, double neutral, double *room)
{
    for (int64_t i = 0; i < n; i++) {
        bool nan = x[i] != x[i];

        room[i] = nan ? neutral : x[i];
        if (r->counts != NULL) {
            r->counts[at + i * step] += !nan;
        }
    }
    return room;
}

void
reducing_take(void *context, const int64_t *at, const int64_t *steps, const void *values, enum gr_lane lane, int64_t n)
{
    struct reducing *r = context;
    double converted[PROGRAM_BLOCK], cleaned[PROGRAM_BLOCK];
    bool doubles = r->how == GR_REDUCE_BY_MOMENTS || r->exact != NULL || r->exponents != NULL;
    const double *x = values;

    if (doubles && lane != GR_LANE_D) {
        SIMD_CALL(tensor_lane_convert)(lane, GR_LANE_D, converted, values, n);
        x = converted;
    }
    if (gr_reduction_skips_nan(r->reduction) && doubles) {
        x = skip_nan(r, at[0], steps[0], x, n, r->exponents != NULL ? 1 : 0, cleaned);
    } else if (r->counts != NULL) {
        for (int64_t i = 0; i < n; i++) {
            r->counts[at[0] + i * steps[0]]++;
        }
    }
    switch (r->how) {
    case GR_REDUCE_BY_SUM:
        if (r->exact != NULL) {
            take_doubles(r, at[0], steps[0], x, n);
        } else {
            take_integers(r, at[0], steps[0], values, n);
        }
        break;
    case GR_REDUCE_BY_PROD:
        if (r->exponents != NULL) {
            take_factors(r, at[0], steps[0], x, n);
            break;
        }
        take_fold(r, at[0], steps[0], values, n);
        break;
    case GR_REDUCE_BY_FOLD:
        take_fold(r, at[0], steps[0], values, n);
        break;
    case GR_REDUCE_BY_MOMENTS:
        take_moments(r, at[0], steps[0], x, n);
        break;
    default:
        take_positions(r, at, steps, values, n);
    }
}

/* ---- partial results ---- */

/* What lanes hold moves into the exact sums. */
static granary_err
settle(struct reducing *r)
{
    for (int64_t i = 0; i < r->elements && r->exact != NULL; i++) {
        exact_sum_add(&r->exact[i], r->parts[0][i]);
        exact_sum_add(&r->exact[i], r->parts[1][i]);
        r->parts[0][i] = r->parts[1][i] = 0;
        if (!exact_sum_ok(&r->exact[i])) {
            return no_memory();
        }
    }
    return GRANARY_OK;
}

granary_err
reducing_write(struct reducing *r, struct gr_buf *out)
{
    size_t n = (size_t)r->elements;
    granary_err err = settle(r);

    gr_buf_add(out, &r->header, sizeof r->header);
    if (r->counts != NULL) {
        gr_buf_add(out, r->counts, n * sizeof *r->counts);
    }
    for (size_t i = 0; i < n && r->exact != NULL; i++) {
        void *at = gr_buf_grow(out, exact_sum_size(&r->exact[i]));

        if (at != NULL) {
            (void)exact_sum_write(&r->exact[i], at);
        }
    }
    if (r->integers != NULL) {
        gr_buf_add(out, r->integers, n * sizeof *r->integers);
    }
    for (int k = 0; k < 4 && r->exact == NULL; k++) {
        if (r->parts[k] != NULL) {
            gr_buf_add(out, r->parts[k], n * sizeof *r->parts[k]);
        }
    }
    if (r->exponents != NULL) {
        gr_buf_add(out, r->exponents, n * sizeof *r->exponents);
    }
    if (r->values != NULL) {
        gr_buf_add(out, r->values, n * lane_width(r->lane));
    }
    if (r->positions != NULL) {
        gr_buf_add(out, r->positions, n * sizeof *r->positions);
    }
    return err != GRANARY_OK || gr_buf_ok(out) ? err : no_memory();
}

/* The next `size` bytes of each element, or NULL. */
static const char *
next_bytes(const struct reducing *r, const char **at, const char *end, size_t size)
{
    const char *bytes = *at;

    if ((size_t)(end - bytes) / size < (size_t)r->elements) {
        return NULL;
    }
    *at += (size_t)r->elements * size;
    return bytes;
}

static granary_err
damaged(void)
{
    return gr_fail(GRANARY_ECORRUPT, "a partial result is damaged");
}

static granary_err
merge_exact(struct reducing *r, const char *at, const char *end)
{
    for (int64_t i = 0; i < r->elements; i++) {
        struct exact_sum one;
        size_t size;
        granary_err err = exact_sum_read(at, (size_t)(end - at), &one, &size);

        if (err != GRANARY_OK) {
            return err;
        }
        at += size;
        exact_sum_merge(&r->exact[i], &one);
        exact_sum_fini(&one);
        if (!exact_sum_ok(&r->exact[i])) {
            return no_memory();
        }
    }
    return GRANARY_OK;
}

/* Pairs of doubles: MOMENTS. */
static granary_err
merge_moments(struct reducing *r, const char *at, const char *end)
{
    const char *theirs[4];

    for (int k = 0; k < 4; k++) {
        if ((theirs[k] = next_bytes(r, &at, end, sizeof(double))) == NULL) {
            return damaged();
        }
    }
    for (int64_t i = 0; i < r->elements; i++) {
        for (int k = 0; k < 4; k += 2) {
            double high, low, total, part;

            memcpy(&high, theirs[k] + (size_t)i * 8, 8);
            memcpy(&low, theirs[k + 1] + (size_t)i * 8, 8);
            total = r->parts[k][i] + high;
            part = total - r->parts[k][i];
            r->parts[k + 1][i] += ((r->parts[k][i] - (total - part)) + (high - part)) + low;
            r->parts[k][i] = total;
        }
    }
    return GRANARY_OK;
}

static granary_err
merge_factors(struct reducing *r, const char *at, const char *end)
{
    const char *high = next_bytes(r, &at, end, 8);
    const char *low = high == NULL ? NULL : next_bytes(r, &at, end, 8);
    const char *exponents = low == NULL ? NULL : next_bytes(r, &at, end, 8);

    if (exponents == NULL) {
        return damaged();
    }
    for (int64_t i = 0; i < r->elements; i++) {
        double x, x_low;
        int64_t exponent;

        memcpy(&x, high + (size_t)i * 8, 8);
        memcpy(&x_low, low + (size_t)i * 8, 8);
        memcpy(&exponent, exponents + (size_t)i * 8, 8);
        multiply_into(r, i, x, x_low, exponent);
    }
    return GRANARY_OK;
}

/* Values go through the same code as blocks of a chunk do. */
static granary_err
merge_values(struct reducing *r, const char *at, const char *end)
{
    size_t width = lane_width(r->lane);
    const char *values = next_bytes(r, &at, end, width);
    const char *positions = values == NULL || r->positions == NULL ? NULL : next_bytes(r, &at, end, 8);

    if (values == NULL || (r->positions != NULL && positions == NULL)) {
        return damaged();
    }
    for (int64_t i = 0; i < r->elements; i += PROGRAM_BLOCK) {
        int64_t n = r->elements - i < PROGRAM_BLOCK ? r->elements - i : PROGRAM_BLOCK;
        _Alignas(64) char block[PROGRAM_BLOCK * 8];

        memcpy(block, values + (size_t)i * width, (size_t)n * width);
        if (positions == NULL) {
            take_fold(r, i, 1, block, n);
        }
        for (int64_t k = 0; k < n && positions != NULL; k++) {
            const int64_t steps[2] = {0, 0};
            int64_t where[2] = {i + k, 0};

            memcpy(&where[1], positions + (size_t)(i + k) * 8, 8);
            if (where[1] >= 0) {
                take_positions(r, where, steps, block + (size_t)k * width, 1);
            }
        }
    }
    return GRANARY_OK;
}

granary_err
reducing_merge(struct reducing *r, const void *bytes, uint64_t size)
{
    const char *at = (const char *)bytes + sizeof r->header;
    const char *end = (const char *)bytes + size;

    if (size < sizeof r->header || memcmp(bytes, &r->header, sizeof r->header) != 0) {
        return gr_fail(GRANARY_ETYPE, "an input is no partial result of this block");
    }
    if (r->counts != NULL) {
        const char *counts = next_bytes(r, &at, end, sizeof *r->counts);

        if (counts == NULL) {
            return damaged();
        }
        for (int64_t i = 0; i < r->elements; i++) {
            int64_t count;

            memcpy(&count, counts + (size_t)i * 8, 8);
            r->counts[i] += count;
        }
    }
    if (r->exact != NULL) {
        return merge_exact(r, at, end);
    }
    if (r->integers != NULL) {
        const char *theirs = next_bytes(r, &at, end, sizeof *r->integers);

        for (int64_t i = 0; i < r->elements && theirs != NULL; i++) {
            __int128 value;

            memcpy(&value, theirs + (size_t)i * 16, 16);
            r->integers[i] = (__int128)((unsigned __int128)r->integers[i] + (unsigned __int128)value);
        }
        return theirs == NULL ? damaged() : GRANARY_OK;
    }
    if (r->exponents != NULL) {
        return merge_factors(r, at, end);
    }
    return r->how == GR_REDUCE_BY_MOMENTS ? merge_moments(r, at, end) : merge_values(r, at, end);
}

/* ---- results ---- */

/* Enough digits for n * squares - sum * sum to keep a float64's after they cancel. */
#if defined(__x86_64__)
__extension__ typedef __float128 wide_float;
#else
typedef long double wide_float;
#endif

static double
variance(const struct reducing *r, int64_t i, double count, double ddof)
{
    wide_float sum = (wide_float)r->parts[0][i] + (wide_float)r->parts[1][i];
    wide_float squares = (wide_float)r->parts[2][i] + (wide_float)r->parts[3][i];
    wide_float spread;

    if (count == 0 || !isfinite(r->parts[0][i]) || !isfinite(r->parts[2][i])) {
        return NAN;
    }
    spread = squares - sum * sum / (wide_float)count;
    spread = spread < 0 ? 0 : spread;
    return count - ddof > 0 ? (double)(spread / (wide_float)(count - ddof)) : (double)spread / 0.0;
}

static double
product(const struct reducing *r, int64_t i)
{
    int64_t exponent = r->exponents[i];

    if (!isfinite(r->parts[0][i])) {
        return r->parts[0][i];
    }
    exponent = exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : exponent;
    return ldexp(r->parts[0][i], (int)exponent);
}

static granary_err
finish_integer(const struct reducing *r, int64_t i, bool mean, double count, granary_dtype dtype, void *out)
{
    __int128 sum = r->integers[i];

    if (mean) {
        *(double *)out = (double)sum / count;
        return GRANARY_OK;
    }
    if (dtype == GRANARY_UINT64 ? sum < 0 || sum > (__int128)UINT64_MAX : sum > INT64_MAX || sum < INT64_MIN) {
        return gr_fail(GRANARY_EFAILED, "the sum does not fit %s; multiply by 1.0 first to sum float64",
                       granary_dtype_name(dtype));
    }
    *(uint64_t *)out = (uint64_t)sum;
    return GRANARY_OK;
}

/* Zero and NaN have one sign, whichever of them came first. */
static void
finish_value(const struct reducing *r, int64_t i, char *block)
{
    memcpy(block, r->values + (size_t)i * lane_width(r->lane), lane_width(r->lane));
    if (r->lane == GR_LANE_D) {
        double *x = (double *)(void *)block;

        *x = *x != *x ? (double)NAN : *x + 0.0;
    } else if (r->lane == GR_LANE_F) {
        float *x = (float *)(void *)block;

        *x = *x != *x ? NAN : *x + 0.0F;
    }
}

granary_err
reducing_finish(struct reducing *r, int64_t count, double ddof, void *out)
{
    granary_dtype dtype = gr_reduction_dtype(r->reduction, (granary_dtype)r->header.dtype);
    bool mean = r->reduction == GR_REDUCE_mean || r->reduction == GR_REDUCE_nanmean;
    bool root = r->reduction == GR_REDUCE_std || r->reduction == GR_REDUCE_nanstd;
    size_t element = gr_tensor_element(dtype);
    granary_err err = settle(r);

    for (int64_t i = 0; i < r->elements && err == GRANARY_OK; i++) {
        char *to = (char *)out + (size_t)i * element;
        double of = (double)(r->counts != NULL ? r->counts[i] : count);
        double number = 0;

        if (r->positions != NULL) {
            memcpy(to, &r->positions[i], sizeof r->positions[i]);
            continue;
        }
        if (r->values != NULL) {
            _Alignas(8) char value[8];

            finish_value(r, i, value);
            SIMD_CALL(tensor_lane_store)(dtype, to, value, 1);
            continue;
        }
        if (r->integers != NULL) {
            err = finish_integer(r, i, mean, of, dtype, to);
            continue;
        }
        if (r->exact != NULL) {
            number = mean ? exact_sum_value(&r->exact[i]) / of : exact_sum_value(&r->exact[i]);
        } else if (r->exponents != NULL) {
            number = product(r, i);
        } else {
            number = variance(r, i, of, ddof);
            number = root ? sqrt(number) : number;
        }
        if (dtype == GRANARY_FLOAT32) {
            *(float *)(void *)to = (float)number;
        } else {
            *(double *)(void *)to = number;
        }
    }
    return err;
}
