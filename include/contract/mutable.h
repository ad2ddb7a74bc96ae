/*
 * Mutable tables and tensors as their writers and readers agree on them. docs/mutable.md tells the same in prose.
 *
 * The session has a file "s<session>.mutables", which its clients map read-write: a head, then a page a table. The
 * store makes it and lets it grow; it never looks into it. A page is a table's while its id is that of an object: the
 * table's schema, to which the table's name is bound.
 *
 * Who is at a table says so by locks (fcntl, F_OFD_SETLK) on bytes of that file, which end with the process: each
 * writer has its lane's, every handle shares GR_MUTABLE_LOCK_USER, and who takes a page for a new table has all of
 * them for a moment. Who writes under a token has GR_MUTABLE_LOCK_TOKEN. The byte of lane l of page p is
 * p * GR_MUTABLE_LOCKS + l.
 *
 * What is written lies in objects. A writer makes them in rooms of its own, and their ids are hashes of the table's id,
 * what they are, lane, and number:
 *
 *   log   struct gr_mutable_slot[]   what a lane's writers did, in order
 *   rows  a frame's chunk            rows that were appended: as many of them as the log says
 *   tile  a tensor                   a whole chunk of a tensor, as it was written
 *   slab  struct gr_mutable_note ... changes of what is there, one behind the other: those that the log tells of
 *
 * And of a durable table, persistent objects that tell all of it again:
 *
 *   root   what the table is; found by its name
 *   piece  slots, rows and notes as they were when somebody flushed
 *
 * Logs, rows and slabs are sealed as they begin. While their writer still writes behind what its lane has committed, they may not leave
 * memory: their importance is 255, and the writer pins them.
 *
 * Commit (writer, no message): fill the slots behind the committed ones; pending_time; word to PENDING (seq_cst); load
 * frontier (seq_cst): at or after the time -> withdraw. Exchange the word for the new count: done -> committed; else a
 * reader has revoked it.
 * Cut at T (reader, no message): raise frontier to T (seq_cst). Load each lane's word (seq_cst): PENDING at or before T
 * -> exchange it for REVOKED, or find it committed. What is committed at or before T is final then.
 *
 * It is Dekker's pattern, as in contract/shm.h: at least one side sees the other, and nobody waits. A writer that stops
 * or dies in between has written nothing. tests/model/cut.pml is the model.
 */
#ifndef GRANARY_CONTRACT_MUTABLE_H
#define GRANARY_CONTRACT_MUTABLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "contract/bell.h"

#define GR_MUTABLES_MAGIC 0x73656c626174756dull /* "mutables" */
#define GR_MUTABLE_LANES  256u                  /* writers at a time */

enum gr_mutable_object {
    GR_MUTABLE_LOG = 1,
    GR_MUTABLE_ROWS = 2,
    GR_MUTABLE_SLAB = 3,
    GR_MUTABLE_SEALED = 4,
    GR_MUTABLE_TILE = 5,
    GR_MUTABLE_BASE = 6,
    GR_MUTABLE_PIECE = 7, /* of a durable table, see below; lane: its level */
    GR_MUTABLE_RING = 8   /* of a channel */
};

enum gr_lane_state { GR_LANE_IDLE = 0, GR_LANE_PENDING = 1, GR_LANE_REVOKED = 2 };

/* A lane's word: committed slots << 2 | gr_lane_state */
#define GR_LANE(count, state) ((uint64_t)(count) << 2 | (uint64_t)(state))
#define GR_LANE_STATE(word)   ((enum gr_lane_state)((word)&3))
#define GR_LANE_COUNT(word)   ((word) >> 2)

/* Written by one writer at a time; its word by readers too. A lane outlives its writer: the next one goes on in it. */
struct gr_lane {
    _Alignas(64) _Atomic uint64_t word;
    _Atomic int64_t pending_time; /* of the slots that are pending: all of a commit have one time */
    _Atomic int64_t newest;       /* the latest time that was committed, or an earlier one while a commit ends */
    /* Numbers of chunks (and slabs), and of blocks that were taken, each before its object is made: none is used twice. */
    _Atomic uint32_t chunks;
    _Atomic uint32_t blocks;
    /* Numbers, + 1, of the chunk, the slab and the block that are being written, each before it is made; 0: none is. They
     * may not leave memory. When their writer was killed, the next one of the lane lets them. */
    _Atomic uint32_t open[GR_MUTABLE_SLAB + 1]; /* by gr_mutable_object */
    /* Of a durable table, written by who flushes: position of the last slot that is on disk; and the chunk of rows to which the
     * lane had come there << 32 | its rows. */
    _Atomic uint64_t durable;
    _Atomic uint64_t durable_rows;
};
_Static_assert(sizeof(struct gr_lane) == 64, "a lane is one cache line");

/* What a page is of. */
enum gr_page_kind { GR_PAGE_TABLE = 0, GR_PAGE_CHANNEL = 1 /* struct gr_channel: contract/channel.h */ };

struct gr_mutable {
    _Alignas(64) _Atomic uint64_t id[2]; /* of the table's object; zero, or no such object: the page is free */
    /* INT64_MIN; or the table was sealed as it was at that time: its frontier is INT64_MAX, and the object of
     * GR_MUTABLE_SEALED is it, or is about to be. */
    _Atomic int64_t sealed;
    /* Number of the base, the object of GR_MUTABLE_BASE that has all up to the time before which history was given up; 0:
     * there is none. What the logs tell of up to that time is not looked at, and its objects may be gone. */
    _Atomic uint32_t base;
    /* Durable tables: gr_durability, how often an interval ends, how many pieces there are, and the hash of the name. They do
     * not change, but for the pieces, which who flushes counts. */
    uint32_t durability;
    int64_t interval_ns;
    uint64_t root;
    _Atomic uint32_t pieces;
    uint32_t kind; /* gr_page_kind */
    /* A table that was restored: history up to this time was given up, and is to be again; INT64_MIN: none was. */
    _Atomic int64_t given_up;
    /* Reads were answered for times up to this one: no write at or before it becomes visible any more. */
    _Alignas(64) _Atomic int64_t frontier;
    /* Rows that have a number: a writer takes numbers for a whole chunk at a time. */
    _Alignas(64) _Atomic uint64_t rows;
    _Atomic uint64_t notes;              /* that have a sequence */
    _Alignas(64) _Atomic uint32_t lanes; /* that ever had a writer */
    struct gr_bell bell;                 /* something was committed */
    _Alignas(64) struct gr_lane lane[GR_MUTABLE_LANES];
};
_Static_assert(sizeof(struct gr_mutable) == 64 * (4 + GR_MUTABLE_LANES), "part of the layout");

#define GR_MUTABLES_MOST     1024u /* tables of a session */
#define GR_MUTABLE_LOCKS     512u
#define GR_MUTABLE_LOCK_USER 256u
/* Held from the look for a token to the commit of its write: so at most one write has it. */
#define GR_MUTABLE_LOCK_TOKEN 257u
/* granary_mutable_lock() */
#define GR_MUTABLE_LOCK_CHANGE 260u
#define GR_MUTABLE_LOCK_DISK   258u /* who flushes a durable table */
/* Behind the bytes of pages: who makes, restores or ends a durable table has that of the hash of its name. */
#define GR_MUTABLE_LOCK_NAMES ((uint64_t)GR_MUTABLES_MOST * GR_MUTABLE_LOCKS)
#define GR_MUTABLE_NAMES      65536u

struct gr_mutables {
    _Atomic uint64_t magic;
    _Atomic uint32_t version; /* the layout of the instance */
    _Atomic uint32_t session;
    _Atomic uint64_t incarnation; /* a random number of this memory's, taken by whoever needs it first; 0: nobody did */
    uint64_t reserved[5];
    /* struct gr_mutable[] follow, all zero at first */
};
_Static_assert(sizeof(struct gr_mutables) == 64, "part of the layout");

/* ---- a lane's log ---- */

/*
 * Block b of a log has at most GR_LOG_SLOTS slots: slot s of a lane is in block s / GR_LOG_SLOTS. Its first slot is its
 * head, which leads to the block before: `what` is that one's number, and `time` how many of its slots count, 0 in the
 * first block. So a block may be left before it is full, and blocks whose writer died before it committed in them are
 * in no chain.
 */
#define GR_LOG_SLOTS 32768u

enum gr_mutable_kind {
    GR_MUTABLE_CHUNK = 1,  /* time: number of its first row; a chunk begins that has room for `end` rows */
    GR_MUTABLE_APPEND = 2, /* the chunk has `end` rows now */
    GR_MUTABLE_NOTE = 3,   /* a change: the note at byte `end` * GR_NOTE_ALIGN of slab `chunk` */
    GR_MUTABLE_FULL = 4,   /* the chunk is complete with `end` rows, a frame like any */
    GR_MUTABLE_TOKEN = 5,  /* what is committed with this slot has the token of the 60 bits behind the kind */
};

struct gr_mutable_slot {
    int64_t time;
    uint64_t what; /* gr_mutable_kind << 60 | chunk of the lane << 32 | end; 0: nothing */
};
#define GR_MUTABLE_WHAT(kind, chunk, end) ((uint64_t)(kind) << 60 | (uint64_t)(chunk) << 32 | (uint64_t)(end))
#define GR_MUTABLE_WHAT_KIND(what)        ((unsigned)((what) >> 60))
#define GR_MUTABLE_WHAT_TOKEN(what)       ((uint64_t)(what) & (((uint64_t)1 << 60) - 1))
#define GR_MUTABLE_WHAT_CHUNK(what)       ((uint32_t)((what) >> 32 & 0xfffffffu))
#define GR_MUTABLE_WHAT_END(what)         ((uint32_t)(what))

/* ---- notes ---- */

#define GR_NOTE_ALIGN 64u

enum gr_note_kind {
    GR_NOTE_DELETE = 1, /* rows: `count` ranges of their numbers */
    GR_NOTE_WRITE = 2,  /* values of rows: `count` ranges, then a frame with a row for each of their rows */
    /* Of a chunk of a tensor: */
    GR_NOTE_TILE = 3,   /* all of it is the tensor object of this id: 16 bytes. `points`: number, + 1, of the object of
                           GR_MUTABLE_TILE that contains it; 0: the table refers to it */
    GR_NOTE_BOX = 4,    /* a gr_note_axis for each dimension, then values: `count` of them, or one for all */
    GR_NOTE_POINTS = 5, /* `points` offsets of 32 bits (elements), then values: `count` of them, or one for all */
    GR_NOTE_WHOLE = 6,  /* all of it: `count` values */
};

/*
 * What was changed at the time of its slot. Of two notes of one time the one with the later sequence counts as later.
 * Ranges ascend and do not overlap. Parts behind the head begin at multiples of GR_NOTE_ALIGN.
 */
struct gr_mutable_note {
    uint64_t size; /* bytes, with this head */
    uint32_t kind; /* gr_note_kind */
    uint32_t reserved;
    uint64_t sequence;
    uint64_t count;
    uint64_t data_size; /* WRITE: of the frame's Arrow file, and of its directory behind it */
    uint64_t meta_size;
    uint64_t chunk;  /* of a tensor: its number */
    uint64_t points; /* POINTS, TILE */
};
_Static_assert(sizeof(struct gr_mutable_note) == GR_NOTE_ALIGN, "part of the layout");

/* Positions first, first + step, ... of a dimension of a chunk. */
struct gr_note_axis {
    int64_t first;
    int64_t step;
    int64_t count;
};

/* Numbers [from, to) of rows. */
struct gr_note_range {
    uint64_t from;
    uint64_t to;
};

/* ---- durable tables ---- */

enum gr_durability { GR_DURABLE_NONE = 0, GR_DURABLE_INTERVAL = 1, GR_DURABLE_COMMIT = 2 };

/*
 * A durable table has a root, a persistent object which is found by the table's name, and which tells its id. The
 * newer of two counts, whose ids are GR_TABLE_ROOT_PREFIX and the name's hash, with the lowest bit of the sequence in place of
 * its own. Behind it are the bytes of the table's object.
 */
#define GR_TABLE_ROOT_MAGIC   0x746f6f72656c6261ull /* "ableroot" */
#define GR_TABLE_ROOT_VERSION 1u
#define GR_TABLE_ROOT_PREFIX  0x746f6f723a6c6274ull /* "tbl:root" */

enum gr_table_root_state { GR_TABLE_ROOT_LIVE = 1, GR_TABLE_ROOT_SEALED = 2, GR_TABLE_ROOT_ENDED = 3 };

struct gr_mutable_root {
    uint64_t magic;
    uint32_t version;
    uint32_t state; /* gr_table_root_state */
    uint64_t sequence;
    uint64_t id[2]; /* of the table's object */
    uint32_t durability;
    uint32_t reserved;
    int64_t interval_ns;
    int64_t sealed;       /* SEALED: as it was at that time */
    uint64_t incarnation; /* in which it was put */
    uint64_t data_size; /* of the table's object; its bytes begin at GR_PIECE_PAD of this struct, its metadata behind */
    uint64_t meta_size;
    uint64_t
        before[2]; /* id of the table of that name that had ended before: what a power cut may bring back of it goes */
    uint64_t reserved_more;
    char name[64];
};
_Static_assert(sizeof(struct gr_mutable_root) == 176, "part of the format");

/*
 * What was written to a durable table is told again by pieces, persistent objects. A flush puts one, or several with FIRST
 * and LAST: all of them count, or none. Piece i of level l has what pieces [16 i, 16 i + 16) of the level below had, and
 * counts in their place. What two flushes tell of, because the first one's process died, counts once.
 */
#define GR_PIECE_MAGIC   0x6563656970726772ull /* "rgrpiece" */
#define GR_PIECE_VERSION 1u
#define GR_PIECE_FAN     16u
#define GR_PIECE_LEVELS  8u
/* Ids of pieces: the first 8 bytes of the id of GR_MUTABLE_PIECE, lane 0, number 0; then level << this | number. */
#define GR_PIECE_LEVEL_SHIFT 56
#define GR_PIECE_PAD         64u /* entries, and the parts of one, begin at multiples of it */

enum { GR_PIECE_FIRST = 1, GR_PIECE_LAST = 2 };

struct gr_mutable_piece {
    uint64_t magic;
    uint32_t version;
    uint32_t flags;
    uint64_t size; /* bytes, with this head */
    /* The table's when the piece was put. */
    int64_t frontier;
    uint64_t rows;
    uint64_t notes;
    uint64_t reserved[2];
};
_Static_assert(sizeof(struct gr_mutable_piece) == GR_PIECE_PAD, "part of the format");

enum gr_piece_kind {
    GR_PIECE_SLOTS = 1, /* at: position of the first; count of them; more: chunks of the lane that have numbers. Data */
    GR_PIECE_ROWS = 2,  /* at: chunk; rows [more, count) of it: data and metadata of a frame */
    GR_PIECE_NOTE = 3,  /* at: slab; more: byte in it. Data: the note */
    GR_PIECE_TILE = 4,  /* at, more: id of the tensor object whose data and metadata follow */
    GR_PIECE_HORIZON = 5, /* at: history was given up to that time */
};

/* Behind the head, one after the other; data and metadata behind each. */
struct gr_piece_entry {
    uint64_t size; /* bytes, with this head */
    uint32_t kind; /* gr_piece_kind */
    uint32_t lane;
    uint64_t at;
    uint64_t more;
    uint64_t count;
    uint64_t data_size;
    uint64_t meta_size;
    uint64_t reserved;
};
_Static_assert(sizeof(struct gr_piece_entry) == GR_PIECE_PAD, "part of the format");

#endif
