/* What an instance takes of the machine: of each kind of its processes, in shared memory, on disk. */
#ifndef TORTURE_LEVEL_H
#define TORTURE_LEVEL_H

#include <stdbool.h>
#include <stdio.h>

#include "granary/store.h"
#include "torture/instance/realm.h"

struct footprint {
    unsigned processes;
    unsigned fds, threads; /* the most that one of them has; without an executor's connections to the store */
    pid_t widest;          /* has the most descriptors */
    uint64_t anon, shared; /* resident bytes of all of them: their own, and of shared memory */
};

struct level {
    const struct realm *realm;
    struct footprint roles[REALM_ROLES];
    unsigned sessions;
    unsigned
        slots; /* programs that answer calls: each has a socket of its executor, and of the store when it needs it */
    unsigned connections; /* of executors to the store: one to each session in which it has worked */
    unsigned names;       /* in /dev/shm, but for data segments */
    unsigned segments;    /* data segments */
    uint64_t names_bytes, segments_bytes;
    unsigned pages;                      /* of executors, those of some that died among them */
    unsigned runtime_files, spill_files; /* user code's logs among the latter */
    uint64_t runtime_bytes, spill_bytes; /* on disk: state and logs; objects */
    uint64_t log_bytes, state_bytes;     /* of the runtime's */
    granary_store_stat account;          /* with whoever asks for it among the clients */
};

void level_measure(const struct realm *realm, struct level *ret_level);

/* Descriptors of a kind of process; without the store's of data segments, of which now more, now fewer are kept warm,
 * and of executors' connections. */
unsigned level_descriptors(const struct level *level, enum role role);

/* Say on `out` where the level is above that of the beginning; returns in how many ways. out may be NULL. */
unsigned level_compare(const struct level *begin, const struct level *now, FILE *out);

#endif
