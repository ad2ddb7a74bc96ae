/* How far the clocks of machines are ahead of ours: each is asked several times, and the shortest answer counts (Cristian). */
#ifndef CLI_CLUSTER_CLOCK_H
#define CLI_CLUSTER_CLOCK_H

#include "cli/cluster/look/trace.h"
#include "cli/cluster/places.h"

/*
 * Ask all places, at most for some seconds. One that does not answer in time has a clock that is not known.
 *
 * ret_clocks  of each place and of home, to be freed
 * Errors      ENOMEM
 */
granary_err clock_ask(const struct places *places, struct trace_clock **ret_clocks);

/* On the machine itself: answer each byte of the standard input with a line, until it ends. */
void clock_answer(void);

#endif
