/* One subtask: lease what it reads, run its operators in order, seal what others need. */
#ifndef EXECUTOR_SUBTASK_SUBTASK_H
#define EXECUTOR_SUBTASK_SUBTASK_H

#include "executor/user/host.h"
#include "granary/store.h"
#include "schema/granary.pb-c.h"

/*
 * Run a subtask. What goes wrong in it is told in the answer, for the scheduler to judge.
 *
 * subtask   as it came: it is checked here
 * ret_done  *gives* the answer: granary__done__free_unpacked()
 * Errors    EUNREACHABLE the store is gone: this process has nothing to live for · ENOMEM no room for the answer
 */
granary_err
subtask_run(struct host *host, granary_client *client, const Granary__Subtask *subtask, Granary__Done **ret_done);

#endif
