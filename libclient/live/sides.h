/*
 * sides: what a live query reads beside the tables that grow: kept results, sealed tables and files. When one of them is
 * another one now, what was computed with it does not count any more.
 */
#ifndef LIVE_SIDES_H
#define LIVE_SIDES_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/types.h"
#include "schema/granary.pb-c.h"

struct granary_client;

/* What they are now, as a number. grows: by node, those that are no sides. Errors: EUNREACHABLE · ENOMEM */
granary_err
live_sides(struct granary_client *client, const Granary__Graph *graph, const bool *grows, uint64_t *ret_sides);

#endif
