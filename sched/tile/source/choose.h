/* Which pieces of a source its readers want, by their conditions and what is known of the pieces. */
#ifndef TILE_SOURCE_CHOOSE_H
#define TILE_SOURCE_CHOOSE_H

#include "tile/core/rules.h"

/* Which pieces of step i some reader of it may want rows of: chosen, all false before. infos: by piece, with the columns
 * of that schema. Errors: ENOMEM */
granary_err zone_choose(const struct tiling *t, size_t i, const struct gr_schema *schema,
                        const Granary__FrameInfo *const *infos, size_t count, bool *chosen);

/* What rows a reader wants of its input k; NULL: all. Borrowed from the step */
const struct gr_expr *zone_condition(const struct gr_step *reader, size_t k);
/* The condition without which nobody reads a row of step i: of its only reader. NULL: there is none. */
const struct gr_expr *zone_only_condition(const struct tiling *t, size_t i);

/* Mark the columns of the schema on which conditions of all its readers are. */
void zone_columns(const struct tiling *t, size_t i, const struct gr_schema *schema, bool *used);

#endif
