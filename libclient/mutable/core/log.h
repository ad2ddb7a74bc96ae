/* log: what a lane's writer did, slot by slot (contract/mutable.h). */
#ifndef MUTABLE_LOG_H
#define MUTABLE_LOG_H

#include "mutable/core/kept.h"

/* The end of a lane's log, where its writer is. One thread at a time. */
struct log_writer {
    granary_client *client;
    granary_id table;
    struct gr_lane *shared;
    uint32_t lane;
    uint64_t next; /* position of the slot to be filled next */
    uint32_t room; /* slots of the block */
    int timeout_ms;
    struct kept block;
    struct kept *before; /* blocks before, while slots in them are not committed yet */
    size_t before_count;
    size_t before_room;
};

/* Begin to write in a lane that is the caller's alone, behind its committed slots, in a block of its own. Errors: as kept_create(), kept_seal() */
granary_err log_begin(struct log_writer *log, granary_client *client, granary_id table, struct gr_lane *shared,
                      uint32_t lane, int timeout_ms);
void log_end(struct log_writer *log);

/*
 * Fill the next slot.
 *
 * ret_at  where it is: it may be changed until log_settle()
 * Errors  as log_begin() · ENOMEM
 */
granary_err log_put(struct log_writer *log, struct gr_mutable_slot slot, struct gr_mutable_slot **ret_at);
/* All slots so far are committed, or never will be changed again. */
void log_settle(struct log_writer *log);

/*
 * Slots of a lane that were committed, one by one.
 *
 * after, last  positions: of the slots behind the first up to the second; 0 is before all of them
 * take         called for each; an error of its ends the walk and is passed on
 * Errors       ECORRUPT a block is missing, or makes no sense · as granary_object_get()
 */
typedef granary_err log_take(void *context, uint64_t position, const struct gr_mutable_slot *slot);
granary_err log_walk(granary_client *client, granary_id table, uint32_t lane, uint64_t after, uint64_t last,
                     log_take *take, void *context);

#endif
