/*
 * `granary run --on WHERE` and `granary sql --on WHERE`: a graph is cut, its fragments run elsewhere, and a small graph
 * takes their results into the instance of the command. That one is then run and printed as any other.
 */
#ifndef CLI_CLUSTER_ON_H
#define CLI_CLUSTER_ON_H

#include "cli/cluster/places.h"
#include "schema/granary.pb-c.h"

struct on;

/* Start, or find, where fragments run. To be called before there are threads. Errors: as places_open() */
granary_err on_open(const struct places_options *options, struct on **ret_on);
/* End what was started. NULL is fine. */
void on_close(struct on *on);

/* How many fragments can run at a time. */
size_t on_places(const struct on *on);

/* What a stage's results were found to have. */
struct on_size {
    char digest[33];
    int64_t bytes;
};

/*
 * Take a plan, in place of the one before.
 *
 * ret_graph  the graph that gathers its results, with a node for each target; on_run() fills it. It stays on's
 * Errors     as gr_cutplan_from_json()
 */
granary_err on_plan(struct on *on, const char *text, size_t size, Granary__Graph **ret_graph);

/*
 * Run all fragments, and have the graph read their results, which live as long as the client.
 *
 * copies    the graph's results are to outlive the client
 * ret_size  filled when results are larger than the plan was made for, digest "" else. The graph is to be cut again then, and
 *           that plan taken and run: what is done stays. NULL: the plan is run to its end
 * Errors    as drive() and chunks_take() · ETYPE a target that is neither frame nor tensor
 */
granary_err on_run(struct on *on, granary_client *client, int timeout_ms, bool copies, struct on_size *ret_size);

#endif
