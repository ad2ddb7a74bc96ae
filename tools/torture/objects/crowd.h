/*
 * Clients of a store that do random things to the same objects and note what they saw (tormented.h). The verdict says
 * whether all of it can be true, and whether nothing is left when everything was deleted.
 */
#ifndef TORTURE_CROWD_H
#define TORTURE_CROWD_H

#include <stdbool.h>

#include "granary/store.h"
#include "torture/common/pack.h"
#include "torture/objects/tormented.h"

/* The largest object that is made for so much memory. */
#define CROWD_LARGEST(memory) ((memory) / 64)

struct crowd {
    struct torment *torment;
    struct pack pack;
    uint64_t lost;           /* objects whose history cannot be true */
    bool alone;              /* the store has no other clients */
    granary_store_stat stat; /* of the last look */
};

/*
 * instance   a store serves there
 * directory  for the histories
 * clients    at most TORMENTED_MOST
 * memory     what objects are made for; none is larger than a part of it
 * data       bytes of all objects together
 */
granary_err crowd_create(struct crowd *crowd, const char *instance, const char *directory, unsigned clients,
                         uint64_t memory, uint64_t data, uint64_t seed);
void crowd_destroy(struct crowd *crowd);

void crowd_start(struct crowd *crowd);
/* Tell them to stop and wait until all have ended. */
void crowd_stop(struct crowd *crowd);

/* All have stopped: look at every object once more, check the histories, forget them, delete all, and look what is
 * left. */
void crowd_inspect(struct crowd *crowd);

/* Figures on stdout. Returns whether nothing at all was wrong. */
bool crowd_report(const struct crowd *crowd);
bool crowd_is_clean(const struct crowd *crowd);

#endif
