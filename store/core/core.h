/*
 * What the store is made of. Everything here belongs to one thread, the loop; workers see only their jobs.
 *
 *   store ── sessions ── index, ledger, segments, what is leased by count, being restored, being deleted
 *         └─ clients  ── socket, pidfd, lease page with its ring
 */
#ifndef STORE_CORE_H
#define STORE_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/instance.h"
#include "contract/shm.h"
#include "contract/store_proto.h"
#include "granary/types.h"
#include "store/base/account.h"
#include "store/base/list.h"
#include "store/base/map.h"
#include "store/base/shmfile.h"
#include "store/base/worker.h"
#include "store/client/doze.h"
#include "store/core/root.h"
#include "store/flow/compact.h"
#include "store/flow/reclaim.h"
#include "store/index/index.h"
#include "store/ledger/ledger.h"
#include "store/level/level.h"
#include "store/segment/depot.h"
#include "store/segment/giveback.h"
#include "store/segment/segment.h"
#include "store/segment/supply.h"
#include "store/segment/victim.h"

#define STORE_MAX_SESSIONS 1000u
#define STORE_TOUCHED      1024u

struct gr_frame_reader;
struct family;

/* What epoll tells of: the first member of whoever is watched. */
enum source_kind {
    SOURCE_LISTEN,
    SOURCE_STOP,
    SOURCE_DOORBELL,
    SOURCE_WORKER,
    SOURCE_CLIENT_SOCKET,
    SOURCE_CLIENT_PROCESS,
};

struct source {
    enum source_kind kind;
    void *owner;
};

/* A deleted object that somebody still leases. */
struct deleting {
    granary_id id;
    uint64_t serial;
    uint64_t footprint;
    struct segment *segment;
    struct family *family; /* what it contains, which stays as long */
};

struct session {
    struct list in_store;
    struct store *store;
    uint32_t number;
    char name[64];
    struct gr_control *control;
    struct index index;
    struct list clients;
    unsigned client_count;
    struct list segments;
    unsigned segment_count;
    struct ledger ledger;
    struct tree names;            /* of the ledger's records */
    struct map aliases;           /* id -> those that lead to it, see alias.h */
    struct map families;          /* id of a parent -> struct family, see contain.h */
    struct list families_pending; /* their parents are not sealed yet */
    uint64_t families_walks;      /* see contain_find() */
    struct list families_settling;
    struct list families_ending;
    struct map leases;          /* counted by the store: serial -> count */
    struct map on_disk;         /* serial of an object in memory -> file, offset of its copy */
    struct map on_remote;       /* stamp -> the same, of objects that have both: see copy.h */
    struct map copying;         /* id -> struct copying: a copy on its way */
    struct list moves;          /* that nobody waits for */
    struct list in_quota_waits; /* of the store: somebody waits for its quota, and needs ... */
    uint64_t quota_need;        /* ... so many bytes of it */
    unsigned jobs;              /* of workers that know the session otherwise than by its segments */
    bool given_back;            /* it is being deleted, and its files are being removed */
    struct map restores;        /* id -> struct restore */
    struct map slices;          /* stamp -> struct slice: of an object */
    struct map failures;        /* id -> struct failure: why an object did not come back */
    struct deleting *deleting;
    size_t deleting_count;
    size_t deleting_room;
    bool recheck_deleting; /* asked for: some of them may be leased no longer */
    bool rechecking;       /* under way, at ... */
    size_t recheck_at;     /* ... this one of them */
    struct list in_awake;  /* of the store: see doze.h */
    struct list in_shown;  /* of the store: whom the account is shown to next */
    /* Of supply.c: what it asked for last, when, and how many such segments are to be made ahead. */
    struct list in_supply_asked;
    uint64_t supply_bytes;
    int64_t supply_ns;
    unsigned supply_node;
    unsigned supply_due;
    struct segment *arena;       /* where small objects are restored to */
    struct list in_arenas;       /* of the store, while it has one */
    uint64_t used_bytes;         /* of the account, by its segments; control has a copy */
    uint64_t pinned_bytes;       /* part of the account's */
    uint8_t seen[GR_USED_BYTES]; /* victim.h's clock when an object of that serial % GR_USED_BYTES was last seen used */
    struct gr_events *events;    /* NULL until somebody subscribes */
    bool events_unsaid;          /* noted since subscribers were woken last */
    bool has_counters;           /* the table of counters was made */
    int64_t idle_since_ns;       /* when its last client left */
    uint64_t index_seen;         /* bytes of its index and ledger in the account */
    uint64_t splits_seen;        /* of its index, in the counter */
    uint64_t account_seen;       /* account.changes when it was published here last */
};

enum client_wait { CLIENT_READY, CLIENT_WAITS_ROOM, CLIENT_WAITS_PIN, CLIENT_WAITS_SLICE, CLIENT_WAITS_MOVE };

struct client {
    struct source socket_source; /* owner: this */
    struct source process_source;
    struct source doorbell_source;
    struct list in_store;
    struct list in_session;
    struct list in_strangers; /* of the store, before HELLO */
    struct list in_queue;     /* of requests for room */
    struct list in_active;
    struct store *store;
    struct session *session; /* NULL before HELLO */
    int fd;
    int pidfd;
    int doorbell_fd; /* eventfd; the client has it too, see client_open_doorbell() */
    pid_t pid;
    uid_t uid;
    int64_t greeting_ns; /* when it must have said HELLO */
    uint32_t number;     /* 0 before HELLO */
    char tag[32];
    bool gone;   /* dropped; freed at the end of the loop's turn */
    bool doomed; /* an answer could not be sent: dropped at the end of the loop's turn */
    bool deaf;   /* ... because it does not read them */
    struct gr_frame_reader *reader;

    struct gr_lease_page *page;
    unsigned page_place;             /* in the store's region of lease pages */
    struct gr_client_record *record; /* NULL before HELLO; its ring_tail is the truth, the page's is for the client */
    int64_t active_ns;               /* when its ring was last found filled */
    struct segment *room;            /* the segment it sealed in last */
    unsigned rooms;                  /* open segments that it may write */
    unsigned counted_at;             /* the word of ended leases that is looked at next, see counted_turn() */

    enum client_wait waits;
    struct gr_frame request; /* the one that is answered late */
    uint64_t min_bytes, want_bytes;
    uint64_t room_request;
    unsigned node; /* NUMA */
    int64_t deadline_ns;
    uint64_t ticket;   /* place in line; 0: none */
    uint64_t bypassed; /* bytes granted to later requests while this one waited */
    bool again;        /* it knows already why there is no room */
    bool counted_wait;
    struct gr_hold pin;
    granary_id slice_id; /* ... that it waits for */
    struct gr_move move;
    granary_id move_on; /* the object that it waits for */
};

/* An object, or a slice of one, on its way back into memory. */
struct restore {
    struct list in_queue; /* store->restores, until a job runs */
    uint64_t ticket;      /* place in line, among the requests for room */
    struct session *session;
    granary_id id;
    uint64_t serial;
    uint32_t file;
    const struct depot *depot;
    struct segment *segment;
    uint64_t footprint;
    unsigned node; /* NUMA, where it was before */
    int64_t deadline_ns;
    bool slice;    /* a part: `id` is the slice's, object.id the object's */
    bool prefetch; /* nobody waits for it */
    uint64_t from; /* in the object's image */
    struct level_object object;
    unsigned parts; /* jobs under way */
    struct level_cost cost;
    granary_err err; /* of the jobs, and its message */
    char message[512];
};

/* Why an object did not come back; told to the next who asks. */
struct failure {
    granary_err err;
    bool lasting; /* damaged: told to everyone who asks */
    int64_t until_ns;
    char message[512];
};

#define STORE_NO_GROUP UINT32_MAX

struct spill;   /* evict.c: one job that writes a file */
struct reading; /* reading.c: one job that reads files */

struct store {
    struct gr_instance instance;
    int lock_fd;
    int epoll_fd;
    int listen_fd;
    int spare_fd; /* given up to accept, and refuse, a client when descriptors run out */
    int stop_fd;
    struct source listen_source, stop_source, worker_source;
    bool stopping;

    struct gr_events *events; /* the flight recorder */
    bool events_unsaid;       /* a session has something to say */

    struct root root;
    struct account account;

    struct list sessions;
    struct list dying;     /* deleted sessions that a worker is still busy with */
    int64_t idle_check_ns; /* when sessions are looked at for having been idle too long */
    struct list clients;   /* all of them, before HELLO too */
    struct list strangers; /* clients before HELLO, who connected first comes first */
    struct list gone;
    uint32_t group;         /* gid that may connect too; STORE_NO_GROUP */
    enum shmfile_rung rung; /* of the immutability ladder */
    unsigned session_count, client_count, max_sessions, max_clients;
    unsigned max_segments; /* each has a descriptor */
    unsigned orphan_count; /* clients without a socket: they were another store's, see client.h */
    unsigned ring_count;   /* clients with a lease page */
    struct lease_region *leases;

    struct map segments;            /* number -> struct segment */
    struct list open, closed, idle; /* segments by their state */
    struct list torn;               /* closed segments with dead bytes worth giving back */
    struct list arenas;             /* sessions that have one */
    struct victims *victims;
    struct list rooms;         /* clients that wait for room, first come first */
    uint64_t ticket;           /* the last one given */
    int64_t rooms_deadline_ns; /* not later than the first deadline among them */
    struct list restores;      /* restores that wait for memory */
    uint64_t need;             /* bytes that the first who waits waits for; 0: nobody waits */
    struct list quota_waits;   /* sessions whose quota is what somebody waits for */

    struct doze doze;
    struct supply supply;
    struct giveback giveback;
    struct reclaim reclaim;
    struct compact compact;

    struct depot depots[DEPOTS];
    struct map files; /* number -> struct spill_file */
    struct workers *workers;
    struct spill *spill;   /* under way */
    struct reading *batch; /* of small restores, not submitted yet */
    char disk_error[512];  /* why the last spill failed, when no level can be spilled to; "" when it did not */
    int64_t disk_retry_ns;

    uint16_t touched[STORE_TOUCHED]; /* wait words bumped since the last wake */
    unsigned touched_count;
    struct session *touched_session;
    int64_t wall_ms;           /* as of this turn of the loop */
    int64_t slice_look_ns;     /* when slices were last told from older ones: see object_evict() */
    uint64_t slice_look_stamp; /* the highest stamp then */
    uint64_t slice_old_stamp;  /* ... and at the look before: slices up to it have had their time */
    int64_t tried_ns;          /* when the queues were last served in vain */
    uint64_t tried_changes;    /* account.changes then */
    int64_t moves_until_ns;    /* when the first client that waits for a move is told that it takes longer */
    bool serve_now;
    bool counts_leases; /* a session has leases that are counted, or had */
    bool holds_end;     /* records of some ledger are to be worked off, see hold_turn() */
    bool any_doomed;
    uint64_t deleting_count; /* deleted objects that are still leased, of all sessions */
    int64_t recheck_ns;      /* when deleted objects that are leased are looked at again */
};

static inline void
count(struct session *session, enum gr_counter counter, uint64_t more)
{
    _Atomic uint64_t *word = &session->control->counters[counter];

    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + more, memory_order_relaxed);
}

#endif
