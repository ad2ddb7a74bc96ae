/*
 * Frames and columns in memory, in Arrow's layout. A frame read from an object borrows its bytes; a frame that was
 * built owns them.
 *
 * Values under a null are zero (strings: empty), so that equal frames are equal bytes.
 */
#ifndef DATA_FRAME_H
#define DATA_FRAME_H

#include <stdbool.h>

#include "base/text/buf.h"
#include "base/text/names.h"
#include "granary/frame.h"

struct gr_dictionary;

struct gr_column {
    granary_column view;              /* what readers use; name is owned by the frame */
    bool owned;                       /* validity, values and offsets are ours (64-byte aligned heap) */
    struct gr_dictionary *dictionary; /* what view.dictionary is part of, counted; NULL: none, or somebody else's */
    struct gr_column *items;          /* lists: what view.values is, to be freed with this; NULL: somebody else's */
};

/* Columns of a frame that are not there, and are made of those rows alone that somebody asks for. */
struct gr_frame_late {
    /* rows: of the frame, rising. Errors: ENOENT it has no such column · of whoever makes it */
    granary_err (*take)(struct gr_frame_late *late, const char *name, const int64_t *rows, int64_t count,
                        struct gr_column *ret_column);
    void (*destroy)(struct gr_frame_late *late);
};

struct granary_frame {
    int64_t rows;
    size_t count;
    struct gr_column *columns;
    struct gr_names names;         /* of columns that gr_frame_set() has set, one after the other */
    struct gr_column_stats *stats; /* one a column; NULL: nothing is known */
    granary_frame *plain;          /* gr_frame_plain() */
    struct gr_frame_late *late;    /* owned; NULL: all columns are there */
};

/* ---- dtypes ---- */

/* A column of an Arrow file that cannot be read: in schemas only, where it is refused when somebody wants it. */
#define GR_DTYPE_OTHER ((granary_dtype)0xff)

/* What to switch on: a dtype without the scale of decimals. */
static inline granary_dtype
gr_dtype_kind(granary_dtype dtype)
{
    return (granary_dtype)((unsigned)dtype & 0xffu);
}
/* Decimals: the scale; 0 for others. */
static inline int
gr_dtype_scale(granary_dtype dtype)
{
    return gr_dtype_kind(dtype) == GRANARY_DECIMAL ? (int)((unsigned)dtype >> 8) : 0;
}
static inline bool
gr_dtype_is_list(granary_dtype dtype)
{
    return gr_dtype_kind(dtype) == GRANARY_LIST;
}
/* Whether values are bytes of any length, with offsets or a dictionary: strings, and binaries, which need not be UTF-8. */
static inline bool
gr_dtype_is_text(granary_dtype dtype)
{
    return dtype == GRANARY_STRING || dtype == GRANARY_BINARY;
}
/* Whether a number out of a file is a dtype. */
bool gr_dtype_is(unsigned number);

/* Bits, least significant first, as Arrow has them. */
static inline bool
gr_bit(const uint8_t *bits, int64_t i)
{
    return (bits[i >> 3] >> (i & 7) & 1) != 0;
}
static inline void
gr_bit_set(uint8_t *bits, int64_t i)
{
    bits[i >> 3] = (uint8_t)(bits[i >> 3] | 1u << (i & 7));
}
static inline bool
gr_is_null(const granary_column *column, int64_t row)
{
    return column->validity != NULL && !gr_bit(column->validity, row);
}
static inline int64_t
gr_bitmap_bytes(int64_t rows)
{
    return (rows + 7) / 8;
}

/* Bytes of one value; 0 for strings, binaries, lists, bools (bits) and the null type. */
size_t gr_dtype_size(granary_dtype dtype);
/* The same of a column's values: 4 for dictionary-encoded strings. */
static inline size_t
gr_value_size(const granary_column *column)
{
    return column->dictionary != NULL ? sizeof(int32_t) : gr_dtype_size(column->dtype);
}
/* A frame's dtype of a name as granary_dtype_name() gives it; GRANARY_NULLTYPE when there is none. */
granary_dtype gr_dtype_parse(const char *name);

/* A frame of count columns, all zero, to be filled with gr_frame_set(). NULL: out of memory; what is put into it, or
 * made of it by gr_frame_give(), then says so. */
granary_frame *gr_frame_create(size_t count, int64_t rows);
void gr_frame_destroy(granary_frame *frame); /* NULL is fine */
/* The end of making a frame: after an error it is destroyed, else *ret_frame is it. Returns err. */
granary_err gr_frame_give(granary_frame *frame, granary_err err, granary_frame **ret_frame);
/* *takes* the column (owned buffers); copies name. Errors: ENOMEM (the column is destroyed) */
granary_err gr_frame_set(granary_frame *frame, size_t position, const char *name, struct gr_column *column);
/* Put a column of another frame in, borrowed: its values must outlive this one. Errors: ENOMEM */
granary_err
gr_frame_set_borrowed(granary_frame *frame, size_t position, const char *name, const granary_column *column);
/* *Takes* a column out of another frame, of which its name alone is left there. Errors: ENOMEM */
granary_err gr_frame_move(granary_frame *frame, size_t position, granary_frame *from, size_t from_position);
/* Position of a column, or -1. */
int gr_frame_find(const granary_frame *frame, const char *name);
/* Whether a column is not there, and made when somebody asks for rows of it. */
static inline bool
gr_frame_is_late(const granary_frame *frame, const char *name)
{
    return frame->late != NULL && gr_frame_find(frame, name) < 0;
}

/* ---- what is known of columns ---- */

union gr_zone_bound {
    int64_t integer;
    double real;
    char text[8];
};

/* Of a column of a stored frame, without a look at its values. */
struct gr_column_stats {
    int64_t nulls;
    /* How many different values there are, nulls aside. Encoded columns: entries of the dictionary, some of which may
     * not be used; others: an estimate. 0: unknown. */
    int64_t distinct;
    uint64_t bytes; /* of its buffers, with the dictionary's; 0: unknown */
    bool has_zone;  /* min and max are there: of the values that are neither null nor NaN */
    bool has_nan;
    /* Integers of all kinds, dates, times, timestamps, durations, bools: integer (uint64 beyond INT64_MAX: there is no zone).
     * Floats, decimals: real (decimals: rounded outwards, in units of 10^-scale). Strings: the first 8 bytes, padded
     * with zeros: no value is less than min, and none's first 8 bytes are more than max. */
    union gr_zone_bound min, max;
};

/*
 * What gr_arrow_read() of an object with a directory leaves to its writer: null counts, that string offsets ascend,
 * that positions are in their dictionaries. Kernels rely on it; who reads what anybody may have written asks first.
 * Errors: ECORRUPT names the column
 */
granary_err gr_frame_check(const granary_frame *frame);
/* Whether the offsets of so many strings (one more than they are) begin at 0 or above, and never go backwards. */
bool gr_offsets_ascend(const int32_t *offsets, int64_t rows);

/* NULL: the frame has no directory (it was made in memory, or by another writer). */
const struct gr_column_stats *gr_frame_stats(const granary_frame *frame, size_t position);

/* 64-byte aligned, zeroed up to the next 64 bytes, freed with free(). NULL: out of memory. */
void *gr_data_alloc(size_t size);

/* An owned column with room for rows values (strings: text_bytes of text; lists: all are empty), zeroed; with_validity:
 * a bitmap of zeros. */
granary_err gr_column_alloc(granary_dtype dtype, int64_t rows, int64_t text_bytes, bool with_validity,
                            struct gr_column *ret_column);
/* The same without zeros but for the bitmap: for a caller who writes every value (and, for strings, every offset). */
granary_err gr_column_alloc_unset(granary_dtype dtype, int64_t rows, int64_t text_bytes, bool with_validity,
                                  struct gr_column *ret_column);
void gr_column_free(struct gr_column *column);
/* An owned column of so many empty lists, to be filled: offsets, which are zero, are the caller's to write. *Takes* items,
 * also when it fails; encoded ones are decoded. Errors: ENOMEM · EFULL */
granary_err gr_list_create(struct gr_column *items, int64_t rows, bool with_validity, struct gr_column *ret_column);
/* The same lists without items that belong to no row or lie under nulls, as a new owned column, items owned too. Errors:
 * ENOMEM */
granary_err gr_list_compact(const granary_column *column, struct gr_column *ret_column);
/*
 * Lists from anywhere as a new owned column of that dtype: list i has the items in the run that at() gives, whose column
 * is NULL for a null. Asked twice for each. Errors: ENOMEM, EFULL over 2^31 - 1 items
 */
struct gr_run;
typedef struct gr_run gr_list_at(const void *context, int64_t i);
granary_err
gr_list_gather(granary_dtype dtype, int64_t count, gr_list_at *at, const void *context, struct gr_column *ret_column);
/* The items of a column of lists. */
static inline const granary_column *
gr_list_items(const granary_column *column)
{
    return (const granary_column *)column->values;
}
/* Count nulls, drop a bitmap without zeros, zero the values under nulls. To be called when a built column is complete.
 */
void gr_column_finish(struct gr_column *column);
/* The first half: for who has written zeros under the nulls. */
void gr_column_settle(struct gr_column *column);

/*
 * Rows indices[0..count) of a column as a new owned one; index -1 gives null. An encoded column stays one, with the
 * same dictionary, unless that would be much more than the rows. Errors: ENOMEM, EFULL over 2 GiB of text
 */
granary_err
gr_column_take(const granary_column *column, const int64_t *indices, int64_t count, struct gr_column *ret_column);
/* Rows [from, from + rows) of a column. */
struct gr_run {
    const granary_column *column;
    int64_t from;
    int64_t rows;
};
/* Runs of columns of one dtype (a NULLTYPE column fits any), one after the other, as a new owned column of that dtype.
 * Encoded runs give an encoded column when all are encoded and it pays; their dictionaries are made one.
 * Errors: ENOMEM, EFULL over 2 GiB of text */
granary_err
gr_column_concat(const struct gr_run *runs, size_t count, granary_dtype dtype, struct gr_column *ret_column);
/* gr_column_take() of all columns. */
granary_err gr_frame_take(const granary_frame *frame, const int64_t *indices, int64_t count, granary_frame **ret_frame);
/* Rows [from, from + count) as a new owned frame. Errors: EINVAL not within the frame · ENOMEM */
granary_err gr_frame_slice(const granary_frame *frame, int64_t from, int64_t count, granary_frame **ret_frame);
/*
 * One after the other, as a new owned frame. All must have the same names and dtypes (a NULLTYPE column fits any).
 * Errors: ETYPE names the column · EFULL over 2 GiB of text in a column · ENOMEM
 */
granary_err gr_frame_concat(const granary_frame *const *frames, size_t count, granary_frame **ret_frame);

/* ---- dictionaries (dictionary.c) ---- */

/* *Takes* entries: a plain string column, its values distinct, none null. One reference is the caller's. Errors: ENOMEM
 * (the column is destroyed) */
granary_err gr_dictionary_create(struct gr_column *entries, struct gr_dictionary **ret_dictionary);
/* NULL is fine. */
struct gr_dictionary *gr_dictionary_ref(struct gr_dictionary *dictionary);
void gr_dictionary_unref(struct gr_dictionary *dictionary);
/* A reference to the dictionary that entries (view.dictionary) are part of; NULL: of none, they are a caller's own. */
struct gr_dictionary *gr_dictionary_hold(const granary_column *entries);
/* A reference to the dictionary of a column (column->dictionary) that outlives the column: the same one, or a copy.
 * Errors: ENOMEM */
granary_err gr_dictionary_keep(const granary_column *entries, struct gr_dictionary **ret_dictionary);
/* Whether so many rows are worth so many entries beside them. */
bool gr_dictionary_pays(int64_t entries, int64_t rows);
const granary_column *gr_dictionary_entries(const struct gr_dictionary *dictionary);
/* Whether two dictionaries have the same entries in the same order. */
bool gr_dictionary_equals(const granary_column *a, const granary_column *b);

/* One dictionary for several: what the codes of each become in it. */
struct gr_unified {
    struct gr_dictionary *dictionary; /* counted */
    uint32_t **maps;                  /* one for each; NULL where there was none. Neighbours may share one */
    size_t count;
};
/* All entries in the order in which they are first seen; NULL is no dictionary. Errors: ENOMEM · EFULL */
granary_err
gr_dictionaries_unify(const granary_column *const *dictionaries, size_t count, struct gr_unified *ret_unified);
void gr_unified_free(struct gr_unified *unified);

/* Whether a plain string column without nulls has no value twice. false also when memory is short. */
bool gr_column_is_distinct(const granary_column *column);
/* Make a finished int32 column of positions (0 under nulls) a string column; *takes* the reference. */
void gr_column_set_dictionary(struct gr_column *codes, struct gr_dictionary *dictionary);
/*
 * Every string of some plain columns once, nulls aside, in ascending order of their bytes, as a new owned plain column.
 * *ret_fits false, and nothing is made: there are more than limit. Errors: ENOMEM, EFULL over 2 GiB of text
 */
granary_err gr_dictionaries_join(const granary_column *const *columns, size_t count, int64_t limit, bool *ret_fits,
                                 struct gr_column *ret_entries);
/* ret_positions[row] is where a plain column's string stands in what gr_dictionaries_join() made; 0 for a null.
 * Errors: EINVAL one is not there · ENOMEM */
granary_err gr_dictionary_positions(const granary_column *joined, const granary_column *column, int32_t *ret_positions);
/* A string column of either kind as a new owned plain one. Errors: ENOMEM, EFULL */
granary_err gr_column_decode(const granary_column *column, struct gr_column *ret_column);
/* A plain string column as a new owned encoded one, entries in the order in which they are first seen. *ret_pays
 * false, and nothing is made: there are more than a quarter as many entries as rows. Errors: ENOMEM */
granary_err gr_column_encode(const granary_column *column, bool *ret_pays, struct gr_column *ret_column);
/* The same frame without encoded columns, borrowing what was plain from it. Errors: ENOMEM, EFULL */
granary_err gr_frame_decode(const granary_frame *frame, granary_frame **ret_frame);
/* The same frame without encoded columns: it itself, or one that it keeps, and that borrows from it. Not for frames
 * that several threads use. Errors: ENOMEM, EFULL */
granary_err gr_frame_plain(const granary_frame *frame, const granary_frame **ret_frame);

/* The bytes of a string, of either kind of column; the row is not null. */
static inline const char *
gr_text_at(const granary_column *column, int64_t row, size_t *ret_length)
{
    const granary_column *text = column;

    if (column->dictionary != NULL) {
        row = ((const int32_t *)column->values)[row];
        text = column->dictionary;
    }
    *ret_length = (size_t)(text->offsets[row + 1] - text->offsets[row]);
    return (const char *)text->values + text->offsets[row];
}

/* One value as text (no quotes; a null gives nothing): int 12, float shortest form that reads back, true/false,
 * 2020-01-31, 2020-01-31T12:00:00[.ffffff], instants the same with a Z, times 12:00:00[.ffffff], durations
 * [-]1d 02:03:04[.ffffff], decimals with all digits of their scale, strings as they are. Lists [1, NULL, 3]: strings
 * in them have single quotes when they need some. */
void gr_value_format(const granary_column *column, int64_t row, struct gr_buf *out);

#endif
