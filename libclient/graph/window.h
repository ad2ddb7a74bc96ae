/* The columns of the operator window: new column -> FUNCTION(expression, literals). */
#ifndef GRAPH_WINDOW_H
#define GRAPH_WINDOW_H

#include "graph/graph.h"
#include "graph/operators/aggregate.h"

enum gr_window_function {
#define WINDOW(id, ...) GR_WINDOW_##id,
#include "graph/window/functions.def"
    GR_WINDOW_COUNT_OF
};

enum gr_rank_method { GR_RANK_AVERAGE, GR_RANK_MIN, GR_RANK_MAX, GR_RANK_FIRST, GR_RANK_DENSE };

/*
 * The rows around each row that a function sees, as SQL has them:
 *
 *   frame    := ("rows" | "range" | "groups") (bound | "between" bound "and" bound) [exclude]
 *   bound    := "unbounded" ("preceding" | "following") | "current row" | distance ("preceding" | "following")
 *   exclude  := "exclude" ("current row" | "group" | "ties" | "no others")
 *
 * A distance is an expression, which has a value for each row.
 */
enum gr_frame_mode { GR_FRAME_NONE, GR_FRAME_ROWS, GR_FRAME_RANGE, GR_FRAME_GROUPS };
enum gr_frame_end { GR_END_FIRST, GR_END_BEFORE, GR_END_CURRENT, GR_END_BEHIND, GR_END_LAST };
enum gr_frame_exclude { GR_EXCLUDE_NONE, GR_EXCLUDE_ROW, GR_EXCLUDE_GROUP, GR_EXCLUDE_TIES };

struct gr_frame_bound {
    enum gr_frame_end end;
    char *distance; /* BEFORE, BEHIND: expression; else NULL */
};

struct gr_window_frame {
    enum gr_frame_mode mode;
    struct gr_frame_bound from;
    struct gr_frame_bound to;
    enum gr_frame_exclude exclude;
};

struct gr_window {
    char *name; /* of the new column */
    enum gr_window_function function;
    bool ignores_nulls;            /* shift, lag, lead, nth */
    struct gr_window_frame frame;  /* of nth and aggregates; else its mode is NONE */
    char *aggregate_text;          /* an aggregate of the frame, as groupby has them; NULL: it is a function */
    struct gr_aggregate aggregate; /* what it says */
    char *second;                  /* of the aggregate: expression, or NULL */
    char *value;                   /* expression, or NULL */
    int64_t offset;      /* shift (down), diff, pct_change: rows; lag and lead are shifts; ffill, bfill: limit, -1 none;
                       nth: row, from 1, or from -1 up */
    int64_t window;      /* rolling: rows; ntile: how many */
    int64_t min_periods; /* rolling, expanding, ewm */
    bool center;         /* rolling */
    bool pct;            /* rank: as a share */
    bool bias;           /* ewm_var, ewm_std: divided by the sum of weights */
    double quantile;     /* rolling_quantile */
    bool fill;           /* cumsum and its like: a row without a value has what is so far */
    enum gr_rank_method method;
    bool descending; /* rank, dense_rank */
    double alpha;    /* ewm */
    bool adjust;
    bool ignore_na;
};

/*
 * Read the attribute "columns" of a window.
 *
 * *ret_windows  count entries in the order of the mapping, to be given to gr_windows_free()
 * Errors        EINVAL the message names the entry · ENOMEM
 */
granary_err gr_windows_parse(const Granary__Attr *attr, struct gr_window **ret_windows, size_t *ret_count);
void gr_windows_free(struct gr_window *windows, size_t count);

/* The limit of a bound of RANGE over a column of dates or times: the expression of its distance from the column. To be
 * freed. NULL: no memory */
char *gr_frame_limit(const struct gr_frame_bound *bound, const char *column, bool descending);
/* Whether a bound of RANGE over a column of that dtype is such a limit, and no distance. */
bool gr_frame_has_limits(granary_dtype column);

/* dtype of the result over a value of that dtype (ignored without one). Errors: ETYPE */
granary_err gr_window_dtype(const struct gr_window *window, granary_dtype value, granary_dtype *ret_dtype);

/* Whether a row's result depends on that row and those before it only, when rows are taken in the frame's order. */
bool gr_window_is_forward(const struct gr_window *window);

/* How many rows of before such a window wants to see; -1: one that it chooses. */
int64_t gr_window_history(const struct gr_window *window);

#endif
