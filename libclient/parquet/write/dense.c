/* Values that are there, one behind the other: as they lie in the column, or, with nulls between, as a copy. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/value/bits.h"
#include "parquet/write/private.h"

/* Which rows have a value. */
static granary_err
take_validity(const granary_column *column, int64_t from, int64_t rows, struct put_dense *dense)
{
    uint8_t *bits;

    dense->count = rows;
    if (column->dtype == GRANARY_NULLTYPE) {
        dense->count = 0;
        bits = calloc((size_t)rows / 8 + 1, 1);
    } else if (column->validity == NULL) {
        return GRANARY_OK;
    } else {
        bits = calloc((size_t)rows / 8 + 1, 1);
        if (bits != NULL) {
            bits_copy(bits, 0, column->validity, from, rows);
            dense->count = bits_count(bits, rows);
        }
    }
    if (bits == NULL) {
        return put_no_memory();
    }
    if (dense->count == rows) {
        free(bits);
        return GRANARY_OK;
    }
    dense->owned[0] = bits;
    dense->validity = bits;
    return GRANARY_OK;
}

/* Values of SOURCE, or a PART of each, become DEST, without those of rows that have none. */
#define GATHER(DEST, SOURCE, PART)                                                                                     \
    do {                                                                                                               \
        const SOURCE *source = (const SOURCE *)column->values + from;                                                  \
        DEST *dest = out;                                                                                              \
        if (dense->validity == NULL) {                                                                                 \
            for (int64_t i = 0; i < dense->rows; i++) {                                                                \
                dest[i] = source[i] PART;                                                                              \
            }                                                                                                          \
        } else {                                                                                                       \
            int64_t at = 0;                                                                                            \
            for (int64_t i = 0; i < dense->rows; i++) {                                                                \
                dest[at] = source[i] PART;                                                                             \
                at += put_bit(dense->validity, i);                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

static void
gather(const granary_column *column, int64_t from, const struct put_dense *dense, void *out)
{
    switch ((unsigned)column->dtype & 0xffU) {
    case GRANARY_INT8:
        GATHER(int32_t, int8_t, );
        break;
    case GRANARY_INT16:
        GATHER(int32_t, int16_t, );
        break;
    case GRANARY_UINT8:
        GATHER(uint32_t, uint8_t, );
        break;
    case GRANARY_UINT16:
        GATHER(uint32_t, uint16_t, );
        break;
    case GRANARY_DECIMAL:
        if (dense->kind == PUT_DECIMAL) {
            GATHER(struct put_wide, struct put_wide, );
        } else {
            GATHER(uint64_t, struct put_wide, .halves[0]);
        }
        break;
    case GRANARY_INT32:
    case GRANARY_UINT32:
    case GRANARY_DATE:
    case GRANARY_FLOAT32:
    case GRANARY_STRING: /* codes */
    case GRANARY_BINARY:
        GATHER(uint32_t, uint32_t, );
        break;
    default:
        GATHER(uint64_t, uint64_t, );
    }
}

/* Whether values have another width in the file than in memory. */
static bool
is_changed(granary_dtype dtype, enum put_kind kind)
{
    return dtype == GRANARY_INT8 || dtype == GRANARY_INT16 || dtype == GRANARY_UINT8 || dtype == GRANARY_UINT16 ||
           (((unsigned)dtype & 0xffU) == GRANARY_DECIMAL && kind != PUT_DECIMAL);
}

/* Numbers, or codes, of so many bytes. */
static granary_err
take_fixed(const granary_column *column, int64_t from, size_t width, struct put_dense *dense, const void **ret_values)
{
    void *out;

    if (dense->validity == NULL && !is_changed(column->dtype, dense->kind)) {
        *ret_values = (const uint8_t *)column->values + (size_t)from * width;
        return GRANARY_OK;
    }
    out = malloc((size_t)(dense->rows + 1) * width); /* one more, written where the last rows have none */
    if (out == NULL) {
        return put_no_memory();
    }
    gather(column, from, dense, out);
    dense->owned[1] = out;
    *ret_values = out;
    return GRANARY_OK;
}

static granary_err
take_bools(const granary_column *column, int64_t from, struct put_dense *dense)
{
    uint8_t *bits = calloc((size_t)dense->count / 8 + 1, 1);
    int64_t at = 0;

    if (bits == NULL) {
        return put_no_memory();
    }
    if (dense->validity == NULL) {
        bits_copy(bits, 0, column->values, from, dense->rows);
    }
    for (int64_t i = 0; dense->validity != NULL && i < dense->rows; i++) {
        if (put_bit(dense->validity, i)) {
            bits[at >> 3] = (uint8_t)(bits[at >> 3] | (unsigned)put_bit(column->values, from + i) << (at & 7));
            at++;
        }
    }
    dense->owned[1] = bits;
    dense->values = bits;
    return GRANARY_OK;
}

/* Plain text with nulls: where it is. */
static granary_err
take_places(int64_t from, struct put_dense *dense)
{
    uint32_t *places = malloc((size_t)(dense->rows + 1) * sizeof *places);
    int64_t at = 0;

    if (places == NULL) {
        return put_no_memory();
    }
    for (int64_t i = 0; i < dense->rows; i++) {
        places[at] = (uint32_t)(from + i);
        at += put_bit(dense->validity, i);
    }
    dense->owned[1] = places;
    dense->codes = places;
    return GRANARY_OK;
}

static granary_err
take_text(const granary_column *column, int64_t from, struct put_dense *dense)
{
    const void *codes = NULL;
    granary_err err;

    if (column->dictionary == NULL) {
        dense->text = column;
        dense->first = from;
        return dense->validity == NULL ? GRANARY_OK : take_places(from, dense);
    }
    dense->text = column->dictionary;
    dense->encoded = true;
    err = take_fixed(column, from, sizeof *dense->codes, dense, &codes);
    dense->codes = err == GRANARY_OK ? codes : NULL;
    return err;
}

granary_err
put_dense_make(const granary_column *column, enum put_kind kind, int64_t from, int64_t rows,
               struct put_dense *ret_dense)
{
    struct put_dense dense = {.kind = kind, .rows = rows};
    granary_err err = take_validity(column, from, rows, &dense);

    if (err == GRANARY_OK && put_is_text(kind)) {
        err = take_text(column, from, &dense);
    } else if (err == GRANARY_OK && kind == PUT_BOOL) {
        err = take_bools(column, from, &dense);
    } else if (err == GRANARY_OK && kind != PUT_NULLS) {
        err = take_fixed(column, from, put_width(kind), &dense, &dense.values);
    }
    *ret_dense = dense;
    if (err != GRANARY_OK) {
        put_dense_free(ret_dense);
    }
    return err;
}

void
put_dense_free(struct put_dense *dense)
{
    free(dense->owned[0]);
    free(dense->owned[1]);
    *dense = (struct put_dense){.rows = 0};
}

/* ---- PLAIN ---- */

/* As big-endian bytes. */
static void
plain_decimals(const struct put_dense *dense, int64_t from, int64_t to, struct gr_buf *out)
{
    const uint8_t *values = dense->values;
    uint8_t *at = gr_buf_grow(out, (size_t)(to - from) * 16);

    for (int64_t i = from; at != NULL && i < to; i++, at += 16) {
        uint64_t halves[2];

        memcpy(halves, values + (size_t)i * 16, sizeof halves);
        halves[0] = __builtin_bswap64(halves[0]);
        halves[1] = __builtin_bswap64(halves[1]);
        memcpy(at, &halves[1], 8);
        memcpy(at + 8, &halves[0], 8);
    }
}

static void
plain_text(const struct put_dense *dense, int64_t from, int64_t to, struct gr_buf *out)
{
    size_t size = (size_t)(to - from) * sizeof(uint32_t);
    uint8_t *at;

    for (int64_t i = from; i < to; i++) {
        size += put_dense_text(dense, i).size;
    }
    at = gr_buf_grow(out, size);
    for (int64_t i = from; at != NULL && i < to; i++) {
        struct put_text text = put_dense_text(dense, i);
        uint32_t length = (uint32_t)text.size;

        memcpy(at, &length, sizeof length);
        at += sizeof length;
        if (length > 0) {
            memcpy(at, text.bytes, length);
        }
        at += length;
    }
}

void
put_plain(const struct put_dense *dense, int64_t from, int64_t to, struct gr_buf *out)
{
    size_t width = put_width(dense->kind);

    if (from == to) {
        return;
    }
    if (put_is_text(dense->kind)) {
        plain_text(dense, from, to, out);
    } else if (dense->kind == PUT_DECIMAL) {
        plain_decimals(dense, from, to, out);
    } else if (dense->kind == PUT_BOOL) {
        size_t bytes = (size_t)(to - from + 7) / 8;
        uint8_t *at = gr_buf_grow(out, bytes);

        if (at != NULL) {
            memset(at, 0, bytes);
            bits_copy(at, 0, dense->values, from, to - from);
        }
    } else {
        gr_buf_add(out, (const uint8_t *)dense->values + (size_t)from * width, (size_t)(to - from) * width);
    }
}
