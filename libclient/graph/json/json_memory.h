/*
 * Memory for jansson, which does not look whether it got any for each character: without, it leaves one out of a
 * string, or writes where it has none. So it never learns: what is being done ends in one jump.
 */
#ifndef GRAPH_JSON_JSON_MEMORY_H
#define GRAPH_JSON_JSON_MEMORY_H

#include "granary/types.h"

/*
 * Run work, in which jansson's memory is a region that goes at the end, with every json_t. It may be left at any call
 * of jansson that allocates. Errors: ENOMEM, work's
 */
granary_err json_run(granary_err (*work)(void *context), void *context);

#endif
