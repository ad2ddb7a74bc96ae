/*
 * granary: looking at an instance without anybody's help. It reads everything by name from shared memory. So it works
 * while the store serves, hangs, is stopped (SIGSTOP) or is dead. It also works on a copy of the files.
 *
 * It believes nothing that it reads: files may be truncated, full of garbage, and change meanwhile. An unreadable
 * part is an error or left out, never a crash. Files are read with pread(), so a truncated one is a short read and
 * not a SIGBUS. A record counts when two reads of it were equal; the number of tries is bounded.
 *
 * Nothing here writes to the instance, takes a lease or wakes anybody. Reading needs the permissions of the store's
 * user.
 *
 * Errors common to all that read  ECORRUPT it is damaged, or changed at every try · EPERM · EIO · ENOMEM
 */
#ifndef GRANARY_INSPECT_H
#define GRANARY_INSPECT_H

#include "granary/hold.h"
#include "granary/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One thread at a time may use it. */
typedef struct granary_inspector granary_inspector;

/*
 * Open an instance, or what is left of one.
 *
 * instance       name or runtime directory; NULL: $GRANARY_INSTANCE, else "default"
 * ret_inspector  to be closed with granary_inspect_close()
 * Errors         EUNREACHABLE no store serves or left an instance there · EPERM · EVERSION · EINVAL · ENOMEM
 */
GRANARY_API granary_err granary_inspect_open(const char *instance, granary_inspector **ret_inspector);

/*
 * Open a copy. It is a directory with the instance's files of /dev/shm, and the spill files below "spill". The files
 * have their names, or those without the instance's prefix ("root", "s1.index", ...). granary_inspect_snapshot()
 * makes one.
 *
 * Errors  EUNREACHABLE no copy lies there · EINVAL the path is too long · EVERSION · the common ones
 */
GRANARY_API granary_err granary_inspect_open_copy(const char *directory, granary_inspector **ret_inspector);

/* NULL is fine. */
GRANARY_API void granary_inspect_close(granary_inspector *inspector);

/*
 * Copy the instance's files into a new directory, sparsely and whatever state they are in. While a store serves, the
 * copy is of no single moment: stop it (SIGSTOP) for one that is.
 *
 * Errors  EEXIST the directory is there · EFULL · EIO
 */
GRANARY_API granary_err granary_inspect_snapshot(granary_inspector *inspector, const char *directory);

/* ---- the instance ---- */

typedef enum granary_store_life {
    GRANARY_STORE_UNKNOWN = 0,  /* a copy */
    GRANARY_STORE_SERVING = 1,  /* its process lives */
    GRANARY_STORE_ADOPTING = 2, /* ... and is taking the instance over */
    GRANARY_STORE_CLOSED = 3,   /* stopped in order */
    GRANARY_STORE_STOPPED = 4,  /* its process is stopped (SIGSTOP, a debugger): nobody is answered */
    GRANARY_STORE_DEAD = 5,     /* it died; the next store takes over what is there */
    GRANARY_STORE_REBOOTED = 6, /* the machine was restarted since */
} granary_store_life;

/* "serving" for GRANARY_STORE_SERVING; "unknown" for a value that is none. Static storage. */
GRANARY_API const char *granary_store_life_name(granary_store_life life);

typedef struct granary_instance_info {
    granary_store_life life;
    uint32_t pid; /* of the store, when it last served */
    uint32_t uid;
    uint64_t epoch;       /* one more each time a store took the instance over */
    int64_t started_ms;   /* since the Unix epoch */
    char runtime[112];    /* directory */
    char spill_dir[512];  /* directory */
    char remote_dir[512]; /* "": there is none */
    uint64_t capacity_bytes;
    uint64_t disk_quota_bytes; /* 0: none */
    int64_t group;             /* gid that may connect; -1: none */
    int rung;                  /* of the immutability ladder */
    uint64_t serial_limit;     /* serials below it may have been given */
    uint64_t stamp_limit;
    uint64_t shm_files; /* files of the instance in shared memory */
    uint64_t shm_bytes; /* ... and memory behind them */
} granary_instance_info;

/* The facts of the instance from its root. Errors: the common ones */
GRANARY_API granary_err granary_inspect_instance(granary_inspector *inspector, granary_instance_info *ret_info);

/* ---- sessions ---- */

typedef enum granary_session_state {
    GRANARY_SESSION_SERVING = 1,
    GRANARY_SESSION_ADOPTING = 2,
    GRANARY_SESSION_CLOSED = 3,
} granary_session_state;

typedef struct granary_inspect_session_info {
    uint32_t number;
    char name[64];
    granary_session_state state;
    uint64_t epoch;
    uint32_t uid; /* who made it */
    bool strict;
    bool shared; /* other users may use it */
    uint32_t clients;
    uint64_t quota_bytes; /* 0: none */
    uint64_t used_bytes;
    int64_t idle_ms; /* 0: never deleted by itself */
    int64_t created_ms;
    int64_t last_used_ms;
    uint32_t pages;        /* of the index */
    uint64_t index_bytes;  /* memory behind its index */
    uint64_t ledger_bytes; /* ... and its ledger */
    bool store_sleeps;
} granary_inspect_session_info;

/*
 * Every session, in order of numbers.
 *
 * ret_infos  to be freed with free(); NULL when there are none
 * Errors     the common ones
 */
GRANARY_API granary_err granary_inspect_sessions(granary_inspector *inspector, granary_inspect_session_info **ret_infos,
                                                 size_t *ret_count);

/* The number of a session. Errors: ENOENT */
GRANARY_API granary_err granary_inspect_session_find(granary_inspector *inspector, const char *name,
                                                     uint32_t *ret_session);

/* The account of the store and what the session has counted. Errors: ENOENT no such session · ECORRUPT */
GRANARY_API granary_err granary_inspect_stat(granary_inspector *inspector, uint32_t session,
                                             granary_store_stat *ret_stat);

/* ---- objects ---- */

/*
 * One page of a session's objects.
 *
 * filter     may be NULL; a filter by owner reads the ledger for each page
 * cursor     *cursor is 0 for the first page and is moved on; 0 again when it was the last
 * most       entries in ret_infos
 * ret_count  how many were filled; may be 0 on a page that is not the last
 * Errors     ENOENT no such session · EINVAL · the common ones
 *
 * Parts of spilled objects that were brought back are left out, as granary_object_list() does.
 * An object that exists all the while comes at least once; twice when the index changes its shape meanwhile.
 */
GRANARY_API granary_err granary_inspect_objects(granary_inspector *inspector, uint32_t session,
                                                const granary_object_filter *filter, uint64_t *cursor, size_t most,
                                                granary_object_info *ret_infos, size_t *ret_count);

/* The facts of one object from the index, also of a deleted one that is still leased. Errors: ENOENT */
GRANARY_API granary_err granary_inspect_object(granary_inspector *inspector, uint32_t session, granary_id id,
                                               granary_object_info *ret_info);

/* The object whose id starts with this hex text. Errors: ENOENT · EINVAL not hex, or more than one starts so */
GRANARY_API granary_err granary_inspect_object_find(granary_inspector *inspector, uint32_t session, const char *prefix,
                                                    granary_id *ret_id);

/* ---- memory ---- */

typedef enum granary_segment_state {
    GRANARY_SEGMENT_OPEN = 1,   /* its writer may write */
    GRANARY_SEGMENT_CLOSED = 2, /* objects only */
    GRANARY_SEGMENT_IDLE = 3,   /* warm memory without objects */
} granary_segment_state;

typedef struct granary_segment_info {
    uint32_t number;
    uint32_t session;
    granary_segment_state state;
    uint32_t writer;         /* client number; 0: the store, or nobody any more */
    uint64_t size_bytes;     /* as granted */
    uint64_t file_bytes;     /* size of the file; less: it was truncated, or is missing (0) */
    uint64_t resident_bytes; /* memory behind it now */
    uint64_t sealed_bytes;   /* ever sealed in it since it was granted */
    uint64_t objects;        /* that lie in it now */
    uint64_t object_bytes;   /* ... and what they take, padded */
    uint32_t node;           /* NUMA node it was asked for */
    bool huge;               /* collapsed to huge pages */
    bool spoiled;            /* its writer truncated it */
    int64_t since_ms;
} granary_segment_info;

/*
 * Every data segment, in order of numbers.
 *
 * ret_infos  to be freed with free(); NULL when there are none
 * Errors     the common ones
 */
GRANARY_API granary_err granary_inspect_segments(granary_inspector *inspector, granary_segment_info **ret_infos,
                                                 size_t *ret_count);

/* ---- directories of spill files ---- */

typedef struct granary_spill_dir_info {
    char path[512];
    granary_level level; /* GRANARY_LEVEL_DISK or GRANARY_LEVEL_REMOTE */
    granary_err failed;  /* of the last file written there; others are written elsewhere, if there is room, meanwhile */
    uint64_t failures;   /* files that could not be written since the store began */
    uint64_t bytes;      /* its files take */
    uint64_t quota_bytes; /* they may take; 0: no limit of its own */
    uint64_t bytes_per_s; /* of objects, written and read lately; 0: not known yet */
} granary_spill_dir_info;

/*
 * Every directory that the store writes spill files in, first those of the disk level.
 *
 * ret_infos  to be freed with free(); NULL when there are none
 * Errors     the common ones
 */
GRANARY_API granary_err granary_inspect_spill_dirs(granary_inspector *inspector, granary_spill_dir_info **ret_infos,
                                                   size_t *ret_count);

/* ---- clients and what they hold ---- */

typedef struct granary_client_info {
    uint32_t number;
    uint32_t session;
    uint32_t pid;
    uint32_t uid;
    char tag[32];
    int64_t since_ms;        /* connected; since the Unix epoch */
    bool alive;              /* its process lives; of a copy: unknown, false */
    bool leaving;            /* said goodbye */
    bool page;               /* its lease page could be read: the fields below tell of it */
    uint64_t leased_objects; /* a lease that several threads took counts once */
    uint64_t leases;
    uint64_t ring_pending; /* entries the store has not answered yet */
    uint32_t waiting;      /* threads that wait for objects */
} granary_client_info;

/*
 * Every client, in order of numbers.
 *
 * ret_infos  to be freed with free(); NULL when there are none
 * Errors     the common ones
 */
GRANARY_API granary_err granary_inspect_clients(granary_inspector *inspector, granary_client_info **ret_infos,
                                                size_t *ret_count);

typedef enum granary_wait_kind {
    GRANARY_WAIT_OBJECT = 1, /* that it is sealed, brought back, pinned or moved */
    GRANARY_WAIT_ROOM = 2,   /* memory to write an object to */
    GRANARY_WAIT_STORE = 3,  /* one that serves: the last one is gone */
    GRANARY_WAIT_ANSWER = 4, /* of the store, to anything else */
    GRANARY_WAIT_COUNTER = 5,
    GRANARY_WAIT_NAME = 6, /* that it leads somewhere, or somewhere else */
    /* Kinds above may come. granary_wait_name() has the words of each. */
} granary_wait_kind;

typedef struct granary_wait_info {
    granary_wait_kind kind;
    uint32_t client; /* number */
    uint32_t session;
    uint32_t pid;
    char tag[32];
    granary_id id;    /* of an object; else all zero */
    uint64_t bytes;   /* of room */
    int64_t since_ms; /* since the Unix epoch */
} granary_wait_info;

/*
 * The waits of living clients, in all sessions; of a process that waits in several threads, the first. Most waits are
 * over before you can read this.
 *
 * ret_infos  to be freed with free(); NULL when there are none
 * Errors     the common ones
 */
GRANARY_API granary_err granary_inspect_waits(granary_inspector *inspector, granary_wait_info **ret_infos,
                                              size_t *ret_count);
/* "an object", "room to write", ... */
GRANARY_API const char *granary_wait_name(granary_wait_kind kind);

typedef struct granary_lease_info {
    granary_id id; /* all zero: no object has that serial (it just went, or the client wrote nonsense) */
    uint64_t serial;
    uint64_t bytes;   /* the object's data and metadata */
    bool deleted;     /* the object goes when this lease ends */
    uint32_t session; /* number */
    uint32_t client;  /* number */
    uint32_t pid;
    char tag[32];
    uint32_t count; /* of leases of this object in this client */
    bool counted;   /* kept by the store in the ledger, for the client's own page was full */
} granary_lease_info;

/*
 * Leases with their clients, in all sessions, in order of clients.
 *
 * id         NULL: every object
 * ret_infos  to be freed with free(); NULL when there are none
 * Errors     the common ones
 */
GRANARY_API granary_err granary_inspect_leases(granary_inspector *inspector, const granary_id *id,
                                               granary_lease_info **ret_infos, size_t *ret_count);

/*
 * Ledger records that keep an object, or (id NULL) all of the session, in order of tokens. Containers that are not
 * sealed yet are among them.
 *
 * ret_holds  to be freed with free(); NULL when there are none
 * Errors     ENOENT no such session · the common ones
 */
GRANARY_API granary_err granary_inspect_holds(granary_inspector *inspector, uint32_t session, const granary_id *id,
                                              granary_hold **ret_holds, size_t *ret_count);

/* ---- tables that change ---- */

/* A mutable table or tensor, as its page and the ledger tell. */
typedef struct granary_table_info {
    uint32_t session;
    granary_id id; /* of the table's object */
    char name[64]; /* "": none is bound to it */
    bool sealed;   /* or about to be */
    bool deleted;  /* its object is gone, and who deleted it died before the others were */
    uint32_t lanes;
    uint32_t writers; /* lanes that have a writer now; of a copy: unknown, 0 */
    int64_t newest;   /* time of the latest write; INT64_MIN: there was none */
    int64_t final;    /* no write at or before it becomes visible any more; INT64_MIN: any may */
    uint64_t rows;    /* numbers that were given to rows */
    uint64_t objects; /* that it keeps: logs, chunks, changes */
    uint64_t bytes;
    uint64_t memory_bytes; /* of them those in memory */
    uint64_t log_bytes;    /* of them those of logs, which stay as long as the table */
    uint32_t durability;   /* a granary_durability of granary/mutable.h */
} granary_table_info;

/*
 * Every mutable table that is not sealed, in order of sessions.
 *
 * ret_infos  to be freed with free(); NULL when there are none
 * Errors     the common ones
 */
GRANARY_API granary_err granary_inspect_tables(granary_inspector *inspector, granary_table_info **ret_infos,
                                               size_t *ret_count);

typedef enum granary_part_kind {
    GRANARY_PART_OTHER = 0, /* an object that somebody put into it */
    GRANARY_PART_LOG = 1,
    GRANARY_PART_ROWS = 2,
    GRANARY_PART_SLAB = 3,
    GRANARY_PART_TILE = 5,
    GRANARY_PART_BASE = 6,
    GRANARY_PART_PIECE = 7,  /* of a durable table, on disk; its lane is its level */
    GRANARY_PART_ROOT = 8,   /* of a durable table, on disk */
    GRANARY_PART_TABLE = 16, /* the object that the name is bound to */
} granary_part_kind;

/* Which part of a mutable table an object is. */
typedef struct granary_table_part {
    granary_id id;
    granary_id table;
    granary_part_kind kind;
    bool open;     /* a writer writes it: it may not leave memory */
    uint32_t lane; /* of the writer */
    uint64_t number;
} granary_table_part;

/* Which part of which table an object is. Errors: ENOENT it is no part of a mutable table · the common ones */
GRANARY_API granary_err granary_inspect_table_part(granary_inspector *inspector, uint32_t session, granary_id id,
                                                   granary_table_part *ret_part);
/* "a chunk of rows", ... */
GRANARY_API const char *granary_part_name(granary_part_kind kind);

/* ---- the flight recorder ---- */

typedef struct granary_flight_event {
    uint64_t sequence; /* 1, 2, ...: a gap is an event that was lost */
    int64_t time_ns;   /* since the Unix epoch */
    uint32_t kind;
    uint32_t session; /* number; 0: of the instance */
    uint32_t client;  /* number; 0: the store's own doing */
    granary_id id;    /* all zero: of no object */
    uint64_t a, b;    /* see granary_flight_event_text() */
} granary_flight_event;

/* "SEAL"; "?" for a kind this library does not know. Static storage. */
GRANARY_API const char *granary_flight_event_name(uint32_t kind);
/* A sentence that tells what a and b of such an event are; "?" for a kind this library does not know. Static storage. */
GRANARY_API const char *granary_flight_event_text(uint32_t kind);

/*
 * Events in order.
 *
 * next       *next is 0 for the oldest that is kept, and is moved behind what was read
 * most       entries in ret_events
 * ret_count  how many were filled; 0: there are no more at the moment
 * Errors     ENOENT the instance has no recorder
 */
GRANARY_API granary_err granary_inspect_events(granary_inspector *inspector, uint64_t *next, size_t most,
                                               granary_flight_event *ret_events, size_t *ret_count);

/* ---- proving that all of it fits together ---- */

typedef enum granary_finding_kind {
    /* Not as it must be: an error of granary, of the disk or of memory, or somebody else's doing. */
    GRANARY_FINDING_DAMAGE = 1,
    /* Worth knowing and allowed: what a store that died left in the middle, and the next one puts right. */
    GRANARY_FINDING_NOTE = 2,
} granary_finding_kind;

typedef struct granary_finding {
    granary_finding_kind kind;
    const char *code; /* what is wrong, the same in every version, such as "object-overlap" */
    uint32_t session; /* number; 0: of the instance */
    granary_id id;    /* all zero: of no object */
    uint64_t number;  /* of the segment, page, client, spill file or token, as the code says; 0: none */
    const char *text; /* a sentence that names the object or file; valid during the call */
} granary_finding;

/* The parts that were examined. */
typedef struct granary_check_summary {
    uint64_t sessions;
    uint64_t pages;   /* of indexes */
    uint64_t objects; /* without aliases, and without parts of objects */
    uint64_t segments;
    uint64_t clients;
    uint64_t holds; /* records of ledgers */
    uint64_t leases;
    uint64_t spill_files;
    uint64_t spill_records;
    uint64_t verified_bytes; /* of spill files, by checksum */
    uint64_t damages;
    uint64_t notes;
    uint64_t tables; /* that change */
} granary_check_summary;

enum {
    GRANARY_CHECK_VERIFY = 1, /* also read all of the spill files and compare every checksum */
};

/*
 * Check the instance's invariants (docs/operations.md lists them). While a store serves, what looks wrong is looked at
 * again before it is reported.
 *
 * report       called for each finding; may be NULL
 * ret_summary  may be NULL
 * Errors       what kept it from looking; damage is no error of the call
 */
GRANARY_API granary_err granary_inspect_check(granary_inspector *inspector, int flags,
                                              void (*report)(void *context, const granary_finding *finding),
                                              void *context, granary_check_summary *ret_summary);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_inspect_instance, (granary_inspector * inspector, granary_instance_info *ret_info),
                (inspector, ret_info), granary_instance_info);
GRANARY_SIZED_1(granary_err, granary_inspect_sessions,
                (granary_inspector * inspector, granary_inspect_session_info **ret_infos, size_t *ret_count),
                (inspector, ret_infos, ret_count), granary_inspect_session_info);
GRANARY_SIZED_1(granary_err, granary_inspect_stat,
                (granary_inspector * inspector, uint32_t session, granary_store_stat *ret_stat),
                (inspector, session, ret_stat), granary_store_stat);
GRANARY_SIZED_2(granary_err, granary_inspect_objects,
                (granary_inspector * inspector, uint32_t session, const granary_object_filter *filter, uint64_t *cursor,
                 size_t most, granary_object_info *ret_infos, size_t *ret_count),
                (inspector, session, filter, cursor, most, ret_infos, ret_count), granary_object_filter,
                granary_object_info);
GRANARY_SIZED_1(granary_err, granary_inspect_object,
                (granary_inspector * inspector, uint32_t session, granary_id id, granary_object_info *ret_info),
                (inspector, session, id, ret_info), granary_object_info);
GRANARY_SIZED_1(granary_err, granary_inspect_segments,
                (granary_inspector * inspector, granary_segment_info **ret_infos, size_t *ret_count),
                (inspector, ret_infos, ret_count), granary_segment_info);
GRANARY_SIZED_1(granary_err, granary_inspect_spill_dirs,
                (granary_inspector * inspector, granary_spill_dir_info **ret_infos, size_t *ret_count),
                (inspector, ret_infos, ret_count), granary_spill_dir_info);
GRANARY_SIZED_1(granary_err, granary_inspect_clients,
                (granary_inspector * inspector, granary_client_info **ret_infos, size_t *ret_count),
                (inspector, ret_infos, ret_count), granary_client_info);
GRANARY_SIZED_1(granary_err, granary_inspect_waits,
                (granary_inspector * inspector, granary_wait_info **ret_infos, size_t *ret_count),
                (inspector, ret_infos, ret_count), granary_wait_info);
GRANARY_SIZED_1(granary_err, granary_inspect_leases,
                (granary_inspector * inspector, const granary_id *id, granary_lease_info **ret_infos,
                 size_t *ret_count),
                (inspector, id, ret_infos, ret_count), granary_lease_info);
GRANARY_SIZED_1(granary_err, granary_inspect_holds,
                (granary_inspector * inspector, uint32_t session, const granary_id *id, granary_hold **ret_holds,
                 size_t *ret_count),
                (inspector, session, id, ret_holds, ret_count), granary_hold);
GRANARY_SIZED_1(granary_err, granary_inspect_tables,
                (granary_inspector * inspector, granary_table_info **ret_infos, size_t *ret_count),
                (inspector, ret_infos, ret_count), granary_table_info);
GRANARY_SIZED_1(granary_err, granary_inspect_table_part,
                (granary_inspector * inspector, uint32_t session, granary_id id, granary_table_part *ret_part),
                (inspector, session, id, ret_part), granary_table_part);
GRANARY_SIZED_1(granary_err, granary_inspect_events,
                (granary_inspector * inspector, uint64_t *next, size_t most, granary_flight_event *ret_events,
                 size_t *ret_count),
                (inspector, next, most, ret_events, ret_count), granary_flight_event);
GRANARY_SIZED_1(granary_err, granary_inspect_check,
                (granary_inspector * inspector, int flags,
                 void (*report)(void *context, const granary_finding *finding), void *context,
                 granary_check_summary *ret_summary),
                (inspector, flags, report, context, ret_summary), granary_check_summary);

#ifdef __cplusplus
}
#endif
#endif
