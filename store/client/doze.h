/*
 * Going to sleep and waking up, at a cost that follows what is in use and not what there is.
 *
 * A session is awake while its clients' rings are looked at without being asked: its control says so, and its clients
 * ring no doorbell. Every other session's clients ring it at their first entry. So the store need not tell each
 * session each time it sleeps. Before it sleeps it looks once more only at the rings of clients that were told not to
 * ring.
 */
#ifndef STORE_DOZE_H
#define STORE_DOZE_H

#include "store/core/core.h"

/* A new session, or an adopted one: asleep. */
void doze_session(struct session *session);

/* Look at every ring. Returns how many entries were answered. */
unsigned doze_drain_all(struct store *store, int64_t now_ns);
/* At every ring of the sessions that are awake, or only at those that were used lately. */
unsigned doze_drain_awake(struct store *store, int64_t now_ns, bool lately);

/*
 * From now on every client rings. Returns the entries that came before it knew: then the store is awake still, and
 * whoever was.
 */
unsigned doze_sleep(struct store *store, int64_t now_ns);

/* Show the account to the sessions that are awake, and to a few others in turn. True: there are others left. */
bool doze_publish(struct store *store);

#endif
