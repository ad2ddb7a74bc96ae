/* Within the room: rows brought into an order, for rules that need it. sort.c */
#ifndef TILE_FRAME_SORTED_H
#define TILE_FRAME_SORTED_H

#include "tile/core/rules.h"

struct tile_order {
    char *const *by;
    size_t keys;
    bool *descending;  /* once a key */
    bool *nulls_first; /* once a key; NULL: as the sort has it by default */
    bool nan_largest;
};

/* What a sort, or a step with the parameters of one, says of the order. Errors: ENOMEM */
granary_err tile_order_init(struct tiling *t, size_t i, struct tile_order *ret_order);
/* A set of by, descending and nulls_first, once a column, and nan_largest; and a number, unless its name is NULL. */
gr_attrs tile_order_attrs(struct tiling *t, const struct tile_order *order, const char *count_name, int64_t count);

/* The step's pieces are those of `in`, sorted; equal rows in the order of `in`. total: its bytes, about.
 * Errors: ENOMEM */
granary_err
tile_sorted(struct tiling *t, size_t i, const struct gr_tiled *in, const struct tile_order *order, uint64_t total);

#endif
