/*
 * Messages on the store's unix socket (SOCK_STREAM). docs/protocol.md tells the same in prose.
 *
 * A frame is struct gr_frame followed by size bytes of body. Native byte order: the peer is on this machine. A request
 * is answered by one frame of the same op and seq; err != 0 makes the body a message for humans (no NUL). Descriptors
 * ride on the frame's first byte. One request is in progress per connection; the first must be HELLO.
 */
#ifndef GRANARY_CONTRACT_STORE_PROTO_H
#define GRANARY_CONTRACT_STORE_PROTO_H

#include <stdint.h>

#include "contract/versions.h"

#define GR_STORE_MAGIC    0x676e7267u /* "grng" */
#define GR_FRAME_MAX_BODY 65536u
#define GR_FRAME_MAX_FDS  4

struct gr_frame {
    uint32_t magic;
    uint16_t op;
    uint16_t reserved;
    uint32_t seq;
    int32_t err;   /* granary_err; 0 in requests */
    uint32_t size; /* of the body, bytes */
};

/* Their numbers, bodies and answers: contract/store_requests.def. */
enum gr_store_op {
#define REQUEST(name, number, ...) GR_STORE_##name = number,
#include "contract/store_requests.def"
#undef REQUEST
};

/*
 * HELLO: descriptors of the answer: control (read-only), lease page (read-write), doorbell (eventfd).
 *
 * resume is 0, or the number that this client had when the store went away. It gets the same number and its own lease
 * page again, if the process is the one the store has noted for it. ENOENT: the store knows of no such client any
 * more.
 */
struct gr_hello {
    uint32_t version;     /* GR_STORE_OLDEST of the client */
    uint32_t shm_version; /* GR_SHM_OLDEST of the client */
    char session[64];     /* NUL-terminated; "" is "default"; for a member of a group's store that is "default-UID" */
    char tag[32];
    uint32_t resume;
    uint32_t flags; /* GR_HELLO_... */
};
#define GR_HELLO_EXISTING 1u /* ENOENT instead of making a session that is not there */
struct gr_hello_reply {
    uint32_t client;
    uint32_t session;
    uint64_t epoch;
    uint64_t capacity_bytes;
};

/*
 * ROOM: a data segment to write. At least min_bytes, want_bytes if it can be had; answered late when memory has to be
 * made first, and with EFULL when timeout_ms (-1: for ever) ends. The descriptor (read-write) comes with every answer.
 * The first warm_bytes of it have pages already; the writer populates the rest before it touches it (no SIGBUS).
 * The client carves it from offset 0 up. What it seals in a segment may never add up to more than size_bytes.
 */
struct gr_room {
    uint64_t min_bytes;
    uint64_t want_bytes;
    int64_t timeout_ms;
    int32_t node; /* NUMA node of the caller; -1: unknown */
    uint32_t
        again; /* 1: asked before: keeps its place in line, and waits even where a first request is refused at once */
    uint64_t request; /* as in struct gr_hold: what was granted to it and is open still is the answer again */
};
struct gr_room_reply {
    uint32_t segment;
    uint32_t node;
    uint64_t size_bytes;
    uint64_t warm_bytes;
};

/*
 * MAP: something to read. One descriptor, read-only. ENOENT: it is gone, look the object up again. EVENTS: the
 * session's ring of events, which begins with the first who asks. COUNTERS, MUTABLES: a file that the session's clients
 * share and write; of MUTABLES, number is how many pages are wanted.
 */
enum gr_map_kind { GR_MAP_DATA = 2, GR_MAP_INDEX = 3, GR_MAP_EVENTS = 4, GR_MAP_COUNTERS = 5, GR_MAP_MUTABLES = 6 };
struct gr_map {
    uint32_t kind;
    uint32_t number;
};
struct gr_map_reply {
    uint64_t size_bytes;
};

/* RESTORE, LEASE, UNLEASE, by id. */
struct gr_object_ref {
    unsigned char id[16];
    uint64_t serial; /* LEASE */
    /* LEASE: the client's number for it, never 0; UNLEASE: that of its LEASE; RESTORE: GR_RESTORE_ANEW or 0 */
    uint64_t request;
};
#define GR_RESTORE_ANEW 1u /* the wait begins: what went wrong before it is tried again, and not told */
/*
 * RESTORE: answered at once. OK: the object is in memory or on its way. When it is there, or has failed, the id's
 * wait word is bumped; ask again, and the answer is the error. LEASE: a lease counted by the store, for a client
 * whose hazard set is full; ESTATE when the object is no longer SEALED with that serial. UNLEASE: ENOENT when that
 * lease has ended already.
 */

/*
 * PIN, UNPIN, REF, UNREF: holds. The client chooses the request number: never 0, and never the same for two of PIN,
 * REF, LEASE and NAME_SET. Sent again after a restart of the store, the same request is done once. The answer of PIN
 * and REF is struct gr_hold_reply; PIN is answered when the object is in memory. UNPIN and UNREF: by token (EPERM: it
 * ends with another client), or token 0: one of this client's (scope 0) or of nobody's with that id and scope, and,
 * UNREF, text. ENOENT: there is none.
 */
struct gr_hold {
    unsigned char id[16];
    uint64_t token;
    uint64_t request;
    uint32_t scope; /* granary_pin_scope; REF: 0 ends with this client, 1 lasts until it is taken back */
    uint32_t reserved;
    char text[56]; /* PIN: the reason; REF: the owner. NUL-terminated */
};
struct gr_hold_reply {
    uint64_t token;
};

/*
 * CONTAIN, before the parent is sealed by this client with GR_SEAL_PARENT: struct gr_contain, then count ids, all of
 * which are noted or none. `first` is how many were noted before: a request that was done already is not done again.
 * count 0: the parent will not be sealed, forget its ids. ENOENT: one of them does not exist. EEXIST: the parent does.
 * EBUSY: another client is making it. EINVAL: it would contain itself, or `first` is not as many as were noted.
 */
struct gr_contain {
    unsigned char parent[16];
    uint32_t count; /* at most GR_CONTAIN_MOST; more: ask again */
    uint32_t first;
};
#define GR_CONTAIN_MOST 1000u

/* ALIAS: EEXIST the alias is an object, or an alias of another; EINVAL it would lead to itself; EFULL too many lead
 * there. */
struct gr_alias {
    unsigned char alias[16];
    unsigned char target[16];
};

/*
 * NAME_SET: bind a name, or drop it (id all zero). expect: GR_NAME_ANY, _NEW (EEXIST when it is bound), or _ID (ESTATE
 * when it is bound to another id than `expected`, or unbound). Answer: struct gr_name, with the id it was bound to
 * before. NAME_GET: answer the same, with id. NAME_LIST: names behind `name` in order of bytes; answer: struct gr_name
 * each.
 */
enum gr_name_expect { GR_NAME_ANY = 0, GR_NAME_NEW = 1, GR_NAME_ID = 2 };
struct gr_name {
    unsigned char id[16];
    unsigned char expected[16];
    uint64_t request;
    uint32_t expect;
    uint32_t reserved;
    char name[56];
};

/* MOVE: bring the object to `to` and take it from `from` (granary_levels); answered when it is there. */
struct gr_move {
    unsigned char id[16];
    uint32_t to;
    uint32_t from;
    uint32_t flags; /* 1: answer at once, work in the background (prefetch) */
    uint32_t reserved;
    int64_t timeout_ms;
};

/*
 * SLICE: part of a spilled object, as an object of its own under an id that the answer gives. Its data begins at
 * `offset` of the parent's data-padding-metadata image. It holds at least the length asked for. ESTATE: the parent is
 * in memory.
 */
struct gr_slice {
    unsigned char id[16];
    uint64_t offset;
    uint64_t length;
};
struct gr_slice_reply {
    unsigned char id[16]; /* to be leased like any object: it may be on its way still */
    uint64_t offset;
    uint64_t length;
};

/* HINT: what the store may know about an object's future; -1 leaves a value as it is. */
struct gr_hint {
    unsigned char id[16];
    int32_t importance; /* 0 .. 255 */
    int32_t next_use;   /* 0 unknown, 1 soonest .. 255 never again */
};

/* HOLDS: ledger records about an id (all zero: of the whole session) with a token above `after`, in order of tokens. */
struct gr_holds {
    unsigned char id[16];
    uint64_t after;
};
/* Answer: struct gr_ledger_record each (contract/shm.h), as many as fit; none: the end. */

/* SESSION_CREATE, _HAS, _DELETE; of any client. _LIST: sessions behind `name`; answer: struct gr_session_info each. */
#define GR_SESSION_IF_NOT_EXIST 1u /* CREATE: an existing one is fine, and keeps its settings */
#define GR_SESSION_IF_EXIST     2u /* DELETE: a missing one is fine */
#define GR_SESSION_STRICT       4u /* CREATE: GR_CONTROL_STRICT */
#define GR_SESSION_SHARED       8u /* CREATE: GR_CONTROL_SHARED */
struct gr_session_request {
    char name[64];
    uint32_t flags;
    uint32_t reserved;
    uint64_t quota_bytes; /* 0: none */
    uint64_t idle_ms;     /* 0: never */
};
struct gr_session_info {
    char name[64];
    uint32_t number;
    uint32_t clients;
    uint32_t flags; /* GR_CONTROL_... */
    uint32_t uid;
    uint64_t objects;
    uint64_t used_bytes;
    uint64_t quota_bytes;
    uint64_t idle_ms;
    uint64_t created_ms;
    uint64_t last_used_ms;
};

/* LIMITS */
struct gr_limits {
    uint64_t memory_bytes; /* the budget; of each, UINT64_MAX: as it is */
    uint64_t disk_bytes;   /* in all directories; 0: no limit */
    uint64_t user_bytes;   /* in memory, of each user of the group; 0: no limit */
};

/* DEAD: body = data segment numbers, uint32_t each; answer = one byte each, 1: it is gone and may be unmapped. */

#endif
