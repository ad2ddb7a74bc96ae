/* Recursions: what a round may make. */
#ifndef GRAPH_RECURSION_H
#define GRAPH_RECURSION_H

#include <stdbool.h>

#include "granary/frame.h"

/* Whether values of a dtype become those of another one, by a cast, with all that they say or not at all. */
bool gr_recursion_casts(granary_dtype from, granary_dtype to);

#endif
