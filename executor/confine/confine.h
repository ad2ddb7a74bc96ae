/*
 * An executor that gives up what it does not need, before it runs anything of users: see docs/security.md. Landlock for
 * files, signals and the network, seccomp for system calls, limits, no capability but to read others' files. What it
 * needs later and may not open any more a broker gives it: a process of its own, outside, which opens two things only.
 */
#ifndef EXECUTOR_CONFINE_CONFINE_H
#define EXECUTOR_CONFINE_CONFINE_H

#include <stdbool.h>

#include "base/instance.h"
#include "contract/executor_page.h"

/* Whether GRANARY_CONFINE asks for it. Errors: EINVAL it says something else than yes or strict */
granary_err confine_wished(bool *ret_wished, bool *ret_strict);

/*
 * Confine this process and all it starts, for good. Before it has threads: those would stay free.
 *
 * strict    EPERM instead of less than the highest rung
 * logs      directory of what user code prints
 * slot      its temporary directory is made there, and is TMPDIR from now on
 * ret_rung  what became of it: as much as this kernel allows
 * Errors    EPERM · EINVAL a directory in GRANARY_CONFINE_READ or GRANARY_CONFINE_WRITE is not there · ENOMEM
 */
granary_err
confine(const struct gr_instance *instance, const char *logs, int slot, bool strict, enum gr_confinement *ret_rung);

/* From now on no thread of it makes connections: those it needs are there. */
granary_err confine_connections(void);

/* The environment for an executor that is confined: without what it has no use for, such as keys. NULL: no memory */
char **confine_environment(void);

/* ---- through the broker ---- */

/* Start it. Errors: ENOMEM */
granary_err confine_broker_start(const struct gr_instance *instance);

/* A connection to the instance's store; -1 with the error set. For gr_client_set_connector(). */
int confine_broker_connect(const char *path, granary_err *ret_err);

/* A pidfd of the instance's scheduler, -1: there is none. */
int confine_broker_scheduler(const char *path);

#endif
