/*
 * small-chunks: a table of very many small chunks costs a subtask a chunk wherever it is read. It may come from many
 * small files, or from a program that puts a row now and then. Neighbours are put together first, in chunks of a size
 * that pays.
 */

#include "tile/core/rules.h"

/* Fewer chunks are left as they are. */
#define MANY 32
/* What chunks are put together to, unless that makes too few of them: about what a subtask reads in the time it costs.
 */
#define ENOUGH_BYTES (2 << 20)
#define LEAST_BYTES  (64 << 10)
#define LEAST_COUNT  16
/* So small that putting them together is cheaper than to read each by itself. */
#define SMALL_SHARE 4
#define INPUTS_MAX  256

static uint64_t
enough(const struct tiling *t, const struct gr_tiled *tiled)
{
    uint64_t share = bytes_sum(tiled->bytes, tiled->count) / LEAST_COUNT;
    uint64_t bytes = share < ENOUGH_BYTES ? share : ENOUGH_BYTES;
    uint64_t asked = t->options->chunk_bytes > 0 ? (uint64_t)t->options->chunk_bytes : UINT64_MAX;

    bytes = bytes < LEAST_BYTES ? LEAST_BYTES : bytes;
    return bytes < asked ? bytes : asked;
}

/* A target's chunks that are there already only get other names. */
static bool
is_in_place(const struct tiling *t, const struct gr_tiled *tiled, bool is_target)
{
    for (size_t p = 0; is_target && p < tiled->count; p++) {
        if (t->chunks->chunks[tiled->pieces[p].op].op == GR_CHUNK_object) {
            return true;
        }
    }
    return false;
}

/* How many pieces from `first` on become one. */
static size_t
run_of(const struct gr_tiled *tiled, size_t first, uint64_t bytes)
{
    uint64_t sum = 0;
    size_t count = 0;

    while (first + count < tiled->count && count < INPUTS_MAX &&
           (count == 0 || sum + tiled->bytes[first + count] <= bytes)) {
        sum += tiled->bytes[first + count++];
    }
    return count;
}

static granary_err
put_together(struct tiling *t, size_t i, uint64_t bytes)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_tiled *tiled = &t->tiled[i];
    size_t before = tiled->count;
    size_t kept = 0;
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    granary_err err = GRANARY_OK;

    if (tiled->wide) {
        tiling_add_columns(t, step, attrs);
    }
    for (size_t p = 0, run; p < before && err == GRANARY_OK; p += run) {
        struct gr_piece piece;
        uint64_t sum = 0;
        int64_t rows = 0;

        run = run_of(tiled, p, bytes);
        for (size_t k = p; k < p + run; k++) {
            sum += tiled->bytes[k];
            rows = rows < 0 || tiled->rows[k] < 0 ? -1 : rows + tiled->rows[k];
        }
        piece = run == 1 && !tiled->wide ? tiled->pieces[p]
                                         : tiling_add(t, i, GR_CHUNK_concat, attrs, &tiled->pieces[p], run, sum);
        if (run > 1 || tiled->wide) {
            err = tiling_tell_together(t, i, piece, &tiled->pieces[p], run);
        }
        tiled->pieces[kept] = piece;
        tiled->rows[kept] = rows;
        tiled->bytes[kept++] = sum;
    }
    tiled->count = kept;
    tiled->wide = false;
    if (err == GRANARY_OK && t->steps->fired != NULL) {
        gr_buf_addf(t->steps->fired, "  small-chunks: '%s' puts %zu chunks together to %zu\n", step->origin->name,
                    before, kept);
    }
    return err;
}

granary_err
tiling_join_small(struct tiling *t, size_t i)
{
    struct gr_tiled *tiled = &t->tiled[i];
    uint64_t bytes = tiled->rows == NULL ? 0 : enough(t, tiled);

    if (tiled->rows == NULL || tiled->count <= MANY ||
        bytes_sum(tiled->bytes, tiled->count) / tiled->count > bytes / SMALL_SHARE ||
        is_in_place(t, tiled, t->steps->steps[i].is_target)) {
        return GRANARY_OK;
    }
    return put_together(t, i, bytes);
}
