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
    uint64_t kills; /* of processes; then the run ends, whatever the time. 0: the time counts */
    unsigned clients, clients_most;
    unsigned executors, schedulers; /* of an instance */
    bool spare_store;               /* it is not killed */
};

/* A whole number from least to most, else usage. */
uint64_t options_number(const char *text, uint64_t least, uint64_t most, struct argp_state *state);

/* An option that several have. ARGP_ERR_UNKNOWN: it is none. */
error_t options_key(int key, char *text, struct argp_state *state, struct options *options);

#endif
