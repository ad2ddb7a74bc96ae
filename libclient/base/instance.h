/*
 * Where an instance lives. Everything about an instance follows from its runtime directory:
 *
 *   <runtime>/lock          held (flock) by the supervisor for its life; contains its pid
 *   <runtime>/store.lock    ... by the store; <runtime>/sched.lock by the scheduler
 *   <runtime>/store.sock    the store's unix socket
 *   <runtime>/sched.sock    the scheduler's ZeroMQ endpoint for clients (ipc://)
 *   <runtime>/pool.sock     ... and for executors
 *   <runtime>/web.sock      the page's, unless it has a port; <runtime>/web.url where it is, with its token; web.html leads there
 *   <runtime>/instance.json what `granary status` tells of it
 *   <runtime>/log/          supervisor.log, store.log, sched.log, pool.log, web.log
 *   <runtime>/schedulers/   a file for each scheduler, active or waiting (base/roster.h)
 *   <runtime>/sched.page    what the scheduler counts (contract/sched_page.h)
 *   <runtime>/state.db      the scheduler's state
 *   <runtime>/stacks/       what threads told of where they are, while it is read (base/stacks.h)
 *   <runtime>/executors/    one page an executor (contract/executor_page.h)
 *   <spill directory>/logs/ what user code printed, see gr_instance_logs()
 *   shared memory           names begin with shm_prefix
 *
 * A store that serves a group (granary-store --group) is another user's to its members. What a member runs at it, a
 * scheduler and executors, is the member's own, and so is the runtime directory: one among the member's instances, in which
 * store.sock is a link to the group's. The store is in the directory `shared` then.
 */
#ifndef BASE_INSTANCE_H
#define BASE_INSTANCE_H

#include <stdbool.h>

#include "granary/types.h"

struct gr_instance {
    char name[64];          /* for humans: the last part of runtime */
    bool named;             /* by a name, not by a path: so it is this user's own, and served by nobody else */
    char runtime[108];      /* directory; short enough that the sockets below it fit sun_path */
    char foreign_link[108]; /* on the way there, somebody else's, who could lead it elsewhere; "": there is none */
    char shared[108]; /* the directory of the group's store that this user is a member of; "": the store is its own */
    char store_socket[108]; /* paths, not endpoints */
    char sched_socket[108];
    char pool_socket[108];
    char shm_prefix[48];     /* "/granary.<uid>.<tag>." */
    char spill_default[108]; /* directory on disk, when none is configured: /var/tmp/granary-<uid>-<tag> */
};

/*
 * Resolve an instance; nothing needs to exist.
 *
 * name    a name ([A-Za-z0-9._-], at most 32), a path (has a '/'), or NULL: $GRANARY_INSTANCE, else "default"
 * Errors  EINVAL bad name; path so long that a socket below it would not fit (the message says how long it may be) ·
 *         EPERM a name, and somebody else's link leads to its directory
 */
granary_err gr_instance_resolve(const char *name, struct gr_instance *ret_instance);

/*
 * Make the runtime directory, if it is not there: 0700. Nobody else may be able to put another one in its place. So
 * the directories above it, and links to it, belong to root or this user. Other users who may write there may not
 * rename files of others.
 *
 * Errors  EPERM it is somebody else's, or below a directory that is · EINVAL no directory, a link · errno's
 */
granary_err gr_instance_make(const struct gr_instance *instance);

/*
 * Whether this user may look into a runtime directory, if it is there, and believe what lies there. Errors: EPERM it is another user's: the message
 * tells whose, and what to do
 */
granary_err gr_instance_check_own(const char *runtime);

/* Whether what a member runs at a group's store is where nobody else was first. Errors: EPERM the message tells who was */
granary_err gr_instance_check_place(const struct gr_instance *instance);

/* Whether this user may look into the store's memory and files. Errors: EPERM it is a group's: the message tells whose */
granary_err gr_instance_check_store(const struct gr_instance *instance);

/* Whether a supervisor watches over the instance, who starts a daemon again when it dies. */
bool gr_instance_supervised(const struct gr_instance *instance);

#define GR_LOGS_MAX 528 /* a path, and its NUL */

/* Where what user code prints is kept: below the directory the store spills to. Nothing needs to exist. */
void gr_instance_logs(const struct gr_instance *instance, char ret_path[GR_LOGS_MAX]);

#define GR_LOG_FOLDER_MAX 33

/* The folder of a graph's files below the logs: its key, or a hash of one that is no good name for a folder. */
void gr_log_folder(const char *graph_key, char ret_folder[GR_LOG_FOLDER_MAX]);

/* Unlink every shared-memory object whose name begins with the instance's prefix. Returns how many there were. */
int gr_instance_sweep_shm(const struct gr_instance *instance);

#endif
