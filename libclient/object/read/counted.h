/* Leases that the store counts, because no hazard was free. */
#ifndef OBJECT_READ_COUNTED_H
#define OBJECT_READ_COUNTED_H

#include "contract/shm.h"
#include "granary/store.h"

struct counted {
    pthread_mutex_t lock;
    uint32_t next; /* the word in which a free place was found last */
    uint64_t held[GR_COUNTED_PLACES / 64];
};

/*
 * Let the store count a lease. Errors: ESTATE · ENOENT the object moved, or went · EFULL too many · ENOMEM · EUNREACHABLE
 */
granary_err counted_lease(granary_client *client, granary_id id, uint64_t serial, uint32_t *ret_place);
/* It has ended. No message and no waiting: the store finds it in the lease page. */
void counted_end(granary_client *client, uint32_t place);

#endif
