/*
 * Rooms that their writers can spare: the current one of each client, while nothing is being made in it. Who needs
 * memory may have it: its writer finds it taken when it comes back, and asks for another one.
 */
#ifndef STORE_SPARE_H
#define STORE_SPARE_H

#include "store/core/core.h"

/* Close those of the session's clients. False: there is none. */
bool spare_take(struct session *session);

/* Whether the client has yet to find that it was taken: it is not granted to it before. */
bool spare_is_taken(const struct client *client, const struct segment *segment);

/* Those that the last store had taken, and did not get to close; and those that it granted, where the answer was lost. */
void spare_adopt(struct store *store);

#endif
