/*
 * plan: how a SELECT's graph is brought up to date, and the graphs that do it. Rows of a table that grows come through
 * operators that look at one row at a time; then there is a groupby whose groups can be added to, or nothing more.
 */
#ifndef LIVE_PLAN_H
#define LIVE_PLAN_H

#include "granary/live.h"
#include "schema/granary.pb-c.h"

struct live_plan {
    granary_live_how how;
    Granary__Graph *graph; /* owned: as the SELECT was translated */
    size_t table;          /* position of the node that reads the table that grows; WHOLE: of one of them */
    size_t group;          /* GROUPS: of the groupby */
};

/*
 * grows[i]  whether node i reads a mutable table
 * graph     is taken
 */
void live_plan_make(Granary__Graph *graph, const bool *grows, struct live_plan *ret_plan);
void live_plan_free(struct live_plan *plan);

/* Rows of a table: as it was at a time, or objects that are frames. */
struct live_rows {
    int64_t time;
    const granary_id *ids; /* NULL: by time */
    size_t count;
};

/* The whole SELECT over these rows; of WHOLE every table that grows is read at the time. *ret_graph is the caller's, as are
 * those of all. Errors: ENOMEM */
granary_err live_plan_whole(const struct live_plan *plan, const bool *grows, const struct live_rows *rows,
                            granary_graph **ret_graph);
/* GROUPS: the rows that come to the groupby, as LIVE_INPUT. */
granary_err live_plan_input(const struct live_plan *plan, const struct live_rows *rows, granary_graph **ret_graph);
/* GROUPS, of chunks: groups of these frames with those that are known (zero: none), as LIVE_KNOWN, and as a frame, LIVE_DONE. */
granary_err live_plan_groups(const struct live_plan *plan, const granary_id *frames, size_t count, granary_id known,
                             granary_graph **ret_graph);
/* GROUPS: what the SELECT makes of the groups. */
granary_err live_plan_rest(const struct live_plan *plan, granary_id done, granary_graph **ret_graph);

#define LIVE_KNOWN "known"
#define LIVE_DONE  "done"

/* The name of the target of live_plan_input(). */
const char *live_plan_input_name(const struct live_plan *plan);

#endif
