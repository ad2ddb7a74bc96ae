/* An instance of a command's own, in a directory of its own: it ends with the command, whatever happens to that. */
#ifndef CLI_PRIVATE_H
#define CLI_PRIVATE_H

#include "cli/instance/supervisor/supervisor.h"

#define PRIVATE_DIRECTORY 108

/*
 * Start one and wait until it is ready.
 *
 * options        its members for a private instance are set here; executors and memory are the caller's
 * meant          when that is at a group's store, this one is, too, and has no store of its own; NULL: it has
 * ret_directory  its name, for who connects
 * Errors         as supervisor_start()
 */
granary_err private_start(struct supervisor_options *options, const struct gr_instance *meant,
                          char ret_directory[PRIVATE_DIRECTORY], pid_t *ret_pid);

/* Stop it and wait for its end. *pid 0: none was started. */
void private_stop(const struct supervisor_options *options, pid_t *pid);

#endif
