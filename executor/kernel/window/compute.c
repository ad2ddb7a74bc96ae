/*
 * Values are read into plain arrays, then each function fills the result partition by partition (moving.c, whole.c,
 * ranks.c, picks.c).
 */
#include "kernel/window/compute.h"
#include "contract/dtypes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/value/bits.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"
#include "kernel/core/scratch.h"

static granary_err
out_of_memory(int64_t rows)
{
    return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)rows);
}

/* ---- the value ---- */

enum window_class
window_class_of(granary_dtype dtype)
{
    switch (gr_dtype_kind(dtype)) {
    case GRANARY_FLOAT32:
    case GRANARY_FLOAT64:
        return WINDOW_REAL;
    case GRANARY_STRING:
    case GRANARY_BINARY:
    case GRANARY_NULLTYPE:
        return WINDOW_OTHER;
    default:
        return WINDOW_INTEGER;
    }
}

static void
read_integers(const granary_column *column, gr_int128 *integers)
{
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_BOOL:
        for (int64_t i = 0; i < column->rows; i++) {
            integers[i] = gr_bit(column->values, i);
        }
        break;
#define CASE(name, type, ...)                                                                                          \
    case GRANARY_##name:                                                                                               \
        for (int64_t i = 0; i < column->rows; i++) {                                                                   \
            integers[i] = ((const type *)column->values)[i];                                                           \
        }                                                                                                              \
        break;
        GR_WORD_DTYPES(CASE)
        CASE(DECIMAL, gr_int128)
#undef CASE
    default: /* no integers */
        break;
    }
}

/* Of FLOAT32. */
static void
read_reals(const granary_column *column, double *reals)
{
    for (int64_t i = 0; i < column->rows; i++) {
        reals[i] = (double)((const float *)column->values)[i];
    }
}

static void
value_fini(struct window_value *value)
{
    scratch_free(value->missing);
    scratch_free(value->made);
    scratch_free(value->integers);
}

/* Whether some row has no value. */
static bool
any_missing(const granary_column *column)
{
    const double *x = column->values;
    bool nan = false;

    if (column->validity != NULL || column->dtype != GRANARY_FLOAT64) {
        return column->validity != NULL || column->dtype == GRANARY_FLOAT32 || column->dtype == GRANARY_NULLTYPE;
    }
    for (int64_t i = 0; i < column->rows; i++) {
        nan |= isnan(x[i]);
    }
    return nan;
}

/* wants_numbers: of integers; wants_reals: also of them. value_fini() also after an error. */
static granary_err
value_init(const granary_column *column, bool wants_numbers, bool wants_reals, struct window_value *value)
{
    int64_t rows = column->rows;
    size_t n = (size_t)rows + 1;
    bool any;

    *value = (struct window_value){.column = column, .class = window_class_of(column->dtype)};
    any = any_missing(column);
    value->reals = column->dtype == GRANARY_FLOAT64 ? column->values : NULL;
    if ((any && (value->missing = scratch_alloc(n)) == NULL) ||
        (value->class == WINDOW_INTEGER && wants_numbers &&
         (value->integers = scratch_alloc(n * sizeof *value->integers)) == NULL) ||
        ((value->class == WINDOW_REAL || wants_reals) && value->reals == NULL &&
         (value->made = scratch_alloc(n * sizeof *value->made)) == NULL)) {
        return out_of_memory(rows);
    }
    if (value->made != NULL) {
        value->reals = value->made;
    }
    if (value->integers != NULL) {
        read_integers(column, value->integers);
    } else if (value->class == WINDOW_REAL && value->made != NULL) {
        read_reals(column, value->made);
    } else if (value->class == WINDOW_OTHER && wants_reals) {
        memset(value->made, 0, n * sizeof *value->made);
    }
    if (value->class == WINDOW_INTEGER && wants_reals) {
        for (int64_t i = 0; i < rows; i++) {
            value->made[i] = gr_decimal_real(value->integers[i], gr_dtype_scale(column->dtype));
        }
    }
    if (any && (column->dtype == GRANARY_NULLTYPE || column->validity == NULL)) {
        memset(value->missing, column->dtype != GRANARY_NULLTYPE, n);
    } else if (any) {
        bits_spread(column->validity, 0, rows, value->missing);
    }
    for (int64_t i = 0; any && i < rows; i++) { /* has been: whether it is there */
        value->missing[i] = !value->missing[i] | (value->class == WINDOW_REAL && isnan(value->reals[i]));
    }
    return GRANARY_OK;
}

/* ---- which function ---- */

static const struct window_kernel kernels[] = {
#define NUMBERS(real, integer)  window_##real, window_##integer, 0, WINDOW_READS
#define BOTH(name)              NUMBERS(name, name)
#define PARTS(measure, integer) window_moving_parts, window_##integer, WINDOW_##measure, WINDOW_READS
#define PICKS(name)             window_##name, window_##name, 0, WINDOW_PICKS
#define MOVES(name)             window_##name, window_##name, 0, WINDOW_MOVES
#define ORDER(name)             window_##name, window_##name, 0, WINDOW_ORDERS
#define LINE(name)              window_##name, window_##name, 0, WINDOW_LINES

#define WINDOW(id, text, value, literals, gives, sees, kernel, ...) [GR_WINDOW_##id] = {kernel},
#include "graph/window/functions.def"
};

/* ---- the result ---- */

static void
out_fini(struct window_out *out)
{
    if (out->reals != out->column.view.values) {
        scratch_free(out->reals);
    }
    gr_column_free(&out->column);
    scratch_free(out->integers);
    scratch_free(out->picks);
    scratch_free(out->valid);
}

/* FLOAT64 results are written where they stay. out_fini() also after an error. */
static granary_err
out_init(int64_t rows, int64_t history, bool picks, granary_dtype dtype, struct window_out *out)
{
    size_t n = (size_t)rows + 1;
    bool reals = window_class_of(dtype) == WINDOW_REAL;
    bool stays = !picks && dtype == GRANARY_FLOAT64;
    granary_err err = GRANARY_OK;

    *out = (struct window_out){.first = stays ? history : 0};
    if (stays) {
        err = gr_column_alloc_unset(dtype, rows - history, 0, false, &out->column);
        out->reals = (double *)(uintptr_t)out->column.view.values;
    }
    if ((picks && (out->picks = scratch_alloc(n * sizeof *out->picks)) == NULL) ||
        (!picks && (out->valid = scratch_alloc(n)) == NULL) ||
        (!picks && !stays && reals && (out->reals = scratch_alloc(n * sizeof *out->reals)) == NULL) ||
        (!picks && !reals && (out->integers = scratch_alloc(n * sizeof *out->integers)) == NULL)) {
        return out_of_memory(rows);
    }
    if (picks) {
        memset(out->picks, 0xff, n * sizeof *out->picks);
    } else {
        memset(out->valid, 0, n);
    }
    return err;
}

granary_err
window_overflowed(const struct window_job *job, granary_dtype dtype)
{
    return gr_fail(GRANARY_EFAILED, "a result of column '%s' does not fit %s: cast the value to %s", job->window->name,
                   granary_dtype_name(dtype), gr_dtype_wider(dtype));
}

static granary_err
integer_store(const struct window_job *job, granary_dtype dtype, gr_int128 x, void *values, int64_t at)
{
    switch (gr_dtype_kind(dtype)) {
    case GRANARY_BOOL:
        if (x != 0) {
            gr_bit_set(values, at);
        }
        return GRANARY_OK;
#define CASE(name, type, ...)                                                                                          \
    case GRANARY_##name:                                                                                               \
        ((type *)values)[at] = (type)x;                                                                                \
        break;
        GR_WORD_DTYPES(CASE)
        CASE(DECIMAL, gr_int128)
#undef CASE
    default: /* no integers */
        break;
    }
    return gr_dtype_fits(dtype, x) ? GRANARY_OK : window_overflowed(job, dtype);
}

/* The column that results were written to: what has none becomes null. */
static granary_err
result_settle(struct window_out *out, int64_t from, struct gr_column *ret_column)
{
    struct gr_column *column = &out->column;
    int64_t rows = column->view.rows;
    uint8_t *bits;

    if (memchr(out->valid + from, 0, (size_t)rows) != NULL) {
        column->view.validity = bits = gr_data_alloc((size_t)gr_bitmap_bytes(rows));
        if (bits == NULL) {
            return out_of_memory(rows);
        }
        bits_pack(out->valid + from, rows, bits, 0);
    }
    gr_column_finish(column);
    *ret_column = *column;
    *column = (struct gr_column){0};
    out->reals = NULL;
    return GRANARY_OK;
}

granary_err
window_job_column(struct window_job *job, granary_dtype dtype, struct gr_column *ret_column)
{
    int64_t from = job->rows->history;
    int64_t rows = job->rows->count - from;
    struct gr_column column;
    granary_err err;

    if (job->out.picks != NULL) {
        return gr_column_take(job->value.column, job->out.picks + from, rows, ret_column);
    }
    if (dtype == GRANARY_FLOAT64) {
        return result_settle(&job->out, from, ret_column);
    }
    err = gr_column_alloc(dtype, rows, 0, true, &column);
    for (int64_t i = 0; i < rows && err == GRANARY_OK; i++) {
        void *values = (void *)(uintptr_t)column.view.values;

        if (!job->out.valid[from + i]) {
            continue;
        }
        gr_bit_set((uint8_t *)(uintptr_t)column.view.validity, i);
        if (job->out.reals != NULL) { /* of FLOAT32 */
            ((float *)values)[i] = (float)job->out.reals[from + i];
        } else {
            err = integer_store(job, dtype, job->out.integers[from + i], values, i);
            if (err != GRANARY_OK) {
                gr_column_free(&column);
            }
        }
    }
    if (err != GRANARY_OK) {
        return err;
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

/* ---- a job ---- */

granary_err
window_job_init(struct window_job *job, const struct window_columns *columns, granary_dtype dtype, int uses)
{
    bool real = window_class_of(dtype) == WINDOW_REAL;
    bool numbers = uses == WINDOW_READS || uses == WINDOW_PICKS || uses == WINDOW_LINES;
    granary_err err = GRANARY_OK;

    if (columns->value != NULL) {
        err = value_init(columns->value, numbers, real && uses == WINDOW_READS, &job->value);
    }
    if (err == GRANARY_OK && columns->second != NULL) {
        err = value_init(columns->second, numbers, false, &job->second);
    }
    return err == GRANARY_OK ? out_init(job->rows->count, job->rows->history,
                                        uses == WINDOW_PICKS || uses == WINDOW_MOVES, dtype, &job->out)
                             : err;
}

void
window_job_fini(struct window_job *job)
{
    out_fini(&job->out);
    value_fini(&job->value);
    value_fini(&job->second);
}

granary_err
window_compute(const struct gr_window *window, const struct window_columns *columns, const struct window_rows *rows,
               struct window_state *state, struct gr_column *ret_column)
{
    const granary_column *value = columns->value;
    struct window_columns with = *columns;
    const struct window_kernel *kernel;
    struct window_job job = {.window = window, .rows = rows};
    granary_dtype dtype = GRANARY_NULLTYPE;
    window_function *function;
    int64_t begin = 0;
    granary_err err = gr_window_dtype(window, value == NULL ? GRANARY_NULLTYPE : value->dtype, &dtype);

    if (err != GRANARY_OK || window->frame.mode != GR_FRAME_NONE) {
        return err == GRANARY_OK ? window_framed(window, columns, rows, dtype, ret_column) : err;
    }
    kernel = job.kernel = &kernels[window->function];
    function = value != NULL && window_class_of(value->dtype) == WINDOW_INTEGER ? kernel->integer : kernel->real;
    if (kernel->uses == WINDOW_LINES) {
        with.second = rows->keys[rows->partition_keys].column;
        err = with.second == NULL ? gr_fail(GRANARY_EINVAL, "window: fill needs a column in 'by'") : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = window_job_init(&job, &with, dtype, (int)kernel->uses);
    }
    for (size_t p = 0; p < rows->partitions && err == GRANARY_OK; p++) {
        struct window_state fresh = {0};
        struct window_span span = {begin, rows->ends[p], p == 0 ? rows->history : begin};

        if (rows->left_out == NULL || !rows->left_out[p]) {
            err = function(&job, &span, state != NULL ? state : &fresh);
        }
        begin = rows->ends[p];
    }
    if (err == GRANARY_OK) {
        err = window_job_column(&job, dtype, ret_column);
    }
    window_job_fini(&job);
    return err;
}
