/*
 * granary: channels. Processes hand one another messages, in order, through shared memory.
 *
 * A channel is a queue: each message goes to one reader. Or it is a broadcast: each reader has every message from when
 * it came. Any process of the session may write, read, or do both. A message is bytes, or an object that the store has.
 * Neither side copies more than the writer's own bytes, and neither sends a message to the store for bytes.
 *
 *   order      messages of one writer come in its order; those of several writers are mixed
 *   room       a writer whose ring is full waits for the slowest reader
 *   deaths     a message is there once its put has returned, whoever dies. When a reader dies before it is done with a
 *              message, another reader gets that, or the next one of the reader's name. `again` is then set. Nothing
 *              else is doubled or lost
 *
 * A message is done with the next granary_channel_get() or granary_channel_done(). docs/channels.md tells more.
 *
 * Threads: one may put while another one gets. Calls of one side take turns.
 */
#ifndef GRANARY_CHANNEL_H
#define GRANARY_CHANNEL_H

#include <stdbool.h>

#include "granary/hold.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct granary_channel granary_channel;

#define GRANARY_CHANNEL_OPEN      1u /* open the channel of that name, if it is there and of the same kind */
#define GRANARY_CHANNEL_BROADCAST 2u /* each reader has every message; else each message goes to one reader */

typedef struct granary_channel_options {
    unsigned flags;      /* GRANARY_CHANNEL_... */
    unsigned objects;    /* of one writer that may wait, 1 to 4096; 0: 64 */
    uint64_t ring_bytes; /* for the messages of one writer: 4096 to 1 GiB, a power of two; 0: 1 MiB */
} granary_channel_options;

/*
 * Make a channel of that name in the client's session.
 *
 * name         1 to GRANARY_TEXT_MAX bytes; names of objects, tables and channels are one set
 * options      may be NULL
 * ret_channel  to be closed with granary_channel_close()
 * Errors       EINVAL · EEXIST the name is taken · ETYPE with GRANARY_CHANNEL_OPEN: it is of another kind · EFULL
 *              memory, or too many tables and channels · EUNSUPPORTED the session is strict · EUNREACHABLE · ENOMEM
 */
GRANARY_API granary_err granary_channel_create(granary_client *client, const char *name,
                                               const granary_channel_options *options, granary_channel **ret_channel);

/* Open a channel. Errors: ENOENT no such name · ETYPE the name is of something else · as create */
GRANARY_API granary_err granary_channel_open(granary_client *client, const char *name, granary_channel **ret_channel);

/* Close it before its client is disconnected. A message that is not done goes to another reader. NULL is fine. */
GRANARY_API void granary_channel_close(granary_channel *channel);

/*
 * Delete a channel with all that waits in it; who waits for it gets ESTATE. Objects that were put lose the channel's
 * reference, and objects that are too large for the ring go with it.
 *
 * Errors  as open
 */
GRANARY_API granary_err granary_channel_delete(granary_client *client, const char *name);

/* No message may be put any more; readers get what is there, and then ESEALED. Errors: ESTATE deleted */
GRANARY_API granary_err granary_channel_seal(granary_channel *channel);

/* ---- writing ---- */

/*
 * Put a message. Up to a quarter of the ring it is copied there; a larger one becomes an object.
 *
 * data        may be NULL when size is 0
 * timeout_ms  for room in the ring and the store; GRANARY_FOREVER
 * Errors      ETIMEDOUT a reader is too slow: nothing was put · ESEALED · ESTATE the channel was deleted · EFULL there
 *             are 32 writers already, or memory is full · EUNREACHABLE · EINVAL · ENOMEM · EPROTO another process has
 *             changed this writer's lane
 */
GRANARY_API granary_err granary_channel_put(granary_channel *channel, const void *data, uint64_t size, int timeout_ms);

/*
 * Room for a message, to be filled in place; then granary_channel_commit(). A later call takes it back.
 *
 * ret_at  aligned to 16 bytes; valid until the commit
 * Errors  as put
 */
GRANARY_API granary_err granary_channel_reserve(granary_channel *channel, uint64_t size, int timeout_ms, void **ret_at);
/* Put what was reserved. Errors: ESTATE nothing is reserved · as put */
GRANARY_API granary_err granary_channel_commit(granary_channel *channel);

/*
 * Put an object that is there. The channel has a reference to it until every reader is done with the message: so a
 * counted object may be left to the channel.
 *
 * Errors  ENOENT no such object · as put
 */
GRANARY_API granary_err granary_channel_put_object(granary_channel *channel, granary_id id, int timeout_ms);

/* ---- reading ---- */

typedef enum granary_channel_from {
    GRANARY_CHANNEL_NEXT = 0,   /* what is put from now on */
    GRANARY_CHANNEL_OLDEST = 1, /* what is still there first, done or not */
} granary_channel_from;

/*
 * Say how this handle reads, before its first get. Without this call, a handle shares a queue with others. Of a
 * broadcast it has what is put from its first get on, until it is closed.
 *
 * name    of a broadcast: a reader that stays when this process ends. The next one of that name goes on there. Several
 *         handles of one name share its messages. Writers wait for it until granary_channel_forget(). NULL: none
 * from    where a reader begins that is not there yet
 * Errors  EINVAL · EUNSUPPORTED a queue has no names · ESTATE this handle reads already, or the channel was deleted ·
 *         EFULL there are 64 readers, or 32 of a broadcast, or of different names
 */
GRANARY_API granary_err granary_channel_join(granary_channel *channel, const char *name, granary_channel_from from);

/*
 * Only look: this handle gets copies of what passes, whoever else reads, and nobody waits for it. When it is too slow,
 * it misses messages, which the next one tells. Of objects that are gone there are no bytes. Errors: as join
 */
GRANARY_API granary_err granary_channel_observe(granary_channel *channel, granary_channel_from from);

typedef struct granary_message {
    const void *data; /* valid until the next get, done or close; aligned to 16 bytes. Of an observed object: NULL */
    uint64_t size;
    granary_id id;   /* of the object, or zero: bytes. The reader has a lease of it */
    uint64_t number; /* 0, 1, ... of its writer's lane */
    uint64_t missed; /* by an observer, right before this one */
    uint32_t writer; /* its lane: 0 to 31 */
    bool again;      /* a reader that died, or was closed, may have seen it */
} granary_message;

/*
 * The next message; the one before is done.
 *
 * timeout_ms  0: what is there; GRANARY_FOREVER
 * Errors      ETIMEDOUT · ESEALED there is nothing more to come · ENOENT an object was deleted, the message is done
 *             with · ESTATE the channel was deleted · ECORRUPT a writer wrote nonsense into its ring, the rest of which
 *             is dropped · EFULL as join · EUNREACHABLE · ENOMEM
 */
GRANARY_API granary_err granary_channel_get(granary_channel *channel, int timeout_ms, granary_message *ret_message);

/* The message that was got is done: it is not given to anybody else. Without one it does nothing. */
GRANARY_API void granary_channel_done(granary_channel *channel);

/* Give up a reader by name, and what waits for it. Errors: ENOENT · ESTATE a process reads by that name; deleted */
GRANARY_API granary_err granary_channel_forget(granary_channel *channel, const char *name);

/* ---- looking ---- */

typedef struct granary_channel_info {
    char name[GRANARY_TEXT_MAX + 1];
    granary_id id;  /* of the channel's object */
    unsigned flags; /* GRANARY_CHANNEL_BROADCAST */
    bool sealed;
    uint32_t writers;  /* now */
    uint32_t readers;  /* now, observers left out */
    uint64_t messages; /* that were put since it was made */
    uint64_t waiting;  /* for the reader that is furthest behind; of a broadcast without one: 0 */
    uint64_t ring_bytes;
    unsigned objects;
} granary_channel_info;

/* Describe a channel. Errors: ESTATE it was deleted · ENOMEM */
GRANARY_API granary_err granary_channel_describe(granary_channel *channel, granary_channel_info *ret_info);

/* Channels of the session by their names; to be freed with free(). Errors: EUNREACHABLE · ENOMEM */
GRANARY_API granary_err granary_channel_list(granary_client *client, granary_channel_info **ret_infos,
                                             size_t *ret_count);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_channel_create,
                (granary_client * client, const char *name, const granary_channel_options *options,
                 granary_channel **ret_channel),
                (client, name, options, ret_channel), granary_channel_options);
GRANARY_SIZED_1(granary_err, granary_channel_get,
                (granary_channel * channel, int timeout_ms, granary_message *ret_message),
                (channel, timeout_ms, ret_message), granary_message);
GRANARY_SIZED_1(granary_err, granary_channel_describe, (granary_channel * channel, granary_channel_info *ret_info),
                (channel, ret_info), granary_channel_info);
GRANARY_SIZED_1(granary_err, granary_channel_list,
                (granary_client * client, granary_channel_info **ret_infos, size_t *ret_count),
                (client, ret_infos, ret_count), granary_channel_info);

#ifdef __cplusplus
}
#endif
#endif
