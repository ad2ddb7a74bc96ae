/* Commands of others, run and heard. */
#ifndef CLI_CLUSTER_CHILD_H
#define CLI_CLUSTER_CHILD_H

#include <stdbool.h>
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

/* The last line that a command of ours has said, without its beginning; or the last one at all. */
void child_message(int output, char ret_message[CHILD_MESSAGE_MAX]);

#endif
