/*
 * The daemons' logs: where they lie, how large they become, and who else hears of them. They are files below
 * <runtime>/log, which may be a link to a directory that outlives the instance. The supervisor keeps them small.
 */
#ifndef CLI_LOGS_H
#define CLI_LOGS_H

#include "cli/instance/supervisor/supervisor.h"

#define LOGS_SIZE  ((uint64_t)16 << 20) /* by default */
#define LOGS_FILES 3

/*
 * Make the directory, and tell processes that are started from now on: the level's file, and the journal when this
 * process's stderr is the journal's.
 *
 * Errors  EPERM, errno's: the directory
 */
granary_err logs_open(const struct supervisor_options *options);

/* The level of all processes of the instance from now on; NULL: the one they were started with. */
void logs_set_level(const struct gr_instance *instance, const char *level);

/*
 * A log that has become too large is copied to NAME.log.1, and begins anew; older ones move on, the oldest goes. Writers
 * keep their files open. When there is no disk for the copy, the log
 * goes on, and begins anew at twice the size.
 */
void logs_rotate(const struct supervisor_options *options);

#endif
