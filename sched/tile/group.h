/* Within the room: ways to tile a groupby. */
#ifndef TILE_GROUP_H
#define TILE_GROUP_H

#include "tile/rules.h"

/*
 * Every chunk's rows are dealt to parts by the hash of their keys; a part grouped is a chunk of the result. For `sort`
 * false.
 *
 * deal_attrs  keys, aggregate, dropna, where, columns; more is added
 * Errors      ENOMEM
 */
granary_err
group_rows_in_parts(struct tiling *t, size_t i, const struct gr_tiled *in, gr_attrs deal_attrs, size_t parts);

#endif
