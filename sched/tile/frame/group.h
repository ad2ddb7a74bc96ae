/* Within the room: ways to tile a groupby. */
#ifndef TILE_FRAME_GROUP_H
#define TILE_FRAME_GROUP_H

#include "tile/core/rules.h"

/*
 * Every chunk's rows are dealt to parts by the hash of their keys; a part grouped is a chunk of the result. For `sort`
 * false.
 *
 * deal_attrs  keys, aggregate, dropna, where, columns; more is added
 * Errors      ENOMEM
 */
granary_err
group_rows_in_parts(struct tiling *t, size_t i, const struct gr_tiled *in, gr_attrs deal_attrs, size_t parts);

/* Whether nothing depends on the order of a step's rows: it is no target, and only semi and anti joins look in it. */
bool group_order_is_free(const struct tiling *t, size_t i);

/*
 * Every range of a key is grouped by itself, when stored chunks are clustered by it: for groups in any order.
 *
 * ret_done  false: they are not, and nothing is done
 * Errors    ENOMEM, TILE_WAIT
 */
granary_err group_in_ranges(struct tiling *t, size_t i, const struct gr_tiled *in, bool *ret_done);

/* What the tables of a groupby are made with. */
struct group_maps {
    size_t count;   /* tables: each of neighbouring chunks */
    gr_attrs attrs; /* keys, aggregate, dropna, where, columns */
    size_t parts;   /* outputs of each */
    /* Keys' columns of the first chunk, without rows of interest: tables whose keys have the same dictionaries do not
     * carry them. 0: they do. */
    gr_attrs reference;
};

/*
 * How many different values a column of input k of step i has at most, nulls aside. It comes from the zone maps of
 * the stored tables; 0: not known. At once, and without a look at what the input will be.
 */
uint64_t tiling_distinct(const struct tiling *t, size_t i, size_t k, const char *column);

/* The column of input 0 that a column of step i's parameter `columns` is, or else that has its name; NULL: it is
 * computed. */
const char *tiling_source_column(const struct tiling *t, size_t i, const char *column);

/* Whether all pieces are there already, or columns of some that are: reading one with others costs nothing. */
bool group_is_stored(const struct tiling *t, const struct gr_tiled *in);

/* How many groups there may be, for how the work is cut: asks for nothing that is not known. UINT64_MAX: nobody knows.
 */
uint64_t group_estimate(struct tiling *t, size_t i, const struct gr_tiled *in);

/* Whether tables hold values of rows, and not only what they add up to. */
bool group_keeps_values(const struct tiling *t, size_t i);

/*
 * How many tables are to be made of the input.
 *
 * groups   there are at most so many; UINT64_MAX: nobody knows
 * Returns  at least 1, at most in->count
 */
size_t group_maps(const struct tiling *t, const struct gr_tiled *in, uint64_t groups);
/* Make tables without the dictionaries that the first chunk has, if there are any. From now on the operators that
 * read tables have group_reference() as their first input, and the attribute `reference`. */
void group_refer(struct tiling *t, size_t i, const struct gr_tiled *in, struct group_maps *maps, gr_attrs readers);
struct gr_piece group_reference(struct tiling *t, size_t i, const struct gr_tiled *in, const struct group_maps *maps);
/* Add the operator that makes table m of them: its first output, and the bytes it reads. Errors: ENOMEM */
granary_err group_map_add(struct tiling *t, size_t i, const struct gr_tiled *in, const struct group_maps *maps,
                          size_t m, struct gr_piece *ret_piece, uint64_t *ret_read);

#endif
