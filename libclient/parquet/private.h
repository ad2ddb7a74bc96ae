/* Within the room: the file in memory, and the parts that read its footer. */
#ifndef PARQUET_PRIVATE_H
#define PARQUET_PRIVATE_H

#include "base/memory/region.h"
#include "parquet/parquet.h"
#include "parquet/thrift.h"

struct gr_parquet {
    struct gr_region *memory; /* all there is but bytes */
    uint8_t *bytes;           /* the footer, in which bounds of statistics lie */
    uint64_t file_size;
    size_t leaf_count;
    struct gr_parquet_leaf *leaves;
    size_t column_count;
    struct gr_parquet_column *columns;
    size_t group_count;
    struct gr_parquet_group *groups;
    int64_t rows;
};

enum parquet_repetition { PARQUET_REQUIRED = 0, PARQUET_OPTIONAL = 1, PARQUET_REPEATED = 2 };

/* As the schema annotates an element: the logical type, or what the converted type says in its words. */
enum parquet_logical {
    LOGICAL_NONE = 0,
    LOGICAL_STRING = 1,
    LOGICAL_MAP = 2,
    LOGICAL_LIST = 3,
    LOGICAL_ENUM = 4,
    LOGICAL_DECIMAL = 5,
    LOGICAL_DATE = 6,
    LOGICAL_TIME = 7,
    LOGICAL_TIMESTAMP = 8,
    LOGICAL_INTEGER = 10,
    LOGICAL_UNKNOWN = 11,
    LOGICAL_JSON = 12,
    LOGICAL_BSON = 13,
    LOGICAL_UUID = 14,
    LOGICAL_FLOAT16 = 15,
    LOGICAL_VARIANT = 16,
    LOGICAL_GEOMETRY = 17,
    LOGICAL_GEOGRAPHY = 18,
    LOGICAL_INTERVAL = 100, /* a converted type alone */
    LOGICAL_NEWER = 101,    /* one that is not known here */
};

enum parquet_unit { UNIT_MILLIS = 1, UNIT_MICROS = 2, UNIT_NANOS = 3 };

struct parquet_element {
    struct thrift_bytes name;
    int32_t physical; /* -1: a group */
    int32_t length;
    int32_t repetition;
    int32_t children;
    int32_t logical; /* enum parquet_logical */
    int32_t unit;
    int32_t bits;
    bool is_signed;
    bool is_utc; /* timestamps: instants */
    int32_t scale;
    int32_t precision;
};

/* ---- schema.c ---- */

struct parquet_elements {
    size_t count;
    struct parquet_element *elements;
};
granary_err parquet_read_schema(struct gr_parquet *file, struct thrift_in *in, const struct thrift_field *field,
                                struct parquet_elements *ret_elements);
/* Leaves and columns of all elements. Errors: ECORRUPT · EUNSUPPORTED · ENOMEM */
granary_err parquet_set_columns(struct gr_parquet *file, const struct parquet_elements *elements);

/* ---- leaf.c ---- */

/* What an element's values become; what: see struct gr_parquet_column. */
void parquet_leaf_type(const struct parquet_element *element, struct gr_parquet_leaf *leaf, char *what, size_t size);

/* ---- footer.c ---- */

granary_err parquet_read_footer(struct gr_parquet *file, size_t size);

/* ---- page.c ---- */

/* gr_parquet_page_read() where of so many bytes not all are there. */
granary_err parquet_page_head(const uint8_t *bytes, size_t there, size_t size, struct gr_parquet_page *ret_page);

/* ---- what all share ---- */

granary_err parquet_no_memory(void);
granary_err parquet_corrupt(const struct thrift_in *in, const char *where);

#endif
