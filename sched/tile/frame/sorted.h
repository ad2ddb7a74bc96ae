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

/* The step's pieces are those of `in`, sorted; equal rows in the order of `in`. total: its bytes, about.
 * Errors: ENOMEM */
granary_err
tile_sorted(struct tiling *t, size_t i, const struct gr_tiled *in, const struct tile_order *order, uint64_t total);

#endif
