/* Any bytes as an Arrow file: a frame whose every value can be printed, and written to a file that reads back, or an
 * error with a message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/arrow/arrow.h"
#include "data/print.h"
#include "fuzz.h"

#define ROWS_MAX 100000 /* a column of nulls alone has any length; printing more would only take time */

static void
write_and_read(const granary_frame *frame)
{
    uint64_t data_size;
    uint64_t meta_size;
    granary_frame *back;
    void *data;
    void *meta;

    if (gr_arrow_measure(frame, &data_size, &meta_size) != GRANARY_OK) {
        return;
    }
    data = gr_data_alloc(data_size);
    meta = gr_data_alloc(meta_size);
    if (data != NULL && meta != NULL) {
        gr_arrow_write(frame, data, meta);
        if (gr_arrow_read(data, data_size, meta, meta_size, &back) != GRANARY_OK) {
            abort();
        }
        if (back->rows != frame->rows || back->count != frame->count) {
            abort();
        }
        gr_frame_destroy(back);
        if (gr_arrow_read(data, data_size, NULL, 0, &back) != GRANARY_OK) {
            abort();
        }
        gr_frame_destroy(back);
    }
    free(data);
    free(meta);
}

/* The same as a file: the columns that can be read, whatever the others are. */
static void
read_some(const uint8_t *bytes, size_t size)
{
    struct gr_arrow_file *file = NULL;
    struct gr_buf text = {0};
    granary_frame *frame;
    bool *wanted = NULL;
    char path[64];
    int fd = memfd_create("fuzz_arrow", MFD_CLOEXEC);

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size && gr_arrow_file_open(path, &file) == GRANARY_OK) {
        wanted = calloc(gr_arrow_file_columns(file) + 1, sizeof *wanted);
    }
    for (size_t i = 0; wanted != NULL && i < gr_arrow_file_columns(file); i++) {
        granary_dtype dtype;

        (void)gr_arrow_file_column(file, i, &dtype);
        wanted[i] = dtype != GR_DTYPE_OTHER;
    }
    if (wanted != NULL && gr_arrow_file_check(file, wanted) != GRANARY_OK) {
        abort();
    }
    if (wanted != NULL && gr_arrow_file_read(file, wanted, 0, 1, &frame) == GRANARY_OK) {
        if (frame->rows < ROWS_MAX) {
            gr_print_csv(frame, &text);
        }
        gr_frame_destroy(frame);
    }
    gr_buf_free(&text);
    free(wanted);
    gr_arrow_file_close(file);
    if (fd >= 0) {
        (void)close(fd);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct gr_buf text = {0};
    granary_frame *frame;

    read_some(bytes, size);
    if (gr_arrow_read(bytes, size, NULL, 0, &frame) != GRANARY_OK) {
        if (granary_error_message()[0] == '\0') {
            abort();
        }
        return 0;
    }
    if (frame->rows < ROWS_MAX) {
        gr_print_csv(frame, &text);
        gr_print_table(frame, 10, &text);
        gr_print_json(frame, &text);
        write_and_read(frame);
    }
    gr_buf_free(&text);
    gr_frame_destroy(frame);
    return 0;
}
