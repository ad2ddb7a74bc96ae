/*
 * A part of a CSV file: the records that begin in some of its bytes. Whether a byte is within quotes is known only to
 * those who have read all before it. But from nearly any place on, records begin at the same places soon, whether it is
 * or not: csv_seek finds the first such place behind each border. That follows from the bytes alone, so two parts agree
 * on the border between them whoever reads them. Where it does not show, csv_seek believes what is likely. So each part
 * sees whether it ends between records, as its neighbour believes, and else fails.
 *
 * Names and the number of fields are told by the first records. Dtypes follow from all values: unless the user gives
 * all of them, the others' bytes are looked at, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "tile/file/csv.h"

#define HEAD_BYTES ((int64_t)64 << 10)
#define HEAD_MORE  8 /* so many times as much is looked at when no record ends there */

granary_err
csv_find_text(struct gr_file *file, int fd)
{
    struct csv *csv = file->own;
    size_t size = file->file_bytes < HEAD_BYTES ? (size_t)file->file_bytes : (size_t)HEAD_BYTES;
    char *bytes = malloc(size + 1);
    size_t at = 0;
    granary_err err = bytes == NULL ? tile_no_memory() : gr_pread_all(fd, bytes, size, 0);

    if (err == GRANARY_OK) {
        at = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        while (at < size && (bytes[at] == '\n' || bytes[at] == '\r')) {
            at++;
        }
        csv->text_from = (int64_t)at;
        csv->records.is_whole = csv->records.is_whole || at == size; /* nothing but empty lines: not worth a search */
    } else if (bytes != NULL) {
        err = gr_fail_in(err, "%s", file->path);
    }
    free(bytes);
    return err;
}

granary_err
csv_misplaced(const struct gr_file *file, int64_t byte)
{
    return gr_fail(GRANARY_EINVAL,
                   "node '%s': %s: byte %lld, where parts meet, is within quotes, although it does not look so: quotes "
                   "before it do not end, or have megabytes between them. Read the file in another number of parts, or "
                   "whole",
                   file->node->name, file->name, (long long)byte);
}

/* The jobs for what is not told yet. */
static granary_err
ask(struct gr_file *file)
{
    struct csv *csv = file->own;

    csv->stage = CSV_SEEK;
    file->stage = "being searched for its part";
    file->jobs = 0;
    if (csv->head == NULL) {
        csv->seek_jobs[file->jobs++] = CSV_BORDERS;
    }
    for (int border = 0; border < CSV_BORDERS; border++) {
        if (csv->borders[border] < 0) {
            csv->seek_jobs[file->jobs++] = border;
        }
    }
    file->waiting = file->jobs;
    file->asks = true;
    return GRANARY_OK;
}

granary_err
csv_enter_seek(struct gr_file *file)
{
    const int64_t bounds[CSV_BORDERS] = {file->from, file->to};
    struct csv *csv = file->own;

    csv->head_bytes = file->file_bytes < HEAD_BYTES ? file->file_bytes : HEAD_BYTES;
    for (int border = 0; border < CSV_BORDERS; border++) {
        csv->borders[border] = file->from == file->to || bounds[border] <= csv->text_from ? 0
                               : bounds[border] >= file->file_bytes                       ? file->file_bytes
                                                                                          : -1;
    }
    return ask(file);
}

granary_err
csv_add_blocks(struct gr_file *file, int64_t from, int64_t to, bool begins)
{
    struct csv *csv = file->own;
    size_t more = (size_t)((to - from + file->block_bytes - 1) / file->block_bytes);
    struct gr_csv_block *blocks =
        to > from ? reallocarray(csv->blocks, csv->block_count + more, sizeof *blocks) : csv->blocks;

    if (to <= from) {
        return GRANARY_OK;
    }
    if (blocks == NULL) {
        return tile_no_memory();
    }
    csv->blocks = blocks;
    for (int64_t at = from; at < to; at += file->block_bytes) {
        blocks[csv->block_count++] = (struct gr_csv_block){
            .offset = at,
            .size = to - at < file->block_bytes ? to - at : file->block_bytes,
            .begins = begins && at == from,
        };
    }
    return GRANARY_OK;
}

/* ---- answers ---- */

/* Whether the user gives the dtypes of all columns. */
static bool
knows_dtypes(const struct csv *csv)
{
    const Granary__CsvTypes *types = csv->head->types;
    uint64_t columns = types->n_names > 0 ? types->n_names : types->fields;

    return columns > 0 && csv->known_count >= columns && csv->known[columns - 1] == (int64_t)columns - 1;
}

static granary_err
cut(struct gr_file *file)
{
    struct csv *csv = file->own;
    int64_t begin = csv->borders[0];
    int64_t end = csv->borders[1];
    granary_err err;

    if (end < begin) {
        return csv_misplaced(file, end);
    }
    csv->reads_part = knows_dtypes(csv);
    if (csv->reads_part) {
        return csv_add_blocks(file, begin, end, true);
    }
    err = csv_add_blocks(file, 0, begin, false);
    err = err == GRANARY_OK ? csv_add_blocks(file, begin, end, begin > 0) : err;
    return err == GRANARY_OK ? csv_add_blocks(file, end, file->file_bytes, end > 0) : err;
}

static granary_err
take_seek(const ProtobufCBinaryData *answer, int64_t file_bytes, int64_t *ret_at)
{
    Granary__CsvSeek *seek;
    granary_err err = GRANARY_OK;

    errno = 0;
    seek = granary__csv_seek__unpack(NULL, answer->len, answer->data);
    if (seek == NULL) {
        err = records_unreadable("csv_seek");
    } else if (seek->at < 0 || seek->at > file_bytes) {
        err = gr_fail(GRANARY_EPROTO, "csv_seek: an answer that is impossible for %lld bytes", (long long)file_bytes);
    } else {
        *ret_at = seek->at;
    }
    granary__csv_seek__free_unpacked(seek, NULL);
    return err;
}

granary_err
csv_feed_seek(struct gr_file *file, size_t job, const ProtobufCBinaryData *answer, bool *ret_done)
{
    struct csv *csv = file->own;
    int border = csv->seek_jobs[job];
    granary_err err;

    if (border == CSV_BORDERS ? csv->head != NULL : csv->borders[border] >= 0) {
        return GRANARY_OK;
    }
    err = border == CSV_BORDERS ? csv_take_split(answer, csv->head_bytes, &csv->head)
                                : take_seek(answer, file->file_bytes, &csv->borders[border]);
    if (err != GRANARY_OK || --file->waiting > 0) {
        return err;
    }
    if (csv->head->types == NULL && csv->head_bytes < file->file_bytes) { /* its first record ends further on */
        granary__csv_split__free_unpacked(csv->head, NULL);
        csv->head = NULL;
        csv->head_bytes =
            csv->head_bytes < file->file_bytes / HEAD_MORE ? csv->head_bytes * HEAD_MORE : file->file_bytes;
        return ask(file);
    }
    if (csv->head->types == NULL) {
        return gr_fail(GRANARY_EPROTO, "csv_split: an answer without types");
    }
    *ret_done = true;
    return cut(file);
}

granary_err
csv_choose_ranges(struct gr_file *file)
{
    struct csv *csv = file->own;
    struct records *records = &csv->records;
    bool has_head = csv->reads_part && (csv->block_count == 0 || csv->borders[0] > 0); /* as a range of its own */
    size_t r = 0;

    if (has_head) {
        struct gr_csv_range *ranges = calloc(records->range_count + 1, sizeof *ranges);

        if (ranges == NULL) {
            return tile_no_memory();
        }
        if (records->range_count > 0) {
            memcpy(ranges + 1, records->ranges, records->range_count * sizeof *ranges);
        }
        ranges[0] = (struct gr_csv_range){.offset = 0, .size = csv->head->types_size, .line = 1};
        free(records->ranges);
        records->ranges = ranges;
        records->range_count++;
        records->lines_from = csv->borders[0];
    }
    records->types = calloc(records->range_count, sizeof *records->types);
    if (records->types == NULL) {
        return tile_no_memory();
    }
    if (has_head) {
        records->types[r++] = csv->head->types;
        csv->head->types = NULL;
    }
    while (r < records->range_count && records->ranges[r].offset < csv->borders[0]) {
        r++;
    }
    records->first = r;
    while (r < records->range_count && records->ranges[r].offset < csv->borders[1]) {
        r++;
    }
    records->end = r;
    return GRANARY_OK;
}
