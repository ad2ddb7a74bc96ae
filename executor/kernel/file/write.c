/* csv_format, file_write, arrow_write, parquet_write, npy_write: a file is written under another name beside its own, which it takes
 * when it is complete. */
#include <stdlib.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "data/print/print.h"
#include "kernel/core/frame_call.h"
#include "kernel/file/target.h"
#include "kernel/parquet/pack.h"
#include "kernel/parquet/widen.h"
#include "parquet/write/write.h"

/* It is complete, or (err) it goes. Returns err, or what went wrong now. */
static granary_err
target_yield(struct target *target, struct gr_kernel_call *call, granary_err err)
{
    err = target_close(target, err);
    return err != GRANARY_OK
               ? err
               : call_yield_row(call, 0, "path", target->path,
                                &(struct call_number){.name = "bytes", .value = (int64_t)target->bytes}, 1);
}

/* ---- CSV ---- */

granary_err
kernel_csv_format(struct gr_kernel_call *call, const struct gr_chunk_csv_format *params)
{
    struct gr_csv_style style = {
        .delimiter = params->delimiter[0],
        .null_value = params->null_value,
        .header = params->header,
    };
    const granary_frame *frame;
    struct gr_buf text = {0};
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    gr_print_csv_style(frame, &style, &text);
    return call_yield_packed(call, 0, &text, frame->rows, params->packing);
}

granary_err
kernel_file_write(struct gr_kernel_call *call, const struct gr_chunk_file_write *params)
{
    struct target target;
    granary_err err = target_open(params->path, &target);

    for (size_t i = 0; err == GRANARY_OK && i < call->input_count; i++) {
        err = call->inputs[i].kind != GR_VALUE_BYTES
                  ? gr_fail(GRANARY_ETYPE, "file_write: input %zu is no bytes", i)
                  : target_write(&target, call->inputs[i].bytes, call->inputs[i].bytes_size);
    }
    return target_yield(&target, call, err);
}

/* ---- Arrow ---- */

static granary_err
write_to(void *target, const void *bytes, size_t size)
{
    return target_write(target, bytes, size);
}

granary_err
kernel_arrow_write(struct gr_kernel_call *call, const struct gr_chunk_arrow_write *params)
{
    struct gr_arrow_stream *stream = NULL;
    const granary_frame **frames;
    struct target target;
    granary_err err = call_frames_encoded(call, &frames);

    if (err != GRANARY_OK) {
        return err;
    }
    err = target_open(params->path, &target);
    if (err == GRANARY_OK) {
        err = gr_arrow_stream_create(write_to, &target, &stream);
    }
    for (size_t i = 0; err == GRANARY_OK && i < call->input_count; i++) {
        granary_frame *plain;

        /* Not gr_frame_plain(): it would keep all of them. */
        err = gr_frame_decode(frames[i], &plain);
        if (err == GRANARY_OK) {
            err = gr_arrow_stream_add(stream, plain);
            gr_frame_destroy(plain);
        }
    }
    err = err == GRANARY_OK ? gr_arrow_stream_finish(stream) : err;
    gr_arrow_stream_destroy(stream);
    free(frames);
    return target_yield(&target, call, err);
}

/* ---- Parquet ---- */

/* Row groups as they are, or made anew where others have wider decimals. */
static granary_err
add_groups(struct gr_parquet_writer *writer, const struct gr_value *input, const struct gr_chunk_parquet_write *params)
{
    struct gr_parquet_packer packer = {.own = NULL};
    struct gr_parquet_style style = {.packer = &packer};
    struct gr_buf wide = {0};
    bool fits = true;
    granary_err err = gr_parquet_writer_fits(writer, input->bytes, input->bytes_size, &fits, &style.wide);

    if (err == GRANARY_OK && fits) {
        return gr_parquet_writer_add(writer, input->bytes, input->bytes_size);
    }
    err = err == GRANARY_OK ? pack_open(params->compression, params->level, &packer) : err;
    err = err == GRANARY_OK ? parquet_widen(input->bytes, input->bytes_size, &style, params->bloom, &wide) : err;
    err = err == GRANARY_OK ? gr_parquet_writer_add(writer, wide.bytes, wide.size) : err;
    pack_close(&packer);
    gr_buf_free(&wide);
    return err;
}

granary_err
kernel_parquet_write(struct gr_kernel_call *call, const struct gr_chunk_parquet_write *params)
{
    struct gr_parquet_writer *writer = NULL;
    struct target target;
    granary_err err = target_open(params->path, &target);

    if (err == GRANARY_OK) {
        err = gr_parquet_writer_create(write_to, &target, &writer);
    }
    for (size_t i = 0; err == GRANARY_OK && i < call->input_count; i++) {
        err = call->inputs[i].kind != GR_VALUE_BYTES
                  ? gr_fail(GRANARY_ETYPE, "parquet_write: input %zu is no bytes", i)
                  : gr_parquet_writer_look(writer, call->inputs[i].bytes, call->inputs[i].bytes_size);
    }
    for (size_t i = 0; err == GRANARY_OK && i < call->input_count; i++) {
        err = add_groups(writer, &call->inputs[i], params);
    }
    err = err == GRANARY_OK ? gr_parquet_writer_finish(writer) : err;
    gr_parquet_writer_destroy(writer);
    return target_yield(&target, call, err);
}

/* ---- NPY ---- */

granary_err
kernel_npy_write(struct gr_kernel_call *call, const struct gr_chunk_npy_write *params)
{
    const granary_tensor *tensor;
    granary_tensor planned;
    struct target target;
    char head[512];
    char *values;
    granary_err err;

    if (call->input_count != 1 || call->inputs[0].kind != GR_VALUE_TENSOR) {
        return gr_fail(GRANARY_ETYPE, "npy_write: its input is no tensor");
    }
    tensor = &call->inputs[0].tensor.view;
    err = gr_npy_plan(tensor->dtype, tensor->dims, tensor->shape, &planned);
    if (err != GRANARY_OK) {
        return err;
    }
    values = gr_npy_begin(tensor, head);
    err = target_open(params->path, &target);
    if (err == GRANARY_OK) {
        err = target_write(&target, head, (size_t)(values - head));
    }
    if (err == GRANARY_OK) {
        err = target_write(&target, tensor->values,
                           (size_t)gr_tensor_elements(tensor) * gr_tensor_element(tensor->dtype));
    }
    return target_yield(&target, call, err);
}
