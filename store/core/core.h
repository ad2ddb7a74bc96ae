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
#include <sys/epoll.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/instance.h"
#include "contract/shm.h"
#include "contract/store_proto.h"
#include "granary/types.h"
#include "store/base/account.h"
#include "store/base/list.h"
#include "store/base/map.h"
#include "store/base/shmfile.h"
#include "store/base/worker.h"
#include "store/core/events.h"
#include "store/core/root.h"
#include "store/index/index.h"
#include "store/ledger/ledger.h"

#define STORE_MAX_SESSIONS 1000u

struct deleting;
struct gr_frame_reader;
struct segment;

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

#define SESSION_SHARED 2u /* kinds of files that the clients of a session share */

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
    uint64_t shared_bytes[SESSION_SHARED]; /* of the files that clients write (core/shared.h); 0: not made */
    int64_t idle_since_ns;                 /* when its last client left */
    uint64_t index_seen;                   /* bytes of its index and ledger in the account */
    uint64_t splits_seen;                  /* of its index, in the counter */
    uint64_t account_seen;                 /* account.changes when it was published here last */
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

#define STORE_NO_GROUP UINT32_MAX

/* What the loop listens to. */
struct doors {
    int lock_fd;
    int epoll_fd;
    int listen_fd;
    bool lent;    /* ... by a service manager, with its file */
    int spare_fd; /* given up to accept, and refuse, a client when descriptors run out */
    int stop_fd;
    struct source listen, stop, worker;
};

struct sessions {
    struct list all;
    struct list dying;     /* deleted ones that a worker is still busy with */
    struct list shown;     /* who was shown the account longest ago comes first */
    int64_t idle_check_ns; /* when they are looked at for having been idle too long */
    unsigned count, most;
    uint64_t deleting;  /* deleted objects that are still leased */
    int64_t recheck_ns; /* when these are looked at again */
};

struct clients {
    struct list all;       /* before HELLO too */
    struct list strangers; /* before HELLO, who connected first comes first */
    struct list gone;
    uint32_t group; /* gid that may connect too; STORE_NO_GROUP */
    unsigned count, most;
    unsigned orphans; /* without a socket: they were another store's, see client.h */
    unsigned rings;   /* with a lease page */
    bool any_doomed;
    struct lease_region *leases;
    void (*drain)(struct client *client); /* handle what is in its ring now */
};

struct segments {
    struct map by_number;           /* -> struct segment */
    struct list open, closed, idle; /* by their state */
    struct list torn;               /* closed, with dead bytes worth giving back */
    struct list offered;            /* closed, full, and large enough for huge pages */
    uint64_t supplied_bytes;        /* of idle ones with pages that nobody used yet */
    unsigned most;                  /* each has a descriptor */
};

/* Holds all there is, and wires it: what a module declares in its own header is a pointer here. */
/* See flow/limits.h. */
struct limits {
    uint64_t memory_bytes; /* the budget that the account comes to; 0: nobody changed it */
    uint64_t user_bytes;   /* of each user of the group; 0: no limit */
    int64_t next_ns;       /* when it is tried again to come nearer */
};

struct store {
    struct gr_instance instance;
    struct doors doors;
    bool stopping;
    int64_t wall_ms; /* as of this turn of the loop */
    struct recorder recorder;
    struct root root;
    struct account account;
    struct limits limits;
    struct sessions sessions;
    struct clients clients;
    struct segments segments;
    enum shmfile_rung rung; /* of the immutability ladder */
    bool serve_now;         /* memory may be free for who waits */
    struct workers *workers;
    struct victims *victims;
    struct depots *depots;
    struct giveback *giveback;
    struct objects *objects;
    struct holds *holds;
    struct queue *queue;
    struct restores *restores;
    struct reclaim *reclaim;
    struct supply *supply;
    struct spill *spill; /* the file that is being made; see evict.c */
    struct compact *compact;
    struct moves *moves;
    struct doze *doze;
};

/* The segment of that number; NULL: there is none. */
static inline struct segment *
store_segment(const struct store *store, uint32_t number)
{
    const struct map_entry *entry = number == 0 ? NULL : map_find(&store->segments.by_number, map_key_number(number));

    return entry == NULL ? NULL : entry->value.pointer;
}

/* It was deleted; what is left of it only waits for workers. */
static inline bool
session_is_closed(const struct session *session)
{
    return atomic_load_explicit(&session->control->state, memory_order_relaxed) == GR_CONTROL_CLOSED;
}

/* Wait for these events of a descriptor: epoll's flags. Returns -1 with errno. */
static inline int
source_watch(struct store *store, int fd, struct source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.ptr = source}};

    return epoll_ctl(store->doors.epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static inline void
count(struct session *session, enum gr_counter counter, uint64_t more)
{
    _Atomic uint64_t *word = &session->control->counters[counter];

    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + more, memory_order_relaxed);
}

/* Something that began then is done. */
static inline void
count_latency(struct store *store, enum gr_latency_kind kind, int64_t began_ns)
{
    gr_latency_add(&store->root.shm->latencies[kind], gr_now_ns() - began_ns);
}

#endif
