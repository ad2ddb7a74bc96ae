/*
 * object: the store half of the client. Implements granary/store.h; this header is what the rooms above it
 * (libclient/client) need of a client beyond the public API.
 */
#ifndef OBJECT_OBJECT_H
#define OBJECT_OBJECT_H

#include "base/instance.h"
#include "contract/mutable.h"
#include "granary/store.h"

/* Where the client's instance lives. Borrowed; valid until granary_disconnect(). */
const struct gr_instance *gr_client_instance(const granary_client *client);

/* The session's name. Borrowed; valid until granary_disconnect(). */
const char *gr_client_session(const granary_client *client);

/*
 * How clients of this process reach a store from now on: a connected socket, or -1 with the error set. Before there are
 * threads.
 */
void gr_client_set_connector(int (*connect)(const char *path, granary_err *ret_err));

/*
 * Let a client go on after granary_disconnect(), until this is taken back. Leases, and whatever else the client has, stay.
 * The last one closes the client, on its thread.
 */
void gr_client_hold(granary_client *client);
void gr_client_let_go(granary_client *client);

/* Whether the client is of no use any more: its session was deleted, or its store stopped for good. One load or two. */
bool gr_client_is_over(const granary_client *client);

/* Whether a thread of this process waits for room, and for how many bytes. */
bool gr_client_waits_for_room(const granary_client *client, uint64_t *ret_bytes);

/* What identifies an object for ever, also when its id is used again (contract/shm.h). Errors: ENOENT */
granary_err gr_client_stamp(granary_client *client, granary_id id, uint64_t *ret_stamp);

/* Whether the instance's flight recorder still knows that an object of this id was deleted; another user's is not read.
 */
bool gr_client_was_deleted(granary_client *client, granary_id id);

/* EFORKED, with its message, when the handle was opened by a parent process; else OK. No system call. */
granary_err gr_client_check(const granary_client *client);

/* The same for a call that waits: EINVAL too, when its timeout is none (base/duration.h). */
granary_err gr_client_check_wait(const granary_client *client, int timeout_ms);

/*
 * What the calling thread is inside of: an executor sets it around user code. NULL: it is inside of nothing.
 *
 * graph  key of the graph whose subtask it is: those it submits are parts of that; NULL: none
 * waits  called when the thread begins to wait for an object that is not there, and with NULL when it waits no more
 */
struct gr_in_call {
    const char *graph;
    void (*waits)(void *context, const granary_id *id);
    void *context;
};
/* Borrowed until it is set to NULL. */
void gr_client_set_in_call(const struct gr_in_call *in_call);
const struct gr_in_call *gr_client_in_call(void);

/*
 * Whether what the calling thread is at is to be given up: asked in each slice of a wait for room, which ends then as if
 * its time were over.
 */
struct gr_given_up {
    bool (*is_so)(const void *context);
    const void *context;
};
/* Borrowed until it is set to NULL. */
void gr_client_set_given_up(const struct gr_given_up *given_up);

/* Rooms that hang something on a client. The first one goes last. */
enum gr_client_room { GR_CLIENT_ROOM_MUTABLE, GR_CLIENT_ROOM_CLIENT, GR_CLIENT_ROOMS };

/*
 * What a room above hangs on a client: made by create() at the first call, handed out by every call, and destroyed by
 * granary_disconnect() before the connection closes.
 *
 * create   fills *ret_extension; its error is passed on and the next call tries again. Called with a lock held: it may
 *          not call gr_client_extension() itself
 * destroy  may use the client still
 */
granary_err gr_client_extension(granary_client *client, enum gr_client_room room,
                                granary_err (*create)(granary_client *client, void **ret_extension),
                                void (*destroy)(void *extension), void **ret_extension);

/*
 * What is in an open buffer can be written after the seal, too, until it is let go: its room stays this client's. For
 * objects of which others read only what they were told is complete (contract/mutable.h).
 *
 * Errors  EUNSUPPORTED in a strict session sealed objects cannot be written by anybody
 */
granary_err gr_buffer_keep(granary_client *client, const granary_buffer *buffer);
/* segment: of a kept buffer. */
void gr_buffer_let_go(granary_client *client, uint32_t segment);

/* The session's pages of mutable tables, at least so many of them, mapped to be written: until gr_mutables_unmap(). */
struct gr_mutables_map {
    struct gr_mutable *pages;
    uint32_t count;
    int fd; /* a description of its own: locks that are taken by it are this map's */
    void *base;
    uint64_t size;
};
/* Errors: ENOENT more pages than there may be · EFULL · EUNREACHABLE · EPROTO · ENOMEM */
granary_err gr_mutables_map(granary_client *client, uint32_t pages, struct gr_mutables_map *ret_map);
void gr_mutables_unmap(struct gr_mutables_map *map);

/* granary_buffer_resize() that changes the metadata's size too. Errors: the same */
granary_err gr_buffer_resize(granary_client *client, granary_buffer *buffer, uint64_t data_size, uint64_t meta_size,
                             int timeout_ms);

#endif
