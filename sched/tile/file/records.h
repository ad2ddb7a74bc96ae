/*
 * Text in records, whose columns and dtypes are found by looking at all of it (CSV, JSON lines). It is cut into ranges
 * of whole records, and executors tell what is in each. What of it decides a dtype is joined by a bitwise or, so it
 * does not depend on the cuts.
 */
#ifndef TILE_FILE_RECORDS_H
#define TILE_FILE_RECORDS_H

#include "data/text/text.h"
#include "schema/granary.pb-c.h"
#include "tile/file/csv_range.h"
#include "tile/file/tiles.h"

/* Work on a schema grows with the square of its columns, and the scheduler serves nobody else meanwhile. */
#define RECORDS_COLUMNS_MAX 16384

/* What gr_file.own begins with. */
struct records {
    struct gr_csv_range *ranges;
    size_t range_count;
    Granary__CsvTypes **types; /* by range; NULL: not told yet */
    size_t first;              /* range whose rows are read, and the one behind the last */
    size_t end;
    bool is_whole;      /* it is not cut into parts: one of them has all rows */
    int64_t lines_from; /* line 1 of ranges but the first begins at that byte */
    bool is_packed;     /* the file, or another dialect: ranges are pieces of its text, and objects */
    bool is_unpacked;
};

void records_fini(struct records *records);

/* An answer that cannot be unpacked: there is no memory for it (errno is 0 before), or it is none. */
granary_err records_unreadable(const char *op);
/* Take what is in a range. A second answer is ignored. Errors: ENOMEM · EPROTO */
granary_err records_take(struct gr_file *file, const char *op, size_t range, const ProtobufCBinaryData *answer);

/* All ranges are read; of a file that is not cut, none in parts that have not its first byte. */
void records_read_all(struct gr_file *file);

/* Append "FILE:LINE"; of a part whose lines nobody has counted from the file's beginning, where they are counted from. */
void records_place(const struct gr_file *file, size_t range, uint64_t line, struct gr_buf *out);
/* "node 'NAME': FILE:LINE: ..." */
granary_err records_fail(const struct gr_file *file, size_t range, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Add a column of which these kinds were seen. Errors: EINVAL there is one of that name · ENOMEM */
granary_err records_add_column(struct gr_file *file, const char *name, uint32_t kinds);
/* The dtype of a column of which these kinds were seen: of what parameter `candidates` lets it be. */
granary_dtype records_dtype(const Granary__Node *node, uint32_t kinds);
/* Whether what is read are a file's errors: what is said of columns is said of those that they do not fit. */
bool lists_errors(const Granary__Node *node);
/* All columns are there: what the user says about dtypes wins over what was seen. The file is known then. Errors:
 * ENOENT, EINVAL */
granary_err records_settle(struct gr_file *file);

/*
 * unpacked.c: a file that is packed. Its first stage is one operator, which yields the pieces of its text; they are the
 * ranges of those that follow.
 */
/* Whether the file is packed, or UTF-16; is_other: it is another dialect, anyway. Then the stage is begun. Errors: EIO */
granary_err records_look_packed(struct gr_file *file, int fd, bool is_other, bool *ret_packed);
/* Add the stage's operator. dialect: of CSV; NULL: each line is a record */
void
records_start_unpack(struct gr_file *file, uint32_t step, struct gr_chunks *chunks, const struct gr_dialect *dialect);
/* Take the answer; the ranges are there then, with their lines. Errors: ENOMEM · EPROTO */
granary_err records_take_pieces(struct gr_file *file, const ProtobufCBinaryData *answer);
/* The range as an input of an operator, if it is a piece. piece: memory for it */
void records_add_input(const struct gr_file *file, size_t range, struct gr_piece *piece, struct gr_chunk_spec *spec);

/* The attributes of an operator on a range, "offset", "size" and what else the format needs. */
typedef gr_attrs records_attrs(const struct gr_file *file, struct gr_chunks *chunks, size_t range);
/* "offset" and "size". */
gr_attrs records_bytes_attrs(struct gr_chunks *chunks, int64_t offset, int64_t size);
/* An operator for each range that is read, which also has the number of its first line, and from where lines are
 * counted. Errors: ENOMEM */
granary_err records_tile(struct tiling *t, const struct gr_file *file, const struct gr_step *step,
                         const struct gr_chunk_spec *spec, records_attrs *attrs, struct gr_tiled *out);

#endif
