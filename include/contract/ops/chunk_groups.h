/*
 * Parameters that several operators on chunks have: CHUNK_GROUP(operator, name, ROWS) is a row of chunk_ops.def for all of
 * them, and `struct gr_NAME_params` (graph/params.h) is what functions take that serve these operators.
 */
#ifndef CONTRACT_CHUNK_GROUPS_H
#define CONTRACT_CHUNK_GROUPS_H

/* What windows are made of. */
#define WINDOW_PARAMS(op)                                                                                              \
    CHUNK_PARAM(op, columns, MAP, REQUIRED)                                                                            \
    CHUNK_PARAM(op, partition, STRINGS, OPTIONAL)                                                                      \
    CHUNK_PARAM(op, dropna, BOOL, DEFAULT("true"))                                                                     \
    CHUNK_PARAM(op, by, STRINGS, OPTIONAL)                                                                             \
    CHUNK_PARAM(op, descending, BOOLS, OPTIONAL)                                                                       \
    CHUNK_PARAM(op, nulls_first, BOOLS, OPTIONAL)                                                                      \
    CHUNK_PARAM(op, nan_largest, BOOL, DEFAULT("false"))

/* What rows are ordered by. */
#define ORDER_PARAMS(op)                                                                                               \
    CHUNK_PARAM(op, by, STRINGS, REQUIRED)                                                                             \
    CHUNK_PARAM(op, descending, BOOLS, REQUIRED)                                                                       \
    CHUNK_PARAM(op, nulls_first, BOOLS, OPTIONAL)                                                                      \
    CHUNK_PARAM(op, nan_largest, BOOL, DEFAULT("false"))

/* What a groupby computes. */
#define GROUP_PARAMS(op)                                                                                               \
    CHUNK_PARAM(op, keys, STRINGS, REQUIRED)                                                                           \
    CHUNK_PARAM(op, aggregate, MAP, REQUIRED)                                                                          \
    CHUNK_PARAM(op, dropna, BOOL, DEFAULT("true"))

/* A part of a tensor. */
#define PART_PARAMS(op)                                                                                                \
    CHUNK_PARAM(op, shape, INTS, REQUIRED)                                                                             \
    CHUNK_PARAM(op, offset, INTS, REQUIRED)                                                                            \
    CHUNK_PARAM(op, size, INTS, REQUIRED)

/* Bytes of a CSV file. */
#define CSV_PARAMS(op)                                                                                                 \
    CHUNK_PARAM(op, path, STRING, REQUIRED)                                                                            \
    CHUNK_PARAM(op, delimiter, STRING, DEFAULT(","))                                                                   \
    CHUNK_PARAM(op, null_values, STRINGS, OPTIONAL)                                                                    \
    CHUNK_PARAM(op, offset, INT, DEFAULT("0"))                                                                         \
    CHUNK_PARAM(op, size, INT, REQUIRED)                                                                               \
    CHUNK_PARAM(op, inode, INT, DEFAULT("0"))                                                                          \
    CHUNK_PARAM(op, header, BOOL, DEFAULT("false"))                                                                    \
    CHUNK_PARAM(op, errors, STRING, DEFAULT("refuse"))                                                                 \
    CHUNK_PARAM(op, decimal, STRING, DEFAULT("."))                                                                     \
    CHUNK_PARAM(op, thousands, STRING, DEFAULT(""))                                                                    \
    CHUNK_PARAM(op, date_format, STRING, OPTIONAL)                                                                     \
    CHUNK_PARAM(op, timestamp_format, STRING, OPTIONAL)

#endif
