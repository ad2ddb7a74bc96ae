/*
 * keeper: what a handle does so that what it writes is on disk when that was promised: at every commit, or within an interval by a
 * thread of its own.
 */
#ifndef MUTABLE_DURABLE_KEEPER_H
#define MUTABLE_DURABLE_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "granary/mutable.h"

/* Part of a handle. */
struct keeper {
    pthread_mutex_t lock; /* of what follows, but for atomics */
    pthread_cond_t changed;
    pthread_t thread;
    bool runs;
    bool stops;
    _Atomic bool rests;  /* the thread waits for a write */
    _Atomic bool failed; /* the last flush: what was committed is not on disk */
};

void keeper_init(struct keeper *keeper);

/* The handle is open. A writer that was killed may have left what nobody else brings to disk. */
void keeper_begin(granary_mutable *table);

/* Before a write, while the table is locked. Errors: as table_flush(): what was written before does not come to disk, and the disk
 * is to have no more debts · ENOMEM no thread */
granary_err keeper_begin_write(granary_mutable *table);
/* After a commit of the handle's lane, up to a position; or (KEEPER_ANY) of whatever lane. The table is not locked. Errors: as
 * table_flush() */
#define KEEPER_ANY UINT64_MAX
granary_err keeper_end_write(granary_mutable *table, uint64_t position);

/* The handle is being closed: what is not on disk comes there. */
void keeper_end(granary_mutable *table);

#endif
