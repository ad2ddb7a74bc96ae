/*
 * What ran where and when, as a Chrome trace (chrome://tracing, ui.perfetto.dev). A process is a machine, numbered from 1.
 * Its first thread has the fragments, and then each executor has one.
 *
 * All times are microseconds of the driver's clock since the run began. Each machine has a clock of its own: whoever knows
 * how far that is ahead says so, and its subtasks are put where they belong.
 *
 *      {"ph": "X", "cat": "fragment" | "subtask" | "phase", "pid": MACHINE, "tid": THREAD, "ts": BEGAN, "dur": TOOK, "name": ...}
 *
 * A fragment is called as its stage, and has "partition", "bytes" and "outcome" as "args". Dask's driver writes the same
 * (granary/dask/_timeline.py), without subtasks.
 */
#ifndef CLI_CLUSTER_TRACE_H
#define CLI_CLUSTER_TRACE_H

#include <stdbool.h>

#include "base/text/buf.h"
#include "granary/granary.h"

struct trace {
    const char *path; /* NULL: none is wanted, and all of these do nothing */
    int64_t began_ns; /* time 0 */
    struct gr_buf events;
};

/* How far the clock (gr_now_ns()) of a machine is ahead of the driver's. */
struct trace_clock {
    bool known;
    int64_t ahead_ns;
    int64_t within_ns; /* it may be so much more or less */
};

void trace_begin(struct trace *trace, const char *path);

/* A machine, once, before or after its events. clock: NULL: it is the driver's own */
void trace_machine(struct trace *trace, size_t machine, const char *name, const struct trace_clock *clock);

/* A run of a fragment, by the driver's clock. outcome: "done", "failed", "overtaken" */
void trace_fragment(struct trace *trace, size_t machine, const char *stage, uint32_t partition, int64_t from_ns,
                    int64_t to_ns, uint64_t bytes, const char *outcome);

/*
 * The subtasks of a fragment: lines of trace_print_runs() in what its machine said; others are passed over, and so are all
 * when that clock is not known.
 */
void trace_runs(struct trace *trace, size_t machine, const struct trace_clock *clock, const char *said);

/* Write the file. Errors: naming it: EFULL, EPERM ... */
granary_err trace_end(struct trace *trace);

/*
 * On the machine itself: print the subtasks of a graph that has ended, as lines
 *
 *     run EXECUTOR STARTED_NS LEASED_NS STORES_NS ENDED_NS IN_BYTES OUT_BYTES OUTCOME OPERATORS NODE
 *
 * by its clock. OUTCOME is "done" or the error's name. Errors: as granary_info()
 */
granary_err trace_print_runs(granary_client *client, const char *graph);

#endif
