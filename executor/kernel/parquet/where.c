/* A condition on some columns of a file: see where.h. */
#include "kernel/parquet/where.h"

#include "base/error.h"
#include "kernel/core/frame_call.h"
#include "kernel/core/scratch.h"
#include "kernel/parquet/picks.h"
#include "kernel/rows/rows.h"

enum {
    SAMPLE = 512, /* rows */
    SAMPLED_LEAST = 16384
};

/* false: it cannot be told, as the reader of all rows will say. */
static bool
find_true(const granary_frame *frame, const char *where, struct where_found *ret_found)
{
    const struct rows_spec spec = {.where = where};
    struct rows_block block = {.count = 1};
    struct rows *rows = NULL;
    struct where_found found = {.rows = scratch_alloc((size_t)(frame->rows + 1) * sizeof *found.rows)};
    granary_err err = found.rows == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : rows_open(frame, &spec, &rows);

    while (err == GRANARY_OK && block.count > 0) {
        err = rows_next(rows, &block);
        for (int64_t i = 0; err == GRANARY_OK && i < block.count; i++) {
            found.rows[found.count++] = block.from + (block.selected != NULL ? block.selected[i] : i);
        }
    }
    rows_close(rows);
    *ret_found = found;
    return err == GRANARY_OK;
}

static granary_err
take_rows(const granary_frame *frame, const struct picks *picks, granary_frame **ret_frame)
{
    granary_frame *taken = gr_frame_create(frame->count, picks->count);
    granary_err err = taken == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    for (size_t c = 0; err == GRANARY_OK && c < frame->count; c++) {
        const granary_column *column = &frame->columns[c].view;
        struct gr_column values;

        err = gr_column_take(column, picks->rows, picks->count, &values);
        err = err == GRANARY_OK ? gr_frame_set(taken, c, column->name, &values) : err;
    }
    return gr_frame_give(taken, err, ret_frame);
}

/* Whether the condition leaves so much of rows here and there that who works on them had better look himself. */
static bool
leaves_most(const granary_frame *frame, const char *where)
{
    int64_t rows[SAMPLE];
    const struct picks picks = {.rows = rows, .count = SAMPLE};
    struct where_found found = {.count = 0};
    granary_frame *sample = NULL;
    bool most;

    if (frame->rows < SAMPLED_LEAST) {
        return false;
    }
    for (int64_t i = 0; i < SAMPLE; i++) {
        rows[i] = frame->rows / SAMPLE * i;
    }
    most = take_rows(frame, &picks, &sample) != GRANARY_OK || !find_true(sample, where, &found) ||
           found.count > SAMPLE / 2;
    scratch_free(found.rows);
    gr_frame_destroy(sample);
    return most;
}

bool
where_leaves_few(const granary_frame *tested, const char *where, struct where_found *ret_found)
{
    return !leaves_most(tested, where) && find_true(tested, where, ret_found) && ret_found->count < tested->rows / 2;
}
