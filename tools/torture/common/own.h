/* A store of the run's own, with a caretaker: killed and started again as often as the run wants. */
#ifndef TORTURE_OWN_H
#define TORTURE_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "spawn/spawn.h"
#include "torture/common/guard.h"

#define OWN_PAUSE_NS 80000000 /* between two blows, at most */

struct own_store {
    struct spawned store;
    struct guard guard;
    char memory[32];
    uint64_t kills, restarts;
    bool broken; /* it cannot be started again */
};

/* In a fresh directory, with so many bytes of memory. The struct stays where it is. False: nothing is left; said why */
bool own_store_start(struct own_store *own, uint64_t memory);

/* Kill it -9 and start the next one; now and then the next one is killed as well, while it takes over. */
void own_store_kill(struct own_store *own, uint64_t *seed);

/* Stop it in good order, with all that is left of it. False: it did not end well. */
bool own_store_stop(struct own_store *own);

#endif
