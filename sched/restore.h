/* A scheduler begins with what the ones before it kept: each space of the state goes to the module that kept it. */
#ifndef SCHED_RESTORE_H
#define SCHED_RESTORE_H

#include "sched/durable/keeper.h"
#include "sched/links/links.h"

/* Give the manager and the links what was kept and start it; its actions are then to be performed. Errors: the state's
 */
granary_err restore_all(struct keeper *keeper, struct manager *manager, struct links *links);

#endif
