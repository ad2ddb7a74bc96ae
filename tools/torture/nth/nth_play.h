/* nth_play: what plays have in common: a client, and how they end. */
#ifndef TORTURE_NTH_PLAY_H
#define TORTURE_NTH_PLAY_H

#include <stdint.h>

#include "granary/store.h"

struct play {
    granary_client *client;
    const uint32_t *sizes;
    unsigned count;
    char *bytes; /* for what an object is to hold: as many as the largest has */
    int status;  /* exit status */
    char message[600];
};

/* A step failed; the others do nothing then. */
void play_fail(struct play *play, granary_err err, const char *what, unsigned object);
/* A broken promise. */
void play_wrong(struct play *play, const char *what, unsigned object);

/* ---- nth_play_shared.c: tables that change, and channels ---- */

void play_mutable(struct play *play);
void play_durable(struct play *play);
void play_channel(struct play *play);

#endif
