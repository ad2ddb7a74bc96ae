/*
 * The machine suffers: processes wait for memory (PSI, the kernel's pressure stall information). Then the store's budget
 * becomes smaller, so objects go to disk and memory goes back; when it is over, it grows again, slowly.
 *
 * The kernel tells by a trigger on memory.pressure of this cgroup, or of /proc/pressure/memory. Where it lets nobody set
 * one, the average of ten seconds is read every two.
 */
#ifndef CLI_PRESSURE_H
#define CLI_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/instance.h"

struct pressure {
    int fd;          /* -1: nobody watches */
    bool is_trigger; /* else it is read at next_ns */
    int64_t next_ns; /* when to look; INT64_MAX: the kernel tells */
    int64_t calm_ns; /* since then it is better */
    uint64_t full;   /* the budget without pressure */
    uint64_t budget; /* ... and with it: full, or less */
    const struct gr_instance *instance;
};

/* Begin to watch. One that cannot be is not: the log says so. */
void pressure_open(struct pressure *pressure, const struct gr_instance *instance, uint64_t budget);

/* Another budget was given meanwhile. */
void pressure_set_budget(struct pressure *pressure, uint64_t budget);

/* The trigger has fired (POLLPRI), failed (POLLERR), or it is time to look. */
void pressure_turn(struct pressure *pressure, short events);

/* Watch no longer: the store has all of its budget again. */
void pressure_end(struct pressure *pressure);

void pressure_close(struct pressure *pressure);

#endif
