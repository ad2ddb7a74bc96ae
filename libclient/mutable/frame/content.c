/* Chunks' rows and what notes write over them, put together column by column. */
#include "mutable/frame/content.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "data/arrow/arrow.h"

/* ---- notes ---- */

/* The frame of a note, which its writer made: nothing in it is believed. */
static granary_err
note_frame(const struct note_view *view, granary_frame **ret_frame)
{
    const uint64_t room = view->head.size - sizeof view->head;
    const uint64_t data_at = note_pad(view->head.count * sizeof(struct gr_note_range));
    const uint64_t meta_at = data_at + note_pad(view->head.data_size);
    granary_frame *frame = NULL;
    granary_err err;

    if (view->head.data_size > room || view->head.meta_size > room || meta_at > room ||
        view->head.meta_size > room - meta_at) {
        return gr_fail(GRANARY_ECORRUPT, "a note does not have the values that it tells of");
    }
    err = gr_arrow_read(view->body + data_at, view->head.data_size, view->body + meta_at, view->head.meta_size, &frame);
    err = err == GRANARY_OK ? gr_frame_check(frame) : err;
    return gr_frame_give(frame, err, ret_frame);
}

static granary_err
patches_add(struct content *content, const struct ranges *ranges)
{
    const struct runs *runs = &content->runs;
    int64_t at = 0;

    for (size_t i = 0; i < ranges->count; i++) {
        const struct gr_note_range range = ranges->range[i];

        for (size_t r = runs_find(runs, range.from); r < runs->count; r++) {
            const struct run *run = &runs->run[r];
            const uint64_t begin = run_number(run, run->from), end = run_number(run, run->to);
            const uint64_t from = range.from > begin ? range.from : begin, to = range.to < end ? range.to : end;

            if (from >= to) {
                break;
            }
            if (!gr_grow(&content->patches, &content->patch_room, content->patch_count, sizeof *content->patches)) {
                return gr_fail(GRANARY_ENOMEM, "out of memory");
            }
            content->patches[content->patch_count++] = (struct patch){.run = r,
                                                                      .from = (uint32_t)(from - run->first),
                                                                      .to = (uint32_t)(to - run->first),
                                                                      .note = content->note_count - 1,
                                                                      .at = at + (int64_t)(from - range.from)};
        }
        at += (int64_t)(range.to - range.from);
    }
    return GRANARY_OK;
}

static granary_err
content_take_note(struct content *content, const struct index_note *note)
{
    const granary_mutable *table = content->table;
    struct ranges ranges = {.count = 0};
    struct content_note *at;
    granary_err err;

    if (!gr_grow(&content->notes, &content->note_room, content->note_count, sizeof *content->notes)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    at = &content->notes[content->note_count];
    at->frame = NULL;
    err = note_get(table->client, table->id, note, &at->view);
    if (err != GRANARY_OK) {
        return err;
    }
    content->note_count++;
    err = note_ranges(&at->view, &ranges);
    err = err == GRANARY_OK ? note_frame(&at->view, &at->frame) : err;
    if (err == GRANARY_OK && (uint64_t)at->frame->rows != ranges_numbers(&ranges)) {
        err = gr_fail(GRANARY_ECORRUPT, "a note has %lld rows of values for %llu rows", (long long)at->frame->rows,
                      (unsigned long long)ranges_numbers(&ranges));
    }
    err = err == GRANARY_OK ? patches_add(content, &ranges) : err;
    free(ranges.range);
    return err;
}

static int
by_run(const void *left, const void *right)
{
    const struct patch *a = left, *b = right;

    if (a->run != b->run) {
        return a->run < b->run ? -1 : 1;
    }
    return a->note < b->note ? -1 : a->note > b->note;
}

granary_err
content_open(const granary_mutable *table, int64_t after, int64_t time, struct content *ret_content)
{
    const struct index *index = &table->index;
    struct content content = {.table = table};
    granary_err err = runs_collect(table, after, time, &content.runs);

    for (size_t i = 0; err == GRANARY_OK && i < index->order_count && index_ordered(index, i)->time <= time; i++) {
        const struct index_note *note = index_ordered(index, i);

        err = note->kind == GR_NOTE_WRITE ? content_take_note(&content, note) : GRANARY_OK;
    }
    if (err != GRANARY_OK) {
        content_close(&content);
        return err;
    }
    if (content.patch_count > 1) {
        qsort(content.patches, content.patch_count, sizeof *content.patches, by_run);
    }
    *ret_content = content;
    return GRANARY_OK;
}

void
content_close(struct content *content)
{
    for (size_t i = 0; i < content->note_count; i++) {
        granary_frame_close(content->notes[i].frame);
        note_release(content->table->client, &content->notes[i].view);
    }
    free(content->notes);
    free(content->patches);
    runs_free(&content->runs);
}

/* The first patch of a run, or of a later one. */
static size_t
patch_find(const struct content *content, size_t run)
{
    size_t low = 0, high = content->patch_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (content->patches[middle].run < run) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool
content_is_patched(const struct content *content, size_t run)
{
    const size_t at = patch_find(content, run);

    return at < content->patch_count && content->patches[at].run == run;
}

/* ---- chunks ---- */

/* One that is leased. */
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
               (!gr_dtype_is_text(column->dtype) ||
                texts_fit(column, run->from, run->to, (uint64_t)(end - (const char *)column->values)));
    }
    return fits;
}

static granary_err
chunk_check(const granary_mutable *table, const struct run *run, const struct chunk *chunk)
{
    return chunk_fits(table, run, &chunk->view, chunk->frame)
               ? GRANARY_OK
               : gr_fail(GRANARY_ECORRUPT, "chunk %u of lane %u is not one of its chunks", run->chunk, run->lane);
}

static void
chunk_release(const granary_mutable *table, struct chunk *chunk)
{
    granary_frame_close(chunk->frame);
    granary_object_release(table->client, &chunk->view);
}

/* The chunk of a run, leased, with the table's columns. */
static granary_err
chunk_get(const granary_mutable *table, const struct run *run, struct chunk *ret_chunk)
{
    struct chunk chunk = {.frame = NULL};
    granary_err err = granary_object_get(table->client, run->object, 0, &chunk.view);

    if (err == GRANARY_ENOENT) {
        return gr_fail(GRANARY_ECORRUPT, "chunk %u of lane %u is gone", run->chunk, run->lane);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_frame_open(&chunk.view, &chunk.frame);
    err = err == GRANARY_OK ? chunk_check(table, run, &chunk) : err;
    if (err != GRANARY_OK) {
        chunk_release(table, &chunk);
        return err;
    }
    *ret_chunk = chunk;
    return GRANARY_OK;
}

static bool
same_chunk(const struct run *a, const struct run *b)
{
    return a->lane == b->lane && a->chunk == b->chunk;
}

/* The chunks of some runs, one a run; neighbours of one chunk share it. */
struct chunks {
    const granary_mutable *table;
    const struct run *run;
    struct chunk *chunk;
    size_t count; /* so many are leased */
};

static void
chunks_release(struct chunks *chunks)
{
    for (size_t i = 0; i < chunks->count; i++) {
        if (i == 0 || !same_chunk(&chunks->run[i], &chunks->run[i - 1])) {
            chunk_release(chunks->table, &chunks->chunk[i]);
        }
    }
    free(chunks->chunk);
}

/* chunks_release() follows, whatever is returned. */
static granary_err
chunks_get(struct chunks *chunks, size_t count)
{
    granary_err err = GRANARY_OK;

    chunks->chunk = calloc(count + 1, sizeof *chunks->chunk);
    if (chunks->chunk == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        if (i > 0 && same_chunk(&chunks->run[i], &chunks->run[i - 1])) {
            chunks->chunk[i] = chunks->chunk[i - 1];
            err = chunk_check(chunks->table, &chunks->run[i], &chunks->chunk[i]); /* of other rows */
        } else {
            err = chunk_get(chunks->table, &chunks->run[i], &chunks->chunk[i]);
        }
        chunks->count += err == GRANARY_OK;
    }
    return err;
}

/* ---- columns ---- */

/* Where the values of a column come from, one run after the other. */
struct pieces {
    struct gr_run *run;
    size_t count;
    size_t room;
};

static granary_err
pieces_add(struct pieces *pieces, struct gr_run piece)
{
    if (!gr_grow(&pieces->run, &pieces->room, pieces->count, sizeof piece)) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    pieces->run[pieces->count++] = piece;
    return GRANARY_OK;
}

/* Of one row of a run: its value is the chunk's, or of a note's row. */
struct source {
    size_t note; /* + 1; 0: the chunk's */
    int64_t at;
};

/* The column of a note; NULL: it has none of that name. Errors: ECORRUPT of another dtype */
static granary_err
note_column(const struct content_note *note, const granary_column *like, const granary_column **ret_column)
{
    const int position = gr_frame_find(note->frame, like->name);
    const granary_column *column = position < 0 ? NULL : &note->frame->columns[position].view;

    if (column != NULL && column->dtype != like->dtype) {
        return gr_fail(GRANARY_ECORRUPT, "a note has column '%s' of %s", like->name, granary_dtype_name(column->dtype));
    }
    *ret_column = column;
    return GRANARY_OK;
}

/* Sources of the rows of a run. Values of one source that follow each other are one piece. */
static granary_err
sources_add(const struct content *content, const struct source *sources, int64_t rows, const granary_column *base,
            struct pieces *pieces)
{
    granary_err err = GRANARY_OK;

    for (int64_t from = 0, to; err == GRANARY_OK && from < rows; from = to) {
        const struct source source = sources[from];
        const granary_column *column = base;

        for (to = from + 1; to < rows && sources[to].note == source.note && sources[to].at == source.at + to - from;) {
            to++;
        }
        if (source.note > 0) {
            err = note_column(&content->notes[source.note - 1], base, &column);
        }
        if (err == GRANARY_OK) {
            err = pieces_add(pieces, (struct gr_run){column, source.at, to - from});
        }
    }
    return err;
}

/* Pieces of one column of a run that has patches. */
static granary_err
pieces_of_patched(const struct content *content, size_t r, const granary_column *base, struct pieces *pieces)
{
    const struct run *run = &content->runs.run[r];
    const int64_t rows = run->to - run->from;
    struct source *sources = calloc((size_t)rows + 1, sizeof *sources);
    granary_err err = sources == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    for (int64_t i = 0; err == GRANARY_OK && i < rows; i++) {
        sources[i].at = run->from + i;
    }
    for (size_t p = patch_find(content, r); err == GRANARY_OK && p < content->patch_count; p++) {
        const struct patch *patch = &content->patches[p];
        const granary_column *column;

        if (patch->run != r) {
            break;
        }
        err = note_column(&content->notes[patch->note], base, &column);
        for (uint32_t row = patch->from; err == GRANARY_OK && column != NULL && row < patch->to; row++) {
            sources[row - run->from] = (struct source){patch->note + 1, patch->at + (row - patch->from)};
        }
    }
    err = err == GRANARY_OK ? sources_add(content, sources, rows, base, pieces) : err;
    free(sources);
    return err;
}

/* chunks: of runs [first, first + chunks.count). */
static granary_err
content_column(const struct content *content, size_t first, const struct chunks *chunks, size_t position,
               granary_frame *frame)
{
    const granary_column *like = &content->table->schema->columns[position].view;
    struct pieces pieces = {.count = 0};
    struct gr_column column;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < chunks->count; i++) {
        const struct run *run = &chunks->run[i];
        const granary_column *base = &chunks->chunk[i].frame->columns[position].view;

        err = content_is_patched(content, first + i)
                  ? pieces_of_patched(content, first + i, base, &pieces)
                  : pieces_add(&pieces, (struct gr_run){base, run->from, run->to - run->from});
    }
    err = err == GRANARY_OK ? gr_column_concat(pieces.run, pieces.count, like->dtype, &column) : err;
    free(pieces.run);
    if (err != GRANARY_OK) {
        return err;
    }
    gr_column_finish(&column);
    return gr_frame_set(frame, position, like->name, &column);
}

/* Runs [first, last), whose chunks are leased together. */
static granary_err
group_frame(const struct content *content, size_t first, size_t last, granary_frame **ret_frame)
{
    const granary_mutable *table = content->table;
    struct chunks chunks = {.table = table, .run = first == last ? NULL : &content->runs.run[first]};
    granary_frame *frame = NULL;
    int64_t rows = 0;
    granary_err err = chunks_get(&chunks, last - first);

    for (size_t i = first; i < last; i++) {
        rows += content->runs.run[i].to - content->runs.run[i].from;
    }
    if (err == GRANARY_OK) {
        frame = gr_frame_create(table->schema->count, rows);
        err = frame == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
        for (size_t i = 0; err == GRANARY_OK && i < table->schema->count; i++) {
            err = content_column(content, first, &chunks, i, frame);
        }
    }
    chunks_release(&chunks);
    return gr_frame_give(frame, err, ret_frame);
}

/* ---- more than can be leased at once ---- */

#define ROW_OF_TEXT  20 /* bytes that a text takes, as a guess */
#define GROUPS_LEAST 16 /* groups that memory has room for: other readers lease theirs */

static int64_t
row_bytes(const granary_frame *schema)
{
    int64_t bytes = 1;

    for (size_t i = 0; i < schema->count; i++) {
        const size_t size = gr_dtype_size(schema->columns[i].view.dtype);

        bytes += size > 0 ? (int64_t)size : ROW_OF_TEXT;
    }
    return bytes;
}

/* The end of the runs from `first` on that make a group: one, or as many as have few enough rows together. */
static size_t
group_end(const struct content *content, size_t first, size_t last, int64_t rows_most)
{
    const struct run *runs = content->runs.run;
    size_t end = first + 1;

    while (end < last && runs[end].at + (runs[end].to - runs[end].from) - runs[first].at <= rows_most) {
        end++;
    }
    return end;
}

/* Groups copied one after the other, and put together. */
static granary_err
groups_frame(const struct content *content, size_t first, size_t last, int64_t rows_most, granary_frame **ret_frame)
{
    granary_frame **frames = calloc(last - first, sizeof *frames);
    size_t count = 0;
    granary_err err = frames == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    for (size_t i = first, end; err == GRANARY_OK && i < last; i = end) {
        end = group_end(content, i, last, rows_most);
        err = group_frame(content, i, end, &frames[count]);
        count += err == GRANARY_OK;
    }
    err = err == GRANARY_OK ? gr_frame_concat((const granary_frame *const *)frames, count, ret_frame) : err;
    for (size_t i = 0; i < count; i++) {
        gr_frame_destroy(frames[i]);
    }
    free(frames);
    return err;
}

granary_err
content_frame(const struct content *content, size_t first, size_t last, granary_frame **ret_frame)
{
    granary_store_stat stat;
    int64_t rows_most;
    granary_err err;

    if (last - first <= 1) {
        return group_frame(content, first, last, ret_frame);
    }
    err = granary_store_stat_get(content->table->client, &stat);
    if (err != GRANARY_OK) {
        return err;
    }
    rows_most = (int64_t)(stat.capacity_bytes / GROUPS_LEAST) / row_bytes(content->table->schema);
    return group_end(content, first, last, rows_most) == last
               ? group_frame(content, first, last, ret_frame)
               : groups_frame(content, first, last, rows_most, ret_frame);
}
