/* Commands of others, run and heard. */
#ifndef CLI_CLUSTER_CHILD_H
#define CLI_CLUSTER_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text/buf.h"
#include "granary/types.h"

/*
 * Run a command and wait for it.
 *
 * argv    ends with NULL; found by $PATH
 * input   what it reads; NULL: nothing
 * out     what it prints is appended; what it says on stderr goes where ours does, or into the message with quiet
 * Errors  ENOENT there is no such command · EFAILED naming it: its exit status is not 0
 */
granary_err child_run(const char *const *argv, const char *input, bool quiet, struct gr_buf *out);

#define CHILD_MESSAGE_MAX 4096

/*
 * Start a command that ends with this thread at the latest, and do not wait for it.
 *
 * ret_output  what it prints and says, in memory; to be closed
 * ret_pidfd   poll() tells its end; to be closed
 * Errors      errno's. A command that is not there ends with status 127, and says so
 */
granary_err child_start(const char *const *argv, pid_t *ret_pid, int *ret_pidfd, int *ret_output);

/* All that it has printed and said so far, appended. Errors: ENOMEM */
granary_err child_said(int output, struct gr_buf *out);

/* Start a command that ends with this thread at the latest, and that reads from and prints to a socket, to be closed. Errors: errno's */
granary_err child_talk(const char *const *argv, pid_t *ret_pid, int *ret_socket);

/* End it, whatever it is at, and wait for that. */
void child_kill(pid_t pid);
/* The same, when it has not ended by itself until then. */
void child_end(pid_t pid, int64_t deadline_ns);

/* The last line that a command of ours has said, without its beginning; or the last one at all. */
void child_message(int output, char ret_message[CHILD_MESSAGE_MAX]);

#endif
