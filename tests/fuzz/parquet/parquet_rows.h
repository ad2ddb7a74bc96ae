/* Rows of a Parquet column as text: what whole and partial reads of a chunk are compared by. */
#ifndef FUZZ_PARQUET_ROWS_H
#define FUZZ_PARQUET_ROWS_H

#include "base/error.h"
#include "data/print/print.h"
#include "fuzz/fuzz.h"
#include "kernel/parquet/column/column.h"

#define ROWS_PICKED_MAX 4096

/* Some of so many rows: now a few neighbours, now one far away. */
static struct picks
rows_pick(int64_t rows, int64_t *at)
{
    struct picks picks = {.rows = at};

    for (int64_t i = rows % 3, step = 1; i < rows && picks.count < ROWS_PICKED_MAX; i += step) {
        at[picks.count++] = i;
        step = picks.count % 7 == 0 ? 1 + picks.count * 5 % 700 : 1 + picks.count % 2;
    }
    return picks;
}

/* Rows of the chunk's pages, appended to out, and of these only some; false: there is an error. It takes the pages
 * over. only: NULL: all of them; lists are not read alone */
static bool
rows_read(const struct gr_parquet_leaf *leaf, struct pages pages, const struct stretch *stretch,
          const struct picks *only, struct gr_buf *out)
{
    int64_t rows = stretch->picks != NULL ? stretch->picks->count : stretch->rows;
    granary_frame *frame = gr_frame_create(1, rows);
    struct gr_column made;
    struct column column;
    struct list_column lists;
    granary_err err;

    if (leaf->repeats > 0) {
        err = list_column_open(&lists, leaf, rows);
        err = err == GRANARY_OK ? list_column_add(&lists, &pages, stretch->group_rows, stretch->from, rows) : err;
        err = err == GRANARY_OK ? list_column_finish(&lists, &made) : err;
        list_column_close(&lists);
    } else {
        err = column_open(&column, leaf, rows);
        err = err == GRANARY_OK ? column_add(&column, &pages, stretch) : err;
        err = err == GRANARY_OK ? column_finish(&column, &made) : err;
        column_close(&column);
    }
    if (err == GRANARY_OK) {
        must(frame != NULL && gr_frame_set(frame, 0, "x", &made) == GRANARY_OK);
        must(gr_frame_check(frame) == GRANARY_OK);
        for (int64_t i = 0; i < (only != NULL ? only->count : rows); i++) {
            int64_t row = only != NULL ? only->rows[i] : i;

            gr_buf_addf(out, "%d", gr_is_null(&frame->columns[0].view, row));
            gr_value_format(&frame->columns[0].view, row, out);
            gr_buf_addf(out, "\n");
        }
    }
    pages_free(&pages);
    gr_frame_destroy(frame);
    must(err == GRANARY_OK || granary_error_message()[0] != '\0');
    return err == GRANARY_OK;
}

static bool
rows_same(const struct gr_buf *a, const struct gr_buf *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

/* What is read of some rows alone is what they are among all. */
static void
rows_check_picks(const struct gr_parquet_leaf *leaf, const struct pages *pages, int64_t rows)
{
    int64_t at[ROWS_PICKED_MAX];
    const struct picks picks = rows_pick(rows, at);
    const struct stretch all = {.group_rows = rows, .rows = rows};
    const struct stretch some = {.group_rows = rows, .rows = rows, .picks = &picks};
    struct gr_buf among = {0};
    struct gr_buf alone = {0};

    must(rows_read(leaf, *pages, &all, &picks, &among));
    must(rows_read(leaf, *pages, &some, NULL, &alone));
    must(rows_same(&among, &alone));
    gr_buf_free(&among);
    gr_buf_free(&alone);
}

/* Rows of the chunk's pages give the same whole, in two parts and some of them alone, or an error. */
static void
rows_check(const struct gr_parquet_leaf *leaf, const struct pages *pages, int64_t rows)
{
    const struct stretch all = {.group_rows = rows, .rows = rows};
    const struct stretch first = {.group_rows = rows, .rows = rows / 3};
    const struct stretch second = {.group_rows = rows, .from = rows / 3, .rows = rows - rows / 3};
    struct gr_buf whole = {0};
    struct gr_buf parts = {0};

    if (rows_read(leaf, *pages, &all, NULL, &whole)) {
        must(rows_read(leaf, *pages, &first, NULL, &parts));
        must(rows_read(leaf, *pages, &second, NULL, &parts));
        must(rows_same(&whole, &parts));
        if (leaf->repeats == 0) {
            rows_check_picks(leaf, pages, rows);
        }
    }
    gr_buf_free(&whole);
    gr_buf_free(&parts);
}

#endif
