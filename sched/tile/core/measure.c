/* What steps ask of their inputs: questions, answers, and what rules are told. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "tile/core/rules.h"

/* Pieces that are there already are looked at by one operator, so many at a time. */
#define LOOK_AT_ONCE 64

/* ---- what is known, by piece ---- */

static size_t
slot_of(const struct tiling *t, struct gr_piece piece)
{
    uint64_t hash = ((uint64_t)piece.op << 32 | piece.output) * 0x9e3779b97f4a7c15ull;
    size_t at = (size_t)(hash >> 32) & (t->info_room - 1);

    while (t->infos[at].used && (t->infos[at].piece.op != piece.op || t->infos[at].piece.output != piece.output)) {
        at = (at + 1) & (t->info_room - 1);
    }
    return at;
}

static struct piece_info *
find_info(const struct tiling *t, struct gr_piece piece)
{
    struct piece_info *info = t->info_room == 0 ? NULL : &t->infos[slot_of(t, piece)];

    return info != NULL && info->used ? info : NULL;
}

static bool
grow_infos(struct tiling *t)
{
    struct piece_info *old = t->infos;
    size_t room = t->info_room;

    t->info_room = room == 0 ? 64 : room * 2;
    t->infos = calloc(t->info_room, sizeof *t->infos);
    if (t->infos == NULL) {
        t->infos = old;
        t->info_room = room;
        return false;
    }
    for (size_t i = 0; i < room; i++) {
        if (old[i].used) {
            t->infos[slot_of(t, old[i].piece)] = old[i];
        }
    }
    free(old);
    return true;
}

granary_err
tiling_tell(struct tiling *t, struct gr_piece piece, const Granary__FrameInfo *info)
{
    struct piece_info *slot;

    if (t->info_count * 2 >= t->info_room && !grow_infos(t)) {
        return tile_no_memory();
    }
    slot = &t->infos[slot_of(t, piece)];
    t->info_count += !slot->used;
    *slot = (struct piece_info){.piece = piece, .used = true, .info = slot->info != NULL ? slot->info : info};
    return GRANARY_OK;
}

void
tiling_forget_answers(struct tiling *t)
{
    for (size_t a = 0; a < t->answer_count; a++) {
        granary__frame_infos__free_unpacked(t->answers[a], NULL);
    }
    free(t->answers);
    free(t->infos);
}

granary_err
gr_tiling_answer(struct tiling *t, uint32_t op, const ProtobufCBinaryData *answer)
{
    const struct gr_chunk *chunk = &t->chunks->chunks[op];
    const struct gr_piece *pieces = gr_chunk_inputs(t->chunks, chunk);
    const struct piece_info *first = find_info(t, pieces[0]);
    Granary__FrameInfos *infos;
    granary_err err = GRANARY_OK;

    if (first != NULL && first->info != NULL) {
        return GRANARY_OK; /* its subtask ran twice */
    }
    errno = 0;
    infos = granary__frame_infos__unpack(NULL, answer->len, answer->data);
    if (infos == NULL && errno == ENOMEM) {
        err = tile_no_memory();
        goto fail;
    }
    if (infos == NULL || infos->n_frames != chunk->input_count) {
        err = gr_fail(GRANARY_EPROTO, "node '%s': info: an answer that is none",
                      t->steps->steps[chunk->step].origin->name);
        goto fail;
    }
    if (!gr_grow(&t->answers, &t->answer_room, t->answer_count, sizeof(Granary__FrameInfos *))) {
        err = tile_no_memory();
        goto fail;
    }
    t->answers[t->answer_count++] = infos;
    for (uint32_t p = 0; p < chunk->input_count && err == GRANARY_OK; p++) {
        err = tiling_tell(t, pieces[p], infos->frames[p]);
    }
    return err;

fail:
    granary__frame_infos__free_unpacked(infos, NULL);
    return err;
}

/* ---- questions ---- */

static bool
is_there(const struct tiling *t, struct gr_piece piece)
{
    return piece.op < t->handed_out || t->chunks->chunks[piece.op].op == GR_CHUNK_object;
}

static granary_err
add_look(struct tiling *t, size_t i, const struct gr_piece *pieces, size_t count)
{
    struct gr_chunk_spec spec = {.op = GR_CHUNK_info, .step = (uint32_t)i, .inputs = pieces, .input_count = count};

    if (!gr_grow(&t->asks, &t->ask_room, t->ask_count, sizeof *t->asks)) {
        return tile_no_memory();
    }
    t->asks[t->ask_count++] = gr_chunks_add(t->chunks, &spec).op;
    return GRANARY_OK;
}

/* The pieces nobody has asked for yet: those one operator makes are looked at beside it. */
static granary_err
ask_input(struct tiling *t, size_t i, const struct gr_tiled *input)
{
    struct gr_piece group[LOOK_AT_ONCE];
    size_t count = 0;
    granary_err err = GRANARY_OK;

    for (size_t p = 0; p < input->count && err == GRANARY_OK; p++) {
        struct gr_piece piece = input->pieces[p];

        if (find_info(t, piece) != NULL) {
            continue;
        }
        if (count == LOOK_AT_ONCE ||
            (count > 0 && piece.op != group[0].op && !(is_there(t, piece) && is_there(t, group[0])))) {
            err = add_look(t, i, group, count);
            count = 0;
        }
        group[count++] = piece;
        if (err == GRANARY_OK) {
            err = tiling_tell(t, piece, NULL);
        }
    }
    return err == GRANARY_OK && count > 0 ? add_look(t, i, group, count) : err;
}

/* Whether all pieces from *piece on are known; it goes on to the first one that is not. */
static bool
known_from(const struct tiling *t, const struct gr_tiled *tiled, size_t *piece)
{
    const struct piece_info *info;

    while (*piece < tiled->count && (info = find_info(t, tiled->pieces[*piece])) != NULL && info->info != NULL) {
        (*piece)++;
    }
    return *piece == tiled->count;
}

static bool
all_known(const struct tiling *t, const struct gr_tiled *tiled)
{
    size_t piece = 0;

    return known_from(t, tiled, &piece);
}

granary_err
tiling_ask(struct tiling *t, size_t i)
{
    granary_err err = GRANARY_OK;
    bool any = false; /* or it would be called again for ever */

    for (size_t k = 0; t->inputs[i] != NULL && k < t->inputs[i]->count && err == GRANARY_OK; k++) {
        if (t->inputs[i]->of[k].asked) {
            const struct gr_tiled *input = tiling_input(t, i, k);

            any = any || !all_known(t, input);
            err = ask_input(t, i, input);
        }
    }
    return err == GRANARY_OK && !any ? gr_fail(GRANARY_EFAILED, "it waits for nothing") : err;
}

bool
tiling_is_told(const struct tiling *t, struct waiting *waiting)
{
    const struct step_inputs *inputs = t->inputs[waiting->step];
    const struct gr_step *step = &t->steps->steps[waiting->step];

    for (; waiting->input < inputs->count; waiting->input++, waiting->piece = 0) {
        const struct step_input *input = &inputs->of[waiting->input];
        const struct gr_tiled *tiled =
            input->narrowed.pieces != NULL ? &input->narrowed : &t->tiled[step->inputs[waiting->input]];

        if (input->asked && !known_from(t, tiled, &waiting->piece)) {
            return false;
        }
    }
    return true;
}

/* ---- what rules are told ---- */

static void
set_column(const Granary__ColumnInfo *info, struct gr_measured_column *column)
{
    *column = (struct gr_measured_column){
        .nulls = info->nulls, .distinct = info->distinct, .has_zone = info->zone, .has_nan = info->nan};
    memcpy(&column->min, &info->min, sizeof column->min);
    memcpy(&column->max, &info->max, sizeof column->max);
}

/* Columns stand as in the schema, but some may be missing. wanted: those that count; NULL: all */
static void
set_piece(const Granary__FrameInfo *info, const struct gr_step *from, const bool *wanted, size_t p,
          struct gr_measured *measured)
{
    const struct gr_schema *schema = measured->schema;
    size_t at = 0;

    measured->rows[p] = info->rows;
    measured->bytes[p] = info->is_tensor || info->rows < 0 ? info->bytes : 0;
    for (size_t c = 0; c < schema->count && at < info->n_columns; c++) {
        if (strcmp(schema->fields[c].name, info->columns[at]->name) != 0) {
            continue;
        }
        if (gr_step_yields(from, c) && (wanted == NULL || wanted[c])) {
            measured->bytes[p] += info->columns[at]->bytes;
        }
        set_column(info->columns[at++], &measured->columns[p * schema->count + c]);
    }
}

const struct gr_measured *
tiling_measured(struct tiling *t, size_t i, size_t k)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *tiled = &t->tiled[step->inputs[k]];
    const bool *wanted = k < 2 ? step->narrow[k] : NULL;
    struct step_input *note = tiling_note(t, i, k);

    if (note == NULL || note->measured != NULL) {
        return note == NULL ? NULL : note->measured;
    }
    if ((k < 2 && step->where[k] != NULL) || !all_known(t, tiled)) {
        wanted = NULL;
        tiled = tiling_input(t, i, k);
        if (!all_known(t, tiled)) {
            note->asked = true;
            return NULL;
        }
    }
    note->measured = gr_measured_create(t->memory, tiled->count, &t->steps->steps[step->inputs[k]].type->schema);
    if (note->measured == NULL) {
        t->chunks->failed = GRANARY_ENOMEM;
        return NULL;
    }
    for (size_t p = 0; p < tiled->count; p++) {
        set_piece(find_info(t, tiled->pieces[p])->info, &t->steps->steps[step->inputs[k]], wanted, p, note->measured);
    }
    gr_measured_total(note->measured);
    return note->measured;
}

/* ---- pieces put together ---- */

static Granary__ColumnInfo *
column_info(struct tiling *t, const struct gr_measured *m, size_t c, uint64_t bytes)
{
    const struct gr_measured_column *all = &m->all[c];
    Granary__ColumnInfo *info = gr_region_alloc(t->memory, sizeof *info);

    if (info != NULL) {
        granary__column_info__init(info);
        info->name = m->schema->fields[c].name;
        info->dtype = (uint32_t)m->schema->fields[c].dtype;
        info->nulls = all->nulls;
        info->distinct = all->distinct;
        info->bytes = bytes;
        info->zone = all->has_zone;
        info->nan = all->has_nan;
        memcpy(&info->min, &all->min, sizeof info->min);
        memcpy(&info->max, &all->max, sizeof info->max);
    }
    return info;
}

/* Columns the step yields; the first part's tell how the bytes are shared out. */
static granary_err
fill_info(struct tiling *t, const struct gr_step *step, const struct gr_measured *m, const Granary__FrameInfo *first,
          Granary__FrameInfo *info)
{
    uint64_t bytes = 1;
    size_t at = 0;

    info->rows = m->all_rows;
    info->bytes = m->all_bytes;
    info->columns = gr_region_alloc(t->memory, m->schema->count * sizeof(Granary__ColumnInfo *));
    for (size_t c = 0; c < first->n_columns; c++) {
        bytes += first->columns[c]->bytes;
    }
    for (size_t c = 0; info->columns != NULL && c < m->schema->count && at < first->n_columns; c++) {
        const Granary__ColumnInfo *column = first->columns[at];

        if (strcmp(m->schema->fields[c].name, column->name) != 0) {
            continue;
        }
        at++;
        if (gr_step_yields(step, c)) {
            double share = (double)column->bytes / (double)bytes;
            Granary__ColumnInfo *made = column_info(t, m, c, (uint64_t)(share * (double)m->all_bytes));

            if (made == NULL) {
                return tile_no_memory();
            }
            info->columns[info->n_columns++] = made;
        }
    }
    return info->columns == NULL ? tile_no_memory() : GRANARY_OK;
}

granary_err
tiling_tell_together(struct tiling *t, size_t i, struct gr_piece piece, const struct gr_piece *parts, size_t count)
{
    const struct gr_tiled those = {.count = count, .pieces = (struct gr_piece *)(uintptr_t)parts};
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_measured *measured;
    Granary__FrameInfo *info;
    granary_err err;

    if (!all_known(t, &those)) {
        return GRANARY_OK;
    }
    measured = gr_measured_create(t->scratch, count, &step->type->schema);
    info = gr_region_alloc(t->memory, sizeof *info);
    if (measured == NULL || info == NULL) {
        return tile_no_memory();
    }
    granary__frame_info__init(info);
    for (size_t p = 0; p < count; p++) {
        set_piece(find_info(t, parts[p])->info, step, NULL, p, measured);
    }
    gr_measured_total(measured);
    err = fill_info(t, step, measured, find_info(t, parts[0])->info, info);
    return err == GRANARY_OK ? tiling_tell(t, piece, info) : err;
}
