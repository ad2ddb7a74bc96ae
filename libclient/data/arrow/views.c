/* Strings and binaries as views (Arrow's Utf8View): 16 bytes each. */
#include <string.h>

#include "base/error.h"
#include "data/arrow/read.h"
#include "data/value/bits.h"

/* A view begins with the length. A string of at most INLINE_MAX bytes follows. A longer one has its first four bytes,
 * the part in which it is, and where it begins there. */
#define VIEW_SIZE  16
#define INLINE_MAX 12

static int32_t
load(const uint8_t *view, size_t at)
{
    int32_t value;

    memcpy(&value, view + at, sizeof value);
    return value;
}

/* The bytes of a string; NULL: they are not there. */
static const uint8_t *
find(const struct arrow_piece *piece, const uint8_t *view, int32_t length)
{
    int32_t part = load(view, 8);
    int32_t at = load(view, 12);

    if (length < 0) {
        return NULL;
    }
    if (length <= INLINE_MAX) {
        return view + 4;
    }
    if (part < 0 || (size_t)part >= piece->part_count || at < 0 || (uint64_t)at > piece->parts[part].size ||
        (uint64_t)length > piece->parts[part].size - (uint64_t)at) {
        return NULL;
    }
    return piece->parts[part].bytes + at;
}

granary_err
arrow_decode_views(const struct arrow_field *field, const struct arrow_piece *piece, const uint8_t *validity,
                   struct gr_column *ret_column)
{
    struct gr_column column;
    int64_t bytes = 0;
    int32_t *offsets;
    char *text;
    granary_err err;

    if (piece->values_size / VIEW_SIZE < (uint64_t)piece->rows) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': its views buffer is too short", field->name);
    }
    for (int64_t i = 0; i < piece->rows; i++) {
        const uint8_t *view = piece->values + i * VIEW_SIZE;

        if (validity != NULL && !gr_bit(validity, i)) {
            continue;
        }
        if (find(piece, view, load(view, 0)) == NULL) {
            return gr_fail(GRANARY_ECORRUPT, "column '%s': the string in row %lld leads outside its buffers",
                           field->name, (long long)i);
        }
        bytes += load(view, 0);
    }
    err = gr_column_alloc(field->dtype, piece->rows, bytes, validity != NULL, &column);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "column '%s'", field->name);
    }
    arrow_set_validity(&column, validity);
    offsets = (int32_t *)(uintptr_t)column.view.offsets;
    text = (char *)(uintptr_t)column.view.values;
    for (int64_t i = 0; i < piece->rows; i++) {
        const uint8_t *view = piece->values + i * VIEW_SIZE;
        int32_t length = validity == NULL || gr_bit(validity, i) ? load(view, 0) : 0;

        if (length > 0) {
            memcpy(text + offsets[i], find(piece, view, length), (size_t)length);
        }
        offsets[i + 1] = offsets[i] + length;
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}
