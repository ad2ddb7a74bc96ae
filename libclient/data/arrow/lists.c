/* Lists of all of Arrow's layouts: each list is looked for among the items, and these are copied list by list. */
#include <string.h>

#include "base/error.h"
#include "data/arrow/read.h"

/* Lists as views may share items. They may become so many times as many, and those of a small file. */
#define SHARED_MOST  256
#define SHARED_LEAST ((int64_t)1 << 20)

struct lists {
    const struct arrow_field *field;
    const struct arrow_piece *piece;
    const uint8_t *validity;
    const granary_column *items;
};

static int64_t
load(const uint8_t *bytes, int64_t i, bool is_wide)
{
    int32_t narrow;
    int64_t wide;

    if (is_wide) {
        memcpy(&wide, bytes + (size_t)i * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, bytes + (size_t)i * sizeof narrow, sizeof narrow);
    return narrow;
}

/* Where a list's items are, whatever the file says. */
static struct gr_run
find(const struct lists *lists, int64_t row)
{
    const struct arrow_piece *piece = lists->piece;
    int64_t from;
    int64_t to;

    switch (lists->field->layout) {
    case LAYOUT_FIXED_LIST:
        return (struct gr_run){lists->items, row * lists->field->list_size, lists->field->list_size};
    case LAYOUT_LIST_VIEW:
        return (struct gr_run){lists->items, load(piece->offsets, row, false), load(piece->values, row, false)};
    case LAYOUT_LARGE_LIST_VIEW:
        return (struct gr_run){lists->items, load(piece->offsets, row, true), load(piece->values, row, true)};
    default:
        from = load(piece->offsets, row, lists->field->layout == LAYOUT_LARGE_LIST);
        to = load(piece->offsets, row + 1, lists->field->layout == LAYOUT_LARGE_LIST);
        return (struct gr_run){lists->items, from, from < 0 || to < from ? -1 : to - from};
    }
}

static bool
is_there(const struct lists *lists, int64_t row)
{
    return lists->validity == NULL || gr_bit(lists->validity, row);
}

static struct gr_run
list_at(const void *context, int64_t row)
{
    const struct lists *lists = context;

    return is_there(lists, row) ? find(lists, row) : (struct gr_run){0};
}

/* Whether the buffers hold so many lists. */
static bool
is_long_enough(const struct arrow_field *field, const struct arrow_piece *piece)
{
    uint64_t rows = (uint64_t)piece->rows;

    switch (field->layout) {
    case LAYOUT_FIXED_LIST:
        return field->list_size >= 0;
    case LAYOUT_LIST_VIEW:
        return piece->offsets_size / 4 >= rows && piece->values_size / 4 >= rows;
    case LAYOUT_LARGE_LIST_VIEW:
        return piece->offsets_size / 8 >= rows && piece->values_size / 8 >= rows;
    default:
        return piece->offsets_size / (field->layout == LAYOUT_LARGE_LIST ? 8 : 4) >= rows + 1;
    }
}

/* Every list within the items. */
static granary_err
check_lists(const struct lists *lists)
{
    const struct arrow_field *field = lists->field;
    bool is_view = field->layout == LAYOUT_LIST_VIEW || field->layout == LAYOUT_LARGE_LIST_VIEW;
    int64_t rows = lists->items->rows;
    int64_t have = 0;

    if (!is_long_enough(field, lists->piece)) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': the offsets of its lists are too few", field->name);
    }
    for (int64_t row = 0; row < lists->piece->rows; row++) {
        struct gr_run run = is_there(lists, row) ? find(lists, row) : (struct gr_run){0};

        if (run.from < 0 || run.rows < 0 || run.from > rows || run.rows > rows - run.from ||
            (!is_view && (have += run.rows) > rows)) {
            return gr_fail(GRANARY_ECORRUPT, "column '%s': the list in row %lld leads outside its %lld items, or back",
                           field->name, (long long)row, (long long)rows);
        }
        have += is_view ? run.rows : 0;
        if (have > SHARED_LEAST && have / SHARED_MOST > rows) {
            return gr_fail(GRANARY_EUNSUPPORTED,
                           "column '%s': its lists share their items, more than %d times; write it as List",
                           field->name, SHARED_MOST);
        }
    }
    return GRANARY_OK;
}

granary_err
arrow_gather_lists(const struct arrow_field *field, const struct arrow_piece *piece, const uint8_t *validity,
                   const granary_column *items, struct gr_column *ret_column)
{
    const struct lists lists = {field, piece, validity, items};
    granary_err err = check_lists(&lists);

    if (err == GRANARY_OK) {
        err = gr_list_gather(field->dtype, piece->rows, list_at, &lists, ret_column);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "column '%s'", field->name);
    }
    return err;
}

granary_err
arrow_decode_list(const struct arrow_field *field, const struct arrow_piece *piece, const uint8_t *validity,
                  struct gr_column *ret_column)
{
    struct gr_column items;
    granary_err err;

    if (piece->rows == 0) { /* even the one offset may be missing then */
        return gr_column_alloc(field->dtype, 0, 0, false, ret_column);
    }
    err = arrow_decode(field->item, piece->items, NULL, &items);
    if (err == GRANARY_OK) {
        err = arrow_gather_lists(field, piece, validity, &items.view, ret_column);
        gr_column_free(&items);
    }
    return err;
}
