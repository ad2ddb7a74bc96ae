/*
 * granary: objects as streams. Write an object piece by piece when its size is not known. Read a spilled one without
 * bringing all of it back. Move objects through pipes and files, and watch them come and go.
 */
#ifndef GRANARY_STREAM_H
#define GRANARY_STREAM_H

#include "granary/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing ---- */

/* To be used by one thread at a time, like the reader and the subscription below. */
typedef struct granary_writer granary_writer;

/* size_hint: bytes expected; 0 unknown. options may be NULL. Errors: as granary_object_create_with */
GRANARY_API granary_err granary_writer_open(granary_client *client, granary_id id, uint64_t size_hint,
                                            const granary_object_options *options, granary_writer **ret_writer);

/* Append. Errors: EFULL: what was written is still there; try again or abort */
GRANARY_API granary_err granary_writer_append(granary_writer *writer, const void *data, uint64_t size);

/*
 * Room for `size` bytes more at *ret_at, to be filled before the next call; they count as appended.
 *
 * Errors  EFULL: what was written is still there; try again or abort · EINVAL · EUNREACHABLE
 */
GRANARY_API granary_err granary_writer_reserve(granary_writer *writer, uint64_t size, void **ret_at);

/* Seal it under its id with this metadata (NULL, 0: none), and free the writer, success or not. Errors: as seal */
GRANARY_API granary_err granary_writer_seal(granary_writer *writer, const void *meta, uint64_t meta_size);

/* Drop what was written and free the writer. NULL is fine. */
GRANARY_API void granary_writer_abort(granary_writer *writer);

/* ---- reading ---- */

typedef struct granary_reader granary_reader;

/* window: bytes of a spilled object in memory at a time; 0: 8 MiB. Errors: as get */
GRANARY_API granary_err granary_reader_open(granary_client *client, granary_id id, uint64_t window, int timeout_ms,
                                            granary_reader **ret_reader);

/* Bytes of the object's data. */
GRANARY_API uint64_t granary_reader_size(const granary_reader *reader);

/* Copy the next up to size bytes; *ret_size 0 at the end. Errors: as get; what was not read comes next time */
GRANARY_API granary_err granary_reader_read(granary_reader *reader, void *to, uint64_t size, uint64_t *ret_size);

/* The next bytes in place, as many as the window has, at most `most`; valid until the next call. Errors: as get */
GRANARY_API granary_err granary_reader_next(granary_reader *reader, uint64_t most, const void **ret_at,
                                            uint64_t *ret_size);

/* Where the next read begins. Errors: EINVAL beyond the end */
GRANARY_API granary_err granary_reader_seek(granary_reader *reader, uint64_t offset);

/* NULL is fine. */
GRANARY_API void granary_reader_close(granary_reader *reader);

/* ---- through a pipe or a file (docs/formats.md, "Exported objects") ---- */

/* Write the object to a descriptor in checksummed chunks. Errors: as get · EIO */
GRANARY_API granary_err granary_object_export(granary_client *client, granary_id id, int fd, int timeout_ms);

/*
 * Read one exported object from a descriptor and seal it; exactly its bytes are taken from the descriptor.
 *
 * id      NULL: the id it had
 * ret_id  may be NULL
 * Errors  ENOENT end of file before the first byte · ECORRUPT, naming the chunk: nothing is sealed · EEXIST · EFULL ·
 *         EIO
 */
GRANARY_API granary_err granary_object_import(granary_client *client, int fd, const granary_id *id, granary_id *ret_id);

/*
 * The same from somebody who is trusted, such as another instance of the user's.
 *
 * size_hint  bytes of data that are expected: memory for them is asked for at once; 0: unknown
 * options    of the object; may be NULL
 * Errors     as granary_object_import, and as granary_object_create_with
 */
GRANARY_API granary_err granary_object_import_with(granary_client *client, int fd, const granary_id *id,
                                                   uint64_t size_hint, const granary_object_options *options,
                                                   granary_id *ret_id);

/* ---- watching ---- */

typedef enum granary_event_kind {
    GRANARY_EVENT_SEAL = 1,
    GRANARY_EVENT_DELETE = 2,
    GRANARY_EVENT_SPILL = 3,   /* a copy was written to disk */
    GRANARY_EVENT_EVICT = 4,   /* its memory was given up */
    GRANARY_EVENT_RESTORE = 5, /* it is in memory again */
    GRANARY_EVENT_LOST = 6,    /* too slow: `size` events, of any kind above, are missing; list anew */
    GRANARY_EVENT_RESTART = 7, /* the store was restarted: events may be missing; list anew */
} granary_event_kind;

typedef struct granary_event {
    granary_event_kind kind;
    granary_id id;
    uint64_t size;   /* bytes of data */
    int64_t time_ns; /* since the Unix epoch */
} granary_event;

typedef struct granary_subscription granary_subscription;

/* Of granary_subscribe(): tell what is there already first, as GRANARY_EVENT_SEAL, whatever the kinds. */
#define GRANARY_SUBSCRIBE_EXISTING (1u << 31)

/*
 * Watch the session from now on. The store never waits for a subscriber. One that is too slow gets
 * GRANARY_EVENT_LOST.
 *
 * kinds   sum of 1 << granary_event_kind; 0: all. GRANARY_EVENT_LOST and _RESTART are always told.
 *         GRANARY_SUBSCRIBE_EXISTING may be added: an object that is sealed meanwhile may be told twice
 * Errors  EUNREACHABLE · ENOMEM · EFULL
 */
GRANARY_API granary_err granary_subscribe(granary_client *client, unsigned kinds,
                                          granary_subscription **ret_subscription);

/* The next event. Errors: ETIMEDOUT · EUNREACHABLE the session is gone */
GRANARY_API granary_err granary_subscription_next(granary_subscription *subscription, int timeout_ms,
                                                  granary_event *ret_event);

/*
 * A descriptor for poll(), select() and epoll, which is readable when there may be an event. Then call
 * granary_subscription_next() with a timeout of 0 until it gives ETIMEDOUT. Do not read from the descriptor, and do not
 * close it: granary_unsubscribe() does. A thread of the library sleeps for it.
 *
 * Errors  ENOMEM no descriptor, no thread or no memory is left · EFORKED
 */
GRANARY_API granary_err granary_subscription_fd(granary_subscription *subscription, int *ret_fd);

/* NULL is fine. Before granary_disconnect(). */
GRANARY_API void granary_unsubscribe(granary_subscription *subscription);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_writer_open,
                (granary_client * client, granary_id id, uint64_t size_hint, const granary_object_options *options,
                 granary_writer **ret_writer),
                (client, id, size_hint, options, ret_writer), granary_object_options);
GRANARY_SIZED_1(granary_err, granary_object_import_with,
                (granary_client * client, int fd, const granary_id *id, uint64_t size_hint,
                 const granary_object_options *options, granary_id *ret_id),
                (client, fd, id, size_hint, options, ret_id), granary_object_options);
GRANARY_SIZED_1(granary_err, granary_subscription_next,
                (granary_subscription * subscription, int timeout_ms, granary_event *ret_event),
                (subscription, timeout_ms, ret_event), granary_event);

#ifdef __cplusplus
}
#endif
#endif
