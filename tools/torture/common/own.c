/* What every campaign against one store does with it. */
#include "torture/common/own.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "torture/common/random.h"

bool
own_store_start(struct own_store *own, uint64_t memory)
{
    *own = (struct own_store){.store = {.directory = "/tmp/granary-torture-XXXXXX", .memory = own->memory}};
    (void)snprintf(own->memory, sizeof own->memory, "%" PRIu64, memory);
    if (mkdtemp(own->store.directory) == NULL) {
        perror("granary: torture");
        return false;
    }
    if (!guard_start(&own->guard, own->store.directory, own->store.directory)) {
        perror("granary: torture");
        (void)own_store_stop(own);
        return false;
    }
    if (!spawn_again(&own->store)) {
        (void)own_store_stop(own);
        return false;
    }
    return true;
}

void
own_store_kill(struct own_store *own, uint64_t *seed)
{
    spawn_kill(&own->store);
    own->kills++;
    while (random_next(seed) % 4 == 0) {
        /* The next one as well, while it takes over. */
        if (!spawn_blindly(&own->store)) {
            break;
        }
        random_pause(seed, OWN_PAUSE_NS / 4);
        spawn_kill(&own->store);
        own->kills++;
    }
    own->broken = !spawn_again(&own->store);
    own->restarts++;
}

bool
own_store_stop(struct own_store *own)
{
    bool clean = spawn_stop(&own->store);

    guard_end(&own->guard);
    return clean;
}
