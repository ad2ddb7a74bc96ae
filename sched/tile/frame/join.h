/* Within the room: a join at work. join.c: one side is built once; join_shuffle.c: both are shuffled. */
#ifndef TILE_FRAME_JOIN_H
#define TILE_FRAME_JOIN_H

#include "graph/join.h"
#include "tile/core/rules.h"

#define PARTS_MAX 4 /* of a build */

enum { LEFT, RIGHT };

struct side {
    const struct gr_schema *schema;
    const struct gr_tiled *tiled;
    char *const *keys;
    /* as it is built */
    struct gr_piece *pieces;
    size_t piece_count;
    struct gr_piece parts[PARTS_MAX];
    size_t part_count; /* 0: not built */
};

struct joining {
    struct tiling *t;
    size_t i;
    struct gr_join join;
    struct side sides[2];
    struct gr_join_column *columns;
    size_t column_count;
    char *types[GR_JOIN_KEYS_MAX]; /* names of the dtypes that keys are compared in; copied, not written */
    char order[64];                /* while it is shuffled: name of the column of positions; else empty */
};

/* How the chunks of one side are probed. */
struct probing {
    int side;
    const char *how;
    bool rest; /* of an outer join: the rows of the right side that the left one has not */
};

/* Put the attributes into the set that say what a probe yields: `result`, `how`, `keys`, the condition. Errors: ENOMEM
 */
granary_err join_add_probe_attrs(const struct joining *j, const struct probing *probing, gr_attrs attrs);

/* All operators of a join whose sides are dealt out to parts by the hash of their keys, of which each is joined by
 * itself. The result's pieces are those of the broadcast, row for row. Errors: ENOMEM · EINVAL */
granary_err join_by_shuffle(struct joining *j, const struct probing *probings, size_t count);

#endif
