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

struct store;

struct store_options {
    const char *instance;        /* name or runtime directory; NULL: as gr_instance_resolve() */
    uint64_t memory_bytes;       /* budget; 0: half of the smallest of cgroup limit, RAM and /dev/shm */
    const char *spill_dir;       /* a directory of its own is made in it; NULL: the instance's default */
    uint64_t disk_quota_bytes;   /* 0: none */
    granary_levels levels;       /* to be used; 0: memory, disk, and remote when there is a remote_dir */
    const char *remote_dir;      /* as spill_dir, of the remote level; NULL: there is none */
    uint64_t remote_quota_bytes; /* 0: none */
    const char *group;           /* whose members may connect beside the store's own user; NULL: nobody */
    unsigned high_percent;       /* of the budget without a copy: spilling begins by itself; 0: 90 */
    unsigned low_percent;        /* ... and ends, below high_percent; 0: 75, or what fits */
    int stop_fd;                 /* readable: store_run() ends */
    bool fresh;                  /* what an earlier store left is given up */
};

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

/* The account recomputed from every segment is the account, and it balances. For tests, between turns of the loop. */
bool store_audit(const struct store *store);

#endif
