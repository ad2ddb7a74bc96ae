/* What logs tell, slot by slot, and remembered. */
#include "mutable/core/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "mutable/core/slab.h"

#define HEADS_LEAST 64 /* a power of 2 */

void
index_init(struct index *index, granary_client *client, granary_id table, uint64_t tiles)
{
    *index =
        (struct index){.client = client, .table = table, .tiles = tiles, .complete = INT64_MIN, .horizon = INT64_MIN};
}

void
index_free(struct index *index)
{
    free(index->chunks);
    free(index->notes);
    free(index->tokens);
    free(index->order);
    free(index->heads);
    index->chunks = NULL;
    index->notes = NULL;
    index->tokens = NULL;
    index->order = NULL;
    index->heads = NULL;
}

/* ---- new slots ---- */

/* A walk through the new slots of a lane. */
struct learn {
    struct index *index;
    uint32_t lane;
    granary_view slab; /* in which the last note was; data NULL: there is none */
    uint32_t slab_number;
};

static granary_err
fail_log(const struct learn *learn, const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "the log of lane %u %s", learn->lane, what);
}

granary_err
index_add_chunk(struct index *index, struct index_chunk chunk)
{
    if (chunk.first > (uint64_t)INT64_MAX - chunk.capacity) {
        return gr_fail(GRANARY_ECORRUPT, "rows have the numbers from %llu on", (unsigned long long)chunk.first);
    }
    if (!gr_grow(&index->chunks, &index->room, index->count, sizeof chunk)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    index->chunks[index->count++] = chunk;
    return GRANARY_OK;
}

static granary_err
learn_chunk(struct learn *learn, uint64_t position, const struct gr_mutable_slot *slot)
{
    const uint32_t number = GR_MUTABLE_WHAT_CHUNK(slot->what);
    const struct index_chunk chunk = {.object = kept_id(learn->index->table, GR_MUTABLE_ROWS, learn->lane, number),
                                      .first = (uint64_t)slot->time,
                                      .lane = learn->lane,
                                      .number = number,
                                      .capacity = GR_MUTABLE_WHAT_END(slot->what),
                                      .earliest = INT64_MAX,
                                      .latest = INT64_MIN,
                                      .before = position,
                                      .last = position};
    granary_err err = index_add_chunk(learn->index, chunk);

    learn->index->current[learn->lane] = err == GRANARY_OK ? learn->index->count : learn->index->current[learn->lane];
    return err;
}

static granary_err
learn_append(struct learn *learn, uint64_t position, const struct gr_mutable_slot *slot)
{
    const size_t current = learn->index->current[learn->lane];
    struct index_chunk *chunk = current == 0 ? NULL : &learn->index->chunks[current - 1];
    const uint32_t end = GR_MUTABLE_WHAT_END(slot->what);

    if (chunk == NULL || GR_MUTABLE_WHAT_CHUNK(slot->what) != chunk->number || end < chunk->end ||
        end > chunk->capacity) {
        return fail_log(learn, "has rows that are in no chunk");
    }
    chunk->end = end;
    chunk->last = position;
    if (slot->time <= learn->index->horizon) {
        chunk->has_base = true;
        return GRANARY_OK;
    }
    chunk->earliest = slot->time < chunk->earliest ? slot->time : chunk->earliest;
    chunk->latest = slot->time > chunk->latest ? slot->time : chunk->latest;
    return GRANARY_OK;
}

static granary_err
learn_full(struct learn *learn, const struct gr_mutable_slot *slot)
{
    const size_t current = learn->index->current[learn->lane];
    struct index_chunk *chunk = current == 0 ? NULL : &learn->index->chunks[current - 1];

    if (chunk == NULL || GR_MUTABLE_WHAT_CHUNK(slot->what) != chunk->number) {
        return fail_log(learn, "ends a chunk that it is not at");
    }
    /* Else a write that had gone on to the next chunk was refused, and the frame has rows that are none. */
    chunk->is_full = GR_MUTABLE_WHAT_END(slot->what) == chunk->end;
    return GRANARY_OK;
}

static bool
note_is_later(const struct index_note *a, const struct index_note *b)
{
    return a->time != b->time ? a->time > b->time : a->sequence > b->sequence;
}

/* Put a note of a frame into the order. They come nearly in it. */
static granary_err
order_add(struct index *index, size_t note)
{
    size_t at;

    if (!gr_grow(&index->order, &index->order_room, index->order_count, sizeof *index->order)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (at = index->order_count++; at > 0 && note_is_later(index_ordered(index, at - 1), &index->notes[note]); at--) {
        index->order[at] = index->order[at - 1];
    }
    index->order[at] = note;
    return GRANARY_OK;
}

/* Where the latest note of a chunk stands in the table, or would. */
static size_t
head_find(const struct index *index, uint64_t chunk)
{
    size_t at = (size_t)(chunk * 0x9e3779b97f4a7c15u >> 20) & (index->head_room - 1);

    while (index->heads[at] != 0 && index->notes[index->heads[at] - 1].chunk != chunk) {
        at = (at + 1) & (index->head_room - 1);
    }
    return at;
}

/* Half of the table stays empty. */
static granary_err
heads_grow(struct index *index)
{
    size_t *before = index->heads, *heads;
    const size_t room = index->head_room;

    if (index->head_count < room / 2) {
        return GRANARY_OK;
    }
    heads = calloc(room == 0 ? HEADS_LEAST : room * 2, sizeof *heads);
    if (heads == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    index->heads = heads;
    index->head_room = room == 0 ? HEADS_LEAST : room * 2;
    for (size_t i = 0; i < room; i++) {
        if (before[i] != 0) {
            index->heads[head_find(index, index->notes[before[i] - 1].chunk)] = before[i];
        }
    }
    free(before);
    return GRANARY_OK;
}

/* Put a note of a tensor among those of its chunk. */
static granary_err
chain_add(struct index *index, size_t position)
{
    struct index_note *note = &index->notes[position];
    granary_err err = note->chunk < index->tiles
                          ? heads_grow(index)
                          : gr_fail(GRANARY_ECORRUPT, "there is no chunk %llu: there are %llu",
                                    (unsigned long long)note->chunk, (unsigned long long)index->tiles);
    size_t *from;

    if (err != GRANARY_OK) {
        return err;
    }
    from = &index->heads[head_find(index, note->chunk)];
    index->head_count += *from == 0;
    while (*from != 0 && note_is_later(&index->notes[*from - 1], note)) {
        from = &index->notes[*from - 1].older;
    }
    note->older = *from;
    *from = position + 1;
    return GRANARY_OK;
}

/* Notes that follow one another are in one slab. */
static granary_err
learn_slab(struct learn *learn, uint32_t number)
{
    granary_err err;

    if (learn->slab.data != NULL && learn->slab_number == number) {
        return GRANARY_OK;
    }
    if (learn->slab.data != NULL) {
        granary_object_release(learn->index->client, &learn->slab);
        learn->slab.data = NULL;
    }
    err = slab_get(learn->index->client, learn->index->table, learn->lane, number, &learn->slab);
    learn->slab_number = number;
    learn->slab.data = err == GRANARY_OK ? learn->slab.data : NULL;
    return err;
}

static granary_err
learn_note(struct learn *learn, const struct gr_mutable_slot *slot)
{
    struct index *index = learn->index;
    struct index_note note = {.time = slot->time,
                              .lane = learn->lane,
                              .slab = GR_MUTABLE_WHAT_CHUNK(slot->what),
                              .offset = (uint64_t)GR_MUTABLE_WHAT_END(slot->what) * GR_NOTE_ALIGN};
    struct note_view view;
    granary_err err;

    if (slot->time <= index->horizon) {
        return GRANARY_OK;
    }
    if (!gr_grow(&index->notes, &index->note_room, index->note_count, sizeof note)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = learn_slab(learn, note.slab);
    err = err == GRANARY_OK ? note_at(&learn->slab, note.offset, &view) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    note.sequence = view.head.sequence;
    note.kind = (enum gr_note_kind)view.head.kind;
    note.chunk = view.head.chunk;
    if (note.kind == GR_NOTE_TILE && view.head.size >= sizeof view.head + sizeof note.tile) {
        memcpy(&note.tile, view.body, sizeof note.tile);
        note.holder = view.head.points;
    }
    note.tile = note.kind == GR_NOTE_WHOLE ? learn->slab.id : note.tile;
    index->notes[index->note_count] = note;
    err = note.kind < GR_NOTE_TILE ? order_add(index, index->note_count) : chain_add(index, index->note_count);
    index->note_count += err == GRANARY_OK;
    return err;
}

static granary_err
learn_token(struct index *index, const struct gr_mutable_slot *slot)
{
    if (!gr_grow(&index->tokens, &index->token_room, index->token_count, sizeof *index->tokens)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    index->tokens[index->token_count++] =
        (struct index_token){.token = GR_MUTABLE_WHAT_TOKEN(slot->what), .time = slot->time};
    return GRANARY_OK;
}

bool
index_find_token(const struct index *index, uint64_t token, int64_t *ret_time)
{
    size_t i = index->token_count;

    while (i > 0 && index->tokens[i - 1].token != token) {
        i--;
    }
    if (i > 0) {
        *ret_time = index->tokens[i - 1].time;
    }
    return i > 0;
}

granary_err
index_add_tile(struct index *index, uint64_t chunk, granary_id tile, uint64_t values_offset)
{
    granary_err err;

    if (!gr_grow(&index->notes, &index->note_room, index->note_count, sizeof *index->notes)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    index->notes[index->note_count] =
        (struct index_note){.time = INT64_MIN,
                            .kind = values_offset == 0 ? GR_NOTE_TILE : GR_NOTE_WHOLE,
                            .offset = values_offset - (values_offset == 0 ? 0 : sizeof(struct gr_mutable_note)),
                            .chunk = chunk,
                            .tile = tile};
    err = chain_add(index, index->note_count);
    index->note_count += err == GRANARY_OK;
    return err;
}

const struct index_note *
index_latest(const struct index *index, uint64_t chunk, int64_t time)
{
    const size_t head = index->head_room == 0 ? 0 : index->heads[head_find(index, chunk)];
    const struct index_note *note = head == 0 ? NULL : &index->notes[head - 1];

    while (note != NULL && note->time > time) {
        note = index_older(index, note);
    }
    return note;
}

static granary_err
learn_slot(void *context, uint64_t position, const struct gr_mutable_slot *slot)
{
    struct learn *learn = context;
    const struct gr_mutable_slot copy = *slot;
    granary_err err;

    switch (GR_MUTABLE_WHAT_KIND(copy.what)) {
    case 0:
        err = GRANARY_OK;
        break;
    case GR_MUTABLE_CHUNK:
        err = learn_chunk(learn, position, &copy);
        break;
    case GR_MUTABLE_APPEND:
        err = learn_append(learn, position, &copy);
        break;
    case GR_MUTABLE_FULL:
        err = learn_full(learn, &copy);
        break;
    case GR_MUTABLE_NOTE:
        err = learn_note(learn, &copy);
        break;
    case GR_MUTABLE_TOKEN:
        err = learn_token(learn->index, &copy);
        break;
    default:
        err = fail_log(learn, "has a slot of an unknown kind: a newer release wrote it");
        break;
    }
    /* After an error the walk begins behind what was learnt. */
    learn->index->known[learn->lane] = err == GRANARY_OK ? position : learn->index->known[learn->lane];
    return err;
}

granary_err
index_update(struct index *index, const uint64_t *counts, uint32_t lanes)
{
    granary_err err = GRANARY_OK;

    for (uint32_t i = 0; err == GRANARY_OK && i < lanes; i++) {
        if (counts[i] > index->known[i] + 1) {
            struct learn learn = {.index = index, .lane = i};

            err = log_walk(index->client, index->table, i, index->known[i], counts[i] - 1, learn_slot, &learn);
            if (learn.slab.data != NULL) {
                granary_object_release(index->client, &learn.slab);
            }
        }
    }
    return err;
}

/* ---- rows of a chunk ---- */

struct chunk_walk {
    const struct index_chunk *chunk;
    int64_t time;
    int64_t after; /* rows up to it do not count */
    uint32_t from; /* of a run that may go on */
    uint32_t to;
    uint32_t end; /* rows that were passed */
    index_take *take;
    void *context;
};

static granary_err
walk_take(struct chunk_walk *walk)
{
    return walk->from == walk->to ? GRANARY_OK : walk->take(walk->context, walk->chunk, walk->from, walk->to);
}

static granary_err
walk_slot(void *context, uint64_t position, const struct gr_mutable_slot *slot)
{
    struct chunk_walk *walk = context;
    const uint32_t from = walk->end, end = GR_MUTABLE_WHAT_END(slot->what);
    granary_err err = GRANARY_OK;

    (void)position;
    if (GR_MUTABLE_WHAT_KIND(slot->what) != GR_MUTABLE_APPEND || end < from || end > walk->chunk->end) {
        return GRANARY_OK; /* another kind; or it has changed since it was looked at, by a writer that lies */
    }
    walk->end = end;
    if (slot->time > walk->time || slot->time <= walk->after) {
        return GRANARY_OK;
    }
    if (walk->to != from) {
        err = walk_take(walk);
        walk->from = from;
    }
    walk->to = end;
    return err;
}

granary_err
index_rows(const struct index *index, const struct index_chunk *chunk, int64_t after, int64_t time, index_take *take,
           void *context)
{
    const bool is_all = after == INT64_MIN;
    struct chunk_walk walk = {.chunk = chunk,
                              .time = time,
                              .after = after > index->horizon ? after : index->horizon,
                              .take = take,
                              .context = context};
    granary_err err;

    if (chunk->end == 0 || chunk->earliest > time || (!is_all && chunk->latest <= after)) {
        return GRANARY_OK;
    }
    if (chunk->latest <= time && !chunk->has_base && (is_all || chunk->earliest > after)) {
        return take(context, chunk, chunk->begin, chunk->end);
    }
    err = log_walk(index->client, index->table, chunk->lane, chunk->before, chunk->last, walk_slot, &walk);
    return err == GRANARY_OK ? walk_take(&walk) : err;
}
