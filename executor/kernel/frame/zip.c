/* zip: frames side by side. Columns are borrowed. */
#include <stdlib.h>

#include "base/error.h"
#include "kernel/core/frame_call.h"

/* The first column of that name among the frames, or NULL. */
static const granary_column *
find_column(const granary_frame *const *frames, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        int at = gr_frame_find(frames[i], name);

        if (at >= 0) {
            return &frames[i]->columns[at].view;
        }
    }
    return NULL;
}

static granary_err
check_rows(const granary_frame *const *frames, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (frames[i]->rows != frames[0]->rows) {
            return gr_fail(GRANARY_EINVAL, "input %zu has %lld rows, but input 0 has %lld: they do not go side by side",
                           i, (long long)frames[i]->rows, (long long)frames[0]->rows);
        }
    }
    return GRANARY_OK;
}

static granary_err
zip_named(const granary_frame *const *frames, size_t count, const Granary__Attr *names, granary_frame *zipped)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < names->n_strings && err == GRANARY_OK; i++) {
        const granary_column *column = find_column(frames, count, names->strings[i]);

        err = column == NULL ? gr_fail(GRANARY_ENOENT, "there is no column '%s'", names->strings[i])
                             : gr_frame_set_borrowed(zipped, i, names->strings[i], column);
    }
    return err;
}

static granary_err
zip_all(const granary_frame *const *frames, size_t count, granary_frame *zipped)
{
    size_t at = 0;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        for (size_t c = 0; c < frames[i]->count && err == GRANARY_OK; c++) {
            const granary_column *column = &frames[i]->columns[c].view;

            err = find_column(frames, i, column->name) != NULL
                      ? gr_fail(GRANARY_EINVAL, "two inputs have a column '%s'", column->name)
                      : gr_frame_set_borrowed(zipped, at++, column->name, column);
        }
    }
    return err;
}

granary_err
kernel_zip(struct gr_kernel_call *call, const struct gr_chunk_zip *params)
{
    const Granary__Attr *names = params->columns;
    const granary_frame **frames;
    granary_frame *zipped = NULL;
    size_t width = names != NULL ? names->n_strings : 0;
    granary_err err = call_frames_encoded(call, &frames);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < call->input_count && names == NULL; i++) {
        width += frames[i]->count;
    }
    err = check_rows(frames, call->input_count);
    if (err == GRANARY_OK && (zipped = gr_frame_create(width, frames[0]->rows)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "zip: out of memory for %zu columns", width);
    }
    if (err == GRANARY_OK) {
        err = names != NULL ? zip_named(frames, call->input_count, names, zipped)
                            : zip_all(frames, call->input_count, zipped);
    }
    free(frames);
    return call_yield(call, 0, zipped, err);
}
