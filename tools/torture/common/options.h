/* What the kinds of `granary torture` are told alike. */
#ifndef TORTURE_OPTIONS_H
#define TORTURE_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

struct options {
    int64_t duration_ms;
    uint64_t seed;
    uint64_t memory; /* the store's budget */
    uint64_t memory_least;
    bool shares;     /* --memory may be a share of the data */
    uint64_t scale;  /* objects and graphs are made for a budget of so much; 0: of `memory` */
    unsigned share;  /* the budget is this part of the data, 1/share; 0: --memory said how much */
    bool one_object; /* ... or what the largest object takes */
    uint64_t kills;  /* of processes; then the run ends, whatever the time. 0: the time counts */
    unsigned clients, clients_most;
    unsigned executors, schedulers; /* of an instance */
    bool spare_store;               /* it is not killed */
};

/* A whole number from least to most, else usage. */
uint64_t options_number(const char *text, uint64_t least, uint64_t most, struct argp_state *state);

/* Whether memory is as short as it gets: what waits for it may take long. */
static inline bool
options_short(const struct options *options)
{
    return options->share > 0 || options->one_object;
}

/* The budget is what --memory said, of so much data and so large objects. */
void options_settle(struct options *options, uint64_t data, uint64_t largest);

/* An option that several have. ARGP_ERR_UNKNOWN: it is none. */
error_t options_key(int key, char *text, struct argp_state *state, struct options *options);

#endif
