/*
 * dtypes.h - one row a dtype: what loops over values, tables of dtypes and file formats are made of.
 *
 * Lists, not an included file, so that a switch takes a family of dtypes in one line:
 *
 *     #define CASE(name, type, ...) case GRANARY_##name: return ((const type *)values)[i];
 *     switch (kind) { GR_INTEGER_DTYPES(CASE) GR_MOMENT_DTYPES(CASE) ... }
 *
 * Such a switch has no default: a dtype that is in none of its families does not compile (-Wswitch). A list takes
 * rows of one family, and its users need no change for another row of it. The numbers are those of granary/frame.h.
 *
 *    name       value's type  bytes  class (graph/dtype_class.h)  text  NPY's code, NULL: not in tensors
 */
#ifndef CONTRACT_DTYPES_H
#define CONTRACT_DTYPES_H

#include <stdint.h>

#include "contract/int128.h"

#define GR_INTEGER_DTYPES(X)                                                                                           \
    X(INT8, int8_t, 1, SIGNED, "int8", "|i1")                                                                          \
    X(INT16, int16_t, 2, SIGNED, "int16", "<i2")                                                                       \
    X(INT32, int32_t, 4, SIGNED, "int32", "<i4")                                                                       \
    X(INT64, int64_t, 8, SIGNED, "int64", "<i8")                                                                       \
    X(UINT8, uint8_t, 1, UNSIGNED, "uint8", "|u1")                                                                     \
    X(UINT16, uint16_t, 2, UNSIGNED, "uint16", "<u2")                                                                  \
    X(UINT32, uint32_t, 4, UNSIGNED, "uint32", "<u4")                                                                  \
    X(UINT64, uint64_t, 8, UNSIGNED, "uint64", "<u8")

/* Integers of a unit of time. Frames only. */
#define GR_MOMENT_DTYPES(X)                                                                                            \
    X(DATE, int32_t, 4, MOMENT, "date", NULL)                                                                          \
    X(TIMESTAMP, int64_t, 8, MOMENT, "timestamp", NULL)                                                                \
    X(DURATION, int64_t, 8, DURATION, "duration", NULL)                                                                \
    X(TIME, int64_t, 8, MOMENT, "time", NULL)                                                                          \
    X(TIMESTAMPTZ, int64_t, 8, MOMENT, "timestamptz", NULL)

#define GR_REAL_DTYPES(X)                                                                                              \
    X(FLOAT32, float, 4, REAL, "float32", "<f4")                                                                       \
    X(FLOAT64, double, 8, REAL, "float64", "<f8")

/* Two floats each, the real part first. Tensors only. */
#define GR_COMPLEX_DTYPES(X)                                                                                           \
    X(COMPLEX64, float _Complex, 8, COMPLEX, "complex64", "<c8")                                                       \
    X(COMPLEX128, double _Complex, 16, COMPLEX, "complex128", "<c16")

/* Each is a case of its own. 0 bytes: values are not of one size, or bits. */
#define GR_OTHER_DTYPES(X)                                                                                             \
    X(NULLTYPE, void, 0, NULL, "null", NULL)                                                                           \
    X(BOOL, uint8_t, 0, BOOL, "bool", "|b1")                                                                           \
    X(STRING, char, 0, TEXT, "string", NULL)                                                                           \
    X(DECIMAL, gr_int128, 16, DECIMAL, "decimal", NULL)                                                                \
    X(BINARY, char, 0, BYTES, "binary", NULL)                                                                          \
    X(LIST, void, 0, LIST, "list", NULL)

/* What is stored as a C integer; as a C number; all there is. */
#define GR_WORD_DTYPES(X)   GR_INTEGER_DTYPES(X) GR_MOMENT_DTYPES(X)
#define GR_NUMBER_DTYPES(X) GR_WORD_DTYPES(X) GR_REAL_DTYPES(X)
#define GR_DTYPES(X)        GR_NUMBER_DTYPES(X) GR_COMPLEX_DTYPES(X) GR_OTHER_DTYPES(X)

/* Of an integer type: whether it has a sign, and the least and greatest value. */
#define GR_IS_SIGNED(type)  ((type)(-1) < 1)
#define GR_TYPE_MOST(type)  ((gr_int128)(~(uint64_t)0 >> (64 - 8 * sizeof(type) + GR_IS_SIGNED(type))))
#define GR_TYPE_LEAST(type) (GR_IS_SIGNED(type) ? -GR_TYPE_MOST(type) - 1 : 0)

/* The C types in these rows, each once: for functions that are made of them. */
#define GR_INTEGER_TYPES(X)                                                                                            \
    X(int8_t)                                                                                                          \
    X(int16_t)                                                                                                         \
    X(int32_t)                                                                                                         \
    X(int64_t)                                                                                                         \
    X(uint8_t)                                                                                                         \
    X(uint16_t)                                                                                                        \
    X(uint32_t)                                                                                                        \
    X(uint64_t)

/* Other names in CAST: SQL's and Python's. */
#define GR_DTYPE_ALIASES(X)                                                                                            \
    X("int", INT64)                                                                                                    \
    X("bigint", INT64)                                                                                                 \
    X("integer", INT32)                                                                                                \
    X("smallint", INT16)                                                                                               \
    X("tinyint", INT8)                                                                                                 \
    X("float", FLOAT64)                                                                                                \
    X("double", FLOAT64)                                                                                               \
    X("real", FLOAT32)                                                                                                 \
    X("boolean", BOOL)                                                                                                 \
    X("text", STRING)                                                                                                  \
    X("varchar", STRING)                                                                                               \
    X("str", STRING)                                                                                                   \
    X("datetime", TIMESTAMP)                                                                                           \
    X("timestamp_tz", TIMESTAMPTZ)                                                                                     \
    X("bytea", BINARY)                                                                                                 \
    X("blob", BINARY)                                                                                                  \
    X("bytes", BINARY)

#endif
