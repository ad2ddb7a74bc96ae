/* What the kinds of `granary torture` are told alike. */
#ifndef TORTURE_OPTIONS_H
#define TORTURE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "options/options.h"

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
    unsigned clients;
    unsigned executors, schedulers; /* of an instance */
    bool spare_store;               /* it is not killed */
};

/* Whether memory is as short as it gets: what waits for it may take long. */
static inline bool
options_short(const struct options *options)
{
    return options->share > 0 || options->one_object;
}

/* The budget is what --memory said, of so much data and so large objects. */
void options_settle(struct options *options, uint64_t data, uint64_t largest);

/* --memory: a size, or a share of the data, into a struct options. */
granary_err options_take_memory(void *target, char *text);

/* Rows of what several kinds take, for tables whose target is a struct options. */
#define OPTION_SECONDS(help)                                                                                           \
    {                                                                                                                  \
        "seconds", 's', "DURATION", help, GR_OPTION_MS(struct options, duration_ms)                                    \
    }
#define OPTION_SEED                                                                                                    \
    {                                                                                                                  \
        "seed", 'S', "S", "of the random numbers; default: 1", GR_OPTION_NUMBER(struct options, seed, 0, UINT64_MAX)   \
    }
#define OPTION_MEMORY(help)                                                                                            \
    {                                                                                                                  \
        "memory", 'm', "SIZE", help, GR_OPTION_TAKE(options_take_memory)                                               \
    }
#define OPTION_CLIENTS(help, most)                                                                                     \
    {                                                                                                                  \
        "clients", 'c', "C", help, GR_OPTION_NUMBER(struct options, clients, 1, most)                                  \
    }
#define OPTION_EXECUTORS(help)                                                                                         \
    {                                                                                                                  \
        "executors", 'e', "E", help, GR_OPTION_NUMBER(struct options, executors, 1, 64)                                \
    }
#define OPTION_SCHEDULERS(help)                                                                                        \
    {                                                                                                                  \
        "schedulers", 'd', "D", "schedulers, all but one of them standing by; default: " help,                         \
            GR_OPTION_NUMBER(struct options, schedulers, 1, 8)                                                         \
    }
#define OPTION_KILLS(help)                                                                                             \
    {                                                                                                                  \
        "kills", 'k', "N", help, GR_OPTION_NUMBER(struct options, kills, 0, UINT64_MAX)                                \
    }
#define OPTION_SPARE_STORE                                                                                             \
    {                                                                                                                  \
        "spare-store", 'p', NULL, "do not kill the store", GR_OPTION_FLAG(struct options, spare_store)                 \
    }

#endif
