/* Who may connect: the store's own user, and a group when the instance allows one. The kernel says who is asking. */
#ifndef STORE_ADMIT_H
#define STORE_ADMIT_H

#include <sys/socket.h>

#include "store/core/core.h"

/*
 * The gid of a group by name or number.
 * Errors: EINVAL there is none
 */
granary_err admit_group(const char *name, gid_t *ret_gid);

/* Let store->clients.group reach the socket: its directory may be passed, the socket written, nothing else. Errors: EPERM */
granary_err admit_open(const struct store *store);

/*
 * Whether a user may have one more of a thing that all users share. The store's own user always may. In a store that
 * serves a group nobody takes more than he leaves to others. Errors: EFULL
 */
granary_err admit_client(const struct store *store, uid_t user);
granary_err admit_session(const struct store *store, uid_t user);

/*
 * Whether a session may have one more segment. It may not when it has three quarters of what there is for it. In a
 * store that serves a group it may not when its user has half of that. Errors: EFULL
 */
granary_err admit_segment(const struct session *session);
/* Whether a client may have one more room open: not when it leaves no two to others. Errors: EFULL */
granary_err admit_room(const struct client *client);

/*
 * A session's memory beside the capacity, its index and its ledger, may grow, with one limit. Its user's sessions
 * must not have more of it than they leave to others, of as many bytes as the store has for objects.
 */
bool admit_growth(const struct session *session);

/* The peer of a socket, if it may come in. Errors: EPERM */
granary_err admit_peer(const struct store *store, int fd, struct ucred *ret_peer);

#endif
