/*
 * granary: what keeps an object: pins, references, containers, names and aliases.
 *
 *   pin        keeps an object in memory
 *   reference  keeps an object obtainable for an owner: a deleted object stays until its last reference ends
 *   container  an object that holds others: they stay at least as long as it does
 *   name       text that stands for an id, and can be bound to another in one step
 *   alias      an id that stands for another object
 *
 * The store keeps all of them, and they survive its restart. Those of a client end with that client.
 */
#ifndef GRANARY_HOLD_H
#define GRANARY_HOLD_H

#include "granary/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Longest reason, owner and name, without the NUL. */
#define GRANARY_TEXT_MAX 55

typedef enum granary_pin_scope {
    GRANARY_PIN_CLIENT = 0,  /* ends with this client */
    GRANARY_PIN_SESSION = 1, /* until it is unpinned or the session ends */
    /* as SESSION, and the object is persisted first: after the machine's restart it is there, and can be pinned again
     */
    GRANARY_PIN_PERSISTENT = 2,
} granary_pin_scope;

/*
 * Keep the object in memory (restoring it first if it is spilled). Pins count.
 *
 * Errors  ENOENT · EFULL · EUNREACHABLE; GRANARY_PIN_PERSISTENT also EIO
 */
GRANARY_API granary_err granary_object_pin(granary_client *client, granary_id id, granary_pin_scope scope);

/* Take one pin of that scope back. Errors: ENOENT no such object, or it has no such pin · EUNREACHABLE */
GRANARY_API granary_err granary_object_unpin(granary_client *client, granary_id id, granary_pin_scope scope);

/* Pin with a reason, which listings show. ret_token: what granary_unpin() takes. Errors: as granary_object_pin */
GRANARY_API granary_err granary_pin(granary_client *client, granary_id id, granary_pin_scope scope, const char *reason,
                                    uint64_t *ret_token);

/* Take back the pin of this token. Errors: ENOENT no pin of that token · EPERM it is another client's */
GRANARY_API granary_err granary_unpin(granary_client *client, uint64_t token);

/*
 * Keep the object obtainable for an owner.
 *
 * owner      UTF-8 without control characters; NULL: this client, and the reference ends with it. An owner by name
 *            lasts until it is taken back
 * ret_token  may be NULL
 * Errors     ENOENT · EINVAL
 */
GRANARY_API granary_err granary_reference(granary_client *client, granary_id id, const char *owner,
                                          uint64_t *ret_token);

/*
 * Take one reference of that owner back (NULL: of this client). When it was the last, a counted or deleted object
 * goes.
 *
 * Errors  ENOENT no object, or no reference of that owner · EPERM it ends with another client · EINVAL
 */
GRANARY_API granary_err granary_unreference(granary_client *client, granary_id id, const char *owner);

/*
 * Let an id stand for an object: get, contains and info of alias mean target, which may come later. Deleting the alias
 * does not delete the target. Repeating an existing alias succeeds. At most 4096 aliases lead to one object.
 *
 * Errors  EEXIST it is an object, or an alias of another · EINVAL it would lead to itself · EFULL too many lead there
 */
GRANARY_API granary_err granary_alias(granary_client *client, granary_id alias, granary_id target);

typedef enum granary_name_expect {
    GRANARY_NAME_ANY = 0, /* whatever it was bound to */
    GRANARY_NAME_NEW = 1, /* EEXIST when it is bound */
    GRANARY_NAME_ID = 2,  /* ESTATE when it is not bound to `expected` */
} granary_name_expect;

/*
 * Bind a name to an object, in one step for everybody. A name keeps its object obtainable, like a reference.
 *
 * id            all zero: drop the name
 * ret_previous  what it was bound to; all zero: nothing. May be NULL
 * Errors        EEXIST · ESTATE · ENOENT no such object · EINVAL longer than GRANARY_TEXT_MAX, or empty
 */
GRANARY_API granary_err granary_name_set(granary_client *client, const char *name, granary_id id,
                                         granary_name_expect expect, granary_id expected, granary_id *ret_previous);

/* The object that a name is bound to. Errors: ENOENT */
GRANARY_API granary_err granary_name_get(granary_client *client, const char *name, granary_id *ret_id);

/*
 * Wait until a name is bound, if it is not. No message is sent while nothing happens.
 *
 * timeout_ms  0 looks once; GRANARY_FOREVER
 * ret_id      the object; may be NULL
 * Errors      ETIMEDOUT · EINVAL as granary_name_set() · EUNREACHABLE · ENOMEM
 */
GRANARY_API granary_err granary_name_wait(granary_client *client, const char *name, int timeout_ms, granary_id *ret_id);

typedef struct granary_name {
    char name[GRANARY_TEXT_MAX + 1];
    granary_id id;
} granary_name;

/* Names in order of their bytes, behind `after` (NULL: from the first). Errors: EUNREACHABLE */
GRANARY_API granary_err granary_name_list(granary_client *client, const char *after, granary_name *ret_names,
                                          size_t most, size_t *ret_count);

typedef enum granary_hold_kind {
    GRANARY_HOLD_PIN = 1,
    GRANARY_HOLD_REFERENCE = 2,
    GRANARY_HOLD_CONTAINER = 3,
    GRANARY_HOLD_NAME = 4,
    GRANARY_HOLD_LEASE = 5, /* counted by the store */
} granary_hold_kind;

/* Something that keeps an object. */
typedef struct granary_hold {
    granary_hold_kind kind;
    granary_id id;
    uint64_t token;
    granary_pin_scope scope; /* of a pin */
    granary_id container;    /* of GRANARY_HOLD_CONTAINER */
    uint32_t client;         /* number; 0: none */
    uint32_t pid;
    int64_t since_ms;                /* since the Unix epoch */
    char text[GRANARY_TEXT_MAX + 1]; /* reason, owner or name */
} granary_hold;

/*
 * The records that keep an object, or (id NULL) all of the session, in order of tokens.
 *
 * ret_holds  to be freed with free(); NULL when there are none
 * Errors     EUNREACHABLE · ENOMEM
 */
GRANARY_API granary_err granary_holds(granary_client *client, const granary_id *id, granary_hold **ret_holds,
                                      size_t *ret_count);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_name_list,
                (granary_client * client, const char *after, granary_name *ret_names, size_t most, size_t *ret_count),
                (client, after, ret_names, most, ret_count), granary_name);
GRANARY_SIZED_1(granary_err, granary_holds,
                (granary_client * client, const granary_id *id, granary_hold **ret_holds, size_t *ret_count),
                (client, id, ret_holds, ret_count), granary_hold);

#ifdef __cplusplus
}
#endif
#endif
