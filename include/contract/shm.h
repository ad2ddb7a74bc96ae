/*
 * Shared memory as the store and its clients agree on it. docs/formats.md tells the same in prose.
 *
 * Names (all begin with the instance's prefix "/granary.<uid>.<tag>.", tag = 8 hex digits of the runtime directory's
 * hash):
 *
 *   root                  struct gr_root         written and read by the store only (and by who inspects an instance)
 *   s<session>.control    struct gr_control      written by the store only, read by the session's clients
 *   s<session>.index      the index              written by the store only, read by the session's clients
 *   s<session>.ledger     struct gr_ledger       written and read by the store only: pins, references, names, ...
 *   s<session>.events     struct gr_events       written by the store only, read by clients that subscribed
 *   s<session>.counters   struct gr_counters     written and read by the session's clients
 *   s<session>.data<n>    objects                one writer at a time (a client, or the store); read by everyone else
 *   s<session>.lease<n>   struct gr_lease_page   written by its client and the store
 *
 * Get (no message): load control->depth and the directory entry (acquire); probe the page from hash(id): load word
 * (acquire), load the fields (relaxed). Publish the hazard in the own lease page with a seq_cst read-modify-write; load
 * word again (seq_cst), and the directory entry: both still the same -> leased; else take the hazard back and start
 * again.
 * Release: take the hazard back (release).
 * Retire (store): exchange word to RETIRING or DELETING (seq_cst). Scan the hazard set of the serial in every lease
 * page of the session (seq_cst). Nobody holds it -> the bytes may go. It is Dekker's pattern: at least one side sees
 * the other.
 *
 * A hazard names a serial, not a slot: serials are never used twice, so a slot can move while leases are held.
 *
 * All of it outlives the store: kill -9 at any instruction leaves what the next store needs to go on. Derived facts
 * (accounts, maps, the allocator) are private to the store. All others are here. Every change to them is ordered so
 * that each prefix of the stores makes sense.
 */
#ifndef GRANARY_CONTRACT_SHM_H
#define GRANARY_CONTRACT_SHM_H

#include "contract/int128.h"
#include "contract/latency.h"
#include "contract/versions.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GR_CONTROL_MAGIC 0x6c72746e6f637267ull /* "grcontrl" */
#define GR_LEASE_MAGIC   0x6573616e656c7267ull
#define GR_ROOT_MAGIC    0x746f6f72726e6167ull
#define GR_LEDGER_MAGIC  0x726567646c6e7267ull
#define GR_EVENTS_MAGIC  0x73746e7665726e67ull

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "shared memory needs lock-free atomics");

/* clang-format off: a table */
/*
 * Life of a slot's word: serial << 8 | state
 *
 *   state      entered by              the bytes are       a get then               next
 *   EMPTY      page creation           -                   ends its probe           SEALED
 *   TOMB       object gone             -                   probes on                SEALED, EMPTY
 *   SEALED     seal, restore           in a data segment   leases                   RETIRING, DELETING, MOVED
 *   RETIRING   eviction tries          in a data segment   tries again              SEALED, SPILLED
 *   SPILLED    eviction succeeded      in a spill file     asks for a restore       SEALED (new serial), TOMB, MOVED
 *   DELETING   delete, still leased    in a data segment   probes on (*)            TOMB, MOVED
 *   BETWEEN    evicted or brought back its spill file is   tries again              SPILLED, SEALED
 *              (fields are changing)   the truth
 *   ALIAS      alias made              the target's (id in  follows it              TOMB, MOVED
 *                                      offset, data_size)
 *   MOVED      its page was split      as before           loads the directory      -
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
    GR_SLOT_BETWEEN = 7,
    GR_SLOT_ALIAS = 8,
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
    _Atomic uint64_t flags;      /* see GR_FLAGS_... */
    _Atomic uint64_t stamp;      /* unique in the instance and never changed: GR_STAMP_MS() is when it was sealed */
};
_Static_assert(sizeof(struct gr_slot) == 64, "a slot is one cache line");

/* An object's stamp: milliseconds since the Unix epoch << 20 | a count that makes it unique. It identifies the object
 * for ever, through spilling, restoring and restarts, also when its id is used again. */
#define GR_STAMP_MS(stamp) ((int64_t)((stamp) >> 20))

#define GR_FLAG_ON_DISK    0x01u /* a copy lies in a spill file: dropping the memory is free */
#define GR_FLAG_DAMAGED    0x02u /* the spilled copy could not be brought back; a get asks the store, which says why */
#define GR_FLAG_PERSISTENT 0x04u /* it has a copy that survives the machine's restart */
#define GR_FLAG_SLICE      0x08u /* a part of a spilled object: goes when nobody leases it and memory is needed */
#define GR_FLAG_COUNTED    0x10u /* it lives only as long as references or containers hold it */
#define GR_FLAG_DROPPED    0x20u /* deleted by name; references or containers still hold it */
#define GR_FLAG_REMOTE     0x40u /* a copy lies at the remote level */
#define GR_FLAG_PARENT     0x80u /* it contains others: PENDING and CONTAINS records of its id are its own */
#define GR_FLAG_COPIED     (GR_FLAG_ON_DISK | GR_FLAG_REMOTE) /* either */
#define GR_FLAG_CLEAN      (GR_FLAG_COPIED | GR_FLAG_SLICE)   /* dropping the memory is free */
#define GR_FLAG_MASK       0xffu

/* The other parts of a slot's flags. */
#define GR_FLAGS_NODE(flags)       ((unsigned)((flags) >> 8 & 0xff))
#define GR_FLAGS_IMPORTANCE(flags) ((unsigned)((flags) >> 16 & 0xff)) /* 255: never evicted unless asked for */
#define GR_FLAGS_NEXT_USE(flags)   ((unsigned)((flags) >> 24 & 0xff)) /* 0 unknown, 1 soonest .. 255 never again */
#define GR_FLAGS_PINS(flags)       ((unsigned)((flags) >> 32 & 0xffff))
#define GR_FLAGS_AGE(flags)        ((unsigned)((flags) >> 48 & 0xff)) /* the store's clock when it was last seen used */
#define GR_FLAGS_NODE_SHIFT        8
#define GR_FLAGS_IMPORTANCE_SHIFT  16
#define GR_FLAGS_NEXT_USE_SHIFT    24
#define GR_FLAGS_PINS_SHIFT        32
#define GR_FLAGS_AGE_SHIFT         48
#define GR_MAX_PINS                0xffffu

/* Metadata lies behind the data, both 64-byte aligned. What an object takes in its segment: */
#define GR_ALIGN         64u
#define GR_ALIGNED(size) (((uint64_t)(size) + (GR_ALIGN - 1)) & ~(uint64_t)(GR_ALIGN - 1))
/* An object of no bytes still takes one line, so that addresses are unique and never NULL. */
#define GR_FOOTPRINT(data_size, meta_size)                                                                             \
    (((data_size) | (meta_size)) == 0 ? GR_ALIGN : GR_ALIGNED(data_size) + GR_ALIGNED(meta_size))
#define GR_MAX_OBJECT ((uint64_t)1 << 46)
#define GR_MAX_META   ((uint64_t)1 << 30)

/*
 * The hash of an id, from its two words. People make ids of counters, of either byte order, in either word or in
 * both, and of counters that they have multiplied. So the words are multiplied with each other, and all bits of the
 * product count. Neither word is multiplied by a constant that others like.
 */
static inline uint64_t
gr_slot_hash(uint64_t id0, uint64_t id1)
{
    gr_uint128 product = (gr_uint128)(id0 ^ 0xa0761d6478bd642full) * (id1 ^ 0xe7037ed1a0b428dbull);
    uint64_t h = (uint64_t)product ^ (uint64_t)(product >> 64);

    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ull;
    return h ^ h >> 32;
}

/*
 * The index file: a directory of pages (extendible hashing), then what is known of each page, then the pages, which are
 * small open-addressing tables: home = hash >> 32, probing +1, modulo GR_PAGE_SLOTS, never beyond the page.
 *
 *   GR_INDEX_DIRECTORY_AT  uint64_t[2^depth]                      page generation << 32 | page
 *   GR_INDEX_RECORDS_AT    struct gr_page_record[pages]
 *   GR_INDEX_PAGES_AT      struct gr_slot[pages][GR_PAGE_SLOTS]
 *
 * The directory grows by doubling: the new upper half repeats the lower one before control->depth is raised, so both
 * depths are right. Clients map the whole GR_INDEX_SPAN once, read-only; what no directory entry leads to may have no
 * memory behind it. A page that is full is split in two new ones (or, full of tombs, rebuilt as one):
 *
 *   fill them (BUILDING) -> directory entries to them -> the old one DEAD (from here on the split counts) -> its slots
 *   MOVED -> the new ones LIVE -> the old one FREE: it may be used again, with the next generation
 *
 * A reader that found nothing, or MOVED, loads depth and directory entry again: another value -> it starts again.
 * After a crash, BUILDING pages whose old page is LIVE still are dropped: entries lead back, then their slots are
 * MOVED, because somebody may have leased through them. Otherwise the split is completed.
 */
#define GR_PAGE_SLOTS_LOG2    11u
#define GR_PAGE_SLOTS         (1u << GR_PAGE_SLOTS_LOG2)
#define GR_PAGE_BYTES         ((uint64_t)GR_PAGE_SLOTS * 64)
#define GR_INDEX_MAX_DEPTH    15u
#define GR_INDEX_MAX_PAGES    (1u << GR_INDEX_MAX_DEPTH)
#define GR_INDEX_DIRECTORY_AT ((uint64_t)0)
#define GR_INDEX_RECORDS_AT   ((uint64_t)1 << 19)
#define GR_INDEX_PAGES_AT     ((uint64_t)2 << 20)
#define GR_INDEX_SPAN         (GR_INDEX_PAGES_AT + GR_INDEX_MAX_PAGES * GR_PAGE_BYTES)

/*
 * What leads a hash to its page: the directory's entry is the low `depth` bits of it. The lowest four are one of
 * sixteen groups, the first twice as frequent as the last. Pages then fill up one after another and not all at once,
 * and the index is equally full with any number of objects.
 */
static inline uint32_t
gr_index_prefix(uint64_t hash)
{
    uint32_t share = (uint32_t)(hash >> 56);
    uint32_t group = share * (168 + (share * 88 >> 8)) >> 12;

    return ((uint32_t)hash << 4 | group) & (GR_INDEX_MAX_PAGES - 1);
}

/* Where the probe begins in its page. */
static inline uint32_t
gr_page_home(uint64_t hash)
{
    return (uint32_t)(hash >> 32) & (GR_PAGE_SLOTS - 1);
}

enum gr_page_state { GR_PAGE_FREE = 0, GR_PAGE_BUILDING = 1, GR_PAGE_LIVE = 2, GR_PAGE_DEAD = 3 };

struct gr_page_record {
    _Atomic uint64_t word;   /* generation << 32 | depth << 8 | gr_page_state */
    _Atomic uint64_t prefix; /* the low `depth` bits of gr_index_prefix() of every hash in it */
};
_Static_assert(sizeof(struct gr_page_record) == 16, "part of the layout");

#define GR_PAGE_WORD(generation, depth, state)                                                                         \
    ((uint64_t)(generation) << 32 | (uint64_t)(depth) << 8 | (uint64_t)(state))
#define GR_PAGE_STATE(word)      ((enum gr_page_state)((word)&0xff))
#define GR_PAGE_DEPTH(word)      ((unsigned)((word) >> 8 & 0xff))
#define GR_PAGE_GENERATION(word) ((uint32_t)((word) >> 32))
#define GR_PAGE_OF_ENTRY(entry)  ((uint32_t)(entry) & (GR_INDEX_MAX_PAGES - 1))

#define GR_WAIT_WORDS 1024u /* waiters for an id sleep on wait[hash % GR_WAIT_WORDS] */

/* Counters of a session. */
enum gr_counter {
#define COUNTER(name, unit, summary) GR_COUNTER_##name,
#include "contract/counters.def"
#undef COUNTER
    GR_COUNTER_COUNT
};

/* What is wrong with control->state for a call that needs the store: wait for the next epoch, or give up. */
enum gr_control_state {
    GR_CONTROL_SERVING = 1,
    GR_CONTROL_ADOPTING = 2, /* a store is taking the session over: what is there stays readable */
    GR_CONTROL_CLOSED = 3,   /* the session was deleted, or the store stopped in order: for good */
};

#define GR_CONTROL_STRICT 1u /* an object is sealed only when no writable mapping of it is left */
#define GR_CONTROL_SHARED 2u /* users other than the one who made it may use it */

struct gr_control {
    _Atomic uint64_t magic; /* written last, with release, when everything else is in place */
    uint32_t version;
    uint32_t session;
    _Atomic uint64_t epoch; /* one more each time a store takes the instance over */
    _Atomic uint32_t store_pid;
    _Atomic uint32_t state; /* gr_control_state */
    /* futex word, bumped whenever state or epoch changes: who lost the store sleeps here until the next one serves */
    _Atomic uint32_t life;
    uint32_t flags; /* GR_CONTROL_... */
    char session_name[64];
    uint64_t created_ms;
    _Atomic uint64_t quota_bytes; /* 0: none */
    _Atomic uint64_t used_bytes;  /* of the account, by this session's segments */
    _Atomic uint64_t idle_ms;     /* without a client for so long, the session is deleted; 0: never */
    _Atomic uint64_t last_used_ms;
    _Atomic uint64_t uid; /* who created it */

    /* of the index's directory: 2^depth entries */
    _Alignas(64) _Atomic uint32_t depth;
    /* objects in DELETING: a release that sees it non-zero rings the doorbell */
    _Atomic uint32_t deleting;
    /* 1 while the store sleeps: whoever fills a ring then writes the doorbell (eventfd) */
    _Alignas(64) _Atomic uint32_t store_sleeping;
    /* bytes; see granary_store_stat. A consistent set between two equal even values of account_version */
    _Alignas(64) _Atomic uint64_t account_version;
    _Atomic uint64_t account[16];
    _Alignas(64) _Atomic uint64_t counters[GR_COUNTER_COUNT];
    /* futex word, bumped after every seal, alias and restore: for who waits for more words than futex_waitv takes */
    _Alignas(64) _Atomic uint32_t any;
    /* futex words, bumped after a seal, a restore or a failed restore of an id that hashes here */
    _Alignas(64) _Atomic uint32_t wait[GR_WAIT_WORDS];
};

enum gr_account {
#define ACCOUNT(name, member, unit, part, summary) GR_ACCOUNT_##name,
#include "contract/account.def"
#undef ACCOUNT
    GR_ACCOUNT_COUNT
};

/* ---- the root: what the instance's next store needs beside the sessions ---- */

#define GR_MAX_CLIENTS  4096u
#define GR_MAX_SEGMENTS 65536u

/* A client as the store knows it. Free: word 0. */
struct gr_client_record {
    _Alignas(64) _Atomic uint64_t word; /* client number; written last, and first set to 0 */
    uint32_t session;
    uint32_t pid;
    uint64_t start_time; /* of the process, clock ticks since boot */
    uint32_t uid;
    uint32_t reserved;
    _Atomic uint64_t ring_tail; /* entries executed: the truth, advanced after each single one */
    uint64_t since_ms;
    char tag[32];
    _Atomic uint64_t ring_begun; /* ring_tail + 1 while that entry is executed: it may have been, or not */
    /* The last request that took a ledger record out, noted before it goes: sent again, it takes no other one. */
    _Atomic uint64_t ended_request; /* its number; written last */
    uint64_t ended_token;
    uint64_t ended_id[2]; /* what the record was about */
};
_Static_assert(sizeof(struct gr_client_record) == 128, "part of the layout");

enum gr_segment_state { GR_SEGMENT_FREE = 0, GR_SEGMENT_OPEN = 1, GR_SEGMENT_CLOSED = 2, GR_SEGMENT_IDLE = 3 };

#define GR_SEGMENT_SPOILED 1u /* its writer truncated it: what it holds cannot be spilled */
#define GR_SEGMENT_HUGE    2u /* collapsed to huge pages */
#define GR_SEGMENT_CLIENTS 4u /* a client sealed what is in it: where that lies is what it said */

/* A data segment as the store knows it; which objects lie in it the index tells. */
struct gr_segment_record {
    _Alignas(64) _Atomic uint64_t word; /* number << 8 | gr_segment_state */
    uint64_t size;                      /* bytes */
    uint32_t session;
    _Atomic uint32_t writer;       /* client number; 0: the store, or nobody any more */
    _Atomic uint64_t sealed_total; /* bytes sealed since it was granted; a crash may leave the last object out */
    _Atomic uint32_t flags;        /* GR_SEGMENT_... */
    uint32_t node;
    _Atomic uint64_t resident; /* bytes with memory behind them, when last looked at */
    uint64_t since_ms;
    _Atomic uint64_t request; /* struct gr_room's, by which its writer got it */
};
_Static_assert(sizeof(struct gr_segment_record) == 64, "part of the layout");

/* A directory of spill files, and how it does. */
#define GR_SPILL_DIRS 8u
struct gr_spill_place {
    _Alignas(64) char path[512]; /* "": there is none */
    uint64_t quota;              /* 0: none of its own */
    _Atomic uint64_t bytes;      /* its files take */
    _Atomic uint64_t speed;      /* bytes a second of what was written and read lately; 0: not known yet */
    _Atomic uint64_t failures;   /* writes that failed since the store began */
    _Atomic int32_t failed;      /* granary_err of the last write */
};
_Static_assert(sizeof(struct gr_spill_place) == 576, "part of the layout");

struct gr_root {
    _Atomic uint64_t magic; /* written last */
    uint32_t version;
    _Atomic uint32_t state; /* gr_control_state of the instance */
    _Atomic uint64_t epoch;
    _Atomic uint32_t store_pid;
    uint32_t uid; /* of the store */
    uint64_t store_start_time;
    uint64_t started_ms;
    char boot_id[40];
    char runtime[112];
    char spill_dir[512];
    char remote_dir[512]; /* "" when there is none */
    uint64_t capacity;
    uint64_t disk_quota;
    uint32_t group; /* gid that may connect; UINT32_MAX: none */
    uint32_t rung;  /* of the immutability ladder that was achieved */
    /* Numbers never used twice: each is raised here before it is used. */
    _Atomic uint64_t serial_limit; /* serials below it may have been given */
    _Atomic uint64_t stamp_limit;
    _Atomic uint32_t next_session;
    _Atomic uint32_t next_client;
    _Atomic uint32_t next_segment;
    _Atomic uint32_t next_file;
    _Atomic uint64_t next_token;
    _Alignas(64) struct gr_client_record clients[GR_MAX_CLIENTS];
    /* records[number % GR_MAX_SEGMENTS]: a number whose place is taken is skipped */
    struct gr_segment_record segments[GR_MAX_SEGMENTS];
    /* Of the disk level, the first one is spill_dir; then that of the remote level. Roots of earlier releases end before. */
    struct gr_spill_place places[GR_SPILL_DIRS + 1];
    /* What the store has timed, and clients that have gone. Odd while those of a client are added, which then are no
     * more in its lease page. Roots of earlier releases end before. */
    _Alignas(64) _Atomic uint64_t latency_turn;
    _Alignas(64) struct gr_latency latencies[GR_LATENCY_COUNT];
};

/* ---- the ledger: what is said about objects, one record each. A page of records is made at a time. ---- */

enum gr_ledger_kind {
    GR_LEDGER_FREE = 0,
    GR_LEDGER_PIN = 1,       /* id is pinned; scope, client, text = reason */
    GR_LEDGER_REFERENCE = 2, /* id is kept for an owner; client (0: an owner without a process), text = the owner */
    GR_LEDGER_CONTAINS = 3,  /* object `other` contains id */
    GR_LEDGER_NAME = 4,      /* text is the name of id; of two equal names the higher token counts */
    GR_LEDGER_LEASE = 5,     /* id, serial in other[0]: leased by client, counted by the store */
    /* as CONTAINS, while `other` is not sealed yet; client is its creator. It counts as CONTAINS as soon as `other` is
     * sealed with GR_FLAG_PARENT, and is rewritten later */
    GR_LEDGER_PENDING = 6,
};

#define GR_LEDGER_CREATOR 1u /* a REFERENCE of a counted object's creator, until somebody else holds it */

#define GR_LEDGER_TEXT 56u

struct gr_ledger_record {
    _Alignas(64) _Atomic uint64_t word; /* token << 8 | gr_ledger_kind; written last, and first set to 0 */
    uint64_t id[2];
    uint64_t other[2];
    uint64_t since_ms;
    uint32_t client;
    uint16_t scope; /* of a PIN: granary_pin_scope; of a REFERENCE: 0 ends with its client, 1 does not */
    uint16_t flags; /* GR_LEDGER_CREATOR */
    uint32_t pid;
    uint32_t reserved;
    char text[GR_LEDGER_TEXT];
    uint64_t request; /* the client's number for it: asked for again, it is there already */
};
_Static_assert(sizeof(struct gr_ledger_record) == 128, "part of the layout");

struct gr_ledger {
    _Atomic uint64_t magic;
    uint32_t version;
    uint32_t session;
    _Atomic uint64_t records; /* that the file has room for; it grows */
    uint64_t reserved[13];
    /* struct gr_ledger_record[records] follows */
};
_Static_assert(sizeof(struct gr_ledger) == 128, "part of the layout");

/* ---- events: a ring that is written and never waited for. The flight recorder of the instance is one ("events"), and
 * a session gets its own when somebody subscribes ---- */

enum gr_event_kind {
#define EVENT(name, summary) GR_EVENT_##name,
#include "contract/events.def"
#undef EVENT
    GR_EVENT_COUNT
};

/* What a session's ring has, and subscribers are told: of nothing else do they lose any. */
static inline bool
gr_event_is_told(enum gr_event_kind kind)
{
    return kind == GR_EVENT_SEAL || kind == GR_EVENT_DELETE || kind == GR_EVENT_SPILL || kind == GR_EVENT_EVICT ||
           kind == GR_EVENT_RESTORE;
}

struct gr_event {
    _Alignas(64) _Atomic uint64_t sequence; /* its number + 1; 0 while it is being written */
    _Atomic uint64_t time_ns;               /* CLOCK_REALTIME */
    _Atomic uint64_t id[2];
    _Atomic uint64_t a, b;         /* see events.def */
    _Atomic uint64_t kind_session; /* gr_event_kind << 32 | session */
    _Atomic uint64_t client;
};

struct gr_events {
    _Atomic uint64_t magic;
    uint32_t version;
    uint32_t session;                   /* 0: of the instance */
    uint64_t entries;                   /* a power of two */
    _Alignas(64) _Atomic uint64_t next; /* number of the next event */
    _Atomic uint32_t word;              /* futex: the low half of next */
    _Alignas(64) struct gr_event ring[];
};
#define GR_EVENTS_INSTANCE 32768u
#define GR_EVENTS_SESSION  4096u

/* ---- counters: named numbers of a session, made when a client first asks for one. Its clients write them; a spoilt
 * one harms nobody but who uses it. All zero is an empty table ----
 *
 * A name's cell is the first from its hash on, wrapping around, that is free or has it. A client that finds a free
 * one takes it by exchanging `hash`. Then the first one to come writes the name. All write the same, so one that dies
 * on the way leaves work for the next. A cell is never given back.
 *
 * After a change of a value, the client looks at `waiting`, and bumps and wakes `changes` if it is not 0. A waiting
 * client counts itself there, reads `changes`, and then the value. All of it is sequentially consistent. Who dies
 * waiting costs the others a system call.
 */

#define GR_COUNTERS_MAGIC 0x7372746e756f6367ull
#define GR_COUNTERS       1024u /* a power of two */
#define GR_COUNTER_NAME   96u   /* with its NUL */

struct gr_counter_cell {
    _Atomic uint64_t hash; /* XXH3-64 of the name, | 1; 0: free */
    _Atomic int64_t value;
    _Atomic uint32_t changes; /* futex */
    _Atomic uint32_t waiting;
    _Atomic uint32_t named; /* the name is complete */
    uint32_t reserved;
    _Atomic uint64_t name[GR_COUNTER_NAME / 8]; /* its bytes, padded with zeros */
};
_Static_assert(sizeof(struct gr_counter_cell) == 128, "part of the layout");

struct gr_counters {
    _Atomic uint64_t magic;
    _Atomic uint32_t version;
    _Atomic uint32_t session;
    uint64_t reserved[14];
    struct gr_counter_cell cells[GR_COUNTERS];
};
_Static_assert(sizeof(struct gr_counters) == 128 * (GR_COUNTERS + 1), "part of the layout");

/* ---- the lease page ---- */

#define GR_HAZARD_SETS 512u
#define GR_HAZARD_WAYS 8u
#define GR_USED_BYTES  4096u
/* A hazard: serial << 16 | count of leases of this process. Set = serial % GR_HAZARD_SETS. */
#define GR_HAZARD(serial, count) ((uint64_t)(serial) << 16 | (uint64_t)(count))
#define GR_HAZARD_SERIAL(hazard) ((hazard) >> 16)
#define GR_HAZARD_COUNT(hazard)  ((hazard)&0xffffu)

#define GR_RING_ENTRIES 1024u

/* Leases for which a set has no way are counted by the store. Each has a place of its client's choice, which the number
 * of its request names. */
#define GR_COUNTED_PLACES         131072u
#define GR_COUNTED_REQUEST(place) ((uint64_t)1 << 63 | (place))

/* What a client waits for, for who looks on. */
enum gr_wait_kind {
#define WAIT(name, summary) GR_WAIT_##name,
#include "contract/waits.def"
#undef WAIT
    GR_WAIT_COUNT,
    GR_WAIT_BEGINS = 0xff, /* a thread is about to say what: only one does at a time */
};

/*
 * A word of the client's that names something which the store may take, by its number; 0: nothing. Either the client
 * withdraws it first, or it finds it taken.
 */
#define GR_OFFER(number)      ((uint64_t)(number) << 1)
#define GR_OFFER_NUMBER(word) ((word) >> 1)
#define GR_OFFER_TAKEN        1u

/* By the store. False: it was withdrawn meanwhile, or is taken already. */
static inline bool
gr_offer_take(_Atomic uint64_t *word, uint64_t offer)
{
    return (offer & GR_OFFER_TAKEN) == 0 && atomic_compare_exchange_strong(word, &offer, offer | GR_OFFER_TAKEN);
}

/* By the client. False: it is taken. */
static inline bool
gr_offer_withdraw(_Atomic uint64_t *word, uint64_t offer)
{
    return (offer & GR_OFFER_TAKEN) == 0 && atomic_compare_exchange_strong(word, &offer, 0);
}

enum gr_ring_op {
    GR_RING_SEAL = 1,          /* id, segment, offset, data_size, meta_size */
    GR_RING_DELETE = 2,        /* id */
    GR_RING_RETIRE = 3,        /* segment: its writer will not touch it again */
    GR_RING_LEASE_RELEASED = 4 /* a lease ended while control->deleting was not 0 */
};

#define GR_RING_DONE 0x80000000u

/* Of GR_RING_SEAL: */
#define GR_SEAL_COUNTED 1u /* GR_FLAG_COUNTED: see granary_object_options */
#define GR_SEAL_PARENT  2u /* PENDING ledger records name what it contains */
#define GR_SEAL_STRICT  4u /* the writer has unmapped the segment: prove it */

struct gr_ring_entry {
    _Alignas(64) _Atomic uint32_t status; /* client: 0; the store: GR_RING_DONE | (uint32_t)(-granary_err) */
    uint8_t op;
    uint8_t flags;      /* GR_SEAL_... */
    uint8_t importance; /* SEAL */
    uint8_t next_use;   /* SEAL */
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
    _Atomic uint32_t counted_ended;          /* 1: bits were set in ended[] since the store began to look at them */
    _Alignas(64) _Atomic uint32_t waiting;   /* threads that sleep, or are about to, on control->wait[] */
    _Atomic uint32_t ring_waiting;           /* threads that sleep, or are about to, on ring_tail_word */
    /* GR_OFFER() of its current room's segment while nothing is being made in it; GR_OFFER_TAKEN stays until the client
     * offers another one */
    _Atomic uint64_t spare_room;
    /* what the first of its threads that waits is waiting for; the kind is written last */
    _Atomic uint32_t wait_kind;  /* enum gr_wait_kind */
    _Atomic uint64_t wait_id[2]; /* of an object: the id's bytes as two native words; else 0 */
    _Atomic uint64_t wait_bytes; /* of room */
    _Atomic int64_t wait_since_ms;
    /* the room it has asked for and has no answer to: GR_OFFER() of the request since before it was sent.
     * The client that takes what was granted withdraws it. A store that adopts the page takes it: the answer is lost,
     * or void */
    _Atomic uint64_t asked_room;
    /* written by the store */
    _Alignas(64) _Atomic uint64_t ring_tail; /* entries ever answered */
    _Atomic uint32_t ring_tail_word;         /* the low half of ring_tail, for futexes */

    /* used[serial % GR_USED_BYTES] = 1: leased since the store last looked; tells which objects are warm */
    _Alignas(64) _Atomic uint8_t used[GR_USED_BYTES];

    _Alignas(64) _Atomic uint64_t hazard[GR_HAZARD_SETS][GR_HAZARD_WAYS]; /* a set is one cache line */
    struct gr_ring_entry ring[GR_RING_ENTRIES];

    /* counted leases that have ended, a bit for each place. The client sets it, and has no other lease there until it is
     * clear again. The store clears it when it has ended that lease; or, when the request comes after the bit, as it
     * refuses that. */
    _Atomic uint64_t ended[GR_COUNTED_PLACES / 64];

    /* what the client has timed; pages of earlier releases end before */
    _Alignas(64) struct gr_latency latencies[GR_LATENCY_CLIENTS];
};

#endif
