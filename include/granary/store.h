/*
 * granary: the object store as a client sees it (libgranary-store, and part of libgranary).
 *
 * An object is data_size bytes of data and meta_size bytes of metadata under a 16-byte id. Its creator writes it
 * once. After the seal nobody changes it. Readers map it where it lies in shared memory.
 *
 * A view is a lease. While you hold it, its addresses are valid and the bytes cannot move, even when the object is
 * deleted or the store goes away. Leases, client pins and unsealed objects end with the process at the latest.
 */
#ifndef GRANARY_STORE_H
#define GRANARY_STORE_H

#include <stdbool.h>

#include "granary/sized.h"
#include "granary/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct granary_client granary_client;

/* Timeouts are milliseconds. This one waits for ever; any other below 0 is EINVAL. */
#define GRANARY_FOREVER (-1)
/* In granary_object_options, where 0 is the default: do not wait at all. */
#define GRANARY_AT_ONCE (-2)

typedef struct granary_connect_options {
    const char *instance; /* name or runtime directory; NULL: $GRANARY_INSTANCE, else "default" */
    const char *session;  /* NULL: "default" */
    const char *tag;      /* how listings call this client; NULL: the program's name */
    int timeout_ms;       /* how long to wait for the store to answer; 0: 5000 */
    int reconnect_ms;     /* how long calls wait for a store that died to be restarted; 0: 10000; -1: not at all */
    bool existing;        /* ENOENT instead of making a session that is not there */
} granary_connect_options;

/*
 * Connect to the store of an instance.
 *
 * The client survives the store. When the store is killed, views stay valid, and objects in memory can still be got.
 * Calls that need the store wait until it is restarted, and continue by themselves.
 *
 * options     may be NULL; read before the call returns
 * ret_client  to be closed with granary_disconnect()
 * Blocks      up to timeout_ms
 * Errors      EUNREACHABLE no instance there · ENOENT no such session, with `existing` · EVERSION · EPERM · EFULL too
 *             many clients · EINVAL · ENOMEM
 */
GRANARY_API granary_err granary_connect(const granary_connect_options *options, granary_client **ret_client);

/*
 * Close: gives back every lease, client pin and unsealed object. NULL is fine. No other call may be in progress. Arrays
 * and streams of granary/arrow.h hold the client: while some of them live, the release of the last one gives it all
 * back.
 */
GRANARY_API void granary_disconnect(granary_client *client);

/*
 * An object being built: writable until seal or abort. The fields below "private" belong to the library. A copy of the
 * struct is the same buffer: resized, sealed or aborted through one of them, the others are spent (ESTATE).
 */
typedef struct granary_buffer {
    granary_id id;
    void *data; /* 64-byte aligned */
    uint64_t data_size;
    void *meta; /* 64-byte aligned; NULL when meta_size is 0 */
    uint64_t meta_size;
    /* private */
    uint64_t offset;
    uint32_t segment;
    uint32_t state;
    uint8_t importance;
    uint8_t next_use;
    uint16_t flags;
    granary_levels persist;
} granary_buffer;

/* A sealed object, leased: read-only. The fields below "private" belong to the library. */
typedef struct granary_view {
    granary_id id;
    const void *data; /* 64-byte aligned; not NULL even when data_size is 0 */
    uint64_t data_size;
    const void *meta; /* NULL when meta_size is 0 */
    uint64_t meta_size;
    /* private */
    uint64_t serial;
    uint64_t lease;
} granary_view;

/*
 * Reserve room for a new object in memory this process may write.
 *
 * Nobody else sees it before granary_object_seal(); of several creators of one id the first to seal wins. If the
 * process dies first, the store takes the room back.
 *
 * timeout_ms  how long to wait for room when memory is full; 0 fails at once; GRANARY_FOREVER
 * Blocks      no message while this process owns room; else one round trip, longer while the store spills
 * Errors      EEXIST already sealed · EFULL larger than the budget, or nothing can be spilled before the timeout
 *             (the message says who holds what) · EINVAL · EUNREACHABLE · ENOMEM
 */
GRANARY_API granary_err granary_object_create(granary_client *client, granary_id id, uint64_t data_size,
                                              uint64_t meta_size, int timeout_ms, granary_buffer *ret_buffer);

/* Options of a new object. All zero is the default. */
typedef struct granary_object_options {
    int importance; /* 0 .. 255: a more important object leaves memory later; 255 only when asked. 0: the default */
    int next_use;   /* 0 unknown, 1 soonest .. 255 never again */
    /* The object lives only as long as a reference or a container holds it: see granary/hold.h. */
    bool counted;
    /* Copied to these levels before seal returns. DISK: survives the machine's restart, with all that it contains. */
    granary_levels persist;
    /* Objects this one contains: each lives at least as long as this one. They must exist. Borrowed until the seal. */
    const granary_id *contains;
    size_t contains_count;
    int timeout_ms; /* for room; 0: 30000; GRANARY_AT_ONCE: fail when there is none; GRANARY_FOREVER */
} granary_object_options;

/*
 * granary_object_create() with options; NULL is the default.
 *
 * Errors  as create · ENOENT a contained object is missing · EUNSUPPORTED the store lacks a level of `persist`
 */
GRANARY_API granary_err granary_object_create_with(granary_client *client, granary_id id, uint64_t data_size,
                                                   uint64_t meta_size, const granary_object_options *options,
                                                   granary_buffer *ret_buffer);

/*
 * Change the size of an unsealed object's data, keeping what both sizes have. It may move: data and meta are new.
 * Growing is cheap while the buffer is the last thing created here (address space is taken ahead); shrinking always is.
 *
 * Errors  as create; the buffer is what it was
 */
GRANARY_API granary_err granary_buffer_resize(granary_client *client, granary_buffer *buffer, uint64_t data_size,
                                              int timeout_ms);

/*
 * Publish the object; every process sees it when this returns. The buffer is spent, success or not.
 *
 * Errors  EEXIST another creator sealed this id first (the room is given back) · EFULL no index room · EUNREACHABLE
 */
GRANARY_API granary_err granary_object_seal(granary_client *client, granary_buffer *buffer);

/* Give the room of an unsealed object back. The buffer is spent. */
GRANARY_API void granary_object_abort(granary_client *client, granary_buffer *buffer);

enum {
    /* Return before the store has seen it: order is kept, granary_flush() waits and reports. */
    GRANARY_NOWAIT = 1,
};

/* Create, copy, seal. meta may be NULL when meta_size is 0. Errors: as create and seal. Waits for room for up to 30 s.
 */
GRANARY_API granary_err granary_object_put(granary_client *client, granary_id id, const void *data, uint64_t data_size,
                                           const void *meta, uint64_t meta_size, int flags);

/* granary_object_put() with options; NULL is the default. Errors: as create_with and seal */
GRANARY_API granary_err granary_object_put_with(granary_client *client, granary_id id, const void *data,
                                                uint64_t data_size, const void *meta, uint64_t meta_size,
                                                const granary_object_options *options, int flags);

/*
 * Store an error under an id, where others expect an object. Every get of it fails with this error and message, and
 * so do gets that already wait. It can be listed, waited for and deleted as any object.
 *
 * err      one of granary_err but GRANARY_OK
 * message  what happened, for humans; borrowed; NULL: none. At most 64 KiB of it are kept
 * Errors   EINVAL err is none · EEXIST something is sealed under this id · as granary_object_put()
 */
GRANARY_API granary_err granary_object_put_error(granary_client *client, granary_id id, granary_err err,
                                                 const char *message);

/*
 * Whether an object is an error, and which.
 *
 * ret_err  the error
 * text     receives its message, cut to size - 1 bytes, and a NUL; may be NULL when size is 0
 * Errors   ESTATE it is an ordinary object · ENOENT · as granary_object_get()
 */
GRANARY_API granary_err granary_object_error(granary_client *client, granary_id id, granary_err *ret_err, char *text,
                                             size_t size);

/*
 * Wait until the store has taken everything this client sent with GRANARY_NOWAIT.
 *
 * Errors  the first one of what was sent since the last flush; its message names the object · EUNREACHABLE
 */
GRANARY_API granary_err granary_flush(granary_client *client);

/*
 * Lease an object that is there, or wait until it is.
 *
 * No message and no system call for an object in memory; a spilled one is brought back first.
 *
 * timeout_ms  for the object to come, or to come back when it is spilled. A restore that is late goes on: ask again.
 *             0: do not wait for an object that does not exist yet; GRANARY_FOREVER. With these two a spilled object
 *             gets 30 s of each store, because it exists, and reconnect_ms to find a store
 * ret_view    to be given to granary_object_release()
 * Errors      ENOENT (timeout 0) · ETIMEDOUT · EFULL no room to bring it back · ECORRUPT · EIO · EUNREACHABLE · of an
 *             object that is an error, that error and its message: see granary_object_put_error()
 */
GRANARY_API granary_err granary_object_get(granary_client *client, granary_id id, int timeout_ms,
                                           granary_view *ret_view);

/*
 * Lease several at once; all or none.
 *
 * ret_views   count views, in the order of ids; the same id may come twice
 * Errors      as get. On failure nothing is leased, and *ret_failed (may be NULL) is the index of the failed one
 */
GRANARY_API granary_err granary_object_get_many(granary_client *client, const granary_id *ids, size_t count,
                                                int timeout_ms, granary_view *ret_views, size_t *ret_failed);

/*
 * Lease several, each for itself: what is not there keeps none of the others back.
 *
 * timeout_ms  of all of them together; 0: nothing is waited for but answers of the store
 * ret_views   count views; all zero of those that were not got
 * ret_errs    count errors, as get's: ENOENT or ETIMEDOUT it is not there, the error an error object holds, ...
 * Errors      of the call itself: EINVAL the timeout · EFORKED. Then nothing is leased
 */
GRANARY_API granary_err granary_object_get_each(granary_client *client, const granary_id *ids, size_t count,
                                                int timeout_ms, granary_view *ret_views, granary_err *ret_errs);

/*
 * Lease those of several that are in memory, or are brought back there in time. A client that waits for room while it
 * holds leases can block others. This call returns the available objects, so the caller can release and retry.
 *
 * All of them must exist: one that does not is ENOENT at once, whatever the timeout (granary_object_wait() waits for
 * such).
 *
 * timeout_ms   for spilled ones to be brought back: here it holds for them, too
 * ret_views    count views; of those that were not there in time all zero
 * ret_missing  how many those are
 * Errors       ENOENT, and as get, without ETIMEDOUT and EFULL. On failure nothing is leased, and *ret_failed (may be
 *              NULL) is the index of the failed one
 */
GRANARY_API granary_err granary_object_get_some(granary_client *client, const granary_id *ids, size_t count,
                                                int timeout_ms, granary_view *ret_views, size_t *ret_missing,
                                                size_t *ret_failed);

/*
 * Lease a part of an object's data. Of a spilled object only the frames that hold the part are read and unpacked; the
 * rest stays on disk.
 *
 * offset, length  bytes; EINVAL when they reach beyond the data
 * timeout_ms      as get, but a part of a spilled object always gets 30 s
 * ret_view        data is the part, data_size its length; meta is NULL
 * Errors          as get
 */
GRANARY_API granary_err granary_object_get_range(granary_client *client, granary_id id, uint64_t offset,
                                                 uint64_t length, int timeout_ms, granary_view *ret_view);

/* The same for an object's metadata. Errors: as granary_object_get_range() */
GRANARY_API granary_err granary_object_get_meta_range(granary_client *client, granary_id id, uint64_t offset,
                                                      uint64_t length, int timeout_ms, granary_view *ret_view);

/*
 * Wait until at least `least` of the objects exist (1: any; count: all). Nothing is leased and nothing is restored.
 *
 * ret_there    count flags, set for those that exist when it returns, also on failure; may be NULL
 * Errors       ETIMEDOUT · EINVAL least > count · EUNREACHABLE
 */
GRANARY_API granary_err granary_object_wait(granary_client *client, const granary_id *ids, size_t count, size_t least,
                                            int timeout_ms, bool *ret_there);

/*
 * End a lease: its pointers are invalid now. Never fails; a view that is all zero is ignored. No message and no
 * waiting.
 */
GRANARY_API void granary_object_release(granary_client *client, granary_view *view);
/* End count leases, as granary_object_release() does each. */
GRANARY_API void granary_object_release_many(granary_client *client, granary_view *views, size_t count);

/* Whether a sealed object of that id exists, in memory or spilled. No message. */
GRANARY_API bool granary_object_contains(granary_client *client, granary_id id);

/*
 * Delete: gone for every later get; the bytes go when the last lease ends.
 *
 * flags   GRANARY_NOWAIT: see granary_flush()
 * Errors  ENOENT · EUNREACHABLE
 */
GRANARY_API granary_err granary_object_delete(granary_client *client, granary_id id, int flags);

/*
 * Delete several. All are tried.
 *
 * ret_errs  of each; may be NULL
 * Errors    the first of them; EUNREACHABLE
 */
GRANARY_API granary_err granary_object_delete_many(granary_client *client, const granary_id *ids, size_t count,
                                                   granary_err *ret_errs);

/*
 * Delete an object and all that it contains, and what those contain. An object that a reference, a name or another
 * container holds besides goes when that lets go. The store takes containers apart a moment after they were deleted:
 * what they held may be there until then.
 *
 * ret_count  how many were deleted
 * Errors     ENOENT no such object · EUNREACHABLE · ENOMEM
 */
GRANARY_API granary_err granary_object_delete_tree(granary_client *client, granary_id id, size_t *ret_count);

/*
 * Free memory now: objects of the session that are not pinned or leased go to disk, or are dropped where a copy is
 * there. The least important ones go first; of those, what is needed last; of those, the oldest.
 *
 * timeout_ms  of all of it; what was begun goes on
 * ret_bytes   how many were freed: at least `bytes`, or all there are
 * Errors      ETIMEDOUT · EFULL, EIO the disk · ENOMEM · EUNREACHABLE; *ret_bytes tells what was freed before
 */
GRANARY_API granary_err granary_evict(granary_client *client, uint64_t bytes, int timeout_ms, uint64_t *ret_bytes);

/* Tell the store about an object's future; -1 leaves a value as it is (see granary_object_options). Errors: ENOENT */
GRANARY_API granary_err granary_object_hint(granary_client *client, granary_id id, int importance, int next_use);

/*
 * Move an object between levels: a copy is made at each level of `to`, then the ones of `from` go.
 *
 *   to DISK                 persist: a copy that survives the machine's restart, and of all that it contains
 *   to MEMORY               bring back
 *   from MEMORY             spill now; EBUSY when it is leased or pinned
 *   to REMOTE, from DISK    keep it at the remote level instead
 *
 * timeout_ms  0: return at once, the store does it in the background (prefetch)
 * Errors      ENOENT · EBUSY · EFULL · EIO · EUNSUPPORTED the level is not there · EINVAL it would lie nowhere
 */
GRANARY_API granary_err granary_object_move(granary_client *client, granary_id id, granary_levels to,
                                            granary_levels from, int timeout_ms);

/* Bring spilled objects back before they are needed. Returns at once. Errors: EUNREACHABLE */
GRANARY_API granary_err granary_object_prefetch(granary_client *client, const granary_id *ids, size_t count);

/* XXH3-128 of the data as 32 hex digits, computed here and now. Errors: as get */
GRANARY_API granary_err granary_object_digest(granary_client *client, granary_id id, int timeout_ms, char ret_text[33]);

typedef enum granary_object_state {
    GRANARY_OBJECT_SEALED = 1,   /* in memory */
    GRANARY_OBJECT_SPILLED = 2,  /* on disk */
    GRANARY_OBJECT_DELETING = 3, /* deleted, still leased by somebody */
    GRANARY_OBJECT_ALIAS = 4,    /* stands for another object */
} granary_object_state;

typedef struct granary_object_info {
    granary_id id;
    granary_object_state state;
    uint64_t data_size; /* bytes */
    uint64_t meta_size; /* bytes */
    uint32_t pins;      /* of every scope */
    bool on_disk;       /* a copy is in a spill file */
    int numa_node;
    int64_t sealed_at_ms;  /* since the Unix epoch */
    granary_levels levels; /* where copies lie */
    int importance;
    int next_use;
    bool persistent; /* survives the machine's restart */
    bool counted;    /* lives only as long as it is referenced or contained */
    bool dropped;    /* deleted by name, held by references or containers */
    bool damaged;    /* its spilled copy could not be read */
    uint64_t serial;
    uint32_t segment;  /* in memory: the data segment; else the spill file */
    uint64_t offset;   /* there */
    granary_id target; /* of an alias */
} granary_object_info;

/* Which objects to list. All zero: every one. */
typedef struct granary_object_filter {
    const char *prefix;    /* hex digits the id begins with; NULL */
    unsigned states;       /* sum of 1 << granary_object_state; 0: any */
    granary_levels levels; /* has a copy at any of these; 0: any */
    uint64_t least_size;   /* data and metadata, bytes */
    uint64_t most_size;    /* 0: any */
    bool pinned;
    const char *owner; /* referenced by this owner, see granary/hold.h; asks the store; NULL */
} granary_object_filter;

/*
 * One page of a listing.
 *
 * filter     may be NULL
 * cursor     *cursor is 0 for the first page and is moved on; 0 again when it was the last
 * most       entries in ret_infos
 * ret_count  how many were filled; may be 0 on a page that is not the last
 * Errors     EINVAL · with an owner in the filter EUNREACHABLE, ENOMEM
 *
 * An object that exists all the while comes exactly once, unless the index grows meanwhile: then it may come twice.
 */
GRANARY_API granary_err granary_object_list_page(granary_client *client, const granary_object_filter *filter,
                                                 uint64_t *cursor, size_t most, granary_object_info *ret_infos,
                                                 size_t *ret_count);

/* The facts of one object, spilled or not. No message. Errors: ENOENT */
GRANARY_API granary_err granary_object_info_get(granary_client *client, granary_id id, granary_object_info *ret_info);

/*
 * Every object of the session, in no order; objects sealed or deleted meanwhile may be there or not.
 *
 * ret_infos  *ret_count entries, to be freed with free(); NULL when there are none
 * Errors     EUNREACHABLE · ENOMEM
 */
GRANARY_API granary_err granary_object_list(granary_client *client, granary_object_info **ret_infos, size_t *ret_count);

/* The object whose id starts with this hex text. Errors: ENOENT · EINVAL not hex, or more than one starts so */
GRANARY_API granary_err granary_object_find(granary_client *client, const char *prefix, granary_id *ret_id);

/* The account of the store: free + reserved + writing + sealed + retiring + pooled = capacity, at every moment. */
typedef struct granary_store_stat {
    uint64_t capacity_bytes;
    uint64_t free_bytes;
    uint64_t reserved_bytes; /* promised to requests under way */
    uint64_t writing_bytes;  /* in rooms that clients write */
    uint64_t sealed_bytes;   /* live objects */
    uint64_t retiring_bytes; /* deleted, still leased */
    uint64_t pooled_bytes;   /* dead or warm, ready for use */
    uint64_t spilled_bytes;  /* raw size of the objects that are on disk only */
    uint64_t disk_bytes;     /* size of the spill files */
    uint64_t objects;        /* sealed and spilled */
    uint64_t objects_spilled;
    uint64_t clients;
    uint64_t index_bytes;  /* shared memory for index, ledger, lease pages: beside the capacity */
    uint64_t remote_bytes; /* size of the files at the remote level */

    /* The session's counters since it began; those said to be bytes are, the others are times. */
    uint64_t seals;
    uint64_t deletes;
    uint64_t evictions;       /* objects dropped from memory, a copy being on disk */
    uint64_t evict_blocked;   /* evictions given up because the object was leased */
    uint64_t spills;          /* objects written to a spill file */
    uint64_t spill_raw;       /* bytes spilled, before compression */
    uint64_t spill_written;   /* bytes written to spill files */
    uint64_t restores;        /* objects brought back from a spill file */
    uint64_t restore_raw;     /* bytes brought back, after decompression */
    uint64_t restore_failed;  /* objects that could not be brought back */
    uint64_t rooms;           /* rooms granted to writers */
    uint64_t rooms_warm;      /* ... from recycled, warm memory */
    uint64_t room_waits;      /* requests for room that had to wait for memory */
    uint64_t room_failures;   /* requests for room that failed */
    uint64_t clients_lost;    /* clients that went away without saying so */
    uint64_t protocol_errors; /* clients dropped because they broke the protocol */
    uint64_t index_splits;    /* index pages split in two, or rebuilt without their tombs */
    uint64_t spill_files;     /* spill files written */
    uint64_t clean_drops;     /* objects dropped from memory for free: their copy was there before room was needed */
    uint64_t compactions;     /* half-dead spill files rewritten */
    uint64_t prefetches;      /* objects brought back before somebody asked for them */
    uint64_t frames_read;     /* frames of spilled objects read and unpacked */
    uint64_t frame_bytes;     /* bytes read from spill files */
    uint64_t slices;          /* parts of spilled objects brought back */
    uint64_t reconnects;      /* clients that came back after the store restarted */
} granary_store_stat;

/* Read the account. No message: works while the store is busy. Errors: EFORKED */
GRANARY_API granary_err granary_store_stat_get(granary_client *client, granary_store_stat *ret_stat);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_connect, (const granary_connect_options *options, granary_client **ret_client),
                (options, ret_client), granary_connect_options);
GRANARY_SIZED_1(granary_err, granary_object_create_with,
                (granary_client * client, granary_id id, uint64_t data_size, uint64_t meta_size,
                 const granary_object_options *options, granary_buffer *ret_buffer),
                (client, id, data_size, meta_size, options, ret_buffer), granary_object_options);
GRANARY_SIZED_1(granary_err, granary_object_put_with,
                (granary_client * client, granary_id id, const void *data, uint64_t data_size, const void *meta,
                 uint64_t meta_size, const granary_object_options *options, int flags),
                (client, id, data, data_size, meta, meta_size, options, flags), granary_object_options);
GRANARY_SIZED_2(granary_err, granary_object_list_page,
                (granary_client * client, const granary_object_filter *filter, uint64_t *cursor, size_t most,
                 granary_object_info *ret_infos, size_t *ret_count),
                (client, filter, cursor, most, ret_infos, ret_count), granary_object_filter, granary_object_info);
GRANARY_SIZED_1(granary_err, granary_object_info_get,
                (granary_client * client, granary_id id, granary_object_info *ret_info), (client, id, ret_info),
                granary_object_info);
GRANARY_SIZED_1(granary_err, granary_object_list,
                (granary_client * client, granary_object_info **ret_infos, size_t *ret_count),
                (client, ret_infos, ret_count), granary_object_info);
GRANARY_SIZED_1(granary_err, granary_store_stat_get, (granary_client * client, granary_store_stat *ret_stat),
                (client, ret_stat), granary_store_stat);

#ifdef __cplusplus
}
#endif
#endif
