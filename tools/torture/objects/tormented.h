/* A client that does random things until it is killed or told to stop. */
#ifndef TORTURE_TORMENTED_H
#define TORTURE_TORMENTED_H

#include "granary/store.h"
#include "torture/objects/history.h"

#define TORMENTED_MOST    64u
#define TORMENTED_ROOM_MS 3000

/* What the processes of a run share. */
struct torment {
    _Atomic bool stop;
    _Atomic uint64_t operations;
    _Atomic uint64_t verified; /* contents that were looked at, byte for byte */
    _Atomic uint64_t damaged;  /* ... and were not what was put */
    _Atomic uint64_t full;     /* calls that found no room: fine */
    _Atomic uint64_t late;     /* calls that ended with ETIMEDOUT: nothing is lost, but somebody waited too long */
    _Atomic uint64_t refused;  /* calls that failed as none should */
    _Atomic uint64_t account_errors;
    uint32_t objects;
    uint64_t largest; /* bytes of data */
    int room_ms;      /* how long a creator waits for room */
    int patience_ms;  /* how long a store may take to come back */
    long pause_us;    /* between two operations of a client */
    char instance[96];
    struct history *histories[TORMENTED_MOST + 1]; /* of each client, and of the last look */
};

/* The size of an object's data; the same each time it is put. */
uint64_t tormented_size(const struct torment *torment, uint32_t object);

/* Connect, also while the store is just being started. NULL: not possible; said why, and counted. */
granary_client *tormented_connect(struct torment *torment);

/* Get an object, look at all its bytes, and note it in the history of `self`. */
void tormented_get(struct torment *torment, granary_client *client, unsigned self, uint32_t object);

/* Work as client number self until told to stop. */
void tormented_run(struct torment *torment, unsigned self, uint64_t seed);

#endif
