/*
 * The supervisor: one process an instance, which starts the store, the scheduler and the executor pool, watches them,
 * and cleans up.
 *
 * It holds <runtime>/lock (flock) while it lives; the kernel lets go of it whatever happens, so "locked" means "up".
 * Its children end when it ends. What a killed instance left behind is adopted by the next `granary up`, or removed
 * by `granary down`.
 */
#ifndef CLI_SUPERVISOR_H
#define CLI_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/instance.h"

#define SUPERVISOR_SCHEDULERS_MAX 8

struct settings;

struct supervisor_options {
    struct gr_instance instance;
    int schedulers;                  /* one is active, the others take over when it ends; 0: one */
    int executors;                   /* 0 or more */
    const char *memory;              /* SIZE as text, or NULL: the store's default */
    const char *const *spill_dirs;   /* DIR or DIR=SIZE each, the last one is NULL */
    const char *disk_quota;          /* SIZE as text, or NULL */
    const char *remote_dir;          /* of the remote level, or NULL */
    const char *levels;              /* a set as text, or NULL: the store's default */
    const char *state;               /* memory, sqlite */
    const char *chunk_bytes;         /* SIZE as text, or NULL */
    const char *history;             /* runs that the scheduler remembers, as text, or NULL */
    const char *resources;           /* NAME=AMOUNT,... or NULL */
    const char *http;                /* where the page is reached, "": in the directory; NULL: there is none */
    const char *user_memory;         /* SIZE as text, of each member, or NULL */
    bool pressure;                   /* the budget shrinks while the machine has too little memory */
    const struct settings *settings; /* which are read again when it is asked for; NULL: there are none */
    const char *group;               /* whose members may connect to the store, or NULL */
    const char *log;                 /* the level of logs, or NULL: $GRANARY_LOG's */
    const char *log_dir;             /* where logs outlive the instance, in a directory of its name; NULL: nowhere */
    uint64_t log_size;               /* of a log, before it begins anew; 0: never */
    int log_files;                   /* so many older ones are kept */
    bool die_with_parent;            /* stop when the process that started it ends */
    bool foreground; /* this process becomes the supervisor, and tells its service manager how it goes */
    int listen_fd;   /* the store's socket, listening already; 0: the store makes it */
    /* Called in the foreground when all is ready. */
    void (*ready)(void *context);
    void *context;
};

/*
 * Start a supervisor in a process of its own and wait until everything is ready. In the foreground it is this process:
 * then it returns when the instance has ended.
 *
 * ret_pid  of the supervisor; may be NULL
 * Errors   EEXIST an instance is up there · what a daemon could not do, in its words · EINVAL, EPERM the directory ·
 *          ECANCELLED a signal asked for its end while it started
 */
granary_err supervisor_start(const struct supervisor_options *options, pid_t *ret_pid);

/* Whether an instance is up: the supervisor's pid, or 0. */
pid_t supervisor_running(const struct gr_instance *instance);

/*
 * Whether an instance is up. One whose socket a service manager holds, to start it when somebody connects, is started, and
 * waited for.
 *
 * Errors  EUNREACHABLE it did not start · ETIMEDOUT
 */
granary_err supervisor_summon(const struct gr_instance *instance, bool *ret_up);

/*
 * Have the supervisor end without an end of its instance, and wait for that: objects, graphs and clients are there for the
 * next one. None that runs is fine. Errors: EPERM · ETIMEDOUT
 */
granary_err supervisor_make_way(const struct gr_instance *instance);

/*
 * Stop an instance and wait until it is gone; one that was killed is cleaned up instead.
 *
 * ret_stale  set when there was only something to clean up; may be NULL
 * Errors     EUNREACHABLE nothing is there · EBUSY a store without a supervisor serves there · ETIMEDOUT · EPERM
 */
granary_err supervisor_stop(const struct gr_instance *instance, bool *ret_stale);

#endif
