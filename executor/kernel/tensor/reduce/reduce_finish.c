/* The values of what a reduction has kept. */
#include "contract/int128.h"
#include "kernel/tensor/reduce/reduce.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/simd/tensor/tensor_map.h"

/* ---- results ---- */

/* Enough digits for n * squares - sum * sum to keep a float64's after they cancel. */
#if defined(__x86_64__)
__extension__ typedef __float128 wide_float;
#else
typedef long double wide_float;
#endif

/* The sum of squared distances from the mean. False: it is no number; so, too, without memory. */
static bool
float_spread(const struct reducing *r, int64_t i, double count, wide_float *ret_spread)
{
    wide_float squares = (wide_float)r->parts[2][i] + (wide_float)r->parts[3][i];
    wide_float sum;
    double high, low;

    exact_sum_pair(&r->exact[i], &high, &low);
    if (!isfinite(high) || !isfinite(r->parts[2][i])) {
        return false;
    }
    sum = (wide_float)high + (wide_float)low;
    *ret_spread = squares - sum * sum / (wide_float)count;
    return true;
}

#define SPREAD_SMALL 0x1p120 /* 128 bits hold it, whatever its parts are modulo 2^128 */

/*
 * The same of integers. Let m = sum / count cut to an integer, and r the rest of the sum. The distances from m have
 * the squares squares - m sum - m r, of which r r / count is too much. Where little is left, it is exact.
 */
static wide_float
integer_spread(const struct reducing *r, int64_t i, double count)
{
    gr_int128 sum = r->integers[i];
    gr_int128 mean = sum / (gr_int128)count;
    gr_int128 rest = sum - mean * (gr_int128)count;
    wide_float squares = (wide_float)r->squares[i].high * 0x1p128 + (wide_float)r->squares[i].low;
    wide_float spread = squares - (wide_float)sum * (wide_float)sum / (wide_float)count;
    gr_uint128 exact = r->squares[i].low - (gr_uint128)mean * ((gr_uint128)sum + (gr_uint128)rest);

    return spread < SPREAD_SMALL ? (wide_float)exact - (wide_float)rest * (wide_float)rest / (wide_float)count : spread;
}

/* NaN of no elements, or of what is not finite. */
static double
variance(const struct reducing *r, int64_t i, double count, double ddof)
{
    wide_float spread = 0;

    if (count == 0) {
        return NAN;
    }
    if (r->squares != NULL) {
        spread = integer_spread(r, i, count);
    } else if (!float_spread(r, i, count, &spread)) {
        return NAN;
    }
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
    gr_int128 sum = r->integers[i];

    if (mean) {
        *(double *)out = (double)sum / count;
        return GRANARY_OK;
    }
    if (dtype == GRANARY_UINT64 ? sum < 0 || sum > (gr_int128)UINT64_MAX : sum > INT64_MAX || sum < INT64_MIN) {
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
    memcpy(block, r->values + (size_t)i * reducing_width(r), reducing_width(r));
    if (r->lane == GR_LANE_D) {
        double *x = (double *)(void *)block;

        *x = *x != *x ? (double)NAN : *x + 0.0;
    } else if (r->lane == GR_LANE_F) {
        float *x = (float *)(void *)block;

        *x = *x != *x ? NAN : *x + 0.0F;
    }
}

granary_err
reducing_finish(struct reducing *r, enum gr_reduction reduction, int64_t count, double ddof, void *out)
{
    granary_dtype dtype = gr_reduction_dtype(reduction, (granary_dtype)r->header.dtype);
    bool mean = reduction == GR_REDUCE_mean || reduction == GR_REDUCE_nanmean;
    bool root = reduction == GR_REDUCE_std || reduction == GR_REDUCE_nanstd;
    bool spread = gr_reduction_how(reduction) == GR_REDUCE_BY_MOMENTS;
    size_t element = gr_tensor_element(dtype);
    granary_err err = reducing_settle(r);

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
        if (r->integers != NULL && !spread) {
            err = finish_integer(r, i, mean, of, dtype, to);
            continue;
        }
        if (spread) {
            number = variance(r, i, of, ddof);
            number = root ? sqrt(number) : number;
        } else if (r->exact != NULL) {
            number = mean ? exact_sum_value(&r->exact[i]) / of : exact_sum_value(&r->exact[i]);
        } else {
            number = product(r, i);
        }
        if (dtype == GRANARY_FLOAT32) {
            *(float *)(void *)to = (float)number;
        } else {
            *(double *)(void *)to = number;
        }
    }
    return err;
}
