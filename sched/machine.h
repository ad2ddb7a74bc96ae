/* What /proc, /sys and the executors' pages tell the task manager of the machine. */
#ifndef SCHED_MACHINE_H
#define SCHED_MACHINE_H

#include "base/instance.h"
#include "sched/core/options.h"

/* instance: must outlive it. */
struct manager_host host_of_machine(struct gr_instance *instance);

/* How far the machine's NUMA nodes, or those of a topology file, are from one another: *ret_nodes rows, to be freed.
 * NULL: there is one node only, or no memory. */
uint32_t *host_distances(uint32_t *ret_nodes);

#endif
