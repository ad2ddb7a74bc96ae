/*
 * The least and the most of a frame: a tree over the rows of a partition, each node of which has the best of up to 16
 * below it (Leis, Kundhikanjana, Kemper and Neumann, Efficient Processing of Window Functions in Analytical SQL
 * Queries, 2015).
 */
#include <string.h>

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/window/frames.h"

enum { FAN = 16, LEVELS = 16 };

struct best {
    int wanted;             /* 1 the most, -1 the least */
    int64_t *nodes[LEVELS]; /* rows, -1: none; level 0 has those of the partition as they stand */
    int64_t counts[LEVELS];
};

/* Of two rows the better, of equal ones that which stands first. */
static int64_t
better(const struct framed *f, int64_t a, int64_t b)
{
    const struct best *best = f->state;

    if (a < 0 || b < 0) {
        return a < 0 ? b : a;
    }
    return window_compare_rows(&f->job.value, b, a) * best->wanted > 0 ? b : a;
}

static granary_err
best_begin(struct framed *f)
{
    struct best *best = f->state = scratch_alloc(sizeof *best);
    int64_t count = f->span.end - f->span.begin;
    granary_err err = GRANARY_OK;

    if (best == NULL) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)count);
    }
    *best = (struct best){.wanted = framed_function(f) == GR_AGGREGATE_MAX ? 1 : -1};
    for (int level = 0; level < LEVELS && (level == 0 || count > 1) && err == GRANARY_OK; level++) {
        int64_t below = count;
        int64_t *nodes;

        count = level == 0 ? count : (count + FAN - 1) / FAN;
        nodes = best->nodes[level] = scratch_alloc((size_t)(count + 1) * sizeof *nodes);
        best->counts[level] = count;
        if (nodes == NULL) {
            return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)count);
        }
        for (int64_t k = 0; k < count; k++) {
            if (level == 0) {
                int64_t row = window_row(f->job.rows, f->span.begin + k);

                nodes[k] = window_is_missing(&f->job.value, row) ? -1 : row;
                continue;
            }
            nodes[k] = -1;
            for (int64_t c = k * FAN; c < below && c < (k + 1) * FAN; c++) {
                nodes[k] = better(f, nodes[k], best->nodes[level - 1][c]);
            }
        }
    }
    return err;
}

/* The best of places [from, to): on the way up those on the left, on the way down those on the right. */
static int64_t
best_between(const struct framed *f, int level, int64_t from, int64_t to)
{
    const struct best *best = f->state;
    const int64_t *nodes = best->nodes[level];
    int64_t found = -1;
    int64_t right;

    while (from < to && (from % FAN != 0 || to - from < FAN)) {
        found = better(f, found, nodes[from++]);
    }
    right = from < to ? to - to % FAN : to;
    if (from < right) {
        found = better(f, found, best_between(f, level + 1, from / FAN, right / FAN));
    }
    while (right < to) {
        found = better(f, found, nodes[right++]);
    }
    return found;
}

static granary_err
best_give(struct framed *f, const struct frame_pieces *pieces, int64_t row)
{
    int64_t found = -1;

    for (int p = 0; p < pieces->count; p++) {
        found = better(f, found, best_between(f, 0, pieces->from[p] - f->span.begin, pieces->to[p] - f->span.begin));
    }
    f->job.out.picks[row] = found;
    return GRANARY_OK;
}

static void
best_end(struct framed *f)
{
    struct best *best = f->state;

    for (int level = 0; best != NULL && level < LEVELS; level++) {
        scratch_free(best->nodes[level]);
    }
    scratch_free(best);
}

const struct framed_way framed_best = {best_begin, best_give, best_end};
