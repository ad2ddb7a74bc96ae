/*
 * granary: tables and tensors that change. Many processes append to one, and read it at any moment of its past.
 *
 * A mutable frame has columns, and rows that writers append. Each write has a time. A read at a time sees all writes
 * at or before it. It is final: no write at or before that time becomes visible any more. Writers and readers share
 * memory and send no message, and neither waits for the other. docs/mutable.md tells more.
 *
 * Times are nanoseconds since the Unix epoch, or whatever number the writers agree on. Of two writes of one time, the
 * one that was begun later counts as later; rows that are appended come before changes of their time.
 */
#ifndef GRANARY_MUTABLE_H
#define GRANARY_MUTABLE_H

#include <stdbool.h>

#include "granary/frame.h"
#include "granary/hold.h"
#include "granary/read.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A table that is open. Calls on one handle take turns; use one handle a thread where that matters. */
typedef struct granary_mutable granary_mutable;

/* As a write's time: the clock's, or later than what is final. As a read's time: that of the newest write. */
#define GRANARY_NOW INT64_MIN

#define GRANARY_MUTABLE_OPEN 1u /* open the table of that name, if it is there and has the same columns */

/* Which writes to a table survive `granary down`, a power cut, and the machine's restart. */
typedef enum granary_durability {
    GRANARY_DURABLE_NONE = 0,     /* nothing: it lives as long as the instance */
    GRANARY_DURABLE_INTERVAL = 1, /* what is older than an interval */
    GRANARY_DURABLE_COMMIT = 2,   /* every write that has returned */
} granary_durability;

typedef struct granary_mutable_options {
    unsigned flags; /* GRANARY_MUTABLE_... */
    int timeout_ms; /* for room, when memory is full; 0: 30000 */
    granary_durability durability;
    int64_t interval_ns; /* with GRANARY_DURABLE_INTERVAL: above 0 */
} granary_mutable_options;

/*
 * Make a mutable frame of that name in the client's session.
 *
 * name         1 to GRANARY_TEXT_MAX bytes; names of objects and of tables are one set
 * columns      count of them: name and dtype count, nothing else is read
 * options      may be NULL
 * ret_table    to be closed with granary_mutable_close()
 * Errors       EINVAL the name, no columns, or an impossible one · EEXIST the name is taken · ETYPE with
 *              GRANARY_MUTABLE_OPEN: it has other columns · EFULL memory, or too many tables; of a durable one the disk
 *              · EUNSUPPORTED the session is strict, or the store has no disk · EUNREACHABLE · ENOMEM
 * With GRANARY_MUTABLE_OPEN a table that is there keeps its durability.
 */
GRANARY_API granary_err granary_mutable_create_frame(granary_client *client, const char *name,
                                                     const granary_column *columns, size_t count,
                                                     const granary_mutable_options *options,
                                                     granary_mutable **ret_table);

/*
 * Open a mutable frame or tensor. A durable one that only the disk knows is brought back first.
 *
 * Errors  ENOENT no such name · ETYPE the name is of something else · ESEALED · ECORRUPT names an object on disk that
 *         is damaged or missing: see granary_mutable_recover() · as create
 */
GRANARY_API granary_err granary_mutable_open(granary_client *client, const char *name, granary_mutable **ret_table);

/*
 * Open a table to be read, whether it was sealed or not.
 *
 * ret_table  as of granary_mutable_open() or granary_sealed_open()
 * Errors     ENOENT · ETYPE the name is of something else · as these
 */
GRANARY_API granary_err granary_table_open(granary_client *client, const char *name, granary_mutable **ret_table);

/*
 * Bring a durable table back as it was before the first of its objects on disk that is damaged or missing. Later writes
 * are given up, for ever.
 *
 * Errors  ENOENT no such table · ESTATE it is there: nothing is to be recovered · as granary_mutable_open()
 */
GRANARY_API granary_err granary_mutable_recover(granary_client *client, const char *name);

/*
 * Wait until all that was written so far, by whomever, is on disk.
 *
 * Errors  EUNSUPPORTED the table is not durable · EFULL, EIO the disk · ESTATE it was deleted · ESEALED
 */
GRANARY_API granary_err granary_mutable_flush(granary_mutable *table);

/* Close it before its client is disconnected. What was written stays. NULL is fine. */
GRANARY_API void granary_mutable_close(granary_mutable *table);

/*
 * Delete a table, sealed or not, its name at once. Handles that are open get ESTATE from now on; frames that were read
 * stay valid.
 *
 * Errors  ENOENT · ETYPE · EUNREACHABLE
 */
GRANARY_API granary_err granary_mutable_delete(granary_client *client, const char *name);

/* Columns without rows, as the table has them. Valid until the table is closed. NULL: it is a tensor. */
GRANARY_API const granary_frame *granary_mutable_schema(const granary_mutable *table);

typedef struct granary_write_options {
    int64_t time;   /* 0 and GRANARY_NOW: taken from the clock */
    bool forward;   /* a time that is final already is moved forward, instead of an error */
    int timeout_ms; /* for room, when memory is full; 0: 30000 */
    /*
     * Not 0: this write is done once, whoever does it and however often. When the table has a write of this token, the
     * call succeeds, writes nothing, and tells that one's time. The lower 60 bits count; choose them at random.
     */
    uint64_t token;
} granary_write_options;

/*
 * Append rows: all of them become visible at one moment, or none. When it returns, every reader from then on sees them.
 *
 * columns   count of them, in the table's order, with its names and dtypes; rows values each (see granary_column);
 *           borrowed until this returns
 * options   may be NULL
 * ret_time  the time they were written at; may be NULL
 * Blocks    never, but for room when memory is full
 * Errors    EINVAL an impossible column · ETYPE not the table's columns · ESTATE the time is final (the message tells
 *           up to when), or the table was deleted · EFULL · ENOMEM · EUNREACHABLE
 *
 * Of a table that is durable on commit the rows are on disk when this returns. When only that has failed, the message
 * says so: the rows are visible, *ret_time is set, and a later flush may succeed.
 */
GRANARY_API granary_err granary_mutable_append(granary_mutable *table, const granary_column *columns, size_t count,
                                               int64_t rows, const granary_write_options *options, int64_t *ret_time);

/* Rows by their numbers, which granary_mutable_numbers() tells. */
typedef struct granary_rows {
    int64_t from; /* numbers [from, to), when there is no list */
    int64_t to;
    const int64_t *numbers; /* in any order; NULL: none */
    size_t count;           /* of numbers */
} granary_rows;

/*
 * Delete rows: those of these numbers that are there, whatever their times.
 *
 * options    may be NULL
 * ret_count  how many were deleted; may be NULL
 * ret_time   when; may be NULL
 * Errors     EINVAL impossible numbers · as granary_mutable_append()
 */
GRANARY_API granary_err granary_mutable_delete_rows(granary_mutable *table, const granary_rows *rows,
                                                    const granary_write_options *options, int64_t *ret_count,
                                                    int64_t *ret_time);

/*
 * Write over values of rows.
 *
 * columns   count of them, some of the table's; a value for each of the rows, in their order. Of a number that is
 *           there twice the last value counts. Borrowed until this returns
 * options   may be NULL
 * ret_time  may be NULL
 * Errors    ENOENT names the column or row that is not there · ETYPE a column is of another dtype · as
 *           granary_mutable_append()
 */
GRANARY_API granary_err granary_mutable_write_rows(granary_mutable *table, const granary_rows *rows,
                                                   const granary_column *columns, size_t count,
                                                   const granary_write_options *options, int64_t *ret_time);

/*
 * Make a moment of some tables final, for reads that belong together.
 *
 * time    in: a time, or GRANARY_NOW; out: the time to read all of them at
 * Errors  EINVAL a time later than the clock and than every write · ESTATE a table was deleted · ESEALED · ECORRUPT
 */
GRANARY_API granary_err granary_cut(granary_mutable *const *tables, size_t count, int64_t *time);

/*
 * The rows that were written at or before a time, in the order of their numbers, as a copy. Makes that time final.
 *
 * ret_frame  to be closed with granary_frame_close()
 * Errors     as granary_cut() · ECORRUPT what its writers left makes no sense · as granary_object_get() · ENOMEM
 */
GRANARY_API granary_err granary_mutable_read_frame(granary_mutable *table, int64_t time, granary_frame **ret_frame);

/*
 * The rows that were appended later than a time and are there at another one, as a copy: what is new since an earlier
 * read. It costs what the new rows and the changes of the table cost, however many rows there are.
 *
 * after        the time of that read, as it was told; GRANARY_NOW: all rows
 * ret_time     of this read: the next `after`; may be NULL
 * ret_changes  writes over rows, and deletes, in between: not 0: rows of earlier reads may be others now. May be NULL
 * Errors       ESTATE history since then was given up: read all rows · ESEALED the table is sealed, which has no times
 *              · as granary_mutable_read_frame()
 */
GRANARY_API granary_err granary_mutable_read_since(granary_mutable *table, int64_t after, int64_t time,
                                                   granary_frame **ret_frame, int64_t *ret_time, uint64_t *ret_changes);

/*
 * The numbers of the rows of a read. Rows have numbers that ascend, never change, and are not used again.
 *
 * time         as of the read
 * from, count  rows of it, by their positions
 * ret_numbers  count of them
 * Errors       EINVAL it has no such rows · as granary_mutable_read_frame()
 */
GRANARY_API granary_err granary_mutable_numbers(granary_mutable *table, int64_t time, int64_t from, int64_t count,
                                                int64_t *ret_numbers);

/*
 * Keep a table as it is at a time, as an object that does not change, a sealed table. The table goes on. Chunks that
 * are complete are not copied.
 *
 * name    the sealed table's; NULL: none. An object of no name is deleted with granary_object_delete()
 * ret_id  the object, which contains all it needs; may be NULL
 * Errors  EEXIST the name is taken · as granary_mutable_read_frame() · EFULL · ENOMEM
 */
GRANARY_API granary_err granary_mutable_snapshot(granary_mutable *table, int64_t time, const char *name,
                                                 granary_id *ret_id);

/*
 * Make a table as it is at a time one that does not change. The name is the sealed table's in the same moment. Later
 * writes are dropped. Every call on the table, and every open, then fails with ESEALED and the object's id.
 *
 * ret_id  the object; may be NULL
 * Errors  ESEALED it was sealed before · as granary_mutable_snapshot(). After an error the seal may have begun: whoever
 *         opens the table then ends it
 */
GRANARY_API granary_err granary_mutable_seal(granary_mutable *table, int64_t time, granary_id *ret_id);

/*
 * The objects with the rows of a sealed frame, in order: each is a frame, to be got and opened without a copy. Of a
 * tensor: what tells its shape, then the objects in which its chunks lie; granary_sealed_open() reads it.
 *
 * ret_ids  to be freed with free()
 * Errors   ETYPE the object is no sealed table · as granary_object_get()
 */
GRANARY_API granary_err granary_sealed_parts(granary_client *client, granary_id id, granary_id **ret_ids,
                                             size_t *ret_count);

/*
 * Keep others out who also ask for this, while you read a table and write what follows from that. Writers who do not
 * ask are not held up. A handle has the lock, and it ends with the process.
 *
 * Blocks  until whoever has it unlocks, or dies
 * Errors  ESTATE the table was deleted · ESEALED
 */
GRANARY_API granary_err granary_mutable_lock(granary_mutable *table);
/* Let others have the lock. */
GRANARY_API void granary_mutable_unlock(granary_mutable *table);

/* How far back history is kept: one of these. */
typedef struct granary_retain {
    int64_t time;    /* to this time; GRANARY_NOW: to that of the newest write */
    int64_t age_ns;  /* above 0: so long before the clock's time */
    uint64_t writes; /* above 0: so far that the newest `writes` times of writes can be read */
} granary_retain;

/*
 * Give up history, and the memory of what only it needs. Reads at an earlier time are refused from now on; writes at or
 * before that time were final before. Views and frames that were read stay valid.
 *
 * ret_time  to which time history is kept now; may be NULL
 * Errors    EINVAL not one of them is given · as granary_mutable_snapshot(). Log entries, 16 bytes a write, stay
 */
GRANARY_API granary_err granary_mutable_retain(granary_mutable *table, const granary_retain *retain, int64_t *ret_time);

/*
 * Open a sealed table, to be read: its rows and elements are the same at any time. Writes get ESEALED.
 *
 * ret_table  to be closed with granary_mutable_close()
 * Errors     ETYPE the object is no sealed table · as granary_object_get() · ECORRUPT · ENOMEM
 */
GRANARY_API granary_err granary_sealed_open(granary_client *client, granary_id id, granary_mutable **ret_table);

/* ---- tensors ---- */

/* A mutable tensor: it takes memory only where it was written. */
typedef struct granary_mutable_tensor {
    granary_dtype dtype; /* bool, integers, floats */
    int dims;            /* 0 to 8 */
    int64_t shape[8];
    int64_t chunk[8]; /* elements of a chunk along each dimension; all 0: chosen */
    const char *fill; /* the value of what was never written, as text: "nan"; NULL: zero */
} granary_mutable_tensor;

/* Make a mutable tensor of that name. Errors: EINVAL names the dimension, or a fill that the dtype cannot hold · as
 * granary_mutable_create_frame() */
GRANARY_API granary_err granary_mutable_create_tensor(granary_client *client, const char *name,
                                                      const granary_mutable_tensor *tensor,
                                                      const granary_mutable_options *options,
                                                      granary_mutable **ret_table);

/* Describe an open tensor; its fill is left out. Errors: ETYPE it is a frame */
GRANARY_API granary_err granary_mutable_shape(const granary_mutable *table, granary_mutable_tensor *ret_tensor);

typedef enum granary_index_kind {
    GRANARY_INDEX_SLICE = 0,    /* slice; its step 0: one position, and the dimension goes */
    GRANARY_INDEX_LIST = 1,     /* positions; negative ones count from the end */
    GRANARY_INDEX_MASK = 2,     /* true where elements are meant, over mask_dims dimensions */
    GRANARY_INDEX_ELLIPSIS = 3, /* all of as many dimensions as are left */
} granary_index_kind;

/*
 * Which elements, as in NumPy: an index a dimension, all of the dimensions behind. Several lists go together, position
 * by position. Their dimension stands where the lists stood, or first when they do not stand side by side.
 */
typedef struct granary_index {
    granary_index_kind kind;
    granary_slice slice;
    const int64_t *list;
    const bool *mask;
    size_t count; /* of list, or elements of mask */
    int mask_dims;
} granary_index;

/*
 * Write elements: all of them become visible at one moment.
 *
 * indexes   count of them; which elements
 * values    of the tensor's dtype, in C order; dimensions of 1, and those that are missing in front, repeat. Of an
 *           element that is meant twice the last value counts. Borrowed until this returns
 * options   may be NULL
 * ret_time  may be NULL
 * Errors    EINVAL an index, or values that do not fit it · ETYPE another dtype, or it is a frame · as
 *           granary_mutable_append()
 */
GRANARY_API granary_err granary_mutable_write(granary_mutable *table, const granary_index *indexes, size_t count,
                                              const granary_tensor *values, const granary_write_options *options,
                                              int64_t *ret_time);

/*
 * Put whole chunks that are objects already, without a copy. All become visible at one moment.
 *
 * chunks  count numbers of chunks, in C order of the grid
 * ids     tensor objects of the chunks' shapes and of the tensor's dtype; they stay as long as they are needed
 * Errors  EINVAL names the chunk that is not there, or has another shape · ETYPE · ENOENT · as granary_mutable_append()
 */
GRANARY_API granary_err granary_mutable_put_chunks(granary_mutable *table, const uint64_t *chunks,
                                                   const granary_id *ids, size_t count,
                                                   const granary_write_options *options, int64_t *ret_time);

/* Elements of a tensor as they are at a time. */
typedef struct granary_mutable_part {
    granary_tensor tensor; /* C order */
    bool mapped;           /* in place: no element was copied */
    /* private */
    granary_view view;
    void *owned;
} granary_mutable_part;

/*
 * Look at elements of a tensor at a time, which becomes final. They are mapped where one version of a chunk has all of
 * them in C order, and copied otherwise.
 *
 * ret_part  to be given to granary_mutable_release()
 * Errors    EINVAL an index · ETYPE it is a frame · as granary_mutable_read_frame()
 */
GRANARY_API granary_err granary_mutable_view(granary_mutable *table, int64_t time, const granary_index *indexes,
                                             size_t count, granary_mutable_part *ret_part);
/* Let go of the elements, and clear the part. One that is all zero is fine. */
GRANARY_API void granary_mutable_release(granary_client *client, granary_mutable_part *part);

/* ---- what there is ---- */

typedef enum granary_mutable_kind {
    GRANARY_MUTABLE_FRAME = 1,
    GRANARY_SEALED_FRAME = 2,
    GRANARY_MUTABLE_TENSOR = 3,
    GRANARY_SEALED_TENSOR = 4,
} granary_mutable_kind;

/* A table, described. */
typedef struct granary_mutable_info {
    char name[GRANARY_TEXT_MAX + 1];
    granary_id id; /* of the object that the name is bound to */
    granary_mutable_kind kind;
    int64_t rows;     /* that are there, whatever their times; of a tensor: elements */
    int64_t newest;   /* time of the latest write; INT64_MIN: there was none, or it is sealed */
    int64_t final;    /* no write at or before it becomes visible any more; INT64_MIN: any may. INT64_MAX: sealed */
    uint32_t writers; /* handles that have written and are open */
    uint32_t parts;   /* chunks that were written */
    uint64_t changes; /* writes over rows, and deletes, in the history that is kept */
    granary_durability durability;
    int64_t interval_ns; /* GRANARY_DURABLE_INTERVAL */
} granary_mutable_info;

/* Describe a table, sealed or not. This makes no time final. Errors: ENOENT · ETYPE · as granary_mutable_open() */
GRANARY_API granary_err granary_mutable_describe(granary_client *client, const char *name,
                                                 granary_mutable_info *ret_info);

/*
 * All tables of the session, sealed or not, in the order of their names.
 *
 * ret_infos  *ret_count of them, to be freed with free(); NULL when there are none
 * Errors     EUNREACHABLE · ENOMEM. A table that cannot be read has its name, id and kind alone
 */
GRANARY_API granary_err granary_mutable_list(granary_client *client, granary_mutable_info **ret_infos,
                                             size_t *ret_count);

/*
 * Wait until a write later than a time has become visible.
 *
 * after       GRANARY_NOW: later than the newest write so far
 * timeout_ms  0 looks once; GRANARY_FOREVER
 * ret_newest  the time of the newest write: the next `after`
 * Errors      ETIMEDOUT · ESTATE the table was deleted meanwhile · ESEALED
 */
GRANARY_API granary_err granary_mutable_watch(granary_mutable *table, int64_t after, int timeout_ms,
                                              int64_t *ret_newest);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_mutable_create_frame,
                (granary_client * client, const char *name, const granary_column *columns, size_t count,
                 const granary_mutable_options *options, granary_mutable **ret_table),
                (client, name, columns, count, options, ret_table), granary_mutable_options);
GRANARY_SIZED_1(granary_err, granary_mutable_append,
                (granary_mutable * table, const granary_column *columns, size_t count, int64_t rows,
                 const granary_write_options *options, int64_t *ret_time),
                (table, columns, count, rows, options, ret_time), granary_write_options);
GRANARY_SIZED_1(granary_err, granary_mutable_delete_rows,
                (granary_mutable * table, const granary_rows *rows, const granary_write_options *options,
                 int64_t *ret_count, int64_t *ret_time),
                (table, rows, options, ret_count, ret_time), granary_write_options);
GRANARY_SIZED_1(granary_err, granary_mutable_write_rows,
                (granary_mutable * table, const granary_rows *rows, const granary_column *columns, size_t count,
                 const granary_write_options *options, int64_t *ret_time),
                (table, rows, columns, count, options, ret_time), granary_write_options);

GRANARY_SIZED_2(granary_err, granary_mutable_create_tensor,
                (granary_client * client, const char *name, const granary_mutable_tensor *tensor,
                 const granary_mutable_options *options, granary_mutable **ret_table),
                (client, name, tensor, options, ret_table), granary_mutable_tensor, granary_mutable_options);
GRANARY_SIZED_1(granary_err, granary_mutable_shape, (const granary_mutable *table, granary_mutable_tensor *ret_tensor),
                (table, ret_tensor), granary_mutable_tensor);
GRANARY_SIZED_1(granary_err, granary_mutable_write,
                (granary_mutable * table, const granary_index *indexes, size_t count, const granary_tensor *values,
                 const granary_write_options *options, int64_t *ret_time),
                (table, indexes, count, values, options, ret_time), granary_write_options);
GRANARY_SIZED_1(granary_err, granary_mutable_put_chunks,
                (granary_mutable * table, const uint64_t *chunks, const granary_id *ids, size_t count,
                 const granary_write_options *options, int64_t *ret_time),
                (table, chunks, ids, count, options, ret_time), granary_write_options);
GRANARY_SIZED_1(granary_err, granary_mutable_retain,
                (granary_mutable * table, const granary_retain *retain, int64_t *ret_time), (table, retain, ret_time),
                granary_retain);
GRANARY_SIZED_1(granary_err, granary_mutable_describe,
                (granary_client * client, const char *name, granary_mutable_info *ret_info), (client, name, ret_info),
                granary_mutable_info);
GRANARY_SIZED_1(granary_err, granary_mutable_list,
                (granary_client * client, granary_mutable_info **ret_infos, size_t *ret_count),
                (client, ret_infos, ret_count), granary_mutable_info);

#ifdef __cplusplus
}
#endif
#endif
