/*
 * granary: read what objects contain: frame chunks (Arrow IPC files) and tensor chunks (NPY files), in place; and make
 * such objects.
 */
#ifndef GRANARY_FRAME_H
#define GRANARY_FRAME_H

#include "granary/store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum granary_dtype {
    GRANARY_NULLTYPE = 0, /* a column without any value */
    GRANARY_BOOL = 1,     /* frames: bitmap, least significant bit first; tensors: one byte */
    GRANARY_INT64 = 2,
    GRANARY_FLOAT64 = 3,
    GRANARY_STRING = 4,    /* UTF-8, int32 offsets */
    GRANARY_DATE = 5,      /* int32 days since 1970-01-01 */
    GRANARY_TIMESTAMP = 6, /* int64 microseconds since 1970-01-01T00:00:00, without a zone */
    GRANARY_INT32 = 7,
    GRANARY_FLOAT32 = 8,
    GRANARY_INT8 = 9,
    GRANARY_INT16 = 10,
    GRANARY_UINT8 = 11,
    GRANARY_UINT16 = 12,
    GRANARY_UINT32 = 13,
    GRANARY_UINT64 = 14,
    GRANARY_DURATION = 15,    /* int64 microseconds */
    GRANARY_DECIMAL = 16,     /* the kind: a column's dtype is GRANARY_DECIMAL(scale) */
    GRANARY_TIME = 17,        /* int64 microseconds since midnight, below those of a day */
    GRANARY_TIMESTAMPTZ = 18, /* an instant: int64 microseconds since 1970-01-01T00:00:00 UTC */
    GRANARY_BINARY = 19,      /* bytes as strings are, in no encoding */
    GRANARY_COMPLEX64 = 20,   /* tensors only: two floats, the real part first */
    GRANARY_COMPLEX128 = 21,  /* tensors only: two doubles */
    GRANARY_LIST = 24,        /* the kind: a column's dtype is GRANARY_LIST(dtype of its items) */
} granary_dtype;

/* Exact decimals: 16-byte little-endian two's complement integers, 10^-scale each, of at most 38 digits; 0 <= scale <=
 * 38. Frames only. */
#define GRANARY_DECIMAL(scale)     ((granary_dtype)(16u + ((unsigned)(scale) << 8)))
#define GRANARY_DECIMAL_SCALE_MOST 38
#define GRANARY_DECIMAL_DIGITS     38

/* Lists of values of one dtype, which is neither a list nor GRANARY_NULLTYPE. Frames only. */
#define GRANARY_LIST(item)       ((granary_dtype)(24u + ((unsigned)(item) << 8)))
#define GRANARY_LIST_ITEM(dtype) ((granary_dtype)((unsigned)(dtype) >> 8))

/* "int64" for GRANARY_INT64, "decimal(2)" for GRANARY_DECIMAL(2), "list(int64)" for GRANARY_LIST(GRANARY_INT64). Static
 * storage. */
GRANARY_API const char *granary_dtype_name(granary_dtype dtype);

/* A column in Arrow's layout; pointers lead into the mapped object. */
typedef struct granary_column {
    const char *name; /* UTF-8, NUL-terminated */
    granary_dtype dtype;
    int64_t rows;
    int64_t null_count;
    const uint8_t *validity; /* bitmap, 1: there is a value; NULL: all are there */
    const void *values;      /* rows values; strings, binaries: the bytes; lists: a granary_column, the items of all */
    const int32_t *offsets;  /* strings, binaries and lists, but not dictionary-encoded ones: rows + 1 */
    /* Strings and binaries only, NULL for plain ones. Dictionary-encoded: a plain column of the dtype, of distinct values
     * without nulls. The values are int32 positions in it, 0 under nulls; there are no offsets. */
    const struct granary_column *dictionary;
} granary_column;

/* The items of a column of lists: those of a row are from offsets[row] to offsets[row + 1]. NULL for other columns.
 * Their own dictionary is NULL, and their name is not used. */
GRANARY_API const granary_column *granary_column_items(const granary_column *column);

/* The string or bytes of a row, of plain and of dictionary-encoded columns; not NUL-terminated. NULL and length 0 for a
 * null. */
GRANARY_API const char *granary_column_text(const granary_column *column, int64_t row, size_t *ret_length);

/* A frame, mapped. */
typedef struct granary_frame granary_frame;

/*
 * Read a leased object as a frame: in place, or a copy where an Arrow file of another writer has a layout of its own.
 *
 * view       must stay leased as long as the frame is used
 * Errors     ETYPE it is no Arrow file · EUNSUPPORTED a column type granary does not read ·
 *            ECORRUPT · ENOMEM
 */
GRANARY_API granary_err granary_frame_open(const granary_view *view, granary_frame **ret_frame);

#define GRANARY_ROWS_REST (-1)

/*
 * Some rows of some columns of a frame object, as a copy. Of a spilled object only the frames with these rows are
 * read, so a few rows cost little, whatever its size. An Arrow file of another writer is brought back as a whole.
 *
 * from, rows      EINVAL when they reach beyond the frame; rows GRANARY_ROWS_REST: up to its end
 * names           of the columns, in the order that is wanted, each once; NULL: all
 * timeout_ms      as of granary_object_get()
 * ret_frame       to be closed with granary_frame_close()
 * Errors          as granary_object_get() and granary_frame_open() · ENOENT names a column that is not there
 */
GRANARY_API granary_err granary_frame_read_rows(granary_client *client, granary_id id, int64_t from, int64_t rows,
                                                const char *const *names, size_t count, int timeout_ms,
                                                granary_frame **ret_frame);
/*
 * Put columns into the store as one sealed frame object.
 *
 * columns  count columns of rows values each, borrowed until this returns, at any alignment, of any dtype. Names are
 *          UTF-8, each once. validity NULL means no nulls. offsets may begin above 0. Dictionaries and lists
 *          are as in granary_column. Items may be more than the last offset tells. null_count, and values under
 *          nulls, are ignored
 * id       in: of the new object, or all zero for a new one; out: the object's
 * Errors   EINVAL an impossible column, which the message names · as granary_object_put(). These are impossible: an
 *          unknown dtype, offsets that go backwards, text that is not UTF-8, a code outside its dictionary, and a
 *          dictionary with a value twice
 */
GRANARY_API granary_err granary_frame_put(granary_client *client, const granary_column *columns, size_t count,
                                          int64_t rows, granary_id *id);
/*
 * granary_frame_put() with options of the object; NULL is the default.
 *
 * Errors  as granary_frame_put() and granary_object_create_with()
 */
GRANARY_API granary_err granary_frame_put_with(granary_client *client, const granary_column *columns, size_t count,
                                               int64_t rows, const granary_object_options *options, granary_id *id);
/* Its columns are not valid any more; the view it was opened on stays. NULL is fine. */
GRANARY_API void granary_frame_close(granary_frame *frame);
/* How many rows it has. */
GRANARY_API int64_t granary_frame_rows(const granary_frame *frame);
/* How many columns it has. */
GRANARY_API size_t granary_frame_columns(const granary_frame *frame);
/* The column at a position, from 0; NULL when there is none. Valid until granary_frame_close(). */
GRANARY_API const granary_column *granary_frame_column(const granary_frame *frame, size_t position);
/* The column of that name; NULL when there is none. Valid until granary_frame_close(). */
GRANARY_API const granary_column *granary_frame_column_named(const granary_frame *frame, const char *name);

/* A tensor, mapped: C order. */
typedef struct granary_tensor {
    granary_dtype dtype;
    int dims;
    int64_t shape[8];
    const void *values;
} granary_tensor;

/* Read a leased object as a tensor, without a copy. Errors: ETYPE it is no NPY file · EUNSUPPORTED · ECORRUPT */
GRANARY_API granary_err granary_tensor_open(const granary_view *view, granary_tensor *ret_tensor);

/*
 * Put a tensor (C order, at any alignment) into the store as a sealed object.
 *
 * id      in: of the new object, or all zero for a new one; out: the object's
 * Errors  EINVAL dtype (bool, integers, floats and complex numbers are possible) or shape · as granary_object_put()
 */
GRANARY_API granary_err granary_tensor_put(granary_client *client, const granary_tensor *tensor, granary_id *id);

#ifdef __cplusplus
}
#endif
#endif
