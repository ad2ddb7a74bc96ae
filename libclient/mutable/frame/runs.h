/* runs: which rows a table has at a time, in the order of their numbers. */
#ifndef MUTABLE_RUNS_H
#define MUTABLE_RUNS_H

#include "mutable/table.h"

/* Rows [from, to) of a chunk. */
struct run {
    granary_id object;
    uint64_t first; /* number of the chunk's row 0 */
    int64_t at;     /* position of its first row among all rows */
    uint32_t lane;
    uint32_t chunk;
    uint32_t from;
    uint32_t to;
    bool is_whole; /* the chunk is a frame of these rows alone */
};

struct runs {
    struct run *run;
    size_t count;
    size_t room;
    int64_t rows; /* of all runs */
};

/*
 * Rows that were appended later than a time (INT64_MIN: all), and at or before another one, without those that were
 * deleted. The index has what was committed.
 *
 * Errors  ECORRUPT the writers' chunks overlap, a note makes no sense · as log_walk() · ENOMEM
 */
granary_err runs_collect(const granary_mutable *table, int64_t after, int64_t time, struct runs *ret_runs);
void runs_free(struct runs *runs);

/* The run that has the row of that number, or the first one behind it; count: there is none. */
size_t runs_find(const struct runs *runs, uint64_t number);

/* Number of a row of a run. */
static inline uint64_t
run_number(const struct run *run, uint32_t row)
{
    return run->first + row;
}

#endif
