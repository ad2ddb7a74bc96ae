/*
 * Parquet files, as far as they tell of themselves (https://github.com/apache/parquet-format): footer, columns, row
 * groups, statistics, page headers and the page index. Values are the executors' matter
 * (kernel/parquet).
 *
 * A file is believed nothing: whatever it claims is checked against the bytes that are there.
 */
#ifndef PARQUET_PARQUET_H
#define PARQUET_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/frame.h"

enum gr_parquet_physical {
    GR_PARQUET_BOOLEAN = 0,
    GR_PARQUET_INT32 = 1,
    GR_PARQUET_INT64 = 2,
    GR_PARQUET_INT96 = 3,
    GR_PARQUET_FLOAT = 4,
    GR_PARQUET_DOUBLE = 5,
    GR_PARQUET_BYTES = 6,
    GR_PARQUET_FIXED = 7,
};

enum gr_parquet_encoding {
    GR_PARQUET_PLAIN = 0,
    GR_PARQUET_PLAIN_DICTIONARY = 2,
    GR_PARQUET_RLE = 3,
    GR_PARQUET_BIT_PACKED = 4,
    GR_PARQUET_DELTA_BINARY_PACKED = 5,
    GR_PARQUET_DELTA_LENGTH_BYTES = 6,
    GR_PARQUET_DELTA_BYTES = 7,
    GR_PARQUET_RLE_DICTIONARY = 8,
    GR_PARQUET_BYTE_STREAM_SPLIT = 9,
};

enum gr_parquet_codec {
    GR_PARQUET_RAW = 0,
    GR_PARQUET_SNAPPY = 1,
    GR_PARQUET_GZIP = 2,
    GR_PARQUET_LZO = 3,
    GR_PARQUET_BROTLI = 4,
    GR_PARQUET_LZ4 = 5, /* framed as Hadoop does, or as others thought it did */
    GR_PARQUET_ZSTD = 6,
    GR_PARQUET_LZ4_RAW = 7,
};

/* What values of a leaf become. */
enum gr_parquet_form {
    GR_PARQUET_OTHER, /* cannot be read */
    GR_PARQUET_NULLS, /* no value but null */
    GR_PARQUET_BOOL,
    GR_PARQUET_INTEGER, /* of dtype, also dates */
    GR_PARQUET_REAL,    /* as they lie there */
    GR_PARQUET_HALF,    /* float16, which becomes float32 */
    GR_PARQUET_MOMENT,  /* timestamps and times of day, of which `per_second` are a second */
    GR_PARQUET_MOMENT96,
    GR_PARQUET_DECIMAL,
    GR_PARQUET_TEXT, /* strings and binaries; of fixed length: binaries, and UUIDs, which become strings */
};

/* A column of values in the file. */
struct gr_parquet_leaf {
    enum gr_parquet_physical physical;
    enum gr_parquet_form form;
    granary_dtype dtype; /* of a value: of an item when it is in a list */
    int32_t length;      /* FIXED: bytes of a value */
    int32_t precision;   /* decimals */
    int32_t per_second;  /* MOMENT */
    uint16_t levels;     /* definition level of a value that is there */
    uint16_t repeats;    /* repetition level of the deepest list; 0: there is none */
    uint16_t items;      /* definition level of an item of that list, which may be null */
    bool is_unsigned;
    bool typed_order; /* min_value and max_value are ordered as the type defines */
};

/* The dtype of a leaf as a column. */
static inline granary_dtype
gr_parquet_dtype(const struct gr_parquet_leaf *leaf)
{
    return leaf->repeats > 0 ? GRANARY_LIST(leaf->dtype) : leaf->dtype;
}

/* What the file's user sees as a column: a leaf, or something with all its leaves that cannot be read. */
struct gr_parquet_column {
    const char *name; /* dotted: `b` of a struct `a` is a.b, also of lists of such structs */
    size_t leaf;      /* the first */
    bool readable;
    char what[40]; /* its type, for people: "list", "time(us)" */
};

struct gr_parquet_bytes {
    const uint8_t *bytes; /* NULL: there are none */
    uint32_t size;
};

/* As the file has them. */
struct gr_parquet_stats {
    int64_t nulls; /* -1: not known */
    int64_t nans;  /* -1: not known */
    struct gr_parquet_bytes min, max;
    bool deprecated; /* ordered as signed bytes, whatever the type is */
};

/* The values of a leaf in one row group. */
struct gr_parquet_chunk {
    int64_t at; /* of the first page */
    int64_t size;
    int64_t raw_size;
    int64_t values; /* nulls too */
    int64_t offset_index_at;
    int64_t column_index_at;
    int64_t bloom_at;   /* of its Bloom filter; 0: there is none */
    int64_t bloom_size; /* 0: not known */
    int32_t offset_index_size;
    int32_t column_index_size;
    int32_t data_pages; /* -1: not known */
    int32_t codec;
    int32_t entries; /* of the dictionary, for gr_parquet_distinct(); -1: not looked at yet */
    bool has_dictionary;
    bool is_coded; /* no page has values but codes of the dictionary */
    bool encrypted;
    bool elsewhere; /* in another file */
    struct gr_parquet_stats stats;
};

struct gr_parquet_group {
    int64_t rows;
    struct gr_parquet_chunk *chunks; /* by leaf */
};

struct gr_parquet;

/* A key in the footer: positions of leaves that are durations in microseconds, with spaces between. */
#define GR_PARQUET_DURATIONS "granary.durations"

/*
 * Read the footer of a file of that size. path is for messages.
 *
 * Errors  ETYPE no Parquet file · EUNSUPPORTED it is encrypted, ... · ECORRUPT · EIO · ENOMEM; with the path
 */
granary_err gr_parquet_open(int fd, uint64_t file_size, const char *path, struct gr_parquet **ret_file);
/* The same of a footer in memory, between the magic and the length; *takes* bytes. Messages are without a path. */
granary_err gr_parquet_parse(uint8_t *bytes, size_t size, uint64_t file_size, struct gr_parquet **ret_file);
void gr_parquet_close(struct gr_parquet *file); /* NULL is fine */

/* Valid until it is closed. */
const struct gr_parquet_column *gr_parquet_columns(const struct gr_parquet *file, size_t *ret_count);
const struct gr_parquet_leaf *gr_parquet_leaves(const struct gr_parquet *file, size_t *ret_count);
const struct gr_parquet_group *gr_parquet_groups(const struct gr_parquet *file, size_t *ret_count);
int64_t gr_parquet_rows(const struct gr_parquet *file);

/* That the wanted columns (NULL: all) can be read. Errors: EUNSUPPORTED names those that cannot, and the others · ENOMEM
 */
granary_err gr_parquet_check(const struct gr_parquet *file, const bool *wanted);

/* ---- statistics ---- */

/* Integers of all kinds, dates, times, timestamps, bools: integer. Floats, decimals: real (decimals: rounded outwards, in units
 * of 10^-scale). Text: the first 8 bytes, padded with zeros. As data/frame.h has them. */
union gr_parquet_bound {
    int64_t integer;
    double real;
    char text[8];
};

struct gr_parquet_bounds {
    bool known;    /* no value but NaN is outside of min and max */
    bool has_nan;  /* there may be NaN */
    int64_t nulls; /* -1: not known */
    union gr_parquet_bound min, max;
};

/* What statistics tell of a leaf's values, so many with nulls. What cannot be true is not known. */
struct gr_parquet_bounds
gr_parquet_bounds(const struct gr_parquet_leaf *leaf, const struct gr_parquet_stats *stats, int64_t values);

/* At most about so many different values in a column, by bounds of integers or by the entries of dictionaries, whose pages are
 * looked at in the file; null is none. 0: nobody knows. Not while others use the file. */
uint64_t gr_parquet_distinct(struct gr_parquet *file, int fd, const char *column);

/* ---- Bloom filters: split blocks, XXH64 ---- */

enum { GR_PARQUET_BLOOM_HEAD = 64, GR_PARQUET_BLOOM_BLOCK = 32 }; /* bytes: a head has at most so many */

/* A filter's head, which so many bytes of the file begin with. Errors: ECORRUPT · EUNSUPPORTED another kind of filter */
granary_err gr_parquet_bloom_head(const uint8_t *bytes, size_t size, size_t *ret_head, uint64_t *ret_bytes);
/* Where the block is that tells of a hash, in a filter of so many bytes. */
uint64_t gr_parquet_bloom_block(uint64_t bytes, uint64_t hash);
/* A value of that hash is in the column. */
void gr_parquet_bloom_set(uint8_t block[GR_PARQUET_BLOOM_BLOCK], uint64_t hash);
/* false: no value of that hash is in the column. */
bool gr_parquet_bloom_has(const uint8_t block[GR_PARQUET_BLOOM_BLOCK], uint64_t hash);

/* ---- pages ---- */

enum gr_parquet_page_type {
    GR_PARQUET_PAGE_DATA = 0,
    GR_PARQUET_PAGE_INDEX = 1,
    GR_PARQUET_PAGE_DICTIONARY = 2,
    GR_PARQUET_PAGE_DATA_V2 = 3,
};

struct gr_parquet_page {
    enum gr_parquet_page_type type;
    size_t head; /* bytes of the header */
    uint32_t size;
    uint32_t raw_size;
    uint32_t values; /* nulls too */
    int32_t encoding;
    int32_t level_encoding;  /* v1: of definition levels */
    int32_t repeat_encoding; /* v1: of repetition levels, where there are lists */
    bool has_crc;
    uint32_t crc;
    /* v2: levels lie before the values, and are never compressed */
    uint32_t nulls;
    uint32_t rows;
    uint32_t levels_size;
    uint32_t repeats_size;
    bool compressed;
};

/* The header at the begin of so many bytes. Errors: ECORRUPT */
granary_err gr_parquet_page_read(const uint8_t *bytes, size_t size, struct gr_parquet_page *ret_page);

/* ---- page index ---- */

struct gr_parquet_place {
    int64_t at;
    int64_t first_row; /* within the row group */
    uint32_t size;     /* with the header */
};

/* Where a chunk's data pages are: of a row group with so many rows. *ret_places is to be freed. Errors: ECORRUPT · ENOMEM
 */
granary_err gr_parquet_offset_index(const uint8_t *bytes, size_t size, const struct gr_parquet_chunk *chunk,
                                    int64_t rows, struct gr_parquet_place **ret_places, size_t *ret_count);
/* Statistics of each page, whose bounds lie in bytes. *ret_stats is to be freed. all_null: of pages without a value,
 * whose bounds say nothing. Errors: ECORRUPT another number of pages than count · ENOMEM */
granary_err gr_parquet_column_index(const uint8_t *bytes, size_t size, size_t count,
                                    struct gr_parquet_stats **ret_stats, bool **ret_all_null);

#endif
