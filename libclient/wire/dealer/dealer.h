/*
 * The other end of a ZeroMQ ROUTER: ZMTP 3.0 with the mechanism NULL, spoken by the thread that sends and waits. libzmq
 * would hand each message to a thread of its own, which costs a wake-up each way, and its libraries cost a program a
 * third of its start. A dealer belongs to one thread at a time.
 */
#ifndef DEALER_DEALER_H
#define DEALER_DEALER_H

#include <stdbool.h>
#include <stddef.h>

#include "granary/types.h"

struct gr_dealer;

/*
 * Connect to the socket at path, now or when somebody listens there; again whenever the connection breaks. What was sent
 * before that waits. Nothing happens but in the calls below.
 *
 * Errors: ENOMEM · EINVAL the path is too long · errno's, of which EMFILE says what to do
 */
granary_err gr_dealer_open(const char *path, struct gr_dealer **ret_dealer);
/* What has not left is lost. NULL is fine. */
void gr_dealer_close(struct gr_dealer *dealer);

/*
 * Send one message. It has left when this returns, unless there is no connection, or the other end does not read:
 * then it leaves in a later call.
 *
 * Errors: EBUSY 100000 messages wait · ENOMEM
 */
granary_err gr_dealer_send(struct gr_dealer *dealer, const void *bytes, size_t size);

/*
 * Take the next message without waiting. Its bytes are valid until the next call; NULL: there is none. A message of
 * several frames is none of ours, and is dropped.
 *
 * Errors: ENOMEM: it is still there
 */
granary_err gr_dealer_receive(struct gr_dealer *dealer, const void **ret_bytes, size_t *ret_size);

/*
 * Whether a connection was lost and another one is ready. To the other end this one is a stranger then, and what had left
 * by the lost one may not have come.
 */
bool gr_dealer_is_another(const struct gr_dealer *dealer);

/*
 * Wait until there is a message, a plain descriptor is readable, or gr_dealer_is_another() begins to hold, at most timeout_ms
 * (-1: for ever).
 *
 * dealer     may be NULL
 * fds        what else to wait for; -1 is passed over. ready_fds[i] is set for each
 * Returns    true when anything is there
 */
bool gr_dealer_wait(struct gr_dealer *dealer, const int *fds, bool *ready_fds, size_t fd_count, int timeout_ms);

/* An epoll that has the connection in it from now on, also a later one: readable, something may have come. */
void gr_dealer_watch(struct gr_dealer *dealer, int epoll_fd);

#endif
