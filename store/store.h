/*
 * The store daemon as a library: granary-store is main.c around it, and tests run it in a thread.
 *
 * One store at a time in a process.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/types.h"
#include "store/core/options.h"

struct store;

/*
 * Take the instance and be ready for clients: when this returns, they can connect.
 *
 * What a store that died left behind is adopted: sessions, objects and clients go on as they were.
 * Errors  EEXIST another store serves the instance · EFULL /dev/shm has less free than the budget (the message names
 *         the remedies) · EINVAL · EPERM · ENOMEM
 */
granary_err store_create(const struct store_options *options, struct store **ret_store);

/* Serve until stop_fd is readable. */
void store_run(struct store *store);

/* One turn of that loop, without waiting: for tests without a thread. True: there may be more to do at once. */
bool store_turn(struct store *store);

/* What kill -9 leaves: store_destroy() lets everything lie for the next store. For tests. */
void store_die(struct store *store);

/* Drop every client and leave nothing behind: no shared memory, no socket, no spill file. NULL is fine. */
void store_destroy(struct store *store);

#endif
