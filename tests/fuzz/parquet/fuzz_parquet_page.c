/* Any bytes as a page of a Parquet file: the first choose the type of its values, their encoding, its version and how many
 * values it claims. It is read, whole and in parts with the same rows, or an error has a message. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "parquet_rows.h"

#define HEAD 4

static const struct gr_parquet_leaf leaves[] = {
    {.physical = GR_PARQUET_BOOLEAN, .form = GR_PARQUET_BOOL, .dtype = GRANARY_BOOL},
    {.physical = GR_PARQUET_INT32, .form = GR_PARQUET_INTEGER, .dtype = GRANARY_INT32},
    {.physical = GR_PARQUET_INT32, .form = GR_PARQUET_INTEGER, .dtype = GRANARY_INT8},
    {.physical = GR_PARQUET_INT64, .form = GR_PARQUET_INTEGER, .dtype = GRANARY_INT64},
    {.physical = GR_PARQUET_INT64, .form = GR_PARQUET_MOMENT, .dtype = GRANARY_TIMESTAMP, .per_second = 1000},
    {.physical = GR_PARQUET_INT96, .form = GR_PARQUET_MOMENT96, .dtype = GRANARY_TIMESTAMP},
    {.physical = GR_PARQUET_DOUBLE, .form = GR_PARQUET_REAL, .dtype = GRANARY_FLOAT64},
    {.physical = GR_PARQUET_FIXED, .length = 2, .form = GR_PARQUET_HALF, .dtype = GRANARY_FLOAT32},
    {.physical = GR_PARQUET_FIXED,
     .length = 5,
     .form = GR_PARQUET_DECIMAL,
     .dtype = GRANARY_DECIMAL(2),
     .precision = 9},
    {.physical = GR_PARQUET_BYTES, .form = GR_PARQUET_DECIMAL, .dtype = GRANARY_DECIMAL(0), .precision = 38},
    {.physical = GR_PARQUET_BYTES, .form = GR_PARQUET_TEXT, .dtype = GRANARY_STRING},
    {.physical = GR_PARQUET_BYTES, .form = GR_PARQUET_TEXT, .dtype = GRANARY_BINARY},
    {.physical = GR_PARQUET_FIXED, .length = 5, .form = GR_PARQUET_TEXT, .dtype = GRANARY_BINARY},
    {.physical = GR_PARQUET_FIXED, .length = 16, .form = GR_PARQUET_TEXT, .dtype = GRANARY_STRING}, /* UUID */
    {.physical = GR_PARQUET_INT32, .form = GR_PARQUET_MOMENT, .dtype = GRANARY_TIME, .per_second = 1000},
    {.physical = GR_PARQUET_INT64, .form = GR_PARQUET_MOMENT, .dtype = GRANARY_TIME, .per_second = 1000000000},
};

/* Thrift's compact form of a page header. */
static void
put_number(struct gr_buf *out, uint8_t field, uint32_t value)
{
    uint64_t zigzag = (uint64_t)value << 1;

    gr_buf_add(out, &field, 1);
    do {
        uint8_t byte = (uint8_t)((zigzag & 0x7f) | (zigzag > 0x7f ? 0x80 : 0));

        gr_buf_add(out, &byte, 1);
        zigzag >>= 7;
    } while (zigzag > 0);
}

static void
put_page(struct gr_buf *out, bool dictionary, uint32_t values, uint8_t encoding, const uint8_t *bytes, size_t size)
{
    put_number(out, 0x15, dictionary ? 2 : 0);
    put_number(out, 0x15, (uint32_t)size);
    put_number(out, 0x15, (uint32_t)size);
    gr_buf_add(out, dictionary ? "\x4c" : "\x2c", 1); /* field 7 or 5: a struct */
    put_number(out, 0x15, values);
    put_number(out, 0x15, encoding);
    if (!dictionary) {
        put_number(out, 0x15, GR_PARQUET_RLE);
        put_number(out, 0x15, GR_PARQUET_RLE);
    }
    gr_buf_add(out, "\0\0", 2);
    if (size > 0) {
        gr_buf_add(out, bytes, size);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char slack[PAGE_SLACK];
    struct gr_parquet_leaf leaf;
    struct gr_buf chunk = {0};
    struct pages pages = {.codec = GR_PARQUET_RAW};
    int64_t rows;
    size_t split;

    if (size < HEAD) {
        return 0;
    }
    leaf = leaves[bytes[0] % (sizeof leaves / sizeof leaves[0])];
    leaf.levels = bytes[1] >> 4 & 3;
    rows = bytes[2] * 3;
    split = bytes[3] < size - HEAD ? bytes[3] : size - HEAD; /* the dictionary, if there is one */
    if (split > 0) {
        put_page(&chunk, true, (uint32_t)rows, GR_PARQUET_PLAIN, bytes + HEAD, split);
    }
    put_page(&chunk, false, (uint32_t)rows, bytes[1] & 0xf, bytes + HEAD + split, size - HEAD - split);
    gr_buf_add(&chunk, slack, sizeof slack);
    must(gr_buf_ok(&chunk));
    pages.bytes = (const uint8_t *)chunk.bytes;
    pages.size = chunk.size - PAGE_SLACK;
    rows_check(&leaf, &pages, rows);
    gr_buf_free(&chunk);
    return 0;
}
