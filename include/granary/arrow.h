/*
 * granary: frames to and from other libraries of this process, by Arrow's C data and stream interfaces (libgranary).
 * DuckDB, Polars, pyarrow, R and many more take and give these structs. docs/arrow.md shows how, and lists the types.
 *
 * An array that is given out has a share of the lease on its object, and holds the client. So it stays valid when the
 * object is deleted, the store is killed, or granary_disconnect() is called. The last release ends the lease.
 *
 * Threads   release() of arrays and schemas may be called from any thread; a stream belongs to one thread at a time
 * Fork      In a forked child release() frees memory of the child alone. The values stay valid there as long as the
 *           parent has its lease.
 */
#ifndef GRANARY_ARROW_H
#define GRANARY_ARROW_H

#include "granary/mutable.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As https://arrow.apache.org/docs/format/CDataInterface.html has them, for every library that includes them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

/* ---- out ---- */

/*
 * Give out a frame that is leased, without a copy: a struct array ("+s") of its columns. The lease is the array's now.
 *
 * Null bitmaps, string offsets and codes are looked at once, so that no other library is led astray.
 *
 * view        of a frame object; all zero when this returns OK, else still the caller's
 * ret_schema  to be released; NULL: it is known already
 * ret_array   to be released
 * Errors      as granary_frame_open() · EFORKED
 */
GRANARY_API granary_err granary_frame_export(granary_client *client, granary_view *view, struct ArrowSchema *ret_schema,
                                             struct ArrowArray *ret_array);

/*
 * The same for a frame that is a copy: of granary_mutable_read_frame(), granary_mutable_read_since() or
 * granary_frame_read_rows(). It is the array's now, and needs no client.
 *
 * frame   not of granary_frame_open(), which rests on a view; after an error it is still the caller's
 * Errors  ECORRUPT · ENOMEM
 */
GRANARY_API granary_err granary_frame_export_owned(granary_frame *frame, struct ArrowSchema *ret_schema,
                                                   struct ArrowArray *ret_array);

/*
 * Streams: every get_next() gives a frame object, without a copy, leased when it is asked for. An error is told by
 * get_last_error(), as granary_error_message() would tell it, and stays. Release a stream early to be done with it. It
 * holds the client and goes on after granary_disconnect().
 *
 * The columns are those of the first frame. A later frame may have strings in the other layout (with a dictionary, or
 * without), or a column of nulls alone. That column is converted, which is a copy.
 */

/*
 * Stream frame objects one after the other.
 *
 * ids         count of them, 1 at least, with the same columns; copied. They must be there until they are asked for
 * ret_stream  to be released
 * Errors      EINVAL no ids · ENOMEM · EFORKED
 */
GRANARY_API granary_err granary_frames_stream(granary_client *client, const granary_id *ids, size_t count,
                                              struct ArrowArrayStream *ret_stream);

/*
 * Stream a frame that a graph makes: its chunks in order, each as soon as it is made. Until then get_schema() and
 * get_next() wait. Their errors are those of granary_graph_next(). A release does not stop the graph: see
 * granary_graph_stop().
 *
 * key, target  as of granary_graph_result(); copied
 * ret_stream   to be released
 * Errors       ENOENT no such graph or target · ETYPE it is a tensor · EUNREACHABLE · ENOMEM · EFORKED
 */
GRANARY_API granary_err granary_target_stream(granary_client *client, const char *key, const char *target,
                                              struct ArrowArrayStream *ret_stream);

/*
 * Stream the rows of a table as it is at a time, which becomes final. Chunks that are complete are given without a
 * copy, by a snapshot that goes with the stream. The table may be changed, closed or deleted meanwhile.
 *
 * table       a frame, also a sealed one, whose rows are the same at any time
 * time        as of granary_mutable_read_frame()
 * ret_stream  to be released
 * Errors      ETYPE it is a tensor · as granary_mutable_snapshot()
 */
GRANARY_API granary_err granary_table_stream(granary_mutable *table, int64_t time, struct ArrowArrayStream *ret_stream);

/*
 * Ask for other types of a stream's columns, before its first array is taken. Strings may have a dictionary or none.
 * Numbers may be of a type that holds all of theirs: int8 to int64, int32 to float64. Columns of nulls alone may be of
 * any type. All others stay as they are: get_schema() tells. Each frame is converted when it is given, which is a copy
 * of those columns.
 *
 * This waits for the first frame, as get_schema() does. After an error the stream is as it was.
 *
 * stream  of granary_frames_stream(), granary_target_stream() or granary_table_stream()
 * schema  a struct ("+s") of the same columns in the same order; borrowed
 * Errors  EINVAL other columns, or another library's stream · ESTATE an array was given already · those of the first
 *         frame
 */
GRANARY_API granary_err granary_stream_request(struct ArrowArrayStream *stream, const struct ArrowSchema *schema);

/* ---- in ---- */

/*
 * Columns that were made of an Arrow array, for granary_frame_put(), granary_mutable_append() and the like. Values are
 * where the array has them, and converted where granary has another layout. Text is looked at by whoever takes them.
 */
typedef struct granary_columns {
    granary_column *columns; /* count of them, of rows values each */
    size_t count;
    int64_t rows;
    void *owned; /* private */
} granary_columns;

/*
 * Make columns of a record batch: of a struct array ("+s").
 *
 * schema       borrowed until this returns, so that it may serve all batches of a stream; names are copied
 * array        taken: released by granary_columns_free(), or at once when there is an error
 * ret_columns  to be given to granary_columns_free()
 * Errors       EINVAL names the column, and what is impossible or does not fit in it · EUNSUPPORTED names the column
 *              and a type that granary does not have · ENOMEM
 */
GRANARY_API granary_err granary_columns_import(const struct ArrowSchema *schema, struct ArrowArray *array,
                                               granary_columns *ret_columns);
/* Release what the columns rest on, and empty them. Columns that are all zero are fine. */
GRANARY_API void granary_columns_free(granary_columns *columns);

/*
 * Put a record batch into the store as one sealed frame object.
 *
 * schema, array  taken: released when this returns, also with an error
 * id             in: of the new object, or all zero for a new one; out: the object's
 * Errors         as granary_columns_import() and granary_frame_put()
 */
GRANARY_API granary_err granary_frame_import_array(granary_client *client, struct ArrowSchema *schema,
                                                   struct ArrowArray *array, granary_id *id);

/*
 * Put all that a stream gives into the store: a sealed frame object for each record batch. Batches without rows are
 * left out. When there is no other, one object without rows keeps the columns.
 *
 * stream   taken: released when this returns, also with an error
 * ret_ids  *ret_count of them, to be freed with free()
 * Errors   as granary_frame_import_array(); after one nothing is left in the store. The stream's own: EINVAL, ENOMEM,
 *          EIO, ETIMEDOUT, ECANCELLED or EUNSUPPORTED as its errno is, else EFAILED, with its message
 */
GRANARY_API granary_err granary_frame_import(granary_client *client, struct ArrowArrayStream *stream,
                                             granary_id **ret_ids, size_t *ret_count);

#ifdef __cplusplus
}
#endif
#endif
