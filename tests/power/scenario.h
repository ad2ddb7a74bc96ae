/* What runs while a trace is taken, and what must hold on every disk that a crash may have left of it. */
#ifndef POWER_SCENARIO_H
#define POWER_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>

#include "power/disk.h"

struct stage {
    char root[40];     /* all that is recorded; the instance is the folder "i" in it */
    char instance[48]; /* ... */
    char trace[48];
    char log[48];   /* what daemons say */
    bool lying;     /* syncs did nothing: things may be lost, or refused as damaged, and never be others */
    char why[1200]; /* of a check that failed */
};

struct scenario {
    const char *name;
    /* Run it, under the recorder's environment; what is promised on the way is noted. */
    bool (*record)(struct stage *stage);
    /* Start what serves the disk there is now, and look at the promises noted before its point. */
    bool (*check)(struct stage *stage, const struct disks *disks);
};

extern const struct scenario scenario_store;
extern const struct scenario scenario_state;
extern const struct scenario scenario_table;
extern const struct scenario scenario_files;

/* Put a promise into the trace. */
void stage_note(const struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* False, with stage->why. */
bool stage_fail(struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The machine was off: nothing in memory is left. */
void stage_power_off(const struct stage *stage);

#endif
