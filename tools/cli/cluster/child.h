/* Commands of others, run and heard. */
#ifndef CLI_CLUSTER_CHILD_H
#define CLI_CLUSTER_CHILD_H

#include <stdbool.h>

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

#endif
