/*
 * Rows and columns of a frame object. Of one in memory neighbouring rows are borrowed (but for bitmaps that begin in
 * the middle of a byte); rows that are not neighbours are copied. Of a spilled one only what holds the rows is read,
 * unless they are all over it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "client/read.h"
#include "data/frame.h"
#include "data/value/bits.h"
#include "graph/operators/nearest.h"

/* Rows of a spilled frame that are so near to each other are read together. */
#define GAP_ROWS 1024
/* More stretches than that and the whole chunk is brought back. */
#define STRETCHES_MAX 256

/* Rows that are selected: neighbours, or positions. */
struct selected {
    int64_t first;
    int64_t count;
    int64_t *positions; /* NULL: neighbours */
};

static granary_err
select_rows(const granary_selection *select, int64_t rows, struct selected *ret_rows)
{
    struct selected selected = {.count = rows};
    int64_t step = 1;
    granary_err err = GRANARY_OK;

    if (select->kind == GRANARY_SELECT_ROWS) {
        err = granary_slice_resolve(select->rows, rows, &selected.first, &step, &selected.count);
    } else if (select->kind == GRANARY_SELECT_INDICES) {
        selected.count = (int64_t)select->index_count;
    }
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "rows");
    }
    if (select->kind != GRANARY_SELECT_INDICES && (step == 1 || selected.count <= 1)) {
        *ret_rows = selected;
        return GRANARY_OK;
    }
    selected.positions = calloc((size_t)selected.count + 1, sizeof *selected.positions);
    if (selected.positions == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%lld rows: out of memory", (long long)selected.count);
    }
    for (int64_t i = 0; i < selected.count; i++) {
        int64_t row = select->kind == GRANARY_SELECT_ROWS ? selected.first + i * step : select->indices[i];
        int64_t at = row < 0 ? row + rows : row;

        if (row < -rows || at >= rows) {
            free(selected.positions);
            return gr_fail(GRANARY_EINVAL, "row %lld: the frame has %lld", (long long)row, (long long)rows);
        }
        selected.positions[i] = at;
    }
    *ret_rows = selected;
    return GRANARY_OK;
}

/* ---- in memory ---- */

static granary_err
no_column(const granary_frame *frame, const char *name)
{
    struct gr_nearest nearest = {.name = name};
    char hint[GR_HINT_MAX];

    for (size_t i = 0; i < frame->count; i++) {
        gr_nearest_offer(&nearest, frame->columns[i].view.name);
    }
    return gr_fail(GRANARY_ENOENT, "no column '%s'%s", name, gr_nearest_hint(&nearest, hint));
}

/* The columns that are wanted, borrowed from base. */
static granary_err
choose_columns(const granary_frame *base, const granary_selection *select, granary_frame **ret_frame)
{
    size_t count = select->columns == NULL ? base->count : select->column_count;
    granary_frame *frame = gr_frame_create(count, base->rows);
    granary_err err = frame == NULL ? gr_fail(GRANARY_ENOMEM, "frame: out of memory") : GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        int at = select->columns == NULL ? (int)i : gr_frame_find(base, select->columns[i]);

        if (at < 0) {
            err = no_column(base, select->columns[i]);
        } else if (select->columns != NULL && gr_frame_find(frame, select->columns[i]) >= 0) {
            err = gr_fail(GRANARY_EINVAL, "column '%s' is selected twice", select->columns[i]);
        } else {
            err = gr_frame_set_borrowed(frame, i, base->columns[at].view.name, &base->columns[at].view);
        }
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

/* Bytes for bitmaps that must be copied, so that they begin with a byte: 64 more each, for readers in words. */
static size_t
bitmap_room(int64_t rows)
{
    return ((size_t)gr_bitmap_bytes(rows) + 127) / 64 * 64;
}

/* A bitmap from bit `first` on; *spare is where a copy goes, and moves on. */
static const uint8_t *
bitmap_from(const uint8_t *bits, int64_t first, int64_t rows, uint8_t **spare)
{
    uint8_t *copy = *spare;

    if (first % 8 == 0) {
        return bits + first / 8;
    }
    bits_copy(copy, 0, bits, first, rows);
    *spare += bitmap_room(rows);
    return copy;
}

/* Make a borrowed column that of neighbouring rows. */
static void
narrow_column(granary_column *column, const struct selected *rows, uint8_t **spare)
{
    column->rows = rows->count;
    if (column->validity != NULL) {
        column->validity = bitmap_from(column->validity, rows->first, rows->count, spare);
        column->null_count = rows->count - bits_count(column->validity, rows->count);
        column->validity = column->null_count == 0 ? NULL : column->validity;
    } else if (column->dtype == GRANARY_NULLTYPE) {
        column->null_count = rows->count;
    }
    if (column->dtype == GRANARY_BOOL) {
        column->values = bitmap_from(column->values, rows->first, rows->count, spare);
    } else if (column->offsets != NULL) {
        column->offsets += rows->first;
    } else if (column->values != NULL) {
        column->values = (const char *)column->values + (size_t)rows->first * gr_value_size(column);
    }
}

/* The frame, whose columns are borrowed, has these neighbouring rows only; *ret_owned holds bitmaps that were copied.
 */
static granary_err
narrow(granary_frame *frame, const struct selected *rows, void **ret_owned)
{
    uint8_t *spare = NULL;

    if (rows->first == 0 && rows->count == frame->rows) {
        return GRANARY_OK;
    }
    if (rows->first % 8 != 0) {
        spare = gr_data_alloc(2 * frame->count * bitmap_room(rows->count));
        if (spare == NULL) {
            return gr_fail(GRANARY_ENOMEM, "frame: out of memory");
        }
    }
    *ret_owned = spare;
    for (size_t i = 0; i < frame->count; i++) {
        narrow_column(&frame->columns[i].view, rows, &spare);
    }
    frame->rows = rows->count;
    return GRANARY_OK;
}

/* Leased: chunk->view. What is borrowed keeps the lease, what is copied does not. */
static granary_err
read_mapped(const struct reading *reading, granary_chunk *chunk)
{
    struct selected rows = {.count = 0};
    granary_frame *chosen = NULL;
    granary_frame *base = NULL;
    granary_err err = frame_open_columns(&chunk->view, reading->select->columns, reading->select->column_count, &base);

    if (err == GRANARY_OK) {
        err = choose_columns(base, reading->select, &chosen);
    }
    if (err == GRANARY_OK) {
        err = select_rows(reading->select, base->rows, &rows);
    }
    if (err == GRANARY_OK && rows.positions == NULL) {
        err = narrow(chosen, &rows, &chunk->owned);
    }
    if (err == GRANARY_OK && rows.positions == NULL) {
        chunk->frame = chosen;
        chunk->base = base;
        chunk->mapped = true;
        return GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = gr_frame_take(chosen, rows.positions, rows.count, &chunk->frame);
    }
    free(rows.positions);
    gr_frame_destroy(chosen);
    gr_frame_destroy(base);
    granary_object_release(reading->client, &chunk->view);
    return err;
}

/* ---- spilled ---- */

static int
by_position(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a;
    int64_t other = *(const int64_t *)b;

    return (one > other) - (one < other);
}

/* Rows that are read together, and where they lie among all that is read. */
struct stretch {
    int64_t from;
    int64_t end;
    int64_t at;
};

/* Fills at most STRETCHES_MAX; returns how many there are, or one more. */
static size_t
find_stretches(const struct selected *rows, struct stretch *stretches)
{
    int64_t *sorted = calloc((size_t)rows->count + 1, sizeof *sorted);
    size_t count = 0;

    if (sorted == NULL) {
        return STRETCHES_MAX + 1;
    }
    memcpy(sorted, rows->positions, (size_t)rows->count * sizeof *sorted);
    qsort(sorted, (size_t)rows->count, sizeof *sorted, by_position);
    for (int64_t i = 0; i < rows->count && count <= STRETCHES_MAX; i++) {
        if (count > 0 && sorted[i] < stretches[count - 1].end + GAP_ROWS) {
            stretches[count - 1].end = sorted[i] + 1;
        } else if (count++ < STRETCHES_MAX) {
            stretches[count - 1] = (struct stretch){.from = sorted[i], .end = sorted[i] + 1};
        }
    }
    free(sorted);
    return count;
}

/* Where a row lies among what the stretches have. */
static int64_t
place_in(const struct stretch *stretches, size_t count, int64_t row)
{
    size_t low = 0;

    for (size_t high = count; high - low > 1;) {
        size_t middle = (low + high) / 2;

        *(stretches[middle].from <= row ? &low : &high) = middle;
    }
    return stretches[low].at + row - stretches[low].from;
}

static granary_err
read_stretches(const struct reading *reading, struct stretch *stretches, size_t count, granary_frame **ret_frame)
{
    granary_frame *parts[STRETCHES_MAX] = {NULL};
    int64_t at = 0;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        stretches[i].at = at;
        at += stretches[i].end - stretches[i].from;
        err = granary_frame_read_rows(reading->client, reading->id, stretches[i].from,
                                      stretches[i].end - stretches[i].from, reading->select->columns,
                                      reading->select->column_count, reading->timeout_ms, &parts[i]);
    }
    if (err == GRANARY_OK) {
        err = gr_frame_concat((const granary_frame *const *)parts, count, ret_frame);
    }
    for (size_t i = 0; i < count; i++) {
        gr_frame_destroy(parts[i]);
    }
    return err;
}

/* Rows here and there. ESTATE, without a message: they are all over the frame. */
static granary_err
read_scattered(const struct reading *reading, const struct selected *rows, granary_chunk *chunk)
{
    struct stretch stretches[STRETCHES_MAX];
    size_t count = find_stretches(rows, stretches);
    granary_frame *read = NULL;
    granary_err err;

    if (count > STRETCHES_MAX) {
        return GRANARY_ESTATE;
    }
    err = read_stretches(reading, stretches, count, &read);
    if (err == GRANARY_OK) {
        for (int64_t i = 0; i < rows->count; i++) {
            rows->positions[i] = place_in(stretches, count, rows->positions[i]);
        }
        err = gr_frame_take(read, rows->positions, rows->count, &chunk->frame);
    }
    gr_frame_destroy(read);
    return err;
}

static granary_err
read_spilled(const struct reading *reading, granary_chunk *chunk)
{
    struct selected rows = {.count = 0};
    int64_t frame_rows = 0;
    granary_err err = frame_object_rows(reading->client, reading->id, reading->timeout_ms, &frame_rows);

    if (err == GRANARY_OK) {
        err = select_rows(reading->select, frame_rows, &rows);
    }
    if (err == GRANARY_OK && rows.positions != NULL && rows.count > 0) {
        err = read_scattered(reading, &rows, chunk);
    } else if (err == GRANARY_OK) {
        err = granary_frame_read_rows(reading->client, reading->id, rows.first, rows.count, reading->select->columns,
                                      reading->select->column_count, reading->timeout_ms, &chunk->frame);
    }
    free(rows.positions);
    return err;
}

granary_err
read_frame(const struct reading *reading, granary_chunk *chunk)
{
    bool whole = reading->select->kind == GRANARY_SELECT_ALL && reading->select->columns == NULL;
    granary_err err;

    if (!reading->in_memory && !whole) {
        err = read_spilled(reading, chunk);
        if (err != GRANARY_ESTATE) {
            return err;
        }
    }
    err = granary_object_get(reading->client, reading->id, reading->timeout_ms, &chunk->view);
    return err == GRANARY_OK ? read_mapped(reading, chunk) : err;
}
