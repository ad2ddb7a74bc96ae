/*
 * What a killed instance leaves: daemons that are about to end, shared memory, files. Whoever calls these holds the
 * instance's lock, so no supervisor runs.
 */
#ifndef CLI_LEFTOVERS_H
#define CLI_LEFTOVERS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/instance.h"

/* The supervisor's lock, in the runtime directory: it marks the directory as an instance's. */
#define LEFTOVERS_LOCK "lock"

/* Results of fragments that private instances run, in a folder below the directory that the first of them spills to. */
#define LEFTOVERS_FRAGMENTS "fragments"

/*
 * Whether the runtime directory may become this instance's: it is empty, or an instance's already. EEXIST: it holds
 * files of somebody else, which stopping an instance must not touch.
 */
granary_err leftovers_check_directory(const struct gr_instance *instance);

/*
 * Wait until the daemons of a killed supervisor are gone. The kernel tells them and they end by themselves, which may
 * take a moment; who takes too long is killed.
 */
void leftovers_await(const struct gr_instance *instance);

/* Whether there is something that the next daemons can take over, or refuse to: shared memory, a scheduler's state. */
bool leftovers_found(const struct gr_instance *instance);

#define LEFTOVERS_LOGS_MAX 256

/* Where the daemons' logs of an instance's last run are kept, when it has a name. False: none are there. */
bool leftovers_logs(const struct gr_instance *instance, char ret_path[LEFTOVERS_LOGS_MAX]);

/* Remove the instance's shared memory, spill files (but persistent ones), its files in the runtime directory and that
 * if nothing is left, and the directory above when it is ours. What stays of one with a name are its logs. keep_socket:
 * and the store's socket, which is a service manager's. */
void leftovers_sweep(const struct gr_instance *instance, bool keep_socket);

#endif
