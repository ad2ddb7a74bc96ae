/*
 * Sums and means of floats over any frames, exactly: where all values of a partition are multiples of one power of two,
 * and not too many of it, they are integers of 128 bits in its units. Then the sum of a frame is the difference of two
 * sums from the partition's beginning. Values that lie further apart, and infinite ones, are left to framed_sums.c, whose
 * results are the same.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/core/scratch.h"
#include "kernel/window/frames.h"

enum { MANTISSA_BITS = 53, BITS_MOST = 126 };

struct fixed {
    bool exactly; /* left to framed_sums, whose state this is */
    void *sums;
    int unit; /* the power of two */
    gr_int128 *totals;
    int64_t *counts;
};

/* A value as an integer times a power of two; *ret_low: the power, of an odd integer. x is not 0. */
static int64_t
integer_of(double x, int *ret_low)
{
    int exponent;
    int64_t integer = (int64_t)ldexp(frexp(x, &exponent), MANTISSA_BITS);
    int zeros = __builtin_ctzll((uint64_t)integer);

    *ret_low = exponent - MANTISSA_BITS + zeros;
    return integer / (INT64_C(1) << zeros);
}

/* Whether the sums of all rows fit, and the power of two that all values are multiples of. */
static bool
find_unit(const struct framed *f, int *ret_unit)
{
    int64_t rows = f->span.end - f->span.begin;
    int low_least = 2000;
    int high_most = -2000;
    int count_bits = 64 - __builtin_clzll((uint64_t)rows | 1);

    for (int64_t k = 0; k < rows; k++) {
        int64_t row = window_row(f->job.rows, f->span.begin + k);
        double x = f->job.value.reals[row];
        int exponent;
        int low;

        if (window_is_missing(&f->job.value, row) || x == 0) {
            continue;
        }
        if (!isfinite(x)) {
            return false;
        }
        (void)integer_of(x, &low);
        (void)frexp(x, &exponent);
        low_least = low < low_least ? low : low_least;
        high_most = exponent > high_most ? exponent : high_most;
    }
    *ret_unit = low_least;
    return high_most < low_least || high_most - low_least + count_bits <= BITS_MOST;
}

static void
add_up(const struct framed *f, struct fixed *fixed)
{
    int64_t rows = f->span.end - f->span.begin;
    gr_int128 total = 0;
    int64_t count = 0;

    fixed->totals[0] = 0;
    fixed->counts[0] = 0;
    for (int64_t k = 0; k < rows; k++) {
        int64_t row = window_row(f->job.rows, f->span.begin + k);

        if (!window_is_missing(&f->job.value, row)) {
            double x = f->job.value.reals[row];

            count++;
            if (x != 0) {
                int low;
                gr_int128 integer = integer_of(x, &low);

                total += integer * ((gr_int128)1 << (low - fixed->unit));
            }
        }
        fixed->totals[k + 1] = total;
        fixed->counts[k + 1] = count;
    }
}

static granary_err
fixed_begin(struct framed *f)
{
    size_t places = (size_t)(f->span.end - f->span.begin) + 1;
    struct fixed *fixed = f->state = scratch_alloc(sizeof *fixed);
    granary_err err = GRANARY_OK;

    if (fixed == NULL) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory");
    }
    *fixed = (struct fixed){.exactly = false};
    fixed->exactly = !find_unit(f, &fixed->unit);
    if (fixed->exactly) {
        f->state = NULL;
        err = framed_sums.begin(f);
        fixed->sums = f->state;
        f->state = fixed;
        return err;
    }
    fixed->totals = scratch_alloc(places * sizeof *fixed->totals);
    fixed->counts = scratch_alloc(places * sizeof *fixed->counts);
    if (fixed->totals == NULL || fixed->counts == NULL) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory for the sums of %lld rows", (long long)places - 1);
    }
    add_up(f, fixed);
    return GRANARY_OK;
}

static granary_err
fixed_give(struct framed *f, const struct frame_pieces *pieces, int64_t row)
{
    struct fixed *fixed = f->state;
    gr_int128 total = 0;
    int64_t count = 0;
    double value;
    granary_err err;

    if (fixed->exactly) {
        f->state = fixed->sums;
        err = framed_sums.give(f, pieces, row);
        f->state = fixed;
        return err;
    }
    for (int p = 0; p < pieces->count; p++) {
        int64_t from = pieces->from[p] - f->span.begin;
        int64_t to = pieces->to[p] - f->span.begin;

        total += fixed->totals[to] - fixed->totals[from];
        count += fixed->counts[to] - fixed->counts[from];
    }
    if (count > 0) {
        value = total == 0 ? 0.0 : ldexp((double)total, fixed->unit);
        window_put(&f->job.out, row, framed_function(f) == GR_AGGREGATE_MEAN ? value / (double)count : value);
    }
    return GRANARY_OK;
}

static void
fixed_end(struct framed *f)
{
    struct fixed *fixed = f->state;

    if (fixed == NULL) {
        return;
    }
    if (fixed->exactly) {
        f->state = fixed->sums;
        framed_sums.end(f);
        f->state = fixed;
    }
    scratch_free(fixed->totals);
    scratch_free(fixed->counts);
    scratch_free(fixed);
}

const struct framed_way framed_fixed = {fixed_begin, fixed_give, fixed_end};
