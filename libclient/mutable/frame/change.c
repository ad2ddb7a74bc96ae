/* Rows deleted, and written over, by their numbers: as notes, of those rows that are there. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "base/sized.h"
#include "data/arrow/arrow.h"
#include "data/caller.h"
#include "mutable/frame/runs.h"
#include "mutable/read.h"
#include "mutable/write.h"

/* ---- which rows ---- */

/* A number that the caller named, and where. */
struct named {
    uint64_t number;
    int64_t at;
};

static int
by_named(const void *left, const void *right)
{
    const struct named *a = left, *b = right;

    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Numbers in any order as ranges; and for each of them, ascending, where the caller named it last (NULL: not wanted). */
static granary_err
list_settle(const granary_rows *rows, struct ranges *ranges, int64_t *places, int64_t *ret_count)
{
    struct named *named = calloc(rows->count + 1, sizeof *named);
    granary_err err = named == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    int64_t count = 0;

    for (size_t i = 0; err == GRANARY_OK && i < rows->count; i++) {
        named[i] = (struct named){(uint64_t)rows->numbers[i], (int64_t)i};
        if (rows->numbers[i] < 0) {
            err = gr_fail(GRANARY_EINVAL, "row %lld: numbers of rows are not negative", (long long)rows->numbers[i]);
        }
    }
    if (err == GRANARY_OK) {
        qsort(named, rows->count, sizeof *named, by_named);
    }
    for (size_t i = 0; err == GRANARY_OK && i < rows->count; i++) {
        if (i + 1 < rows->count && named[i + 1].number == named[i].number) {
            continue;
        }
        if (places != NULL) {
            places[count] = named[i].at;
        }
        count++;
        err = ranges_add(ranges, (struct gr_note_range){named[i].number, named[i].number + 1});
    }
    free(named);
    *ret_count = count;
    return err;
}

static granary_err
range_check(const granary_rows *rows)
{
    return rows->from >= 0 && rows->to >= rows->from
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "there are no rows %lld to %lld", (long long)rows->from, (long long)rows->to);
}

/* The rows that were named, as ranges. places, ret_count: of a list, as above. Errors: EINVAL · ENOMEM */
static granary_err
rows_ranges(const granary_rows *rows, struct ranges *ranges, int64_t *places, int64_t *ret_count)
{
    granary_err err;

    if (rows->numbers != NULL) {
        return list_settle(rows, ranges, places, ret_count);
    }
    err = range_check(rows);
    return err != GRANARY_OK || rows->from == rows->to
               ? err
               : ranges_add(ranges, (struct gr_note_range){(uint64_t)rows->from, (uint64_t)rows->to});
}

/* Those of ascending ranges that runs have. Errors: ENOMEM */
static granary_err
ranges_of_runs(const struct runs *runs, const struct ranges *ranges, struct ranges *ret_there)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < ranges->count; i++) {
        const struct gr_note_range range = ranges->range[i];

        for (size_t r = runs_find(runs, range.from); err == GRANARY_OK && r < runs->count; r++) {
            const struct run *run = &runs->run[r];
            const uint64_t begin = run_number(run, run->from), end = run_number(run, run->to);

            if (begin >= range.to) {
                break;
            }
            err = ranges_add(ret_there, (struct gr_note_range){range.from > begin ? range.from : begin,
                                                               range.to < end ? range.to : end});
        }
    }
    return err;
}

/* The rows among ranges that are there now, whatever their times. */
static granary_err
ranges_there(granary_mutable *table, const struct ranges *ranges, struct ranges *ret_there)
{
    struct runs runs = {.count = 0};
    granary_err err = table_look(table);

    err = err == GRANARY_OK ? runs_collect(table, INT64_MIN, INT64_MAX, &runs) : err;
    err = err == GRANARY_OK ? ranges_of_runs(&runs, ranges, ret_there) : err;
    runs_free(&runs);
    return err;
}

static uint64_t
ranges_bytes(const struct ranges *ranges)
{
    return note_pad(ranges->count * sizeof *ranges->range);
}

static void
note_put_ranges(struct gr_mutable_note *note, const struct ranges *ranges)
{
    note->count = ranges->count;
    memcpy(note + 1, ranges->range, ranges->count * sizeof *ranges->range);
}

/* ---- deletes ---- */

granary_err
granary_mutable_delete_rows_sized(granary_mutable *table, const granary_rows *rows, const granary_write_options *theirs,
                                  int64_t *ret_count, int64_t *ret_time, size_t options_size)
{
    struct ranges named = {.count = 0}, there = {.count = 0};
    granary_write_options options;
    struct gr_mutable_note *note;
    struct write write;
    int64_t count;
    granary_err err = gr_sized_take(&options, sizeof options, theirs, options_size);

    if (err != GRANARY_OK) {
        return err;
    }
    err = write_begin(&write, table, &options);
    err = err == GRANARY_OK ? table_check_frame(table) : err;
    err = err == GRANARY_OK ? rows_ranges(rows, &named, NULL, &count) : err;
    err = err == GRANARY_OK ? ranges_there(table, &named, &there) : err;
    if (err == GRANARY_OK && there.count > 0) {
        err = write_note(&write, GR_NOTE_DELETE, sizeof *note + ranges_bytes(&there), &note);
        if (err == GRANARY_OK) {
            note_put_ranges(note, &there);
        }
    }
    if (err == GRANARY_OK && ret_count != NULL) {
        *ret_count = (int64_t)ranges_numbers(&there);
    }
    free(named.range);
    free(there.range);
    return write_end(&write, err, ret_time);
}

/* ---- writes ---- */

/* Each column is one of the table's. */
static granary_err
columns_check(const granary_mutable *table, const granary_frame *frame)
{
    if (frame->count == 0) {
        return gr_fail(GRANARY_EINVAL, "no columns are written");
    }
    for (size_t i = 0; i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        const int position = gr_frame_find(table->schema, column->name);

        if (position < 0) {
            return gr_fail(GRANARY_ENOENT, "there is no column '%s'", column->name);
        }
        if (table->schema->columns[position].view.dtype != column->dtype) {
            return gr_fail(GRANARY_ETYPE, "column '%s' is of %s, not of %s", column->name,
                           granary_dtype_name(table->schema->columns[position].view.dtype),
                           granary_dtype_name(column->dtype));
        }
    }
    return GRANARY_OK;
}

/* Values of rows in the order of their numbers. */
static granary_err
values_settle(const granary_rows *rows, const granary_column *columns, size_t count, struct ranges *ranges,
              granary_frame **ret_frame)
{
    const bool is_list = rows->numbers != NULL;
    int64_t *places = is_list ? calloc(rows->count + 1, sizeof *places) : NULL;
    granary_frame *frame = NULL, *sorted = NULL;
    int64_t settled = 0;
    granary_err err = is_list && places == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory")
                                                : rows_ranges(rows, ranges, places, &settled);

    if (err == GRANARY_OK) {
        err = gr_caller_frame(columns, count, is_list ? (int64_t)rows->count : rows->to - rows->from, &frame);
    }
    if (err == GRANARY_OK && is_list) {
        err = gr_frame_take(frame, places, settled, &sorted);
        gr_frame_destroy(frame);
        frame = sorted;
    }
    free(places);
    return gr_frame_give(frame, err, ret_frame);
}

/* All of the rows must be there. */
static granary_err
check_there(granary_mutable *table, const struct ranges *ranges)
{
    struct ranges there = {.count = 0};
    granary_err err = ranges_there(table, ranges, &there);

    for (size_t i = 0, at = 0; err == GRANARY_OK && i < ranges->count; i++) {
        const struct gr_note_range range = ranges->range[i];
        const bool begins = at < there.count && there.range[at].from <= range.from;

        if (!begins || there.range[at].to < range.to) {
            err = gr_fail(
                GRANARY_ENOENT, "there is no row %llu",
                (unsigned long long)(begins && there.range[at].to > range.from ? there.range[at].to : range.from));
        }
        at += begins && there.range[at].to == range.to;
    }
    free(there.range);
    return err;
}

static granary_err
put_values(struct write *write, const struct ranges *ranges, const granary_frame *frame)
{
    struct gr_mutable_note *note;
    uint64_t data_size, meta_size;
    granary_err err = gr_arrow_measure(frame, &data_size, &meta_size);

    if (err == GRANARY_OK) {
        err = write_note(write, GR_NOTE_WRITE,
                         sizeof *note + ranges_bytes(ranges) + note_pad(data_size) + note_pad(meta_size), &note);
    }
    if (err == GRANARY_OK) {
        char *data = (char *)(note + 1) + ranges_bytes(ranges);

        note_put_ranges(note, ranges);
        note->data_size = data_size;
        note->meta_size = meta_size;
        gr_arrow_write_passing(frame, data, data + note_pad(data_size));
    }
    return err;
}

granary_err
granary_mutable_write_rows_sized(granary_mutable *table, const granary_rows *rows, const granary_column *columns,
                                 size_t count, const granary_write_options *theirs, int64_t *ret_time,
                                 size_t options_size)
{
    struct ranges ranges = {.count = 0};
    granary_write_options options;
    granary_frame *frame = NULL;
    struct write write;
    granary_err err = gr_sized_take(&options, sizeof options, theirs, options_size);

    if (err != GRANARY_OK) {
        return err;
    }
    err = write_begin(&write, table, &options);
    err = err == GRANARY_OK ? table_check_frame(table) : err;
    err = err == GRANARY_OK ? values_settle(rows, columns, count, &ranges, &frame) : err;
    err = err == GRANARY_OK ? columns_check(table, frame) : err;
    err = err == GRANARY_OK ? check_there(table, &ranges) : err;
    err = err == GRANARY_OK && ranges.count > 0 ? put_values(&write, &ranges, frame) : err;
    gr_frame_destroy(frame);
    free(ranges.range);
    return write_end(&write, err, ret_time);
}
