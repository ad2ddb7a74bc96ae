/* Durations as pandas and Polars write them ("15min", "1h30m", "2MS"), columns of times, and aggregates of no rows. */
#ifndef GRAPH_REWRITE_FRAME_TIMES_H
#define GRAPH_REWRITE_FRAME_TIMES_H

#include "graph/operators/aggregate.h"
#include "graph/rewrite/private.h"

/* One of them is 0. */
struct every {
    int64_t months;
    int64_t micros;
    bool weeks; /* micros were written as weeks */
};

/* A parameter as a duration above 0, or of either sign. false: the rewrite has failed. */
bool every_read(struct rewrite *x, const char *param, bool may_be_negative, struct every *ret_every);

/* What makes a timestamp of a column of dates or timestamps. NULL: it is none, and the rewrite has failed. */
const char *time_text(struct rewrite *x, const char *param, const char *column);

/* What an aggregate of no value is, in its dtype; NULL: null. */
const char *nothing_text(enum gr_aggregate_function function, granary_dtype dtype);

#endif
