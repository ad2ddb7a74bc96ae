/* Any bytes as an Arrow file, and, without its beginning, as a stream that becomes one: a frame whose every value can be printed, and written to a file that reads back, or an
 * error with a message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/arrow/arrow.h"
#include "data/arrow/streamed.h"
#include "data/print/print.h"
#include "fuzz/fuzz.h"

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

/* What is left of the stream. */
struct source {
    const uint8_t *bytes;
    size_t size;
};

static granary_err
take_bytes(void *from, void *to, size_t size, size_t *ret_got)
{
    struct source *source = from;

    *ret_got = size < source->size ? size : source->size;
    if (to != NULL) {
        memcpy(to, source->bytes, *ret_got);
    }
    source->bytes += *ret_got;
    source->size -= *ret_got;
    return GRANARY_OK;
}

static granary_err
put_bytes(void *to, const void *bytes, size_t size)
{
    gr_buf_add(to, bytes, size);
    return GRANARY_OK;
}

/* As a stream, however much of it is read at first: the same file, whose end is found again. */
static void
make_file(const uint8_t *bytes, size_t size)
{
    struct gr_buf files[2] = {{0}, {0}};
    granary_frame *frame;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < 2; i++) {
        size_t first = i == 0 ? size : size < 11 ? size : 11;
        struct source source = {bytes + first, size - first};
        granary_err again = gr_arrow_streamed(bytes, first, take_bytes, &source, put_bytes, &files[i]);

        if (i == 1 &&
            (again != err || (err == GRANARY_OK && (files[0].size != files[1].size ||
                                                    memcmp(files[0].bytes, files[1].bytes, files[0].size) != 0)))) {
            abort();
        }
        err = again;
    }
    if (err == GRANARY_OK && gr_arrow_read(files[0].bytes, files[0].size, NULL, 0, &frame) == GRANARY_OK) {
        gr_frame_destroy(frame);
    }
    if (gr_arrow_read(bytes, size, NULL, 0, &frame) == GRANARY_OK) { /* as it is */
        gr_frame_destroy(frame);
    }
    gr_buf_free(&files[0]);
    gr_buf_free(&files[1]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct gr_buf text = {0};
    granary_frame *frame;

    read_some(bytes, size);
    make_file(bytes + (size < 8 ? size : 8), size < 8 ? 0 : size - 8);
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
