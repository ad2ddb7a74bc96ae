/* The list of executors. */
#ifndef CLI_EXECUTOR_LIST_H
#define CLI_EXECUTOR_LIST_H

#include "cli/scheduler/table.h"

/* Those of view->keys, or all. pages: without asking the scheduler. Returns the exit status. */
int executor_list(struct table_view *view, bool pages);

#endif
