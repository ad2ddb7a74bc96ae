/*
 * A CSV file on its way to be read: found and sized, cut at records, its columns' types known.
 *
 *   stage    its subtasks                       next
 *   UNPACK   text_unpack, of a packed file,     INFER   (its pieces are ranges)
 *            or one of another dialect
 *   SPLIT    csv_split, one a block of bytes    INFER   (a file of one block begins with INFER)
 *   INFER    csv_infer, one a range of records  known   (of which csv_split has not told the types already)
 *
 * A part of a file begins with
 *
 *   SEEK     csv_split of its first bytes,      SPLIT   (all of the file; or the part alone, if dtypes are given)
 *            csv_seek, one a border
 */
#ifndef TILE_FILE_CSV_H
#define TILE_FILE_CSV_H

#include "data/text/header.h"
#include "data/text/sniff.h"
#include "data/texts.h"
#include "tile/file/records.h"

enum csv_stage { CSV_UNPACK, CSV_SEEK, CSV_SPLIT, CSV_INFER };

#define CSV_BORDERS 2

/* gr_file.own */
struct csv {
    struct records records;
    enum csv_stage stage;
    struct gr_dialect dialect; /* borrowed from the node, or from what was found */
    struct gr_sniffed sniffed;
    char delimiter[2]; /* of ranges */
    const char *decimal;
    const char *thousands;
    bool header;
    bool guessed;                /* whether there is one */
    struct gr_texts names;       /* of columns */
    int64_t fields;              /* of each record: of columns, and perhaps an empty one behind them */
    struct gr_csv_block *blocks; /* while in SPLIT: a job each */
    size_t block_count;
    int64_t text_from;              /* of a part: byte of the file with which the first record begins */
    int64_t head_bytes;             /* ... so many of its first ones tell names: */
    Granary__CsvSplit *head;        /* NULL: not told yet */
    int64_t borders[CSV_BORDERS];   /* the records that begin this part, and the next one; -1: not told yet */
    int seek_jobs[CSV_BORDERS + 1]; /* SEEK: the border of each job; CSV_BORDERS: the head */
    bool reads_part;                /* no more is looked at than the part, and the head */
    size_t *job_ranges;             /* INFER: the range of each job */
    bool tolerates;                 /* records that do not fit are left out */
    bool lists;                     /* ... and are all that is read: */
    struct gr_schema all;           /* then these columns are what others must fit */
    int64_t *known;                 /* positions of columns whose dtypes the user gives; perhaps not all of them */
    size_t known_count;
};

/* Find csv->known. Errors: ENOMEM */
granary_err csv_find_known(const struct gr_file *file);

/* Take the answer of a csv_split of so many bytes. Errors: EPROTO, ENOMEM */
granary_err csv_take_split(const ProtobufCBinaryData *answer, int64_t size, Granary__CsvSplit **ret_split);

/* csv_part.c: of a part: where the first record begins. Errors: EIO, ENOMEM */
granary_err csv_find_text(struct gr_file *file, int fd);
/* A part of a file, which is to be read. Errors: ENOMEM */
granary_err csv_enter_seek(struct gr_file *file);
/* Take the answer to one of its jobs. *ret_done: the blocks are there. Errors: EPROTO, ENOMEM */
granary_err csv_feed_seek(struct gr_file *file, size_t job, const ProtobufCBinaryData *answer, bool *ret_done);
/* The ranges are there: which of them are the part. Errors: ENOMEM */
granary_err csv_choose_ranges(struct gr_file *file);
/* Add blocks for the bytes [from, to), in which `begins` says what the first of them is. Errors: ENOMEM */
granary_err csv_add_blocks(struct gr_file *file, int64_t from, int64_t to, bool begins);
/* What a record that is not where it should be is told as. */
granary_err csv_misplaced(const struct gr_file *file, int64_t byte);

/* Add the stage's operators. */
void csv_start(struct gr_file *file, uint32_t step, struct gr_chunks *chunks);

/* Its tile rule. */
granary_err
csv_tile(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step, struct gr_tiled *out);

#endif
