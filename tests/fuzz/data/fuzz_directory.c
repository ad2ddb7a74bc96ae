/* Any bytes as an object with a column directory: four bytes tell the size of the metadata, which come next, then the
 * data. A frame within the data, or an error. Where strings and lists begin is their writer's promise: it is looked at after
 * a check. */
#include <stdlib.h>
#include <string.h>

#include "data/layout/directory.h"
#include "data/print/print.h"
#include "fuzz/fuzz.h"

static void
touch(const granary_column *column)
{
    struct gr_buf text = {0};

    if (column->dtype == GRANARY_STRING || gr_dtype_is_list(column->dtype)) {
        return; /* where they begin is the writer's promise */
    }
    for (int64_t row = 0; row < column->rows; row += 1 + column->rows / 100) {
        gr_value_format(column, row, &text);
    }
    if (column->rows > 0) {
        gr_value_format(column, column->rows - 1, &text);
    }
    gr_buf_free(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    granary_frame *frame;
    uint32_t meta_size;
    char *data;

    if (size < sizeof meta_size) {
        return 0;
    }
    memcpy(&meta_size, bytes, sizeof meta_size);
    bytes += sizeof meta_size;
    size -= sizeof meta_size;
    if (meta_size > size) {
        return 0;
    }
    data = aligned_alloc(64, (size - meta_size + 64) / 64 * 64); /* as an object's data are */
    if (data == NULL) {
        return 0;
    }
    memcpy(data, bytes + meta_size, size - meta_size);
    if (gr_directory_read(data, size - meta_size, bytes, meta_size, &frame) == GRANARY_OK) {
        for (size_t i = 0; i < frame->count; i++) {
            touch(granary_frame_column(frame, i));
        }
        if (gr_frame_check(frame) == GRANARY_OK && frame->rows < 1000) {
            struct gr_buf text = {0};

            gr_print_csv(frame, &text);
            gr_buf_free(&text);
        }
        gr_frame_destroy(frame);
    }
    free(data);
    return 0;
}
