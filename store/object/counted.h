/*
 * The ends of leases that the store counts: bits that clients set in their lease pages, and the store finds when it looks
 * (contract/shm.h). So none is lost, whether the store slept, stood still or was another one.
 */
#ifndef STORE_COUNTED_H
#define STORE_COUNTED_H

#include "store/core/core.h"

/* Whether the client has ended the lease that this request is to begin: then it is not begun, and its place is free. */
bool counted_has_ended(struct client *client, uint64_t request);

/* End those that clients have ended, a slice of them. True: there is more. */
bool counted_turn(struct store *store, int64_t now_ns);

/* The same for one client, all of them; and no request of its is on its way that an end could belong to. */
void counted_settle(struct client *client);

#endif
