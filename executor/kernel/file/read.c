/* arrow_read, tensor_read: chunks of files whose shape the planner knows. A file that has changed since gives an error.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/arrow/arrow.h"
#include "data/file/paths/regular.h"
#include "data/value/half.h"
#include "kernel/core/frame_call.h"
#include "kernel/tensor/call.h"

static granary_err
fail_changed(const char *path, const char *what)
{
    return gr_fail(GRANARY_EIO, "%s: %s other than when the graph was submitted; submit again", path, what);
}

/* ---- Arrow ---- */

/* Flags for the columns that are read: they must be as planned. */
static granary_err
find_columns(const struct gr_arrow_file *file, const char *path, const Granary__Attr *names,
             const Granary__Attr *dtypes, bool *wanted)
{
    size_t at = 0;

    for (size_t i = 0; i < gr_arrow_file_columns(file) && at < names->n_strings; i++) {
        granary_dtype dtype;

        if (strcmp(gr_arrow_file_column(file, i, &dtype), names->strings[at]) == 0) {
            if (strcmp(granary_dtype_name(dtype), dtypes->strings[at]) != 0) {
                return fail_changed(path, "dtypes are");
            }
            wanted[i] = true;
            at++;
        }
    }
    return at == names->n_strings ? GRANARY_OK : fail_changed(path, "columns are");
}

granary_err
kernel_arrow_read(struct gr_kernel_call *call, const struct gr_chunk_arrow_read *params)
{
    const char *path = params->path;
    int64_t first = params->first;
    int64_t count = params->count;
    const Granary__Attr *names = params->columns;
    const Granary__Attr *dtypes = params->dtypes;
    struct gr_arrow_file *file = NULL;
    granary_frame *frame;
    bool *wanted = NULL;
    granary_err err = GRANARY_OK;

    if (first < 0 || count < 0 || names->n_strings != dtypes->n_strings) {
        err = gr_fail(GRANARY_EINVAL, "arrow_read: columns and dtypes do not fit, or there is no such batch");
    }
    if (err == GRANARY_OK) {
        err = gr_arrow_file_open(path, &file);
    }
    if (err == GRANARY_OK) {
        wanted = calloc(gr_arrow_file_columns(file) + 1, sizeof *wanted);
        err = wanted == NULL ? gr_fail(GRANARY_ENOMEM, "%s: out of memory", path)
                             : find_columns(file, path, names, dtypes, wanted);
    }
    if (err == GRANARY_OK) {
        err = gr_arrow_file_read(file, wanted, (size_t)first, (size_t)count, &frame);
        err = err == GRANARY_OK ? call_yield(call, 0, frame, err) : gr_fail_in(err, "%s", path);
    }
    free(wanted);
    gr_arrow_file_close(file);
    return err;
}

/* ---- tensors ---- */

granary_err
kernel_tensor_read(struct gr_kernel_call *call, const struct gr_chunk_tensor_read *params)
{
    const char *path = params->path;
    granary_dtype dtype = gr_tensor_dtype_parse(params->dtype);
    int64_t at = params->at;
    bool half = params->half && dtype == GRANARY_FLOAT32;
    int64_t element = (int64_t)gr_tensor_element(dtype);
    int64_t size = half ? 2 : element; /* in the file */
    struct tensor_part part;
    struct stat info;
    int64_t end = 0;
    int fd = -1;
    void *values;
    granary_err err = tensor_call_check(call, 0, 0);

    if (err == GRANARY_OK) {
        err = tensor_part_read(&params->part, &part);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (int64_t run = 0; run < tensor_part_runs(&part); run++) {
        int64_t last = tensor_part_position(&part, run) + tensor_part_run(&part);

        end = last > end ? last : end;
    }
    err = gr_regular_open(path, &fd, &info);
    if (err == GRANARY_OK && (at < 0 || at > info.st_size || end > (info.st_size - at) / (size == 0 ? 1 : size))) {
        err = fail_changed(path, "its size is");
    } else if (err == GRANARY_OK) {
        err = tensor_output(call, dtype, part.dims, part.size, &values);
    }
    for (int64_t run = 0; err == GRANARY_OK && run < tensor_part_runs(&part); run++) {
        int64_t count = tensor_part_run(&part);
        char *to = (char *)values + run * count * element;

        err = gr_pread_all(fd, to, (size_t)(count * size), at + tensor_part_position(&part, run) * size);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "%s", path);
        for (int64_t i = count; half && err == GRANARY_OK && i-- > 0;) { /* from the end: they grow in place */
            float wide = gr_half(to + i * 2);

            memcpy(to + i * 4, &wide, sizeof wide);
        }
    }
    gr_fd_close(&fd);
    return err;
}
