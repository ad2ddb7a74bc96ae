/* `--on` and `--fragments`: a graph is cut for several machines, and its plan is shown or run there. */
#ifndef CLI_ELSEWHERE_H
#define CLI_ELSEWHERE_H

#include "cli/work/run/run.h"
#include "schema/granary.pb-c.h"

/* Start, or find, where fragments run: run->on. To be called before there are threads. Errors: as on_open() */
granary_err elsewhere_open(struct run *run);

/*
 * Cut a graph, or take a plan as it is.
 *
 * text       of either, as JSON
 * ret_graph  the graph that gathers the results, as of on_plan(): it stays run->on's
 * Errors     what is wrong with the graph · as granary_graph_cut() · as on_plan()
 */
granary_err
elsewhere_plan(struct run *run, granary_client *client, const char *text, size_t size, Granary__Graph **ret_graph);

/* Run the plan. When results are larger than it was made for, the graph is cut again: then *graph is another one. Errors: as on_run() */
granary_err
elsewhere_run(struct run *run, granary_client *client, const char *text, size_t size, Granary__Graph **graph);

/* Print how a graph is cut. *ret_status: of stdout, with the error printed. Errors: as granary_graph_cut() */
granary_err elsewhere_show(const struct run *run, granary_client *client, const Granary__Graph *graph, int *ret_status);

#endif
