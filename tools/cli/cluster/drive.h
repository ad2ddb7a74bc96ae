/*
 * A plan run: its fragments are started where there is room, as soon as what they read is there.
 *
 * One that fails is started again, elsewhere if there is another place, up to three times. One that takes much longer than
 * others is started a second time elsewhere: whoever is done first counts, for both write the same.
 */
#ifndef CLI_CLUSTER_DRIVE_H
#define CLI_CLUSTER_DRIVE_H

#include "cli/cluster/look/trace.h"
#include "cli/cluster/places.h"
#include "cli/cluster/record.h"
#include "graph_json/plan.h"

/* A fragment is started elsewhere, too, when it takes so many times as long as the median of those done, and at least so long. */
#define DRIVE_SLOW_TIMES    3
#define DRIVE_SLOW_LEAST_MS 2000

/* Who is told of each run of a fragment. */
struct drive_watch {
    struct trace *trace;
    const struct trace_clock *clocks; /* of each place and of home; NULL: not needed */
    struct record *record;            /* NULL: none */
};

/*
 * Run all fragments of a plan. Processes that were started have ended when it returns.
 *
 * path        of the plan's text, which all places see
 * timeout_ms  0: none
 * ret_wrong   the number of a stage whose results are larger than the plan was made for: the run has ended there, and what
 *             is done stays. NULL: that does not end it. Untouched else
 * ret_bytes   ... and how large they are
 * Errors      the fragment's own, with its stage, partition and place · ETIMEDOUT · EUNREACHABLE no place is left
 */
granary_err drive(const struct places *places, const struct gr_cutplan *plan, const char *path, int timeout_ms,
                  const struct drive_watch *watch, size_t *ret_wrong, uint64_t *ret_bytes);

#endif
