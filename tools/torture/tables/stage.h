/* The run's own part of a round: the tables before it, and the verdict and the end of the tables behind it. */
#ifndef TORTURE_STAGE_H
#define TORTURE_STAGE_H

#include "torture/tables/journal.h"

/* Make the tables and the rows at the fixed time. Nobody else is connected. False: it failed, and is counted. */
bool stage_set(const struct journal *journal);

/*
 * All have ended: look back, judge, and delete all. False: something was wrong; said what.
 *
 * alone  the store has no other clients: nothing at all may be left
 */
bool stage_judge(const struct journal *journal, uint64_t seed, bool alone);

#endif
