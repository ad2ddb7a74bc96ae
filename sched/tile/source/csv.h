/*
 * A CSV file on its way to be read: found and sized, cut at records, its columns' types known.
 *
 *   stage    its subtasks                       next
 *   SPLIT    csv_split, one a block of bytes    INFER   (a file of one block begins with INFER)
 *   INFER    csv_infer, one a range of records  READY   (of which csv_split has not told the types already)
 *   READY    none: schema and ranges are known  -
 */
#ifndef TILE_SOURCE_CSV_H
#define TILE_SOURCE_CSV_H

#include "base/text/buf.h"
#include "graph/graph.h"
#include "tile/core/chunk.h"
#include "tile/source/csv_range.h"

enum gr_csv_stage { GR_CSV_SPLIT, GR_CSV_INFER, GR_CSV_READY };

struct gr_csv_options {
    const char *directory; /* relative names start here */
    int64_t chunk_bytes;   /* 0: automatic */
    int slots;
    uint64_t memory_bytes; /* 0: unknown */
};

struct gr_csv {
    const Granary__Node *node; /* borrowed */
    enum gr_csv_stage stage;
    char *path;       /* absolute */
    const char *name; /* as the user wrote it, for messages; borrowed from node */
    const char *delimiter;
    bool header;
    int64_t file_bytes;
    int64_t modified_ns;
    int64_t block_bytes;
    size_t jobs;       /* of the stage */
    uint32_t first_op; /* its operators, once they were added, follow one another from here on */
    size_t waiting;
    Granary__CsvSplit **splits; /* jobs answers while in SPLIT */
    Granary__CsvTypes **types;  /* jobs answers from INFER on, one a range */
    struct gr_csv_range *ranges;
    size_t range_count;
    size_t *job_ranges; /* INFER: the range of each job */
    int64_t *known;     /* positions of columns whose dtypes the user gives; perhaps not all of them */
    size_t known_count;
    struct gr_schema schema; /* READY: all columns of the file */
};

/* Find csv->known in the head of the file. Errors: EIO, ENOMEM */
granary_err gr_csv_find_known(struct gr_csv *csv, int fd);

/* How many bytes of a file of that size a chunk should have. */
int64_t gr_csv_block(int64_t file_bytes, const struct gr_csv_options *options);
/* The path of a name that is relative to a directory, or absolute; to be freed. NULL: no memory. */
char *gr_absolute_path(const char *directory, const char *name);

/*
 * Look for the file of a read_csv node.
 *
 * Errors: ENOENT, EPERM, EIO · EINVAL it is a directory, no regular file, empty; ENOMEM. The message names node and
 * file
 */
granary_err gr_csv_create(const Granary__Node *node, const struct gr_csv_options *options, struct gr_csv **ret_csv);
void gr_csv_destroy(struct gr_csv *csv);

/* Add the stage's operators: jobs of them, one after the other. Not when READY. */
void gr_csv_start(struct gr_csv *csv, uint32_t step, struct gr_chunks *chunks);

/*
 * Take the answer to one of the stage's operators (0 to jobs - 1); with the last one the next stage begins. A second
 * answer to the same one is ignored.
 *
 * Errors: EPROTO · EINVAL the file: ragged records, a header that names a column twice, ...; of several the first in
 * the file; message "node 'NAME': FILE:LINE: ..." · ENOENT, ETYPE a wrong entry of dtypes
 */
granary_err gr_csv_feed(struct gr_csv *csv, size_t job, const ProtobufCBinaryData *answer);

/*
 * READY: append why a column is a string, "FILE:LINE: 'VALUE' makes column 'NAME' a string", if that is because of a
 * value that is odd among the others. Returns whether it is.
 */
bool gr_csv_tell_odd(const struct gr_csv *csv, size_t column, struct gr_buf *out);

/* READY: add csv_read of the flagged columns (NULL: all) of the first `ranges` ranges. Returns the first operator;
 * they follow one another. */
uint32_t
gr_csv_read(const struct gr_csv *csv, uint32_t step, const bool *columns, size_t ranges, struct gr_chunks *chunks);

/* Estimate of one range in memory, with the flagged columns. */
uint64_t gr_csv_range_bytes(const struct gr_csv *csv, size_t range, const bool *columns);

#endif
