/* How often what took how long, in memory that many processes share: counts by a sixteenth of each power of two. */
#ifndef TORTURE_SPREAD_H
#define TORTURE_SPREAD_H

#include <stdatomic.h>
#include <stdint.h>

#define SPREAD_STEPS 16u

/* All zero: nothing yet. */
struct spread {
    _Atomic uint64_t counts[64 * SPREAD_STEPS];
};

void spread_note(struct spread *spread, uint64_t value);
uint64_t spread_count(const struct spread *spread);

/* A value that so many of 1000 are not beyond, at most a sixteenth too high. 0: there are none. */
uint64_t spread_quantile(const struct spread *spread, uint64_t of_1000);

#endif
