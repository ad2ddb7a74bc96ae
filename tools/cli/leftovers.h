/*
 * What a killed instance leaves: daemons that are about to end, shared memory, files. Whoever calls these holds the
 * instance's lock, so no supervisor runs.
 */
#ifndef CLI_LEFTOVERS_H
#define CLI_LEFTOVERS_H

#include "base/instance.h"

/*
 * Wait until the daemons of a killed supervisor are gone. The kernel tells them and they end by themselves, which may
 * take a moment; who takes too long is killed.
 */
void leftovers_await(const struct gr_instance *instance);

/* Remove the instance's shared memory, spill files and runtime directory, and the directory above when it is ours. */
void leftovers_sweep(const struct gr_instance *instance);

#endif
