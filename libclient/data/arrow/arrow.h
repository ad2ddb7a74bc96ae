/*
 * Frames as Arrow IPC files (https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format): "ARROW1", schema
 * message, record batches, footer; buffers 64-byte aligned. Little-endian, metadata version V5. The Flatbuffers subset
 * is ours (flat.c).
 *
 * Writing: one record batch, a dictionary for each encoded column, always the same bytes for the same frame. Reading:
 * our own files in place, and other writers' files, converted where the layout differs. Theirs may have any number of
 * batches, also with LZ4-compressed buffers. Types are all integers, float32/64, decimal128, bool, utf8, large utf8,
 * date32/64, timestamp and duration of any unit, dictionary-encoded utf8, and lists of all of these but the last, in
 * each of Arrow's layouts. Columns of other types are passed over, and refused by name when they are wanted.
 */
#ifndef DATA_ARROW_ARROW_H
#define DATA_ARROW_ARROW_H

#include "data/frame.h"

/* Sizes of the object that holds a frame: data is the Arrow file, meta the column directory and zone map
 * (data/layout/directory.h). */
granary_err gr_arrow_measure(const granary_frame *frame, uint64_t *ret_data_size, uint64_t *ret_meta_size);
/* Write what was measured. meta NULL: the file only; values are not looked at for a zone map. */
void gr_arrow_write(const granary_frame *frame, void *data, void *meta);
/* The same for a frame that is read once: its different values are not counted. */
void gr_arrow_write_passing(const granary_frame *frame, void *data, void *meta);

/*
 * A file that gr_arrow_write() made for more rows, null ones, of which the first ones were written in place: now it is
 * a file of these rows. Whoever reads the first rows of it by its directory may do so meanwhile.
 *
 * Errors: ENOMEM · ECORRUPT it is no such file, and nothing has changed
 */
granary_err gr_arrow_settle(int64_t rows, void *data, uint64_t data_size, void *meta, uint64_t meta_size);

/*
 * Read an Arrow file. With a directory in meta (may be NULL) nothing is parsed.
 * ret_frame borrows data, or owns what had to be converted; data must outlive it.
 * Errors: ETYPE not an Arrow file · EUNSUPPORTED names columns and types · ECORRUPT gives the offset · ENOMEM
 */
granary_err
gr_arrow_read(const void *data, uint64_t data_size, const void *meta, uint64_t meta_size, granary_frame **ret_frame);

/* The same without the columns of types that are not supported, unless they are named here: then they are the error. */
granary_err gr_arrow_read_columns(const void *data, uint64_t data_size, const void *meta, uint64_t meta_size,
                                  const char *const *names, size_t count, granary_frame **ret_frame);

/* ---- files written in parts ---- */

/* Where the bytes of a file go, one after another. */
typedef granary_err gr_arrow_put(void *to, const void *bytes, size_t size);

/* An Arrow file made of frames of the same columns, without dictionaries, a record batch each. */
struct gr_arrow_stream;
granary_err gr_arrow_stream_create(gr_arrow_put *put, void *to, struct gr_arrow_stream **ret_stream);
void gr_arrow_stream_destroy(struct gr_arrow_stream *stream); /* NULL is fine */
/* Errors: ETYPE other columns than before · EFULL, ENOMEM · as put */
granary_err gr_arrow_stream_add(struct gr_arrow_stream *stream, const granary_frame *frame);
/* At least one frame has been added. */
granary_err gr_arrow_stream_finish(struct gr_arrow_stream *stream);

/* ---- files on disk, in parts ---- */

/* One thread at a time. */
struct gr_arrow_file;

struct gr_arrow_batch {
    int64_t rows;
    uint64_t bytes; /* of its body */
};

/*
 * Look at a file: schema and record batches. What else is there is read when it is asked for, into memory of ours: a
 * file that shrinks meanwhile is an error.
 * Errors: as gr_arrow_read(), with the path · ENOENT, EPERM, EIO · EINVAL no regular file
 */
granary_err gr_arrow_file_open(const char *path, struct gr_arrow_file **ret_file);
void gr_arrow_file_close(struct gr_arrow_file *file); /* NULL is fine */
size_t gr_arrow_file_columns(const struct gr_arrow_file *file);
/* Name and dtype of a column, GR_DTYPE_OTHER of one that cannot be read; valid until the file is closed. */
const char *gr_arrow_file_column(const struct gr_arrow_file *file, size_t position, granary_dtype *ret_dtype);
const struct gr_arrow_batch *gr_arrow_file_batches(const struct gr_arrow_file *file, size_t *ret_count);
/* That the wanted columns (NULL: all) can be read. Errors: EUNSUPPORTED names those that cannot, their types and the
 * others · ENOMEM */
granary_err gr_arrow_file_check(struct gr_arrow_file *file, const bool *wanted);
/* Batches [first, first + count) of the wanted columns (NULL: all), in the file's order, as a new owned frame; only
 * what they need is read. Errors: as gr_arrow_read() · EINVAL there are no such batches */
granary_err gr_arrow_file_read(struct gr_arrow_file *file, const bool *wanted, size_t first, size_t count,
                               granary_frame **ret_frame);

#endif
