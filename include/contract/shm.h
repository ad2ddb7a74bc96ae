/*
 * Shared memory as the store and its clients agree on it. docs/formats.md tells the same in prose.
 *
 * Names (all begin with the instance's prefix "/granary.<uid>.<tag>.", tag = 8 hex digits of the runtime directory's
 * hash):
 *
 *   s<session>.control    struct gr_control      written by the store only, read by the session's clients
 *   s<session>.table<n>   struct gr_slot[]       written by the store only, read by the session's clients
 *   s<session>.data<n>    objects                one writer at a time (a client, or the store); read by everyone else
 *   s<session>.lease<n>   struct gr_lease_page   written by its client and the store
 *
 * Get (no message): load control->table (acquire); probe from hash(id): load word (acquire), load the fields (relaxed),
 * load word again: it must be the same. Publish the hazard in the own lease page with a seq_cst read-modify-write; load
 * word again (seq_cst): still the same -> leased; else take the hazard back and start again.
 * Release: take the hazard back (release).
 * Retire (store): exchange word to RETIRING or DELETING (seq_cst); scan the hazard set of the serial in every lease
 * page of the session (seq_cst); nobody holds it -> the bytes may go. It is Dekker's pattern: at least one side sees
 * the other.
 *
 * A hazard names a serial, not a slot: serials are never used twice, so a table can be replaced while leases are held.
 */
#ifndef GRANARY_CONTRACT_SHM_H
#define GRANARY_CONTRACT_SHM_H

#include <stdatomic.h>
#include <stdint.h>

#define GR_SHM_VERSION   1u
#define GR_CONTROL_MAGIC 0x6c72746e6f637267ull /* "grcontrl" */
#define GR_LEASE_MAGIC   0x6573616e656c7267ull

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "shared memory needs lock-free atomics");

/* clang-format off: a table */
/*
 * Life of a slot's word: serial << 8 | state
 *
 *   state      entered by              the bytes are       a get then               next
 *   EMPTY      table creation          -                   ends its probe           SEALED
 *   TOMB       object gone             -                   probes on                SEALED, EMPTY
 *   SEALED     seal, restore           in a data segment   leases                   RETIRING, DELETING, MOVED
 *   RETIRING   eviction tries          in a data segment   tries again              SEALED, SPILLED
 *   SPILLED    eviction succeeded      in a spill file     asks for a restore       SEALED (new serial), TOMB, MOVED
 *   DELETING   delete, still leased    in a data segment   probes on (*)            TOMB, MOVED
 *   MOVED      table replaced          as before           loads control->table     -
 *
 * (*) a newer object of the same id may follow in the same probe.
 */
/* clang-format on */
enum gr_slot_state {
    GR_SLOT_EMPTY = 0,
    GR_SLOT_TOMB = 1,
    GR_SLOT_SEALED = 2,
    GR_SLOT_RETIRING = 3,
    GR_SLOT_SPILLED = 4,
    GR_SLOT_DELETING = 5,
    GR_SLOT_MOVED = 6,
};

#define GR_WORD(serial, state) ((uint64_t)(serial) << 8 | (uint64_t)(state))
#define GR_WORD_STATE(word)    ((enum gr_slot_state)((word)&0xff))
#define GR_WORD_SERIAL(word)   ((word) >> 8) /* 1 .. 2^48-1 */

/* One cache line. Fields are relaxed atomics: a reader may race with the store and then sees that word changed. */
struct gr_slot {
    _Alignas(64) _Atomic uint64_t word;
    _Atomic uint64_t id[2];      /* the id's bytes as two native words, see gr_id_words() */
    _Atomic uint64_t offset;     /* in the data segment; SPILLED: in the spill file */
    _Atomic uint64_t data_size;  /* bytes */
    _Atomic uint64_t where_meta; /* data segment or spill file number << 32 | meta_size */
    _Atomic uint64_t flags;      /* GR_FLAG_... | node << 8 | pins << 32 */
    _Atomic uint64_t sealed_at;  /* milliseconds since the Unix epoch */
};
_Static_assert(sizeof(struct gr_slot) == 64, "a slot is one cache line");

#define GR_FLAG_ON_DISK 1u /* a copy lies in a spill file: dropping the memory is free */
#define GR_FLAG_DAMAGED 2u /* the spilled copy could not be brought back; a get asks the store, which says why */

/* Metadata lies behind the data, both 64-byte aligned. What an object takes in its segment: */
#define GR_ALIGN         64u
#define GR_ALIGNED(size) (((uint64_t)(size) + (GR_ALIGN - 1)) & ~(uint64_t)(GR_ALIGN - 1))
/* An object of no bytes still takes one line, so that addresses are unique and never NULL. */
#define GR_FOOTPRINT(data_size, meta_size)                                                                             \
    (((data_size) | (meta_size)) == 0 ? GR_ALIGN : GR_ALIGNED(data_size) + GR_ALIGNED(meta_size))
#define GR_MAX_OBJECT ((uint64_t)1 << 46)
#define GR_MAX_META   ((uint64_t)1 << 30)

/* Open addressing, linear probing: first slot = id word 0 mixed by gr_slot_hash(), next = +1, modulo the table's size.
 */
static inline uint64_t
gr_slot_hash(uint64_t id0, uint64_t id1)
{
    uint64_t h = id0 ^ (id1 * 0x9e3779b97f4a7c15ull);

    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ull;
    return h ^ h >> 32;
}

#define GR_WAIT_WORDS 1024u /* waiters for an id sleep on wait[hash % GR_WAIT_WORDS] */

/* Counters of a session. */
enum gr_counter {
#define COUNTER(name, unit, summary) GR_COUNTER_##name,
#include "contract/counters.def"
#undef COUNTER
    GR_COUNTER_COUNT
};

struct gr_control {
    _Atomic uint64_t magic; /* written last, with release, when everything else is in place */
    uint32_t version;
    uint32_t session;
    uint64_t epoch; /* one more each time a store takes the instance over */
    uint32_t store_pid;
    uint32_t reserved0;
    char session_name[64];

    /* table number << 8 | log2(slots); the table named so is complete */
    _Alignas(64) _Atomic uint64_t table;
    /* objects in DELETING: a release that sees it non-zero rings the doorbell */
    _Atomic uint32_t deleting;
    /* 1 while the store sleeps: whoever fills a ring then writes the doorbell (eventfd) */
    _Alignas(64) _Atomic uint32_t store_sleeping;
    /* bytes; see granary_store_stat. A consistent set between two equal even values of account_version */
    _Alignas(64) _Atomic uint64_t account_version;
    _Atomic uint64_t account[16];
    _Alignas(64) _Atomic uint64_t counters[GR_COUNTER_COUNT];
    /* futex words, bumped after a seal, a restore or a failed restore of an id that hashes here */
    _Alignas(64) _Atomic uint32_t wait[GR_WAIT_WORDS];
};

enum gr_account {
    GR_ACCOUNT_CAPACITY,
    GR_ACCOUNT_FREE,
    GR_ACCOUNT_RESERVED,
    GR_ACCOUNT_WRITING,
    GR_ACCOUNT_SEALED,
    GR_ACCOUNT_RETIRING,
    GR_ACCOUNT_POOLED,
    GR_ACCOUNT_SPILLED,
    GR_ACCOUNT_DISK,
    GR_ACCOUNT_OBJECTS,
    GR_ACCOUNT_OBJECTS_SPILLED,
    GR_ACCOUNT_CLIENTS,
    GR_ACCOUNT_INDEX,
    GR_ACCOUNT_COUNT
};

/* ---- the lease page ---- */

#define GR_HAZARD_SETS 512u
#define GR_HAZARD_WAYS 8u
/* A hazard: serial << 16 | count of leases of this process. Set = serial % GR_HAZARD_SETS. */
#define GR_HAZARD(serial, count) ((uint64_t)(serial) << 16 | (uint64_t)(count))
#define GR_HAZARD_SERIAL(hazard) ((hazard) >> 16)
#define GR_HAZARD_COUNT(hazard)  ((hazard)&0xffffu)

#define GR_RING_ENTRIES 1024u

enum gr_ring_op {
    GR_RING_SEAL = 1,          /* id, segment, offset, data_size, meta_size */
    GR_RING_DELETE = 2,        /* id */
    GR_RING_RETIRE = 3,        /* segment: its writer will not touch it again */
    GR_RING_LEASE_RELEASED = 4 /* a lease ended while control->deleting was not 0 */
};

#define GR_RING_DONE 0x80000000u

struct gr_ring_entry {
    _Alignas(64) _Atomic uint32_t status; /* client: 0; the store: GR_RING_DONE | (uint32_t)(-granary_err) */
    uint16_t op;
    uint16_t reserved;
    unsigned char id[16];
    uint32_t segment;
    uint32_t meta_size;
    uint64_t offset;
    uint64_t data_size;
};
_Static_assert(sizeof(struct gr_ring_entry) == 64, "a ring entry is one cache line");

struct gr_lease_page {
    _Atomic uint64_t magic;
    uint32_t version;
    uint32_t client; /* number */
    uint32_t pid;
    _Atomic uint32_t leaving; /* 1: its client said goodbye; written by the client */
    uint64_t start_time;      /* of the process, clock ticks since boot: tells a reused pid */
    char tag[32];

    /* written by the client */
    _Alignas(64) _Atomic uint64_t ring_head; /* entries ever filled */
    _Alignas(64) _Atomic uint32_t waiting;   /* threads that sleep, or are about to, on control->wait[] */
    _Atomic uint32_t ring_waiting;           /* threads that sleep, or are about to, on ring_tail_word */
    /* written by the store */
    _Alignas(64) _Atomic uint64_t ring_tail; /* entries ever answered */
    _Atomic uint32_t ring_tail_word;         /* the low half of ring_tail, for futexes */

    _Alignas(64) _Atomic uint64_t hazard[GR_HAZARD_SETS][GR_HAZARD_WAYS]; /* a set is one cache line */
    struct gr_ring_entry ring[GR_RING_ENTRIES];
};

#endif
