/* What is known of the pieces of a frame, from those who have made them. */
#ifndef TILE_CORE_MEASURED_H
#define TILE_CORE_MEASURED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory/region.h"
#include "graph/schema.h"

/* Integers, dates, timestamps, durations, bools: integer. Floats: real. Strings: the first 8 bytes, zero-padded: no
 * value is less than the least, and none's first 8 bytes are more than the greatest. */
union gr_bound {
    int64_t integer;
    double real;
    char text[8];
};

/* A column of one piece, or of all of them together. */
struct gr_measured_column {
    int64_t nulls;     /* -1: not known */
    uint64_t distinct; /* estimate of how many values there are; 0: not known */
    bool has_zone;     /* min and max are known: of the values that are neither null nor NaN */
    bool has_nan;      /* with has_zone: a NaN is among them */
    union gr_bound min, max;
};

struct gr_measured {
    size_t count; /* pieces */
    int64_t *rows;
    uint64_t *bytes;
    int64_t all_rows; /* of all pieces; -1: not known */
    uint64_t all_bytes;
    const struct gr_schema *schema;     /* of the step that yields them: columns stand in its order */
    struct gr_measured_column *columns; /* count * schema->count, piece after piece */
    struct gr_measured_column *all;     /* schema->count: of all pieces together */
};

/* Nothing known yet of count pieces. It lives as long as the region. NULL: no memory. */
struct gr_measured *gr_measured_create(struct gr_region *memory, size_t count, const struct gr_schema *schema);
/* Sum up the pieces: all_rows, all_bytes, all. */
void gr_measured_total(struct gr_measured *measured);

/* A column by name, of piece p. NULL: there is none. */
const struct gr_measured_column *gr_measured_column(const struct gr_measured *measured, size_t p, const char *name);
/* ... of all pieces together. */
const struct gr_measured_column *gr_measured_all(const struct gr_measured *measured, const char *name);

#endif
