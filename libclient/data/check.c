/* What a column directory does not tell of a frame's content, and readers rely on. */
#include "base/error.h"
#include "data/frame.h"
#include "data/value/bits.h"

/* Loops without branches: a table's rows are looked at before a graph reads them. */
bool
gr_offsets_ascend(const int32_t *offsets, int64_t rows)
{
    int32_t bad = 0;

    for (int64_t i = 0; i < rows; i++) {
        bad |= offsets[i + 1] < offsets[i];
    }
    return bad == 0 && (rows == 0 || offsets[0] >= 0);
}

static bool
codes_fit(const int32_t *codes, int64_t rows, int64_t entries)
{
    uint32_t most = 0;

    for (int64_t i = 0; i < rows; i++) {
        most = (uint32_t)codes[i] > most ? (uint32_t)codes[i] : most;
    }
    return rows == 0 || most < entries || most == 0; /* without entries all are null */
}

static granary_err check_values(const granary_column *column, const char *name);

/* Offsets that lead to the items, and those themselves. */
static granary_err
check_list(const granary_column *column, const char *name)
{
    const granary_column *items = gr_list_items(column);

    if (!gr_offsets_ascend(column->offsets, column->rows) || column->offsets[column->rows] > items->rows) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': the offsets of its lists lead outside its %lld items", name,
                       (long long)items->rows);
    }
    return check_values(items, name);
}

static granary_err
check_values(const granary_column *column, const char *name)
{
    const granary_column *text = column->dictionary != NULL ? column->dictionary : column;
    int64_t nulls = column->validity == NULL ? 0 : column->rows - bits_count(column->validity, column->rows);

    if (nulls != column->null_count && column->dtype != GRANARY_NULLTYPE) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': it has %lld nulls, not %lld", name, (long long)nulls,
                       (long long)column->null_count);
    }
    if (gr_dtype_is_list(column->dtype)) {
        return check_list(column, name);
    }
    if (!gr_dtype_is_text(column->dtype)) {
        return GRANARY_OK;
    }
    if (!gr_offsets_ascend(text->offsets, text->rows)) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': its string offsets go backwards", name);
    }
    if (column->dictionary != NULL &&
        (!codes_fit(column->values, column->rows, text->rows) || (text->rows == 0 && nulls != column->rows))) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': a row is not in its dictionary of %lld strings", name,
                       (long long)text->rows);
    }
    return GRANARY_OK;
}

granary_err
gr_frame_check(const granary_frame *frame)
{
    granary_err err = GRANARY_OK;

    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        err = check_values(&frame->columns[c].view, frame->columns[c].view.name);
    }
    return err;
}
