/*
 * The column directory and zone map of a frame object: what a reader needs to use the columns of the Arrow file in the
 * object's data without parsing it. It fills the object's metadata region; docs/formats.md, "Frame objects", tells the
 * same in prose. Little-endian.
 */
#ifndef DATA_DIRECTORY_H
#define DATA_DIRECTORY_H

#include "data/frame.h"

#define GR_DIRECTORY_MAGIC   0x726d7267u /* "grmr" */
#define GR_DIRECTORY_VERSION 2u

struct gr_directory {
    uint32_t magic;
    uint16_t version;
    uint16_t entry_size; /* sizeof(struct gr_directory_column); entries follow this header */
    uint32_t columns;
    uint32_t names_size; /* bytes of names, each with its NUL, behind the entries */
    int64_t rows;
    uint64_t data_size; /* of the Arrow file */
    uint64_t reserved[4];
};

enum {
    GR_DIRECTORY_ZONE = 1,    /* min and max are there */
    GR_DIRECTORY_NAN = 2,     /* a NaN is among the values; min and max leave it out */
    GR_DIRECTORY_ENCODED = 4, /* dictionary-encoded strings: values are int32 positions in the dictionary */
};

struct gr_directory_column {
    uint32_t name_offset; /* among the names, which follow one another in the order of the columns */
    uint32_t name_length; /* without the NUL */
    uint16_t dtype;       /* lists: GRANARY_LIST alone */
    uint16_t flags;
    uint32_t item; /* lists: the dtype of the items; else 0 */
    int64_t null_count;
    uint64_t validity_offset; /* buffers: where in data, multiples of 64; size 0: there is none */
    uint64_t validity_size;
    uint64_t offsets_offset;
    uint64_t offsets_size;
    uint64_t values_offset;
    uint64_t values_size;
    /* Dictionary-encoded strings, which have no offsets of their own: how many strings are in the dictionary, its
     * offsets and text. Lists, whose values are those of the items: how many items there are, their offsets when they
     * are strings, and their bitmap, in place of the text. How many of them are null is in min. */
    int64_t entries;
    uint64_t entry_offsets_offset;
    uint64_t entry_offsets_size;
    uint64_t entry_text_offset;
    uint64_t entry_text_size;
    int64_t distinct; /* as in struct gr_column_stats, min and max as well */
    union gr_zone_bound min, max;
};

_Static_assert(sizeof(struct gr_directory) == 64, "layout");
_Static_assert(sizeof(struct gr_directory_column) == 136, "layout");

uint64_t gr_directory_size(const granary_frame *frame);

/* Header and names; then gr_directory_put() for each column. meta: gr_directory_size() bytes. */
void gr_directory_begin(const granary_frame *frame, uint64_t data_size, void *meta);
/* Dtype, nulls, zone and distinct values of a column. place: its buffers' offsets and sizes, and its zone with the
 * flags that tell of it; flags 0: it is not made yet. counted: whether different values are counted. */
void gr_directory_put(const granary_frame *frame, size_t position, const struct gr_directory_column *place,
                      bool counted, void *meta);

/* Fewer rows than before, once its columns have no more nulls than that. In one step. */
void gr_directory_set_rows(void *meta, int64_t rows);

/* Whether meta begins with a directory of this version. */
bool gr_directory_is(const void *meta, uint64_t meta_size);
/* Entry of a column in a directory that gr_directory_read() has accepted. */
void gr_directory_get(const void *meta, size_t position, struct gr_directory_column *ret_column);

/* The dtype of an entry, which may be none (gr_dtype_is()). */
static inline granary_dtype
gr_directory_dtype(const struct gr_directory_column *entry)
{
    return entry->dtype == GRANARY_LIST && entry->item <= UINT16_MAX ? GRANARY_LIST(entry->item)
                                                                     : (granary_dtype)entry->dtype;
}

/* What an entry tells of its column's values. */
struct gr_column_stats gr_directory_stats(const struct gr_directory_column *entry);

/* The columns of a directory one after another, without a look at the data. */
struct gr_directory_reader {
    const void *meta;
    struct gr_directory head;
    uint32_t next; /* position; below head.columns when there is one more */
    uint32_t names_at;
};
/* Errors: ECORRUPT the directory does not fit an object with data_size bytes of data */
granary_err
gr_directory_open(const void *meta, uint64_t meta_size, uint64_t data_size, struct gr_directory_reader *ret_reader);
/* The next column, of which only the name is checked. name: within meta. Errors: ECORRUPT */
granary_err
gr_directory_next(struct gr_directory_reader *reader, const char **ret_name, struct gr_directory_column *ret_entry);

/*
 * The frame a directory describes, borrowing data. Every bound is checked; the order of a string column's offsets is
 * not (that would touch every row), only its first and last.
 * Errors: ECORRUPT names what does not fit · ENOMEM
 */
granary_err gr_directory_read(const void *data, uint64_t data_size, const void *meta, uint64_t meta_size,
                              granary_frame **ret_frame);

/*
 * The same with some of the columns, in their order: of the others nothing in data is looked at.
 *
 * data    NULL: the columns have no values, only what the directory tells of them (gr_frame_stats())
 * wanted  one a column of the directory; NULL: all
 */
granary_err gr_directory_read_columns(const void *data, uint64_t data_size, const void *meta, uint64_t meta_size,
                                      const bool *wanted, granary_frame **ret_frame);

#endif
