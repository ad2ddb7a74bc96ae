/*
 * Parquet files, written. Row groups are made apart from one another, by whoever has the rows; each comes with a note
 * of what the footer is to say of it. One writer puts them into the file, and the footer behind them.
 *
 * Data pages are of version 1, which every reader knows. Values are PLAIN, or codes of a dictionary where that is less.
 */
#ifndef PARQUET_WRITE_WRITE_H
#define PARQUET_WRITE_WRITE_H

#include "base/text/buf.h"
#include "parquet/parquet.h"

/* How pages are packed. */
struct gr_parquet_packer {
    enum gr_parquet_codec codec;
    /* So many bytes at most are made of a page. NULL: pages stay as they are. */
    size_t (*most)(size_t raw_size);
    /* Returns how many bytes were made, or 0: it failed. */
    size_t (*pack)(void *own, const uint8_t *raw, size_t raw_size, uint8_t *packed, size_t room);
    void *own;
    bool always; /* else chunks that get hardly smaller stay as they are: nobody unpacks them for nothing */
};

/* How row groups are made. */
struct gr_parquet_style {
    const struct gr_parquet_packer *packer;
    /* Decimals have 16 bytes. Others have 8 where no value of these rows has more than 18 digits: */
    bool all_wide;
    const bool *wide; /* the same of some columns; NULL: of none */
    /* Columns that have a Bloom filter, at most 1 MiB a row group. NULL: those with a dictionary, at most 128 KiB. */
    const bool *bloom;
};

/*
 * Append the row groups of some rows, and the note behind them. columns: in their order, all of so many rows.
 * Errors: EINVAL a column that no Parquet file can have · EFULL a page of 2 GiB · ENOMEM
 */
granary_err gr_parquet_put_groups(const granary_column *const *columns, size_t count, int64_t from, int64_t rows,
                                  const struct gr_parquet_style *style, struct gr_buf *out);

/* The file's bytes are given to it as they come. */
typedef granary_err gr_parquet_sink(void *own, const void *bytes, size_t size);

struct gr_parquet_writer;

granary_err gr_parquet_writer_create(gr_parquet_sink *sink, void *own, struct gr_parquet_writer **ret_writer);
void gr_parquet_writer_destroy(struct gr_parquet_writer *writer); /* NULL is fine */
/*
 * Before the first is added, of each that will be: a column of decimals that is wide in one is wide in the file. Of one
 * alone it is not needed. Errors: as gr_parquet_writer_add()
 */
granary_err gr_parquet_writer_look(struct gr_parquet_writer *writer, const void *bytes, size_t size);
/* Whether decimals of these row groups are as wide as in the file. If not, they are to be made anew: *ret_wide has the file's
 * columns that are wide, valid until the next call. Errors: as gr_parquet_writer_add() */
granary_err gr_parquet_writer_fits(struct gr_parquet_writer *writer, const void *bytes, size_t size, bool *ret_fits,
                                   const bool **ret_wide);
/*
 * What gr_parquet_put_groups() made, in the order of rows. All have the same columns; one of nulls alone fits any.
 * Errors: ETYPE names the column · ECORRUPT it made no such thing · ENOMEM · the sink's
 */
granary_err gr_parquet_writer_add(struct gr_parquet_writer *writer, const void *bytes, size_t size);
/* The page index and the footer. Something was added before. Errors: ENOMEM · the sink's */
granary_err gr_parquet_writer_finish(struct gr_parquet_writer *writer);

#endif
