/* A condition on some columns of a file: see where.h. */
#include "kernel/parquet/where.h"

#include "base/error.h"
#include "kernel/core/scratch.h"
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

/* Whether the condition leaves so much of rows here and there that who works on them had better look himself. */
static bool
leaves_most(const granary_frame *frame, const char *where)
{
    int64_t rows[SAMPLE];
    struct where_found found = {.count = 0};
    granary_frame *sample = NULL;
    bool most;

    if (frame->rows < SAMPLED_LEAST) {
        return false;
    }
    for (int64_t i = 0; i < SAMPLE; i++) {
        rows[i] = frame->rows / SAMPLE * i;
    }
    most = gr_frame_take(frame, rows, SAMPLE, &sample) != GRANARY_OK || !find_true(sample, where, &found) ||
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
