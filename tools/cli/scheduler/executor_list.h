/* The list of executors. */
#ifndef CLI_EXECUTOR_LIST_H
#define CLI_EXECUTOR_LIST_H

#include "cli/scheduler/table.h"

/* Of a command whose self begins with a table_view: those that the arguments name, or all. pages: without asking the scheduler. Returns the exit status. */
int executor_list(struct cli *cli, bool pages);

#endif
