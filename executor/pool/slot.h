/*
 * A slot of the pool and the process in it.
 *
 *   state       entered when                                          next
 *   STARTING    an executor was started                               RUNNING, WAITING, EMPTY, LOST
 *   RUNNING     it said READY: the scheduler knows it                 WAITING, EMPTY
 *   WAITING     it died, or left to be replaced; the next is due      STARTING
 *   EMPTY       it left with status 0: the scheduler told it to       WAITING, when slots are added
 *   LOST        ten executors in a row died before they were ready    WAITING, when slots are added
 */
#ifndef EXECUTOR_POOL_SLOT_H
#define EXECUTOR_POOL_SLOT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/process/daemon.h"
#include "granary/types.h"
#include "topology/topology.h"

enum slot_state { SLOT_STARTING, SLOT_RUNNING, SLOT_WAITING, SLOT_EMPTY, SLOT_LOST, SLOT_STATES };

/* So many executors in a row that die before they are ready give the slot up; between them are growing pauses. */
#define SLOT_DEATHS_MAX 10

struct slot {
    enum slot_state state;
    int number;
    int node;
    pid_t pid; /* 0: none */
    uint64_t start_time;
    int ready_fd;                  /* its executor's pipe, until it is ready; -1 */
    int64_t start_again_ns;        /* WAITING */
    int deaths;                    /* before being ready, in a row */
    char said[GR_DAEMON_LINE_MAX]; /* so far, through the pipe */
    size_t said_size;
};

/* What every executor is started with. */
struct slot_command {
    const char *program;
    const char *instance; /* NULL: the default one */
    sigset_t mask;        /* of signals */
    char **environment;   /* NULL: this process's */
    const struct topology *topology;
};

/* Without a process, waiting for one that is due now. */
void slot_init(struct slot *slot, int number, int node);

/* Have a slot that is EMPTY or LOST get a process again. */
void slot_revive(struct slot *slot, int node);

/* Start an executor in a slot that waits for one. When that fails it waits again. */
void slot_start(struct slot *slot, const struct slot_command *command);

/*
 * Its process ended, as of waitpid(): what its page tells of it. The processes of a program it ran end with it.
 *
 * runtime  directory of the instance
 * Returns  the status to go by: user code that ended the process with status 0 has not left in order
 */
int slot_look_back(const struct slot *slot, const char *runtime, int status);

/* Its process ended, and was reaped; status as of waitpid(), -1: it could not even be started. */
void slot_died(struct slot *slot, int status);

/*
 * Read what the executor says about its start.
 * Errors: what it said, when it could not
 */
granary_err slot_listen(struct slot *slot);

/* Whether it has or will have a process. */
bool slot_in_use(const struct slot *slot);

#endif
