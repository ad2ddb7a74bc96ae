/* Sessions: made when the first client names one, kept until the store stops. */
#ifndef STORE_SESSION_H
#define STORE_SESSION_H

#include "store/core/core.h"
#include "store/level/level.h"

/* The session of that name ("" is "default"), or NULL. */
struct session *session_find(const struct store *store, const char *name);

/* In a group's store "default" is each member's own: the name becomes "default-UID" for everybody but the store's user. */
void session_name_own(const struct client *client, char name[64]);

/* The session of that number, or NULL. */
struct session *session_by_number(const struct store *store, uint32_t number);

/*
 * The session of that name ("" is "default"), made for user uid if need be.
 * Errors: EINVAL the name · EFULL too many · ENOMEM · EPERM it is another user's
 */
granary_err session_get(struct store *store, const char *name, uid_t uid, struct session **ret_session);

/* The session that a file of it names, made again as it was. No share of a user's is asked for: what is there comes back.
 * Errors: as session_get() */
granary_err session_revive(struct store *store, const struct level_file *file, struct session **ret_session);

/*
 * Take over the session of that number, which another store left; its index is as that store left it.
 *
 * ret_ended  the name of one that was being deleted, else ""
 * Errors     ENOENT it was being made or deleted · ECORRUPT it makes no sense · EFULL · ENOMEM
 */
granary_err session_adopt(struct store *store, uint32_t number, char ret_ended[64]);

/* Whether a client may use it: EPERM it is another user's, and not shared. */
granary_err session_check_user(const struct session *session, const struct client *client);
/* Whether a client may delete it: EPERM it is another user's. The store's own user may. */
granary_err session_check_owner(const struct session *session, const struct client *client);

/* Tell its clients, those that sleep until the store is back too. */
void session_set_state(struct session *session, enum gr_control_state state);

/* A client came, or left: its idle time begins when it has none. */
void session_used(struct session *session);

/* Free it; what is in shared memory stays. Its restores have ended, see restore_fini(). */
void session_close(struct session *session);
/* Unlink everything of it and free it. It has no clients. */
void session_destroy(struct session *session);

/* Show the account to the session's clients, if it changed since. */
void session_publish(struct session *session);

#endif
