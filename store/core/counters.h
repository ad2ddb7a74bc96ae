/*
 * Counters of a session: a table its clients share (contract/shm.h, struct gr_counters). The store makes it when it is
 * first asked for, keeps it while the session lives, and never looks into it.
 */
#ifndef STORE_COUNTERS_H
#define STORE_COUNTERS_H

#include "store/core/core.h"

/* Make the table, if it is not there. Errors: EFULL /dev/shm is full · ENOMEM */
granary_err counters_open(struct session *session);
/* The table that a store left for the session, if there is one. */
granary_err counters_adopt(struct session *session);
/* What a client maps of it; 0 when the session has none. */
uint64_t counters_bytes(const struct session *session);
/* A descriptor to read and write it; -1 with the error set. */
int counters_descriptor(const struct session *session, granary_err *ret_err);
/* Unlink it. */
void counters_close(struct session *session);

#endif
