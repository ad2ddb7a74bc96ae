/* Cuts, and rows as they were at one: which of them each lane's log tells, gathered in the order of their numbers. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "data/frame.h"
#include "mutable/lane.h"
#include "mutable/table.h"

/* Rows [from, to) of a chunk. */
struct run {
    uint64_t first; /* number of the chunk's first row */
    uint32_t lane;
    uint32_t chunk;
    uint32_t from;
    uint32_t to;
};

/* What a walk through the log of a lane is told. */
struct gather {
    const granary_mutable *table;
    int64_t time;
    uint32_t lane;
    /* the chunk it is at */
    uint32_t chunk;
    uint32_t capacity;
    uint32_t end;
    uint64_t first;
    struct run *runs;
    size_t count;
    size_t room;
};

/* ---- cuts ---- */

/* At which time tables are to be cut. Errors: as granary_cut() */
static granary_err
cut_time(granary_mutable *const *tables, size_t count, int64_t *time)
{
    int64_t newest = INT64_MIN;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        int64_t theirs = mutable_newest(tables[i]->page.page);

        err = table_check(tables[i]);
        newest = theirs > newest ? theirs : newest;
    }
    if (err == GRANARY_OK && *time == GRANARY_NOW) {
        *time = newest;
    }
    /* Final is final: who reads the future would stop all writers until then. */
    if (err == GRANARY_OK && *time > newest && *time > table_clock()) {
        err =
            gr_fail(GRANARY_EINVAL, "time %lld is later than the clock, and than the newest write (%lld): read at that",
                    (long long)*time, (long long)newest);
    }
    return err;
}

granary_err
granary_cut(granary_mutable *const *tables, size_t count, int64_t *time)
{
    uint64_t counts[GR_MUTABLE_LANES];
    granary_err err = cut_time(tables, count, time);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        (void)mutable_cut(tables[i]->page.page, *time, counts);
    }
    return err;
}

/* ---- which rows ---- */

static granary_err
fail_log(const struct gather *gather, const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "table '%s': the log of lane %u %s", gather->table->name, gather->lane, what);
}

static granary_err
gather_run(struct gather *gather, uint32_t from, uint32_t to)
{
    struct run *last = gather->count > 0 ? &gather->runs[gather->count - 1] : NULL;

    if (last != NULL && last->lane == gather->lane && last->chunk == gather->chunk && last->to == from) {
        last->to = to;
        return GRANARY_OK;
    }
    if (!gr_grow(&gather->runs, &gather->room, gather->count, sizeof *gather->runs)) {
        return gr_fail(GRANARY_ENOMEM, "table '%s': out of memory", gather->table->name);
    }
    gather->runs[gather->count++] =
        (struct run){.first = gather->first, .lane = gather->lane, .chunk = gather->chunk, .from = from, .to = to};
    return GRANARY_OK;
}

static granary_err
take_slot(void *context, const struct gr_mutable_slot *slot)
{
    struct gather *gather = context;
    uint32_t end = GR_MUTABLE_WHAT_END(slot->what);
    uint32_t from = gather->end;

    switch (GR_MUTABLE_WHAT_KIND(slot->what)) {
    case 0:
        return GRANARY_OK;
    case GR_MUTABLE_CHUNK:
        gather->chunk = GR_MUTABLE_WHAT_CHUNK(slot->what);
        gather->first = (uint64_t)slot->time;
        gather->capacity = end;
        gather->end = 0;
        return GRANARY_OK;
    case GR_MUTABLE_APPEND:
        if (GR_MUTABLE_WHAT_CHUNK(slot->what) != gather->chunk || end < from || end > gather->capacity) {
            return fail_log(gather, "has rows that are in no chunk");
        }
        gather->end = end;
        return slot->time <= gather->time ? gather_run(gather, from, end) : GRANARY_OK;
    default:
        return fail_log(gather, "has a slot of an unknown kind: a newer release wrote it");
    }
}

static int
by_number(const void *left, const void *right)
{
    const struct run *a = left, *b = right;

    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    return a->from < b->from ? -1 : a->from > b->from;
}

/* ---- their values ---- */

/* Chunks that are leased, one a run; runs of one chunk follow each other and share it. */
struct chunk {
    granary_view view;
    granary_frame *frame;
};

/* What readers of frames rely on, and gr_arrow_read() leaves to the chunk's writer: texts follow one another. */
static bool
texts_fit(const granary_column *column, uint32_t from, uint32_t to, uint64_t bytes)
{
    /* A negative end is a large one. */
    return column->dictionary == NULL && gr_offsets_ascend(column->offsets + from, to - from) &&
           (uint64_t)column->offsets[to] <= bytes;
}

/* Whether a frame has the table's columns, and the run's rows. */
static bool
chunk_fits(const granary_mutable *table, const struct run *run, const granary_view *view, const granary_frame *frame)
{
    bool fits = frame->count == table->schema->count && run->to <= frame->rows;

    for (size_t i = 0; fits && i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        const char *end = (const char *)view->data + view->data_size;

        fits = column->dtype == table->schema->columns[i].view.dtype &&
               (column->dtype != GRANARY_STRING ||
                texts_fit(column, run->from, run->to, (uint64_t)(end - (const char *)column->values)));
    }
    return fits;
}

static granary_err
chunk_get(const granary_mutable *table, const struct run *run, struct chunk *ret_chunk)
{
    granary_err err = granary_object_get(table->client, kept_id(table->id, GR_MUTABLE_ROWS, run->lane, run->chunk), 0,
                                         &ret_chunk->view);

    if (err == GRANARY_ENOENT) {
        return gr_fail(GRANARY_ECORRUPT, "table '%s': chunk %u of lane %u is gone", table->name, run->chunk, run->lane);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_frame_open(&ret_chunk->view, &ret_chunk->frame);
    if (err == GRANARY_OK && !chunk_fits(table, run, &ret_chunk->view, ret_chunk->frame)) {
        err = gr_fail(GRANARY_ECORRUPT, "table '%s': chunk %u of lane %u is not one of its chunks", table->name,
                      run->chunk, run->lane);
    }
    if (err != GRANARY_OK) {
        granary_frame_close(ret_chunk->frame);
        granary_object_release(table->client, &ret_chunk->view);
        ret_chunk->frame = NULL;
    }
    return err;
}

static bool
same_chunk(const struct run *a, const struct run *b)
{
    return a->lane == b->lane && a->chunk == b->chunk;
}

static void
chunks_release(const granary_mutable *table, const struct run *runs, struct chunk *chunks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (chunks[i].frame != NULL && (i == 0 || !same_chunk(&runs[i], &runs[i - 1]))) {
            granary_frame_close(chunks[i].frame);
            granary_object_release(table->client, &chunks[i].view);
        }
    }
    free(chunks);
}

static granary_err
gather_column(const struct gather *gather, const struct chunk *chunks, size_t position, struct gr_run *runs,
              granary_frame *frame)
{
    const granary_column *like = &gather->table->schema->columns[position].view;
    struct gr_column column;
    granary_err err;

    for (size_t i = 0; i < gather->count; i++) {
        runs[i] = (struct gr_run){.column = &chunks[i].frame->columns[position].view,
                                  .from = gather->runs[i].from,
                                  .rows = gather->runs[i].to - gather->runs[i].from};
    }
    err = gr_column_concat(runs, gather->count, like->dtype, &column);
    if (err != GRANARY_OK) {
        return err;
    }
    gr_column_finish(&column);
    return gr_frame_set(frame, position, like->name, &column);
}

/* The chunks of all runs, leased. */
static granary_err
chunks_get(const struct gather *gather, struct chunk **ret_chunks)
{
    struct chunk *chunks = calloc(gather->count + 1, sizeof *chunks);
    granary_err err =
        chunks == NULL ? gr_fail(GRANARY_ENOMEM, "table '%s': out of memory", gather->table->name) : GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < gather->count; i++) {
        if (i > 0 && same_chunk(&gather->runs[i], &gather->runs[i - 1])) {
            chunks[i] = chunks[i - 1];
        } else {
            err = chunk_get(gather->table, &gather->runs[i], &chunks[i]);
        }
    }
    if (err != GRANARY_OK && chunks != NULL) {
        chunks_release(gather->table, gather->runs, chunks, gather->count);
        return err;
    }
    *ret_chunks = chunks;
    return err;
}

static granary_err
gather_frame(const struct gather *gather, granary_frame **ret_frame)
{
    const granary_mutable *table = gather->table;
    struct gr_run *runs = calloc(gather->count + 1, sizeof *runs);
    struct chunk *chunks = NULL;
    granary_frame *frame = NULL;
    int64_t rows = 0;
    granary_err err =
        runs == NULL ? gr_fail(GRANARY_ENOMEM, "table '%s': out of memory", table->name) : chunks_get(gather, &chunks);

    for (size_t i = 0; i < gather->count; i++) {
        rows += gather->runs[i].to - gather->runs[i].from;
    }
    if (err == GRANARY_OK) {
        frame = gr_frame_create(table->schema->count, rows);
        err = frame == NULL ? gr_fail(GRANARY_ENOMEM, "table '%s': out of memory", table->name) : GRANARY_OK;
        for (size_t i = 0; err == GRANARY_OK && i < table->schema->count; i++) {
            err = gather_column(gather, chunks, i, runs, frame);
        }
        chunks_release(table, gather->runs, chunks, gather->count);
    }
    free(runs);
    return gr_frame_give(frame, err, ret_frame);
}

/* ---- the call ---- */

granary_err
granary_mutable_read_frame(granary_mutable *table, int64_t time, granary_frame **ret_frame)
{
    struct gather gather = {.table = table};
    uint64_t counts[GR_MUTABLE_LANES];
    uint32_t lanes;
    granary_err err = cut_time(&table, 1, &time);

    if (err != GRANARY_OK) {
        return err;
    }
    gather.time = time;
    lanes = mutable_cut(table->page.page, time, counts);
    for (uint32_t i = 0; err == GRANARY_OK && i < lanes; i++) {
        gather.lane = i;
        gather.capacity = gather.end = 0;
        err = log_walk(table->client, table->id, i, counts[i], take_slot, &gather);
    }
    if (err == GRANARY_OK) {
        if (gather.count > 1) {
            qsort(gather.runs, gather.count, sizeof *gather.runs, by_number);
        }
        err = gather_frame(&gather, ret_frame);
    }
    free(gather.runs);
    return err;
}
