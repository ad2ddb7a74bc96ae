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

#include "base/clock.h"
#include "base/instance.h"
#include "contract/shm.h"
#include "granary/store.h"
#include "object/link.h"
#include "object/object.h"
#include "object/read/counted.h"
#include "object/read/hold.h"
#include "object/read/lease.h"
#include "object/socket.h"
#include "object/write/buffer.h"
#include "object/write/ring.h"
#include "object/write/room.h"
#include "object/write/segment.h"

/* How often a sleeper looks whether the store still lives. */
#define ALIVE_CHECK_NS 1000000000ll
/* A request that is not answered for so long has failed. */
#define REQUEST_TIMEOUT_MS 60000
/* ... and for an object to be written to disk. */
#define PERSIST_WAIT_MS 60000
/* ... and one whose caller is in a hurry: answers take microseconds, unless the store is stopped. */
#define REQUEST_LEAST_MS 2000

/* What exists is waited for so long, unless the caller has named a timeout; from each store anew. */
#define EXISTS_WAIT_MS 30000

/*
 * What is timed now and then: how many of each are not, until one is. A countdown belongs to where calls put what they
 * get or make, which is a page of the thread's own as a rule: so no line of the cache goes from thread to thread. Threads
 * that meet in one time one more or less. (A variable of the thread would cost a call: those of a library do not fit into
 * what the C library reserves for libraries that are loaded late.)
 */
#define COUNTDOWNS 64u

enum timed_call { TIMED_GET, TIMED_PUT, TIMED_SEAL, TIMED_CALLS };

struct countdown {
    _Alignas(64) _Atomic int32_t left[TIMED_CALLS];
};
_Static_assert(sizeof(struct countdown) == 64, "a line of the cache");

struct granary_client {
    /* read by every get */
    const struct gr_control *control;
    struct gr_lease_page *page;
    struct gr_latency *latencies; /* in the page; NULL: an earlier store made that without them */
    const char *index;            /* GR_INDEX_SPAN bytes */
    segment_leaf *segments;       /* SEGMENT_TOP of them, each NULL or SEGMENT_LEAF segments */
    uint32_t fork_generation;
    _Atomic uint32_t holders; /* who connected, until the disconnect, and who holds it: gr_client_hold() */
    struct link link;

    struct countdown countdowns[COUNTDOWNS];

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
    struct extension {
        void *self; /* NULL: there is none */
        void (*destroy)(void *self);
    } extensions[GR_CLIENT_ROOMS];
};

/* ---- connect.c ---- */

extern _Atomic uint32_t client_fork_generation;

static inline bool
client_is_ours(const granary_client *client)
{
    return client->fork_generation == atomic_load_explicit(&client_fork_generation, memory_order_relaxed);
}

/* Something that began then is done. */
static inline void
client_timed(const granary_client *client, enum gr_latency_kind kind, int64_t began_ns)
{
    if (client->latencies != NULL) {
        gr_latency_add(&client->latencies[kind], gr_now_ns() - began_ns);
    }
}

/* place: what the call fills. */
static inline _Atomic int32_t *
countdown_of(granary_client *client, enum timed_call call, const void *place)
{
    const size_t at =
        (uintptr_t)place / (4096 / sizeof(struct countdown)) & ((COUNTDOWNS - 1) * sizeof(struct countdown));

    return ((struct countdown *)(void *)((char *)client->countdowns + at))->left + call;
}

/* Whether this call is to be timed. */
static inline bool
client_is_due(granary_client *client, enum timed_call call, const void *place)
{
    _Atomic int32_t *left = countdown_of(client, call, place);
    bool due;

#ifdef __x86_64__ /* a load and a store still, but two instructions less of every get */
    __asm__("subl $1, %0" : "+m"(*left), "=@ccs"(due));
#else
    int32_t now = atomic_load_explicit(left, memory_order_relaxed) - 1;

    atomic_store_explicit(left, now, memory_order_relaxed);
    due = now < 0;
#endif
    return __builtin_expect(due, 0);
}

/* Whether objects are sealed only when no writable mapping of them is left. */
static inline bool
client_is_strict(const granary_client *client)
{
    return (client->control->flags & GR_CONTROL_STRICT) != 0;
}

/* Tell whom it may concern that this thread waits for an object; NULL: no longer. See gr_client_set_in_call(). */
void client_waits(const granary_id *id);
/* Whether what the thread is at is given up: gr_client_set_given_up(). */
bool client_is_given_up(void);

/*
 * waits.c: say in the lease page what this thread is about to wait for; id may be NULL. False: another thread of this
 * process waits already, or this one for what this is a part of. wait_end() takes what was returned.
 */
bool wait_begin(granary_client *client, enum gr_wait_kind kind, const granary_id *id, uint64_t bytes);
void wait_end(granary_client *client, bool begun);

/* An id as text for a message, in the thread's own buffer: valid until the thread's next call. */
const char *id_text(granary_id id);

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

/* The next number for a request that is to be done once: see struct gr_hold. */
static inline uint64_t
request_next(granary_client *client)
{
    return atomic_fetch_add_explicit(&client->requests, 1, memory_order_relaxed) + 1;
}

/* The read-only mapping of a data segment if there is one. */
static inline const char *
segment_base(const granary_client *client, uint32_t number)
{
    const struct segment *leaf =
        atomic_load_explicit(&client->segments[number >> SEGMENT_LEAF_BITS], memory_order_acquire);

    return leaf == NULL ? NULL : atomic_load_explicit(&leaf[number & (SEGMENT_LEAF - 1)].base, memory_order_acquire);
}

#endif
