/*
 * The rows a kernel works on: those of a frame for which a condition is true. It has the columns and expressions
 * wanted of them, computed block by block in the cache. Nothing of what is left out or only computed on the way
 * reaches memory.
 *
 *   struct rows_spec spec = {.where = "day < date '1998-09-02'", .wanted = texts, .wanted_count = 2};
 *
 *   err = rows_open(frame, &spec, &rows);
 *   while (err == GRANARY_OK && (err = rows_next(rows, &block)) == GRANARY_OK && block.count > 0) {
 *       const struct rows_vector *price = rows_vector(rows, 0);
 *       ... block.count values of each ...
 *   }
 *   rows_close(rows);
 *
 * Which rows a block has, and in what order they come (that of the frame), depends on the frame alone. The conditions
 * joined by "and" are computed one by one, each for the rows that the ones before have left.
 *
 * What cannot be computed (overflow, a bad cast: graph/expr.h) is an error only in rows that no condition leaves out.
 */
#ifndef KERNEL_ROWS_ROWS_H
#define KERNEL_ROWS_ROWS_H

#include "contract/int128.h"
#include "data/frame.h"
#include "graph/graph.h"

/* Rows of the frame in a block, at most. */
#define ROWS_BLOCK 2048

/* How a vector's values lie. */
enum rows_class {
    ROWS_NULL,   /* no values: every row is null */
    ROWS_BOOL,   /* uint8_t, 0 or 1 */
    ROWS_INT,    /* int64_t: all integers, dates, timestamps, durations, decimals (times 10^scale) */
    ROWS_WIDE,   /* gr_int128: blocks of uint64 and decimals with a value that int64 does not hold */
    ROWS_DOUBLE, /* double: also of float32 */
    ROWS_CODE,   /* int32_t, rows of the dictionary */
    ROWS_TEXT,   /* struct rows_text */
    ROWS_LIST,   /* struct rows_list */
};

struct rows_text {
    const char *bytes; /* not NUL-terminated; NULL only when size is 0 */
    size_t size;
};

struct rows_list {
    const granary_column *items; /* NULL only when count is 0 */
    int32_t from;
    int32_t count;
};

/* One value wanted, of the selected rows. */
struct rows_vector {
    granary_dtype dtype;
    /* uint64 and decimal: ROWS_INT or ROWS_WIDE, which may differ from block to block; else the same in all. */
    enum rows_class class;
    /* ROWS_CODE: distinct strings, none null; the same in all blocks. A column's own, or made by an expression over a
     * dictionary column. */
    const granary_column *dictionary;
    /* The column of the frame when the value is one as it stands, else NULL. */
    const granary_column *column;
    const struct gr_column_stats *stats; /* what is known of that column; NULL: nothing */
    const void *values;   /* block.count values, those under nulls are anything (codes: within the dictionary) */
    const uint8_t *valid; /* a byte a row, 1: there is a value; NULL: all are there */
};

struct rows_block {
    int64_t from;             /* first row of the frame that the block looked at */
    int64_t count;            /* rows selected; 0: there are no more blocks */
    const uint16_t *selected; /* row i is row from + selected[i] of the frame; NULL: it is row from + i */
};

struct rows_spec {
    const char *where;            /* bool expression; NULL: all rows */
    const Granary__Attr *columns; /* MAP name -> expression, each may use those before it; NULL: none */
    const char *const *wanted;    /* names of columns (computed ones first, then the frame's), else expressions */
    size_t wanted_count;
    bool stays; /* rows_frame(): the frame is what the operator yields */
};

struct rows;

/*
 * frame     must outlive the rows; its columns may be dictionary-encoded
 * spec      its texts are not needed after the call; `where` may use computed columns
 * Errors    EINVAL, ENOENT, ETYPE: the expression and the position · ENOMEM
 * Threads   one at a time; several rows of one frame may be open in several threads
 */
granary_err rows_open(const granary_frame *frame, const struct rows_spec *spec, struct rows **ret_rows);
void rows_close(struct rows *rows); /* NULL is fine */

/* Errors: EFAILED overflow, a bad cast, ... with the expression and the values · ENOMEM */
granary_err rows_next(struct rows *rows, struct rows_block *ret_block);

/* Which of the values wanted the last error of rows_next() is of; -1: of a condition, or none. */
int rows_failed(const struct rows *rows);

/* Vector i of the current block; dtype, dictionary and column are known from the beginning. The pointer stays the same
 * until rows_close(); what it leads to is good until the next rows_next(). */
const struct rows_vector *rows_vector(const struct rows *rows, size_t i);

/* A value of a vector of strings, encoded or not. */
static inline struct rows_text
rows_text_at(const struct rows_vector *vector, int64_t i)
{
    if (vector->class == ROWS_CODE) {
        int32_t code = ((const int32_t *)vector->values)[i];
        int32_t begin = vector->dictionary->offsets[code];
        size_t size = (size_t)(vector->dictionary->offsets[code + 1] - begin);

        return (struct rows_text){size > 0 ? (const char *)vector->dictionary->values + begin : NULL, size};
    }
    return ((const struct rows_text *)vector->values)[i];
}

/* All rows selected as a new frame with a column for each of spec->wanted, named by `names`; when nothing is left out,
 * columns are borrowed from the frame. Errors: as rows_open() and rows_next() · EFULL over 2 GiB of text */
granary_err rows_frame(const granary_frame *frame, const struct rows_spec *spec, const char *const *names,
                       granary_frame **ret_frame);

#endif
