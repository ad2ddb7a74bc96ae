/* value_counts, describe: the result of a groupby in another form. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/expr.h"
#include "kernel/core/frame_call.h"
#include "kernel/core/select.h"
#include "kernel/sort/sort.h"

/* What shares are of: all counts there are, or the sum that comes beside them. */
static granary_err
total_of(struct gr_kernel_call *call, const granary_column *counts, double *ret_total)
{
    const int64_t *values = counts->values;
    const granary_frame *all;
    granary_err err;

    *ret_total = 0.0; /* exact: rows are fewer than 2^53 */
    if (call->input_count < 2) {
        for (int64_t i = 0; i < counts->rows; i++) {
            *ret_total += (double)values[i];
        }
        return GRANARY_OK;
    }
    err = call_frame(call, 1, &all);
    if (err == GRANARY_OK && (all->rows != 1 || all->count != 1 || all->columns[0].view.dtype != GRANARY_INT64)) {
        err = gr_fail(GRANARY_ETYPE, "%s: the second input is not the sum of counts", call->op->op);
    }
    *ret_total = err == GRANARY_OK ? (double)((const int64_t *)all->columns[0].view.values)[0] : 0.0;
    return err;
}

/* Counts as shares of all of them. */
static granary_err
shares(const granary_column *counts, double total, struct gr_column *ret_column)
{
    const int64_t *values = counts->values;
    granary_err err = gr_column_alloc(GRANARY_FLOAT64, counts->rows, 0, false, ret_column);

    for (int64_t i = 0; i < counts->rows && err == GRANARY_OK; i++) {
        ((double *)(uintptr_t)ret_column->view.values)[i] = (double)values[i] / total;
    }
    if (err == GRANARY_OK) {
        gr_column_finish(ret_column);
    }
    return err;
}

/* The frame with shares for counts; *takes* the one with counts. */
static granary_err
share_counts(struct gr_kernel_call *call, const char *name, granary_frame **frame)
{
    const granary_column *counts = &(*frame)->columns[(*frame)->count - 1].view;
    granary_frame *made = NULL;
    struct gr_column column;
    double total;
    granary_err err = total_of(call, counts, &total);

    err = err == GRANARY_OK ? shares(counts, total, &column) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    made = gr_frame_create((*frame)->count, (*frame)->rows);
    if (made == NULL) {
        gr_column_free(&column);
        return gr_no_memory(call->op->op);
    }
    for (size_t c = 0; c + 1 < made->count && err == GRANARY_OK; c++) {
        err = gr_frame_move(made, c, *frame, c);
    }
    if (err == GRANARY_OK) {
        err = gr_frame_set(made, made->count - 1, name, &column);
    }
    gr_frame_destroy(*frame);
    *frame = made;
    return err;
}

granary_err
kernel_value_counts(struct gr_kernel_call *call, const struct gr_chunk_value_counts *params)
{
    bool ascending = params->ascending;
    const granary_frame *frame;
    granary_frame *sorted = NULL;
    const granary_column *counts;
    int64_t *order = NULL;
    int64_t rows;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    if (frame->count == 0 || frame->columns[frame->count - 1].view.dtype != GRANARY_INT64) {
        return gr_fail(GRANARY_ETYPE, "%s: the last column does not count", call->op->op);
    }
    counts = &frame->columns[frame->count - 1].view;
    if (params->sort) {
        struct sort_key by = {.column = counts, .descending = !ascending};

        err = sort_rows(&by, 1, frame->rows, SORT_NO_LIMIT, &order, &rows);
        if (err == GRANARY_OK) {
            err = gr_frame_take(frame, order, frame->rows, &sorted);
        }
        free(order);
    } else {
        err = frame_borrow(frame, &sorted);
    }
    if (err == GRANARY_OK && params->normalize) {
        err = share_counts(call, counts->name, &sorted);
    }
    return call_yield(call, 0, sorted, err);
}

/* ---- describe ---- */

static const char *const statistics[] = {"count", "mean", "std", "min", "25%", "50%", "75%", "max"};
enum { STATISTICS = sizeof statistics / sizeof statistics[0] };

static granary_err
statistic_names(struct gr_column *ret_column)
{
    size_t total = 0;
    granary_err err;

    for (int s = 0; s < STATISTICS; s++) {
        total += strlen(statistics[s]);
    }
    err = gr_column_alloc(GRANARY_STRING, STATISTICS, (int64_t)total, false, ret_column);
    total = 0;
    for (int s = 0; s < STATISTICS && err == GRANARY_OK; s++) {
        memcpy((char *)(uintptr_t)ret_column->view.values + total, statistics[s], strlen(statistics[s]));
        total += strlen(statistics[s]);
        ((int32_t *)(uintptr_t)ret_column->view.offsets)[s + 1] = (int32_t)total;
    }
    if (err == GRANARY_OK) {
        gr_column_finish(ret_column);
    }
    return err;
}

/* The statistics of one column, which stand in a row, in a column. */
static granary_err
statistic_column(const granary_frame *frame, size_t from, struct gr_column *ret_column)
{
    granary_err err = gr_column_alloc(GRANARY_FLOAT64, STATISTICS, 0, true, ret_column);

    for (size_t s = 0; s < STATISTICS && err == GRANARY_OK; s++) {
        const granary_column *value = &frame->columns[from + s].view;
        double divisor = (double)gr_power_of_ten(gr_dtype_scale(value->dtype));

        if (!gr_is_null(value, 0)) {
            ((double *)(uintptr_t)ret_column->view.values)[s] = select_real(value, 0, divisor);
            gr_bit_set((uint8_t *)(uintptr_t)ret_column->view.validity, (int64_t)s);
        }
    }
    if (err == GRANARY_OK) {
        gr_column_finish(ret_column);
    }
    return err;
}

granary_err
kernel_describe(struct gr_kernel_call *call, const struct gr_chunk_describe *params)
{
    const Granary__Attr *names = params->columns;
    const granary_frame *frame;
    granary_frame *described;
    struct gr_column column;
    granary_err err = call_frame(call, 0, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    if (frame->rows != 1 || frame->count != STATISTICS * names->n_strings) {
        return gr_fail(GRANARY_EINVAL, "%s: the input is not eight statistics a column", call->op->op);
    }
    for (size_t c = 0; c < frame->count; c++) {
        if (gr_dtype_is_text(frame->columns[c].view.dtype) || frame->columns[c].view.dtype == GRANARY_NULLTYPE) {
            return gr_fail(GRANARY_ETYPE, "%s: a statistic is no number", call->op->op);
        }
    }
    described = gr_frame_create(1 + names->n_strings, STATISTICS);
    err = statistic_names(&column);
    if (err == GRANARY_OK) {
        err = gr_frame_set(described, 0, "statistic", &column);
    }
    for (size_t c = 0; c < names->n_strings && err == GRANARY_OK; c++) {
        err = statistic_column(frame, c * STATISTICS, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(described, 1 + c, names->strings[c], &column);
        }
    }
    return call_yield(call, 0, described, err);
}
