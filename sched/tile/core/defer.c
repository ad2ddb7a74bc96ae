/*
 * What is made late. A step waits until some of its inputs are measured; meanwhile its others are made. When one of these
 * is only rows and columns picked from stored objects, that is no work to be ahead with, but a copy of the table in
 * memory. It is made when the step is tiled: then it becomes one subtask with what reads it (fuse/fuse.h).
 *
 * Operators are never removed. Those that were put off stay without a reader, and others take their place.
 */
#include <string.h>

#include "base/error.h"
#include "tile/core/rules.h"

static bool
is_picking(enum gr_chunk_op op)
{
    return op == GR_CHUNK_select || op == GR_CHUNK_filter || op == GR_CHUNK_project || op == GR_CHUNK_assign;
}

/* Whether the piece comes from an object by picking alone, and none of that was handed out. */
static bool
is_picked(const struct tiling *t, struct gr_piece piece)
{
    const struct gr_chunk *chunk = &t->chunks->chunks[piece.op];

    while (chunk->op != GR_CHUNK_object) {
        if (piece.op < t->handed_out || !is_picking((enum gr_chunk_op)chunk->op) || chunk->input_count != 1) {
            return false;
        }
        piece = gr_chunk_inputs(t->chunks, chunk)[0];
        chunk = &t->chunks->chunks[piece.op];
    }
    return true;
}

static bool
is_object(const struct tiling *t, struct gr_piece piece)
{
    return t->chunks->chunks[piece.op].op == GR_CHUNK_object;
}

bool
tiling_defer(struct tiling *t, size_t i, size_t k)
{
    size_t step = t->steps->steps[i].inputs[k];
    struct step_input *note = tiling_note(t, i, k);
    struct gr_tiled *input = note != NULL && note->narrowed.pieces != NULL ? &note->narrowed : &t->tiled[step];
    bool may = note != NULL && !note->asked && t->readers[step] == 1 && !t->steps->steps[step].is_target &&
               !t->steps->steps[step].spare;

    if (input->deferred) {
        return true;
    }
    for (size_t p = 0; p < input->count && may; p++) {
        may = is_picked(t, input->pieces[p]);
    }
    if (may && input->count > 0 && !is_object(t, input->pieces[0])) {
        input->deferred = true;
        t->tiled[step].deferred = t->tiled[step].count > 0 && !is_object(t, t->tiled[step].pieces[0]);
    }
    return input->deferred;
}

/* What takes an operator's place, with all it comes from. instead: by operator; 0: nothing yet */
static struct gr_piece
take_place(struct tiling *t, struct gr_piece piece, uint32_t *instead)
{
    struct gr_chunk chunk = t->chunks->chunks[piece.op]; /* a copy: the array moves when it grows */
    struct gr_chunk_spec spec = {.op = (enum gr_chunk_op)chunk.op,
                                 .step = chunk.step,
                                 .shared = chunk.attrs[0],
                                 .own = chunk.attrs[1],
                                 .input_count = 1,
                                 .outputs = chunk.outputs,
                                 .bytes = chunk.bytes};
    struct gr_piece input;

    if (chunk.op == GR_CHUNK_object) {
        return piece;
    }
    if (instead[piece.op] == 0) {
        input = take_place(t, gr_chunk_inputs(t->chunks, &chunk)[0], instead);
        spec.inputs = &input;
        instead[piece.op] = gr_chunks_add(t->chunks, &spec).op;
    }
    return (struct gr_piece){.op = instead[piece.op], .output = piece.output};
}

static void
renew(struct tiling *t, struct gr_tiled *tiled, uint32_t *instead)
{
    for (size_t p = 0; p < tiled->count && tiled->deferred; p++) {
        tiled->pieces[p] = take_place(t, tiled->pieces[p], instead);
    }
    tiled->deferred = false;
}

granary_err
tiling_renew_inputs(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct step_inputs *notes = t->inputs[i];
    uint32_t *instead = NULL;

    for (size_t k = 0; k < step->input_count; k++) {
        struct gr_tiled *whole = &t->tiled[step->inputs[k]];
        struct gr_tiled *narrowed = notes != NULL && k < notes->count ? &t->inputs[i]->of[k].narrowed : NULL;

        if (!whole->deferred && (narrowed == NULL || !narrowed->deferred)) {
            continue;
        }
        instead = instead == NULL ? tiling_scratch(t, t->chunks->count, sizeof *instead) : instead;
        if (instead == NULL) {
            return tile_no_memory();
        }
        renew(t, whole, instead);
        if (narrowed != NULL) {
            renew(t, narrowed, instead);
        }
    }
    return GRANARY_OK;
}
