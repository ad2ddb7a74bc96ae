/* Arrow files with room for more rows than they got: what tells of them is written again, and no value is moved. */
#include <stdlib.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "data/arrow/layout.h"
#include "data/value/bits.h"

/* The column as it is, in so many rows, and where these lie in the file. */
static void
column_settle(granary_column *column, struct gr_directory_column *place, int64_t rows)
{
    column->rows = rows;
    column->null_count = column->dtype == GRANARY_NULLTYPE ? rows : 0;
    if (column->validity != NULL) {
        bits_trim((uint8_t *)(uintptr_t)column->validity, rows);
        column->null_count = rows - bits_count(column->validity, rows);
        column->validity = column->null_count == 0 ? NULL : column->validity;
        place->validity_size = column->null_count == 0 ? 0 : (uint64_t)gr_bitmap_bytes(rows);
    }
    if (gr_dtype_is_text(column->dtype)) {
        place->offsets_size = ((uint64_t)rows + 1) * sizeof(int32_t);
        place->values_size = (uint64_t)column->offsets[rows];
    } else if (column->dtype == GRANARY_BOOL) {
        bits_trim((uint8_t *)(uintptr_t)column->values, rows);
        place->values_size = (uint64_t)gr_bitmap_bytes(rows);
    } else {
        place->values_size = (uint64_t)rows * gr_dtype_size(column->dtype);
    }
}

granary_err
gr_arrow_settle(int64_t rows, void *data, uint64_t data_size, void *meta, uint64_t meta_size)
{
    granary_frame *frame = NULL;
    struct gr_directory_column *places;
    struct arrow_plan plan;
    granary_err err = gr_directory_read(data, data_size, meta, meta_size, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    plan = arrow_plan_file(frame);
    if (rows > frame->rows || plan.body > data_size) { /* somebody else has written the directory */
        gr_frame_destroy(frame);
        return gr_fail(GRANARY_ECORRUPT, "frame: its directory is not that of its file");
    }
    places = calloc(frame->count + 1, sizeof *places);
    if (places == NULL) {
        gr_frame_destroy(frame);
        return gr_fail(GRANARY_ENOMEM, "frame: out of memory");
    }
    frame->rows = rows;
    for (size_t i = 0; i < frame->count; i++) {
        gr_directory_get(meta, i, &places[i]);
        column_settle(&frame->columns[i].view, &places[i], rows);
    }
    arrow_write_batch(frame, &plan, places, data);
    /* Buffers of the directory stay as long as they were: whoever reads it meanwhile finds them long enough. */
    for (size_t i = 0; i < frame->count; i++) {
        gr_directory_get(meta, i, &places[i]);
        places[i].flags = 0;
        gr_directory_put(frame, i, &places[i], false, meta);
    }
    gr_directory_set_rows(meta, rows);
    free(places);
    gr_frame_destroy(frame);
    return GRANARY_OK;
}
