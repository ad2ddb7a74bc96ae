/*
 * granary: the object store as a client sees it (libgranary-store, and part of libgranary).
 *
 * An object is data_size bytes of data and meta_size bytes of metadata under a 16-byte id. It is written once, by its
 * creator, and after the seal nobody changes it: readers map it where it lies in shared memory.
 *
 * A view is a lease: while it is held, its addresses are valid and the bytes cannot move, even when the object is
 * deleted or the store goes away. Leases, client pins and unsealed objects end with the process at the latest.
 */
#ifndef GRANARY_STORE_H
#define GRANARY_STORE_H

#include <stdbool.h>

#include "granary/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct granary_client granary_client;

/* Waits for ever. */
#define GRANARY_FOREVER (-1)

typedef struct granary_connect_options {
    const char *instance; /* name or runtime directory; NULL: $GRANARY_INSTANCE, else "default" */
    const char *session;  /* NULL: "default" */
    const char *tag;      /* how listings call this client; NULL: the program's name */
    int timeout_ms;       /* how long to wait for the store to answer; 0: 5000 */
} granary_connect_options;

/*
 * Connect to the store of an instance.
 *
 * options     may be NULL; read before the call returns
 * ret_client  to be closed with granary_disconnect()
 * Blocks      up to timeout_ms
 * Errors      EUNREACHABLE no instance there · EVERSION · EPERM · EFULL too many clients · EINVAL · ENOMEM
 */
GRANARY_API granary_err granary_connect(const granary_connect_options *options, granary_client **ret_client);

/* Close: gives back every lease, client pin and unsealed object. NULL is fine. No other call may be in progress. */
GRANARY_API void granary_disconnect(granary_client *client);

/* An object being built: writable until seal or abort. The fields below "private" belong to the library. */
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

/* Wait until the store has taken everything this client sent with GRANARY_NOWAIT; the first error among it. */
GRANARY_API granary_err granary_flush(granary_client *client);

/*
 * Lease an object that is there, or wait until it is.
 *
 * No message and no system call for an object in memory; a spilled one is brought back first.
 *
 * timeout_ms  0: do not wait for an object that does not exist yet; GRANARY_FOREVER. A spilled object is waited for
 *             with a timeout of at least 30 s, for it exists
 * ret_view    to be given to granary_object_release()
 * Errors      ENOENT (timeout 0) · ETIMEDOUT · EFULL no room to bring it back · ECORRUPT · EIO · EUNREACHABLE
 */
GRANARY_API granary_err granary_object_get(granary_client *client, granary_id id, int timeout_ms,
                                           granary_view *ret_view);

/*
 * Lease several at once; all or none.
 *
 * ret_views   count views, in the order of ids; the same id may come twice
 * Errors      as get; on failure nothing is leased and *ret_failed (may be NULL) is the index of the one that failed
 */
GRANARY_API granary_err granary_object_get_many(granary_client *client, const granary_id *ids, size_t count,
                                                int timeout_ms, granary_view *ret_views, size_t *ret_failed);

/* End a lease: its pointers are invalid now. Never blocks and never fails; a view that is all zero is ignored. */
GRANARY_API void granary_object_release(granary_client *client, granary_view *view);
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

typedef enum granary_pin_scope {
    GRANARY_PIN_CLIENT = 0,  /* ends with this client */
    GRANARY_PIN_SESSION = 1, /* until it is unpinned or the session ends */
} granary_pin_scope;

/* Keep the object in memory (restoring it first if it is spilled). Pins count. Errors: ENOENT · EFULL · EUNREACHABLE */
GRANARY_API granary_err granary_object_pin(granary_client *client, granary_id id, granary_pin_scope scope);

/* Take one pin of that scope back. Errors: ENOENT no such object, or it has no such pin · EUNREACHABLE */
GRANARY_API granary_err granary_object_unpin(granary_client *client, granary_id id, granary_pin_scope scope);

typedef enum granary_object_state {
    GRANARY_OBJECT_SEALED = 1,   /* in memory */
    GRANARY_OBJECT_SPILLED = 2,  /* on disk */
    GRANARY_OBJECT_DELETING = 3, /* deleted, still leased by somebody */
} granary_object_state;

typedef struct granary_object_info {
    granary_id id;
    granary_object_state state;
    uint64_t data_size; /* bytes */
    uint64_t meta_size; /* bytes */
    uint32_t pins;      /* of every scope */
    bool on_disk;       /* a copy is in a spill file */
    int numa_node;
    int64_t sealed_at_ms; /* since the Unix epoch */
} granary_object_info;

/* What is known of one object, spilled or not. No message. Errors: ENOENT */
GRANARY_API granary_err granary_object_info_get(granary_client *client, granary_id id, granary_object_info *ret_info);

/*
 * Every object of the session, in no order; objects sealed or deleted meanwhile may be there or not.
 *
 * ret_infos  *ret_count entries, to be freed with free(); NULL when there are none
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
    uint64_t index_bytes; /* tables in use */

    /* What the session has counted since it began; those said to be bytes are, the others are times. */
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
    uint64_t table_growths;   /* index tables replaced */
} granary_store_stat;

/* Read the account. No message: works while the store is busy. */
GRANARY_API granary_err granary_store_stat_get(granary_client *client, granary_store_stat *ret_stat);

#ifdef __cplusplus
}
#endif
#endif
