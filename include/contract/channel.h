/*
 * Channels as their writers and readers agree on them. docs/channels.md tells the same in prose.
 *
 * A channel has a page of the session's file of mutable tables (contract/mutable.h), found by the id of the channel's
 * object, struct gr_channel_object, to which its name is bound. Locks on bytes of that file tell who is there: a writer has
 * its lane's, GR_MUTABLE_LANES being the bound of those bytes; a reader has its member's; who comes, goes, or looks after
 * the dead has GR_CHANNEL_LOCK_MEMBERS for a moment.
 *
 * Each writer has a lane: a ring, which is an object in a room of its own that it alone writes (GR_MUTABLE_RING; the number
 * is the lane's). A lane outlives its writer. Another one takes it when all of it has been read, with a ring of its own.
 * Positions in a lane count units of GR_CHANNEL_UNIT bytes from the channel's beginning; position p lies at
 * byte (p - base) * GR_CHANNEL_UNIT of the ring, modulo its size.
 *
 * Readers are in groups. A group has each message once: its members share them. `taken` of a lane is where the group's next
 * message begins, and who took the last one. A member's claim is the message that it has, or is about to take.
 *
 * Put   (writer) fill the entry behind the head; exchange the head. It fails when the channel was sealed. Ring the bell.
 * Take  (member m) read `taken`: position p, and member b. Help b: if its claim is TENTATIVE on a position before p of this
 *       lane, it was b who took that one: make it OWNED. Claim p, TENTATIVE. Exchange `taken` for the end of the entry and
 *       m; when that fails, begin again.
 * Done  the claim becomes NONE.
 * Sweep (anybody) `swept` of a lane moves up to the least of the groups' `taken` and, read after these, the claims on the
 *       lane; a claim before `swept` is of a take that will fail. What is before `swept` may be written over.
 * Mourn (member, with GR_CHANNEL_LOCK_MEMBERS and the dead one's lock) a dead member had taken what it claims, if the claim
 *       is OWNED, or if it is the last who took of the lane, and the lane was taken beyond the claim; the claim is read
 *       after `taken`. The mourner claims the same, moves the generation in `swept` on, so that who looked at its claim
 *       before sweeps in vain, and ends the dead one's claim, and equal claims of other dead.
 * Join  a group takes all positions as 0, so nothing is swept; moves the generation in `swept` on, so that who looked
 *       before sweeps in vain; then sets its positions.
 *
 * tests/model/channel.pml is the model of take, done, sweep and mourn.
 */
#ifndef GRANARY_CONTRACT_CHANNEL_H
#define GRANARY_CONTRACT_CHANNEL_H

#include "contract/mutable.h"

#define GR_CHANNEL_LANES   32u /* writers at a time */
#define GR_CHANNEL_GROUPS  32u
#define GR_CHANNEL_MEMBERS 64u /* readers at a time */
#define GR_CHANNEL_UNIT    16u

#define GR_CHANNEL_LOCK_MEMBERS GR_MUTABLE_LOCK_CHANGE
#define GR_CHANNEL_LOCK_MEMBER  300u /* and as many as there are members */

/* ---- the channel's object ---- */

#define GR_CHANNEL_MAGIC   0x6c656e6e61686372ull /* "rchannel" */
#define GR_CHANNEL_VERSION 1u

struct gr_channel_object {
    uint64_t magic;
    uint32_t version;
    uint32_t broadcast;  /* else there is one group */
    uint64_t ring_bytes; /* of each writer: a power of two */
    uint32_t objects;    /* most of a writer's objects that wait */
    uint32_t reserved[9];
};
_Static_assert(sizeof(struct gr_channel_object) == 64, "part of the layout");

/* ---- the page ---- */

/* Positions have 52 bits: 64 PiB a lane. */
#define GR_CHANNEL_POSITION_MOST (((uint64_t)1 << 52) - 1)

/* head: position << 1 | sealed */
#define GR_HEAD(position, sealed) ((uint64_t)(position) << 1 | (uint64_t)(sealed))
#define GR_HEAD_POSITION(word)    ((word) >> 1)
#define GR_HEAD_SEALED            ((uint64_t)1)

/* swept: position << 12 | generation */
#define GR_SWEPT(position, generation) ((uint64_t)(position) << 12 | ((generation)&0xfffu))
#define GR_SWEPT_POSITION(word)        ((word) >> 12)

/* taken: position << 8 | member; GR_CHANNEL_MEMBERS: none */
#define GR_TAKEN(position, member) ((uint64_t)(position) << 8 | (uint64_t)(member))
#define GR_TAKEN_POSITION(word)    ((word) >> 8)
#define GR_TAKEN_MEMBER(word)      ((uint32_t)((word)&0xff))

enum gr_claim_state { GR_CLAIM_NONE = 0, GR_CLAIM_TENTATIVE = 1, GR_CLAIM_OWNED = 2 };

/* claim: position << 12 | group << 7 | lane << 2 | state */
#define GR_CLAIM(position, group, lane, state)                                                                         \
    ((uint64_t)(position) << 12 | (uint64_t)(group) << 7 | (uint64_t)(lane) << 2 | (uint64_t)(state))
#define GR_CLAIM_POSITION(word) ((word) >> 12)
#define GR_CLAIM_STATE(word)    ((enum gr_claim_state)((word)&3))
/* All but the state. */
#define GR_CLAIM_WHERE(word) ((word) >> 2)

struct gr_channel_lane {
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint64_t swept;
    _Atomic uint64_t messages; /* that were put, or one less while one is */
    _Atomic uint64_t room_at;  /* the writer waits until everything before this position is swept */
    struct gr_bell room;       /* ... on this */
    _Atomic uint32_t ring;     /* number of the ring's object, + 1; 0: there was none */
    uint32_t reserved[5];
};
_Static_assert(sizeof(struct gr_channel_lane) == 64, "a lane is one cache line");

enum gr_group_state { GR_GROUP_FREE = 0, GR_GROUP_JOINING = 1, GR_GROUP_READY = 2 };

struct gr_channel_group {
    _Atomic uint32_t state; /* gr_group_state */
    uint32_t is_named;      /* it stays when its members go */
    char name[56];          /* NUL at the end */
    _Atomic uint64_t taken[GR_CHANNEL_LANES];
};
_Static_assert(sizeof(struct gr_channel_group) == 320, "part of the layout");

struct gr_channel_member {
    _Alignas(64) _Atomic uint64_t claim;
    _Atomic uint32_t group;
    uint32_t pid;
    uint64_t reserved[6];
};
_Static_assert(sizeof(struct gr_channel_member) == 64, "a member is one cache line");

struct gr_channel {
    _Alignas(64) _Atomic uint64_t id[2]; /* as of struct gr_mutable: of the channel's object */
    uint32_t unused[9];
    uint32_t kind; /* as of struct gr_mutable */
    uint64_t unused_more;
    _Alignas(64) struct gr_bell bell; /* something was put, sealed, deleted, or given back */
    _Atomic uint32_t lanes;           /* that ever had a writer */
    _Atomic uint32_t groups;          /* that were ever used */
    _Atomic uint32_t members;         /* likewise */
    _Atomic uint32_t sealed;          /* 1: sealed, or about to be */
    uint64_t reserved[21];
    struct gr_channel_lane lane[GR_CHANNEL_LANES];
    struct gr_channel_group group[GR_CHANNEL_GROUPS];
    struct gr_channel_member member[GR_CHANNEL_MEMBERS];
};
_Static_assert(sizeof(struct gr_channel) == sizeof(struct gr_mutable), "pages of one file");

/* ---- a ring ---- */

/* The object's first bytes. The ring follows. */
struct gr_channel_ring {
    uint64_t magic; /* GR_CHANNEL_MAGIC */
    uint64_t base;  /* position of its first byte */
    uint64_t bytes; /* as the channel's ring_bytes */
    uint64_t reserved[5];
};
_Static_assert(sizeof(struct gr_channel_ring) == 64, "part of the layout");

enum gr_entry_kind {
    GR_ENTRY_BYTES = 1,
    GR_ENTRY_OBJECT = 2, /* 16 bytes: its id; the channel has a reference to it until the entry is swept */
    GR_ENTRY_PAD = 3,    /* nothing up to the ring's end, where the message begins: both are put at once */
};

#define GR_ENTRY(kind, size) ((uint32_t)(kind) << 28 | (uint32_t)(size))
#define GR_ENTRY_KIND(word)  ((enum gr_entry_kind)((word) >> 28))
#define GR_ENTRY_SIZE(word)  ((word)&0xfffffffu)

/* Its bytes follow, up to a multiple of GR_CHANNEL_UNIT. */
struct gr_channel_entry {
    _Atomic uint32_t kind_size; /* gr_entry_kind << 28 | bytes behind this head */
    uint32_t reserved;
    _Atomic uint64_t number; /* of the message in its lane: 0, 1, ... */
};
_Static_assert(sizeof(struct gr_channel_entry) == GR_CHANNEL_UNIT, "part of the layout");

#endif
