/* folders_format: rows of a chunk are dealt out by their keys, and each part becomes a piece of a file. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "data/file/paths/hive.h"
#include "data/print/print.h"
#include "data/text/packing.h"
#include "kernel/core/dealt.h"
#include "kernel/core/scratch.h"
#include "kernel/folders/parcel.h"
#include "kernel/keys/keys.h"
#include "kernel/parquet/pack.h"
#include "parquet/write/write.h"

/* ---- a piece ---- */

static granary_err
print_text(const granary_frame *frame, const struct gr_chunk_folders_format *params, bool header, struct gr_buf *out)
{
    const struct gr_csv_style style = {
        .delimiter = params->delimiter[0], .null_value = params->null_value, .header = header};
    enum gr_packing packing;
    struct gr_buf text = {0};
    granary_err err;

    if (!gr_packing_parse(params->packing, &packing)) {
        return gr_fail(GRANARY_EINVAL, "folders_format: no packing '%s'", params->packing);
    }
    if (strcmp(params->format, "csv") == 0) {
        gr_print_csv_style(frame, &style, packing == GR_PACKING_NONE ? out : &text);
    } else {
        (void)gr_print_json_lines(frame, packing == GR_PACKING_NONE ? out : &text);
    }
    err = packing == GR_PACKING_NONE || text.size == 0 ? GRANARY_OK : gr_pack_text(packing, text.bytes, text.size, out);
    err = err == GRANARY_OK && !(gr_buf_ok(&text) && gr_buf_ok(out)) ? gr_no_memory("folders_format") : err;
    gr_buf_free(&text);
    return err;
}

static granary_err
print_parquet(const granary_frame *frame, const struct gr_chunk_folders_format *params, struct gr_buf *out)
{
    struct pack_columns columns = {.columns = NULL};
    struct gr_parquet_packer packer = {.own = NULL};
    /* Files of a folder have the same types, whatever is in each. */
    struct gr_parquet_style style = {.packer = &packer, .all_wide = true};
    granary_err err = pack_open(params->compression, params->level, &packer);

    err = err == GRANARY_OK ? pack_columns_open(frame, params->bloom, &columns) : err;
    if (err == GRANARY_OK) {
        style.bloom = columns.bloom;
        err = gr_parquet_put_groups(columns.columns, frame->count, 0, frame->rows, &style, out);
    }
    pack_columns_close(&columns);
    pack_close(&packer);
    return err;
}

/* A whole file; of several, one is made when it is written. */
static granary_err
print_arrow(const granary_frame *frame, struct gr_buf *out)
{
    granary_frame *plain = NULL;
    uint64_t size = 0;
    uint64_t directory;
    void *bytes;
    granary_err err = gr_frame_decode(frame, &plain);

    err = err == GRANARY_OK ? gr_arrow_measure(plain, &size, &directory) : err;
    if (err == GRANARY_OK) {
        bytes = gr_buf_grow(out, (size_t)size);
        err = bytes == NULL ? gr_no_memory("folders_format") : GRANARY_OK;
        if (err == GRANARY_OK) {
            gr_arrow_write(plain, bytes, NULL);
        }
    }
    gr_frame_destroy(plain);
    return err;
}

static granary_err
print_piece(const granary_frame *frame, const struct gr_chunk_folders_format *params, struct gr_buf *out)
{
    return strcmp(params->format, "parquet") == 0 ? print_parquet(frame, params, out)
           : strcmp(params->format, "arrow") == 0 ? print_arrow(frame, out)
                                                  : print_text(frame, params, false, out);
}

/* With which each file of text in columns begins: the names, of no row. */
static granary_err
print_begin(const granary_frame *frame, const struct gr_chunk_folders_format *params, struct gr_buf *out)
{
    granary_frame *none = NULL;
    granary_err err = GRANARY_OK;

    if (params->header && strcmp(params->format, "csv") == 0) {
        err = gr_frame_slice(frame, 0, 0, &none);
        err = err == GRANARY_OK ? print_text(none, params, true, out) : err;
        gr_frame_destroy(none);
    }
    return err;
}

/* ---- parts ---- */

struct dealing {
    const granary_frame *frame;
    const granary_column **keys;
    size_t key_count;
    granary_frame *rest; /* the other columns, borrowed */
    uint16_t *part_of;   /* by row */
    int64_t *firsts;     /* by part: its first row */
    int64_t parts;
    int64_t *ends;
    int64_t *indices;
};

static void
dealing_fini(struct dealing *dealing)
{
    scratch_free(dealing->indices);
    free(dealing->ends);
    free(dealing->firsts);
    free(dealing->part_of);
    gr_frame_destroy(dealing->rest);
    free(dealing->keys);
}

/* Rows of one number are a part; parts are counted as they appear. */
static granary_err
count_parts(struct dealing *dealing, const uint32_t *ids, uint32_t room)
{
    uint32_t *numbers = calloc((size_t)room + 1, sizeof *numbers); /* of parts, from 1 */
    granary_err err = numbers == NULL ? gr_no_memory("folders_format") : GRANARY_OK;

    for (int64_t row = 0; row < dealing->frame->rows && err == GRANARY_OK; row++) {
        uint32_t *number = &numbers[ids[row]];

        if (*number == 0 && dealing->parts == DEALT_PARTS_MAX) {
            err = gr_fail(GRANARY_EINVAL,
                          "partition_by: a chunk has rows for more than %d files: take columns of fewer values",
                          DEALT_PARTS_MAX);
        } else if (*number == 0) {
            dealing->firsts[dealing->parts] = row;
            *number = (uint32_t)++dealing->parts;
        }
        dealing->part_of[row] = (uint16_t)(*number - 1);
    }
    free(numbers);
    return err;
}

static granary_err
number_rows(struct dealing *dealing, const Granary__Attr *names)
{
    const struct rows_spec spec = {.wanted = (const char *const *)names->strings, .wanted_count = names->n_strings};
    const int64_t count = dealing->frame->rows;
    uint32_t *ids = malloc(((size_t)count + ROWS_BLOCK) * sizeof *ids);
    struct rows_block block = {.count = 1};
    struct group_keys *keys = NULL;
    struct rows *rows = NULL;
    granary_err err = ids == NULL ? gr_no_memory("folders_format") : rows_open(dealing->frame, &spec, &rows);

    err = err == GRANARY_OK ? group_keys_create(&rows, 1, names->n_strings, count, true, &keys) : err;
    while (err == GRANARY_OK && (err = rows_next(rows, &block)) == GRANARY_OK && block.count > 0) {
        err = group_keys_find(keys, 0, block.count, ids + block.from);
    }
    err = err == GRANARY_OK ? count_parts(dealing, ids, group_keys_room(keys)) : err;
    group_keys_destroy(keys);
    rows_close(rows);
    free(ids);
    return err;
}

/* The columns that files have. */
static granary_err
leave_keys(struct dealing *dealing)
{
    const granary_frame *frame = dealing->frame;
    size_t at = 0;
    granary_err err = GRANARY_OK;

    dealing->rest = gr_frame_create(frame->count - dealing->key_count, frame->rows);
    if (dealing->rest == NULL) {
        return gr_no_memory("folders_format");
    }
    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        const granary_column *column = &frame->columns[c].view;
        bool is_key = false;

        for (size_t k = 0; k < dealing->key_count; k++) {
            is_key = is_key || dealing->keys[k] == column;
        }
        if (!is_key) {
            err = gr_frame_set_borrowed(dealing->rest, at++, column->name, column);
        }
    }
    return err;
}

static granary_err
deal(struct dealing *dealing, const Granary__Attr *names)
{
    size_t rows = (size_t)dealing->frame->rows;
    granary_err err = frame_columns(dealing->frame, names->strings, names->n_strings, &dealing->keys);

    dealing->key_count = names->n_strings;
    if (err == GRANARY_OK && dealing->key_count >= dealing->frame->count) {
        err = gr_fail(GRANARY_EINVAL, "folders_format: no column is left for the files");
    }
    if (err == GRANARY_OK) {
        dealing->part_of = malloc((rows + 1) * sizeof *dealing->part_of);
        dealing->firsts = malloc((DEALT_PARTS_MAX + 1) * sizeof *dealing->firsts);
        dealing->ends = malloc((DEALT_PARTS_MAX + 2) * sizeof *dealing->ends);
        err = dealing->part_of == NULL || dealing->firsts == NULL || dealing->ends == NULL
                  ? gr_no_memory("folders_format")
                  : number_rows(dealing, names);
    }
    err = err == GRANARY_OK ? leave_keys(dealing) : err;
    return err == GRANARY_OK && dealing->parts > 0
               ? dealt_order(dealing->part_of, dealing->frame->rows, dealing->parts, dealing->ends, &dealing->indices)
               : err;
}

/* ---- folders ---- */

static bool
is_zero(const granary_column *column, int64_t row)
{
    return (column->dtype == GRANARY_FLOAT64 && ((const double *)column->values)[row] == 0) ||
           (column->dtype == GRANARY_FLOAT32 && ((const float *)column->values)[row] == 0);
}

/* "KEY=VALUE": rows that are alike have one text. */
static granary_err
put_folder(const granary_column *column, int64_t row, struct gr_buf *out)
{
    struct gr_buf value = {0};
    const char *text = NULL;
    size_t size = 0;
    granary_err err;

    if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row)) {
        return gr_hive_put(column->name, NULL, 0, out);
    }
    if (column->dtype == GRANARY_STRING) {
        text = column->dictionary == NULL
                   ? gr_text_at(column, row, &size)
                   : gr_text_at(column->dictionary, ((const int32_t *)column->values)[row], &size);
    } else if (is_zero(column, row)) { /* whatever its sign is */
        text = "0.0";
        size = 3;
    } else {
        gr_value_format(column, row, &value);
        text = value.bytes;
        size = value.size;
    }
    err = gr_buf_ok(&value) ? gr_hive_put(column->name, text == NULL ? "" : text, size, out)
                            : gr_no_memory("folders_format");
    gr_buf_free(&value);
    return err;
}

static granary_err
add_part(const struct dealing *dealing, int64_t part, const struct gr_chunk_folders_format *params, struct gr_buf *out)
{
    const int64_t from = part == 0 ? 0 : dealing->ends[part];
    const int64_t to = dealing->ends[part + 1];
    granary_frame *rows = NULL;
    struct gr_buf folder = {0};
    struct gr_buf piece = {0};
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < dealing->key_count && err == GRANARY_OK; k++) {
        gr_buf_add(&folder, "/", k > 0);
        err = put_folder(dealing->keys[k], dealing->firsts[part], &folder);
    }
    gr_buf_add(&folder, "", 1);
    err = err == GRANARY_OK ? gr_frame_take(dealing->rest, dealing->indices + from, to - from, &rows) : err;
    err = err == GRANARY_OK ? print_piece(rows, params, &piece) : err;
    if (err == GRANARY_OK && gr_buf_ok(&folder)) {
        parcel_add(out, folder.bytes, piece.bytes, piece.size, to - from);
    }
    err = err == GRANARY_OK && !(gr_buf_ok(&folder) && gr_buf_ok(out)) ? gr_no_memory("folders_format") : err;
    gr_frame_destroy(rows);
    gr_buf_free(&folder);
    gr_buf_free(&piece);
    return err;
}

static granary_err
format_frame(const granary_frame *frame, const struct gr_chunk_folders_format *params, struct gr_buf *out)
{
    struct dealing dealing = {.frame = frame};
    struct gr_buf begin = {0};
    granary_err err = deal(&dealing, params->keys);

    err = err == GRANARY_OK ? print_begin(dealing.rest, params, &begin) : err;
    if (err == GRANARY_OK) {
        parcel_begin(out, begin.bytes, begin.size);
    }
    for (int64_t part = 0; part < dealing.parts && err == GRANARY_OK; part++) {
        err = add_part(&dealing, part, params, out);
    }
    if (err == GRANARY_OK) {
        parcel_end(out, (uint32_t)dealing.parts);
    }
    gr_buf_free(&begin);
    dealing_fini(&dealing);
    return err;
}

granary_err
kernel_folders_format(struct gr_kernel_call *call, const struct gr_chunk_folders_format *params)
{
    const granary_frame *frame = NULL;
    granary_frame *owned;
    struct gr_buf out = {0};
    int64_t rows = 0;
    granary_err err = call_frames_joined(call, &frame, &owned);

    if (err == GRANARY_OK) {
        rows = frame->rows;
        err = format_frame(frame, params, &out);
    }
    gr_frame_destroy(owned);
    if (err != GRANARY_OK) {
        gr_buf_free(&out);
        return err;
    }
    return call_yield_text(call, 0, &out, rows);
}
