/* The processes of an instance that run. */
#ifndef CLI_PROCESSES_H
#define CLI_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/instance.h"

struct process {
    char name[32]; /* "supervisor", "store", "sched", "pool", "executor" */
    int64_t pid;
};

/* Supervisor and daemons first, then executors by pid. *ret_processes is to be freed. Errors: ENOMEM */
granary_err processes_list(const struct gr_instance *instance, struct process **ret_processes, size_t *ret_count);

/* The version of granary in a process's program or libraries, as its file says; "" when none is found. */
void process_version(int64_t pid, char *ret_version, size_t size);

/* Whether an executor is one of the pool's, and no program that works along. */
bool process_is_pooled(int64_t pid);

#endif
