/* A connection: its socket, its process, its lease page. Whatever it sends, at worst it is dropped. */
#ifndef STORE_CLIENT_H
#define STORE_CLIENT_H

#include <stddef.h>

#include "store/core.h"

/* Take a connected socket over. Errors: it was refused, answered and closed. */
granary_err client_accept(struct store *store, int fd);

/* Something arrived, or the peer hung up. */
void client_readable(struct client *client);

/* Answer a request; a client that does not read its answers is dropped soon. */
void client_answer(struct client *client, const struct gr_frame *request, const void *body, size_t size, const int *fds,
                   int fd_count);
/* ... with the thread's error message. Returns err. */
granary_err client_answer_error(struct client *client, const struct gr_frame *request, granary_err err);

/*
 * The client is gone: give back everything it held. Harmless when it is gone already. Freed by clients_bury().
 * why: for the log; NULL when it simply hung up
 */
void client_drop(struct client *client, const char *why);
/* Free those that are gone: at the end of a turn, when nobody has their address any more. */
void clients_bury(struct store *store);

/* Fill the ring's answers in: up to `most` entries. Returns how many there were. */
unsigned ring_drain(struct client *client, unsigned most);
/* Tell the client how far that is, and wake it if it sleeps on that. */
void ring_publish(struct client *client);

#endif
