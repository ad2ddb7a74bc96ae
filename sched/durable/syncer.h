/*
 * Waiting for the disk beside the scheduler's loop: a thread that runs one operation when it is asked to, for all who
 * asked meanwhile at once.
 */
#ifndef SCHED_DURABLE_SYNCER_H
#define SCHED_DURABLE_SYNCER_H

#include <stdint.h>

#include "granary/types.h"

struct syncer;

/* sync is called in the thread, one call at a time. NULL: out of resources. */
struct syncer *syncer_create(granary_err (*sync)(void *context), void *context);
/* Waits for the operation at work. NULL is fine. */
void syncer_destroy(struct syncer *syncer);

/* Ask for an operation that begins after this call. Returns its number, from 1, rising. */
uint64_t syncer_ask(struct syncer *syncer);

/* Readable when an operation has ended since syncer_done() was called last. */
int syncer_fd(const struct syncer *syncer);

/* The number up to which everything asked for has been done. *ret_err: of the last operation, and its message. */
uint64_t syncer_done(struct syncer *syncer, granary_err *ret_err, char ret_message[256]);

#endif
