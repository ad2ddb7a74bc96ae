/* Persistent files bring their sessions and objects back when nothing of the instance is in memory: after an orderly
 * stop, or the machine's restart. */
#ifndef STORE_REVIVE_H
#define STORE_REVIVE_H

#include "store/core/core.h"

/*
 * Make every session that a persistent file on disk names, with the file's objects as SPILLED. What cannot be brought
 * back stays where it is, and is logged. Errors: ENOMEM · EIO the directory
 */
granary_err revive(struct store *store);

#endif
