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

#define GR_STORE_MAGIC    0x676e7267u /* "grng" */
#define GR_STORE_VERSION  1u
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

enum gr_store_op {
    GR_STORE_HELLO = 1,
    GR_STORE_ROOM = 2,
    GR_STORE_MAP = 3,
    GR_STORE_RESTORE = 4,
    GR_STORE_LEASE = 5,
    GR_STORE_UNLEASE = 6,
    GR_STORE_PIN = 7,
    GR_STORE_UNPIN = 8,
    GR_STORE_DEAD = 9,
    GR_STORE_PING = 10,
};

/* HELLO: descriptors of the answer: control (read-only), lease page (read-write), doorbell (eventfd). */
struct gr_hello {
    uint32_t version; /* GR_STORE_VERSION */
    uint32_t shm_version;
    char session[64]; /* NUL-terminated; "" is "default" */
    char tag[32];
};
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
};
struct gr_room_reply {
    uint32_t segment;
    uint32_t node;
    uint64_t size_bytes;
    uint64_t warm_bytes;
};

/* MAP: a table or data segment, to read. One descriptor, read-only. ENOENT: it is gone, look the object up again. */
enum gr_map_kind { GR_MAP_TABLE = 1, GR_MAP_DATA = 2 };
struct gr_map {
    uint32_t kind;
    uint32_t number;
};
struct gr_map_reply {
    uint64_t size_bytes;
};

/* RESTORE, LEASE, UNLEASE, PIN, UNPIN, by id. */
struct gr_object_ref {
    unsigned char id[16];
    uint64_t serial; /* LEASE, UNLEASE */
    uint32_t scope;  /* PIN, UNPIN: granary_pin_scope */
    uint32_t reserved;
};
/*
 * RESTORE: answered at once: OK the object is in memory or on its way (then the id's wait word is bumped when it is
 * there, or has failed: ask again and the answer is the error). LEASE: a lease counted by the store, for a client whose
 * hazard set is full; ESTATE when the object is no longer SEALED with that serial. PIN is answered when the object is
 * in memory.
 */

/* DEAD: body = up to 1024 uint32_t data segment numbers; answer = one byte each, 1: it is gone and may be unmapped. */

#endif
