/* Counts and sums of integers: of a frame what all rows up to its end have more than all rows before it. */
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "graph/expr.h"
#include "kernel/core/rounding.h"
#include "kernel/core/scratch.h"
#include "kernel/window/frames.h"

#define DAY_MICROSECONDS 86400000000

struct whole {
    int64_t *counts; /* of values before each place of the partition */
    gr_int128 *sums; /* NULL: nobody asks */
};

static bool
is_logic(enum gr_aggregate_function function)
{
    return function == GR_AGGREGATE_ANY || function == GR_AGGREGATE_ALL;
}

/* What a row adds to the sum. */
static gr_int128
addend(const struct framed *f, int64_t row)
{
    const struct window_value *value = &f->job.value;

    if (is_logic(framed_function(f))) {
        return value->integers != NULL ? value->integers[row] != 0 : value->reals[row] != 0;
    }
    return value->integers[row];
}

static granary_err
whole_begin(struct framed *f)
{
    enum gr_aggregate_function function = framed_function(f);
    int64_t rows = f->span.end - f->span.begin;
    struct whole *whole = f->state = scratch_alloc(sizeof *whole);
    bool sums = function != GR_AGGREGATE_COUNT && function != GR_AGGREGATE_SIZE;
    size_t n = (size_t)rows + 1;

    if (whole == NULL) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)rows);
    }
    *whole =
        (struct whole){scratch_alloc(n * sizeof *whole->counts), sums ? scratch_alloc(n * sizeof *whole->sums) : NULL};
    if (whole->counts == NULL || (sums && whole->sums == NULL)) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)rows);
    }
    whole->counts[0] = 0;
    if (sums) {
        whole->sums[0] = 0;
    }
    for (int64_t k = 0; k < rows; k++) {
        int64_t row = window_row(f->job.rows, f->span.begin + k);
        bool there = function == GR_AGGREGATE_SIZE || !window_is_missing(&f->job.value, row);

        whole->counts[k + 1] = whole->counts[k] + there;
        if (sums && __builtin_add_overflow(whole->sums[k], there ? addend(f, row) : 0, &whole->sums[k + 1])) {
            f->gives_up = true;
            break;
        }
    }
    return GRANARY_OK;
}

static granary_err
whole_give(struct framed *f, const struct frame_pieces *pieces, int64_t row)
{
    const struct whole *whole = f->state;
    enum gr_aggregate_function function = framed_function(f);
    struct window_out *out = &f->job.out;
    gr_int128 unit = f->job.value.column != NULL && f->job.value.column->dtype == GRANARY_DATE ? DAY_MICROSECONDS : 1;
    int64_t count = 0;
    gr_int128 sum = 0;

    for (int p = 0; p < pieces->count; p++) {
        int64_t from = pieces->from[p] - f->span.begin;
        int64_t to = pieces->to[p] - f->span.begin;

        count += whole->counts[to] - whole->counts[from];
        sum += whole->sums != NULL ? whole->sums[to] - whole->sums[from] : 0;
    }
    if (function == GR_AGGREGATE_MEAN && out->reals != NULL) {
        if (count > 0) {
            window_put(out, row, gr_decimal_real(sum, gr_dtype_scale(f->job.value.column->dtype)) / (double)count);
        }
        return GRANARY_OK;
    }
    out->valid[row] = count > 0 || function == GR_AGGREGATE_COUNT || function == GR_AGGREGATE_SIZE;
    out->integers[row] = function == GR_AGGREGATE_SUM                 ? sum
                         : function == GR_AGGREGATE_MEAN && count > 0 ? divide_to_even(sum * unit, count)
                         : function == GR_AGGREGATE_ANY               ? sum > 0
                         : function == GR_AGGREGATE_ALL               ? sum == count
                                                                      : count;
    return GRANARY_OK;
}

static void
whole_end(struct framed *f)
{
    struct whole *whole = f->state;

    if (whole != NULL) {
        scratch_free(whole->counts);
        scratch_free(whole->sums);
    }
    scratch_free(whole);
}

const struct framed_way framed_whole = {whole_begin, whole_give, whole_end};
