/*
 * Objects that contain others. The records of one parent are a family: PENDING while its creator prepares it, CONTAINS
 * from the moment the parent is sealed. When the parent is gone, the family ends record by record, in slices of the
 * loop's turns, whatever its size and however deep it goes.
 */
#ifndef STORE_CONTAIN_H
#define STORE_CONTAIN_H

#include "store/core/core.h"

struct family;

/*
 * Note that the client's object `parent` will contain these. first: how many it noted before.
 * Errors: ENOENT one of them is not there · EEXIST the parent is there · EBUSY another client makes it · EINVAL · EFULL
 *         · ENOMEM
 */
granary_err
contain_add(struct client *client, granary_id parent, uint32_t first, const unsigned char *ids, uint32_t count);

/* The parent will not be made: forget what it was to contain. */
void contain_forget(struct client *client, granary_id parent);

/* What the client noted for the parent it is about to seal, or NULL. */
struct family *contain_pending(const struct client *client, granary_id parent);
/* The parent is sealed, with GR_FLAG_PARENT. */
void contain_sealed(struct session *session, struct family *family);

/*
 * The first object in the parent, or in one of those, however deep, that `wanted` says is wanted, in *ret_id; false:
 * there is none.
 */
bool contain_find(struct session *session, granary_id parent, bool (*wanted)(const struct gr_slot *slot),
                  granary_id *ret_id);

/* The parent was deleted: its family, which no longer belongs to that id; NULL: it has none. */
struct family *contain_leave(struct session *session, granary_id parent);
/* ... and its bytes are gone: the family ends. NULL is fine. */
void contain_end(struct session *session, struct family *family);

/* What the client prepared and did not seal ends. */
void contain_client_gone(struct session *session, uint32_t client);

/* Work off at most so many records. True: there is more. */
bool contain_turn(struct session *session, unsigned most);

/* A record that was found in the ledger. Errors: ENOMEM */
granary_err contain_adopt(struct session *session, uint32_t number);
/* All of them are known: families of sealed parents stay, and those that a living client prepares. */
void contain_adopted(struct session *session, bool (*lives)(const struct store *store, uint32_t client));

/* Forget all families, as the session ends. */
void contain_fini(struct session *session);

#endif
