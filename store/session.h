/* Sessions: made when the first client names one, kept until the store stops. */
#ifndef STORE_SESSION_H
#define STORE_SESSION_H

#include "store/core.h"

/* The session of that name ("" is "default"), made if need be. Errors: EINVAL · EFULL too many · ENOMEM */
granary_err session_get(struct store *store, const char *name, struct session **ret_session);

/* Unlink everything of it and free it. It has no clients. */
void session_destroy(struct session *session);

/* Show the account to the session's clients, if it changed since. */
void session_publish(struct session *session);

#endif
