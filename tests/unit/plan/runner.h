/* Runs the subtasks of a world on the real kernels, in this thread. A function `call` names is a private one: an
 * assign. */
#ifndef TESTS_PLAN_RUNNER_H
#define TESTS_PLAN_RUNNER_H

#include "data/frame.h"
#include "kernel/kernel.h"
#include "world.h"

/* The world's objects are struct gr_value from here on; they live until runner_reset() or runner_fini(). */
void runner_init(struct world *world);
/* Forget the plan and all values, for the next one. */
void runner_reset(struct world *world);
void runner_fini(struct world *world);
/* A target of a world that has run: a line of names and dtypes, and one a row. To be freed. */
char *runner_text(struct world *world, const char *target);
void runner_run(struct world *world, const Granary__Subtask *subtask, Granary__Done *done);

#endif
