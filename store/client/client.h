/* A connection: its socket, its process, its lease page. Whatever it sends, at worst it is dropped. */
#ifndef STORE_CLIENT_H
#define STORE_CLIENT_H

#include <stddef.h>

#include "store/core/core.h"

/* One that is not connected yet. Errors: ENOMEM */
granary_err client_alloc(struct store *store, struct client **ret_client);
/* It is in no list any more. */
void client_free(struct client *client);

/* Its lease page is there: it counts as one of the session's. */
void client_join(struct client *client, struct session *session);

/*
 * Orphans: clients of the store before, who live, but have not come back to this one yet. Their leases count, and their
 * rings are drained.
 */
void client_join_orphan(struct client *client, struct session *session);
/* Watch its process. False: it is gone, or said goodbye. */
bool client_watch_process(struct client *client);
/* Those without a socket can say goodbye in their lease pages only. */
void clients_check_orphans(struct store *store);
/* The orphan that had this number and is the process which is asking now; NULL: there is none. */
struct client *client_find_orphan(const struct client *who, uint32_t number);
/* It came back by that connection, which ends as a client of its own. */
granary_err client_take_socket(struct client *orphan, struct client *from);

static inline bool
client_is_orphan(const struct client *client)
{
    return client->fd < 0 && client->session != NULL && !client->gone;
}

/* Take a connected socket over. Errors: it was refused, answered and closed. */
granary_err client_accept(struct store *store, int fd);

/*
 * The doorbell it rings when its ring has entries and the store sleeps. It has the same open file, so it may drain it
 * or make it block. That is why each client has its own. It is also why the store never reads one, but is told of
 * each ring by an edge.
 */
granary_err client_open_doorbell(struct client *client);

/* Something arrived, or the peer hung up. */
void client_readable(struct client *client);

/*
 * The client is gone: give back everything it held. Harmless when it is gone already. Freed by clients_bury().
 * why: for the log; NULL when it simply hung up
 */
void client_drop(struct client *client, const char *why);
/* Free those that are gone: at the end of a turn, when nobody has their address any more. */
void clients_bury(struct store *store);

/* Fill the ring's answers in: up to `most` entries. Returns how many there were. */
unsigned ring_drain(struct client *client, unsigned most);
/* What is in it now, and no more than it holds: who fills it as fast as it is emptied holds nobody up. */
void ring_drain_once(struct client *client);
/* Whether an entry was being executed when the last store died. */
bool ring_is_begun(const struct client *client);
/* Tell the client how far that is, and wake it if it sleeps on that. */
void ring_publish(struct client *client);

#endif
