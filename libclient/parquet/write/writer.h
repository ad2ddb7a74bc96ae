/* Within the room: a file that is written, as far as it is. */
#ifndef PARQUET_WRITE_WRITER_H
#define PARQUET_WRITE_WRITER_H

#include "parquet/write/private.h"

/* A column of a row group. */
struct written {
    struct put_chunk facts;
    const uint8_t *min, *max;
    const uint8_t *pages; /* struct put_page, at any alignment */
    const uint8_t *index;
    int64_t index_at;
    int64_t places_at;
    int64_t places_size;
};

struct group {
    int64_t at;
    int64_t rows;
    int64_t size; /* of its pages, behind which Bloom filters are */
    int64_t blooms;
    struct written *chunks;
};

struct field {
    char *name;
    granary_dtype dtype;
    bool wide; /* decimals of 16 bytes */
};

/* What is in the file: of nulls alone until a column of values came, decimals as wide as they are. */
struct put_type field_type(const struct field *field);

struct gr_parquet_writer {
    gr_parquet_sink *sink;
    void *own;
    int64_t at; /* bytes that were written */
    int64_t rows;
    struct field *fields;
    size_t field_count;
    bool *wide; /* by field, for who makes row groups anew */
    struct group *groups;
    size_t group_count;
    size_t group_room;
    uint8_t **notes;
    size_t note_count;
    size_t note_room;
    struct gr_buf end; /* page index and footer */
};

/* ---- footer.c ---- */

/* Append to what ends the file. Out of memory sticks there. */
void writer_put_index(struct gr_parquet_writer *writer);
void writer_put_footer(struct gr_parquet_writer *writer);

#endif
