/* Positions: row_number, cumcount, rank, dense_rank, ntile. */
#include <string.h>

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/window/compute.h"

static void
put_integer(const struct window_out *out, int64_t row, int64_t x)
{
    out->integers[row] = x;
    out->valid[row] = 1;
}

granary_err
window_number(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    int64_t base = job->window->function == GR_WINDOW_ROW_NUMBER;

    for (int64_t i = span->from; i < span->end; i++) {
        put_integer(&job->out, window_row(job->rows, i), base + state->rows + (i - span->from));
    }
    return GRANARY_OK;
}

/* As SQL has it: the first buckets have a row more. */
granary_err
window_ntile(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    int64_t rows = span->end - span->begin;
    int64_t buckets = job->window->window;
    int64_t size = rows / buckets;
    int64_t larger = rows % buckets; /* buckets of size + 1 rows */

    (void)state;
    for (int64_t i = 0; i < rows; i++) {
        int64_t bucket = i < larger * (size + 1) ? i / (size + 1) : larger + (i - larger * (size + 1)) / size;

        put_integer(&job->out, window_row(job->rows, span->begin + i), bucket + 1);
    }
    return GRANARY_OK;
}

static void
put_rank(const struct window_job *job, int64_t row, double rank)
{
    if (job->window->function == GR_WINDOW_DENSE_RANK || job->window->value == NULL) {
        put_integer(&job->out, row, (int64_t)rank);
    } else {
        window_put(&job->out, row, rank);
    }
}

/* The largest rank of so many rows with a value becomes 1. */
static void
ranks_divide(const struct window_job *job, const int64_t *rows, int64_t count, int64_t different)
{
    double most = (double)(job->window->method == GR_RANK_DENSE ? different : count);

    for (int64_t i = 0; i < count; i++) {
        job->out.reals[rows[i] - job->out.first] /= most;
    }
}

/* rows[0..n) are sorted by keys; those without a value, which come last, have no rank. */
static void
rank_sorted(const struct window_job *job, const int64_t *rows, int64_t n, const struct sort_key *keys, size_t count)
{
    enum gr_rank_method method = job->window->method;
    int64_t different = 0;
    int64_t from = 0;

    for (int64_t to; from < n; from = to) {
        if (job->value.missing != NULL && job->value.missing[rows[from]]) {
            break;
        }
        for (to = from + 1; to < n && sort_compare(keys, rows[from], keys, rows[to], count) == 0; to++) {
        }
        different++;
        for (int64_t i = from; i < to; i++) {
            double rank = method == GR_RANK_FIRST   ? (double)(i + 1)
                          : method == GR_RANK_MIN   ? (double)(from + 1)
                          : method == GR_RANK_MAX   ? (double)to
                          : method == GR_RANK_DENSE ? (double)different
                                                    : (double)(from + 1 + to) / 2;

            put_rank(job, rows[i], rank);
        }
    }
    if (job->window->pct) {
        ranks_divide(job, rows, from, different);
    }
}

granary_err
window_rank(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    const struct window_rows *all = job->rows;
    int64_t n = span->end - span->begin;
    struct sort_key own = {.column = job->value.column, .descending = job->window->descending};
    bool by_value = job->window->value != NULL;
    const struct sort_key *keys = by_value ? &own : all->keys + all->partition_keys;
    size_t count = by_value ? 1 : all->key_count - all->partition_keys;
    int64_t *rows = scratch_alloc((size_t)(n + 1) * sizeof *rows);
    granary_err err = GRANARY_OK;

    (void)state;
    if (rows == NULL) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)n);
    }
    for (int64_t i = 0; i < n; i++) {
        rows[i] = window_row(all, span->begin + i);
    }
    if (by_value) {
        err = sort_rows_of(keys, count, rows, n);
    }
    if (err == GRANARY_OK) {
        rank_sorted(job, rows, n, keys, count);
    }
    scratch_free(rows);
    return err;
}

/* percent_rank, cume_dist: of equal rows what the first, or the last of them has. */
granary_err
window_share(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    const struct window_rows *all = job->rows;
    const struct sort_key *keys = all->keys + all->partition_keys;
    size_t count = all->key_count - all->partition_keys;
    bool behind = job->window->function == GR_WINDOW_CUME_DIST;
    double rows = (double)(span->end - span->begin);

    (void)state;
    for (int64_t from = span->begin, to; from < span->end; from = to) {
        double before = (double)(from - span->begin);

        for (to = from + 1;
             to < span->end && sort_compare(keys, window_row(all, from), keys, window_row(all, to), count) == 0; to++) {
        }
        for (int64_t i = from; i < to; i++) {
            window_put(&job->out, window_row(all, i),
                       behind     ? (double)(to - span->begin) / rows
                       : rows > 1 ? before / (rows - 1)
                                  : 0);
        }
    }
    return GRANARY_OK;
}
