/* Whether an instance's scheduler can answer, found out without asking it. */
#ifndef CLI_SCHEDULER_H
#define CLI_SCHEDULER_H

#include "base/instance.h"
#include "cli/command/command.h"

/* Why it will not answer ("no scheduler runs", "the scheduler is stopped"), or NULL. */
const char *scheduler_trouble(const struct gr_instance *instance);
/* Whether it is stopped (SIGSTOP, a debugger); *ret_pid is its process then. */
bool scheduler_stopped(const struct gr_instance *instance, long *ret_pid);

/* As access_session and access_storing, for what the scheduler is asked: one that is stopped is an error now, not in a
 * minute. */
extern const struct access scheduler_session;
extern const struct access scheduler_storing;
int scheduler_connect(struct cli *cli); /* how scheduler_session is opened */

#endif
