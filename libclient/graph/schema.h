/* Names and dtypes of a frame's columns. */
#ifndef GRAPH_SCHEMA_H
#define GRAPH_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/names.h"
#include "granary/frame.h"

struct gr_field {
    char *name;
    granary_dtype dtype;
};

struct gr_schema {
    size_t count;
    struct gr_field *fields;
    struct gr_names names; /* of fields that gr_schema_add() has put there; nobody changes their names */
};

/* Append a field; name is copied. Errors: ENOMEM */
granary_err gr_schema_add(struct gr_schema *schema, const char *name, granary_dtype dtype);
granary_err gr_schema_copy(const struct gr_schema *schema, struct gr_schema *ret_schema);
void gr_schema_free(struct gr_schema *schema);
/* Whether the column can be read: a file may have others, which nobody may want. */
bool gr_field_is_readable(const struct gr_field *field);
/* Position of a name, or -1. */
int gr_schema_find(const struct gr_schema *schema, const char *name);
/* The name most like `name`, for messages; NULL when none is near. */
const char *gr_schema_nearest(const struct gr_schema *schema, const char *name);
/* The error ENOENT for a column that is not there, with the nearest name or the names there are. */
granary_err gr_schema_no_column(const struct gr_schema *schema, const char *name);

/* What was seen in a CSV column (CsvTypes.kinds). */
enum gr_kind {
    GR_KIND_NULL = 1,
    GR_KIND_BOOL = 2,
    GR_KIND_INT64 = 4,
    GR_KIND_FLOAT64 = 8,
    GR_KIND_DATE = 16,
    GR_KIND_TIMESTAMP = 32,
    GR_KIND_STRING = 64,
    GR_KIND_WIDE = 128, /* an integer beyond int64 that decimal(38,0) holds */
    GR_KIND_TIME = 256,
    GR_KIND_TIMESTAMPTZ = 512,
    GR_KIND_LIST = 1 << 15,
};

/* Above the others: what was seen in lists. */
#define GR_KIND_ITEM_SHIFT 16

/*
 * The dtype of a column in which these kinds were seen; nulls fit any.
 *
 *   nothing but nulls                STRING       date                          DATE
 *   bool                             BOOL         timestamp, date + timestamp   TIMESTAMP
 *   int64                            INT64        the same, some with an offset TIMESTAMPTZ
 *   float64, perhaps integers        FLOAT64      time of day                   TIME
 *   wide, perhaps int64              DECIMAL(0)   any other mixture             STRING
 *
 * Lists, and nothing else but nulls: lists of what their items give.
 */
granary_dtype gr_dtype_of_kinds(uint32_t kinds);

/* Whether a value was seen, and no dtype but STRING takes all of them. */
bool gr_kinds_are_text(uint32_t kinds);

/* The dtypes a column can be told to have, for messages. */
#define GR_CSV_DTYPES                                                                                                  \
    "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, decimal(0) to decimal(38), "    \
    "string, binary, date, time, timestamp, timestamptz, duration"
/* The dtype of that name among those. false: it is none of them. */
bool gr_csv_dtype_parse(const char *name, granary_dtype *ret_dtype);

#endif
