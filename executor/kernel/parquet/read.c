/*
 * parquet_read: rows of row groups of a file that the planner has looked at. A file that has changed since gives an error.
 * With a condition, its columns are read first: where it leaves few rows, the others are read of these alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/file/paths/regular.h"
#include "data/place.h"
#include "kernel/core/frame_call.h"
#include "kernel/core/scratch.h"
#include "kernel/parquet/codec.h"
#include "kernel/parquet/column/column.h"
#include "kernel/parquet/where.h"

struct reading {
    struct gr_frame_late late; /* the first: columns that are read when a join has found its rows */
    const char *path;
    int fd;
    struct gr_parquet *file;
    const struct gr_parquet_leaf *leaves;
    const struct gr_parquet_group *groups;
    size_t first;
    size_t count;
    int64_t from; /* of the first row group */
    int64_t rows;
    const Granary__Attr *names;
    size_t *wanted; /* leaves, by name */
    uint8_t *bytes; /* of a chunk */
    size_t room;
    granary_frame *tested;    /* columns of these rows that were read before; NULL: none */
    struct where_found found; /* the rows that a condition leaves */
    bool few;                 /* ... and they are few: the frame has no others */
};

static granary_err
fail_changed(const char *path)
{
    return gr_fail(GRANARY_EIO, "%s: it is other than when the graph was submitted; submit again", path);
}

/* ---- what is read ---- */

/* Columns stand in the file's order, and are as planned. */
static granary_err
find_columns(struct reading *reading, const Granary__Attr *dtypes)
{
    size_t count = 0;
    const struct gr_parquet_column *columns = gr_parquet_columns(reading->file, &count);
    size_t at = 0;

    reading->wanted = calloc(reading->names->n_strings + 1, sizeof *reading->wanted);
    if (reading->wanted == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%s: out of memory", reading->path);
    }
    for (size_t i = 0; i < count && at < reading->names->n_strings; i++) {
        const struct gr_parquet_leaf *leaf = &reading->leaves[columns[i].leaf];

        if (strcmp(columns[i].name, reading->names->strings[at]) == 0) {
            if (!columns[i].readable || strcmp(granary_dtype_name(gr_parquet_dtype(leaf)), dtypes->strings[at]) != 0) {
                return fail_changed(reading->path);
            }
            reading->wanted[at++] = columns[i].leaf;
        }
    }
    return at == reading->names->n_strings ? GRANARY_OK : fail_changed(reading->path);
}

/* The rows are there. */
static granary_err
find_rows(const struct reading *reading)
{
    size_t count = 0;
    int64_t rows = 0;

    (void)gr_parquet_groups(reading->file, &count);
    if (reading->first > count || reading->count > count - reading->first) {
        return fail_changed(reading->path);
    }
    for (size_t i = 0; i < reading->count; i++) {
        rows += reading->groups[reading->first + i].rows;
    }
    return reading->from > rows || reading->rows > rows - reading->from ||
                   (reading->count > 1 && (reading->from > 0 || reading->rows != rows))
               ? fail_changed(reading->path)
               : GRANARY_OK;
}

static granary_err
open_file(struct reading *reading, const struct gr_chunk_parquet_read *params)
{
    struct stat info;
    size_t count;
    granary_err err = gr_regular_open(params->path, &reading->fd, &info);

    if (err != GRANARY_OK) {
        return err;
    }
    if (info.st_size != params->size ||
        info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec != params->modified) {
        return fail_changed(params->path);
    }
    err = gr_parquet_open(reading->fd, (uint64_t)info.st_size, params->path, &reading->file);
    if (err == GRANARY_OK) {
        reading->leaves = gr_parquet_leaves(reading->file, &count);
        reading->groups = gr_parquet_groups(reading->file, &count);
        err = find_columns(reading, params->dtypes);
    }
    return err == GRANARY_OK ? find_rows(reading) : err;
}

/* ---- chunks ---- */

static granary_err
fetch(struct reading *reading, const struct gr_parquet_chunk *chunk)
{
    size_t size = (size_t)chunk->size;
    granary_err err = codec_check(chunk->codec);

    if (err != GRANARY_OK) {
        return err;
    }
    if (chunk->encrypted || chunk->elsewhere) {
        return gr_fail(GRANARY_EUNSUPPORTED, chunk->encrypted ? "it is encrypted" : "its values are in another file");
    }
    if (size + PAGE_SLACK > reading->room) {
        free(reading->bytes);
        reading->room = size + size / 4 + PAGE_SLACK;
        reading->bytes = malloc(reading->room);
        if (reading->bytes == NULL) {
            reading->room = 0;
            return gr_fail(GRANARY_ENOMEM, "out of memory for %zu bytes", size);
        }
    }
    memset(reading->bytes + size, 0, PAGE_SLACK);
    return gr_pread_all(reading->fd, reading->bytes, size, chunk->at);
}

/* The picks of a row group that begins with that row of those that are read; *at: how many were before. */
static struct picks
picks_within(const struct picks *picks, int64_t row, int64_t rows, int64_t *at, int64_t *scratch)
{
    struct picks within = {.rows = scratch};

    while (*at < picks->count && picks->rows[*at] < row + rows) {
        scratch[within.count++] = picks->rows[(*at)++] - row;
    }
    return within;
}

/* lists: NULL of a column without lists. picks: NULL: all rows */
static granary_err
read_group(struct reading *reading, size_t leaf, size_t group, const struct picks *picks, struct column *column,
           struct list_column *lists)
{
    const struct gr_parquet_group *of = &reading->groups[group];
    const struct gr_parquet_chunk *chunk = &of->chunks[leaf];
    const struct stretch stretch = {.group_rows = of->rows,
                                    .from = reading->from,
                                    .rows = reading->count == 1 ? reading->rows : of->rows,
                                    .picks = picks};
    struct pages pages = {.codec = chunk->codec, .size = (size_t)chunk->size};
    granary_err err = reading->leaves[leaf].form == GR_PARQUET_NULLS ? GRANARY_OK : fetch(reading, chunk);

    pages.bytes = reading->bytes;
    if (err == GRANARY_OK) {
        err = lists != NULL ? list_column_add(lists, &pages, of->rows, stretch.from, stretch.rows)
                            : column_add(column, &pages, &stretch);
    }
    pages_free(&pages);
    return err == GRANARY_OK ? err : gr_fail_in(err, "row group %zu", group);
}

/* Nothing of them lies where the frame will stay: items are put together when all are there. */
static granary_err
read_lists(struct reading *reading, size_t leaf, const struct picks *picks, struct gr_column *ret_column)
{
    struct gr_place *place = place_leave();
    struct gr_column all = {.owned = false};
    struct list_column lists;
    granary_err err = list_column_open(&lists, &reading->leaves[leaf], reading->rows);

    for (size_t g = 0; err == GRANARY_OK && g < reading->count; g++) {
        err = read_group(reading, leaf, reading->first + g, NULL, NULL, &lists);
    }
    err = err == GRANARY_OK ? list_column_finish(&lists, picks != NULL ? &all : ret_column) : err;
    if (err == GRANARY_OK && picks != NULL) {
        err = gr_column_take(&all.view, picks->rows, picks->count, ret_column);
    }
    gr_column_free(&all);
    list_column_close(&lists);
    gr_place_set(place);
    return err;
}

/* picks: NULL: all rows */
static granary_err
read_column(struct reading *reading, size_t leaf, const struct picks *picks, struct gr_column *ret_column)
{
    struct column column;
    int64_t *within = NULL;
    int64_t row = 0;
    int64_t at = 0;
    granary_err err;

    if (reading->leaves[leaf].repeats > 0) {
        return read_lists(reading, leaf, picks, ret_column);
    }
    err = column_open(&column, &reading->leaves[leaf], picks != NULL ? picks->count : reading->rows);
    if (err == GRANARY_OK && picks != NULL && reading->count > 1) {
        within = scratch_alloc(((size_t)picks->count + 1) * sizeof *within);
        err = within == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    for (size_t g = 0; err == GRANARY_OK && g < reading->count; g++) {
        int64_t rows = reading->groups[reading->first + g].rows;
        struct picks some = within != NULL ? picks_within(picks, row, rows, &at, within) : (struct picks){.count = 0};
        const struct picks *wanted = within != NULL ? &some : picks;

        if (wanted == NULL || wanted->count > 0) {
            err = read_group(reading, leaf, reading->first + g, wanted, &column, NULL);
        }
        row += rows;
    }
    err = err == GRANARY_OK ? column_finish(&column, ret_column) : err;
    scratch_free(within);
    column_close(&column);
    return err;
}

/* A column that was read before, or what is picked of it. *ret_took: it was. */
static granary_err
take_tested(const struct reading *reading, const char *name, const struct picks *picks, struct gr_column *ret_column,
            bool *ret_took)
{
    int at = reading->tested == NULL ? -1 : gr_frame_find(reading->tested, name);
    struct gr_column *column = at < 0 ? NULL : &reading->tested->columns[at];

    *ret_took = column != NULL;
    if (column != NULL && picks != NULL) {
        return gr_column_take(&column->view, picks->rows, picks->count, ret_column);
    }
    if (column != NULL) {
        *ret_column = *column;
        *column = (struct gr_column){.view = {.name = column->view.name}};
    }
    return GRANARY_OK;
}

/* Column c of those that are named, which may have been read before. picks: NULL: all rows */
static granary_err
read_named(struct reading *reading, size_t c, const struct picks *picks, struct gr_column *ret_column)
{
    const char *name = reading->names->strings[c];
    bool took;
    granary_err err = take_tested(reading, name, picks, ret_column, &took);

    err = err == GRANARY_OK && !took ? read_column(reading, reading->wanted[c], picks, ret_column) : err;
    return err == GRANARY_OK ? err : gr_fail_in(err, "%s: column '%s'", reading->path, name);
}

/* The columns of these names, which stand in the order of those that are wanted. picks: NULL: all rows */
static granary_err
read_columns(struct reading *reading, const Granary__Attr *names, const struct picks *picks, granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(names->n_strings, picks != NULL ? picks->count : reading->rows);
    granary_err err = GRANARY_OK;
    size_t at = 0;

    for (size_t c = 0; frame != NULL && err == GRANARY_OK && c < reading->names->n_strings; c++) {
        const char *name = reading->names->strings[c];
        struct gr_column column;

        if (at < names->n_strings && strcmp(name, names->strings[at]) == 0) {
            err = read_named(reading, c, picks, &column);
            err = err == GRANARY_OK ? gr_frame_set(frame, at++, name, &column) : err;
        }
    }
    if (err == GRANARY_OK && frame != NULL && at < names->n_strings) {
        err = gr_fail(GRANARY_EINVAL, "parquet_read: '%s' is tested, but not read", names->strings[at]);
    }
    return gr_frame_give(frame, err, ret_frame);
}

/* The frame is to be yielded as it is. */
static void
expect_all(const struct reading *reading)
{
    uint64_t bytes = 0;

    for (size_t c = 0; c < reading->names->n_strings; c++) {
        const granary_column like = {.dtype = reading->leaves[reading->wanted[c]].dtype, .rows = reading->rows};

        bool sized = !gr_dtype_is_text(like.dtype) && reading->leaves[reading->wanted[c]].repeats == 0;

        bytes += sized ? gr_place_need(&like, reading->rows) : 0;
    }
    gr_place_expect(reading->names->n_strings, bytes);
}

/* ---- rows that a condition leaves ---- */

/* Read what is tested. *ret_few: the rows that are left are so few that they had better be read alone; with none, there is
 * nothing more to be read. */
static granary_err
narrow(struct reading *reading, const struct gr_chunk_parquet_read *params, struct where_found *found, bool *ret_few)
{
    granary_frame *tested = NULL;
    granary_err err = read_columns(reading, params->tests, NULL, &tested);

    *ret_few = false;
    if (err != GRANARY_OK) {
        return err;
    }
    reading->tested = tested;
    *ret_few = where_leaves_few(tested, params->where, found);
    if (*ret_few && found->count == 0) {
        reading->rows = 0;
        reading->count = 0;
        *ret_few = false;
        reading->tested = NULL;
        gr_frame_destroy(tested);
    }
    return GRANARY_OK;
}

/* ---- columns that are late ---- */

static granary_err
late_take(struct gr_frame_late *late, const char *name, const int64_t *rows, int64_t count,
          struct gr_column *ret_column)
{
    struct reading *reading = (struct reading *)late;
    bool is_tested = reading->tested != NULL && gr_frame_find(reading->tested, name) >= 0;
    int64_t *found = NULL; /* rows of the file, where the frame has not all of them */
    struct gr_column whole = {.owned = false};
    struct picks picks = {.rows = rows, .count = count};
    size_t c = 0;
    granary_err err;

    while (c < reading->names->n_strings && strcmp(reading->names->strings[c], name) != 0) {
        c++;
    }
    if (c == reading->names->n_strings) {
        return gr_fail(GRANARY_ENOENT, "there is no column '%s'", name);
    }
    if (reading->few) {
        found = scratch_alloc(((size_t)count + 1) * sizeof *found);
        if (found == NULL) {
            return gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        for (int64_t i = 0; i < count; i++) {
            found[i] = reading->found.rows[rows[i]];
        }
        picks.rows = found;
    }
    if (is_tested || count < reading->rows / 2) {
        err = read_named(reading, c, &picks, ret_column);
    } else {
        err = read_named(reading, c, NULL, &whole);
        err = err == GRANARY_OK ? gr_column_take(&whole.view, picks.rows, count, ret_column) : err;
        gr_column_free(&whole);
    }
    scratch_free(found);
    return err;
}

static void
reading_destroy(struct gr_frame_late *late)
{
    struct reading *reading = (struct reading *)late;

    gr_frame_destroy(reading->tested);
    scratch_free(reading->found.rows);
    free(reading->bytes);
    free(reading->wanted);
    gr_parquet_close(reading->file);
    gr_fd_close(&reading->fd);
    free(reading);
}

/* The columns that a join wants first; the others belong to the frame, too. */
static granary_err
read_first(struct reading *reading, const bool *first, const struct picks *picks, granary_frame **ret_frame)
{
    Granary__Attr names = GRANARY__ATTR__INIT;
    granary_err err;

    names.strings = calloc(reading->names->n_strings + 1, sizeof *names.strings);
    if (names.strings == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < reading->names->n_strings; i++) {
        if (first[i]) {
            names.strings[names.n_strings++] = reading->names->strings[i];
        }
    }
    err = read_columns(reading, &names, picks, ret_frame);
    free(names.strings);
    return err;
}

/* ---- the operator ---- */

static granary_err
read_frame(struct reading *reading, const struct gr_chunk_parquet_read *params, const bool *first,
           granary_frame **ret_frame)
{
    granary_err err = GRANARY_OK;

    if (params->where != NULL && params->tests != NULL && reading->rows > 0) {
        err = narrow(reading, params, &reading->found, &reading->few);
    }
    if (err == GRANARY_OK) {
        const struct picks picks = {.rows = reading->found.rows, .count = reading->found.count};

        if (first != NULL) {
            return read_first(reading, first, reading->few ? &picks : NULL, ret_frame);
        }
        if (!reading->few) {
            expect_all(reading);
        }
        err = read_columns(reading, params->columns, reading->few ? &picks : NULL, ret_frame);
    }
    return err;
}

granary_err
kernel_parquet_read(struct gr_kernel_call *call, const struct gr_chunk_parquet_read *params)
{
    struct reading *reading = calloc(1, sizeof *reading);
    granary_frame *frame = NULL;
    granary_err err = GRANARY_OK;

    if (reading == NULL) {
        return gr_fail(GRANARY_ENOMEM, "parquet_read: out of memory");
    }
    *reading = (struct reading){.late = {.take = late_take, .destroy = reading_destroy},
                                .path = params->path,
                                .fd = -1,
                                .names = params->columns,
                                .first = (size_t)params->first,
                                .count = (size_t)params->count,
                                .from = params->from,
                                .rows = params->rows};
    if (params->first < 0 || params->count < 0 || params->from < 0 || params->rows < 0 ||
        params->columns->n_strings != params->dtypes->n_strings) {
        err = gr_fail(GRANARY_EINVAL, "parquet_read: columns and dtypes do not fit, or there is no such row group");
    }
    err = err == GRANARY_OK ? open_file(reading, params) : err;
    err = err == GRANARY_OK ? read_frame(reading, params, call->first, &frame) : err;
    if (err == GRANARY_OK && call->first != NULL) {
        frame->late = &reading->late;
        reading = NULL;
    }
    err = err == GRANARY_OK ? call_yield(call, 0, frame, err) : err;
    if (reading != NULL) {
        reading_destroy(&reading->late);
    }
    return err;
}
