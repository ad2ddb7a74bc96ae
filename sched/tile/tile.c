/* Steps are tiled in order, those that wait one at a time; then what is to be made, and held, is told apart. */
#include "tile/tile.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/memory/grow.h"
#include "tile/core/rules.h"
#include "tile/file/file.h"
#include "tile/source/table.h"

#define OP(name, yields, min_inputs, max_inputs, summary) [GR_TILE_##name] = tile_##name,
#define OP_WRITTEN(name, yields, min_inputs, max_inputs, summary)
static tile_rule *const rules[GR_TILE_COUNT] = {
#include "contract/ops/ops.def"
};

/* ---- going on ---- */

granary_err
gr_tiling_create(const struct gr_steps *steps, const struct gr_sources *sources, const struct gr_tile_options *options,
                 struct gr_chunks *chunks, struct tiling **ret_tiling)
{
    struct tiling *t = calloc(1, sizeof *t);

    if (t != NULL) {
        *t = (struct tiling){.rules = rules,
                             .steps = steps,
                             .sources = sources,
                             .options = options,
                             .chunks = chunks,
                             .memory = gr_region_create(),
                             .scratch = gr_region_create()};
    }
    if (t != NULL && t->memory != NULL && t->scratch != NULL) {
        t->tiled = gr_region_zalloc(t->memory, steps->count, sizeof *t->tiled);
        t->inputs = gr_region_zalloc(t->memory, steps->count, sizeof(struct step_inputs *));
        t->wanted = gr_region_zalloc(t->memory, steps->count, sizeof *t->wanted);
        t->readers = gr_region_zalloc(t->memory, steps->count, sizeof *t->readers);
    }
    if (t == NULL || t->tiled == NULL || t->inputs == NULL || t->wanted == NULL || t->readers == NULL) {
        gr_tiling_destroy(t);
        return gr_fail(GRANARY_ENOMEM, "tiling a graph of %zu nodes: out of memory", steps->count);
    }
    for (size_t i = 0; i < steps->count; i++) {
        t->untiled += !steps->steps[i].dead;
        for (size_t k = 0; !steps->steps[i].dead && k < steps->steps[i].input_count; k++) {
            t->readers[steps->steps[i].inputs[k]]++;
        }
    }
    *ret_tiling = t;
    return GRANARY_OK;
}

void
gr_tiling_destroy(struct tiling *t)
{
    if (t == NULL) {
        return;
    }
    tiling_forget_answers(t);
    free(t->waiting);
    free(t->asks);
    free(t->held);
    gr_region_destroy(t->memory);
    gr_region_destroy(t->scratch);
    free(t);
}

static granary_err
wait_for(struct tiling *t, size_t i)
{
    if (!gr_grow(&t->waiting, &t->waiting_room, t->waiting_end, sizeof *t->waiting)) {
        return tile_no_memory();
    }
    t->waiting[t->waiting_end++] = (struct waiting){.step = i};
    return tiling_ask(t, i);
}

/* What lives as long as the graph runs is copied. */
static void
copy_pieces(struct tiling *t, size_t i)
{
    struct gr_tiled *tiled = &t->tiled[i];

    for (size_t p = 0; p < tiled->count; p++) {
        if (t->chunks->chunks[tiled->pieces[p].op].op == GR_CHUNK_object) {
            tiled->pieces[p] = tiling_add(t, i, GR_CHUNK_concat, 0, &tiled->pieces[p], 1, tiled->bytes[p]);
        }
    }
}

/* Some of its pieces are objects that others keep only while the graph runs: of a snapshot, or recalled. */
static bool
is_lent(const struct tiling *t, const struct gr_tiled *tiled)
{
    bool lent = false;

    for (size_t p = 0; p < tiled->count && !lent; p++) {
        const struct gr_chunk *chunk = &t->chunks->chunks[tiled->pieces[p].op];
        const struct gr_table *table = t->sources->tables == NULL ? NULL : t->sources->tables[chunk->step];

        lent = chunk->op == GR_CHUNK_object && table != NULL && (table->recalled || !gr_id_is_zero(table->snapshot));
    }
    return lent;
}

/* A target's chunks are its own, whoever made the bytes: objects from before the graph get other names. */
static granary_err
name_anew(struct tiling *t, size_t i)
{
    struct gr_tiled *tiled = &t->tiled[i];
    struct gr_piece *theirs = tiling_scratch(t, tiled->count, sizeof *theirs);
    struct gr_chunk_spec spec = {.op = GR_CHUNK_alias, .step = (uint32_t)i, .inputs = theirs};
    struct gr_piece first;

    if (is_lent(t, tiled)) {
        copy_pieces(t, i);
        return GRANARY_OK;
    }
    if (theirs == NULL) {
        return tile_no_memory();
    }
    for (size_t p = 0; p < tiled->count; p++) {
        if (t->chunks->chunks[tiled->pieces[p].op].op == GR_CHUNK_object) {
            theirs[spec.input_count++] = tiled->pieces[p];
        }
    }
    spec.outputs = (uint32_t)spec.input_count;
    if (spec.outputs > 0) {
        first = gr_chunks_add(t->chunks, &spec);
        for (size_t p = 0; p < tiled->count; p++) {
            if (t->chunks->chunks[tiled->pieces[p].op].op == GR_CHUNK_object) {
                tiled->pieces[p] = first;
                first.output++;
            }
        }
    }
    return GRANARY_OK;
}

static bool list_texts(struct tiling *t);

static bool
is_wide(const struct gr_node_type *type)
{
    return type != NULL && type->is_tensor && type->dtype == GRANARY_COMPLEX128;
}

/* Bytes of an element of what the step reads and makes, at most. */
static int64_t
element_bytes(const struct tiling *t, const struct gr_step *step)
{
    bool wide = is_wide(step->type);

    for (size_t k = 0; k < step->input_count; k++) {
        wide = wide || is_wide(t->steps->steps[step->inputs[k]].type);
    }
    return wide ? 2 * ELEMENT_BYTES : ELEMENT_BYTES;
}

static granary_err
tile_step(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    granary_err err = rules[step->op] == NULL ? gr_fail(GRANARY_EFAILED, "it was not written as others: report this")
                                              : tiling_renew_inputs(t, i);

    t->element_bytes = element_bytes(t, step);
    err = err == GRANARY_OK ? rules[step->op](t, i) : err;
    if (err == TILE_WAIT) {
        t->tiled[i] = (struct gr_tiled){0};
        err = wait_for(t, i);
    } else if (err == GRANARY_OK) {
        t->untiled--;
        err = step->is_target ? name_anew(t, i) : GRANARY_OK;
    }
    gr_region_reset(t->scratch);
    if (err == GRANARY_OK) {
        err = gr_chunks_error(t->chunks);
    }
    return err == GRANARY_OK ? err : gr_fail_in(err, "node '%s' (%s)", step->origin->name, gr_op_info(step->op)->name);
}

static bool
is_waiting(const struct tiling *t, size_t i)
{
    size_t at = t->waiting_first;

    while (at < t->waiting_end && t->waiting[at].step != i) {
        at++;
    }
    return at < t->waiting_end;
}

/* Its inputs are tiled, and itself is not, and does not wait. */
static bool
may_tile(const struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    bool may = !step->dead && t->tiled[i].pieces == NULL;

    for (size_t k = 0; k < step->input_count && may; k++) {
        may = t->tiled[step->inputs[k]].pieces != NULL;
    }
    return may && !is_waiting(t, i);
}

static bool
next_is_told(struct tiling *t)
{
    return t->waiting_first < t->waiting_end && tiling_is_told(t, &t->waiting[t->waiting_first]);
}

granary_err
gr_tiling_go(struct tiling *t, bool *ret_more)
{
    granary_err err = GRANARY_OK;
    size_t from = 0;

    if (t->begun && !next_is_told(t)) {
        *ret_more = false;
        return GRANARY_OK;
    }
    if (t->begun) {
        from = t->waiting[t->waiting_first++].step;
    } else if (!list_texts(t)) {
        return tile_no_memory();
    }
    t->begun = true;
    for (size_t i = from; i < t->steps->count && err == GRANARY_OK; i++) {
        if (may_tile(t, i)) {
            err = tile_step(t, i);
        }
    }
    *ret_more = err == GRANARY_OK && next_is_told(t);
    return err;
}

bool
gr_tiling_waits(const struct tiling *t)
{
    return t->untiled > 0;
}

const struct gr_tiled *
gr_tiling_step(const struct tiling *t, size_t i)
{
    return t->tiled[i].pieces == NULL ? NULL : &t->tiled[i];
}

/* ---- what is to be made ---- */

static int
compare_pieces(const void *a, const void *b)
{
    const struct gr_piece *x = a;
    const struct gr_piece *y = b;

    if (x->op != y->op) {
        return x->op < y->op ? -1 : 1;
    }
    return x->output < y->output ? -1 : x->output > y->output;
}

/* A growing list. */
struct pieces {
    struct gr_piece *all;
    size_t count;
    size_t room;
    bool failed;
};

static void
pieces_add(struct pieces *list, const struct gr_piece *pieces, size_t count)
{
    for (size_t p = 0; p < count && !list->failed; p++) {
        list->failed = !gr_grow(&list->all, &list->room, list->count, sizeof *pieces);
        if (!list->failed) {
            list->all[list->count++] = pieces[p];
        }
    }
}

/* What steps will read that are not tiled, each piece once. */
static void
list_held(struct tiling *t, struct pieces *held)
{
    size_t kept = 0;

    for (size_t i = 0; t->untiled > 0 && i < t->steps->count; i++) {
        const struct gr_step *step = &t->steps->steps[i];

        for (size_t k = 0; !step->dead && t->tiled[i].pieces == NULL && k < step->input_count; k++) {
            if (t->tiled[step->inputs[k]].pieces != NULL) {
                const struct gr_tiled *input = tiling_input(t, i, k);

                if (!tiling_defer(t, i, k)) {
                    pieces_add(held, input->pieces, input->count);
                }
            }
        }
    }
    if (held->count > 1) {
        qsort(held->all, held->count, sizeof *held->all, compare_pieces);
    }
    for (size_t p = 0; p < held->count; p++) {
        if (p == 0 || compare_pieces(&held->all[p], &held->all[kept - 1]) != 0) {
            held->all[kept++] = held->all[p];
        }
    }
    held->count = kept;
}

static void
add_texts(void *texts, uint32_t op, uint32_t count)
{
    for (uint32_t p = 0; p < count; p++) {
        pieces_add(texts, &(struct gr_piece){.op = op, .output = p}, 1);
    }
}

/* Pieces of packed files' text were made before there were steps: they are held until those that read the files are cut. */
static bool
list_texts(struct tiling *t)
{
    struct pieces texts = {0};

    for (size_t i = 0; i < t->steps->count; i++) {
        const struct gr_step *step = &t->steps->steps[i];
        const struct gr_file *file =
            !step->dead && gr_file_asks((int)step->op) && t->sources->files != NULL ? t->sources->files[i] : NULL;

        if (file != NULL) {
            gr_file_makers(file, add_texts, &texts);
        }
    }
    if (texts.count > 1) {
        qsort(texts.all, texts.count, sizeof *texts.all, compare_pieces);
    }
    t->held = texts.all;
    t->held_count = texts.count;
    return !texts.failed;
}

/* Of two sorted lists, what is in the first alone. */
static void
add_difference(const struct gr_piece *a, size_t a_count, const struct gr_piece *b, size_t b_count, struct pieces *list)
{
    size_t at = 0;

    for (size_t p = 0; p < a_count; p++) {
        while (at < b_count && compare_pieces(&b[at], &a[p]) < 0) {
            at++;
        }
        if (at == b_count || compare_pieces(&b[at], &a[p]) != 0) {
            pieces_add(list, &a[p], 1);
        }
    }
}

/* New pieces of spare steps, but parts of others' objects: those cannot be read by themselves. */
static void
list_spare(struct tiling *t, struct pieces *spare)
{
    for (size_t i = 0; i < t->steps->count; i++) {
        const struct gr_tiled *tiled = &t->tiled[i];

        for (size_t p = 0; t->steps->steps[i].spare && tiled->pieces != NULL && p < tiled->count; p++) {
            const struct gr_chunk *chunk = &t->chunks->chunks[tiled->pieces[p].op];

            if (tiled->pieces[p].op >= t->handed_out && chunk->op != GR_CHUNK_object && !gr_chunk_is_packed(chunk)) {
                pieces_add(spare, &tiled->pieces[p], 1);
            }
        }
    }
}

granary_err
gr_tiling_wants(struct tiling *t, struct gr_wants *ret_wants)
{
    struct pieces roots = {0};
    struct pieces held = {0};
    struct pieces settled = {0};
    struct pieces spare = {0};
    struct gr_wants wants = {0};

    for (size_t i = 0; i < t->steps->target_count; i++) {
        size_t target = t->steps->targets[i];

        if (t->tiled[target].pieces != NULL && !t->wanted[target]) {
            t->wanted[target] = true;
            pieces_add(&roots, t->tiled[target].pieces, t->tiled[target].count);
        }
    }
    wants.kept = roots.count;
    list_held(t, &held);
    add_difference(held.all, held.count, t->held, t->held_count, &roots);
    wants.held = roots.count - wants.kept;
    add_difference(t->held, t->held_count, held.all, held.count, &settled);
    for (size_t a = 0; a < t->ask_count; a++) {
        pieces_add(&roots, &(struct gr_piece){.op = t->asks[a]}, 1);
    }
    list_spare(t, &spare);
    if (roots.failed || held.failed || settled.failed || spare.failed || t->chunks->failed == GRANARY_ENOMEM) {
        free(roots.all);
        free(held.all);
        free(settled.all);
        free(spare.all);
        return gr_fail(GRANARY_ENOMEM, "tiling a graph of %zu nodes: out of memory", t->steps->count);
    }
    t->ask_count = 0;
    free(t->held);
    t->held = held.all;
    t->held_count = held.count;
    t->handed_out = t->chunks->count;
    wants.roots = roots.all;
    wants.count = roots.count;
    wants.settled = settled.all;
    wants.settled_count = settled.count;
    wants.spare = spare.all;
    wants.spare_count = spare.count;
    *ret_wants = wants;
    return GRANARY_OK;
}

void
gr_wants_free(struct gr_wants *wants)
{
    free(wants->roots);
    free(wants->settled);
    free(wants->spare);
    *wants = (struct gr_wants){0};
}
