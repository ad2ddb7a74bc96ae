/* Rows of a Parquet column as text: what whole and partial reads of a chunk are compared by. */
#ifndef FUZZ_PARQUET_ROWS_H
#define FUZZ_PARQUET_ROWS_H

#include "base/error.h"
#include "data/print.h"
#include "fuzz.h"
#include "kernel/parquet/column.h"

/* Rows of the chunk's pages, appended to out; false: there is an error. It takes the pages over. */
static bool
rows_read(const struct gr_parquet_leaf *leaf, struct pages pages, int64_t all, int64_t from, int64_t rows,
          struct gr_buf *out)
{
    granary_frame *frame = gr_frame_create(1, rows);
    struct gr_column made;
    struct column column;
    struct list_column lists;
    granary_err err;

    if (leaf->repeats > 0) {
        err = list_column_open(&lists, leaf, rows);
        err = err == GRANARY_OK ? list_column_add(&lists, &pages, all, from, rows) : err;
        err = err == GRANARY_OK ? list_column_finish(&lists, &made) : err;
        list_column_close(&lists);
    } else {
        err = column_open(&column, leaf, rows);
        err = err == GRANARY_OK ? column_add(&column, &pages, all, from, rows) : err;
        err = err == GRANARY_OK ? column_finish(&column, &made) : err;
        column_close(&column);
    }
    if (err == GRANARY_OK) {
        must(frame != NULL && gr_frame_set(frame, 0, "x", &made) == GRANARY_OK);
        must(gr_frame_check(frame) == GRANARY_OK);
        for (int64_t i = 0; i < rows; i++) {
            gr_buf_addf(out, "%d", gr_is_null(&frame->columns[0].view, i));
            gr_value_format(&frame->columns[0].view, i, out);
            gr_buf_addf(out, "\n");
        }
    }
    pages_free(&pages);
    gr_frame_destroy(frame);
    must(err == GRANARY_OK || granary_error_message()[0] != '\0');
    return err == GRANARY_OK;
}

#endif
