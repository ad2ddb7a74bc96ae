/*
 * lane: how writers commit to a mutable table and readers cut it at a time, in shared memory alone
 * (contract/mutable.h). Nobody waits: of a writer and a reader that meet, whoever comes second finds what the other did.
 *
 * The page may be written by any client of the session, so nothing in it is believed beyond this table's own answers.
 */
#ifndef MUTABLE_LANE_H
#define MUTABLE_LANE_H

#include <stdbool.h>

#include "contract/mutable.h"

/* A page, which nobody uses, becomes an empty table's. */
void mutable_page_init(struct gr_mutable *page, const uint64_t id[2]);

/* A lane gets its first writer, or another one: readers look at it from now on. */
void mutable_show_lane(struct gr_mutable *page, uint32_t lane);

/* Begin to write in a lane that nobody else writes in: what its last writer left pending never was. Returns the count
 * of its committed slots. */
uint64_t lane_enter(struct gr_lane *lane);

/*
 * Commit the slots that the writer has filled behind the committed ones, all at one time. Two atomic exchanges.
 *
 * count    of committed slots afterwards; more than before
 * Returns  false: a read was answered for that time or a later one, and nothing was committed. Try again with a time
 *          behind mutable_frontier(), or refuse
 */
bool lane_commit(struct gr_mutable *page, struct gr_lane *lane, uint64_t count, int64_t time);

/* Reads were answered up to this time. */
int64_t mutable_frontier(const struct gr_mutable *page);

/* The latest time that anything was committed at; INT64_MIN: nothing was. */
int64_t mutable_newest(const struct gr_mutable *page);

/*
 * Make everything at or before a time final.
 *
 * ret_counts  of GR_MUTABLE_LANES: the committed slots of each lane, some of which may be later than the time
 * Returns     how many lanes there are
 */
uint32_t mutable_cut(struct gr_mutable *page, int64_t time, uint64_t *ret_counts);

/* The same without a cut: what was committed so far, at whatever time. */
uint32_t mutable_committed(const struct gr_mutable *page, uint64_t *ret_counts);

/* Wake those who sleep. */
void mutable_ring(struct gr_mutable *page);

/* Whether a seal has begun. */
bool mutable_is_sealed(const struct gr_mutable *page);

#endif
