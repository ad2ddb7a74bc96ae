/*
 * What the clients of a session share and may all write: its table of counters (contract/shm.h) and the pages of its
 * mutable tables (contract/mutable.h). The store makes each file when it is first asked for, keeps it while the session
 * lives, and never looks into it.
 */
#ifndef STORE_SHARED_H
#define STORE_SHARED_H

#include "store/core/core.h"

/* What a client names by a kind and number of struct gr_map. False: it is none of these. */
bool shared_is(const struct gr_map *map);

/* Make the file, or let it grow to what is asked for. Errors: EFULL /dev/shm is full · ENOENT more pages than there may
 * be · ENOMEM */
granary_err shared_open(struct session *session, const struct gr_map *map);
/* The files that a store left for the session. */
granary_err shared_adopt(struct session *session);
/* What a client maps of it; 0 when the session has none. */
uint64_t shared_bytes(const struct session *session, const struct gr_map *map);
/* A descriptor to read and write it; -1 with the error set. */
int shared_descriptor(const struct session *session, const struct gr_map *map, granary_err *ret_err);
/* Unlink them. */
void shared_close(struct session *session);

#endif
