/*
 * Mutable tables and tensors as their writers and readers agree on them. docs/mutable.md tells the same in prose.
 *
 * A table has a page of shared memory, "s<session>.mutable<n>". The store makes it; every client of the session maps it
 * read-write. What is written lies in objects: a writer makes them in rooms of its own, and they are found by ids that
 * are hashes of the table's id, their kind, lane, and number:
 *
 *   log   struct gr_mutable_slot[]   what a lane's writers did, in order
 *   rows  a frame's chunk            rows that were appended: as many of them as the log says
 *   notes bytes                      what does not fit a slot: cells that were written, rows that were deleted
 *
 * They are sealed as they begin, and pinned by their writer while it still writes behind what the lane has committed.
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

#define GR_MUTABLE_VERSION 1u
#define GR_MUTABLE_MAGIC   0x656c626174756d67ull /* "gmutable" */
#define GR_MUTABLE_LANES   256u                  /* writers at a time */

enum gr_lane_state { GR_LANE_IDLE = 0, GR_LANE_PENDING = 1, GR_LANE_REVOKED = 2 };

/* A lane's word: committed slots << 2 | gr_lane_state */
#define GR_LANE(count, state)  ((uint64_t)(count) << 2 | (uint64_t)(state))
#define GR_LANE_STATE(word)    ((enum gr_lane_state)((word)&3))
#define GR_LANE_COUNT(word)    ((word) >> 2)

/* Written by one writer at a time; its word by readers too. A lane outlives its writer: the next one goes on in it. */
struct gr_lane {
    _Alignas(64) _Atomic uint64_t word;
    _Atomic int64_t pending_time; /* of the slots that are pending: all of a commit have one time */
    _Atomic int64_t newest;       /* the latest time that was committed, or an earlier one while a commit ends */
    _Atomic uint32_t owner;       /* client number; 0: nobody yet. The store writes it */
    uint32_t reserved;
    uint64_t reserved_more[4];
};
_Static_assert(sizeof(struct gr_lane) == 64, "a lane is one cache line");

struct gr_mutable {
    _Atomic uint64_t magic; /* written last */
    uint32_t version;
    uint32_t session;
    uint64_t id[2];
    /* Reads were answered for times up to this one: no write at or before it becomes visible any more. */
    _Alignas(64) _Atomic int64_t frontier;
    _Alignas(64) _Atomic uint32_t lanes; /* that ever had an owner */
    _Alignas(64) struct gr_lane lane[GR_MUTABLE_LANES];
};

#endif
