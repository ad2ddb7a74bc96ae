/* The graph that rules make of one that has run in a world, and whose sources are known therefore. */
#ifndef TESTS_PLAN_OPTIMIZED_H
#define TESTS_PLAN_OPTIMIZED_H

#include "world.h"

/* It as JSON, to be freed. NULL: there is an error, and its message. */
char *world_optimized(const struct world *world);

#endif
