/*
 * The root of an instance: one file in shared memory with what the next store needs beside the sessions (struct
 * gr_root in contract/shm.h). It has the clients, the segments, and the limits of the numbers given so far.
 *
 * A number is noted as used before it is used, so none is ever used twice, whenever the store dies.
 */
#ifndef STORE_ROOT_H
#define STORE_ROOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/instance.h"
#include "contract/shm.h"
#include "granary/types.h"

/* At a million objects a second four years away; a slot that has a larger one is damaged. */
#define ROOT_SERIAL_MOST ((uint64_t)1 << 47)

struct root {
    struct gr_root *shm;
    int fd;
    uint64_t serial; /* the last one given */
    uint64_t stamp;  /* ... */
    char name[96];
    bool fresh;    /* nothing was there: made by this store */
    bool detached; /* what there is is left for the next store: nothing is unlinked any more */
};

/*
 * Open the root that an earlier store left behind, or make one. The instance's lock is held.
 *
 * discard   whatever is there goes first
 * Without a root of this boot, or when the last store was stopping in good order, whatever is there goes too.
 *
 * Errors    EVERSION what is there is of another version of granary · EPERM of another user · EFULL · ENOMEM
 */
granary_err root_open(struct root *root, const struct gr_instance *instance, bool discard);

/* State and epoch, for who looks at the instance. */
void root_set_state(struct root *root, enum gr_control_state state);

/* Unmap it; and unlink it, unless it is detached. A zero root is fine. */
void root_close(struct root *root);

/* Numbers that were never given before, and never will be again. */
uint64_t root_serial(struct root *root);
/* A slot has this one, of at most ROOT_SERIAL_MOST, whatever the damaged count says: it is given no more. */
void root_serial_beyond(struct root *root, uint64_t serial);
/* A stamp of that time, or of the near future when that is what it takes. */
uint64_t root_stamp(struct root *root, int64_t wall_ms);
/* Whatever the clock says: no stamp at or below this one from now on. */
void root_stamp_beyond(struct root *root, uint64_t stamp);
/* One of the root's counters. 0: they are used up. */
uint32_t root_number(_Atomic uint32_t *next);

/*
 * A client's record, all there but for its word, which tells others that it is. Errors: EFULL
 */
granary_err root_take_client(struct root *root, struct gr_client_record **ret_record);
void root_drop_client(struct gr_client_record *record);

/* What a client that goes has timed is the root's from now on: theirs is zero then. */
void root_take_latencies(struct root *root, struct gr_latency theirs[GR_LATENCY_CLIENTS]);

/*
 * A number for a new segment, and the place of its record, which is free. Errors: EFULL
 */
granary_err root_take_segment(struct root *root, uint32_t *ret_number, struct gr_segment_record **ret_record);

/* Whether the place of that segment's record has memory behind it. Errors: EIO · ... it cannot be told */
granary_err root_has_segment(const struct root *root, uint32_t place, bool *ret_has);

#endif
