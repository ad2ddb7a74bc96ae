/* Bringing spilled objects back. */
#ifndef STORE_RESTORE_H
#define STORE_RESTORE_H

#include "store/core.h"

/*
 * OK: the object is in memory (*ret_slot) or on its way (*ret_slot is NULL).
 * Errors: ENOENT · what went wrong the last time · ENOMEM
 */
granary_err restore_request(struct session *session, granary_id id, struct gr_slot **ret_slot);

/* Start restores that wait for memory. False: the first in line still waits. */
bool restore_serve(struct store *store, int64_t now_ns);

/* The place in line of the first who waits; somebody must. */
uint64_t restore_ticket(const struct store *store);

/* The bytes the first in line waits for; 0: nobody does. */
uint64_t restore_need(const struct store *store);

/* Forget what waits and what failed in a session that ends. */
void restore_fini(struct session *session);

#endif
