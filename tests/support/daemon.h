/*
 * A store of one's own for a test: in a fresh directory, gone without a trace afterwards.
 */
#ifndef SUPPORT_DAEMON_H
#define SUPPORT_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

struct daemon {
    char directory[64]; /* the instance, as granary_connect_options.instance wants it */
    pid_t pid;          /* 0: not running */
    uid_t user;         /* it runs as this uid and gid; 0: as the test does */
};

/*
 * Start granary-store (of $GRANARY_BIN, else beside the tests) in a fresh directory below /tmp and wait until it is
 * ready. It spills into the directory and ends with this process.
 *
 * arguments  further ones, NULL-terminated; may be NULL
 * Returns    false, with the reason on stderr and nothing left behind, when it did not start
 */
bool daemon_start(struct daemon *daemon, const char *const *arguments);

/* The same under another user's uid and gid; only for root. Its shared memory has that uid in its names. */
bool daemon_start_as(struct daemon *daemon, uid_t user, const char *const *arguments);

/* Start it again in the same directory, after daemon_kill(). */
bool daemon_restart(struct daemon *daemon, const char *const *arguments);

/* End it with kill -9, leaving everything as it lies. */
void daemon_kill(struct daemon *daemon);

/*
 * Stop it in good order (it may have been killed already) and remove the directory.
 *
 * Returns  true when it exited with status 0 and left nothing in /dev/shm; after daemon_kill() what lies there is
 *          removed and not held against it
 */
bool daemon_stop(struct daemon *daemon);

/* How many files of the instance lie in /dev/shm. */
int daemon_shm_files(const struct daemon *daemon);

#endif
