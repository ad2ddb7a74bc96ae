/*
 * The daemons of an instance, as child processes of its supervisor.
 */
#ifndef CLI_DAEMONS_H
#define CLI_DAEMONS_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/instance/supervisor/supervisor.h"

/* How long a daemon may take to stop before it is killed. */
#define DAEMON_STOP_TIMEOUT_MS 10000

/* In starting order; they are stopped in reverse. The page is there when it was asked for. */
enum daemon_kind { DAEMON_STORE, DAEMON_SCHED, DAEMON_POOL, DAEMON_WEB, DAEMONS };

struct daemon {
    enum daemon_kind kind;
    const char *name; /* in messages and of its log file */
    const char *program;
    pid_t pid; /* 0: not running */
    int restarts;
    int64_t ready_ns; /* when it was ready last */
    int quick_deaths; /* in a row, each soon after it was ready */
};

#define DAEMON_SCHED_INIT ((struct daemon){.kind = DAEMON_SCHED, .name = "sched", .program = "granary-sched"})

/* Where a program of this build or installation is: beside this one. path has PATH_MAX bytes. Errors: ENOENT */
granary_err daemon_program(const char *program, char *path);

/* One of each, none running. */
void daemons_init(struct daemon daemons[static DAEMONS]);

/* What the instance's supervisor wrote of them into instance.json: pids and restarts; 0 where it says nothing. */
void daemons_recall(const struct gr_instance *instance, struct daemon ret_daemons[static DAEMONS]);

/*
 * Start a daemon and wait until it is ready. It ends when this process does, in order. The store is killed instead,
 * so that the next one finds its objects. (In a private instance it ends in order, too.)
 *
 * memory   SIZE as text: the store's budget; NULL: the default
 * needs    a running one without which this does not become ready; NULL: none
 * stop_fd  readable: give up
 * Errors  what the daemon says it could not do · ETIMEDOUT · ECANCELLED given up · ELOST it or needs has ended · ENOENT no such program
 *         beside ours; it may run all the same (pid) and wants daemon_stop()
 */
granary_err daemon_start(struct daemon *daemon, const struct supervisor_options *options, const char *memory,
                         const struct daemon *needs, int stop_fd);

/* Stop a daemon and wait until it is gone: SIGTERM, then SIGKILL when it takes too long. Fine when none runs. */
void daemon_stop(struct daemon *daemon);

/* End a daemon without its having a say. Fine when none runs. */
void daemon_kill(struct daemon *daemon);

#endif
