/* Within the room: a column of a row group on its way into pages. */
#ifndef PARQUET_WRITE_PRIVATE_H
#define PARQUET_WRITE_PRIVATE_H

#include "contract/int128.h"
#include "parquet/write/write.h"

#define PUT_GROUP_ROWS ((int64_t)1 << 20) /* of a row group, at most */
#define PUT_PAGE_ROWS  20000              /* of a page; a multiple of 8, as pages begin at whole bytes of bitmaps */
#define PUT_PAGE_BYTES ((int64_t)1 << 20) /* of a page, about, of text */
#define PUT_BOUND_MOST 64                 /* bytes of a text in statistics */
#define PUT_NARROW     18                 /* digits of a decimal that is an int64 */

/* ---- type.c ---- */

/* How values of a dtype lie in memory, and are compared. */
enum put_kind {
    PUT_NULLS,
    PUT_BOOL,
    PUT_I32,
    PUT_U32,
    PUT_I64,
    PUT_U64,
    PUT_F32,
    PUT_F64,
    PUT_DECIMAL,
    PUT_TEXT,
    PUT_BYTES, /* as text, but bounds are cut anywhere */
};

struct put_type {
    enum put_kind kind;
    enum gr_parquet_physical physical;
    int8_t converted; /* the older annotation; -1: none */
    uint8_t bits;     /* integers that are annotated; 0: they are not */
    bool is_signed;
    bool is_list; /* the rest is of the items */
};

/* Of a list's items, of other dtypes themselves. */
static inline granary_dtype
put_item_dtype(granary_dtype dtype)
{
    return ((unsigned)dtype & 0xffU) == GRANARY_LIST ? GRANARY_LIST_ITEM(dtype) : dtype;
}

/* Errors: EINVAL there is no such dtype */
granary_err put_type_of(granary_dtype dtype, struct put_type *ret_type);
/* Decimals as int64, of a dtype whose values have so few digits. */
void put_type_narrow(struct put_type *type);
/* Bytes of a value of that kind; 0: it has no fixed size in whole bytes. */
size_t put_width(enum put_kind kind);

static inline bool
put_is_text(enum put_kind kind)
{
    return kind == PUT_TEXT || kind == PUT_BYTES;
}

/* A decimal in memory: the lower half first. */
struct put_wide {
    uint64_t halves[2];
};

static inline bool
put_bit(const uint8_t *bits, int64_t i)
{
    return (bits[i >> 3] >> (i & 7) & 1) != 0;
}

/* ---- decimal.c ---- */

/* Whether all values of these rows, or of the items of their lists, are decimals of so few digits. */
bool put_can_narrow(const granary_column *column, int64_t from, int64_t rows);

/* ---- dense.c ---- */

/* The values of some rows that are there, one behind the other, as wide as in the file (wide decimals: as in memory). */
struct put_dense {
    enum put_kind kind;
    int64_t rows;
    int64_t count;           /* values that are there */
    const uint8_t *validity; /* from bit 0; NULL: all are there */
    const void *values;      /* numbers; bools: bits */
    bool encoded;            /* text: codes are of a dictionary */
    /* Text: */
    const uint32_t *codes; /* positions in the text; NULL: value i is text first + i */
    const granary_column *text;
    int64_t first;
    void *owned[2];
};

/* Errors: ENOMEM */
granary_err put_dense_make(const granary_column *column, enum put_kind kind, int64_t from, int64_t rows,
                           struct put_dense *ret_dense);
void put_dense_free(struct put_dense *dense);

struct put_text {
    const uint8_t *bytes;
    size_t size;
};

static inline struct put_text
put_text_at(const granary_column *text, int64_t i)
{
    return (struct put_text){.bytes = (const uint8_t *)text->values + text->offsets[i],
                             .size = (size_t)(text->offsets[i + 1] - text->offsets[i])};
}

static inline struct put_text
put_dense_text(const struct put_dense *dense, int64_t i)
{
    return put_text_at(dense->text, dense->codes != NULL ? (int64_t)dense->codes[i] : dense->first + i);
}

/* Append values [from, to), PLAIN. */
void put_plain(const struct put_dense *dense, int64_t from, int64_t to, struct gr_buf *out);

/* ---- dictionary.c ---- */

struct put_dictionary {
    uint32_t count;   /* entries; 0: there is no dictionary */
    uint32_t *firsts; /* entry -> a value (position among those that are there) that is it */
    uint32_t *codes;  /* value -> entry */
    uint32_t *ranks;  /* entry of text -> its place in their order; NULL: nobody asked */
    uint32_t *ranked; /* and back */
};

/* A dictionary, when it makes the column smaller. Errors: ENOMEM */
granary_err put_dictionary_make(const struct put_dense *dense, struct put_dictionary *ret_dictionary);
granary_err put_dictionary_rank(const struct put_dense *dense, struct put_dictionary *dictionary);
void put_dictionary_free(struct put_dictionary *dictionary);

/* ---- bloom.c ---- */

enum put_bloom_wish { PUT_BLOOM_NONE, PUT_BLOOM_CODED, PUT_BLOOM_ASKED };

/* Append the Bloom filter of all values, with its head; none where it makes no sense, or is not wished. Errors: ENOMEM */
granary_err put_bloom(const struct put_dense *dense, const struct put_dictionary *dictionary, enum put_bloom_wish wish,
                      struct gr_buf *out);

/* ---- hybrid.c ---- */

/* Bits of numbers up to that one. */
unsigned put_bits_for(uint32_t most);
/* Append the runs of so many codes, each of so many bits. */
void put_codes(const uint32_t *codes, int64_t count, unsigned bits, struct gr_buf *out);
/* The same with their length before them: levels of lists. */
void put_long_levels(const uint32_t *levels, int64_t count, unsigned bits, struct gr_buf *out);
/* Append definition levels of rows, with their length before them. from: a multiple of 8. */
void put_levels(const uint8_t *validity, int64_t from, int64_t rows, struct gr_buf *out);

/* ---- bounds.c ---- */

union put_number {
    int64_t integer; /* bools, too */
    uint64_t natural;
    float single;
    double real;
    gr_int128 wide;
};

struct put_bound {
    union put_number number;
    struct put_text text; /* as long as the column */
};

struct put_bounds {
    bool known; /* there is a value that is no NaN */
    int64_t nans;
    struct put_bound min, max;
};

struct put_bounds
put_bounds_of(const struct put_dense *dense, const struct put_dictionary *dictionary, int64_t from, int64_t to);
/* Both together, in `into`. */
void put_bounds_join(enum put_kind kind, struct put_bounds *into, const struct put_bounds *other);
/* Append a bound as statistics have it. up: it is the greatest. Returns whether it is exact; text may be cut short. */
bool put_bound_add(enum put_kind kind, const struct put_bound *bound, bool up, struct gr_buf *out);
/* Two bounds as they were appended. <0, 0, >0 */
int put_bounds_compare(enum put_kind kind, const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size);

/* ---- column.c ---- */

struct put_page {
    int64_t at; /* from the begin of the row group */
    int64_t first_row;
    int64_t size;
};

/* What is told of a column of a row group. */
struct put_chunk {
    int64_t values;
    int64_t nulls;
    int64_t nans; /* -1: it has no floats */
    int64_t raw_size;
    int64_t size;
    int64_t dictionary_at; /* from the begin of the row group; -1: there is none */
    int64_t data_at;
    int64_t bloom_at; /* from the end of all pages of the row group */
    uint32_t pages;
    uint32_t codec;
    uint32_t min_size;
    uint32_t max_size;
    uint32_t index_size;
    uint32_t bloom_size; /* 0: there is none */
    bool has_bounds;
    bool min_exact;
    bool max_exact;
};

/* Scratch that columns share. */
struct put_scratch {
    const struct gr_parquet_packer *packer;
    struct gr_buf raw;    /* a page */
    struct gr_buf packed; /* the same */
    struct gr_buf bounds; /* of all pages */
    struct gr_buf blooms; /* of the columns of a row group so far */
    struct gr_buf note;
};

/* Append the pages of a column of a row group to out, which began there, and what is told of them to the note. Errors:
 * EFULL · ENOMEM */
granary_err put_column(struct put_scratch *scratch, const granary_column *column, const struct put_type *type,
                       enum put_bloom_wish bloom, int64_t from, int64_t rows, size_t begin, struct gr_buf *out);

granary_err put_no_memory(void);

#endif
