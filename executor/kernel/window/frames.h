/*
 * Functions over frames as SQL has them: for each row the bounds of its frame (bounds.c), and then what the function
 * gives of it. Each kind of function has its own way (struct framed_way); framed.c chooses, and drives.
 */
#ifndef KERNEL_WINDOW_FRAMES_H
#define KERNEL_WINDOW_FRAMES_H

#include "kernel/core/exact_sum.h"
#include "kernel/window/compute.h"

/* The frames of a partition's rows, by their places in it; positions of the order. Scratch memory. */
struct frame_bounds {
    int64_t *begin;
    int64_t *end;       /* at least begin */
    int64_t *peers;     /* first row that is equal in the order; NULL: nobody asks */
    int64_t *peers_end; /* behind the last one */
    int64_t *groups;    /* where the groups of equal rows begin, and the end */
    int64_t *group_of;
};

/* A frame without what it excludes: up to three stretches, none of them empty. */
struct frame_pieces {
    int count;
    int64_t from[3];
    int64_t to[3];
};

struct framed {
    struct window_job job;
    const struct window_columns *columns;
    struct frame_bounds bounds;
    struct window_span span; /* the partition at work */
    void *state;             /* of the way */
    bool gives_up;           /* an intermediate result has no room: the frames are computed one by one */
};

/* How a function is computed, partition by partition. */
struct framed_way {
    granary_err (*begin)(struct framed *f);
    /* Write the result of a frame to a row. */
    granary_err (*give)(struct framed *f, const struct frame_pieces *pieces, int64_t row);
    void (*end)(struct framed *f); /* also after an error */
};

/* ---- bounds.c ---- */

/* Room for partitions of so many rows; bounds_fini() also after an error. Errors: ENOMEM */
granary_err bounds_init(const struct gr_window_frame *frame, int64_t rows, struct frame_bounds *bounds);
void bounds_fini(struct frame_bounds *bounds);
/* Those of the partition at work. Errors: EINVAL a distance is null or below 0 · EFAILED beyond 128 bits */
granary_err bounds_find(struct framed *f);

/* ---- the ways ---- */

extern const struct framed_way framed_whole;  /* counts, and sums of integers: from those of all rows before */
extern const struct framed_way framed_sums;   /* exact sums of floats, and what is made of them */
extern const struct framed_way framed_fixed;  /* sums of floats from those of all rows before, else by framed_sums */
extern const struct framed_way framed_spread; /* spreads of frames that only move on, else by framed_sums */
extern const struct framed_way framed_best;   /* min, max */
extern const struct framed_way framed_ranked; /* what the values in their order tell: quantiles, modes */

/* Every aggregate: rows are listed frame by frame, and grouped. Errors: as groupby */
granary_err framed_groups(struct framed *f, granary_dtype dtype, struct gr_column *ret_column);

/* What aggregate it is; it is one. */
static inline enum gr_aggregate_function
framed_function(const struct framed *f)
{
    return f->job.window->aggregate.function;
}

static inline int64_t
pieces_rows(const struct frame_pieces *pieces)
{
    int64_t rows = 0;

    for (int i = 0; i < pieces->count; i++) {
        rows += pieces->to[i] - pieces->from[i];
    }
    return rows;
}

static inline bool
pieces_equal(const struct frame_pieces *a, const struct frame_pieces *b)
{
    bool equal = a->count == b->count;

    for (int p = 0; p < a->count && equal; p++) {
        equal = a->from[p] == b->from[p] && a->to[p] == b->to[p];
    }
    return equal;
}

/* The frame of the row at a position. */
struct frame_pieces frame_at(const struct framed *f, int64_t i);

#endif
