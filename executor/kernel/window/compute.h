/*
 * The functions of the operator window over the rows of a frame, partition by partition.
 *
 * A row without a value (null, or a nan of floats) is skipped by what accumulates, and gives null there unless it is
 * to be filled.
 *
 * Floats are accumulated in two doubles (Dekker 1971, Neumaier 1974). So the result is that of the numbers themselves, rounded,
 * except for sums that lose more than 50 digits. It depends only on the rows and on how far they are from the
 * partition's first.
 */
#ifndef KERNEL_WINDOW_COMPUTE_H
#define KERNEL_WINDOW_COMPUTE_H

#include <math.h>

#include "contract/int128.h"
#include "graph/window.h"
#include "kernel/sort/sort.h"

/* Two doubles that add up to one number. */
struct window_pair {
    double high;
    double low;
};

/* Values added up: consecutive rows of a window. */
struct window_part {
    int64_t count;             /* of values that are finite */
    struct window_pair sum;    /* of them; std, var: of their distances from the origin */
    struct window_pair square; /* of the distances */
    double origin;             /* the first value */
};

/* What a function has to know of the rows before; all zero at the beginning of a partition. */
struct window_state {
    int64_t rows;            /* all there were */
    int64_t tail;            /* how many of them are handed on */
    int64_t chosen;          /* ffill, cummax, cummin: 1 + the row that is handed on, 0: none */
    int64_t since;           /* ffill: rows since the last value */
    int64_t count;           /* values in the window */
    int64_t infinite[2];     /* of them +inf, -inf */
    struct window_part part; /* of those that are finite */
    double best;             /* expanding_min, expanding_max */
    bool has_best;
    bool has_weighted;
    double product;
    double weighted; /* ewm */
    double old_weight;
    double spread; /* ewm_var, ewm_std: around the mean; the sums of weights and of their squares */
    double weights;
    double squared_weights;
    uint64_t total[2]; /* cumsum and cumprod of integers: gr_int128, low half first */
};

/* The rows of a frame in the order in which functions see them. */
struct window_rows {
    const int64_t *order;        /* NULL: 0, 1, ... */
    const int64_t *ends;         /* where each partition ends in the order */
    const bool *left_out;        /* by partition: a key is null, so that all results are; NULL: none */
    size_t partitions;           /* 1 or more, unless there are no rows */
    int64_t count;               /* of all rows */
    int64_t history;             /* so many rows at the beginning are of before: they have no result */
    const struct sort_key *keys; /* the partition's, then those that order it; one more fits behind */
    size_t partition_keys;
    size_t key_count;
};

static inline int64_t
window_row(const struct window_rows *rows, int64_t i)
{
    return rows->order == NULL ? i : rows->order[i];
}

/* What a function looks at; NULL: it does not. Each has rows->count rows. */
struct window_columns {
    const granary_column *value;
    const granary_column *second; /* argument of an aggregate; of fill the column of `by` */
    const granary_column *from;   /* distances of the frame's bounds, or their limits */
    const granary_column *to;
};

/*
 * One function: a new owned column of rows->count - rows->history rows.
 *
 * state   with one partition: what came before, and then what came up to the last row; else NULL
 * Errors  EFAILED integers overflow · ENOMEM
 */
granary_err window_compute(const struct gr_window *window, const struct window_columns *columns,
                           const struct window_rows *rows, struct window_state *state, struct gr_column *ret_column);

/* ---- within the folder ---- */

enum window_class { WINDOW_REAL, WINDOW_INTEGER, WINDOW_OTHER };

/* A value as functions take it. */
struct window_value {
    const granary_column *column;
    enum window_class class;
    uint8_t *missing;    /* by row; NULL: none */
    const double *reals; /* REAL, or asked for: the column's own, or made */
    double *made;        /* NULL: they are the column's */
    gr_int128 *integers; /* INTEGER */
};

/* What functions write: by row of the frame, reals from row `first` on. */
struct window_out {
    double *reals; /* those of the column where they are its values; its rows begin behind the history */
    struct gr_column column;
    int64_t first;
    gr_int128 *integers;
    int64_t *picks; /* rows, -1: null */
    uint8_t *valid; /* of reals and integers */
};

struct window_job {
    const struct gr_window *window;
    const struct window_kernel *kernel;
    const struct window_rows *rows;
    struct window_value value;
    struct window_value second;
    struct window_out out;
};

enum window_class window_class_of(granary_dtype dtype);
/* Read the values, and make room for results; window_job_fini() also after an error. uses: of struct window_kernel.
 * Errors: ENOMEM */
granary_err
window_job_init(struct window_job *job, const struct window_columns *columns, granary_dtype dtype, int uses);
void window_job_fini(struct window_job *job);
/* The results as a column. Errors: EFAILED integers overflow · ENOMEM */
granary_err window_job_column(struct window_job *job, granary_dtype dtype, struct gr_column *ret_column);
/* Below 0, 0 or above 0: two rows that have a value. */
int window_compare_rows(const struct window_value *value, int64_t a, int64_t b);

/* A function over frames. Errors: as window_compute() */
granary_err window_framed(const struct gr_window *window, const struct window_columns *columns,
                          const struct window_rows *rows, granary_dtype dtype, struct gr_column *ret_column);

/* A partition at work: positions [begin, end) of the order; results are wanted from `from` on. */
struct window_span {
    int64_t begin;
    int64_t end;
    int64_t from;
};

typedef granary_err
window_function(const struct window_job *job, const struct window_span *span, struct window_state *state);

static inline bool
window_is_missing(const struct window_value *value, int64_t row)
{
    return value->missing != NULL && value->missing[row];
}

/* Whether a cumulative function leaves a row out, where others of before may have a value. */
static inline bool
window_is_skipped(const struct window_job *job, int64_t row, bool any_before)
{
    return window_is_missing(&job->value, row) && !(job->window->fill && any_before);
}

/* The row that stands `offset` places before position i in its partition; -1: none does. */
static inline int64_t
window_other(const struct window_job *job, const struct window_span *span, int64_t i)
{
    int64_t at = i - job->window->offset;

    return at >= span->begin && at < span->end ? window_row(job->rows, at) : -1;
}

/* The same when both have a value. */
static inline int64_t
window_valued_other(const struct window_job *job, const struct window_span *span, int64_t i)
{
    int64_t other = window_other(job, span, i);

    return other >= 0 && !window_is_missing(&job->value, window_row(job->rows, i)) &&
                   !window_is_missing(&job->value, other)
               ? other
               : -1;
}

/* Rows of a moving window behind and ahead of a row, at most those that there are; of a growing one all behind. */
struct window_reach {
    int64_t behind;
    int64_t ahead;
};

static inline struct window_reach
window_reach(const struct gr_window *window, const struct window_span *span)
{
    int64_t rows = span->end - span->begin;
    int64_t ahead = window->center ? (window->window - 1) / 2 : 0;
    int64_t behind = window->window > 0 ? window->window - 1 - ahead : rows;

    return (struct window_reach){behind < rows ? behind : rows, ahead < rows ? ahead : rows};
}

/* The sum of a window, where that of its finite values is given. */
static inline double
window_sum(const struct window_state *state, double finite)
{
    bool up = state->infinite[0] > 0;
    bool down = state->infinite[1] > 0;

    return up || down ? (up ? INFINITY : 0.0) - (down ? INFINITY : 0.0) : finite;
}

static inline void
window_put(const struct window_out *out, int64_t row, double x)
{
    out->reals[row - out->first] = x;
    out->valid[row] = 1;
}

/* EFAILED: a result is beyond its dtype. */
granary_err window_overflowed(const struct window_job *job, granary_dtype dtype);

/* What computes a function, as its row of graph/window/functions.def says. */
struct window_kernel {
    window_function *real;
    window_function *integer;
    enum window_measure { WINDOW_SUM, WINDOW_MEAN, WINDOW_STD, WINDOW_VAR, WINDOW_COUNT } measure; /* of moving_parts */
    /* Values as numbers; rows, values as numbers to choose them; rows, and whether there is a value; the last alone; values
     * and the column of `by` as numbers. */
    enum { WINDOW_READS, WINDOW_PICKS, WINDOW_MOVES, WINDOW_ORDERS, WINDOW_LINES } uses;
};

#define NUMBERS(real, integer)                                      window_function window_##real, window_##integer;
#define BOTH(name)                                                  window_function window_##name;
#define PARTS(measure, integer)                                     NUMBERS(moving_parts, integer)
#define PICKS(name)                                                 BOTH(name)
#define MOVES(name)                                                 BOTH(name)
#define ORDER(name)                                                 BOTH(name)
#define LINE(name)                                                  BOTH(name)
#define WINDOW(id, text, value, literals, gives, sees, kernel, ...) kernel
#include "graph/window/functions.def"
#undef NUMBERS
#undef BOTH
#undef PARTS
#undef PICKS
#undef MOVES
#undef ORDER
#undef LINE

/* a + x, exactly but for the last bits of low; beyond a double's range infinite, and so it stays. */
static inline void
window_pair_add(struct window_pair *a, double x)
{
    double sum = a->high + x;
    double part = sum - a->high;
    double error = isfinite(sum) ? (a->high - (sum - part)) + (x - part) + a->low : 0;

    a->high = sum + error;
    a->low = isfinite(a->high) ? error - (a->high - sum) : 0;
}

/*
 * A running sum and what its additions have rounded off, apart: only one addition waits for the one before (Neumaier,
 * Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen, 1974). high + low is the result. A sum beyond
 * a double's range is infinite, and so it stays; its low is of no use.
 */
static inline struct window_pair
window_running_add(struct window_pair sum, double x)
{
    double high = sum.high + x;
    double part = high - sum.high;

    return (struct window_pair){high, sum.low + ((sum.high - (high - part)) + (x - part))};
}

#endif
