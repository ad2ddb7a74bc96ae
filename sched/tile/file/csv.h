/*
 * A CSV file on its way to be read: found and sized, cut at records, its columns' types known.
 *
 *   stage    its subtasks                       next
 *   UNPACK   text_unpack, of a packed file,     INFER   (its pieces are ranges)
 *            or one of another dialect
 *   SPLIT    csv_split, one a block of bytes    INFER   (a file of one block begins with INFER)
 *   INFER    csv_infer, one a range of records  known   (of which csv_split has not told the types already)
 */
#ifndef TILE_FILE_CSV_H
#define TILE_FILE_CSV_H

#include "data/text/header.h"
#include "data/text/sniff.h"
#include "data/texts.h"
#include "tile/file/records.h"

enum csv_stage { CSV_UNPACK, CSV_SPLIT, CSV_INFER };

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
    bool guessed;               /* whether there is one */
    struct gr_texts names;      /* of columns */
    int64_t fields;             /* of each record: of columns, and perhaps an empty one behind them */
    Granary__CsvSplit **splits; /* jobs answers while in SPLIT */
    size_t *job_ranges;         /* INFER: the range of each job */
    bool tolerates;             /* records that do not fit are left out */
    bool lists;                 /* ... and are all that is read: */
    struct gr_schema all;       /* then these columns are what others must fit */
    int64_t *known;             /* positions of columns whose dtypes the user gives; perhaps not all of them */
    size_t known_count;
};

/* Find csv->known. Errors: ENOMEM */
granary_err csv_find_known(const struct gr_file *file);

/* Add the stage's operators. */
void csv_start(struct gr_file *file, uint32_t step, struct gr_chunks *chunks);

/* Its tile rule. */
granary_err
csv_tile(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step, struct gr_tiled *out);

#endif
