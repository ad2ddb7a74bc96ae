/* Conditions against zone maps: whether a piece of a stored table can have a row that fulfils them. */
#ifndef TILE_SOURCE_ZONE_H
#define TILE_SOURCE_ZONE_H

#include <stdbool.h>

#include "graph/expr.h"
#include "schema/granary.pb-c.h"

struct zone_test;

/* where: over columns of the schema, and others, of which nothing is known. Errors: ENOMEM */
granary_err zone_test_create(const struct gr_expr *where, const struct gr_schema *schema, struct zone_test **ret_test);
void zone_test_destroy(struct zone_test *test); /* NULL is fine */

/* Its parts, all of which must be fulfilled: they stay the test's. */
struct gr_expr *const *zone_test_parts(const struct zone_test *test, size_t *ret_count);

/* Whether no row can fulfil it. info: the columns of the schema, in its order. */
bool zone_test_excludes(const struct zone_test *test, const Granary__FrameInfo *info);

#endif
