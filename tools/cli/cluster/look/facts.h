/*
 * What a machine tells of itself: `granary cluster look` prints it there as lines, and whoever asked reads them.
 *
 * Lines come in the order of what they cost. A machine whose scheduler hangs has told of its store before.
 */
#ifndef CLI_CLUSTER_FACTS_H
#define CLI_CLUSTER_FACTS_H

#include <stdbool.h>

#include "cli/cluster/chunks.h"
#include "cli/print/listing.h"

struct facts {
    char version[32]; /* "": nothing was told */
    char store[16];   /* as granary_store_life_name(); "none": no instance is up */
    char instance[108];
    int64_t processors;
    double load; /* of the last minute */
    int64_t executors, busy;
    int64_t memory_bytes, used_bytes, spilled_bytes;
    int64_t objects;
    int64_t running; /* fragments */
    bool whole;      /* all was told */
};

/* One line for each fact, to stdout. */
void facts_print(const struct facts *facts);

/* Read such lines; others are passed over. */
void facts_read(const char *text, struct facts *ret_facts);

/* The beginning of a line that tells what a fragment waits for on its machine: "why KEY TEXT". */
#define FACTS_WHY "why "

/* The keys of fragments' graphs begin with it; the stage's digest and the partition follow. */
#define FACTS_FRAGMENT "fragment-"

#endif
