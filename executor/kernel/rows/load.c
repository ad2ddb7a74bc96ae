/* Columns of the frame as vectors. */
#include <string.h>

#include "base/error.h"
#include "contract/dtypes.h"
#include "data/value/bits.h"
#include "kernel/rows/node.h"
#include "kernel/simd/rows_loops.h"

enum rows_class
rows_class_of_dtype(granary_dtype dtype)
{
    switch (gr_dtype_kind(dtype)) {
    case GRANARY_NULLTYPE:
        return ROWS_NULL;
    case GRANARY_BOOL:
        return ROWS_BOOL;
    case GRANARY_FLOAT64:
    case GRANARY_FLOAT32:
        return ROWS_DOUBLE;
    case GRANARY_STRING:
    case GRANARY_BINARY:
        return ROWS_TEXT;
    case GRANARY_LIST:
        return ROWS_LIST;
    default:
        return ROWS_INT;
    }
}

enum rows_class
rows_class_of(const granary_column *column)
{
    return column->dictionary != NULL ? ROWS_CODE : rows_class_of_dtype(column->dtype);
}

static inline int64_t
row_of(const struct extent *extent, int64_t i)
{
    return extent->from + (extent->selected != NULL ? extent->selected[i] : i);
}

/* Bits as bytes. */
static void
load_bits(const uint8_t *bits, const struct extent *extent, uint8_t *out)
{
    if (extent->selected == NULL) {
        bits_spread(bits, extent->from, extent->n, out);
        return;
    }
    for (int64_t i = 0; i < extent->n; i++) {
        out[i] = gr_bit(bits, extent->from + extent->selected[i]);
    }
}

/* Whether all of the extent's bits are set; looks at whole bytes only, and may say false. */
static bool
bits_are_set(const uint8_t *bits, const struct extent *extent)
{
    int64_t span = extent->selected != NULL && extent->n > 0 ? extent->selected[extent->n - 1] + 1 : extent->n;
    uint8_t all = 0xff;

    if ((extent->from & 7) != 0) {
        return false;
    }
    for (int64_t i = 0; i < span / 8; i++) {
        all &= bits[extent->from / 8 + i];
    }
    for (int64_t i = span / 8 * 8; i < span; i++) {
        all = gr_bit(bits, extent->from + i) ? all : 0;
    }
    return all == 0xff;
}

/* So far ahead memory is asked for: prefetching by the processor ends with a page. */
#define AHEAD_BYTES 2048
#define LINE_BYTES  64

static void
load_numbers(const granary_column *column, const struct extent *extent, void *room)
{
    switch (gr_dtype_kind(column->dtype)) {
#define LOAD_AS(computed, name, stored)                                                                                \
    case GRANARY_##name: {                                                                                             \
        const stored *from = (const stored *)column->values + extent->from;                                            \
        computed *out = room;                                                                                          \
                                                                                                                       \
        if (extent->selected == NULL) {                                                                                \
            enum { LINE = LINE_BYTES / sizeof(stored) };                                                               \
            int64_t i = 0;                                                                                             \
                                                                                                                       \
            for (; i + LINE <= extent->n; i += LINE) {                                                                 \
                __builtin_prefetch((const char *)(from + i) + AHEAD_BYTES);                                            \
                for (int64_t k = i; k < i + LINE; k++) {                                                               \
                    out[k] = (computed)from[k];                                                                        \
                }                                                                                                      \
            }                                                                                                          \
            for (; i < extent->n; i++) {                                                                               \
                out[i] = (computed)from[i];                                                                            \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int64_t i = 0; i < extent->n; i++) {                                                                  \
                out[i] = (computed)from[extent->selected[i]];                                                          \
            }                                                                                                          \
        }                                                                                                              \
        break;                                                                                                         \
    }
#define LOAD_WORD(name, type, ...) LOAD_AS(int64_t, name, type)
#define LOAD_REAL(name, type, ...) LOAD_AS(double, name, type)
        GR_WORD_DTYPES(LOAD_WORD)
        GR_REAL_DTYPES(LOAD_REAL)
    default:
        break;
    }
}

/* Decimals as int64 when the block's values fit. */
static void
load_decimals(struct node *node, const struct extent *extent)
{
    const rows_int128 *from = (const rows_int128 *)node->column->values + extent->from;
    int64_t *narrow = node_room(node, ROWS_INT);
    gr_int128 *wide;

    if (SIMD_CALL(rows_narrow)(from, extent->selected, extent->n, narrow)) {
        return;
    }
    wide = node_room(node, ROWS_WIDE);
    for (int64_t i = 0; i < extent->n; i++) {
        wide[i] = from[extent->selected != NULL ? extent->selected[i] : i];
    }
}

static void
load_uint64(struct node *node, const struct extent *extent)
{
    const uint64_t *from = node->column->values;
    uint64_t *narrow = node_room(node, ROWS_INT);
    uint64_t all = 0;
    gr_int128 *wide;

    for (int64_t i = 0; i < extent->n; i++) {
        narrow[i] = from[row_of(extent, i)];
        all |= narrow[i];
    }
    if (all >> 63 == 0) {
        return;
    }
    wide = node_room(node, ROWS_WIDE);
    for (int64_t i = 0; i < extent->n; i++) {
        wide[i] = from[row_of(extent, i)];
    }
}

static void
load_texts(struct node *node, const struct extent *extent)
{
    const granary_column *column = node->column;
    struct rows_text *out = node_room(node, ROWS_TEXT);

    for (int64_t i = 0; i < extent->n; i++) {
        int64_t row = row_of(extent, i);
        int32_t begin = column->offsets[row];
        size_t size = (size_t)(column->offsets[row + 1] - begin);

        out[i] = (struct rows_text){size > 0 ? (const char *)column->values + begin : NULL, size};
    }
}

static void
load_lists(struct node *node, const struct extent *extent)
{
    const granary_column *column = node->column;
    struct rows_list *out = node_room(node, ROWS_LIST);

    for (int64_t i = 0; i < extent->n; i++) {
        int64_t row = row_of(extent, i);
        int32_t begin = column->offsets[row];

        out[i] = (struct rows_list){gr_list_items(column), begin, column->offsets[row + 1] - begin};
    }
}

static void
load_codes(struct node *node, const struct extent *extent)
{
    const int32_t *from = (const int32_t *)node->column->values + extent->from;
    int32_t *out;

    node->dictionary = node->column->dictionary;
    node->class = ROWS_CODE;
    node->values = from;
    if (extent->selected == NULL) {
        return;
    }
    out = node_room(node, ROWS_CODE);
    for (int64_t i = 0; i < extent->n; i++) {
        out[i] = from[extent->selected[i]];
    }
}

static void
load_values(struct node *node, const struct extent *extent)
{
    const granary_column *column = node->column;
    void *room;

    if (column->dictionary != NULL) {
        load_codes(node, extent);
        return;
    }
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_NULLTYPE:
        (void)node_room(node, ROWS_NULL);
        return;
    case GRANARY_STRING:
    case GRANARY_BINARY:
        load_texts(node, extent);
        return;
    case GRANARY_LIST:
        load_lists(node, extent);
        return;
    case GRANARY_DECIMAL:
        load_decimals(node, extent);
        return;
    case GRANARY_UINT64:
        load_uint64(node, extent);
        return;
    case GRANARY_INT64:
    case GRANARY_TIMESTAMP:
    case GRANARY_TIMESTAMPTZ:
    case GRANARY_TIME:
    case GRANARY_DURATION:
    case GRANARY_FLOAT64:
        if (extent->selected == NULL) {
            node->class = node->base;
            node->values = (const char *)column->values + extent->from * 8;
            return;
        }
        break;
    default:
        break;
    }
    room = node_room(node, node->base);
    if (column->dtype == GRANARY_BOOL) {
        load_bits(column->values, extent, room);
    } else {
        load_numbers(column, extent, room);
    }
}

void
load_column(struct node *node, const struct extent *extent)
{
    const granary_column *column = node->column;
    bool none = column->dtype == GRANARY_NULLTYPE;

    node->valid = NULL;
    node->bad = NULL;
    if (none || (column->validity != NULL && !bits_are_set(column->validity, extent))) {
        uint8_t *valid = node_valid_room(node);

        if (none) {
            memset(valid, 0, (size_t)extent->n);
        } else {
            load_bits(column->validity, extent, valid);
        }
    }
    load_values(node, extent);
}
