/* Rows that are asked for become pieces, one for each chunk that has some of them; their frames are put together. */
#include "cli/objects/read_whole.h"

#include <stdlib.h>

#include "base/error.h"
#include "data/frame.h"

bool
is_table(const granary_result *result)
{
    return !result->is_tensor && !result->is_objects && result->chunk_count > 0;
}

bool
is_grid(const granary_result *result)
{
    return result->is_tensor && result->chunk_count > 1;
}

/* NULL: out of memory. */
static struct piece *
add_piece(struct pieces *pieces, uint64_t chunk, const granary_selection *select)
{
    struct piece *grown = reallocarray(pieces->pieces, pieces->count + 1, sizeof *grown);

    if (grown == NULL) {
        (void)gr_fail(GRANARY_ENOMEM, "out of memory");
        return NULL;
    }
    pieces->pieces = grown;
    grown[pieces->count] = (struct piece){.chunk = chunk, .select = *select};
    return &grown[pieces->count++];
}

/* The chunk that has the row, and its first row. */
static uint64_t
chunk_of(const int64_t *extents, int64_t row, int64_t *ret_begin)
{
    int64_t begin = 0;
    uint64_t chunk = 0;

    while (row >= begin + extents[chunk]) {
        begin += extents[chunk++];
    }
    *ret_begin = begin;
    return chunk;
}

struct slice_part
slice_first_part(const int64_t *extents, int64_t at, int64_t step, int64_t count)
{
    int64_t begin;
    uint64_t chunk = chunk_of(extents, at, &begin);
    int64_t left = step > 0 ? begin + extents[chunk] - 1 - at : at - begin;
    int64_t here = left / (step > 0 ? step : -step) + 1;
    int64_t stop;

    here = here < count ? here : count;
    stop = at - begin + (here - 1) * step + (step > 0 ? 1 : -1); /* behind the last one */
    return (struct slice_part){
        .chunk = chunk,
        .slice = {.start = at - begin, .stop = stop < 0 ? GRANARY_OMITTED : stop, .step = step},
        .count = here,
    };
}

static granary_err
add_slice(const granary_result *result, const granary_selection *select, int64_t rows, struct pieces *pieces)
{
    int64_t row, step, count;
    granary_err err = granary_slice_resolve(select->rows, rows, &row, &step, &count);

    while (err == GRANARY_OK && count > 0) {
        struct slice_part part = slice_first_part(result->chunk_rows, row, step, count);
        granary_selection piece = *select;

        piece.rows = part.slice;
        err = add_piece(pieces, part.chunk, &piece) == NULL ? GRANARY_ENOMEM : GRANARY_OK;
        row += part.count * step;
        count -= part.count;
    }
    return err == GRANARY_EINVAL ? gr_fail_in(err, "rows") : err;
}

/* Rows that follow one another in the selection and in a chunk are one piece. */
static granary_err
add_indices(const granary_result *result, const granary_selection *select, int64_t rows, struct pieces *pieces)
{
    struct piece *piece = NULL;

    for (size_t i = 0; i < select->index_count; i++) {
        int64_t row = select->indices[i] < 0 ? select->indices[i] + rows : select->indices[i];
        int64_t begin;
        uint64_t chunk;
        int64_t *indices;

        if (row < 0 || row >= rows) {
            return gr_fail(GRANARY_EINVAL, "row %lld: the table has %lld", (long long)select->indices[i],
                           (long long)rows);
        }
        chunk = chunk_of(result->chunk_rows, row, &begin);
        if (piece == NULL || piece->chunk != chunk) {
            granary_selection part = *select;

            part.index_count = 0;
            piece = add_piece(pieces, chunk, &part);
        }
        indices = piece == NULL ? NULL : reallocarray(piece->indices, piece->select.index_count + 1, sizeof *indices);
        if (indices == NULL) {
            return gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        indices[piece->select.index_count++] = row - begin;
        piece->select.indices = piece->indices = indices;
    }
    return GRANARY_OK;
}

static granary_err
rows_of(const granary_result *result, int64_t *ret_rows)
{
    *ret_rows = 0;
    for (size_t i = 0; i < result->chunk_count; i++) {
        if (result->chunk_rows[i] < 0 || !result->chunk_there[i]) {
            return gr_fail(GRANARY_ESTATE,
                           "chunk %zu is not there, so rows of the whole cannot be counted: wait with --timeout, or "
                           "name a chunk, as in GRAPH/TARGET[0]",
                           i);
        }
        *ret_rows += result->chunk_rows[i];
    }
    return GRANARY_OK;
}

granary_err
pieces_of(const granary_result *result, const granary_selection *select, struct pieces *ret_pieces)
{
    bool by_row = select->kind == GRANARY_SELECT_ROWS || select->kind == GRANARY_SELECT_INDICES;
    int64_t rows = 0;
    granary_err err = GRANARY_OK;

    *ret_pieces = (struct pieces){.count = 0};
    if (is_grid(result) && select->kind == GRANARY_SELECT_ELEMENTS) {
        return gr_fail(GRANARY_EINVAL,
                       "--index is of the whole tensor, which has %zu chunks: wait with --timeout until all are there, "
                       "and leave --accept out; or name one chunk, as in GRAPH/TARGET[0]",
                       result->chunk_count);
    }
    if (by_row && is_table(result)) {
        err = rows_of(result, &rows);
        if (err == GRANARY_OK) {
            err = select->kind == GRANARY_SELECT_ROWS ? add_slice(result, select, rows, ret_pieces)
                                                      : add_indices(result, select, rows, ret_pieces);
        }
        if (err == GRANARY_OK && ret_pieces->count == 0) {
            granary_selection none = *select;

            none.kind = GRANARY_SELECT_ROWS;
            none.rows = (granary_slice){.start = 0, .stop = 0, .step = 1};
            err = add_piece(ret_pieces, 0, &none) == NULL ? GRANARY_ENOMEM : GRANARY_OK;
        }
    } else {
        for (uint64_t i = 0; i < result->chunk_count && err == GRANARY_OK; i++) {
            err = add_piece(ret_pieces, i, select) == NULL ? GRANARY_ENOMEM : GRANARY_OK;
        }
    }
    if (err != GRANARY_OK) {
        pieces_free(ret_pieces);
    }
    return err;
}

void
pieces_free(struct pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        free(pieces->pieces[i].indices);
    }
    free(pieces->pieces);
    *pieces = (struct pieces){.count = 0};
}

/* A copy, for all pieces together may be more than fits the store. */
static granary_err
read_piece(granary_client *client, const granary_chunk_request *request, const granary_read_options *options,
           granary_frame **ret_frame)
{
    granary_chunk chunk;
    granary_err err = granary_chunk_read_many(client, request, 1, options, &chunk);

    if (err == GRANARY_OK) {
        err = gr_frame_slice(chunk.frame, 0, granary_frame_rows(chunk.frame), ret_frame);
    }
    granary_chunk_release(client, &chunk, 1);
    return err;
}

granary_err
pieces_read(granary_client *client, const granary_result *result, const struct pieces *pieces,
            const granary_read_options *options, granary_frame **ret_frame)
{
    granary_frame **frames = calloc(pieces->count + 1, sizeof(granary_frame *));
    size_t count = 0;
    granary_err err = frames == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    while (err == GRANARY_OK && count < pieces->count) {
        const struct piece *piece = &pieces->pieces[count];
        const granary_chunk_request request = {.id = result->chunks[piece->chunk], .select = piece->select};

        err = read_piece(client, &request, options, &frames[count]);
        count += err == GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = gr_frame_concat((const granary_frame *const *)frames, count, ret_frame);
    }
    for (size_t i = 0; i < count; i++) {
        gr_frame_destroy(frames[i]);
    }
    free(frames);
    return err;
}
