/* Shared by the parts of the Arrow reader. file.c knows files on disk, read.c files, and pieces.c
 * messages and where buffers are in them. inflate.c knows compressed buffers, schema.c fields and their
 * types. decode.c and views.c turn the buffers of a column into a column of ours. */
#ifndef DATA_ARROW_READ_H
#define DATA_ARROW_READ_H

#include "base/text/buf.h"
#include "contract/int128.h"
#include "data/arrow/format.h"
#include "data/frame.h"
#include "data/layout/flat.h"

enum { ARROW_NESTED_MOST = 64 }; /* as in Arrow's own readers */

/* How a field's values lie in the file. */
enum arrow_layout {
    LAYOUT_NULL,
    LAYOUT_BOOL,
    LAYOUT_FIXED,      /* as ours: integers, floats, decimal128, date32, timestamps and durations in microseconds */
    LAYOUT_DATE_MS,    /* int64 milliseconds: becomes days */
    LAYOUT_TIME,       /* time, timestamp or duration of another unit: becomes microseconds */
    LAYOUT_TEXT,       /* int32 offsets */
    LAYOUT_LARGE_TEXT, /* int64 offsets */
    LAYOUT_HALF,       /* float16: becomes float32 */
    LAYOUT_DECIMAL,    /* of `width` bytes, other than 16 */
    LAYOUT_RUNS,       /* run-end encoded: those of `item`, so often as the runs are long */
    LAYOUT_FIXED_TEXT, /* each of `width` bytes */
    LAYOUT_TEXT_VIEWS, /* 16 bytes a string: short ones themselves, else where they are in the parts */
    LAYOUT_LIST,       /* int32 offsets, and the items */
    LAYOUT_LARGE_LIST, /* int64 offsets */
    LAYOUT_FIXED_LIST, /* as many items a list as the field says */
    LAYOUT_LIST_VIEW,  /* int32 offsets and sizes, in any order */
    LAYOUT_LARGE_LIST_VIEW,
    LAYOUT_OTHER, /* of a type that is not read: passed over */
};

struct arrow_field {
    const char *name; /* in the file; within structs: path */
    char *path;       /* dotted, owned: `b` of a struct `a` is a.b */
    uint8_t depth;    /* structs around it */
    uint8_t opens;    /* how many of them begin with it */
    granary_dtype dtype;
    enum arrow_layout layout; /* dictionary: of the dictionary's values */
    enum arrow_time_unit unit;
    int32_t width; /* FIXED_TEXT, DECIMAL */
    bool dictionary;
    int64_t dictionary_id;
    int index_bits;
    bool index_signed;
    int64_t list_size;        /* FIXED_LIST */
    struct arrow_field *item; /* lists: of the items; owned */
    char other[40]; /* OTHER: the type's name; how many nodes, buffers and columns of views it has, with all in it */
    uint64_t nodes;
    uint64_t buffers;
    uint64_t views;
};

/* A buffer. */
struct arrow_part {
    const uint8_t *bytes;
    uint64_t size;
};

/* The buffers of one column in one batch, already within the file. */
struct arrow_piece {
    int64_t rows;
    int64_t null_count; /* as the file says; counted again */
    const uint8_t *validity;
    uint64_t validity_size;
    const uint8_t *offsets;
    uint64_t offsets_size;
    const uint8_t *values; /* dictionary: the indices */
    uint64_t values_size;
    const struct arrow_part *parts; /* LAYOUT_TEXT_VIEWS: of text */
    size_t part_count;
    const struct arrow_piece *items; /* lists; values are the sizes of views. Runs: a value each; values are the ends */
};

/* A schema while its fields are read. */
struct arrow_schema {
    struct flat_in *in;
    enum arrow_version version;
    size_t visited; /* fields within fields */
};

static inline bool
arrow_is_list(enum arrow_layout layout)
{
    return layout >= LAYOUT_LIST && layout <= LAYOUT_LARGE_LIST_VIEW;
}

/* The columns of a schema as they are told: each by itself, and of structs what is in them. */
struct arrow_fields {
    struct arrow_field *fields; /* owned */
    size_t count;
    size_t room;
    size_t names; /* bytes of them */
};
/*
 * Append a field of a schema, or what is in it; what is damaged shows in the schema's `in`.
 *
 * Errors  ECORRUPT, also names that are too long together · EUNSUPPORTED it cannot even be passed over · ENOMEM
 */
granary_err arrow_fields_add(struct arrow_schema *schema, struct flat_table table, struct arrow_fields *fields);
void arrow_fields_free(struct arrow_field *fields, size_t count);

/* The values of a dictionary-encoded field. */
struct arrow_dictionary {
    const granary_column *values;
    struct gr_dictionary *entries; /* they are distinct and none is null: columns stay encoded. NULL: they are not */
};

/*
 * Make a column of a piece: borrowed where the layout is ours already, else owned.
 *
 * dictionary  for a dictionary-encoded field, else NULL
 * Errors      ECORRUPT · EUNSUPPORTED a timestamp that does not fit · EFULL over 2 GiB of text · ENOMEM
 */
granary_err arrow_decode(const struct arrow_field *field, const struct arrow_piece *piece,
                         const struct arrow_dictionary *dictionary, struct gr_column *ret_column);

/* The bitmap of a piece becomes that of an owned column of as many rows. NULL: all values are there */
void arrow_set_validity(struct gr_column *column, const uint8_t *validity);
/* A decimal of 4, 8, 16 or 32 bytes; false: it has more digits than ours. */
bool arrow_decimal(const void *at, size_t width, gr_int128 *ret_value);

/* ... of lists of any layout. Errors: ECORRUPT · EUNSUPPORTED · EFULL · ENOMEM */
granary_err arrow_decode_list(const struct arrow_field *field, const struct arrow_piece *piece, const uint8_t *validity,
                              struct gr_column *ret_column);
/* The same of items that are there: whose field and piece are not looked at. */
granary_err arrow_gather_lists(const struct arrow_field *field, const struct arrow_piece *piece,
                               const uint8_t *validity, const granary_column *items, struct gr_column *ret_column);
/* ... of strings as views; validity as arrow_decode() found it. Errors: ECORRUPT · EFULL · ENOMEM */
granary_err arrow_decode_views(const struct arrow_field *field, const struct arrow_piece *piece,
                               const uint8_t *validity, struct gr_column *ret_column);

/* ---- inflate.c ---- */

/* What compressed buffers became, until their columns have been made. */
struct arrow_inflated {
    size_t count;
    void **blocks;
};
void arrow_inflated_free(struct arrow_inflated *inflated);
/*
 * A buffer as compressed record batches have it: 8 bytes tell how long it is raw, a frame of the codec follows; or -1,
 * and it follows as it is. *bytes, *size become those of the raw buffer, which `inflated` owns when it is a new one.
 * Errors: ECORRUPT · ENOMEM
 */
granary_err
arrow_inflate(struct arrow_inflated *inflated, enum compression_codec codec, const uint8_t **bytes, uint64_t *size);

struct arrow_in_dictionary {
    int64_t id;
    bool filled;
    struct gr_column values;
    struct gr_dictionary *entries; /* of the values when those may be one of ours, which borrows them; else NULL */
};

struct arrow_in {
    const uint8_t *bytes;
    uint64_t size;
    struct flat_in footer;
    uint64_t footer_at;
    struct gr_buf made; /* the footer of a stream, which has none */
    size_t field_count;
    struct arrow_field *fields;
    struct arrow_in_dictionary *dictionaries; /* one a field; those of fields without one stay empty */
    uint64_t budget;                          /* bytes that blocks may still claim: they do not overlap */
    /* of a file that is read in parts */
    int fd;             /* -1: all bytes are there; else they are when file_fetch() has brought them */
    const bool *wanted; /* by field; NULL: all */
};

/* ---- pieces.c ---- */

/* One message with its body. */
struct arrow_message {
    struct flat_in in;
    struct flat_table header;
    enum arrow_header kind;
    uint64_t at; /* of its Flatbuffers in the file */
    const uint8_t *body;
    uint64_t body_size;
};

/* The columns of a batch, taken one after the other. */
struct arrow_cursor {
    const struct arrow_in *file;
    struct arrow_message *message;
    struct flat_vector nodes;
    struct flat_vector buffers;
    struct flat_vector variadic; /* how many parts the text of each column of views has */
    size_t node;
    size_t buffer;
    size_t views;
    struct arrow_part *parts;                  /* of the piece it is at; owned */
    struct arrow_piece items;                  /* the same of lists */
    uint8_t *combined;                         /* the same: which values are there, those of null structs left out */
    const uint8_t *structs[ARROW_NESTED_MOST]; /* of structs around it: their bitmaps; NULL: no null */
    uint64_t budget;
    bool compressed; /* each buffer by itself */
    enum compression_codec codec;
    struct arrow_inflated inflated; /* columns that lie there do not outlive the cursor */
};

granary_err arrow_fail_at(uint64_t at, const char *what);
granary_err arrow_fail_flat(const struct flat_in *in, uint64_t at);
/* Bytes that are within the file are needed. */
granary_err arrow_fetch(const struct arrow_in *file, uint64_t at, uint64_t size);
/* Message of a block: its metadata, and its body within the file. */
granary_err arrow_message_open(struct arrow_in *file, const struct arrow_block *block, struct arrow_message *message);
/* Begin with the columns of a batch; *ret_rows: how many rows each has. */
granary_err arrow_cursor_open(const struct arrow_in *file, struct arrow_message *message, struct flat_table batch,
                              struct arrow_cursor *cursor, int64_t *ret_rows);
void arrow_cursor_close(struct arrow_cursor *cursor);
/* The next column's buffers, until the one after it is asked for; fetch: what is in them is wanted. */
granary_err arrow_next_piece(struct arrow_cursor *cursor, const struct arrow_field *field, bool is_index, bool fetch,
                             int64_t rows, struct arrow_piece *ret_piece);

/* ---- read.c ---- */

/* What the footer tells. */
struct arrow_footer {
    struct flat_vector dictionaries;
    struct flat_vector batches;
};

/* Find the footer of so many bytes at data; fd: see struct arrow_in. Errors: ETYPE, ECORRUPT; as reading */
granary_err arrow_in_open(struct arrow_in *file, const void *data, uint64_t data_size, int fd);
void arrow_in_close(struct arrow_in *file);
/* Read footer and schema. Errors: as gr_arrow_read() */
granary_err arrow_in_footer(struct arrow_in *file, struct arrow_footer *ret_footer);
/* That every column that is wanted can be read. Errors: EUNSUPPORTED names those that cannot, and the others · ENOMEM */
granary_err arrow_in_check(const struct arrow_in *file);
/* Read the dictionaries of the columns that are wanted, and give them back. */
granary_err arrow_in_dictionaries(struct arrow_in *file, const struct arrow_footer *footer);
void arrow_in_dictionaries_free(struct arrow_in *file);
/* Batches [first, first + count) of the columns that are wanted. */
granary_err arrow_in_batches(struct arrow_in *file, struct flat_vector blocks, size_t first, size_t count,
                             granary_frame **ret_frame);
/* Rows of batch i, and the bytes of its body, which are not read. */
granary_err
arrow_in_look(struct arrow_in *file, struct flat_vector blocks, size_t i, int64_t *ret_rows, uint64_t *ret_bytes);

#endif
