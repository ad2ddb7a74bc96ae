/*
 * A frame of any columns, written as a Parquet file and read again: it has the same rows. Statistics of row groups and
 * of pages hold: no value lies outside of them, nulls and NaN are as many as they say, and pages are where they are
 * said to be. The first bytes say what columns there are, the others are values, over and over again.
 */
#define XXH_INLINE_ALL
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/error.h"
#include "contract/int128.h"
#include "fuzz/fuzz.h"
#include "kernel/parquet/pack.h"
#include "kernel/parquet/widen.h"
#include "parquet_rows.h"

#define COLUMNS_MAX 6
#define ROWS_MAX    45000 /* three pages */

struct input {
    const uint8_t *bytes;
    size_t size;
    size_t at;
};

static unsigned
next(struct input *in)
{
    return in->size == 0 ? 0 : in->bytes[in->at++ % in->size];
}

/* Which columns are to have a Bloom filter. */
enum { BLOOM_CODED, BLOOM_ALL, BLOOM_NONE, BLOOM_WISHES };

/* ---- a frame ---- */

static const granary_dtype dtypes[] = {
    GRANARY_NULLTYPE,  GRANARY_BOOL,       GRANARY_INT64,       GRANARY_FLOAT64, GRANARY_STRING,
    GRANARY_DATE,      GRANARY_INT32,      GRANARY_FLOAT32,     GRANARY_INT8,    GRANARY_INT16,
    GRANARY_UINT8,     GRANARY_UINT16,     GRANARY_UINT32,      GRANARY_UINT64,  GRANARY_DURATION,
    GRANARY_TIMESTAMP, GRANARY_DECIMAL(0), GRANARY_DECIMAL(38), GRANARY_STRING,  GRANARY_DECIMAL(18),
};

/* Some of the characters where cutting and raising is hard. */
static size_t
put_character(struct input *in, char *text)
{
    static const char *const characters[] = {
        "a", "z", "\x7f", "é", "\xdf\xbf", "漢", "\xed\x9f\xbf", "\xef\xbf\xbf", "😀", "\xf4\x8f\xbf\xbf"};
    const char *character = characters[next(in) % (sizeof characters / sizeof characters[0])];

    memcpy(text, character, strlen(character));
    return strlen(character);
}

/* The values of a column lie in a ring of so many; rows take them in turn. */
static void
fill_text(struct input *in, int64_t rows, size_t ring, struct gr_column *ret_column)
{
    char(*texts)[512] = malloc(ring * sizeof *texts);
    int32_t *sizes = malloc(ring * sizeof *sizes);
    int64_t bytes = 0;
    char *out;
    int32_t *offsets;

    must(texts != NULL && sizes != NULL);
    for (size_t i = 0; i < ring; i++) {
        unsigned length = next(in) % 100;

        sizes[i] = 0;
        for (unsigned c = 0; c < length; c++) {
            sizes[i] += (int32_t)put_character(in, texts[i] + sizes[i]);
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        bytes += sizes[(size_t)i % ring];
    }
    must(gr_column_alloc(GRANARY_STRING, rows, bytes, true, ret_column) == GRANARY_OK);
    out = (char *)(uintptr_t)ret_column->view.values;
    offsets = (int32_t *)(uintptr_t)ret_column->view.offsets;
    for (int64_t i = 0; i < rows; i++) {
        size_t from = (size_t)i % ring;

        memcpy(out + offsets[i], texts[from], (size_t)sizes[from]);
        offsets[i + 1] = offsets[i] + sizes[from];
    }
    free(texts);
    free(sizes);
}

static void
fill(struct input *in, granary_dtype dtype, int64_t rows, size_t ring, struct gr_column *ret_column)
{
    size_t width = gr_dtype_size(dtype);
    /* Decimals: how many of the first have few digits. */
    int64_t narrow = gr_dtype_kind(dtype) != GRANARY_DECIMAL ? 0 : next(in) % 2 > 0 ? rows : (int64_t)next(in) * 8;
    uint8_t *values;

    if (dtype == GRANARY_STRING) {
        fill_text(in, rows, ring, ret_column);
        return;
    }
    must(gr_column_alloc(dtype, rows, 0, true, ret_column) == GRANARY_OK);
    values = (uint8_t *)(uintptr_t)ret_column->view.values;
    for (int64_t i = 0; i < rows && dtype == GRANARY_BOOL; i++) {
        if (next(in) % 2 > 0) {
            gr_bit_set(values, i);
        }
    }
    for (size_t i = 0; i < (size_t)rows && width > 0; i++) {
        if (i >= ring) {
            memcpy(values + i * width, values + (i - ring) * width, width);
            continue;
        }
        for (size_t b = 0; b < width; b++) {
            values[i * width + b] = (uint8_t)next(in);
        }
        if (gr_dtype_kind(dtype) == GRANARY_DECIMAL) { /* below 2^119, which have 36 digits */
            size_t from = i < (size_t)narrow ? 7 : 15;

            memset(values + i * width + from, values[i * width + from - 1] >= 0x80 ? 0xff : 0, 16 - from);
        }
    }
}

/* Which rows have none: none of them, all, here and there, or in stretches. */
static void
fill_nulls(struct input *in, struct gr_column *column)
{
    uint8_t *bits = (uint8_t *)(uintptr_t)column->view.validity;
    unsigned kind = next(in) % 4;
    unsigned step = next(in) + 1;

    for (int64_t i = 0; bits != NULL && i < column->view.rows; i++) {
        if (kind == 0 || (kind == 1 && i % step > 0) || (kind == 2 && i / 32 / step % 2 == 0)) {
            gr_bit_set(bits, i);
        }
    }
    gr_column_finish(column);
}

static granary_frame *
make_frame(struct input *in)
{
    size_t count = 1 + next(in) % COLUMNS_MAX;
    int64_t rows = (int64_t)(next(in) << 8 | next(in)) % ROWS_MAX;
    granary_frame *frame;

    rows = next(in) % 4 > 0 ? rows % 300 : rows;
    frame = gr_frame_create(count, rows);
    must(frame != NULL);
    for (size_t c = 0; c < count; c++) {
        granary_dtype dtype = dtypes[next(in) % (sizeof dtypes / sizeof dtypes[0])];
        size_t ring = 1 + (next(in) % 5 > 0 ? next(in) : next(in) << 5);
        bool encoded = next(in) % 2 > 0;
        struct gr_column column;
        char name[] = "a.x";

        fill(in, dtype, rows, ring, &column);
        fill_nulls(in, &column);
        if (encoded && dtype == GRANARY_STRING) {
            struct gr_column codes;
            bool pays = false;

            must(gr_column_encode(&column.view, &pays, &codes) == GRANARY_OK);
            if (pays) {
                gr_column_free(&column);
                column = codes;
            }
        }
        name[0] = (char)('a' + c);
        must(gr_frame_set(frame, c, name, &column) == GRANARY_OK);
    }
    return frame;
}

/* ---- what is said of it ---- */

static double
decimal_at(const granary_column *column, int64_t row)
{
    return (double)((const gr_int128 *)column->values)[row];
}

static int64_t
integer_at(const granary_column *column, int64_t row, bool *ret_beyond)
{
    const void *values = column->values;

    switch (column->dtype) {
    case GRANARY_BOOL:
        return gr_bit(values, row);
    case GRANARY_INT8:
        return ((const int8_t *)values)[row];
    case GRANARY_INT16:
        return ((const int16_t *)values)[row];
    case GRANARY_INT32:
    case GRANARY_DATE:
        return ((const int32_t *)values)[row];
    case GRANARY_UINT8:
        return ((const uint8_t *)values)[row];
    case GRANARY_UINT16:
        return ((const uint16_t *)values)[row];
    case GRANARY_UINT32:
        return ((const uint32_t *)values)[row];
    case GRANARY_UINT64:
        *ret_beyond = ((const uint64_t *)values)[row] > INT64_MAX;
        return ((const int64_t *)values)[row];
    default:
        return ((const int64_t *)values)[row];
    }
}

static int
compare(const void *text, size_t size, const struct gr_parquet_bytes *bound)
{
    size_t both = size < bound->size ? size : bound->size;
    int order = both == 0 ? 0 : memcmp(text, bound->bytes, both);

    return order != 0 ? order : (size > bound->size) - (size < bound->size);
}

static void
check_value(const granary_column *column, int64_t row, const struct gr_parquet_stats *stats,
            const struct gr_parquet_bounds *bounds, int64_t *nans)
{
    bool beyond = false;
    size_t length;
    const char *text;
    char begin[8] = {0};
    double real;

    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_STRING:
        text = gr_text_at(column, row, &length);
        must(compare(text, length, &stats->min) >= 0 && compare(text, length, &stats->max) <= 0);
        memcpy(begin, text, length < sizeof begin ? length : sizeof begin);
        must(!bounds->known || (memcmp(begin, bounds->min.text, 8) >= 0 && memcmp(begin, bounds->max.text, 8) <= 0));
        return;
    case GRANARY_FLOAT32:
    case GRANARY_FLOAT64:
    case GRANARY_DECIMAL:
        real = column->dtype == GRANARY_FLOAT32   ? (double)((const float *)column->values)[row]
               : column->dtype == GRANARY_FLOAT64 ? ((const double *)column->values)[row]
                                                  : decimal_at(column, row);
        *nans += isnan(real);
        must(isnan(real) || !bounds->known || (real >= bounds->min.real && real <= bounds->max.real));
        return;
    default:
        must(!bounds->known || (integer_at(column, row, &beyond) >= bounds->min.integer &&
                                integer_at(column, row, &beyond) <= bounds->max.integer && !beyond));
    }
}

/* Rows of a frame that are a row group. */
struct rows {
    int64_t from;
    int64_t count;
};

/* Of rows [from, to). */
static void
check_stats(const granary_column *column, const struct gr_parquet_leaf *leaf, const struct gr_parquet_stats *stats,
            int64_t from, int64_t to)
{
    struct gr_parquet_bounds bounds;
    int64_t nulls = 0;
    int64_t nans = 0;

    if (column->dtype == GRANARY_NULLTYPE) {
        must(stats->nulls == to - from);
        return;
    }
    bounds = gr_parquet_bounds(leaf, stats, to - from);
    for (int64_t i = from; i < to; i++) {
        if (gr_is_null(column, i)) {
            nulls++;
        } else {
            check_value(column, i, stats, &bounds, &nans);
        }
    }
    must(stats->nulls == nulls);
    must(stats->nans == (leaf->form == GR_PARQUET_REAL ? nans : -1));
    must((stats->min.bytes == NULL) == (stats->max.bytes == NULL));
    /* Who has values has bounds; unsigned ones beyond int64 are no bounds of ours. */
    must(nulls + nans == to - from || stats->min.bytes != NULL);
    must(column->dtype == GRANARY_UINT64 || bounds.known == (nulls + nans < to - from));
}

static void
check_pages(const granary_column *column, const struct gr_parquet_leaf *leaf, const struct gr_parquet_chunk *chunk,
            const struct rows *rows, const uint8_t *file)
{
    struct gr_parquet_place *places = NULL;
    struct gr_parquet_stats *stats = NULL;
    bool *all_null = NULL;
    size_t count = 0;

    must(gr_parquet_offset_index(file + chunk->offset_index_at, (size_t)chunk->offset_index_size, chunk, rows->count,
                                 &places, &count) == GRANARY_OK);
    must(count == (size_t)chunk->data_pages);
    for (size_t i = 0; i < count; i++) {
        struct gr_parquet_page page;

        must(gr_parquet_page_read(file + places[i].at, places[i].size, &page) == GRANARY_OK);
        must(page.type == GR_PARQUET_PAGE_DATA && page.head + page.size == places[i].size);
        must((int64_t)page.values == (i + 1 < count ? places[i + 1].first_row : rows->count) - places[i].first_row);
    }
    if (chunk->column_index_size > 0) {
        must(gr_parquet_column_index(file + chunk->column_index_at, (size_t)chunk->column_index_size, count, &stats,
                                     &all_null) == GRANARY_OK);
    }
    for (size_t i = 0; stats != NULL && i < count; i++) {
        int64_t to = i + 1 < count ? places[i + 1].first_row : rows->count;

        must(all_null[i] == (stats[i].nulls == to - places[i].first_row));
        if (!all_null[i]) {
            check_stats(column, leaf, &stats[i], rows->from + places[i].first_row, rows->from + to);
        }
    }
    free(places);
    free(stats);
    free(all_null);
}

/* ---- Bloom filters ---- */

/* The hash of a value as the file has it. */
static uint64_t
hash_at(const granary_column *column, const struct gr_parquet_leaf *leaf, int64_t row)
{
    uint8_t bytes[16] = {0};
    bool beyond = false;
    const char *text;
    int64_t integer;
    size_t size;

    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_STRING:
        text = gr_text_at(column, row, &size);
        return XXH64(text, size, 0);
    case GRANARY_DECIMAL:
        memcpy(bytes, (const uint8_t *)column->values + row * 16, 16);
        if (leaf->physical == GR_PARQUET_INT64) {
            return XXH64(bytes, 8, 0);
        }
        for (size_t i = 0; i < 8; i++) {
            uint8_t byte = bytes[i];

            bytes[i] = bytes[15 - i];
            bytes[15 - i] = byte;
        }
        return XXH64(bytes, 16, 0);
    case GRANARY_FLOAT32:
        return XXH64((const float *)column->values + row, 4, 0);
    case GRANARY_FLOAT64:
        return XXH64((const double *)column->values + row, 8, 0);
    default:
        integer = integer_at(column, row, &beyond);
        return XXH64(&integer, leaf->physical == GR_PARQUET_INT32 ? 4 : 8, 0);
    }
}

/* No value is missing, and the filter is as large as it may be. */
static void
check_bloom(const granary_column *column, const struct gr_parquet_leaf *leaf, const struct gr_parquet_chunk *chunk,
            const struct rows *rows, const uint8_t *file, unsigned wish)
{
    const uint8_t *bytes = file + chunk->bloom_at;
    size_t head = 0;
    uint64_t size = 0;

    must(chunk->bloom_at == 0 || wish != BLOOM_NONE);
    must(chunk->bloom_at > 0 || wish != BLOOM_ALL || column->dtype == GRANARY_NULLTYPE ||
         column->dtype == GRANARY_BOOL || chunk->stats.nulls == rows->count);
    must(chunk->bloom_at == 0 || wish != BLOOM_CODED || chunk->has_dictionary);
    if (chunk->bloom_at == 0) {
        return;
    }
    must(gr_parquet_bloom_head(bytes, (size_t)chunk->bloom_size, &head, &size) == GRANARY_OK);
    must(head + size == (uint64_t)chunk->bloom_size && (size & (size - 1)) == 0 && size <= 128 << 10);
    for (int64_t i = rows->from; i < rows->from + rows->count; i++) {
        uint64_t hash = gr_is_null(column, i) ? 0 : hash_at(column, leaf, i);

        must(gr_is_null(column, i) ||
             gr_parquet_bloom_has(bytes + head + gr_parquet_bloom_block(size, hash) * GR_PARQUET_BLOOM_BLOCK, hash));
    }
}

/* ---- there and back ---- */

static void
print_rows(const granary_column *column, const struct rows *rows, struct gr_buf *out)
{
    for (int64_t i = rows->from; i < rows->from + rows->count; i++) {
        gr_buf_addf(out, "%d", gr_is_null(column, i));
        gr_value_format(column, i, out);
        gr_buf_addf(out, "\n");
    }
}

static void
check_column(const granary_column *column, const struct gr_parquet_leaf *leaf, const struct gr_parquet_chunk *chunk,
             const struct rows *rows, const uint8_t *file)
{
    uint8_t *bytes = calloc(1, (size_t)chunk->size + PAGE_SLACK);
    const struct pages pages = {.bytes = bytes, .size = (size_t)chunk->size, .codec = chunk->codec};
    const struct stretch all = {.group_rows = rows->count, .rows = rows->count};
    struct gr_buf want = {0};
    struct gr_buf got = {0};

    must(bytes != NULL);
    memcpy(bytes, file + chunk->at, (size_t)chunk->size);
    must(leaf->dtype == column->dtype);
    check_stats(column, leaf, &chunk->stats, rows->from, rows->from + rows->count);
    check_pages(column, leaf, chunk, rows, file);
    if (column->dtype != GRANARY_NULLTYPE) {
        print_rows(column, rows, &want);
        must(rows_read(leaf, pages, &all, NULL, &got));
        must(rows_same(&got, &want));
        rows_check(leaf, &pages, rows->count);
    }
    gr_buf_free(&want);
    gr_buf_free(&got);
    free(bytes);
}

static granary_err
add(void *out, const void *bytes, size_t size)
{
    gr_buf_add(out, bytes, size);
    return GRANARY_OK;
}

static void
write_frame(const granary_frame *frame, int64_t first, const char *codec, unsigned wish, struct gr_buf *out)
{
    static const bool all[COLUMNS_MAX] = {true, true, true, true, true, true};
    static const bool none[COLUMNS_MAX];
    const char *names[COLUMNS_MAX];
    Granary__Attr bloom = {.strings = (char **)(uintptr_t)names};
    const granary_column *columns[COLUMNS_MAX];
    struct gr_parquet_packer packer;
    struct gr_parquet_style style = {.packer = &packer};
    struct gr_parquet_writer *writer = NULL;
    struct gr_buf groups[2] = {{0}, {0}};

    for (size_t i = 0; i < frame->count; i++) {
        columns[i] = &frame->columns[i].view;
        names[i] = columns[i]->name;
    }
    bloom.n_strings = wish == BLOOM_ALL ? frame->count : 0;
    style.bloom = wish == BLOOM_CODED ? NULL : wish == BLOOM_ALL ? all : none;
    must(pack_open(codec, 0, &packer) == GRANARY_OK);
    must(gr_parquet_put_groups(columns, frame->count, 0, first, &style, &groups[0]) == GRANARY_OK);
    must(gr_parquet_put_groups(columns, frame->count, first, frame->rows - first, &style, &groups[1]) == GRANARY_OK);
    must(gr_parquet_writer_create(add, out, &writer) == GRANARY_OK);
    for (int i = 0; i < 2; i++) {
        must(gr_parquet_writer_look(writer, groups[i].bytes, groups[i].size) == GRANARY_OK);
    }
    for (int i = 0; i < 2; i++) {
        struct gr_buf wide = {0};
        bool fits = false;

        must(gr_parquet_writer_fits(writer, groups[i].bytes, groups[i].size, &fits, &style.wide) == GRANARY_OK);
        must(fits || parquet_widen(groups[i].bytes, groups[i].size, &style, wish == BLOOM_CODED ? NULL : &bloom,
                                   &wide) == GRANARY_OK);
        must(gr_parquet_writer_add(writer, fits ? groups[i].bytes : wide.bytes, fits ? groups[i].size : wide.size) ==
             GRANARY_OK);
        gr_buf_free(&wide);
    }
    must(gr_parquet_writer_finish(writer) == GRANARY_OK);
    must(gr_buf_ok(out));
    gr_parquet_writer_destroy(writer);
    gr_buf_free(&groups[0]);
    gr_buf_free(&groups[1]);
    pack_close(&packer);
}

static void
check_file(const granary_frame *frame, int64_t first, unsigned wish, const struct gr_buf *bytes)
{
    struct gr_parquet *file = NULL;
    const struct gr_parquet_group *groups;
    const struct gr_parquet_leaf *leaves;
    size_t count;
    size_t group_count;
    int fd = memfd_create("fuzz_parquet_write", MFD_CLOEXEC);

    must(fd >= 0 && write(fd, bytes->bytes, bytes->size) == (ssize_t)bytes->size);
    must(gr_parquet_open(fd, bytes->size, "fuzz", &file) == GRANARY_OK);
    leaves = gr_parquet_leaves(file, &count);
    groups = gr_parquet_groups(file, &group_count);
    must(count == frame->count && gr_parquet_rows(file) == frame->rows);
    must(group_count == (size_t)(first > 0) + (size_t)(frame->rows > first));
    for (size_t g = 0; g < group_count; g++) {
        struct rows rows = {.from = g > 0 || first == 0 ? first : 0, .count = groups[g].rows};

        must(rows.count == (rows.from == 0 && first > 0 ? first : frame->rows - first));
        for (size_t i = 0; i < count; i++) {
            must(strcmp(gr_parquet_columns(file, &count)[i].name, frame->columns[i].view.name) == 0);
            check_column(&frame->columns[i].view, &leaves[i], &groups[g].chunks[i], &rows,
                         (const uint8_t *)bytes->bytes);
            check_bloom(&frame->columns[i].view, &leaves[i], &groups[g].chunks[i], &rows, (const uint8_t *)bytes->bytes,
                        wish);
        }
    }
    gr_parquet_close(file);
    (void)close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const codecs[] = {"none", "zstd", "snappy", "lz4_raw", "gzip"};
    struct input in = {.bytes = bytes, .size = size};
    const char *codec = codecs[next(&in) % 5];
    granary_frame *frame = make_frame(&in);
    struct gr_buf out = {0};
    int64_t first = (int64_t)next(&in) * frame->rows / 255;
    unsigned wish = next(&in) % BLOOM_WISHES;

    write_frame(frame, first, codec, wish, &out);
    check_file(frame, first, wish, &out);
    gr_buf_free(&out);
    gr_frame_destroy(frame);
    return 0;
}
