/* parquet_format: chunks become row groups, which parquet_write (kernel/file) puts into a file. */
#include "base/error.h"
#include "kernel/core/frame_call.h"
#include "kernel/parquet/pack.h"

/* Part number `part` of so many of the frame's rows. Parts begin where bytes of bitmaps do. */
static int64_t
part_begin(int64_t rows, int64_t part, int64_t parts)
{
    return part == parts ? rows : rows / parts * part / 64 * 64;
}

static granary_err
format_frame(const granary_frame *frame, const struct gr_chunk_parquet_format *params, struct gr_buf *out)
{
    struct pack_columns columns = {.columns = NULL};
    struct gr_parquet_packer packer = {.own = NULL};
    struct gr_parquet_style style = {.packer = &packer};
    int64_t from = part_begin(frame->rows, params->part, params->parts);
    int64_t to = part_begin(frame->rows, params->part + 1, params->parts);
    granary_err err = pack_open(params->compression, params->level, &packer);

    err = err == GRANARY_OK ? pack_columns_open(frame, params->bloom, &columns) : err;
    if (err == GRANARY_OK) {
        style.bloom = columns.bloom;
        err = gr_parquet_put_groups(columns.columns, frame->count, from, to - from, &style, out);
    }
    pack_columns_close(&columns);
    pack_close(&packer);
    return err;
}

granary_err
kernel_parquet_format(struct gr_kernel_call *call, const struct gr_chunk_parquet_format *params)
{
    const granary_frame *frame = NULL;
    granary_frame *owned;
    struct gr_buf out = {0};
    int64_t rows = 0;
    granary_err err = call_frames_joined(call, &frame, &owned);

    if (err == GRANARY_OK && (params->part < 0 || params->part >= params->parts)) {
        err = gr_fail(GRANARY_EINVAL, "parquet_format: there is no part %lld of %lld", (long long)params->part,
                      (long long)params->parts);
    }
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
