/* Whether an instance's scheduler can answer, found out without asking it. */
#ifndef CLI_SCHEDULER_H
#define CLI_SCHEDULER_H

#include "base/instance.h"
#include "cli/command/cli.h"

/* Why it will not answer ("no scheduler runs", "the scheduler is stopped"), or NULL. */
const char *scheduler_trouble(const struct gr_instance *instance);
/* Whether it is stopped (SIGSTOP, a debugger); *ret_pid is its process then. */
bool scheduler_stopped(const struct gr_instance *instance, long *ret_pid);

/* As cli_connect_existing(), for what the scheduler is asked: one that is stopped is an error now, not in a minute. */
granary_client *scheduler_connect(struct cli *cli, int *ret_status);
/* The same as cli_connect(), for what stores something. */
granary_client *scheduler_connect_storing(struct cli *cli, int *ret_status);

#endif
