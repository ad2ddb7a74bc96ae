/* Results of graphs that are tables, read as one, however they are cut. */
#ifndef CLI_READ_WHOLE_H
#define CLI_READ_WHOLE_H

#include "granary/graph.h"
#include "granary/read.h"

/* A selection of a whole result, as selections of its chunks, in order. */
struct pieces {
    struct piece {
        uint64_t chunk;
        granary_selection select;
        int64_t *indices; /* of select, if they are the piece's own */
    } * pieces;
    size_t count;
};

/* The part of a slice that lies in one chunk: the chunk's position, and what is selected there. */
struct slice_part {
    uint64_t chunk;
    granary_slice slice;
    int64_t count;
};

/* The first part of a slice of `count` > 0 positions from `at` on, of chunks that are so long. */
struct slice_part slice_first_part(const int64_t *extents, int64_t at, int64_t step, int64_t count);

/*
 * Rows of the whole become rows of chunks; anything else is selected in every chunk. When no row is selected, none is
 * of the first chunk, for the columns.
 *
 * Errors  EINVAL a row that is not there, or elements of a tensor in several chunks: elements_read() · ESTATE the rows of a chunk are not
 *         known yet · ENOMEM
 */
granary_err pieces_of(const granary_result *result, const granary_selection *select, struct pieces *ret_pieces);
void pieces_free(struct pieces *pieces);

/* Whether the result is a table: frames, of which each row is in one chunk. */
bool is_table(const granary_result *result);
/* Whether it is a tensor in several chunks. */
bool is_grid(const granary_result *result);

/* The pieces, which are of frames, put together; the caller's. Errors: as granary_chunk_read_many() */
granary_err pieces_read(granary_client *client, const granary_result *result, const struct pieces *pieces,
                        const granary_read_options *options, granary_frame **ret_frame);

#endif
