/*
 * recurse: all rounds run in one operator, which has what a round runs as a body. The rules of the body's steps add its
 * operators, as they do elsewhere, but to operators of their own, over one piece of each input. The first of these stand
 * for the inputs: the rows of the round before, then what is read of other steps, each put together to one piece.
 *
 * Estimates are made so that a join looks the rows of a round up in what the other side has become, which then is made
 * once. How much a round has nobody knows, so nothing is cut, and a rule that must measure its input is of no use here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "graph/expr.h"
#include "tile/core/rules.h"

#define ROUND_BYTES  ((uint64_t)64 << 10) /* what any frame within a round is taken for */
#define OTHER_BYTES  ((uint64_t)1)        /* ... and one that comes from outside */
#define MEMORY_PARTS 2                    /* all rows together are at most this part of the store's memory */

/* The store's, also within a body. */
static uint64_t
memory_of(const struct tiling *t)
{
    return t->options->memory_bytes > 0 ? t->options->memory_bytes : t->options->outer_memory_bytes;
}

/* ---- what comes from outside ---- */

/* Input k as one piece. */
static struct gr_piece
gather(struct tiling *t, size_t i, size_t k, uint64_t *ret_bytes)
{
    const struct gr_tiled *in = tiling_input(t, i, k);

    *ret_bytes = bytes_sum(in->bytes, in->count);
    return in->count == 1 && !gr_chunk_is_packed(&t->chunks->chunks[in->pieces[0].op])
               ? in->pieces[0]
               : tiling_add(t, i, GR_CHUNK_concat, 0, in->pieces, in->count, *ret_bytes);
}

/* In the body, an operator that stands for a frame. */
static granary_err
stand_for(struct tiling *inner, size_t step, uint64_t bytes)
{
    granary_err err = tiled_init(inner, &inner->tiled[step], 1, true);

    if (err == GRANARY_OK) {
        inner->tiled[step].pieces[0] = tiling_add(inner, step, GR_CHUNK_concat, 0, NULL, 0, bytes);
        inner->tiled[step].bytes[0] = bytes;
    }
    return err;
}

/* ---- the body ---- */

/* The rules of the body work on this: the same steps, other operators. */
static granary_err
begin_body(struct tiling *t, size_t i, struct gr_chunks *chunks, struct gr_tile_options *options, struct tiling *inner)
{
    const struct gr_step *step = &t->steps->steps[i];
    granary_err err = GRANARY_OK;

    *inner = (struct tiling){.steps = t->steps,
                             .sources = t->sources,
                             .options = options,
                             .chunks = chunks,
                             .memory = t->memory,
                             .scratch = t->scratch,
                             .rules = t->rules,
                             .readers = t->readers};
    inner->tiled = gr_region_zalloc(t->memory, t->steps->count, sizeof *inner->tiled);
    inner->inputs = gr_region_zalloc(t->memory, t->steps->count, sizeof(struct step_inputs *));
    if (inner->tiled == NULL || inner->inputs == NULL) {
        return tile_no_memory();
    }
    err = stand_for(inner, step->body->round, ROUND_BYTES);
    for (size_t k = 1; k < step->input_count && err == GRANARY_OK; k++) {
        err = stand_for(inner, step->inputs[k], OTHER_BYTES);
    }
    return err;
}

/* That the operators of a step, from that one on, can run in the body of another. */
static granary_err
check_operators(const struct gr_chunks *chunks, uint32_t from)
{
    for (uint32_t op = from; op < chunks->count; op++) {
        enum gr_chunk_op kind = (enum gr_chunk_op)chunks->chunks[op].op;

        if (gr_chunk_is_packed(&chunks->chunks[op]) || gr_chunk_op_is_alone(kind) || gr_chunk_op_answers(kind) ||
            kind == GR_CHUNK_null || kind == GR_CHUNK_object) {
            return gr_fail(GRANARY_EUNSUPPORTED, "%s cannot run within a recursion: move it out of that",
                           gr_chunk_op_name(kind));
        }
    }
    return GRANARY_OK;
}

/* A step of the body becomes one piece. */
static granary_err
tile_inner(struct tiling *inner, size_t i)
{
    const struct gr_step *step = &inner->steps->steps[i];
    struct gr_tiled *tiled = &inner->tiled[i];
    uint32_t from = inner->chunks->count;
    granary_err err = step->yields == GR_YIELDS_FRAME
                          ? inner->rules[step->op](inner, i)
                          : gr_fail(GRANARY_EUNSUPPORTED, "only operators on frames can run within a recursion");

    if (err == TILE_WAIT) {
        err = gr_fail(GRANARY_EUNSUPPORTED, "it must know how many rows there are, and within a recursion that is not "
                                            "known beforehand: move it out of that");
    }
    if (err == GRANARY_OK) {
        err = gr_chunks_error(inner->chunks);
    }
    if (err == GRANARY_OK) {
        err = check_operators(inner->chunks, from);
    }
    if (err == GRANARY_OK && tiled->count > 1) {
        struct gr_piece one = tiling_add(inner, i, GR_CHUNK_concat, 0, tiled->pieces, tiled->count, ROUND_BYTES);

        err = tiled_init(inner, tiled, 1, true);
        if (err == GRANARY_OK) {
            tiled->pieces[0] = one;
        }
    }
    if (err == GRANARY_OK) {
        tiled->bytes[0] = ROUND_BYTES;
        tiled->rows[0] = -1;
    }
    return err == GRANARY_OK ? err : gr_fail_in(err, "node '%s' (%s)", step->origin->name, gr_op_info(step->op)->name);
}

/* Whether the body's last operator makes just these columns, and is the last one. */
static bool
fits(const struct tiling *inner, size_t i)
{
    const struct gr_step *step = &inner->steps->steps[i];
    const struct gr_step *end = &inner->steps->steps[step->body->end];

    return (end->op == GR_TILE_project || end->op == GR_TILE_select) && gr_step_yields_as(end, step) &&
           inner->tiled[step->body->end].pieces[0].op >= step->input_count;
}

/* What a round makes has the columns of the rows before, in their order and dtypes. */
static granary_err
add_end(struct tiling *inner, size_t i, struct gr_piece *ret_end)
{
    const struct gr_step *step = &inner->steps->steps[i];
    const struct gr_schema *first = &step->type->schema;
    const struct gr_schema *made = &inner->steps->steps[step->body->end].type->schema;
    char **names = tiling_scratch(inner, first->count, sizeof *names);
    char **texts = tiling_scratch(inner, first->count, sizeof *texts);
    gr_attrs attrs = gr_chunks_attrs(inner->chunks);
    granary_err err = names == NULL || texts == NULL ? tile_no_memory() : GRANARY_OK;
    bool casts = false;

    if (fits(inner, i)) {
        *ret_end = inner->tiled[step->body->end].pieces[0];
        return GRANARY_OK;
    }
    for (size_t c = 0; c < first->count && err == GRANARY_OK; c++) {
        struct gr_buf text = {0};
        bool cast = first->fields[c].dtype != made->fields[c].dtype;

        casts = casts || cast;
        names[c] = first->fields[c].name;
        gr_buf_addf(&text, "%s", cast ? "cast(" : "");
        gr_expr_print_name(names[c], &text);
        if (cast) {
            gr_buf_addf(&text, " as %s)", granary_dtype_name(first->fields[c].dtype));
        }
        texts[c] = gr_buf_take(&text);
        err = texts[c] == NULL ? tile_no_memory() : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        gr_attrs_add(inner->chunks, attrs,
                     casts ? gr_attr_new_map("columns", names, texts, first->count)
                           : gr_attr_new_strings("columns", names, first->count));
        *ret_end = tiling_add(inner, i, casts ? GR_CHUNK_project : GR_CHUNK_select, attrs,
                              inner->tiled[step->body->end].pieces, 1, ROUND_BYTES);
    }
    for (size_t c = 0; c < first->count && texts != NULL; c++) {
        free(texts[c]);
    }
    return err;
}

static granary_err
make_body(struct tiling *t, size_t i, struct gr_chunks_body *body)
{
    const struct gr_body *steps = t->steps->steps[i].body;
    struct gr_tile_options options = {.outer_memory_bytes = memory_of(t)}; /* nothing is cut */
    struct tiling inner;
    granary_err err = begin_body(t, i, &body->chunks, &options, &inner);

    body->outer = body->chunks.count;
    for (size_t n = 0; n < steps->count && err == GRANARY_OK; n++) {
        err = tile_inner(&inner, steps->steps[n]);
    }
    if (err == GRANARY_OK) {
        err = add_end(&inner, i, &body->end);
    }
    if (err == GRANARY_OK) {
        err = gr_chunks_error(&body->chunks);
    }
    tiling_forget_answers(&inner);
    return err;
}

/* ---- the rules ---- */

granary_err
tile_recurse(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_params_recurse *params = GR_STEP_PARAMS(recurse, step);
    struct gr_piece *inputs = gr_region_zalloc(t->memory, step->input_count, sizeof *inputs);
    struct gr_chunks_body *body;
    uint64_t first = 0;
    uint64_t bytes;
    gr_attrs attrs;
    size_t number;
    granary_err err = inputs == NULL ? tile_no_memory() : gr_chunks_add_body(t->chunks, &body, &number);

    if (err == GRANARY_OK) {
        err = make_body(t, i, body);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t k = 0; k < step->input_count; k++) {
        inputs[k] = gather(t, i, k, k == 0 ? &first : &bytes);
    }
    attrs = gr_chunks_attrs(t->chunks);
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("body", (int64_t)number));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_bool("distinct", params->distinct));
    if (params->fresh != NULL) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_string("fresh", params->fresh));
    }
    if (params->keys != NULL) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_strings("keys", params->keys->strings, params->keys->n_strings));
    }
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("most", (int64_t)(memory_of(t) / MEMORY_PARTS)));
    if (step->limit != GR_STEP_NO_LIMIT) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_int("limit", step->limit));
    }
    bytes = 16 * first + ROUND_BYTES;
    return tiling_yield_one(t, i, tiling_add(t, i, GR_CHUNK_recurse, attrs, inputs, step->input_count, bytes), bytes);
}

/* It stands for what a recurse has in its body. */
granary_err
tile_round_rows(struct tiling *t, size_t i)
{
    return gr_fail(GRANARY_EFAILED, "node '%s' is not of a recursion: report this", t->steps->steps[i].origin->name);
}
