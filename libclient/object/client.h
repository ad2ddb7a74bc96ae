/*
 * A client of the store, inside the room.
 *
 * Threads  get and release take no lock. Everything that changes rooms or fills the ring holds `lock`; whoever talks on
 *          the socket, or looks for a store that is gone, holds the socket's ticket (socket.c). Mappings are added and
 *          removed under `maps_lock`. A thread may take the ticket first, then maps_lock, then lock; never the other
 *          way round: who needs the store to go on gives `lock` up first.
 * Trust    the store is trusted: it is who decides what a lease means. Its sizes are still checked where they would
 *          make this process read or write outside a mapping.
 */
#ifndef OBJECT_CLIENT_H
#define OBJECT_CLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/instance.h"
#include "contract/shm.h"
#include "contract/store_proto.h"
#include "granary/hold.h"
#include "granary/store.h"
#include "object/object.h"
#include "wire/frame.h"

/* How often a sleeper looks whether the store still lives. */
#define ALIVE_CHECK_NS 1000000000ll
/* A request that is not answered for so long has failed. */
#define REQUEST_TIMEOUT_MS 60000
/* ... and for an object to be written to disk. */
#define PERSIST_WAIT_MS 60000
/* ... and one whose caller is in a hurry: answers take microseconds, unless the store is stopped. */
#define REQUEST_LEAST_MS 2000

/* What exists is waited for so long at least, whatever the caller's timeout; from each store anew. */
#define EXISTS_WAIT_MS 30000

/* ---- mappings (segment.c) ---- */

struct room;

/* What this process has mapped of one data segment. */
struct segment {
    _Atomic(const char *) base; /* read-only; NULL: not mapped */
    uint64_t size_bytes;        /* of base; under maps_lock */
    struct room *room;          /* the writable mapping; under lock */
};

/* So many mappings may lie around before dead ones are looked for. */
#define MAPS_KEPT 256u

#define SEGMENT_LEAF_BITS 12
#define SEGMENT_LEAF      (1u << SEGMENT_LEAF_BITS)
#define SEGMENT_TOP       (1u << (32 - SEGMENT_LEAF_BITS))

typedef _Atomic(struct segment *) segment_leaf;

/* ---- rooms (room.c) ---- */

/* A data segment this process may write, or could: an idle one keeps its mapping for when it is granted again. */
struct room {
    uint32_t segment;
    uint32_t outstanding; /* objects created and not yet sealed or aborted */
    char *base;
    uint64_t mapped_bytes;
    uint64_t size_bytes; /* granted */
    uint64_t used;       /* carved */
    uint64_t populated;  /* bytes from the start that have pages: touching them is never a SIGBUS */
    bool fresh;          /* mapped just now: whatever pages there are, touching them is a fault each */
    bool ours;           /* granted and not yet retired */
    bool current;        /* small objects are carved here */
    struct room *next;   /* in unretired */
};

/* ---- buffers (buffer.c) ---- */

/* The marks of open buffers, which granary_buffer.state has until seal or abort, and is 0 then; under lock. */
struct open_buffers {
    uint32_t *marks;
    uint32_t size; /* a power of two, or 0 */
    uint32_t count;
    uint32_t last; /* given */
};

/* ---- the ring (ring.c) ---- */

/* Where a waiting thread finds the answer to its entry. */
struct ring_answer {
    granary_err err;
    bool done;
};

/* What this side remembers of a ring entry. */
struct ring_note {
    granary_id id;
    struct ring_answer *answer; /* NULL: nobody waits */
    bool report;                /* an error is the next flush's */
};

struct ring {
    uint64_t head;      /* entries ever filled */
    uint64_t harvested; /* entries whose answer was taken */
    uint64_t rung_at;   /* ring_tail when the doorbell was written last: it need not be again while tail stays */
    granary_err first_err;
    granary_id first_id;
    struct ring_note notes[GR_RING_ENTRIES];
};

/* ---- the socket (socket.c) ---- */

/* A thread that waits for the ticket. */
struct turn {
    bool served;
    struct turn *next;
};

struct socket {
    int fd; /* the same number for ever, whatever it is connected to */
    uint32_t seq;
    struct gr_frame_reader *reader;
    uint16_t unanswered;  /* a request whose caller gave up before the answer came; 0: none */
    uint32_t unwanted;    /* a segment that was granted too late; 0: none */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t turn;
    bool taken;
    struct turn *first; /* who waits for the ticket, first come first */
    struct turn **end;
};

/* ---- leases the store counts (counted.c) ---- */

struct counted {
    pthread_mutex_t lock;
    uint32_t next; /* the word in which a free place was found last */
    uint64_t held[GR_COUNTED_PLACES / 64];
};

/* ---- the link (link.c) ---- */

struct link {
    _Atomic uint64_t epoch; /* of the store that answered HELLO last */
    _Atomic bool dead;      /* for good, and why: */
    char why[320];
    _Atomic bool gave_up; /* a wait for the store ended in vain: no other one until life changes */
    _Atomic uint32_t gave_up_life;
    int reconnect_ms;
    /* with the ticket: */
    uint32_t number; /* of this client; 0 before the first HELLO was answered */
    bool greeting;   /* HELLO was sent and is not answered yet */
    char tag[32];
    struct stat control_file;
    struct stat page_file;
};

struct granary_client {
    /* read by every get */
    const struct gr_control *control;
    struct gr_lease_page *page;
    const char *index;      /* GR_INDEX_SPAN bytes */
    segment_leaf *segments; /* SEGMENT_TOP of them, each NULL or SEGMENT_LEAF segments */
    uint32_t fork_generation;
    struct link link;

    _Alignas(64) pthread_mutex_t lock;
    struct room *room;      /* the current one, or NULL */
    struct room *unretired; /* the store could not be told that they are given back */
    uint64_t room_want;
    struct open_buffers open;
    struct ring ring;

    pthread_mutex_t maps_lock;
    _Atomic size_t map_count;
    _Atomic size_t map_limit;     /* above it, dead segments are looked for */
    _Atomic uint32_t segment_end; /* highest segment number met + 1 */

    struct socket socket;
    struct counted counted;
    int doorbell;
    bool spin; /* more than one cpu: spinning may help */
    uint64_t capacity_bytes;
    struct gr_instance instance;
    char session[64];
    bool existing;             /* a session that is not there is not made */
    _Atomic uint64_t requests; /* numbers of requests given so far */

    _Atomic(struct gr_counters *) counters; /* NULL until the first is opened */

    pthread_mutex_t extension_lock;
    void *extension;
    void (*extension_destroy)(void *);
};

/* ---- connect.c ---- */

extern _Atomic uint32_t client_fork_generation;

static inline bool
client_is_ours(const granary_client *client)
{
    return client->fork_generation == atomic_load_explicit(&client_fork_generation, memory_order_relaxed);
}

/* Whether objects are sealed only when no writable mapping of them is left. */
static inline bool
client_is_strict(const granary_client *client)
{
    return (client->control->flags & GR_CONTROL_STRICT) != 0;
}

/* Tell whom it may concern that this thread waits for an object; NULL: no longer. See gr_client_set_in_call(). */
void client_waits(const granary_id *id);

/*
 * waits.c: say in the lease page what this thread is about to wait for; id may be NULL. False: another thread of this
 * process waits already, or this one for what this is a part of. wait_end() takes what was returned.
 */
bool wait_begin(granary_client *client, enum gr_wait_kind kind, const granary_id *id, uint64_t bytes);
void wait_end(granary_client *client, bool begun);

/* An id as text for a message, in the thread's own buffer: valid until the thread's next call. */
const char *id_text(granary_id id);

/* ---- link.c ---- */

/* Whether another store serves than the one this client is linked to. */
static inline bool
link_is_stale(const granary_client *client)
{
    return atomic_load_explicit(&client->control->epoch, memory_order_relaxed) !=
           atomic_load_explicit(&client->link.epoch, memory_order_relaxed);
}

/* Whether the last wait for a store was in vain and nothing has happened since. */
static inline bool
link_gave_up(const granary_client *client)
{
    return atomic_load(&client->link.gave_up) &&
           atomic_load(&client->link.gave_up_life) == atomic_load(&client->control->life);
}

/* EUNREACHABLE when the store is gone for good; else OK. No system call. */
granary_err link_check(granary_client *client);
/* Whether what the index does not show does not exist: so it is, unless the store was stopped. Errors: EUNREACHABLE */
granary_err link_settled(granary_client *client);
/* False when the store hung up or another one serves; looks at the socket, so not for hot paths. */
bool client_alive(granary_client *client);
/* The first HELLO: on success control, page and doorbell are there. Errors: EUNREACHABLE · ETIMEDOUT · EVERSION · ...
 */
granary_err link_first(granary_client *client, int64_t deadline_ns);
/*
 * If the store is gone, wait until another one serves that knows this client; until the deadline, or as long as the
 * options say. Takes the ticket: hold no lock. Errors: EUNREACHABLE
 */
granary_err link_restore(granary_client *client, int64_t deadline_ns);
/* The same with the ticket held. */
granary_err link_hold(granary_client *client, int64_t deadline_ns);
/* The store makes no sense, as the thread's error says: the link is dead. Returns err. */
granary_err link_broken(granary_client *client, granary_err err);

/* ---- socket.c ---- */

granary_err socket_init(struct socket *s);
void socket_fini(struct socket *s);

/* Take and give the ticket: first come, first served. */
void socket_take(granary_client *client);
void socket_give(granary_client *client);
/* False: it could not be had before the deadline. */
bool socket_take_until(granary_client *client, int64_t deadline_ns);
/* The same for a call without a timeout of its own, whose request may take so long. */
bool socket_take_patiently(granary_client *client, int64_t answer_ms);
/*
 * One request and its answer, with the ticket held; sent again to the next store when this one dies. On OK the frame's
 * descriptors are the caller's to take, by setting them to -1, before gr_frame_in_reset(). A refusal is the store's
 * error with its message. Each store has answer_ms for the answer; that one comes is waited for as long as the
 * connection's options say, whatever answer_ms is. Errors: EUNREACHABLE no store, or no answer · EPROTO
 */
granary_err socket_ask(granary_client *client, enum gr_store_op op, const void *body, uint32_t size, int64_t answer_ms,
                       struct gr_frame_in *ret_frame);
/* The same for a call with a timeout of its own: nothing is waited for beyond until_ns. */
granary_err socket_ask_until(granary_client *client, enum gr_store_op op, const void *body, uint32_t size,
                             int64_t answer_ms, int64_t until_ns, struct gr_frame_in *ret_frame);
/*
 * The same for requests that have an object and whose answer carries nothing; takes and gives the ticket. until_ns
 * INT64_MAX: as socket_ask().
 */
granary_err socket_ask_object(granary_client *client, enum gr_store_op op, granary_id id, uint64_t serial,
                              uint64_t request, int64_t answer_ms, int64_t until_ns);
/*
 * One request whose answer has reply_size bytes (0: whatever it has does not matter); takes and gives the ticket.
 * Errors: the store's · EUNREACHABLE · EPROTO the answer has another size
 */
granary_err socket_request(granary_client *client, enum gr_store_op op, const void *body, size_t size, void *ret_reply,
                           size_t reply_size);
/* The next number for a request that is to be done once: see struct gr_hold. */
static inline uint64_t
request_next(granary_client *client)
{
    return atomic_fetch_add_explicit(&client->requests, 1, memory_order_relaxed) + 1;
}

/* ---- counted.c ---- */

/*
 * Let the store count a lease. Errors: ESTATE · ENOENT the object moved, or went · EFULL too many · ENOMEM · EUNREACHABLE
 */
granary_err counted_lease(granary_client *client, granary_id id, uint64_t serial, uint32_t *ret_place);
/* It has ended. No message and no waiting: the store finds it in the lease page. */
void counted_end(granary_client *client, uint32_t place);

/* ---- hold.c ---- */

/*
 * Tell the store what an object will contain, before it is sealed with GR_SEAL_PARENT by this client. On failure
 * nothing is noted. Errors: ENOENT one of them is not there · EEXIST the parent is · EBUSY another client makes it ·
 * EINVAL it would contain itself · EFULL · EUNREACHABLE
 */
granary_err contain_send(granary_client *client, granary_id parent, const granary_id *ids, size_t count);
/*
 * One page of what keeps an object (request->id; all zero: of the whole session) behind request->after, which is moved
 * on, added to the list, which the caller frees. *ret_more: there may be others.
 */
granary_err
holds_page(granary_client *client, struct gr_holds *request, granary_hold **holds, size_t *count, bool *ret_more);
/* The parent will not be sealed after all. */
void contain_cancel(granary_client *client, granary_id parent);

/* ---- segment.c ---- */

/* Map the index, once for the life of the client. Errors: EUNREACHABLE · EPROTO · ENOMEM */
granary_err index_map(granary_client *client);

/* The read-only mapping of a data segment if there is one. */
static inline const char *
segment_base(const granary_client *client, uint32_t number)
{
    const struct segment *leaf =
        atomic_load_explicit(&client->segments[number >> SEGMENT_LEAF_BITS], memory_order_acquire);

    return leaf == NULL ? NULL : atomic_load_explicit(&leaf[number & (SEGMENT_LEAF - 1)].base, memory_order_acquire);
}
/*
 * Map a data segment to read; it may be mapped already. min_bytes: what the caller will reach.
 * Errors: ENOENT the segment is gone · EUNREACHABLE · ENOMEM · EPROTO
 */
granary_err segment_map(granary_client *client, uint32_t number, uint64_t min_bytes, const char **ret_base);
/* Map the session's ring of events, made when needed; the mapping is the caller's. Errors: EUNREACHABLE · ENOMEM ·
 * EPROTO · EFULL */
granary_err events_map(granary_client *client, const char **ret_base, uint64_t *ret_size);
/* The session's table of counters, made when needed, to be written; it stays mapped. Errors: as events_map() */
granary_err counters_map(granary_client *client, struct gr_counters **ret_counters);
/* The entry of a segment, made when needed; NULL when out of memory. */
struct segment *segment_entry(granary_client *client, uint32_t number);
/* Unmap dead segments when there are many mappings. Takes the ticket: hold no lock. */
void segment_counted(granary_client *client);
/* Map size bytes of a descriptor, 2 MiB-aligned when it is that large. Errors: ECORRUPT it has fewer · ENOMEM */
granary_err segment_mmap(int fd, uint64_t size_bytes, int protection, void **ret_base);
/* Unmap everything. */
void segment_fini(granary_client *client);

/* ---- lease.c ---- */

enum lease_result {
    LEASE_HELD,
    LEASE_ABSENT,
    LEASE_SPILLED,
    LEASE_AGAIN,    /* being evicted or brought back, or changed under the probe */
    LEASE_SET_FULL, /* sealed, but no hazard is free: the store must count */
};

/* What a lease needs to know of an object. */
struct lease {
    uint64_t serial;
    uint64_t handle; /* 1 .. GR_HAZARD_WAYS: the hazard's way + 1; larger: that, and the place of a counted one */
    uint64_t offset;
    uint64_t data_size;
    uint32_t segment;
    uint32_t meta_size;
};

/* One attempt: no lock, no system call, no waiting. Aliases are followed. */
enum lease_result lease_try(granary_client *client, granary_id id, struct lease *ret_lease);
/* The same; *id is then what it stands for: whom to ask the store for, and whose wait word to sleep on. */
enum lease_result lease_follow(granary_client *client, granary_id *id, struct lease *ret_lease);
/* Until leased or the deadline. once: do not wait for an object that does not exist (ENOENT). Errors: as get */
granary_err lease_wait(granary_client *client, granary_id id, bool once, int64_t deadline_ns, struct lease *ret_lease);
/* Of an object that exists: also when it is spilled no longer than that. Errors: as lease_wait() · EFULL */
granary_err lease_wait_briefly(granary_client *client, granary_id id, int64_t deadline_ns, struct lease *ret_lease);
/* End a lease. */
void lease_end(granary_client *client, uint64_t serial, uint64_t handle);

/* ---- get.c, failure.c ---- */

/* Lease an object that is there, also one that is an error. Errors: as get */
granary_err view_get_any(granary_client *client, granary_id id, granary_view *ret_view);
/* The error a view is, as the failure of who got it; OK: it is an ordinary object. */
granary_err failure_of_view(const granary_view *view);

/* ---- ring.c; all but ring_wait() and granary_flush() with client->lock held ---- */

/* Wake the store, whatever it does. Needs no lock. */
void client_ring_bell(granary_client *client);
/*
 * Fill an entry and wake the store. answer: may be NULL; else until ring_wait(). Gives the lock up while the ring is
 * full or the store is gone: hold no ticket. Errors: EUNREACHABLE
 */
granary_err ring_push(granary_client *client, const struct gr_ring_entry *entry, struct ring_answer *answer,
                      bool report, uint64_t *ret_position);
/* Fill an entry if that needs no waiting. */
void ring_try_push(granary_client *client, const struct gr_ring_entry *entry);
/* Nobody waits any more for those of these answers that did not come. */
void ring_forget(granary_client *client, const struct ring_answer *answers, size_t count);
/* Until the entry at position is answered; without the lock. Errors: the store's · EUNREACHABLE */
granary_err ring_wait(granary_client *client, uint64_t position, struct ring_answer *answer);

/* ---- buffer.c; with client->lock held ---- */

/* A mark for a buffer. Errors: ENOMEM */
granary_err buffer_open(granary_client *client, uint32_t *ret_mark);
bool buffer_is_open(const granary_client *client, uint32_t mark);
/* One that is not open is ignored. */
void buffer_close(granary_client *client, uint32_t mark);
/* Another mark for an open buffer: its copies are spent. */
void buffer_renew(granary_client *client, uint32_t *mark);

/* ---- put.c ---- */

/* ESTATE, as the refusal of a buffer that is not open. */
granary_err buffer_is_spent(granary_id id);

/* How long options (may be NULL) say that room is waited for. */
int options_timeout_ms(const granary_object_options *options);
/* Errors: EINVAL no object can be that large */
granary_err size_check(granary_id id, uint64_t data_size, uint64_t meta_size);

/* ---- room.c; with client->lock held ---- */

/*
 * Take room for an object of footprint bytes; ahead: more that it may need later, if a room of its own can have it.
 * Gives the lock up while it asks the store. Errors: EFULL · EUNREACHABLE · ENOMEM
 */
granary_err room_carve(granary_client *client, uint64_t footprint, uint64_t ahead, int64_t deadline_ns,
                       struct room **ret_room, uint64_t *ret_offset);
/*
 * Pages for the room up to end, which is where what was carved last is to end. May give the lock up. False: the room
 * has no space for that, or /dev/shm has not.
 */
bool room_extend(granary_client *client, struct room *room, uint64_t end);
/* An object of the room was sealed or aborted; retires the room when it was the last of one that is full. */
void room_settle(granary_client *client, struct room *room);
/* Give back what an unsealed object takes. */
void room_give(granary_client *client, const granary_buffer *buffer);
/* In a strict session an object is sealed only when its writer can write it no more: forget the writable mapping. */
void room_surrender(struct room *room);
/* It need not be retired any more: the store has forgotten it, or granted it anew. */
void room_forget_unretired(granary_client *client, const struct room *room);
/* A segment that was granted and cannot be used. Takes the lock itself. */
void room_return(granary_client *client, uint32_t segment);
/* Whether what the last request for room was granted may be used: a store that came after may have taken it back. */
bool room_take_granted(granary_client *client);
/* The room of a segment this process may write, or NULL. */
struct room *room_of(granary_client *client, uint32_t segment);

#endif
