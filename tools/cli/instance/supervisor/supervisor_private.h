/* What the supervisor's process has from who started it. */
#ifndef CLI_SUPERVISOR_PRIVATE_H
#define CLI_SUPERVISOR_PRIVATE_H

#include <stdint.h>

#include "base/process/notify.h"
#include "cli/instance/supervisor/daemons.h"
#include "cli/instance/supervisor/pressure.h"
#include "cli/instance/supervisor/supervisor.h"

struct supervisor {
    const struct supervisor_options *options; /* current, once it runs */
    struct supervisor_options current;        /* as they are now */
    struct reload *reload;                    /* NULL: no settings */
    struct pressure pressure;
    int lock_fd;
    int signal_fd;                                       /* of what goes on: SIGCHLD, SIGHUP */
    int stop_fd;                                         /* of what ends it: SIGTERM, SIGINT */
    int watch_fd;                                        /* of the lock file */
    struct daemon daemons[DAEMONS];                      /* in starting order; stopped in reverse */
    struct daemon others[SUPERVISOR_SCHEDULERS_MAX - 1]; /* schedulers beside the one in daemons; which is active, the
                                                            roster tells */
    int other_count;
    char memory[32];     /* the store's budget in bytes, once it is up: the scheduler plans with it */
    bool memory_changed; /* since: a scheduler that stood by was started with another one */
    int64_t started_ms;
    int64_t retry_ns;    /* when what could not be started anew is tried again; INT64_MAX: all of it runs */
    int64_t watchdog_ns; /* when the service manager is to hear of it next */
    struct gr_notify notify;
    bool makes_way; /* for another one, who takes over (SIGUSR2) */
    bool found;     /* what another one left when it was killed: the store adopts it */
};

/*
 * The supervisor's process, to the instance's end. Says on report_fd how the start went: an error and its message, or
 * 0. -1: it is in the foreground.
 *
 * Errors  what the start failed of · EFAILED the instance could not go on
 */
granary_err supervisor_main(struct supervisor *self, int report_fd);

#endif
