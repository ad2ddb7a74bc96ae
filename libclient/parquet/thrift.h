/*
 * Thrift's compact protocol (https://github.com/apache/thrift, doc/specs/thrift-compact-protocol.md), read: what
 * Parquet's metadata is written in. Reading trusts nothing. The first thing that is wrong sets `bad`, and from then on
 * everything reads as absent. No list claims more elements than bytes are left, and structs lie at most so deep.
 */
#ifndef PARQUET_THRIFT_H
#define PARQUET_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum thrift_type {
    THRIFT_STOP = 0,
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_I8 = 3,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_DOUBLE = 7,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_SET = 10,
    THRIFT_MAP = 11,
    THRIFT_STRUCT = 12,
    THRIFT_UUID = 13,
};

#define THRIFT_DEEPEST 32

struct thrift_in {
    const uint8_t *bytes;
    size_t size;
    size_t at;
    bool bad;
    const char *why; /* when it is bad */
    int depth;       /* of what is skipped */
};

/* Zero before the first field of a struct. */
struct thrift_field {
    int16_t id;
    uint8_t type;
};

/* Bytes, within those that are read. */
struct thrift_bytes {
    const uint8_t *bytes;
    size_t size;
};

/* Returns false, so that readers can end with it. */
bool thrift_fail(struct thrift_in *in, const char *why);

/* Go on to the struct's next field, whose value must be read or skipped then. false: there is none, or it is bad. */
bool thrift_next(struct thrift_in *in, struct thrift_field *field);
void thrift_skip(struct thrift_in *in, const struct thrift_field *field);

/* The value of a field, or 0. Another type than one of these is bad. */
bool thrift_bool(struct thrift_in *in, const struct thrift_field *field);
int64_t thrift_int(struct thrift_in *in, const struct thrift_field *field);
struct thrift_bytes thrift_binary(struct thrift_in *in, const struct thrift_field *field);
/* It is a struct, whose fields come next. */
bool thrift_struct(struct thrift_in *in, const struct thrift_field *field);

/* A list of elements of a type, all of which come next. Integers of any size are THRIFT_I64 here, bools THRIFT_TRUE. */
struct thrift_list {
    size_t count;
    uint8_t type; /* as in the file */
};
struct thrift_list thrift_list(struct thrift_in *in, const struct thrift_field *field, enum thrift_type type);
int64_t thrift_element_int(struct thrift_in *in, const struct thrift_list *list);
bool thrift_element_bool(struct thrift_in *in);
struct thrift_bytes thrift_element_binary(struct thrift_in *in);

#endif
